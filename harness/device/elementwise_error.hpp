// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/element.hpp"

namespace roofmark {

/// The smallest normal number of a type: the minimum scale of an error; 0 for integers.
ROOFMARK_HOST_DEVICE inline double smallest_normal(DataType type) {
  switch (type) {
    case DataType::fp64:
      return 0x1p-1022;
    case DataType::fp32:
    case DataType::tf32:
    case DataType::bf16:
      return 0x1p-126;
    case DataType::fp16:
      return 0x1p-14;
    case DataType::fp8:
      return 0x1p-6;
    case DataType::int8:
    case DataType::int32:
    case DataType::mxfp8:
    case DataType::nvfp4:
    case DataType::fp8_vec128:
    case DataType::fp8_blk128:
      break;
  }
  return 0;
}

/// |got - expected| / (u(type) * scale), with scale at least the type's smallest normal: 0 if they are equal, NaN if only one
/// is NaN, infinity if only one is infinite. Integers have no roundoff: infinity if they differ.
ROOFMARK_HOST_DEVICE inline double elementwise_error(DataType type, double got, double expected, double scale) {
  const bool got_nan = !(got == got), expected_nan = !(expected == expected);
  if (got == expected || (got_nan && expected_nan)) return 0;
  if (got_nan || expected_nan) return same_bits<double>(0x7ff8000000000000ull);
  const double least = smallest_normal(type);
  const double difference = got < expected ? expected - got : got - expected;
  // In this order no divisor falls under the smallest fp64.
  return difference / (scale > least ? scale : least) / unit_roundoff(type);
}

}  // namespace roofmark
