// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/model/work.hpp"

namespace roofmark {

/// The communication pattern.
enum class Pattern {
  collective,  ///< all ranks of a communicator take part
  neighbours,  ///< each rank sends to the next one: a step of a ring
  pairs        ///< each group is two ranks; the message crosses only their link, there and back
};

/// The note of a record whose time is mostly that of issuing the calls of all GPUs of a process.
inline constexpr std::string_view kSmallSizesNote = "small sizes";

/// The ranks of each communicator. Copies share them: the cases of a round of a thousand ranks have the same 512 pairs.
class RankGroups {
 public:
  using Groups = std::vector<std::vector<int>>;

  RankGroups() : RankGroups(Groups()) {}
  RankGroups(Groups groups) : groups_(std::make_shared<const Groups>(std::move(groups))) {}

  const Groups& all() const { return *groups_; }

 private:
  std::shared_ptr<const Groups> groups_;
};

/// The message between the ranks of a case, in nccl-tests' terms.
struct Message {
  Pattern pattern = Pattern::collective;
  int ranks = 1;          ///< of one communicator; several may run at once
  std::size_t bytes = 0;  ///< size: algbw = bytes / time
  std::size_t count = 0;  ///< elements passed to one call: of one part where `bytes` covers the parts of all ranks
  double bus_factor = 1;  ///< busbw / algbw
  int trips = 1;          ///< messages in sequence per launch; size and time are per message
  int root = -1;          ///< -1: none
  std::string reduction;  ///< sum, max, avg, or empty
  std::string place;      ///< in, out
  /// What rings over all links and network ports carry of it; empty where that is the record's work, or where no ring does it.
  Work ring = {};
  /// The ranks of each communicator, where not all ranks are in one.
  RankGroups groups;
};

}  // namespace roofmark
