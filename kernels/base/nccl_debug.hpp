// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pwd.h>
#include <strings.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace roofmark {

/// Whether a value of NCCL_DEBUG leaves NCCL's log to the user, so that roofmark cannot read it. NCCL ignores case.
inline bool leaves_nccl_log(const std::string& level) {
  return strcasecmp(level.c_str(), "ABORT") == 0 || strcasecmp(level.c_str(), "TRACE") == 0;
}

/// The files whose lines NAME=value NCCL adds to its environment, where no earlier one has the name. `own`: NCCL_CONF_FILE. The
/// home is $HOME from NCCL 2.30 on, and was that of the user's entry before: where they differ, both are here.
inline std::vector<std::string> nccl_configuration_files(const std::string& own) {
  std::vector<std::string> files;
  const auto add_home = [&files](const char* home) {
    const std::string file = std::string(home ? home : "") + "/.nccl.conf";
    if (home && (files.empty() || files.back() != file)) files.push_back(file);
  };
  if (own.empty()) {
    add_home(std::getenv("HOME"));
    const passwd* const user = ::getpwuid(::getuid());
    add_home(user ? user->pw_dir : nullptr);
  } else {
    files.push_back(own);
  }
  files.emplace_back("/etc/nccl.conf");
  return files;
}

}  // namespace roofmark
