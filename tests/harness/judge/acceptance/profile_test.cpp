// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/acceptance/profile.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace roofmark {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

const std::string kHead = R"(title = "t"
devices = "NVIDIA H200"
example = "NVIDIA H200"
suite = "quick"
)";

std::string rule(const std::string& keys) { return kHead + "[rule.one]\n" + keys; }
const std::string kGood = "cases = '^gemm/'\nquantity = 'of_theoretical'\nleast = 0.5\nreason = 'r'\n";

std::string refusal(const std::string& text) {
  try {
    parse_profile(text, "p.toml");
  } catch (const ProfileError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Profile, EveryQuantityIsWhereItsNumberSays) {
  int i = 0;
  for (const QuantityType& type : kQuantities) {
    EXPECT_EQ(static_cast<int>(type.quantity), i++);
    EXPECT_EQ(find_quantity(type.id), &type);
  }
}

TEST(Profile, ReadsARule) {
  const Profile profile =
      parse_profile(rule(kGood + "per = 'node'\nmandatory = false\nsource = 's'\npublished = 0.8\n"), "p.toml");
  ASSERT_EQ(profile.rules.size(), 1u);
  const Rule& one = profile.rules.front();
  EXPECT_EQ(one.id, "one");
  EXPECT_EQ(one.quantity, Quantity::of_theoretical);
  EXPECT_EQ(one.least, 0.5);
  EXPECT_EQ(one.most, std::nullopt);
  EXPECT_EQ(one.per, Subject::node);
  EXPECT_EQ(one.mandatory, Mandatory::no);
  EXPECT_EQ(one.published, 0.8);
  EXPECT_EQ(one.origin, "p.toml:5");
}

TEST(Profile, AnUnknownCounterOrThrottleReasonIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(refusal(rule("quantity = 'counter.ecc'\nmost = 0\nreason = 'r'\n")),
              HasSubstr("unknown counter 'ecc'; known are ecc_corrected, ecc_uncorrected"));
  EXPECT_THAT(refusal(rule("cases = '.'\nquantity = 'share_of_time.brake'\nmost = 0\nreason = 'r'\n")),
              HasSubstr("unknown throttle reason 'brake'; known are application_clocks, power_cap, hardware_slowdown"));
  EXPECT_EQ(refusal(rule("quantity = 'counter.xid'\nmost = 0\nreason = 'r'\n")), "accepted");
  EXPECT_THAT(refusal(rule("quantity = 'state.links'\nleast = 18\nreason = 'r'\n")), HasSubstr("unknown counter 'links'"));
  EXPECT_EQ(refusal(rule("quantity = 'state.nvlink_links'\nleast = 18\nreason = 'r'\n")), "accepted");
  EXPECT_EQ(refusal(rule("cases = '.'\nquantity = 'share_of_time.power_brake'\nmost = 0\nreason = 'r'\n")), "accepted");
}

TEST(Profile, AStateOfTheDeviceHasItsLimitOnOneSide) {
  const auto of = [](const std::string& keys) { return refusal(rule("cases = '.'\nreason = 'r'\nquantity = " + keys)); };
  EXPECT_EQ(of("'temperature'\nmost = 85\n"), "accepted");
  EXPECT_EQ(of("'slowdown_margin'\nleast = 5\n"), "accepted");
  EXPECT_EQ(of("'power'\nleast = 600\n"), "accepted");
  EXPECT_THAT(of("'memory_temperature'\nleast = 85\n"), HasSubstr("has a `least`, and memory_temperature takes `most`"));
  EXPECT_THAT(of("'clock'\nmost = 1980\n"), HasSubstr("has a `most`, and clock takes `least`"));
}

TEST(Profile, ARuleIsMandatoryAlwaysNeverOrWhereItIsMeasured) {
  const auto mandatory = [](const std::string& text) { return parse_profile(rule(kGood + text), "p.toml").rules[0].mandatory; };
  EXPECT_EQ(mandatory(""), Mandatory::yes);
  EXPECT_EQ(mandatory("mandatory = true\n"), Mandatory::yes);
  EXPECT_EQ(mandatory("mandatory = 'where measured'\n"), Mandatory::where_measured);
  EXPECT_THAT(refusal(rule(kGood + "mandatory = 'maybe'\n")), HasSubstr("expects true, false or \"where measured\""));
  EXPECT_THAT(refusal(rule(kGood + "mandatory = 1\n")), HasSubstr("expects true, false or \"where measured\""));
}

TEST(Profile, RulesKeepTheOrderInWhichTheyAreWritten) {
  const Profile profile = parse_profile(kHead + "[rule.z]\n" + kGood + "[rule.a]\n" + kGood, "p.toml");
  EXPECT_EQ(profile.rules[0].id, "z");
  EXPECT_EQ(profile.rules[1].id, "a");
}

TEST(Profile, AnInheritedRuleIsChangedKeyByKey) {
  const Profile profile = parse_profile("inherit = 'generic'\n" + kHead + "[rule.dram_read]\nleast = 0.99\n", "p.toml");
  ASSERT_GT(profile.rules.size(), 10u);
  const auto found =
      std::find_if(profile.rules.begin(), profile.rules.end(), [](const Rule& r) { return r.id == "dram_read"; });
  EXPECT_EQ(found->least, 0.99);
  EXPECT_EQ(found->quantity, Quantity::of_theoretical);
  EXPECT_NE(found->reason, "");
  EXPECT_EQ(found->origin, "p.toml:6");
  EXPECT_THAT(profile.inherited, testing::ElementsAre("generic", "common"));
}

TEST(Profile, ALimitDoesNotCarryOverToAnotherQuantity) {
  EXPECT_THAT(refusal("inherit = 'generic'\n" + kHead + "[rule.dram_read]\nquantity = 'rate'\n"), HasSubstr("has no limit"));
  EXPECT_THAT(refusal("inherit = 'generic'\n" + kHead + "[rule.dram_read]\nquantity = 'rate'\nleast = 4e12\n"),
              HasSubstr("absolute limit and no `source`"));
}

TEST(Profile, AnInheritedRuleIsDropped) {
  const auto ids = [](const std::string& rules) {
    std::vector<std::string> all;
    for (const Rule& rule : parse_profile("inherit = 'generic'\n" + kHead + rules, "p.toml").rules) all.push_back(rule.id);
    return all;
  };
  EXPECT_THAT(ids(""), testing::Contains("product_fp8"));
  EXPECT_THAT(ids("[rule.product_fp8]\ndrop = true\n"), testing::Not(testing::Contains("product_fp8")));
  EXPECT_THAT(refusal(kHead + "[rule.one]\ndrop = true\n"), HasSubstr("not inherited"));
  const auto refusal_of_heir = [](const std::string& rules) { return refusal("inherit = 'generic'\n" + kHead + rules); };
  for (const std::string keys : {"drop = true\nmost = 1\n", "drop = false\n", "drop = 'yes'\n"})
    EXPECT_THAT(refusal_of_heir("[rule.product_fp8]\n" + keys), HasSubstr("drop = true as the only key")) << keys;
  EXPECT_THAT(
      refusal_of_heir("[rule.product_fp9]\nleast = 0.5\n"),
      AllOf(HasSubstr("rule 'product_fp9' has no `quantity` and is not inherited; inherited are "), HasSubstr("product_fp8")));
}

TEST(Profile, IsForDevicesOfItsNamesWithoutTheExceptions) {
  const Profile cpu = read_profile("cpu");
  EXPECT_TRUE(DeviceSearch(cpu)("AMD EPYC 9654"));
  EXPECT_FALSE(DeviceSearch(cpu)("NVIDIA H200"));
  for (const char* of_virtual_machine : {"GRID A100X-40C", "NVIDIA A10-24Q"}) {
    EXPECT_FALSE(DeviceSearch(cpu)(of_virtual_machine)) << of_virtual_machine;
    EXPECT_TRUE(DeviceSearch(read_profile("generic"))(of_virtual_machine)) << of_virtual_machine;
  }
  EXPECT_EQ(cpu.devices_in_words(), "'.*' except '(NVIDIA|GRID|Tesla|Quadro|GeForce).*'");
  EXPECT_TRUE(DeviceSearch(read_profile("h200_sxm"))("NVIDIA H200"));
  EXPECT_EQ(read_profile("h200_sxm").devices_in_words(), "'NVIDIA H200'");
}

TEST(Profile, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(refusal(rule(kGood)), "accepted");
  EXPECT_THAT(refusal(rule(kGood + "tolerance = 1\n")),
              HasSubstr("p.toml:10: unknown key 'tolerance'; known are alone, cases, known, least"));
  EXPECT_THAT(refusal(rule("cases = '('\nquantity = 'rate'\n")), HasSubstr("p.toml:6: '(' is not a regular expression"));
  EXPECT_THAT(
      refusal(rule("cases = '" + std::string(100000, '(') + std::string(100000, ')') + "'\nquantity = 'rate'\n")),
      HasSubstr("p.toml:6: '((((((((((((((((((((...' is too long for a regular expression: 200000 characters, at most 1000"));
  EXPECT_THAT(refusal(rule("quantity = 'speed'\n")), HasSubstr("unknown quantity 'speed'; known are of_theoretical_clock"));
  EXPECT_THAT(refusal(rule("quantity = 'finding'\n")), HasSubstr("write finding.KIND"));
  EXPECT_THAT(refusal(rule("quantity = 'finding.magic'\n")),
              HasSubstr("unknown kind of finding 'magic'; known are foreign_process, "));
  EXPECT_THAT(refusal(rule("quantity = 'results.bad'\n")), HasSubstr("expects a status: wrong, failed, not_run"));
  EXPECT_THAT(refusal(rule("quantity = 'results.wrong'\nreason = 'r'\n")), HasSubstr("has no limit"));
  EXPECT_THAT(refusal(rule("quantity = 'results.wrong'\nreason = 'r'\nmost = 0\ncases = '.'\n")),
              HasSubstr("has `cases`, but results applies to the whole run"));
  EXPECT_THAT(refusal(rule("quantity = 'rate'\nreason = 'r'\nleast = 1\n")), HasSubstr("has no `cases`"));
  EXPECT_THAT(refusal(rule("cases = '.'\nquantity = 'rate'\nreason = 'r'\nleast = 1e12\n")),
              HasSubstr("absolute limit and no `source`"));
  EXPECT_THAT(refusal(rule(kGood + "most = 1\n")), HasSubstr("has two limits"));
  EXPECT_THAT(refusal(rule("cases = '.'\nquantity = 'cv'\nmost = 0.1\n")), HasSubstr("has no `reason`"));
  EXPECT_THAT(refusal(rule("cases = '.'\nquantity = 'cv'\nmost = nan\n")), HasSubstr("finite number"));
  EXPECT_THAT(refusal(rule("cases = '.'\nquantity = 'cv'\nmost = '0.1'\n")), HasSubstr("finite number, without quotes"));
  EXPECT_THAT(refusal(rule("cases = '.'\nquantity = 'cv'\nleast = '90 %'\n")),
              HasSubstr("without quotes and unit, 0.9 for 90 %"));
  EXPECT_THAT(refusal(rule(kGood + "per = 'rack'\n")), HasSubstr("\"gpu\", \"node\" or \"delivery\""));
  EXPECT_THAT(refusal(rule("quantity = 'version.driver'\nleast = 570\nreason = 'r'\n")), HasSubstr("in quotes"));
  EXPECT_THAT(refusal(rule("quantity = 'gpus'\nleast = 8\nreason = 'r'\n")), HasSubstr("per = \"node\" or \"delivery\""));
  for (const OwnRule own : kOwnRules) {
    const std::string id(name(own));
    EXPECT_THAT(refusal(kHead + "[rule." + id + "]\n" + kGood),
                HasSubstr("every delivery is held to a rule '" + id + "' of roofmark's own: choose another name"));
  }
  EXPECT_THAT(refusal(kHead), HasSubstr("no rules"));
  EXPECT_THAT(refusal("title = 't'\n"), HasSubstr("`devices` is missing"));
  EXPECT_THAT(refusal("a = [1,\n"), HasSubstr("p.toml:"));
  EXPECT_THAT(refusal("inherit = 'none.toml'\n"), HasSubstr("no profile 'none.toml': it is neither a TOML file nor one of"));
  EXPECT_THAT(refusal("rule = 3\n" + kHead), HasSubstr("expects tables [rule.ID]"));
  std::string other = kHead;
  other.replace(other.find("example = \"NVIDIA H200\""), 23, "example = \"NVIDIA H100\"");
  EXPECT_THAT(refusal(other + "[rule.one]\n" + kGood), HasSubstr("does not match the example"));
}

TEST(Profile, WhatIsNoTextFileIsRefused) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("roofmark_profile_{}", ::getpid());
  fs::create_directories(folder);
  const auto refused = [](const fs::path& path) {
    try {
      read_profile(path.string());
    } catch (const ProfileError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const fs::path pipe = folder / "pipe.toml", large = folder / "large.toml";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(large) << "#";
  fs::resize_file(large, std::uintmax_t{1} << 40);
  EXPECT_EQ(refused(folder), folder.string() + " is a folder, not a file");
  EXPECT_EQ(refused(pipe), pipe.string() + " is not a regular file");
  EXPECT_EQ(refused(large), large.string() + " is larger than 16 MiB");
  fs::remove_all(folder);
}

TEST(Profile, AKeyOfManyPartsIsRefused) {
  const auto deep = [](int parts) {
    std::string key = "a";
    for (int i = 1; i < parts; ++i) key += ".a";
    return refusal(kHead + "[" + key + "]\n" + key + " = 1\n");
  };
  EXPECT_EQ(deep(100'000), "p.toml:5: a key of too many parts");
  EXPECT_THAT(deep(1000), HasSubstr("unknown key 'a'"));
}

TEST(Profile, EveryShippedProfileIsRead) {
  EXPECT_THAT(shipped_profiles(), IsSupersetOf({"cpu", "generic", "a100_sxm", "h100_sxm", "h100_pcie", "h200_sxm", "gh200",
                                                "b200", "b300", "gb200", "gb300", "l40s", "rtx_pro_6000_server"}));
  for (const std::string& name : shipped_profiles()) EXPECT_FALSE(read_profile(name).rules.empty()) << name;
}

TEST(Profile, WhatIsThereToBeInheritedIsNotOffered) {
  EXPECT_THAT(shipped_profiles(), testing::Not(testing::Contains("common")));
  EXPECT_THAT(shipped_profiles(), testing::Not(testing::Contains("datacenter")));
  EXPECT_THAT(refusal("inherit = 'common'\n" + kHead), "accepted");
  EXPECT_THAT(refusal("inherit = 'common'\n"), HasSubstr("p.toml: `devices` is missing: this profile can only be inherited"));
  EXPECT_THROW(read_profile("common"), ProfileError);
  EXPECT_THROW(read_profile("datacenter"), ProfileError);
  EXPECT_THAT(refusal("inherit = 'none'\n"), testing::Not(HasSubstr("common")));
}

/// A share at the clock observed cannot be compared with one of a datasheet, and a source that nobody can look up is none.
TEST(Profile, PublishedFiguresAreOfTheQuantityAndHaveAnAddress) {
  for (const std::string& name : shipped_profiles()) {
    for (const Rule& rule : read_profile(name).rules) {
      EXPECT_THAT(rule.source, testing::Not(HasSubstr("public study"))) << name << " " << rule.id;
      if (rule.quantity != Quantity::of_datasheet && rule.id.rfind("product_", 0) == 0) {
        EXPECT_THAT(rule.source, testing::Not(HasSubstr("datasheet"))) << name << " " << rule.id;
      }
      if (rule.least && rule.published) {
        EXPECT_LT(*rule.least, *rule.published) << name << " " << rule.id;
      }
    }
  }
}

TEST(Profile, StatesTheGpusOfANodeForTheNamesOfCollectives) {
  EXPECT_EQ(read_profile("h200_sxm").node_gpus, 8);
  EXPECT_EQ(read_profile("gb200").node_gpus, 4);
  EXPECT_EQ(read_profile("generic").node_gpus, std::nullopt);
  for (const std::string wrong : {"0", "129", "8.5", "'8'"}) {
    EXPECT_THAT(refusal("node_gpus = " + wrong + "\n" + rule(kGood)), HasSubstr("expects a number of GPUs from 1 to 128"));
  }
}

/// The limits of these GPUs are stricter than those for any GPU, and all of them are held to the same rules.
TEST(Profile, BoardsOfADataCenterAreHeldToMoreThanAnyGpu) {
  const auto find = [](const Profile& profile, const std::string& id) {
    const auto found = std::find_if(profile.rules.begin(), profile.rules.end(), [&](const Rule& r) { return r.id == id; });
    return found == profile.rules.end() ? nullptr : &*found;
  };
  const Profile generic = read_profile("generic");
  EXPECT_EQ(find(generic, "fma_fp32_top"), nullptr) << "boards with a low power limit do not reach the highest clock";
  EXPECT_EQ(find(generic, "product_bf16")->mandatory, Mandatory::where_measured);
  for (const char* id : {"product_bf16", "product_fp8"}) EXPECT_TRUE(find(generic, id)->known) << id;
  for (const char* name : {"a100_sxm", "h100_sxm", "h200_sxm", "b200", "b300", "gb200", "gb300"}) {
    SCOPED_TRACE(name);
    const Profile profile = read_profile(name);
    for (const char* id : {"host_to_device",
                           "device_to_host",
                           "all_reduce",
                           "slow_rank",
                           "slow_link",
                           "peer_access",
                           "rdma_unused",
                           "gpudirect_unused",
                           "nvlink_unused",
                           "link_rate",
                           "thermal",
                           "application_clocks",
                           "clock",
                           "state_recovery_action",
                           "state_fabric_degraded",
                           "state_fabric_unhealthy",
                           "power_limit",
                           "state_power_limit_of_default",
                           "hardware_thermal",
                           "power_brake",
                           "hardware_slowdown",
                           "dram_read_datasheet",
                           "fma_fp32_datasheet",
                           "product_bf16_datasheet",
                           "state_nvlink_links",
                           "fma_fp32_top"}) {
      EXPECT_NE(find(profile, id), nullptr) << id;
    }
    EXPECT_TRUE(find(profile, "host_to_device")->alone);
    for (const char* id : {"dram_read", "product_bf16", "fma_fp32"}) {
      EXPECT_GE(*find(profile, id)->least, *find(generic, id)->least) << id;
    }
    EXPECT_EQ(find(profile, "state_ecc_uncorrected")->mandatory, Mandatory::no) << "a repaired board works";
  }
}

TEST(Profile, NobodyIsHeldToLinksThatABoardMayLack) {
  const auto has = [](const char* name, const std::string& id) {
    const std::vector<Rule> rules = read_profile(name).rules;
    return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.id == id; });
  };
  for (const char* name : {"h100_pcie", "gh200", "l40s", "rtx_pro_6000_server"}) {
    for (const char* id : {"state_nvlink_links", "all_reduce"}) EXPECT_FALSE(has(name, id)) << name << " " << id;
  }
  // NVLink-C2C leads to the host.
  for (const char* name : {"gh200", "gb200", "gb300"}) EXPECT_FALSE(has(name, "state_pcie_width")) << name;
  EXPECT_TRUE(has("h100_pcie", "state_pcie_width"));
}

TEST(Profile, DamagedTextIsRefusedOrReadAndNeverMore) {
  std::mt19937 random(7);
  const std::string text = rule(kGood + "per = 'gpu'\nmandatory = true\nsource = 's'\n");
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          damaged.erase(at, 1 + random() % 20);
          break;
        default:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 20));
      }
      if (damaged.empty()) damaged = " ";
    }
    refusal(damaged);
  }
}

}  // namespace
}  // namespace roofmark
