// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/program/suite.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/listing.hpp"

namespace roofmark {

/// The case that a family makes from its name.
inline Case case_of(MakeCase make, const DeviceInfo& device, const std::string& name) {
  return *make({device, SuiteName::full, {}, 0.9}, CaseRequest(parse_case_name(name)));
}

}  // namespace roofmark
