// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/measure/candidates.hpp"
#include "harness/measure/settings.hpp"
#include "harness/model/case.hpp"
#include "tests/harness/fake_device.hpp"

namespace roofmark {

/// Settings of a run by the clock of a fake device, which must outlive them.
inline Settings settings_for(FakeDevice& device) {
  Settings settings;
  settings.clock = [&device] { return device.now; };
  settings.sleep = [&device](double seconds) { device.now += seconds; };
  settings.effort.gap_seconds = settings.effort.rest_seconds = 0;
  return settings;
}

/// Seconds per launch of each candidate.
inline std::vector<double> time(FakeDevice& device, Team& team, const std::vector<Launch>& candidates) {
  return time_candidates(device, team, settings_for(device), candidates, {}, 1, [] {});
}

/// A case of 50 bytes per slot.
inline Case fake_case(std::function<std::unique_ptr<Prepared>(const Setup&)> prepare, std::string operation = "fake") {
  Case c;
  c.family = "test";
  c.operation = std::move(operation);
  c.slot_bytes = 50;
  c.prepare = std::move(prepare);
  return c;
}

}  // namespace roofmark
