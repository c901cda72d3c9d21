// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// State spaces, and the checks that every access to memory passes.
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// Device pointers are host pointers. All of the interpreter's casts from an address are this one.
inline u8* host_pointer(u64 address) {
  return reinterpret_cast<u8*>(address);  // NOLINT(performance-no-int-to-ptr): kernels compute addresses as integers
}

// Generic addresses: global memory has host addresses, the other spaces lie in windows that no host address reaches.
constexpr u64 shared_window = 0x7fe0000000000000ull;  // + shared::cluster address
constexpr u64 local_window = 0x7ff0000000000000ull;   // + offset in the thread's local memory

// A shared::cluster address is (rank + 1) << rank_shift | shared::cta address. Without a rank it is of the thread's own block.
constexpr u32 rank_shift = 24;
constexpr u32 offset_mask = (1u << rank_shift) - 1;

/// The global memory of these owners that kernels may access at present; `version` identifies this state.
std::vector<Range> allowed_ranges(u64 owners, u64& version);

/// One operand of all lanes, from a row of registers of `size` bytes, plus `offset`; zero-extended.
void gather(const Warp&, u32 row, u8 size, s64 offset, u64* out);

/// Replaces the addresses of an instruction's lanes by host pointers. Throws a Fault where an access of `bytes` (a power of
/// two) is misaligned or outside the instruction's state space. Lanes outside `mask` get the pointer of a lane inside.
void resolve(Warp&, const Instruction&, u32 mask, u64* addresses, u32 bytes, bool write);

/// Throws a Fault where [address, address + bytes) is not within one allocation (or the parameters, for a read).
void check_global(Warp&, const Instruction&, int lane, u64 address, u64 bytes, bool write);

/// The block that a shared::cluster address belongs to.
Block& block_of(Warp&, const Instruction&, int lane, u32 address);
/// Host pointer of a shared::cta or shared::cluster address. Throws a Fault where it is outside the block, or the block has
/// exited.
u8* shared_pointer(Warp&, const Instruction&, int lane, u32 address, u32 bytes, Block** owner = nullptr);
/// shared_pointer for an access by the generic proxy: races and the writes to be fenced are tracked.
u8* shared_access(Warp&, const Instruction&, int lane, u32 address, u32 bytes, bool write);

}  // namespace gpu_model
