// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/finding.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "harness/model/resource.hpp"

namespace roofmark {
namespace {

using nlohmann::json;

json schema() {
  std::ifstream file(ROOFMARK_SCHEMA);
  return json::parse(file);
}

/// The words `like this` of docs/method.md, whose lines are joined, from one phrase to the end of another.
std::vector<std::string> words_until(const std::string& from, const std::string& to) {
  std::ifstream file(std::filesystem::path(ROOFMARK_SCHEMA).parent_path().parent_path() / "docs" / "method.md");
  std::string text, line;
  while (std::getline(file, line)) text += line.substr(std::min(line.find_first_not_of(' '), line.size())) + " ";
  const std::size_t first = text.find(from), last = text.find(to, first);
  if (first == std::string::npos || last == std::string::npos) return {"no '" + from + "' before '" + to + "'"};
  text = text.substr(first + from.size(), last - first - from.size() + to.size());
  const std::regex quoted("`(\\w+)`");
  std::vector<std::string> words;
  for (std::sregex_iterator word(text.begin(), text.end(), quoted), end; word != end; ++word) words.push_back((*word)[1]);
  return words;
}

std::vector<std::string> ids(const std::function<bool(const FindingType&)>& which) {
  std::vector<std::string> found;
  for (const FindingType& type : kFindingTypes) {
    if (which(type)) found.emplace_back(type.id);
  }
  return found;
}

TEST(Findings, HaveAnIdAnAdviceAndAWayToBeFound) {
  std::set<std::string_view> known;
  for (const FindingType& type : kFindingTypes) {
    EXPECT_TRUE(known.insert(type.id).second) << type.id;
    EXPECT_EQ(finding_kind(type.id), type.kind);
    EXPECT_EQ(&type_of(type.kind), &type);
    EXPECT_THAT(std::string(type.advice), testing::EndsWith(".")) << type.id;
    EXPECT_NE(type.found_by, FoundBy{}) << type.id;
  }
  EXPECT_THROW(finding_kind("other"), std::invalid_argument);
}

TEST(Findings, TheSchemaHasTheWordsOfTheTable) {
  const json properties = schema().at("$defs").at("finding").at("properties");
  json kinds = json::array();
  for (const FindingType& type : kFindingTypes) kinds.push_back(type.id);
  EXPECT_EQ(properties.at("kind").at("enum"), kinds);
  EXPECT_EQ(properties.at("severity").at("enum"), json({name(Severity::note), name(Severity::warning), name(Severity::error)}));
  EXPECT_EQ(properties.at("found_by").at("items").at("enum"), json(kFoundBy));
  for (const FindingType& type : kFindingTypes)
    EXPECT_THAT(properties.at("doubt").at("enum"), testing::Contains(type.doubted()));
}

TEST(Findings, TheDocumentListsTheKindsOfEachSeverityDoubtAndReading) {
  using testing::UnorderedElementsAreArray;
  for (const Severity severity : {Severity::error, Severity::warning, Severity::note}) {
    const std::string row = "| " + std::string(name(severity)) + " | ";
    EXPECT_THAT(words_until(row, "` |"),
                UnorderedElementsAreArray(ids([&](const FindingType& type) { return type.severity == severity; })))
        << row;
  }
  EXPECT_THAT(words_until("the device reports faults (", ")"),
              UnorderedElementsAreArray(ids([](const FindingType& type) { return type.doubt == Doubt::device; })));
  EXPECT_THAT(words_until("a rank, host or link is slow. ", " and all notes leave it good"),
              UnorderedElementsAreArray(ids(
                  [](const FindingType& type) { return type.doubt == Doubt::nothing && type.severity != Severity::note; })));
  EXPECT_THAT(words_until("was reset during the run; ", " are not measured"),
              UnorderedElementsAreArray(ids([](const FindingType& type) { return type.is_found_by(kReadings); })));
  EXPECT_THAT(words_until("`telemetry_lost`, which also takes ", ", and `"),
              UnorderedElementsAreArray(ids([](const FindingType& type) { return type.is_found_by(kByTelemetry); })));
}

TEST(Resources, TheSchemaHasTheirIds) {
  json known = json::array();
  for (const Resource& resource : kResources) known.push_back(resource.id);
  EXPECT_EQ(schema().at("$defs").at("resource").at("enum"), known);
}

TEST(Resources, HaveTitlesOfTheirOwn) {
  std::set<std::string_view> titles;
  for (const Resource& resource : kResources) EXPECT_TRUE(titles.insert(resource.title).second) << resource.title;
}

}  // namespace
}  // namespace roofmark
