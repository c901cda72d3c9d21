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

#include "bench/program/commands.hpp"
#include "harness/team/team.hpp"

namespace roofmark {

/// Does on every rank what may fail on any, and gives its result; where it failed on one all throw the same UsageError or
/// TeamError, which says why and names the ranks unless it was alike on all.
template <class Do>
auto together(Team& team, const Do& work) {
  constexpr char kUsageMark = 'u', kOtherMark = 'e';
  std::optional<decltype(work())> result;
  std::string said;
  try {
    result = work();
  } catch (const TeamBroken&) {
    throw;
  } catch (const UsageError& error) {
    said = kUsageMark + std::string(error.what());
  } catch (const std::invalid_argument& error) {
    said = kUsageMark + std::string(error.what());
  } catch (const std::exception& error) {
    said = kOtherMark + std::string(error.what());
  }
  const std::vector<std::string> all = team.gather(said);
  const auto first = std::find_if(all.begin(), all.end(), [](const std::string& text) { return !text.empty(); });
  if (first == all.end()) return std::move(*result);
  std::string text;
  if (std::count(all.begin(), all.end(), *first) == team.size()) {
    text = first->substr(1);
  } else {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].empty()) continue;
      text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", team.describe(static_cast<int>(rank)), all[rank].substr(1));
    }
  }
  if (first->front() == kUsageMark) throw UsageError(text);
  throw TeamError(text);
}

}  // namespace roofmark
