// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The model of a GPU: what the core (PTX interpreter) offers to the runtime (stand-ins for cudart, cuBLASLt, the driver, NVML).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// Environment, read at every launch:
//   GPUMODEL_ASYNC=late|early|random   when cp.async, TMA and st.async happen; late (default): when nobody can go on without
//   GPUMODEL_WGMMA=late|early|random   when wgmma reads its operands; late (default): at wgmma.wait_group
//   GPUMODEL_SEED=n                    of random, which also draws the order and the turns of warps
//   GPUMODEL_RACE=1                    shared memory: accesses that no barrier, mbarrier or cluster barrier orders; reads of
//   what nobody wrote GPUMODEL_SHARED_BASE=n             where a block's shared memory starts (1024, as on sm_90; 1040 shows
//   who relies on alignment) GPUMODEL_SPIN_LIMIT=n              warp instructions without any effect after which a launch
//   counts as hung (2e9; not with Time::wall) GPUMODEL_QUIET=1                   no warnings on stderr GPUMODEL_EDIT="old=>new"
//   changes PTX before it is read (GPUMODEL_EDIT_PLACE=n: one place), for mutation tests
namespace gpu_model {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// What a launch did wrong: out of bounds, misaligned, deadlock, an opcode that the core does not know, ... what() names kernel,
// block, thread, PTX line.
struct Fault : std::runtime_error {
  enum class Kind { illegal_address, misaligned, illegal_instruction, deadlock, trap, race, unsupported } kind;
  Fault(Kind k, const std::string& text) : std::runtime_error(text), kind(k) {}
};

// Ranges of host memory that kernels may touch (cudaMalloc'd, host-pinned): every global access is checked against them. Device
// pointers ARE host pointers. Thread-safe.
void allow_range(const void* base, std::size_t bytes, bool device);
void forbid_range(const void* base);

struct FunctionInfo {  // what cudaFuncGetAttributes needs
  std::string name;    // mangled
  std::size_t static_shared = 0, local_bytes = 0;
  int max_threads = 1024;               // .maxntid product where given
  int required_cluster[3] = {0, 0, 0};  // .reqnctapercluster
  std::vector<std::size_t> param_sizes, param_offsets;
  int registers_hint = 0;  // .maxnreg or 0
};

class Function;  // one .entry
class Module {   // one PTX text
 public:
  explicit Module(const std::string& ptx);  // throws std::runtime_error with the line that it cannot parse
  ~Module();
  const Function* find(const std::string& mangled) const;  // nullptr where there is none
  void* global(const std::string& mangled,
               std::size_t* bytes) const;           // .global / .const variables, storage owned by the module
  std::vector<std::string> functions() const;       // names of all .entry
  const std::vector<std::string>& unknown() const;  // opcodes (with their lines) that run only into Fault unsupported
  struct Impl;
  std::unique_ptr<Impl> impl;
};
const FunctionInfo& info(const Function*);

struct Counters {  // of one launch; what a timing model needs
  std::uint64_t warp_instructions = 0, thread_instructions = 0;
  std::uint64_t global_load_bytes = 0, global_store_bytes = 0, shared_bytes = 0;
  std::uint64_t fma_flops[3] = {0, 0, 0};  // fp16/bf16, fp32, fp64: 2 per fma, 1 per add/mul
  std::uint64_t mma_flops = 0;             // mma.sync and wgmma
  std::uint64_t special = 0;               // ex2, rcp, rsqrt, ...
  std::uint64_t tma_bytes = 0;
  std::uint64_t uninitialised_shared_reads = 0;  // first-read-before-write of shared memory, if tracked
  std::uint64_t unfenced_async_reads =
      0;  // 16-byte pieces of shared memory written by st and read by wgmma / bulk copies without fence.proxy.async
  std::uint64_t races = 0;     // GPUMODEL_RACE=1: accesses to shared memory that nothing orders (each 2 bytes)
  std::uint64_t warnings = 0;  // all kinds; their first texts go to stderr (GPUMODEL_QUIET=1: not)
};

// Device time, which %clock64 and %globaltimer read: the runtime sets how a launch's clocks begin; the core advances clock64 by
// a fixed number of cycles a warp instruction, and globaltimer with it at `clock_mhz`.
struct Time {
  std::uint64_t clock64 = 0, globaltimer_ns = 0;
  double clock_mhz = 1980;
  bool wall = false; /* globaltimer = wall clock: for spinning kernels */
};

// Runs a whole grid, on this thread. params[i] points at the i-th parameter's bytes, as cudaLaunchKernel has them.
// Blocks run one after another (a cluster's blocks together), warps of a block interleave at barriers and spins.
void run(const Function*, Dim3 grid, Dim3 block, Dim3 cluster, std::size_t dynamic_shared, void* const* params, Time&,
         Counters&, int sm_count = 132);

// TMA descriptors: cuTensorMapEncodeTiled's arguments, stored by the runtime in the 128 bytes of a CUtensorMap as the core
// wants them.
struct TensorMap {
  std::uint32_t magic = 0x544d4150;
  std::uint8_t type = 0, rank = 0, interleave = 0, swizzle = 0, oob_fill = 0;
  std::uint64_t address = 0;
  std::uint64_t dims[5] = {}, strides[4] = {};  // strides in bytes of dims 1..
  std::uint32_t box[5] = {};
  std::uint8_t element_strides[5] = {};
};  // must fit in 128 bytes (pack it: box <= 256 fits 16 bits)
}  // namespace gpu_model
