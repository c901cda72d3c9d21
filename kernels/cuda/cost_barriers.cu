// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/cost.hpp"
#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/cuda/launch_config.hpp"
#include "kernels/cuda/ptx/barrier.cuh"
#include "kernels/cuda/ptx/cluster.cuh"

namespace roofmark::cuda {

namespace {

constexpr int kThreads = 256;

/// grid_own: by one counter. grid_groups: cooperative groups'. cluster: the hardware's.
enum class Barrier { grid_own, grid_groups, cluster };

template <Barrier kBarrier>
__device__ void wait_for_all(GridBarrier& own) {
  if constexpr (kBarrier == Barrier::grid_own) {
    own.wait();
  } else if constexpr (kBarrier == Barrier::grid_groups) {
    cooperative_groups::this_grid().sync();
  } else {
#if __CUDA_ARCH__ >= 900
    barrier_cluster_arrive_release();
    barrier_cluster_wait_acquire();
#endif
  }
}

/// Whether all blocks from `first` on have begun round `round`.
__device__ bool all_have_begun(const volatile std::uint32_t* rounds, unsigned first, unsigned blocks, std::uint32_t round) {
  for (unsigned i = first; i < first + blocks; ++i) {
    if (rounds[i] < round) return false;
  }
  return true;
}

/// By some tens of microseconds: more than all else that a block does between two barriers.
__device__ void come_late() {
  constexpr std::int64_t kCycles = 100'000;
  const std::int64_t start = clock64();
  while (clock64() - start < kCycles) {
  }
}

/// Blocks of a group, the grid or a cluster, meet `barriers` times. A block counts the barriers that it has passed; if checked,
/// those only behind which it finds that all blocks of its group had come, and each time another block comes late.
template <Barrier kBarrier, bool kChecked>
__global__ void __launch_bounds__(kThreads) barriers_kernel(BarrierMemory memory, int barriers, unsigned group) {
  const unsigned first = blockIdx.x / group * group;
  GridBarrier own(memory.arrivals);
  std::uint32_t passed = 0;
  for (int i = 0; i < barriers; ++i) {
    const auto round = static_cast<std::uint32_t>(i + 1);
    if (kChecked && threadIdx.x == 0 && blockIdx.x - first == i % group) come_late();
    if (kChecked && threadIdx.x == 0) *static_cast<volatile std::uint32_t*>(memory.rounds + blockIdx.x) = round;
    if (kChecked) __syncwarp();  // a cluster's barrier takes whole warps
    wait_for_all<kBarrier>(own);
    if (!kChecked || (threadIdx.x == 0 && all_have_begun(memory.rounds, first, group, round))) ++passed;
    asm volatile("" : "+r"(passed));  // counted, not known from the number of barriers
  }
  if (threadIdx.x == 0) memory.passed[blockIdx.x] = passed;
}

template <Barrier kBarrier>
void launch_barriers(const BarrierMemory& memory, int barriers, unsigned blocks, unsigned group, Stream stream) {
  const auto kernel = memory.rounds ? barriers_kernel<kBarrier, true> : barriers_kernel<kBarrier, false>;
  LaunchConfig config(blocks, kThreads, stream, shared_bytes_to_be_alone(kernel, kThreads));
  if constexpr (kBarrier == Barrier::cluster) {
    config.set_clusters(group);
  } else {
    config.set_cooperative();
  }
  check(cudaLaunchKernelEx(config.get(), kernel, memory, barriers, group));
}

}  // namespace

void add_barriers(std::vector<DeviceCostPlan>& plans, const CostTarget& target) {
  const auto add = [&](auto launch, int barriers, const std::string& scope, const char* by, int blocks, int group) {
    DeviceCostPlan& plan = plans.emplace_back();
    plan.operation = "barrier";
    plan.keys = {{"barriers", std::to_string(barriers)}, {"scope", scope}, {"by", by}, {"impl", "cuda"}};
    plan.barriers = barriers;
    plan.is_compared = scope == "grid" && by == std::string_view("own");
    plan.blocks = blocks;
    plan.prepare = [=] {
      return [=](const BarrierMemory& memory, Stream stream) {
        launch(memory, barriers, static_cast<unsigned>(blocks), static_cast<unsigned>(group), stream);
      };
    };
    if (scope != "grid" && target.compute_capability < 90) plan.unsupported = "clusters of blocks need compute capability 9.0";
  };
  const int sms = target.multiprocessors;
  for (const int barriers : {10, 100, 1000}) {
    add(launch_barriers<Barrier::grid_own>, barriers, "grid", "own", sms, sms);
    add(launch_barriers<Barrier::grid_groups>, barriers, "grid", "cooperative_groups", sms, sms);
    for (const int blocks : {2, 8}) {
      add(launch_barriers<Barrier::cluster>, barriers, "cluster_" + std::to_string(blocks), "hardware", blocks, blocks);
    }
  }
}

}  // namespace roofmark::cuda
