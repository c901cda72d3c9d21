// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace roofmark {

/// Throws UsageError if the folder already has a result.
void check_unused(const std::filesystem::path& folder);
/// Creates the folder of a run; empty: a new one under roofmark-results. Throws UsageError if it already has a result.
std::filesystem::path make_folder(const std::string& wanted);

}  // namespace roofmark
