// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/nccl/capture.hpp"

#include <fcntl.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

#include "kernels/base/nccl_debug.hpp"
#include "kernels/cuda/nccl/log.hpp"

namespace roofmark::cuda {

namespace {

/// As NCCL finds it: in the environment, else in the first of its configuration files that has it.
std::string variable(const std::string& name) {
  if (const char* value = std::getenv(name.c_str())) return value;
  const char* const own = std::getenv("NCCL_CONF_FILE");
  for (const std::string& path : nccl_configuration_files(own ? own : "")) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
    }
  }
  return {};
}

/// The path that NCCL makes of NCCL_DEBUG_FILE.
std::string expanded(const std::string& pattern) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view mark = std::string_view(pattern).substr(i, 2);
    if (mark == "%h") {
      const std::string_view name = host.data();
      path += name.substr(0, name.find('.'));
    } else if (mark == "%p") {
      path += std::to_string(::getpid());
    } else if (mark == "%%") {
      path += '%';
    } else {
      path += pattern[i];
      continue;
    }
    ++i;
  }
  return path;
}

/// NCCL writes on from where it was, though the file was emptied.
std::string without_gaps(std::string text) {
  std::erase(text, '\0');
  return text;
}

/// What parse_nccl_log reads.
constexpr std::string_view kOwnSubsystems = "INIT,TUNING,";
constexpr const char* kDefaultSubsystems = "INIT,BOOTSTRAP,ENV";
constexpr std::string_view kFiles = "/proc/self/fd/";
constexpr std::size_t kWarnings = 3;
constexpr off_t kEnd = std::numeric_limits<off_t>::max();

}  // namespace

WantedNcclLog wanted_nccl_log() {
  using Lines = WantedNcclLog::Lines;
  const std::string level = variable("NCCL_DEBUG");
  const auto is = [&](const char* word) { return strcasecmp(level.c_str(), word) == 0; };
  std::string file = variable("NCCL_DEBUG_FILE");
  // Of a parent process that captures its own log: here it may be any file.
  if (file.starts_with(kFiles)) file.clear();
  const Lines lines = is("INFO") ? Lines::all : is("WARN") ? Lines::warnings : Lines::none;
  return {lines, !leaves_nccl_log(level), variable("NCCL_DEBUG_SUBSYS"), std::move(file)};
}

NcclLog& NcclLog::only(void (*reset)()) {
  static NcclLog& log = *new NcclLog(reset);
  return log;
}

NcclLog::NcclLog(void (*reset)()) : reset_(reset), wanted_(wanted_nccl_log()) {
  if (!reset_ || !wanted_.captured) return;
  file_ = memfd_create("nccl_log", MFD_CLOEXEC);
  if (file_ < 0) return;
  // A list that begins with ^ names what NCCL leaves out.
  const bool all = wanted_.lines == WantedNcclLog::Lines::all;
  if (!all || wanted_.subsystems[0] != '^') subsystems_ += kOwnSubsystems;
  if (all) subsystems_ += wanted_.subsystems.empty() ? kDefaultSubsystems : wanted_.subsystems;
  place_.append(kFiles).append(std::to_string(file_));
  for (std::string* one : {&level_, &place_, &subsystems_}) putenv(one->data());
  set_tracing(false);
  if (wanted_.lines != WantedNcclLog::Lines::none) pass_on_from_now_on();
  made_ = this;
}

void NcclLog::start() {
  if (file_ >= 0 && set_aside()) set_tracing(true);
}

std::string NcclLog::text() const {
  const std::lock_guard lock(mutex_);
  return without_gaps(between(begin_, kEnd));
}

void NcclLog::stop() {
  if (file_ < 0) return;
  set_aside();
  set_tracing(false);
}

std::vector<std::string> NcclLog::last_warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_until(kEnd);
}

std::vector<std::string> NcclLog::last_warnings_if_made() {
  const NcclLog* log = made_;
  return log ? log->last_warnings() : std::vector<std::string>();
}

std::string NcclLog::between(off_t from, off_t to) const {
  std::string all;
  std::array<char, 1 << 14> part{};
  while (file_ >= 0 && from < to) {
    const ssize_t count =
        pread(file_, part.data(), std::min<std::size_t>(part.size(), static_cast<std::size_t>(to - from)), from);
    if (count <= 0) break;
    all.append(part.data(), static_cast<std::size_t>(count));
    from += count;
  }
  return all;
}

off_t NcclLog::size() const {
  struct stat about {};
  return fstat(file_, &about) == 0 ? about.st_size : 0;
}

std::vector<std::string> NcclLog::warnings_until(off_t end) const {
  std::vector<std::string> warnings = warnings_;
  for (std::string& warning : nccl_warnings(between(begin_, end))) warnings.push_back(std::move(warning));
  if (warnings.size() > kWarnings) warnings.erase(warnings.begin(), warnings.end() - kWarnings);
  return warnings;
}

void NcclLog::pass_on() {
  // NCCL empties the file when it opens it, at its first message after a reset.
  if (size() < passed_on_) begin_ = passed_on_ = 0;
  std::string lines = between(passed_on_, kEnd);
  lines.erase(lines.rfind('\n') + 1);
  if (lines.empty()) return;
  passed_on_ += static_cast<off_t>(lines.size());
  lines = without_gaps(std::move(lines));
  std::fputs((wanted_.lines == WantedNcclLog::Lines::all ? lines : nccl_warning_lines(lines)).c_str(), target_);
  std::fflush(target_);
}

void NcclLog::pass_on_from_now_on() {
  if (const std::string path = expanded(wanted_.file); !path.empty()) {
    if (std::FILE* file = std::fopen(path.c_str(), "we")) target_ = file;
  }
  std::atexit([] {
    NcclLog& log = only(nullptr);
    const std::lock_guard lock(log.mutex_);
    log.pass_on();
  });
  // Signals are for the threads that wait for them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this] {
    constexpr off_t kHeld = 1 << 20;
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
      const std::lock_guard lock(mutex_);
      pass_on();
      if (tracing_ || passed_on_ - begin_ < kHeld) continue;
      // A log of every call would fill the memory.
      warnings_ = warnings_until(passed_on_);
      if (fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, passed_on_) == 0) begin_ = passed_on_;
    }
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool NcclLog::set_aside() {
  const std::lock_guard lock(mutex_);
  if (wanted_.lines != WantedNcclLog::Lines::none) pass_on();
  warnings_ = warnings_until(kEnd);
  begin_ = passed_on_ = 0;
  return ftruncate(file_, 0) == 0;
}

void NcclLog::set_tracing(bool on) {
  {
    const std::lock_guard lock(mutex_);
    tracing_ = on;
  }
  const bool all = wanted_.lines == WantedNcclLog::Lines::all;
  std::copy_n(on || all ? "INFO" : "WARN", 4, level_.end() - 4);
  // NCCL takes no notice of commas without a word between them.
  const std::size_t words = subsystems_.find('=') + 1;
  if (all && wanted_.subsystems[0] != '^') {
    const auto first = subsystems_.begin() + static_cast<std::ptrdiff_t>(words);
    on ? std::copy(kOwnSubsystems.begin(), kOwnSubsystems.end(), first) : std::fill_n(first, kOwnSubsystems.size(), ',');
  }
  reset_();
}

}  // namespace roofmark::cuda
