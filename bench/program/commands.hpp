// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/program/options.hpp"

namespace roofmark {

// Each returns an exit status.
int roofmark_main(int argc, char** argv);
int run(const RunOptions& options);
int list(const RunOptions& options, bool json);
int info(const std::string& device, bool json);
/// From a folder, or one of the files in it; to `out`, or beside the journal where that is empty. Throws ReadError if a damaged
/// journal would replace the result file of a finished run, or has a record twice. Ends as the run would have, by what is in
/// the journal.
int recover(const std::string& result_or_folder, const std::string& out);
/// Prints a result, or the result.json of a folder, as its run did; kOk whatever its verdict. Throws ReadError.
int show(const std::string& result_or_folder);

struct AcceptOptions {
  std::vector<std::string> results;  ///< files, or folders that are searched for result.json
  std::string profile;
  std::optional<int> expected_gpus;
  std::optional<double> max_age_seconds;
  std::string junit, json;  ///< files to write; empty: none
};
/// Judges results by a profile. 0: accepted, 1: not accepted.
int accept(const AcceptOptions& options);
/// What is wrong with a profile, one line each. 0: nothing.
int profile_check(const std::string& profile_name);
/// What each limit comes to on a device; empty: on the kind of device that the profile names.
int profile_show(const std::string& profile_name, const std::string& device_id);

}  // namespace roofmark
