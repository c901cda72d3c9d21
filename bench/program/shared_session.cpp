// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/shared_session.hpp"

#include <fmt/format.h>

#include <utility>

#include "bench/program/usage_error.hpp"

namespace roofmark {

Session* SharedSession::open(std::unique_ptr<Session> session) {
  session_ = std::move(session);
  shared_ = session_.get();
  return session_.get();
}

void SharedSession::set_folder(std::string folder) {
  const std::lock_guard lock(mutex_);
  folder_ = std::move(folder);
}

std::string SharedSession::way_back() const {
  const std::lock_guard lock(mutex_);
  return folder_.empty() ? "" : fmt::format("`roofmark recover {}` rebuilds result.json from the journal", folder_);
}

int SharedSession::abandon(const std::string& reason) const {
  Session* const session = shared_;
  return session ? session->abandon(reason) : kNotMeasured;
}

}  // namespace roofmark
