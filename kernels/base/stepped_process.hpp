// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace roofmark {

/// A child process that works in steps. Its stdin is a socket: it writes a byte after each step and reads one before the next.
/// It exits with status 0 after its last step, or if the socket is closed while it reads.
///
/// The waiting functions throw if the process exits otherwise: Unsupported for status kUnsupported, else DeviceError (not
/// sticky), both with the last line of its stdout or stderr. A process that does not answer within the limit is killed with its
/// children, also a DeviceError.
class SteppedProcess {
 public:
  static constexpr int kUnsupported = 3;
  static constexpr std::chrono::milliseconds kLimit{30'000};

  /// Starts nothing yet. `words`: the arguments behind the program's name.
  SteppedProcess(const std::string& program, const std::vector<std::string>& words, std::chrono::milliseconds limit = kLimit);
  /// Kills the process, if there is one.
  ~SteppedProcess();
  SteppedProcess(const SteppedProcess&) = delete;
  SteppedProcess& operator=(const SteppedProcess&) = delete;

  /// Requires that no process is running. The child gets its own process group, so Ctrl-C in the terminal does not interrupt a
  /// step.
  void start();
  /// Waits until the process has done a step.
  void await_step();
  void go_on();
  /// Closes the socket and waits for the end, if there is a process.
  void await_end();

 private:
  void open_socket();
  void close_socket();
  /// Waits for the end, and kills the process where it comes too late.
  void reap();
  [[noreturn]] void kill_late();
  [[noreturn]] void fail(const std::string& what) const;
  std::string last_line() const;

  std::string program_;
  std::vector<std::string> words_;
  std::chrono::milliseconds limit_;
  int output_ = -1;             ///< what the process writes to stdout and stderr, in memory
  int socket_ = -1, its_ = -1;  ///< ours, and the process's until it has been started
  pid_t process_ = 0;           ///< 0: none
};

}  // namespace roofmark
