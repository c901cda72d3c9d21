// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/one_term_operand.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "harness/device/random.hpp"
#include "kernels/base/block_scaled.hpp"

namespace roofmark {
namespace {

constexpr std::uint64_t kSequence = 4;  // of the generator: A, B and the bias have others
constexpr double kGreatestScale = 64;
constexpr std::size_t kPieceBytes = std::size_t{64} << 20;

/// The elements of the row, or their bytes with other elements that are 0.
struct Row {
  std::vector<std::byte> bytes;
  std::size_t element_bytes;
};

Row row_of(const GemmProblem& p, std::uint64_t seed, double scale) {
  const DataType type = p.type_of_b();
  const bool is_scaled = is_block_scaled(type);
  Row row{{}, is_scaled ? 1 : size_of(type)};
  row.bytes.resize(static_cast<std::size_t>(p.n) * row.element_bytes);
  for (std::size_t j = 0; j < static_cast<std::size_t>(p.n); ++j) {
    const double value = generate(Distribution::normal, DataType::fp32, seed, kSequence, j);
    if (is_scaled) {  // the scale of the block is `scale`
      row.bytes[j] = std::byte{type == DataType::nvfp4 ? fp4_bits(value) : fp8_bits(value)};
    } else {
      store(type, row.bytes.data(), j, scale * value);
    }
  }
  return row;
}

/// Element j of the row at b + j pitch, and zeros between them.
void write_apart(Device& device, const Row& row, std::size_t pitch, std::byte* b) {
  const std::size_t count = row.bytes.size() / row.element_bytes,
                    together = std::clamp<std::size_t>(kPieceBytes / pitch, 1, count);
  std::vector<std::byte> piece(together * pitch);
  for (std::size_t first = 0; first < count; first += together) {
    const std::size_t here = std::min(together, count - first);
    for (std::size_t j = 0; j < here; ++j) {
      std::memcpy(&piece[j * pitch], &row.bytes[(first + j) * row.element_bytes], row.element_bytes);
    }
    device.to_device(b + first * pitch, piece.data(), here * pitch);
    device.progressed();
  }
}

void write_scales(Device& device, const BlockScaledLayout& layout, double scale, std::byte* b) {
  with_block_scaled_type(layout.type, [&]<DataType kType>() {
    std::vector<BlockScale<kType>> scales(static_cast<std::size_t>(layout.scale_bytes() / layout.bytes_per_scale()));
    for (std::int64_t line = 0; line < layout.lines; ++line) {
      scales[static_cast<std::size_t>(layout.scale_index(line, 0))] = stored_scale<kType>(static_cast<float>(scale));
    }
    device.to_device(b + layout.scales_offset(), scales.data(), static_cast<std::size_t>(layout.scale_bytes()));
  });
}

}  // namespace

std::size_t bytes_of_b(const GemmProblem& p) {
  const DataType type = p.type_of_b();
  if (is_block_scaled(type)) return BlockScaledLayout{type, p.n, p.k}.bytes();
  return static_cast<std::size_t>(p.batch * p.b_count()) * size_of(type);
}

void write_one_term_b(Device& device, const GemmProblem& p, std::uint64_t seed, void* b) {
  const double scale = std::min(kGreatestScale, 1 / p.alpha);
  const Row row = row_of(p, seed, scale);
  const DataType type = p.type_of_b();
  const BlockScaledLayout layout{type, p.n, p.k};
  device.zero(b, bytes_of_b(p));
  for (std::int64_t i = 0; i < p.batch; ++i) {
    auto* const first = static_cast<std::byte*>(b) + static_cast<std::size_t>(i * p.b_count()) * size_of(type);
    if (transposes_b(p.layout)) {
      device.to_device(first, row.bytes.data(), row.bytes.size());
    } else {
      const auto bytes =
          static_cast<std::size_t>(is_block_scaled(type) ? layout.element_bytes() : p.b_count()) * row.element_bytes;
      write_apart(device, row, bytes / static_cast<std::size_t>(p.n), first);
    }
    if (is_block_scaled(type)) write_scales(device, layout, scale, first);
  }
}

}  // namespace roofmark
