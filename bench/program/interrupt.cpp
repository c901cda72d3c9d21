// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/interrupt.hpp"

#include <csignal>

#include "harness/measure/settings.hpp"

namespace roofmark {

namespace {

constexpr double kOneSignalSeconds = 1;

std::atomic<bool> was_interrupted{false};
std::atomic<double> interrupted_at{0};

// A signal within a second of the first is the same one by another way: a terminal or a scheduler signals every process, and
// --device all passes it on to its children.
void on_signal(int signal) {
  if (!was_interrupted) {
    note_interruption();
  } else if (steady_seconds() - interrupted_at > kOneSignalSeconds) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

const std::atomic<bool>& interrupted() { return was_interrupted; }

void take_signals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

void note_interruption() {
  if (was_interrupted) return;
  interrupted_at = steady_seconds();
  was_interrupted = true;
}

}  // namespace roofmark
