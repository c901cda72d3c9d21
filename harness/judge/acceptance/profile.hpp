// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/acceptance/agreed.hpp"
#include "harness/judge/acceptance/quantity.hpp"
#include "harness/model/expression.hpp"

namespace roofmark {

/// A profile that cannot be read; the message names the file, the line and the key.
class ProfileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whom a rule judges, from the smallest to the largest.
enum class Subject { gpu, node, delivery };

constexpr std::string_view name(Subject subject) {
  constexpr std::string_view names[] = {"gpu", "node", "delivery"};
  return names[static_cast<int>(subject)];
}

/// Whether a rule decides; `where_measured`: only where it has a value, as of a counter that some devices lack, or where the
/// run lost sight of what the device has.
enum class Mandatory { yes, no, where_measured };

/// One limit, applied as written: no tolerance is added.
struct Rule {
  std::string id;
  std::string cases;  ///< regular expression for case names, as in --filter; empty if the basis is the run
  std::string suite;  ///< that alone measures it, beside the profile's; empty: the profile's
  Quantity quantity = Quantity::of_empirical;
  std::string argument;               ///< of the quantity: KIND in finding.KIND
  std::optional<double> least, most;  ///< in the quantity's unit: a share of 1, units per second, seconds, a count
  std::string least_version;          ///< of a version: dotted numbers
  Subject per = Subject::gpu;
  Mandatory mandatory = Mandatory::yes;
  bool alone = false;               ///< judges only what the device measured while the node's other GPUs did not
  bool known = false;               ///< judges only devices of the table of known GPUs, whose ceilings are their own
  std::string reason;               ///< why the limit exists, for the person who has to act on it
  std::string source;               ///< of the figure
  std::optional<double> published;  ///< the slowest published figure, in the quantity's unit
  bool measured = false;            ///< this project has measured the figure on this hardware
  std::string origin;               ///< the profile and line that it was last changed in

  std::string quantity_id() const;
};

/// The rules that every delivery is held to, whatever its profile says. Their names are theirs alone.
enum class OwnRule { device, complete, conditions, age, unique_gpus, unique_nodes, expected_gpus };

inline constexpr OwnRule kOwnRules[] = {OwnRule::device,      OwnRule::complete,     OwnRule::conditions,   OwnRule::age,
                                        OwnRule::unique_gpus, OwnRule::unique_nodes, OwnRule::expected_gpus};

constexpr std::string_view name(OwnRule rule) {
  constexpr std::string_view names[] = {"device",      "complete",     "conditions",   "age",
                                        "unique_gpus", "unique_nodes", "expected_gpus"};
  return names[static_cast<int>(rule)];
}

/// What was agreed for one kind of device.
struct Profile {
  std::string name;  ///< as it was asked for
  std::string title;
  std::string devices;                 ///< regular expression of the whole device name that the driver reports
  std::string except_devices;          ///< the same of devices that it is not for; empty: none
  std::string example;                 ///< the name of such a device, for `profile check`
  std::string suite;                   ///< what measures its rules
  std::optional<int> node_gpus;        ///< GPUs of a node of the example, for `profile check`: names of collectives have it
  std::vector<std::string> inherited;  ///< the profiles below it, nearest first
  std::vector<Rule> rules;
  Agreed agreed;  ///< settings that differ on purpose

  /// "'NVIDIA H200'", "'.*' except 'NVIDIA.*'"
  std::string devices_in_words() const;
};

/// Whether a profile is for a device of a name.
class DeviceSearch {
 public:
  explicit DeviceSearch(const Profile& profile);
  bool operator()(const std::string& name) const;

 private:
  Expression devices_;
  std::optional<Expression> except_;
};

/// The names of the profiles in the program that deliveries can be judged by; others are there to be inherited.
std::vector<std::string> shipped_profiles();

/// A profile of the program by its name, or a TOML file by its path; with what it inherits. Throws ProfileError.
Profile read_profile(const std::string& name_or_path);
/// From TOML text; `name` stands in messages.
Profile parse_profile(const std::string& text, const std::string& name);

}  // namespace roofmark
