// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/support/case_request.hpp"
#include "bench/support/listing.hpp"

namespace roofmark {

enum class Reach {
  of_device,      ///< a device and its host
  between_ranks,  ///< empty without a fabric; a team of ranks that measures its links lists these alone
};

/// The case that a name asks for, of any size; absent where the family's cases of this operation have the listed sizes alone,
/// or it has none. Throws std::invalid_argument that says what is wrong with the name.
using MakeCase = std::optional<Case> (*)(const Listing&, const CaseRequest&);

/// The sizes that a user may choose.
enum class Sizes {
  as_listed,  ///< those of the suites alone
  bytes,      ///< any number of bytes: a suite has the case with another one
  any
};

struct NamedFamily {
  std::string_view name;
  Family list;
  Sizes sizes;
  MakeCase make;  ///< null: as_listed
  Reach reach;
  std::string_view about;  ///< one sentence for the reader of a report; empty: its cases are of another family
};

/// Every family, in the order they run: those of the ceilings first.
const std::vector<NamedFamily>& families();

/// The groups of all families, or of those between ranks alone.
struct Lists {
  std::vector<Group> ceilings, suite;
  std::optional<std::vector<Group>> chosen = {};  ///< cases chosen by name, in place of the suite's
  std::vector<std::string> left_out = {};         ///< of the patterns of names: what is left out, and why, in words
  std::map<std::string, std::string> about = {};  ///< by the family of a case: the sentence about the family that listed it
};
Lists list_families(const Listing& listing, bool between_ranks_alone = false);

}  // namespace roofmark
