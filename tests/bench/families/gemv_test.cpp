// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>

#include "tests/bench/case_of.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark {

namespace gemv {
std::optional<Case> make(const Listing&, const CaseRequest&);
}
namespace transpose {
std::optional<Case> make(const Listing&, const CaseRequest&);
}
namespace argmax {
std::optional<Case> make(const Listing&, const CaseRequest&);
}

namespace {

// By hand: a multiplication and an addition per weight; weights, scales and both vectors once.
TEST(GemvCases, CountEachWeightOnce) {
  const double m = 4096, k = 8192, vectors = 2 * (m + k), scales = 2 * m * k / 128;
  const std::pair<const char*, double> all[] = {{"bf16/weights:bf16", 2 * m * k},
                                                {"bf16/weights:fp8", m * k + scales},
                                                {"bf16/weights:int8", m * k + scales},
                                                {"bf16/weights:int4", m * k / 2 + scales}};
  for (const auto& [weights, bytes] : all) {
    const Case one = case_of(gemv::make, h200(), std::string("gemv/") + weights + "/m:4096/k:8192");
    EXPECT_EQ(one.work.total(resource::bf16_tensor), 2 * m * k) << weights;
    EXPECT_EQ(one.work.total(resource::dram), bytes + vectors) << weights;
    EXPECT_GE(static_cast<double>(one.slot_bytes), bytes + vectors) << weights;
  }
  const Case library = case_of(gemv::make, h200(), "gemv/bf16/weights:bf16/m:4096/k:8192/impl:cublaslt");
  EXPECT_EQ(library.work.total(resource::bf16_tensor), 2 * m * k);
  EXPECT_EQ(library.work.total(resource::dram), 2 * m * k + vectors);
  EXPECT_EQ(case_of(gemv::make, h200(), "gemv/fp16/m:4096/k:8192").work.total(resource::fp16_tensor), 2 * m * k);
  const Case host = case_of(gemv::make, two_cores(), "gemv/fp32/m:4096/k:8192");
  EXPECT_EQ(host.work.total(resource::fp32_fma), 2 * m * k);
  EXPECT_EQ(host.work.total(resource::dram), 2 * (2 * m * k + vectors));
}

TEST(TransposeCases, CountEachElementReadAndWritten) {
  const Case one = case_of(transpose::make, h200(), "transpose/fp32/rows:1000/columns:2000");
  EXPECT_EQ(one.work.total(resource::dram), 2.0 * 1000 * 2000 * 4);
  EXPECT_EQ(one.work.total(Unit::flop), 0);
}

TEST(ArgmaxCases, CountTheRowsAndOneIndexEach) {
  const Case one = case_of(argmax::make, h200(), "argmax/bf16/rows:64/columns:1000");
  EXPECT_EQ(one.work.total(resource::dram), 64.0 * 1000 * 2 + 64 * 4);
}

}  // namespace
}  // namespace roofmark
