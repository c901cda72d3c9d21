// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include "bench/families/collective_list.hpp"
#include "bench/families/sustained.hpp"

namespace roofmark::sustained_collectives {

namespace {

using collectives::CollectiveList;
using collectives::Point;

void add(CollectiveList& list, const Point& point) {
  std::optional<Case> c = list.offered(point);
  // Ranks that share a GPU have no link between them.
  const bool is_load = c && !(c->unsupported.empty() && c->work.phases.empty());
  if (is_load) list.add(sustained::lasting(*std::move(c)));
}

}  // namespace

/// All ranks, all links: sums, as a training job's, and what each rank has for each other one. The GPUs of one process are
/// loaded one by one, by the family `sustained`.
std::vector<Group> list(const Listing& listing) {
  if (!listing.fabric || listing.fabric->local || listing.suite != SuiteName::sustained) return {};
  const bool gpu = listing.device.backend == Backend::cuda;
  CollectiveList list(listing);
  const collectives::SharedDivision world = collectives::Divisions(*listing.fabric).world();
  for (const Collective op : {Collective::all_reduce, Collective::all_to_all}) {
    Point point;
    point.op = op;
    point.type = gpu ? DataType::bf16 : DataType::fp32;
    point.bytes = gpu ? kGiB : 4 * kMiB;
    point.among = world;
    add(list, point);
  }
  return list.take();
}

}  // namespace roofmark::sustained_collectives
