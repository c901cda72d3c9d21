// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/finding.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/model/resource.hpp"

namespace roofmark {
namespace {

using nlohmann::json;

json schema() {
  std::ifstream file(ROOFMARK_SCHEMA);
  return json::parse(file);
}

TEST(Findings, StandInTheOrderOfTheirKinds) {
  std::size_t index = 0;
  for (const FindingType& type : kFindingTypes) {
    EXPECT_EQ(static_cast<std::size_t>(type.kind), index++) << type.id;
    EXPECT_EQ(finding_kind(type.id), type.kind);
    EXPECT_EQ(&type_of(type.kind), &type);
    EXPECT_THAT(std::string(type.advice), testing::EndsWith(".")) << type.id;
  }
  EXPECT_THROW(finding_kind("other"), std::invalid_argument);
}

TEST(Findings, TheSchemaHasTheKindsAndSeverities) {
  const json properties = schema().at("$defs").at("finding").at("properties");
  json kinds = json::array();
  for (const FindingType& type : kFindingTypes) kinds.push_back(type.id);
  EXPECT_EQ(properties.at("kind").at("enum"), kinds);
  EXPECT_EQ(properties.at("severity").at("enum"), json({name(Severity::note), name(Severity::warning), name(Severity::error)}));
}

TEST(Resources, TheSchemaHasTheirIds) {
  json ids = json::array();
  for (const Resource& resource : kResources) ids.push_back(resource.id);
  EXPECT_EQ(schema().at("$defs").at("resource").at("enum"), ids);
}

TEST(Resources, HaveTitlesOfTheirOwn) {
  std::set<std::string_view> titles;
  for (const Resource& resource : kResources) EXPECT_TRUE(titles.insert(resource.title).second) << resource.title;
}

}  // namespace
}  // namespace roofmark
