// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/block_scaled.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace roofmark {
namespace {

constexpr std::array<double, 8> kMagnitudes = {0, 0.5, 1, 1.5, 2, 3, 4, 6};  // of e2m1, in the order of their bits

TEST(Fp4, HasSixteenNumbersTwoInAByte) {
  for (std::uint8_t bits = 0; bits < 16; ++bits) {
    const double expected = (bits & 8 ? -1 : 1) * kMagnitudes[bits % 8];
    for (const std::uint8_t other : {0x0, 0xf}) {
      EXPECT_EQ(unscaled_value<DataType::nvfp4>(static_cast<std::uint8_t>(other << 4 | bits), 6), expected);
      EXPECT_EQ(unscaled_value<DataType::nvfp4>(static_cast<std::uint8_t>(bits << 4 | other), 7), expected);
    }
    EXPECT_EQ(fp4_bits(expected), bits == 8 ? 8 : bits);
  }
}

TEST(Fp4, TiesGoToEvenAndAllElseToTheNearest) {
  for (std::size_t low = 0; low + 1 < kMagnitudes.size(); ++low) {
    const double middle = (kMagnitudes[low] + kMagnitudes[low + 1]) / 2;
    EXPECT_EQ(fp4_bits(middle), low % 2 == 0 ? low : low + 1) << middle;
    EXPECT_EQ(fp4_bits(std::nextafter(middle, 0)), low) << middle;
    EXPECT_EQ(fp4_bits(std::nextafter(-middle, -9)), 8 + low + 1) << middle;
  }
  for (const double large : {6.0, 6.5, 7.0, 8.0, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(fp4_bits(large), 7) << large;
    EXPECT_EQ(fp4_bits(-large), 15) << large;
  }
}

TEST(BlockScaled, ScalesArePowersOfTwoOrE4m3) {
  EXPECT_EQ(scale_value<DataType::mxfp8>(0), 0x1p-127F);
  EXPECT_EQ(scale_value<DataType::mxfp8>(1), 0x1p-126F);
  EXPECT_EQ(scale_value<DataType::mxfp8>(127), 1);
  EXPECT_EQ(scale_value<DataType::mxfp8>(130), 8);
  EXPECT_EQ(scale_value<DataType::mxfp8>(254), 0x1p127F);
  EXPECT_TRUE(std::isnan(scale_value<DataType::mxfp8>(255)));
  EXPECT_EQ(scale_value<DataType::nvfp4>(0x00), 0);
  EXPECT_EQ(scale_value<DataType::nvfp4>(0x01), 0x1p-9F);
  EXPECT_EQ(scale_value<DataType::nvfp4>(0x38), 1);
  EXPECT_EQ(scale_value<DataType::nvfp4>(0x7e), 448);
}

// As a matrix of scales is brought into the tiles' order by reshaping: [tile of lines, 4, 32, tile of blocks, 4] becomes
// [tile of lines, tile of blocks, 32, 4, 4].
TEST(BlockScaled, ScalesLieInTilesOf128LinesAnd4Blocks) {
  for (const DataType type : kBlockScaledTypes) {
    const int block = BlockScaledLayout{type}.block();
    const BlockScaledLayout layout{type, 300, std::int64_t{10} * block};
    EXPECT_EQ(layout.blocks_per_line(), 10);
    std::int64_t at = 0;
    for (int line_tile = 0; line_tile < 3; ++line_tile) {
      for (int block_tile = 0; block_tile < 3; ++block_tile) {
        for (int line = 0; line < 32; ++line) {
          for (int quarter = 0; quarter < 4; ++quarter) {
            for (int b = 0; b < 4; ++b, ++at) {
              EXPECT_EQ(layout.scale_index(line_tile * 128 + quarter * 32 + line, block_tile * 4 + b), at);
            }
          }
        }
      }
    }
    EXPECT_EQ(layout.scale_bytes(), at);
  }
}

TEST(BlockScaled, CountsItsBytesWithAndWithoutPadding) {
  const BlockScaledLayout eight{DataType::mxfp8, 3, 96}, four{DataType::nvfp4, 3, 96};
  EXPECT_EQ(eight.data_bytes(), 3u * 96 + 3 * 3);
  EXPECT_EQ(eight.scales_offset(), 512);
  EXPECT_EQ(eight.bytes(), 512u + 512);
  EXPECT_EQ(four.data_bytes(), 3u * 48 + 3 * 6);
  EXPECT_EQ(four.scales_offset(), 256);
  EXPECT_EQ(four.bytes(), 256u + 2 * 512);
}

TEST(BlockScaled, AValueIsItsElementTimesItsScale) {
  const BlockScaledLayout layout{DataType::nvfp4, 40, 64};
  std::vector<std::uint8_t> matrix(layout.bytes());
  matrix[(33 * 64 + 18) / 2] = 0x2a;  // element 18 of line 33 is -1, element 19 is 1
  matrix[static_cast<std::size_t>(layout.scales_offset()) + 1 * 16 + 1 * 4 + 1] = 0x40;  // 2, line 33, block 1
  EXPECT_EQ(block_scaled_value<DataType::nvfp4>(matrix.data(), layout, 33, 18), -2);
  EXPECT_EQ(block_scaled_value<DataType::nvfp4>(matrix.data(), layout, 33, 19), 2);
  EXPECT_EQ(block_scaled_value<DataType::nvfp4>(matrix.data(), layout, 33, 20), 0);
  EXPECT_EQ(block_scaled_value<DataType::nvfp4>(matrix.data(), layout, 32, 18), 0);
}

}  // namespace
}  // namespace roofmark
