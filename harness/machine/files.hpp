// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace roofmark {

// The kernel's small text files under /proc and /sys. What cannot be read is absent.

/// Absent if the first line is empty.
std::optional<std::string> first_line(const std::filesystem::path& file);

/// The first value after "key   :" or "key:" in a file of such lines.
std::optional<std::string> value_in(const std::filesystem::path& file, const std::string& key);

/// The number at the start of a text; absent if there is none, as in "max".
std::optional<double> number(const std::optional<std::string>& text);
std::optional<double> number_in(const std::filesystem::path& file);

/// The word in brackets of a file that lists all choices: "always [madvise] never".
std::optional<std::string> choice_in(const std::filesystem::path& file);

/// False also where the kernel does not let this process look.
bool is_there(const std::filesystem::path& file);
bool is_folder(const std::filesystem::path& file);

/// The entries of a folder whose names start with `prefix`, sorted.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder, const std::string& prefix = "");

}  // namespace roofmark
