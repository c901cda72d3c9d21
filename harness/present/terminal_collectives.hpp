// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/ranks/rings.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

/// One table per collective and type with nccl-tests' columns (times in us, GB = 10^9 B, out-of-place and in-place side by
/// side), and below it the roofline's columns. A wrong record has its number of wrong elements and no bandwidth.
std::string collective_tables(const std::vector<Record>& records, const std::vector<RingPrediction>& rings,
                              const TerminalStyle& style);

}  // namespace roofmark
