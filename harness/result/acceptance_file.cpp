// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/acceptance_file.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "harness/machine/host.hpp"
#include "harness/result/facts_json.hpp"
#include "harness/result/fields.hpp"

namespace roofmark {

namespace {

Json to_json(const Check& check) {
  Json json = {{"rule", check.rule}};
  put(json, "quantity", check.quantity);
  if (const QuantityType* type = find_quantity(std::string_view(check.quantity).substr(0, check.quantity.find('.')))) {
    json["meaning"] = type->meaning;
  }
  json["per"] = name(check.per);
  json["mandatory"] = check.mandatory;
  put(json, "node", check.node);
  put(json, "device", check.device);
  put(json, "of", check.of);
  put(json, "file", check.file);
  json["verdict"] = name(check.verdict);
  put(json, "limit", check.limit);
  put(json, "measured", check.measured);
  put(json, "interval_low", check.low);
  put(json, "interval_high", check.high);
  put(json, "margin", check.margin);
  json["expected"] = check.expected;
  json["found"] = check.found;
  put(json, "explanation", check.explanation);
  put(json, "reason", check.reason);
  put(json, "source", check.source);
  put(json, "origin", check.origin);
  return json;
}

Json to_json(const SubjectVerdict& subject) {
  return {{"name", subject.name}, {"verdict", name(subject.verdict)}, {"checks", subject.checks}, {"bad", subject.bad}};
}

}  // namespace

Json to_json(const Judgement& judgement, const Profile& profile, const AcceptanceTerms& terms,
             const std::vector<ResultFile>& files, const std::string& judged_utc) {
  Json json = {{"judged_utc", judged_utc}, {"accepted", judgement.accepted()}, {"build", to_json(describe_build())}};
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
  for (const Check& check : judgement.checks) json["checks"].push_back(to_json(check));
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
    test.append_attribute("name") = (check.of.empty() ? check.rule : check.rule + ": " + check.of).c_str();
    auto& [tests, failures, skipped] = counts[owner];
    ++tests;
    if (check.verdict == Verdict::pass) continue;
    ++(check.mandatory ? failures : skipped);
    pugi::xml_node failure = test.append_child(check.mandatory ? "failure" : "skipped");
    failure.append_attribute("type") = std::string(name(check.verdict)).c_str();
    failure.append_attribute("message") = fmt::format("{}, limit {}", check.found, check.expected).c_str();
    std::string text;
    for (const std::string& line : {check.explanation, check.reason, check.source, check.origin}) {
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
