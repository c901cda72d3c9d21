// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/printable.hpp"

#include <gtest/gtest.h>

namespace roofmark {
namespace {

constexpr const char* kInstead = "\xef\xbf\xbd";

TEST(Printable, TextStaysAsItIs) {
  for (const std::string text : {"", "node7", "M\xc3\xbcnchen", "\xe2\x82\xac 5", "\xf0\x9f\x9a\x80", "a b"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, WhatControlsATerminalIsReplaced) {
  EXPECT_EQ(printable("a\x1b[31mb"), std::string("a") + kInstead + "[31mb");
  EXPECT_EQ(printable("a\nb\r"), std::string("a") + kInstead + "b" + kInstead);
  EXPECT_EQ(printable(std::string("a\0b", 3)), std::string("a") + kInstead + "b");
  EXPECT_EQ(printable("\x7f\xc2\x9b"), std::string(kInstead) + kInstead) << "DEL, and CSI as one character";
  EXPECT_EQ(printable("\xe2\x80\xae"), kInstead) << "writes from right to left";
}

TEST(Printable, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(printable("\xff"
                      "a"),
            std::string(kInstead) + "a");
  EXPECT_EQ(printable("\xe2\x82"), std::string(kInstead) + kInstead) << "cut short";
  EXPECT_EQ(printable("\xc0\x80"), std::string(kInstead) + kInstead) << "an overlong NUL";
  EXPECT_EQ(printable("\xed\xa0\x80"), kInstead) << "a surrogate";
  EXPECT_EQ(printable("\xef\xbf\xbf"), kInstead) << "no character of XML";
}

TEST(Printable, LinesAndColoursOfTheProgramStay) {
  EXPECT_EQ(printable_lines("a\n\x1b[1;31mb\x1b[0m\n"), "a\n\x1b[1;31mb\x1b[0m\n");
  EXPECT_EQ(printable_lines("\x1b[2J\x1b]0;t\x07\r"), std::string(kInstead) + "[2J" + kInstead + "]0;t" + kInstead + kInstead);
  EXPECT_EQ(printable_lines("\x1b[1"), std::string(kInstead) + "[1");
}

}  // namespace
}  // namespace roofmark
