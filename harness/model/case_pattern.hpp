// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "harness/model/case_name.hpp"

namespace roofmark {

/// More of one pattern is a slip of the pen.
inline constexpr std::size_t kMostNamesOfPattern = 10'000;

/// The names that a pattern stands for, the last part varying fastest: a name, whole or without some of its keys, in which
///   a,b,c     stands for each of these words or numbers, also as operation or type
///   8..1G*2   for 8, 16, 32, ... up to 2^30; *2 may be left out
///   8..64+8   for 8, 16, 24, ... 64
///   4K        for 4096; K, M, G and T are powers of 1024
///   m=n=k:64  for one value of several keys
/// Throws std::invalid_argument that says what is wrong.
std::vector<CaseName> names_of_pattern(std::string_view pattern);

}  // namespace roofmark
