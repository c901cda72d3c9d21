// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/chosen_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "bench/families/sustained.hpp"
#include "bench/program/usage_error.hpp"
#include "bench/support/case_list.hpp"
#include "harness/model/case_pattern.hpp"

namespace roofmark {

namespace {

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) { return letter >= '0' && letter <= '9'; });
}

/// Whether the case has the name's family, operation, type, and its value of each key.
bool is_of(const CaseName& c, const CaseName& name) {
  return c.family == name.family && c.operation == name.operation && c.type == name.type &&
         std::all_of(name.shape.begin(), name.shape.end(),
                     [&](const auto& entry) { return value_of(c.shape, entry.first) == entry.second; });
}

/// Those of its name, and those whose absence from it means a value.
std::string keys_of(const Case& made) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : made.shape) keys.push_back(key);
  for (const auto& [key, value] : made.implied) {
    if (value_of(made.shape, key).empty()) keys.push_back(key);
  }
  return fmt::format("{}", fmt::join(keys, ", "));
}

/// A family reads from a name what it knows: what it has not read is a mistake. It may round a size, to whole parts of a
/// collective or whole lines of a chase, and exchange the ends of a pair that has no direction.
void check_all_read(const Case& made, const CaseName& name) {
  if (made.type != name.type) {
    throw std::invalid_argument(fmt::format("its type is {}, not {}", roofmark::name(made.type), roofmark::name(name.type)));
  }
  if (made.operation != name.operation) {
    throw std::invalid_argument(fmt::format("{} has no operation '{}'", made.family, name.operation));
  }
  for (const auto& [key, value] : name.shape) {
    const std::string has = value_of(made.shape, key);
    if (has.empty() && value_of(made.implied, key) == value) continue;
    if (has.empty()) throw std::invalid_argument(fmt::format("it has no key '{}' (its keys: {})", key, keys_of(made)));
    const bool rounded = key == "bytes" && is_number(has) && is_number(value);
    const bool exchanged = (key == "from" || key == "to") && value == value_of(made.shape, key == "from" ? "to" : "from");
    if (has != value && !rounded && !exchanged)
      throw std::invalid_argument(fmt::format("its {} is {}, not {}", key, has, value));
  }
}

/// The cases of the families by their names.
class Cases {
 public:
  Cases(const Listing& listing, bool between_ranks_alone)
      : listing_(listing), own_suite_(listing.suite), between_ranks_alone_(between_ranks_alone) {
    listing_.suite = SuiteName::full;
    if (lasts() && !listing_.cache) listing_.cache = Cache::warm;
  }

  /// Whether all of the cases last, as those of their suite.
  bool lasts() const { return facts_of(own_suite_).total_seconds.has_value(); }

  std::vector<Case> of(const CaseName& name, std::map<std::string, std::string>& about) {
    std::vector<Case> found = as_in_other_suites(name, about);
    for (Case& c : found) {
      if (lasts() && c.protocol.seconds == 0) c = sustained::lasting(std::move(c));
    }
    return found;
  }

 private:
  std::vector<Case> as_in_other_suites(const CaseName& name, std::map<std::string, std::string>& about) {
    const CaseRequest asked(name);
    Listing listing = listing_;
    constexpr Cache kCaches[] = {Cache::cold, Cache::warm};
    if (asked.has("cache")) listing.cache = asked.one_of("cache", kCaches, Cache::cold);
    for (const NamedFamily& family : families()) {
      // Those between ranks have the names of collectives.
      const bool is_meant = family.name == name.family || family.reach == Reach::between_ranks;
      if (!family.make || !is_meant || (between_ranks_alone_ && family.reach != Reach::between_ranks)) continue;
      if (std::optional<Case> made = family.make(listing, asked)) {
        check_all_read(*made, name);
        // What the device cannot do, no suite needs to have.
        if (family.sizes == Sizes::bytes && made->unsupported.empty()) check_listed(*made);
        about.emplace(made->family, family.about);
        return {*std::move(made)};
      }
    }
    return listed(name, about);
  }

  std::vector<Case> listed(const CaseName& name, std::map<std::string, std::string>& about) {
    if (groups_.empty()) list_all();
    about.insert(about_.begin(), about_.end());
    std::vector<Case> found;
    std::set<std::string> operations;
    for (const Group& group : groups_) {
      for (const Case& c : group.cases) {
        if (c.family == name.family) operations.insert(c.operation);
        if (is_of(c, name)) found.push_back(c);
      }
    }
    if (!found.empty()) return found;
    if (name.family == "ceilings") {
      throw std::invalid_argument("ceilings are probed where cases need them (`--filter '^ceilings/'` for all)");
    }
    if (operations.empty()) {
      if (const std::string_view suite = lasting_suite_with(name.family); !suite.empty()) {
        throw std::invalid_argument(fmt::format("'{0}' is a family of the suite {1}: add --suite {1}", name.family, suite));
      }
      if (const std::string_view how = how_to_measure(name.family); !how.empty()) {
        throw std::invalid_argument(fmt::format("'{}' {}", name.family, how));
      }
      throw std::invalid_argument(
          fmt::format("there is no family '{}' for this device (`{}` shows all)", name.family, list_command()));
    }
    if (!operations.contains(name.operation)) {
      throw std::invalid_argument(fmt::format("'{}' is not an operation of {} on this device ({})", name.operation, name.family,
                                              fmt::join(operations, ", ")));
    }
    refuse(name, fmt::format("no suite has it, and its sizes are fixed (`{} --filter '^{}/{}/'` shows those that exist)",
                             list_command(), name.family, name.operation));
  }

  /// Of a name that no suite has: NotTogether where the listed cases of its operation have each of its values.
  [[noreturn]] void refuse(const CaseName& name, const std::string& why) const {
    std::set<std::pair<std::string, std::string>> known;
    for (const Group& group : groups_) {
      for (const Case& c : group.cases) {
        if (c.family != name.family || c.operation != name.operation) continue;
        known.insert(c.shape.begin(), c.shape.end());
        known.emplace("type", roofmark::name(c.type));
      }
    }
    const bool all = known.contains({"type", std::string(roofmark::name(name.type))}) &&
                     std::all_of(name.shape.begin(), name.shape.end(),
                                 [&](const auto& entry) { return entry.first == "bytes" || known.contains(entry); });
    if (all) throw NotTogether(why);
    throw std::invalid_argument(why);
  }

  std::string_view list_command() const {
    return between_ranks_alone_ ? "roofmark-mpi list --suite full" : "roofmark list --suite full";
  }

  /// Of a family that this command does not have but another one; empty: none has it.
  std::string_view how_to_measure(const std::string& family) const {
    for (const NamedFamily& one : families()) {
      if (one.name != family) continue;
      const bool between_ranks = one.reach == Reach::between_ranks;
      if (between_ranks && !between_ranks_alone_) return "needs several ranks: `roofmark-mpi collectives` measures it";
      if (!between_ranks && between_ranks_alone_)
        return "needs no other rank: `roofmark run` measures it, `roofmark-mpi run` on all ranks at once";
    }
    return {};
  }

  /// The suite of cases that last which has such a family; empty: none has.
  std::string_view lasting_suite_with(const std::string& family) const {
    Listing listing = listing_;
    for (const Suite& suite : suites()) {
      if (!suite.total_seconds) continue;
      listing.suite = suite.id;
      for (const Group& group : list_families(listing, between_ranks_alone_).suite) {
        if (std::any_of(group.cases.begin(), group.cases.end(), [&](const Case& c) { return c.family == family; }))
          return suite.name;
      }
    }
    return {};
  }

  /// Throws unless a suite has the case with some number of bytes.
  void check_listed(const CaseName& made) {
    if (groups_.empty()) list_all();
    if (series_.contains(name_without(made, {"bytes"}))) return;
    refuse(made,
           fmt::format("no suite has such a case of any size (`{} --filter '^{}/'` shows them)", list_command(), made.family));
  }

  void list_all() {
    const std::optional<Cache> cache = std::exchange(listing_.cache, std::nullopt);
    std::vector<SuiteName> suites = {SuiteName::full, SuiteName::baseline, SuiteName::quick};
    if (lasts()) suites.push_back(own_suite_);
    for (const SuiteName suite : suites) {
      listing_.suite = suite;
      Lists lists = list_families(listing_, between_ranks_alone_);
      about_.merge(lists.about);
      std::move(lists.suite.begin(), lists.suite.end(), std::back_inserter(groups_));
    }
    listing_.suite = SuiteName::full;
    listing_.cache = cache;
    for (const Group& group : groups_) {
      for (const Case& c : group.cases) series_.insert(name_without(c, {"bytes"}));
    }
  }

  Listing listing_;
  SuiteName own_suite_;
  bool between_ranks_alone_;
  std::vector<Group> groups_ = {};  ///< of all suites
  std::set<CaseName> series_ = {};  ///< their names without the bytes
  std::map<std::string, std::string> about_ = {};
};

/// What cases of one group share beside the machine's setting: all but their words.
CaseName sizes_of(const CaseName& name) {
  CaseName sizes = name;
  std::erase_if(sizes.shape, [](const auto& entry) { return !is_number(entry.second); });
  return sizes;
}

/// Compares each case with the first that differs from it in one word alone; where there are such for several keys, with the
/// first of each key.
void compare_with_first(Group& group) {
  for (std::size_t i = 1; i < group.cases.size(); ++i) {
    std::set<std::string> keys;
    for (std::size_t first = 0; first < i; ++first) {
      if (!group.cases[first].unsupported.empty()) continue;
      try {
        Comparison comparison = compare(group.cases[first], group.cases[i]);
        if (keys.insert(comparison.key).second) group.comparisons.push_back(std::move(comparison));
      } catch (const std::invalid_argument&) {
        // They differ in more than one word.
      }
    }
  }
}

/// Those of all of its names that exist.
std::vector<Case> cases_of(const std::string& pattern, Cases& cases, Lists& lists) {
  std::vector<Case> all;
  std::string at_fault, first_left_out;  // each a name and the reason
  std::size_t left_out = 0;
  const auto refuse = [&](const std::string& why) { throw UsageError(fmt::format("--case '{}': {}", pattern, why)); };
  try {
    const std::vector<CaseName> names = names_of_pattern(pattern);
    for (const CaseName& name : names) {
      at_fault = names.size() > 1 ? name.name() + ": " : "";
      try {
        std::vector<Case> found = cases.of(name, lists.about);
        std::move(found.begin(), found.end(), std::back_inserter(all));
      } catch (const NotTogether& error) {
        if (left_out++ == 0) first_left_out = at_fault + error.what();
      }
    }
    if (all.empty()) refuse(first_left_out);
    if (left_out > 0) {
      lists.left_out.push_back(fmt::format("--case '{}': {} of {} combinations left out; the first: {}", pattern, left_out,
                                           names.size(), first_left_out));
    }
  } catch (const std::invalid_argument& error) {
    refuse(at_fault + error.what());
  }
  return all;
}

}  // namespace

void choose(Lists& lists, const Listing& listing, const std::vector<std::string>& patterns, bool between_ranks_alone) {
  Cases cases(listing, between_ranks_alone);
  CaseList list(listing);
  std::set<std::string> chosen;
  for (const std::string& pattern : patterns) {
    std::vector<Group> groups;
    std::map<std::pair<CaseName, std::string>, std::size_t> group_of;
    for (Case& c : cases_of(pattern, cases, lists)) {
      if (!chosen.insert(c.name()).second) continue;  // it measures the same as another
      // Loads that last follow one another.
      const auto [at, is_new] =
          group_of.emplace(std::pair(cases.lasts() ? static_cast<const CaseName&>(c) : sizes_of(c), c.setting), groups.size());
      if (is_new) groups.emplace_back();
      groups[at->second].cases.push_back(std::move(c));
    }
    for (Group& group : groups) {
      compare_with_first(group);
      list.add(std::move(group));
    }
  }
  lists.chosen = list.take();
}

}  // namespace roofmark
