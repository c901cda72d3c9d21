// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"

namespace roofmark::sustained {

/// A case of another family as one that lasts: an operation of the family `sustained`, named as the other family's or, if it
/// has none, as that family. All have equal shares of the run's duration. Throws std::invalid_argument for a case that the host
/// times.
Case lasting(Case c);

}  // namespace roofmark::sustained
