// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/pid_namespace.hpp"

#include <system_error>

namespace roofmark {

bool sees_all_processes(const std::filesystem::path& root) {
  constexpr const char* kFirst = "pid:[4026531836]";  // PROC_PID_INIT_INO of Linux, include/linux/proc_ns.h
  std::error_code unreadable;
  const std::filesystem::path name = std::filesystem::read_symlink(root / "proc/self/ns/pid", unreadable);
  return unreadable || name == kFirst;
}

}  // namespace roofmark
