// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/json_text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "harness/result/run_json.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;

Json value(const std::string& text) { return JsonText(text).root().value(); }

std::string refused(const std::string& text) {
  try {
    value(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "read";
}

/// What a run writes: numbers of every magnitude, escapes, nested arrays, members without order.
std::string result_text() {
  roofmark::Run run;
  run.header.facts.seed = 18446744073709551615u;
  run.header.facts.host.name = "n\u00f6de \"7\"\\\n\t\x01";
  run.records = {ok_record("stream", "copy", {{{{resource::dram, 1e9}}}}, 1e-3),
                 ok_record("gemm", "", {{{{resource::fp32_fma, 1.0 / 3}}}}, 4.9e-324)};
  std::mt19937_64 random(3);
  for (Record& record : run.records) {
    for (Sample& sample : record.measurement->samples) {
      sample.seconds = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 150);
    }
  }
  const Conclusions conclusions = conclude(run);
  Json json = to_json(run, conclusions);
  json["offset"] = -9223372036854775807 - 1;
  json["nested"] = {{0, 1}, Json::array(), Json::object()};
  json["none"] = nullptr;
  return json.dump(1);
}

TEST(JsonText, GivesTheValuesOfNlohmannsParser) {
  const std::string text = result_text();
  EXPECT_EQ(value(text).dump(), Json::parse(text).dump());
  for (const char* number : {"0", "-0.0", "1.0", "1E5", "0.1e1", "1e-400", "5e-324", "2.2250738585072011e-308",
                             "18446744073709551615", "-9223372036854775808", "100000000000000000000.0"}) {
    const Json read = value(number), expected = Json::parse(number);
    EXPECT_EQ(read.dump(), expected.dump()) << number;
    EXPECT_EQ(read.type(), expected.type()) << number;
  }
}

TEST(JsonText, ElementsAndMembersAreHandedOverInOrder) {
  const JsonText text(R"({"a": [1, {"b": [2]}, 3], "c": {"z": 4, "y": null}})");
  const JsonText::View root = text.root();
  std::vector<std::string> seen;
  root.at("a").for_each([&](const JsonText::View& element) { seen.push_back(element.value().dump()); });
  EXPECT_THAT(seen, testing::ElementsAre("1", R"({"b":[2]})", "3"));
  seen.clear();
  root.at("c").for_each([&](std::string_view name, const JsonText::View& member) {
    seen.push_back(std::string(name) + " " + member.value().dump());
  });
  EXPECT_THAT(seen, testing::ElementsAre("z 4", "y null"));
  EXPECT_THROW(root.for_each([](const JsonText::View&) {}), std::invalid_argument);
  EXPECT_THROW(root.at("a").for_each([](std::string_view, const JsonText::View&) {}), std::invalid_argument);
  EXPECT_EQ(root.at("a").at(2).get<int>(), 3);
  EXPECT_THROW(root.at("a").at(3), std::invalid_argument);
  EXPECT_THROW(root.at(0), std::invalid_argument);
}

TEST(JsonText, MembersAreReadAlone) {
  const JsonText text(R"({"a": {"b": 1, "c": [2], "d": 3}, "n": [1, -2, 0.5, true, false], "m": [1, "2"]})");
  const JsonText::View root = text.root();
  EXPECT_EQ(root.members(), 3u);
  EXPECT_TRUE(root.contains("a"));
  EXPECT_FALSE(root.contains("b"));
  constexpr std::array<std::string_view, 2> kNames = {"c", "d"};
  EXPECT_EQ(root.at("a").value_without(kNames).dump(), R"({"b":1})");
  EXPECT_THAT(root.at("n").numbers(), testing::ElementsAre(1, -2, 0.5, 1, 0));
  EXPECT_THROW(root.at("m").numbers(), std::invalid_argument);
  EXPECT_THROW(root.at("a").numbers(), std::invalid_argument);
  EXPECT_THROW(root.at("b"), std::invalid_argument);
  EXPECT_THROW(root.at("n").value_without(kNames), std::invalid_argument);
  EXPECT_EQ(root.at("a").value("b", 7), 1);
  EXPECT_EQ(root.at("a").value("e", 7), 7);
  EXPECT_THROW(root.value("a", 7), std::invalid_argument);
  EXPECT_THROW(root.at("n").value("a", 7), std::invalid_argument) << "no object";
}

TEST(JsonText, AValueIsReadAsWhatItIsOrRefused) {
  const JsonText text(R"({"true": true, "int": -3, "large": 4294967296, "double": 2.5, "text": "x", "null": null,
                          "texts": ["a", "b"], "shares": {"p": 0.5, "q": 1}})");
  const JsonText::View root = text.root();
  EXPECT_TRUE(root.at("true").get<bool>());
  EXPECT_EQ(root.at("int").get<int>(), -3);
  EXPECT_EQ(root.at("int").get<double>(), -3.0);
  EXPECT_EQ(root.at("large").get<std::int64_t>(), 4294967296);
  EXPECT_EQ(root.at("large").get<std::size_t>(), 4294967296u);
  EXPECT_EQ(root.at("double").get<double>(), 2.5);
  EXPECT_EQ(root.at("text").get<std::string>(), "x");
  EXPECT_TRUE(root.at("null").is_null());
  EXPECT_THAT(root.at("texts").strings(), testing::ElementsAre("a", "b"));
  EXPECT_EQ(root.at("shares").numbers_by_name(), (std::map<std::string, double>{{"p", 0.5}, {"q", 1}}));
  EXPECT_THROW(root.at("large").get<int>(), std::invalid_argument);
  EXPECT_THROW(root.at("int").get<std::size_t>(), std::invalid_argument);
  EXPECT_THROW(root.at("double").get<int>(), std::invalid_argument);
  EXPECT_THROW(root.at("int").get<bool>(), std::invalid_argument);
  EXPECT_THROW(root.at("text").get<double>(), std::invalid_argument);
  EXPECT_THROW(root.at("null").get<std::string>(), std::invalid_argument);
  EXPECT_THROW(root.at("texts").integers(), std::invalid_argument);
  EXPECT_THROW(root.at("texts").numbers_by_name(), std::invalid_argument);
}

TEST(JsonText, ValuesAreEqualOrNot) {
  const auto equal = [](const char* a, const char* b) { return JsonText(a).root().equals(JsonText(b).root(), "p"); };
  EXPECT_TRUE(equal(R"({"a": [1, 0.5, null, true, "x", {"y": -3}]})", R"({ "a":[1,5e-1,null,true,"\u0078",{"y":-3}] })"));
  EXPECT_TRUE(equal(R"({"a": 1, "p": 2, "b": 3})", R"({"p": 7, "a": 1, "b": 3})")) << "without the member";
  EXPECT_TRUE(equal(R"({"p": 2})", "{}"));
  EXPECT_FALSE(equal(R"({"a": {"p": 2}})", R"({"a": {"p": 3}})")) << "only of the two objects themselves";
  for (const char* other : {R"({"a": [1, 2]})", R"({"a": [1]})", R"({"a": [1, 2, 3, 4]})", R"({"a": [1, 2, "3"]})",
                            R"({"a": [1, 2, 3.5]})", R"({"b": [1, 2, 3]})", R"({"a": [1, 2, 3], "b": 1})", "{}", "[]"}) {
    EXPECT_FALSE(equal(R"({"a": [1, 2, 3]})", other)) << other;
    EXPECT_FALSE(equal(other, R"({"a": [1, 2, 3]})")) << other;
  }
}

TEST(JsonText, StringsAreReadAsWrittenOrPrintable) {
  const char* const text = R"({"a\u001b": ["x\ny", "\u202e"], "b": "z\u0007"})";
  EXPECT_EQ(JsonText(text).root().value().dump(), R"({"a\u001b":["x\ny","\u202e"],"b":"z\u0007"})"_json.dump());
  const JsonText shown(text, JsonText::Strings::printable);
  EXPECT_EQ(shown.root().value().dump(-1, ' ', true), R"({"a\ufffd":["x\ufffdy","\ufffd"],"b":"z\ufffd"})");
  EXPECT_EQ(shown.root().at("b").get<std::string>(), "z\xef\xbf\xbd");
  EXPECT_TRUE(shown.root().equals(JsonText(text).root()));
}

TEST(JsonText, NumbersThatNoQuantityHasAreRefused) {
  JsonText(R"({"a": [0, -0.0, 1e-89, -1e89, 18446744073709551615]})").root().check_numbers();
  for (const char* number : {"1e90", "-1e308", "1e-308", "-5e-324"}) {
    const JsonText text(fmt::format(R"({{"a": [{{"b": {}}}]}})", number));
    EXPECT_THROW(text.root().check_numbers(), std::invalid_argument) << number;
  }
}

TEST(JsonText, SaysInALineWhyATextIsRefused) {
  EXPECT_EQ(refused(""), "it is empty");
  EXPECT_EQ(refused(" \n"), "it is empty");
  for (const char* cut : {"{", "[1, 2", "{\"a\": 1}}", "[1,]", "{\"a\" 1}", "[1] 2", "nul", "[NaN]", "[\"\x01\"]", "\"\\x\"",
                          "[\"\\ud800\"]", "[\"\\udc00\"]"}) {
    EXPECT_EQ(refused(cut), "it is truncated, or not JSON") << cut;
  }
  EXPECT_EQ(refused("\xEF\xBB\xBF{}"), "it begins with a byte order mark");
  EXPECT_EQ(refused("[\"\xff\"]"), "it is not UTF-8");
  EXPECT_EQ(refused("[\"\xed\xa0\x80\"]"), "it is not UTF-8");  // half of a surrogate pair
  EXPECT_EQ(refused(R"({"a": 1, "b": 2, "\u0061": 3})"), R"(an object has two members "a")");
  EXPECT_EQ(refused(R"([{"b": {"a\n": 1, "a\n": 1}}])"), R"(an object has two members "a\n")");
  EXPECT_EQ(refused(std::string(1000, '[') + std::string(1000, ']')), "read");
  EXPECT_EQ(refused(std::string(2000, '[') + std::string(2000, ']')), "it is nested more than 1024 levels deep");
  for (const char* number : {"[18446744073709551616]", "[-9223372036854775809]", "[1e999]", "[01]", "[-]"}) {
    EXPECT_EQ(refused(number), "a number is malformed or out of range") << number;
  }
}

TEST(JsonText, OfADamagedTextNothingElseIsReadThanByNlohmannsParser) {
  const std::string whole = result_text();
  std::mt19937 random(5);
  int read = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    for (int i = 0; i <= round % 3; ++i) {
      damaged[random() % damaged.size()] = round % 2 == 0 ? static_cast<char>(random()) : "0-9\"{}[],:eE.+\\u"[random() % 16];
    }
    const Json expected = Json::parse(damaged, nullptr, false);
    if (const std::string why = refused(damaged); why == "read") {
      ++read;
      EXPECT_EQ(value(damaged).dump(), expected.dump());
    } else if (why == "it is truncated, or not JSON" || why == "it is not UTF-8") {
      EXPECT_TRUE(expected.is_discarded()) << why;
    }
  }
  EXPECT_GT(read, 50);
}

}  // namespace
}  // namespace roofmark
