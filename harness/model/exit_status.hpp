// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace roofmark {

/// The exit statuses of every command.
inline constexpr int kOk = 0, kWrong = 1, kUsage = 2, kNotMeasured = 3, kInterrupted = 130;

/// The worse of two: interrupted, usage, wrong, any other, ok.
constexpr int worse_exit(int a, int b) {
  const auto rank = [](int status) {
    return status == kInterrupted ? 4 : status == kUsage ? 3 : status == kWrong ? 2 : status != kOk ? 1 : 0;
  };
  return rank(a) >= rank(b) ? a : b;
}

}  // namespace roofmark
