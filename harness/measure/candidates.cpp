// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "harness/model/statistics.hpp"
#include "harness/team/gather.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

namespace {

constexpr std::size_t kMaxSamples = 50;

/// Times one candidate on all ranks. A rank on which it fails takes part in every later exchange, so that all ranks reach the
/// next candidate together; only a lost device ends the loop.
class Candidate {
 public:
  Candidate(Device& device, Team& team, const Settings& settings, const Launch* launch, const Protocol& protocol, int slots)
      : device_(device), team_(team), settings_(settings), launch_(launch) {
    plan_.path = protocol.issue;
    plan_.slots = slots;
  }

  double seconds(const std::function<void()>& rest) {
    run();  // pays for loading
    rest();
    const auto first = run();
    const double once = team_.max({first ? first->seconds : kVoidSample}).front();
    if (once == kVoidSample) return kVoidSample;
    plan_.launches = launches_per_sample(once, settings_.effort);
    if (plan_.launches > 1) batch_.reset();
    const double started = settings_.clock();
    std::vector<double> samples;
    do {
      team_.barrier();
      const auto timing = run();
      if (timing && timing->valid) samples.push_back(timing->seconds / plan_.launches);
    } while (team_.decide(launch_ && settings_.clock() - started < settings_.effort.candidate_seconds &&
                          samples.size() < kMaxSamples));
    if (launch_ && samples.empty()) failure_ = "no valid sample: the launch gate timed out each time";
    return team_.max({launch_ && !samples.empty() ? median(samples) : kVoidSample}).front();
  }
  const std::string& failure() const { return failure_; }

 private:
  std::optional<Timing> run() {
    if (!launch_) return std::nullopt;
    try {
      if (!batch_) batch_ = device_.batch(plan_, *launch_);
      return batch_->run();
    } catch (const DeviceError& error) {
      if (error.sticky()) throw;
      failure_ = error.what();
      launch_ = nullptr;
      return std::nullopt;
    }
  }

  Device& device_;
  Team& team_;
  const Settings& settings_;
  const Launch* launch_;  ///< null: this rank lacks the candidate, or it failed here
  BatchPlan plan_;
  std::unique_ptr<Batch> batch_;
  std::string failure_;
};

}  // namespace

int launches_per_sample(double seconds_per_launch, const Effort& effort, int graph_slots) {
  const double wanted = std::max(1.0, std::ceil(effort.sample_seconds / std::max(seconds_per_launch, 1e-9)));
  if (graph_slots == 0 || wanted <= effort.max_launches) return static_cast<int>(std::min<double>(wanted, effort.max_launches));
  return static_cast<int>(std::ceil(std::min<double>(wanted, effort.max_graph_launches) / graph_slots)) * graph_slots;
}

std::vector<double> time_candidates(Device& device, Team& team, const Settings& settings, const std::vector<Launch>& candidates,
                                    const Protocol& protocol, int slots, const std::function<void()>& rest) {
  std::vector<double> seconds;
  std::string failure;
  const auto count = static_cast<std::size_t>(team.max({static_cast<double>(candidates.size())}).front());
  for (std::size_t i = 0; i < count; ++i) {
    Candidate candidate(device, team, settings, i < candidates.size() ? &candidates[i] : nullptr, protocol, slots);
    const double taken = candidate.seconds(rest);
    if (i < candidates.size()) seconds.push_back(taken);
    if (!candidate.failure().empty()) failure = candidate.failure();
  }
  // All ranks agree: seconds are the same on all, and a rank without candidates sees none of them succeed.
  const bool any = std::any_of(seconds.begin(), seconds.end(), [](double taken) { return taken < kVoidSample; });
  if (any) return seconds;
  if (team.size() == 1 && !failure.empty()) throw DeviceError(failure, false);
  const std::vector<std::string> failures = team.gather(failure);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (!failures[rank].empty()) throw DeviceError(team.describe(static_cast<int>(rank)) + ": " + failures[rank], false);
  }
  throw DeviceError("the library proposed no algorithm that every rank has", false);
}

}  // namespace roofmark
