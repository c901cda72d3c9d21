// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/scope.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

TEST(Scope, OnlyTheSuiteAsItIsDefinedReadsAsAWholeOne) {
  EXPECT_EQ(describe_scope({52, 52, {}, ""}, "quick", false), "The quick suite: all 52 cases");
  EXPECT_EQ(describe_scope({52, 31, {"--filter 'gemm'", "0.05 s per case instead of 0.25 s"}, ""}, "quick", true),
            "A selection of the quick suite: 31 of 52 cases (--filter 'gemm', 0.05 s per case instead of 0.25 s)");
  EXPECT_EQ(describe_scope({52, 52, {"0.05 s per case instead of 0.25 s"}, ""}, "quick", true),
            "A shortened quick suite: all 52 cases (0.05 s per case instead of 0.25 s)");
  EXPECT_EQ(describe_scope({52, 52, {"--data zeros"}, ""}, "quick", false),
            "A changed quick suite: all 52 cases (--data zeros)");
  EXPECT_EQ(describe_scope({52, 54, {"--memory-fraction 0.95"}, ""}, "quick", false),
            "A changed quick suite: 54 cases instead of 52 (--memory-fraction 0.95)");
}

}  // namespace
}  // namespace roofmark
