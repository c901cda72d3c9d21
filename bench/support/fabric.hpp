// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/device/peer_path.hpp"
#include "harness/team/rank_info.hpp"
#include "harness/team/rounds.hpp"
#include "kernels/collectives.hpp"

namespace roofmark {

/// The ranks of one process, one device each, driven by one thread.
struct LocalRanks {
  /// The device of a rank but the first, whose device is the one under measurement.
  std::function<Device&(int rank)> device;
  /// What connects the devices of two ranks; needs no device opened.
  std::function<PeerPath(int one, int other)> path;
  /// The ranks' communicators for these colours, by rank; null for a negative colour. The same colours give the same
  /// communicators again, of the last kKeptCommunicators.
  std::function<std::vector<std::shared_ptr<Communicator>>(const std::vector<int>& colours)> split;
  /// Enqueues the same collective on several ranks, the first among them. `stream` is of the device under measurement.
  std::function<void(const std::vector<RankCall>& calls, Stream stream)> enqueue;
};

/// Why two of them have no access to each other's memory; empty where they have.
std::string why_no_access(const LocalRanks& ranks, int one, int other);

/// Communicators that are kept for later cases. Each of NCCL's holds device memory, threads and open files, and a run may have
/// a thousand rounds of pairs.
inline constexpr std::size_t kKeptCommunicators = 16;

/// What connects ranks: where they are, and how groups of them communicate.
struct Fabric {
  std::string how;  ///< "mpi", "nccl"
  std::vector<RankInfo> members;
  int rank = 0;
  /// The communicator of the ranks with this rank's colour; null for a negative colour. All ranks call it together with the
  /// same colours, by rank. The same colours give the same communicator again, of the last kKeptCommunicators.
  std::function<std::shared_ptr<Communicator>(const std::vector<int>& colours)> split;
  /// Set where this process has all ranks: in place of `split`. They connect when the first case is prepared.
  std::optional<LocalRanks> local;
  /// Called before every collective, to report progress.
  std::function<void()> step = [] {};
  /// Types that the library reduces, and kinds of memory that it has beside plain.
  std::vector<DataType> types;
  std::vector<Buffer> buffers;
};

/// Whether NVLink connects the first of the ranks with another of its process: the roof of transfers between GPUs is then that
/// of NVLink, else that of PCIe. Where a path is unknown, a GPU that has NVLinks counts as connected.
bool first_has_nvlink(const Fabric& fabric);
/// Of the NVLinks of the first rank's GPU those that lead to others of its process and model that it may access; 0 if it has
/// none there; absent: all, as by way of switches, or it is unknown.
std::optional<int> nvlinks_to_others(const Fabric& fabric, const DeviceInfo& first);
/// GPUs that share a link to the host: "cuda:0, cuda:1 by 0000:15:01.0"; empty where every GPU has a link of its own to the
/// host.
std::string shared_links(const Fabric& fabric);
/// Why a case of several GPUs is not measured without a fabric (process_fabric says when there is one).
inline constexpr const char* kNeedsOtherGpus =
    "needs two GPUs in one process: `roofmark run` on the first one (cuda:0), without --only-device";
/// N of "cuda:N"; 0 of any other device.
int cuda_ordinal(const DeviceInfo& device);
/// The colours of all ranks in one communicator.
std::vector<int> everyone(const Fabric& fabric);
/// The ranks of each communicator.
std::vector<std::vector<int>> groups_of(const std::vector<int>& colours);
/// Of those that are measured, the types that NCCL reduces on GPUs of this compute capability.
std::vector<DataType> nccl_types(int compute_capability);

}  // namespace roofmark
