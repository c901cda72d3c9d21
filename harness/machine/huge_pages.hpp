// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace roofmark {

/// The share in huge pages, by proc/self/smaps under `root`, of what is resident of the mapping that holds `address`. The
/// kernel joins neighbouring mappings of one kind. Absent where the kernel does not say.
std::optional<double> huge_page_share(const std::filesystem::path& root, const void* address);

}  // namespace roofmark
