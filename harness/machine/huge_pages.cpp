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

std::string why_no_huge_pages(const std::filesystem::path& root) {
  const std::filesystem::path memory = root / "sys/kernel/mm", folder = memory / "transparent_hugepage";
  if (!is_folder(memory)) return {};
  if (!is_folder(folder)) return "the kernel has no transparent huge pages";
  if (number(value_in(root / "proc/self/status", "THP_enabled")) == 0) {
    return "transparent huge pages are off for this process (prctl PR_SET_THP_DISABLE)";
  }
  // Newer kernels have a choice per size, which may be to follow the one for all.
  const std::string of_size = "hugepages-" + std::to_string(huge_page_bytes(root) >> 10) + "kB";
  for (const std::filesystem::path& file : {folder / of_size / "enabled", folder / "enabled"}) {
    const auto choice = choice_in(file);
    if (!choice || *choice == "inherit") continue;
    if (*choice != "never") return {};
    return "transparent huge pages are off (/" + file.lexically_relative(root).string() + " is never)";
  }
  return {};
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
