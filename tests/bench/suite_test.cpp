// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/suite.hpp"

#include <gtest/gtest.h>

namespace roofmark {
namespace {

TEST(Suite, MeasuresTheCeilingsFirst) { EXPECT_EQ(families().front().name, "ceilings"); }

}  // namespace
}  // namespace roofmark
