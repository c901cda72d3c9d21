// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/memory_case.hpp"
#include "bench/support/slots.hpp"
#include "harness/device/random.hpp"

namespace roofmark::transpose {

namespace {

constexpr std::size_t kIn = 0, kOut = 1;

SlotLayout layout_of(DataType type, std::int64_t rows, std::int64_t columns) {
  const auto count = static_cast<std::size_t>(rows * columns);
  return SlotLayout({SlotArray::input(type, count, 0), SlotArray::output(type, count)});
}

constexpr std::int64_t kBlock = 64;  ///< elements of a row whose sum is checked

std::size_t sums_bytes(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(rows * ((columns + kBlock - 1) / kBlock)) * sizeof(double);
}

class PreparedTranspose final : public Prepared {
 public:
  PreparedTranspose(const Setup& setup, const TransposeKernels& kernels, DataType type, std::int64_t rows, std::int64_t columns)
      : device_(setup.device),
        kernels_(kernels),
        type_(type),
        rows_(rows),
        columns_(columns),
        seed_(setup.seed),
        slots_(setup, layout_of(type, rows, columns)) {}

  void launch(Stream stream, int slot) override {
    kernels_.launch(type_, slots_.at(slot, kOut), slots_.at(slot, kIn), rows_, columns_, stream);
  }

  // Elements move as bits, so the signed sum of a block of a row is the same, bit by bit, for the block of a column in the
  // other array: float64 adds 64 integers of 32 bits without rounding, and 64 small integers or 16-bit values with magnitudes
  // between 2^-40 and 2^4.
  Verification verify(int slot) override {
    const std::size_t bytes = sums_bytes(rows_, columns_), sums = bytes / sizeof(double);
    const Memory expected = device_.allocate(bytes), got = device_.allocate(bytes);
    const DataType word = size_of(type_) < size_of(DataType::int32) ? type_ : DataType::int32;
    const auto words = static_cast<std::int64_t>(size_of(type_) / size_of(word));
    double worst = 0;
    for (std::int64_t i = 0; i < words && worst == 0; ++i) {
      const std::size_t offset = static_cast<std::size_t>(i) * size_of(word);
      const MatrixView before = {slots_.at<std::byte>(slot, kIn) + offset, word, rows_, columns_, columns_ * words, words};
      const MatrixView after = {slots_.at<std::byte>(slot, kOut) + offset, word, rows_, columns_, words, rows_ * words};
      device_.signed_block_sums(before, kBlock, seed_, static_cast<double*>(expected.get()), nullptr);
      device_.signed_block_sums(after, kBlock, seed_, static_cast<double*>(got.get()), nullptr);
      worst = device_.compare_linear(DataType::fp64, got.get(), sums, 1, expected.get(), 0, nullptr, 0).worst;
    }
    return Verification::within(worst, 0, "sums of the bit patterns of 64 elements with random signs, in u(fp64) x sum");
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kOut)}; }
  bool is_deterministic() const override { return true; }  // an element is of its own inputs alone

 private:
  Device& device_;
  const TransposeKernels& kernels_;
  DataType type_;
  std::int64_t rows_, columns_;
  std::uint64_t seed_;
  Slots slots_;
};

constexpr DataType kTypes[] = {DataType::fp64, DataType::fp32, DataType::bf16, DataType::int8};

Case transpose_case(const Listing& listing, DataType type, std::int64_t rows, std::int64_t columns) {
  const TransposeKernels* kernels = select(listing.device.backend, &cuda::transpose, &cpu::transpose);
  Case c = memory_case(listing.device, "transpose", "", type,
                       {{"rows", std::to_string(rows)}, {"columns", std::to_string(columns)}, {"impl", "tiled"}},
                       listing.cache.value_or(Cache::cold), layout_of(type, rows, columns));
  c.shared_bytes = 2 * sums_bytes(rows, columns);
  if (!kernels) {
    c.unsupported = "this build has no transpose kernel for the device";
    return c;
  }
  c.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedTranspose>(setup, *kernels, type, rows, columns);
  };
  return c;
}

void add(CaseList& list, DataType type, std::int64_t rows, std::int64_t columns) {
  list.add(transpose_case(list.listing(), type, rows, columns));
}

void list_contract(CaseList& list) {
  for (const DataType type : kTypes) {
    for (const auto& [rows, columns] : {std::pair{1, 1}, {1, 257}, {67, 129}, {130, 65}}) add(list, type, rows, columns);
  }
}

void list_suite(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  add(list, DataType::fp32, 8192, 8192);
  if (suite == SuiteName::quick) return;
  add(list, DataType::bf16, 8192, 8192);
  add(list, DataType::fp32, 8191, 8193);
  if (suite == SuiteName::baseline) return;
  for (const DataType type : kTypes) {
    for (std::int64_t side = 256; side <= 16384; side *= 2) add(list, type, side, side);
  }
}

}  // namespace

std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  if (std::find(std::begin(kTypes), std::end(kTypes), asked.type()) == std::end(kTypes)) {
    throw std::invalid_argument(fmt::format("its elements are fp64, fp32, bf16 or int8, not {}", name(asked.type())));
  }
  return transpose_case(listing, asked.type(), asked.number("rows"), asked.number("columns"));
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_suite, list_suite); }

}  // namespace roofmark::transpose
