// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/program/commands.hpp"
#include "harness/measure/settings.hpp"
#include "harness/model/scope.hpp"

namespace roofmark {

Settings settings_of(const RunOptions& options);

/// What these options and the plan that follows from them take of the suite.
RunScope scope_of(const RunOptions& options, const Plan& plan);

}  // namespace roofmark
