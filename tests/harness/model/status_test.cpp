// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/status.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/judge/acceptance/quantity.hpp"

namespace roofmark {
namespace {

using nlohmann::json;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Statuses, AreKnownByTheirIds) {
  for (const StatusType& type : kStatuses) {
    EXPECT_EQ(find_status(type.id), &type);
    EXPECT_EQ(&type_of(type.status), &type);
    EXPECT_FALSE(type.words.empty()) << type.id;
  }
  EXPECT_EQ(find_status("not run"), nullptr);
}

TEST(Statuses, AreOkAndThenTheWorstFirst) {
  const std::vector<Status> worst_first = {Status::wrong, Status::failed, Status::not_run, Status::unsupported, Status::ok};
  for (std::size_t i = 0; i < worst_first.size(); ++i) {
    for (std::size_t j = 0; j < worst_first.size(); ++j) EXPECT_EQ(is_worse(worst_first[i], worst_first[j]), i < j) << i << j;
  }
}

/// The exit status of a run is that of its worst record.
TEST(Statuses, AWorseOneCallsForNoBetterExitStatus) {
  for (const StatusType& one : kStatuses) {
    for (const StatusType& other : kStatuses) {
      if (!is_worse(one.status, other.status)) continue;
      EXPECT_EQ(worse_exit(one.exit_status, other.exit_status), one.exit_status) << one.id << " and " << other.id;
    }
  }
}

TEST(Statuses, TheSchemaTheDocumentAndTheProfilesHaveThem) {
  const std::filesystem::path schema = ROOFMARK_SCHEMA;
  json known = json::array();
  const std::string document = text_of(schema.parent_path().parent_path() / "docs" / "method.md");
  for (const StatusType& type : kStatuses) {
    known.push_back(type.id);
    const std::size_t row = document.find("\n| " + std::string(type.id) + " | ");
    ASSERT_NE(row, std::string::npos) << type.id;
    EXPECT_THAT(document.substr(row + 1, document.find('\n', row + 1) - row - 1),
                testing::EndsWith("| " + std::to_string(type.exit_status) + " |"));
    EXPECT_EQ(type_of(Quantity::results).meaning.find(type.id) != std::string_view::npos, type.is_bad()) << type.id;
  }
  EXPECT_EQ(json::parse(text_of(schema)).at("$defs").at("record").at("properties").at("status").at("enum"), known);
}

TEST(ExitStatuses, TheWorseIsTheInterruptionThenTheUsageThenTheWrongResult) {
  const std::vector<int> worst_first = {kInterrupted, kUsage, kWrong, kNotMeasured, kOk};
  for (std::size_t i = 0; i < worst_first.size(); ++i) {
    for (std::size_t j = i; j < worst_first.size(); ++j) {
      EXPECT_EQ(worse_exit(worst_first[i], worst_first[j]), worst_first[i]);
      EXPECT_EQ(worse_exit(worst_first[j], worst_first[i]), worst_first[i]);
    }
  }
  EXPECT_EQ(worse_exit(kOk, 134), 134) << "a process that aborted";
  EXPECT_EQ(worse_exit(134, kWrong), kWrong);
}

}  // namespace
}  // namespace roofmark
