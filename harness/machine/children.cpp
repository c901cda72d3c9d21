// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/children.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

namespace roofmark {

pid_t start_process(const std::string& program, std::vector<std::string> words, bool silent) {
  // Where the parent of this process ignored it, which is inherited, the kernel would drop the children's statuses.
  ::signal(SIGCHLD, SIG_DFL);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (silent) ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start " + program);
  return child;
}

std::vector<std::optional<int>> wait_for(const std::vector<pid_t>& children, const std::atomic<bool>& interrupted,
                                         const std::function<bool(std::size_t child)>& is_stuck) {
  std::vector<std::optional<int>> statuses(children.size());
  std::vector<bool> ended(children.size());
  bool passed_on = false;
  for (std::size_t left = children.size(); left > 0;) {
    // Polls, because a signal may be delivered to any thread of this process, such as a driver's.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const bool pass_on = interrupted && !passed_on;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (ended[i]) continue;
      if (pass_on) ::kill(children[i], SIGTERM);
      int status = 0;
      const pid_t found = ::waitpid(children[i], &status, WNOHANG);
      if (found < 0 && errno == EINTR) continue;
      if (found < 0) throw std::system_error(errno, std::generic_category(), "cannot wait for a child process");
      if (found == 0) {
        if (!is_stuck || !is_stuck(i)) continue;
        ::kill(children[i], SIGKILL);
      } else {
        statuses[i] = status;
      }
      ended[i] = true;
      --left;
    }
    passed_on = passed_on || pass_on;
  }
  return statuses;
}

}  // namespace roofmark
