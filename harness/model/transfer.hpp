// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/peer_path.hpp"
#include "harness/model/work.hpp"

namespace roofmark {

/// Where bytes come from or go to: the memory of a GPU of this process, by its ordinal, or the host's, of one NUMA node or (-1)
/// near the GPU.
struct Endpoint {
  enum class Kind { host, gpu } kind = Kind::host;
  int number = -1;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  /// The host's come first, then by number.
  friend bool operator<(const Endpoint& a, const Endpoint& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.number < b.number;
  }
};
constexpr Endpoint host_endpoint(std::optional<int> node = {}) { return {Endpoint::Kind::host, node.value_or(-1)}; }
constexpr Endpoint gpu_endpoint(int ordinal) { return {Endpoint::Kind::gpu, ordinal}; }
/// "host", "host:1", "gpu:0".
std::string name(const Endpoint& end);
/// Throws std::invalid_argument for any other text.
Endpoint parse_endpoint(std::string_view text);

/// Bytes that go one way.
struct Flow {
  Endpoint from, to;

  friend bool operator==(const Flow&, const Flow&) = default;
};

/// Two GPUs without access to each other's memory (PeerPath).
struct RefusedAccess {
  Endpoint one, other;
  std::string reason;
  bool by_design = false;

  friend bool operator==(const RefusedAccess&, const RefusedAccess&) = default;
};

/// A NUMA node, and how far its memory is from the GPU's own node, by the firmware's table; kOwn: it is the GPU's own.
struct HostNode {
  static constexpr int kOwn = 10;
  int number = 0, distance = kOwn;

  friend bool operator==(const HostNode&, const HostNode&) = default;
};

/// Flows of as many bytes each, all at the same time.
struct Transfer {
  std::size_t bytes = 0;
  std::vector<Flow> flows;
  std::optional<PeerPath> path = {};  ///< where all flows are between the same two GPUs
  /// Of the host's memory, where all flows are between it and one GPU; absent if the GPU's own node is unknown.
  std::optional<HostNode> host_node = {};
  /// Of flows between more GPUs the pairs without access; that of a pair is in `path`.
  std::vector<RefusedAccess> refused = {};
  bool one_model = true;  ///< no GPU is another model than the device under measurement
  /// Between GPUs without access to each other's memory: the driver copies to the host's memory, and from there.
  bool staged = false;
};

/// "one way", "both ways", "one to all others": what the flows between GPUs have in common; empty if the host is an end.
std::string_view way_of(const Transfer& transfer);

/// What the busiest link of each direction carries. A flow between a GPU and the host takes host_to_device or device_to_host of
/// that GPU; one between GPUs takes peer_out of the first and peer_in of the second, or, if it is staged, device_to_host of the
/// first and host_to_device of the second; one between the host's nodes takes host_dram. `cached` bytes of what comes from the
/// host a cache of the GPU may hold, and need not come.
Phase link_demands(const Transfer& transfer, double cached = 0);

}  // namespace roofmark
