// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "mbarriers.hpp"

#include "addresses.hpp"
#include "lanes.hpp"
#include "memory_operands.hpp"
#include "races.hpp"

namespace gpu_model {
namespace {

constexpr u32 most_count =
    (1u << 20) - 1;  // of arrivals and of the tx-count (PTX ISA, "Size and alignment of mbarrier object")

/// The opaque 64 bits in shared memory. This model's layout: bits 0..19 pending arrivals, 20..39 expected arrivals, 40..60
/// tx-count (signed), 61 phase, 62..63 a mark that memory without an mbarrier does not have (fresh shared memory is all ones).
struct Mbarrier {
  u32 pending = 0, expected = 0;
  s32 tx_count = 0;
  u32 phase = 0;  // parity of the current phase

  static Mbarrier load(const Warp& w, const Instruction& i, int lane, const u8* pointer) {
    u64 bits = 0;
    std::memcpy(&bits, pointer, sizeof bits);
    if (bits >> 62 != 1) fault(Fault::Kind::illegal_instruction, w, i, lane, "no mbarrier is initialised at this address");
    return {.pending = static_cast<u32>(bits & most_count),
            .expected = static_cast<u32>(bits >> 20 & most_count),
            .tx_count = static_cast<s32>(static_cast<u32>(bits >> 40 & 0x1fffff) << 11) >> 11,
            .phase = phase_of(bits)};
  }
  static u32 phase_of(u64 state) { return state >> 61 & 1; }
  u64 state() const {
    return u64{pending} | u64{expected} << 20 | u64{static_cast<u32>(tx_count) & 0x1fffff} << 40 | u64{phase} << 61 |
           u64{1} << 62;
  }
  void store(u8* pointer) const {
    const u64 bits = state();
    std::memcpy(pointer, &bits, sizeof bits);
  }
  /// Begins the next phase where nothing is pending any more.
  bool complete_phase() {
    if (pending || tx_count) return false;
    phase ^= 1;
    pending = expected;
    return true;
  }
};

/// Null where the race detector is off.
PhaseClocks* clocks_of(Warp& w, const u8* mbarrier) {
  if (w.clocks.empty()) return nullptr;
  for (const auto& block : w.cluster->blocks) {
    const std::vector<u8>& shared = block->shared;
    if (mbarrier >= shared.data() && mbarrier < shared.data() + shared.size())
      return &block->mbarrier_clocks[static_cast<u32>(mbarrier - shared.data())];
  }
  return nullptr;
}

u8* pointer_of(Warp& w, const Instruction& i, int lane, u64 address) {
  if (i.space == Space::generic && address >= shared_window) address -= shared_window;
  if (address & 7) fault_misaligned(w, i, lane, address, 8);
  Block* owner = nullptr;
  u8* const pointer = shared_pointer(w, i, lane, static_cast<u32>(address), 8, &owner);
  race_outlives(w, i, lane, *owner);
  return pointer;
}

/// b: arrivals that each phase expects.
void mbarrier_init(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  for (const u32 lane : Lanes(mask)) {
    const u32 count = static_cast<u32>(w.scalar(i.b, i.bs, lane));
    if (count == 0 || count > most_count)
      fault(Fault::Kind::illegal_instruction, w, i, lane, "mbarrier.init: count " + std::to_string(count));
    Mbarrier{.pending = count, .expected = count}.store(pointer_of(w, i, lane, addresses[lane]));
  }
  ++w.launch->effects;
}

void mbarrier_inval(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  for (const u32 lane : Lanes(mask)) {
    u8* pointer = pointer_of(w, i, lane, addresses[lane]);
    check_mbarrier(w, i, lane, pointer);
    std::memset(pointer, 0xff, 8);
  }
}

/// Bits of aux.
enum Arrival : u16 { arrives = 1, expects_tx = 2, drops = 4 };

void expect_tx(const Warp& w, const Instruction& i, int lane, Mbarrier& mbarrier, u64 bytes) {
  if (bytes > most_count || mbarrier.tx_count + static_cast<s64>(bytes) > s64{most_count})
    fault(Fault::Kind::illegal_instruction, w, i, lane, "mbarrier tx-count beyond 2^20 - 1");
  mbarrier.tx_count += static_cast<s32>(bytes);
}

void arrive(const Warp& w, const Instruction& i, int lane, Mbarrier& mbarrier, u32 count) {
  if (i.aux & drops) {
    if (mbarrier.expected < count) fault(Fault::Kind::illegal_instruction, w, i, lane, "mbarrier.arrive_drop below zero");
    mbarrier.expected -= count;
  }
  if (mbarrier.pending < count)
    fault(Fault::Kind::illegal_instruction, w, i, lane, "more arrivals on an mbarrier than its phase expects");
  mbarrier.pending -= count;
}

/// d: state before (0: none), b: bytes of expect_tx, c: arrivals (0: one).
void mbarrier_arrive(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  for (const u32 lane : Lanes(mask)) {
    u8* pointer = pointer_of(w, i, lane, addresses[lane]);
    Mbarrier mbarrier = Mbarrier::load(w, i, lane, pointer);
    const u64 before = mbarrier.state();
    if (i.aux & expects_tx) expect_tx(w, i, lane, mbarrier, w.scalar(i.b, i.bs, lane));
    PhaseClocks* clocks = clocks_of(w, pointer);
    if (i.aux & (arrives | drops)) {
      arrive(w, i, lane, mbarrier, i.c ? static_cast<u32>(w.scalar(i.c, i.cs, lane)) : 1);
      if (clocks) race_release(w, clocks->arriving);
    }
    if (mbarrier.complete_phase() && clocks) clocks->completed = clocks->arriving;
    mbarrier.store(pointer);
    if (i.d) w.row<u64>(i.d)[lane] = before;
  }
  ++w.launch->effects;
}

/// d: predicate, b: state, or parity where aux is 1. Gives way to other warps where a phase is not complete.
void mbarrier_wait(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  const auto completed = [&](int lane) {
    const u8* pointer = pointer_of(w, i, lane, addresses[lane]);
    const Mbarrier mbarrier = Mbarrier::load(w, i, lane, pointer);
    const u64 of = w.scalar(i.b, i.bs, lane);
    if (i.aux && of > 1) fault(Fault::Kind::illegal_instruction, w, i, lane, "mbarrier wait: parity " + std::to_string(of));
    if (mbarrier.phase == (i.aux ? of : Mbarrier::phase_of(of))) return false;
    if (const PhaseClocks* clocks = clocks_of(w, pointer)) race_acquire(w, clocks->completed);
    return true;
  };
  // Lanes that ask the same are answered at once: a whole warp often polls one mbarrier.
  const int first = first_lane(mask);
  u64 asked[32], different = 0;
  gather(w, i.b, i.bs, 0, asked);
  for (u32 lane = 0; lane < 32; ++lane)
    different |= ((addresses[lane] ^ addresses[first]) | (asked[lane] ^ asked[first])) * (mask >> lane & 1);
  u32 done = 0;
  if (different == 0) {
    done = completed(first) ? mask : 0;
  } else {
    for (const u32 lane : Lanes(mask))
      if (completed(lane)) done |= 1u << lane;
  }
  set_predicate(w, i.d, done, mask);
  if (done != mask) {
    w.yield = true;
    w.spun = true;
    w.waits_for = "mbarrier";
  }
}

/// Stores what an asynchronous operation has made of the mbarrier.
void complete(Warp& w, Mbarrier mbarrier, u8* pointer, const Clocks& issued) {
  PhaseClocks* clocks = clocks_of(w, pointer);
  if (clocks) race_join(clocks->arriving, issued);
  if (mbarrier.complete_phase()) {
    ++w.launch->phases_completed;
    if (clocks) clocks->completed = clocks->arriving;
  }
  mbarrier.store(pointer);
  ++w.launch->effects;
}

bool decode_arrival(Builder& b, const Mnemonic& op, const std::vector<Operand>& args, Instruction& ins, u16 kind) {
  const bool tx = op.has("expect_tx");
  std::size_t next = 0;
  if (!args.empty() && args[0].k != Operand::address) ins.d = b.dest(args[next++]);
  if (args.size() < next + (tx ? 2 : 1)) return false;
  ins.space = space_of(op);
  b.address(args[next++], ins);
  ins.aux = static_cast<u16>(kind | (tx ? expects_tx : 0));
  if (tx)
    ins.b = b.source(args.at(next), Type::b32, &ins.bs);
  else if (args.size() > next)
    ins.c = b.source(args[next], Type::b32, &ins.cs);
  ins.fn = mbarrier_arrive;
  return true;
}

}  // namespace

void check_mbarrier(const Warp& w, const Instruction& i, int lane, const u8* pointer) { Mbarrier::load(w, i, lane, pointer); }

void mbarrier_complete_tx(Warp& w, const Instruction& i, u8* pointer, u32 bytes, const Clocks& issued) {
  Mbarrier mbarrier = Mbarrier::load(w, i, -1, pointer);
  mbarrier.tx_count -= static_cast<s32>(bytes);
  if (mbarrier.tx_count < -static_cast<s32>(most_count))
    fault(Fault::Kind::illegal_instruction, w, i, -1, "mbarrier tx-count below -(2^20 - 1)");
  complete(w, mbarrier, pointer, issued);
}

void mbarrier_complete_arrival(Warp& w, const Instruction& i, u8* pointer, const Clocks& issued) {
  Mbarrier mbarrier = Mbarrier::load(w, i, -1, pointer);
  arrive(w, i, -1, mbarrier, 1);
  complete(w, mbarrier, pointer, issued);
}

bool decode_mbarrier_init(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() != 2) return false;
  ins.space = space_of(op);
  b.address(args[0], ins);
  ins.b = b.source(args[1], Type::b32, &ins.bs);
  ins.fn = mbarrier_init;
  return true;
}

bool decode_mbarrier_inval(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() != 1) return false;
  ins.space = space_of(op);
  b.address(args[0], ins);
  ins.fn = mbarrier_inval;
  return true;
}

bool decode_mbarrier_arrive(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  return decode_arrival(b, op, args, ins, arrives);
}
bool decode_mbarrier_arrive_drop(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  return decode_arrival(b, op, args, ins, drops);
}
bool decode_mbarrier_expect_tx(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  return decode_arrival(b, op, args, ins, 0);
}

/// try_wait and test_wait: neither suspends the thread here.
bool decode_mbarrier_wait(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() < 3) return false;  // a fourth one is a time limit
  ins.space = space_of(op);
  ins.aux = op.has("parity");
  ins.d = b.dest(args[0]);
  b.address(args[1], ins);
  ins.b = b.source(args[2], ins.aux ? Type::b32 : Type::b64, &ins.bs);
  ins.fn = mbarrier_wait;
  return true;
}

}  // namespace gpu_model
