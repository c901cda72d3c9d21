// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Runs kernels from their PTX: what the stand-ins of the CUDA libraries build on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// clang-format off
// Environment variables, read at every launch.
//
// variable              values (default)            effect
// GPUMODEL_ASYNC        late, early, random (late)  when cp.async, bulk copies and st.async happen; late: when all warps wait
// GPUMODEL_WGMMA        late, early, random (late)  when wgmma reads its operands; late: at wgmma.wait_group
// GPUMODEL_SEED         number (1)                  of `random`, which also draws the order and the turns of the warps
// GPUMODEL_RACE         1                           reports unordered accesses to shared memory, and reads before any write
// GPUMODEL_SHARED_BASE  bytes (1024, as on sm_90)   address of a block's shared memory; 1040 shows who relies on alignment
// GPUMODEL_SPIN_LIMIT   warp instructions (2e9)     how many in a row may have no effect before the launch counts as hung
// GPUMODEL_QUIET        1                           no warnings on stderr
//
// GPUMODEL_EDIT, GPUMODEL_EDIT_PLACE and GPUMODEL_EDIT_KERNEL plant faults: edit.hpp. They are read when a module is loaded.
// clang-format on
namespace gpu_model {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

/// A launch that cannot go on. what() names kernel, block, thread and PTX line.
struct Fault : std::runtime_error {
  enum class Kind { illegal_address, misaligned, illegal_instruction, deadlock, trap, race, unsupported } kind;
  Fault(Kind k, const std::string& text) : std::runtime_error(text), kind(k) {}
};

/// The owner of memory that every kernel reaches.
inline constexpr int everyone = -1;
/// Lets kernels access a range of host memory, if they reach its owner's. Every access to global memory is checked against the
/// ranges. A device pointer is the host pointer. Thread-safe.
void allow_range(const void* base, std::size_t bytes, int owner = everyone);
void forbid_range(const void* base);

/// What cudaFuncGetAttributes needs. Sizes are in bytes.
struct FunctionInfo {
  std::string name;  // mangled
  std::size_t static_shared = 0;
  std::size_t local_bytes = 0;          // per thread
  int max_threads = 1024;               // per block; the product of .maxntid or .reqntid where given
  int required_cluster[3] = {0, 0, 0};  // .reqnctapercluster, or zeros
  std::vector<std::size_t> param_sizes, param_offsets;
  int registers_hint = 0;  // .maxnreg, or 0
};

/// One kernel. Its module owns it.
class Function;

/// One PTX text. Owns the storage of its variables.
class Module {
 public:
  /// Throws std::runtime_error with the line that it cannot parse.
  explicit Module(const std::string& ptx);
  ~Module();
  /// nullptr if the module has no such kernel or variable. Names are mangled. `bytes` may be nullptr.
  const Function* find(const std::string& name) const;
  void* global(const std::string& name, std::size_t* bytes) const;
  /// The names of all kernels.
  std::vector<std::string> functions() const;
  /// Instructions that the model lacks: opcode, reason, line. A thread that reaches one ends its launch with Fault unsupported.
  const std::vector<std::string>& unknown() const;

  struct Impl;
  std::unique_ptr<Impl> impl;
};
const FunctionInfo& info(const Function*);

/// What a launch did, for a model of its time.
struct Counters {
  std::uint64_t warp_instructions = 0, thread_instructions = 0;
  std::uint64_t global_load_bytes = 0, global_store_bytes = 0, shared_bytes = 0;
  std::uint64_t fma_flops[3] = {0, 0, 0};  // fp16 and bf16, fp32, fp64: 2 per fma, 1 per other operation
  std::uint64_t mma_flops = 0;             // mma.sync, wgmma, tcgen05.mma
  std::uint64_t special = 0;               // ex2, rcp, rsqrt, ...
  std::uint64_t tma_bytes = 0;
  std::uint64_t uninitialised_shared_reads = 0;  // GPUMODEL_RACE=1: reads of shared memory before any write
  std::uint64_t unfenced_async_reads =
      0;                       // pieces of 16 bytes that st wrote and wgmma or a bulk copy read without fence.proxy.async
  std::uint64_t races = 0;     // GPUMODEL_RACE=1: unordered accesses to shared memory, in units of 2 bytes
  std::uint64_t warnings = 0;  // of all kinds; each kind's first text goes to stderr
};

/// Device time, as %clock64 and %globaltimer read it. A launch advances clock64 by one cycle per warp instruction, and
/// globaltimer with it.
struct Time {
  std::uint64_t clock64 = 0, globaltimer_ns = 0;
  double clock_mhz = 1980;
  bool wall = false;  // globaltimer is the wall clock: for kernels that spin until the host acts
};

/// Runs a whole grid on the calling thread. params[i] points at the i-th parameter's bytes, as cudaLaunchKernel has them.
/// Clusters run one after another, those of a cooperative launch together; the warps that run take turns. The memory of owner n
/// is reached where bit n of `owners` is set. Throws a Fault.
void run(const Function*, Dim3 grid, Dim3 block, Dim3 cluster, std::size_t dynamic_shared, void* const* params, Time&,
         Counters&, int sm_count = 132, std::uint64_t owners = ~std::uint64_t{0}, bool cooperative = false);

/// A TMA descriptor: the arguments of cuTensorMapEncodeTiled, stored in the 128 bytes of a CUtensorMap.
struct TensorMap {
  std::uint32_t magic = 0x544d4150;
  std::uint8_t type = 0, rank = 0, interleave = 0, swizzle = 0, oob_fill = 0;
  std::uint64_t address = 0;
  std::uint64_t dims[5] = {}, strides[4] = {};  // strides in bytes, from the second dimension on
  std::uint32_t box[5] = {};
  std::uint8_t element_strides[5] = {};
};

}  // namespace gpu_model
