// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/model/prepared.hpp"

namespace roofmark {

/// Writes the expected rows [first, first + count) of an output in float64, and the scale of an error per element: arrays of
/// count x width doubles on the device, on Device::stream().
using RowReference = std::function<void(std::int64_t first, std::int64_t count, double* expected, double* scale)>;

/// An array that a launch writes, as rows of `width` elements, and its reference.
struct CheckedOutput {
  std::string_view name;
  Output output;
  std::int64_t width = 1;
  double bound = 1;  ///< of the error of an element, in u(type) x scale
  RowReference reference;
};

/// For Prepared::outputs.
std::vector<Output> outputs_of(const std::vector<CheckedOutput>& checked);

/// The worst element of rows [first, first + count); its index counts from the start of the output. A NaN is worse than any
/// number. Works in pieces, so that the expected values of a large output never fill the memory.
ElementwiseError worst_error(Device& device, const CheckedOutput& checked, std::int64_t first, std::int64_t count);

/// Checks all elements of all outputs: the verdict on the first wrong one, or on the one nearest to its bound.
Verification check_outputs(Device& device, const std::vector<CheckedOutput>& outputs);

}  // namespace roofmark
