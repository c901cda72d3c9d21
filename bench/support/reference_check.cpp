// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/reference_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace roofmark {

std::vector<Output> outputs_of(const std::vector<CheckedOutput>& checked) {
  std::vector<Output> all;
  for (const CheckedOutput& one : checked) all.push_back(one.output);
  return all;
}

ElementwiseError worst_error(Device& device, const CheckedOutput& checked, std::int64_t first, std::int64_t count) {
  // A CPU may take seconds for some thousands of elements.
  const std::int64_t most = device.info().backend == Backend::cuda ? 8 << 20 : 1 << 16;
  const std::int64_t rows = std::clamp<std::int64_t>(most / checked.width, 1, count), end = first + count;
  const auto piece_bytes = static_cast<std::size_t>(rows * checked.width) * sizeof(double);
  const Memory expected = device.allocate(piece_bytes), scale = device.allocate(piece_bytes);
  auto* const expected_values = static_cast<double*>(expected.get());
  auto* const scales = static_cast<double*>(scale.get());
  ElementwiseError worst;
  for (; first < end && !std::isnan(worst.worst); first += rows) {
    const std::int64_t here = std::min(rows, end - first);
    device.progressed();
    checked.reference(first, here, expected_values, scales);
    const auto begin = static_cast<std::size_t>(first * checked.width);
    const auto* const got = static_cast<const std::byte*>(checked.output.data) + begin * size_of(checked.output.type);
    const ElementwiseError found =
        device.compare(checked.output.type, got, static_cast<std::size_t>(here * checked.width), expected_values, scales);
    if (!(found.worst <= worst.worst)) worst = {found.worst, begin + found.index};
  }
  return worst;
}

Verification check_outputs(Device& device, const std::vector<CheckedOutput>& outputs) {
  Verification nearest;
  double nearest_share = -1;
  for (const CheckedOutput& checked : outputs) {
    const auto rows = static_cast<std::int64_t>(checked.output.count) / checked.width;
    const ElementwiseError error = worst_error(device, checked, 0, rows);
    Verification found = Verification::within(error.worst, checked.bound,
                                              fmt::format("all elements of {}, in u({}) x scale; worst at element {}",
                                                          checked.name, name(checked.output.type), error.index));
    if (found.status != Verification::Status::passed) return found;
    const double share = checked.bound > 0 ? error.worst / checked.bound : 0;
    if (share > nearest_share) nearest = found;
    nearest_share = std::max(nearest_share, share);
  }
  return nearest;
}

}  // namespace roofmark
