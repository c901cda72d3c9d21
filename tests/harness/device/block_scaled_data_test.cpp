// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/block_scaled_data.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "harness/device/cpu_device.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

/// The number nearest to `value` among those that the elements may be.
template <DataType kType>
double nearest(double value) {
  double best = 0;
  for (int bits = 0; bits < (kType == DataType::nvfp4 ? 16 : 256); ++bits) {
    const double candidate = unscaled_value<kType>(static_cast<std::uint8_t>(bits), 0);
    if (std::fabs(candidate - value) < std::fabs(best - value)) best = candidate;
  }
  return best;
}

/// The scale of a block with this greatest magnitude.
template <DataType kType>
void expect_scale(double scale, double greatest) {
  if (kType == DataType::mxfp8) {
    EXPECT_EQ(scale, std::exp2(std::floor(std::log2(greatest)) - 8));
  } else if (kType == DataType::nvfp4) {
    EXPECT_NEAR(scale, greatest / 6, greatest / 6 / 16);  // half a unit of three bits behind the point
  } else {
    EXPECT_EQ(scale, static_cast<float>(greatest) / 448.0F);
  }
}

template <DataType kType>
void expect_quantised(Distribution distribution) {
  const Fill fill{distribution, 3, 1};
  const BlockScaledLayout layout{kType, 290, has_fp32_scales(kType) ? 144 : 160};
  for (std::int64_t line = 0; line < layout.lines; line += 17) {
    const auto given = [&](std::int64_t l, std::int64_t term) {
      return generate(distribution, DataType::fp32, 3, 1, static_cast<std::uint64_t>(l * layout.terms + term));
    };
    std::vector<double> values;
    generate_line<kType>(fill, layout, line, [&](double value) { values.push_back(value); });
    ASSERT_EQ(values.size(), static_cast<std::size_t>(layout.terms));
    for (std::int64_t block = 0; block < layout.blocks_per_line(); ++block) {
      const std::int64_t first = block * layout.block(), end = std::min(layout.terms, first + layout.block());
      const std::int64_t first_line = line - line % layout.block_lines();
      double greatest = 0;
      for (std::int64_t l = first_line; l < std::min(layout.lines, first_line + layout.block_lines()); ++l) {
        for (std::int64_t term = first; term < end; ++term) greatest = std::max(greatest, std::fabs(given(l, term)));
      }
      const double scale = scale_value<kType>(generate_scale<kType>(fill, layout, line, block));
      expect_scale<kType>(scale, greatest);
      for (std::int64_t term = first; term < end; ++term) {
        const double right = nearest<kType>(given(line, term) / scale) * scale, value = values[static_cast<std::size_t>(term)];
        ASSERT_LE(std::fabs(value - given(line, term)), std::fabs(right - given(line, term)) + 1e-6 * greatest);
      }
    }
  }
}

TEST(BlockScaledData, QuantisesTheValuesOfFp32) {
  for (const Distribution distribution : {Distribution::normal, Distribution::uniform}) {
    expect_quantised<DataType::mxfp8>(distribution);
    expect_quantised<DataType::nvfp4>(distribution);
    expect_quantised<DataType::fp8_vec128>(distribution);
    expect_quantised<DataType::fp8_blk128>(distribution);
  }
  for (const DataType type : kBlockScaledTypes) {
    with_block_scaled_type(type, []<DataType kType>() {
      generate_line<kType>({Distribution::zeros, 3, 1}, {kType, 2, 64}, 1, [](double value) { EXPECT_EQ(value, 0); });
    });
  }
}

struct Sizes {
  std::int64_t lines, terms;
};
constexpr Sizes kSizes[] = {{1, 32}, {3, 32}, {130, 64}, {33, 352}, {260, 128}};

class BlockScaledDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      std::string note;
      device_ = open_device(resolve_devices(GetParam(), note).front());
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// The bytes of a matrix that is filled in the middle of poisoned memory.
  std::vector<std::uint8_t> filled(const BlockScaledLayout& layout, const Fill& fill, std::size_t beyond) {
    const std::size_t bytes = layout.bytes() + beyond;
    const Memory memory = device_->allocate(bytes);
    device_->poison(memory.get(), bytes);
    device_->fill(memory.get(), layout, fill);
    std::vector<std::uint8_t> host(bytes);
    device_->to_host(host.data(), memory.get(), bytes);
    return host;
  }

  std::unique_ptr<Device> device_;
};

TEST_P(BlockScaledDevice, FillsWithTheGeneratedBlocks) {
  constexpr std::size_t kBeyond = 64;
  for (const DataType type : kBlockScaledTypes) {
    for (const auto& [lines, terms] : kSizes) {
      for (const Distribution distribution : {Distribution::normal, Distribution::uniform, Distribution::zeros}) {
        const BlockScaledLayout layout{type, lines, terms};
        const Fill fill{distribution, 11, 2};
        std::vector<std::uint8_t> expected(layout.bytes() + kBeyond, 0xff);
        std::fill_n(expected.begin() + layout.scales_offset(), layout.scale_bytes(), std::uint8_t{0});
        with_block_scaled_type(type, [&, lines = lines]<DataType kType>() {
          for (std::int64_t i = 0; i < layout.blocks(); ++i) fill_block<kType>(expected.data(), layout, i, fill);
          for (std::int64_t line = 0; line < lines; line += 13) {
            std::int64_t term = 0;
            generate_line<kType>(fill, layout, line, [&](double value) {
              EXPECT_EQ(block_scaled_value<kType>(expected.data(), layout, line, term++), value);
            });
          }
        });
        EXPECT_EQ(filled(layout, fill, kBeyond), expected) << name(type) << " " << lines << " x " << terms;
      }
    }
  }
}

TEST_P(BlockScaledDevice, SumsAndMultipliesMatrices) {
  for (const DataType type : kBlockScaledTypes) {
    for (const auto& [lines, terms] : kSizes) {
      const BlockScaledLayout layout{type, lines, terms};
      const Memory matrix = device_->allocate(layout.bytes());
      device_->fill(matrix.get(), layout, {Distribution::normal, 5, 1});
      std::vector<std::uint8_t> bytes(layout.bytes());
      device_->to_host(bytes.data(), matrix.get(), bytes.size());
      const auto value = [&](std::int64_t line, std::int64_t term) {
        return with_block_scaled_type(
            type, [&]<DataType kType>() { return block_scaled_value<kType>(bytes.data(), layout, line, term); });
      };
      // Its lines as rows, and as columns.
      for (const bool as_rows : {true, false}) {
        const MatrixView view = as_rows ? MatrixView{matrix.get(), type, lines, terms, terms, 1}
                                        : MatrixView{matrix.get(), type, terms, lines, 1, terms};
        const auto at = [&](std::int64_t r, std::int64_t c) { return as_rows ? value(r, c) : value(c, r); };
        const auto rows = static_cast<std::size_t>(view.rows), columns = static_cast<std::size_t>(view.columns);
        const Memory right = device_->allocate(columns * sizeof(double)), sums = device_->allocate(rows * sizeof(double));
        device_->fill(right.get(), DataType::fp64, columns, {Distribution::normal, 6, 1});
        std::vector<double> factors(columns), got(rows), products(rows);
        device_->to_host(factors.data(), right.get(), columns * sizeof(double));
        device_->signed_block_sums(view, view.columns, 7, static_cast<double*>(sums.get()), nullptr);
        device_->to_host(got.data(), sums.get(), rows * sizeof(double));
        device_->multiply_fp64(view, static_cast<double*>(right.get()), 1, static_cast<double*>(sums.get()));
        device_->to_host(products.data(), sums.get(), rows * sizeof(double));
        for (std::int64_t r = 0; r < view.rows; ++r) {
          double sum = 0, product = 0;
          for (std::int64_t c = 0; c < view.columns; ++c) {
            sum += at(r, c) * sign(7, static_cast<std::uint64_t>(c));
            product += at(r, c) * factors[static_cast<std::size_t>(c)];
          }
          ASSERT_NEAR(got[static_cast<std::size_t>(r)], sum, 1e-9) << name(type) << " " << as_rows << " row " << r;
          ASSERT_NEAR(products[static_cast<std::size_t>(r)], product, 1e-9) << name(type) << " " << as_rows << " row " << r;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, BlockScaledDevice, testing::Values("cpu", "cuda"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace roofmark
