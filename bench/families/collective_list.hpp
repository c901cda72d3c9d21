// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/families/collective_case.hpp"
#include "bench/support/case_list.hpp"
#include "harness/model/units.hpp"

namespace roofmark::collectives {

/// smallest, smallest x factor, ... up to largest.
std::vector<std::size_t> sizes(std::size_t smallest, std::size_t largest, std::size_t factor);

/// Collectives that the library has.
class CollectiveList {
 public:
  explicit CollectiveList(const Listing& listing);

  /// Why the library has no such call; empty where it has one, or where the ranks connect later.
  std::string lacks(const Point& point) const;
  /// Absent where the library lacks it.
  std::optional<Case> offered(const Point& point) const;
  void add(Case c) { cases_.add(std::move(c)); }
  void add(const Point& point);
  /// Out of place and in place.
  void add_both_places(Point point);

  std::vector<Group> take() { return cases_.take(); }

 private:
  CaseList cases_;
  std::shared_ptr<Communicator> communicator_;  ///< null where the ranks connect later
};

}  // namespace roofmark::collectives
