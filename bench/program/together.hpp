// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/program/usage_error.hpp"
#include "harness/team/gather.hpp"

namespace roofmark {

/// Why a rank could not do its part; `usage`: the arguments are wrong.
struct RankError {
  bool usage = false;
  std::string text;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankError, usage, text)

/// Runs `work` on every rank and returns its result. If it fails on any rank, all ranks throw the same UsageError or TeamError,
/// which says why and names the ranks unless all failed in the same way.
template <class Do>
auto together(Team& team, const Do& work) {
  std::optional<decltype(work())> result;
  std::optional<RankError> error_here;
  try {
    result = work();
  } catch (const TeamBroken&) {
    throw;
  } catch (const UsageError& error) {
    error_here = {true, error.what()};
  } catch (const std::invalid_argument& error) {
    error_here = {true, error.what()};
  } catch (const std::exception& error) {
    error_here = {false, error.what()};
  }
  const std::vector<std::optional<RankError>> all = team.gather(error_here);
  const auto first = std::find_if(all.begin(), all.end(), [](const auto& error) { return error.has_value(); });
  if (first == all.end()) return std::move(*result);
  const RankError& found = **first;
  std::string text;
  const auto same = [&](const auto& error) { return error && error->usage == found.usage && error->text == found.text; };
  if (std::all_of(all.begin(), all.end(), same)) {
    text = found.text;
  } else {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (!all[rank]) continue;
      text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", team.describe(static_cast<int>(rank)), all[rank]->text);
    }
  }
  if (found.usage) throw UsageError(text);
  throw TeamError(text);
}

}  // namespace roofmark
