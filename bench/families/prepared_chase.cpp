// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/prepared_chase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bench/families/chase_walk.hpp"
#include "bench/support/fabric.hpp"
#include "bench/support/random_cycle.hpp"
#include "bench/support/slots.hpp"
#include "harness/device/host_pages.hpp"
#include "harness/machine/huge_pages.hpp"
#include "harness/machine/numa.hpp"
#include "kernels/base/check.hpp"
#include "kernels/peer_access.hpp"
#include "kernels/transfer.hpp"

namespace roofmark::latency {

namespace {

/// The words of a ChaseEnd.
constexpr DataType kWord = DataType::int32;
constexpr std::size_t kEndWords = sizeof(ChaseEnd) / sizeof(std::int32_t);

template <class T>
Memory on_device(Device& device, const std::vector<T>& values) {
  Memory memory = device.allocate(values.size() * sizeof(T));
  device.to_device(memory.get(), values.data(), values.size() * sizeof(T));
  return memory;
}

Verification judge(bool right, std::string detail) { return Verification::within(right ? 0 : 1, 0, std::move(detail)); }

constexpr const char* kReached = "the line reached, and the sum of all lines loaded: 0 as expected, 1 different";

// A CPU's memory is in huge pages from this size on.
constexpr std::size_t kHugeFrom = std::size_t{1} << 20;
constexpr std::size_t kLines = 0, kAt = 1, kOut = 2, kArrivals = 3, kNanoseconds = 4, kEnded = 5, kReads = 6, kData = 7;

SlotArray bytes_of(std::size_t bytes) { return SlotArray::scratch(DataType::int8, bytes); }

/// The set, the line where the next launch goes on, what a launch leaves; and what BackgroundReads takes.
SlotLayout layout_of(const Chase& chase) {
  const ChaseBackground background = chase.background.value_or(ChaseBackground{});
  return SlotLayout({bytes_of(chase.host || chase.peer ? 0 : std::max(chase.set.bytes(), kHugeFrom)), bytes_of(sizeof(void*)),
                     SlotArray::output(kWord, kEndWords), bytes_of(sizeof(std::uint64_t)), bytes_of(sizeof(std::uint64_t)),
                     bytes_of(static_cast<std::size_t>(background.readers) * sizeof(BackgroundReads::Ended)),
                     bytes_of(background.warps() * sizeof(BackgroundReads::Read)), bytes_of(background.bytes())});
}

/// On the wanted node, or Unsupported.
Memory host_memory(Device& device, const HostMemory& wanted, std::size_t bytes) {
  Memory memory = device.allocate_host(bytes, wanted);
  if (!wanted.node) return memory;
  const PagePlacement placed = placement_of(memory.get(), bytes);
  if (placed.has_others_than(*wanted.node)) {
    throw Unsupported(fmt::format("memory requested on NUMA node {} is on {}", *wanted.node, in_words(placed)));
  }
  return memory;
}

class PreparedChase : public Prepared {
 public:
  PreparedChase(const Setup& setup, const LatencyKernels& kernels, const Chase& chase)
      : device_(setup.device),
        kernels_(kernels),
        chase_(chase),
        next_(successors(chase, setup)),
        launched_(walk(next_, chase.set.stride, 0, chase.steps)),
        slots_(setup, layout_of(chase)) {
    launched_.expected.sum += walk(next_, chase_.set.stride, 0, chase_.preload).expected.sum;
    const Memory next = on_device(device_, next_);
    for (int slot = 0; slot < setup.slots; ++slot) {
      lines_.push_back(place_lines(slot));
      link(static_cast<const std::uint32_t*>(next.get()));
      for (const std::size_t array : {kArrivals, kNanoseconds, kEnded, kReads}) {
        if (const std::size_t bytes = slots_.layout()[array].bytes()) device_.zero(slots_.at(slot, array), bytes);
      }
      go_to(slot, 0);
    }
    device_.synchronize();
  }

  void reset(int slot) override { go_to(slot, 0); }

  void launch(Stream stream, int slot) override {
    kernels_.chase(chase_.load, end_at(slot), at(slot), lines(slot), chase_.set.stride, chase_.preload, chase_.steps, stream);
  }

  /// Less than a lap does not push out what is in the caches of such a set. Evicting takes up to four times the last level's
  /// size in memory, so only where that is little.
  bool begins_evicted() const override { return may_be_cached(device_); }

  bool accumulates() const override { return chase_.steps % chase_.set.lines != 0; }

  /// After whole laps the chase is back at its first line, and the sum is that of all lines: no step was left out or led
  /// elsewhere. A launch of less than a lap is compared with a walk on the host. It does not reach all lines, so their links
  /// are compared too. What that leaves in caches would speed up the timed launches.
  Verification verify(int slot) override {
    const Verification found = compare(slot);
    evict_from_peer();
    return found;
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kOut)}; }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    const double laps = static_cast<double>(chase_.steps) / static_cast<double>(chase_.set.lines);
    std::vector<std::pair<std::string, std::string>> made = {{"lines", std::to_string(chase_.set.lines)},
                                                             {"laps per launch", fmt::format("{:.6g}", laps)}};
    if (chase_.host) made.emplace_back("memory lies on", in_words(placement_of(host_.front().get(), chase_.set.bytes())));
    if (device_.info().backend != Backend::cpu) {
      if (!chase_.host) made.emplace_back("memory in huge pages", "unknown: the driver chooses a GPU's pages");
      return made;
    }
    const auto huge = huge_page_share("/", lines_.front());
    made.emplace_back("memory in huge pages", huge ? fmt::format("{:.0f} %", 100 * *huge) : "unknown");
    if (const auto node = node_of_this_thread(); node && chase_.host) {
      made.emplace_back("calling thread", fmt::format("on node {} at the end", *node));
    }
    return made;
  }

 protected:
  ChaseEnd* end_at(int slot) const { return slots_.at<ChaseEnd>(slot, kOut); }
  void** at(int slot) const { return slots_.at<void*>(slot, kAt); }
  std::uint64_t* arrivals(int slot) const { return slots_.at<std::uint64_t>(slot, kArrivals); }
  void* lines(int slot) const { return lines_[static_cast<std::size_t>(slot)]; }
  template <class T>
  std::vector<T> read(int slot, std::size_t array, std::size_t count) const {
    std::vector<T> values(count);
    device_.to_host(values.data(), slots_.at(slot, array), count * sizeof(T));
    return values;
  }

  Device& device_;
  const LatencyKernels& kernels_;
  Chase chase_;

 private:
  Verification compare(int slot) {
    const std::size_t made = chase_.steps % chase_.set.lines;
    if (!equal(result(slot), launched_.expected)) return judge(false, kReached);
    if (made == 0) return judge(true, "the line reached, and the sum of all lines loaded, exactly");
    const Memory next = on_device(device_, next_);
    const Memory wrong = on_device(device_, std::vector<std::uint64_t>{0});
    kernels_.count_wrong_links(static_cast<std::uint64_t*>(wrong.get()), lines(slot), chase_.set.stride,
                               static_cast<const std::uint32_t*>(next.get()), chase_.set.lines, device_.stream());
    device_.synchronize();
    std::uint64_t found = 0;
    device_.to_host(&found, wrong.get(), sizeof(found));
    return Verification::within(static_cast<double>(found), 0,
                                found ? "lines that lead elsewhere than they should"
                                      : "the line reached, the sum of all lines loaded, and the links of all lines, exactly");
  }

  bool may_be_cached(Device& home) const {
    const std::size_t cache = home.info().last_level_cache_bytes();
    return chase_.steps % chase_.set.lines != 0 && chase_.set.bytes() > cache && home.free_bytes() / 16 > cache;
  }
  /// Lines of a peer's memory are in the peer's cache, which the harness does not evict.
  void evict_from_peer() {
    if (!chase_.peer) return;
    Device& peer = chase_.gpu(*chase_.peer);
    if (may_be_cached(peer)) peer.batch({.path = Issue::stream, .flush_before = true}, [](Stream, int) {})->run();
    device_.stream();  // makes its device the current one again
  }
  /// The set that was placed last. Its pages are touched here for the first time, which takes a CPU seconds for each GiB.
  void link(const std::uint32_t* next) {
    constexpr std::size_t kPart = std::size_t{1} << 28;
    const std::size_t lines = chase_.set.lines, part = std::max<std::size_t>(kPart / chase_.set.stride, 1);
    for (std::size_t begin = 0; begin < lines; begin += part) {
      device_.progressed();
      kernels_.link(lines_.back(), chase_.set.stride, next, begin, std::min(begin + part, lines), device_.stream());
    }
  }
  void* place_lines(int slot) {
    if (chase_.peer) return place_at_peer();
    if (!chase_.host) return slots_.at(slot, kLines);
    host_.push_back(host_memory(device_, *chase_.host, chase_.set.bytes()));
    void* const memory = host_.back().get();
    return device_.info().backend == Backend::cuda ? cuda::transfer.device_address(memory) : memory;
  }
  void* place_at_peer() {
    if (!peer_access_) peer_access_ = cuda::peer_access.hold(cuda_ordinal(device_.info()), *chase_.peer, true);
    at_peer_.push_back(chase_.gpu(*chase_.peer).allocate(chase_.set.bytes()));
    return at_peer_.back().get();
  }
  void go_to(int slot, std::size_t line) {
    const void* const address = static_cast<char*>(lines(slot)) + line * chase_.set.stride;
    device_.to_device(slots_.at(slot, kAt), &address, sizeof(address));
  }
  ChaseEnd result(int slot) { return read<ChaseEnd>(slot, kOut, 1).front(); }

  std::vector<std::uint32_t> next_;
  Walk launched_;

 protected:
  Slots slots_;

 private:
  std::vector<Memory> host_;  ///< by slot
  std::shared_ptr<void> peer_access_;
  std::vector<Memory> at_peer_;  ///< by slot
  std::vector<void*> lines_;     ///< by slot: as the device addresses them
};

class PreparedChaseOnSm final : public PreparedChase {
 public:
  PreparedChaseOnSm(const Setup& setup, const LatencyKernels& kernels, const Chase& chase)
      : PreparedChase(setup, kernels, chase) {
    constexpr std::uint64_t kNothing = ~std::uint64_t{0};
    launch(device_.stream(), 0);
    device_.synchronize();
    const ChaseEnd end = read<ChaseEnd>(0, kOut, 1).front();
    if (end.end == kNothing && end.sum == kNothing) throw Unsupported(fmt::format("the device has no SM {}", *chase.sm));
    slots_.poison();
  }

  void launch(Stream stream, int slot) override {
    kernels_.chase_on_sm(chase_.load, end_at(slot), at(slot), lines(slot), chase_.set.stride, chase_.steps, *chase_.sm,
                         arrivals(slot), stream);
  }
};

class PreparedLoadedChase final : public PreparedChase {
 public:
  PreparedLoadedChase(const Setup& setup, const LatencyKernels& kernels, const Chase& chase)
      : PreparedChase(setup, kernels, chase), background_(*chase.background) {
    if (background_.readers == 0) return;
    for (int slot = 0; slot < setup.slots; ++slot) {
      kernels_.count_words(slots_.at<std::uint64_t>(slot, kData), background_.bytes() / sizeof(std::uint64_t),
                           device_.stream());
    }
    device_.synchronize();
  }

  Verification verify(int slot) override {
    Verification chased = PreparedChase::verify(slot);
    if (chased.status == Verification::Status::failed) return chased;
    const std::vector<BackgroundReads::Read> reads = reads_of(slot);
    for (std::size_t warp = 0; warp < reads.size(); ++warp) {
      if (reads[warp].chunks == 0 || reads[warp].sum != expected_sum(warp, reads[warp].chunks)) {
        return judge(false, fmt::format("the data read by warp {} of the readers: 0 as expected, 1 different", warp));
      }
    }
    return judge(true, chased.detail + "; and the sum of all words read by the readers");
  }

  bool outputs_are_all() const override { return false; }

  /// Of slot 0, which all timed launches use.
  std::optional<Background> background() const override {
    double bytes = 0;
    for (const BackgroundReads::Read& warp : reads_of(0)) bytes += static_cast<double>(warp.chunks * BackgroundReads::kChunk);
    const auto nanoseconds = static_cast<double>(read<std::uint64_t>(0, kNanoseconds, 1).front());
    if (!(nanoseconds > 0)) return {};
    return Background{resource::dram, bytes / (nanoseconds * 1e-9)};
  }

  void launch(Stream stream, int slot) override {
    const BackgroundReads reads = {.readers = background_.readers,
                                   .rounds = background_.rounds,
                                   .interval_cycles = background_.interval_cycles,
                                   .data = slots_.at(slot, kData),
                                   .reads = slots_.at<BackgroundReads::Read>(slot, kReads),
                                   .ended = slots_.at<BackgroundReads::Ended>(slot, kEnded),
                                   .nanoseconds = slots_.at<std::uint64_t>(slot, kNanoseconds)};
    kernels_.chase_under_load(end_at(slot), at(slot), lines(slot), chase_.set.stride, chase_.steps, reads, arrivals(slot),
                              stream);
  }

 private:
  std::vector<BackgroundReads::Read> reads_of(int slot) const {
    return read<BackgroundReads::Read>(slot, kReads, background_.warps());
  }

  /// Of the first `chunks` chunks of a warp, word i being i + 1.
  std::uint64_t expected_sum(std::uint64_t warp, std::uint64_t chunks) const {
    constexpr std::uint64_t kWords = BackgroundReads::kChunk / sizeof(std::uint64_t);
    const std::uint64_t rounds = background_.rounds, laps = chunks / rounds, rest = chunks % rounds;
    const auto sum_below = [](std::uint64_t n) { return n == 0 ? 0 : n * (n - 1) / 2; };
    const std::uint64_t numbers =
        background_.warps() * (laps * sum_below(rounds) + sum_below(rest)) + warp * chunks;  // of the chunks
    return kWords * kWords * numbers + chunks * (kWords * (kWords + 1) / 2);
  }

  ChaseBackground background_;
};

class PreparedOnChipChase final : public Prepared {
 public:
  PreparedOnChipChase(const Setup& setup, const LatencyKernels& kernels, OnChipMemory memory, const ChaseSet& set,
                      std::size_t steps)
      : device_(setup.device),
        kernels_(kernels),
        memory_(memory),
        set_(set),
        steps_(steps),
        slots_(setup, one_output(kWord, kEndWords)) {
    const std::vector<std::uint32_t> next = random_cycle(set.lines, setup.seed);
    expected_ = walk(next, set.stride, 0, steps).expected;
    if (memory != OnChipMemory::constant) {
      filled_from_ = on_device(device_, next);
      return;
    }
    std::vector<char> lines(set.bytes());
    for (std::size_t i = 0; i < set.lines; ++i) {
      const auto offset = static_cast<std::uint32_t>(next[i] * set.stride);
      std::memcpy(&lines[i * set.stride], &offset, sizeof(offset));
    }
    filled_from_ = on_device(device_, lines);
  }

  void launch(Stream stream, int slot) override {
    const auto out = slots_.at<ChaseEnd>(slot, 0);
    if (memory_ == OnChipMemory::constant) {
      return kernels_.chase_constant(out, filled_from_.get(), set_.lines, set_.stride, steps_, stream);
    }
    const auto chase = memory_ == OnChipMemory::shared ? kernels_.chase_shared : kernels_.chase_neighbour;
    chase(out, static_cast<const std::uint32_t*>(filled_from_.get()), set_.lines, set_.stride, steps_, stream);
  }

  Verification verify(int slot) override {
    ChaseEnd end;
    device_.to_host(&end, slots_.at(slot, 0), sizeof(end));
    return judge(equal(end, expected_), kReached);
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, 0)}; }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"lines", std::to_string(set_.lines)}, {"laps per launch", std::to_string(steps_ / set_.lines)}};
  }

 private:
  Device& device_;
  const LatencyKernels& kernels_;
  OnChipMemory memory_;
  ChaseSet set_;
  std::size_t steps_;
  Slots slots_;
  ChaseEnd expected_;
  Memory filled_from_;
};

}  // namespace

std::size_t chase_slot_bytes(const DeviceInfo& device, const Chase& chase) {
  // The memory of the host is a CPU's own.
  const bool counts = chase.host && device.backend == Backend::cpu;
  return layout_of(chase).slot_bytes() + (counts ? aligned(chase.set.bytes()) : 0);
}

std::unique_ptr<Prepared> prepare_chase(const Setup& setup, const LatencyKernels& kernels, const Chase& chase) {
  if (chase.sm) return std::make_unique<PreparedChaseOnSm>(setup, kernels, chase);
  if (chase.background) return std::make_unique<PreparedLoadedChase>(setup, kernels, chase);
  return std::make_unique<PreparedChase>(setup, kernels, chase);
}

std::size_t on_chip_chase_slot_bytes() { return one_output(kWord, kEndWords).slot_bytes(); }

std::unique_ptr<Prepared> prepare_on_chip_chase(const Setup& setup, const LatencyKernels& kernels, OnChipMemory memory,
                                                const ChaseSet& set, std::size_t steps) {
  return std::make_unique<PreparedOnChipChase>(setup, kernels, memory, set, steps);
}

}  // namespace roofmark::latency
