// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "log.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string>

#include "numbers.hpp"

namespace gpu_model::nccl {

namespace {

enum Subsystem : unsigned { init = 1, tuning = 2 };

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Of words between commas, or after ^ of all others.
unsigned subsystems(std::string words) {
  if (words.empty()) return init;
  const bool without = words[0] == '^';
  if (without) words.erase(0, 1);
  unsigned named = 0;
  std::istringstream in(words);
  for (std::string word; std::getline(in, word, ',');) {
    const auto is = [&](const char* name) {
      return strcasecmp(word.c_str(), name) == 0 || strcasecmp(word.c_str(), "ALL") == 0;
    };
    named |= (is("INIT") ? init : 0U) | (is("TUNING") ? tuning : 0U);
  }
  return without ? (init | tuning) & ~named : named;
}

class Log {
 public:
  static Log& only() {
    static Log& log = *new Log;
    return log;
  }

  void reset() {
    const std::lock_guard lock(mutex_);
    read_ = false;
  }

  void write(Subsystem subsystem, int device, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (!read_) read_environment();
    if (subsystems_ & subsystem) print(device, "NCCL INFO " + text);
  }

  void warn(int device, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (!read_) read_environment();
    if (warns_) print(device, "transport/net_socket.cc:512 NCCL WARN " + text);
  }

 private:
  void read_environment() {
    read_ = true;
    const std::string level = variable("NCCL_DEBUG");
    const bool on = strcasecmp(level.c_str(), "INFO") == 0 || strcasecmp(level.c_str(), "TRACE") == 0;
    subsystems_ = on ? subsystems(variable("NCCL_DEBUG_SUBSYS")) : 0;
    warns_ = on || strcasecmp(level.c_str(), "WARN") == 0;
    // The file is opened, and emptied, at the first message after a reset.
    if (warns_) open(variable("NCCL_DEBUG_FILE"));
  }

  void print(int device, const std::string& text) {
    std::fprintf(file_, "%s:%d:%ld [%d] %s\n", host().c_str(), static_cast<int>(::getpid()),
                 static_cast<long>(::syscall(SYS_gettid)), device, text.c_str());
    std::fflush(file_);
  }

  void open(const std::string& pattern) {
    std::string path;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      const std::string mark = pattern.substr(i, 2);
      path += mark == "%h" ? host() : mark == "%p" ? std::to_string(::getpid()) : pattern.substr(i, 1);
      if (mark == "%h" || mark == "%p") ++i;
    }
    if (file_ != stdout) std::fclose(file_);
    file_ = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
    if (!file_) file_ = stdout;
  }

  std::mutex mutex_;
  bool read_ = false, warns_ = false;
  unsigned subsystems_ = 0;
  std::FILE* file_ = stdout;
};

}  // namespace

void reset_log() { Log::only().reset(); }

void log_unique_id() { Log::only().write(init, 0, "Bootstrap: Using lo:127.0.0.1<0>"); }

void log_connections(const Communicator& communicator) {
  const int rank = communicator.rank(), size = communicator.size();
  const std::string named = variable("GPUMODEL_NCCL_TRANSPORT"), transport = named.empty() ? "P2P/CUMEM" : named;
  static std::once_flag once;
  if (transport.starts_with("NET/Socket")) {
    std::call_once(once, [&] { Log::only().write(init, communicator.device(), "NET/Socket : Using [0]eth0:10.0.0.1<0>"); });
  }
  for (int channel = 0; size > 1 && channel < 2; ++channel) {
    const int next = (rank + 1) % size;
    Log::only().write(init, communicator.device(),
                      "Channel 0" + std::to_string(channel) + "/0 : " + std::to_string(rank) + "[" +
                          std::to_string(communicator.device()) + "] -> " + std::to_string(next) + "[" + std::to_string(next) +
                          "] via " + transport);
  }
}

void log_lost_connection(const Communicator& communicator) {
  Log::only().warn(communicator.device(), "NET/Socket : connection to rank " +
                                              std::to_string((communicator.rank() + 1) % communicator.size()) +
                                              " at 127.0.0.1<50001> was lost");
}

void log_choice(const Communicator& communicator, const Call& call) {
  if (communicator.rank() != 0 || communicator.size() == 1) return;
  constexpr const char* names[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce"};
  const auto action = static_cast<std::size_t>(call.action);
  if (action >= std::size(names)) return;  // the others are messages to NCCL
  const bool of_all = call.action == Action::all_gather || call.action == Action::reduce_scatter;
  const std::size_t bytes = call.bytes() * (of_all ? static_cast<std::size_t>(communicator.size()) : 1);
  const char* protocol = bytes <= 16 * 1024 ? "LL" : bytes <= 256 * 1024 ? "LL128" : "SIMPLE";
  const std::size_t channels = std::clamp<std::size_t>(bytes / (64 * 1024), 1, 16);
  Log::only().write(tuning, communicator.device(),
                    std::string(names[action]) + ": " + std::to_string(bytes) + " Bytes -> Algo RING proto " + protocol +
                        " channel{Lo..Hi}={0.." + std::to_string(channels - 1) + "}");
}

}  // namespace gpu_model::nccl
