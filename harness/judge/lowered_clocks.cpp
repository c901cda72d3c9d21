// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/lowered_clocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/model/units.hpp"

namespace roofmark {
namespace {

/// The share of the default clock that is missing; 0 if nothing is, or it is not known.
double lost(const std::optional<double>& hz, const std::optional<double>& usual) {
  return hz && usual && *usual > 0 ? std::max(0.0, 1 - *hz / *usual) : 0.0;
}

}  // namespace

std::string lowered_application_clocks(const GpuFacts& gpu) {
  std::string text;
  const auto say = [&text](const char* domain, const std::optional<double>& hz, const std::optional<double>& usual) {
    if (!(lost(hz, usual) > 0)) return;
    text += fmt::format("{}{} {}, default {}", text.empty() ? "" : "; ", domain, format_clock(*hz), format_clock(*usual));
  };
  say("SM", gpu.application_clock_hz, gpu.application_clock_default_hz);
  say("memory", gpu.application_memory_clock_hz, gpu.application_memory_clock_default_hz);
  return text;
}

std::vector<Finding> find_lowered_clocks(const GpuFacts& gpu) {
  const std::string clocks = lowered_application_clocks(gpu);
  if (clocks.empty()) return {};
  const double size = std::max(lost(gpu.application_clock_hz, gpu.application_clock_default_hz),
                               lost(gpu.application_memory_clock_hz, gpu.application_memory_clock_default_hz));
  return {{FindingKind::clock,
           fmt::format("the application clocks are below their default: {}; nvidia-smi -rac as root resets them", clocks),
           {},
           size,
           "the application clocks are lowered"}};
}

}  // namespace roofmark
