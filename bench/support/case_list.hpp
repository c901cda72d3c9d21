// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/listing.hpp"
#include "harness/result/words.hpp"

namespace roofmark {

/// The key `cache` of a shape.
inline std::pair<std::string, std::string> shape_entry(Cache cache) { return {"cache", std::string(name(cache))}; }

/// The cases of a family in the order in which they run, each name once.
class CaseList {
 public:
  explicit CaseList(const Listing& listing);

  const Listing& listing() const { return listing_; }
  bool on_gpu() const { return listing_.device.backend == Backend::cuda; }

  /// Adds the cases that are not listed yet. A case that exceeds the memory of the device or of its host is
  /// unsupported; one that fits only without the cases before it becomes a group of its own. Keeps the comparisons of supported
  /// cases of one group.
  void add(Group group);
  void add(Case c) { add(Group{{std::move(c)}, {}}); }
  /// Of two cases that disturb each other in memory, and so are of different groups: their blocks do not alternate. Dropped
  /// unless both are listed and supported.
  void add_across_groups(Comparison comparison);

  std::vector<Group> take() { return std::move(groups_); }

 private:
  const Listing& listing_;
  std::vector<Group> groups_;
  std::set<std::string> names_;
};

using AddCases = void (*)(CaseList&);
/// The groups of a family for the contract test, for the suites of a CPU or of a GPU, or for the smoke suite, where it has any.
std::vector<Group> list_cases(const Listing& listing, AddCases contract, AddCases cpu, AddCases gpu, AddCases smoke = nullptr);

}  // namespace roofmark
