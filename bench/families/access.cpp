// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/access.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/case_list.hpp"
#include "bench/support/reference_check.hpp"
#include "bench/support/slots.hpp"
#include "harness/model/traffic.hpp"

namespace roofmark {

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kElement = sizeof(std::int32_t);

const AccessKernels* kernels_for(Backend backend) { return select(backend, &cuda::access, &cpu::access); }

/// A line of the caches, and the part of it that one access fetches: of a GPU a sector.
struct Line {
  std::size_t bytes, fetched;
};
constexpr Line line_of(Backend backend) { return backend == Backend::cuda ? Line{128, 32} : Line{64, 64}; }

/// What a launch fetches exceeds four times the last-level cache, at any stride.
std::size_t range_bytes(const DeviceInfo& device) {
  const Line line = line_of(device.backend);
  return std::bit_ceil(std::max(line.bytes / line.fetched * 4 * device.last_level_cache_bytes(), 256 * kMiB));
}

/// Sweeps over `count` elements that are `stride` elements apart. Where a stride is several lines, there are as many sweeps, so
/// that a launch meets every line of the range once.
struct Strided {
  std::int64_t count, stride, sweeps, offset;

  Strided(std::int64_t count, std::int64_t stride, Backend backend)
      : count(count), stride(stride), offset(static_cast<std::int64_t>(line_of(backend).bytes / kElement)) {
    sweeps = std::max<std::int64_t>(stride / offset, 1);
  }

  std::size_t range() const { return static_cast<std::size_t>(count * stride) * kElement; }
  std::size_t elements() const { return static_cast<std::size_t>(count * sweeps); }
  std::size_t fetched(Backend backend) const {
    return elements() * std::min(static_cast<std::size_t>(stride) * kElement, line_of(backend).fetched);
  }
  SlotLayout layout() const {
    return SlotLayout({SlotArray::input(DataType::int32, range() / kElement, 0),
                       SlotArray::output(DataType::int32, static_cast<std::size_t>(sweeps * sum_groups(count)))});
  }
};

constexpr std::size_t kX = 0, kOut = 1;

/// The sums of the groups of elements in float64, where these integers are exact.
RowReference group_sums(Device& device, const std::int32_t* x, const Strided& strided) {
  return [&device, x, strided](std::int64_t first, std::int64_t count, double* expected, double* scale) {
    const Memory ones = device.allocate(kSumGroup * sizeof(double));
    const std::vector<double> host(kSumGroup, 1.0);
    device.to_device(ones.get(), host.data(), kSumGroup * sizeof(double));
    const std::int64_t groups = sum_groups(strided.count), whole = strided.count / kSumGroup;
    const auto add_up = [&](std::int64_t row, std::int64_t rows, std::int64_t elements) {
      const std::int32_t* const from = x + row / groups * strided.offset + row % groups * kSumGroup * strided.stride;
      const MatrixView view = {from, DataType::int32, rows, elements, kSumGroup * strided.stride, strided.stride};
      device.multiply_fp64(view, static_cast<const double*>(ones.get()), 1, expected + (row - first));
    };
    for (std::int64_t row = first, end = first + count; row < end;) {
      const bool is_whole = row % groups < whole;
      const std::int64_t rows = is_whole ? std::min(end - row, whole - row % groups) : 1;
      add_up(row, rows, is_whole ? kSumGroup : strided.count % kSumGroup);
      row += rows;
    }
    // Integers: any difference is an error.
    device.fill(scale, DataType::fp64, static_cast<std::size_t>(count), {Distribution::zeros, 0, 0});
  };
}

class PreparedStride final : public Prepared {
 public:
  PreparedStride(const Setup& setup, const AccessKernels& kernels, const Strided& strided)
      : device_(setup.device), kernels_(kernels), strided_(strided), slots_(setup, strided.layout()) {}

  void launch(Stream stream, int slot) override {
    kernels_.stride(slots_.at<std::int32_t>(slot, kOut), slots_.at<std::int32_t>(slot, kX), strided_.count, strided_.stride,
                    strided_.sweeps, strided_.offset, stream);
  }

  Verification verify(int slot) override {
    const RowReference reference = group_sums(device_, slots_.at<std::int32_t>(slot, kX), strided_);
    return check_outputs(device_, {{"sums", slots_.output(slot, kOut), 1, 0, reference}});
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kOut)}; }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    const Backend backend = device_.info().backend;
    return {{"elements", std::to_string(strided_.elements())},
            {backend == Backend::cuda ? "bytes of the sectors fetched" : "bytes of the lines fetched",
             std::to_string(strided_.fetched(backend))}};
  }

 private:
  Device& device_;
  const AccessKernels& kernels_;
  Strided strided_;
  Slots slots_;
};

Case blank_case(const CaseList& list, std::string operation, Shape shape, Cache cache) {
  Case c;
  c.family = "access";
  c.operation = std::move(operation);
  c.type = DataType::int32;
  c.shape = std::move(shape);
  c.shape.push_back(shape_entry(cache));
  c.protocol.cache = cache;
  if (!kernels_for(list.listing().device.backend)) c.unsupported = "this build has no access patterns for the device";
  return c;
}

void add_stride(CaseList& list, std::int64_t count, std::int64_t stride) {
  const DeviceInfo& device = list.listing().device;
  const Strided strided(count, stride, device.backend);
  const AccessKernels* kernels = kernels_for(device.backend);
  const Cache cache = list.listing().cache.value_or(Cache::cold);
  const SlotLayout layout = strided.layout();
  Case c = blank_case(list, "stride",
                      {{"bytes", std::to_string(strided.range())},
                       {"stride", std::to_string(static_cast<std::size_t>(strided.stride) * kElement)},
                       {"impl", "own"}},
                      cache);
  const std::size_t out = layout[kOut].bytes(), moved = strided.elements() * kElement + out;
  c.slot_bytes = layout.slot_bytes();
  c.touched_bytes = strided.fetched(device.backend) + out;
  c.work = {{memory_demands(device, static_cast<double>(c.touched_bytes), static_cast<double>(moved), cache)}};
  c.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedStride>(setup, *kernels, strided);
  };
  list.add(std::move(c));
}

void list_contract(CaseList& list) {
  for (const std::int64_t stride : {1, 3, 64}) {
    for (const std::int64_t count : {1, 31, 1009, 1024, 20011}) add_stride(list, count, stride);
  }
}

void list_suite(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  if (suite == SuiteName::quick) return;
  const std::size_t range = range_bytes(list.listing().device);
  for (std::size_t bytes = 4; bytes <= 4096; bytes *= 2) {
    if (suite == SuiteName::baseline && bytes != 4 && bytes != 32 && bytes != 128 && bytes != 4096) continue;
    add_stride(list, static_cast<std::int64_t>(range / bytes), static_cast<std::int64_t>(bytes / kElement));
  }
}

}  // namespace

std::vector<Group> access(const Listing& listing) { return list_cases(listing, list_contract, list_suite, list_suite); }

}  // namespace roofmark
