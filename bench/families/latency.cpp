// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/latency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "bench/families/stream.hpp"
#include "bench/support/case_list.hpp"
#include "bench/support/random_cycle.hpp"
#include "bench/support/slots.hpp"
#include "harness/machine/huge_pages.hpp"

namespace roofmark {

namespace {

constexpr std::size_t kKiB = std::size_t{1} << 10, kMiB = std::size_t{1} << 20, kGiB = std::size_t{1} << 30;

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

/// The lines that a chase follows.
struct Set {
  std::size_t lines, stride;

  std::size_t bytes() const { return lines * stride; }
};

Set set_of(const DeviceInfo& device, std::size_t bytes) {
  const std::size_t lines = std::clamp(bytes / kLine, std::size_t{1}, most_lines(device));
  return {lines, std::max(bytes / lines / kStrideStep * kStrideStep, kLine)};
}

struct Chase {
  Set set;
  std::size_t preload = 0;  ///< lines that a launch loads first
  std::size_t steps = 1;    ///< of a launch: whole laps, or a part of one, and the next launch goes on
  ChaseLoad load = ChaseLoad::ca;
};

/// Sizes per compute capability in KiB: the unified L1 of an SM, and the most of it that one block gets as shared memory. CUDA
/// C++ Programming Guide, "Technical Specifications per Compute Capability".
struct OnChip {
  std::size_t l1 = 0, shared = 0;
};

OnChip on_chip(int compute_capability) {
  switch (compute_capability) {
    case 70:
      return {128 * kKiB, 96 * kKiB};
    case 75:
      return {96 * kKiB, 64 * kKiB};
    case 80:
      return {192 * kKiB, 163 * kKiB};
    case 86:
    case 89:
    case 120:
    case 121:
      return {128 * kKiB, 99 * kKiB};
    case 90:
    case 100:
    case 103:
      return {256 * kKiB, 227 * kKiB};
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
  if (level == resource::l2_access) return gpu ? 150e-9 : 5e-9;
  return level == resource::l3_access ? 25e-9 : gpu ? 400e-9 : 100e-9;
}

/// Whole laps of about a millisecond; a lap that takes more than several of these is divided among launches.
std::size_t steps_of(const Listing& listing, const Resource& level, std::size_t lines) {
  constexpr std::size_t kMostMilliseconds = 4;
  const double seconds = listing.short_probes ? 2e-6 : 1e-3;
  const auto steps =
      std::max(static_cast<std::size_t>(seconds / roughly_seconds(level, listing.device.backend)), std::size_t{1});
  if (lines > kMostMilliseconds * steps) return steps;
  return std::max(steps / lines, std::size_t{1}) * lines;
}

/// Where `steps` steps from `from` lead, and the sum of the lines loaded, by the successors.
struct Walk {
  std::size_t end = 0;
  ChaseEnd expected;
};

Walk walk(const std::vector<std::uint32_t>& next, std::size_t stride, std::size_t from, std::size_t steps) {
  const std::size_t lines = next.size(), laps = steps / lines;
  const std::uint64_t lap = lines % 2 == 0 ? lines / 2 * (lines + 1) : (lines + 1) / 2 * lines;
  Walk made{from, {0, laps * lap}};
  for (std::size_t i = 0; i < steps % lines; ++i) {
    made.expected.sum += made.end + 1;
    made.end = next[made.end];
  }
  made.expected.sum *= stride;
  made.expected.end = made.end * stride;
  return made;
}

bool equal(const ChaseEnd& a, const ChaseEnd& b) { return a.end == b.end && a.sum == b.sum; }

/// The words of a ChaseEnd.
constexpr DataType kWord = DataType::int32;
constexpr std::size_t kEndWords = sizeof(ChaseEnd) / sizeof(std::int32_t);

Memory on_device(Device& device, const std::vector<std::uint32_t>& next) {
  Memory memory = device.allocate(next.size() * sizeof(std::uint32_t));
  device.to_device(memory.get(), next.data(), next.size() * sizeof(std::uint32_t));
  return memory;
}

Verification judge(bool right, std::string detail) { return Verification::within(right ? 0 : 1, 0, std::move(detail)); }

// A CPU's memory stands in huge pages from this size on.
constexpr std::size_t kHugeFrom = kMiB;
constexpr std::size_t kLines = 0, kAt = 1, kOut = 2, kRest = 3;

/// The set, the line where the next launch goes on, what a launch leaves, and what the rest of a lap leaves.
SlotLayout layout_of(const Set& set) {
  return SlotLayout({SlotArray::scratch(DataType::int8, std::max(set.bytes(), kHugeFrom)),
                     SlotArray::scratch(DataType::int8, sizeof(void*)), SlotArray::output(kWord, kEndWords),
                     SlotArray::scratch(kWord, kEndWords)});
}

class PreparedChase final : public Prepared {
 public:
  PreparedChase(const Setup& setup, const LatencyKernels& kernels, const Chase& chase)
      : device_(setup.device),
        kernels_(kernels),
        chase_(chase),
        next_(random_cycle(chase.set.lines, setup.seed)),
        launched_(walk(next_, chase.set.stride, 0, chase.steps)),
        slots_(setup, layout_of(chase.set)) {
    launched_.expected.sum += walk(next_, chase_.set.stride, 0, chase_.preload).expected.sum;
    const Memory next = on_device(device_, next_);
    for (int slot = 0; slot < setup.slots; ++slot) {
      kernels_.link(slots_.at(slot, kLines), chase_.set.stride, static_cast<const std::uint32_t*>(next.get()), chase_.set.lines,
                    device_.stream());
      go_to(slot, 0);
    }
    device_.synchronize();
  }

  void reset(int slot) override { go_to(slot, 0); }

  void launch(Stream stream, int slot) override { chase(stream, slot, kOut, chase_.preload, chase_.steps); }

  bool accumulates() const override { return chase_.steps % chase_.set.lines != 0; }

  /// After whole laps the chase is back at its first line, and the sum is that of all lines: no step was left out or led
  /// elsewhere. A launch of less than a lap is compared with a walk on the host, and then the rest of the lap is made.
  Verification verify(int slot) override {
    const std::size_t made = chase_.steps % chase_.set.lines;
    if (!equal(result(slot, kOut), launched_.expected)) {
      return judge(false, "the line reached, and the sum of all lines loaded: 0 as expected, 1 different");
    }
    if (made == 0) return judge(true, "the line reached, and the sum of all lines loaded, exactly");
    const std::size_t rest = chase_.set.lines - made;
    go_to(slot, launched_.end);
    chase(device_.stream(), slot, kRest, 0, rest);
    device_.synchronize();
    const ChaseEnd lap = walk(next_, chase_.set.stride, 0, chase_.set.lines).expected;
    const ChaseEnd part = walk(next_, chase_.set.stride, 0, made).expected;
    return judge(equal(result(slot, kRest), {0, lap.sum - part.sum}),
                 "the line reached, and the sum of all lines loaded, of a launch and of the rest of a lap, exactly");
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kOut)}; }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    const double laps = static_cast<double>(chase_.steps) / static_cast<double>(chase_.set.lines);
    std::vector<std::pair<std::string, std::string>> made = {{"lines", std::to_string(chase_.set.lines)},
                                                             {"laps per launch", fmt::format("{:.6g}", laps)}};
    if (device_.info().backend != Backend::cpu) return made;
    const auto huge = huge_page_share("/", slots_.at(0, kLines));
    made.emplace_back("memory in huge pages", huge ? fmt::format("{:.0f} %", 100 * *huge) : "unknown");
    return made;
  }

 private:
  void chase(Stream stream, int slot, std::size_t out, std::size_t preload, std::size_t steps) {
    kernels_.chase(chase_.load, slots_.at<ChaseEnd>(slot, out), slots_.at<void*>(slot, kAt), slots_.at(slot, kLines),
                   chase_.set.stride, preload, steps, stream);
  }
  void go_to(int slot, std::size_t line) {
    const void* const address = slots_.at<char>(slot, kLines) + line * chase_.set.stride;
    device_.to_device(slots_.at(slot, kAt), &address, sizeof(address));
  }
  ChaseEnd result(int slot, std::size_t array) {
    ChaseEnd end;
    device_.to_host(&end, slots_.at(slot, array), sizeof(end));
    return end;
  }

  Device& device_;
  const LatencyKernels& kernels_;
  Chase chase_;
  std::vector<std::uint32_t> next_;
  Walk launched_;
  Slots slots_;
};

class PreparedSharedChase final : public Prepared {
 public:
  PreparedSharedChase(const Setup& setup, const LatencyKernels& kernels, const Chase& chase)
      : device_(setup.device),
        kernels_(kernels),
        chase_(chase),
        slots_(setup, SlotLayout({SlotArray::output(kWord, kEndWords)})) {
    const std::vector<std::uint32_t> next = random_cycle(chase.set.lines, setup.seed);
    expected_ = walk(next, chase.set.stride, 0, chase.steps).expected;
    next_ = on_device(device_, next);
  }

  void launch(Stream stream, int slot) override {
    kernels_.chase_shared(slots_.at<ChaseEnd>(slot, 0), static_cast<const std::uint32_t*>(next_.get()), chase_.set.lines,
                          chase_.set.stride, chase_.steps, stream);
  }

  Verification verify(int slot) override {
    ChaseEnd end;
    device_.to_host(&end, slots_.at(slot, 0), sizeof(end));
    return judge(equal(end, expected_), "the line reached, and the sum of all lines loaded: 0 as expected, 1 different");
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, 0)}; }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"lines", std::to_string(chase_.set.lines)}, {"laps per launch", std::to_string(chase_.steps / chase_.set.lines)}};
  }

 private:
  Device& device_;
  const LatencyKernels& kernels_;
  Chase chase_;
  Slots slots_;
  ChaseEnd expected_;
  Memory next_;
};

/// Addresses have no type of a data type: int8 stands for bytes, as in transfers.
Case blank_case(std::string operation, const Set& set, const Resource& level, std::size_t steps) {
  Case c;
  c.family = "latency";
  c.operation = std::move(operation);
  c.type = DataType::int8;
  c.shape = {{"bytes", std::to_string(set.bytes())}, {"stride", std::to_string(set.stride)}, {"impl", "own"}};
  c.work = {{{{level, static_cast<double>(steps)}}}};
  c.protocol.cache = Cache::warm;
  c.protocol.one_core = true;
  c.shared_bytes = aligned(set.lines * sizeof(std::uint32_t));
  c.touched_bytes = set.bytes();
  return c;
}

const LatencyKernels* kernels_for(Backend backend) { return select(backend, &cuda::latency, &cpu::latency); }

void add_chase(CaseList& list, std::size_t bytes, ChaseLoad load = ChaseLoad::ca) {
  const Listing& listing = list.listing();
  const LatencyKernels* kernels = kernels_for(listing.device.backend);
  const Set set = set_of(listing.device, bytes);
  const Resource& level = level_of(listing.device, load, set.bytes());
  const bool fits_l1 = list.on_gpu() && level == resource::l1_access;
  const Chase chase{set, fits_l1 ? set.lines : 0, steps_of(listing, level, set.lines), load};
  Case c = blank_case("chase", set, level, chase.steps);
  if (list.on_gpu()) c.shape.insert(c.shape.begin() + 2, {"load", load == ChaseLoad::ca ? "ca" : "cg"});
  c.slot_bytes = layout_of(set).slot_bytes();
  if (!kernels) c.unsupported = "this build has no pointer chase for the device";
  c.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedChase>(setup, *kernels, chase);
  };
  list.add(std::move(c));
}

void add_shared(CaseList& list, std::size_t bytes) {
  const Listing& listing = list.listing();
  const LatencyKernels* kernels = kernels_for(listing.device.backend);
  const Set set = set_of(listing.device, bytes);
  const Chase chase{set, 0, steps_of(listing, resource::shared_access, set.lines)};
  Case c = blank_case("shared", set, resource::shared_access, chase.steps);
  c.slot_bytes = aligned(sizeof(ChaseEnd));
  if (!kernels || !kernels->chase_shared) c.unsupported = "the device has no shared memory, or this build has no chase in it";
  c.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedSharedChase>(setup, *kernels, chase);
  };
  list.add(std::move(c));
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
  const std::size_t most = nearly_all_memory(listing), beside = most_lines(listing.device) * sizeof(std::uint32_t) + 2 * kMiB;
  return most > beside ? most - beside : std::bit_floor(listing.device.memory_bytes / 4);
}

// Sizes by 4, and two beyond the caches: at four times a cache that replaces at random, 2 % of the accesses still hit. A
// virtual machine may state a cache of hundreds of MiB.
void list_quick(CaseList& list) {
  const DeviceInfo& device = list.listing().device;
  const std::size_t beyond = std::min({4 * std::bit_ceil(last_level(device)), kGiB, std::bit_floor(device.memory_bytes / 4)});
  const std::size_t smallest = list.on_gpu() ? 16 * kKiB : 4 * kKiB;
  if (list.on_gpu() && on_chip(device.compute_capability).shared > 0) add_shared(list, 32 * kKiB);
  for (std::size_t bytes = smallest; bytes < beyond / 2; bytes *= 4) add_chase(list, bytes);
  add_chase(list, beyond / 2);
  add_chase(list, beyond);
}

void list_large(CaseList& list) {
  const Listing& listing = list.listing();
  const bool full = listing.suite == SuiteName::full;
  const std::size_t fine = 8 * last_level(listing.device), largest = largest_set(listing);
  // All memory of a host takes minutes to touch.
  const std::size_t most = list.on_gpu() || full ? largest : std::min(largest, std::max(16 * kGiB, fine));
  for (const std::size_t bytes : sizes(list.listing().device, full ? 4 : 2, std::min(fine, most))) add_chase(list, bytes);
  for (const std::size_t bytes : sizes(list.listing().device, full || list.on_gpu() ? 2 : 1, most)) {
    if (bytes > fine) add_chase(list, bytes);
  }
  add_chase(list, most);
  if (!list.on_gpu()) return;
  for (const std::size_t bytes : sizes(list.listing().device, full ? 2 : 1, 2 * last_level(listing.device)))
    add_chase(list, bytes, ChaseLoad::cg);
  const std::size_t shared = on_chip(listing.device.compute_capability).shared;
  for (const std::size_t bytes : sizes(list.listing().device, 1, shared)) add_shared(list, bytes);
  if (shared > 0) add_shared(list, shared);
}

void list_suite(CaseList& list) { (list.listing().suite == SuiteName::quick ? list_quick : list_large)(list); }

void list_contract(CaseList& list) {
  for (const std::size_t lines : {1, 2, 3, 1009, 20011}) {
    add_chase(list, lines * kLine);
    if (!list.on_gpu()) continue;
    add_chase(list, lines * kLine, ChaseLoad::cg);
    if (lines * kLine <= on_chip(list.listing().device.compute_capability).shared) add_shared(list, lines * kLine);
  }
}

}  // namespace

std::vector<Group> latency(const Listing& listing) { return list_cases(listing, list_contract, list_suite, list_suite); }

}  // namespace roofmark
