// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/terminal.hpp"

#include <gmock/gmock.h>

#include "harness/measure/settings.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string shown(TerminalStyle style, bool quiet) {
  Course course{30, 75, 675e12, Unit::flop, {}};
  course.state.sm_clock_hz = 1.44e9;
  course.state.power_watts = 698;
  course.state.temperature_celsius = 56;
  testing::internal::CaptureStderr();
  {
    Progress progress("roofmark", style, quiet, 3);
    progress.show("sustained/gemm/bf16/m:16384", course);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, ALoadThatLastsSaysHowItGoes) {
  EXPECT_THAT(shown({.interactive = true}, false),
              HasSubstr("[1/3] 30 of 75 s  675 TFLOP/s  1440 MHz  698 W  56 C  sustained/gemm/bf16/m:16384"));
  EXPECT_THAT(shown({.interactive = true, .columns = 40}, false), HasSubstr("[1/3] 30 of 75 s  675 TFLOP/s  1440 MHz\r"));
}

TEST(Progress, ALogHasALineEveryTenSecondsAndQuietNone) {
  EXPECT_THAT(shown({.interactive = false}, false), IsEmpty()) << "it began just now";
  EXPECT_THAT(shown({.interactive = true}, true), IsEmpty());
}

}  // namespace
}  // namespace roofmark
