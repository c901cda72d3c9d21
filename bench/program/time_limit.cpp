// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/time_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace roofmark {

TimeLimit::TimeLimit(std::optional<double> limit, std::function<double()> seconds, std::string_view suite)
    : limit_(limit), seconds_(std::move(seconds)), suite_(suite), began_(seconds_()), group_began_(began_) {}

bool TimeLimit::allows(std::size_t cases) const { return !limit_ || expected(cases) <= left(); }

std::string TimeLimit::refusal(std::size_t cases) const {
  const double seconds = left();
  if (seconds <= 0) return fmt::format("left out: the {} suite has used its {:g} s", suite_, *limit_);
  return fmt::format("left out: it may take {:.1f} s, but only {:.1f} of the {} suite's {:g} s are left", expected(cases),
                     seconds, suite_, *limit_);
}

void TimeLimit::took(std::size_t cases) {
  const double now = seconds_();
  if (cases > 0) case_seconds_ = std::max(case_seconds_, (now - group_began_) / static_cast<double>(cases));
  group_began_ = now;
}

}  // namespace roofmark
