// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace roofmark::cuda {

/// A counter of bytes that may wrap at 32 bits, and that nothing else says so of: without its wraps. It is absent from the
/// first time on that the number of wraps between two values is not certain, and after a reset of a wider counter.
class UnwrappedCounter {
 public:
  /// The value now. `raw`: as the driver gives it; `seconds`: its time; `bytes_per_second_at_most`: the fastest that it grows.
  std::optional<double> value(const std::optional<double>& raw, double seconds, double bytes_per_second_at_most) {
    constexpr double kWrap = 4294967296.0;
    if (!raw || lost_) return std::nullopt;
    const double elapsed = seconds - seconds_;
    if (last_ && *raw < *last_) {
      // A value above 32 bits does not wrap there: the counter was reset.
      lost_ = *last_ >= kWrap;
      wraps_ += kWrap;
    }
    const bool may_wrap_unseen = last_ && *raw < kWrap && elapsed * bytes_per_second_at_most >= kWrap;
    // One that rises above 32 bits has never wrapped.
    if (may_wrap_unseen) unsure_ = true;
    if (*raw >= kWrap) {
      lost_ = lost_ || wraps_ > 0;
      unsure_ = false;
    }
    last_ = raw;
    seconds_ = seconds;
    return lost_ || unsure_ ? std::nullopt : std::optional(*raw + wraps_);
  }

 private:
  std::optional<double> last_;
  double seconds_ = 0, wraps_ = 0;
  bool unsure_ = false, lost_ = false;
};

}  // namespace roofmark::cuda
