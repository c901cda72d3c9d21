// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Names of a pattern that do not exist, and names that another command measures.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "bench/program/usage_error.hpp"
#include "tests/bench/fabrics.hpp"
#include "tests/bench/program/chosen.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

/// What becomes of a pattern: names up to `impl`, what is left out, or why it is refused.
struct Product {
  std::vector<std::string> names = {}, left_out = {};
  std::string error = {};
};

Product product(const Listing& listing, const std::string& pattern, bool between_ranks_alone = false) {
  Lists lists;
  try {
    choose(lists, listing, {pattern}, between_ranks_alone);
  } catch (const UsageError& error) {
    return {.error = error.what()};
  }
  Product made{.left_out = lists.left_out};
  for (const Group& group : *lists.chosen) {
    for (const Case& c : group.cases) made.names.push_back(c.name().substr(0, c.name().find("/impl:")));
  }
  return made;
}

TEST(ChosenProducts, EveryPairOfRanksIsMeasuredOnce) {
  const Fabric ranks = made_up_ranks(1, 3);
  const DeviceInfo device = h200();
  const Listing listing{.device = device, .fabric = &ranks};
  const Product all = product(listing, "ping_pong/int8/bytes:64M/from:0..2+1/to:0..2+1");
  EXPECT_THAT(all.names, ElementsAre("ping_pong/int8/bytes:67108864/ranks:2/from:0/to:1",
                                     "ping_pong/int8/bytes:67108864/ranks:2/from:0/to:2",
                                     "ping_pong/int8/bytes:67108864/ranks:2/from:1/to:2"));
  EXPECT_THAT(all.left_out,
              ElementsAre("--case 'ping_pong/int8/bytes:64M/from:0..2+1/to:0..2+1': 3 of 9 combinations left out; the first: "
                          "ping_pong/int8/bytes:67108864/from:0/to:0: from and to are the same rank"));
  EXPECT_THAT(product(listing, "ping_pong/int8/bytes:8/from:1/to:0..2+1").names,
              ElementsAre("ping_pong/int8/bytes:8/ranks:2/from:0/to:1", "ping_pong/int8/bytes:8/ranks:2/from:1/to:2"));
  EXPECT_THAT(product(listing, "ping_pong/int8/bytes:8/from:0..3+1/to:0..3+1").error, HasSubstr("to:3 is not a whole number"));
}

TEST(ChosenProducts, EveryDirectionBetweenTwoGpusIsMeasuredOnce) {
  if (!has_cuda()) GTEST_SKIP() << "this build has no CUDA kernels";
  const Fabric gpus = made_up_gpus(6);
  const DeviceInfo device = h200();
  const Listing listing{.device = device, .fabric = &gpus};
  EXPECT_EQ(product(listing, "transfer/peer/int8/bytes:1M/from:0..5+1/to:0..5+1").names.size(), 30);
  const Product both = product(listing, "transfer/peer_both/int8/bytes:1M/from:5,4/to:4,5");
  EXPECT_THAT(both.names, ElementsAre(HasSubstr("from:4/to:5")));
  EXPECT_THAT(both.left_out, ElementsAre(HasSubstr("2 of 4 combinations")));
  EXPECT_THAT(product(listing, "transfer/peer_both/int8/bytes:1M/from:2").names, ElementsAre(HasSubstr("from:1/to:2")))
      << "with the default at the other end";
}

TEST(ChosenProducts, ValuesThatDoNotGoTogetherAreLeftOutAndWrongOnesAreRefused) {
  const DeviceInfo device = h200();
  const auto of = [&](const std::string& pattern) { return product({.device = device}, pattern); };
  EXPECT_THAT(of("attention/bf16/heads:8,12/kv_heads:4,8/queries:512").left_out,
              ElementsAre(EndsWith("kv_heads does not divide heads")));
  EXPECT_THAT(of("attention/bf16/heads:12/kv_heads:8/queries:512").error, EndsWith(": kv_heads does not divide heads"));
  EXPECT_THAT(of("gemm/bf16/batch:1,8/m=n=k:256/imbalance:1,4").left_out,
              ElementsAre(EndsWith("an imbalance needs several products (batch:8)")));
  EXPECT_THAT(of("gemm/bf16/batch:2,8/m=n=k:256/imbalance:1,4").left_out,
              ElementsAre(EndsWith("imbalance:4 is not a whole number from 1 to 2")));
  EXPECT_THAT(of("gemm/bf16/m=n=k:256/impl:cublaslt,blas").error, HasSubstr("'blas' is not a known impl"));
  if (!has_cuda()) return;
  const Product memory = of("transfer/host_to_device/int8/bytes:64/memory:pinned,pageable/impl:copy_engine,sm");
  EXPECT_EQ(memory.names.size(), 3);
  EXPECT_THAT(memory.left_out, ElementsAre(HasSubstr("no suite has such a case of any size")));
  EXPECT_THAT(of("transfer/host_to_device/int8/bytes:64/node:near,9").error, HasSubstr("no suite has such a case"));
  const Fabric ranks = made_up_ranks(2, 3);
  EXPECT_THAT(product({.device = device, .fabric = &ranks}, "gather/fp32/bytes:1M/ranks:4,6/root:3,5").left_out,
              ElementsAre(EndsWith("root:5 is not a whole number from 0 to 3")));
}

TEST(ChosenProducts, WhatAnotherCommandMeasuresIsRefusedWithThatCommand) {
  const DeviceInfo device = h200();
  for (const char* name : {"all_reduce/fp32/bytes:1K", "ping_pong/int8/bytes:8/from:0/to:1"}) {
    EXPECT_EQ(chosen({.device = device}, {name}).at(0).cases.at(0).unsupported,
              "needs several ranks: `roofmark-mpi collectives` measures it");
  }
  EXPECT_THAT(product({.device = device}, "overlap/concurrent/bf16/m:8192").error,
              EndsWith("'overlap' needs several ranks: `roofmark-mpi collectives` measures it"));
  const Fabric gpus = made_up_gpus(2);
  EXPECT_THAT(product({.device = device, .fabric = &gpus}, "all_gather/fp32/bytes:8").error,
              EndsWith("`roofmark-mpi collectives` has all"));
  const Fabric ranks = made_up_ranks(1, 2);
  const auto of_team = [&](const std::string& name) { return product({.device = device, .fabric = &ranks}, name, true).error; };
  EXPECT_THAT(of_team("gemm/bf16/m=n=k:256"),
              EndsWith("'gemm' needs no other rank: `roofmark run` measures it, `roofmark-mpi run` on all ranks at once"));
  EXPECT_THAT(of_team("nonsense/bf16"), EndsWith("(`roofmark-mpi list --suite full` shows all)"));
  EXPECT_THAT(product({.device = device}, "nonsense/bf16").error, EndsWith("(`roofmark list --suite full` shows all)"));
}

}  // namespace
}  // namespace roofmark
