// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace roofmark {

/// A file that is not what it should be: missing, cut short, of another version.
class ReadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Opens a file that others may have made. Throws ReadError if it is missing, larger than `most_bytes`, or no regular file:
/// reading a pipe may never end, reading a device never does.
std::ifstream open_regular_file(const std::filesystem::path& path, std::uintmax_t most_bytes);

/// The whole of such a file.
std::string read_regular_file(const std::filesystem::path& path, std::uintmax_t most_bytes);

}  // namespace roofmark
