// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// `smoke` and `sustained` are lists of their own: a handful of cases within seconds, and a load that lasts. `contract` is for
/// the contract test, not for measuring: every operation and type at awkward small shapes (one element, primes, sizes that are
/// no multiple of a vector).
enum class SuiteName { smoke, quick, baseline, full, sustained, contract };

/// Largest values of --max-seconds and --seconds.
inline constexpr double kMostCaseSeconds = 3600, kMostTotalSeconds = 7 * 86400;

/// Seconds, by the kind of device.
struct SecondsOn {
  double gpu = 0, cpu = 0;

  double on(Backend backend) const { return backend == Backend::cuda ? gpu : cpu; }
};

/// Everything that distinguishes a suite but the cases that each family lists for it.
struct Suite {
  SuiteName id;
  std::string_view name;
  std::string_view help;  ///< how long it takes, and what it is for; behind its limit or "--seconds" where it has one
  double case_seconds;    ///< timing budget per case; --max-seconds replaces it
  SecondsOn window_seconds = {0.1, 0.1};  ///< length of a warm-up window
  int size = 0;              ///< a suite has the cases of those of a smaller size, or larger ones; 0: not comparable
  int blocks = 5;            ///< per case
  bool offered = true;       ///< to the user
  bool all_ceilings = true;  ///< also those that no case demands, and again after the suite; else each demanded ceiling once
  std::optional<SecondsOn> limit = {};       ///< of the whole run; also its timeout
  std::optional<double> total_seconds = {};  ///< divided among the cases; --seconds replaces it

  /// Too little for one device after another: --device all measures them only at once.
  bool has_its_own_time() const { return limit || total_seconds; }
};

/// In the order in which they are listed.
std::span<const Suite> suites();
const Suite& facts_of(SuiteName id);
/// Null for any other text, and for a suite that is not offered.
const Suite* find_suite(std::string_view name);

inline std::string_view name(SuiteName id) { return facts_of(id).name; }

}  // namespace roofmark
