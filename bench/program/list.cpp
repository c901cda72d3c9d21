// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <sstream>

#include "bench/program/commands.hpp"
#include "harness/judge/health.hpp"
#include "harness/judge/theory.hpp"
#include "harness/machine/host.hpp"
#include "harness/model/units.hpp"
#include "harness/present/cells.hpp"
#include "harness/present/tables.hpp"
#include "harness/result/device_json.hpp"
#include "harness/result/record_json.hpp"

namespace roofmark {

namespace {

std::string amount(const Demand& demand) {
  return format_amount(demand.amount, demand.resource.unit) + " " + std::string(demand.resource.id);
}

std::string work_in_words(const Work& work) {
  std::string text;
  for (const Phase& phase : work.phases) {
    if (!text.empty()) text += ", then ";
    for (std::size_t i = 0; i < phase.size(); ++i) text += (i ? " + " : "") + amount(phase[i]);
  }
  return text;
}

// Any value on one line.
std::string plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, inner] : value.items()) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", value.is_object() ? key + " " : "", plain(inner));
  }
  return text.empty() ? "none" : text;
}

// Two left-aligned columns.
void print_pairs(const std::string& title, const std::vector<std::pair<std::string, std::string>>& pairs) {
  if (pairs.empty()) return;
  std::size_t width = 0;
  for (const auto& [key, value] : pairs) width = std::max(width, key.size());
  fmt::print("{}\n", title);
  for (const auto& [key, value] : pairs) fmt::print("  {:<{}}  {}\n", key, width, value);
  fmt::print("\n");
}

// If `note` is set, say it after all arguments have proved right.
std::unique_ptr<Device> open_selected(const std::string& value, std::string& note) {
  if (value == "all") throw UsageError("--device all is for run; list and info take one device: auto, cpu or cuda:N");
  return open_device(resolve_devices(value, note).front());
}

void say(const std::string& note) {
  if (!note.empty()) fmt::print(stderr, "roofmark: {}\n", note);
}

}  // namespace

int list(const Selection& selection, bool json) {
  std::string note;
  const auto device = open_selected(selection.device, note);
  const auto fabric = fabric_of(device->info(), selection);
  const Plan cases = plan(device->info(), selection, fabric.get());
  say(note);
  print_plan(cases, json);
  return kOk;
}

void print_plan(const Plan& cases, bool json) {
  Json all = Json::array();
  std::vector<std::vector<std::string>> rows = {{"case", "memory"}};
  std::vector<std::string> works = {"work"};
  for (const auto* groups : {&cases.ceilings, &cases.suite}) {
    for (const Group& group : *groups) {
      for (const Case& c : group.cases) {
        Json entry = {{"name", c.name()}, {"memory_bytes", c.slot_bytes + c.shared_bytes}, {"work", to_json(c.work)}};
        if (!c.unsupported.empty()) entry["unsupported"] = c.unsupported;
        all.push_back(std::move(entry));
        rows.push_back({c.name(), format_bytes(double(c.slot_bytes + c.shared_bytes))});
        works.push_back(c.unsupported.empty() ? work_in_words(c.work) : "unsupported: " + c.unsupported);
      }
    }
  }
  if (json) {
    fmt::print("{}\n", all.dump(1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  // The works are the last column, aligned to the left.
  std::istringstream lines(align(rows));
  for (const std::string& work : works) {
    std::string line;
    std::getline(lines, line);
    fmt::print("{}  {}\n", line, work);
  }
}

int info(const std::string& device, bool json) {
  std::string note;
  const auto opened = open_selected(device, note);
  say(note);
  const DeviceInfo& info = opened->info();
  std::string sku;
  const Roofline roofline = theoretical_roofline(info, &sku);
  const bool known = info.backend == Backend::cpu || !sku.empty();
  const Json host = describe_host(), environment = rate_environment();
  const std::vector<Circumstance> around = health(info, host);
  if (json) {
    Json circumstances = Json::array();
    for (const Circumstance& one : around) {
      circumstances.push_back({{"what", one.what}, {"state", one.state}});
      if (!one.advice.empty()) circumstances.back()["advice"] = one.advice;
    }
    const Json all = {{"device", to_json(info, known)}, {"ceilings", to_json(roofline)},
                      {"health", circumstances},        {"host", host},
                      {"build", describe_build()},      {"environment", environment}};
    fmt::print("{}\n", all.dump(1, ' ', false, Json::error_handler_t::replace));
    return kOk;
  }
  std::vector<std::pair<std::string, std::string>> typed, circumstances, details, variables;
  typed.emplace_back("name", fmt::format("{} ({}){}", info.name, info.id, known ? "" : ", not in the table of known GPUs"));
  typed.emplace_back(info.backend == Backend::cuda ? "SMs" : "cores", std::to_string(info.multiprocessors));
  if (info.rated_clock_hz) typed.emplace_back("rated clock", fmt::format("{:.0f} MHz", *info.rated_clock_hz / 1e6));
  if (info.highest_clock_hz) typed.emplace_back("highest clock", fmt::format("{:.0f} MHz", *info.highest_clock_hz / 1e6));
  typed.emplace_back(
      "memory", fmt::format("{}, {} free", format_bytes(double(info.memory_bytes)), format_bytes(double(info.free_bytes))));
  for (const CacheLevel& level : info.caches) {
    std::string size = format_bytes(double(level.total_bytes));
    if (level.instance_bytes != level.total_bytes) size += ", " + format_bytes(double(level.instance_bytes)) + " each";
    typed.emplace_back("L" + level.name.substr(1) + " cache", size);
  }
  for (const Circumstance& one : around) {
    circumstances.emplace_back(one.what, one.advice.empty() ? one.state : one.state + ": " + one.advice);
  }
  for (const auto& [key, value] : info.details.items()) details.emplace_back(key, plain(value));
  for (const auto& [key, value] : environment.items()) variables.emplace_back(key, plain(value));
  print_pairs("device", typed);
  print_pairs("health of the environment", circumstances);
  print_pairs("other attributes", details);
  print_pairs("environment variables that affect rates", variables);
  if (roofline.ceilings().empty()) {
    fmt::print("No theoretical ceilings are known for this device; `roofmark run` measures its ceilings.\n");
    return kOk;
  }
  fmt::print("{}\n", ceilings_table(roofline));
  std::vector<std::pair<std::string, std::string>> sources;
  for (const Ceiling& ceiling : roofline.ceilings()) {
    if (!ceiling.theoretical_source.empty()) sources.emplace_back(ceiling.resource.id, ceiling.theoretical_source);
  }
  print_pairs("sources of the theoretical ceilings", sources);
  return kOk;
}

}  // namespace roofmark
