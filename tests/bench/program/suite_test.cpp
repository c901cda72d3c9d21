// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/suite.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/elementwise.hpp"
#include "kernels/stream.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark {
namespace {

/// The compared cases differ in the value of the comparison's key, stated or implied, and in nothing else.
void expect_one_key(const Comparison& comparison, const Case& one, const Case& other) {
  const std::string &key = comparison.key, both = one.name() + " and " + other.name();
  const auto value = [&](const Case& c) {
    const std::string stated = value_of(c.shape, key);
    return stated.empty() ? value_of(c.implied, key) : stated;
  };
  EXPECT_EQ(name_without(one, {key}).name(), name_without(other, {key}).name());
  EXPECT_NE(value(one), "") << both;
  EXPECT_NE(value(one), value(other)) << both;
  EXPECT_EQ(comparison.name, value(one) + " against " + value(other)) << both;
}

// A file that holds a case twice is refused by whoever reads it.
TEST(Suite, ListsNoCaseTwiceAndComparesCasesOfAGroupThatDifferInOneKey) {
  for (const DeviceInfo& device : {h200(), two_cores()}) {
    for (const Suite& suite : suites()) {
      std::set<std::string> seen;
      for (const NamedFamily& family : families()) {
        for (const Group& group : family.list({device, suite.id, {}, 0.9})) {
          std::map<CaseName, const Case*> here;
          for (const Case& c : group.cases) {
            EXPECT_TRUE(seen.insert(c.name()).second) << device.id << ": " << c.name();
            EXPECT_LE(c.name().size(), 118U) << c.name() << " does not fit a line of 120 columns";
            here[c] = &c;
          }
          for (const Comparison& comparison : group.comparisons) {
            const Case *one = here[comparison.numerator], *other = here[comparison.denominator];
            ASSERT_TRUE(one && other) << comparison.name << " of " << comparison.numerator.name();
            expect_one_key(comparison, *one, *other);
            // A cache counts what a copy reads and writes, the host's memory what is copied.
            if (comparison.key == "weights" || comparison.key == "cache") continue;
            EXPECT_EQ(one->work.total(Unit::flop), other->work.total(Unit::flop)) << one->name();
            // Another type of D has other bytes, an epilogue has a bias, blocks have scales, and what is added to is read.
            const std::set<std::string> of_other_bytes = {"out", "epilogue", "scale", "beta"};
            if (of_other_bytes.contains(comparison.key)) continue;
            EXPECT_EQ(one->work.total(Unit::byte), other->work.total(Unit::byte)) << one->name();
          }
        }
      }
      EXPECT_FALSE(seen.empty());
    }
  }
}

std::set<std::string> names_in(const DeviceInfo& device, SuiteName suite, std::string_view beside = "ceilings") {
  std::set<std::string> names;
  for (const NamedFamily& family : families()) {
    for (const Group& group : family.list({device, suite, {}, 0.9})) {
      for (const Case& c : group.cases) {
        if (c.family != beside) names.insert(c.name());
      }
    }
  }
  return names;
}

TEST(Suite, SmokeIsAHandfulOfPinnedProductsOneStreamAndOneSoftmax) {
  EXPECT_EQ(names_in(h200(), SuiteName::smoke),
            (std::set<std::string>{"gemm/bf16/m:4096/n:4096/k:4096/impl:cublaslt/layout:tn/algo:default/cache:cold",
                                   "gemm/fp64/m:4096/n:4096/k:4096/impl:cublaslt/layout:tn/algo:default/cache:cold",
                                   "gemm/fp8/m:4096/n:4096/k:4096/impl:cublaslt/layout:tn/algo:default/cache:cold",
                                   "gemm/tf32/m:4096/n:4096/k:4096/impl:cublaslt/layout:tn/algo:default/cache:cold",
                                   "reductions/softmax/bf16/rows:8192/columns:8192/impl:own/cache:cold",
                                   "stream/triad/fp64/bytes:1073741824/impl:own/cache:warm"}));
  EXPECT_EQ(names_in(two_cores(), SuiteName::smoke).size(), 4u);
}

// A product beside a triad, a memory test, whose kernel computes its pattern, and pulses, in which the clock changes faster
// than it is read.
TEST(Suite, WhatNeedsMemoryAndSmsOrPulsesFollowsNoSingleClock) {
  for (const NamedFamily& family : families()) {
    for (const Group& group : family.list({h200(), SuiteName::sustained, {}, 0.9})) {
      for (const Case& c : group.cases) {
        EXPECT_EQ(c.protocol.follows_one_clock, c.operation == "gemm" || c.operation == "triad") << c.name();
      }
    }
  }
}

TEST(Suite, SustainedIsProductsNearlyAllMemoryBothAtOnceAndPulses) {
  EXPECT_EQ(
      names_in(h200(), SuiteName::sustained, ""),
      (std::set<std::string>{"sustained/gemm/bf16/m:16384/n:16384/k:16384/impl:cublaslt/layout:tn/algo:default/cache:warm",
                             "sustained/gemm/fp8/m:16384/n:16384/k:16384/impl:cublaslt/layout:tn/algo:default/cache:warm",
                             "sustained/gemm/fp64/m:8192/n:8192/k:8192/impl:cublaslt/layout:tn/algo:default/cache:warm",
                             "sustained/gemm_and_triad/bf16/side:16384/bytes:66571993088/impl:cublaslt/cache:warm",
                             "sustained/gemm_pulses/bf16/side:16384/hz:2/impl:cublaslt/cache:warm",
                             "sustained/triad/fp64/bytes:133143986176/impl:own/cache:warm",
                             "sustained/memory_test/int32/bytes:133143986176/pattern:random/impl:own/cache:warm"}));
  EXPECT_EQ(names_in(two_cores(), SuiteName::sustained, ""),
            (std::set<std::string>{"sustained/gemm/fp32/m:2048/n:2048/k:2048/impl:blas/layout:tn/algo:default/cache:warm",
                                   "sustained/gemm/fp64/m:2048/n:2048/k:2048/impl:blas/layout:tn/algo:default/cache:warm",
                                   "sustained/triad/fp64/bytes:20199768064/impl:own/cache:warm",
                                   "sustained/memory_test/int32/bytes:20199768064/pattern:random/impl:own/cache:warm"}));
  DeviceInfo consumer = h200();
  consumer.compute_capability = 89;  // fp64 at a 64th of the fp32 rate
  for (const std::string& name : names_in(consumer, SuiteName::sustained, "")) {
    EXPECT_EQ(name.find("gemm/fp64"), std::string::npos) << name;
  }
}

TEST(Suite, WhatNearlyAllMemoryIsTooLittleForIsListedWithTheBytesThatItNeeds) {
  DeviceInfo tiny_gpu = h200(), tiny_cpu = two_cores();
  tiny_gpu.memory_bytes = tiny_gpu.free_bytes = std::size_t{512} << 20;
  tiny_cpu.memory_bytes = tiny_cpu.free_bytes = std::size_t{48} << 20;
  for (const DeviceInfo& device : {tiny_gpu, tiny_cpu}) {
    for (const auto& [suite, family] : {std::pair(SuiteName::sustained, "sustained"), std::pair(SuiteName::full, "stream")}) {
      const bool gpu = device.backend == Backend::cuda;
      bool listed = false;
      for (const NamedFamily& one : families()) {
        if (one.name != family) continue;
        for (const Group& group : one.list({device, suite, {}, 0.9})) {
          for (const Case& c : group.cases) {
            if (c.operation != "triad" || value_of(c.shape, "bytes") != (gpu ? "1073741824" : "67108864")) continue;
            listed = true;
            if (gpu && !&cuda::stream) continue;  // unsupported for that reason
            EXPECT_THAT(c.unsupported, testing::HasSubstr(gpu ? "needs 1.07 GB" : "needs 67.1 MB")) << c.name();
          }
        }
      }
      EXPECT_TRUE(listed) << device.id << ": " << family;
    }
  }
}

TEST(Suite, HasASentenceAboutTheFamilyOfEveryCase) {
  const Lists lists = list_families({h200(), SuiteName::quick, {}, 0.9});
  std::set<std::string> families;
  for (const std::vector<Group>* groups : {&lists.ceilings, &lists.suite}) {
    for (const Group& group : *groups) {
      for (const Case& c : group.cases) families.insert(c.family);
    }
  }
  EXPECT_EQ(lists.about.size(), families.size());
  for (const std::string& family : families) EXPECT_TRUE(lists.about.contains(family)) << family;
}

// The bits of a tuned product depend on which algorithm was fastest; those of a pinned one are compared among GPUs.
TEST(Suite, QuickHasAProductOfTheLibrarysFirstChoice) {
  EXPECT_TRUE(names_in(h200(), SuiteName::quick)
                  .contains("gemm/bf16/m:4096/n:4096/k:4096/impl:cublaslt/layout:tn/algo:default/cache:cold"));
}

// What the full suite of a large GPU must hold of each operation, beside whatever else it holds.
class FullSuite : public testing::Test {
 protected:
  void SetUp() override {
    for (const NamedFamily& family : families()) {
      for (const Group& group : family.list({h200(), SuiteName::full, {}, 0.9})) {
        for (const Case& c : group.cases) names_.insert(c.name());
        for (const Comparison& c : group.comparisons) compared_.insert(c.name + ": " + c.numerator.name());
      }
    }
  }
  /// A case whose name begins so.
  void expect(const std::string& beginning) const {
    const auto found = names_.lower_bound(beginning);
    EXPECT_TRUE(found != names_.end() && found->starts_with(beginning)) << beginning;
  }

  std::set<std::string> names_, compared_;
};

TEST_F(FullSuite, HasAttentionOfEveryLengthHeadDimensionMaskAndGrouping) {
  const auto point = [&](std::string_view impl, std::string_view type, int d, bool grouped, int length, std::string_view mask) {
    const int heads = 8192 / d;
    expect(fmt::format("attention/{}/batch:1/heads:{}/kv_heads:{}/queries:{}/keys:{}/d:{}/mask:{}/impl:{}/", type, heads,
                       grouped ? heads / 8 : heads, length, length, d, mask, impl));
  };
  for (const std::string_view mask : {"none", "causal"}) {
    for (const int d : {64, 128, 256}) {
      for (const bool grouped : {true, false}) {
        for (const std::string_view impl : {"tiled_mma", "tiled_wgmma", "cudnn", "unfused"}) {
          for (int length = 512; length <= 16384; length *= 2) point(impl, "bf16", d, grouped, length, mask);
          point(impl, "fp16", d, grouped, 4096, mask);
        }
        for (const int length : {512, 1024, 2048, 4096}) point("naive", "bf16", d, grouped, length, mask);
      }
    }
    for (const std::string_view impl : {"tiled_mma", "tiled_wgmma", "cudnn"}) {
      for (const int length : {32768, 65536}) point(impl, "bf16", 128, true, length, mask);
    }
    for (const std::string_view impl : {"tiled_mma", "tiled_wgmma", "cudnn", "unfused"}) {
      for (int length = 512; length <= 16384; length *= 2) point(impl, "fp16", 128, true, length, mask);
    }
    for (int length = 512; length <= 16384; length *= 2) point("naive", "bf16", 128, true, length, mask);
    for (int length = 512; length <= 4096; length *= 2) point("naive", "fp16", 128, true, length, mask);
  }
}

TEST_F(FullSuite, HasEveryReductionFromAThousandToAQuarterOfAMillionColumns) {
  for (const std::string_view op :
       {"softmax", "layer_norm", "rms_norm", "residual_rms_norm", "cross_entropy", "row_sum", "quantise"}) {
    for (int columns = 1024; columns <= 262144; columns *= 2) {
      const int rows = (1 << 28) / columns;
      expect(fmt::format("reductions/{}/bf16/rows:{}/columns:{}/", op, rows, columns));
      if (columns != 1024 && columns != 16384 && columns != 262144) continue;
      for (const std::string_view type : {"fp16", "fp32"}) {
        expect(fmt::format("reductions/{}/{}/rows:{}/columns:{}/", op, type, rows, columns));
      }
    }
  }
}

TEST_F(FullSuite, HasEveryElementwiseOperationAndFusedPairs) {
  for (const std::string_view type : {"bf16", "fp16", "fp32"}) {
    for (const std::string_view op : {"add", "relu", "gelu_tanh", "gelu_erf", "silu", "swiglu", "residual_add", "rope",
                                      "embedding", "bias_gelu_residual"}) {
      expect(fmt::format("elementwise/{}/{}/", op, type));
    }
  }
  for (const std::string_view cast : {"bf16/elements:268435456/to:fp32", "fp32/elements:268435456/to:bf16",
                                      "fp16/elements:268435456/to:fp32", "bf16/elements:268435456/to:fp8"}) {
    expect(fmt::format("elementwise/cast/{}/", cast));
  }
  for (const std::string_view algo : {"fused", "separate"}) {
    expect(fmt::format("elementwise/bias_gelu_residual/bf16/rows:32768/columns:8192/impl:own/algo:{}/", algo));
    expect(fmt::format("elementwise/adamw/fp32/elements:67108864/impl:own/algo:{}/", algo));
    expect(fmt::format("reductions/residual_rms_norm/bf16/rows:8192/columns:8192/impl:own/algo:{}/", algo));
  }
  if (!&cuda::elementwise) GTEST_SKIP() << "this build has no CUDA kernels to compare";
  for (const std::string_view pair :
       {"elementwise/bias_gelu_residual/bf16/rows:32768/columns:8192", "elementwise/adamw/fp32/elements:67108864",
        "reductions/residual_rms_norm/bf16/rows:8192/columns:8192"}) {
    EXPECT_TRUE(compared_.contains(fmt::format("fused against separate: {}/impl:own/algo:fused/cache:cold", pair))) << pair;
  }
}

TEST_F(FullSuite, HasEveryWeightTypeOnTheProjectionsOfLlama3BesideTheLibrary) {
  // Query, key and value; attention output; gate and up; down; the vocabulary, which is 2.1 GB for 70B.
  constexpr int kMatrices[][2] = {{6144, 4096},  {4096, 4096}, {28672, 4096}, {4096, 14336}, {128256, 4096},
                                  {10240, 8192}, {8192, 8192}, {57344, 8192}, {8192, 28672}, {128256, 8192}};
  for (const auto& [m, k] : kMatrices) {
    for (const std::string_view weights : {"bf16", "fp8", "int8", "int4"}) {
      expect(fmt::format("gemv/bf16/weights:{}/m:{}/k:{}/impl:own/", weights, m, k));
    }
    expect(fmt::format("gemv/bf16/weights:bf16/m:{}/k:{}/impl:cublaslt/", m, k));
  }
}

TEST_F(FullSuite, HasDecodeAttentionFromAThousandKeysTo128ThousandAndUpTo64Batches) {
  for (const int batch : {1, 4, 16, 64}) {
    for (int keys = 1024; keys <= 131072; keys *= 2) {
      expect(fmt::format("decode_attention/bf16/batch:{}/heads:64/kv_heads:8/keys:{}/d:128/", batch, keys));
    }
  }
  expect("decode_attention/fp16/batch:16/heads:64/kv_heads:8/keys:131072/d:128/");
  for (const int d : {64, 256}) {
    expect(fmt::format("decode_attention/bf16/batch:16/heads:64/kv_heads:8/keys:4096/d:{}/", d));
  }
  expect("decode_attention/bf16/batch:4/heads:64/kv_heads:64/keys:4096/d:128/");
}

}  // namespace
}  // namespace roofmark
