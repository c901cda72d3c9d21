// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace roofmark {

/// What a resource's ceiling counts per second.
enum class Unit { flop, op, byte, exp, access, launch };

constexpr std::string_view name(Unit unit) {
  constexpr std::string_view names[] = {"FLOP", "op", "B", "exp", "access", "launch"};
  return names[static_cast<int>(unit)];
}

/// Which of a device's clocks a rate scales with: that of the SMs (of a CPU: the cores), that of its memory, or neither.
enum class ClockDomain { none, sm, memory };

/// Anything that has a ceiling. `id` is its key in files and never changes; `clock`: what the ceiling scales with.
struct Resource {
  std::string_view id;
  Unit unit;
  std::string_view title;
  ClockDomain clock;

  friend bool operator==(const Resource& a, const Resource& b) { return a.id == b.id; }
};

namespace resource {
// Vector pipes: fused multiply-adds, two FLOPs each.
inline constexpr Resource fp64_fma{"fp64_fma", Unit::flop, "fp64 FMA", ClockDomain::sm};
inline constexpr Resource fp32_fma{"fp32_fma", Unit::flop, "fp32 FMA", ClockDomain::sm};
inline constexpr Resource fp16_fma{"fp16_fma", Unit::flop, "fp16 FMA", ClockDomain::sm};
inline constexpr Resource bf16_fma{"bf16_fma", Unit::flop, "bf16 FMA", ClockDomain::sm};
inline constexpr Resource fp64_fma_one_core{"fp64_fma_one_core", Unit::flop, "fp64 FMA, one core", ClockDomain::sm};
inline constexpr Resource fp32_fma_one_core{"fp32_fma_one_core", Unit::flop, "fp32 FMA, one core", ClockDomain::sm};
// Tensor cores, dense.
inline constexpr Resource fp64_tensor{"fp64_tensor", Unit::flop, "fp64 tensor", ClockDomain::sm};
inline constexpr Resource tf32_tensor{"tf32_tensor", Unit::flop, "tf32 tensor", ClockDomain::sm};
inline constexpr Resource fp16_tensor{"fp16_tensor", Unit::flop, "fp16 tensor, fp32 accumulate", ClockDomain::sm};
inline constexpr Resource fp16_tensor_fp16{"fp16_tensor_fp16", Unit::flop, "fp16 tensor, fp16 accumulate", ClockDomain::sm};
inline constexpr Resource bf16_tensor{"bf16_tensor", Unit::flop, "bf16 tensor", ClockDomain::sm};
inline constexpr Resource fp8_tensor{"fp8_tensor", Unit::flop, "fp8 tensor", ClockDomain::sm};
inline constexpr Resource mxfp8_tensor{"mxfp8_tensor", Unit::flop, "mxfp8 tensor", ClockDomain::sm};
inline constexpr Resource fp4_tensor{"fp4_tensor", Unit::flop, "fp4 tensor", ClockDomain::sm};
inline constexpr Resource int8_tensor{"int8_tensor", Unit::op, "int8 tensor", ClockDomain::sm};
inline constexpr Resource exp{"exp", Unit::exp, "exp2, special-function unit", ClockDomain::sm};
// Atomic additions.
inline constexpr Resource global_atomic{"global_atomic", Unit::op, "atomic additions to global memory", ClockDomain::sm};
inline constexpr Resource shared_atomic{"shared_atomic", Unit::op, "atomic additions to shared memory", ClockDomain::sm};
// Memory levels.
inline constexpr Resource dram{"dram", Unit::byte, "DRAM", ClockDomain::memory};
inline constexpr Resource shared{"shared", Unit::byte, "shared memory", ClockDomain::sm};
inline constexpr Resource l1{"l1", Unit::byte, "L1 cache", ClockDomain::sm};
inline constexpr Resource l2{"l2", Unit::byte, "L2 cache", ClockDomain::sm};
inline constexpr Resource l3{"l3", Unit::byte, "L3 cache", ClockDomain::sm};
// Links, in one direction.
inline constexpr Resource nvlink{"nvlink", Unit::byte, "NVLink, one direction, per GPU", ClockDomain::none};
inline constexpr Resource pcie{"pcie", Unit::byte, "PCIe, one direction, per GPU", ClockDomain::none};
inline constexpr Resource interprocess{"interprocess", Unit::byte, "process to process, one direction", ClockDomain::none};
inline constexpr Resource network{"network", Unit::byte, "network, one direction, per host", ClockDomain::none};
inline constexpr Resource network_of_rank{"network_of_rank", Unit::byte, "network, one direction, one rank per host",
                                          ClockDomain::none};
// Between a GPU and its host (PCIe, or NVLink-C2C), and between two GPUs, each direction for itself; the host's own memory.
inline constexpr Resource host_to_device{"host_to_device", Unit::byte, "host to device", ClockDomain::none};
inline constexpr Resource device_to_host{"device_to_host", Unit::byte, "device to host", ClockDomain::none};
inline constexpr Resource peer_in{"peer_in", Unit::byte, "from a peer GPU", ClockDomain::none};
inline constexpr Resource peer_out{"peer_out", Unit::byte, "to a peer GPU", ClockDomain::none};
inline constexpr Resource host_dram{"host_dram", Unit::byte, "DRAM of the host", ClockDomain::none};
// Accesses each of which needs the result of the one before: their rate is 1 / latency.
inline constexpr Resource l1_access{"l1_access", Unit::access, "dependent L1 cache accesses", ClockDomain::sm};
inline constexpr Resource shared_access{"shared_access", Unit::access, "dependent shared-memory accesses", ClockDomain::sm};
inline constexpr Resource dsmem_access{"dsmem_access", Unit::access, "dependent accesses to a neighbour's shared memory",
                                       ClockDomain::sm};
inline constexpr Resource constant_access{"constant_access", Unit::access, "dependent constant-memory accesses",
                                          ClockDomain::sm};
inline constexpr Resource l2_access{"l2_access", Unit::access, "dependent L2 cache accesses", ClockDomain::sm};
inline constexpr Resource l3_access{"l3_access", Unit::access, "dependent L3 cache accesses", ClockDomain::sm};
inline constexpr Resource dram_access{"dram_access", Unit::access, "dependent DRAM accesses", ClockDomain::memory};
inline constexpr Resource host_access{"host_access", Unit::access, "dependent accesses to host memory", ClockDomain::none};
inline constexpr Resource peer_access{"peer_access", Unit::access, "dependent accesses to a peer's memory", ClockDomain::none};
// Launch rate, by the path the launches are issued on.
inline constexpr Resource stream_launch{"stream_launch", Unit::launch, "stream launches", ClockDomain::none};
inline constexpr Resource graph_launch{"graph_launch", Unit::launch, "graph-node launches", ClockDomain::none};
}  // namespace resource

inline constexpr Resource kResources[] = {resource::fp64_fma,
                                          resource::fp32_fma,
                                          resource::fp16_fma,
                                          resource::bf16_fma,
                                          resource::fp64_fma_one_core,
                                          resource::fp32_fma_one_core,
                                          resource::fp64_tensor,
                                          resource::tf32_tensor,
                                          resource::fp16_tensor,
                                          resource::fp16_tensor_fp16,
                                          resource::bf16_tensor,
                                          resource::fp8_tensor,
                                          resource::mxfp8_tensor,
                                          resource::fp4_tensor,
                                          resource::int8_tensor,
                                          resource::exp,
                                          resource::global_atomic,
                                          resource::shared_atomic,
                                          resource::dram,
                                          resource::shared,
                                          resource::l1,
                                          resource::l2,
                                          resource::l3,
                                          resource::nvlink,
                                          resource::pcie,
                                          resource::interprocess,
                                          resource::network,
                                          resource::network_of_rank,
                                          resource::host_to_device,
                                          resource::device_to_host,
                                          resource::peer_in,
                                          resource::peer_out,
                                          resource::host_dram,
                                          resource::l1_access,
                                          resource::shared_access,
                                          resource::dsmem_access,
                                          resource::constant_access,
                                          resource::l2_access,
                                          resource::l3_access,
                                          resource::dram_access,
                                          resource::host_access,
                                          resource::peer_access,
                                          resource::stream_launch,
                                          resource::graph_launch};

/// A link that a transfer crosses, in one direction, or the host's memory that it goes through.
inline bool carries_transfers(const Resource& resource) {
  return resource == resource::host_to_device || resource == resource::device_to_host || resource == resource::peer_in ||
         resource == resource::peer_out || resource == resource::host_dram;
}

/// FMAs and tensor cores: their ceilings are flat roofs over the arithmetic intensity. Atomic additions are operations, and no
/// arithmetic on what memory delivers.
inline bool is_arithmetic(const Resource& resource) {
  const bool is_atomic = resource == resource::global_atomic || resource == resource::shared_atomic;
  return (resource.unit == Unit::flop || resource.unit == Unit::op) && !is_atomic;
}

/// The resource of an id read from a file; throws std::invalid_argument for an id this version does not know.
const Resource& find_resource(std::string_view id);

}  // namespace roofmark
