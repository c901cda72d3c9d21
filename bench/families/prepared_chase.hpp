// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "harness/model/prepared.hpp"
#include "kernels/latency.hpp"

namespace roofmark::latency {

/// The lines that a chase follows.
struct ChaseSet {
  std::size_t lines, stride;

  std::size_t bytes() const { return lines * stride; }
};

enum class ChaseOrder { random, sequential };

/// How other SMs read beside a chase; BackgroundReads explains the fields.
struct ChaseBackground {
  int readers = 0;
  std::size_t rounds = 1;
  std::uint32_t interval_cycles = 0;

  std::size_t warps() const { return static_cast<std::size_t>(readers) * BackgroundReads::kWarpsPerReader; }
  std::size_t bytes() const { return rounds * warps() * BackgroundReads::kChunk; }
};

struct Chase {
  ChaseSet set;
  std::size_t preload = 0;  ///< lines that a launch loads first
  std::size_t steps = 1;    ///< of a launch: whole laps, or a part of one, and the next launch goes on
  ChaseLoad load = ChaseLoad::ca;
  ChaseOrder order = ChaseOrder::random;
  /// Where the lines lie, if not in the device's memory: in the host's, or in that of the GPU of this number, which `gpu`
  /// gives.
  std::optional<HostMemory> host = {};
  std::optional<int> peer = {};
  std::function<Device&(int)> gpu = {};
  std::optional<unsigned> sm = {};                 ///< the one that chases
  std::optional<ChaseBackground> background = {};  ///< reads at the same time
};

std::size_t chase_slot_bytes(const DeviceInfo& device, const Chase& chase);
std::unique_ptr<Prepared> prepare_chase(const Setup& setup, const LatencyKernels& kernels, const Chase& chase);

/// Of memory on the chip, which a launch fills first.
enum class OnChipMemory { shared, neighbour, constant };
std::size_t on_chip_chase_slot_bytes();
/// `steps` are whole laps.
std::unique_ptr<Prepared> prepare_on_chip_chase(const Setup& setup, const LatencyKernels& kernels, OnChipMemory memory,
                                                const ChaseSet& set, std::size_t steps);

}  // namespace roofmark::latency
