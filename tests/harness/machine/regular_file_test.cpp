// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/regular_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

namespace roofmark {
namespace {

namespace fs = std::filesystem;

std::string refused(const fs::path& path, std::uintmax_t most_bytes = 2048) {
  try {
    read_regular_file(path, most_bytes);
  } catch (const ReadError& error) {
    return error.what();
  }
  return "read";
}

TEST(RegularFile, OnlyARegularFileOfTheRightSizeIsRead) {
  const fs::path folder = fs::temp_directory_path() / ("roofmark_regular_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const fs::path file = folder / "file", pipe = folder / "pipe", link = folder / "link";
  std::ofstream(file) << std::string(2048, 'x');
  EXPECT_EQ(read_regular_file(file, 2048), std::string(2048, 'x'));
  fs::create_symlink("file", link);
  EXPECT_EQ(refused(link), "read");
  EXPECT_EQ(refused(link, 2047 & ~1023), link.string() + " is larger than 1 KiB");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refused(pipe), pipe.string() + " is not a regular file");
  EXPECT_EQ(refused("/dev/zero"), "/dev/zero is not a regular file");
  EXPECT_EQ(refused(folder), folder.string() + " is a folder, not a file");
  EXPECT_EQ(refused(folder / "none"), "cannot read " + (folder / "none").string() + ": No such file or directory");
  EXPECT_THAT(refused("/proc/self/maps", 64), testing::HasSubstr("is larger than")) << "its size is not known in advance";
  fs::resize_file(file, std::uintmax_t{1} << 42);
  EXPECT_EQ(refused(file, std::uintmax_t{1} << 30), file.string() + " is larger than 1024 MiB");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace roofmark
