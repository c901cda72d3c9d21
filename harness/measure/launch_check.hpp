// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/model/case.hpp"

namespace roofmark {

/// Compares the bits of each launch's outputs with those of a verified launch, by hashes that the device makes. Where hashing
/// all of them would take more than 3 % of the time, each launch has a window of them hashed, the next launch the next window.
class LaunchCheck {
 public:
  /// The outputs of slot 0 hold verified bits; all slots must give the same. `most_launches`: between two calls of differing().
  LaunchCheck(Device& device, Prepared& prepared, double seconds_per_launch, std::size_t most_launches);

  /// Enqueues the hashes of what the last launch wrote to `slot`, and times them.
  void check(int slot);
  /// Reads the hashes back. The launches whose bits differ, counted from the first one since the last call.
  std::vector<std::size_t> differing();

  std::int64_t launches() const { return launches_; }
  double share_checked() const { return launches_ ? hashed_bytes_ / (double(launches_) * double(output_bytes_)) : 0; }
  double seconds() const { return seconds_; }

 private:
  /// A part of one output.
  struct Part {
    std::size_t output, offset, bytes;
    std::uint64_t hash;  ///< of the verified bits
  };
  using Window = std::vector<Part>;

  void enqueue(Stream stream);
  double measured_rate();
  void divide(std::size_t window_bytes);

  Device& device_;
  Prepared& prepared_;
  std::vector<Window> windows_;
  std::size_t parts_ = 0;  ///< of the window that has most
  Memory results_;
  std::unique_ptr<Batch> batch_;
  int slot_ = 0;
  std::size_t pending_ = 0;  ///< launches since the last call of differing()
  std::int64_t launches_ = 0;
  std::size_t output_bytes_ = 0;
  double hashed_bytes_ = 0, seconds_ = 0;
};

}  // namespace roofmark
