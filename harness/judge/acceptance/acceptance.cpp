// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one judge, from the reading of a rule to the verdict on a delivery.
#include "harness/judge/acceptance/acceptance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "harness/judge/acceptance/reading.hpp"
#include "harness/model/printable.hpp"
#include "harness/model/suite.hpp"
#include "harness/model/units.hpp"

namespace roofmark {

namespace {

/// Dotted numbers, so that 570.9 is older than 570.86; those of a VBIOS are hexadecimal.
std::vector<long> numbers_of(const std::string& version, int base) {
  std::vector<long> numbers;
  const char* digits = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
  for (std::size_t at = version.find_first_of(digits); at != std::string::npos;) {
    const std::size_t end = std::min(version.find_first_not_of(digits, at), version.size());
    numbers.push_back(std::strtol(version.substr(at, end - at).c_str(), nullptr, base));
    at = version.find_first_of(digits, end);
  }
  return numbers;
}

std::string shipped(const Rule& rule) { return rule.origin.empty() ? "roofmark" : rule.origin; }

/// A UUID by which GPUs are told apart: a letter's case and invisible characters make no other GPU.
std::string plain(const std::string& uuid) {
  std::string kept;
  for (const char c : uuid) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-') {
      kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return kept;
}

/// Several instances are one GPU.
bool is_instance(const std::string& uuid) { return plain(uuid).starts_with("mig-"); }

std::string age_in_words(double seconds) {
  return seconds < 0
             ? fmt::format("{} in the future: the clock of this host or of the result's is wrong", format_duration(-seconds))
             : format_duration(seconds);
}

Check check_of(const Rule& rule) {
  Check check;
  check.mandatory = rule.mandatory == Mandatory::yes;
  return check;
}

/// Its suite has a duration in all.
bool lasts(const Evidence& run) {
  const Suite* const suite = find_suite(run.suite);
  return suite && suite->total_seconds;
}

/// What lengthens the measurements of the run.
std::string_view flag_of(const Evidence& run) { return lasts(run) ? "--seconds" : "--max-seconds"; }

/// That flag, at `times` the run's own value.
std::string longer_by(const Evidence& run, double times) {
  const std::string_view flag = flag_of(run);
  if (!run.budget_seconds) return fmt::format("{} times its {}", times, flag);
  // Rounded up to three digits: less would not be long enough.
  const double wanted = times * *run.budget_seconds, digit = std::pow(10, std::floor(std::log10(wanted)) - 2);
  const double seconds = std::ceil(wanted / digit * (1 - 1e-9)) * digit;
  const double most = lasts(run) ? kMostTotalSeconds : kMostCaseSeconds;
  if (seconds > most) return fmt::format("{} allows {:g} s, too few", flag, most);
  return fmt::format("{} {:.6g}", flag, seconds);
}

/// The run must measure this many times as long for the interval to leave the limit outside: its width falls with the root of
/// the time.
std::string how_long(const Check& check, const Evidence& run) {
  const double distance = std::abs(*check.measured - *check.limit);
  // The end on the limit's side: an interval need not have the value in its middle, and may have no upper end.
  const double half =
      check.high && *check.limit > *check.measured ? *check.high - *check.measured : *check.measured - *check.low;
  if (!(distance > 0)) return "the measured value equals the limit: no measurement is long enough to decide";
  const double times = std::max(2.0, std::ceil(half * half / (distance * distance) * (1 - 1e-9)));
  return fmt::format("the limit lies within the 95 % interval: measure {:.0f} times as long ({})", times,
                     longer_by(run, times));
}

/// Compares one value with the limit of a rule. `run`: what it was read from; null of a count over all runs.
Check compare(const Rule& rule, const RuleReading& reading, const Evidence* run) {
  Check check = check_of(rule);
  const Scale scale = type_of(rule.quantity).scale;
  check.of = reading.of;
  if (scale == Scale::version) {
    check.expected = fmt::format(">= {}", rule.least_version);
    check.found = reading.version;
    check.explanation = reading.why_not;
    if (!reading.version.empty()) {
      const int base = rule.argument == "vbios" ? 16 : 10;
      const bool recent = numbers_of(reading.version, base) >= numbers_of(rule.least_version, base);
      check.verdict = recent ? Verdict::pass : Verdict::fail;
    }
    return check;
  }
  const bool least = rule.least.has_value();
  check.limit = least ? rule.least : rule.most;
  check.expected = fmt::format("{} {}{}", least ? ">=" : "<=", format_limit(*check.limit, scale, reading.unit),
                               reading.base.empty() ? "" : " of " + reading.base);
  if (!reading.value) {
    check.verdict = reading.wrong ? Verdict::fail : Verdict::not_measured;
    check.found = reading.wrong ? "wrong result" : "-";
    check.explanation = reading.why_not;
    return check;
  }
  check.measured = reading.value;
  check.low = reading.low;
  check.high = reading.high;
  check.found = format_measured(*reading.value, *check.limit, scale, reading.unit);
  if (*check.limit != 0) check.margin = (least ? 1 : -1) * (*check.measured - *check.limit) / std::abs(*check.limit);
  const bool met = least ? *check.measured >= *check.limit : *check.measured <= *check.limit;
  check.verdict = met ? Verdict::pass : Verdict::fail;
  if (met && !reading.lost.empty()) {
    check.verdict = Verdict::not_measured;
    check.explanation = reading.lost;
  }
  if (reading.lacks_interval) {
    // A missed limit stays missed.
    if (met) check.verdict = Verdict::not_measured;
    check.explanation =
        fmt::format("too few blocks for an interval: measure longer ({})", run ? flag_of(*run) : "--max-seconds");
  }
  if (run && check.low && *check.low < *check.limit && (!check.high || *check.limit < *check.high)) {
    check.verdict = Verdict::inside_interval;
    check.explanation = how_long(check, *run);
  }
  return check;
}

/// What tells the speed of a launch: a ceiling is the better of two such values.
bool is_speed(Quantity quantity) {
  switch (quantity) {
    case Quantity::of_theoretical_clock:
    case Quantity::of_theoretical:
    case Quantity::of_datasheet:
    case Quantity::of_empirical:
    case Quantity::rate:
    case Quantity::busbw:
    case Quantity::seconds:
      return true;
    default:
      return false;
  }
}

/// Applies a rule to one value.
Check decide(const Rule& rule, const RuleReading& reading, const Evidence* run) {
  Check check = compare(rule, reading, run);
  const bool has_it = check.verdict != Verdict::not_measured || reading.value || !reading.lost.empty();
  check.mandatory |= rule.mandatory == Mandatory::where_measured && has_it;
  if (reading.agreed.empty() || check.verdict != reading.excused) return check;
  check.found += fmt::format(" (agreed: {})", reading.agreed);
  if (check.verdict == Verdict::fail) {
    check.verdict = Verdict::pass;
    check.limit = check.margin = std::nullopt;  // which it does not meet
  } else {
    check.mandatory = false;
  }
  return check;
}

/// Of the two passes of a probe, which sets a ceiling, the one that meets the rule better. One without a value counts by
/// itself.
std::vector<RuleReading> better_passes(const Rule& rule, std::vector<RuleReading> all, const Evidence& run) {
  if (!is_speed(rule.quantity)) return all;
  const auto meets_better = [&](const RuleReading& one, const RuleReading& other) {
    const Check a = decide(rule, one, &run), b = decide(rule, other, &run);
    return a.verdict != b.verdict ? a.verdict < b.verdict : a.margin > b.margin;
  };
  std::vector<RuleReading> kept;
  std::map<std::string, std::size_t> places;  // of probes in `kept`
  for (RuleReading& reading : all) {
    const bool is_of_probe = reading.value && reading.record && reading.record->sets_ceiling;
    const auto [place, is_first] = is_of_probe ? places.try_emplace(reading.of, kept.size()) : std::pair(places.end(), true);
    if (is_first) {
      kept.push_back(std::move(reading));
    } else if (meets_better(reading, kept[place->second])) {
      kept[place->second] = std::move(reading);
    }
  }
  return kept;
}

/// One device in one run.
struct Place {
  const Evidence* evidence;
  std::size_t index;
};

class Judge {
 public:
  Judge(const Profile& profile, const std::vector<Evidence>& evidence, const AcceptanceTerms& terms)
      : profile_(profile), evidence_(evidence), terms_(terms) {
    for (const Evidence& run : evidence) {
      for (std::size_t i = 0; i < run.devices.size(); ++i) {
        const DeliveredDevice& device = run.devices[i];
        const std::string& label = labels_.try_emplace(device.key(), device.label()).first->second;
        places_[label].push_back({&run, i});
        nodes_[device.node].insert(label);
      }
      for (const Record& record : run.records) {
        if (!record.fingerprint) continue;
        auto& devices = hashes_[{record.name(), record.fingerprint->key}][record.fingerprint->hash];
        const std::vector<int>& others = record.fingerprint->differing_ranks;
        for (std::size_t i = 0; i < run.devices.size(); ++i) {
          if (std::find(others.begin(), others.end(), static_cast<int>(i)) == others.end())
            devices.insert(labels_.at(run.devices[i].key()));
        }
      }
    }
  }

  Judgement judge() {
    add_own_rules();
    for (const auto& [setting, agreement] : profile_.agreed) add_agreed(setting, agreement);
    for (const Rule& rule : profile_.rules) apply(rule);
    Judgement judgement;
    judgement.delivery = {Subject::delivery, "delivery", Verdict::pass, 0, 0};
    std::map<std::string, SubjectVerdict> devices, nodes;
    for (const auto& [label, places] : places_) devices[label] = {Subject::gpu, label, Verdict::pass, 0, 0};
    for (const auto& [node, labels] : nodes_) nodes[node] = {Subject::node, node, Verdict::pass, 0, 0};
    for (const Check& check : checks_) {
      count(check, judgement.delivery);
      if (!check.node.empty()) count(check, nodes.at(check.node));
      if (!check.device.empty()) count(check, devices.at(check.device));
    }
    for (const auto& [label, verdict] : devices) judgement.devices.push_back(verdict);
    for (const auto& [node, verdict] : nodes) judgement.nodes.push_back(verdict);
    judgement.checks = std::move(checks_);
    std::map<std::string, std::vector<std::string>> doubts;  // with the files
    for (const Evidence& run : evidence_) {
      note_unknown(run, judgement.unknown_devices);
      if (const RunVerdict& own = run.verdict; own.trust != Trust::good && agreed_doubts(profile_.agreed, run).empty())
        doubts[fmt::format("{}: {}", name(own.trust), own.headline)].push_back(run.file);
    }
    for (const auto& [doubt, files] : doubts) {
      judgement.doubts.push_back(printable(fmt::format("{} ({})", doubt, some_of(files))));
    }
    return judgement;
  }

 private:
  const DeliveredDevice& device(const std::string& label) const {
    const Place& place = places_.at(label).front();
    return place.evidence->devices[place.index];
  }

  std::string name_in_node(const std::string& label) const {
    const DeliveredDevice& one = device(label);
    const std::set<std::string>& labels = nodes_.at(one.node);
    const auto has_its_id = [&](const std::string& other) { return other != label && device(other).id == one.id; };
    return std::any_of(labels.begin(), labels.end(), has_its_id) ? one.uuid : one.id;
  }

  void add(Check check, const std::string& node, const std::string& label, const std::string& file) {
    check.rule = applied_;
    check.node = node;
    check.device = label;
    if (!label.empty()) check.device_id = name_in_node(label);
    check.file = file;
    for (std::string* text : {&check.of, &check.file, &check.expected, &check.found, &check.explanation})
      *text = printable(*text);
    checks_.push_back(std::move(check));
  }

  // --- What every delivery is held to.

  void own(OwnRule own_rule, Subject per, Verdict verdict, const std::string& expected, const std::string& found,
           const std::string& reason, const std::string& node, const std::string& label, const std::string& file) {
    auto& rule = own_rules_[own_rule];
    if (!rule) {
      const std::string id(name(own_rule));
      rule = std::make_shared<const JudgedRule>(JudgedRule{id, "", per, Mandatory::yes, reason, "", "roofmark"});
    }
    applied_ = rule;
    Check check;
    check.verdict = verdict;
    check.expected = expected;
    check.found = found;
    add(std::move(check), node, label, file);
  }

  void add_own_rules() {
    const auto pass_if = [](bool good) { return good ? Verdict::pass : Verdict::fail; };
    const DeviceSearch is_for(profile_);
    for (const auto& [label, places] : places_) {
      const DeliveredDevice& one = device(label);
      own(OwnRule::device, Subject::gpu, pass_if(is_for(one.name)), profile_.devices_in_words(), one.name,
          "The profile's limits apply to this kind of device only.", one.node, label, places.front().evidence->file);
      for (const Place& place : places) {
        const Evidence& run = *place.evidence;
        own(OwnRule::complete, Subject::gpu, run.complete ? Verdict::pass : Verdict::not_measured, "a complete run",
            run.complete         ? "complete"
            : run.without_record ? fmt::format("{} of its cases have no result", run.without_record)
                                 : "cut short",
            "Cases that the run did not reach are unknown.", one.node, label, run.file);
        own(OwnRule::conditions, Subject::gpu, pass_if(as_agreed(run)),
            fmt::format("suite {}, normal data, all of it", suites().contains(run.suite) ? run.suite : profile_.suite),
            fmt::format("suite {}, {} data{}{}", run.suite, run.data, run.weaker.empty() ? "" : ", ",
                        fmt::join(run.weaker, ", ")),
            "The limits apply to normally distributed operands, whose bits toggle like real data, and to the suite's own "
            "times, sizes and caches. Cases left out are unknown.",
            one.node, label, run.file);
        if (!terms_.max_age_seconds) continue;
        const bool dated = run.age_seconds.has_value();
        // Clocks of two hosts may differ by some minutes.
        constexpr double kAhead = -300;
        own(OwnRule::age, Subject::gpu,
            dated ? pass_if(*run.age_seconds >= kAhead && *run.age_seconds <= *terms_.max_age_seconds) : Verdict::not_measured,
            fmt::format("<= {}", format_duration(*terms_.max_age_seconds)), dated ? age_in_words(*run.age_seconds) : "-",
            "A result must show the present state of the device (--max-age).", one.node, label, run.file);
      }
    }
    std::map<std::string, std::set<std::string>> places_of;
    for (const auto& [label, places] : places_) {
      std::set<std::string> slots, ids;
      for (const Place& place : places) {
        const DeliveredDevice& one = place.evidence->devices[place.index];
        if (one.uuid.empty()) continue;
        (one.slot.empty() ? ids : slots).insert((one.slot.empty() ? one.id : one.slot) + " of " + one.node);
      }
      // CUDA's numbers depend on CUDA_VISIBLE_DEVICES, the slot does not.
      if (const auto& known = slots.empty() ? ids : slots; !known.empty()) {
        places_of[plain(device(label).uuid)].insert(known.begin(), known.end());
      }
    }
    for (const auto& [uuid, where] : places_of) {
      if (where.size() < 2) continue;
      own(OwnRule::unique_gpus, Subject::delivery, Verdict::fail, "one place per GPU",
          fmt::format("{} is {}", uuid, fmt::join(where, " and ")), "A GPU reported from two places would be counted twice.",
          "", "", "");
    }
    std::map<std::pair<std::string, std::string>, std::set<std::string>> held;
    for (const Evidence& run : evidence_) {
      for (const DeliveredDevice& one : run.devices) {
        if (!one.slot.empty() && !one.uuid.empty()) held[{one.node, one.slot}].insert(one.uuid);
      }
    }
    for (const auto& [where, uuids] : held) {
      if (uuids.size() < 2) continue;
      own(OwnRule::unique_nodes, Subject::delivery, Verdict::fail, "one machine per host name",
          fmt::format("{} has {} at PCI address {}", where.first, fmt::join(uuids, " and "), where.second),
          "Nodes are told apart by their host names. Either two machines have the same name, or a GPU was replaced: give each "
          "machine a name of its own and leave out the results from before.",
          "", "", "");
    }
    refuse_copies();
    if (!terms_.expected_gpus) return;
    const auto instances = static_cast<int>(
        std::count_if(places_of.begin(), places_of.end(), [](const auto& place) { return is_instance(place.first); }));
    const auto found = static_cast<int>(places_of.size()) - instances;
    own(OwnRule::expected_gpus, Subject::delivery, pass_if(found == *terms_.expected_gpus),
        fmt::format("{} GPUs", *terms_.expected_gpus),
        fmt::format("{} GPU{}{}", found, found == 1 ? "" : "s",
                    instances > 0 ? fmt::format(", and {} MIG instances, which are parts of one", instances) : ""),
        "The delivery must have the number of GPUs that was ordered (--expect-gpus).", "", "", "");
  }

  /// Every GPU has the setting that was agreed, in all runs that tell it.
  void add_agreed(Setting setting, const Agreement& agreement) {
    applied_ = std::make_shared<const JudgedRule>(
        JudgedRule{fmt::format("agreed.{}", type_of(setting).id), "", Subject::gpu, Mandatory::yes,
                   "The site sets this on purpose; with another value the node is set up differently from the others.", "",
                   agreement.origin});
    for (const auto& [label, places] : places_) {
      std::optional<double> value;
      std::string file;
      for (const Place& place : places) {
        const SettingValues& settings = place.evidence->devices[place.index].settings;
        const auto found = settings.find(setting);
        if (found == settings.end()) continue;
        // A run may have no case that reaches the clock at which it is held.
        const bool counts = setting == Setting::clock ? found->second > value : !agreement.is_met(setting, found->second);
        if (value && !counts) continue;
        value = found->second;
        file = place.evidence->file;
      }
      Check check;
      if (value) check.verdict = agreement.is_met(setting, *value) ? Verdict::pass : Verdict::fail;
      check.expected = value_text(setting, agreement.value);
      check.found = value ? value_text(setting, *value) : "-";
      check.explanation = value ? "" : "no result tells it";
      add(std::move(check), device(label).node, label, file);
    }
  }

  /// No two runs give the same times to the nanosecond.
  void refuse_copies() {
    std::map<std::string, const Evidence*> first;
    for (const Evidence& run : evidence_) {
      if (run.samples_hash.empty()) continue;
      const Evidence& other = *first.try_emplace(run.samples_hash, &run).first->second;
      if (&other == &run) continue;
      const auto is_there = [&](const DeliveredDevice& one) {
        return std::any_of(other.devices.begin(), other.devices.end(),
                           [&](const DeliveredDevice& its) { return its.key() == one.key(); });
      };
      if (std::any_of(run.devices.begin(), run.devices.end(), is_there)) continue;
      own(OwnRule::unique_gpus, Subject::delivery, Verdict::fail, "a measurement per GPU",
          fmt::format("{} has the samples of {}", run.devices.front().label(), other.devices.front().label()),
          "A GPU reported from two places would be counted twice.", "", "", run.file);
    }
  }

  /// The suites that the profile's rules are measured by.
  std::set<std::string> suites() const {
    std::set<std::string> all = {profile_.suite};
    for (const Rule& rule : profile_.rules) all.insert(rule.suite.empty() ? profile_.suite : rule.suite);
    return all;
  }

  bool as_agreed(const Evidence& run) const {
    const Suite *measured = find_suite(run.suite), *agreed = find_suite(profile_.suite);
    const bool larger = measured && agreed && agreed->size > 0 && measured->size >= agreed->size;
    return (larger || suites().contains(run.suite)) && run.data == "normal" && run.weaker.empty();
  }

  // --- The profile's rules.

  void apply(const Rule& rule) {
    NameSearch cases(rule.cases);
    applied_ = std::make_shared<const JudgedRule>(
        JudgedRule{rule.id, rule.quantity_id(), rule.per, rule.mandatory, rule.reason, rule.source, shipped(rule)});
    switch (rule.per) {
      case Subject::gpu:
        for (const auto& [label, places] : places_) judge_subject(rule, cases, device(label).node, label, places);
        break;
      case Subject::node:
        for (const auto& [node, devices] : nodes_) judge_subject(rule, cases, node, "", runs_of(node));
        break;
      case Subject::delivery:
        judge_subject(rule, cases, "", "", runs_of(""));
    }
  }

  /// The runs with a device of the node, each once; every run for the delivery.
  std::vector<Place> runs_of(const std::string& node) const {
    std::vector<Place> runs;
    for (const Evidence& run : evidence_) {
      const auto of_node = [&](const DeliveredDevice& one) { return node.empty() || one.node == node; };
      if (std::any_of(run.devices.begin(), run.devices.end(), of_node)) runs.push_back({&run, 0});
    }
    return runs;
  }

  static bool all_on(const Evidence& run, const std::string& node) {
    return std::all_of(run.devices.begin(), run.devices.end(), [&](const DeliveredDevice& one) { return one.node == node; });
  }

  /// Findings and counters name their ranks, so a node has its own of a run over several nodes too.
  static bool names_ranks(Quantity quantity) {
    return quantity == Quantity::finding || quantity == Quantity::counter || quantity == Quantity::state;
  }

  /// What of a run names the ranks of a node.
  static Evidence part_of(const Evidence& run, const std::string& node) {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < run.devices.size(); ++rank) {
      if (run.devices[rank].node == node) ranks.push_back(rank);
    }
    Evidence part;
    part.unseen = run.unseen;
    part.analysis.unseen = run.analysis.unseen;
    for (const std::size_t rank : ranks) part.devices.push_back(run.devices[rank]);
    const auto is_its = [&](const Finding& finding) {
      return std::any_of(ranks.begin(), ranks.end(), [&](std::size_t rank) { return is_about(finding, rank); });
    };
    std::copy_if(run.findings.begin(), run.findings.end(), std::back_inserter(part.findings), is_its);
    for (const CounterChange& change : run.counters) {
      const auto rank = static_cast<std::size_t>(change.rank);
      if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) part.counters.push_back(change);
    }
    return part;
  }

  using Parts = std::vector<std::pair<RuleReading, const Evidence*>>;

  /// What is known of all parts; a part without a value is one that the run could not see.
  static RuleReading sum_of(const Parts& parts) {
    RuleReading sum;
    std::vector<std::string> of;
    bool excused = true;
    for (const auto& [part, run] : parts) {
      if (part.value) sum.value = sum.value.value_or(0) + *part.value;
      if (!part.of.empty()) of.push_back(part.of);
      const std::string& lost = part.value || !part.lost.empty() ? part.lost : part.why_not;
      if (sum.lost.empty() && !lost.empty()) sum.lost = fmt::format("{}: {}", run->file, lost);
      sum.excused = part.excused;
      if (part.value.value_or(1) == 0) continue;
      excused = excused && !part.agreed.empty();
      sum.agreed = excused ? part.agreed : "";
    }
    sum.of = some_of(of, "; ");
    if (!sum.value) std::swap(sum.why_not, sum.lost);
    return sum;
  }

  /// Of the runs that the sum is of; if it is not 0, without those that add nothing to it.
  static std::string files_of(const Parts& parts) {
    std::vector<std::string> all, adding;
    for (const auto& [part, run] : parts) {
      all.push_back(run->file);
      if (part.value.value_or(1) != 0) adding.push_back(run->file);
    }
    return some_of(adding.empty() ? all : adding);
  }

  void judge_subject(const Rule& rule, NameSearch& cases, const std::string& node, const std::string& label,
                     const std::vector<Place>& places) {
    if (rule.quantity == Quantity::gpus) return count_gpus(rule, node);
    bool any = false, nothing_to_compare = false, unknown = false, lowest_roofs = false;
    const Quantity quantity = rule.quantity;
    // A limit per node or delivery is on what happened in all its runs together.
    const bool adds_up = rule.per != Subject::gpu && (quantity == Quantity::counter || quantity == Quantity::results ||
                                                      quantity == Quantity::runs || quantity == Quantity::finding);
    Parts parts;
    for (const Place& place : places) {
      const Evidence& run = *place.evidence;
      const bool spans_nodes = rule.per == Subject::node && !all_on(run, node);
      if (spans_nodes && !names_ranks(quantity)) continue;
      if (rule.alone && run.together) continue;
      if (!rule.suite.empty() && rule.suite != run.suite) continue;
      const auto index = rule.per == Subject::gpu ? std::optional(place.index) : std::nullopt;
      if (index && is_share_of_roof(quantity) && has_several_models(run)) {
        lowest_roofs = true;
        continue;
      }
      if (rule.known && has_unknown(run, index)) {
        unknown = true;
        continue;
      }
      const auto part = spans_nodes ? std::optional(part_of(run, node)) : std::nullopt;
      for (RuleReading& reading : better_passes(rule, readings(rule, cases, part ? *part : run, index), run)) {
        if (rule.quantity == Quantity::differing_bits && reading.record && !compare_bits(reading)) {
          nothing_to_compare = true;
          continue;
        }
        any = true;
        note_agreement(reading, profile_.agreed, rule, part ? *part : run, run.analysis.roofline, index);
        if (adds_up) {
          parts.emplace_back(std::move(reading), &run);
        } else {
          add(decide(rule, reading, &run), node, label, run.file);
        }
      }
    }
    if (!parts.empty()) add(decide(rule, sum_of(parts), parts.front().second), node, label, files_of(parts));
    if (any) return;
    Check check = check_of(rule);
    check.expected =
        rule.least || rule.most
            ? fmt::format("{} {}", rule.least ? ">=" : "<=",
                          format_limit(rule.least ? *rule.least : *rule.most, type_of(rule.quantity).scale, Unit::byte))
            : "";
    check.found = "-";
    const auto is_of_suite = [&](const Place& place) { return place.evidence->suite == rule.suite; };
    const bool no_run = !rule.suite.empty() && std::none_of(places.begin(), places.end(), is_of_suite);
    const bool none_alone =
        rule.alone && std::all_of(places.begin(), places.end(), [](const Place& place) { return place.evidence->together; });
    check.explanation = no_run                                       ? fmt::format("no result of the suite {}", rule.suite)
                        : none_alone                                 ? "no run measured it while the other GPUs did not"
                        : unknown                                    ? kUnknown
                        : lowest_roofs                               ? kLowestRoofs
                        : type_of(rule.quantity).basis == Basis::run ? "no run could check for it"
                        : nothing_to_compare ? "no case has a fingerprint, or its launches differ: no bits to compare"
                                             : fmt::format("no result matches '{}'", rule.cases);
    add(std::move(check), node, label, "");
  }

  void count_gpus(const Rule& rule, const std::string& node) {
    std::set<std::string> uuids;
    for (const auto& [label, places] : places_) {
      const DeliveredDevice& one = device(label);
      if ((node.empty() || one.node == node) && !is_instance(one.uuid)) uuids.insert(plain(one.uuid));
    }
    uuids.erase("");
    RuleReading reading;
    reading.value = static_cast<double>(uuids.size());
    add(decide(rule, reading, nullptr), node, "", "");
  }

  /// Results of the same case and fingerprint key that have other bits than this one, unless most have this one's. Those whose
  /// launches differ, which have no hash, count as one group of their own; where no group is larger, the operation may be so.
  double differing_elsewhere(const Record& record) const {
    std::size_t all = 0, largest = 0;
    const auto& hashes = hashes_.at({record.name(), record.fingerprint->key});
    for (const auto& [hash, devices] : hashes) {
      all += devices.size();
      largest = std::max(largest, devices.size());
    }
    if (const auto varying = hashes.find(""); varying != hashes.end() && varying->second.size() == largest) return 0;
    const std::size_t same = hashes.at(record.fingerprint->hash).size();
    return 2 * same > all ? 0 : static_cast<double>(all - same);
  }

  /// Adds what other runs have. False where there is nothing to compare: its launches differ, as most of the others' do.
  bool compare_bits(RuleReading& reading) const {
    const Record& record = *reading.record;
    if (record.status != Status::ok) return true;
    const double elsewhere = differing_elsewhere(record);
    if (!record.fingerprint->deterministic && elsewhere + reading.value.value_or(0) == 0) return false;
    if (reading.value) *reading.value += elsewhere;
    return true;
  }

  static constexpr const char* kUnknown =
      "the GPU is not in the table of known GPUs: it may have less than its compute capability, from which its ceilings are";

  static constexpr const char* kLowestRoofs =
      "it was measured only beside devices of another model, in a file that has the lowest roofs of all: measure it alone too";

  static bool has_several_models(const Evidence& run) {
    return std::any_of(run.devices.begin(), run.devices.end(),
                       [&](const DeliveredDevice& one) { return one.name != run.devices.front().name; });
  }

  /// Whether the table of known GPUs of the run lacks a device of it, or any where none is given.
  static bool has_unknown(const Evidence& run, std::optional<std::size_t> device) {
    return std::any_of(run.findings.begin(), run.findings.end(), [&](const Finding& finding) {
      return finding.kind == FindingKind::unknown_device && (!device || is_about(finding, *device));
    });
  }

  static void note_unknown(const Evidence& run, std::set<std::string>& names) {
    for (std::size_t i = 0; i < run.devices.size(); ++i) {
      if (has_unknown(run, i)) names.insert(run.devices[i].name);
    }
  }

  static void count(const Check& check, SubjectVerdict& verdict) {
    ++verdict.checks;
    if (!check.mandatory || check.verdict == Verdict::pass) return;
    ++verdict.bad;
    verdict.verdict = std::max(verdict.verdict, check.verdict);
  }

  const Profile& profile_;
  const std::vector<Evidence>& evidence_;
  const AcceptanceTerms& terms_;
  std::map<std::pair<std::string, std::string>, std::string> labels_;  ///< in the first run of each device, by its key
  std::map<std::string, std::vector<Place>> places_;                   ///< by the device's label
  std::map<std::string, std::set<std::string>> nodes_;
  /// The devices that gave these bits, by case and fingerprint key.
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::set<std::string>>> hashes_;
  std::map<OwnRule, std::shared_ptr<const JudgedRule>> own_rules_;
  std::shared_ptr<const JudgedRule> applied_;  ///< that of the checks that are added
  std::vector<Check> checks_;
};

}  // namespace

std::string DeliveredDevice::label() const {
  return uuid.empty() ? fmt::format("{} of {}", id, node) : fmt::format("{} ({} of {})", uuid, id, node);
}

std::string Check::subject() const {
  if (!device.empty()) return device;
  return node.empty() ? "delivery" : "node " + node;
}

std::string some_of(const std::vector<std::string>& texts, std::string_view separator) {
  constexpr std::size_t kMost = 8;
  std::set<std::string> known;
  std::vector<std::string> named;
  for (const std::string& text : texts) {
    if (known.insert(text).second && named.size() < kMost) named.push_back(text);
  }
  return fmt::format("{}{}", fmt::join(named, separator),
                     known.size() > kMost ? fmt::format(" and {} more", known.size() - kMost) : "");
}

Judgement judge(const Profile& profile, const std::vector<Evidence>& evidence, const AcceptanceTerms& terms) {
  return Judge(profile, evidence, terms).judge();
}

}  // namespace roofmark
