// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <vector>

namespace roofmark {

/// Starts a program, words[0] being the name it is to know itself by. Throws std::system_error.
pid_t start_process(const std::string& program, std::vector<std::string> words);

/// The wait statuses of children, in their order, when all have ended. Once `interrupted` is set, SIGTERM is passed on to those
/// that still run.
std::vector<int> wait_for(const std::vector<pid_t>& children, const std::atomic<bool>& interrupted);

}  // namespace roofmark
