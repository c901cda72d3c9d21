// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gpu_model {

// Kernels that are launched through the runtime. Each returns what the launch did.

/// x[i] += 1, as the kernel add_one_kernel.
cudaError_t add_one(float* x, int n, cudaStream_t stream);
/// x[i] += 2, as the kernel add_two_kernel.
cudaError_t add_two(float* x, int n, cudaStream_t stream);
/// Threads wait at a barrier for others that never come.
cudaError_t deadlock(cudaStream_t stream);
/// An odd address.
cudaError_t misalign(float* x, cudaStream_t stream);
/// A block of more threads than __launch_bounds__ allows.
cudaError_t launch_too_wide(cudaStream_t stream);
/// With that many bytes of dynamic shared memory, after asking for `granted` of them.
cudaError_t use_shared_memory(int bytes, int granted, cudaStream_t stream);
/// Each of that many blocks counts itself, waits until all have, and writes the count that it sees to seen[block].
cudaError_t wait_for_all_blocks(unsigned* count, unsigned* seen, int blocks, bool cooperative, cudaStream_t stream,
                                std::size_t shared_bytes = 0);
/// Copies `bytes` of device memory to a constant variable of 64 bytes, from `offset` on.
cudaError_t set_constant(const void* from, int bytes, int offset, cudaStream_t stream);
/// Copies the variable to memory.
cudaError_t get_constant(char* to, cudaStream_t stream);
/// A cluster of that many blocks.
cudaError_t launch_cluster(int blocks, cudaStream_t stream);
/// How many such clusters are resident at once if each block takes that many bytes of dynamic shared memory.
cudaError_t active_clusters(int* clusters, int blocks, int shared_bytes);

}  // namespace gpu_model
