// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace roofmark {

/// A UTF-8 text from a file, for a terminal or XML: U+FFFD replaces what could control a terminal, break the line, or change
/// the direction of writing, and what is not UTF-8.
std::string printable(std::string_view text);
/// The same of each line; newlines stay, and so do the escape sequences of colours.
std::string printable_lines(std::string_view text);

}  // namespace roofmark
