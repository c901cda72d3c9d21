// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/launch_check.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "harness/machine/steady_seconds.hpp"

namespace roofmark {

namespace {

constexpr double kShareOfTime = 0.03;
constexpr std::size_t kAlignment = 256, kLeastWindow = 4096;

const void* address(const Output& output, std::size_t offset) { return static_cast<const std::byte*>(output.data) + offset; }

std::size_t bytes_of(const Output& output) { return output.count * size_of(output.type); }

}  // namespace

LaunchCheck::LaunchCheck(Device& device, Prepared& prepared, double seconds, std::size_t most_checks)
    : device_(device), prepared_(prepared), check_seconds_(seconds), most_checks_(most_checks) {
  for (const Output& output : prepared_.outputs(0)) {
    output_bytes_ += bytes_of(output);
    verified_.push_back(device_.hash(output.data, bytes_of(output)));
  }
  if (output_bytes_ == 0) return;
  measure_rate();
  divide(affordable_window());
  batch_ = device_.batch({}, [this](Stream stream, int) { enqueue(stream); });
}

/// From a part of the first output.
void LaunchCheck::measure_rate() {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  const Output output = prepared_.outputs(0).front();
  const std::size_t bytes = std::min(bytes_of(output), kMost);
  const Memory result = device_.allocate(sizeof(std::uint64_t));
  const auto batch = device_.batch({}, [&](Stream stream, int) {
    device_.enqueue_hash(stream, output.data, bytes, static_cast<std::uint64_t*>(result.get()));
  });
  batch->run();
  bytes_per_second_ = static_cast<double>(bytes) / std::max(batch->run().seconds, 1e-9);
}

/// Somewhat below its share, so that a check that took longer does not put off the next one.
std::size_t LaunchCheck::affordable_window() const {
  constexpr double kOfShare = 0.9;
  const double affordable = kOfShare * kShareOfTime / (1 - kShareOfTime) * check_seconds_ * bytes_per_second_;
  const auto window = static_cast<std::size_t>(std::min(affordable, static_cast<double>(output_bytes_)));
  return window >= output_bytes_ ? window : std::max(window / kAlignment * kAlignment, kLeastWindow);
}

/// Cuts the outputs, one behind the other, into windows.
void LaunchCheck::divide(std::size_t window_bytes) {
  const std::vector<Output> outputs = prepared_.outputs(0);
  const std::size_t parts_before = parts_;
  window_bytes_ = window_bytes;
  windows_.clear();
  std::size_t room = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t offset = 0; offset < bytes_of(outputs[i]);) {
      if (room == 0) {
        windows_.emplace_back();
        room = window_bytes;
      }
      const std::size_t bytes = std::min(room, bytes_of(outputs[i]) - offset);
      windows_.back().push_back({i, offset, bytes, device_.hash(address(outputs[i], offset), bytes)});
      parts_ = std::max(parts_, windows_.back().size());
      offset += bytes;
      room -= bytes;
    }
  }
  // Smaller windows may lie across more of small outputs.
  if (parts_ > parts_before) results_ = device_.allocate(most_checks_ * parts_ * sizeof(std::uint64_t));
}

void LaunchCheck::enqueue(Stream stream) {
  const std::vector<Output> outputs = prepared_.outputs(slot_);
  auto* result = static_cast<std::uint64_t*>(results_.get()) + pending_ * parts_;
  for (const Part& part : next_window()) {
    device_.enqueue_hash(stream, address(outputs[part.output], part.offset), part.bytes, result++);
  }
}

bool LaunchCheck::due(double seconds) {
  if (!batch_) return false;
  offered_seconds_ += seconds;
  double bytes = 0;
  for (const Part& part : next_window()) bytes += static_cast<double>(part.bytes);
  return seconds_ + bytes / bytes_per_second_ <= kShareOfTime / (1 - kShareOfTime) * offered_seconds_;
}

void LaunchCheck::check(int slot) {
  if (!batch_) return;
  slot_ = slot;
  double bytes = 0;
  for (const Part& part : next_window()) bytes += static_cast<double>(part.bytes);
  const double seconds = batch_->run().seconds;
  seconds_ += seconds;
  hashed_bytes_ += bytes;
  if (seconds > 0) bytes_per_second_ = bytes / seconds;
  fastest_ = std::max(fastest_, bytes_per_second_);
  ++checks_;
  ++pending_;
}

std::vector<std::size_t> LaunchCheck::differing() {
  std::vector<std::size_t> found;
  std::vector<std::uint64_t> hashes(pending_ * parts_);
  if (hashes.empty()) return found;
  device_.to_host(hashes.data(), results_.get(), hashes.size() * sizeof(std::uint64_t));
  const auto first = static_cast<std::size_t>(checks_) - pending_;
  for (std::size_t check = 0; check < pending_; ++check) {
    const Window& window = windows_[(first + check) % windows_.size()];
    const auto* const got = &hashes[check * parts_];
    if (!std::equal(window.begin(), window.end(), got,
                    [](const Part& part, std::uint64_t hash) { return part.hash == hash; })) {
      found.push_back(check);
    }
  }
  pending_ = 0;
  return found;
}

void LaunchCheck::rescale() {
  constexpr double kTooMuch = 1.1;
  if (!batch_ || pending_ > 0 || fastest_ == 0) return;
  // Another program may have had the core or the device during one hash, not during all.
  bytes_per_second_ = std::exchange(fastest_, 0);
  const std::size_t window = affordable_window();
  if (window >= window_bytes_ || static_cast<double>(window_bytes_) < kTooMuch * static_cast<double>(window)) return;
  // The new windows take the bits that are there now, so these must be the verified ones.
  const double started = steady_seconds();
  const std::vector<Output> outputs = prepared_.outputs(0);
  bool verified = true;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    verified = verified && device_.hash(outputs[i].data, bytes_of(outputs[i])) == verified_[i];
  }
  if (verified) divide(window);
  seconds_ += steady_seconds() - started;
}

}  // namespace roofmark
