// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/groups.hpp"

#include <gmock/gmock.h>

#include "tests/bench/devices.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;

Case named(const std::string& operation, std::size_t slot_bytes = 100, std::size_t shared_bytes = 0) {
  Case made;
  made.family = "f";
  made.operation = operation;
  made.slot_bytes = slot_bytes;
  made.shared_bytes = shared_bytes;
  return made;
}
Comparison compared(const std::string& numerator, const std::string& denominator) {
  return {numerator + " against " + denominator, "impl", named(numerator).name(), named(denominator).name()};
}

std::vector<std::vector<std::string>> operations(const std::vector<Group>& groups) {
  std::vector<std::vector<std::string>> all;
  for (const Group& group : groups) {
    all.emplace_back();
    for (const Case& c : group.cases) all.back().push_back(c.operation);
  }
  return all;
}

DeviceInfo with_memory(std::size_t bytes) {
  DeviceInfo device = two_cores();
  device.free_bytes = bytes;
  return device;
}

TEST(Groups, LeaveOutWhatDoesNotFitBesideTheOthers) {
  const DeviceInfo device = with_memory(1000);
  const Listing listing = {device, SuiteName::quick, {}, 0.5};
  Groups groups(listing);
  // 200 + 250 bytes, then 60 too many, then 50 that just fit.
  groups.add({{named("a"), named("b", 100, 50), named("c", 30, 0), named("d", 0, 50)},
              {compared("a", "b"), compared("a", "c"), compared("c", "d"), compared("a", "d")}});
  groups.add({{named("e", 251)}, {}});
  const std::vector<Group> all = groups.take();
  EXPECT_THAT(operations(all), ElementsAre(ElementsAre("a", "b", "d")));
  ASSERT_EQ(all[0].comparisons.size(), 2U);
  EXPECT_EQ(all[0].comparisons[0].name, "a against b");
  EXPECT_EQ(all[0].comparisons[1].name, "a against d");
}

TEST(Groups, ListACaseOnce) {
  const DeviceInfo device = with_memory(1000);
  const Listing listing = {device, SuiteName::quick, {}, 1};
  Groups groups(listing);
  groups.add({{named("a"), named("b")}, {compared("a", "b")}});
  groups.add({{named("b"), named("c")}, {compared("b", "c")}});
  groups.add({{named("a")}, {}});
  const std::vector<Group> all = groups.take();
  EXPECT_THAT(operations(all), ElementsAre(ElementsAre("a", "b"), ElementsAre("c")));
  EXPECT_TRUE(all[1].comparisons.empty());
}

TEST(Groups, AreOfTheSuiteAndTheDevice) {
  const auto listed = [](const DeviceInfo& device, SuiteName suite) {
    return operations(list_groups(
        {device, suite, {}, 1},
        [](Groups& groups) {
          groups.add({{named("contract")}, {}});
        },
        [](Groups& groups) {
          groups.add({{named("cpu")}, {}});
        },
        [](Groups& groups) {
          groups.add({{named("gpu")}, {}});
        }));
  };
  EXPECT_THAT(listed(h200(), SuiteName::full), ElementsAre(ElementsAre("gpu")));
  EXPECT_THAT(listed(two_cores(), SuiteName::quick), ElementsAre(ElementsAre("cpu")));
  EXPECT_THAT(listed(h200(), SuiteName::contract), ElementsAre(ElementsAre("contract")));
  EXPECT_THAT(listed(two_cores(), SuiteName::contract), ElementsAre(ElementsAre("contract")));
}

}  // namespace
}  // namespace roofmark
