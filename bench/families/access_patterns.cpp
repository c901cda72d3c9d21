// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/access_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/random_cycle.hpp"
#include "bench/support/reference_check.hpp"

namespace roofmark::access {

namespace {

constexpr std::size_t kIn = 0, kOut = 1;

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
    kernels_.stride(slots_.at<std::int32_t>(slot, kOut), slots_.at<std::int32_t>(slot, kIn), strided_.count, strided_.stride,
                    strided_.sweeps, strided_.offset, stream);
  }

  Verification verify(int slot) override {
    const RowReference reference = group_sums(device_, slots_.at<std::int32_t>(slot, kIn), strided_);
    return check_outputs(device_, {{"sums", slots_.output(slot, kOut), 1, 0, reference}});
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kOut)}; }
  bool is_deterministic() const override { return true; }  // integers

  std::vector<std::pair<std::string, std::string>> notes() const override {
    const Backend backend = device_.info().backend;
    return {{"elements", std::to_string(strided_.elements())},
            {backend == Backend::cuda ? "bytes of the sectors needed" : "bytes of the lines fetched",
             std::to_string(strided_.fetched_bytes(backend))}};
  }

 private:
  Device& device_;
  const AccessKernels& kernels_;
  Strided strided_;
  Slots slots_;
};

class PreparedGather final : public Prepared {
 public:
  PreparedGather(const Setup& setup, const AccessKernels& kernels, const Gathered& gathered)
      : device_(setup.device), kernels_(kernels), gathered_(gathered), slots_(setup, gathered.layout()) {
    const auto rows = static_cast<std::size_t>(gathered.rows);
    if (gathered.in_order) {
      rows_.resize(rows);
      std::iota(rows_.begin(), rows_.end(), 0U);
    } else {
      rows_ = random_cycle(rows, setup.seed, [&] { device_.progressed(); });
    }
    index_ = device_.allocate(gathered.index_bytes());
    device_.to_device(index_.get(), rows_.data(), gathered.index_bytes());
  }

  void launch(Stream stream, int slot) override {
    kernels_.gather(slots_.at<std::int32_t>(slot, kOut), slots_.at<std::int32_t>(slot, kIn),
                    static_cast<const std::uint32_t*>(index_.get()), gathered_.rows, gathered_.width, stream);
  }

  // On the host, part by part of the output.
  Verification verify(int slot) override {
    const auto width = static_cast<std::size_t>(gathered_.width), rows = rows_.size();
    const std::size_t rows_at_once = std::max<std::size_t>(kPartElements / width, 1);
    std::vector<std::int32_t> table(rows * width), got(std::min(rows_at_once, rows) * width);
    device_.to_host(table.data(), slots_.at(slot, kIn), table.size() * kElementBytes);
    std::size_t wrong = 0;
    for (std::size_t first = 0; first < rows; first += rows_at_once) {
      const std::size_t here = std::min(rows_at_once, rows - first);
      device_.progressed();
      device_.to_host(got.data(), slots_.at<std::int32_t>(slot, kOut) + first * width, here * width * kElementBytes);
      for (std::size_t row = 0; row < here; ++row) {
        const auto copied = got.begin() + static_cast<std::ptrdiff_t>(row * width);
        const auto source = table.begin() + static_cast<std::ptrdiff_t>(rows_[first + row] * width);
        if (!std::equal(source, source + static_cast<std::ptrdiff_t>(width), copied)) ++wrong;
      }
    }
    return Verification::within(static_cast<double>(wrong), 0, "rows that differ from the table's");
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kOut)}; }
  bool is_deterministic() const override { return true; }  // integers

 private:
  static constexpr std::size_t kPartElements = std::size_t{1} << 24;

  Device& device_;
  const AccessKernels& kernels_;
  Gathered gathered_;
  Slots slots_;
  std::vector<std::uint32_t> rows_;
  Memory index_;
};

class PreparedRead final : public Prepared {
 public:
  PreparedRead(const Setup& setup, const AccessKernels& kernels, const ReadArray& array)
      : device_(setup.device), kernels_(kernels), array_(array), slots_(setup, array.layout()) {}

  void launch(Stream stream, int slot) override {
    kernels_.read(array_.by, slots_.at<std::int32_t>(slot, kOut), slots_.at<std::int32_t>(slot, kIn), array_.count,
                  array_.passes, stream);
  }

  // Passes are sweeps that start at the same element.
  Verification verify(int slot) override {
    Strided passes(array_.count, 1, device_.info().backend);
    passes.sweeps = array_.passes;
    passes.offset = 0;
    const RowReference reference = group_sums(device_, slots_.at<std::int32_t>(slot, kIn), passes);
    return check_outputs(device_, {{"sums", slots_.output(slot, kOut), 1, 0, reference}});
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kOut)}; }
  bool is_deterministic() const override { return true; }  // integers

  std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"times read", std::to_string(array_.passes)}};
  }

 private:
  Device& device_;
  const AccessKernels& kernels_;
  ReadArray array_;
  Slots slots_;
};

class PreparedKnown final : public Prepared {
 public:
  PreparedKnown(const Setup& setup, KnownOutput known)
      : device_(setup.device), known_(std::move(known)), slots_(setup, one_output(known_.type, known_.count)) {}

  void reset(int slot) override {
    if (known_.accumulates) device_.zero(slots_.at(slot, 0), known_.count * size_of(known_.type));
  }
  bool accumulates() const override { return known_.accumulates; }

  void launch(Stream stream, int slot) override { known_.launch(slots_.at(slot, 0), stream); }

  Verification verify(int slot) override {
    std::vector<std::uint32_t> got(known_.count);
    device_.to_host(got.data(), slots_.at(slot, 0), got.size() * sizeof(got[0]));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != known_.expected(i);
    return Verification::within(static_cast<double>(wrong), 0, "elements that differ from the host's");
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, 0)}; }
  bool is_deterministic() const override { return true; }  // integers
  std::vector<std::pair<std::string, std::string>> notes() const override { return known_.notes; }

 private:
  Device& device_;
  KnownOutput known_;
  Slots slots_;
};

/// An array, and a sum per group of its elements.
SlotLayout layout_of_sums(std::size_t elements, std::int64_t groups) {
  return SlotLayout(
      {SlotArray::input(DataType::int32, elements, 0), SlotArray::output(DataType::int32, static_cast<std::size_t>(groups))});
}

}  // namespace

Strided::Strided(std::int64_t count, std::int64_t stride, Backend backend)
    : count(count), stride(stride), offset(static_cast<std::int64_t>(line_of(backend).bytes / kElementBytes)) {
  sweeps = std::max<std::int64_t>(stride / offset, 1);
}

std::size_t Strided::fetched_bytes(Backend backend) const {
  return elements() * std::min(static_cast<std::size_t>(stride) * kElementBytes, line_of(backend).fetched);
}

SlotLayout Strided::layout() const { return layout_of_sums(range_bytes() / kElementBytes, sweeps * sum_groups(count)); }

SlotLayout Gathered::layout() const {
  const auto elements = static_cast<std::size_t>(rows * width);
  return SlotLayout({SlotArray::input(DataType::int32, elements, 0), SlotArray::output(DataType::int32, elements)});
}

SlotLayout ReadArray::layout() const { return layout_of_sums(static_cast<std::size_t>(count), passes * sum_groups(count)); }

std::unique_ptr<Prepared> strided_sums(const Setup& setup, const AccessKernels& kernels, const Strided& strided) {
  return std::make_unique<PreparedStride>(setup, kernels, strided);
}

std::unique_ptr<Prepared> gathered_rows(const Setup& setup, const AccessKernels& kernels, const Gathered& gathered) {
  return std::make_unique<PreparedGather>(setup, kernels, gathered);
}

std::unique_ptr<Prepared> read_array(const Setup& setup, const AccessKernels& kernels, const ReadArray& array) {
  return std::make_unique<PreparedRead>(setup, kernels, array);
}

std::unique_ptr<Prepared> known_output(const Setup& setup, KnownOutput known) {
  return std::make_unique<PreparedKnown>(setup, std::move(known));
}

}  // namespace roofmark::access
