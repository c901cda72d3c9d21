// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "harness/judge/acceptance/acceptance.hpp"
#include "tests/harness/records.hpp"

// Made-up deliveries for the tests of acceptance.
namespace roofmark {

inline constexpr double kPeak = 1e12;  // FLOP/s

inline Profile profile_of(const std::string& rules) {
  return parse_profile("title = 't'\ndevices = 'NVIDIA H200'\nexample = 'NVIDIA H200'\nsuite = 'quick'\n" + rules, "p.toml");
}
inline const std::string kProduct =
    "[rule.product]\ncases = '^gemm/'\nquantity = 'of_theoretical'\nleast = 0.8\nreason = 'what was bought'\nsource = "
    "'contract'\n";

/// A product at this share of the theoretical peak, whose interval is so wide.
inline Record product(double share, double half_width = 0.001) {
  Record record = ok_record("gemm", "", {{{{resource::bf16_tensor, kPeak}}}}, 1 / share);
  record.measurement->summary.interval_low = (1 - half_width) / share;
  record.measurement->summary.interval_high = (1 + half_width) / share;
  record.fingerprint = Fingerprint{"00ff", "key", true, {}};
  return record;
}

inline Evidence run(const std::string& uuid, std::vector<Record> records, const std::string& node = "node1") {
  Evidence evidence;
  evidence.file = uuid + ".json";
  evidence.suite = "quick";
  evidence.budget_seconds = 0.25;
  evidence.data = "normal";
  evidence.age_seconds = 3600;
  evidence.complete = true;
  evidence.devices = {{uuid, node, "cuda:0", "NVIDIA H200"}};
  evidence.versions = {{"driver", "570.86.15"}};
  Roofline theoretical;
  theoretical.at(resource::bf16_tensor).theoretical = kPeak;
  evidence.analysis = analyze(theoretical, records, {});
  evidence.records = records;
  return evidence;
}

inline const Check& check_of(const Judgement& judgement, const std::string& rule, const std::string& device = "") {
  for (const Check& check : judgement.checks) {
    if (check.rule->id == rule && check.device.find(device) != std::string::npos) return check;
  }
  throw std::runtime_error("no check of " + rule);
}

}  // namespace roofmark
