// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/ranks/deviation.hpp"
#include "harness/judge/ranks/pairs.hpp"
#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/stragglers.hpp"

namespace roofmark {

/// "rank 3 (node1) (1.50 times the median)"
std::string brief(const std::string& who, const Outlier& seen);

/// The slowest rank and, where hosts have several ranks, the slowest host.
void add_slowest(const Ratios<int>& ranks, const Ratios<std::string>& nodes, const Places& places, const std::string& by,
                 std::vector<Slowest>& slowest);

/// Adds who is slow by pairs that communicate without the network (linked), or over it.
void find_slow_pairs(const RelativePairTimes& times, const Places& places, bool linked, Stragglers& made);

}  // namespace roofmark
