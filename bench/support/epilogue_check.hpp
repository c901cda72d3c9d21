// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "bench/support/product_check.hpp"
#include "kernels/epilogue.hpp"

namespace roofmark {

/// Whether D = epilogue(alpha A x B) is right, for operands that Device::fill made. An activation is not linear, so D has no
/// checksums, and those of a D in fp8 would miss much. These steps take their place:
///
/// - The library makes the same product without the epilogue, in the type of its sums, and ProductCheck checks it.
/// - All elements of D, on the device, against the epilogue of that product in float64. Both sums may be off as ProductCheck
///   says, `error` each, and a bias or an activation passes that on:
///     allowed = u |D| + slope (2 error + roundings in fp32 of product and bias) + loss, |D| at least the smallest normal
///   slope is 1, of a GELU 1.13 and its loss 2^-12 |x| (epilogue_reference.hpp). The T of `error` is taken for all elements as
///   the bound by Cauchy and Schwarz: alpha x the fourth root of (greatest sum of a[i, l]^4 over l) x (greatest sum of
///   b[l, j]^4 over l).
/// - Where tensor cores keep few bits (fp8 and narrower), that allows an element more than its value. There the root of the
///   mean square of some thousand errors must keep within u |D|, the slope x twice the typical error, and the loss; and
///   `error`, of both sums together, is at most 4 z of the median of these errors where the activation's slope is about 1,
///   taken as that of a normal distribution, as ProductCheck does; or 4 z of what its checksums show the library's product to
///   be off, where that is more: an algorithm may split k in some tiles of D, and make the rest bit for bit as the product.
/// - That still allows more than a GELU differs from a ReLU. So once the same algorithm multiplies A by a B with one element in
///   each column, and with error = 0 all elements are compared again.
class EpilogueCheck {
 public:
  /// Device memory that it holds: the products without the epilogue, and B and D of the third step.
  static std::size_t bytes(const GemmProblem& problem);

  /// `operands` are those of any slot. `kernels` made `plan`; it and `workspace` outlive this. Throws Unsupported if the
  /// library has no product without the epilogue.
  EpilogueCheck(Device& device, const GemmProblem& problem, const Fill& a, const Fill& b, const GemmKernels& kernels,
                const GemmPlan& plan, int algorithm, const GemmOperands& operands, void* workspace);

  /// Error and bound are in units of what is allowed, the worst of all steps.
  Verification verify(const GemmOperands& operands, void* d);

 private:
  /// The greatest T, from operands that are as filled.
  double greatest_norm(const GemmOperands& operands) const;
  /// The worst element of D, where product_ is that of the same operands.
  ElementwiseError worst_element(const GemmOperands& operands, void* d, double sum_error);
  EpilogueReference reference(const GemmOperands& operands, double sum_error) const;
  /// Some thousand elements: by how much their errors exceed the typical, as a share, and the standard deviation of the sums'
  /// errors as their median shows it; infinite where too few elements show it.
  struct Sample {
    double of_typical, deviation;
  };
  Sample sample(const GemmOperands& operands, const void* d, double typical_error) const;
  ElementwiseError worst_of_one_term(const GemmOperands& operands);

  Device& device_;
  GemmProblem problem_, plain_;
  Fill b_;
  const GemmPlan& plan_;
  int algorithm_;
  void* workspace_;
  std::unique_ptr<GemmPlan> plain_plan_;
  Memory product_, one_term_b_, one_term_d_;
  ProductCheck product_check_;
  std::optional<ElementwiseError> of_one_term_;
};

}  // namespace roofmark
