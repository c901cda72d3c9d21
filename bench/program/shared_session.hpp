// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "bench/program/session.hpp"

namespace roofmark {

/// The session of the rank that writes the files, which a watch's thread may complete; empty on other ranks.
class SharedSession {
 public:
  Session* open(std::unique_ptr<Session> session);
  /// On every rank: where the files are.
  void set_folder(std::string folder);
  /// For the case that rank 0 died: "`roofmark recover FOLDER` rebuilds ..."; empty before there is a folder. From any thread.
  std::string way_back() const;
  /// Whether there is a session on this rank.
  bool is_open() const { return shared_ != nullptr; }
  /// From any thread. Gives the exit status.
  int abandon(const std::string& reason) const;

 private:
  std::unique_ptr<Session> session_;
  std::atomic<Session*> shared_ = nullptr;
  std::string folder_;
  mutable std::mutex mutex_;
};

}  // namespace roofmark
