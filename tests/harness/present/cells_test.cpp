// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/cells.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

TEST(Cells, ColumnsAlign) { EXPECT_EQ(align({{"a", "bb"}, {"ccc", "d"}}), "a    bb\nccc   d\n"); }

}  // namespace
}  // namespace roofmark
