// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "bench/families/collective_case.hpp"
#include "bench/support/case_list.hpp"

namespace roofmark {

inline constexpr std::size_t kKi = 1024, kMi = kKi * kKi, kGi = kKi * kMi;

/// least, least x factor, ... up to most.
std::vector<std::size_t> sizes(std::size_t least, std::size_t most, std::size_t factor);

/// Collectives that the library has.
class CollectiveList {
 public:
  explicit CollectiveList(const Listing& listing);

  void add(const Point& point);
  /// Out of place and in place.
  void add_both_places(Point point);

  std::vector<Group> take() { return cases_.take(); }

 private:
  CaseList cases_;
  std::shared_ptr<Communicator> communicator_;  ///< null where the ranks connect later
};

}  // namespace roofmark
