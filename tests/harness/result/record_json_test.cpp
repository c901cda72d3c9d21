// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/record_json.hpp"

#include <gtest/gtest.h>

#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

TEST(RecordJson, DemandsAreReadAsTheyWereWritten) {
  const Phase demands = {{resource::l2, 5}, {resource::dram, 4, 3}, {resource::peer_in, 2, 0, 0.25}};
  const Json json = to_json(ok_record("transfer", "peer", {{demands}}, 1e-3));
  EXPECT_EQ(json.at("work").at("phases").dump(),
            R"([[{"resource":"l2","unit":"B","amount":5.0},{"resource":"dram","unit":"B","amount":4.0,"avoidable":3.0},)"
            R"({"resource":"peer_in","unit":"B","amount":2.0,"part":0.25}]])");
  const Phase read = record_from_json(JsonText(json.dump()).root()).work.phases.front();
  ASSERT_EQ(read.size(), demands.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].resource, demands[i].resource);
    EXPECT_EQ(read[i].amount, demands[i].amount);
    EXPECT_EQ(read[i].avoidable, demands[i].avoidable);
    EXPECT_EQ(read[i].part, demands[i].part);
  }
}

TEST(RecordJson, WorkThatARateIsComputedFromMustBeThere) {
  Record record = ok_record("sustained", "gemm", {{{{resource::bf16_tensor, 1e12}}}}, 1e-3);
  record.sustained.emplace();
  const auto read = [](const Json& json) { return record_from_json(JsonText(json.dump()).root()); };
  Json json = to_json(record);
  EXPECT_NO_THROW(read(json));
  json["work"]["phases"] = Json::array();
  EXPECT_THROW(read(json), std::invalid_argument);
  json.erase("sustained");
  EXPECT_NO_THROW(read(json)) << "single calls have no work";
  json["work"]["phases"].push_back(Json::array());
  EXPECT_THROW(read(json), std::invalid_argument);
}

TEST(RecordJson, TransportsAreReadAsTheyWereWritten) {
  Record record = ok_record("all_reduce", "", {}, 1e-3);
  EXPECT_FALSE(to_json(record).contains("transports")) << "the log does not say";
  record.transports = {{"NET/Socket (eth0)", {0, 2}}, {"P2P/CUMEM", {0, 1, 2}}};
  EXPECT_EQ(to_json(record).at("transports").dump(), R"_({"NET/Socket (eth0)":[0,2],"P2P/CUMEM":[0,1,2]})_");
  EXPECT_EQ(record_from_json(JsonText(to_json(record).dump()).root()).transports, record.transports);
}

TEST(RecordJson, SustainedRatesAreReadAsTheyWereWritten) {
  Record record = ok_record("sustained", "gemm", {{{{resource::bf16_tensor, 1e12}}}}, 1e-3);
  record.sustained = Sustained{80,   60,  12.5, 0.75, Dips{3, 14, 0.31, 121, 6.5}, 1.9e9, 1.5e9, 3.2e9,           3.1e9,
                               650,  700, 45,   71,   ClockDomain::memory,         0.95,  0.8,   123'456'789'012, 0.5,
                               0.029};
  const Json json = to_json(record);
  const std::vector<std::string> keys = {"clock",
                                         "burst_rate",
                                         "settled_rate",
                                         "settled_after_seconds",
                                         "settled_of_burst",
                                         "burst_clock_hz",
                                         "settled_clock_hz",
                                         "burst_memory_clock_hz",
                                         "settled_memory_clock_hz",
                                         "burst_power_watts",
                                         "settled_power_watts",
                                         "burst_temperature_celsius",
                                         "settled_temperature_celsius",
                                         "rate_per_clock_ratio",
                                         "explained_by_clock",
                                         "launches_checked",
                                         "share_checked",
                                         "checking_share_of_time",
                                         "dips"};
  std::vector<std::string> written;
  for (const auto& [key, value] : json.at("sustained").items()) written.push_back(key);
  EXPECT_EQ(written, keys);
  EXPECT_EQ(json.at("sustained").at("launches_checked"), 123'456'789'012);
  EXPECT_EQ(to_json(record_from_json(JsonText(json.dump()).root())), json);

  EXPECT_FALSE(json.at("measurement").contains("batches_per_sample")) << "one";
  record.measurement->batches_per_sample = 19;
  EXPECT_EQ(record_from_json(JsonText(to_json(record).dump()).root()).measurement->batches_per_sample, 19);

  record.sustained->dips.reset();
  EXPECT_FALSE(record_from_json(JsonText(to_json(record).dump()).root()).sustained->dips) << "not looked for";
  record.sustained->settled_after_seconds.reset();
  EXPECT_FALSE(to_json(record).at("sustained").contains("settled_after_seconds"));
  EXPECT_FALSE(record_from_json(JsonText(to_json(record).dump()).root()).sustained->settled_after_seconds) << "never";
  record.sustained->burst_clock_hz.reset();
  EXPECT_FALSE(to_json(record).at("sustained").contains("burst_clock_hz"));
  EXPECT_FALSE(record_from_json(JsonText(to_json(record).dump()).root()).sustained->burst_clock_hz);
}

TEST(RecordJson, AProbeSaysWhichCeilingItSetsAndHow) {
  Record record = probe_record("launch", resource::graph_launch, 1, 1e-6);
  EXPECT_EQ(to_json(record).at("sets_ceiling"), Json({{"resource", "graph_launch"}, {"by", "rate"}}));
  record.sets_ceiling->by = SetsCeiling::By::slope;
  const Json json = to_json(record);
  EXPECT_EQ(json.at("sets_ceiling").at("by"), "slope");
  const std::optional<SetsCeiling> read = record_from_json(JsonText(json.dump()).root()).sets_ceiling;
  EXPECT_EQ(read->resource, resource::graph_launch);
  EXPECT_EQ(read->by, SetsCeiling::By::slope);
  record.sets_ceiling->by = SetsCeiling::By::library;
  EXPECT_EQ(to_json(record).at("sets_ceiling").at("by"), "library");
}

TEST(RecordJson, ATransferIsReadAsItWasWritten) {
  Record record = ok_record("transfer", "any", {}, 1e-3);
  record.transfer = Transfer{64, {{gpu_endpoint(0), gpu_endpoint(1)}, {host_endpoint(1), gpu_endpoint(0)}}, {}};
  EXPECT_FALSE(to_json(record).at("transfer").contains("path"));
  record.transfer->path = PeerPath{PathKind::nvlink, 18, "no", true};
  const Json json = to_json(record);
  EXPECT_EQ(json.at("transfer"),
            Json::parse(R"({"bytes": 64, "flows": [{"from": "gpu:0", "to": "gpu:1"}, {"from": "host:1", "to": "gpu:0"}],
                            "path": {"kind": "nvlink", "nvlinks": 18, "refusal": "no", "by_design": true}})"));
  EXPECT_EQ(to_json(record_from_json(JsonText(json.dump()).root())), json);
  EXPECT_FALSE(record_from_json(JsonText(to_json(record).dump()).root()).transfer->host_node);
  record.transfer->host_node = {3, 21};
  EXPECT_EQ(record_from_json(JsonText(to_json(record).dump()).root()).transfer->host_node, (HostNode{3, 21}));
  record.transfer->one_model = false;
  EXPECT_FALSE(record_from_json(JsonText(to_json(record).dump()).root()).transfer->one_model);
  EXPECT_FALSE(record_from_json(JsonText(to_json(record).dump()).root()).transfer->staged);
  record.transfer->staged = true;
  EXPECT_TRUE(record_from_json(JsonText(to_json(record).dump()).root()).transfer->staged);
  record.transfer->refused = {{gpu_endpoint(0), gpu_endpoint(1), "no"}, {gpu_endpoint(2), gpu_endpoint(3), "never", true}};
  EXPECT_EQ(record_from_json(JsonText(to_json(record).dump()).root()).transfer->refused, record.transfer->refused);
}

TEST(RecordJson, ABackgroundIsReadAsItWasWritten) {
  Record record = ok_record("latency", "chase", {{{{resource::dram_access, 1}}}}, 1e-6);
  EXPECT_FALSE(to_json(record).at("measurement").contains("background"));
  record.measurement->background = Background{resource::dram, 2.5e12};
  const Json json = to_json(record);
  EXPECT_EQ(json.at("measurement").at("background"), Json({{"resource", "dram"}, {"per_second", 2.5e12}}));
  const Record read = record_from_json(JsonText(json.dump()).root());
  EXPECT_EQ(read.measurement->background->resource, resource::dram);
  EXPECT_EQ(to_json(read), json);
}

}  // namespace
}  // namespace roofmark
