// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace roofmark {

/// Writes to standard output and flushes it. False if a disk is full; a reader that has gone, or a terminal, is no failure.
bool print_out(const std::string& text);

/// For what print_out could not write.
struct NotPrinted : std::runtime_error {
  NotPrinted() : std::runtime_error("cannot write to standard output") {}
};

}  // namespace roofmark
