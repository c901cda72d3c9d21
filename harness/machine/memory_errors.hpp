// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace roofmark {

/// The errors of the host's memory by its controllers ("mc0"), since their driver was loaded: host_ecc_corrected and
/// host_ecc_uncorrected. Those that the kernel counts (EDAC); `root` is "/", or a copy in tests.
std::map<std::string, std::map<std::string, double>> memory_errors(const std::filesystem::path& root = "/");

}  // namespace roofmark
