// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace roofmark::cuda {

/// Blocks a stream until the host has enqueued a whole batch behind it; otherwise the events around short launches would
/// include the gaps in which the device waits for the host. A spinning kernel can deadlock (a full launch queue, a module that
/// loads at its first launch, a profiler that runs one kernel at a time), so it times out after kLimitNanoseconds.
class Gate {
 public:
  static constexpr int kMaxLaunches = 128;  ///< even a queue that CUDA_SCALE_LAUNCH_QUEUES makes small holds them
  static constexpr std::uint64_t kLimitNanoseconds = 2'000'000'000;

  Gate();
  /// Enqueues the waiting kernel. The gate is shut until open().
  void shut(cudaStream_t stream);
  void open();
  /// Whether the last gate timed out. Valid once the work enqueued behind it is done.
  bool expired() const;

 private:
  struct Free {
    void operator()(std::uint32_t* words) const;
  };
  std::unique_ptr<std::uint32_t[], Free> words_;  // mapped host memory: opened, expired
  std::uint32_t ticket_ = 0;
};

/// Why a process with these environment variables ("NAME=value") must not use a gate, or empty. Launches that wait for their
/// kernel would wait for the gate, and so would a profiler, debugger or sanitizer that serialises kernels.
std::string gate_obstacle(const std::vector<std::string>& environment);

}  // namespace roofmark::cuda
