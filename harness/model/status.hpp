// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/model/exit_status.hpp"
#include "harness/model/table.hpp"

namespace roofmark {

/// What became of a case: ok, then the worst first.
enum class Status { ok, wrong, failed, not_run, unsupported };

struct StatusType {
  Status status;
  std::string_view id;     ///< in files and profiles
  std::string_view words;  ///< for people
  int exit_status;         ///< that one such record calls for
  bool has_own_reason;     ///< each case has its own; else many cases share one

  /// The case has not passed, though it could have.
  constexpr bool is_bad() const { return exit_status != kOk; }
};

/// In the order of Status.
inline constexpr StatusType kStatuses[] = {
    {Status::ok, "ok", "ok", kOk, false},
    {Status::wrong, "wrong", "wrong", kWrong, true},
    {Status::failed, "failed", "failed", kNotMeasured, true},
    {Status::not_run, "not_run", "not run", kNotMeasured, false},
    {Status::unsupported, "unsupported", "unsupported", kOk, false},
};
static_assert(is_in_order(kStatuses, &StatusType::status));

constexpr const StatusType& type_of(Status status) { return kStatuses[static_cast<int>(status)]; }

/// Null for an id that no status has.
constexpr const StatusType* find_status(std::string_view id) {
  for (const StatusType& type : kStatuses) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

/// The worst of several passes or ranks is that of all.
constexpr bool is_worse(Status a, Status b) { return a != Status::ok && (b == Status::ok || a < b); }

}  // namespace roofmark
