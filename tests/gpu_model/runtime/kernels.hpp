// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The kernels that the program registered.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "fat_binary.hpp"
#include "kernel_time.hpp"
#include "operations.hpp"

namespace gpu_model::runtime {

constexpr std::size_t shared_bytes_without_opt_in = 48 * 1024;  ///< per block, static and dynamic

struct Kernel {
  Kernel(FatBinary& fat_binary, std::string mangled_name) : binary(fat_binary), name(std::move(mangled_name)) {}

  FatBinary& binary;
  const std::string name;

  // Set by cudaFuncSetAttribute.
  std::atomic<std::size_t> dynamic_shared_limit = shared_bytes_without_opt_in;
  std::atomic<bool> wide_clusters = false;

  // Set by load().
  std::once_flag loaded;
  std::shared_ptr<const Module> module;
  const Function* function = nullptr;
  KernelTraits traits;
  int min_blocks = 1;  ///< per SM; the second argument of __launch_bounds__
};

/// The kernel of a host function or of a cudaKernel_t; nullptr if there is none.
Kernel* find_kernel(const void* function);

/// Parses the kernel at its first use. Returns nullptr, with a line on stderr, if that fails.
const FunctionInfo* load(Kernel& kernel);

/// What the launch of a kernel does, with a copy of its arguments, on the current device.
cudaError_t work_of_launch(Kernel* kernel, dim3 grid, dim3 block, dim3 cluster, void** arguments, std::size_t dynamic_shared,
                           bool cooperative, Work& work);

/// The mangled name for messages, cut to 160 characters.
std::string short_name(const Kernel& kernel);

}  // namespace gpu_model::runtime
