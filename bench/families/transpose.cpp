// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose.hpp"

#include "bench/support/groups.hpp"
#include "bench/support/listing.hpp"
#include "harness/device/random.hpp"
#include "harness/model/traffic.hpp"

namespace roofmark {

namespace {

class PreparedTranspose final : public Prepared {
 public:
  PreparedTranspose(const Setup& setup, const TransposeKernels& kernels, DataType type, std::int64_t rows, std::int64_t columns)
      : device_(setup.device), kernels_(kernels), type_(type), rows_(rows), columns_(columns), seed_(setup.seed) {
    memory_ = device_.allocate(static_cast<std::size_t>(setup.slots) * 2 * bytes());
    for (int slot = 0; slot < setup.slots; ++slot) {
      device_.fill(in(slot), type_, count(), {setup.data, setup.seed, 0});
      device_.poison(out(slot), bytes());
    }
  }

  void launch(Stream stream, int slot) override { kernels_.launch(type_, out(slot), in(slot), rows_, columns_, stream); }

  // Elements are moved as bits, so the sum of any block of a row, signs and all, must come out the same, to the last bit, when
  // the block is read from the other array against its rows: 64 integers of 32 bits add up in float64 without rounding, and so
  // do 64 small integers or draws of 16 bits, whose magnitudes lie within 2^-40 and 2^4.
  Verification verify(int slot) override {
    const std::int64_t blocks = (columns_ + kBlock - 1) / kBlock;
    const auto sums = static_cast<std::size_t>(rows_ * blocks);
    const Memory expected = device_.allocate(sums * sizeof(double)), got = device_.allocate(sums * sizeof(double));
    const DataType word = size_of(type_) < size_of(DataType::int32) ? type_ : DataType::int32;
    const auto words = static_cast<std::int64_t>(size_of(type_) / size_of(word));
    double worst = 0;
    for (std::int64_t i = 0; i < words && worst == 0; ++i) {
      const std::size_t offset = static_cast<std::size_t>(i) * size_of(word);
      const MatrixView before = {in(slot) + offset, word, rows_, columns_, columns_ * words, words};
      const MatrixView after = {out(slot) + offset, word, rows_, columns_, words, rows_ * words};
      device_.signed_block_sums(before, kBlock, seed_, static_cast<double*>(expected.get()), nullptr);
      device_.signed_block_sums(after, kBlock, seed_, static_cast<double*>(got.get()), nullptr);
      worst = device_.compare_linear(DataType::fp64, got.get(), sums, 1, expected.get(), 0, nullptr, 0).worst;
    }
    return Verification::within(worst, 0, "sums of the bits of 64 elements with random signs, in u(fp64) x the sum");
  }

  std::vector<Output> outputs(int slot) override { return {{out(slot), type_, count()}}; }

 private:
  static constexpr std::int64_t kBlock = 64;

  std::size_t count() const { return static_cast<std::size_t>(rows_ * columns_); }
  std::size_t bytes() const { return aligned(count() * size_of(type_)); }
  std::byte* in(int slot) { return static_cast<std::byte*>(memory_.get()) + static_cast<std::size_t>(slot) * 2 * bytes(); }
  std::byte* out(int slot) { return in(slot) + bytes(); }

  Device& device_;
  const TransposeKernels& kernels_;
  DataType type_;
  std::int64_t rows_, columns_;
  std::uint64_t seed_;
  Memory memory_;
};

Group transpose_case(const Listing& listing, DataType type, std::int64_t rows, std::int64_t columns) {
  const TransposeKernels* kernels = select(listing.device.backend, &cuda::transpose, &cpu::transpose);
  const double bytes = 2 * static_cast<double>(rows * columns) * static_cast<double>(size_of(type));
  const Cache cache = listing.cache.value_or(Cache::cold);
  Case c;
  c.family = "transpose";
  c.type = type;
  c.shape = {{"rows", std::to_string(rows)}, {"columns", std::to_string(columns)}, {"impl", "tiled"}, shape_entry(cache)};
  c.work = {{memory_demands(listing.device, bytes, bytes, cache)}};
  c.protocol.cache = cache;
  c.slot_bytes = static_cast<std::size_t>(bytes) + 512;
  if (!kernels) {
    c.unsupported = "this build has no transpose kernel for the device";
    return {{c}, {}};
  }
  c.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedTranspose>(setup, *kernels, type, rows, columns);
  };
  return {{c}, {}};
}

}  // namespace

std::vector<Group> transpose(const Listing& listing) {
  std::vector<Group> groups;
  const auto add = [&](DataType type, std::int64_t rows, std::int64_t columns) {
    groups.push_back(transpose_case(listing, type, rows, columns));
  };
  if (listing.suite == SuiteName::contract) {
    for (const DataType type : {DataType::fp64, DataType::fp32, DataType::bf16, DataType::int8}) {
      for (const auto& [rows, columns] : {std::pair{1, 1}, {1, 257}, {67, 129}, {130, 65}}) add(type, rows, columns);
    }
    return groups;
  }
  add(DataType::fp32, 8192, 8192);
  if (listing.suite == SuiteName::quick) return groups;
  add(DataType::bf16, 8192, 8192);
  add(DataType::fp32, 8191, 8193);
  if (listing.suite == SuiteName::baseline) return groups;
  for (const DataType type : {DataType::fp64, DataType::fp32, DataType::bf16, DataType::int8}) {
    for (std::int64_t side = 256; side <= 16384; side *= 2) {
      if (side != 8192 || (type != DataType::fp32 && type != DataType::bf16)) add(type, side, side);
    }
  }
  return groups;
}

}  // namespace roofmark
