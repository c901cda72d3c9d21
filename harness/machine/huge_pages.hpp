// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace roofmark {

/// The size of a transparent huge page: 2 MiB where the kernel does not say.
std::size_t huge_page_bytes(const std::filesystem::path& root);

/// Why a program that asks for transparent huge pages gets none; empty where it may get them, or the kernel does not say.
std::string why_no_huge_pages(const std::filesystem::path& root);

/// The share in huge pages, by proc/self/smaps under `root`, of what is resident of the mapping that holds `address`. The
/// kernel joins neighbouring mappings of one kind. Absent where the kernel does not say.
std::optional<double> huge_page_share(const std::filesystem::path& root, const void* address);

}  // namespace roofmark
