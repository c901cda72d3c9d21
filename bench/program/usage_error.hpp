// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "harness/model/exit_status.hpp"

namespace roofmark {

/// The arguments are wrong: exit status 2, before anything is measured.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// For --help: of the commands that measure.
inline constexpr const char* kExitStatusHelp =
    "Exit status:\n"
    "  0    everything was measured\n"
    "  1    a result is wrong, GPUs or ranks gave different bits, or a device\n"
    "       reports faults\n"
    "  2    usage error: nothing was measured\n"
    "  3    something could not be measured or written\n"
    "  130  interrupted (SIGINT, SIGTERM or SIGHUP)\n";
/// Of those that show a device or what they would measure.
inline constexpr const char* kShowingStatusHelp =
    "Exit status:\n"
    "  0  shown\n"
    "  2  usage error\n"
    "  3  a device cannot be used, or standard output cannot be written\n";

}  // namespace roofmark
