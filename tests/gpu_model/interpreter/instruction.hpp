// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// A kernel after decoding.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter.hpp"
#include "types.hpp"

namespace gpu_model {

struct Warp;
struct Block;
struct Cluster;
struct Launch;
struct Instruction;

/// A lane function: runs an instruction for the lanes in `mask`.
using Handler = void (*)(Warp&, const Instruction&, u32 mask);

/// How the scheduler treats an instruction.
enum class Kind : u8 {
  normal,
  bra,  // imm is the target's index
  exit,
  sync,     // the lanes named by the mask in row e (all lanes if e is 0) must have arrived
  aligned,  // every live lane of the warp must have arrived
  bar,      // bar.sync, bar.arrive: aligned, then through the block's barriers
  cluster,  // barrier.cluster.arrive, barrier.cluster.wait
};

enum class Space : u8 { generic, global, shared, cluster, local, param, constant };

/// What the launch's FLOP counters count an instruction as.
namespace flop_class {
constexpr u8 none = 0, fp16 = 1, fp32 = 2, fp64 = 3, special = 4;
}

/// Operands are rows of the warp's register file, as byte offsets: row 0 is the sink, and constants lie behind the registers. A
/// row holds one value per lane, a predicate's row one bit per lane.
struct Instruction {
  Handler fn = nullptr;
  Handler fn2 = nullptr;  // what fn wraps, where fn sets a rounding mode or saturates
  u32 d = 0, a = 0, b = 0, c = 0, e = 0;
  u8 ds = 0, as = 0, bs = 0, cs = 0;  // bytes per lane in these rows
  u32 pred = 0;                       // row of the guard predicate, 0 for none
  bool pred_not = false;
  bool source_not = false;    // the predicate source is negated
  bool list_written = false;  // the list operands are destinations
  bool is_wgmma = false;
  bool is_atomic = false;
  bool d_source = false;  // row d is read, not written (st)
  Kind kind = Kind::normal;
  Space space = Space::generic;
  u8 n = 0;                      // vector length; barriers: whether aligned
  u8 msize = 0;                  // bytes of one memory element, or of one part of a packed value
  u8 flop_class = 0, flops = 0;  // flops per lane
  u16 aux = 0;                   // the variant, as the lane function defines it
  u32 list = 0, list_n = 0;      // rows in Body::lists
  s64 imm = 0, imm2 = 0, imm3 = 0;
  u32 line = 0;  // in the PTX
  u32 loc = 0;   // index of Body::locs
};

/// Special registers that are constant for a thread.
enum class Special : u8 {
  none,
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  is_explicit_cluster,
  envreg1,
  envreg2,
  dynamic_smem_size,
  total_smem_size,
  gridid
};

/// A variable or a parameter.
struct Symbol {
  enum Where : u8 { global, shared, local, param } where = global;
  u8* host = nullptr;  // of a global variable
  u64 offset = 0;      // in its space; of a global variable its host address
  u64 bytes = 0;
  u32 align = 1;
  bool dynamic = false;  // extern .shared
};

/// A source line, as .loc gives it.
struct Loc {
  u32 file = 0, line = 0;
};

struct Body {
  FunctionInfo info;
  const Module::Impl* module = nullptr;
  std::vector<Instruction> code;
  std::vector<u32> lists;
  std::vector<Loc> locs;  // the first one stands for "unknown"
  u32 reg_bytes = 0;      // of the registers' rows
  struct Rows {
    u32 first, bytes;
  };
  std::vector<Rows> unwritten;  // registers that a path reads before it has written them
  std::vector<u8> image;        // constants, copied behind the registers of every warp
  struct SpecialRow {
    u32 row;  // in the image
    Special what;
  };
  std::vector<SpecialRow> specials;
  struct SharedUse {
    static constexpr u64 dynamic = u64(1) << 63;
    u32 image_offset;
    bool is64;
    u64 add;  // offset from the base; with `dynamic` set, from the start of dynamic shared memory
  };
  std::vector<SharedUse> dynamic_uses;  // constant rows that hold an address in shared memory, which the launch completes
  u64 static_shared = 0;                // end of the static variables, counted from the base
  u32 dynamic_align = 16;
  u64 local_bytes = 0;  // per thread
  u64 param_bytes = 0;
  bool has_wgmma = false;
  bool async_proxy = false;  // has wgmma or bulk copies: writes of the generic proxy are tracked
};

class Function {
 public:
  Body body;
};

struct Module::Impl {
  std::vector<std::unique_ptr<Function>> functions;
  std::unordered_map<std::string, Function*> by_name;
  std::unordered_map<std::string, Symbol> symbols;  // of module scope
  std::vector<std::unique_ptr<u8[]>> storage;
  std::map<u32, std::string> files;
  std::vector<std::string> unknown;  // instructions that the model lacks: opcode, reason, line
};

}  // namespace gpu_model
