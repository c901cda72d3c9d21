// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: every type of a product and every kind of error are checked with the same loops.
#include "bench/support/product_check.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/device/block_scaled_data.hpp"
#include "harness/device/cpu_device.hpp"

namespace roofmark {
namespace {

using Status = Verification::Status;

/// As a tensor core adds: in groups of products, each addend cut below the greatest's exponent less `bits`, and the sum too.
double sum_as_tensor_core(const std::vector<double>& terms, int bits, std::size_t group) {
  double sum = 0;
  for (std::size_t first = 0; first < terms.size(); first += group) {
    const std::size_t end = std::min(terms.size(), first + group);
    double greatest = std::fabs(sum);
    for (std::size_t i = first; i < end; ++i) greatest = std::max(greatest, std::fabs(terms[i]));
    if (greatest == 0) continue;
    const double quantum = std::ldexp(1.0, std::ilogb(greatest) - bits);
    double total = std::trunc(sum / quantum);
    for (std::size_t i = first; i < end; ++i) total += std::trunc(terms[i] / quantum);
    total *= quantum;
    const double coarse = total == 0 ? quantum : std::ldexp(1.0, std::ilogb(total) - bits);
    sum = std::trunc(total / coarse) * coarse;
  }
  return sum;
}

double sum_rounding_to_nearest(const std::vector<double>& terms, DataType type) {
  double sum = 0;
  for (double term : terms) {
    sum = type == DataType::fp32 ? static_cast<float>(sum + static_cast<float>(term)) : sum + term;
  }
  return sum;
}

double sum_as_hardware(const std::vector<double>& terms, DataType type) {
  switch (type) {
    case DataType::tf32:
    case DataType::fp16:
    case DataType::bf16:
      return sum_as_tensor_core(terms, 23, 4);
    case DataType::fp8:
    case DataType::mxfp8:
    case DataType::nvfp4:
      return sum_as_tensor_core(terms, 13, 32);
    default:
      return sum_rounding_to_nearest(terms, type);
  }
}

/// As a kernel adds that multiplies the sum of each 128 terms without scales by the product of the scales, in fp32. `scales`
/// are those of each term.
double sum_in_blocks(const std::vector<double>& terms, const std::vector<float>& scales) {
  float sum = 0;
  for (std::size_t first = 0; first < terms.size(); first += 128) {
    const std::vector<double> block(terms.begin() + static_cast<std::ptrdiff_t>(first),
                                    terms.begin() + static_cast<std::ptrdiff_t>(std::min(terms.size(), first + 128)));
    sum += scales[first] * static_cast<float>(sum_as_tensor_core(block, 13, 32));
  }
  return sum;
}

/// Operands on the host as the check expects them, and D by plain loops that round as the hardware does.
class Product {
 public:
  explicit Product(const GemmProblem& problem, Distribution data = Distribution::normal, std::uint64_t seed = 3)
      : problem_(problem),
        a_fill_{data, seed, 0},
        b_fill_{data, seed, 1},
        device_(open_cpu_device()),
        a_(filled(problem.type_of_a(), problem.batch * problem.m, a_fill_)),
        b_(filled(problem.type_of_b(), problem.batch * problem.n, b_fill_)),
        d_(device_->allocate(d_bytes())) {
    device_->poison(d_.get(), d_bytes());
  }

  /// D = A x B, taking the operands to be stored as `layout` says.
  void multiply(GemmLayout layout) {
    for (std::int64_t i = 0; i < problem_.batch; ++i) multiply(layout, i, i, i);
  }
  void multiply() { multiply(problem_.layout); }
  /// D of one product of a batch from any A and B of it.
  void multiply(GemmLayout layout, std::int64_t which_a, std::int64_t which_b, std::int64_t which_d) {
    const std::int64_t m = problem_.m, n = problem_.columns(which_d), k = problem_.k;
    std::vector<double> terms(static_cast<std::size_t>(k));
    std::vector<float> scales(terms.size());
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t row = 0; row < m; ++row) {
        for (std::int64_t l = 0; l < k; ++l) {
          const std::int64_t of_a = problem_.first_of_a(which_a) + (transposes_a(layout) ? row * k + l : l * m + row);
          const std::int64_t of_b = problem_.first_of_b(which_b) + (transposes_b(layout) ? l * n + column : column * k + l);
          const Value left = operand(problem_.type_of_a(), a_.get(), m, of_a),
                      right = operand(problem_.type_of_b(), b_.get(), n, of_b);
          terms[static_cast<std::size_t>(l)] = left.element * right.element;
          scales[static_cast<std::size_t>(l)] = left.scale * right.scale;
        }
        const double sum = problem_.has_fp32_scales() ? sum_in_blocks(terms, scales) : sum_as_hardware(terms, problem_.type);
        set(row, problem_.first_column(which_d) + column, problem_.alpha * sum);
      }
    }
  }

  /// As a library would take them that has lines in another order.
  void swap_scales_of_a() {
    const BlockScaledLayout of_a = layout_of_a();
    auto* const scales = static_cast<std::uint8_t*>(a_.get()) + of_a.scales_offset();
    for (std::int64_t line = 0; line < 32; ++line) {
      std::swap(scales[of_a.scale_index(line, 0)], scales[of_a.scale_index(line + 32, 0)]);
    }
  }

  BlockScaledLayout layout_of_a() const { return {problem_.type_of_a(), problem_.m, problem_.k}; }
  BlockScaledLayout layout_of_b() const { return {problem_.type_of_b(), problem_.n, problem_.k}; }

  /// As a library would multiply that takes the fp32 scales of A, or of B, as read(line, block) says.
  template <class Read>
  void multiply_with_scales(bool of_a, Read read) {
    const BlockScaledLayout layout = of_a ? layout_of_a() : layout_of_b();
    auto* const scales = reinterpret_cast<float*>(static_cast<std::byte*>((of_a ? a_ : b_).get()) + layout.scales_offset());
    const std::vector<float> right(scales, scales + layout.scale_bytes() / 4);
    const auto scale = [&](std::int64_t line, std::int64_t block) {
      return right[static_cast<std::size_t>(layout.scale_index(line, block))];
    };
    for (std::int64_t line = 0; line < layout.lines; line += layout.block_lines()) {
      for (std::int64_t block = 0; block < layout.blocks_per_line(); ++block) {
        scales[layout.scale_index(line, block)] = read(line, block, scale);
      }
    }
    multiply();
    std::copy(right.begin(), right.end(), scales);
  }

  /// Of a batch, the columns of its products follow one another.
  double at(std::int64_t row, std::int64_t column) const { return load_as_double(type(), d_.get(), index(row, column)); }
  void set(std::int64_t row, std::int64_t column, double value) { store(type(), d_.get(), index(row, column), value); }
  DataType type() const { return problem_.output; }

  Verification verify(int output_roundings = 1) {
    return ProductCheck(problem_, a_fill_, b_fill_, output_roundings).verify(*device_, a_.get(), b_.get(), d_.get());
  }

 private:
  std::size_t d_bytes() const { return static_cast<std::size_t>(problem_.batch * problem_.d_count()) * size_of(type()); }
  std::size_t index(std::int64_t row, std::int64_t column) const { return static_cast<std::size_t>(column * problem_.m + row); }
  Memory filled(DataType type, std::int64_t lines, const Fill& fill) {
    if (is_block_scaled(type)) {
      const BlockScaledLayout layout{type, lines, problem_.k};
      Memory memory = device_->allocate(layout.bytes());
      device_->fill(memory.get(), layout, fill);
      return memory;
    }
    const auto count = static_cast<std::size_t>(lines * problem_.k);
    Memory memory = device_->allocate(count * size_of(type));
    device_->fill(memory.get(), type, count, fill);
    return memory;
  }
  /// With the fp32 scale that a kernel applies to sums; 1 where it applies none.
  struct Value {
    double element;
    float scale = 1;
  };
  Value operand(DataType type, const void* data, std::int64_t lines, std::int64_t index) const {
    if (!is_block_scaled(type)) return {load_as_double(type, data, static_cast<std::size_t>(index))};
    const BlockScaledLayout layout{type, lines, problem_.k};
    const std::int64_t line = index / problem_.k, term = index % problem_.k;
    if (has_fp32_scales(type)) {
      const auto* const bytes = static_cast<const std::uint8_t*>(data);
      const auto* const scales = reinterpret_cast<const float*>(bytes + layout.scales_offset());
      return {unscaled_value<DataType::fp8_vec128>(bytes[index], index), scales[layout.scale_index(line, term / 128)]};
    }
    return {
        with_block_scaled_type(type, [&]<DataType kType>() { return block_scaled_value<kType>(data, layout, line, term); })};
  }

  GemmProblem problem_;
  Fill a_fill_, b_fill_;
  std::unique_ptr<Device> device_;
  Memory a_, b_, d_;
};

constexpr DataType kTypes[] = {DataType::fp64, DataType::fp32, DataType::tf32, DataType::fp16,
                               DataType::bf16, DataType::fp8,  DataType::int8};
// Sizes of these are whole blocks.
constexpr DataType kWithBlocks[] = {DataType::fp64, DataType::fp32, DataType::tf32,  DataType::fp16, DataType::bf16,
                                    DataType::fp8,  DataType::int8, DataType::mxfp8, DataType::nvfp4};

TEST(ProductCheck, PassesARightProductOfEveryTypeAndLayout) {
  for (DataType type : kTypes) {
    for (GemmLayout layout : kGemmLayouts) {
      for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {65, 129, 60}}) {
        Product product({m, n, k, type, layout});
        product.multiply();
        const Verification found = product.verify();
        EXPECT_EQ(found.status, Status::passed)
            << name(type) << " " << name(layout) << " " << m << " x " << n << " x " << k << ": " << found.detail;
      }
    }
  }
}

TEST(ProductCheck, PassesARightBlockScaledProductAndNoneOfOtherScales) {
  for (DataType type : {DataType::mxfp8, DataType::nvfp4}) {
    for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 32}, {65, 129, 160}, {140, 33, 32}}) {
      Product product({m, n, k, type, GemmLayout::tn});
      product.multiply();
      const Verification found = product.verify();
      EXPECT_EQ(found.status, Status::passed) << name(type) << " " << m << " x " << n << " x " << k << ": " << found.detail;
      if (m == 1) continue;
      product.swap_scales_of_a();
      product.multiply();
      const Verification swapped = product.verify();
      EXPECT_EQ(swapped.status, Status::failed) << name(type) << ": " << swapped.detail;
    }
  }
}

GemmProblem scaled(std::int64_t m, std::int64_t n, std::int64_t k, GemmScaling scaling, DataType output = DataType::bf16) {
  GemmProblem problem{m, n, k, DataType::fp8};
  problem.output = output;
  problem.scaling = scaling;
  return problem;
}
constexpr GemmScaling kFp32Scalings[] = {GemmScaling::vec128, GemmScaling::blk128};

TEST(ProductCheck, PassesARightProductWithFp32ScalesOfBlocks) {
  for (GemmScaling scaling : kFp32Scalings) {
    for (DataType output : {DataType::bf16, DataType::fp16, DataType::fp32}) {
      for (auto [m, n, k] : {std::array<std::int64_t, 3>{16, 8, 16}, {272, 40, 400}, {48, 24, 2048}}) {
        Product product(scaled(m, n, k, scaling, output));
        EXPECT_EQ(product.verify().status, Status::failed) << "poisoned";
        product.multiply();
        const Verification found = product.verify();
        EXPECT_EQ(found.status, Status::passed)
            << name(scaling) << " " << name(output) << " " << m << " x " << n << " x " << k << ": " << found.detail;
      }
    }
    Product zeros(scaled(32, 16, 272, scaling), Distribution::zeros);
    zeros.multiply();
    EXPECT_EQ(zeros.verify().status, Status::passed);
  }
}

TEST(ProductCheck, FindsOtherFp32Scales) {
  for (GemmScaling scaling : kFp32Scalings) {
    Product product(scaled(512, 64, 512, scaling));
    for (const bool of_a : {true, false}) {
      const BlockScaledLayout layout = of_a ? product.layout_of_a() : product.layout_of_b();
      const std::int64_t step = layout.block_lines(), lines = layout.lines / step, blocks = layout.blocks_per_line();
      const std::int64_t middle = lines / 2 * step;
      product.multiply_with_scales(of_a, [&](auto line, auto block, auto scale) {
        return scale(line, block) * (line == middle && block == 2 ? 2.0F : 1.0F);
      });
      const Verification one = product.verify();
      EXPECT_EQ(one.status, Status::failed) << "one is wrong, " << name(scaling) << ": " << one.detail;
      product.multiply_with_scales(of_a, [&](auto line, auto block, auto scale) {
        const std::int64_t index = line / step * blocks + block;  // the other way around in memory
        return scale(index % lines * step, index / lines);
      });
      const Verification transposed = product.verify();
      EXPECT_EQ(transposed.status, Status::failed) << "transposed, " << name(scaling) << ": " << transposed.detail;
    }
    product.multiply();
    EXPECT_EQ(product.verify().status, Status::passed);
  }
}

TEST(ProductCheck, ChecksEveryProductOfABatch) {
  const std::int64_t m = 20, n = 40, k = 48, batch = 11;
  for (DataType type : kTypes) {
    for (GemmLayout layout : kGemmLayouts) {
      Product product({m, n, k, type, layout, batch});
      product.multiply();
      const Verification right = product.verify();
      EXPECT_EQ(right.status, Status::passed) << name(type) << " " << name(layout) << ": " << right.detail;
      EXPECT_THAT(right.detail, testing::HasSubstr("20 x 22 checksums"));
      for (std::int64_t i : {0, 4, 10}) {
        for (const auto& [a, b] : {std::pair{i, (i + 1) % batch}, std::pair{(i + 1) % batch, i}}) {
          product.multiply(layout, a, b, i);
          const Verification mixed = product.verify();
          EXPECT_EQ(mixed.status, Status::failed)
              << name(type) << " " << name(layout) << " product " << i << ": " << mixed.detail;
        }
        product.multiply(layout, i, i, i);
      }
      product.set(m / 2, batch * n - 7, type == DataType::int8 ? -1 : std::nan(""));
      EXPECT_EQ(product.verify().status, Status::failed) << name(type);
    }
  }
}

GemmProblem uneven(std::int64_t m, std::int64_t n, std::int64_t k, DataType type, std::int64_t batch, std::int64_t imbalance) {
  GemmProblem problem{m, n, k, type, GemmLayout::tn, batch};
  problem.imbalance = imbalance;
  return problem;
}

TEST(ProductCheck, ChecksEveryProductOfAnImbalance) {
  const std::int64_t m = 20, k = 48;
  for (DataType type : kTypes) {
    Product product(uneven(m, 40, k, type, 5, 2));  // 80, 30, 30, 30 and 30 columns
    EXPECT_EQ(product.verify().status, Status::failed) << "poisoned " << name(type);
    product.multiply();
    const Verification right = product.verify();
    EXPECT_EQ(right.status, Status::passed) << name(type) << ": " << right.detail;
    EXPECT_THAT(right.detail, testing::HasSubstr("20 x 7 checksums of up to 32 elements"));
    for (const auto& [a, b, d] :
         {std::array<std::int64_t, 3>{1, 0, 0}, {0, 1, 0}, {0, 4, 4}, {4, 0, 4}, {3, 2, 2}, {2, 3, 2}}) {
      product.multiply(GemmLayout::tn, a, b, d);
      const Verification mixed = product.verify();
      EXPECT_EQ(mixed.status, Status::failed) << name(type) << " A " << a << " B " << b << " D " << d << ": " << mixed.detail;
      product.multiply(GemmLayout::tn, d, d, d);
    }
    for (const std::int64_t column : {43, 79, 80, 187, 199}) {
      const double value = product.at(m / 2, column);
      for (const double wrong :
           {value + (is_integer(type) ? 1 : 5 * std::sqrt(static_cast<double>(k))), is_integer(type) ? -1 : std::nan("")}) {
        product.set(m / 2, column, wrong);
        const Verification found = product.verify();
        EXPECT_EQ(found.status, Status::failed) << name(type) << " column " << column << ": " << found.detail;
      }
      product.set(m / 2, column, value);
    }
    EXPECT_EQ(product.verify().status, Status::passed) << name(type);
  }
}

TEST(ProductCheck, ChecksProductsWithOneColumnAndPassesOverThoseWithNone) {
  for (DataType type : kTypes) {
    // 2, 1, 1, 1 and 0 columns; 5 and no others.
    for (const std::int64_t imbalance : {2, 5}) {
      Product product(uneven(20, 1, 48, type, 5, imbalance));
      EXPECT_EQ(product.verify().status, Status::failed) << "poisoned " << name(type);
      product.multiply();
      const Verification right = product.verify();
      EXPECT_EQ(right.status, Status::passed) << name(type) << ": " << right.detail;
      for (std::int64_t column = 0; column < 5; ++column) {
        const double value = product.at(7, column);
        product.set(7, column, type == DataType::int8 ? -1 : std::nan(""));
        EXPECT_EQ(product.verify().status, Status::failed) << name(type) << " column " << column;
        product.set(7, column, value);
      }
    }
  }
}

// Block by block as if each product were alone: products of 2112 and of 60 columns.
TEST(ProductCheck, TakesTheBlocksOfEachProductsOwnColumns) {
  Product product(uneven(1, 704, 16, DataType::fp32, 4, 3));
  product.multiply();
  const Verification found = product.verify();
  EXPECT_EQ(found.status, Status::passed) << found.detail;
  EXPECT_THAT(found.detail, testing::HasSubstr("1 x 88 checksums of up to 33 elements"));  // 64 of 33, and 3 times 8 of 32
}

TEST(ProductCheck, AllowsForTheErrorsOfLongSums) {
  for (DataType type : kWithBlocks) {
    Product product({4, 24, 20000 / 32 * 32, type, GemmLayout::tn});
    product.multiply();
    const Verification found = product.verify();
    EXPECT_EQ(found.status, Status::passed) << name(type) << ": " << found.detail;
    if (is_integer(type)) continue;
    EXPECT_GT(found.error, 1e-3) << "too much is allowed for " << name(type) << ": " << found.detail;
  }
  for (GemmScaling scaling : kFp32Scalings) {
    Product product(scaled(16, 24, 20000, scaling));
    product.multiply();
    const Verification found = product.verify();
    EXPECT_EQ(found.status, Status::passed) << name(scaling) << ": " << found.detail;
    EXPECT_GT(found.error, 1e-2) << "too much is allowed for " << name(scaling) << ": " << found.detail;
  }
}

TEST(ProductCheck, AllowsForPartsAddedInTheOutputsType) {
  const std::int64_t m = 64, n = 128, k = 1024;
  Product product({m, n, k, DataType::bf16, GemmLayout::tn});
  product.multiply();
  // Each element off by a few roundings to bf16 of a partial sum.
  for (std::int64_t column = 0; column < n; ++column) {
    for (std::int64_t row = 0; row < m; ++row) {
      product.set(row, column, product.at(row, column) + 0x1p-8 * 32 * (random_bits(1, 2, column * m + row) >> 63 ? 3 : -3));
    }
  }
  EXPECT_EQ(product.verify(1).status, Status::failed);
  EXPECT_EQ(product.verify(16).status, Status::passed);
}

TEST(ProductCheck, PassesOtherData) {
  for (DataType type : kTypes) {
    for (Distribution data : {Distribution::uniform, Distribution::zeros}) {
      Product product({40, 140, 100, type, GemmLayout::nt}, data);
      EXPECT_EQ(product.verify().status, Status::failed) << "poisoned " << name(type);
      product.multiply();
      const Verification found = product.verify();
      EXPECT_EQ(found.status, Status::passed) << name(type) << ": " << found.detail;
    }
  }
}

TEST(ProductCheck, FindsPoison) {
  for (DataType type : kTypes) {
    Product product({70, 140, 50, type, GemmLayout::tn});
    EXPECT_EQ(product.verify().status, Status::failed) << name(type);
    // One element that was never written, off the sampled ones in all likelihood.
    product.multiply();
    product.set(33, 77, type == DataType::int8 ? -1 : std::nan(""));
    EXPECT_EQ(product.verify().status, Status::failed) << name(type);
  }
}

TEST(ProductCheck, FindsOneWrongElementWhereverItIs) {
  const std::int64_t m = 37, n = 300, k = 256;
  for (DataType type : {DataType::fp64, DataType::fp32, DataType::tf32, DataType::fp16}) {
    Product product({m, n, k, type, GemmLayout::nn});
    product.multiply();
    for (std::uint64_t draw = 0; draw < 20; ++draw) {
      const auto row = static_cast<std::int64_t>(random_bits(5, 0, draw) % m);
      const auto column = static_cast<std::int64_t>(random_bits(6, 0, draw) % n);
      const double right = product.at(row, column);
      product.set(row, column, right + 0.1 * std::sqrt(static_cast<double>(k)));  // a tenth of the typical element
      const Verification found = product.verify();
      EXPECT_EQ(found.status, Status::failed) << name(type) << " at " << row << ", " << column << ": " << found.detail;
      product.set(row, column, right);
    }
  }
}

TEST(ProductCheck, FindsAFlippedBitOfTheExponent) {
  for (DataType type : kTypes) {
    if (is_integer(type)) continue;
    for (auto [m, n, k] : {std::array<std::int64_t, 3>{48, 272, 32}, {300, 1, 257}}) {
      Product product({m, n, k, type, GemmLayout::tn}, Distribution::normal, 42);
      product.multiply();
      for (std::int64_t i = 0; i < m * n; i += 397) {
        const double right = product.at(i % m, i / m);
        // The highest bit: from 2 on next to nothing is left, below it becomes large beyond compare.
        product.set(i % m, i / m, std::fabs(right) >= 2 ? right * 0x1p-14 : 60000);
        const Verification found = product.verify();
        EXPECT_EQ(found.status, Status::failed) << name(type) << ", element " << i << " was " << right << ": " << found.detail;
        product.set(i % m, i / m, right);
      }
    }
  }
}

TEST(ProductCheck, FindsAWrongIntegerByOne) {
  Product product({37, 300, 256, DataType::int8, GemmLayout::tn});
  product.multiply();
  for (auto [row, column] : {std::pair<int, int>{0, 0}, {36, 299}, {17, 133}, {5, 256}}) {
    const double right = product.at(row, column);
    product.set(row, column, right + 1);
    EXPECT_EQ(product.verify().status, Status::failed);
    product.set(row, column, right);
  }
  EXPECT_EQ(product.verify().status, Status::passed);
}

TEST(ProductCheck, FindsAWrongElementOfTheSizeItSays) {
  for (DataType type : {DataType::bf16, DataType::fp8}) {
    const std::int64_t m = 20, n = 300, k = 512;
    Product product({m, n, k, type, GemmLayout::tn});
    product.multiply();
    const std::string detail = product.verify().detail;
    const double certain = std::stod(detail.substr(detail.find("off by ") + 7));
    EXPECT_LT(certain, 3) << name(type);
    for (std::int64_t column = 7; column < n; column += 61) {
      const double right = product.at(11, column);
      product.set(11, column, right + (right < 0 ? 1 : -1) * 1.05 * certain * std::sqrt(static_cast<double>(k)));
      EXPECT_EQ(product.verify().status, Status::failed) << name(type) << " column " << column;
      product.set(11, column, right);
    }
  }
}

TEST(ProductCheck, FindsAWrongElementOfALongFp8SumByTheOthers) {
  const std::int64_t m = 512, n = 3, k = 4096;
  Product product({m, n, k, DataType::fp8, GemmLayout::tn});
  product.multiply();
  const Verification right = product.verify();
  EXPECT_EQ(right.status, Status::passed) << right.detail;
  product.set(300, 1, product.at(300, 1) + std::sqrt(static_cast<double>(k)));
  const Verification wrong = product.verify();
  EXPECT_EQ(wrong.status, Status::failed) << wrong.detail;
}

TEST(ProductCheck, FindsATypicalElementThatIsZeroInTheLongestSumOfATensorCore) {
  const std::int64_t m = 1, n = 200, k = ProductCheck::most_terms(DataType::bf16);
  Product product({m, n, k, DataType::bf16, GemmLayout::tn});
  product.multiply();
  const Verification right = product.verify();
  EXPECT_EQ(right.status, Status::passed) << right.detail;
  std::int64_t column = 100;
  while (std::fabs(product.at(0, column)) < std::sqrt(static_cast<double>(k))) ++column;
  product.set(0, column, 0);
  const Verification wrong = product.verify();
  EXPECT_EQ(wrong.status, Status::failed) << wrong.detail;
}

TEST(ProductCheck, TakesFewColumnsPerChecksumOfLongSums) {
  const std::int64_t n = 33 * 64;
  for (const auto& [k, columns] : {std::pair{32768, "up to 33 elements"}, {32784, "up to 32 elements"}}) {
    Product product({1, n, k, DataType::bf16, GemmLayout::tn}, Distribution::zeros);
    for (std::int64_t column = 0; column < n; ++column) product.set(0, column, 0);
    EXPECT_THAT(product.verify().detail, testing::HasSubstr(columns));
  }
}

TEST(ProductCheck, FindsATypicalElementThatIsZeroInAWideProduct) {
  const std::int64_t m = 1, n = 100000, k = 16;
  Product product({m, n, k, DataType::bf16, GemmLayout::tn});
  product.multiply();
  EXPECT_EQ(product.verify().status, Status::passed);
  std::int64_t column = 50000;
  while (std::fabs(product.at(0, column)) < std::sqrt(static_cast<double>(k))) ++column;
  product.set(0, column, 0);
  EXPECT_EQ(product.verify().status, Status::failed);
}

TEST(ProductCheck, FindsAnotherLayout) {
  for (GemmLayout wrong : {GemmLayout::nn, GemmLayout::tt, GemmLayout::nt}) {
    Product product({48, 48, 48, DataType::fp32, GemmLayout::tn});
    product.multiply(wrong);
    EXPECT_EQ(product.verify().status, Status::failed) << name(wrong);
  }
}

}  // namespace
}  // namespace roofmark
