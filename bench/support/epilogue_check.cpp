// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/epilogue_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "bench/support/one_term_operand.hpp"
#include "bench/support/reference_check.hpp"
#include "bench/support/rounding.hpp"
#include "harness/device/elementwise_error.hpp"
#include "harness/model/statistics.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

/// Elements that are compared on the host, in runs of neighbours.
constexpr std::int64_t kRuns = 16, kRun = 1024;
/// From here on an activation's slope is about 1, so that errors of sums show. This many of them have a median.
constexpr double kSteep = 0.5;
constexpr std::size_t kEnough = 512;

const EpilogueKernels& kernels_for(const Device& device) {
  return *select(device.info().backend, &cuda::epilogue, &cpu::epilogue);
}

GemmProblem without_epilogue(GemmProblem problem) {
  problem.epilogue = GemmEpilogue::none;
  problem.output = problem.type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
  return problem;
}

std::size_t elements_of(const GemmProblem& p) { return static_cast<std::size_t>(p.batch * p.d_count()); }

double greatest_fourth_power_sum(Device& device, const MatrixView& view) {
  std::vector<double> sums(static_cast<std::size_t>(view.rows));
  const Memory memory = device.allocate(sums.size() * sizeof(double));
  device.fourth_power_sums(view, static_cast<double*>(memory.get()));
  device.to_host(sums.data(), memory.get(), sums.size() * sizeof(double));
  device.progressed();
  return *std::max_element(sums.begin(), sums.end());
}

}  // namespace

std::size_t EpilogueCheck::bytes(const GemmProblem& problem) {
  return elements_of(problem) * (size_of(without_epilogue(problem).output) + size_of(problem.output)) + bytes_of_b(problem);
}

EpilogueCheck::EpilogueCheck(Device& device, const GemmProblem& problem, const Fill& a, const Fill& b,
                             const GemmKernels& kernels, const GemmPlan& plan, int algorithm, const GemmOperands& operands,
                             void* workspace)
    : device_(device),
      problem_(problem),
      plain_(without_epilogue(problem)),
      b_(b),
      plan_(plan),
      algorithm_(algorithm),
      workspace_(workspace),
      plain_plan_(kernels.plan(plain_, 1, operands)),
      product_(device.allocate(elements_of(problem) * size_of(plain_.output))),
      one_term_b_(device.allocate(bytes_of_b(problem))),
      one_term_d_(device.allocate(elements_of(problem) * size_of(problem.output))),
      product_check_(plain_, a, b, plain_plan_->output_roundings(0)) {}

double EpilogueCheck::greatest_norm(const GemmOperands& operands) const {
  double of_a = 0, of_b = 0;
  for (std::int64_t i = 0; i < problem_.batch; ++i) {
    const auto matrix = [&](const void* first, std::int64_t count) {
      return static_cast<const std::byte*>(first) + static_cast<std::size_t>(i * count) * size_of(problem_.type);
    };
    MatrixView b = view_of_b(problem_, matrix(operands.b, problem_.b_count()));
    std::swap(b.rows, b.columns);
    std::swap(b.row_stride, b.column_stride);
    of_a = std::max(of_a, greatest_fourth_power_sum(device_, view_of_a(problem_, matrix(operands.a, problem_.a_count()))));
    of_b = std::max(of_b, greatest_fourth_power_sum(device_, b));
  }
  return problem_.alpha * std::sqrt(std::sqrt(of_a * of_b));
}

EpilogueReference EpilogueCheck::reference(const GemmOperands& operands, double sum_error) const {
  // The two are rounded to fp32, terms with scales by each scale too, and D's sum to its own type where parts of it are added
  // in that, or a kernel reads it.
  const double least = smallest_normal(problem_.output),
               rounded = unit_roundoff(problem_.output) *
                         (plan_.output_roundings(algorithm_) - 1 + plan_.roundings_before_epilogue());
  return {
      .problem = problem_,
      .product = product_.get(),
      .product_type = plain_.output,
      .bias = operands.bias,
      .sum_error = sum_error + rounded * least,
      .relative_error = 2 * (1 + (problem_.has_fp32_scales() ? kScaleRoundings : 0)) * unit_roundoff(plain_.output) + rounded,
      .least_rounded = least};
}

EpilogueCheck::Sample EpilogueCheck::sample(const GemmOperands& operands, const void* d, double typical_error) const {
  const EpilogueReference of = reference(operands, 0);
  const auto elements = static_cast<std::int64_t>(elements_of(problem_));
  const std::int64_t run = std::min(elements, kRun), runs = std::min(elements / run, kRuns);
  const auto count = static_cast<std::size_t>(run);
  const Memory expected = device_.allocate(count * sizeof(double)), allowed = device_.allocate(count * sizeof(double));
  std::vector<double> right(count), alike;
  std::vector<std::byte> stored(count * size_of(problem_.output));
  double errors = 0, values = 0;
  for (std::int64_t i = 0; i < runs; ++i) {
    const std::int64_t first = runs > 1 ? (elements - run) / (runs - 1) * i : 0;
    kernels_for(device_).reference(of, first, run, static_cast<double*>(expected.get()), static_cast<double*>(allowed.get()),
                                   device_.stream());
    device_.synchronize();
    device_.to_host(right.data(), expected.get(), count * sizeof(double));
    device_.to_host(stored.data(),
                    static_cast<const std::byte*>(d) + static_cast<std::size_t>(first) * size_of(problem_.output),
                    stored.size());
    for (std::size_t j = 0; j < count; ++j) {
      const double error = std::fabs(load_as_double(problem_.output, stored.data(), j) - right[j]);
      errors += error * error;
      values += right[j] * right[j];
      if (std::fabs(right[j]) >= kSteep) alike.push_back(error);
    }
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!std::isfinite(errors)) return {std::nan(""), kInfinity};
  const auto all = static_cast<double>(runs * run);
  const double rounded = unit_roundoff(problem_.output) * (std::sqrt(values / all) + smallest_normal(problem_.output));
  // The mean of a GELU's |x| is not above that of N(0, 1) plus N(0, 1).
  const double loss = has_gelu(problem_.epilogue) ? 0x1p-11 : 0;
  const double relative = of.relative_error * (1 + std::sqrt(values / all));
  return {std::sqrt(errors / all) / (rounded + 1.13 * typical_error + loss + relative),
          alike.size() < kEnough ? kInfinity : median(std::move(alike)) / kNormalMedian};
}

ElementwiseError EpilogueCheck::worst_element(const GemmOperands& operands, void* d, double sum_error) {
  const EpilogueReference of = reference(operands, sum_error);
  const std::size_t elements = elements_of(problem_);
  const CheckedOutput checked{.name = "D",
                              .output = {d, problem_.output, elements},
                              .reference = [&](std::int64_t first, std::int64_t count, double* expected, double* allowed) {
                                kernels_for(device_).reference(of, first, count, expected, allowed, device_.stream());
                              }};
  return worst_error(device_, checked, 0, static_cast<std::int64_t>(elements));
}

ElementwiseError EpilogueCheck::worst_of_one_term(const GemmOperands& operands) {
  write_one_term_b(device_, problem_, b_.seed, one_term_b_.get());
  device_.poison(one_term_d_.get(), elements_of(problem_) * size_of(problem_.output));
  const GemmOperands of_one_term{operands.a, one_term_b_.get(), operands.bias};
  plain_plan_->launch(0, of_one_term, product_.get(), workspace_, device_.stream());
  plan_.launch(algorithm_, of_one_term, one_term_d_.get(), workspace_, device_.stream());
  device_.synchronize();
  return worst_element(of_one_term, one_term_d_.get(), 0);
}

Verification EpilogueCheck::verify(const GemmOperands& operands, void* d) {
  if (!of_one_term_) of_one_term_ = worst_of_one_term(operands);
  plain_plan_->launch(0, operands, product_.get(), workspace_, device_.stream());
  device_.synchronize();
  Verification product = product_check_.verify(device_, operands.a, operands.b, product_.get());
  if (product.status != Verification::Status::passed) {
    product.detail = "the product without the epilogue: " + product.detail;
    return product;
  }
  const ProductRoundings of_d = product_roundings(problem_, plan_.output_roundings(algorithm_)),
                         of_product = product_roundings(plain_, plain_plan_->output_roundings(0));
  const double z = certain_deviations(2 * static_cast<double>(elements_of(problem_))), norm = greatest_norm(operands);
  double sum_error = of_d.error(z, norm) + of_product.error(z, norm), of_typical = 0;
  if (sums_in_few_bits(problem_.type)) {
    const Sample some = sample(operands, d, of_d.typical_error(norm) + of_product.typical_error(norm));
    of_typical = some.of_typical;
    sum_error = std::min(sum_error, 4 * z * std::max(some.deviation, product_check_.sum_deviation() * norm));
  }
  const ElementwiseError worst = worst_element(operands, d, sum_error);
  // The greatest, and a NaN before any number.
  double error = worst.worst;
  for (const double other : {of_typical, of_one_term_->worst}) {
    if (!std::isnan(error) && !(other <= error)) error = other;
  }
  return Verification::within(
      error, 1,
      fmt::format(
          "share of the allowed error: {} in all {} elements, against the epilogue of the library's product in {} (the worst "
          "is element {}; both sums together may be off by {}){}, {} with one term in each sum; the library's product: {}",
          format_figure(worst.worst, 3), elements_of(problem_), name(plain_.output), worst.index, format_figure(sum_error, 2),
          of_typical > 0 ? ", " + format_figure(of_typical, 3) + " in the mean" : "", format_figure(of_one_term_->worst, 3),
          product.detail));
}

}  // namespace roofmark
