// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace roofmark::cuda {

/// The period of the 128-byte swizzle: 8 rows of 128 bytes, in which 16-byte chunk c of row r is stored at c ^ r.
inline constexpr int kSwizzleAtomBytes = 1024;

}  // namespace roofmark::cuda
