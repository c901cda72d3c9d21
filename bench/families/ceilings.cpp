// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "bench/families/access_atomic.hpp"
#include "bench/families/ceiling_probes.hpp"
#include "bench/families/gemm.hpp"
#include "bench/families/stream.hpp"
#include "bench/families/transfer.hpp"
#include "bench/families/transfer_links.hpp"
#include "bench/support/case_list.hpp"
#include "harness/model/units.hpp"

namespace roofmark::ceilings {
namespace {

using transfer::TransferBy;
using transfer::TransferOp;
using transfer::TransferPoint;

// Launch and tail cost less than 0.5 % of this time; it is short enough for many samples.
constexpr double kLaunchSeconds = 2e-3;

/// The first takes more than 100 us, the last a few milliseconds, at the microsecond or more that a node takes.
constexpr int kGraphNodes[] = {128, 512, 2048};

/// A case that demands `amount` of one resource. Warm: its data is small, or belongs into a cache.
Case probe_case(std::string operation, DataType type, Shape shape, const Resource& resource, double amount) {
  Case c;
  c.family = "ceilings";
  c.operation = std::move(operation);
  c.type = type;
  c.shape = std::move(shape);
  c.work.phases = {{{resource, amount}}};
  c.sets_ceiling = {resource};
  c.protocol.cache = Cache::warm;
  return c;
}

class Lister {
 public:
  Lister(const Listing& listing, const CeilingKernels& kernels)
      : listing_(listing),
        device_(listing.device),
        kernels_(kernels),
        target_{device_.compute_capability, std::max(device_.multiprocessors, 1)},
        list_(listing_) {
    listing_.cache.reset();  // --cache must not move a roof
  }

  std::vector<Group> list() && {
    if (device_.backend == Backend::cuda) {
      for (DataType type : {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16}) fma(type, target_, {});
      for (const TensorInstruction instruction : kTensorInstructions) tensor(instruction);
      library_products();
      exp2();
      shared_read();
      l1();
      l2();
      stream_launch();
      for (const int nodes : kGraphNodes) graph_launch(nodes);
      atomics();
    } else {
      for (DataType type : {DataType::fp64, DataType::fp32}) {
        fma(type, target_, {{"cores", "all"}});
        fma(type, {0, 1}, {{"cores", "one"}});
      }
      cpu_caches();
    }
    for (StreamOp op : {StreamOp::read, StreamOp::write, StreamOp::copy, StreamOp::triad}) {
      // Filling the arrays of the others takes a CPU longer than the smoke suite has.
      if (op == StreamOp::read || device_.backend == Backend::cuda || listing_.suite != SuiteName::smoke) dram(op);
    }
    links();
    return list_.take();
  }

 private:
  void add(Case c) { list_.add(std::move(c)); }

  /// Steps or repeats per launch, from their number per clock.
  std::size_t count_for(double per_clock, std::size_t multiple = 1) const {
    const double clock_hz = device_.highest_clock_hz.value_or(device_.backend == Backend::cuda ? 1.5e9 : 3e9);
    const double seconds = listing_.short_probes ? kLaunchSeconds / 100 : kLaunchSeconds;
    const auto multiples = static_cast<std::size_t>(seconds * clock_hz * per_clock / static_cast<double>(multiple));
    return std::max<std::size_t>(multiples, 1) * multiple;
  }

  void fma(DataType type, ProbeTarget target, Shape shape) {
    const ChainLayout layout = kernels_.fma_layout(type, target);
    const std::size_t steps = count_for(layout.steps_per_clock, kStepMultiple);
    const bool one_core = device_.backend == Backend::cpu && shape.front().second == "one";
    Case c = probe_case("fma", type, shape, fma_resource(type, one_core), 2.0 * layout.chains * steps);
    c.slot_bytes = one_output(type, layout.chains).slot_bytes();
    c.protocol.one_core = one_core;
    if (layout.chains == 0) c.unsupported = "the processor has no fused multiply-add for this type";
    c.prepare = [&kernels = kernels_, type, target, steps](const Setup& setup) {
      return fma_probe(setup, kernels, type, target, steps);
    };
    add(std::move(c));
  }

  void tensor(TensorInstruction instruction) {
    using enum DataType;
    // What a newer GPU would have says nothing of this one.
    if (instruction == TensorInstruction::tcgen05 && target_.compute_capability < 100) return;
    for (const auto& [type, accumulate] :
         {std::pair{fp64, fp64}, std::pair{tf32, fp32}, std::pair{fp16, fp32}, std::pair{fp16, fp16}, std::pair{bf16, fp32},
          std::pair{fp8, fp32}, std::pair{mxfp8, fp32}, std::pair{nvfp4, fp32}, std::pair{int8, int32}}) {
      if (type == fp64 && instruction != TensorInstruction::mma) continue;
      if (is_block_scaled(type) && instruction != TensorInstruction::tcgen05) continue;
      const TensorProbe probe{instruction, type, accumulate};
      const TensorLayout layout = kernels_.tensor_layout(probe, target_);
      const std::size_t iterations = count_for(layout.iterations_per_clock);
      const double operations = 2.0 * layout.m * layout.n * layout.k * layout.depth * layout.blocks * iterations;
      Case c = probe_case(std::string(name(instruction)), type, {{"accumulate", std::string(name(accumulate))}},
                          tensor_resource(type, accumulate), operations);
      c.slot_bytes = tensor_sinks(type, layout).slot_bytes();
      if (layout.blocks > 0) {
        for (const int rows : {layout.m, layout.n}) c.shared_bytes += SlotArray::matrix(type, rows, layout.k, 0).bytes();
      } else {
        c.unsupported = fmt::format("compute capability {}.{} has no {} for {}", target_.compute_capability / 10,
                                    target_.compute_capability % 10, c.operation, name(type));
      }
      c.prepare = [&kernels = kernels_, probe, target = target_, iterations](const Setup& setup) {
        return tensor_probe(setup, kernels, probe, target, iterations);
      };
      add(std::move(c));
    }
  }

  /// One product per type by the fastest algorithm of the library, large enough that neither its tail nor the memory matters.
  void library_products() {
    using enum DataType;
    for (DataType type : {fp64, tf32, fp16, bf16, fp8, mxfp8, nvfp4, int8}) {
      // Without fp64 tensor cores the product would load another resource.
      if (type == fp64 && kernels_.tensor_layout({TensorInstruction::mma, fp64, fp64}, target_).blocks == 0) continue;
      const std::int64_t size = listing_.short_probes ? 256 : std::min<std::int64_t>(8192, gemm::largest_square(device_, type));
      Case c = gemm::gemm_case(listing_, type, size, size, size, "tn", "tuned");
      c.family = "ceilings";
      c.operation = "gemm";
      c.sets_ceiling = {tensor_resource(type, fp32), SetsCeiling::By::library};
      c.work.phases = {{{c.sets_ceiling->resource, gemm::product_flops(size, size, size)}}};
      add(std::move(c));
    }
  }

  void exp2() {
    const ChainLayout layout = kernels_.exp2_layout(target_);
    const std::size_t steps = count_for(layout.steps_per_clock, kStepMultiple);
    Case c = probe_case("exp2", DataType::fp32, {}, resource::exp, static_cast<double>(layout.chains) * steps);
    c.slot_bytes = one_output(DataType::fp32, layout.chains).slot_bytes();
    c.prepare = [&kernels = kernels_, target = target_, steps](const Setup& setup) {
      return exp2_probe(setup, kernels, target, steps);
    };
    add(std::move(c));
  }

  /// A launch reads each word `times` times; the amount is bytes x times.
  void read(std::string operation, Shape shape, const Resource& resource, std::size_t bytes, std::size_t sinks,
            std::size_t times, const ProbeRead& read) {
    shape.emplace_back("bytes", std::to_string(bytes));
    Case c = probe_case(std::move(operation), DataType::fp32, std::move(shape), resource, static_cast<double>(bytes) * times);
    c.slot_bytes = read_sinks(sinks).slot_bytes();
    c.shared_bytes = bytes;
    c.prepare = [bytes, sinks, times, read](const Setup& setup) { return read_probe(setup, sinks, bytes, times, read); };
    add(std::move(c));
  }

  void shared_read() {
    constexpr double bytes_per_clock = 128;  // per SM
    const std::size_t bytes = kernels_.shared_read_bytes();
    const std::size_t repeats = count_for(bytes_per_clock / bytes);
    read("shared_read", {}, resource::shared, bytes, kernels_.shared_read_sinks(target_), repeats * target_.processors,
         [&kernels = kernels_, repeats, target = target_](std::uint64_t* sinks, const void* data, Stream stream) {
           kernels.shared_read(sinks, data, repeats, target, stream);
         });
  }

  /// Additions by which a warp has a counter per thread, and those of a warp or a block to one counter, which the hardware may
  /// combine. In shared memory fp32 takes a loop.
  void atomics() {
    for (const auto& [global, type, per] : {std::tuple{true, DataType::int32, AddressPer::thread},
                                            {true, DataType::int32, AddressPer::warp},
                                            {true, DataType::int32, AddressPer::block},
                                            {true, DataType::fp32, AddressPer::thread},
                                            {false, DataType::int32, AddressPer::thread},
                                            {false, DataType::int32, AddressPer::warp},
                                            {false, DataType::int32, AddressPer::block}}) {
      Case c = access::atomic_case(listing_, global, type, per);
      c.family = "ceilings";
      c.sets_ceiling = {global ? resource::global_atomic : resource::shared_atomic};
      add(std::move(c));
    }
  }

  /// Each processor sweeps over `part` bytes, those of all arrays together.
  void cache(StreamOp op, const std::string& level, const Resource& resource, std::size_t part, double bytes_per_clock) {
    part = std::max(part / kCacheGranule, std::size_t{1}) * kCacheGranule;
    const std::size_t repeats = count_for(bytes_per_clock / part), bytes = part * target_.processors;
    const Shape shape = {{"level", level}};
    if (op == StreamOp::read) {
      const auto sweep = resource == resource::l1 && kernels_.l1_read ? kernels_.l1_read : kernels_.cache_read;
      return read("cache_read", shape, resource, bytes, kernels_.cache_read_sinks(target_), repeats,
                  [sweep, bytes, repeats, target = target_](std::uint64_t* sinks, const void* data, Stream stream) {
                    sweep(sinks, data, bytes, repeats, target, stream);
                  });
    }
    store(op, shape, resource, bytes, repeats);
  }

  void store(StreamOp op, Shape shape, const Resource& resource, std::size_t bytes, std::size_t repeats) {
    const bool reads = op == StreamOp::copy;
    const std::size_t written = reads ? bytes / 2 : bytes;
    shape.emplace_back("bytes", std::to_string(bytes));
    Case c = probe_case(fmt::format("cache_{}", name(op)), DataType::fp32, std::move(shape), resource,
                        static_cast<double>(bytes) * repeats);
    c.slot_bytes = written_words(written).slot_bytes();
    c.shared_bytes = reads ? written : 0;
    c.prepare = [&kernels = kernels_, target = target_, bytes, repeats, written, reads](const Setup& setup) {
      return store_probe(setup, written, reads, repeats,
                         [&kernels, target, bytes, repeats](std::uint64_t* to, const std::uint64_t* from, Stream stream) {
                           if (from) return kernels.cache_copy(to, from, bytes, repeats, target, stream);
                           kernels.cache_write(to, bytes, repeats, target, stream);
                         });
    };
    add(std::move(c));
  }

  /// A part that every GPU's L1 holds. Its stores go through to L2, whose probes show their rate.
  void l1() {
    constexpr double bytes_per_clock = 128;  // per SM
    cache(StreamOp::read, "l1", resource::l1, 32 * 1024, bytes_per_clock);
  }

  /// Reads of several sizes; stores, which a cache has to keep as well, of the smallest.
  void l2() {
    constexpr double bytes_per_clock = 48;  // per SM, about
    const std::size_t total = device_.last_level_cache_bytes();
    std::vector<std::size_t> sizes = {total / 4, total / 2};
    // One half of a large L2 is nearer to an SM than the other; 24 MB is the size that published measurements use.
    if (24'000'000 < total * 3 / 4) sizes.push_back(24'000'000);
    for (std::size_t bytes : sizes) cache(StreamOp::read, "l2", resource::l2, bytes / target_.processors, bytes_per_clock);
    for (StreamOp op : {StreamOp::write, StreamOp::copy}) {
      cache(op, "l2", resource::l2, sizes.front() / target_.processors, bytes_per_clock);
    }
  }

  /// Every core sweeps over its own set: half of its first level; for each further level, the geometric mean of its shares of
  /// the level before and of this one.
  void cpu_caches() {
    constexpr double bytes_per_clock[] = {64, 32, 16};
    const Resource* resources[] = {&resource::l1, &resource::l2, &resource::l3};
    std::size_t before = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(device_.caches.size(), 3); ++i) {
      const CacheLevel& level = device_.caches[i];
      const std::size_t share = std::min(level.instance_bytes, level.total_bytes / target_.processors);
      const auto set = static_cast<std::size_t>(std::sqrt(static_cast<double>(before) * share));
      if (share < 4 * before) continue;
      for (StreamOp op : {StreamOp::read, StreamOp::write, StreamOp::copy}) {
        if (op != StreamOp::read && listing_.suite == SuiteName::smoke) continue;
        cache(op, level.name, *resources[i], before ? set : share / 2, bytes_per_clock[i]);
      }
      before = share;
    }
  }

  void dram(StreamOp op) {
    // On a GPU long enough to hide the launch.
    const std::size_t least = device_.backend == Backend::cuda ? 4096 * kMiB : 64 * kMiB;
    const std::size_t array = listing_.short_probes ? kMiB : std::max(4 * device_.last_level_cache_bytes(), least);
    const std::size_t wanted = array_count(op) * array;
    const auto allowed = static_cast<std::size_t>(0.9 * listing_.memory_fraction * device_.free_bytes);
    const std::size_t bytes = std::min(wanted, allowed) / kMiB * kMiB;
    Case c = stream::stream_case(device_, op, DataType::fp32, bytes, Cache::cold);
    if (bytes == 0) c.unsupported = "less than 1 MiB of memory is free";
    c.family = "ceilings";
    c.operation = "dram_" + c.operation;
    c.sets_ceiling = {resource::dram};
    Phase& demands = c.work.phases.front();
    std::erase_if(demands, [](const Demand& demand) { return !(demand.resource == resource::dram); });
    add(std::move(c));
  }

  /// One large transfer of pinned memory near the device in each direction; on a CPU a copy within the first node's memory.
  void links() {
    const bool gpu = device_.backend == Backend::cuda;
    const std::size_t large = gpu ? transfer::kLargeTransfer : transfer::large_host_copy(device_);
    const std::size_t bytes = listing_.short_probes ? kMiB / 16 : std::min(large, std::bit_floor(device_.memory_bytes / 16));
    const auto add_link = [&](const TransferPoint& point, const Resource& resource) {
      Case c = link_case(point, resource, static_cast<double>(bytes));
      // Its budget is two samples of several copies each.
      if (listing_.suite == SuiteName::smoke) c.protocol.launches = 1;
      add(std::move(c));
    };
    if (gpu) {
      add_link({.op = TransferOp::host_to_device, .bytes = bytes}, resource::host_to_device);
      add_link({.op = TransferOp::device_to_host, .bytes = bytes}, resource::device_to_host);
      peer_links(bytes);
    } else if (listing_.suite != SuiteName::smoke) {
      const int node = device_.host_nodes.empty() ? 0 : device_.host_nodes.front();
      add_link({.op = TransferOp::host_copy,
                .bytes = bytes,
                .memory = HostMemoryKind::pageable,
                .node = node,
                .to_node = node,
                .by = TransferBy::memcpy},
               resource::host_dram);
    }
  }

  Case link_case(const TransferPoint& point, const Resource& resource, double bytes) const {
    Case c = transfer::transfer_case(device_, point, listing_.fabric);
    c.family = "ceilings";
    c.sets_ceiling = {resource};
    c.work.phases = {{{resource, bytes}}};
    return c;
  }

  /// From and to the GPU of the same model that the most links or, of PCIe, the fewest bridges lead to, by reads and by writes;
  /// one whose links differ from the device's only where there is no other. Where these are not all of the NVLinks that lead to
  /// GPUs of this process, from and to all such GPUs at once.
  void peer_links(std::size_t bytes) {
    const int gpus = transfer::gpus_within_reach(listing_.fabric);
    std::vector<int> by_nvlink;
    std::optional<int> best;
    std::tuple<int, bool, int> best_path;
    for (int gpu = 1; gpu < gpus; ++gpu) {
      const RankInfo& member = listing_.fabric->members.at(static_cast<std::size_t>(gpu));
      if (member.device_name != device_.name) continue;
      const PeerPath path = listing_.fabric->local->path(0, gpu);
      if (!path.refusal.empty()) continue;
      if (path.nvlinks > 0) by_nvlink.push_back(gpu);
      const std::tuple rank(path.nvlinks, transfer::has_peer_links_of_first(member, *listing_.fabric),
                            -static_cast<int>(path.kind.value_or(PathKind::system)));
      if (best && rank <= best_path) continue;
      best = gpu;
      best_path = rank;
    }
    if (!best) return;
    const int all = nvlinks_to_others(*listing_.fabric, device_).value_or(device_.gpu.nvlink_links.value_or(0));
    const int most = std::get<0>(best_path);
    const bool partly = most > 0 && most < all && by_nvlink.size() > 1;
    const double amount = static_cast<double>(bytes) * (partly ? static_cast<double>(by_nvlink.size()) : 1);
    TransferPoint in{.op = partly ? TransferOp::all_to_one : TransferOp::peer, .bytes = bytes, .from = *best, .to = 0};
    TransferPoint out{.op = partly ? TransferOp::one_to_all : TransferOp::peer, .bytes = bytes, .from = 0, .to = *best};
    if (partly && static_cast<int>(by_nvlink.size()) < gpus - 1) in.others = out.others = by_nvlink;
    for (const TransferBy by : {TransferBy::copy_engine_read, TransferBy::copy_engine_write}) {
      in.by = out.by = by;
      add(link_case(in, resource::peer_in, amount));
      add(link_case(out, resource::peer_out, amount));
    }
  }

  Case launch_case(Shape shape, Issue issue, const Resource& resource) {
    Case c = probe_case("launch", DataType::fp32, std::move(shape), resource, 1);
    c.protocol.issue = issue;
    c.prepare = [&kernels = kernels_](const Setup&) { return launch_probe(kernels); };
    return c;
  }

  void stream_launch() { add(launch_case({{"issue", "stream"}}, Issue::gate, resource::stream_launch)); }

  /// One graph of `nodes` empty kernels per sample. Each launch of a graph has a cost of its own: the line over the numbers of
  /// nodes takes it out of the ceiling.
  void graph_launch(int nodes) {
    Case c = launch_case({{"issue", "graph"}, {"nodes", std::to_string(nodes)}}, Issue::graph, resource::graph_launch);
    c.protocol.launches = nodes;
    c.sets_ceiling->by = SetsCeiling::By::slope;
    add(std::move(c));
  }

  Listing listing_;
  const DeviceInfo& device_;
  const CeilingKernels& kernels_;
  ProbeTarget target_;
  CaseList list_;
};

}  // namespace

std::vector<Group> list(const Listing& listing) {
  if (listing.suite == SuiteName::sustained) return {};  // it is held against its own first second, on a device not yet hot
  const CeilingKernels* kernels = select(listing.device.backend, &cuda::ceilings, &cpu::ceilings);
  return kernels ? list(listing, *kernels) : std::vector<Group>{};
}

std::vector<Group> list(const Listing& listing, const CeilingKernels& kernels) { return Lister(listing, kernels).list(); }

}  // namespace roofmark::ceilings
