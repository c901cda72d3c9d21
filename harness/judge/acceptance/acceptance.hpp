// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/acceptance/profile.hpp"
#include "harness/judge/analysis.hpp"
#include "harness/judge/verdict.hpp"
#include "harness/model/counter.hpp"

namespace roofmark {

/// One device of a delivery.
struct DeliveredDevice {
  std::string uuid;                                  ///< of a GPU; empty on a CPU
  std::string node;                                  ///< the host that reported it
  std::string id;                                    ///< "cuda:0"
  std::string name;                                  ///< as its driver reports it
  std::map<std::string, std::string> versions = {};  ///< its own, beside those of the run
  std::set<FindingKind> unseen = {};                 ///< kinds of findings that could not be checked on it
  std::string slot = {};                             ///< PCI address; empty for a MIG instance, which shares it
  SettingValues settings = {};
  bool lowers_memory_clock = false;  ///< by application clocks

  /// "GPU-4f6c... (cuda:0 of node7)"; "cpu of node7"
  std::string label() const;
  /// Equal for one device in all runs, whatever CUDA_VISIBLE_DEVICES makes of its number.
  std::pair<std::string, std::string> key() const { return {uuid.empty() ? id : uuid, node}; }
};

/// The evidence from one run.
struct Evidence {
  std::string file;
  std::string suite, data;
  std::optional<double> budget_seconds = {};  ///< RunFacts::budget_seconds
  std::vector<std::string> weaker;            ///< RunScope::weaker
  bool together = false;                      ///< measured at the same time as the node's other GPUs
  std::set<FindingKind> unseen;               ///< kinds of findings that the run could not check
  std::optional<double> age_seconds;          ///< since it finished; absent if it did not finish
  bool complete = false;
  std::size_t without_record = 0;        ///< cases of an incomplete run
  std::vector<DeliveredDevice> devices;  ///< by rank, where several measured together
  std::map<std::string, std::string> versions;
  std::vector<Record> records;  ///< their samples and blocks are not needed
  std::string samples_hash;     ///< of all samples, with their times; empty: there are none
  Analysis analysis;
  std::vector<Finding> findings;        ///< all of the run
  std::vector<CounterChange> counters;  ///< of every rank's device
  RunVerdict verdict = {};              ///< the run's own
  std::set<FindingKind> doubts = {};    ///< that make it doubtful
};

/// Beside the profile.
struct AcceptanceTerms {
  std::optional<int> expected_gpus;
  std::optional<double> max_age_seconds;
};

/// From good to bad. Only `pass` accepts.
enum class Verdict { pass, inside_interval, not_measured, fail };

constexpr std::string_view name(Verdict verdict) {
  constexpr std::string_view names[] = {"PASS", "INSIDE THE INTERVAL", "NOT MEASURED", "FAIL"};
  return names[static_cast<int>(verdict)];
}

/// What all checks of a rule have in common.
struct JudgedRule {
  std::string id;
  std::string quantity;  ///< with its argument; empty of a built-in rule
  Subject per = Subject::gpu;
  Mandatory mandatory = Mandatory::yes;
  std::string reason, source, origin;
};

/// One rule applied to one subject and, where it judges cases, to one of them.
struct Check {
  std::shared_ptr<const JudgedRule> rule;  ///< never null in a Judgement; a delivery has a million checks
  bool mandatory = true;                   ///< whether this check decides
  std::string node;                        ///< empty: the whole delivery
  std::string device;                      ///< label of the device; empty: the whole node or delivery
  std::string device_id;                   ///< "cuda:0", or the UUID where another device of the node has that id too
  std::string of;                          ///< the case, ceiling or comparison; of a count, the first of what is counted
  std::string file;                        ///< the evidence
  Verdict verdict = Verdict::not_measured;
  std::optional<double> limit, measured, low,
      high;                      ///< in the quantity's unit; low and high: the 95 % interval; low alone: no upper end
  std::optional<double> margin;  ///< (measured - limit) / limit, positive on the good side
  std::string expected;          ///< for display: ">= 0.80 of 1.07 PFLOP/s"
  std::string found;             ///< for display
  std::string explanation;       ///< the reason, if the numbers do not show it

  /// The judged subject, for display: the device's label, "node node7", or "delivery".
  std::string subject() const;
};

/// The verdict on one subject: that of its worst mandatory check.
struct SubjectVerdict {
  Subject subject = Subject::gpu;
  std::string name;
  Verdict verdict = Verdict::not_measured;
  int checks = 0, bad = 0;  ///< bad: mandatory checks that do not pass
};

struct Judgement {
  std::vector<Check> checks;  ///< by rule in the profile's order, then by subject
  std::vector<SubjectVerdict> devices, nodes;
  SubjectVerdict delivery;
  /// Devices that are not in the table of known GPUs: their ceilings come only from their attributes.
  std::set<std::string> unknown_devices;
  /// The verdicts of runs that are not good by their own, with their files, unless only agreed settings make them doubtful.
  /// They decide by a rule on `runs` alone.
  std::vector<std::string> doubts;

  bool accepted() const { return delivery.verdict == Verdict::pass; }
};

/// Each text once; of many the first eight, and how many more there are.
std::string some_of(const std::vector<std::string>& texts, std::string_view separator = ", ");

/// Applies every rule to every subject. Built-in rules also check that each run is complete (`complete`) and ran the profile's
/// suite or a larger one, with no weaker setting
/// (`conditions`), that every device is the profile's (`device`), that no GPU is counted twice
/// (`unique_gpus`), that no host name stands for two machines (`unique_nodes`) and what the terms ask for (`expected_gpus`,
/// `age`). A setting that the profile agrees on is a rule too (`agreed.power_limit`), and what shows nothing but a setting that
/// is as agreed does not fail.
Judgement judge(const Profile& profile, const std::vector<Evidence>& evidence, const AcceptanceTerms& terms);

}  // namespace roofmark
