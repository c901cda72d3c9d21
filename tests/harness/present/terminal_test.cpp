// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/terminal.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "harness/measure/settings.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string shown(TerminalStyle style, bool quiet, std::int64_t differing = 0) {
  Course course{30, 75, 675e12, Unit::flop, {}, differing};
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
  EXPECT_THAT(shown({.interactive = true}, false, 3), HasSubstr("30 of 75 s  WRONG BITS, launches: 3  675 TFLOP/s"));
}

TEST(Progress, ALogHasALineEveryTenSecondsAndQuietNone) {
  EXPECT_THAT(shown({.interactive = false}, false), IsEmpty()) << "it began just now";
  EXPECT_THAT(shown({.interactive = true}, true), IsEmpty());
}

TEST(TerminalStyle, ADumbTerminalHasNoColoursAndRewritesNoLine) {
  const int other_end = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (other_end < 0 || ::grantpt(other_end) != 0 || ::unlockpt(other_end) != 0) GTEST_SKIP() << "no pseudo-terminals here";
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> terminal(std::fopen(::ptsname(other_end), "w"), std::fclose);
    ASSERT_TRUE(terminal);
    const char* const before = std::getenv("TERM");
    const std::string kept = before ? before : "";
    ::setenv("TERM", "xterm", 1);
    EXPECT_TRUE(terminal_style(terminal.get()).interactive);
    ::setenv("TERM", "dumb", 1);
    EXPECT_FALSE(terminal_style(terminal.get()).interactive);
    EXPECT_FALSE(terminal_style(terminal.get()).colour);
    before ? ::setenv("TERM", kept.c_str(), 1) : ::unsetenv("TERM");
  }
  ::close(other_end);
}

/// What is shown of one case that fills memory, at these seconds after the start; `done` cases of 20 came before it.
std::string shown_at(const std::vector<double>& seconds, TerminalStyle style, std::size_t done = 0) {
  double now = 0;
  testing::internal::CaptureStderr();
  {
    Progress progress("roofmark", style, false, 20, [&now] { return now; });
    for (std::size_t i = 0; i < done; ++i) {
      Record before;
      before.status = Status::unsupported;
      progress.done(before);
    }
    for (const double at : seconds) {
      now = at;
      progress.show("sustained/triad", "preparing");
    }
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, ALongStageSaysHowLongItHasLasted) {
  EXPECT_EQ(shown_at({1, 5, 11, 12, 20, 21, 30}, {.interactive = false}),
            "roofmark: [1/20] preparing for 10 s  sustained/triad\n"
            "roofmark: [1/20] preparing for 20 s  sustained/triad\n");
  EXPECT_EQ(shown_at({1, 5, 25}, {.interactive = true}),
            "\r\033[K[1/20] preparing  sustained/triad"
            "\r\033[K[1/20] preparing  sustained/triad"
            "\r\033[K[1/20] preparing for 24 s  sustained/triad"
            "\r\033[K");
}

TEST(Progress, FewCasesDoNotSayHowLongTheOthersTake) {
  EXPECT_THAT(shown_at({8}, {.interactive = true}, 4), HasSubstr("[5/20] preparing"));
  EXPECT_THAT(shown_at({8}, {.interactive = true}, 5), HasSubstr("[6/20] 24 s left  preparing"));
}

}  // namespace
}  // namespace roofmark
