// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a kernel of tcgen05.cu does wrong.
enum Mistake {
  none,
  no_proxy_fence,
  no_wait,
  overwrites_operand,
  no_fence_after_sync,
  no_wait_ld,
  no_dealloc,
  reads_lanes_of_another_warp,
  reads_beyond_allocation,
  no_constant_bits,
};
