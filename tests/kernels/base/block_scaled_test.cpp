// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/block_scaled.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstring>
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
  EXPECT_EQ(stored_scale<DataType::mxfp8>(8), 130);
  EXPECT_EQ(stored_scale<DataType::nvfp4>(1.06F), 0x38);
}

TEST(BlockScaled, ScalesOfBlocksOf128AreFp32) {
  for (const float value : {0.0F, 1.1F, -3.0F, 0x1p-126F}) {
    EXPECT_EQ(scale_value<DataType::fp8_vec128>(value), value);
    EXPECT_EQ(scale_value<DataType::fp8_blk128>(value), value);
    EXPECT_EQ(stored_scale<DataType::fp8_vec128>(value), value);
  }
}

// As a matrix of scales is brought into the tiles' order by reshaping: [tile of lines, 4, 32, tile of blocks, 4] becomes
// [tile of lines, tile of blocks, 32, 4, 4].
TEST(BlockScaled, ScalesLieInTilesOf128LinesAnd4Blocks) {
  for (const DataType type : {DataType::mxfp8, DataType::nvfp4}) {
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

// "M-major for A with shape M x L", M a multiple of 4: a column per block, each as long as there are lines.
TEST(BlockScaled, Fp32ScalesOfLinesLieBlockAfterBlock) {
  const BlockScaledLayout layout{DataType::fp8_vec128, 8, 300};
  EXPECT_EQ(layout.blocks_per_line(), 3) << "the last one of 44 terms";
  std::int64_t at = 0;
  for (int block = 0; block < 3; ++block) {
    for (int line = 0; line < 8; ++line) EXPECT_EQ(layout.scale_index(line, block), at++);
  }
  EXPECT_EQ(layout.scale_bytes(), 4 * at);
  const BlockScaledLayout padded{DataType::fp8_vec128, 5, 300};
  EXPECT_EQ(padded.scale_index(4, 2), 8 + 8 + 4);
  EXPECT_EQ(padded.scale_bytes(), 4 * 3 * 8);
}

// "K-major and the stride between the consecutive columns must be a multiple of 4": a column per 128 lines, of 6 blocks in 8.
TEST(BlockScaled, Fp32ScalesOfSquaresLieColumnAfterColumnInFours) {
  const BlockScaledLayout layout{DataType::fp8_blk128, 257, 128 * 5 + 16};
  EXPECT_EQ(layout.blocks_per_line(), 6);
  EXPECT_EQ(layout.blocks(), 18);
  for (const int line : {0, 1, 127}) EXPECT_EQ(layout.scale_index(line, 5), 5);
  for (const int line : {128, 255}) EXPECT_EQ(layout.scale_index(line, 0), 8);
  EXPECT_EQ(layout.scale_index(256, 5), 16 + 5);
  EXPECT_EQ(layout.scale_bytes(), 4 * 3 * 8);
}

TEST(BlockScaled, CountsItsBytesWithAndWithoutPadding) {
  const BlockScaledLayout eight{DataType::mxfp8, 3, 96}, four{DataType::nvfp4, 3, 96};
  EXPECT_EQ(eight.data_bytes(), 3u * 96 + 3 * 3);
  EXPECT_EQ(eight.scales_offset(), 512);
  EXPECT_EQ(eight.bytes(), 512u + 512);
  EXPECT_EQ(four.data_bytes(), 3u * 48 + 3 * 6);
  EXPECT_EQ(four.scales_offset(), 256);
  EXPECT_EQ(four.bytes(), 256u + 2 * 512);
  const BlockScaledLayout lines{DataType::fp8_vec128, 6, 144}, squares{DataType::fp8_blk128, 130, 144};
  EXPECT_EQ(lines.data_bytes(), 6u * 144 + 4 * 6 * 2);
  EXPECT_EQ(lines.scales_offset(), 1024);
  EXPECT_EQ(lines.bytes(), 1024u + 4 * 8 * 2);
  EXPECT_EQ(squares.data_bytes(), 130u * 144 + 4 * 2 * 2);
  EXPECT_EQ(squares.scales_offset(), 18944);
  EXPECT_EQ(squares.bytes(), 18944u + 4 * 2 * 4);
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

TEST(BlockScaled, AValueOfASquareIsItsElementTimesTheSquaresScale) {
  const BlockScaledLayout layout{DataType::fp8_blk128, 256, 272};
  std::vector<std::uint8_t> matrix(layout.bytes());
  matrix[200 * 272 + 259] = 0xc0;  // -2
  const float scale = 1.1F;        // of lines 128 to 255 and terms 256 to 271
  std::memcpy(&matrix[static_cast<std::size_t>(layout.scales_offset()) + sizeof(float) * (4 + 2)], &scale, sizeof scale);
  EXPECT_EQ(block_scaled_value<DataType::fp8_blk128>(matrix.data(), layout, 200, 259), -2 * static_cast<double>(scale));
  EXPECT_EQ(block_scaled_value<DataType::fp8_blk128>(matrix.data(), layout, 200, 258), 0);
}

}  // namespace
}  // namespace roofmark
