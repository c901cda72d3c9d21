// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "bench/families/collective_traffic.hpp"
#include "bench/support/fabric.hpp"
#include "harness/model/message.hpp"

namespace roofmark::collectives {

/// Where the ranks of a fabric are, and what connects them inside a host or NVLink domain. The fabric outlives it.
struct RankMap {
  explicit RankMap(const Fabric& fabric);

  RankPlaces places;
  NvlinkMap nvlink;
  bool shared_gpu;  ///< two ranks have the same GPU
};

/// The ranks that take part in a case, by communicator. With a thousand ranks it is large, so the cases that have the same one
/// share it.
struct Division {
  Division(std::shared_ptr<const RankMap> of, std::vector<int> by_rank);

  std::shared_ptr<const RankMap> map;
  std::vector<int> colours;  ///< by rank; ranks with the same colour share a communicator; a negative one takes no part
  RankGroups groups;
  int ranks = 0;              ///< of the largest group
  bool all_by_nvlink = true;  ///< NVLink connects the ranks of each group that are in one domain
};
using SharedDivision = std::shared_ptr<const Division>;

/// Divisions of one listing's ranks.
class Divisions {
 public:
  explicit Divisions(const Fabric& fabric) : ranks_(fabric.members.size()), map_(std::make_shared<RankMap>(fabric)) {}

  SharedDivision of(std::vector<int> colours) const { return std::make_shared<Division>(map_, std::move(colours)); }
  /// All ranks in one communicator.
  SharedDivision world() const { return of(std::vector<int>(ranks_, 0)); }

 private:
  std::size_t ranks_;
  std::shared_ptr<const RankMap> map_;
};

}  // namespace roofmark::collectives
