// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/files.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>

namespace roofmark {

namespace fs = std::filesystem;

std::optional<std::string> first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line.empty()) return std::nullopt;
  return line;
}

std::optional<std::string> value_in(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const auto after = line.find_first_not_of(" \t", key.size());
    if (after == std::string::npos || line[after] != ':') continue;
    const auto value = line.find_first_not_of(" \t", after + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return std::nullopt;
}

std::optional<double> number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  double value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

std::optional<double> number_in(const fs::path& file) { return number(first_line(file)); }

std::optional<std::string> choice_in(const fs::path& file) {
  const std::string all = first_line(file).value_or("");
  const auto open = all.find('['), close = all.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  return all.substr(open + 1, close - open - 1);
}

bool is_there(const fs::path& file) {
  std::error_code unreadable;
  return fs::exists(file, unreadable);
}

bool is_folder(const fs::path& file) {
  std::error_code unreadable;
  return fs::is_directory(file, unreadable);
}

std::vector<fs::path> entries(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace roofmark
