// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "harness/case.hpp"

namespace roofmark {

std::vector<Group> reductions(const Listing&);

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

DeviceInfo gpu() {
  DeviceInfo info;
  info.backend = Backend::cuda;
  info.memory_bytes = info.free_bytes = 140 * 1000000000ull;
  info.caches = {{"l2", 60 * kMiB, 60 * kMiB}};
  return info;
}

DeviceInfo cpu_device() {
  DeviceInfo info;
  info.memory_bytes = info.free_bytes = 60 * 1000000000ull;
  info.caches = {{"l2", 2 * kMiB, kMiB}, {"l3", 32 * kMiB, 32 * kMiB}};
  return info;
}

TEST(ReductionCases, HaveNamesOfTheirOwnAndCompareWhatIsThere) {
  for (const DeviceInfo& device : {gpu(), cpu_device()}) {
    for (const SuiteName suite : {SuiteName::quick, SuiteName::baseline, SuiteName::full, SuiteName::contract}) {
      std::set<std::string> names;
      std::size_t cases = 0, comparisons = 0;
      for (const Group& group : reductions({device, suite, {}, 0.9})) {
        std::set<std::string> here;
        for (const Case& one : group.cases) here.insert(one.name());
        for (const Comparison& comparison : group.comparisons) {
          EXPECT_TRUE(here.contains(comparison.numerator) && here.contains(comparison.denominator)) << comparison.name;
          ++comparisons;
        }
        // What is compared has the same to do.
        EXPECT_EQ(group.cases.front().work.total(Unit::byte), group.cases.back().work.total(Unit::byte));
        EXPECT_EQ(group.cases.front().work.total(Unit::flop), group.cases.back().work.total(Unit::flop));
        cases += group.cases.size();
        names.insert(here.begin(), here.end());
      }
      EXPECT_EQ(names.size(), cases);
      EXPECT_EQ(comparisons > 0, suite != SuiteName::quick);
    }
  }
}

// After the formulas, by hand, for bf16 rows of 1024 x 2048: 4 MiB an array.
TEST(ReductionCases, CountWhatTheOperationMustDo) {
  struct Counts {
    double bytes, flops_per_element, exponentials_per_element;
  };
  const double array = 4 * kMiB, row = 4096, numbers = 4096;
  const std::map<std::string, Counts> right = {{"softmax", {2 * array, 4, 1}},
                                               {"layer_norm", {2 * array + 2 * row, 7, 0}},
                                               {"rms_norm", {2 * array + row, 4, 0}},
                                               {"residual_rms_norm", {4 * array + row, 5, 0}},
                                               {"cross_entropy", {array + 2 * numbers, 3, 1}},
                                               {"row_sum", {array + numbers, 1, 0}},
                                               {"quantise", {1.5 * array + numbers, 2, 0}}};
  std::set<std::string> seen;
  for (const Group& group : reductions({gpu(), SuiteName::full, {}, 0.9})) {
    for (const Case& one : group.cases) {
      if (one.type != DataType::bf16) continue;
      const double rows = std::stod(one.shape[0].second), columns = std::stod(one.shape[1].second);
      const double elements = rows * columns;
      const Counts& counts = right.at(one.how);
      EXPECT_EQ(one.work.total(Unit::flop), counts.flops_per_element * elements) << one.name();
      EXPECT_EQ(one.work.total(Unit::exp), counts.exponentials_per_element * elements) << one.name();
      if (columns == 2048) {
        // Rows add arrays and numbers, and leave the weights as they are.
        const double more = rows / 1024, weights = one.how == "layer_norm" ? 2 * row : one.how.ends_with("norm") ? row : 0;
        EXPECT_EQ(one.work.total(resource::dram), (counts.bytes - weights) * more + weights) << one.name();
        seen.insert(one.how);
      }
    }
  }
  EXPECT_EQ(seen.size(), right.size());
}

}  // namespace
}  // namespace roofmark
