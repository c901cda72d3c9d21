// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace gpu_model {

/// The settings of the model in the environment of the tests, out of it for as long as this lives.
class WithoutSettings {
 public:
  WithoutSettings() {
    for (char** variable = environ; *variable; ++variable) {
      const std::string text = *variable;
      if (text.starts_with("GPUMODEL_")) kept_.emplace_back(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
    }
    for (const auto& [name, value] : kept_) unsetenv(name.c_str());
  }
  ~WithoutSettings() {
    for (const auto& [name, value] : kept_) setenv(name.c_str(), value.c_str(), 1);
  }
  WithoutSettings(const WithoutSettings&) = delete;
  WithoutSettings& operator=(const WithoutSettings&) = delete;

 private:
  std::vector<std::pair<std::string, std::string>> kept_;
};

/// Runs `body` in a new process of this program, whose runtime starts with these variables alone. Expects its expectations to
/// hold, and its stderr to contain a match of the (POSIX extended) pattern.
template <class Body>
void in_new_process(const std::vector<std::pair<const char*, const char*>>& variables, const Body& body,
                    const char* pattern = "") {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const WithoutSettings without;
  for (const auto& [name, value] : variables) setenv(name, value, 1);
  const auto run = [&] {
    body();
    // Googletest keeps quiet in such a process.
    const testing::TestResult& result = *testing::UnitTest::GetInstance()->current_test_info()->result();
    for (int i = 0; i < result.total_part_count(); ++i) {
      const testing::TestPartResult& part = result.GetTestPartResult(i);
      std::fprintf(stderr, "%s:%d: %s\n", part.file_name(), part.line_number(), part.message());
    }
    // Without destructors: threads of the model may hang.
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), pattern);
  for (const auto& [name, value] : variables) unsetenv(name);
}

}  // namespace gpu_model
