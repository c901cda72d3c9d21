// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "harness/result/json_text.hpp"

namespace roofmark {

namespace {

/// Leaves in `text` what could not be written.
void write_all(int file, std::string_view& text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw WriteError(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// A new file beside `path` that can be renamed to it, and its descriptor.
std::pair<std::filesystem::path, int> create_beside(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto there = std::filesystem::symlink_status(path, ignored);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there) && !std::filesystem::is_symlink(there)) {
    throw WriteError(fmt::format("cannot replace {}: it is not a regular file", path.string()));
  }
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  // A killed process may have left one. With O_EXCL, no link is followed that was put there since.
  ::unlink(temporary.c_str());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) throw WriteError(fmt::format("cannot create {}: {}", path.string(), std::strerror(errno)));
  return {temporary, file};
}

}  // namespace

Journal::Journal(std::filesystem::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) throw WriteError(fmt::format("cannot create {}: {}", path_.string(), std::strerror(errno)));
}

Journal::~Journal() { ::close(file_); }

void Journal::append(const char* kind, const Json& value) {
  unwritten_ += Json{{kind, value}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::string_view left = unwritten_;
  error_.clear();
  try {
    write_all(file_, left, path_);
  } catch (const WriteError& error) {
    error_ = error.what();
    // Whoever waits for this process sees by the file's time that it goes on, also on a full disk.
    ::futimens(file_, nullptr);
  }
  unwritten_.erase(0, unwritten_.size() - left.size());
}

void Journal::header(const RunHeader& header) {
  append("header", to_json(header));
  if (!error_.empty()) throw WriteError(error_);
}

void check_schema_version(const Json& header, const std::filesystem::path& path) {
  const Json version = header.is_object() ? header.value("schema_version", Json()) : Json();
  if (version == kSchemaVersion) return;
  if (version == 1) {
    throw ReadError(
        path.string() +
        " was written by an older roofmark (schema 1) with other case names: measure again, or recover it with that release");
  }
  throw ReadError(
      fmt::format("{} has schema version {}, this roofmark reads version {}", path.string(), version.dump(), kSchemaVersion));
}

int read_lines(const std::filesystem::path& path, const std::function<bool(const JsonText::View&)>& use,
               JsonText::Strings strings) {
  std::ifstream file = open_regular_file(path, kMostJournalBytes);
  int skipped = 0;
  std::string line;
  while (std::getline(file, line)) {
    const bool is_cut_off = file.eof();
    bool is_read = false;
    try {
      const JsonText text(line, strings);
      is_read = true;
      if (!use(text.root())) ++skipped;
    } catch (const nlohmann::json::exception&) {
      skipped += is_read || !is_cut_off;
    } catch (const std::invalid_argument&) {
      skipped += is_read || !is_cut_off;
    }
  }
  return skipped;
}

std::string unreadable(int lines) { return fmt::format("{} line{} cannot be read", lines, lines == 1 ? "" : "s"); }

Run read_journal(const std::filesystem::path& path, int& skipped) {
  Run run;
  bool has_header = false;
  skipped = read_lines(path, [&](const JsonText::View& line) {
    if (line.contains("header")) {
      if (has_header) throw ReadError(path.string() + " holds several runs: each needs a journal of its own");
      const Json header = line.at("header").value();
      check_schema_version(header, path);
      run.header = header_from_json(header);
      has_header = true;
    } else if (line.contains("begun")) {
      run.in_progress = line.at("begun").value();
    } else if (line.contains("record")) {
      run.records.push_back(record_from_json(line.at("record")));
      run.in_progress.clear();
    } else if (line.contains("comparison")) {
      run.comparisons.push_back(comparison_from_json(line.at("comparison")));
    } else if (line.contains("seen")) {
      add_seen(run.seen, line.at("seen"));
    } else if (line.contains("footer")) {
      run.footer = footer_from_json(line.at("footer"));
      run.seen = {};
    } else {
      return false;
    }
    return true;
  });
  if (!has_header) throw ReadError(path.string() + " is not a roofmark journal: it has no header");
  return run;
}

std::filesystem::path real_path(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::weakly_canonical(path, error);
  return error ? path : found;
}

std::string results_below(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  constexpr std::size_t kNamed = 8;
  constexpr int kDepth = 2;  // of alone/cuda-0/result.jsonl; a folder of anything else may be a whole disk
  std::set<std::string> below;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry.depth() == kDepth) entry.disable_recursion_pending();
    if (entry->path().filename() == "result.jsonl") below.insert(fs::relative(entry->path().parent_path(), folder).string());
  }
  if (below.empty()) return {};
  const auto end = std::next(below.begin(), static_cast<std::ptrdiff_t>(std::min(below.size(), kNamed)));
  const std::string more = below.size() > kNamed ? fmt::format(" and {} more", below.size() - kNamed) : "";
  return fmt::format("; below it: {}{}", fmt::join(below.begin(), end, ", "), more);
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  const auto [temporary, file] = create_beside(path);
  try {
    std::string_view left = text;
    write_all(file, left, path);
    if (::fsync(file) != 0) throw WriteError(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
  } catch (const WriteError&) {
    ::close(file);
    ::unlink(temporary.c_str());
    throw;
  }
  ::close(file);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    ::unlink(temporary.c_str());
    throw WriteError(fmt::format("cannot replace {}: {}", path.string(), reason));
  }
}

void write_named_file(const std::filesystem::path& path, const std::string& text) { write_file(real_path(path), text); }

void check_writable(const std::filesystem::path& path) {
  const auto [temporary, file] = create_beside(real_path(path));
  ::close(file);
  ::unlink(temporary.c_str());
}

}  // namespace roofmark
