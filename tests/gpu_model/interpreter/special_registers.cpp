// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "special_registers.hpp"

namespace gpu_model {
namespace {

bool block_determines(Special special) {
  switch (special) {
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z:
    case Special::clusterid_x:
    case Special::clusterid_y:
    case Special::clusterid_z:
    case Special::cluster_ctaid_x:
    case Special::cluster_ctaid_y:
    case Special::cluster_ctaid_z:
    case Special::smid:
      return true;
    default:
      return false;
  }
}

u32 value_of(const Warp& w, Special special, u32 lane) {
  const Launch& launch = *w.launch;
  const Block& block = *w.block;
  const u32 thread = w.id * 32 + lane, cluster_size = launch.cluster.x * launch.cluster.y * launch.cluster.z;
  switch (special) {
    case Special::tid_x:
      return thread % launch.block.x;
    case Special::tid_y:
      return thread / launch.block.x % launch.block.y;
    case Special::tid_z:
      return thread / launch.block.x / launch.block.y;
    case Special::ntid_x:
      return launch.block.x;
    case Special::ntid_y:
      return launch.block.y;
    case Special::ntid_z:
      return launch.block.z;
    case Special::ctaid_x:
      return block.ctaid.x;
    case Special::ctaid_y:
      return block.ctaid.y;
    case Special::ctaid_z:
      return block.ctaid.z;
    case Special::nctaid_x:
      return launch.grid.x;
    case Special::nctaid_y:
      return launch.grid.y;
    case Special::nctaid_z:
      return launch.grid.z;
    case Special::laneid:
      return lane;
    case Special::warpid:
      return w.id;
    case Special::nwarpid:
      return 64;
    case Special::smid:
      return block.sm;
    case Special::nsmid:
      return static_cast<u32>(launch.sm_count);
    case Special::lanemask_eq:
      return 1u << lane;
    case Special::lanemask_lt:
      return (1u << lane) - 1;
    case Special::lanemask_le:
      return (2u << lane) - 1;
    case Special::lanemask_gt:
      return ~((2u << lane) - 1);
    case Special::lanemask_ge:
      return ~((1u << lane) - 1);
    case Special::cluster_ctaid_x:
      return block.cluster_ctaid.x;
    case Special::cluster_ctaid_y:
      return block.cluster_ctaid.y;
    case Special::cluster_ctaid_z:
      return block.cluster_ctaid.z;
    case Special::cluster_nctaid_x:
      return launch.cluster.x;
    case Special::cluster_nctaid_y:
      return launch.cluster.y;
    case Special::cluster_nctaid_z:
      return launch.cluster.z;
    case Special::cluster_ctarank:
      return block.rank;
    case Special::cluster_nctarank:
      return cluster_size;
    case Special::clusterid_x:
      return block.ctaid.x / launch.cluster.x;
    case Special::clusterid_y:
      return block.ctaid.y / launch.cluster.y;
    case Special::clusterid_z:
      return block.ctaid.z / launch.cluster.z;
    case Special::nclusterid_x:
      return launch.grid.x / launch.cluster.x;
    case Special::nclusterid_y:
      return launch.grid.y / launch.cluster.y;
    case Special::nclusterid_z:
      return launch.grid.z / launch.cluster.z;
    case Special::is_explicit_cluster:
      return cluster_size > 1;
    case Special::envreg1:  // of a cooperative launch, the address of its workspace: high and low word
      return static_cast<u32>(launch.grid_workspace_address() >> 32);
    case Special::envreg2:
      return static_cast<u32>(launch.grid_workspace_address());
    case Special::dynamic_smem_size:
      return static_cast<u32>(launch.dynamic_shared);
    case Special::total_smem_size:
      return static_cast<u32>(launch.shared_bytes);
    default:
      return 0;
  }
}

void set_registers(Warp& w, bool of_block) {
  for (const Body::SpecialRow& special : w.body->specials) {
    if (block_determines(special.what) != of_block) continue;
    u32* row = w.row<u32>(w.body->reg_bytes + special.row);
    for (u32 lane = 0; lane < 32; ++lane) row[lane] = value_of(w, special.what, lane);
  }
}

}  // namespace

void set_launch_registers(Warp& w) { set_registers(w, false); }
void set_block_registers(Warp& w) { set_registers(w, true); }

}  // namespace gpu_model
