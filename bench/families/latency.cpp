// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one chase in every kind of memory, with the sizes and the suites of each.
#include "kernels/latency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/families/prepared_chase.hpp"
#include "bench/families/stream.hpp"
#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/fabric.hpp"
#include "bench/support/slots.hpp"
#include "harness/judge/theory.hpp"
#include "harness/model/units.hpp"

namespace roofmark::latency {

namespace {

/// Lines of GPUs have 128 bytes. Those of most CPUs have 64, which prefetchers load in pairs.
constexpr std::size_t kLine = 128;
/// A larger set has no more lines but wider strides: a TLB sees the range, and a lap of more lines would take seconds. On a CPU
/// the lines, of 64 bytes, exceed the largest cache four times all the same.
std::size_t most_lines(const DeviceInfo& device) {
  constexpr std::size_t kMost = std::size_t{1} << 22, kLineOfCpu = 64;
  if (device.backend == Backend::cuda) return kMost;
  return std::max(kMost, std::bit_ceil(4 * device.last_level_cache_bytes() / kLineOfCpu));
}
constexpr std::size_t kStrideStep = sizeof(void*);

ChaseSet set_of(const DeviceInfo& device, std::size_t bytes) {
  const std::size_t lines = std::clamp(bytes / kLine, std::size_t{1}, most_lines(device));
  return {lines, std::max(bytes / lines / kStrideStep * kStrideStep, kLine)};
}

/// Sizes per compute capability: what the unified memory of an SM leaves for L1 with the smallest carve-out of shared memory
/// that a block can have, and the maximum of shared memory per block. Each block reserves 1 KiB, so the smallest carve-out is
/// 8 KiB. CUDA C++ Programming Guide, "Compute Capabilities".
struct OnChip {
  std::size_t l1 = 0, shared = 0;
};

OnChip on_chip(int compute_capability) {
  switch (compute_capability) {
    case 80:
      return {184 * kKiB, 163 * kKiB};
    case 86:
    case 89:
    case 120:
    case 121:
      return {120 * kKiB, 99 * kKiB};
    case 90:
    case 100:
    case 103:
      return {248 * kKiB, 227 * kKiB};
    default:
      return {};
  }
}

/// What one thread reaches, from the innermost level: of caches that each core or SM has for itself, one.
std::vector<CacheLevel> caches_of_one_thread(const DeviceInfo& device, ChaseLoad load) {
  if (device.backend == Backend::cpu) return device.caches;
  std::vector<CacheLevel> levels = device.caches;
  std::erase_if(levels, [](const CacheLevel& level) { return level.name == "l1"; });
  const std::size_t l1 = on_chip(device.compute_capability).l1;
  if (l1 > 0 && load == ChaseLoad::ca) levels.insert(levels.begin(), {"l1", l1, l1});
  return levels;
}

/// The level that holds the set, by its size alone.
const Resource& level_of(const DeviceInfo& device, ChaseLoad load, std::size_t bytes) {
  for (const CacheLevel& level : caches_of_one_thread(device, load)) {
    if (bytes <= level.instance_bytes) return find_resource(level.name + "_access");
  }
  return resource::dram_access;
}

/// For the length of a launch: no result depends on it.
double roughly_seconds(const Resource& level, Backend backend) {
  const bool gpu = backend == Backend::cuda;
  if (level == resource::l1_access || level == resource::shared_access) return gpu ? 17e-9 : 1.5e-9;
  if (level == resource::constant_access) return 50e-9;
  if (level == resource::dsmem_access) return 100e-9;
  if (level == resource::l2_access) return gpu ? 150e-9 : 5e-9;
  if (level == resource::host_access || level == resource::peer_access) return 1.5e-6;
  return level == resource::l3_access ? 25e-9 : gpu ? 400e-9 : 100e-9;
}

/// Whole laps of about `seconds`; a lap that takes more than several times as long is divided among launches.
std::size_t steps_of(const Listing& listing, const Resource& level, std::size_t lines, double seconds = 1e-3) {
  constexpr std::size_t kMostTimes = 4;
  if (listing.short_probes) seconds = 2e-6;
  const auto steps =
      std::max(static_cast<std::size_t>(seconds / roughly_seconds(level, listing.device.backend)), std::size_t{1});
  if (lines > kMostTimes * steps) return steps;
  return std::max(steps / lines, std::size_t{1}) * lines;
}

/// Addresses have no data type: int8 means bytes, as in transfers.
Case blank_case(std::string operation, const ChaseSet& set, const Resource& level, std::size_t steps) {
  Case c;
  c.family = "latency";
  c.operation = std::move(operation);
  c.type = DataType::int8;
  c.shape = {{"bytes", std::to_string(set.bytes())}, {"stride", std::to_string(set.stride)}};
  c.work = {{{{level, static_cast<double>(steps)}}}};
  c.protocol.cache = Cache::warm;
  c.protocol.one_core = true;
  c.shared_bytes = aligned(set.lines * sizeof(std::uint32_t));
  c.touched_bytes = set.bytes();
  return c;
}

const LatencyKernels* kernels_for(Backend backend) { return select(backend, &cuda::latency, &cpu::latency); }

std::string_view name(ChaseLoad load) {
  constexpr std::string_view names[] = {"ca", "cg", "atom"};
  return names[static_cast<int>(load)];
}

/// `keys`: what tells the case from others of its operation, beside its set and load.
Case chase_case(const Listing& listing, std::string operation, const Chase& chase, const Resource& level, Shape keys = {}) {
  const DeviceInfo& device = listing.device;
  const LatencyKernels* kernels = kernels_for(device.backend);
  Case c = blank_case(std::move(operation), chase.set, level, chase.steps);
  if (device.backend == Backend::cuda) c.shape.emplace_back("load", name(chase.load));
  std::move(keys.begin(), keys.end(), std::back_inserter(c.shape));
  c.shape.emplace_back("impl", "own");
  c.slot_bytes = chase_slot_bytes(device, chase);
  if (!kernels) c.unsupported = "this build has no pointer chase for the device";
  c.prepare = [=](const Setup& setup) { return prepare_chase(setup, *kernels, chase); };
  return c;
}

Case chase_of(const Listing& listing, std::size_t bytes, ChaseLoad load) {
  const ChaseSet set = set_of(listing.device, bytes);
  const Resource& level = level_of(listing.device, load, set.bytes());
  const bool fits_l1 = listing.device.backend == Backend::cuda && level == resource::l1_access;
  const std::size_t steps = steps_of(listing, level, set.lines);
  return chase_case(listing, "chase", {.set = set, .preload = fits_l1 ? set.lines : 0, .steps = steps, .load = load}, level);
}

void add_chase(CaseList& list, std::size_t bytes, ChaseLoad load = ChaseLoad::ca) {
  list.add(chase_of(list.listing(), bytes, load));
}

/// The same line from an SM. In a two-part L2, a chase's lines are in both parts, a single line in one.
void add_on_sm(CaseList& list, ChaseLoad load, int sm) {
  const std::size_t steps = steps_of(list.listing(), resource::l2_access, 1);
  const Chase chase = {.set = {1, kLine}, .steps = steps, .load = load, .sm = static_cast<unsigned>(sm)};
  list.add(chase_case(list.listing(), "chase", chase, resource::l2_access, {{"sm", std::to_string(sm)}}));
}

/// Of all SMs `wanted` that lie evenly among them.
void add_sms(CaseList& list, int wanted) {
  const int sms = list.listing().device.multiprocessors;
  wanted = std::min(wanted, sms);
  for (const ChaseLoad load : {ChaseLoad::cg, ChaseLoad::atom}) {
    for (int i = 0; i < wanted; ++i) add_on_sm(list, load, static_cast<int>(std::int64_t{i} * sms / wanted));
  }
}

/// Readers on all other SMs, paced for a share of the DRAM's theoretical rate, or not paced for all of it. Absent where the
/// rate of DRAM or the clock is unknown.
std::optional<ChaseBackground> background_of(const DeviceInfo& device, int percent, std::size_t bytes) {
  if (percent == 0) return ChaseBackground{};
  ChaseBackground made{std::max(device.multiprocessors - 1, 1)};
  const std::size_t round = made.warps() * BackgroundReads::kChunk;
  made.rounds = std::max((bytes + round - 1) / round, std::size_t{1});
  if (percent == 100) return made;
  const Roofline roofline = theoretical_roofline(device);
  const Ceiling* const dram = roofline.find(resource::dram);
  if (!dram || !dram->theoretical || !device.highest_clock_hz) return {};
  const double seconds = static_cast<double>(round) / (percent / 100.0 * *dram->theoretical);
  made.interval_cycles = static_cast<std::uint32_t>(std::llround(seconds * *device.highest_clock_hz));
  return made;
}

void add_under_load(CaseList& list, std::size_t bytes, int percent, std::size_t background_bytes) {
  constexpr double kSeconds = 4e-3;  // the readers notice the end within an interval, microseconds later
  const DeviceInfo& device = list.listing().device;
  const ChaseSet set = set_of(device, bytes);
  const std::optional<ChaseBackground> background = background_of(device, percent, background_bytes);
  Chase chase = {.set = set,
                 .steps = steps_of(list.listing(), resource::dram_access, set.lines, kSeconds),
                 .load = ChaseLoad::cg,
                 .background = background.value_or(ChaseBackground{})};
  Case c = chase_case(list.listing(), "chase", chase, resource::dram_access, {{"background", std::to_string(percent)}});
  if (!background) c.unsupported = "the readers' pace needs the DRAM rate and the clock, and one of them is unknown";
  if (device.multiprocessors < 2) c.unsupported = "needs two SMs";
  list.add(std::move(c));
}

void add_on_chip(CaseList& list, OnChipMemory memory, std::size_t bytes) {
  constexpr std::string_view kNames[] = {"shared", "dsmem", "constant"};
  const Resource& level = *std::array{&resource::shared_access, &resource::dsmem_access,
                                      &resource::constant_access}[static_cast<std::size_t>(memory)];
  const Listing& listing = list.listing();
  const LatencyKernels* kernels = kernels_for(listing.device.backend);
  ChaseSet set = set_of(listing.device, bytes);
  std::size_t steps = steps_of(listing, level, set.lines);
  if (memory == OnChipMemory::constant) {
    // Lines of its caches have 64 bytes; they are empty when a launch starts, so that one lap in many is slower.
    constexpr std::size_t kConstantLine = 64, kLaps = 64;
    set = {std::max(bytes / kConstantLine, std::size_t{1}), kConstantLine};
    steps = std::max(steps_of(listing, level, set.lines), listing.short_probes ? 0 : kLaps * set.lines);
  }
  Case c = blank_case(std::string(kNames[static_cast<int>(memory)]), set, level, steps);
  c.shape.emplace_back("impl", "own");
  c.slot_bytes = on_chip_chase_slot_bytes();
  c.shared_bytes = aligned(std::max(set.lines * sizeof(std::uint32_t), set.bytes()));
  if (!kernels) c.unsupported = "this build has no pointer chase for the device";
  if (memory == OnChipMemory::neighbour && listing.device.compute_capability < 90) {
    c.unsupported = "clusters of blocks need compute capability 9.0";
  }
  c.prepare = [=](const Setup& setup) { return prepare_on_chip_chase(setup, *kernels, memory, set, steps); };
  list.add(std::move(c));
}

/// Memory of the host: of a GPU pinned, on the near node where that may be used.
Case host_chase(const Listing& listing, std::size_t bytes) {
  const DeviceInfo& device = listing.device;
  const HostMemory host{HostMemoryKind::pinned, device.near_memory_node()};
  const ChaseSet set = set_of(device, bytes);
  const std::size_t steps = steps_of(listing, resource::host_access, set.lines);
  Case c =
      chase_case(listing, "host", {.set = set, .steps = steps, .load = ChaseLoad::cg, .host = host}, resource::host_access);
  if (device.backend == Backend::cuda) c.host_slot_bytes = aligned(set.bytes());
  if (c.unsupported.empty() && is_confidential(device.gpu)) c.unsupported = kNoSharedMemory;
  return c;
}
void add_host(CaseList& list, std::size_t bytes) { list.add(host_chase(list.listing(), bytes)); }

/// In the memory of each other GPU of the process; unsupported if there is none.
void add_peers(CaseList& list, std::size_t bytes) {
  const Listing& listing = list.listing();
  const Fabric* const fabric = listing.fabric && listing.fabric->local ? listing.fabric : nullptr;
  const int own = cuda_ordinal(listing.device), gpus = fabric ? static_cast<int>(fabric->members.size()) : 1;
  const ChaseSet set = set_of(listing.device, bytes);
  Chase chase = {.set = set, .steps = steps_of(listing, resource::peer_access, set.lines), .load = ChaseLoad::cg};
  if (fabric) chase.gpu = fabric->local->device;
  for (int gpu = 0; gpu < std::max(gpus, 2); ++gpu) {
    if (gpu == own) continue;
    chase.peer = gpu;
    Case c = chase_case(listing, "peer", chase, resource::peer_access, {{"gpu", std::to_string(gpu)}});
    if (gpus < 2) {
      c.unsupported = kNeedsOtherGpus;
    } else if (std::string why = why_no_access(*fabric->local, own, gpu); !why.empty()) {
      c.unsupported = std::move(why);
    }
    list.add(std::move(c));
  }
}

/// Of a CPU: in the memory of a node, from the core that the calling thread is on.
void add_on_node(CaseList& list, std::size_t bytes, int node) {
  const ChaseSet set = set_of(list.listing().device, bytes);
  const Resource& level = level_of(list.listing().device, ChaseLoad::ca, set.bytes());
  const Chase chase = {.set = set,
                       .steps = steps_of(list.listing(), level, set.lines),
                       .host = HostMemory{HostMemoryKind::pageable, node, true}};
  list.add(chase_case(list.listing(), "chase", chase, level, {{"node", std::to_string(node)}}));
}

/// One range by several strides, at random and in order: what a prefetcher gains.
Case stride_case(const Listing& listing, std::size_t bytes, std::size_t stride, ChaseOrder order) {
  const Resource& level = level_of(listing.device, ChaseLoad::ca, bytes);
  const ChaseSet set = {bytes / stride, stride};
  const std::size_t steps = steps_of(listing, level, set.lines);
  return chase_case(listing, "stride", {.set = set, .steps = steps, .order = order}, level,
                    {{"order", order == ChaseOrder::sequential ? "sequential" : "random"}});
}

void add_stride(CaseList& list, std::size_t bytes, std::size_t stride) {
  const auto in = [&](ChaseOrder order) { return stride_case(list.listing(), bytes, stride, order); };
  Group both = {{in(ChaseOrder::sequential), in(ChaseOrder::random)}, {}};
  both.comparisons = {compare(both.cases[0], both.cases[1])};
  list.add(std::move(both));
}

/// From 4 KiB to `largest`, `per_octave` sizes to each factor of 2 (or one to several factors, where it is a fraction).
std::vector<std::size_t> sizes(const DeviceInfo& device, double per_octave, std::size_t largest) {
  std::set<std::size_t> all;
  for (int i = 0;; ++i) {
    const auto bytes = static_cast<std::size_t>(std::llround(4.0 * kKiB * std::exp2(i / per_octave)));
    if (bytes > largest) break;
    all.insert(set_of(device, bytes).bytes());
  }
  return {all.begin(), all.end()};
}

std::size_t last_level(const DeviceInfo& device) {
  return device.caches.empty() ? 64 * kMiB : device.caches.back().instance_bytes;
}

/// The successors need room too, while the set is made.
std::size_t largest_set(const Listing& listing) {
  const std::size_t most = stream::nearly_all_memory(listing),
                    beside = most_lines(listing.device) * sizeof(std::uint32_t) + 2 * kMiB;
  const bool fits = most > beside && most < listing.device.memory_bytes;
  return fits ? most - beside : std::bit_floor(listing.device.memory_bytes / 4);
}

/// A size beyond the caches: at four times a cache that replaces at random, 2 % of the accesses still hit. A virtual machine
/// may state a cache of hundreds of MiB.
std::size_t beyond_caches(const DeviceInfo& device, std::size_t most = kGiB) {
  return std::min({4 * std::bit_ceil(last_level(device)), most, std::bit_floor(device.memory_bytes / 4)});
}

/// Whether a size fills more than half of a CPU's cache, where the time already rises, and two smaller sizes show that cache.
bool is_dispensable(const DeviceInfo& device, std::size_t bytes) {
  if (device.backend != Backend::cpu) return false;
  std::size_t inner = 0;
  for (const CacheLevel& level : device.caches) {
    if (bytes <= level.instance_bytes) return 2 * bytes > level.instance_bytes && bytes / 16 > inner;
    inner = level.instance_bytes;
  }
  return false;
}

// Sizes by 4, on a CPU half of each cache too, and two beyond the caches.
void list_quick(CaseList& list) {
  const DeviceInfo& device = list.listing().device;
  const std::size_t beyond = beyond_caches(device);
  const std::size_t smallest = list.on_gpu() ? 16 * kKiB : 4 * kKiB;
  if (list.on_gpu() && on_chip(device.compute_capability).shared > 0) add_on_chip(list, OnChipMemory::shared, 32 * kKiB);
  std::set<std::size_t> chosen = {beyond / 2, beyond};
  for (std::size_t bytes = smallest; bytes < beyond / 2; bytes *= 4) {
    if (!is_dispensable(device, bytes)) chosen.insert(bytes);
  }
  for (const CacheLevel& level : device.caches) {
    const std::size_t half = level.instance_bytes / 2 / kLine * kLine;
    if (!list.on_gpu() && half > smallest && half < beyond / 2) chosen.insert(half);
  }
  for (const std::size_t bytes : chosen) add_chase(list, bytes);
}

void list_chip(CaseList& list, bool full) {
  const DeviceInfo& device = list.listing().device;
  const std::size_t shared = on_chip(device.compute_capability).shared;
  for (const OnChipMemory memory : {OnChipMemory::shared, OnChipMemory::neighbour}) {
    for (const std::size_t bytes : sizes(device, 1, shared)) add_on_chip(list, memory, bytes);
    if (shared > 0) add_on_chip(list, memory, shared);
  }
  for (std::size_t bytes = 512; bytes <= LatencyKernels::kMostConstant; bytes *= 2) {
    add_on_chip(list, OnChipMemory::constant, bytes);
    if (full && 2 * bytes <= LatencyKernels::kMostConstant) add_on_chip(list, OnChipMemory::constant, bytes / 2 * 3);
  }
}

void list_beside_gpu(CaseList& list, bool full) {
  constexpr int kFewSms = 16;
  const DeviceInfo& device = list.listing().device;
  add_sms(list, full ? device.multiprocessors : kFewSms);
  const std::size_t beyond = beyond_caches(device);
  for (const int percent : {0, 25, 50, 75, 100}) add_under_load(list, beyond, percent, beyond);
  for (const std::size_t bytes : {64 * kKiB, 4 * kMiB, 256 * kMiB}) add_host(list, bytes);
  for (const std::size_t bytes : {4 * kMiB, 256 * kMiB}) add_peers(list, bytes);
}

void list_beside_cpu(CaseList& list, bool full) {
  const DeviceInfo& device = list.listing().device;
  constexpr std::size_t kMostOfStrides = 256 * kMiB;
  for (const int node : device.host_nodes) {
    if (device.host_nodes.size() < 2) break;
    add_on_node(list, 4 * kKiB, node);
    add_on_node(list, beyond_caches(device) / 2, node);
    add_on_node(list, beyond_caches(device), node);
  }
  for (std::size_t stride = 64; stride <= 4 * kKiB; stride *= full ? 2 : 8) {
    add_stride(list, beyond_caches(device, kMostOfStrides), stride);
  }
}

void list_large(CaseList& list) {
  const Listing& listing = list.listing();
  const bool full = listing.suite == SuiteName::full;
  const std::size_t fine = 8 * last_level(listing.device), largest = largest_set(listing);
  // All memory of a host takes minutes to touch.
  const std::size_t most = list.on_gpu() || full ? largest : std::min(largest, std::max(16 * kGiB, fine));
  for (const std::size_t bytes : sizes(listing.device, full ? 4 : 2, std::min(fine, most))) add_chase(list, bytes);
  for (const std::size_t bytes : sizes(listing.device, full || list.on_gpu() ? 2 : 1, most)) {
    if (bytes > fine) add_chase(list, bytes);
  }
  add_chase(list, most);
  if (!list.on_gpu()) return list_beside_cpu(list, full);
  const std::size_t past_l1 = 2 * last_level(listing.device);
  for (const std::size_t bytes : sizes(listing.device, full ? 2 : 1, past_l1)) add_chase(list, bytes, ChaseLoad::cg);
  list_chip(list, full);
  list_beside_gpu(list, full);
}

void list_suite(CaseList& list) { (list.listing().suite == SuiteName::quick ? list_quick : list_large)(list); }

void list_contract(CaseList& list) {
  constexpr std::size_t kAwkward[] = {1, 2, 3, 1009, 20011};
  for (const std::size_t lines : kAwkward) {
    add_chase(list, lines * kLine);
    if (!list.on_gpu()) {
      add_stride(list, lines * kLine, kLine);
      add_on_node(list, lines * kLine, list.listing().device.host_nodes.empty() ? 0 : list.listing().device.host_nodes.back());
      continue;
    }
    for (const ChaseLoad load : {ChaseLoad::cg, ChaseLoad::atom}) add_chase(list, lines * kLine, load);
    add_host(list, lines * kLine);
    add_peers(list, lines * kLine);
    if (lines * kLine <= LatencyKernels::kMostConstant) add_on_chip(list, OnChipMemory::constant, lines * kLine);
    if (lines * kLine > on_chip(list.listing().device.compute_capability).shared) continue;
    for (const OnChipMemory memory : {OnChipMemory::shared, OnChipMemory::neighbour}) add_on_chip(list, memory, lines * kLine);
  }
  if (!list.on_gpu()) return;
  add_sms(list, list.listing().device.multiprocessors);
  for (const int percent : {0, 25, 100}) add_under_load(list, 1009 * kLine, percent, 3 * kMiB);
}

std::size_t whole_lines(std::size_t bytes) { return std::max(bytes / kLine, std::size_t{1}) * kLine; }

}  // namespace

/// Of any size: the chase itself, in host memory, and on a CPU by strides.
std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  const bool gpu = listing.device.backend == Backend::cuda;
  for (const char* key : {"sm", "background", "node"}) {
    if (asked.has(key)) return std::nullopt;
  }
  if (asked.operation() == "chase") {
    const std::string load = asked.word_or("load", name(ChaseLoad::ca));
    for (const ChaseLoad one : {ChaseLoad::ca, ChaseLoad::cg, ChaseLoad::atom}) {
      if (name(one) == load) return chase_of(listing, whole_lines(asked.amount("bytes")), one);
    }
    throw std::invalid_argument(fmt::format("'{}' is not a known load (ca, cg, atom)", load));
  }
  if (asked.operation() == "host" && gpu) return host_chase(listing, whole_lines(asked.amount("bytes")));
  if (asked.operation() != "stride" || gpu) return std::nullopt;
  const auto stride = static_cast<std::size_t>(asked.number("stride", kStrideStep));
  if (stride % kStrideStep != 0) throw std::invalid_argument(fmt::format("stride is a multiple of {}", kStrideStep));
  const std::size_t lines = asked.amount("bytes") / stride;
  if (lines < 1 || lines > most_lines(listing.device)) {
    throw std::invalid_argument(fmt::format("bytes is from 1 to {} strides", most_lines(listing.device)));
  }
  return stride_case(listing, lines * stride, stride,
                     asked.is_or("order", "sequential", "random") ? ChaseOrder::sequential : ChaseOrder::random);
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_suite, list_suite); }

}  // namespace roofmark::latency
