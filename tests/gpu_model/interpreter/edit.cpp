// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "edit.hpp"

#include <cstdio>
#include <cstdlib>
#include <regex>
#include <stdexcept>

namespace gpu_model {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string edited(const std::string& ptx, const std::string& kernel) {
  const std::string edit = variable("GPUMODEL_EDIT");
  if (edit.empty()) return ptx;
  const std::size_t arrow = edit.find("=>");
  if (arrow == std::string::npos || arrow == 0) throw std::runtime_error("GPUMODEL_EDIT: expected \"pattern=>replacement\"");
  const std::string of = variable("GPUMODEL_EDIT_KERNEL"), only = variable("GPUMODEL_EDIT_PLACE");
  if (!of.empty() && !std::regex_search(kernel, std::regex(of))) return ptx;
  const std::regex pattern(edit.substr(0, arrow));
  const std::string replacement = edit.substr(arrow + 2);
  const long place = only.empty() ? -1 : std::strtol(only.c_str(), nullptr, 0);

  std::string result;
  long places = 0, changed = 0;
  for (std::size_t at = 0; at < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', at), ptx.size());
    const std::string line = ptx.substr(at, end - at);
    if (std::regex_search(line, pattern) && (place < 0 || places++ == place)) {
      result += std::regex_replace(line, pattern, replacement);
      ++changed;
    } else {
      result += line;
    }
    result += '\n';
    at = end + 1;
  }
  if (changed) std::fprintf(stderr, "gpumodel: GPUMODEL_EDIT changed %ld lines of %s\n", changed, kernel.c_str());
  return result;
}

}  // namespace gpu_model
