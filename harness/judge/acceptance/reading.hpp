// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/judge/acceptance/acceptance.hpp"
#include "harness/model/expression.hpp"

namespace roofmark {

/// One value of a rule's quantity, or the reason why it is missing.
struct RuleReading {
  std::string of;                          ///< the case, ceiling or comparison; of a count, the first of what is counted
  const Record* record = nullptr;          ///< of Basis::record
  std::optional<double> value, low, high;  ///< `low` alone: the interval has no upper end
  std::string version;                     ///< of Scale::version
  std::string base;                        ///< what a share is of: "1.07 PFLOP/s (bf16 tensor)"
  Unit unit = Unit::byte;                  ///< of Scale::rate
  std::string why_not;                     ///< why there is no value
  bool lacks_interval = false;             ///< a time of its own device without a 95 % interval
  bool wrong = false;                      ///< the result is wrong: that fails any rule
  /// How the run lost sight of what the device has. A value is then what is known of it: the rest could only make it worse.
  std::string lost;
  std::string agreed;               ///< the agreed setting that explains it: "power_limit = 500 W"
  Verdict excused = Verdict::fail;  ///< the verdict that this setting excuses
};

/// Whether a regular expression is found in a name. Thousands of results have the same names: each is searched once.
class NameSearch {
 public:
  explicit NameSearch(const std::string& expression) : expression_(expression) {}
  bool operator()(const std::string& name);
  bool operator()(const CaseName& name);

 private:
  Expression expression_;
  std::string text_;  ///< in which names are built
  std::unordered_map<std::string, bool> found_;
};

/// The values of a rule's quantity in one run, of the names that its `cases` find, that a device of it gave alone (`device` is
/// its index), or that all took part in. What this kind of device cannot do counts only where it is all that matches: then it
/// is one reading without a value.
std::vector<RuleReading> readings(const Rule& rule, NameSearch& cases, const Evidence& evidence,
                                  std::optional<std::size_t> device);

/// Sets `agreed` where a reading shows nothing but a setting that the devices have as agreed throughout the run.
void note_agreement(RuleReading& reading, const Agreed& agreed, const Rule& rule, const Evidence& run, const Roofline& roofline,
                    std::optional<std::size_t> device);
/// The agreed settings that alone make the run's own verdict doubtful: "power_limit = 500 W"; empty if there is more to it.
std::string agreed_doubts(const Agreed& agreed, const Evidence& run);

/// Whether a finding of a run is about the device of this index.
bool is_about(const Finding& finding, std::size_t device);

/// "80.0 %", "92.85 %", "3.35 TB/s": not rounded
std::string format_limit(double limit, Scale scale, Unit unit);
/// With the limit's digits, or as many as tell the two apart.
std::string format_measured(double value, double limit, Scale scale, Unit unit);

}  // namespace roofmark
