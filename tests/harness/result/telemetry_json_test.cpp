// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/telemetry_json.hpp"

#include <gmock/gmock.h>

#include "harness/team/json.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;

Telemetry full() {
  Telemetry state;
  state.sm_clock_hz = 1.98e9;
  state.memory_clock_hz = 3.2e9;
  state.power_watts = 699.5;
  state.energy_joules = 1234.5;
  state.temperature_celsius = 64;
  state.memory_temperature_celsius = 80;
  state.slowdown_margin_celsius = 23;
  state.utilization = 1;
  state.pcie_in_bytes = 1e9;
  state.pcie_out_bytes = 2e9;
  state.nvlink_in_bytes = 3e9;
  state.nvlink_out_bytes = 4e9;
  state.throttle_reasons = {"power cap", "thermal"};
  return state;
}

TEST(TelemetryJson, OneStateComesBack) {
  EXPECT_EQ(telemetry_from_json(JsonText(to_json(full()).dump()).root()), full());
  EXPECT_EQ(telemetry_from_json(JsonText(to_json(Telemetry()).dump()).root()), Telemetry());
  EXPECT_EQ(to_json(Telemetry()), Json::object()) << "what is absent has no key";
}

TEST(TelemetryJson, ASummaryComesBack) {
  TelemetrySummary summary{
      2.5, 1.9e9, 3e9, 650, 70, 85, 12, 1600, 1625, 0.25, std::map<std::string, double>{{"power cap", 0.5}, {"thermal", 0.1}}};
  const Json json = to_json(summary);
  const TelemetrySummary back = telemetry_summary_from_json(JsonText(json.dump()).root());
  EXPECT_EQ(to_json(back), json);
  EXPECT_EQ(back.seconds, 2.5);
  EXPECT_EQ(back.sm_clock_hz, 1.9e9);
  EXPECT_EQ(back.memory_clock_hz, 3e9);
  EXPECT_EQ(back.power_watts, 650);
  EXPECT_EQ(back.temperature_celsius, 70);
  EXPECT_EQ(back.memory_temperature_celsius, 85);
  EXPECT_EQ(back.slowdown_margin_celsius, 12);
  EXPECT_EQ(back.energy_joules, 1600);
  EXPECT_EQ(back.integrated_joules, 1625);
  EXPECT_EQ(back.joules_per_launch, 0.25);
  EXPECT_EQ(back.throttled_share, summary.throttled_share);
  EXPECT_FALSE(telemetry_summary_from_json(JsonText(to_json(TelemetrySummary()).dump()).root()).throttled_share);
}

TEST(TelemetryJson, ASeriesHasAColumnPerValueAndARowPerReading) {
  Telemetry first, second;
  first.power_watts = 100;
  second.power_watts = 200;
  second.temperature_celsius = 50;
  const Json json = to_json(TelemetrySeries{0.05, "instantaneous", {{0.5, first}, {0.6, second}}});
  EXPECT_EQ(json.at("columns"), Json::parse(R"(["seconds", "power_watts", "temperature_celsius"])"));
  EXPECT_EQ(json.at("rows"), Json::parse("[[0.5, 100.0, null], [0.6, 200.0, 50.0]]"));
  EXPECT_FALSE(json.contains("reasons"));
  EXPECT_FALSE(telemetry_series_from_json(JsonText(json.dump()).root()).readings[0].state.throttle_reasons);
  EXPECT_EQ(json.at("power"), "instantaneous");
  first.throttle_reasons.emplace();
  EXPECT_EQ(to_json(TelemetrySeries{0.05, "", {{0.5, first}}}).at("reasons"), Json::array());
}

TEST(TelemetryJson, ASeriesComesBackWithItsReasons) {
  TelemetrySeries series{0.05, "averaged by the driver", {}};
  const std::vector<std::vector<std::string>> reasons = {{}, {"thermal"}, {"thermal"}, {"thermal", "power cap"}, {}, {}};
  for (const auto& now : reasons) {
    Reading& reading = series.readings.emplace_back(Reading{0.1 * static_cast<double>(series.readings.size()), full()});
    reading.state.throttle_reasons = now;
  }
  series.readings[2].state.power_watts.reset();
  series.cpu_seconds = 0.25;
  const Json json = to_json(series);
  EXPECT_EQ(json.at("reasons").size(), 3u) << "a row per change";
  const TelemetrySeries back = telemetry_series_from_json(JsonText(json.dump()).root());
  EXPECT_EQ(back.period_seconds, 0.05);
  EXPECT_EQ(back.power, "averaged by the driver");
  EXPECT_EQ(back.cpu_seconds, 0.25);
  ASSERT_EQ(back.readings.size(), series.readings.size());
  for (std::size_t i = 0; i < back.readings.size(); ++i) {
    EXPECT_EQ(back.readings[i].seconds, series.readings[i].seconds);
    EXPECT_EQ(back.readings[i].state, series.readings[i].state);
  }
}

TEST(TelemetryJson, ARowThatDoesNotFitTheColumnsIsRefused) {
  Telemetry state;
  state.power_watts = 100;
  Json json = to_json(TelemetrySeries{0.05, "instantaneous", {{0.5, state}}});
  json["rows"][0].push_back(1);
  EXPECT_THROW(telemetry_series_from_json(JsonText(json.dump()).root()), std::invalid_argument);
  json["rows"][0] = {0.5};
  EXPECT_THROW(telemetry_series_from_json(JsonText(json.dump()).root()), std::invalid_argument);
}

TEST(TelemetryJson, AnEmptySeriesComesBack) {
  const TelemetrySeries back = telemetry_series_from_json(JsonText(to_json(TelemetrySeries{}).dump()).root());
  EXPECT_TRUE(back.readings.empty());
  EXPECT_EQ(back.power, "");
}

TEST(TelemetryJson, CountersComeBackAndSayWhatGotWorse) {
  std::vector<CounterChange> counters = {{"ecc_corrected", 1, 2, 5}, {"nvlink_links", 0, 18, 17}, {"xid", 0, {}, 1, 79}};
  counters[2].age_seconds = 60;
  const Json json = to_json(counters);
  EXPECT_EQ(json[0].at("worse"), 3);
  EXPECT_EQ(json[1].at("worse"), 1);
  EXPECT_FALSE(json[2].contains("worse"));
  EXPECT_FALSE(json[2].contains("before"));
  const auto back = counters_from_json(JsonText(json.dump()).root());
  ASSERT_EQ(back.size(), 3u);
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].id, counters[i].id);
    EXPECT_EQ(back[i].rank, counters[i].rank);
    EXPECT_EQ(back[i].before, counters[i].before);
    EXPECT_EQ(back[i].after, counters[i].after);
    EXPECT_EQ(back[i].number, counters[i].number);
    EXPECT_EQ(back[i].age_seconds, counters[i].age_seconds);
  }
}

}  // namespace
}  // namespace roofmark
