// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/judge/ranks/pairs.hpp"
#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/stragglers.hpp"

namespace roofmark {

/// Adds the slow ranks, hosts and links of one set of pairs. `times`: all, which share the network in their rounds. `alone`: of
/// pairs that were measured alone.
void find_in_pairs(const ComparedPairs& which, const RelativePairTimes& times, const TimesAlone& alone, const Places& places,
                   Stragglers& made);

}  // namespace roofmark
