// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "edit.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <stdexcept>

namespace gpu_model {
namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string edited(const std::string& ptx, const std::string& kernel) {
  const std::string edit = setting("GPUMODEL_EDIT");
  if (edit.empty()) return ptx;
  const std::size_t arrow = edit.find("=>");
  if (arrow == std::string::npos || arrow == 0) throw std::runtime_error("GPUMODEL_EDIT: expected \"pattern=>replacement\"");
  const std::string kernels = setting("GPUMODEL_EDIT_KERNEL"), place = setting("GPUMODEL_EDIT_PLACE");
  if (!std::regex_search(kernel, std::regex(kernels))) return ptx;
  const std::regex pattern(edit.substr(0, arrow));
  const std::string replacement = edit.substr(arrow + 2);
  const long chosen = std::strtol(place.c_str(), nullptr, 0);

  std::string result;
  long matches = 0, changed = 0;
  for (std::size_t start = 0; start < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', start), ptx.size());
    const std::string line = ptx.substr(start, end - start);
    const bool matching = std::regex_search(line, pattern);
    if (matching && (place.empty() || matches == chosen)) {
      result += std::regex_replace(line, pattern, replacement);
      ++changed;
    } else {
      result += line;
    }
    matches += matching;
    result += '\n';
    start = end + 1;
  }
  if (changed) std::fprintf(stderr, "gpumodel: GPUMODEL_EDIT changed %ld lines of %s\n", changed, kernel.c_str());
  return result;
}

}  // namespace gpu_model
