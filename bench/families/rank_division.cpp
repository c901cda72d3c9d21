// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/rank_division.hpp"

#include <algorithm>
#include <utility>

namespace roofmark::collectives {

RankMap::RankMap(const Fabric& fabric)
    : places(places_of(fabric.members)), nvlink(fabric.members), shared_gpu(share_gpu(fabric.members)) {}

Division::Division(std::shared_ptr<const RankMap> of, std::vector<int> by_rank)
    : map(std::move(of)), colours(std::move(by_rank)), groups(groups_of(colours)) {
  for (const std::vector<int>& group : groups.all()) {
    ranks = std::max(ranks, static_cast<int>(group.size()));
    all_by_nvlink = all_by_nvlink && map->nvlink.connects(group);
  }
}

}  // namespace roofmark::collectives
