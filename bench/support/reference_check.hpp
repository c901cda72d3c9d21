// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/model/case.hpp"

namespace roofmark {

/// What rows [first, first + count) of an output should hold, in float64, and the scale by which an error there is measured:
/// arrays of count x width doubles on the device, written on Device::stream().
using RowReference = std::function<void(std::int64_t first, std::int64_t count, double* expected, double* scale)>;

/// An array that a launch writes, as rows of `width` elements, beside its reference.
struct CheckedOutput {
  std::string_view name;
  Output output;
  std::int64_t width = 1;
  double bound = 1;  ///< of an element's error, in u(type) x scale
  RowReference reference;
};

/// As Prepared::outputs has them.
std::vector<Output> outputs_of(const std::vector<CheckedOutput>& checked);

/// The worst element of rows [first, first + count); its index is that in the output. A NaN is worse than any number. Goes
/// through the rows piece by piece, so that the expected values of a large output need not stand in memory together.
ElementwiseError worst_error(Device& device, const CheckedOutput& checked, std::int64_t first, std::int64_t count);

/// All elements of all outputs: the verdict on the first that is wrong, or on the one that is nearest to its bound.
Verification check_outputs(Device& device, const std::vector<CheckedOutput>& outputs);

}  // namespace roofmark
