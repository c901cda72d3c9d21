// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/listing.hpp"

namespace roofmark {

/// Two cases that are launched together, in a way that a derived class defines. Both are reset and verified.
class PreparedPair : public Prepared {
 public:
  PreparedPair(std::unique_ptr<Prepared> work, std::unique_ptr<Prepared> other)
      : work_(std::move(work)), other_(std::move(other)) {}

  void reset(int slot) override;
  bool needs_reset() const override { return work_->needs_reset() || other_->needs_reset(); }
  bool accumulates() const override { return work_->accumulates() || other_->accumulates(); }
  Verification verify(int slot) override;
  std::vector<Output> outputs(int slot) override;
  bool outputs_are_all() const override { return work_->outputs_are_all() && other_->outputs_are_all(); }
  bool is_deterministic() const override { return work_->is_deterministic() && other_->is_deterministic(); }
  /// The first one's.
  std::string fingerprint_key() const override { return work_->fingerprint_key(); }
  std::vector<std::pair<std::string, std::string>> notes() const override { return work_->notes(); }

 protected:
  const std::unique_ptr<Prepared> work_, other_;
};

using PreparePair = std::unique_ptr<Prepared> (*)(const Setup&, std::unique_ptr<Prepared> work,
                                                  std::unique_ptr<Prepared> other);
/// `work` as it is, but launched with `other`, as the class says that `prepare` makes. The demands, the memory and what is
/// verified are of both; names, data type and protocol are those of `work`.
Case together(Case work, const Case& other, PreparePair prepare);

/// How often something runs beside the work of a launch.
enum class Times {
  once,      ///< the same in every run, as the demands count
  repeated,  ///< as often as fits into the time of `work`, by trials; a note says how much of its time is covered
};
/// The two together: `other` on a second stream of the GPU from the start of each launch. The fingerprint's key is that of
/// `work`.
Case beside(Case work, const Case& other, Times times);

/// How often something runs beside the work of a launch, and which share of the launch its repetitions take at least.
struct Repetitions {
  int count = 1;
  double covered = 0;
};
/// The largest number of repetitions that end before the work does; one more would add its own time to the launch.
/// `seconds_with(n)`: the time of a launch with n of them; `once`: the time of one without the work.
Repetitions repetitions_beside(const std::function<double(int count)>& seconds_with, double once);

/// The shape of a square product that something runs beside, short enough for a line: its side, what is `beside` it, its
/// implementation and cache.
Shape shape_beside(const Case& product, const Shape& beside);

}  // namespace roofmark
