// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/collective_list.hpp"

#include "bench/families/prepared_collective.hpp"

namespace roofmark {

std::vector<std::size_t> sizes(std::size_t least, std::size_t most, std::size_t factor) {
  std::vector<std::size_t> all;
  for (std::size_t bytes = least; bytes <= most; bytes *= factor) all.push_back(bytes);
  return all;
}

CollectiveList::CollectiveList(const Listing& listing)
    : listing_(listing), communicator_(listing.fabric->split(everyone(*listing.fabric))) {}

void CollectiveList::add(const Point& point) {
  if (ranks_of(point) == 0 || !communicator_->supports(point.op, point.type, point.reduction)) return;
  if (point.in_place ? communicator_->in_place_offset(point.op) < 0 : !communicator_->out_of_place(point.op)) return;
  if (chunk_of(point) > communicator_->most_elements()) return;
  Case c = collective_case(listing_, point);
  // Verification needs two pieces of doubles beside the buffers.
  const double room = listing_.memory_fraction * static_cast<double>(listing_.device.free_bytes);
  if (static_cast<double>(c.slot_bytes + 2 * kVerifiedPiece * sizeof(double)) > room) return;
  if (names_.insert(c.name()).second) groups_.push_back({{std::move(c)}, {}});
}

void CollectiveList::add_both_places(Point point) {
  for (const bool in_place : {false, true}) {
    point.in_place = in_place;
    add(point);
  }
}

}  // namespace roofmark
