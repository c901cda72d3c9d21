// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace roofmark {

/// The time that a suite allows itself: no group of cases begins that would exceed it.
class TimeLimit {
 public:
  /// The time begins now, by the clock `seconds`. Without a limit everything is allowed.
  TimeLimit(std::optional<double> limit, std::function<double()> seconds, std::string_view suite);

  /// Whether a group of so many cases is expected to end in time: each takes no longer than the slowest case so far did.
  bool allows(std::size_t cases) const;
  /// Why it is not, for its records.
  std::string refusal(std::size_t cases) const;
  /// The group that was allowed last has ended.
  void took(std::size_t cases);

 private:
  double left() const { return *limit_ - (seconds_() - began_); }
  double expected(std::size_t cases) const { return static_cast<double>(cases) * case_seconds_; }

  std::optional<double> limit_;
  std::function<double()> seconds_;
  std::string suite_;
  double began_;
  double group_began_;
  double case_seconds_ = 0;  ///< of the slowest case
};

}  // namespace roofmark
