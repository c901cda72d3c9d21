// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/chosen_cases.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/program/plan.hpp"
#include "bench/program/settings.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/result/record_json.hpp"
#include "harness/result/words.hpp"
#include "tests/bench/fabrics.hpp"
#include "tests/bench/program/chosen.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> names(const DeviceInfo& device, const std::string& pattern) {
  std::vector<std::string> all;
  for (const Group& group : chosen({device}, {pattern})) {
    for (const Case& c : group.cases) all.push_back(c.name());
  }
  return all;
}

std::string error_of(const Listing& listing, const std::string& pattern) {
  try {
    chosen(listing, {pattern});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// All that a record of the case would say before it is measured.
std::string described(const Case& c) {
  const Protocol& p = c.protocol;
  return fmt::format("{} work {} memory {} {} {} {} protocol {} {} {} {} {} {} {} unsupported '{}' transfer {} message {}",
                     c.name(), to_json(c.work).dump(), c.slot_bytes, c.shared_bytes, c.host_slot_bytes, c.touched_bytes,
                     roofmark::name(p.cache), p.most_slots, static_cast<int>(p.issue), p.one_core, p.launches, p.executions,
                     p.samples, c.unsupported, c.transfer ? c.transfer->flows.size() : 0, c.message ? c.message->bytes : 0);
}

/// The cases of a suite that `choose` does not give again by their own names, or gives otherwise.
std::vector<std::string> strangers(Listing listing, SuiteName suite) {
  listing.suite = suite;
  std::vector<std::string> patterns, wrong;
  std::map<std::string, std::string> listed;
  for (const Group& group : list_families(listing).suite) {
    for (const Case& c : group.cases) {
      if (c.family == "sustained" || c.family == "overlap" || c.family == "cost") continue;  // not `made`
      patterns.push_back(c.name());
      listed[c.name()] = described(c);
    }
  }
  std::map<std::string, std::string> made;
  for (const Group& group : chosen(listing, patterns)) {
    for (const Case& c : group.cases) made[c.name()] = described(c);
  }
  for (const auto& [name, description] : listed) {
    if (made[name] != description) wrong.push_back(description + "\n  made as " + made[name]);
  }
  EXPECT_EQ(made.size(), listed.size());
  return wrong;
}

TEST(ChosenCases, EveryListedCaseIsMadeAgainFromItsName) {
  const Fabric gpus = made_up_gpus(3);
  for (const DeviceInfo& device : {h200(), two_cores()}) {
    const bool gpu = device.backend == Backend::cuda;
    for (const SuiteName suite : {SuiteName::quick, SuiteName::baseline, SuiteName::full}) {
      EXPECT_THAT(strangers({.device = device, .fabric = gpu ? &gpus : nullptr}, suite), IsEmpty());
    }
  }
}

TEST(ChosenCases, TheDeviceItselfIsOneOfItsGpus) {
  if (!has_cuda()) GTEST_SKIP();
  const Fabric gpus = made_up_gpus(3);
  const Listing listing = {.device = h200(), .fabric = &gpus};
  EXPECT_THAT(chosen(listing, {"transfer/both/int8/bytes:1K/gpu:0..2+1", "transfer/both/int8/bytes:1K"}), SizeIs(3));
}

TEST(ChosenCases, SizesThatNoSuiteHasAreMade) {
  EXPECT_THAT(names(h200(), "gemm/bf16/m:100/n:200/k:304"),
              ElementsAre("gemm/bf16/m:100/n:200/k:304/impl:cublaslt/layout:tn/algo:tuned/cache:cold"));
  EXPECT_THAT(names(h200(), "gemm/bf16/batch:8/m:96/n:50/k:64/imbalance:1,8"),
              ElementsAre("gemm/bf16/batch:8/m:96/n:50/k:64/imbalance:1/impl:cublaslt/layout:tn/algo:default/cache:cold",
                          "gemm/bf16/batch:8/m:96/n:50/k:64/imbalance:8/impl:cublaslt/layout:tn/algo:default/cache:cold"));
  EXPECT_THAT(names(two_cores(), "gemm/fp64/m=n=k:100"),
              ElementsAre("gemm/fp64/m:100/n:100/k:100/impl:blas/layout:tn/algo:default/cache:cold"));
  EXPECT_THAT(names(h200(), "gemv/bf16/m:100/k:256/weights:int4"),
              ElementsAre("gemv/bf16/weights:int4/m:100/k:256/impl:own/cache:cold"));
  EXPECT_THAT(names(h200(), "attention/bf16/heads:32/kv_heads:4/queries:100/keys:300/mask:causal"),
              ElementsAre("attention/bf16/batch:1/heads:32/kv_heads:4/queries:100/keys:300/d:128/mask:causal/impl:tiled_wgmma/"
                          "cache:cold"));
  EXPECT_THAT(names(h200(), "decode_attention/fp16/heads:32/keys:1000/d:64"),
              ElementsAre("decode_attention/fp16/batch:1/heads:32/kv_heads:32/keys:1000/d:64/impl:split/cache:cold"));
  EXPECT_THAT(names(h200(), "transpose/int8/rows:3/columns:5"),
              ElementsAre("transpose/int8/rows:3/columns:5/impl:tiled/cache:cold"));
  EXPECT_THAT(names(h200(), "reductions/softmax/bf16/rows:3/columns:5"),
              ElementsAre("reductions/softmax/bf16/rows:3/columns:5/impl:own/cache:cold"));
  EXPECT_THAT(names(h200(), "argmax/fp32/rows:3/columns:5"), ElementsAre("argmax/fp32/rows:3/columns:5/impl:own/cache:cold"));
  EXPECT_THAT(names(h200(), "elementwise/rope/bf16/tokens:3/heads:5/d:6"),
              ElementsAre("elementwise/rope/bf16/tokens:3/heads:5/d:6/impl:own/cache:cold"));
  EXPECT_THAT(names(h200(), "stream/copy/fp64/bytes:1000/impl:memcpy"),
              ElementsAre("stream/copy/fp64/bytes:1000/impl:memcpy/cache:warm"));
  EXPECT_THAT(names(h200(), "latency/chase/int8/bytes:1000/load:cg"),
              ElementsAre("latency/chase/int8/bytes:896/stride:128/load:cg/impl:own"));
  EXPECT_THAT(names(h200(), "access/read/int32/bytes:1M/cache:warm"),
              ElementsAre("access/read/int32/bytes:1048576/impl:cp_async_bulk/cache:warm"));
  EXPECT_THAT(names(h200(), "access/gather/int32/rows:10/row_bytes:48"),
              ElementsAre("access/gather/int32/rows:10/row_bytes:48/order:random/impl:own/cache:cold"));
  EXPECT_THAT(names(two_cores(), "access/stride/int32/bytes:1000/stride:12"),
              ElementsAre("access/stride/int32/bytes:996/stride:12/impl:own/cache:cold"));
  EXPECT_THAT(names(h200(), "transfer/host_to_device/int8/bytes:1000"),
              ElementsAre("transfer/host_to_device/int8/bytes:1000/memory:pinned/node:near/impl:copy_engine/cache:warm"));
}

TEST(ChosenCases, OfASuiteWithADurationAreLoadsThatLast) {
  const DeviceInfo device = h200();
  const Fabric ranks = made_up_ranks(2, 3);
  const Listing listing{.device = device, .suite = SuiteName::sustained, .fabric = &ranks};
  const auto names_of = [&](const std::string& pattern) {
    std::vector<std::string> all;
    for (const Group& group : chosen(listing, {pattern})) {
      EXPECT_THAT(group.cases, SizeIs(1)) << "nothing is measured in turn";
      for (const Case& c : group.cases) {
        EXPECT_EQ(c.protocol.seconds, 1) << "equal shares";
        all.push_back(c.name());
      }
    }
    return all;
  };
  EXPECT_THAT(names_of("gemm/fp8,int8/m=n=k:4096"),
              ElementsAre("sustained/gemm/fp8/m:4096/n:4096/k:4096/impl:cublaslt/layout:tn/algo:tuned/cache:warm",
                          "sustained/gemm/int8/m:4096/n:4096/k:4096/impl:cublaslt/layout:tn/algo:tuned/cache:warm"));
  EXPECT_THAT(names_of("attention/bf16/heads:32/queries:512/impl:tiled_wgmma,tiled_mma"), SizeIs(2));
  EXPECT_THAT(names_of("stream/copy/fp64/bytes:1G/cache:cold"),
              ElementsAre("sustained/copy/fp64/bytes:1073741824/impl:own/cache:cold"));
  EXPECT_THAT(names_of("transfer/both/int8/bytes:1G"), SizeIs(1));
  EXPECT_THAT(names_of("all_gather/bf16/bytes:6M"),
              ElementsAre("sustained/all_gather/bf16/bytes:6291456/ranks:6/place:out/impl:nccl"));
  // The suite's own, by their names.
  EXPECT_THAT(names_of("sustained/gemm/bf16"), SizeIs(1));
  EXPECT_THAT(names_of("sustained/gemm_pulses/bf16/hz:2"), SizeIs(1));
  EXPECT_THAT(error_of({.device = two_cores(), .suite = SuiteName::sustained}, "cost/wake/int32"),
              HasSubstr("it is no lasting load"));
  EXPECT_THAT(error_of(listing, "sustained/nothing/bf16"), HasSubstr("'nothing' is not an operation of sustained"));
}

TEST(ChosenCases, CollectivesAreRoundedToWholePartsLikeThoseOfNcclTests) {
  const Fabric ranks = made_up_ranks(2, 3);
  const DeviceInfo device = h200();
  const Listing listing{.device = device, .fabric = &ranks};
  const auto names_of = [&](const std::string& pattern) {
    std::vector<std::string> all;
    for (const Group& group : chosen(listing, {pattern})) {
      for (const Case& c : group.cases) all.push_back(c.name());
    }
    return all;
  };
  EXPECT_THAT(names_of("all_reduce/bf16/bytes:3M"),
              ElementsAre("all_reduce/bf16/bytes:3145728/ranks:6/op:sum/place:out/impl:nccl"));
  EXPECT_THAT(names_of("all_gather/fp32/bytes:1000/place:in"),
              ElementsAre("all_gather/fp32/bytes:960/ranks:6/place:in/impl:nccl"));
  EXPECT_THAT(names_of("all_reduce/fp32/bytes:1M/ranks:2,4"),
              ElementsAre("all_reduce/fp32/bytes:1048576/ranks:2/op:sum/place:out/impl:nccl",
                          "all_reduce/fp32/bytes:1048576/ranks:4/op:sum/place:out/impl:nccl"));
  EXPECT_THAT(names_of("all_reduce/fp32/bytes:1M/group:node"),
              ElementsAre("all_reduce/fp32/bytes:1048576/ranks:3/op:sum/place:out/group:node/impl:nccl"));
  EXPECT_THAT(names_of("broadcast/fp32/bytes:1M/root:0..5+5"),
              ElementsAre("broadcast/fp32/bytes:1048576/ranks:6/root:0/place:out/impl:nccl",
                          "broadcast/fp32/bytes:1048576/ranks:6/root:5/place:out/impl:nccl"));
  EXPECT_THAT(names_of("reduce/fp32/bytes:1M/group:node/root:2"),
              ElementsAre("reduce/fp32/bytes:1048576/ranks:3/op:sum/root:2/place:out/group:node/impl:nccl"));
  EXPECT_THAT(error_of(listing, "reduce/fp32/bytes:1M/group:node/root:3"),
              HasSubstr("root:3 is not a whole number from 0 to 2"));
  EXPECT_THAT(error_of(listing, "gather/fp32/bytes:1M/ranks:4/root:4"), HasSubstr("root:4 is not a whole number from 0 to 3"));
  EXPECT_THAT(error_of(listing, "all_gather/fp32/bytes:1M/root:1"), HasSubstr("it has no key 'root'"));
  // Two sizes that round to one are one case.
  EXPECT_THAT(names_of("all_gather/fp32/bytes:960,1000"), SizeIs(1));
  EXPECT_THAT(error_of(listing, "all_reduce/fp32/bytes:8/ranks:7"), HasSubstr("ranks:7 is not a whole number from 1 to 6"));
  EXPECT_THAT(error_of(listing, "ping_pong/int8/bytes:8"),
              HasSubstr("name a round of pairs (round:0..5+1 for all 6), or a pair (from:A/to:B)"));
  EXPECT_THAT(names_of("ping_pong/int8/bytes:24/round:1"), ElementsAre("ping_pong/int8/bytes:24/ranks:2/round:1/impl:nccl"));
  EXPECT_THAT(error_of(listing, "all_gather/fp32/bytes:8/op:sum"), HasSubstr("it has no key 'op'"));
  EXPECT_THAT(names_of("all_gather,all_to_all/fp32/bytes:960/place:in"), SizeIs(2));
  EXPECT_THAT(error_of(listing, "ping_pong/int8/bytes:8/from:0/to:1/buffer:symmetric"), HasSubstr("a pair has no symmetric"));
  EXPECT_THAT(error_of(listing, "all_reduce/fp32/bytes:8/buffer:huge"), HasSubstr("'huge' is not a known buffer"));
  for (const SuiteName suite : {SuiteName::quick, SuiteName::baseline, SuiteName::full}) {
    EXPECT_THAT(strangers({.device = device, .fabric = &ranks}, suite), IsEmpty());
  }
  const Fabric gpus = made_up_gpus(2);
  EXPECT_THAT(error_of({.device = device, .fabric = &gpus}, "all_gather/fp32/bytes:8"),
              HasSubstr("`roofmark-mpi collectives` has all"));
  EXPECT_THAT(error_of({.device = device, .fabric = &gpus}, "all_reduce/fp32/bytes:8/issue:graph"),
              HasSubstr("NCCL may hang in graphs over several GPUs of a process"));
}

TEST(ChosenCases, AttentionOfATypeWithoutKernelsIsUnsupported) {
  const auto why = [](const DeviceInfo& device, const std::string& name) {
    return chosen({device}, {name}).at(0).cases.at(0).unsupported;
  };
  for (const char* type : {"fp32", "tf32", "bf16", "fp16"}) {
    EXPECT_EQ(why(two_cores(), fmt::format("attention/{}/heads:8/queries:64", type)),
              std::string_view(type) == "fp32" ? "" : fmt::format("no attention of {} on the device", type));
  }
  if (!has_cuda()) GTEST_SKIP() << "this build has no CUDA kernels";
  for (const char* type : {"fp8", "int8", "fp64", "fp32", "tf32"}) {
    for (const char* impl : {"naive", "unfused", "tiled_mma", "tiled_wgmma"}) {
      EXPECT_EQ(why(h200(), fmt::format("attention/{}/heads:8/queries:512/impl:{}", type, impl)),
                fmt::format("no attention of {} on the device", type));
    }
  }
  for (const char* type : {"bf16", "fp16"}) EXPECT_EQ(why(h200(), fmt::format("attention/{}/heads:8/queries:512", type)), "");
}

TEST(ChosenCases, WhatIsWrongWithANameIsSaid) {
  const DeviceInfo device = h200();
  const Listing listing{device};
  const auto error = [&](const std::string& pattern) { return error_of(listing, pattern); };
  EXPECT_EQ(error("gemm/bf16/m:1/n:2"), "--case 'gemm/bf16/m:1/n:2': it lacks k:NUMBER");
  EXPECT_EQ(error("gemm/bf16/m=n=k:0"), "--case 'gemm/bf16/m=n=k:0': m:0 is not a whole number from 1 to 4194304");
  EXPECT_EQ(error("gemm/bf16/m=n=k:x"), "--case 'gemm/bf16/m=n=k:x': m:x is not a whole number from 1 to 4194304");
  EXPECT_THAT(error("gemm/bf16/m=n=k:1MB"), HasSubstr("from 1 to 4194304 (units: K, M, G, T, powers of 1024)"));
  EXPECT_THAT(
      error("gemm/bf16/m=n=k=z:1"),
      HasSubstr(
          "it has no key 'z' (its keys: m, n, k, impl, layout, algo, cache, imbalance, scale, out, beta, epilogue, act)"));
  EXPECT_EQ(error("gemm/bf16/m=n=k:1/layout:xy"),
            "--case 'gemm/bf16/m=n=k:1/layout:xy': 'xy' is not a known layout (tn, nt, nn, tt)");
  EXPECT_EQ(error("gemm/bf16/m=n=k:1/imbalance:2"),
            "--case 'gemm/bf16/m=n=k:1/imbalance:2': an imbalance needs several products (batch:8)");
  EXPECT_EQ(error("gemm/bf16/m=n=k:1/impl:blas"),
            "--case 'gemm/bf16/m=n=k:1/impl:blas': 'blas' is not a known impl (cublaslt, tiled_wgmma)");
  EXPECT_EQ(error("gemm/square/bf16/m=n=k:1"), "--case 'gemm/square/bf16/m=n=k:1': gemm has no operation 'square'");
  EXPECT_THAT(error("gemm/bf16/m=n=k:1/cache:hot"), HasSubstr("'hot' is not a known cache (cold, warm)"));
  EXPECT_THAT(error("gemm/int8/m=n=k:1M"), HasSubstr("its sizes are too large for any device"));
  EXPECT_THAT(error("stream/quad/fp64/bytes:8"), HasSubstr("'quad' is not a known operation (read, write, copy"));
  EXPECT_THAT(error("stream/triad/fp64/bytes:8"), HasSubstr("an array needs one element"));
  EXPECT_THAT(error("latency/chase/fp32/bytes:4K"), HasSubstr("its type is int8, not fp32"));
  EXPECT_THAT(error("attention/bf16/heads:6/kv_heads:4/queries:8"), HasSubstr("kv_heads does not divide heads"));
  EXPECT_THAT(error("elementwise/rope/bf16/tokens:1/heads:1/d:3"), HasSubstr("d of rope is even"));
  if (has_cuda()) {
    EXPECT_THAT(error("transfer/host_to_device/int8/bytes:64/memory:pageable/impl:sm"), HasSubstr("no suite has such a case"));
  }
  if (has_cuda()) {
    EXPECT_THAT(error("transfer/host_to_device/int8/bytes:64/node:9"), HasSubstr("no suite has such a case"));
  }
  EXPECT_THAT(error("ceilings/fma/fp32/cores:all"), HasSubstr("ceilings are probed where cases need them"));
  EXPECT_THAT(error("nonsense/fp32/m:1"), HasSubstr("there is no family 'nonsense' for this device"));
  EXPECT_EQ(error("sustained/gemm_pulses/bf16"),
            "--case 'sustained/gemm_pulses/bf16': 'sustained' is a family of the suite sustained: add --suite sustained");
  EXPECT_THAT(error("access/bank_conflicts/int32/ways:3"), HasSubstr("no suite has it, and its sizes are fixed"));
  EXPECT_THAT(error("access/bank/int32"), HasSubstr("'bank' is not an operation of access on this device (atomic_add, bank_"));
  EXPECT_THAT(error("latency/stride/int8/bytes:4K/stride:64"), HasSubstr("'stride' is not an operation of latency on this"));
  // Of several names the one at fault.
  EXPECT_EQ(error("gemm/bf16/m=n=k:16,0"),
            "--case 'gemm/bf16/m=n=k:16,0': gemm/bf16/m:0/n:0/k:0: m:0 is not a whole number from 1 to 4194304");
}

TEST(ChosenCases, SizesAtWhichACheckWouldProveNothingOrAKernelWouldNotCountAreRefused) {
  const DeviceInfo device = h200(), cpu = two_cores();
  const auto error = [&](const std::string& pattern) { return error_of({device}, pattern); };
  EXPECT_EQ(error("gemm/bf16/m=n:8/k:128K"), "");
  EXPECT_THAT(error("gemm/bf16/m=n:8/k:129K"), HasSubstr("k:132096 is not a whole number from 1 to 131072"));
  EXPECT_THAT(error("gemm/fp8/m=n:16/k:33K"), HasSubstr("k:33792 is not a whole number from 1 to 32768"));
  EXPECT_THAT(error("gemm/nvfp4/m=n:16/k:33K"), HasSubstr("k:33792 is not a whole number from 1 to 32768"));
  for (const char* other : {"stream/copy/nvfp4/bytes:1M", "gemv/mxfp8/m:64/k:64", "elementwise/add/nvfp4/elements:1M",
                            "transpose/nvfp4/rows:64/columns:64", "argmax/nvfp4/rows:1/columns:64"}) {
    EXPECT_THAT(error(other), HasSubstr("is a type of matrix products alone")) << other;
  }
  EXPECT_NE(error("elementwise/cast/bf16/elements:1M/to:nvfp4"), "");
  EXPECT_EQ(error("gemm/fp32/m=n:8/k:1M"), "");
  EXPECT_NE(error("gemm/fp32/m=n:8/k:2M"), "");
  EXPECT_NE(error("gemv/bf16/m:8/k:2M"), "");
  EXPECT_NE(error("gemv/fp64/m:8/k:8/impl:cublaslt"), "") << "its pipe is another one";
  EXPECT_NE(error("attention/bf16/heads:1/queries:256K"), "");
  EXPECT_NE(error("decode_attention/bf16/heads:1/keys:2M"), "");
  EXPECT_NE(error("reductions/softmax/bf16/rows:1/columns:2M"), "");
  EXPECT_NE(error("argmax/bf16/rows:1/columns:32M"), "");
  EXPECT_EQ(error("elementwise/add/bf16/elements:32G"),
            "--case 'elementwise/add/bf16/elements:32G': the kernels count fewer "
            "than 2^32 packets, here of 8 elements");
  EXPECT_EQ(error("elementwise/add/bf16/elements:31G"), "");
  EXPECT_NE(error("elementwise/cast/bf16/elements:16G/to:fp32"), "");
  EXPECT_NE(error("elementwise/embedding/bf16/tokens:1431655766/d:3/vocabulary:1"), "") << "element by element";
  EXPECT_EQ(error("elementwise/embedding/bf16/tokens:1431655766/d:16/vocabulary:1"), "");
  EXPECT_NE(error("access/gather/int32/rows:512M/row_bytes:16"), "");
  EXPECT_NE(error("access/stride/int32/bytes:1G/stride:8M"), "");
  EXPECT_NE(error_of({cpu}, "access/read/int32/bytes:4K"), "");
  EXPECT_NE(error_of({cpu}, "latency/stride/int8/bytes:16G/stride:8"), "");
}

// The last query sees all keys, the first queries of more than the keys see none.
TEST(ChosenCases, OfCausalAttentionReadTheQueriesThatSeeAKey) {
  const auto bytes = [](const std::string& sizes) {
    return chosen({h200()}, {"attention/bf16/heads:8/d:128/" + sizes})[0].cases[0].work.total(resource::dram);
  };
  const double row = 8 * 128 * 2;
  EXPECT_EQ(bytes("queries:16384/keys:128/mask:causal"), row * (128 + 2 * 128 + 16384));
  EXPECT_EQ(bytes("queries:16384/keys:128/mask:none"), row * (16384 + 2 * 128 + 16384));
  EXPECT_EQ(bytes("queries:128/keys:16384/mask:causal"), row * (128 + 2 * 16384 + 128));
  EXPECT_EQ(bytes("batch:3/queries:256/keys:128/mask:causal"), row * 3 * (128 + 2 * 128 + 256));
}

TEST(ChosenCases, TableRowsCountOnceHoweverOftenTheyAreLookedUp) {
  const Case c = chosen({h200()}, {"elementwise/embedding/bf16/tokens:64K/d:64/vocabulary:10"})[0].cases[0];
  EXPECT_EQ(c.work.total(Unit::byte), 65536 * 64 * 2 + 10 * 64 * 2 + 65536 * 4);
}

TEST(ChosenCases, TheHostsMemoryOfAGpusChaseCounts) {
  if (!has_cuda()) GTEST_SKIP() << "this build has no CUDA kernels";
  DeviceInfo device = h200();
  device.host_memory_bytes = device.host_free_bytes = 8'000'000'000;
  EXPECT_EQ(chosen({device}, {"latency/host/int8/bytes:4G"})[0].cases[0].unsupported, "");
  EXPECT_THAT(chosen({device}, {"latency/host/int8/bytes:8G"})[0].cases[0].unsupported, HasSubstr("the host has 8.00 GB"));
}

TEST(ChosenCases, WhatNeedsAnotherGpuIsUnsupportedWhereThereIsNone) {
  for (const char* name : {"transfer/peer/int8/bytes:1K", "transfer/one_to_all/int8/bytes:1K",
                           "transfer/host_to_device/int8/bytes:1K/gpu:1", "transfer/both/int8/bytes:1K/gpu:all"}) {
    const std::vector<Group> groups = chosen({h200()}, {name});
    ASSERT_THAT(groups, SizeIs(1)) << name;
    EXPECT_EQ(groups[0].cases[0].unsupported, kNeedsOtherGpus) << name;
  }
}

TEST(ChosenCases, KeysThatAPatternLacksStandForAllListedCasesWhereSizesAreFixed) {
  EXPECT_THAT(names(h200(), "access/bank_conflicts/int32"), SizeIs(6));
  EXPECT_THAT(names(h200(), "access/bank_conflicts/int32/ways:8,32"), SizeIs(2));
}

TEST(ChosenCases, WhatDoesNotFitIsUnsupported) {
  if (!has_cuda()) GTEST_SKIP() << "this build has no CUDA kernels";
  const std::vector<Group> groups = chosen({h200()}, {"stream/triad/fp64/bytes:1T"});
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_THAT(groups[0].cases[0].unsupported, HasSubstr("needs 1.10 TB, the device has 150 GB"));
}

TEST(ChosenCases, TheCeilingsAreThoseThatTheyNeedAndTheScopeSaysWhatWasChosen) {
  if (!has_cuda()) GTEST_SKIP() << "this build has no CUDA kernels";
  RunOptions options;
  options.selection.suite = SuiteName::quick;
  options.selection.cases = {"gemm/bf16/m=n=k:512", "access/gather/int32/rows:64/row_bytes:64"};
  const Plan chosen = plan(h200(), options.selection);
  std::set<std::string> resources;
  for (const Group& group : chosen.ceilings) resources.insert(std::string(group.cases[0].sets_ceiling->resource.id));
  EXPECT_EQ(resources, (std::set<std::string>{"bf16_tensor", "dram", "stream_launch", "graph_launch"}));
  EXPECT_TRUE(chosen.about.contains("access")) << "no family of the suite quick";
  const RunScope scope = scope_of(options, chosen);
  EXPECT_EQ(scope.cases, scope.suite_cases);
  EXPECT_TRUE(scope.by_name);
  EXPECT_THAT(scope.weaker, ElementsAre("--case 'gemm/bf16/m=n=k:512'", "--case 'access/gather/int32/rows:64/row_bytes:64'"));
  EXPECT_THAT(scope.text, HasSubstr("2 cases chosen by name and "));
  EXPECT_THAT(scope.text, HasSubstr("with the budget of the quick suite (--case 'gemm/bf16/m=n=k:512' and 1 more)"));
}

}  // namespace
}  // namespace roofmark
