// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/stepped_process.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "kernels/base/check.hpp"

namespace roofmark {

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void throw_errno(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// False where the time is over.
bool await_input(int socket, Clock::time_point end) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    pollfd input{socket, POLLIN, 0};
    const int ready = ::poll(&input, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) throw_errno("poll");
  }
}

/// False where the time is over. Polls, because only newer kernels can wait for a process with a limit.
bool await_death(pid_t process, Clock::time_point end, int& status) {
  for (pid_t ended = 0; ended != process;) {
    ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process) break;
    // A launcher that ignores SIGCHLD passes that on; the exit status is then lost.
    if (ended < 0 && errno != EINTR) throw_errno("waitpid");
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

}  // namespace

SteppedProcess::SteppedProcess(const std::string& program, const std::vector<std::string>& words,
                               std::chrono::milliseconds limit)
    : program_(program), words_({program.substr(program.rfind('/') + 1)}), limit_(limit) {
  words_.insert(words_.end(), words.begin(), words.end());
  output_ = ::memfd_create("output", MFD_CLOEXEC);
  if (output_ < 0) throw_errno("memfd_create");
  open_socket();
}

SteppedProcess::~SteppedProcess() {
  close_socket();
  ::close(output_);
  if (process_ == 0) return;
  ::kill(-process_, SIGKILL);
  try {
    int status = 0;
    await_death(process_, Clock::now() + limit_, status);
  } catch (const std::system_error&) {  // its status is lost
  }
}

// Before the process is started, so that a start is timed without it.
void SteppedProcess::open_socket() {
  close_socket();
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_errno("socketpair");
  socket_ = ends[0];
  its_ = ends[1];
  // The next process writes from the start.
  if (::ftruncate(output_, 0) != 0 || ::lseek(output_, 0, SEEK_SET) != 0) throw_errno("ftruncate");
}

void SteppedProcess::close_socket() {
  for (int* end : {&socket_, &its_}) {
    if (*end >= 0) ::close(std::exchange(*end, -1));
  }
}

void SteppedProcess::start() {
  if (its_ < 0) open_socket();
  std::vector<char*> argv;
  for (std::string& word : words_) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, its_, STDIN_FILENO);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::posix_spawn_file_actions_adddup2(&actions, output_, stream);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t process = 0;
  const int error = ::posix_spawn(&process, program_.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw DeviceError("cannot start " + program_ + ": " + std::generic_category().message(error), false);
  process_ = process;
  ::close(std::exchange(its_, -1));  // else its end would not close the socket
}

void SteppedProcess::await_step() {
  if (!await_input(socket_, Clock::now() + limit_)) kill_late();
  char byte = 0;
  if (::recv(socket_, &byte, 1, 0) == 1) return;
  reap();
  fail("ended before it finished its step");
}

void SteppedProcess::go_on() {  // NOLINT(readability-make-member-function-const): it changes the process
  // If the process has ended, the following wait reports it.
  [[maybe_unused]] const ssize_t sent = ::send(socket_, ".", 1, MSG_NOSIGNAL);
}

void SteppedProcess::await_end() {
  if (process_ == 0) return;
  close_socket();
  reap();
  open_socket();
}

void SteppedProcess::reap() {
  int end = 0;
  if (!await_death(process_, Clock::now() + limit_, end)) kill_late();
  process_ = 0;
  if (WIFSIGNALED(end)) fail("was ended by signal " + std::to_string(WTERMSIG(end)));
  const int status = WEXITSTATUS(end);
  const std::string said = last_line();
  if (status == kUnsupported && !said.empty()) throw Unsupported(said);
  if (status != 0) fail("ended with status " + std::to_string(status));
}

void SteppedProcess::kill_late() {
  ::kill(-process_, SIGKILL);
  int end = 0;
  const bool is_dead = await_death(process_, Clock::now() + limit_, end);
  if (is_dead) process_ = 0;
  fail("did not answer within " + std::to_string(limit_.count()) + " ms, and " +
       (is_dead ? "was killed" : "cannot be killed: it is stuck in the kernel"));
}

void SteppedProcess::fail(const std::string& what) const {
  const std::string said = last_line();
  throw DeviceError(words_.front() + " " + what + (said.empty() ? "" : ": " + said), false);
}

std::string SteppedProcess::last_line() const {
  std::array<char, 512> text{};
  const off_t length = ::lseek(output_, 0, SEEK_END);
  const ssize_t read = ::pread(output_, text.data(), text.size(), std::max<off_t>(length - static_cast<off_t>(text.size()), 0));
  std::string line(text.data(), static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
  line.erase(line.find_last_not_of("\n ") + 1);
  return line.substr(line.rfind('\n') + 1);
}

}  // namespace roofmark
