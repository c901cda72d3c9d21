// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/ranks/pairs.hpp"
#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/slow_pairs.hpp"

namespace roofmark {

/// A pair of ranks that stands for a rank, host or link that is slow in the rounds, and pairs of other ranks with one of its
/// own. Each measured alone, they tell whether it is slow without other traffic, too.
struct PairsAlone {
  std::size_t bytes = 0;
  std::pair<int, int> pair;                 ///< a < b
  std::vector<std::pair<int, int>> others;  ///< typical of a rank of the pair that is not at fault alone; never empty
};

/// Of a rank, or of all ranks of a host: its fastest pair, and one of the other rank of this pair. `pairs`: of one size, and
/// compared with one another. Absent where there are no such pairs.
std::optional<PairsAlone> alone_of_end(std::size_t bytes, const PairsOf<int>& pairs, const std::vector<int>& ranks,
                                       const Places& places);
/// Of two ranks, or of those of two hosts: their typical pair, and one of either of its ranks.
std::optional<PairsAlone> alone_of_link(std::size_t bytes, const PairsOf<int>& pairs, const std::vector<int>& ones,
                                        const std::vector<int>& others, const Places& places);

/// The names of the cases that have not been measured.
std::vector<std::string> unmeasured(const PairsAlone& pairs, const TimesAlone& times);

/// Of measured pairs: the pair's time over that of the slowest other one.
struct AloneRatio {
  double times = 1;
  bool slow = false;  ///< above kSlow, and the whole interval above that of every other pair
  std::pair<int, int> over;
};
std::optional<AloneRatio> ratio_alone(const PairsAlone& pairs, const TimesAlone& times);

/// The end of a finding's text: what the pairs show, or which case measures the pair alone.
std::string in_words(const PairsAlone& pairs, const TimesAlone& times);

}  // namespace roofmark
