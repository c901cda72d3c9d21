// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/device/device.hpp"
#include "harness/model/verification.hpp"
#include "kernels/base/block_scaled.hpp"
#include "kernels/gemm.hpp"

namespace roofmark {

/// Whether a product of block-scaled operands, with no activation, takes each scale for the block that it belongs to. In a long
/// sum one wrong scale of a few per cent is less than the roundings that ProductCheck allows. So the algorithm multiplies
/// again:
///
/// - A, with its scales and with all of its elements the greatest power of two of their type, by a B of which one element in
///   each column is left, the scales as they are: in block 0 of the first column, block 1 of the next, and so on. Every element
///   of the columns that show all blocks (more products where there are fewer columns) is one term. It may be off by its
///   rounding to D's type, once however often it is rounded on the way, as zeros are added to it, and by kScaleRoundings to
///   fp32:
///     allowed = (u(D) + kScaleRoundings u(fp32)) |D|, |D| at least the smallest normal
///   That is every scale of A, at one term of its block.
/// - The other way around: every scale of B.
class ScaleCheck {
 public:
  /// Device memory that it holds: both operands, D, and a bias of zeros.
  static std::size_t bytes(const GemmProblem& problem);

  /// The plan and its workspace outlive this.
  ScaleCheck(Device& device, const GemmProblem& problem, const GemmPlan& plan, int algorithm, void* workspace);

  /// What another check found, and in units of what is allowed, the worst of these terms. The products are made once. The
  /// operands are those of any slot.
  Verification verify(const GemmOperands& operands, Verification other);

 private:
  /// A matrix in host memory.
  struct Operand;
  Operand fetched(const BlockScaledLayout& layout, const void* data) const;
  /// The worst term that shows a scale of A, or of B.
  double worst_scale(bool of_a, const Operand& a, const Operand& b);

  Device& device_;
  GemmProblem problem_;
  const GemmPlan& plan_;
  int algorithm_;
  void* workspace_;
  Memory a_, b_, d_, bias_;
  std::optional<double> worst_;
};

}  // namespace roofmark
