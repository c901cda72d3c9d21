// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/acceptance_file.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/machine/host.hpp"
#include "harness/result/facts_json.hpp"
#include "harness/result/fields.hpp"

namespace roofmark {

namespace {

Json to_json(const JudgedRule& rule) {
  Json json = {{"rule", rule.id}};
  put(json, "quantity", rule.quantity);
  if (const QuantityType* type = find_quantity(std::string_view(rule.quantity).substr(0, rule.quantity.find('.')))) {
    json["meaning"] = type->meaning;
  }
  json["per"] = name(rule.per);
  put(json, "reason", rule.reason);
  put(json, "source", rule.source);
  put(json, "origin", rule.origin);
  return json;
}

/// All of a check but its rule and its case.
Json to_json(const Check& check) {
  Json json = {{"verdict", name(check.verdict)}, {"mandatory", check.mandatory}};
  put(json, "node", check.node);
  put(json, "device", check.device);
  put(json, "file", check.file);
  put(json, "limit", check.limit);
  put(json, "measured", check.measured);
  put(json, "interval_low", check.low);
  put(json, "interval_high", check.high);
  put(json, "margin", check.margin);
  json["expected"] = check.expected;
  json["found"] = check.found;
  put(json, "explanation", check.explanation);
  return json;
}

/// An order in which checks that are alike but for their case are equal.
bool precedes(const Check* a, const Check* b) {
  const auto all_but_case = [](const Check& check) {
    return std::tie(check.rule, check.node, check.device, check.file, check.mandatory, check.verdict, check.limit,
                    check.measured, check.low, check.high, check.margin, check.expected, check.found, check.explanation);
  };
  return all_but_case(*a) < all_but_case(*b);
}

/// The rules with their checks, both in the order of their first check, and the names that checks are of.
void put_checks(Json& json, const std::vector<Check>& checks) {
  std::map<std::string_view, std::size_t> names;
  std::map<const JudgedRule*, std::size_t> places;
  struct Entry {
    const Check* check;
    std::vector<std::size_t> of;
  };
  std::vector<std::vector<Entry>> rules;  // the entries of each
  std::map<const Check*, std::pair<std::size_t, std::size_t>, decltype(&precedes)> entries(&precedes);
  for (const Check& check : checks) {
    const auto [rule, new_rule] = places.try_emplace(check.rule.get(), rules.size());
    if (new_rule) rules.emplace_back();
    std::vector<Entry>& all = rules[rule->second];
    if (check.of.empty()) {
      all.push_back({&check, {}});
      continue;
    }
    const auto [entry, new_entry] = entries.try_emplace(&check, rule->second, all.size());
    if (new_entry) all.push_back({&check, {}});
    all[entry->second.second].of.push_back(names.try_emplace(check.of, names.size()).first->second);
  }
  std::vector<std::string_view> ordered(names.size());
  for (const auto& [name, index] : names) ordered[index] = name;
  json["names"] = ordered;
  for (const std::vector<Entry>& all : rules) {
    Json rule = to_json(*all.front().check->rule);
    for (const Entry& entry : all) {
      rule["checks"].push_back(to_json(*entry.check));
      if (!entry.of.empty()) rule["checks"].back()["of"] = entry.of;
    }
    json["rules"].push_back(std::move(rule));
  }
}

Json to_json(const SubjectVerdict& subject) {
  return {{"name", subject.name}, {"verdict", name(subject.verdict)}, {"checks", subject.checks}, {"bad", subject.bad}};
}

}  // namespace

Json to_json(const Judgement& judgement, const Profile& profile, const AcceptanceTerms& terms,
             const std::vector<ResultFile>& files, const std::string& judged_utc) {
  Json json = {{"judged_utc", judged_utc},
               {"verdict_version", kVerdictVersion},
               {"accepted", judgement.accepted()},
               {"build", to_json(describe_build())}};
  json["profile"] = {{"name", profile.name}, {"title", profile.title}, {"inherited", profile.inherited}};
  put(json, "expected_gpus", terms.expected_gpus);
  put(json, "max_age_seconds", terms.max_age_seconds);
  for (const ResultFile& file : files) {
    json["files"].push_back({{"path", file.path.string()}, {"sha256", file.sha256}, {"not_held", file.not_held}});
  }
  if (!judgement.unknown_devices.empty()) json["unknown_devices"] = judgement.unknown_devices;
  if (!judgement.doubts.empty()) json["doubts"] = judgement.doubts;
  json["delivery"] = to_json(judgement.delivery);
  for (const SubjectVerdict& node : judgement.nodes) json["nodes"].push_back(to_json(node));
  for (const SubjectVerdict& device : judgement.devices) json["devices"].push_back(to_json(device));
  put_checks(json, judgement.checks);
  return json;
}

std::string to_junit(const Judgement& judgement, const Profile& profile) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("testsuites");
  root.append_attribute("name") = ("roofmark accept, profile " + profile.name).c_str();
  std::map<std::string, pugi::xml_node> suites;
  std::map<std::string, std::array<unsigned, 3>> counts;  // tests, failures, skipped
  for (const Check& check : judgement.checks) {
    const std::string owner = check.subject();
    pugi::xml_node& suite = suites[owner];
    if (!suite) {
      suite = root.append_child("testsuite");
      suite.append_attribute("name") = owner.c_str();
    }
    pugi::xml_node test = suite.append_child("testcase");
    test.append_attribute("classname") = owner.c_str();
    test.append_attribute("name") = (check.of.empty() ? check.rule->id : check.rule->id + ": " + check.of).c_str();
    auto& [tests, failures, skipped] = counts[owner];
    ++tests;
    if (check.verdict == Verdict::pass) continue;
    ++(check.mandatory ? failures : skipped);
    pugi::xml_node failure = test.append_child(check.mandatory ? "failure" : "skipped");
    failure.append_attribute("type") = std::string(name(check.verdict)).c_str();
    failure.append_attribute("message") = fmt::format("{}, limit {}", check.found, check.expected).c_str();
    std::string text;
    for (const std::string& line : {check.explanation, check.rule->reason, check.rule->source, check.rule->origin}) {
      if (!line.empty()) text += line + "\n";
    }
    failure.text().set(text.c_str());
  }
  for (auto& [owner, suite] : suites) {
    const auto& [tests, failures, skipped] = counts.at(owner);
    suite.append_attribute("tests") = tests;
    suite.append_attribute("failures") = failures;
    suite.append_attribute("skipped") = skipped;
  }
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace roofmark
