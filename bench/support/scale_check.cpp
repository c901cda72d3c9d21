// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/scale_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "bench/support/rounding.hpp"
#include "harness/device/elementwise_error.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

BlockScaledLayout layout_of_a(const GemmProblem& p) { return {p.type_of_a(), p.m, p.k}; }
BlockScaledLayout layout_of_b(const GemmProblem& p) { return {p.type_of_b(), p.n, p.k}; }
std::size_t bytes_of_d(const GemmProblem& p) { return static_cast<std::size_t>(p.d_count()) * size_of(p.output); }
std::size_t bytes_of_bias(const GemmProblem& p) { return static_cast<std::size_t>(p.bias_count()) * size_of(p.bias_type()); }

}  // namespace

struct ScaleCheck::Operand {
  BlockScaledLayout layout;
  std::vector<std::byte> bytes;

  double value(std::int64_t line, std::int64_t term) const {
    return with_block_scaled_type(
        layout.type, [&]<DataType kType>() { return block_scaled_value<kType>(bytes.data(), layout, line, term); });
  }
  /// The term of a block that is greatest in a line.
  std::int64_t greatest_term(std::int64_t line, std::int64_t block) const {
    const std::int64_t end = std::min(layout.terms, (block + 1) * layout.block());
    std::int64_t greatest = block * layout.block();
    for (std::int64_t term = greatest; term < end; ++term) {
      if (std::fabs(value(line, term)) > std::fabs(value(line, greatest))) greatest = term;
    }
    return greatest;
  }
  /// The same matrix, with every element the greatest power of two.
  Operand with_alike_elements() const {
    Operand alike = *this;
    const std::byte four{0x66}, two_hundred_and_fifty_six{0x78};  // two of e2m1, and one of e4m3
    std::fill_n(alike.bytes.begin(), layout.element_bytes(), layout.type == DataType::nvfp4 ? four : two_hundred_and_fifty_six);
    return alike;
  }
  /// The same matrix, with the term terms[line] of each line and zeros.
  std::vector<std::byte> with_terms(const std::vector<std::int64_t>& terms) const {
    std::vector<std::byte> left = bytes;
    std::fill_n(left.begin(), layout.element_bytes(), std::byte{0});
    for (std::size_t line = 0; line < terms.size(); ++line) {
      const std::int64_t index = static_cast<std::int64_t>(line) * layout.terms + terms[line];
      const bool in_half_a_byte = layout.type == DataType::nvfp4;
      const auto at = static_cast<std::size_t>(in_half_a_byte ? index / 2 : index);
      left[at] = bytes[at] & std::byte{static_cast<unsigned char>(!in_half_a_byte ? 0xff : index % 2 == 0 ? 0x0f : 0xf0)};
    }
    return left;
  }
};

std::size_t ScaleCheck::bytes(const GemmProblem& p) {
  return layout_of_a(p).bytes() + layout_of_b(p).bytes() + bytes_of_d(p) + bytes_of_bias(p);
}

ScaleCheck::ScaleCheck(Device& device, const GemmProblem& problem, const GemmPlan& plan, int algorithm, void* workspace)
    : device_(device),
      problem_(problem),
      plan_(plan),
      algorithm_(algorithm),
      workspace_(workspace),
      a_(device.allocate(layout_of_a(problem).bytes())),
      b_(device.allocate(layout_of_b(problem).bytes())),
      d_(device.allocate(bytes_of_d(problem))) {
  if (!has_bias(problem.epilogue)) return;
  bias_ = device.allocate(bytes_of_bias(problem));
  device.zero(bias_.get(), bytes_of_bias(problem));
}

ScaleCheck::Operand ScaleCheck::fetched(const BlockScaledLayout& layout, const void* data) const {
  Operand operand{layout, std::vector<std::byte>(layout.bytes())};
  device_.to_host(operand.bytes.data(), data, operand.bytes.size());
  device_.progressed();
  return operand;
}

double ScaleCheck::worst_scale(bool of_a, const Operand& a, const Operand& b) {
  const Operand whole = (of_a ? a : b).with_alike_elements();
  const Operand& thinned = of_a ? b : a;
  const Operand &left_of = of_a ? whole : thinned, &right_of = of_a ? thinned : whole;
  device_.to_device((of_a ? a_ : b_).get(), whole.bytes.data(), whole.bytes.size());
  const std::int64_t blocks = whole.layout.blocks_per_line(), lines = thinned.layout.lines;
  const double u = unit_roundoff(problem_.output), least = smallest_normal(problem_.output);
  std::vector<std::byte> column(static_cast<std::size_t>(problem_.m) * size_of(problem_.output));
  double worst = 0;
  for (std::int64_t first = 0; first < blocks; first += lines) {
    std::vector<std::int64_t> terms;
    for (std::int64_t line = 0; line < lines; ++line) terms.push_back(thinned.greatest_term(line, (first + line) % blocks));
    const std::vector<std::byte> left = thinned.with_terms(terms);
    device_.to_device((of_a ? b_ : a_).get(), left.data(), left.size());
    device_.poison(d_.get(), bytes_of_d(problem_));
    if (problem_.accumulates) device_.zero(d_.get(), bytes_of_d(problem_));
    plan_.launch(algorithm_, {a_.get(), b_.get(), bias_.get()}, d_.get(), workspace_, device_.stream());
    device_.synchronize();
    device_.progressed();
    const std::int64_t shown = std::min(lines, blocks - first);
    for (std::int64_t c = 0; c < (of_a ? shown : problem_.n); ++c) {
      device_.to_host(column.data(), static_cast<std::byte*>(d_.get()) + static_cast<std::size_t>(c) * column.size(),
                      column.size());
      for (std::int64_t r = 0; r < (of_a ? problem_.m : shown); ++r) {
        const std::int64_t term = terms[static_cast<std::size_t>(of_a ? c : r)];
        const double expected = problem_.alpha * left_of.value(r, term) * right_of.value(c, term),
                     error = std::fabs(load_as_double(problem_.output, column.data(), static_cast<std::size_t>(r)) - expected),
                     allowed = (u + kScaleRoundings * unit_roundoff(DataType::fp32)) * std::max(std::fabs(expected), least);
        if (!(error / allowed <= worst) && !std::isnan(worst)) worst = error / allowed;
      }
    }
  }
  return worst;
}

Verification ScaleCheck::verify(const GemmOperands& operands, Verification other) {
  if (other.status != Verification::Status::passed) return other;
  if (!worst_) {
    const Operand a = fetched(layout_of_a(problem_), operands.a), b = fetched(layout_of_b(problem_), operands.b);
    const double of_a = worst_scale(true, a, b), of_b = worst_scale(false, a, b);
    worst_ = of_a > of_b || std::isnan(of_a) ? of_a : of_b;
  }
  const double error = *worst_ > other.error || std::isnan(*worst_) ? *worst_ : other.error;
  return Verification::within(
      error, 1,
      fmt::format("{}; {} in products of one term that show each scale once", other.detail, format_figure(*worst_, 3)));
}

}  // namespace roofmark
