// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Sets up a grid and runs its clusters one after another or, of a cooperative launch, together.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "addresses.hpp"
#include "diagnostics.hpp"
#include "races.hpp"
#include "scheduler.hpp"
#include "special_registers.hpp"

namespace gpu_model {
namespace {

constexpr u64 most_shared_bytes = 227 * 1024;  // per block, on sm_90
constexpr u64 default_spin_limit = 2'000'000'000;
// What shared and local memory hold before the kernel writes them; so do the registers that it may read before.
constexpr u8 poison = 0xff;

u64 volume(const Dim3& d) { return u64{d.x} * d.y * d.z; }

u64 number_from(const char* variable, u64 otherwise) {
  const char* value = std::getenv(variable);
  return value ? std::strtoull(value, nullptr, 0) : otherwise;
}
bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value == '1';
}
Completion completion_from(const char* variable) {
  const char* value = std::getenv(variable);
  const std::string_view text = value ? value : "";
  return text == "early" ? Completion::early : text == "random" ? Completion::random : Completion::late;
}

void read_environment(Launch& launch) {
  launch.shared_base = number_from("GPUMODEL_SHARED_BASE", launch.shared_base) & ~u64{15};
  launch.async_mode = completion_from("GPUMODEL_ASYNC");
  launch.wgmma_mode = completion_from("GPUMODEL_WGMMA");
  if (std::getenv("GPUMODEL_SEED")) launch.seed = number_from("GPUMODEL_SEED", 0) * 0x9e3779b97f4a7c15ull + 1;
  launch.race = is_set("GPUMODEL_RACE");
  launch.quiet = is_set("GPUMODEL_QUIET");
}

/// The kernel's own cluster size stands in for a launch without one.
Dim3 cluster_size(const FunctionInfo& info, Dim3 cluster) {
  for (unsigned* extent : {&cluster.x, &cluster.y, &cluster.z}) *extent = std::max(*extent, 1u);
  const auto& required = info.required_cluster;
  if (required[0] == 0 || volume(cluster) > 1) return cluster;
  return {static_cast<unsigned>(required[0]), static_cast<unsigned>(required[1]), static_cast<unsigned>(required[2])};
}

void check_shape(const Launch& launch) {
  const FunctionInfo& info = launch.body->info;
  const auto refuse = [&](const std::string& why) {
    throw Fault(Fault::Kind::illegal_instruction, "launch of " + readable_name(info.name) + ": " + why);
  };
  const Dim3 &grid = launch.grid, &cluster = launch.cluster;
  const u64 threads = volume(launch.block), shared = launch.body->static_shared + launch.dynamic_shared;
  if (threads == 0 || threads > 1024 || threads > static_cast<u64>(info.max_threads))
    refuse(std::to_string(threads) + " threads per block");
  if (volume(grid) == 0 || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535) refuse("grid dimensions");
  if (grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z) refuse("grid is no multiple of the cluster");
  if (shared > most_shared_bytes) refuse(std::to_string(shared) + " bytes of shared memory per block");
}

void copy_parameters(Launch& launch, void* const* params) {
  constexpr u64 alignment = 128;  // a __grid_constant__ tensor map wants 64
  const FunctionInfo& info = launch.body->info;
  launch.parameter_storage.assign(launch.body->param_bytes + 2 * alignment, 0);
  launch.params = host_pointer(align_up(reinterpret_cast<u64>(launch.parameter_storage.data()), alignment));
  for (std::size_t k = 0; k < info.param_sizes.size(); ++k)
    std::memcpy(launch.params + info.param_offsets[k], params[k], info.param_sizes[k]);
}

/// The body's constants, with the addresses of shared variables that this launch determines.
std::vector<u8> constants_of(const Launch& launch) {
  std::vector<u8> image = launch.body->image;
  for (const Body::SharedUse& use : launch.body->dynamic_uses) {
    const u64 start = launch.shared_base + (use.add & Body::SharedUse::dynamic ? launch.dynamic_offset : 0);
    const s64 offset = static_cast<s64>(use.add << 1) >> 1;  // signed, in the lower 63 bits
    const u64 address = start + static_cast<u64>(offset);
    const u32 bytes = use.is64 ? 8 : 4;
    for (u32 lane = 0; lane < 32; ++lane) std::memcpy(image.data() + use.image_offset + lane * bytes, &address, bytes);
  }
  return image;
}

/// At least so many bytes, for one launch at a time; they keep what the last one left there.
u8* storage_of_registers(u64 bytes) {
  thread_local std::vector<u8> kept;
  if (kept.size() < bytes) kept.assign(bytes, 0);
  return kept.data();
}

/// The blocks and warps of one cluster, with their memories, which the clusters of the grid use in turn.
class Machine {
 public:
  /// One of `machines` that run at the same time.
  explicit Machine(Launch& launch, u64 number = 0, u64 machines = 1) : launch_(launch), body_(*launch.body) {
    const std::vector<u8> constants = constants_of(launch);
    const u32 blocks = static_cast<u32>(volume(launch.cluster));
    warps_per_block_ = static_cast<u32>((volume(launch.block) + 31) / 32);
    constexpr u64 row_alignment = 64;
    const u64 per_warp = align_up(body_.reg_bytes + constants.size() + row_alignment, row_alignment);
    const u64 own = per_warp * warps_per_block_ * blocks;
    u8* registers = storage_of_registers(own * machines + row_alignment);
    registers = host_pointer(align_up(reinterpret_cast<u64>(registers), row_alignment) + own * number);
    cluster_.launch = &launch;
    for (u32 rank = 0; rank < blocks; ++rank) {
      add_block(rank);
      for (u32 id = 0; id < warps_per_block_; ++id, registers += per_warp) add_warp(id, registers, constants);
    }
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Starts the cluster at (x, y, z) in units of clusters; `index` is its number in the grid.
  Cluster& start(unsigned x, unsigned y, unsigned z, u64 index) {
    cluster_.live_warps = cluster_.live_threads = cluster_.arrived = 0;
    cluster_.phase = 1;
    for (const auto& block : cluster_.blocks) {
      const Dim3& extent = launch_.cluster;
      const Dim3& within = block->cluster_ctaid;
      block->ctaid = {x * extent.x + within.x, y * extent.y + within.y, z * extent.z + within.z};
      block->sm = static_cast<u32>((index * cluster_.blocks.size() + block->rank) % static_cast<u64>(launch_.sm_count));
      start_block(*block);
      for (Warp* w : block->warps) start_warp(*w);
    }
    race_start(cluster_);
    return cluster_;
  }

 private:
  void add_block(u32 rank) {
    auto block = std::make_unique<Block>();
    const Dim3& extent = launch_.cluster;
    block->cluster = &cluster_;
    block->rank = rank;
    block->cluster_ctaid = {rank % extent.x, rank / extent.x % extent.y, rank / extent.x / extent.y};
    block->shared.resize(launch_.shared_bytes);
    block->local.resize(body_.local_bytes * warps_per_block_ * 32);
    if (body_.async_proxy) block->generic_writes.resize(launch_.shared_bytes / 16 + 1);
    cluster_.blocks.push_back(std::move(block));
  }

  void add_warp(u32 id, u8* registers, const std::vector<u8>& constants) {
    auto w = std::make_unique<Warp>();
    w->registers = registers;
    w->body = &body_;
    w->block = cluster_.blocks.back().get();
    w->cluster = &cluster_;
    w->launch = &launch_;
    w->id = id;
    std::copy(constants.begin(), constants.end(), registers + body_.reg_bytes);
    set_launch_registers(*w);
    w->block->warps.push_back(w.get());
    cluster_.warps.push_back(std::move(w));
  }

  void start_block(Block& block) const {
    std::fill(block.shared.begin(), block.shared.end(), poison);
    std::fill(block.local.begin(), block.local.end(), poison);
    std::fill(block.generic_writes.begin(), block.generic_writes.end(), GenericWrite{});
    block.tensor_memory.reset();
    block.live_warps = warps_per_block_;
    for (Barrier& barrier : block.barriers) barrier.reset();
  }

  void start_warp(Warp& w) {
    const u32 threads = static_cast<u32>(std::min<u64>(32, volume(launch_.block) - u64{w.id} * 32));
    for (const Body::Rows& rows : body_.unwritten) std::memset(w.registers + rows.first, poison, rows.bytes);
    set_block_registers(w);
    w.live = ~0u >> (32 - threads);
    w.groups.assign(1, LaneGroup{.mask = w.live});
    w.yield = w.spun = false;
    w.at = body_.code.data();
    w.waits_for = "nothing";
    w.copies.clear();
    std::fill(std::begin(w.copy_groups), std::end(w.copy_groups), 0u);
    std::fill(std::begin(w.cluster_phase), std::end(w.cluster_phase), 0u);
    w.wgmmas.clear();
    w.wgmma_groups = 0;
    std::fill(w.in_flight.begin(), w.in_flight.end(), u8{0});
    if (body_.has_wgmma) w.written_at.assign((body_.reg_bytes + body_.image.size()) / 64 + 2, 0);
    w.fence_epoch = 1;
    w.tensor_loads.clear();
    w.tensor_memory_seen = 0;
    cluster_.live_threads += threads;
    ++cluster_.live_warps;
  }

  Launch& launch_;
  const Body& body_;
  u32 warps_per_block_ = 0;
  Cluster cluster_;
};

void add_counters(Launch& launch) {
  Counters& counters = *launch.counters;
  counters.warp_instructions += launch.executed;
  counters.thread_instructions += launch.thread_instructions;
  for (std::size_t k = 0; k < std::size(counters.fma_flops); ++k) counters.fma_flops[k] += launch.flops[flop_class::fp16 + k];
  counters.special += launch.flops[flop_class::special];
}

/// Calls f(x, y, z) for each cluster of the grid.
template <class F>
void for_clusters(const Launch& launch, const F& f) {
  const Dim3 &grid = launch.grid, &extent = launch.cluster;
  for (unsigned z = 0; z < grid.z / extent.z; ++z)
    for (unsigned y = 0; y < grid.y / extent.y; ++y)
      for (unsigned x = 0; x < grid.x / extent.x; ++x) f(x, y, z);
}

void run_clusters(Launch& launch, u64 spin_limit) {
  u64 index = 0;
  if (!launch.cooperative) {
    Machine machine(launch);
    for_clusters(launch, [&](auto... at) { run_together({&machine.start(at..., index++)}, spin_limit); });
    return;
  }
  std::vector<std::unique_ptr<Machine>> machines;
  std::vector<Cluster*> clusters;
  for_clusters(launch, [&](auto... at) {
    machines.push_back(std::make_unique<Machine>(launch, index, volume(launch.grid) / volume(launch.cluster)));
    clusters.push_back(&machines.back()->start(at..., index++));
  });
  run_together(clusters, spin_limit);
}

}  // namespace

void run(const Function* f, Dim3 grid, Dim3 block, Dim3 cluster, std::size_t dynamic_shared, void* const* params, Time& time,
         Counters& counters, int sm_count, std::uint64_t owners, bool cooperative) {
  const Body& body = f->body;
  Launch launch;
  launch.body = &body;
  launch.grid = grid;
  launch.block = block;
  launch.cluster = cluster_size(body.info, cluster);
  launch.dynamic_shared = dynamic_shared;
  launch.time = &time;
  launch.counters = &counters;
  launch.sm_count = sm_count;
  launch.owners = owners;
  check_shape(launch);
  read_environment(launch);
  const u64 alignment = std::max<u64>(16, body.dynamic_align);
  launch.dynamic_offset = align_up(launch.shared_base + body.static_shared, alignment) - launch.shared_base;
  launch.shared_bytes = launch.dynamic_offset + dynamic_shared;
  copy_parameters(launch, params);
  launch.cooperative = cooperative;
  if (cooperative) allow_range(launch.grid_workspace, sizeof launch.grid_workspace);
  launch.ranges = allowed_ranges(launch.owners, launch.ranges_seen);

  // A launch that faults has used time and has counters, too.
  const auto finish = [&] {
    if (cooperative) forbid_range(launch.grid_workspace);
    advance_time(launch);
    add_counters(launch);
  };
  try {
    run_clusters(launch, number_from("GPUMODEL_SPIN_LIMIT", default_spin_limit));
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

}  // namespace gpu_model
