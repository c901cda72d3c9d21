// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace roofmark {

/// Starts a program with the arguments `words`; words[0] is its argv[0]. Discards the stdout of a `silent` program. It gets a
/// SIGTERM when the calling thread ends, however that ends. Throws std::system_error.
pid_t start_process(const std::string& program, std::vector<std::string> words, bool silent = false);

/// Waits until all children have ended and gives their wait statuses, in order. Once `interrupted` is set, passes SIGTERM on to
/// those that still run. A child for which `is_stuck` becomes true, called from this thread with its place, is killed and has
/// no status: inside a driver that hangs, not even SIGKILL ends it, and waiting for it would never end.
std::vector<std::optional<int>> wait_for(const std::vector<pid_t>& children, const std::atomic<bool>& interrupted,
                                         const std::function<bool(std::size_t child)>& is_stuck = {});

}  // namespace roofmark
