// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "harness/judge/ranks/communication.hpp"
#include "harness/result/team_json.hpp"

namespace roofmark {

namespace {

void write_all(int file, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw WriteError(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// An ok record as an entry of Google Benchmark's format; times are microseconds a launch there.
Json benchmark_entry(const Record& record) {
  const Measurement& measurement = *record.measurement;
  double host = 0;
  for (const Sample& sample : measurement.samples) host += sample.host_seconds;
  Json entry;
  entry["name"] = record.name;
  entry["run_name"] = record.name;
  entry["run_type"] = "iteration";
  entry["iterations"] = measurement.samples.size() * static_cast<std::size_t>(measurement.launches_per_sample);
  entry["real_time"] = measurement.summary.median * 1e6;
  entry["cpu_time"] = host / static_cast<double>(measurement.samples.size()) * 1e6;
  entry["time_unit"] = "us";
  entry["roofmark"] = to_json(record);
  return entry;
}

/// A new file beside `path` that can be renamed to it, and its descriptor.
std::pair<std::filesystem::path, int> create_beside(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto there = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    throw WriteError(fmt::format("cannot replace {}: it is no file", path.string()));
  }
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw WriteError(fmt::format("cannot create {}: {}", temporary.string(), std::strerror(errno)));
  return {temporary, file};
}

}  // namespace

Json assemble(RunLog& log, Analysis* analysis, Communication* communication) {
  Analysis made = analyze(roofline_from_json(log.header.at("ceilings")), log.records, log.comparisons);
  Json result = log.header;
  if (log.footer) {
    for (const Json& finding : log.footer->value("findings", Json::array())) result["findings"].push_back(finding);
    for (const auto& [key, value] : log.footer->items()) {
      if (key != "findings") result[key] = value;
    }
  } else {
    result["complete"] = false;
    result["interrupted"] = false;
  }
  result["ceilings"] = to_json(made.roofline);
  Json benchmarks = Json::array(), unmeasured = Json::array(), comparisons = Json::array();
  for (const Record& record : log.records) {
    if (record.status == Status::ok) {
      benchmarks.push_back(benchmark_entry(record));
    } else {
      unmeasured.push_back({{"name", record.name}, {"roofmark", to_json(record)}});
    }
  }
  for (const ComparisonResult& comparison : made.comparisons) comparisons.push_back(to_json(comparison));
  for (const Finding& finding : made.findings) result["findings"].push_back(to_json(finding));
  result["benchmarks"] = std::move(benchmarks);
  result["unmeasured"] = std::move(unmeasured);
  result["comparisons"] = std::move(comparisons);
  if (log.header.contains("team")) {
    std::vector<RankInfo> members;
    for (const Json& member : log.header.at("team")) members.push_back(rank_info_from_json(member));
    Communication found = analyze_communication(log.records, members);
    result["communication"] = to_json(found);
    for (const Finding& finding : found.findings) result["findings"].push_back(to_json(finding));
    if (communication) *communication = std::move(found);
  }
  if (analysis) *analysis = std::move(made);
  return result;
}

Journal::Journal(std::filesystem::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) throw WriteError(fmt::format("cannot create {}: {}", path_.string(), std::strerror(errno)));
}

Journal::~Journal() { ::close(file_); }

void Journal::append(const char* kind, const Json& value) {
  write_all(file_, Json{{kind, value}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n", path_);
}

RunLog read_journal(const std::filesystem::path& path, int& skipped) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ReadError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  RunLog log;
  skipped = 0;
  std::string line;
  while (std::getline(file, line)) {
    try {
      const Json json = Json::parse(line);
      if (json.contains("header") && log.header.is_null()) {
        log.header = json.at("header");
      } else if (json.contains("record")) {
        log.records.push_back(record_from_json(json.at("record")));
      } else if (json.contains("comparison")) {
        log.comparisons.push_back(comparison_from_json(json.at("comparison")));
      } else if (json.contains("footer")) {
        log.footer = json.at("footer");
      } else {
        ++skipped;
      }
    } catch (const nlohmann::json::exception&) {
      ++skipped;
    } catch (const std::invalid_argument&) {
      ++skipped;
    }
  }
  if (!log.header.is_object()) throw ReadError(path.string() + " is not a roofmark journal: it has no header");
  const Json version = log.header.value("schema_version", Json());
  if (version == 1) {
    throw ReadError(path.string() +
                    " was written by an older roofmark (schema 1), whose cases have other names: "
                    "measure again, or recover it with that release");
  }
  if (version != kSchemaVersion) {
    throw ReadError(
        fmt::format("{} has schema version {}, this roofmark reads version {}", path.string(), version.dump(), kSchemaVersion));
  }
  return log;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  const auto [temporary, file] = create_beside(path);
  try {
    write_all(file, text, path);
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

void check_writable(const std::filesystem::path& path) {
  const auto [temporary, file] = create_beside(path);
  ::close(file);
  ::unlink(temporary.c_str());
}

}  // namespace roofmark
