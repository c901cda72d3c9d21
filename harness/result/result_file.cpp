// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/result_file.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "harness/model/statistics.hpp"
#include "harness/result/device_json.hpp"
#include "harness/result/journal.hpp"
#include "harness/result/json_text.hpp"
#include "harness/result/record_json.hpp"
#include "harness/result/run_json.hpp"
#include "harness/result/words.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostSumBytes = 64 << 10;

/// The sum that a file beside the result states. What is none may be a secret that a link leads to: it is not told.
std::string stated_sum(const fs::path& path, std::size_t length) {
  const std::string text = read_regular_file(path, kMostSumBytes).substr(0, length);
  const bool is_sum = text.size() == length && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  return is_sum ? text : "something else";
}

constexpr std::string_view kRecords[] = {"benchmarks", "unmeasured"};
constexpr std::string_view kPlacement = "placement";

/// What was measured, without what follows from it: a later version of this program may place or phrase that differently.
Json measured_part(const Record& record) {
  Json json = to_json(record);
  json.erase(std::string(kPlacement));
  return json;
}

/// What the session saw names no case, and no record shows it.
bool is_found_again(const Json& finding) {
  const FindingType* const type = find_finding_type(finding.at("kind").get<std::string>());
  return finding.contains("case") || !type || !type->is_found_by(FoundBy::session);
}

constexpr std::string_view kNotOfTheHeader[] = {
    "complete",          "interrupted",    "ended",        "verdict",          "finished_utc", "wall_time",   "telemetry",
    "telemetry_summary", "rank_telemetry", "counters",     "benchmarks",       "unmeasured",   "comparisons", "transfers",
    "call_lines",        "ladders",        "sm_latencies", "loaded_latencies", "communication"};

bool is_of_the_header(std::string_view key) {
  return std::find(std::begin(kNotOfTheHeader), std::end(kNotOfTheHeader), key) == std::end(kNotOfTheHeader);
}

/// The run of a file, whose records are those of `entries`.
Run run_of(const JsonText::View& json, const std::vector<JsonText::View>& entries) {
  Run run;
  Json header = json.value_without(kNotOfTheHeader);
  // Which part had those that remain makes no difference to a reader.
  auto& findings = header.at("findings");
  findings.erase(std::remove_if(findings.begin(), findings.end(), is_found_again), findings.end());
  run.header = header_from_json(header);
  for (const JsonText::View& entry : entries) run.records.push_back(record_from_json(entry.at("roofmark")));
  json.at("comparisons").for_each([&](const JsonText::View& one) { run.comparisons.push_back(comparison_from_json(one)); });
  if (json.contains("finished_utc")) {
    run.footer = footer_from_json(json, false);
  } else {
    add_seen(run.seen, json);
    if (json.contains("ended")) run.in_progress = json.at("ended").value("case", std::string());
  }
  return run;
}

/// Throws where the file does not hold what its journal holds.
void hold_against_journal(const fs::path& path, const JsonText::View& json, const Run& run,
                          const std::vector<JsonText::View>& entries, const fs::path& journal) {
  const auto refuse = [&](const std::string& what) {
    throw ReadError(
        fmt::format("{} and its journal differ: {}; one was edited, or they belong to different runs", path.string(), what));
  };
  std::vector<bool> held(entries.size());
  std::string missing;
  // The file has the records in the journal's order, the ok ones first.
  const auto next = [&](bool ok) {
    std::size_t i = 0;
    while (i < entries.size() && (held[i] || (run.records[i].status == Status::ok) != ok)) ++i;
    return i;
  };
  const auto hold = [&](const JsonText::View& record) {
    for (const std::size_t i : {next(true), next(false)}) {
      if (i < entries.size() && entries[i].at("roofmark").equals(record, kPlacement)) return void(held[i] = true);
    }
    // Versions of this program may write the same differently.
    const Record read = record_from_json(record);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Record& own = run.records[i];
      if (held[i] || !same_case(own, read) || own.pass != read.pass || measured_part(own) != measured_part(read)) continue;
      return void(held[i] = true);
    }
    missing = read.name();
  };
  // Written by another version, the same may be written differently.
  const auto same = [](const JsonText::View& own, const JsonText::View& other) {
    return own.equals(other) || own.value() == other.value();
  };
  // The file has more findings: those that follow from the records.
  const auto hold_part = [&](const JsonText::View& part) {
    part.for_each([&](std::string_view key, const JsonText::View& value) {
      if (key == "ceilings" || key == "findings") return;
      if (!json.contains(key) || !same(json.at(key), value)) refuse(std::string(key));
    });
    const Json findings = json.at("findings").value();
    part.at("findings").for_each([&](const JsonText::View& view) {
      const Json finding = view.value();
      const auto is_it = [&](const Json& own) {
        return own.at("kind") == finding.at("kind") && own.at("text") == finding.at("text");
      };
      if (std::none_of(findings.begin(), findings.end(), is_it)) {
        refuse("the finding " + finding.at("kind").get<std::string>());
      }
    });
  };
  const auto hold_ceilings = [&](const Roofline& theoretical) {
    for (const Ceiling& own : run.header.theoretical.ceilings()) {
      const Ceiling* recorded = theoretical.find(own.resource);
      if (own.theoretical != (recorded ? recorded->theoretical : std::nullopt) ||
          own.datasheet != (recorded ? recorded->datasheet : std::nullopt) ||
          own.healthy_at_least != (recorded ? recorded->healthy_at_least : std::nullopt)) {
        refuse("the ceiling of " + std::string(own.resource.title));
      }
    }
  };
  bool has_header = false, has_footer = false;
  std::size_t recorded = 0;
  const auto hold_line = [&](const JsonText::View& line) {
    if (line.contains("header")) {
      const JsonText::View header = line.at("header");
      check_schema_version(header.value(), journal);
      has_header = true;
      hold_part(header);
      json.for_each([&](std::string_view key, const JsonText::View&) {
        if (is_of_the_header(key) && !header.contains(key)) refuse(std::string(key));
      });
      hold_ceilings(roofline_from_json(header.at("ceilings").value()));
    } else if (line.contains("footer")) {
      has_footer = true;
      if (run.footer) hold_part(line.at("footer"));
    } else if (line.contains("record")) {
      hold(line.at("record"));
      ++recorded;
    } else {
      return line.contains("begun") || line.contains("comparison") || line.contains("seen");
    }
    return true;
  };
  const int skipped = read_lines(journal, hold_line, JsonText::Strings::printable);
  if (!has_header) throw ReadError(journal.string() + " is not a roofmark journal: it has no header");
  if (skipped > 0) {
    throw ReadError(fmt::format("{} is damaged ({}), so {} cannot be held against it; a copy in another folder can be read",
                                journal.string(), unreadable(skipped), path.string()));
  }
  if (!run.footer && (has_footer || recorded != entries.size())) {
    throw ReadError(fmt::format("{}: the run is still going or was cut off; `roofmark recover {}` completes the file",
                                path.string(), path.parent_path().string()));
  }
  if (run.footer && !has_footer) refuse("the end of the run");
  if (recorded != entries.size()) refuse(fmt::format("{} results, {} in the journal", entries.size(), recorded));
  if (!missing.empty()) refuse(missing);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Record& record = run.records[i];
    if (record.status == Status::ok && entries[i].at("real_time").get<double>() != record.measurement->summary.median * 1e6) {
      refuse(record.name() + " (real_time)");
    }
  }
}

/// The rates of a placement are shown, and those that are judged are computed anew: an edited one must not stand beside them.
void check_rates(const Record& record, const JsonText::View& entry, const fs::path& path) {
  if (record.status != Status::ok || !entry.contains(kPlacement)) return;
  const JsonText::View json = entry.at(kPlacement);
  Placement placement;
  if (json.contains("flops_per_second")) placement.flops_per_second = json.at("flops_per_second").get<double>();
  if (json.contains("bytes_per_second")) placement.bytes_per_second = json.at("bytes_per_second").get<double>();
  if (has_rates_of(placement, record.work, record.measurement->summary.median)) return;
  throw ReadError(
      fmt::format("{} is damaged: the rates of {} are not those of its work and time", path.string(), record.name()));
}

/// What contradicts itself was edited or damaged. The rest of the statistics is taken from the samples, whatever the file
/// states: older versions computed intervals otherwise, and an edited one must not decide a judgement.
void check_measurement(Record& record, const fs::path& path) {
  if (record.status != Status::ok) return;
  const auto refuse = [&](const char* why) {
    throw ReadError(fmt::format("{} is damaged: {} {}", path.string(), record.name(), why));
  };
  const auto failed = [](const std::optional<Verification>& verification) {
    return verification && verification->status == Verification::Status::failed;
  };
  if (failed(record.verification_before) || failed(record.verification_after)) {
    refuse("is ok, but its verification has failed");
  }
  constexpr double kRounding = 1e-9;
  const auto outside = [](double median, std::optional<double> low, std::optional<double> high) {
    return low && high && (*low > median * (1 + kRounding) || *high < median * (1 - kRounding));
  };
  Summary& summary = record.measurement->summary;
  bool any = outside(summary.median, summary.interval_low, summary.interval_high);
  for (const auto& times : record.measurement->ranks) {
    any |= times && outside(times->median, times->interval_low, times->interval_high);
  }
  if (any) refuse("has a median outside of its 95 % interval");
  const std::vector<Sample>& samples = record.measurement->samples;
  if (samples.empty()) refuse("has no samples");
  const Summary own = summarize(samples);
  for (const auto& [stated, found] : {std::pair(summary.median, own.median), std::pair(summary.minimum, own.minimum),
                                      std::pair(summary.maximum, own.maximum)}) {
    if (std::abs(stated - found) > kRounding * found)
      refuse("has a median, minimum or maximum that is not that of its samples");
  }
  summary = own;
}

/// What is of a rank that the team lacks would be nobody's.
void check_ranks(const Run& run, const fs::path& path) {
  const std::vector<RankInfo>& team = run.header.ranks;
  for (std::size_t i = 0; i < team.size(); ++i) {
    if (team[i].rank == static_cast<int>(i)) continue;
    throw ReadError(fmt::format("{} is damaged: rank {} of its team is called {}", path.string(), i, team[i].rank));
  }
  for (const Record& record : run.records) {
    for (const std::size_t count : {record.rank_status.size(), record.measurement ? record.measurement->ranks.size() : 0}) {
      if (count == 0 || count == team.size()) continue;
      throw ReadError(fmt::format("{} is damaged: {} has values of {} ranks, but the team has {}", path.string(), record.name(),
                                  count, team.size()));
    }
  }
  const auto check = [&](int rank, std::string_view what) {
    if (rank >= 0 && rank < std::max(1, static_cast<int>(team.size()))) return;
    throw ReadError(fmt::format("{} is damaged: {} is of rank {}, which it lacks", path.string(), what, rank));
  };
  for (const Finding& finding : run.header.findings) {
    for (const int rank : finding.ranks) check(rank, type_of(finding.kind).id);
  }
  for (const CounterChange& change : run.footer ? run.footer->counters : run.seen.counters) check(change.rank, change.id);
}

/// What helps where a file is not whole.
std::string way_back(const fs::path& path) {
  const fs::path journal = fs::path(path).replace_extension(".jsonl");
  return fs::exists(journal)
             ? fmt::format("; `roofmark recover {}` rebuilds it from its journal", path.string())
             : fmt::format("; `roofmark recover` could rebuild it from its journal, but {} is not in the same folder",
                           journal.filename().string());
}

ResultFile read(const fs::path& path) {
  ResultFile file;
  file.path = path;
  const std::string text = read_regular_file(path, kMostResultBytes);
  file.sha256 = sha256_of(text);
  const fs::path sum = path.string() + ".sha256";
  if (fs::exists(sum)) {
    if (const std::string given = stated_sum(sum, file.sha256.size()); given != file.sha256) {
      throw ReadError(fmt::format("{} has been changed since it was written: its SHA-256 is {}, {} says {}{}", path.string(),
                                  file.sha256, sum.filename().string(), given, way_back(path)));
    }
  } else {
    file.not_held.push_back(fmt::format("no {} in the same folder", sum.filename().string()));
  }
  const JsonText parsed(text, JsonText::Strings::printable);
  const JsonText::View json = parsed.root();
  if (!json.is_object() || !json.contains("schema_version")) throw ReadError(path.string() + " is not a roofmark result");
  check_schema_version({{"schema_version", json.at("schema_version").value()}}, path);
  json.check_numbers();
  // Of the file, which its checksum covers, and never of the journal, which has none.
  std::vector<JsonText::View> entries;
  for (const std::string_view key : kRecords) {
    json.at(key).for_each([&](const JsonText::View& entry) { entries.push_back(entry); });
  }
  file.run = run_of(json, entries);
  check_ranks(file.run, path);

  fs::path journal = path;
  journal.replace_extension(".jsonl");
  if (fs::exists(journal)) {
    hold_against_journal(path, json, file.run, entries, journal);
  } else {
    file.not_held.push_back(fmt::format("no journal {} in the same folder", journal.filename().string()));
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    check_measurement(file.run.records[i], path);
    check_rates(file.run.records[i], entries[i].at("roofmark"), path);
  }
  check_each_once(file.run.records, path);
  file.conclusions = conclude(file.run);
  return file;
}

}  // namespace

void check_each_once(const std::vector<Record>& records, const fs::path& path) {
  std::set<std::pair<std::string, int>> names;
  for (const Record& record : records) {
    if (!names.emplace(record.name(), record.pass).second) {
      throw ReadError(fmt::format("{} has {} twice", path.string(), record.name()));
    }
  }
}

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

void write_run(const fs::path& folder, const Run& run, const Conclusions& conclusions) {
  Journal journal(folder / "result.jsonl");
  journal.header(run.header);
  for (const Record& record : run.records) journal.record(record);
  for (const Comparison& comparison : run.comparisons) journal.comparison(comparison);
  if (run.footer) journal.footer(*run.footer);
  if (!journal.error().empty()) throw WriteError(journal.error());
  write_with_checksum(folder / "result.json", result_text(run, conclusions));
}

ResultFile read_result(const fs::path& file_or_folder) {
  const bool is_folder = fs::is_directory(file_or_folder);
  const fs::path path = is_folder ? file_or_folder / "result.json" : file_or_folder;
  if (is_folder && !fs::exists(path)) {
    const std::string back =
        fs::exists(fs::path(path).replace_extension(".jsonl")) ? way_back(path) : results_below(file_or_folder);
    throw ReadError(fmt::format("no result {}{}", path.string(), back));
  }
  if (path.extension() == ".jsonl") {
    throw ReadError(
        fmt::format("{0} is the journal of a run; its result is {1}, which `roofmark recover {0}` rebuilds if need be",
                    path.string(), fs::path(path).replace_extension(".json").string()));
  }
  try {
    return read(path);
  } catch (const nlohmann::json::exception& error) {
    throw ReadError(fmt::format("{} is damaged: {}{}", path.string(), error.what(), way_back(path)));
  } catch (const std::invalid_argument& error) {
    throw ReadError(fmt::format("{} is damaged: {}{}", path.string(), error.what(), way_back(path)));
  }
}

}  // namespace roofmark
