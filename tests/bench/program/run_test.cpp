// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "bench/program/commands.hpp"
#include "bench/program/usage_error.hpp"
#include "bench/support/listing.hpp"
#include "harness/device/device.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// A small case of a family that `run` takes through its whole way, and that a model of a GPU can be waited for.
struct FamilyAndCase {
  const char* family;
  const char* filter;

  friend std::ostream& operator<<(std::ostream& out, const FamilyAndCase& c) { return out << c.family; }
};

class RunOnAGpu : public ::testing::TestWithParam<FamilyAndCase> {
 protected:
  void SetUp() override {
    std::string note;
    try {
      resolve_devices("cuda:0", note);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_P(RunOnAGpu, MeasuresACaseFromListingToResultFile) {
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("roofmark_run_" + std::string(GetParam().family) + std::to_string(getpid()));
  RunOptions options;
  options.selection.device = "cuda:0";
  options.selection.suite = SuiteName::contract;
  options.selection.filter = GetParam().filter;
  options.out = folder.string();
  options.max_seconds = 0.001;
  options.quiet = true;
  EXPECT_EQ(run(options), kOk);

  const Json result = Json::parse(std::ifstream(folder / "result.json"));
  EXPECT_TRUE(result.contains("finished_utc"));
  int measured = 0;
  for (const Json& entry : result.at("benchmarks")) {
    const Json& record = entry.at("roofmark");
    if (record.at("family") != GetParam().family) continue;
    ++measured;
    EXPECT_EQ(record.at("verification").at("after").at("status"), "passed") << entry.at("name");
    EXPECT_GT(entry.at("real_time"), 0) << entry.at("name");
    EXPECT_TRUE(record.contains("placement")) << entry.at("name");
  }
  EXPECT_GT(measured, 0);
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Gpu, RunOnAGpu,
                         ::testing::Values(FamilyAndCase{"attention",
                                                         "^attention/bf16/batch:1/heads:2/kv_heads:1/queries:129/.*/d:64/"},
                                           FamilyAndCase{"reductions", "^reductions/.*/bf16/rows:67/columns:129/"}),
                         [](const auto& test) { return std::string(test.param.family); });

}  // namespace
}  // namespace roofmark
