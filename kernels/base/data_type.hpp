// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace roofmark {

/// How the elements of an array are stored and multiplied. tf32 is stored as fp32; fp8 is e4m3. The last four are block-scaled:
/// the types of a product's operands, which block_scaled.hpp lays out, and of no other array.
enum class DataType : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int8, int32, mxfp8, nvfp4, fp8_vec128, fp8_blk128 };

/// Those that a case's name may have. A product of fp8 says beside its type how its operands are scaled.
inline constexpr DataType kDataTypes[] = {DataType::fp64, DataType::fp32, DataType::tf32,  DataType::fp16,  DataType::bf16,
                                          DataType::fp8,  DataType::int8, DataType::int32, DataType::mxfp8, DataType::nvfp4};
/// Those that each element of an array has for itself.
inline constexpr DataType kArrayTypes[] = {DataType::fp64, DataType::fp32, DataType::tf32, DataType::fp16,
                                           DataType::bf16, DataType::fp8,  DataType::int8, DataType::int32};
inline constexpr DataType kBlockScaledTypes[] = {DataType::mxfp8, DataType::nvfp4, DataType::fp8_vec128, DataType::fp8_blk128};

constexpr std::string_view name(DataType type) {
  constexpr std::string_view names[] = {"fp64", "fp32",  "tf32",  "fp16",  "bf16",       "fp8",
                                        "int8", "int32", "mxfp8", "nvfp4", "fp8_vec128", "fp8_blk128"};
  return names[static_cast<int>(type)];
}

constexpr bool is_block_scaled(DataType type) {
  return type == DataType::mxfp8 || type == DataType::nvfp4 || type == DataType::fp8_vec128 || type == DataType::fp8_blk128;
}

/// Bytes one element takes in memory; 0 of a block-scaled type, whose elements share bytes.
constexpr std::size_t size_of(DataType type) {
  constexpr std::size_t sizes[] = {8, 4, 4, 2, 2, 1, 1, 4, 0, 0, 0, 0};
  return sizes[static_cast<int>(type)];
}

/// Unit roundoff u: half the distance from 1 to the next number (round to nearest), of a block-scaled type within a block; 0
/// for integers.
constexpr double unit_roundoff(DataType type) {
  constexpr double u[] = {0x1p-53, 0x1p-24, 0x1p-11, 0x1p-11, 0x1p-8, 0x1p-4, 0, 0, 0x1p-4, 0x1p-2, 0x1p-4, 0x1p-4};
  return u[static_cast<int>(type)];
}

constexpr bool is_integer(DataType type) { return type == DataType::int8 || type == DataType::int32; }

/// Throws std::invalid_argument that names the known types.
inline DataType parse_data_type(std::string_view text) {
  std::string known;
  for (DataType type : kDataTypes) {
    if (name(type) == text) return type;
    known += (known.empty() ? "" : ", ") + std::string(name(type));
  }
  throw std::invalid_argument("unknown data type '" + std::string(text) + "' (known: " + known + ")");
}

}  // namespace roofmark
