// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/case_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "bench/program/usage_error.hpp"
#include "harness/model/case_pattern.hpp"

namespace roofmark {

namespace {

constexpr std::string_view kSpace = " \t\r";

std::vector<std::string> names_in(const std::string& path) {
  const auto fail = [&](std::string_view why) { throw UsageError(fmt::format("--case @{}: {}", path, why)); };
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) fail("it is a folder");
  std::ifstream file(path);
  if (!file) fail(fmt::format("it cannot be read: {}", std::strerror(errno)));
  std::vector<std::string> names;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find('\0') != std::string::npos) fail("it is not a text file");
    line.resize(std::min(line.size(), line.find('#')));
    const std::size_t first = line.find_first_not_of(kSpace);
    if (first == std::string::npos) continue;
    names.push_back(line.substr(first, line.find_last_not_of(kSpace) + 1 - first));
    try {
      names_of_pattern(names.back());
    } catch (const std::invalid_argument& error) {
      fail(fmt::format("line {}: {}", number, error.what()));
    }
  }
  if (file.bad()) fail("it cannot be read to its end");
  if (names.empty()) fail("it names no case");
  return names;
}

}  // namespace

std::vector<std::string> with_cases_of_files(const std::vector<std::string>& words) {
  constexpr std::string_view kFlag = "--case", kWithFile = "--case=@";
  std::vector<std::string> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string path;
    if (words[i].starts_with(kWithFile)) {
      path = words[i].substr(kWithFile.size());
    } else if (words[i] == kFlag && i + 1 < words.size() && words[i + 1].starts_with('@')) {
      path = words[++i].substr(1);
    } else {
      all.push_back(words[i]);
      continue;
    }
    for (std::string& name : names_in(path)) {
      all.emplace_back(kFlag);
      all.push_back(std::move(name));
    }
  }
  return all;
}

}  // namespace roofmark
