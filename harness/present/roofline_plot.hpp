// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/model/measurement.hpp"
#include "harness/model/roofline.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

/// A log-log roofline in text: the empirical ceilings of the pipes over that of the outermost memory, and each placed record
/// that has an intensity as a letter of its family. Empty when there is nothing to place.
std::string roofline_plot(const Roofline& roofline, const std::vector<Record>& records, const TerminalStyle& style);

}  // namespace roofmark
