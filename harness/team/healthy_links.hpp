// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace roofmark {

// The share of a link that healthy machines reach at least in the probe of its ceiling: a ring of all ranks in which each sends
// to the next one while it receives (ncclSend and ncclRecv, as nccl-tests' sendrecv_perf). About half of the lowest published
// share or less, because versions of NCCL differ. Issues are those on GitHub.

/// Of the NVLinks to one neighbour. Published for sendrecv_perf: 8 A100s 195 of 300 GB/s (li-plus/playground, cuda/nccl.md),
/// A100s with 4 links to each other 72 of 100 (nccl-tests 331), two H100s 180 of 450 (nccl-tests 268). An all-reduce of two
/// bridged H100s has 115 of 300 (nccl 1161). By PCIe 5, the fastest other way, 63 of 450 are possible.
inline constexpr double kHealthyNvlink = 0.2;

/// Of a GPU's own link. Published: an all-reduce of 8 RTX 5090, which have no access to each other, 28 of 63 GB/s (nccl 1639).
/// Where ten such GPUs share the link of one port of the host, each has a tenth.
inline constexpr double kHealthyPcie = 0.05;

/// Of one port per GPU, or of all ports if there are fewer: NCCL may use no more. Published: 46 to 48 of 50 GB/s (nccl-tests
/// 290); sendrecv_perf of 32 GH200s 18.3 of 25 (nccl 1272); through a NIC at the CPU 16 of 25, which an author of NCCL calls
/// normal (nccl 412). Reported as a fault: sendrecv_perf over RoCE 13.1 of 50 (nccl 2409).
inline constexpr double kHealthyNetwork = 0.3;

}  // namespace roofmark
