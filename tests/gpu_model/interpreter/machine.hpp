// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "instruction.hpp"

namespace gpu_model {

struct Group {
  u32 pc = 0, mask = 0;
  enum St : u8 { run, sync_wait, blocked, yielded } st = run;
};

struct CpAsync {
  u32 lane, group;
  u32 dst;
  u64 src;
  u8 bytes, src_bytes;
  u32 line;
};

struct WgmmaOp {
  const Instruction* ins;
  u64 desc_a, desc_b;
  bool scale_d;
  bool committed;
};

struct Warp {
  u8* rf = nullptr;
  const Body* body = nullptr;
  Block* cta = nullptr;
  Cluster* cl = nullptr;
  Launch* launch = nullptr;
  u32 id = 0, live = 0;
  std::vector<Group> groups;
  int cur = -1;
  bool yield = false;               // set by handlers: give way after this instruction
  bool spun = false;                // ... because something waited for is not there
  const Instruction* at = nullptr;  // instruction being run
  const char* waits_for = "";
  // cp.async
  std::vector<CpAsync> copies;
  u32 copy_groups[32] = {};
  // wgmma
  std::deque<WgmmaOp> wgmmas;  // in order; a committed group ends with an op of ins == nullptr
  u32 wgmma_groups = 0;
  std::vector<u8> in_flight;  // a byte per 64 bytes of register file: 1 accumulator, 2 A fragment
  u64 wgmma_issued = 0;
  // clusters
  u32 cluster_phase[32] = {};
  u32 proxy_epoch = 1;
  u64 instructions = 0;
  // GPUMODEL_RACE: vector clocks of all warps of the cluster
  std::vector<u32> vc;
  u32 gw = 0;
  // wgmma.fence: when a register row was last written by another instruction
  std::vector<u32> written_at;
  u32 fence_epoch = 1;
  template <class T>
  T* row(u32 off) const {
    return reinterpret_cast<T*>(rf + off);
  }
  u32 first_lane(u32 mask) const { return static_cast<u32>(std::countr_zero(mask)); }
  u64 scalar(u32 off, u8 size, u32 lane) const {
    u64 v = 0;
    std::memcpy(&v, rf + off + lane * size, size);
    return v;
  }
};

struct Barrier {
  u32 arrived = 0, expected = 0;
  bool implied = false;
  std::vector<Warp*> waiting;
  std::vector<u32> vc;
};
struct RaceCell {
  u32 clock = 0;
  u16 warp = 0xffff;
};  // the last write; 0xffff: none yet
struct SyncClock {
  std::vector<u32> acc, done;
};

struct Block {
  Cluster* cl = nullptr;
  Dim3 ctaid, cluster_ctaid;
  u32 rank = 0, sm = 0;
  std::vector<u8> smem;            // starts at address `shared_base`
  std::vector<u8> local;           // per thread depots
  std::vector<u32> generic_write;  // per 16 bytes: (warp + 1) << 20 | epoch, of the last write by the generic proxy
  std::vector<RaceCell> cells;     // GPUMODEL_RACE: per 2 bytes
  std::vector<u32> reads;          // per cell and warp of the cluster: clock of its last read
  std::unordered_map<u32, SyncClock> mbar_clocks;
  u32 live_warps = 0;
  Barrier barriers[16];
  std::vector<Warp*> warps;
};

struct Pending {  // an operation of the async proxy that has not happened yet
  enum What : u8 { tensor_load, bulk_load, st_async, tensor_store, bulk_store, remote_copy } what;
  TensorMap map;
  u64 map_address = 0;
  s32 coord[5] = {};
  u64 global = 0;
  u32 dst = 0, mbar = 0;  // shared::cluster addresses (with rank bits resolved)
  u32 bytes = 0;
  u16 multicast = 0;
  bool is_multicast = false;
  u8 data[16] = {};
  Block* cta = nullptr;  // issuer
  Warp* warp = nullptr;
  const Instruction* ins = nullptr;
  u32 lane = 0;
  std::vector<u32> vc;  // the issuer's clocks
};

struct Cluster {
  Launch* launch = nullptr;
  std::vector<std::unique_ptr<Block>> ctas;
  std::vector<std::unique_ptr<Warp>> warps;
  std::deque<Pending> pending;
  u32 live_warps = 0;
  u32 live_threads = 0, arrived = 0, phase = 1;
  SyncClock clock;
};

struct Range {
  u64 base, end;
  bool device;
};
std::vector<Range> ranges_now(u64& version);
extern std::atomic<u64> ranges_version;

enum class Completion : u8 { early, late, random };

struct Launch {
  const Body* body = nullptr;
  Dim3 grid, block, cluster;
  std::size_t dynamic_shared = 0;
  u64 shared_base = 1024, shared_bytes = 0, dynamic_offset = 0;
  std::vector<u8> param_store;
  u8* params = nullptr;
  Time* time = nullptr;
  Counters* counters = nullptr;
  int sm_count = 132;
  std::vector<Range> ranges;
  u64 ranges_seen = 0;
  u64 hot_base = 1, hot_end = 0;  // the range of the last hit
  std::pair<u64, u64> hot[4] = {
      {1, 0}, {1, 0}, {1, 0}, {1, 0}};  // ... and of some before, valid for ranges_version == hot_seen
  u64 hot_seen = 0;
  u32 hot_next = 0;
  u64 phases = 0;   // mbarrier phases that an asynchronous operation has completed
  u64 effects = 0;  // grows with every store, arrival, ...
  double cycle_fraction = 0;
  Completion async_mode = Completion::late, wgmma_mode = Completion::late;
  bool race = false;
  u64 seed = 1;
  u64 flop[8] = {};
  u64 executed = 0, timed = 0, thread_instructions = 0;
  bool quiet = false;
  std::vector<std::pair<u32, std::string>> warned;
  u64 wall_base = 0;
};

// generic addresses of the spaces that are not host memory
constexpr u64 shared_window = 0x7fe0000000000000ull;  // + 32-bit shared::cluster address
constexpr u64 local_window = 0x7ff0000000000000ull;   // + offset in the thread's local memory
constexpr u32 rank_shift = 24;  // shared::cluster address = (rank + 1) << 24 | offset; 0 there: the own block

[[noreturn]] void fault(Fault::Kind, const Warp&, const Instruction&, int lane, const std::string& text);
void check_global(Warp&, const Instruction&, int lane, u64 address, u64 bytes, bool write);
u8* shared_pointer(Warp&, const Instruction&, int lane, u32 address, u32 bytes,
                   Block** owner = nullptr);  // shared::cta or shared::cluster
void mbarrier_complete_tx(Warp&, const Instruction&, u8* at, s64 bytes, const std::vector<u32>& vc);
void perform(Cluster&, Pending&);
void perform_copies(Warp&, u32 mask, u32 keep, bool all);
void perform_wgmma(Warp&, u32 keep_groups);
void note_generic_write(Warp&, Block&, u32 offset, u32 bytes);
void check_async_read(Warp&, Block&, u32 offset, u32 bytes, const Instruction&);
void resolve(Warp&, const Instruction&, u32 mask, u64* addresses, u32 bytes,
             bool write);  // addresses of all lanes -> host pointers, checked
void gather(const Warp&, u32 row, u8 size, s64 imm, u64* out);
void issue(Warp&, Pending&&);
Block& cta_of(Warp&, const Instruction&, int lane, u32 address);
// the race detector; all do nothing unless it is on. Offsets count from the block's base.
void race_access(Warp&, const Instruction&, int lane, Block& owner, u32 offset, u32 bytes, bool write);
void race_start(Launch&, Cluster&);
void race_join(std::vector<u32>& into, const std::vector<u32>& from);
inline void race_release(Warp& w, std::vector<u32>& into) {
  if (!w.vc.empty()) {
    race_join(into, w.vc);
    ++w.vc[w.gw];
  }
}
u8* shared_lane(Warp&, const Instruction&, int lane, u64 address, u32 bytes,
                bool write);  // shared_pointer with all checks of an access
void warn_once(Warp&, const Instruction&, const std::string& text);
void advance_time(Launch&, u64 instructions);
u64 random_next(u64&);

}  // namespace gpu_model
