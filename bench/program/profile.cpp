// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: every way in which a rule has no effect.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "bench/program/commands.hpp"
#include "bench/program/plan.hpp"
#include "bench/program/selected_device.hpp"
#include "bench/program/usage_error.hpp"
#include "bench/support/process_fabric.hpp"
#include "harness/judge/acceptance/reading.hpp"
#include "harness/judge/theory.hpp"
#include "harness/machine/libraries.hpp"
#include "harness/model/expression.hpp"
#include "harness/model/units.hpp"
#include "harness/present/acceptance.hpp"
#include "harness/present/cells.hpp"

namespace roofmark {

namespace {

/// A device that rules are checked against.
struct Example {
  DeviceInfo device;
  Roofline ceilings;      ///< of the device; of a stand-in, its kinds
  std::string stands_in;  ///< why the device is one that stands in for the example; empty: it is the example itself

  /// What limits are compared with. Another device's ceilings say nothing about them.
  Roofline own_ceilings() const { return stands_in.empty() ? ceilings : Roofline(); }
};

/// Its cases are those of most GPUs of a data center.
constexpr const char* kStandIn = "NVIDIA H100 80GB HBM3";

bool is_gpu_name(const std::string& name) { return DeviceSearch(read_profile("generic"))(name); }

/// The device that a profile is for, as its specification has it.
DeviceInfo specified_device_of(const Profile& profile) {
  if (const Sku* sku = find_sku(profile.example)) return specified_device(profile.example, *sku);
  if (is_gpu_name(profile.example)) return specified_device(profile.example, *find_sku(kStandIn));
  DeviceInfo cpu;
  cpu.id = "cpu";
  cpu.name = profile.example;
  cpu.multiprocessors = 2;
  cpu.memory_bytes = cpu.free_bytes = std::size_t{32} << 30;
  cpu.caches = {{"l1", 64 << 10, 32 << 10}, {"l2", 2 << 20, 1 << 20}, {"l3", 32 << 20, 32 << 20}};
  return cpu;
}

Example example_of(const Profile& profile) {
  Example example{specified_device_of(profile), {}, ""};
  example.ceilings = theoretical_roofline(example.device);
  if (example.device.backend == Backend::cuda && !find_sku(profile.example)) {
    example.stands_in = fmt::format(
        "{} is not in roofmark's table of GPUs: `cases` are checked against those of {}, and no limit against a ceiling",
        profile.example, kStandIn);
  }
  return example;
}

/// The suite that measures a rule.
const std::string& suite_of(const Rule& rule, const Profile& profile) {
  return rule.suite.empty() ? profile.suite : rule.suite;
}

/// The cases of a suite on the first GPU of a node such as the profile has it, or on a device alone.
Plan plan_of(const Profile& profile, const std::string& wanted, const DeviceInfo& device) {
  Selection selection;
  const int gpus = device.backend == Backend::cuda ? profile.node_gpus.value_or(1) : 1;
  const Fabric fabric = specified_fabric(device, gpus);
  const Suite* const suite = find_suite(wanted);
  if (!suite) throw ProfileError(fmt::format("{}: no suite '{}'", profile.name, wanted));
  selection.suite = suite->id;
  selection.only_device = gpus < 2;
  return plan(device, selection, gpus < 2 ? nullptr : &fabric);
}

/// By suite, the cases that the rules are about.
std::map<std::string, Plan> plans_of(const Profile& profile, const DeviceInfo& device) {
  std::map<std::string, Plan> plans;
  plans.emplace(profile.suite, plan_of(profile, profile.suite, device));
  for (const Rule& rule : profile.rules) {
    const std::string& suite = suite_of(rule, profile);
    if (!plans.contains(suite)) plans.emplace(suite, plan_of(profile, suite, device));
  }
  return plans;
}

/// Whether this build can measure any ceiling of the device.
bool has_kernels(const Plan& plan) {
  return std::any_of(plan.ceilings.begin(), plan.ceilings.end(), [](const Group& group) {
    return std::any_of(group.cases.begin(), group.cases.end(), [](const Case& c) { return c.unsupported.empty(); });
  });
}

/// What a rule is about on a device: the names that its `cases` match, and the cases among them.
struct Matched {
  std::vector<std::string> names;
  std::vector<const Case*> cases;
};

Matched matched(const Rule& rule, const Plan& plan) {
  Matched found;
  const Expression expression(rule.cases);
  const bool comparisons = type_of(rule.quantity).basis == Basis::comparison;
  for (const std::vector<Group>* groups : {&plan.ceilings, &plan.suite}) {
    for (const Group& group : *groups) {
      if (comparisons) {
        for (const Comparison& comparison : group.comparisons) {
          const std::string name = comparison.numerator.name();
          if (expression.is_found_in(name)) found.names.push_back(name);
        }
        continue;
      }
      for (const Case& c : group.cases) {
        if (!c.unsupported.empty() || !expression.is_found_in(c.name())) continue;
        found.names.push_back(c.name());
        found.cases.push_back(&c);
      }
    }
  }
  return found;
}

/// The theoretical ceiling, or the datasheet's, that binds a case; null where none is known.
const Ceiling* binding(const Case& c, const Roofline& roofline) {
  const std::string bound = place(c.work, roofline, 1, Issue::stream, {}).bound_by;
  for (const Ceiling& ceiling : roofline.ceilings()) {
    if (ceiling.resource.id == bound) return &ceiling;
  }
  return nullptr;
}

/// "bf16 tensor: 1.07 PFLOP/s x 0.8 = 856 TFLOP/s"
std::string comes_to(const Rule& rule, const Matched& found, const Roofline& roofline) {
  const double limit = rule.least ? *rule.least : rule.most.value_or(0);
  if (rule.quantity == Quantity::settled_of_burst) return "share of the rate in the first second";
  if (rule.quantity == Quantity::of_empirical) return "share of the ceiling measured in the same run";
  if (type_of(rule.quantity).scale != Scale::share || type_of(rule.quantity).basis != Basis::record || found.cases.empty())
    return "";
  const Ceiling* ceiling = binding(*found.cases.front(), roofline);
  if (rule.quantity == Quantity::of_theoretical_clock && ceiling && ceiling->resource.clock != ClockDomain::none) {
    return fmt::format("share of the {} ceiling at the clock during the case", ceiling->resource.title);
  }
  const auto rate = !ceiling                                                                    ? std::nullopt
                    : rule.quantity == Quantity::of_datasheet                                   ? ceiling->datasheet
                    : rule.quantity == Quantity::cv || rule.quantity == Quantity::share_of_time ? std::nullopt
                                                                                                : ceiling->theoretical;
  const bool of_ceiling = rule.quantity == Quantity::of_theoretical || rule.quantity == Quantity::of_theoretical_clock;
  if (!rate) return of_ceiling ? "share of a ceiling that only the device tells" : "";
  return fmt::format("{} of {} ({})", format_rate(*rate * limit, ceiling->resource.unit),
                     format_rate(*rate, ceiling->resource.unit), ceiling->resource.title);
}

/// Of a rate: what the resource that binds the case counts.
Unit unit_of(const Rule& rule, const Matched& found) {
  if (rule.quantity != Quantity::rate || found.cases.empty()) return Unit::byte;
  return found.cases.front()->work.main().resource.unit;
}

/// What results may say a version of.
std::vector<std::string_view> version_names() {
  std::vector<std::string_view> names = {"roofmark", "driver", "vbios"};
  for (const std::string_view library : library_names()) names.push_back(library);
  return names;
}

/// A quantity that none of the matched cases has: its rule is never measured.
std::string missing_in_cases(const Rule& rule, const Suite& suite, const Matched& found, const Plan& plan,
                             const Roofline& roofline) {
  const auto none = [&](const auto& has) { return std::none_of(found.cases.begin(), found.cases.end(), has); };
  switch (rule.quantity) {
    case Quantity::settled_of_burst:
      return none([](const Case* c) { return c->protocol.seconds > 0; }) ? "no matching case is a sustained case" : "";
    case Quantity::power: {
      const bool lasts = suite.case_seconds >= kLeastPowerSeconds;
      const bool is_short = !lasts && none([](const Case* c) { return c->protocol.seconds >= kLeastPowerSeconds; });
      return is_short ? "no matching case lasts a second: the power of shorter ones is unknown without an energy counter" : "";
    }
    case Quantity::busbw:
      return none([](const Case* c) { return c->message.has_value(); }) ? "no matching case is a collective" : "";
    case Quantity::rate:
      return none([](const Case* c) { return !c->work.phases.empty(); }) ? "no matching case counts its work" : "";
    case Quantity::drift:
      if (!plan.ceilings_again) return "the suite measures its ceilings only once: they have no drift";
      return none([](const Case* c) { return c->sets_ceiling.has_value(); }) ? "no matching case is a ceiling" : "";
    case Quantity::of_theoretical:
    case Quantity::of_theoretical_clock:
    case Quantity::of_datasheet: {
      const bool of_sheet = rule.quantity == Quantity::of_datasheet;
      // What a node's links are is not in a GPU's specification.
      const std::vector<Ceiling>& all = roofline.ceilings();
      const bool none_known = std::none_of(
          all.begin(), all.end(), [&](const Ceiling& c) { return (of_sheet ? c.datasheet : c.theoretical).has_value(); });
      return none_known ? fmt::format("no {} ceiling is known of such a device", of_sheet ? "datasheet's" : "theoretical") : "";
    }
    default:
      return "";
  }
}

/// Limits that anything meets, or nothing, whatever was published.
std::vector<std::string> problems_of_limit(const Rule& rule, const Matched& found, const Roofline& roofline) {
  constexpr double kLeastShare = 0.05, kFar = 2, kMostRatio = 2, kManyOfARun = 1000;
  std::vector<std::string> problems;
  const QuantityType& type = type_of(rule.quantity);
  const Ceiling* ceiling = found.cases.empty() ? nullptr : binding(*found.cases.front(), roofline);
  const auto rate = ceiling ? std::max(ceiling->theoretical, ceiling->datasheet) : std::nullopt;
  const double whole = rule.quantity == Quantity::rate ? rate.value_or(0) : type.scale == Scale::share ? 1 : 0;
  const bool counted = type.scale == Scale::count;
  const auto limit = rule.least ? rule.least : rule.most;
  if (type.lowest < type.highest && (*limit < type.lowest || *limit > type.highest)) {
    problems.push_back(fmt::format("limits {} to {:g}: no device's is below {:g} or above {:g} {}", type.id, *limit,
                                   type.lowest, type.highest, unit_of(type.scale)));
    return problems;
  }
  if (rule.least && *rule.least < kLeastShare * whole) {
    problems.push_back(fmt::format("least = {:g} is below {:g} % of {}: every value passes", *rule.least, 100 * kLeastShare,
                                   rule.quantity == Quantity::rate
                                       ? "the ceiling, " + format_rate(whole, ceiling->resource.unit)
                                       : "the largest share, 1"));
  } else if (rule.least && *rule.least <= 0 && type.lowest >= 0) {
    problems.push_back(fmt::format("least = {:g}: every value passes", *rule.least));
  }
  if (rule.least && rule.quantity == Quantity::ratio && rule.published && *rule.least > kMostRatio * *rule.published) {
    problems.push_back(fmt::format("least = {:g} is above {:g} times the slowest published figure, {:g}: no value passes",
                                   *rule.least, kMostRatio, *rule.published));
  }
  const bool takes_time = type.scale == Scale::seconds || type.scale == Scale::rate;
  if (rule.most && (takes_time ? *rule.most <= 0 : *rule.most < 0))
    problems.push_back(fmt::format("most = {:g}: no value passes", *rule.most));
  if (rule.most && type.scale == Scale::share && *rule.most >= 1) {
    problems.push_back(fmt::format("most = {:g}: every value passes: a share is at most 1", *rule.most));
  }
  if (rule.most && type.basis == Basis::run && counted && *rule.most > kManyOfARun) {
    problems.push_back(fmt::format("most = {:g}: every value passes: no run has more than {:g}", *rule.most, kManyOfARun));
  }
  if (rule.most && rule.quantity == Quantity::seconds && rule.mandatory != Mandatory::no && !rule.published) {
    problems.emplace_back("has no `published` (the slowest published figure), which `most` is checked against");
  }
  if (rule.most && rule.published && !counted && *rule.most > kFar * *rule.published) {
    problems.push_back(fmt::format("most = {:g} is above {:g} times the published figure, {:g}: every value passes", *rule.most,
                                   kFar, *rule.published));
  }
  return problems;
}

std::vector<std::string> problems_of(const Rule& rule, const Profile& profile, const Plan& plan, bool any_kernels,
                                     const Example& example) {
  const QuantityType& type = type_of(rule.quantity);
  const Matched found = type.basis == Basis::run ? Matched() : matched(rule, plan);
  const Roofline roofline = example.own_ceilings();
  std::vector<std::string> problems = problems_of_limit(rule, found, roofline);
  if (const std::string missing = missing_in_cases(rule, *find_suite(suite_of(rule, profile)), found, plan, example.ceilings);
      !found.names.empty() && !missing.empty()) {
    problems.push_back(fmt::format("limits {}, and {}", rule.quantity_id(), missing));
  }
  const Ceiling* const bound = found.cases.empty() ? nullptr : binding(*found.cases.front(), roofline);
  if (const auto clock = profile.agreed.find(Setting::clock);
      clock != profile.agreed.end() && rule.least && rule.quantity == Quantity::of_theoretical && bound &&
      bound->resource.clock == ClockDomain::sm && bound->theoretical_clock_hz) {
    const double most = clock->second.value * 1e6 / *bound->theoretical_clock_hz;
    if (most < *rule.least) {
      problems.push_back(fmt::format("least = {:g} is above {:.3g}, which the agreed {} allows: no value passes", *rule.least,
                                     most, setting_text(Setting::clock, clock->second.value)));
    }
  }
  const std::vector<std::string_view> versions = version_names();
  if (rule.quantity == Quantity::version && std::find(versions.begin(), versions.end(), rule.argument) == versions.end()) {
    problems.push_back(fmt::format("limits the version of '{}', which no result states; known are {}", rule.argument,
                                   fmt::join(versions, ", ")));
  }
  if (type.basis != Basis::run && found.names.empty() && any_kernels) {
    problems.push_back(fmt::format("no {} of the suite {} on {} matches '{}'",
                                   type.basis == Basis::comparison ? "comparison" : "case", suite_of(rule, profile),
                                   profile.example, rule.cases));
  }
  if (rule.least && type.scale == Scale::share && type.basis == Basis::record && *rule.least > 1) {
    problems.push_back(fmt::format("least = {:g} is above the ceiling: a share is at most 1", *rule.least));
  }
  if (rule.least && rule.quantity == Quantity::rate && !found.cases.empty()) {
    const Ceiling* ceiling = binding(*found.cases.front(), roofline);
    const auto most = ceiling ? std::max(ceiling->theoretical, ceiling->datasheet) : std::nullopt;
    if (most && *rule.least > *most) {
      problems.push_back(fmt::format("least = {:g} is {}, above the ceiling of {}", *rule.least,
                                     format_rate(*rule.least, ceiling->resource.unit),
                                     format_rate(*most, ceiling->resource.unit)));
    }
  }
  const bool performance =
      rule.least && (type.scale == Scale::share || type.scale == Scale::rate || type.scale == Scale::ratio);
  if (performance && (rule.mandatory != Mandatory::no || type.scale == Scale::ratio) && !rule.published) {
    problems.emplace_back("has no `published` (the slowest published figure), which `least` is checked against");
  }
  if (performance && rule.published && *rule.least < *rule.published / 2) {
    problems.push_back(
        fmt::format("least = {:g} is below half the slowest published figure, {:g}: too low to find a slow device", *rule.least,
                    *rule.published));
  }
  return problems;
}

}  // namespace

int profile_check(const std::string& profile_name) {
  const Profile profile = read_profile(profile_name);
  const Example example = example_of(profile);
  const std::map<std::string, Plan> plans = plans_of(profile, example.device);
  const bool any_kernels = has_kernels(plans.at(profile.suite));
  if (!example.stands_in.empty()) fmt::print("{}: {}\n", profile.name, example.stands_in);
  int count = 0;
  for (const Rule& rule : profile.rules) {
    for (const std::string& problem : problems_of(rule, profile, plans.at(suite_of(rule, profile)), any_kernels, example)) {
      fmt::print("{}: rule '{}' {}\n", rule.origin, rule.id, problem);
      ++count;
    }
  }
  if (std::all_of(profile.rules.begin(), profile.rules.end(),
                  [](const Rule& rule) { return rule.mandatory == Mandatory::no; })) {
    fmt::print("{}: no rule is mandatory: every complete delivery passes\n", profile.name);
    ++count;
  }
  if (!any_kernels) {
    fmt::print("{}: this build has no kernels for {}, so `cases` are not checked against its suites\n", profile.name,
               example.device.name);
  }
  fmt::print("{}: {} rules, {} problem{}\n", profile.name, profile.rules.size(), count, count == 1 ? "" : "s");
  return count == 0 ? kOk : kWrong;
}

int profile_show(const std::string& profile_name, const std::string& device_id) {
  const Profile profile = read_profile(profile_name);
  std::string note;
  Example example;
  if (device_id.empty()) {
    example = example_of(profile);
  } else {
    example.device = open_selected(device_id, note)->info();
    example.ceilings = theoretical_roofline(example.device);
  }
  const DeviceInfo& device = example.device;
  if (!note.empty()) say("roofmark", note);
  const std::map<std::string, Plan> plans = plans_of(profile, device);
  const Roofline roofline = example.own_ceilings();
  const TerminalStyle style = terminal_style(stdout);
  const auto columns = static_cast<std::size_t>(style.columns);
  fmt::print("{}\n", profile_text(profile, style));
  const bool is_gpu = device.backend == Backend::cuda;
  const std::string where = !device_id.empty()           ? device.id
                            : !example.stands_in.empty() ? "not in roofmark's table of GPUs; accept uses the ceilings of the "
                                                           "measured device, and the cases are those of " +
                                                               std::string(kStandIn)
                            : is_gpu ? "ceilings from roofmark's table of GPUs; accept uses those of the measured device"
                                     : "shares of ceilings of the same run";
  fmt::print("{}\n\n", wrapped(fmt::format("Limits on {} ({}):", device.name, where), columns, 2));
  const bool any_kernels = has_kernels(plans.at(profile.suite));
  if (!any_kernels) {
    fmt::print(
        "{}\n\n",
        wrapped(fmt::format("This build has no kernels for {}: it cannot tell which cases of a suite the rules are about.",
                            device.name),
                columns, 2));
  }
  if (!DeviceSearch(profile)(device.name)) {
    fmt::print(
        "{}\n\n",
        wrapped(fmt::format("The profile is for {}: it does not accept this device.", profile.devices_in_words()), columns, 2));
  }
  for (const Rule& rule : profile.rules) {
    const QuantityType& type = type_of(rule.quantity);
    const Matched found = type.basis == Basis::run ? Matched() : matched(rule, plans.at(suite_of(rule, profile)));
    const std::string limit =
        type.scale == Scale::version
            ? ">= " + rule.least_version
            : fmt::format("{} {}", rule.least ? ">=" : "<=",
                          format_limit(rule.least ? *rule.least : *rule.most, type.scale, unit_of(rule, found)));
    const std::string node = is_gpu && device_id.empty() && profile.node_gpus.value_or(1) > 1
                                 ? fmt::format(" on a node of {} GPUs", *profile.node_gpus)
                                 : "";
    const std::string count = any_kernels ? fmt::format("{} ", found.names.size()) : "";
    const std::string cases = fmt::format("{} ({}of the suite {}{}){}", rule.cases, count, suite_of(rule, profile), node,
                                          rule.alone ? ", measured while no other GPU was" : "");
    const std::string measured = rule.measured ? "; measured by this project" : "; not measured by this project";
    const std::string_view per = rule.per != Subject::gpu ? name(rule.per)
                                 : rule.known             ? "GPU of the table of known GPUs"
                                                          : "GPU";
    const std::string_view decides = rule.mandatory == Mandatory::yes  ? ""
                                     : rule.mandatory == Mandatory::no ? " (not mandatory)"
                                                                       : " (mandatory where measured)";
    fmt::print("{}{}\n{}", rule.id, decides,
               pairs_text({{"limit", fmt::format("{} {}, per {}", rule.quantity_id(), limit, per)},
                           {"is", comes_to(rule, found, roofline)},
                           {"cases", type.basis == Basis::run ? "" : cases},
                           {"reason", rule.reason},
                           {"source", rule.source.empty() ? "" : rule.source + measured},
                           {"from", rule.origin}},
                          style));
  }
  return kOk;
}

}  // namespace roofmark
