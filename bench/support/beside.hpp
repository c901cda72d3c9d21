// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/support/listing.hpp"

namespace roofmark {

/// `work` as it is, but with `other` on a second stream of the GPU, from the start of each launch; a launch ends when both have
/// ended. The demands, the memory and what is verified are of both; names, data type and fingerprint's key are those of `work`.
Case beside(Case work, const Case& other);

}  // namespace roofmark
