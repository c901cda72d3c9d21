// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Launches of kernels: what CUDA refuses, what runs, and how long it takes.
#include <algorithm>
#include <cstring>

#include "kernels.hpp"
#include "operations.hpp"
#include "planted_faults.hpp"
#include "state.hpp"

namespace gpu_model::runtime {
namespace {

struct Launch {
  Kernel* kernel = nullptr;
  KernelShape shape;
  Dim3 cluster;
  bool cooperative = false;
  std::size_t dynamic_shared = 0;
  std::vector<char> parameters;
  std::vector<std::size_t> offsets;  // of each parameter
  bool waits_for_host = false;       // spins on pinned memory with a timeout, so it runs in wall time
};

struct Configuration {
  dim3 grid, block;
  std::size_t dynamic_shared = 0;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<Configuration> t_configurations;

double count(const Dim3& dim) { return double(dim.x) * dim.y * dim.z; }

cudaError_t status_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::illegal_address:
      return cudaErrorIllegalAddress;
    case Fault::Kind::misaligned:
      return cudaErrorMisalignedAddress;
    case Fault::Kind::illegal_instruction:
      return cudaErrorIllegalInstruction;
    default:
      return cudaErrorLaunchFailure;
  }
}

const char* name_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::illegal_address:
      return "illegal address";
    case Fault::Kind::misaligned:
      return "misaligned address";
    case Fault::Kind::illegal_instruction:
      return "illegal instruction";
    case Fault::Kind::deadlock:
      return "deadlock";
    case Fault::Kind::trap:
      return "trap";
    case Fault::Kind::race:
      return "race";
    default:
      return "not supported by the model";
  }
}

std::string configuration_text(const Launch& launch) {
  const auto text = [](const Dim3& d) {
    return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
  };
  return "<<<" + text(launch.shape.grid) + ", " + text(launch.shape.block) + ", " + std::to_string(launch.dynamic_shared) +
         ">>>";
}

/// The devices whose memory a kernel of this one reaches, as bits.
std::uint64_t reached_from(const Device& device) {
  const std::lock_guard lock(state().mutex);
  std::uint64_t reached = std::uint64_t{1} << device.ordinal();
  for (const auto& [from, to] : state().peer_access) {
    if (from == device.ordinal()) reached |= std::uint64_t{1} << to;
  }
  return reached;
}

/// Interprets the kernel. Returns false after a fault, which becomes the device's sticky error.
bool interpret(Launch& launch, Device& device, Time& time, Counters& counters) {
  std::vector<void*> parameters;
  for (const std::size_t offset : launch.offsets) parameters.push_back(launch.parameters.data() + offset);
  try {
    run(launch.kernel->function, launch.shape.grid, launch.shape.block, launch.cluster, launch.dynamic_shared,
        parameters.data(), time, counters, settings().multiprocessors, reached_from(device), launch.cooperative);
    return true;
  } catch (const Fault& fault) {
    say("FAULT (%s) %s: %s", name_of(fault.kind), configuration_text(launch).c_str(), fault.what());
    if (fault.kind == Fault::Kind::deadlock && settings().deadlock_hangs) hang();
    set_sticky(device, status_of(fault.kind));
  } catch (const std::exception& error) {
    say("the model failed in %s: %s", short_name(*launch.kernel).c_str(), error.what());
    set_sticky(device, cudaErrorLaunchFailure);
  }
  return false;
}

/// Runs a launch. Returns its end in model time.
double perform(Launch& launch, Device& device, double start_ns, double overhead_ns) {
  const Kernel& kernel = *launch.kernel;
  const double from_ns = start_ns + overhead_ns;
  if (is_to_hang(kernel.name, device)) hang();
  if (is_to_fail(kernel.name, device)) {
    set_sticky(device, cudaErrorIllegalAddress);
    return from_ns;
  }
  const double load = kernel.traits.has_tensor_math ? 1 : 0.2;
  const double clock_mhz = device.clock_mhz(start_ns, load);
  Time time;
  time.clock_mhz = clock_mhz;
  time.clock64 = device.cycles(from_ns, clock_mhz);
  time.globaltimer_ns = timer_ns(from_ns);
  time.wall = launch.waits_for_host;
  Counters counters;
  PlantedFlip flip(kernel.name, device, launch.parameters);
  const double wall_start_ns = host_now_ns();
  if (is_to_be_skipped(kernel.name, count(launch.shape.grid) * count(launch.shape.block))) {
    counters.global_load_bytes = 1 << 28;  // so that it takes longer than an empty kernel
  } else if (!interpret(launch, device, time, counters)) {
    return from_ns;
  }
  const double wall_end_ns = host_now_ns();
  double end_ns = std::max(from_ns, wall_end_ns);
  if (!launch.waits_for_host) {
    double took_ns = kernel_ns(kernel.traits, launch.shape, counters, clock_mhz);
    // A kernel that reads the timer takes at least as long as the timer told it.
    if (kernel.traits.reads_timer) took_ns = std::max(took_ns, static_cast<double>(time.globaltimer_ns - timer_ns(from_ns)));
    end_ns = start_ns + (overhead_ns + took_ns * slowdown(kernel.name, device)) * device.noise();
  }
  flip.apply();
  device.was_busy(start_ns, end_ns, load);
  if (counters.uninitialised_shared_reads) {
    say("%s read %llu words of shared memory that nothing had written", short_name(kernel).c_str(),
        static_cast<unsigned long long>(counters.uninitialised_shared_reads));
  }
  GPUMODEL_TRACE("%s %s: %.1f ms of wall time, %llu warp instructions, %llu bytes read, %llu written",
                 short_name(kernel).c_str(), configuration_text(launch).c_str(), (wall_end_ns - wall_start_ns) * 1e-6,
                 static_cast<unsigned long long>(counters.warp_instructions),
                 static_cast<unsigned long long>(counters.global_load_bytes + counters.tma_bytes),
                 static_cast<unsigned long long>(counters.global_store_bytes));
  return end_ns;
}

struct Refusal {
  cudaError_t status = cudaSuccess;
  std::string why;
};

Refusal check_blocks(const Kernel& kernel, const FunctionInfo& about, dim3 grid, dim3 block, std::size_t dynamic_shared) {
  const auto threads = std::uint64_t{block.x} * block.y * block.z;
  if (!grid.x || !grid.y || !grid.z || !threads) return {cudaErrorInvalidConfiguration, "an empty grid or block"};
  if (grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535) return {cudaErrorInvalidConfiguration, "the grid is too large"};
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024) {
    return {cudaErrorInvalidConfiguration, "a block of more than 1024 threads, or more than 64 deep"};
  }
  if (threads > static_cast<std::uint64_t>(about.max_threads)) {
    return {cudaErrorInvalidValue, "a block of " + std::to_string(threads) + " threads; __launch_bounds__ allows " +
                                       std::to_string(about.max_threads)};
  }
  if (about.registers_hint > 0 && static_cast<std::uint64_t>(about.registers_hint) * ((threads + 31) / 32 * 32) > 65536) {
    return {cudaErrorLaunchOutOfResources, "more registers than an SM has"};
  }
  const std::size_t limit = kernel.dynamic_shared_limit;
  if (dynamic_shared > limit && dynamic_shared + about.static_shared > shared_bytes_without_opt_in) {
    return {cudaErrorInvalidValue, std::to_string(dynamic_shared) +
                                       " bytes of dynamic shared memory; cudaFuncSetAttribute allows " + std::to_string(limit)};
  }
  if (dynamic_shared + about.static_shared > static_cast<std::size_t>(settings().model->shared_per_block_opt_in)) {
    return {cudaErrorInvalidValue, "more shared memory than a block can have"};
  }
  return {};
}

/// Blocks of a kernel that an SM holds at once, by its threads and its shared memory, of which each block takes 1 KiB more.
int blocks_per_multiprocessor(const FunctionInfo& about, dim3 block, std::size_t dynamic_shared) {
  const DeviceModel& model = *settings().model;
  const std::size_t threads = std::size_t{block.x} * block.y * block.z, shared = about.static_shared + dynamic_shared + 1024;
  return static_cast<int>(
      std::min(static_cast<std::size_t>(model.threads_per_multiprocessor) / std::max<std::size_t>(threads, 1),
               static_cast<std::size_t>(model.shared_per_multiprocessor) / shared));
}

std::uint64_t blocks_at_once(const FunctionInfo& about, const cudaLaunchConfig_t& config) {
  return static_cast<std::uint64_t>(settings().multiprocessors) *
         static_cast<std::uint64_t>(blocks_per_multiprocessor(about, config.blockDim, config.dynamicSmemBytes));
}

/// `cluster`: of the launch, (0, 0, 0) without one; it becomes the cluster that runs.
Refusal check_cluster(const Kernel& kernel, const FunctionInfo& about, dim3 grid, dim3& cluster) {
  const auto at_least_1 = [](int n) { return static_cast<unsigned>(std::max(1, n)); };
  if (const int* required = about.required_cluster; required[0]) {
    const dim3 fixed(at_least_1(required[0]), at_least_1(required[1]), at_least_1(required[2]));
    if (cluster.x && (cluster.x != fixed.x || cluster.y != fixed.y || cluster.z != fixed.z)) {
      return {cudaErrorInvalidClusterSize, "the cluster differs from __cluster_dims__"};
    }
    cluster = fixed;
  }
  if (!cluster.x) {
    cluster = dim3(1, 1, 1);
    return {};
  }
  if (!settings().model->clusters) return {cudaErrorNotSupported, "clusters need compute capability 9.0"};
  const auto size = std::uint64_t{cluster.x} * cluster.y * cluster.z;
  if (!size || grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z) {
    return {cudaErrorInvalidClusterSize, "the grid is not a multiple of the cluster"};
  }
  const unsigned limit = kernel.wide_clusters ? 16 : 8;
  if (size > limit) return {cudaErrorInvalidClusterSize, "a cluster of more than " + std::to_string(limit) + " blocks"};
  return {};
}

/// Copies the parameters and notes which allocations they point into. Returns false if a parameter is missing.
bool take_parameters(Launch& launch, const FunctionInfo& about, void** arguments) {
  std::size_t total = 0;
  for (const std::size_t size : about.param_sizes) {
    launch.offsets.push_back(total);
    total += (size + 127) / 128 * 128;  // aligned as a tensor map must be
  }
  launch.parameters.resize(total);
  std::set<const char*> seen;
  for (std::size_t i = 0; i < about.param_sizes.size(); ++i) {
    if (!arguments || !arguments[i]) return false;
    char* const bytes = launch.parameters.data() + launch.offsets[i];
    std::memcpy(bytes, arguments[i], about.param_sizes[i]);
    for (std::size_t at = 0; at + sizeof(void*) <= about.param_sizes[i]; at += sizeof(void*)) {
      void* pointer = nullptr;
      std::memcpy(&pointer, bytes + at, sizeof pointer);
      const auto found = find_allocation(pointer);
      if (!found) continue;
      if (found->device < 0) {
        launch.waits_for_host = launch.waits_for_host || launch.kernel->traits.reads_timer;
      } else if (seen.insert(found->base).second) {
        launch.shape.footprint_bytes += static_cast<double>(found->bytes);
      }
    }
  }
  return true;
}

}  // namespace

cudaError_t work_of_launch(Kernel* kernel, dim3 grid, dim3 block, dim3 cluster, void** arguments, std::size_t dynamic_shared,
                           bool cooperative, Work& work) {
  if (!kernel) return fail(cudaErrorInvalidDeviceFunction, "the function is not a kernel");
  const FunctionInfo* about = load(*kernel);
  if (!about) return fail(cudaErrorNoKernelImageForDevice);
  Refusal refusal = check_blocks(*kernel, *about, grid, block, dynamic_shared);
  if (refusal.status == cudaSuccess) refusal = check_cluster(*kernel, *about, grid, cluster);
  auto made = std::make_shared<Launch>();
  made->kernel = kernel;
  made->shape.grid = {grid.x, grid.y, grid.z};
  made->shape.block = {block.x, block.y, block.z};
  made->cluster = {cluster.x, cluster.y, cluster.z};
  made->cooperative = cooperative;
  made->dynamic_shared = dynamic_shared;
  if (refusal.status == cudaSuccess && !take_parameters(*made, *about, arguments)) {
    refusal = {cudaErrorInvalidValue, "a parameter is missing"};
  }
  if (refusal.status != cudaSuccess) return fail(refusal.status, refusal.why + " (kernel " + short_name(*kernel) + ")");
  work = [made](Device& device, double start, double overhead) { return perform(*made, device, start, overhead); };
  return cudaSuccess;
}

namespace {

cudaError_t launch(Kernel* kernel, dim3 grid, dim3 block, dim3 cluster, void** arguments, std::size_t dynamic_shared,
                   cudaStream_t given, bool cooperative = false) {
  GPUMODEL_CHECK(enter());
  if (!kernel) return fail(cudaErrorInvalidDeviceFunction, "the function is not a kernel");
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  if (stream->device != current_device().ordinal()) {
    return fail(cudaErrorInvalidResourceHandle, "the stream belongs to another device than the current one");
  }
  Work work;
  GPUMODEL_CHECK(work_of_launch(kernel, grid, block, cluster, arguments, dynamic_shared, cooperative, work));
  CompletionRef done;
  GPUMODEL_CHECK(submit(given, "kernel", std::move(work), &done));
  return wait_if_blocking(done);
}

/// What the attributes of a launch ask for.
struct Attributes {
  dim3 cluster = dim3(0, 0, 0);
  bool cooperative = false;
};

cudaError_t read_attributes(const cudaLaunchConfig_t* config, Attributes& found) {
  if (!config || (config->numAttrs && !config->attrs)) return fail(cudaErrorInvalidValue);
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      const auto& dim = attribute.val.clusterDim;
      found.cluster = dim3(dim.x, dim.y, dim.z);
      if (!dim.x || !dim.y || !dim.z) return fail(cudaErrorInvalidClusterSize, "an empty cluster");
    } else if (attribute.id == cudaLaunchAttributeCooperative) {
      found.cooperative = attribute.val.cooperative != 0;
    } else if (attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization) {
      // It may start before the kernel in front of it ends; here it does not.
      if (!settings().model->clusters) return fail(cudaErrorNotSupported, "dependent launches need compute capability 9.0");
    } else if (attribute.id != cudaLaunchAttributeIgnore) {
      say("launch attribute %d is not modelled", static_cast<int>(attribute.id));
    }
  }
  return cudaSuccess;
}

/// As if all SMs of the GPU were one processing cluster: any of them may hold the blocks of a cluster.
cudaError_t count_active_clusters(int& clusters, Kernel* kernel, const cudaLaunchConfig_t& config, dim3 cluster) {
  GPUMODEL_CHECK(enter());
  if (!kernel) return fail(cudaErrorInvalidDeviceFunction, "the function is not a kernel");
  const FunctionInfo* about = load(*kernel);
  if (!about) return fail(cudaErrorNoKernelImageForDevice);
  Refusal refusal = check_blocks(*kernel, *about, config.gridDim, config.blockDim, config.dynamicSmemBytes);
  if (refusal.status == cudaSuccess) refusal = check_cluster(*kernel, *about, config.gridDim, cluster);
  if (refusal.status != cudaSuccess) return fail(refusal.status, refusal.why + " (kernel " + short_name(*kernel) + ")");
  clusters = static_cast<int>(blocks_at_once(*about, config) / (std::uint64_t{cluster.x} * cluster.y * cluster.z));
  return cudaSuccess;
}

}  // namespace
}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): names given by nvcc.
extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t dynamic_shared, CUstream_st* stream) {
  t_configurations.push_back({grid, block, dynamic_shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* dynamic_shared, void* stream) {
  if (t_configurations.empty()) return fail(cudaErrorMissingConfiguration);
  const Configuration& last = t_configurations.back();
  *grid = last.grid;
  *block = last.block;
  *dynamic_shared = last.dynamic_shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  t_configurations.pop_back();
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t dynamic_shared,
                             cudaStream_t stream) {
  return launch(find_kernel(function), grid, block, dim3(0, 0, 0), arguments, dynamic_shared, stream);
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t dynamic_shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, dynamic_shared, stream);
}
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t dynamic_shared,
                                    cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, dynamic_shared, stream ? stream : cudaStreamPerThread);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  Attributes attributes;
  GPUMODEL_CHECK(read_attributes(config, attributes));
  Kernel* const kernel = find_kernel(function);
  const auto* const about = attributes.cooperative && kernel ? load(*kernel) : nullptr;
  const dim3 grid = config->gridDim;
  // The blocks of a cooperative launch run together.
  if (about && std::uint64_t{grid.x} * grid.y * grid.z > blocks_at_once(*about, *config)) {
    return fail(cudaErrorCooperativeLaunchTooLarge);
  }
  return launch(kernel, grid, config->blockDim, attributes.cluster, arguments, config->dynamicSmemBytes, config->stream,
                attributes.cooperative);
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function, const cudaLaunchConfig_t* config) {
  if (!clusters) return fail(cudaErrorInvalidValue);
  Attributes attributes;
  GPUMODEL_CHECK(read_attributes(config, attributes));
  return count_active_clusters(*clusters, find_kernel(function), *config, attributes.cluster);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
