// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <set>

#include "bench/support/groups.hpp"
#include "bench/support/listing.hpp"
#include "harness/device/random.hpp"
#include "harness/model/traffic.hpp"

namespace roofmark {
namespace {

constexpr std::size_t kKiB = std::size_t{1} << 10, kMiB = std::size_t{1} << 20, kGiB = std::size_t{1} << 30;

const StreamKernels* kernels_for(Backend backend) { return select(backend, &cuda::stream, &cpu::stream); }

constexpr unsigned char kFillByte = 0x3c;

/// Exact in every type, so that the expected values are too.
double scalar(StreamOp op, DataType type) {
  if (op != StreamOp::write) return 13.0 / 32.0;
  constexpr unsigned char bytes[] = {kFillByte, kFillByte, kFillByte, kFillByte, kFillByte, kFillByte, kFillByte, kFillByte};
  return load_as_double(type, bytes, 0);
}

std::size_t rounded_up(std::size_t value, std::size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// Where the arrays of a slot stand: whole pages, the inputs first, then the output or the 8 bytes of a sum.
struct Layout {
  StreamOp op;
  DataType type;
  std::size_t count;  ///< elements of an array

  Layout(StreamOp op, DataType type, std::size_t bytes)
      : op(op), type(type), count(bytes / static_cast<std::size_t>(array_count(op)) / size_of(type)) {}
  std::size_t array_bytes() const { return count * size_of(type); }
  std::size_t stride() const { return rounded_up(array_bytes(), 4 * kKiB); }
  std::size_t touched_bytes() const { return static_cast<std::size_t>(array_count(op)) * array_bytes(); }
  std::size_t output_offset() const { return static_cast<std::size_t>(input_count(op)) * stride(); }
  std::size_t slot_bytes() const { return output_offset() + (is_reduction(op) ? 4 * kKiB : stride()); }
};

/// In units of u(type) x the sum of the terms' magnitudes: the kernel's roundings, and for fp64 as many of the reference.
double linear_bound(StreamOp op, DataType type) {
  const bool narrow = type == DataType::fp16 || type == DataType::bf16;
  switch (op) {
    case StreamOp::scale:
    case StreamOp::add:
      return type == DataType::fp64 ? 2 : 1.01;
    case StreamOp::triad:
      return type == DataType::fp64 ? 4 : narrow ? 1.01 : 2.01;
    default:
      return 0;
  }
}

/// A sum of n random terms t, added up in chunks of L, is off by a sum of rounding errors, one an addition: independent,
/// uniform within u x the partial sum, whose mean square is that of k terms after k. Together their standard deviation is
/// u sqrt(L / 6) sqrt(sum of t^2), in fp64 with L at most n for the kernel and the reference alike; eight of it are allowed.
/// (The certain bound, u L x sum of |t|, would overlook a missing block of terms.)
Verification verify_sum(double got, const TermSums& expected, DataType type, std::size_t count) {
  constexpr double kDeviations = 8;
  const double n = static_cast<double>(count);
  const DataType accumulator = type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
  const double u = unit_roundoff(accumulator);
  const double chunks = type == DataType::fp64 ? 0 : kDeviations * std::sqrt(kStreamChunk / 6.0);
  const double wide = kDeviations * std::sqrt(2 * n / 6) * unit_roundoff(DataType::fp64) / u;
  const double scale = u * std::max(std::sqrt(expected.squares), DBL_MIN / u);
  return Verification::within(std::abs(got - expected.sum) / scale, chunks + wide,
                              fmt::format("sum, in u({}) x root of the sum of the terms' squares", name(accumulator)));
}

class PreparedStream final : public Prepared {
 public:
  PreparedStream(const Setup& setup, const Layout& layout, const StreamKernels& kernels, StreamBy by)
      : device_(setup.device), layout_(layout), kernels_(kernels), by_(by), scalar_(scalar(layout.op, layout.type)) {
    arrays_ = device_.allocate(static_cast<std::size_t>(setup.slots) * layout_.slot_bytes());
    if (const std::size_t bytes = kernels_.workspace_bytes(layout_.op, layout_.count)) {
      workspace_ = device_.allocate(bytes);
      device_.zero(workspace_.get(), bytes);
    }
    for (int slot = 0; slot < setup.slots; ++slot) {
      for (int i = 0; i < input_count(layout_.op); ++i) {
        device_.fill(input(slot, i), layout_.type, layout_.count, {setup.data, setup.seed, static_cast<std::uint64_t>(i)});
      }
      const Output written = output(slot);
      device_.poison(written.data, written.count * size_of(written.type));
    }
  }

  void launch(Stream stream, int slot) override {
    void* to = output(slot).data;
    if (by_ == StreamBy::kernel) {
      kernels_.launch(layout_.op, layout_.type, to, input(slot, 0), input(slot, 1), layout_.count, scalar_, workspace_.get(),
                      stream);
    } else if (layout_.op == StreamOp::copy) {
      kernels_.library_copy(to, input(slot, 0), layout_.array_bytes(), stream);
    } else {
      kernels_.library_fill(to, kFillByte, layout_.array_bytes(), stream);
    }
  }

  Verification verify(int slot) override {
    const void* x = input(slot, 0);
    const void* y = input(slot, 1);
    const Output written = output(slot);
    if (is_reduction(layout_.op)) {
      double got = 0;
      device_.to_host(&got, written.data, sizeof(got));
      return verify_sum(got, device_.sum_terms(layout_.type, x, y, layout_.count), layout_.type, layout_.count);
    }
    const bool scales_x = layout_.op == StreamOp::scale;
    const double constant = layout_.op == StreamOp::write ? scalar_ : 0;
    const double beta = layout_.op == StreamOp::triad ? scalar_ : 1;
    const ElementwiseError error =
        device_.compare_linear(layout_.type, written.data, layout_.count, scales_x ? scalar_ : 1, x, beta, y, constant);
    return Verification::within(
        error.worst, linear_bound(layout_.op, layout_.type),
        fmt::format("all elements, in u({}) x sum of |terms|; worst at {}", name(layout_.type), error.index));
  }

  std::vector<Output> outputs(int slot) override { return {output(slot)}; }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"elements an array", std::to_string(layout_.count)},
            {"bytes counted", "each input read once, the output written once"}};
  }

 private:
  Output output(int slot) {
    void* data = start(slot) + layout_.output_offset();
    if (is_reduction(layout_.op)) return {data, DataType::fp64, 1};
    return {data, layout_.type, layout_.count};
  }
  std::byte* start(int slot) {
    return static_cast<std::byte*>(arrays_.get()) + static_cast<std::size_t>(slot) * layout_.slot_bytes();
  }
  void* input(int slot, int i) {
    return i < input_count(layout_.op) ? start(slot) + static_cast<std::size_t>(i) * layout_.stride() : nullptr;
  }

  Device& device_;
  Layout layout_;
  const StreamKernels& kernels_;
  StreamBy by_;
  double scalar_;
  Memory arrays_, workspace_;
};

/// Model FLOPs per element: each addition and each multiplication one.
int flops_per_element(StreamOp op) {
  switch (op) {
    case StreamOp::write:
    case StreamOp::copy:
      return 0;
    case StreamOp::read:
    case StreamOp::scale:
    case StreamOp::add:
      return 1;
    default:
      return 2;
  }
}

std::string why_unsupported(const StreamKernels* kernels, StreamOp op, StreamBy by) {
  if (!kernels || !kernels->launch) return "this build has no stream kernels for the device";
  if (by == StreamBy::kernel) return {};
  const bool have = op == StreamOp::copy ? kernels->library_copy != nullptr : kernels->library_fill != nullptr;
  return have ? "" : "no library call for this on the device";
}

/// The family's cases for one listing. A case that would take more than the listing allows is left out.
class Lister {
 public:
  explicit Lister(const Listing& listing)
      : listing_(listing),
        gpu_(listing.device.backend == Backend::cuda),
        limit_(static_cast<std::size_t>(listing.memory_fraction * static_cast<double>(listing.device.free_bytes))) {
    const StreamKernels* kernels = kernels_for(listing.device.backend);
    for (DataType type : {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16}) {
      if (!kernels || kernels->supports(type)) types_.push_back(type);
    }
  }

  std::vector<Group> list() {
    switch (listing_.suite) {
      case SuiteName::quick:
        quick();
        break;
      case SuiteName::baseline:
        baseline();
        break;
      case SuiteName::full:
        full();
        break;
      case SuiteName::contract:
        contract();
        break;
    }
    return std::move(groups_);
  }

 private:
  // Each array exceeds four times the last-level cache on a GPU. On the CPU it is all of them together that do, twofold:
  // there the filling and checking of large arrays would take longer than the measuring.
  std::size_t dram_bytes() const {
    const std::size_t times = gpu_ ? 16 : 8;
    return std::bit_ceil(std::max(times * listing_.device.last_level_cache_bytes(), 256 * kMiB));
  }
  std::size_t quarter() const { return std::bit_floor(listing_.device.memory_bytes / 4); }

  void quick() {
    std::vector<std::size_t> sizes = {dram_bytes()};
    for (const CacheLevel& level : listing_.device.caches) {
      const std::size_t held = std::bit_floor(level.total_bytes / 2);
      if (resident_level(listing_.device, static_cast<double>(held)) == &level) sizes.push_back(held);
    }
    if (gpu_) {
      sizes.insert(sizes.end(), {64 * kKiB, kMiB, 4 * kMiB, 64 * kMiB, 256 * kMiB, 4 * dram_bytes()});
    } else {
      sizes.push_back(2 * std::bit_ceil(listing_.device.last_level_cache_bytes()));
    }
    std::sort(sizes.begin(), sizes.end());
    for (std::size_t bytes : sizes) add(StreamOp::triad, DataType::fp64, bytes);
    for (StreamOp op : kStreamOps) add(op, DataType::fp64, dram_bytes());
    add(StreamOp::triad, DataType::fp32, dram_bytes());
    if (!gpu_) return;
    for (StreamOp op : {StreamOp::triad, StreamOp::read}) {
      for (DataType type : types_) add(op, type, dram_bytes());
    }
  }

  void baseline() {
    const std::size_t largest = gpu_ ? quarter() : std::min(quarter(), 4 * dram_bytes());
    for (StreamOp op : {StreamOp::triad, StreamOp::copy, StreamOp::read, StreamOp::write}) {
      for (DataType type : {DataType::fp64, DataType::fp32}) {
        for (std::size_t bytes = 16 * kKiB; bytes < largest; bytes *= 4) add(op, type, bytes);
        add(op, type, largest);
      }
    }
    const std::size_t large = gpu_ ? std::min(quarter(), 16 * kGiB) : dram_bytes();
    for (StreamOp op : kStreamOps) {
      for (DataType type : types_) add(op, type, large);
    }
    if (gpu_) nearly_all_memory();
  }

  void full() {
    for (StreamOp op : kStreamOps) {
      for (DataType type : types_) {
        for (std::size_t bytes = 16 * kKiB; bytes <= quarter(); bytes *= 2) add(op, type, bytes);
      }
    }
    nearly_all_memory();
  }

  void contract() {
    for (StreamOp op : kStreamOps) {
      for (DataType type : types_) {
        for (const std::size_t count : {1, 7, 1009, 100003}) {
          add(op, type, count * static_cast<std::size_t>(array_count(op)) * size_of(type));
        }
      }
    }
  }

  // A whole number of steps, so that the name is the same from run to run; and a little less than a case may take when it is
  // listed, since what is free shrinks until it runs: libraries load their kernels in between.
  void nearly_all_memory() {
    constexpr double kStillFree = 0.99;
    const std::size_t step = gpu_ ? kGiB : 64 * kMiB;
    const auto most = static_cast<std::size_t>(kStillFree * std::min(0.9, listing_.memory_fraction) *
                                               static_cast<double>(listing_.device.free_bytes));
    const std::size_t padding = 3 * 4 * kKiB;
    if (most > step + padding) add(StreamOp::triad, DataType::fp64, (most - padding) / step * step);
  }

  // Copy and write stand beside the library's calls in one type: those move bytes.
  bool beside_library(StreamOp op, DataType type, std::size_t bytes) const {
    return (op == StreamOp::copy || op == StreamOp::write) && type == DataType::fp64 &&
           (listing_.suite != SuiteName::quick || bytes == dram_bytes());
  }

  void add(StreamOp op, DataType type, std::size_t bytes) {
    const Cache cache = listing_.cache.value_or(Cache::warm);
    Group group = {{stream_case(listing_.device, op, type, bytes, cache)}, {}};
    if (beside_library(op, type, bytes)) {
      group.cases.push_back(stream_case(listing_.device, op, type, bytes, cache, StreamBy::library));
      group.comparisons.push_back(compare(group.cases[0], group.cases[1]));
    }
    std::size_t wanted = 0;
    for (const Case& one : group.cases) wanted += one.slot_bytes + one.shared_bytes;
    if (wanted <= limit_ && listed_.insert(group.cases[0].name()).second) groups_.push_back(std::move(group));
  }

  const Listing& listing_;
  bool gpu_;
  std::size_t limit_;
  std::vector<DataType> types_;
  std::set<std::string> listed_;
  std::vector<Group> groups_;
};

}  // namespace

Case stream_case(const DeviceInfo& device, StreamOp op, DataType type, std::size_t bytes, Cache cache, StreamBy by) {
  const StreamKernels* kernels = kernels_for(device.backend);
  const Layout layout(op, type, bytes);
  const auto touched = static_cast<double>(layout.touched_bytes());

  Case one;
  one.family = "stream";
  one.operation = name(op);
  one.type = type;
  one.shape = {{"bytes", std::to_string(bytes)},
               {"impl", by == StreamBy::kernel ? "own"
                        : op == StreamOp::copy ? "memcpy"
                                               : "memset"},
               shape_entry(cache)};
  Phase demands = memory_demands(device, touched, touched, cache);
  if (const int flops = flops_per_element(op)) {
    const Resource& pipe = type == DataType::fp64 ? resource::fp64_fma : resource::fp32_fma;
    demands.push_back({pipe, flops * static_cast<double>(layout.count)});
  }
  one.work.phases = {demands};
  one.protocol.cache = cache;
  one.slot_bytes = layout.slot_bytes();
  one.touched_bytes = layout.touched_bytes();
  one.unsupported = why_unsupported(kernels, op, by);
  if (!one.unsupported.empty()) return one;
  one.shared_bytes = kernels->workspace_bytes(op, layout.count);
  one.prepare = [layout, kernels, by](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedStream>(setup, layout, *kernels, by);
  };
  return one;
}

std::vector<Group> stream(const Listing& listing) { return Lister(listing).list(); }

}  // namespace roofmark
