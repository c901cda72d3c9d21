// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/run_json.hpp"

#include <algorithm>

#include "harness/judge/transfer_matrices.hpp"
#include "harness/result/device_json.hpp"
#include "harness/result/facts_json.hpp"
#include "harness/result/fields.hpp"
#include "harness/result/record_json.hpp"
#include "harness/result/team_json.hpp"
#include "harness/result/telemetry_json.hpp"

namespace roofmark {

namespace {

constexpr double kMicroseconds = 1e6;

Json to_json(const ComparisonResult& result) {
  Json json = roofmark::to_json(result.comparison);
  json["ratio"] = result.ratio;
  put(json, "low", result.low);
  put(json, "high", result.high);
  return json;
}

Json to_json(const Ladder& ladder) {
  Json json = {{"series", ladder.series.name()}, {"points", Json::array()}, {"levels", Json::array()}};
  for (const LadderPoint& point : ladder.points) {
    json["points"].push_back({{"case", point.case_name}, {"bytes", point.bytes}, {"seconds", point.seconds}});
    put(json["points"].back(), "cycles", point.cycles());
  }
  for (const LadderLevel& level : ladder.levels) {
    Json& made = json["levels"].emplace_back();
    made = {{"resource", level.resource},
            {"step", level.step},
            {"smallest_bytes", level.smallest_bytes},
            {"largest_bytes", level.largest_bytes}};
    if (level.beyond_bytes) made["beyond_bytes"] = *level.beyond_bytes;
    made["seconds"] = level.seconds;
    put(made, "cycles", level.cycles);
    made["points"] = level.points;
  }
  return json;
}

Json to_json(const SmLatencies& latencies) {
  Json json = {{"series", latencies.series.name()}, {"points", Json::array()}, {"levels", Json::array()}};
  for (const SmLatency& point : latencies.points) {
    json["points"].push_back({{"case", point.case_name}, {"sm", point.sm}, {"seconds", point.seconds}});
    put(json["points"].back(), "cycles", point.cycles());
  }
  for (const SmLevel& level : latencies.levels) {
    json["levels"].push_back({{"sms", level.sms}, {"seconds", level.seconds}});
    put(json["levels"].back(), "cycles", level.cycles);
  }
  return json;
}

Json to_json(const LoadedLatencies& latencies) {
  Json json = {{"series", latencies.series.name()}, {"background", latencies.background.id}, {"points", Json::array()}};
  for (const LoadedLatency& point : latencies.points) {
    json["points"].push_back(
        {{"case", point.case_name}, {"background_per_second", point.background_per_second}, {"seconds", point.seconds}});
    put(json["points"].back(), "share_of_ceiling", point.share_of_ceiling);
    put(json["points"].back(), "cycles", point.cycles());
  }
  return json;
}

std::vector<Finding> findings_from_json(const Json& json) {
  std::vector<Finding> findings;
  for (const Json& finding : json) findings.push_back(finding_from_json(finding));
  return findings;
}

Json to_json(const RunScope& scope) {
  Json json = {{"suite_cases", scope.suite_cases},
               {"cases", scope.cases},
               {"changes", scope.changes},
               {"weaker", scope.weaker},
               {"text", scope.text}};
  if (scope.by_name) json["by_name"] = true;
  return json;
}

RunScope scope_from_json(const Json& json) {
  const std::vector<std::string> changes = json.at("changes");
  // Of a file without it, all but the one that takes nothing away from the device.
  std::vector<std::string> weaker = changes;
  std::erase(weaker, "--only-device");
  return {json.at("suite_cases"),      json.at("cases"), changes, json.at("text"), json.value("weaker", weaker),
          json.value("by_name", false)};
}

Json to_json(const RunEnd& ended) {
  Json json = {{"reason", ended.reason}};
  put(json, "case", ended.case_name);
  return json;
}

Json to_json(const RunVerdict& verdict) {
  return {{"level", name(verdict.trust)}, {"headline", verdict.headline}, {"advice", verdict.advice}};
}

/// An ok record as an entry of Google Benchmark's format; its times are microseconds per launch.
Json benchmark_entry(const Record& record) {
  const Measurement& measurement = *record.measurement;
  double host_seconds = 0;
  for (const Sample& sample : measurement.samples) host_seconds += sample.host_seconds;
  Json entry;
  entry["name"] = record.name();
  entry["run_name"] = record.name();
  entry["run_type"] = "iteration";
  entry["iterations"] = measurement.samples.size() * static_cast<std::size_t>(measurement.launches_per_sample);
  entry["real_time"] = measurement.summary.median * kMicroseconds;
  entry["cpu_time"] = host_seconds / static_cast<double>(measurement.samples.size()) * kMicroseconds;
  entry["time_unit"] = "us";
  entry["roofmark"] = to_json(record);
  return entry;
}

Json to_json(const CallLine& line) {
  Json json = {{"series", line.series.name()},
               {"key", line.key},
               {"fixed_seconds", line.fixed_seconds},
               {"each_seconds", line.each_seconds},
               {"points", line.points}};
  put(json, "r2", line.r2);
  put(json, "faster_from", line.faster_from);
  if (line.than) json["than"] = line.than->name();
  return json;
}

Json to_json(const Transfers& transfers) {
  Json json = {{"series", Json::array()}, {"contention", Json::array()}};
  for (const TransferSeries& series : transfers.series) {
    Json entry = {{"series", series.name}};
    if (series.fit) entry.update(roofmark::to_json(*series.fit));
    for (const Resource& link : series.links) entry["links"].push_back(link.id);
    entry["how"] = series.how;
    entry["flows"] = series.flows;
    put(entry, "half_size_bytes", series.half_size_bytes);
    Json& largest = entry["largest"] = {{"case", series.largest},
                                        {"bytes", series.bytes},
                                        {"bytes_per_second", series.bytes_per_second},
                                        {"sum_bytes_per_second", series.sum_bytes_per_second}};
    put(largest, "of_theoretical", series.of_theoretical);
    put(largest, "of_empirical", series.of_empirical);
    json["series"].push_back(std::move(entry));
  }
  for (const LinkContention& found : transfers.contention) {
    json["contention"].push_back({{"together", found.together}, {"alone", found.alone}, {"factor", found.factor}});
  }
  for (const TransferMatrix& matrix : transfers.matrices) {
    Json entry = {{"series", matrix.name}, {"how", matrix.how}, {"bytes", matrix.bytes}, {"cells", Json::array()}};
    if (matrix.staged) entry["staged"] = true;
    for (const TransferMatrix::Cell& cell : matrix.cells) {
      entry["cells"].push_back(
          {{"from", name(cell.flow.from)}, {"to", name(cell.flow.to)}, {"bytes_per_second", cell.bytes_per_second}});
      if (!cell.path) continue;
      Json& path = entry["cells"].back()["path"] = to_json(*cell.path);
      put(path, "text", in_words(*cell.path));
    }
    json["matrices"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

Json to_json(const Finding& finding) {
  const FindingType& type = type_of(finding.kind);
  Json json = {{"kind", type.id},
               {"severity", name(type.severity)},
               {"doubt", type.doubted()},
               {"text", finding.text},
               {"advice", type.advice}};
  for (std::size_t bit = 0; bit < std::size(kFoundBy); ++bit) {
    if (type.is_found_by(FoundBy(1U << bit))) json["found_by"].push_back(kFoundBy[bit]);
  }
  put(json, "case", finding.case_name);
  put(json, "brief", finding.brief);
  if (finding.size > 0) put(json, "size", finding.size);
  if (!finding.ranks.empty()) json["ranks"] = finding.ranks;
  put(json, "times_alone", finding.times_alone);
  return json;
}

Json to_json(const std::vector<Finding>& findings) {
  Json json = Json::array();
  for (const Finding& finding : findings) json.push_back(to_json(finding));
  return json;
}

Finding finding_from_json(const Json& json) {
  return {finding_kind(json.at("kind").get<std::string>()),
          json.at("text"),
          json.value("case", ""),
          json.value("size", 0.0),
          json.value("brief", ""),
          json.value("ranks", std::vector<int>())};
}

Json to_json(const Comparison& comparison) {
  Json json = {{"name", comparison.name},
               {"key", comparison.key},
               {"numerator", comparison.numerator.name()},
               {"denominator", comparison.denominator.name()}};
  if (comparison.work_ratio != 1) json["work_ratio"] = comparison.work_ratio;
  return json;
}

Comparison comparison_from_json(const JsonText::View& json) {
  return {json.at("name").get<std::string>(), json.at("key").get<std::string>(),
          parse_case_name(json.at("numerator").get<std::string>()), parse_case_name(json.at("denominator").get<std::string>()),
          json.value("work_ratio", 1.0)};
}

Json to_json(const Circumstance& circumstance) {
  Json json = {{"what", circumstance.what}, {"state", circumstance.state}};
  put(json, "advice", circumstance.advice);
  put(json, "rank", circumstance.rank);
  return json;
}

Circumstance circumstance_from_json(const Json& json) {
  Circumstance made{json.at("what"), json.at("state"), json.value("advice", ""), {}};
  get(json, "rank", made.rank);
  return made;
}

Json to_json(const RunHeader& header) {
  Json json = {{"scope", to_json(header.scope)}};
  json.update(to_json(header.facts));
  Json& health = json["health"] = Json::array();
  for (const Circumstance& one : header.health) health.push_back(to_json(one));
  put(json, "timing_overhead_seconds", header.timing_overhead_seconds);
  json["ceilings"] = to_json(header.theoretical);
  json["findings"] = to_json(header.findings);
  if (!header.ranks.empty()) {
    Json& team = json["team"] = Json::array();
    for (const RankInfo& rank : header.ranks) team.push_back(to_json(rank));
  }
  return json;
}

RunHeader header_from_json(const Json& json) {
  RunHeader header;
  header.facts = run_facts_from_json(json);
  header.scope = scope_from_json(json.at("scope"));
  for (const Json& one : json.at("health")) header.health.push_back(circumstance_from_json(one));
  get(json, "timing_overhead_seconds", header.timing_overhead_seconds);
  header.theoretical = roofline_from_json(json.at("ceilings"));
  header.findings = findings_from_json(json.at("findings"));
  for (const Json& rank : json.value("team", Json::array())) header.ranks.push_back(rank_info_from_json(rank));
  return header;
}

Json to_json(const Seen& seen) {
  Json json = Json::object();
  if (!seen.telemetry.readings.empty() || seen.telemetry.gave_up) json["telemetry"] = to_json(seen.telemetry);
  if (!seen.counters.empty()) json["counters"] = to_json(seen.counters);
  return json;
}

void add_seen(Seen& seen, const JsonText::View& json) {
  if (json.contains("telemetry")) {
    TelemetrySeries more = telemetry_series_from_json(json.at("telemetry"));
    std::vector<Reading> readings = std::move(seen.telemetry.readings);
    std::move(more.readings.begin(), more.readings.end(), std::back_inserter(readings));
    seen.telemetry = std::move(more);
    seen.telemetry.readings = std::move(readings);
  }
  if (json.contains("counters")) seen.counters = counters_from_json(json.at("counters"));
}

Json to_json(const RunFooter& footer) {
  const WallTime& wall = footer.wall;
  const double known = wall.timing + wall.warm_up + wall.preparation + wall.verification + wall.writing;
  Json json = {{"finished_utc", footer.finished_utc},
               {"complete", footer.complete},
               {"interrupted", footer.interrupted},
               {"findings", to_json(footer.findings)},
               {"wall_time",
                {{"total_seconds", footer.total_seconds},
                 {"timing_seconds", wall.timing},
                 {"warm_up_seconds", wall.warm_up},
                 {"preparation_seconds", wall.preparation},
                 {"verification_seconds", wall.verification},
                 {"writing_seconds", wall.writing},
                 {"other_seconds", std::max(0.0, footer.total_seconds - known)}}}};
  if (!wall.families.empty()) json["wall_time"]["families"] = wall.families;
  // Those of 80 minutes at 20 per second, about 13 MB: all of a day would be a quarter of a gigabyte per device.
  constexpr std::size_t kMostReadings = 100'000;
  if (!footer.telemetry.readings.empty()) json["telemetry"] = to_json(thinned(footer.telemetry, kMostReadings));
  if (footer.telemetry_summary) json["telemetry_summary"] = to_json(*footer.telemetry_summary);
  for (const auto& rank : footer.rank_telemetry) json["rank_telemetry"].push_back(rank ? to_json(*rank) : Json());
  if (!footer.counters.empty()) json["counters"] = to_json(footer.counters);
  if (footer.ended) json["ended"] = to_json(*footer.ended);
  return json;
}

RunFooter footer_from_json(const JsonText::View& json, bool with_findings) {
  RunFooter footer;
  footer.finished_utc = json.at("finished_utc").get<std::string>();
  footer.complete = json.at("complete").get<bool>();
  footer.interrupted = json.at("interrupted").get<bool>();
  if (with_findings) footer.findings = findings_from_json(json.at("findings").value());
  const JsonText::View wall = json.at("wall_time");
  const auto seconds = [&](const char* key) { return wall.at(key).get<double>(); };
  footer.total_seconds = seconds("total_seconds");
  footer.wall = {seconds("preparation_seconds"), seconds("verification_seconds"), seconds("warm_up_seconds"),
                 seconds("timing_seconds"), seconds("writing_seconds")};
  if (wall.contains("families")) footer.wall.families = wall.at("families").value().get<std::map<std::string, double>>();
  if (json.contains("telemetry")) footer.telemetry = telemetry_series_from_json(json.at("telemetry"));
  if (json.contains("telemetry_summary")) footer.telemetry_summary = telemetry_summary_from_json(json.at("telemetry_summary"));
  if (json.contains("rank_telemetry")) {
    json.at("rank_telemetry").for_each([&](const JsonText::View& one) {
      auto& rank = footer.rank_telemetry.emplace_back();
      if (!one.is_null()) rank = rank_telemetry_from_json(one);
    });
  }
  if (json.contains("counters")) footer.counters = counters_from_json(json.at("counters"));
  if (json.contains("ended")) {
    const JsonText::View ended = json.at("ended");
    footer.ended = RunEnd{ended.at("reason").get<std::string>(), ended.value("case", std::string())};
  }
  return footer;
}

Json to_json(const Run& run, const Conclusions& conclusions) {
  Json result = to_json(run.header);
  result["complete"] = false;
  result["interrupted"] = false;
  result.update(run.footer ? to_json(*run.footer) : to_json(run.seen));
  if (const auto ended = run.ended()) result["ended"] = to_json(*ended);
  result["verdict"] = to_json(conclusions.verdict);
  result["ceilings"] = to_json(conclusions.analysis.roofline);
  result["findings"] = to_json(conclusions.all_findings());
  Json benchmarks = Json::array(), unmeasured = Json::array(), comparisons = Json::array();
  for (const Record& record : run.records) {
    if (record.status == Status::ok) {
      benchmarks.push_back(benchmark_entry(record));
    } else {
      unmeasured.push_back({{"name", record.name()}, {"roofmark", to_json(record)}});
    }
  }
  for (const ComparisonResult& comparison : conclusions.analysis.comparisons) comparisons.push_back(to_json(comparison));
  result["benchmarks"] = std::move(benchmarks);
  result["unmeasured"] = std::move(unmeasured);
  result["comparisons"] = std::move(comparisons);
  if (!conclusions.transfers.series.empty()) result["transfers"] = to_json(conclusions.transfers);
  for (const CallLine& line : conclusions.call_lines) result["call_lines"].push_back(to_json(line));
  for (const Ladder& ladder : conclusions.ladders) result["ladders"].push_back(to_json(ladder));
  for (const SmLatencies& one : conclusions.sm_latencies) result["sm_latencies"].push_back(to_json(one));
  for (const LoadedLatencies& one : conclusions.loaded_latencies) result["loaded_latencies"].push_back(to_json(one));
  if (!run.header.ranks.empty()) result["communication"] = to_json(conclusions.communication);
  return result;
}

std::string result_text(const Run& run, const Conclusions& conclusions) {
  return to_json(run, conclusions).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace roofmark
