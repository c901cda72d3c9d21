// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/model/case.hpp"

namespace roofmark::sustained {

/// A case of another family as one that lasts: `operation` of the family `sustained`. All have equal shares of the run's
/// duration.
Case lasting(Case c, std::string operation);

}  // namespace roofmark::sustained
