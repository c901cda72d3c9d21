// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: what a profile may say, and every way in which it is refused.
#include "harness/judge/acceptance/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "harness/device/telemetry.hpp"
#include "harness/judge/acceptance/shipped_profile.hpp"
#include "harness/judge/verdict.hpp"
#include "harness/machine/regular_file.hpp"
#include "harness/model/counter.hpp"
#include "harness/model/expression.hpp"
#include "harness/model/finding.hpp"
#include "harness/model/printable.hpp"
#include "harness/model/status.hpp"

namespace roofmark {

extern const ShippedProfile kShippedProfiles[];
extern const std::size_t kShippedProfileCount;

namespace {

std::string place(const std::string& name, const toml::node& node) {
  return fmt::format("{}:{}", name, node.source().begin.line);
}

[[noreturn]] void refuse(const std::string& name, const toml::node& node, const std::string& what) {
  throw ProfileError(fmt::format("{}: {}", place(name, node), printable(what)));
}

using Setter = std::function<void(const toml::node&)>;

/// Hands each entry of a table to its key's setter; an unknown key is an error that lists the known ones.
void read_keys(const std::string& name, const toml::table& table, const std::map<std::string, Setter>& setters) {
  for (const auto& [key, value] : table) {
    const auto found = setters.find(std::string(key.str()));
    if (found == setters.end()) {
      std::vector<std::string> known;
      for (const auto& [id, setter] : setters) known.push_back(id);
      refuse(name, value, fmt::format("unknown key '{}'; known are {}", key.str(), fmt::join(known, ", ")));
    }
    found->second(value);
  }
}

template <class T>
Setter into(const std::string& name, T& target, const char* what) {
  return [&name, &target, what](const toml::node& node) {
    const auto value = node.value<T>();
    if (!value) refuse(name, node, fmt::format("expects {}", what));
    target = *value;
  };
}
/// On one line, however many it has in the file.
Setter text_into(const std::string& name, std::string& target) {
  return [&name, &target](const toml::node& node) {
    into(name, target, "a quoted string")(node);
    std::replace_if(
        target.begin(), target.end(), [](unsigned char c) { return std::isspace(c) != 0; }, ' ');
    target = printable(target);
  };
}

Setter number_into(const std::string& name, std::optional<double>& target) {
  return [&name, &target](const toml::node& node) {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value)) refuse(name, node, "expects a finite number, without quotes");
    target = *value;
  };
}

void check_expression(const std::string& name, const toml::node& node, const std::string& expression) {
  try {
    const Expression compiled(expression);
  } catch (const std::invalid_argument& error) {
    refuse(name, node, error.what());
  }
}

void set_quantity(const std::string& name, const toml::node& node, Rule& rule) {
  const auto text = node.value<std::string>();
  if (!text) refuse(name, node, "expects a quoted string");
  const std::string id = text->substr(0, text->find('.'));
  const QuantityType* type = find_quantity(id);
  if (!type) {
    std::vector<std::string_view> known;
    for (const QuantityType& quantity : kQuantities) known.push_back(quantity.id);
    refuse(name, node, fmt::format("unknown quantity '{}'; known are {}", *text, fmt::join(known, ", ")));
  }
  rule.quantity = type->quantity;
  rule.argument = id.size() < text->size() ? text->substr(id.size() + 1) : "";
  if (rule.argument.empty() != type->argument.empty()) {
    refuse(name, node,
           type->argument.empty() ? fmt::format("'{}' takes no argument", id) : fmt::format("write {}.{}", id, type->argument));
  }
  if (type->quantity == Quantity::finding && !find_finding_type(rule.argument)) {
    std::vector<std::string_view> known;
    for (const FindingType& finding : kFindingTypes) known.push_back(finding.id);
    refuse(name, node, fmt::format("unknown kind of finding '{}'; known are {}", rule.argument, fmt::join(known, ", ")));
  }
  const bool counted = type->quantity == Quantity::counter || type->quantity == Quantity::state;
  if (counted && !find_counter(rule.argument)) {
    std::vector<std::string_view> known;
    for (const CounterType& counter : kCounters) known.push_back(counter.id);
    refuse(name, node, fmt::format("unknown counter '{}'; known are {}", rule.argument, fmt::join(known, ", ")));
  }
  if (type->quantity == Quantity::share_of_time) {
    std::vector<std::string> known;
    for (const ThrottleReason& reason : kThrottleReasons) known.emplace_back(reason.name);
    for (std::string& reason : known) std::replace(reason.begin(), reason.end(), ' ', '_');
    if (std::find(known.begin(), known.end(), rule.argument) == known.end()) {
      refuse(name, node, fmt::format("unknown throttle reason '{}'; known are {}", rule.argument, fmt::join(known, ", ")));
    }
  }
  if (type->quantity == Quantity::runs && !find_trust(rule.argument)) {
    refuse(name, node, fmt::format("expects a verdict: {}", fmt::join(kTrusts, ", ")));
  }
  if (type->quantity == Quantity::results) {
    const StatusType* const status = find_status(rule.argument);
    std::vector<std::string_view> known;
    for (const StatusType& each : kStatuses) {
      if (each.is_bad()) known.push_back(each.id);
    }
    if (!status || !status->is_bad()) refuse(name, node, fmt::format("expects a status: {}", fmt::join(known, ", ")));
  }
}

void set_subject(const std::string& name, const toml::node& node, Subject& subject) {
  for (const Subject known : {Subject::gpu, Subject::node, Subject::delivery}) {
    if (node.value<std::string>() == roofmark::name(known)) {
      subject = known;
      return;
    }
  }
  refuse(name, node, "expects \"gpu\", \"node\" or \"delivery\"");
}

void set_mandatory(const std::string& name, const toml::node& node, Mandatory& mandatory) {
  constexpr std::string_view kWhereMeasured = "where measured";
  if (const auto always = node.value<bool>(); node.is_boolean()) {
    mandatory = *always ? Mandatory::yes : Mandatory::no;
  } else if (node.value<std::string>() == kWhereMeasured) {
    mandatory = Mandatory::where_measured;
  } else {
    refuse(name, node, fmt::format("expects true, false or \"{}\"", kWhereMeasured));
  }
}

void set_node_gpus(const std::string& name, const toml::node& node, std::optional<int>& gpus) {
  constexpr int kMost = 128;
  const auto value = node.is_integer() ? node.value<int>() : std::nullopt;
  if (!value || *value < 1 || *value > kMost) refuse(name, node, fmt::format("expects a number of GPUs from 1 to {}", kMost));
  gpus = value;
}

void read_agreed(const std::string& name, const toml::node& node, Agreed& agreed) {
  if (!node.is_table()) refuse(name, node, "expects a table [agreed]");
  std::map<std::string, Setter> setters;
  for (const SettingType& type : kSettings) {
    setters[std::string(type.id)] = [&](const toml::node& value) {
      const double number = type.is_switch() ? (value.value_or(false) ? 1.0 : 0.0) : value.value_or(0.0);
      const bool fits =
          type.is_switch() ? value.is_boolean() : value.is_number() && number >= type.lowest && number <= type.highest;
      if (!fits) {
        refuse(name, value,
               type.is_switch()
                   ? "expects true or false"
                   : fmt::format("expects a number of {} from {:g} to {:g}", type.unit, type.lowest, type.highest));
      }
      agreed[type.setting] = {number, place(name, value)};
    };
  }
  read_keys(name, *node.as_table(), setters);
}

/// The keys of a rule that the table names; the others stay as they are, so that an inherited rule is changed key by key.
void read_rule(const std::string& name, const toml::table& table, Rule& rule) {
  rule.origin = place(name, table);
  read_keys(name, table,
            {{"cases",
              [&](const toml::node& node) {
                text_into(name, rule.cases)(node);
                check_expression(name, node, rule.cases);
              }},
             {"suite", text_into(name, rule.suite)},
             {"quantity", [&](const toml::node& node) { set_quantity(name, node, rule); }},
             {"least",
              [&](const toml::node& node) {
                if (node.is_string()) {
                  text_into(name, rule.least_version)(node);
                } else {
                  number_into(name, rule.least)(node);
                }
              }},
             {"most", number_into(name, rule.most)},
             {"per", [&](const toml::node& node) { set_subject(name, node, rule.per); }},
             {"mandatory", [&](const toml::node& node) { set_mandatory(name, node, rule.mandatory); }},
             {"alone", into(name, rule.alone, "true or false")},
             {"known", into(name, rule.known, "true or false")},
             {"reason", text_into(name, rule.reason)},
             {"source", text_into(name, rule.source)},
             {"published", number_into(name, rule.published)},
             {"measured", into(name, rule.measured, "true or false")}});
}

/// What a rule lacks or has too much of once everything inherited is known.
void check_rule(const std::string& name, const toml::node& node, const Rule& rule) {
  const QuantityType& type = type_of(rule.quantity);
  const bool version = type.scale == Scale::version;
  const auto need = [&](bool ok, const std::string& what) {
    if (!ok) refuse(name, node, fmt::format("rule '{}' {}", rule.id, what));
  };
  need(version || rule.least_version.empty(), "compares numbers: write its limit without quotes and unit, 0.9 for 90 %");
  need(version ? !rule.least_version.empty() : rule.least || rule.most,
       version ? "compares versions: write least = \"570.86\" in quotes" : "has no limit: give `least` or `most`");
  need(rule.least_version.empty() || rule.least_version.find_first_of("0123456789") != std::string::npos,
       "compares versions, and its limit has no digit");
  need(!(rule.least && rule.most), "has two limits: write two rules");
  need(!version || (!rule.least && !rule.most), "compares versions: write its limit in quotes");
  need(type.limit != Limit::least || !rule.most, fmt::format("has a `most`, and {} takes `least`", type.id));
  need(type.limit != Limit::most || !rule.least, fmt::format("has a `least`, and {} takes `most`", type.id));
  need(type.basis == Basis::run ? rule.cases.empty() : !rule.cases.empty(),
       type.basis == Basis::run ? fmt::format("has `cases`, but {} applies to the whole run", type.id)
                                : "has no `cases`: a regular expression for their names, as in --filter");
  need(rule.quantity != Quantity::gpus || rule.per != Subject::gpu, "counts GPUs: write per = \"node\" or \"delivery\"");
  need(rule.quantity != Quantity::busbw || rule.per != Subject::gpu,
       "applies to several ranks together: write per = \"node\" or \"delivery\"");
  need(!rule.reason.empty(), "has no `reason`");
  const bool absolute = type.scale == Scale::rate || type.scale == Scale::seconds;
  need(!absolute || !rule.source.empty(), "has an absolute limit and no `source`");
}

/// Of a new rule, which may be meant to change one of those inherited.
std::string lacks_quantity(const std::string& id, const std::vector<Rule>& inherited) {
  std::vector<std::string> known;
  for (const Rule& rule : inherited) known.push_back(rule.id);
  return fmt::format("rule '{}' has no `quantity`{}", id,
                     known.empty() ? "" : fmt::format(" and is not inherited; inherited are {}", fmt::join(known, ", ")));
}

constexpr std::uintmax_t kMostProfileBytes = 16 << 20;

/// A key is as deep as it has parts, and the parser calls itself once per level.
void check_keys(std::string_view text, const std::string& name) {
  constexpr std::ptrdiff_t kMostDots = 1000;  // strings count too: no line of a profile has as many
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    if (std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), '.') > kMostDots) {
      throw ProfileError(fmt::format("{}:{}: a key of too many parts", name, line));
    }
    text.remove_prefix(std::min(length + 1, text.size()));
  }
}

class NoProfile : public ProfileError {
 public:
  using ProfileError::ProfileError;
};

/// What `inherit` names: a shipped profile, or a path from the folder of the profile that inherits.
std::string base_of(const std::string& base, const std::string& heir) {
  const bool is_shipped = std::any_of(kShippedProfiles, kShippedProfiles + kShippedProfileCount,
                                      [&](const ShippedProfile& profile) { return profile.name == base; });
  return is_shipped ? base : (std::filesystem::path(heir).parent_path() / base).lexically_normal().string();
}

Profile parse(const std::string& text, const std::string& name, std::set<std::string> heirs);

Profile read(const std::string& name_or_path, const std::set<std::string>& heirs) {
  for (std::size_t i = 0; i < kShippedProfileCount; ++i) {
    if (kShippedProfiles[i].name == name_or_path) return parse(kShippedProfiles[i].text, name_or_path, heirs);
  }
  std::error_code unknown;
  if (!std::filesystem::exists(name_or_path, unknown)) {
    throw NoProfile(fmt::format("no profile '{}': it is neither a TOML file nor one of {}", name_or_path,
                                fmt::join(shipped_profiles(), ", ")));
  }
  std::string text;
  try {
    text = read_regular_file(name_or_path, kMostProfileBytes);
  } catch (const ReadError& error) {
    throw ProfileError(error.what());
  }
  return parse(text, name_or_path, heirs);
}

Profile parse(const std::string& text, const std::string& name, std::set<std::string> heirs) {
  check_keys(text, name);
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw ProfileError(fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  }
  Profile profile;
  if (const toml::node* node = table.get("inherit")) {
    std::string base;
    text_into(name, base)(*node);
    base = base_of(base, name);
    heirs.insert(name);
    if (heirs.contains(base)) refuse(name, *node, fmt::format("inherits '{}', which inherits this profile", base));
    try {
      profile = read(base, heirs);
    } catch (const NoProfile& error) {
      refuse(name, *node, error.what());
    }
    profile.inherited.insert(profile.inherited.begin(), base);
  }
  profile.name = name;
  std::string inherited;
  read_keys(name, table,
            {{"inherit", text_into(name, inherited)},
             {"title", text_into(name, profile.title)},
             {"devices",
              [&](const toml::node& node) {
                text_into(name, profile.devices)(node);
                check_expression(name, node, profile.devices);
                profile.except_devices.clear();  // of the profile below
              }},
             {"except_devices",
              [&](const toml::node& node) {
                text_into(name, profile.except_devices)(node);
                check_expression(name, node, profile.except_devices);
              }},
             {"example", text_into(name, profile.example)},
             {"suite", text_into(name, profile.suite)},
             {"node_gpus", [&](const toml::node& node) { set_node_gpus(name, node, profile.node_gpus); }},
             {"agreed", [&](const toml::node& node) { read_agreed(name, node, profile.agreed); }},
             {"rule", [](const toml::node&) {}}});

  const toml::table none;
  const toml::node* rules = table.get("rule");
  if (rules && !rules->is_table()) refuse(name, *rules, "expects tables [rule.ID]");
  // Tables are sorted by key; people wrote them in an order of their own.
  std::vector<std::pair<std::string, const toml::node*>> written;
  for (const auto& [id, node] : rules ? *rules->as_table() : none) written.emplace_back(id.str(), &node);
  std::sort(written.begin(), written.end(),
            [](const auto& a, const auto& b) { return a.second->source().begin.line < b.second->source().begin.line; });
  for (const auto& entry : written) {
    const std::string& id = entry.first;
    const toml::node* node = entry.second;
    if (printable(id) != id) refuse(name, *node, fmt::format("rule '{}' has unprintable characters in its name", id));
    if (std::any_of(std::begin(kOwnRules), std::end(kOwnRules), [&](OwnRule own) { return roofmark::name(own) == id; })) {
      refuse(name, *node, fmt::format("every delivery is held to a rule '{}' of roofmark's own: choose another name", id));
    }
    if (!node->is_table()) refuse(name, *node, fmt::format("rule.{} is not a table: write [rule.{}]", id, id));
    auto rule = std::find_if(profile.rules.begin(), profile.rules.end(), [&](const Rule& r) { return r.id == id; });
    const toml::table& keys = *node->as_table();
    const bool inherits = rule != profile.rules.end();
    if (const toml::node* drop = keys.get("drop")) {
      if (!inherits) refuse(name, *node, fmt::format("rule '{}' is not inherited: nothing to drop", id));
      if (!drop->value<bool>().value_or(false) || keys.size() > 1)
        refuse(name, *drop, fmt::format("write drop = true as the only key of rule '{}', or leave it out", id));
      profile.rules.erase(rule);
      continue;
    }
    if (!inherits) {
      if (!keys.contains("quantity")) refuse(name, *node, lacks_quantity(id, profile.rules));
      rule = profile.rules.emplace(rule);
      rule->id = id;
    }
    if (keys.contains("quantity")) {  // limits of another quantity do not carry over
      rule->least = rule->most = rule->published = std::nullopt;
      rule->least_version = rule->source = "";
      rule->measured = false;
    }
    read_rule(name, keys, *rule);
    check_rule(name, *node, *rule);
  }
  return profile;
}

/// What is judged by must be whole; what is inherited need not be.
Profile whole(Profile profile) {
  for (const auto& [what, given] : {std::pair("title", profile.title), std::pair("devices", profile.devices),
                                    std::pair("example", profile.example), std::pair("suite", profile.suite)}) {
    if (given.empty()) {
      throw ProfileError(fmt::format("{}: `{}` is missing: this profile can only be inherited", profile.name, what));
    }
  }
  if (!DeviceSearch(profile)(profile.example)) {
    throw ProfileError(fmt::format("{}: `devices` does not match the example '{}'", profile.name, profile.example));
  }
  if (profile.rules.empty()) throw ProfileError(fmt::format("{}: no rules: every delivery would pass", profile.name));
  return profile;
}

}  // namespace

std::string Rule::quantity_id() const {
  return argument.empty() ? std::string(type_of(quantity).id) : fmt::format("{}.{}", type_of(quantity).id, argument);
}

std::string Profile::devices_in_words() const {
  return fmt::format("'{}'{}", devices, except_devices.empty() ? "" : fmt::format(" except '{}'", except_devices));
}

DeviceSearch::DeviceSearch(const Profile& profile) : devices_(profile.devices) {
  if (!profile.except_devices.empty()) except_.emplace(profile.except_devices);
}

bool DeviceSearch::operator()(const std::string& name) const {
  return devices_.matches_whole(name) && !(except_ && except_->matches_whole(name));
}

std::vector<std::string> shipped_profiles() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kShippedProfileCount; ++i) {
    const toml::table profile = toml::parse(kShippedProfiles[i].text);
    if (!profile["devices"].value_or(std::string()).empty()) names.emplace_back(kShippedProfiles[i].name);
  }
  return names;
}

Profile read_profile(const std::string& name_or_path) { return whole(read(name_or_path, {})); }
Profile parse_profile(const std::string& text, const std::string& name) { return whole(parse(text, name, {})); }

}  // namespace roofmark
