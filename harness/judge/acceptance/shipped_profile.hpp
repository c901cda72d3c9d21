// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace roofmark {

/// A profile that is built into the program, as TOML.
struct ShippedProfile {
  const char* name;
  const char* text;
};

}  // namespace roofmark
