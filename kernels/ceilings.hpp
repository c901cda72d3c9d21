// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// What a probe is laid out for. Known before anything runs, so that the work can be counted from the layout.
struct ProbeTarget {
  int compute_capability = 0;  ///< 90 for 9.0; 0 on the CPU
  int processors = 1;          ///< SMs; on the CPU cores, one thread each: 1 measures a single core
};

/// Independent chains of dependent steps, one result per chain. 0 chains: not supported on the target.
struct ChainLayout {
  std::size_t chains = 0;
  double steps_per_clock = 0;  ///< approximate, of each chain at full rate; for choosing the length of a launch
};

/// Every chain starts at fma_start(chain) and makes `steps` steps x = fma(x, fma_multiplier(type), 1), each rounded once to the
/// type, so the host can reproduce a chain to its last bit. x alternates between two full mantissas that slowly approach each
/// other, so in fp32 and fp64 a missing step shows in the result. All constants are exact in every type.
constexpr std::size_t kFmaStarts = 8;
constexpr double fma_start(std::size_t chain) { return (2.0 * (chain % kFmaStarts) + 1) / 16; }
constexpr double fma_multiplier(DataType type) {
  return type == DataType::fp64 || type == DataType::fp32 ? -(1 - 0x1p-19) : -(1 - unit_roundoff(type));
}
/// The number of steps is a multiple of this, which every unrolled loop divides.
constexpr std::size_t kStepMultiple = 64;

/// The fixed point of x = 2^-x, reached from 0 to single precision in about 30 steps.
constexpr double kExp2FixedPoint = 0.64118574450498599;

enum class TensorInstruction { mma, wgmma, tcgen05 };
constexpr TensorInstruction kTensorInstructions[] = {TensorInstruction::mma, TensorInstruction::wgmma,
                                                     TensorInstruction::tcgen05};
constexpr std::string_view name(TensorInstruction instruction) {
  return instruction == TensorInstruction::mma ? "mma" : instruction == TensorInstruction::wgmma ? "wgmma" : "tcgen05";
}

/// A tensor-core instruction. `accumulate`: fp64 for fp64, int32 for int8, fp32 or fp16 for fp16, fp32 for the others, of which
/// mxfp8 and nvfp4 are for tcgen05 alone.
struct TensorProbe {
  TensorInstruction instruction = TensorInstruction::mma;
  DataType type = DataType::fp16;
  DataType accumulate = DataType::fp32;
};

/// In one iteration every block computes D[m, n] = depth * A[m, k] * B[n, k]^T by depth * k / instruction_k accumulations on
/// each element. All blocks use the same A and B, both row-major, loaded from device memory before the loop. Of a block's
/// `warps` warps, warp w owns rows [w m / warps, (w + 1) m / warps); lane l owns those elements of these rows where
/// row % 8 = l / 4 and column % 8 / 2 = l % 4. 0 blocks: not supported on the target.
struct TensorLayout {
  int blocks = 0;
  int warps = 0;
  int m = 0, n = 0, k = 0;
  int instruction_k = 0;
  int depth = 0;
  double iterations_per_clock = 0;  ///< approximate, of each block; for choosing the length of a launch
};

/// A processor's part of a cache probe's data is a multiple of this.
constexpr std::size_t kCacheGranule = 16384;

/// Loops that load one resource and nothing else. A null entry: the device has no such resource. Sinks are device arrays that a
/// launch writes completely; iterations, steps and repeats are at least 1.
struct CeilingKernels {
  /// CUDA: fp64, fp32, fp16, bf16, the last two in pairs; CPU: fp64 and fp32 with the widest vectors found at run time.
  ChainLayout (*fma_layout)(DataType type, ProbeTarget target);
  /// sink[chains] in the type: where each chain ends. `steps` is a multiple of kStepMultiple; 2 FLOPs per step.
  void (*fma)(DataType type, void* sink, std::size_t steps, ProbeTarget target, Stream stream);

  /// sink[chains]: where `steps` (a multiple of kStepMultiple) of x = 2^-x end, from 0; one exp per step.
  ChainLayout (*exp2_layout)(ProbeTarget target);
  void (*exp2)(float* sink, std::size_t steps, ProbeTarget target, Stream stream);

  TensorLayout (*tensor_layout)(TensorProbe probe, ProbeTarget target);
  /// sink[blocks, warps, 32]: the sum of the elements of D that a lane owns after the last iteration; fp64 for fp64, int32 for
  /// int8, else fp32. A and B are in the probe's type, 16-byte aligned, those of a block-scaled one as BlockScaledLayout has
  /// them; 2 m n k depth operations per block and iteration.
  void (*tensor)(TensorProbe probe, void* sink, const void* a, const void* b, std::size_t iterations, ProbeTarget target,
                 Stream stream);

  std::size_t (*cache_read_sinks)(ProbeTarget target);
  /// Reads `bytes` (a multiple of kCacheGranule x processors, 64-byte aligned) of `data` `repeats` times, bypassing CUDA's L1
  /// cache. The data has `processors` equal parts; each processor reads its part `repeats` times.
  /// sink[cache_read_sinks(target)]: sums, modulo 2^64, of the 8-byte words read; their total is repeats x the sum of all
  /// words.
  void (*cache_read)(std::uint64_t* sink, const void* data, std::size_t bytes, std::size_t repeats, ProbeTarget target,
                     Stream stream);
  /// The same through CUDA's L1 cache, for parts that fit it. Null on the CPU, where cache_read sweeps over any level.
  void (*l1_read)(std::uint64_t* sink, const void* data, std::size_t bytes, std::size_t repeats, ProbeTarget target,
                  Stream stream);

  /// Stores, and loads with stores, over the same parts: pass p of `repeats`, counted from 0, stores w + p to each 8-byte
  /// word w of `bytes` of `to`, and from[w] + p to each word of `bytes` / 2 of `to`, after a load of that word. `bytes` counts
  /// all arrays.
  void (*cache_write)(std::uint64_t* to, std::size_t bytes, std::size_t repeats, ProbeTarget target, Stream stream);
  void (*cache_copy)(std::uint64_t* to, const std::uint64_t* from, std::size_t bytes, std::size_t repeats, ProbeTarget target,
                     Stream stream);

  /// Every SM copies `bytes` of `data` to shared memory and reads them `repeats` times: repeats x bytes x processors in total.
  /// bytes = shared_read_bytes(); sink[shared_read_sinks(target)]: sums as for cache_read; together they are
  /// processors x repeats x the sum of the words.
  std::size_t (*shared_read_bytes)();
  std::size_t (*shared_read_sinks)(ProbeTarget target);
  void (*shared_read)(std::uint64_t* sink, const void* data, std::size_t repeats, ProbeTarget target, Stream stream);

  /// A kernel of one thread that does nothing.
  void (*empty)(Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS CeilingKernels ceilings;
}
namespace cpu {
ROOFMARK_KERNELS CeilingKernels ceilings;
}

}  // namespace roofmark
