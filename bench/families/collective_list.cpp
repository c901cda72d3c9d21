// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/collective_list.hpp"

#include "bench/families/prepared_collective.hpp"

namespace roofmark::collectives {

std::vector<std::size_t> sizes(std::size_t smallest, std::size_t largest, std::size_t factor) {
  std::vector<std::size_t> all;
  for (std::size_t bytes = smallest; bytes <= largest; bytes *= factor) all.push_back(bytes);
  return all;
}

CollectiveList::CollectiveList(const Listing& listing)
    : cases_(listing), communicator_(listing.fabric->local ? nullptr : listing.fabric->split(everyone(*listing.fabric))) {}

std::string CollectiveList::lacks(const Point& point) const {
  return communicator_ ? collectives::lacks(*communicator_, point) : std::string();
}

std::optional<Case> CollectiveList::offered(const Point& point) const {
  if (ranks_of(point) == 0 || !lacks(point).empty()) return std::nullopt;
  return collective_case(cases_.listing(), point);
}

void CollectiveList::add(const Point& point) {
  if (std::optional<Case> c = offered(point)) add(*std::move(c));
}

void CollectiveList::add_both_places(Point point) {
  for (const bool in_place : {false, true}) {
    point.in_place = in_place;
    add(point);
  }
}

}  // namespace roofmark::collectives
