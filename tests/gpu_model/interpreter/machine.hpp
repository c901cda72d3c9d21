// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The state of a running grid: warps, blocks, clusters.
#pragma once
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "instruction.hpp"

namespace gpu_model {

/// Vector clock of the race detector: one entry per warp of the cluster. Empty where the detector is off.
using Clocks = std::vector<u32>;

/// What a synchronisation object hands from those who arrive to those who wait, per phase.
struct PhaseClocks {
  Clocks arriving;   // joined by each arrival
  Clocks completed;  // `arriving` as the last phase completed; joined by each successful wait
};

/// Lanes of a warp that stand at the same instruction.
struct LaneGroup {
  enum State : u8 { ready, waits_for_lanes, at_barrier, yielded };
  u32 pc = 0;  // index of the next instruction
  u32 mask = 0;
  State state = ready;
};

/// One lane's cp.async that has not been performed.
struct CpAsync {
  u32 lane = 0;
  u32 group = 0;        // its number among the lane's commit groups
  u32 destination = 0;  // shared memory address
  u64 source = 0;       // global address
  u8 bytes = 0;         // cp-size
  u8 source_bytes = 0;  // bytes read; the rest of cp-size becomes zero
};

/// One wgmma.mma_async that has not been performed; the end of a committed group where `instruction` is null.
struct WgmmaOperation {
  const Instruction* instruction = nullptr;
  u64 a_descriptor = 0, b_descriptor = 0;
  bool scale_d = false;
};

/// One tcgen05.mma or tcgen05.cp that has not been performed.
struct TensorOperation {
  Warp* warp = nullptr;  // who issued it
  const Instruction* instruction = nullptr;
  u32 d = 0;                       // tensor memory address that it writes
  u32 form = 0;                    // instruction descriptor
  u64 a = 0, b = 0;                // descriptors
  u32 a_scales = 0, b_scales = 0;  // tensor memory addresses
  bool accumulates = false;
};

/// A block's tensor memory.
struct TensorMemory {
  static constexpr u32 lanes = 128, columns = 512;
  u32& cell(u32 lane, u32 column) { return cells[column * lanes + lane]; }

  std::vector<u32> cells = std::vector<u32>(lanes * columns, ~0u);
  std::array<u32, columns> allocated = {};   // the columns of the allocation that it belongs to; 0: none
  std::array<u64, columns> written_by = {};  // number of the operation that wrote it last, counted from 1
  bool relinquished = false;
  std::deque<TensorOperation> operations;  // issued and not performed, oldest first
  u64 issued = 0, performed = 0;           // operations
};

struct Warp {
  u8* registers = nullptr;  // rows of 32 lanes, then the constants of the body's image
  const Body* body = nullptr;
  Block* block = nullptr;
  Cluster* cluster = nullptr;
  Launch* launch = nullptr;
  u32 id = 0;    // within the block
  u32 live = 0;  // mask of the lanes that have not exited
  std::vector<LaneGroup> groups;
  bool yield = false;               // set by an instruction: let other warps run after it
  bool spun = false;                // set with `yield`: what it polls for has not happened
  const Instruction* at = nullptr;  // the instruction being run
  const char* waits_for = "";       // for the report of a deadlock

  std::vector<CpAsync> copies;  // oldest first
  u32 copy_groups[32] = {};     // cp.async.commit_group executed, per lane
  u32 cluster_phase[32] = {};   // phase of the cluster barrier in which the lane arrived last
  u32 proxy_epoch = 1;          // grows with each fence.proxy.async of this warp

  std::deque<WgmmaOperation> wgmmas;  // oldest first
  u32 wgmma_groups = 0;               // committed and not performed
  enum InFlight : u8 { accumulator = 1, fragment_of_a = 2 };
  std::vector<u8> in_flight;    // per 64 bytes of registers: InFlight of the wgmma not performed; empty before the first
  std::vector<u32> written_at;  // per 64 bytes of registers: fence_epoch of the last write by another instruction than wgmma
  u32 fence_epoch = 1;          // grows with each wgmma.fence

  std::vector<const Instruction*> tensor_loads;  // tcgen05.ld not performed
  u64 tensor_memory_seen = 0;                    // TensorMemory::performed as of the last tcgen05.fence::after_thread_sync

  Clocks clocks;
  u32 index_in_cluster = 0;  // of this warp's own entry in `clocks`

  template <class T>
  T* row(u32 offset) const {
    return reinterpret_cast<T*>(registers + offset);
  }
  /// One lane's value of `bytes` bytes, zero-extended.
  u64 scalar(u32 row, u8 bytes, u32 lane) const {
    u64 value = 0;
    std::memcpy(&value, registers + row + lane * bytes, bytes);
    return value;
  }
};

/// One of a block's 16 barriers (bar.sync, bar.arrive).
struct Barrier {
  u32 arrived = 0, expected = 0;  // threads
  bool whole_block = false;       // no thread count was given: it expects the block's live warps
  std::vector<Warp*> waiting;
  Clocks clocks;
  void reset() {
    arrived = expected = 0;
    whole_block = false;
    waiting.clear();
    clocks.clear();
  }
};

/// Race detector: the last write of a cell of shared memory.
struct LastWrite {
  static constexpr u16 none = 0xffff;
  u32 clock = 0;    // of the writer, as it wrote
  u16 warp = none;  // its index in the cluster
};

/// Race detector: the last access of a warp to shared memory of another block.
struct RemoteAccess {
  u32 clock = 0;  // of the warp; 0: none
  const Instruction* instruction = nullptr;
  int lane = 0;
};

/// The last write of 16 bytes of shared memory by the generic proxy.
struct GenericWrite {
  u32 writer : 6 = 0;  // warp in the block + 1; 0: nothing to fence
  u32 epoch : 26 = 0;  // the writer's proxy_epoch, as it wrote
};

struct Block {
  Cluster* cluster = nullptr;
  Dim3 ctaid, cluster_ctaid;
  u32 rank = 0;  // %cluster_ctarank
  u32 sm = 0;
  std::vector<u8> shared;                    // shared memory, from address Launch::shared_base
  std::vector<u8> local;                     // local memory of all threads, Body::local_bytes each
  std::vector<GenericWrite> generic_writes;  // per 16 bytes of `shared`; empty where the kernel has no use of the async proxy
  // Race detector; empty where it is off.
  std::vector<LastWrite> last_writes;                    // per cell of `shared`
  std::vector<u32> last_reads;                           // per cell of `shared` and warp of the cluster: clock of its last read
  std::vector<u32> last_atomics;                         // likewise of its last atomic; empty before the first one
  std::vector<RemoteAccess> remote_accesses;             // to this block's, by warp of the cluster
  std::unordered_map<u32, PhaseClocks> mbarrier_clocks;  // by offset in `shared`
  std::unique_ptr<TensorMemory> tensor_memory;           // from the first tcgen05.alloc on
  u32 live_warps = 0;
  Barrier barriers[16];
  std::vector<Warp*> warps;
};

/// A copy of the async proxy that has not been performed, or a tcgen05.commit with the operations that it tracks.
struct AsyncCopy {
  enum Kind : u8 { tensor_load, bulk_load, st_async, tensor_commit };
  Kind kind = st_async;
  Warp* warp = nullptr;  // who issued it
  const Instruction* instruction = nullptr;
  int lane = 0;
  u32 destination = 0, mbarrier = 0;  // shared::cluster addresses
  u32 bytes = 0;                      // that it writes, per destination block
  u64 source = 0;                     // bulk_load: global address; tensor_commit: TensorMemory::issued
  std::array<u8, 16> value = {};      // st_async
  TensorMap map;                      // tensor_load
  s32 coordinates[5] = {};
  bool multicast = false;
  u16 destination_blocks = 0;  // multicast: mask of ranks
  Clocks clocks;               // the issuer's, as of the issue
};

struct Cluster {
  Launch* launch = nullptr;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Warp>> warps;  // of all blocks
  std::deque<AsyncCopy> copies;              // issued and not performed, oldest first
  u32 live_warps = 0, live_threads = 0;
  u32 arrived = 0, phase = 1;  // barrier.cluster: threads that have arrived in this phase
  PhaseClocks barrier_clocks;
};

/// Global memory that kernels may access: [base, end).
struct Range {
  u64 base = 1, end = 0;
  /// False where the addresses wrap around (`past` below `first`).
  bool contains(u64 first, u64 past) const { return first >= base && past <= end && first <= past; }
};

/// When asynchronous operations are performed: with their issue, as late as the program allows, or at random.
enum class Completion : u8 { early, late, random };

struct Launch {
  const Body* body = nullptr;
  Dim3 grid, block, cluster;
  std::size_t dynamic_shared = 0;
  u64 shared_base = 1024;  // address of a block's first byte of shared memory
  u64 shared_bytes = 0;    // static and dynamic, per block
  u64 dynamic_offset = 0;  // of dynamic shared memory, from shared_base
  std::vector<u8> parameter_storage;
  u8* params = nullptr;  // within parameter_storage, aligned
  Time* time = nullptr;
  Counters* counters = nullptr;
  int sm_count = 132;
  u64 owners = ~u64{0};  // of global memory that it reaches, as bits
  // Allowed ranges of global memory as of ranges_seen, and those that accesses have hit last.
  std::vector<Range> ranges;
  u64 ranges_seen = 0;
  Range last_range;
  std::array<Range, 4> recent_ranges;  // valid as of recent_seen
  u64 recent_seen = 0;
  u32 recent_next = 0;
  u64 phases_completed = 0;     // mbarrier phases that an asynchronous operation has completed
  u64 effects = 0;              // grows with each store, arrival, exit: what another warp could wait for
  double nanoseconds_left = 0;  // fraction of a nanosecond that %globaltimer has not counted yet
  Completion async_mode = Completion::late, wgmma_mode = Completion::late;
  bool cooperative = false;
  u32 grid_workspace[2] = {sizeof(u32[2]), 0};  // of a cooperative launch: its size, and the counter of cooperative groups
  bool race = false;
  bool quiet = false;
  u64 seed = 1;
  u64 flops[flop_class::special + 1] = {};  // by Instruction::flop_class
  u64 executed = 0;                         // warp instructions
  u64 timed = 0;                            // ... that the clocks have counted
  u64 thread_instructions = 0;
  std::vector<std::pair<u32, std::string>> warned;  // PTX line and text

  u64 grid_workspace_address() const { return cooperative ? reinterpret_cast<u64>(grid_workspace) : 0; }
};

/// Throws a Fault that names the kernel, the block, the thread (the warp where `lane` is -1) and the PTX line.
[[noreturn]] void fault(Fault::Kind, const Warp&, const Instruction&, int lane, const std::string& text);
[[noreturn]] void fault_misaligned(const Warp&, const Instruction&, int lane, u64 address, u32 alignment);
/// Counts a warning and prints it on stderr, once per PTX line and kind of text.
void warn_once(Warp&, const Instruction&, const std::string& text);
/// Lets %clock64 and %globaltimer catch up with the instructions executed.
void advance_time(Launch&);
u64 random_next(u64& seed);

}  // namespace gpu_model
