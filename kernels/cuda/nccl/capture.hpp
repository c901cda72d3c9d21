// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

namespace roofmark::cuda {

/// What the user wants of NCCL's log: NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE of the environment, or of NCCL's
/// configuration files where the environment lacks them.
struct WantedNcclLog {
  enum class Lines { none, warnings, all };
  Lines lines = Lines::none;
  bool captured = true;    ///< false: NCCL_DEBUG is ABORT or TRACE, and the log goes where the user sends it
  std::string subsystems;  ///< of `all`; "" for NCCL's default
  std::string file;        ///< as given, with %h (host) and %p (process); "" for stderr
};
WantedNcclLog wanted_nccl_log();

/// NCCL's log in memory, so that it can be read; what the user wants of it is passed on within a tenth of a second.
///
/// NCCL reads its level and subsystems from the environment, which holds strings of this object from the first use to the end
/// of the process. Changing one overwrites its letters in place, so no other thread sees the environment move.
class NcclLog {
 public:
  /// `reset`: NCCL's function that reads the environment again; null captures nothing.
  static NcclLog& only(void (*reset)());
  NcclLog(const NcclLog&) = delete;
  NcclLog& operator=(const NcclLog&) = delete;

  /// From now on NCCL says how it connects ranks and what it chooses for each call.
  void start();
  /// The log since start(); call before stop().
  std::string text() const;
  void stop();
  /// Its last warnings, oldest first. From any thread.
  std::vector<std::string> last_warnings() const;
  /// The same, without making the log.
  static std::vector<std::string> last_warnings_if_made();

 private:
  explicit NcclLog(void (*reset)());
  /// What the file holds from one place to another.
  std::string between(off_t from, off_t to) const;
  off_t size() const;  ///< of the file
  std::vector<std::string> warnings_until(off_t end) const;
  /// What the user wants of the lines that are complete.
  void pass_on();
  void pass_on_from_now_on();
  /// Empties the file, but keeps its warnings.
  bool set_aside();
  void set_tracing(bool on);

  inline static std::atomic<const NcclLog*> made_ = nullptr;

  void (*reset_)();
  WantedNcclLog wanted_;
  int file_ = -1;
  std::FILE* target_ = stderr;  ///< where what the user wants goes
  mutable std::mutex mutex_;
  bool tracing_ = false;
  off_t begin_ = 0;                    ///< of what the file still holds
  off_t passed_on_ = 0;                ///< up to here
  std::vector<std::string> warnings_;  ///< of what the file held before
  // WARN costs one comparison per message; NCCL would reread the environment per message for a word that it does not know.
  std::string level_ = "NCCL_DEBUG=WARN", place_ = "NCCL_DEBUG_FILE=", subsystems_ = "NCCL_DEBUG_SUBSYS=";
};

}  // namespace roofmark::cuda
