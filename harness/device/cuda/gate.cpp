// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/gate.hpp"

#include <atomic>
#include <string_view>

#include "harness/device/cuda/kernels.hpp"

namespace roofmark::cuda {

void Gate::Free::operator()(std::uint32_t* words) const { cudaFreeHost(words); }

Gate::Gate() {
  void* words = nullptr;
  check(cudaHostAlloc(&words, 2 * sizeof(std::uint32_t), cudaHostAllocMapped));
  words_.reset(static_cast<std::uint32_t*>(words));
  words_[0] = words_[1] = 0;
}

void Gate::shut(cudaStream_t stream) {
  void* words = nullptr;
  check(cudaHostGetDevicePointer(&words, words_.get(), 0));
  auto* opened = static_cast<std::uint32_t*>(words);
  wait_at_gate(opened, opened + 1, ++ticket_, kLimitNanoseconds, stream);
}

void Gate::open() { std::atomic_ref(words_[0]).store(ticket_, std::memory_order_release); }

bool Gate::expired() const { return std::atomic_ref(words_[1]).load(std::memory_order_acquire) == ticket_; }

std::string gate_obstacle(const std::vector<std::string>& environment) {
  // Nsight Systems, Nsight Compute, compute-sanitizer and nvprof give these to the processes they start; none is documented
  // but CUDA_INJECTION64_PATH, by which any tool built on CUPTI or the sanitizer's interface is loaded.
  constexpr std::string_view kTools[] = {"CUDA_INJECTION64_PATH=",
                                         "NSYS_PROFILING_SESSION_ID=",
                                         "NV_NSIGHT_INJECTION_",
                                         "NV_COMPUTE_PROFILER_",
                                         "NV_SANITIZER_INJECTION_",
                                         "NV_CUDA_START_SUSPENDED=",
                                         "NVPROF_ID="};
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('='));
    if (name == "CUDA_LAUNCH_BLOCKING" && variable != "CUDA_LAUNCH_BLOCKING=0" && variable != "CUDA_LAUNCH_BLOCKING=") {
      return name + " is set";
    }
    for (const std::string_view tool : kTools) {
      if (variable.starts_with(tool)) return "a profiler or sanitizer is attached (" + name + " is set)";
    }
  }
  return {};
}

}  // namespace roofmark::cuda
