// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bench/commands.hpp"
#include "harness/host.hpp"
#include "harness/terminal.hpp"
#include "harness/theory.hpp"
#include "harness/units.hpp"

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

std::unique_ptr<Device> open_selected(const std::string& value) {
  std::string note;
  const auto ids = resolve_devices(value, note);
  if (!note.empty()) fmt::print(stderr, "roofmark: {}\n", note);
  return open_device(ids.front());
}

}  // namespace

int list(const Selection& selection, bool json) {
  const auto device = open_selected(selection.device);
  const Plan cases = plan(device->info(), selection);
  Json all = Json::array();
  std::vector<std::vector<std::string>> rows = {{"case", "memory", "work"}};
  for (const auto* groups : {&cases.ceilings, &cases.suite}) {
    for (const Group& group : *groups) {
      for (const Case& c : group.cases) {
        Json entry = {{"name", c.name()}, {"memory_bytes", c.slot_bytes + c.shared_bytes}, {"work", to_json(c.work)}};
        if (!c.unsupported.empty()) entry["unsupported"] = c.unsupported;
        all.push_back(std::move(entry));
        rows.push_back({c.name(), format_bytes(double(c.slot_bytes + c.shared_bytes)),
                        c.unsupported.empty() ? work_in_words(c.work) : "unsupported: " + c.unsupported});
      }
    }
  }
  fmt::print("{}", json ? all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n" : align(rows));
  return kOk;
}

int info(const std::string& device, bool json) {
  const auto opened = open_selected(device);
  const DeviceInfo& info = opened->info();
  std::string sku;
  const Roofline roofline = theoretical_roofline(info, &sku);
  const bool known = info.backend == Backend::cpu || !sku.empty();
  if (json) {
    const Json all = {{"device", to_json(info, known)},
                      {"ceilings", to_json(roofline)},
                      {"host", describe_host()},
                      {"build", describe_build()},
                      {"environment", rate_environment()}};
    fmt::print("{}\n", all.dump(1, ' ', false, Json::error_handler_t::replace));
    return kOk;
  }
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& key, const std::string& value) { rows.push_back({key, value}); };
  add("device", fmt::format("{} ({}){}", info.name, info.id, known ? "" : ", not in the table of known GPUs"));
  add(info.backend == Backend::cuda ? "SMs" : "cores", std::to_string(info.multiprocessors));
  if (info.clock_hz) add("highest clock", fmt::format("{:.0f} MHz", *info.clock_hz / 1e6));
  add("memory", fmt::format("{}, {} free", format_bytes(double(info.memory_bytes)), format_bytes(double(info.free_bytes))));
  for (const CacheLevel& level : info.caches) {
    add(level.name,
        fmt::format("{} in all, {} each", format_bytes(double(level.total_bytes)), format_bytes(double(level.instance_bytes))));
  }
  for (const auto& [key, value] : info.details.items()) add(key, value.is_string() ? value.get<std::string>() : value.dump());
  const Json environment = rate_environment();
  for (const auto& [key, value] : environment.items()) add("$" + key, value.get<std::string>());
  // The left column is wide and the right is prose: two left-aligned columns.
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.front().size());
  for (const auto& row : rows) fmt::print("{:<{}}  {}\n", row.front(), width, row.back());
  if (roofline.ceilings().empty()) {
    fmt::print("\nNo theoretical ceilings are known for this device; `roofmark run` measures the empirical ones.\n");
    return kOk;
  }
  fmt::print("\n{}\n", ceilings_table(roofline));
  for (const Ceiling& ceiling : roofline.ceilings()) {
    if (!ceiling.theoretical_source.empty()) fmt::print("{}: {}\n", ceiling.resource.title, ceiling.theoretical_source);
  }
  return kOk;
}

}  // namespace roofmark
