// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/memory_errors.hpp"

#include <utility>

#include "harness/machine/files.hpp"

namespace roofmark {

std::map<std::string, std::map<std::string, double>> memory_errors(const std::filesystem::path& root) {
  std::map<std::string, std::map<std::string, double>> found;
  for (const auto& controller : entries(root / "sys/devices/system/edac/mc", "mc")) {
    for (const auto& [id, file] : {std::pair("host_ecc_corrected", "ce_count"), {"host_ecc_uncorrected", "ue_count"}}) {
      if (const auto count = number_in(controller / file)) found[controller.filename().string()][id] = *count;
    }
  }
  return found;
}

}  // namespace roofmark
