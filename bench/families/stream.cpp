// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <stdexcept>

#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/memory_case.hpp"
#include "bench/support/slots.hpp"
#include "harness/device/random.hpp"
#include "harness/model/traffic.hpp"
#include "harness/model/units.hpp"

namespace roofmark::stream {
namespace {

const StreamKernels* kernels_for(Backend backend) { return select(backend, &cuda::stream, &cpu::stream); }

constexpr unsigned char kFillByte = 0x3c;

/// Exact in every type, so that the expected values are exact too.
double scalar(StreamOp op, DataType type) {
  if (op != StreamOp::write) return 13.0 / 32.0;
  constexpr unsigned char bytes[] = {kFillByte, kFillByte, kFillByte, kFillByte, kFillByte, kFillByte, kFillByte, kFillByte};
  return load_as_double(type, bytes, 0);
}

struct Problem {
  StreamOp op;
  DataType type;
  std::size_t count;  ///< elements per array

  Problem(StreamOp op, DataType type, std::size_t bytes)
      : op(op), type(type), count(bytes / static_cast<std::size_t>(array_count(op)) / size_of(type)) {}
};

constexpr std::size_t kPage = 4 * kKiB;
constexpr std::size_t kX = 0, kY = 1, kTo = 2;

/// The inputs, then the output or the sum; each starts a page.
SlotLayout layout_of(const Problem& p) {
  const int inputs = input_count(p.op);
  return SlotLayout(
      {SlotArray::input(p.type, inputs > 0 ? p.count : 0, kX), SlotArray::input(p.type, inputs > 1 ? p.count : 0, kY),
       is_reduction(p.op) ? SlotArray::output(DataType::fp64, 1) : SlotArray::output(p.type, p.count)},
      kPage);
}

/// Bytes of the arrays; the sum does not count.
std::size_t touched_bytes(const Problem& p) { return static_cast<std::size_t>(array_count(p.op)) * p.count * size_of(p.type); }

/// In units of u(type) x sum of |terms|: the roundings of the kernel, and for fp64 the same number of the reference.
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

/// The error of a sum of n random terms t in chunks of L is a sum of rounding errors, one per addition: independent, uniform
/// within u x the partial sum. Their standard deviation is u sqrt(L / 6) sqrt(sum of t^2); in fp64, L is at most n for both the
/// kernel and the reference. The bound is eight standard deviations. (The worst case, u L x sum of |t|, would hide a missing
/// block of terms.)
Verification verify_sum(double got, const TermSums& expected, DataType type, std::size_t count) {
  constexpr double kDeviations = 8;
  const double n = static_cast<double>(count);
  const DataType accumulator = type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
  const double u = unit_roundoff(accumulator);
  const double chunks = type == DataType::fp64 ? 0 : kDeviations * std::sqrt(kStreamChunk / 6.0);
  const double wide = kDeviations * std::sqrt(2 * n / 6) * unit_roundoff(DataType::fp64) / u;
  const double scale = u * std::max(std::sqrt(expected.squares), DBL_MIN / u);
  return Verification::within(std::abs(got - expected.sum) / scale, chunks + wide,
                              fmt::format("sum, in u({}) x root of the sum of squared terms", name(accumulator)));
}

class PreparedStream final : public Prepared {
 public:
  PreparedStream(const Setup& setup, const Problem& problem, const StreamKernels& kernels, StreamBy by)
      : device_(setup.device),
        problem_(problem),
        kernels_(kernels),
        by_(by),
        scalar_(scalar(problem.op, problem.type)),
        slots_(setup, layout_of(problem)) {
    if (const std::size_t bytes = kernels_.workspace_bytes(problem_.op, problem_.count)) {
      workspace_ = device_.allocate(bytes);
      device_.zero(workspace_.get(), bytes);
    }
  }

  void launch(Stream stream, int slot) override {
    const Output written = slots_.output(slot, kTo);
    const std::size_t bytes = written.count * size_of(written.type);
    if (by_ == StreamBy::kernel) {
      kernels_.launch(problem_.op, problem_.type, written.data, slots_.at(slot, kX), slots_.at(slot, kY), problem_.count,
                      scalar_, workspace_.get(), stream);
    } else if (problem_.op == StreamOp::copy) {
      kernels_.library_copy(written.data, slots_.at(slot, kX), bytes, stream);
    } else {
      kernels_.library_fill(written.data, kFillByte, bytes, stream);
    }
  }

  Verification verify(int slot) override {
    const void* x = slots_.at(slot, kX);
    const void* y = slots_.at(slot, kY);
    const Output written = slots_.output(slot, kTo);
    if (is_reduction(problem_.op)) {
      double got = 0;
      device_.to_host(&got, written.data, sizeof(got));
      return verify_sum(got, device_.sum_terms(problem_.type, x, y, problem_.count), problem_.type, problem_.count);
    }
    const bool scales_x = problem_.op == StreamOp::scale;
    const double constant = problem_.op == StreamOp::write ? scalar_ : 0;
    const double beta = problem_.op == StreamOp::triad ? scalar_ : 1;
    const ElementwiseError error =
        device_.compare_linear(problem_.type, written.data, problem_.count, scales_x ? scalar_ : 1, x, beta, y, constant);
    return Verification::within(
        error.worst, linear_bound(problem_.op, problem_.type),
        fmt::format("all elements, in u({}) x sum of |terms|; worst at element {}", name(problem_.type), error.index));
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kTo)}; }
  bool is_deterministic() const override { return !is_reduction(problem_.op); }  // an element is of its own inputs alone

  std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"elements per array", std::to_string(problem_.count)},
            {"bytes counted", "each input read once, the output written once"}};
  }

 private:
  Device& device_;
  Problem problem_;
  const StreamKernels& kernels_;
  StreamBy by_;
  double scalar_;
  Slots slots_;
  Memory workspace_;
};

std::string why_unsupported(const StreamKernels* kernels, StreamOp op, DataType type, StreamBy by) {
  if (!kernels || !kernels->launch) return "this build has no stream kernels for the device";
  if (!kernels->supports(type)) return fmt::format("no streams of {} on the device", name(type));
  if (by == StreamBy::kernel) return {};
  const bool have = op == StreamOp::copy ? kernels->library_copy != nullptr : kernels->library_fill != nullptr;
  return have ? "" : "no library call does this on the device";
}

/// From these bytes on a launch demands DRAM alone (method.md: warm, 4 S and more).
std::size_t beyond_caches(const DeviceInfo& device) { return static_cast<std::size_t>(4 * lasting_cache_bytes(device)); }

// On a GPU each array exceeds four times the last-level cache. On the CPU all arrays together exceed it twofold: filling and
// checking larger ones would take longer than measuring them.
std::size_t dram_bytes(const DeviceInfo& device) {
  const std::size_t times = device.backend == Backend::cuda ? 16 : 8;
  return std::bit_ceil(std::max({times * device.last_level_cache_bytes(), beyond_caches(device), 256 * kMiB}));
}
std::size_t quarter_of_memory(const DeviceInfo& device) { return std::bit_floor(device.memory_bytes / 4); }

std::vector<DataType> types_on(const DeviceInfo& device) {
  const StreamKernels* kernels = kernels_for(device.backend);
  std::vector<DataType> types = {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16};
  if (kernels) std::erase_if(types, [&](DataType type) { return !kernels->supports(type); });
  return types;
}

// The library moves bytes, whatever their type: one type is compared with it.
void add(CaseList& list, StreamOp op, DataType type, std::size_t bytes) {
  const Listing& listing = list.listing();
  const Cache cache = listing.cache.value_or(Cache::warm);
  Group group = {{stream_case(listing.device, op, type, bytes, cache)}, {}};
  const bool library = (op == StreamOp::copy || op == StreamOp::write) && type == DataType::fp64 &&
                       (listing.suite != SuiteName::quick || bytes == dram_bytes(listing.device));
  if (library) {
    group.cases.push_back(stream_case(listing.device, op, type, bytes, cache, StreamBy::library));
    group.comparisons.push_back(compare(group.cases[0], group.cases[1]));
  }
  list.add(std::move(group));
}

void add_nearly_all_memory(CaseList& list) { add(list, StreamOp::triad, DataType::fp64, nearly_all_memory(list.listing())); }

// The triad, beyond the caches.
void list_smoke(CaseList& list) {
  const DeviceInfo& device = list.listing().device;
  const std::size_t least = std::bit_ceil(std::max(beyond_caches(device), 256 * kMiB));
  add(list, StreamOp::triad, DataType::fp64, list.on_gpu() ? dram_bytes(device) : least);
}

void list_quick(CaseList& list) {
  const DeviceInfo& device = list.listing().device;
  const std::size_t dram = dram_bytes(device);
  std::vector<std::size_t> sizes = {dram};
  std::size_t inside = 0;
  for (const CacheLevel& level : lasting_caches(device)) {
    const std::size_t half = std::bit_floor(level.total_bytes / 2);
    if (half > inside) sizes.push_back(half);
    inside = std::max(inside, level.total_bytes / 2);
  }
  if (list.on_gpu()) {
    sizes.insert(sizes.end(), {64 * kKiB, kMiB, 4 * kMiB, 64 * kMiB, 256 * kMiB, 4 * dram});
  } else {
    sizes.push_back(2 * std::bit_ceil(device.last_level_cache_bytes()));
  }
  std::sort(sizes.begin(), sizes.end());
  for (std::size_t bytes : sizes) add(list, StreamOp::triad, DataType::fp64, bytes);
  for (StreamOp op : kStreamOps) add(list, op, DataType::fp64, dram);
  add(list, StreamOp::triad, DataType::fp32, dram);
  if (!list.on_gpu()) return;
  for (StreamOp op : {StreamOp::triad, StreamOp::read}) {
    for (DataType type : types_on(device)) add(list, op, type, dram);
  }
}

void list_baseline(CaseList& list) {
  const DeviceInfo& device = list.listing().device;
  const std::size_t quarter = quarter_of_memory(device), dram = dram_bytes(device);
  const std::size_t largest = list.on_gpu() ? quarter : std::min(quarter, 4 * dram);
  for (StreamOp op : {StreamOp::triad, StreamOp::copy, StreamOp::read, StreamOp::write}) {
    for (DataType type : {DataType::fp64, DataType::fp32}) {
      for (std::size_t bytes = 16 * kKiB; bytes < largest; bytes *= 4) add(list, op, type, bytes);
      add(list, op, type, largest);
    }
  }
  const std::size_t large = list.on_gpu() ? std::min(quarter, 16 * kGiB) : dram;
  for (StreamOp op : kStreamOps) {
    for (DataType type : types_on(device)) add(list, op, type, large);
  }
  if (list.on_gpu()) add_nearly_all_memory(list);
}

void list_full(CaseList& list) {
  const DeviceInfo& device = list.listing().device;
  for (StreamOp op : kStreamOps) {
    for (DataType type : types_on(device)) {
      for (std::size_t bytes = 16 * kKiB; bytes <= quarter_of_memory(device); bytes *= 2) add(list, op, type, bytes);
    }
  }
  add_nearly_all_memory(list);
}

void list_suite(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  (suite == SuiteName::quick ? list_quick : suite == SuiteName::baseline ? list_baseline : list_full)(list);
}

void list_contract(CaseList& list) {
  for (StreamOp op : kStreamOps) {
    for (DataType type : types_on(list.listing().device)) {
      for (const std::size_t count : {1, 7, 1009, 100003}) {
        add(list, op, type, count * static_cast<std::size_t>(array_count(op)) * size_of(type));
      }
    }
  }
}

}  // namespace

// Below the limit by what may be gone before the case runs: a GPU's libraries load their kernels, and a host's memory is also
// for its other programs.
std::size_t nearly_all_memory(const Listing& listing, std::size_t parts) {
  const bool gpu = listing.device.backend == Backend::cuda;
  const double still_free = gpu ? 0.99 : 0.9;
  const std::size_t step = gpu ? kGiB : 64 * kMiB, padding = 3 * kPage;
  const auto most = static_cast<std::size_t>(still_free * std::min(0.9, listing.memory_fraction) *
                                             static_cast<double>(listing.device.free_bytes)) /
                    parts;
  return most > padding ? std::max((most - padding) / step, std::size_t{1}) * step : step;
}

Case stream_case(const DeviceInfo& device, StreamOp op, DataType type, std::size_t bytes, Cache cache, StreamBy by) {
  const StreamKernels* kernels = kernels_for(device.backend);
  const Problem problem(op, type, bytes);
  const std::size_t touched = touched_bytes(problem);
  const char* const impl = by == StreamBy::kernel ? "own" : op == StreamOp::copy ? "memcpy" : "memset";
  Case one = memory_case(device, "stream", std::string(name(op)), type, {{"bytes", std::to_string(bytes)}, {"impl", impl}},
                         cache, layout_of(problem), LaunchBytes{touched, touched});
  if (const int flops = operation(op).flops) {
    const Resource& pipe = type == DataType::fp64 ? resource::fp64_fma : resource::fp32_fma;
    // An addition or a multiplication alone takes the time of a fused multiply-add, which counts as two.
    const double part = flops / 2.0;
    one.work.phases.front().push_back({pipe, flops * static_cast<double>(problem.count), 0, part});
  }
  one.unsupported = why_unsupported(kernels, op, type, by);
  if (!one.unsupported.empty()) return one;
  one.shared_bytes = kernels->workspace_bytes(op, problem.count);
  one.prepare = [problem, kernels, by](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedStream>(setup, problem, *kernels, by);
  };
  return one;
}

std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  const StreamOp op = asked.operation_of(kStreamOps);
  const std::size_t bytes = asked.amount("bytes");
  if (bytes < static_cast<std::size_t>(array_count(op)) * size_of(asked.type())) {
    throw std::invalid_argument("an array needs one element");
  }
  const StreamBy by = asked.is_or("impl", "own", "own") ? StreamBy::kernel : StreamBy::library;
  if (by == StreamBy::library && op != StreamOp::copy && op != StreamOp::write) {
    throw NotTogether("no library call does this: impl is own");
  }
  return stream_case(listing.device, op, asked.type(), bytes, listing.cache.value_or(Cache::warm), by);
}

std::vector<Group> list(const Listing& listing) {
  return list_cases(listing, list_contract, list_suite, list_suite, list_smoke);
}

}  // namespace roofmark::stream
