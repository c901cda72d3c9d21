// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>
#include <stdexcept>
#include <string>

#include "kernels/gemm.hpp"
#include "tests/bench/case_of.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark::gemm {

std::vector<Group> list(const Listing& listing);
std::optional<Case> make(const Listing& listing, const CaseRequest& asked);

namespace {

Case uneven_case(const DeviceInfo& device, const std::string& name) { return case_of(make, device, name); }

TEST(GemmImbalance, IsInTheNameBehindTheSizes) {
  const DeviceInfo device = unnamed_gpu(90);
  const std::string sizes = "gemm/bf16/batch:8/m:32/n:48/k:64";
  const auto named = [&](const std::string& words) { return uneven_case(device, sizes + words).name(); };
  EXPECT_EQ(named("/imbalance:4"), sizes + "/imbalance:4/impl:cublaslt/layout:tn/algo:default/cache:cold");
  EXPECT_EQ(named("/imbalance:4/out:fp32"), sizes + "/imbalance:4/out:fp32/impl:cublaslt/layout:tn/algo:default/cache:cold");
  EXPECT_EQ(named("/imbalance:1"), sizes + "/imbalance:1/impl:cublaslt/layout:tn/algo:default/cache:cold")
      << "in one table with its neighbours, and with their algo";
  EXPECT_EQ(named("/imbalance:1/algo:tuned"), sizes + "/imbalance:1/impl:cublaslt/layout:tn/algo:tuned/cache:cold");
  EXPECT_EQ(uneven_case(two_cores(), "gemm/fp32/batch:3/m:1/n:1/k:1/imbalance:3").name(),
            "gemm/fp32/batch:3/m:1/n:1/k:1/imbalance:3/impl:blas/layout:tn/algo:default/cache:cold");
  for (const char* words : {"/imbalance:0", "/imbalance:9", "/imbalance:1.5"}) {
    EXPECT_THROW(named(words), std::invalid_argument) << words;
  }
  EXPECT_THROW(uneven_case(device, "gemm/bf16/m:32/n:48/k:64/imbalance:2"), std::invalid_argument) << "one product";
  const Comparison comparison =
      compare(uneven_case(device, sizes + "/imbalance:1"), uneven_case(device, sizes + "/imbalance:4"));
  EXPECT_EQ(comparison.key, "imbalance");
  EXPECT_EQ(comparison.name, "1 against 4");
}

TEST(GemmImbalance, HasTheWorkOfTheEvenBatchButNoWeightsOfProductsWithoutColumns) {
  const DeviceInfo device = unnamed_gpu(90);
  const auto expect = [&](const std::string& sizes, const std::string& imbalance, std::int64_t without_columns) {
    const Case even = uneven_case(device, "gemm/bf16/" + sizes), uneven = uneven_case(device, "gemm/bf16/" + sizes + imbalance);
    EXPECT_EQ(uneven.work.total(resource::bf16_tensor), even.work.total(resource::bf16_tensor));
    const auto unread = static_cast<double>(without_columns * 32 * 64 * 2);
    EXPECT_EQ(uneven.work.total(resource::dram), even.work.total(resource::dram) - unread) << sizes << imbalance;
    EXPECT_EQ(static_cast<double>(uneven.touched_bytes), static_cast<double>(even.touched_bytes) - unread);
  };
  expect("batch:8/m:32/n:48/k:64", "/imbalance:4", 0);
  expect("batch:8/m:32/n:48/k:64", "/imbalance:8", 7);
  expect("batch:5/m:32/n:1/k:64", "/imbalance:2", 1);
  expect("batch:5/m:32/n:1/k:64", "/imbalance:4", 3);
  expect("batch:5/m:32/n:4/k:64", "/imbalance:4", 0);
}

TEST(GemmImbalance, SaysWhatThereIsNotWithIt) {
  if (!&cuda::gemm) GTEST_SKIP() << "this build has no CUDA";
  const auto reason = [](const std::string& type, const std::string& words) {
    return uneven_case(unnamed_gpu(type == "nvfp4" ? 100 : 90), "gemm/" + type + "/batch:4/m:64/n:64/k:64/imbalance:2/" + words)
        .unsupported;
  };
  for (const char* type : {"bf16", "fp16", "tf32", "fp32", "fp64", "fp8", "int8"}) {
    EXPECT_EQ(reason(type, "layout:tn"), "") << type;
    EXPECT_EQ(reason(type, "layout:nt"), "an imbalance needs layout tn") << type;
  }
  EXPECT_EQ(reason("bf16", "epilogue:relu"), "no epilogue with an imbalance");
  EXPECT_EQ(reason("bf16", "out:fp32"), "an imbalance needs D of bf16 in bf16");
  EXPECT_EQ(reason("fp8", "out:fp8"), "an imbalance needs D of fp8 in bf16");
  EXPECT_EQ(reason("fp32", "beta:1"), "no beta:1 with an imbalance");
  EXPECT_EQ(reason("fp8", "scale:blk128"), "an imbalance needs scale:tensor of fp8");
  EXPECT_EQ(reason("bf16", "algo:tuned"),
            "each number of columns has the library's own algorithms: an imbalance needs algo:default");
  EXPECT_EQ(reason("bf16", "impl:tiled_wgmma/algo:tuned"), "") << "one kernel for all";
  EXPECT_EQ(reason("nvfp4", "layout:tn"), "no batch of nvfp4");
  const auto of_sizes = [](const std::string& sizes) { return uneven_case(unnamed_gpu(90), "gemm/fp8/" + sizes).unsupported; };
  EXPECT_EQ(of_sizes("batch:4/m:72/n:64/k:64/imbalance:2"), "fp8 needs m and k that are multiples of 16");
  EXPECT_EQ(of_sizes("batch:256/m:64/n:64/k:64/imbalance:2"), "");
  EXPECT_EQ(of_sizes("batch:257/m:64/n:64/k:64/imbalance:2"),
            "each product of an imbalance is a call of cuBLASLt, 256 at most");
  EXPECT_EQ(of_sizes("batch:257/m:64/n:64/k:64/imbalance:257"), "") << "one product";
  EXPECT_EQ(of_sizes("batch:257/m:64/n:64/k:64/imbalance:2/impl:tiled_wgmma"), "") << "one call";
  EXPECT_EQ(uneven_case(two_cores(), "gemm/fp32/batch:257/m:64/n:64/k:64/imbalance:2").unsupported, "");
}

TEST(GemmImbalance, IsComparedWithTheEvenExpertsOfMixtures) {
  if (!&cuda::gemm) GTEST_SKIP() << "this build has no CUDA";
  const DeviceInfo device = unnamed_gpu(90);
  std::map<std::string, int> compared;
  for (const Group& group : list({device, SuiteName::full, {}, 0.9})) {
    for (const Comparison& comparison : group.comparisons) {
      if (comparison.key == "impl" && !value_of(comparison.numerator.shape, "imbalance").empty()) {
        EXPECT_EQ(comparison.name, "tiled_wgmma against cublaslt");
        ++compared["uneven by both"];
      }
      if (comparison.key != "imbalance") continue;
      EXPECT_EQ(value_of(comparison.numerator.shape, "algo"), "default");
      EXPECT_EQ(value_of(comparison.numerator.shape, "batch"), comparison.name == "1 against 2" ? "8" : "128");
      ++compared[comparison.name + " in " + std::string(name(comparison.numerator.type)) + " by " +
                 value_of(comparison.numerator.shape, "impl")];
    }
  }
  std::map<std::string, int> expected = {{"uneven by both", 16}};
  for (const char* impl : {"cublaslt", "tiled_wgmma"}) {
    for (const char* what : {"1 against 2 in bf16", "1 against 2 in fp8", "1 against 4 in bf16", "1 against 4 in fp8"}) {
      expected[what + std::string(" by ") + impl] = 4;
    }
  }
  EXPECT_EQ(compared, expected);
}

TEST(GemmImbalance, OfTheContractIsMadeAgainFromItsName) {
  for (const DeviceInfo& device : {unnamed_gpu(90), two_cores()}) {
    int uneven = 0;
    for (const Group& group : list({device, SuiteName::contract, {}, 0.9})) {
      for (const Case& c : group.cases) {
        if (value_of(c.shape, "imbalance").empty()) continue;
        const Case again = uneven_case(device, c.name());
        EXPECT_EQ(again.name(), c.name());
        EXPECT_EQ(again.touched_bytes, c.touched_bytes);
        ++uneven;
      }
    }
    EXPECT_GE(uneven, 30);
  }
}

}  // namespace
}  // namespace roofmark::gemm
