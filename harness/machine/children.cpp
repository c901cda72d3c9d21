// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/children.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
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
  const auto fail = [&](int error) { throw std::system_error(error, std::generic_category(), "cannot start " + program); };
  int failure[2];  // closed by a successful exec
  if (::pipe2(failure, O_CLOEXEC) != 0) fail(errno);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) {
    // Killed, the parent could not end its children: they would go on with their load, and nobody would know.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const bool orphaned = ::getppid() != parent;
    const int nowhere = silent ? ::open("/dev/null", O_WRONLY) : STDOUT_FILENO;
    if (!orphaned && ::dup2(nowhere, STDOUT_FILENO) >= 0) ::execv(program.c_str(), argv.data());
    const int error = errno;
    if (::write(failure[1], &error, sizeof(error)) < 0) ::_exit(126);
    ::_exit(127);
  }
  const int error = errno;
  ::close(failure[1]);
  int reason = 0;
  const bool failed = child > 0 && ::read(failure[0], &reason, sizeof(reason)) == sizeof(reason);
  ::close(failure[0]);
  if (child < 0) fail(error);
  if (failed) {
    ::waitpid(child, nullptr, 0);
    fail(reason);
  }
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
