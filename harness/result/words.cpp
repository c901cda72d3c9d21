// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/words.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace roofmark {

namespace {

/// In the order of the enumeration.
template <class Enum>
constexpr int kWords = 0;
template <>
constexpr auto kWords<Issue> = std::to_array<std::string_view>({"automatic", "stream", "gate", "graph"});
template <>
constexpr auto kWords<Timed> = std::to_array<std::string_view>({"device", "call", "completion"});
template <>
constexpr auto kWords<ClockDomain> = std::to_array<std::string_view>({"none", "sm", "memory"});
template <>
constexpr auto kWords<Cache> = std::to_array<std::string_view>({"cold", "warm"});
template <>
constexpr auto kWords<Distribution> = std::to_array<std::string_view>({"normal", "uniform", "zeros"});
template <>
constexpr auto kWords<StopReason> = std::to_array<std::string_view>({"interval", "budget"});
template <>
constexpr auto kWords<SetsCeiling::By> = std::to_array<std::string_view>({"rate", "slope", "library"});
template <>
constexpr auto kWords<Pattern> = std::to_array<std::string_view>({"collective", "neighbours", "pairs"});
template <>
constexpr auto kWords<OverlapRole> = std::to_array<std::string_view>({"work", "communication", "together"});
template <>
constexpr auto kWords<Verification::Status> = std::to_array<std::string_view>({"passed", "failed", "nothing_to_verify"});
template <>
constexpr auto kWords<PathKind> = std::to_array<std::string_view>({"nvlink", "board", "pcie_switch", "pcie_switches",
                                                                   "host_bridge", "numa_node", "system"});

template <class Enum>
std::string_view word(Enum value) {
  return kWords<Enum>[static_cast<std::size_t>(value)];
}

std::invalid_argument unknown(std::string_view word) {
  return std::invalid_argument("'" + std::string(word) + "' is not a known value");
}

}  // namespace

std::string_view name(Status status) { return type_of(status).id; }
std::string_view name(Issue issue) { return word(issue); }
std::string_view name(Timed timed) { return word(timed); }
std::string_view name(ClockDomain clock) { return word(clock); }
std::string_view name(Cache cache) { return word(cache); }
std::string_view name(Distribution distribution) { return word(distribution); }
std::string_view name(StopReason reason) { return word(reason); }
std::string_view name(SetsCeiling::By way) { return word(way); }
std::string_view name(Pattern pattern) { return word(pattern); }
std::string_view name(OverlapRole role) { return word(role); }
std::string_view name(Verification::Status status) { return word(status); }
std::string_view name(PathKind kind) { return word(kind); }

template <class Enum>
Enum parse(std::string_view word) {
  const auto& words = kWords<Enum>;
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) throw unknown(word);
  return static_cast<Enum>(found - words.begin());
}
template <>
Status parse(std::string_view word) {
  if (const StatusType* const type = find_status(word)) return type->status;
  throw unknown(word);
}
template Issue parse(std::string_view);
template Timed parse(std::string_view);
template ClockDomain parse(std::string_view);
template Cache parse(std::string_view);
template Distribution parse(std::string_view);
template StopReason parse(std::string_view);
template SetsCeiling::By parse(std::string_view);
template Pattern parse(std::string_view);
template OverlapRole parse(std::string_view);
template Verification::Status parse(std::string_view);
template PathKind parse(std::string_view);

}  // namespace roofmark
