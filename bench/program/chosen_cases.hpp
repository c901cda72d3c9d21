// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/program/suite.hpp"

namespace roofmark {

/// Sets lists.chosen to the cases that patterns stand for (harness/model/case_pattern.hpp), in their order, each once: of any
/// size where the family makes it, else as a suite lists them. Names that are NotTogether are left out where a pattern has
/// others. A key that a pattern lacks has the family's default, or stands for all listed cases. Cases of one pattern that
/// differ in words, as in impl or algo, are one group, and the first is compared with each that differs in one word. Throws
/// UsageError that names the pattern.
void choose(Lists& lists, const Listing& listing, const std::vector<std::string>& patterns, bool between_ranks_alone = false);

}  // namespace roofmark
