// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/huge_pages.hpp"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "harness/machine/files.hpp"

namespace roofmark {

std::size_t huge_page_bytes(const std::filesystem::path& root) {
  const auto bytes = number_in(root / "sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
  return bytes ? static_cast<std::size_t>(*bytes) : std::size_t{2} << 20;
}

std::optional<double> huge_page_share(const std::filesystem::path& root, const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::optional<double> resident, huge;
  bool inside = false;
  std::ifstream in(root / "proc/self/smaps");
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.find_first_of(" -") < colon) {  // "7f00-7fff rw-p ...", the head of a mapping
      if (inside) break;
      char* end = nullptr;
      const std::uintptr_t first = std::strtoull(line.c_str(), &end, 16);
      inside = *end == '-' && first <= wanted && wanted < std::strtoull(end + 1, nullptr, 16);
    } else if (inside) {
      const auto value = [&] { return number(line.substr(line.find_first_not_of(' ', colon + 1))); };
      if (line.starts_with("Rss:")) resident = value();
      if (line.starts_with("AnonHugePages:")) huge = value();
    }
  }
  if (!resident || !huge || *resident == 0) return std::nullopt;
  return *huge / *resident;
}

}  // namespace roofmark
