// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/program/options.hpp"

namespace roofmark {

/// Measures each device alone (where `alone`), then all at once: shows what they lose to shared power, cooling and host. Each
/// device has its own process and folder (alone/cuda-0, together/cuda-0); result.json merges the concurrent results.
/// Gives the exit status: the worst of the processes' and of what was merged.
int run_on_all(const std::vector<std::string>& ids, const RunOptions& options, bool alone);

}  // namespace roofmark
