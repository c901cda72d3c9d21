// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/model/measurement.hpp"

namespace roofmark {

/// An ok record of whole communicators.
bool is_collective(const Record& record);

/// Collective records whose names differ only in these keys, in the order of their first records.
std::vector<std::pair<CaseName, std::vector<const Record*>>> series_of(const std::vector<Record>& records,
                                                                       const std::set<std::string_view>& keys);

}  // namespace roofmark
