// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/support/listing.hpp"

namespace roofmark {

enum class Reach {
  of_device,      ///< a device and its host
  between_ranks,  ///< empty without a fabric; a team of ranks that measures its links lists these alone
};

struct NamedFamily {
  std::string_view name;
  Family list;
  Reach reach;
  std::string_view about;  ///< one sentence for the reader of a report; empty: its cases are of another family
};

/// Every family, in the order they run: those of the ceilings first.
const std::vector<NamedFamily>& families();

/// The groups of all families, or of those between ranks alone.
struct Lists {
  std::vector<Group> ceilings, suite;
  std::map<std::string, std::string> about;  ///< by the family of a case: the sentence about the family that listed it
};
Lists list_families(const Listing& listing, bool between_ranks_alone = false);

}  // namespace roofmark
