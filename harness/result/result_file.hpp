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

/// A result file as it was found, held against the files beside it.
struct ResultFile {
  std::filesystem::path path;
  std::string sha256;  ///< of its bytes, in hexadecimal
  Run run;
  Conclusions conclusions;
  std::vector<std::string> not_held;  ///< what it could not be held against, and why
};

/// The SHA-256 of a text, in hexadecimal.
std::string sha256_of(const std::string& text);

/// Writes `path` and beside it `path`.sha256, in the format of sha256sum, which is then also what checks it.
/// The journal and the result file of a run in this folder. Throws WriteError.
void write_run(const std::filesystem::path& folder, const Run& run, const Conclusions& conclusions);

void write_with_checksum(const std::filesystem::path& path, const std::string& text);

/// Reads a result file, or the result.json of a folder. Throws ReadError, with one line for people, where it cannot be read,
/// has another schema version, differs from its checksum or from its journal, or has a case twice.
ResultFile read_result(const std::filesystem::path& file_or_folder);

/// A run as it is judged at `now`, in seconds since 1970: without its samples and blocks, so that thousands fit the memory.
/// Leaves the file without its run.
Evidence take_evidence(ResultFile& file, double now);

}  // namespace roofmark
