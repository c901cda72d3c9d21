// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decoder.hpp"

namespace gpu_model {
namespace {

// Every PTX opcode that the model knows. An instruction without a row, or with a modifier that its row lacks, is reported when
// its module is loaded and faults when it is reached. To add one: add its row, write its decoder and its lane function, and add
// a kernel to the interpreter's tests whose result is known.
// clang-format off
constexpr Opcode opcodes[] = {
    {"abs", decode_neg_abs, "ftz"},
    {"activemask", decode_activemask, ""},
    {"add", decode_binary, "rn rz rm rp ftz sat"},
    {"and", decode_logic, ""},
    {"applypriority", decode_nothing},
    {"atom", decode_atom,
     "global shared shared::cta shared::cluster relaxed acquire release acq_rel cta cluster gpu sys add min max "
     "and or xor exch cas inc dec L2::cache_hint"},
    {"bar", decode_bar, "cta sync arrive"},
    {"bar.warp", decode_bar_warp, "warp sync"},
    {"barrier", decode_bar, "cta sync arrive aligned"},
    {"barrier.cluster", decode_barrier_cluster, "cluster arrive wait release relaxed acquire aligned"},
    {"bfe", decode_bfe, ""},
    {"bfi", decode_bfi, ""},
    {"bfind", decode_bfind, "shiftamt"},
    {"bra", decode_bra, "uni"},
    {"brev", decode_brev, ""},
    {"brkpt", decode_trap, ""},
    {"clz", decode_clz, ""},
    {"cos", decode_special_function, "approx ftz"},
    {"cp.async", decode_cp_async, "async ca cg shared shared::cta global L2::cache_hint L2::64B L2::128B L2::256B"},
    {"cp.async.bulk", decode_cp_async_bulk,
     "async bulk shared::cluster shared::cta global mbarrier::complete_tx::bytes L2::cache_hint"},
    {"cp.async.bulk.tensor", decode_cp_async_bulk_tensor,
     "async bulk tensor 1d 2d 3d 4d 5d shared::cluster shared::cta global tile mbarrier::complete_tx::bytes "
     "multicast::cluster L2::cache_hint"},
    {"cp.async.commit_group", decode_cp_async_commit_group, "async commit_group"},
    {"cp.async.wait_all", decode_cp_async_wait_all, "async wait_all"},
    {"cp.async.wait_group", decode_cp_async_wait_group, "async wait_group"},
    {"createpolicy", decode_createpolicy},
    {"cvt", decode_cvt, "rn rz rm rp rna rni rzi rmi rpi ftz sat satfinite relu"},
    {"cvta", decode_cvta, "to global shared shared::cta shared::cluster local param param::entry const"},
    {"discard", decode_nothing},
    {"div", decode_binary, "approx full rn rz rm rp ftz"},
    {"elect", decode_elect, "sync"},
    {"ex2", decode_special_function, "approx ftz"},
    {"exit", decode_exit, ""},
    {"fence", decode_nothing},
    {"fence.proxy.async", decode_fence_proxy_async},
    {"fence.proxy.async::generic", decode_fence_proxy_async},
    {"fma", decode_mad, "rn rz rm rp ftz sat relu"},
    {"griddepcontrol", decode_nothing},
    {"isspacep", decode_isspacep, "global shared shared::cta shared::cluster local"},
    {"ld", decode_ld,
     "weak volatile relaxed acquire cta cluster gpu sys global shared shared::cta shared::cluster local param param::entry const "
     "nc v2 v4 ca cg cs lu cv L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
     "L2::cache_hint L2::64B L2::128B L2::256B"},
    {"ldmatrix", decode_ldmatrix, "sync aligned m8n8 x1 x2 x4 trans shared shared::cta"},
    {"ldu", decode_ld, "global v2 v4"},
    {"lg2", decode_special_function, "approx ftz"},
    {"lop3", decode_lop3, ""},
    {"mad", decode_mad, "lo hi wide rn rz rm rp ftz sat"},
    {"mapa", decode_mapa, "shared::cluster"},
    {"match", decode_match, "sync any all"},
    {"max", decode_min_max, "ftz NaN"},
    {"mbarrier.arrive", decode_mbarrier_arrive,
     "arrive expect_tx release relaxed cta cluster shared shared::cta shared::cluster"},
    {"mbarrier.arrive_drop", decode_mbarrier_arrive_drop,
     "arrive_drop expect_tx release relaxed cta cluster shared shared::cta shared::cluster"},
    {"mbarrier.expect_tx", decode_mbarrier_expect_tx, "expect_tx relaxed cta cluster shared shared::cta shared::cluster"},
    {"mbarrier.init", decode_mbarrier_init, "init shared shared::cta"},
    {"mbarrier.inval", decode_mbarrier_inval, "inval shared shared::cta"},
    {"mbarrier.test_wait", decode_mbarrier_wait, "test_wait parity acquire relaxed cta cluster shared shared::cta"},
    {"mbarrier.try_wait", decode_mbarrier_wait, "try_wait parity acquire relaxed cta cluster shared shared::cta"},
    {"membar", decode_nothing},
    {"membar.proxy.async", decode_fence_proxy_async},
    {"min", decode_min_max, "ftz NaN"},
    {"mma", decode_mma, "sync aligned m8n8k4 m16n8k4 m16n8k8 m16n8k16 m16n8k32 row col satfinite"},
    {"mov", decode_mov, ""},
    {"movmatrix", decode_movmatrix, "sync aligned m8n8 trans"},
    {"mul", decode_mul, "lo hi wide rn rz rm rp ftz sat"},
    {"nanosleep", decode_nanosleep, ""},
    {"neg", decode_neg_abs, "ftz"},
    {"not", decode_not, ""},
    {"or", decode_logic, ""},
    {"pmevent", decode_nothing},
    {"popc", decode_popc, ""},
    {"prefetch", decode_prefetch},
    {"prefetchu", decode_nothing},
    {"prmt", decode_prmt, ""},
    {"rcp", decode_special_function, "approx rn rz rm rp ftz"},
    {"red", decode_red,
     "global shared shared::cta shared::cluster relaxed release cta cluster gpu sys add min max and or xor inc "
     "dec L2::cache_hint"},
    {"redux", decode_redux, "sync add min max and or xor"},
    {"rem", decode_binary, ""},
    {"ret", decode_exit, "uni"},
    {"rsqrt", decode_special_function, "approx ftz"},
    {"selp", decode_selp, ""},
    {"setmaxnreg", decode_setmaxnreg, "inc dec sync aligned"},
    {"setp", decode_setp, "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor"},
    {"shf", decode_shf, "l r wrap clamp"},
    {"shfl", decode_shfl, "sync up down bfly idx"},
    {"shl", decode_shl, ""},
    {"shr", decode_shr, ""},
    {"sin", decode_special_function, "approx ftz"},
    {"sqrt", decode_special_function, "approx rn rz rm rp ftz"},
    {"st", decode_st,
     "weak volatile relaxed release cta cluster gpu sys global shared shared::cta shared::cluster local v2 v4 wb cg cs wt "
     "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate L2::cache_hint"},
    {"st.async", decode_st_async, "async weak shared::cluster mbarrier::complete_tx::bytes v2 v4"},
    {"stmatrix", decode_stmatrix, "sync aligned m8n8 x1 x2 x4 trans shared shared::cta"},
    {"sub", decode_binary, "rn rz rm rp ftz sat"},
    {"tanh", decode_special_function, "approx"},
    {"tcgen05.alloc", decode_tcgen05_alloc, "alloc cta_group::1 sync aligned shared::cta"},
    {"tcgen05.commit", decode_tcgen05_commit, "commit cta_group::1 mbarrier::arrive::one shared::cluster"},
    {"tcgen05.cp", decode_tcgen05_cp, "cp cta_group::1 32x128b warpx4"},
    {"tcgen05.dealloc", decode_tcgen05_dealloc, "dealloc cta_group::1 sync aligned"},
    {"tcgen05.fence::after_thread_sync", decode_tcgen05_fence, "fence::after_thread_sync"},
    {"tcgen05.fence::before_thread_sync", decode_tcgen05_fence, "fence::before_thread_sync"},
    {"tcgen05.ld", decode_tcgen05_ld, "ld sync aligned 16x256b x1 x2 x4 x8 x16 x32"},
    {"tcgen05.mma", decode_tcgen05_mma, "mma cta_group::1 kind::f16 kind::tf32 kind::f8f6f4 kind::i8 kind::mxf8f6f4 kind::mxf4nvf4 block_scale "
     "scale_vec::1X scale_vec::4X"},
    {"tcgen05.relinquish_alloc_permit", decode_tcgen05_relinquish, "relinquish_alloc_permit cta_group::1 sync aligned"},
    {"tcgen05.wait::ld", decode_tcgen05_wait, "wait::ld sync aligned"},
    {"trap", decode_trap, ""},
    {"vote", decode_vote, "sync any all uni ballot"},
    {"wgmma.commit_group", decode_wgmma_commit_group, "commit_group sync aligned"},
    {"wgmma.fence", decode_wgmma_fence, "fence sync aligned"},
    {"wgmma.mma_async", decode_wgmma_mma_async},
    {"wgmma.wait_group", decode_wgmma_wait_group, "wait_group sync aligned"},
    {"xor", decode_logic, ""},
};
// clang-format on

const Opcode* find_opcode(std::string_view text) {
  const Opcode* longest = nullptr;
  for (const Opcode& opcode : opcodes) {
    const bool begins = text.starts_with(opcode.name) && (text.size() == opcode.name.size() || text[opcode.name.size()] == '.');
    if (begins && (!longest || opcode.name.size() > longest->name.size())) longest = &opcode;
  }
  return longest;
}

bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

void decode(Builder& builder, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Opcode* opcode = find_opcode(op.text);
  if (!opcode) throw DecodeError("the table of opcodes has no row for it");
  if (opcode->modifiers != Opcode::any)
    for (std::size_t k = 1; k < op.parts.size(); ++k)
      if (type_of(op.parts[k]) == Type::none && !lists(opcode->modifiers, op.parts[k]))
        throw DecodeError("its row in the table of opcodes lacks ." + std::string(op.parts[k]));
  if (!opcode->decode(builder, op, operands, ins)) throw DecodeError("its decoder has no such form");
}

}  // namespace gpu_model
