// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/ranks/pairs.hpp"
#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/slow_pairs.hpp"
#include "harness/model/case_name.hpp"

namespace roofmark {

/// A pair of ranks that stands for a rank, host or link that is slow in the rounds, and pairs that it is compared with. Each
/// measured alone, they tell whether it is slow without other traffic, too.
struct PairsAlone {
  CaseName round;                           ///< a case of a round that they are like
  std::pair<int, int> pair;                 ///< a < b
  std::vector<std::pair<int, int>> others;  ///< of the same way, and not of what is slow; never empty
};

/// Of a rank, or of all ranks of a host: its fastest pair that can be compared, with a typical one of the other rank of this
/// pair. Where the pair is within the host: with a typical one of other hosts. `pairs`: of the size of `round`, and compared
/// with one another. Absent where there are no such pairs.
std::optional<PairsAlone> alone_of_end(const CaseName& round, const PairsOf<int>& pairs, const std::vector<int>& ranks,
                                       const Places& places);
/// Of two ranks, or of those of two hosts: their typical pair, with a typical one of either of its ranks.
std::optional<PairsAlone> alone_of_link(const CaseName& round, const PairsOf<int>& pairs, const std::vector<int>& ones,
                                        const std::vector<int>& others, const Places& places);

/// The names of the cases that have not been measured.
std::vector<std::string> unmeasured(const PairsAlone& pairs, const TimesAlone& alone);

/// Of measured pairs: the pair's time over that of the slowest other one.
struct AloneRatio {
  enum class Tells { slow, not_slow, nothing };

  double times = 1;
  /// slow: above kSlow, and the whole interval above that of every other pair. nothing: above kSlow, but the intervals overlap,
  /// or the other pair is the slower one by as much.
  Tells tells = Tells::nothing;
  std::pair<int, int> over;
};
std::optional<AloneRatio> ratio_alone(const PairsAlone& pairs, const TimesAlone& alone);

/// The end of a finding's text: what the pairs show, or which case measures the pair alone.
std::string in_words(const PairsAlone& pairs, const TimesAlone& alone);

}  // namespace roofmark
