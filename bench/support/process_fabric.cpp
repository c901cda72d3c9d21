// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/process_fabric.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "bench/support/last_used.hpp"
#include "harness/device/cuda_device.hpp"
#include "harness/judge/gpu_table.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

namespace {

std::string cuda_id(int ordinal) { return "cuda:" + std::to_string(ordinal); }

/// Opens devices, asks for their paths and connects them by NCCL at their first use, and keeps all three: connecting takes
/// longer than measuring.
class Gpus {
 public:
  explicit Gpus(std::vector<int> ordinals)
      : ordinals_(std::move(ordinals)), opened_(ordinals_.size()), refused_(ordinals_.size()) {}

  Device& device(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    // One that cannot be opened stays so: asking again for each case would take minutes.
    if (!refused_.at(at).empty()) throw DeviceError(refused_[at], false);
    if (!opened_[at]) {
      const std::string id = cuda_id(ordinals_[at]);
      try {
        opened_[at] = open_device(id);
      } catch (const DeviceError& error) {
        refused_[at] = id + " cannot be used (--only-device leaves out the cases that do): " + error.what();
        throw DeviceError(refused_[at], error.sticky());
      }
    }
    return *opened_[at];
  }

  /// The same both ways.
  const PeerPath& path(int one, int other) {
    const std::pair<int, int> pair = std::minmax(one, other);
    const auto known = paths_.find(pair);
    if (known != paths_.end()) return known->second;
    const auto ordinal = [&](int rank) { return ordinals_.at(static_cast<std::size_t>(rank)); };
    return paths_.emplace(pair, cuda_peer_path(ordinal(pair.first), ordinal(pair.second))).first->second;
  }

  const std::vector<std::shared_ptr<Communicator>>& split(const std::vector<int>& colours) {
    if (const auto* const known = connected_.use(colours)) {
      if (std::all_of(known->begin(), known->end(), [](const auto& one) { return !one || one->is_usable(); })) return *known;
      connected_.erase(colours);
    }
    if (!&cuda::nccl) throw Unsupported("this build has no NCCL");
    std::vector<std::shared_ptr<Communicator>> all(colours.size());
    for (const std::vector<int>& members : groups_of(colours)) {
      std::vector<int> devices;
      for (const int rank : members) devices.push_back(ordinals_[static_cast<std::size_t>(rank)]);
      std::vector<std::unique_ptr<Communicator>> made = cuda::nccl.create_all(devices);
      for (std::size_t i = 0; i < made.size(); ++i) all[static_cast<std::size_t>(members[i])] = std::move(made[i]);
    }
    return connected_.add(colours, std::move(all));
  }

 private:
  std::vector<int> ordinals_;
  std::vector<std::unique_ptr<Device>> opened_;
  std::vector<std::string> refused_;  ///< why one could not be opened
  std::map<std::pair<int, int>, PeerPath> paths_;
  LastUsed<std::vector<int>, std::vector<std::shared_ptr<Communicator>>> connected_{kKeptCommunicators};
};

}  // namespace

std::unique_ptr<Fabric> process_fabric(const DeviceInfo& device) {
  if (device.backend != Backend::cuda || !cuda_devices) return nullptr;
  const std::vector<int> ordinals = cuda_devices().ordinals;
  if (ordinals.size() < 2 || device.id != cuda_id(ordinals.front())) return nullptr;
  auto fabric = std::make_unique<Fabric>();
  fabric->how = "nccl";
  fabric->types = nccl_types(device.compute_capability);
  for (const int ordinal : ordinals) {
    RankInfo& member = fabric->members.emplace_back(describe_rank(describe_cuda_device(ordinal)));
    member.rank = member.local_rank = static_cast<int>(fabric->members.size()) - 1;
  }
  // Loads NCCL, so that the result file names it. Where it cannot be loaded, the cases say why.
  try {
    if (&cuda::nccl) cuda::nccl.version();
  } catch (const Unsupported&) {
  }
  const auto gpus = std::make_shared<Gpus>(ordinals);
  fabric->local = LocalRanks{[gpus](int rank) -> Device& { return gpus->device(rank); },
                             [gpus](int one, int other) { return gpus->path(one, other); },
                             [gpus](const std::vector<int>& colours) { return gpus->split(colours); },
                             [](const std::vector<RankCall>& calls, Stream stream) { cuda::nccl.enqueue_all(calls, stream); }};
  return fabric;
}

Fabric specified_fabric(const DeviceInfo& device, int gpus) {
  Fabric fabric;
  fabric.how = "nccl";
  fabric.types = nccl_types(device.compute_capability);
  const Sku* const sku = find_sku(device.name);
  const bool nvlink = sku && sku->nvlink_gigabytes_per_second && !sku->nvlink_by_bridge;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    RankInfo& member = fabric.members.emplace_back();
    member.rank = member.local_rank = gpu;
    member.host = "node";
    member.device_id = cuda_id(gpu);
    member.device_name = device.name;
    if (nvlink) member.nvlink_bytes_per_second = sku->nvlink_gigabytes_per_second->value * 1e9;
  }
  fabric.local.emplace();
  // The device's own links are not counted: any number leads to every other GPU.
  fabric.local->path = [nvlink](int, int) { return nvlink ? PeerPath{PathKind::nvlink, 1} : PeerPath{}; };
  return fabric;
}

}  // namespace roofmark
