// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <functional>
#include <set>

#include "harness/judge/analysis.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

/// The kinds that these records have no reading for.
std::set<FindingKind> unseen_in(const Record& record) {
  std::vector<Record> records = {record};
  return analyze({}, records, {}).unseen;
}

TEST(Unseen, AKindIsUnseenWithoutTheReadingsThatShowIt) {
  std::set<FindingKind> all;
  for (const FindingType& type : kFindingTypes) {
    if (type.is_found_by(kReadings)) all.insert(type.kind);
  }
  all.insert({FindingKind::link_rate, FindingKind::nvlink_unused});  // of ranks
  const Record blind = ok_record("any", "in", {{{{resource::host_to_device, 1e9}}}}, 2e-2);
  EXPECT_EQ(unseen_in(blind), all);
  const auto now_seen = [&](const std::function<void(Record&)>& read) {
    Record seeing = blind;
    read(seeing);
    std::set<FindingKind> seen = all;
    for (const FindingKind kind : unseen_in(seeing)) seen.erase(kind);
    return seen;
  };
  using Kinds = std::set<FindingKind>;
  EXPECT_EQ(now_seen([](Record& record) { record.measurement->clock_hz = 1e9; }),
            Kinds({FindingKind::clock, FindingKind::clock_under_load}));
  EXPECT_EQ(now_seen([](Record& record) { record.measurement->telemetry.emplace(); }), Kinds());
  EXPECT_EQ(now_seen([](Record& record) { record.measurement->telemetry.emplace().throttled_share.emplace(); }),
            Kinds({FindingKind::throttle, FindingKind::slowdown}));
  EXPECT_EQ(now_seen([](Record& record) {
              auto& telemetry = record.measurement->telemetry.emplace();
              telemetry.energy_joules = telemetry.integrated_joules = 1;
            }),
            Kinds({FindingKind::energy}));
  EXPECT_EQ(now_seen([](Record& record) { record.sustained.emplace(); }),
            Kinds({FindingKind::decay, FindingKind::decay_by_clock}));
  EXPECT_EQ(now_seen([](Record& record) { record.sustained.emplace().rate_per_clock_ratio = 1; }),
            Kinds({FindingKind::decay, FindingKind::decay_by_clock, FindingKind::rate_per_clock}));
  EXPECT_EQ(now_seen([](Record& record) { record.sustained.emplace().dips.emplace(); }),
            Kinds({FindingKind::decay, FindingKind::decay_by_clock, FindingKind::dips}));
  EXPECT_EQ(now_seen([](Record& record) {
              record.measurement->blocks.front().before.pcie_bytes_per_second = 1e9;
              record.measurement->blocks.front().before.pcie_bytes_per_second_at_most = 1e9;
            }),
            Kinds({FindingKind::link_training}));
}

}  // namespace
}  // namespace roofmark
