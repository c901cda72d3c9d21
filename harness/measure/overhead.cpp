// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/overhead.hpp"

#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/model/statistics.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

namespace {

double median_of_empty_samples(Batch& batch) {
  constexpr int kSamples = 101;
  std::vector<double> seconds;
  for (int i = 0; i < kSamples; ++i) {
    if (const Timing timing = batch.run(); timing.valid) seconds.push_back(timing.seconds);
  }
  if (seconds.empty()) throw DeviceError("no valid sample without a launch", false);
  return median(std::move(seconds));
}

}  // namespace

std::optional<double> timing_overhead_seconds(Device& device) {
  constexpr double kShortest = 0.05, kLongest = 0.5, kAgreement = 0.05;
  BatchPlan plan;
  plan.path = Issue::automatic;
  const auto now = device.clock();
  const double started = now();
  try {
    const auto batch = device.batch(plan, [](Stream, int) {});
    double last = median_of_empty_samples(*batch), previous = 0;
    do {
      previous = std::exchange(last, median_of_empty_samples(*batch));
    } while (now() - started < kShortest || (std::abs(last - previous) > kAgreement * previous && now() - started < kLongest));
    return last;
  } catch (const DeviceError&) {
    return std::nullopt;
  }
}

double clock_overhead_seconds() {
  constexpr int kPairs = 10'001;
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  seconds.reserve(kPairs);
  for (int i = 0; i < kPairs; ++i) {
    const Clock::time_point before = Clock::now();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - before).count());
  }
  return median(std::move(seconds));
}

}  // namespace roofmark
