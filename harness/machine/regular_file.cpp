// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/regular_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace roofmark {

namespace fs = std::filesystem;

namespace {

std::string format_bytes(std::uintmax_t bytes) {
  constexpr std::uintmax_t kKibi = 1024, kMebi = kKibi * kKibi;
  return bytes % kMebi == 0 ? fmt::format("{} MiB", bytes / kMebi) : fmt::format("{} KiB", bytes / kKibi);
}

[[noreturn]] void refuse_larger(const fs::path& path, std::uintmax_t most_bytes) {
  throw ReadError(fmt::format("{} is larger than {}", path.string(), format_bytes(most_bytes)));
}

}  // namespace

std::ifstream open_regular_file(const fs::path& path, std::uintmax_t most_bytes) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::is_directory(there)) throw ReadError(path.string() + " is a folder, not a file");
  if (fs::exists(there) && !fs::is_regular_file(there)) throw ReadError(path.string() + " is not a regular file");
  if (fs::is_regular_file(there) && fs::file_size(path, error) > most_bytes && !error) refuse_larger(path, most_bytes);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ReadError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  return file;
}

std::string read_regular_file(const fs::path& path, std::uintmax_t most_bytes) {
  std::ifstream file = open_regular_file(path, most_bytes);
  std::string text;
  std::error_code unknown;
  const std::uintmax_t size = fs::file_size(path, unknown);
  if (!unknown) text.reserve(std::min(size, most_bytes));
  std::array<char, 1 << 16> part;
  while (file.read(part.data(), part.size()), file.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > most_bytes) refuse_larger(path, most_bytes);  // it has no size in advance, or grows
  }
  if (file.bad()) throw ReadError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  return text;
}

}  // namespace roofmark
