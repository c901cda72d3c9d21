// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <fstream>
#include <string>

namespace roofmark {

/// What limits the memory that this process may lock, to end the message of a refusal: "; this process may lock 65536 bytes
/// (ulimit -l)". Empty without a limit.
inline std::string lock_limit_in_words() {
  rlimit locked{};
  if (getrlimit(RLIMIT_MEMLOCK, &locked) != 0 || locked.rlim_cur == RLIM_INFINITY) return {};
  return "; this process may lock " + std::to_string(locked.rlim_cur) + " bytes (ulimit -l)";
}

/// MemAvailable: bytes available without swapping; 0 if the kernel does not report it.
inline std::size_t available_host_memory() {
  std::ifstream facts("/proc/meminfo");
  for (std::string key, rest; facts >> key && std::getline(facts, rest);) {
    if (key == "MemAvailable:") return std::stoull(rest) * 1024;
  }
  return 0;
}

}  // namespace roofmark
