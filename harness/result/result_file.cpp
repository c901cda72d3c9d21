// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/result_file.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>

#include "harness/result/journal.hpp"
#include "harness/result/json_text.hpp"
#include "harness/result/record_json.hpp"
#include "harness/result/run_json.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  if (fs::is_directory(path)) throw ReadError(path.string() + " is a folder, not a file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (fs::is_regular_file(path)) text.reserve(fs::file_size(path));
  std::array<char, 1 << 16> part;
  while (file.read(part.data(), part.size()), file.gcount() > 0)
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad()) throw ReadError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  return text;
}

/// What was measured, without what follows from it: a later version of this program may place or phrase that differently.
Json measured_part(const Record& record) {
  Json json = to_json(record);
  json.erase("placement");
  return json;
}

bool follows_from_records(const Json& finding) {
  const std::string kind = finding.at("kind");
  return kind != type_of(FindingKind::foreign_process).id && kind != type_of(FindingKind::unknown_device).id;
}

constexpr std::string_view kRecords[] = {"benchmarks", "unmeasured"};

/// The run of a file. `json` is its value without the elements of kRecords; `real_times` gets the time of each record that
/// readers of Google Benchmark's format see, in microseconds.
Run run_of(const Json& json, const JsonText& text, std::vector<Json>& real_times) {
  Run run;
  Json header = json, footer = json;
  for (const char* key : {"complete", "interrupted", "finished_utc", "wall_time", "telemetry", "counters", "benchmarks",
                          "unmeasured", "comparisons", "communication"}) {
    header.erase(key);
  }
  // Those that follow from the records are found again. Which part had the others makes no difference to a reader.
  auto& findings = header.at("findings");
  findings.erase(
      std::remove_if(findings.begin(), findings.end(), [](const Json& finding) { return follows_from_records(finding); }),
      findings.end());
  footer["findings"] = Json::array();
  run.header = header_from_json(header);
  for (const std::string_view key : kRecords) {
    text.for_each(key, [&](const Json& entry) {
      run.records.push_back(record_from_json(entry.at("roofmark")));
      real_times.push_back(entry.value("real_time", Json()));
    });
  }
  for (const Json& comparison : json.at("comparisons")) run.comparisons.push_back(comparison_from_json(comparison));
  if (footer.contains("finished_utc")) run.footer = footer_from_json(footer);
  return run;
}

/// Throws where the file does not hold what its journal holds.
void hold_against_journal(const fs::path& path, const Json& json, const Run& run, const std::vector<Json>& real_times,
                          const Run& journal) {
  const auto refuse = [&](const std::string& what) {
    throw ReadError(
        fmt::format("{} and its journal differ: {}; one of them was edited, or they are not of one run", path.string(), what));
  };
  for (const char* key : {"started_utc", "suite", "seed", "device", "host", "build", "arguments"}) {
    if (json.at(key) != journal.header.facts.value(key, Json())) refuse(key);
  }
  std::multimap<std::pair<std::string, int>, const Record*> recorded;
  for (const Record& record : journal.records) recorded.emplace(std::pair(record.name, record.pass), &record);
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    const Record& record = run.records[i];
    const Json measured = measured_part(record);
    const auto [first, last] = recorded.equal_range({record.name, record.pass});
    if (std::none_of(first, last, [&](const auto& one) { return measured_part(*one.second) == measured; })) refuse(record.name);
    if (record.status == Status::ok && real_times[i].get<double>() != record.measurement->summary.median * 1e6) {
      refuse(record.name + " (real_time)");
    }
  }
  if (run.records.size() != journal.records.size()) {
    refuse(fmt::format("{} results, {} in the journal", run.records.size(), journal.records.size()));
  }
}

std::optional<double> seconds_since_1970(const std::string& utc) {
  std::tm time{};
  std::istringstream text(utc);
  text >> std::get_time(&time, "%Y-%m-%dT%H:%M:%SZ");
  if (text.fail()) return std::nullopt;
  return static_cast<double>(::timegm(&time));
}

ResultFile read(const fs::path& path) {
  ResultFile file;
  file.path = path;
  const std::string text = read_text(path);
  file.sha256 = sha256_of(text);
  const fs::path sum = path.string() + ".sha256";
  if (fs::exists(sum)) {
    if (const std::string given = read_text(sum).substr(0, file.sha256.size()); given != file.sha256) {
      throw ReadError(fmt::format("{} has been changed since it was written: its SHA-256 is {}, {} says {}", path.string(),
                                  file.sha256, sum.filename().string(), given));
    }
  } else {
    file.not_held.push_back(fmt::format("no {} beside it", sum.filename().string()));
  }
  const JsonText parsed(text);
  const Json json = parsed.value(kRecords);
  if (!json.is_object() || !json.contains("schema_version")) throw ReadError(path.string() + " is no result of roofmark");
  check_schema_version(json, path);
  // Of the file, which its checksum covers, and never of the journal, which has none.
  std::vector<Json> real_times;
  file.run = run_of(json, parsed, real_times);

  fs::path journal = path;
  journal.replace_extension(".jsonl");
  if (fs::exists(journal)) {
    int skipped = 0;
    const Run recorded = read_journal(journal, skipped);
    if (skipped > 0) throw ReadError(fmt::format("{}: {} lines cannot be read", journal.string(), skipped));
    hold_against_journal(path, json, file.run, real_times, recorded);
  } else {
    file.not_held.push_back(fmt::format("no journal {} beside it", journal.filename().string()));
  }
  constexpr std::size_t kLongest = 1000;  // a regular expression over a longer name could exhaust the stack
  std::set<std::pair<std::string, int>> names;
  for (const Record& record : file.run.records) {
    if (record.name.size() > kLongest) throw ReadError(path.string() + " is damaged: it has a case with an endless name");
    if (!names.emplace(record.name, record.pass).second) {
      throw ReadError(fmt::format("{} has {} twice", path.string(), record.name));
    }
  }
  file.conclusions = conclude(file.run);
  return file;
}

}  // namespace

std::string sha256_of(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("the cryptographic library has no SHA-256");
  }
  std::string hexadecimal;
  for (unsigned i = 0; i < size; ++i) hexadecimal += fmt::format("{:02x}", digest.at(i));
  return hexadecimal;
}

void write_with_checksum(const fs::path& path, const std::string& text) {
  write_file(path, text);
  write_file(path.string() + ".sha256", fmt::format("{}  {}\n", sha256_of(text), path.filename().string()));
}

ResultFile read_result(const fs::path& file_or_folder) {
  const fs::path path = fs::is_directory(file_or_folder) ? file_or_folder / "result.json" : file_or_folder;
  try {
    return read(path);
  } catch (const nlohmann::json::exception& error) {
    throw ReadError(fmt::format("{} is damaged: {}", path.string(), error.what()));
  } catch (const std::invalid_argument& error) {
    throw ReadError(fmt::format("{} is damaged: {}", path.string(), error.what()));
  }
}

Evidence take_evidence(ResultFile& file, double now) {
  const Json& facts = file.run.header.facts;
  const Json& device = facts.at("device");
  Evidence evidence;
  evidence.file = file.path.string();
  evidence.suite = facts.at("suite");
  evidence.data = facts.at("data");
  for (const Json& word : facts.at("arguments")) {
    const std::string text = word;
    if (text.rfind("--filter", 0) == 0 || text.rfind("--benchmark_filter", 0) == 0) evidence.filtered = true;
  }
  // `run --device all` measures each GPU twice: alone, and together with the others.
  evidence.together =
      !file.run.header.ranks.empty() || fs::canonical(file.path).parent_path().parent_path().filename() == kTogether;
  if (file.run.footer) {
    if (const auto finished = seconds_since_1970(file.run.footer->finished_utc)) evidence.age_seconds = now - *finished;
    evidence.complete = file.run.footer->complete && !file.run.footer->interrupted;
    evidence.counters = std::move(file.run.footer->counters);
  }
  for (const RankInfo& rank : file.run.header.ranks) {
    const std::string id = rank.uuid.empty() ? fmt::format("{}, rank {}", rank.device_id, rank.rank) : rank.device_id;
    evidence.devices.push_back({rank.uuid, rank.host, id, rank.device_name, {rank.versions.begin(), rank.versions.end()}});
  }
  const Json details = device.value("details", Json::object());
  if (evidence.devices.empty()) {
    evidence.devices.push_back({details.value("uuid", ""), facts.at("host").at("name"), device.at("id"), device.at("name")});
  }
  for (const DeliveredDevice& delivered : evidence.devices) {
    if (delivered.name.size() > 1000) throw ReadError(file.path.string() + " is damaged: it has a device with an endless name");
  }
  if (device.value("kind", "") == "cuda" && !details.contains("foreign_processes")) evidence.unseen.insert("foreign_process");
  const auto has_clock = [](const Record& record) { return record.measurement && record.measurement->clock_hz; };
  if (std::none_of(file.run.records.begin(), file.run.records.end(), has_clock)) evidence.unseen.insert("clock");
  evidence.versions["roofmark"] = facts.at("build").at("version");
  for (const auto& [name, version] : facts.at("libraries").items()) evidence.versions[name] = version;
  for (const auto& [name, key] : {std::pair("driver", "driver_version"), std::pair("vbios", "vbios")}) {
    // In a file of several ranks they are those of rank 0 alone.
    if (details.contains(key) && evidence.devices.size() == 1) evidence.versions[name] = details.at(key);
  }
  for (Record& record : file.run.records) {
    evidence.timed_seconds.push_back(timed_seconds(record));
    if (record.measurement) record.measurement->samples = {};
  }
  evidence.records = std::move(file.run.records);
  evidence.analysis = std::move(file.conclusions.analysis);
  evidence.findings = std::move(file.conclusions.findings);
  for (Finding& finding : file.conclusions.communication.findings) evidence.findings.push_back(std::move(finding));
  file.run = {};
  file.conclusions = {};
  return evidence;
}

}  // namespace roofmark
