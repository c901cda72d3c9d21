// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "bench/program/usage_error.hpp"
#include "harness/machine/host.hpp"
#include "harness/result/journal.hpp"

namespace roofmark {

namespace fs = std::filesystem;

void check_unused(const fs::path& folder) {
  for (const char* file : {"result.json", "result.jsonl"}) {
    if (fs::exists(folder / file))
      throw UsageError(fmt::format("{} already has a {}: choose another --out", folder.string(), file));
  }
}

fs::path make_folder(const std::string& wanted) {
  // Says whether the folder is new.
  const auto create = [](const fs::path& folder) {
    std::error_code error;
    const bool created = fs::create_directories(folder, error);
    if (error) throw WriteError(fmt::format("cannot create {}: {}", folder.string(), error.message()));
    return created;
  };
  if (wanted.empty()) {
    const fs::path parent = "roofmark-results";
    std::string time = utc_now();
    std::replace(time.begin(), time.end(), ':', '-');
    // Runs that start within the same second, on nodes that share the folder, get a folder each.
    fs::path folder = parent / time;
    for (int i = 2; !create(folder); ++i) folder = parent / fmt::format("{}-{}", time, i);
    return folder;
  }
  check_unused(wanted);
  create(wanted);
  return wanted;
}

}  // namespace roofmark
