// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/judge/ranks/places.hpp"
#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// Whether this rank lacks a result that other ranks measured at the same time.
bool lacks_result(const Record& record, std::size_t rank);

/// The key of a record's note with the reason why a rank has no result.
std::string note_of_rank(int rank);

/// The ranks that lack results, and the first reason.
std::vector<Finding> missing_results(const std::vector<Record>& records, const Places& places);

}  // namespace roofmark
