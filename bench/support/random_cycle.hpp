// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace roofmark {

/// next[i] follows i in a cycle through 0 .. count - 1 that meets each number once: Sattolo's algorithm (Information Processing
/// Letters 22, 1986), with random_bits(seed, 0, i). All such cycles are equally likely. count < 2^32; the same seed gives the
/// same cycle. `progress`, where given, is called every fraction of a second.
std::vector<std::uint32_t> random_cycle(std::size_t count, std::uint64_t seed, const std::function<void()>& progress = {});

}  // namespace roofmark
