// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "state.hpp"

namespace gpu_model::runtime {
namespace {

void parse(Kernel& kernel) {
  const std::string* text = kernel.binary.entry(kernel.name);
  if (!text) {
    say("kernel %s: its fat binary has no PTX of it", kernel.name.c_str());
    return;
  }
  kernel.traits = traits_of(*text);
  constexpr std::string_view min_blocks = ".minnctapersm";
  if (const std::size_t at = text->find(min_blocks); at != std::string::npos) {
    kernel.min_blocks = std::max(1, std::atoi(text->c_str() + at + min_blocks.size()));
  }
  try {
    kernel.module = kernel.binary.load(kernel.name);
    kernel.function = kernel.module->find(kernel.name);
  } catch (const std::exception& error) {
    say("kernel %s cannot be loaded (the model's limit, not the program's): %s", kernel.name.c_str(), error.what());
  }
}

/// PTX does not tell how many registers a kernel needs; this is the maximum that ptxas may use.
int registers_of(const Kernel& kernel, const FunctionInfo& about) {
  if (about.registers_hint > 0) return about.registers_hint;
  return std::clamp(65536 / (about.max_threads * kernel.min_blocks) / 8 * 8, 32, 255);
}

}  // namespace

Kernel* find_kernel(const void* function) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.kernels.find(function);
  return found == s.kernels.end() ? nullptr : found->second;
}

const FunctionInfo* load(Kernel& kernel) {
  std::call_once(kernel.loaded, parse, kernel);
  return kernel.function ? &info(kernel.function) : nullptr;
}

std::string short_name(const Kernel& kernel) { return kernel.name.substr(0, 160); }

}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

// Host code from nvcc calls the __cudaRegister functions before main().
extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): names given by nvcc.
void** __cudaRegisterFatBinary(void* image) { return reinterpret_cast<void**>(new FatBinary(image)); }
void __cudaRegisterFatBinaryEnd(void** /*binary*/) {}
void __cudaUnregisterFatBinary(void** /*binary*/) {}
char __cudaInitModule(void** /*binary*/) { return 0; }
void __cudaRegisterFunction(void** binary, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  auto* kernel = new Kernel(*reinterpret_cast<FatBinary*>(binary), name);
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.kernels[host] = s.kernels[kernel] = kernel;
}
void __cudaRegisterVar(void** binary, char* host, char*, const char* name, int, size_t, int, int) {
  auto* const holder = reinterpret_cast<FatBinary*>(binary);
  holder->note_variable();
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.variables[host] = {holder, name};
}
void __cudaRegisterManagedVar(void** binary, void**, char*, const char*, int, size_t, int, int) {
  reinterpret_cast<FatBinary*>(binary)->note_variable();
}

cudaError_t __cudaGetKernel(cudaKernel_t* to, const void* host) {
  Kernel* kernel = find_kernel(host);
  *to = reinterpret_cast<cudaKernel_t>(kernel);
  return kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

cudaError_t cudaGetKernel(cudaKernel_t* to, const void* host) { return fail(__cudaGetKernel(to, host)); }

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* to, const void* function) {
  GPUMODEL_CHECK(enter());
  Kernel* kernel = find_kernel(function);
  if (!kernel) return fail(cudaErrorInvalidDeviceFunction);
  if (!to) return fail(cudaErrorInvalidValue);
  const gpu_model::FunctionInfo* about = load(*kernel);
  if (!about) return fail(cudaErrorNoKernelImageForDevice);
  std::memset(to, 0, sizeof *to);
  to->sharedSizeBytes = about->static_shared;
  to->localSizeBytes = about->local_bytes;
  to->maxThreadsPerBlock = about->max_threads;
  to->numRegs = registers_of(*kernel, *about);
  to->ptxVersion = to->binaryVersion = settings().model->compute_capability;
  const std::size_t limit = kernel->dynamic_shared_limit;
  to->maxDynamicSharedSizeBytes =
      static_cast<int>(limit > shared_bytes_without_opt_in ? limit : shared_bytes_without_opt_in - about->static_shared);
  to->preferredShmemCarveout = -1;
  to->requiredClusterWidth = about->required_cluster[0];
  to->requiredClusterHeight = about->required_cluster[1];
  to->requiredClusterDepth = about->required_cluster[2];
  to->nonPortableClusterSizeAllowed = kernel->wide_clusters;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  GPUMODEL_CHECK(enter());
  Kernel* kernel = find_kernel(function);
  if (!kernel) return fail(cudaErrorInvalidDeviceFunction);
  const gpu_model::FunctionInfo* about = load(*kernel);
  if (!about) return fail(cudaErrorNoKernelImageForDevice);
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || value + static_cast<int>(about->static_shared) > settings().model->shared_per_block_opt_in) {
        return fail(cudaErrorInvalidValue, "cudaFuncSetAttribute: " + std::to_string(value) +
                                               " bytes of shared memory are more than a block can have");
      }
      kernel->dynamic_shared_limit = static_cast<std::size_t>(value);
      return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      return value < -1 || value > 100 ? fail(cudaErrorInvalidValue) : cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      kernel->wide_clusters = value != 0;
      return cudaSuccess;
    default:
      return fail(cudaErrorInvalidValue);
  }
}

}  // extern "C"
