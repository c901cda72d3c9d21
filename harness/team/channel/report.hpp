// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/team/watch.hpp"

namespace roofmark::channel {

/// Where a rank is.
struct Position {
  std::int64_t steps = 0;      ///< parts in the low bits
  double waiting_seconds = 0;  ///< since the last step, or since the channel began
  bool rests = false;
  std::string doing;
};

/// What rank 0 knows of a rank.
struct RankState {
  enum class Link { absent, joined, ended, failed, left };  ///< ended: unexpectedly; left: after a bye
  Link link = Link::absent;
  bool answered = false;
  Position position;       ///< of the last answer; after a bye its steps
  std::string fault = {};  ///< that it found itself
};

/// No rank is late: no rank has made that few steps.
inline constexpr std::int64_t kNobody = -1;

/// How long no rank has to make a step for a standstill.
struct Patience {
  double seconds = 0;
  bool interrupted = false;  ///< it is less than the timeout
};

/// What the answers of all ranks show: a standstill, or how long to wait before the next question.
struct Report {
  std::optional<Standstill> standstill;
  std::int64_t late_steps = kNobody;  ///< a rank with no more steps than these is late
  double wait_seconds = 0;
};

/// `ranks` by rank; `describe` gives "rank 2 (node7)".
Report report(const std::vector<RankState>& ranks, const Patience& patience, const std::function<std::string(int)>& describe);

}  // namespace roofmark::channel
