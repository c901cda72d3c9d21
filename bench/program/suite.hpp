// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "bench/support/listing.hpp"

namespace roofmark {

struct NamedFamily {
  std::string_view name;
  Family list;
};

/// Every family, in the order they run: those of the ceilings first.
const std::vector<NamedFamily>& families();

}  // namespace roofmark
