// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/families/collective_case.hpp"

namespace roofmark {

inline constexpr std::size_t kKi = 1024, kMi = kKi * kKi, kGi = kKi * kMi;

/// least, least x factor, ... up to most.
std::vector<std::size_t> sizes(std::size_t least, std::size_t most, std::size_t factor);

/// The cases of a suite: each once, if the library can do it and the memory holds it.
class CollectiveList {
 public:
  explicit CollectiveList(const Listing& listing);

  void add(const Point& point);
  /// Out of place and in place.
  void add_both_places(Point point);

  std::vector<Group> groups() && { return std::move(groups_); }

 private:
  const Listing& listing_;
  std::shared_ptr<Communicator> communicator_;
  std::set<std::string> names_;
  std::vector<Group> groups_;
};

}  // namespace roofmark
