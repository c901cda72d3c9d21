// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/cells.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace roofmark {
namespace {

TEST(Cells, ColumnsAlign) { EXPECT_EQ(align({{"a", "bb"}, {"ccc", "d"}}), "a    bb\nccc   d\n"); }

TEST(Cells, WhatIsNoNumberIsADash) {
  for (const double none : {std::nan(""), -std::nan(""), HUGE_VAL}) {
    EXPECT_EQ(micros(none), "-");
    EXPECT_EQ(giga(none), "-");
  }
  EXPECT_EQ(micros(12.5e-6), "12.50");
  EXPECT_EQ(giga(2.5e9), "2.50");
}

TEST(Cells, TextBreaksBetweenWordsAndIsIndented) {
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(wrapped("", 7), "");
  EXPECT_EQ(wrapped("within 20 %", 9), "within\n20 %");
  EXPECT_EQ(wrapped("a  b", 7), "a  b");
  EXPECT_EQ(wrapped("  a b", 3, 2), "  a\n  b");
}

TEST(Cells, AnIndentLeavesRoomForWords) {
  EXPECT_EQ(wrapped("one two", 4, 10), "one\n  tw\n  o");
  EXPECT_EQ(wrapped("a table's row too wide", 12, 18), "a table's\n      row\n      too\n      wide");
}

TEST(Cells, PairsAreTwoColumnsWithoutWhatHasNoValue) {
  EXPECT_EQ(pairs_text({{"case", "a b"}, {"none at all", ""}, {"limit", "one two"}}, {.columns = 13}),
            "  case   a b\n  limit  one\n         two\n");
}

TEST(Cells, ALongWordBreaksBehindASlash) {
  EXPECT_EQ(wrapped("see gemm/bf16/m:64 now", 12, 2), "see gemm/\n  bf16/m:64\n  now");
  EXPECT_EQ(wrapped("see all gemm/bf16/m:64", 12, 2), "see all\n  gemm/bf16/\n  m:64");
  EXPECT_EQ(wrapped("abcdefghij", 4), "abcd\nefgh\nij");
}

TEST(Cells, AParagraphColoursItsLabelWhateverBlanksAndBreaksItHas) {
  const TerminalStyle style{.colour = true, .columns = 10};
  EXPECT_EQ(paragraph(style, bold, "cpu of ", ""), "\033[1mcpu of\033[0m\n");
  EXPECT_EQ(paragraph(style, bold, "cpu of a", " text"), "\033[1mcpu of a\033[0m\n  text\n");
  EXPECT_EQ(paragraph(style, bold, "a long label", " b"), "\033[1ma long\n  label\033[0m b\n");
}

}  // namespace
}  // namespace roofmark
