// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/variables_health.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/team/variables.hpp"

namespace roofmark {

std::vector<Circumstance> limiting_variables_health(const std::vector<RankInfo>& members) {
  std::vector<Circumstance> rows;
  for (const LimitingVariable& limit : limiting_variables(members)) rows.push_back({limit.name, limit.state, limit.effect});
  return rows;
}

std::vector<Circumstance> differing_variables_health(const std::vector<RankInfo>& members) {
  const std::vector<LimitingVariable> limits = limiting_variables(members);
  std::vector<Circumstance> rows;
  for (const DifferingVariable& variable : differing_variables(members)) {
    const auto is_it = [&](const LimitingVariable& limit) { return limit.name == variable.name; };
    if (std::any_of(limits.begin(), limits.end(), is_it)) continue;
    rows.push_back({variable.name, variable.values,
                    fmt::format("a rank that is set otherwise can be slower, and others wait for it; start all ranks with "
                                "the same value (mpirun -x {})",
                                variable.name)});
  }
  return rows;
}

}  // namespace roofmark
