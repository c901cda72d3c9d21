// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// What a record's ranks show of their devices, each once: of the rank where it is worst, with all ranks that have it.
class FindingsByRank {
 public:
  explicit FindingsByRank(const Record& record) : case_name_(record.name()) {}

  /// `rank`: absent of one device. `reason` tells findings of one kind apart; of those of one size that with the larger `share`
  /// is the worst.
  void add(std::optional<int> rank, const Finding& one, const std::string& reason = {}, double share = 0);
  /// In the order in which each came first.
  void move_to(std::vector<Finding>& findings);

 private:
  struct Found {
    Finding finding;
    std::string reason;
    double share = 0;  ///< of the worst
  };
  std::string case_name_;
  std::vector<Found> found_;
};

}  // namespace roofmark
