// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cost.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "kernels/base/check.hpp"

namespace roofmark::cpu {

namespace {

constexpr std::size_t kPage = 4096;

/// The least that a program can ask of the kernel.
class SystemCall final : public HostCall {
 public:
  void call() override { parent_ = ::syscall(SYS_getppid); }
  Effect effect() const override { return parent_ >= 0 ? Effect::there : Effect::missing; }

 private:
  long parent_ = -1;
};

/// A parallel region in which every thread counts itself.
class ForkJoin final : public HostCall {
 public:
  void call() override {
    int counted = 0;
#pragma omp parallel reduction(+ : counted)
    counted += 1;
    counted_ = counted;
  }
  Effect effect() const override { return counted_ == omp_get_max_threads() ? Effect::there : Effect::missing; }

 private:
  int counted_ = 0;
};

/// Those that the threads of a parallel region may run on.
cpu_set_t cpus_of_the_team() {
  cpu_set_t all;
  CPU_ZERO(&all);
#pragma omp parallel
  {
    cpu_set_t own;
    CPU_ZERO(&own);
    ::sched_getaffinity(0, sizeof(own), &own);
#pragma omp critical
    CPU_OR(&all, &all, &own);
  }
  return all;
}

/// Wakes a thread that sleeps on a condition variable, and sleeps until that has woken the caller again: two wakes. The
/// operating system chooses where it runs.
class Wake final : public HostCall {
 public:
  Wake() : thread_([this] { answer(); }) {
    // Where the environment places threads, a new one has the core of the one that made it.
    const cpu_set_t cpus = cpus_of_the_team();
    ::pthread_setaffinity_np(thread_.native_handle(), sizeof(cpus), &cpus);
  }
  ~Wake() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    asked_changed_.notify_one();
    thread_.join();
  }
  void call() override {
    std::unique_lock lock(mutex_);
    ++asked_;
    asked_changed_.notify_one();
    answered_changed_.wait(lock, [this] { return answered_ == asked_; });
  }
  Effect effect() const override { return answered_ > 0 ? Effect::there : Effect::missing; }

 private:
  void answer() {
    std::unique_lock lock(mutex_);
    while (true) {
      asked_changed_.wait(lock, [this] { return ending_ || answered_ != asked_; });
      if (ending_) return;
      answered_ = asked_;
      answered_changed_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable asked_changed_, answered_changed_;
  long asked_ = 0, answered_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

/// Fresh memory of the operating system, and the first store to each of its pages.
class FirstTouch final : public HostCall {
 public:
  explicit FirstTouch(std::size_t bytes) : bytes_(bytes) {}
  ~FirstTouch() override { release(); }
  void call() override {
    void* mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw OutOfMemory(bytes_, 0);
    data_ = static_cast<volatile unsigned char*>(mapped);
    for (std::size_t at = 0; at < bytes_; at += kPage) data_[at] = 1;
  }
  void restore() override { release(); }
  bool needs_restore() const override { return true; }
  Effect effect() const override { return data_ && data_[0] == 1 ? Effect::there : Effect::missing; }

 private:
  void release() {
    if (data_) ::munmap(const_cast<unsigned char*>(data_), bytes_);
    data_ = nullptr;
  }

  std::size_t bytes_;
  volatile unsigned char* data_ = nullptr;
};

/// malloc and free of a small block, which stay within the process.
class MallocAndFree final : public HostCall {
 public:
  explicit MallocAndFree(std::size_t bytes) : bytes_(bytes) {}
  void call() override {
    auto* const block = static_cast<volatile unsigned char*>(std::malloc(bytes_));
    if (!block) throw OutOfMemory(bytes_, 0);
    block[0] = 1;  // which keeps the two calls
    written_ = block[0];
    std::free(const_cast<unsigned char*>(block));
  }
  Effect effect() const override { return written_ == 1 ? Effect::there : Effect::missing; }

 private:
  std::size_t bytes_;
  int written_ = 0;
};

/// Starts a program that ends at once, and waits for its end.
class StartProcess final : public HostCall {
 public:
  static constexpr const char* kProgram = "/bin/true";

  void call() override {
    char name[] = "true";
    char* const words[] = {name, nullptr};
    pid_t child = 0;
    int status = -1;
    if (::posix_spawn(&child, kProgram, nullptr, nullptr, words, environ) != 0) throw Unsupported("cannot start /bin/true");
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ended_well_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  Effect effect() const override { return ended_well_ ? Effect::there : Effect::missing; }

 private:
  bool ended_well_ = false;
};

std::vector<HostCallPlan> calls(const CostTarget&) {
  std::vector<HostCallPlan> all;
  const auto add = [&](std::string operation, std::vector<std::pair<std::string, std::string>> keys, auto make) {
    all.push_back(
        {std::move(operation), std::move(keys), true, 0, {}, [make](Stream) -> std::unique_ptr<HostCall> { return make(); }});
  };
  add("system_call", {}, [] { return std::make_unique<SystemCall>(); });
  add("fork_join", {{"threads", std::to_string(omp_get_max_threads())}}, [] { return std::make_unique<ForkJoin>(); });
  add("wake", {{"wakes", "2"}}, [] { return std::make_unique<Wake>(); });
  const cpu_set_t cpus = cpus_of_the_team();
  if (CPU_COUNT(&cpus) < 2) all.back().unsupported = "needs two cores";
  for (const std::size_t bytes : {64, 4096}) {
    add("malloc_and_free", {{"bytes", std::to_string(bytes)}}, [bytes] { return std::make_unique<MallocAndFree>(bytes); });
  }
  add("start_process", {{"program", "true"}}, [] { return std::make_unique<StartProcess>(); });
  for (const std::size_t bytes : {std::size_t{4} << 10, std::size_t{2} << 20, std::size_t{64} << 20}) {
    add("first_touch", {{"bytes", std::to_string(bytes)}}, [bytes] { return std::make_unique<FirstTouch>(bytes); });
  }
  return all;
}

}  // namespace

const CostKernels cost = {calls};

}  // namespace roofmark::cpu
