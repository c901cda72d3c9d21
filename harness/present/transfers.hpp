// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/judge/transfers.hpp"
#include "harness/model/roofline.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

/// One line per series: the rate of its largest size, its share of the link's theoretical ceiling, the loss of concurrent
/// links, and the fit. Empty without transfers.
std::string transfers_text(const Transfers& transfers, const Roofline& roofline, const TerminalStyle& style);

}  // namespace roofmark
