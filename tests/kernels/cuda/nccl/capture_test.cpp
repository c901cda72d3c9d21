// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/nccl/capture.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace roofmark::cuda {
namespace {

// In the role of NCCL: the first message after a reset opens, and empties, the file that the environment names.
std::FILE* log_file = nullptr;
void reset() {
  if (log_file) std::fclose(log_file);
  log_file = nullptr;
}
void say(const std::string& text) {
  if (!log_file) log_file = std::fopen(std::getenv("NCCL_DEBUG_FILE"), "w");
  std::fputs(text.c_str(), log_file);
  std::fflush(log_file);
}
void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }

/// Bytes of memory that the captured log takes.
long long held() {
  struct stat about {};
  return fstat(fileno(log_file), &about) == 0 ? about.st_blocks * 512LL : -1;
}

constexpr int kLines = 40'000;
std::string line(int number) {
  return "host:1:1 [0] NCCL INFO AllReduce: opCount " + std::to_string(number) + " of a long log\n";
}

/// What a process does whose user wants a line of every call, and a message between the emptying of the file and the reset.
[[noreturn]] void log_every_call() {
  NcclLog& log = NcclLog::only(reset);
  for (int number = 0; number < kLines; ++number) say(line(number));
  wait();
  const bool freed = held() < (1 << 20);
  log.start();
  say("host:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n");
  const bool read = log.text() == "host:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
  std::FILE* const left = std::fopen(std::getenv("NCCL_DEBUG_FILE"), "r+");
  std::fseek(left, 1000, SEEK_SET);
  std::fputs("host:1:1 [0] NCCL WARN behind a gap\n", left);
  std::fclose(left);
  const bool warned = log.last_warnings() == std::vector<std::string>{"behind a gap"};
  const bool no_gap = log.text().find('\0') == std::string::npos;
  log.stop();
  std::exit((freed ? 0 : 1) | (read ? 0 : 2) | (warned ? 0 : 4) | (no_gap ? 0 : 8));
}

TEST(NcclCapture, IsPassedOnWholeAndNotKept) {
  const std::filesystem::path folder = testing::TempDir() + "/nccl_log_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::string file = folder / "log";
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_SUBSYS", "COLL", 1);
  setenv("NCCL_DEBUG_FILE", file.c_str(), 1);
  EXPECT_EXIT(log_every_call(), testing::ExitedWithCode(0), "");
  for (const char* variable : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}) unsetenv(variable);
  std::ifstream in(file);
  const std::string told{std::istreambuf_iterator<char>(in), {}};
  std::string expected;
  for (int number = 0; number < kLines; ++number) expected += line(number);
  expected +=
      "host:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "host:1:1 [0] NCCL WARN behind a gap\n";
  EXPECT_TRUE(told == expected) << told.size() << " bytes of " << expected.size();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace roofmark::cuda
