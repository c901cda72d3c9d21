// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/machine/regular_file.hpp"
#include "harness/result/json_text.hpp"
#include "harness/result/record_json.hpp"
#include "harness/result/run_json.hpp"

namespace roofmark {

/// A file could not be written; the message names it and the system's reason.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr int kSchemaVersion = 2;
/// The largest result file and journal that are read. A journal, which has all readings of telemetry (230 MB per GPU and day),
/// is read line by line. simdjson reads less than 4 GiB.
inline constexpr std::uintmax_t kMostResultBytes = std::uintmax_t{4095} << 20, kMostJournalBytes = std::uintmax_t{1} << 36;

/// Throws ReadError for the header, or the whole, of a file of another schema version.
void check_schema_version(const Json& header, const std::filesystem::path& path);

/// Appends to a journal, one JSON object a line, each handed to the system before the call returns. A disk that fills up does
/// not end a run: what could not be written is kept, and written before the next line.
class Journal {
 public:
  /// Creates the file; one that is there already is an error.
  explicit Journal(std::filesystem::path path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Throws WriteError where it cannot be written.
  void header(const RunHeader& header);
  /// Names the case in which a process that is killed ended.
  void begun(const std::string& case_name) { append("begun", case_name); }
  void record(const Record& record) { append("record", to_json(record)); }
  void comparison(const Comparison& comparison) { append("comparison", to_json(comparison)); }
  /// Readings that no earlier line has; the counters with the first ones.
  void seen(const Seen& seen) { append("seen", to_json(seen)); }
  void footer(const RunFooter& footer) { append("footer", to_json(footer)); }

  /// Why not all lines are in the file; empty: they are.
  const std::string& error() const { return error_; }

 private:
  void append(const char* kind, const Json& value);

  std::filesystem::path path_;
  int file_;
  std::string unwritten_, error_;
};

/// Hands over each line that is JSON. Gives the number of those that are not, or for which `use` gives false or throws what
/// readers of Json throw; a last line that was cut off, as a run that is going on or was killed leaves it, is not among them.
/// Throws ReadError as open_regular_file does.
int read_lines(const std::filesystem::path& path, const std::function<bool(const JsonText::View&)>& use,
               JsonText::Strings strings = JsonText::Strings::as_written);

/// "1 line cannot be read", "3 lines cannot be read".
std::string unreadable(int lines);

/// Every line that was finished, even when the last was cut off; `skipped` counts lines that could not be read. Throws
/// ReadError when there is no file, no header, or another schema version.
Run read_journal(const std::filesystem::path& path, int& skipped);

/// Where to look for results instead of in this folder, to end a message: "; below it: alone/cuda-0, alone/cuda-1", the folders
/// with a journal. Empty: nowhere.
std::string results_below(const std::filesystem::path& folder);

/// Where the links in a path lead; the path itself where that cannot be found out.
std::filesystem::path real_path(const std::filesystem::path& path);

/// Writes by a temporary file beside it and rename, so that a file that stood before is whole or replaced, never torn. A link
/// is replaced, never followed: the folder may be somebody else's.
void write_file(const std::filesystem::path& path, const std::string& text);

/// The same for a file that the user named. A link stays one, even /dev/stdout: what it leads to is replaced.
void write_named_file(const std::filesystem::path& path, const std::string& text);

/// Throws WriteError where write_named_file could not even begin: no folder, no permission, or something there that is no file.
void check_writable(const std::filesystem::path& path);

}  // namespace roofmark
