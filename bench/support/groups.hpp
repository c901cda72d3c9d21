// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/listing.hpp"

namespace roofmark {

/// Bytes that an array takes in a slot, which is aligned to 256 bytes.
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// The last entry of a shape.
inline std::pair<std::string, std::string> shape_entry(Cache cache) {
  return {"cache", cache == Cache::cold ? "cold" : "warm"};
}

/// The groups of a family, in the order in which they are added.
class Groups {
 public:
  explicit Groups(const Listing& listing);

  const Listing& listing() const { return listing_; }
  bool on_gpu() const { return listing_.device.backend == Backend::cuda; }
  /// Takes what was not listed before: the cases, in their order, that fit into memory beside one another with two cold slots
  /// each, and the comparisons of those.
  void add(Group group);

  std::vector<Group> take() { return std::move(groups_); }

 private:
  const Listing& listing_;
  std::size_t limit_;
  std::vector<Group> groups_;
  std::set<std::string> listed_;
};

using AddGroups = void (*)(Groups&);
/// What a family adds for the contract test, and for the suites of a CPU and of a GPU.
std::vector<Group> list_groups(const Listing& listing, AddGroups contract, AddGroups cpu, AddGroups gpu);

}  // namespace roofmark
