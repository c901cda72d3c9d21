// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "bench/support/listing.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark::reductions {

std::vector<Group> list(const Listing&);

namespace {

// After the formulas, by hand, for bf16 rows of 1024 x 2048: 4 MiB an array.
TEST(ReductionCases, CountWhatTheOperationMustDo) {
  struct Counts {
    double bytes, flops_per_element, exponentials_per_element;
  };
  const double array = 4 << 20, row = 4096, numbers = 4096;
  const std::map<std::string, Counts> right = {{"softmax", {2 * array, 4, 1}},
                                               {"layer_norm", {2 * array + 2 * row, 7, 0}},
                                               {"rms_norm", {2 * array + row, 4, 0}},
                                               {"residual_rms_norm", {4 * array + row, 5, 0}},
                                               {"cross_entropy", {array + 2 * numbers, 3, 1}},
                                               {"row_sum", {array + numbers, 1, 0}},
                                               {"quantise", {1.5 * array + numbers, 2, 0}}};
  std::set<std::string> seen;
  for (const Group& group : list({h200(), SuiteName::full, {}, 0.9})) {
    for (const Case& one : group.cases) {
      if (one.type != DataType::bf16) continue;
      const double rows = std::stod(one.shape[0].second), columns = std::stod(one.shape[1].second);
      const double elements = rows * columns;
      const Counts& counts = right.at(one.operation);
      EXPECT_EQ(one.work.total(Unit::flop), counts.flops_per_element * elements) << one.name();
      EXPECT_EQ(one.work.total(Unit::exp), counts.exponentials_per_element * elements) << one.name();
      if (columns == 2048) {
        // Rows add arrays and numbers, and leave the weights as they are.
        const double more = rows / 1024, weights = one.operation == "layer_norm"     ? 2 * row
                                                   : one.operation.ends_with("norm") ? row
                                                                                     : 0;
        EXPECT_EQ(one.work.total(resource::dram), (counts.bytes - weights) * more + weights) << one.name();
        seen.insert(one.operation);
      }
    }
  }
  EXPECT_EQ(seen.size(), right.size());
}

}  // namespace
}  // namespace roofmark::reductions
