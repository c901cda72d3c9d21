// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/model/verification.hpp"
#include "kernels/gemm.hpp"

namespace roofmark {

/// Sums of roundings of one element, relative to T (below): those that add up and those that add like chance.
struct ProductRoundings {
  double bias = 0;
  double chance = 0;

  /// What the sum may be off, z as below.
  double error(double z, double norm) const { return (bias + z * chance) * (1 + z) * norm; }
  /// The root of the mean square over many elements: that of a sum's greatest part is at most 2 T (Doob's inequality).
  double typical_error(double norm) const { return (bias + chance) * 2 * norm; }
};
/// D is rounded `output_roundings` times (GemmPlan).
ProductRoundings product_roundings(const GemmProblem& problem, int output_roundings);

/// The median of |x| for x from N(0, 1).
inline constexpr double kNormalMedian = 0.6745;

/// z such that no right result of so many comparisons fails, but for a chance of 1e-9.
double certain_deviations(double comparisons);

/// A [m, k] and B [k, n] of one product of a batch, as they lie in memory.
MatrixView view_of_a(const GemmProblem& problem, const void* a);
MatrixView view_of_b(const GemmProblem& problem, const void* b);

/// Whether D = alpha A x B is right, without an epilogue, for operands that Device::fill made. Two ways, and both must hold:
///
/// - At least 64 elements (all where there are fewer; the corners, further ones of the outer rows and columns, and of random
///   rows and columns; of a batch those of up to eight products, the first, the last and random ones that have columns) against
///   float64 dot products that the host computes from the generator of the data alone.
/// - All elements of all products, on the device: D x against alpha A (B x) in float64, where x is of random signs over a block
///   of columns and 0 elsewhere, for every block. A wrong element shifts its checksum by its error, whichever sign it drew.
///   Blocks have 32 columns, more (64 blocks) from n = 2048 on, 256 from n = 16384 on; 32 where k is above 32768. n is the
///   product's own.
///
/// What an element may be off. Write T for alpha x the root of the sum of the squares of its k terms. The terms' signs are
/// random and independent, so a partial sum in whatever order is below z T in magnitude, but for a chance of 2 exp(-z^2 / 2).
/// On the way a sum is rounded `count` times, each to within `unit` of its greatest addend, either way as often; where the
/// hardware truncates the running sum, that error has the sum's own sign `bias` times and adds up. Then D is rounded, to within
/// u |D|:
///   allowed = u |D| + unit (bias + z sqrt(count)) (1 + z) T
///   fp32, fp64    rounded to nearest: unit u, count 2 k (the product may be rounded too), no bias. A worst-case bound would
///                 be k u x sum of |terms|; that roundings behave like chance is Higham and Mary's model (SIAM J. Sci. Comput.
///                 41(5), 2019)
///   tf32, 16-bit  exact products, aligned to the greatest and truncated at 24 bits or more, in groups of at least four
///                 (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, PeerJ CS, 2021): unit 2^-23,
///                 count k, bias k / 4 + 1
///   fp8           the same with 13 bits behind the point and groups of 32, which is what Ada and Hopper keep without
///                 promotion (DeepSeek-V3 Technical Report, 3.3.2: about 14 bits): unit 2^-13, count k, bias k / 32 + 1
///   fp8 with scales of 128 terms
///                 as fp8 within a block; the sum of a block times its scales is added in fp32. The roots of the blocks' sums
///                 of squares have T as the root of the sum of their squares, and their sum is at most sqrt(blocks) T: unit
///                 2^-13, count 128, bias (128 / 32 + 1) sqrt(blocks); and three roundings to fp32 per block
///   mxfp8, nvfp4  as fp8: what the hardware keeps is not documented
///   int8          exact
/// Float64's own roundings of the reference are added, and those to D's type of an algorithm that adds parts of k in it.
///
/// What a checksum over w columns may be off: the signs are independent of the errors e, so it exceeds z |e| with a chance of
/// at most 2 exp(-z^2 / 2) (Hoeffding), |e| the root of the sum of the columns' squared errors:
///   allowed = z (u |D| + unit (bias + sqrt(count)) (sqrt(w) + z) T)
/// with |D| over the w elements and T the root mean square of theirs, bounded by (greatest over l of sum over c of b[l, c]^2)
/// x |a|^2 / w. z makes the chance of any false alarm in a whole check at most 1e-9. Of fp8 that allows many times what is
/// seen, and a long sum could be wrong by more than itself; there a checksum must also keep within 4 z of the median of all,
/// each relative to the root of w times T, taken as that of a normal distribution (the 4 for parts of D that the library
/// sums in another way).
class ProductCheck {
 public:
  /// The largest k at which a checksum still finds a typical element that is zero. tf32, 16-bit: the bias allows half of T
  /// in a block of 32 columns. fp8: as far as its errors are known to stay below the sum.
  static std::int64_t most_terms(DataType type);

  /// A and B hold `a` and `b` as filled, without padding; D was rounded `output_roundings` times (GemmPlan).
  ProductCheck(const GemmProblem& problem, const Fill& a, const Fill& b, int output_roundings);

  /// Error and bound are in units of what is allowed, the worse of the two ways; the detail tells them apart, and how wrong a
  /// single element must be to be found for certain. Device memory: about 8 (3 m + 2 k) bytes per block of a product. Every
  /// call draws other signs.
  Verification verify(Device& device, const void* a, const void* b, const void* d);

  /// How far off the elements were that were verified last, relative to T: the root of the mean square as the checksums show
  /// it; infinite where they are too few.
  double sum_deviation() const { return sum_deviation_; }

 private:
  /// An element as float64 has it.
  struct Element {
    std::int64_t product, row, column;
    double value, absolute_sum, norm;  ///< sum of terms and of |terms|, times alpha, and T
  };
  /// The worst of many comparisons; NaN once any was NaN.
  struct Worst {
    double of_allowed = 0;
    void see(double error, double allowed);
  };

  /// The checksums of all products: how far off they are, by the root of the width times T, and what is allowed.
  struct Sums {
    std::vector<double> errors, norms, allowed;
    double square_sum = 0;  ///< of D
  };
  struct Scratch;

  void reference(const Device& device);
  void reference(const Device& device, std::int64_t product, std::int64_t elements);
  Worst check_elements(Device& device, const void* d, double z, double& in_units_of_u);
  Worst check_sums(Device& device, const void* a, const void* b, const void* d, double z, double& certain);
  void sum(Device& device, const void* a, const void* b, const void* d, double z, const Scratch& scratch, Sums& sums) const;

  GemmProblem problem_;
  Fill a_, b_;
  DataType output_;
  ProductRoundings roundings_;
  std::uint64_t calls_ = 0;
  double sum_deviation_ = 0;
  std::vector<Element> elements_;
};

}  // namespace roofmark
