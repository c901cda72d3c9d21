// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "harness/model/measurement.hpp"

namespace roofmark {

/// The records in one of Google Benchmark's own formats: json, console or csv.
void write_google_benchmark(std::ostream& out, const std::string& format, const std::vector<Record>& records);

}  // namespace roofmark
