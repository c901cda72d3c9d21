// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/judge/acceptance/acceptance.hpp"
#include "harness/result/run.hpp"

namespace roofmark {

/// `run --device all` keeps the results that it merges in this folder, beside the merged one.
inline constexpr const char* kTogether = "together";

/// A result file, checked against the files in its folder.
struct ResultFile {
  std::filesystem::path path;
  std::string sha256;  ///< of the file, in hexadecimal
  Run run;
  Conclusions conclusions;
  std::vector<std::string> not_held;  ///< what it could not be checked against, with the reason
};

/// The SHA-256 of a text, in hexadecimal.
std::string sha256_of(const std::string& text);

/// Writes the journal and the result file of a run to this folder. Throws WriteError.
void write_run(const std::filesystem::path& folder, const Run& run, const Conclusions& conclusions);

/// Writes `path` and `path`.sha256, in the format that sha256sum --check reads. Throws WriteError.
void write_with_checksum(const std::filesystem::path& path, const std::string& text);

/// Throws ReadError, which names `path`, if a case has two records of one pass.
void check_each_once(const std::vector<Record>& records, const std::filesystem::path& path);

/// Reads a result file, or the result.json of a folder. Throws ReadError (one line) if the file cannot be read, has another
/// schema version, differs from its checksum or its journal, or has a case twice.
ResultFile read_result(const std::filesystem::path& file_or_folder);

/// The evidence for a judgement at time `now` (seconds since 1970): the run without samples and blocks, so thousands fit in
/// memory. Moves the run out of `file`.
Evidence take_evidence(ResultFile& file, double now);

}  // namespace roofmark
