// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/model/units.hpp"
#include "harness/present/grid.hpp"

namespace roofmark {

namespace {

std::string indented(const TerminalStyle& style, std::string_view text) {
  return wrapped(fmt::format("  {}", text), static_cast<std::size_t>(style.columns), 2) + "\n";
}

}  // namespace

std::string health_text(const std::vector<Circumstance>& health, const TerminalStyle& style) {
  Grid grid{"",
            {{.heading = "health"},
             {.heading = "rank", .is_text = true},
             {.heading = "state: effect on the results", .is_text = true}}};
  std::vector<std::string> unknown, fine;
  for (const Circumstance& one : health) {
    if (one.state == "unknown" && !one.rank) unknown.push_back(one.what);
    if (one.advice.empty()) {
      if (one.state != "unknown" && !one.rank) fine.push_back(fmt::format("{}: {}", one.what, one.state));
      continue;
    }
    grid.rows.push_back({one.what, one.rank ? std::to_string(*one.rank) : "", one.state + ": " + one.advice});
  }
  std::string text = grid.rows.empty() ? "health: found nothing that limits the results\n" : to_text(grid, style);
  if (!fine.empty()) text += indented(style, fmt::format("fine: {}", fmt::join(fine, "; ")));
  if (!unknown.empty()) text += indented(style, fmt::format("unknown: {}", fmt::join(unknown, ", ")));
  return text;
}

std::string findings_text(const std::vector<Finding>& findings, const TerminalStyle& style) {
  // Errors first; kinds of one severity in the order of the table.
  std::vector<FindingType> types(std::begin(kFindingTypes), std::end(kFindingTypes));
  std::stable_sort(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.severity > b.severity; });
  constexpr std::size_t kShown = 3;
  std::string text;
  for (const FindingType& type : types) {
    std::vector<const Finding*> same;
    for (const Finding& finding : findings) {
      if (finding.kind == type.kind) same.push_back(&finding);
    }
    if (same.empty()) continue;
    std::stable_sort(same.begin(), same.end(), [](const Finding* a, const Finding* b) { return a->size > b->size; });
    const Paint paint = type.severity == Severity::error ? red : yellow;
    const std::string label = fmt::format("{}: {}", name(type.severity), type.id);
    for (std::size_t i = 0; i < std::min(same.size(), kShown); ++i) {
      text += paragraph(style, paint, label,
                        fmt::format("  {}{}{}", same[i]->case_name, same[i]->case_name.empty() ? "" : ": ", same[i]->text));
    }
    if (same.size() > kShown) {
      text += paragraph(style, paint, label, fmt::format("  and {} more like these", same.size() - kShown));
    }
    text += indented(style, type.advice);
  }
  return text;
}

std::string unmeasured_text(const std::vector<Record>& records, const TerminalStyle& style) {
  std::string text;
  for (const StatusType& type : kStatuses) {
    if (type.status == Status::ok) continue;
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
    for (const Record& record : records) {
      if (record.status != type.status) continue;
      auto reason = std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == record.reason; });
      if (reason == reasons.end()) reason = reasons.insert(reasons.end(), {record.reason, {}});
      // Both passes of a ceiling are one case, as in the verdict.
      if (std::find(reason->second.begin(), reason->second.end(), record.name()) == reason->second.end()) {
        reason->second.push_back(record.name());
      }
    }
    for (const auto& [reason, names] : reasons) {
      const std::size_t listed = type.has_own_reason ? names.size() : 1;
      for (std::size_t i = 0; i < listed; ++i) {
        const std::string others = listed < names.size() ? fmt::format(" and {} more", names.size() - listed) : "";
        text += paragraph(style, type.is_bad() ? red : bold, std::string(type.words),
                          fmt::format("  {}{}: {}", names[i], others, reason));
      }
    }
  }
  return text;
}

std::string link_text(const RunHeader& header, const Roofline& roofline, const TerminalStyle& style) {
  const DeviceInfo& device = header.facts.device;
  if (device.backend != Backend::cuda || !header.ranks.empty()) return {};
  std::vector<std::string> parts;
  const GpuFacts& gpu = device.gpu;
  // An idle link shows a lower generation than it has under load, and some virtual machines show no lanes.
  if (gpu.pcie_generation_max && gpu.pcie_width.value_or(0) > 0 && gpu.pcie_width_max.value_or(0) > 0) {
    parts.push_back(
        fmt::format("up to PCIe {}, {} lanes of {}", *gpu.pcie_generation_max, *gpu.pcie_width, *gpu.pcie_width_max));
  }
  if (device.near_node && device.host_nodes.size() > 1) {
    parts.push_back(fmt::format("on NUMA node {} of {}", *device.near_node, device.host_nodes.size()));
  }
  for (const Resource& way : {resource::host_to_device, resource::device_to_host}) {
    const Ceiling* const ceiling = roofline.find(way);
    const auto rate = ceiling ? ceiling->empirical() : std::nullopt;
    if (!rate) continue;
    const std::string share = ceiling->theoretical ? fmt::format(" ({})", format_share(*rate / *ceiling->theoretical)) : "";
    parts.push_back(fmt::format("{} {}{}", way.title, format_rate(*rate, Unit::byte), share));
  }
  if (parts.empty()) return {};
  return wrapped(fmt::format("link to the host: {}", fmt::join(parts, ", ")), static_cast<std::size_t>(style.columns), 2) +
         "\n";
}

std::string verdict_text(const RunVerdict& verdict, const TerminalStyle& style) {
  const Paint paint = verdict.trust == Trust::good ? green : verdict.trust == Trust::doubtful ? yellow : red;
  const std::string text = paragraph(style, paint, fmt::format("{}:", name(verdict.trust)), " " + verdict.headline);
  return verdict.advice.empty() ? text : text + indented(style, verdict.advice);
}

std::string wall_time_text(const WallTime& wall, double total, const TerminalStyle& style) {
  const double other = total - wall.timing - wall.warm_up - wall.preparation - wall.verification - wall.writing;
  const auto share = [&](double seconds) { return format_share(seconds / total); };
  const std::string text =
      fmt::format("{} in all: timing {}, warm-up {}, preparation {}, verification {}, writing {}, other {}",
                  format_duration(total), share(wall.timing), share(wall.warm_up), share(wall.preparation),
                  share(wall.verification), share(wall.writing), share(other));
  std::vector<std::pair<double, std::string>> families;
  for (const auto& [family, seconds] : wall.families) families.emplace_back(seconds, family);
  std::sort(families.rbegin(), families.rend());
  std::string by_family;
  for (const auto& [seconds, family] : families) {
    by_family += fmt::format("{}{} {}", by_family.empty() ? "; by family: " : ", ", family, format_duration(seconds));
  }
  return wrapped(text + by_family, static_cast<std::size_t>(style.columns), 2) + "\n";
}

}  // namespace roofmark
