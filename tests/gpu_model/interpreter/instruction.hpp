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

#include "interpreter.hpp"
#include "types.hpp"

namespace gpu_model {

struct Warp;
struct Block;
struct Cluster;
struct Launch;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&, u32 mask);

// How the scheduler treats an instruction.
enum class Kind : u8 {
  normal,
  bra,  // imm = target
  exit,
  sync,     // a lane mask operand in row `e` (or all-ones where e is 0) must have arrived
  aligned,  // every live lane of the warp must have arrived
  bar,      // bar.sync / bar.arrive / bar.red: aligned, then through the block's barriers
  cluster,  // barrier.cluster.arrive / wait
};

enum class Space : u8 { generic, global, shared, cluster, local, param, constant };

struct Instruction {
  Handler fn = nullptr;
  Handler fn2 = nullptr;                  // what a wrapper (rounding mode, ftz) calls
  u32 d = 0, a = 0, b = 0, c = 0, e = 0;  // rows in the register file (byte offsets); 0 is the sink
  u8 ds = 0, as = 0, bs = 0, cs = 0;      // bytes a lane in these rows
  u32 pred = 0;                           // row of the guard, 0 = none
  bool pred_not = false;
  bool source_not = false;    // the predicate source c is negated
  bool list_written = false;  // list operands are destinations
  bool is_wgmma = false;
  bool d_source = false;  // row d is read, not written (st)
  Kind kind = Kind::normal;
  Space space = Space::generic;
  u8 n = 0;                      // vector length
  u8 msize = 0;                  // bytes of one memory element
  u8 flop_class = 0, flops = 0;  // 0 none, 1 half, 2 float, 3 double, 4 special
  u16 aux = 0;
  u32 list = 0, list_n = 0;  // rows in Body::lists
  s64 imm = 0, imm2 = 0, imm3 = 0;
  u32 line = 0, loc = 0;  // PTX line, index of Body::locs
};

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
  dynamic_smem_size,
  total_smem_size,
  gridid_,
  envreg
};

struct Symbol {
  enum Where : u8 { global, shared, local, param } where = global;
  u64 offset = 0;  // in its space; global: the host address
  u64 bytes = 0;
  u32 align = 1;
  bool dynamic = false;  // extern .shared
  int owner = -1;        // function that declares it, -1: the module
};

struct Loc {
  u32 file = 0, line = 0;
};

struct Body {
  FunctionInfo info;
  const Module::Impl* module = nullptr;
  std::vector<Instruction> code;
  std::vector<u32> lists;
  std::vector<Loc> locs;
  u32 reg_bytes = 0;      // rows of registers
  std::vector<u8> image;  // constants, copied behind the registers for every warp
  struct SpecialRow {
    u32 row;
    Special what;
  };
  std::vector<SpecialRow> specials;
  struct SharedUse {
    u32 image_offset;
    bool is64;
    u64 add;
  };
  std::vector<SharedUse> dynamic_uses;  // constant rows that hold the address of dynamic shared memory
  u64 static_shared = 0;                // end of static variables, counted from the base
  u32 dynamic_align = 16;
  u64 local_bytes = 0;
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
  std::unordered_map<std::string, Symbol> symbols;  // module scope
  std::vector<std::unique_ptr<u8[]>> storage;
  std::map<u32, std::string> files;
  std::vector<std::string> unknown;  // opcodes that it cannot run, with their first line
};

}  // namespace gpu_model
