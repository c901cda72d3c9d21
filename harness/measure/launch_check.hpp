// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/model/prepared.hpp"

namespace roofmark {

/// Compares the output bits of launches with those of a verified launch, by hashes that the device computes and keeps until
/// they are read. Hashing may take 3 % of the time, as measured: if hashing all outputs takes more, each check hashes one
/// window, and the next check the next window.
class LaunchCheck {
 public:
  /// The outputs of slot 0 hold verified bits; all slots must give the same. A window takes 3 % of `seconds`, the interval
  /// between checks. `most_checks`: between two calls of differing().
  LaunchCheck(Device& device, Prepared& prepared, double seconds, std::size_t most_checks);

  /// Adds to the time budget that hashing takes its share of; true if the next check fits.
  bool due(double seconds);
  /// Enqueues and times the hashes of the last launch's output in `slot`.
  void check(int slot);
  /// Reads the hashes back. Returns the checks with different bits, counted from the first one since the last call.
  std::vector<std::size_t> differing();
  /// Makes the windows smaller where every hash since the last call was slower than planned. Call after differing().
  void rescale();

  std::int64_t checks() const { return checks_; }
  double share_checked() const { return checks_ ? hashed_bytes_ / (double(checks_) * double(output_bytes_)) : 0; }
  double seconds() const { return seconds_; }

 private:
  /// A part of one output.
  struct Part {
    std::size_t output, offset, bytes;
    std::uint64_t hash;  ///< of the verified bits
  };
  using Window = std::vector<Part>;

  const Window& next_window() const { return windows_[static_cast<std::size_t>(checks_) % windows_.size()]; }
  void enqueue(Stream stream);
  void measure_rate();
  std::size_t affordable_window() const;
  void divide(std::size_t window_bytes);

  Device& device_;
  Prepared& prepared_;
  std::vector<Window> windows_;
  std::size_t parts_ = 0;  ///< of the largest window
  Memory results_;
  std::unique_ptr<Batch> batch_;
  int slot_ = 0;
  std::size_t pending_ = 0;  ///< checks since the last call of differing()
  std::int64_t checks_ = 0;
  std::size_t output_bytes_ = 0;
  std::size_t window_bytes_ = 0;
  std::vector<std::uint64_t> verified_;  ///< a hash of each whole output
  double check_seconds_;                 ///< the time in which there should be a check
  std::size_t most_checks_;              ///< between two calls of differing()
  double bytes_per_second_ = 0;          ///< of hashing, by the last check
  double fastest_ = 0;                   ///< the same of the fastest check since the last call of rescale()
  double hashed_bytes_ = 0, seconds_ = 0, offered_seconds_ = 0;
};

}  // namespace roofmark
