// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/interrupt.hpp"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "harness/measure/settings.hpp"

namespace roofmark {

namespace {

constexpr double kOneSignalSeconds = 1;

std::atomic<bool> was_interrupted{false};
std::atomic<double> interrupted_at{0};

// Where a terminal has hung up, or the reader of a pipe has gone, writing fails: what is left to say then goes nowhere, and the
// files are completed.
void leave_lost_streams() {
  const int saved = errno;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    termios settings{};
    const bool hung_up = ::tcgetattr(stream, &settings) != 0 && errno == EIO;
    pollfd pipe{stream, POLLOUT, 0};
    if (hung_up || (::poll(&pipe, 1, 0) > 0 && (pipe.revents & POLLERR))) ::dup2(nowhere, stream);
  }
  ::close(nowhere);
  errno = saved;
}

// A signal within a second of the first is the same one by another way: a terminal or a scheduler signals every process, and
// --device all passes it on to its children.
void on_signal(int signal) {
  if (signal == SIGHUP) leave_lost_streams();
  if (!was_interrupted) {
    note_interruption();
  } else if (steady_seconds() - interrupted_at > kOneSignalSeconds) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

void on_lost_reader(int) { leave_lost_streams(); }

}  // namespace

const std::atomic<bool>& interrupted() { return was_interrupted; }

void take_signals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGPIPE, on_lost_reader);
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

void note_interruption() {
  if (was_interrupted) return;
  interrupted_at = steady_seconds();
  was_interrupted = true;
}

}  // namespace roofmark
