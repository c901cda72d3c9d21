// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/product_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "bench/support/rounding.hpp"
#include "harness/device/block_scaled_data.hpp"
#include "harness/device/elementwise_error.hpp"
#include "harness/device/random.hpp"
#include "harness/model/statistics.hpp"
#include "harness/model/units.hpp"

namespace roofmark {

namespace {

/// A checksum over fewer columns shows smaller errors, and takes more time.
constexpr std::int64_t kLeastBlock = 32, kGreatestBlock = 256, kBlocks = 64;
/// From so many terms on the errors that tensor cores may make are large.
constexpr std::int64_t kLongSum = 32768;
constexpr std::int64_t kSampledElements = 64, kSampledProducts = 8;
constexpr double kFalseAlarms = 1e-9;
/// This many checksums determine their own spread, even if one of them is wrong.
constexpr std::size_t kAlike = 512;
/// The root of the mean square of this many is not a quarter of their standard deviation, but for a chance of 1e-12.
constexpr double kTelling = 32;

std::int64_t block_columns(const GemmProblem& p) {
  return p.k > kLongSum ? kLeastBlock : std::clamp((p.n + kBlocks - 1) / kBlocks, kLeastBlock, kGreatestBlock);
}
std::int64_t block_count(const GemmProblem& p) { return (p.n + block_columns(p) - 1) / block_columns(p); }

/// `count` indices below `size`, or all: the first, the last and random ones.
std::vector<std::int64_t> picked(std::int64_t size, std::int64_t count, std::uint64_t seed) {
  std::set<std::int64_t> chosen = {0, size - 1};
  for (std::uint64_t draw = 0; static_cast<std::int64_t>(chosen.size()) < std::min(size, count); ++draw) {
    chosen.insert(static_cast<std::int64_t>(random_bits(seed, 0, draw) % static_cast<std::uint64_t>(size)));
  }
  return {chosen.begin(), chosen.end()};
}

/// Elements first, first + stride, ... of a filled array. Those of a block-scaled matrix of `lines` are one line.
std::vector<double> generated(DataType type, const Fill& fill, std::int64_t first, std::int64_t stride, std::int64_t count,
                              std::int64_t lines) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(count));
  if (is_block_scaled(type)) {
    with_block_scaled_type(type, [&]<DataType kType>() {
      generate_line<kType>(fill, {type, lines, count}, first / count, [&](double value) { values.push_back(value); });
    });
    return values;
  }
  for (std::int64_t l = 0; l < count; ++l) {
    values.push_back(generate(fill.distribution, type, fill.seed, fill.array, static_cast<std::uint64_t>(first + l * stride)));
  }
  return values;
}

}  // namespace

void ProductCheck::Worst::see(double error, double allowed) {
  // One huge element makes the squares, and so the bound, infinite: such a bound allows nothing.
  const double ratio = error == 0 ? 0 : std::isfinite(allowed) ? error / allowed : std::nan("");
  if (!std::isnan(of_allowed) && !(ratio <= of_allowed)) of_allowed = ratio;
}

std::int64_t ProductCheck::most_terms(DataType type) {
  switch (type) {
    case DataType::fp8:
    case DataType::mxfp8:
    case DataType::nvfp4:
    case DataType::fp8_vec128:
    case DataType::fp8_blk128:
      return kLongSum;
    case DataType::tf32:
    case DataType::fp16:
    case DataType::bf16:
      return 4 * kLongSum;
    default:
      return std::int64_t{1} << 20;
  }
}

ProductRoundings product_roundings(const GemmProblem& problem, int output_roundings) {
  const auto k = static_cast<double>(problem.k);
  const double u64 = unit_roundoff(DataType::fp64), u32 = unit_roundoff(DataType::fp32), u = unit_roundoff(problem.output);
  double unit = 0, count = 0, bias = 0, promotions = 0;
  switch (problem.type_of_a()) {
    case DataType::fp64:
    case DataType::fp32:
      unit = unit_roundoff(problem.type);
      count = 2 * k;
      break;
    case DataType::tf32:
    case DataType::fp16:
    case DataType::bf16:
      unit = tensor_core_unit(problem.type);
      count = k;
      bias = k / 4 + 1;
      break;
    case DataType::fp8:
    case DataType::mxfp8:
    case DataType::nvfp4:
      unit = tensor_core_unit(problem.type);
      count = k;
      bias = k / 32 + 1;
      break;
    case DataType::fp8_vec128:
    case DataType::fp8_blk128:
      unit = tensor_core_unit(problem.type);
      count = std::min(k, 128.0);
      promotions = std::ceil(k / 128);
      bias = (count / 32 + 1) * std::sqrt(promotions);
      break;
    case DataType::int8:
    case DataType::int32:
      return {};
  }
  return {unit * bias,
          std::sqrt(unit * unit * count + u32 * u32 * 3 * promotions + u64 * u64 * 2 * k + u * u * (output_roundings - 1))};
}

// Each comparison rests on four events, each with a chance of at most 2 exp(-z^2 / 2).
double certain_deviations(double comparisons) { return std::sqrt(2 * std::log(8 * comparisons / kFalseAlarms)); }

MatrixView view_of_a(const GemmProblem& p, const void* a) {
  return {a, p.type_of_a(), p.m, p.k, transposes_a(p.layout) ? p.k : 1, transposes_a(p.layout) ? 1 : p.m};
}
MatrixView view_of_b(const GemmProblem& p, const void* b) {
  return {b, p.type_of_b(), p.k, p.n, transposes_b(p.layout) ? p.n : 1, transposes_b(p.layout) ? 1 : p.k};
}

ProductCheck::ProductCheck(const GemmProblem& problem, const Fill& a, const Fill& b, int output_roundings)
    : problem_(problem), a_(a), b_(b), output_(problem.output), roundings_(product_roundings(problem, output_roundings)) {}

void ProductCheck::reference(const Device& device) {
  const std::vector<std::int64_t> products = picked(problem_.products(), kSampledProducts, a_.seed + 2);
  const auto count = static_cast<std::int64_t>(products.size());
  for (std::int64_t product : products) reference(device, product, (kSampledElements + count - 1) / count);
}

void ProductCheck::reference(const Device& device, std::int64_t product, std::int64_t elements) {
  const std::int64_t m = problem_.m, n = problem_.columns(product), k = problem_.k;
  const std::int64_t some = std::min<std::int64_t>(n, 8);
  const auto at = static_cast<std::uint64_t>(product);
  const std::vector<std::int64_t> rows = picked(m, (elements + some - 1) / some, a_.seed + at);
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::vector<std::int64_t> columns = picked(n, (elements + count - 1) / count, b_.seed + at + 1);

  const auto line_of_a = [&](std::int64_t first, std::int64_t stride) {
    return generated(problem_.type_of_a(), a_, first, stride, k, m);
  };
  const auto line_of_b = [&](std::int64_t first, std::int64_t stride) {
    return generated(problem_.type_of_b(), b_, first, stride, k, n);
  };
  const std::int64_t first_of_a = problem_.first_of_a(product), first_of_b = problem_.first_of_b(product);
  std::vector<std::vector<double>> right;
  for (std::int64_t column : columns) {
    device.progressed();
    right.push_back(transposes_b(problem_.layout) ? line_of_b(first_of_b + column, n) : line_of_b(first_of_b + column * k, 1));
  }
  for (std::int64_t row : rows) {
    device.progressed();
    const std::vector<double> left =
        transposes_a(problem_.layout) ? line_of_a(first_of_a + row * k, 1) : line_of_a(first_of_a + row, m);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      Element element{product, row, columns[c], 0, 0, 0};
      for (std::size_t l = 0; l < left.size(); ++l) {
        const double term = problem_.alpha * left[l] * right[c][l];
        element.value += term;
        element.absolute_sum += std::fabs(term);
        element.norm += term * term;
      }
      element.norm = std::sqrt(element.norm);
      elements_.push_back(element);
    }
  }
}

ProductCheck::Worst ProductCheck::check_elements(Device& device, const void* d, double z, double& in_units_of_u) {
  if (elements_.empty()) reference(device);
  const double u = unit_roundoff(output_);
  Worst worst, units;
  for (const Element& element : elements_) {
    double stored = 0;
    const std::size_t size = size_of(output_);
    const auto index =
        static_cast<std::size_t>(problem_.first_of_d(element.product) + element.column * problem_.m + element.row);
    device.to_host(&stored, static_cast<const std::byte*>(d) + index * size, size);
    const double error = std::fabs(load_as_double(output_, &stored, 0) - element.value);
    const double rounded = u * std::max(std::fabs(element.value), smallest_normal(output_));
    worst.see(error, rounded + roundings_.error(z, element.norm));
    units.see(error, (u > 0 ? u : 1) * element.absolute_sum);
  }
  in_units_of_u = units.of_allowed;
  return worst;
}

/// Device memory for the checksums of a product of a batch, or of another of its shape.
struct ProductCheck::Scratch {
  Scratch(Device& device, const GemmProblem& p)
      : product(p),
        block(block_columns(p)),
        blocks(block_count(p)),
        b_sums(device, p.k * blocks),
        b_squares(device, p.k * blocks),
        expected(device, p.m * blocks),
        d_sums(device, p.m * blocks),
        d_squares(device, p.m * blocks),
        a_squares(device, p.m) {}

  struct Doubles {
    Doubles(Device& device, std::int64_t count)
        : count(static_cast<std::size_t>(count)), memory(device.allocate(this->count * sizeof(double))) {}
    double* get() const { return static_cast<double*>(memory.get()); }
    std::vector<double> fetched(Device& device) const {
      std::vector<double> host(count);
      device.to_host(host.data(), get(), count * sizeof(double));
      return host;
    }
    std::size_t count;
    Memory memory;
  };

  GemmProblem product;
  std::int64_t block, blocks;
  Doubles b_sums, b_squares, expected, d_sums, d_squares, a_squares;
};

void ProductCheck::sum(Device& device, const void* a, const void* b, const void* d, double z, const Scratch& scratch,
                       Sums& sums) const {
  const GemmProblem& p = scratch.product;
  const MatrixView view_a = view_of_a(p, a), view_b = view_of_b(p, b), view_d{d, output_, p.m, p.n, 1, p.m};

  const std::uint64_t signs = random_bits(a_.seed, calls_, 0);
  device.signed_block_sums(view_a, p.k, signs, scratch.d_sums.get(), scratch.a_squares.get());
  device.progressed();
  device.signed_block_sums(view_b, scratch.block, signs, scratch.b_sums.get(), scratch.b_squares.get());
  device.progressed();
  device.multiply_fp64(view_a, scratch.b_sums.get(), scratch.blocks, scratch.expected.get());
  device.signed_block_sums(view_d, scratch.block, signs, scratch.d_sums.get(), scratch.d_squares.get());

  const std::vector<double> row_norms = scratch.a_squares.fetched(device);
  const std::vector<double> column_norms = scratch.b_squares.fetched(device);
  const std::vector<double> right = scratch.expected.fetched(device);
  const std::vector<double> got = scratch.d_sums.fetched(device);
  const std::vector<double> squares = scratch.d_squares.fetched(device);

  std::vector<double> greatest(static_cast<std::size_t>(scratch.blocks));
  for (std::size_t i = 0; i < column_norms.size(); ++i) {
    double& most = greatest[i % greatest.size()];
    most = std::max(most, column_norms[i]);
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t row = i / greatest.size(), block = i % greatest.size();
    const auto width = static_cast<double>(std::min(scratch.block, p.n - static_cast<std::int64_t>(block) * scratch.block));
    const double norm = problem_.alpha * std::sqrt(greatest[block] * row_norms[row] / width);
    const double rounded = unit_roundoff(output_) * (std::sqrt(squares[i]) + std::sqrt(width) * smallest_normal(output_));
    sums.errors.push_back(std::fabs(got[i] - problem_.alpha * right[i]));
    sums.norms.push_back(std::sqrt(width) * norm);
    sums.allowed.push_back(z * (rounded + (roundings_.bias + roundings_.chance) * (std::sqrt(width) + z) * norm));
    sums.square_sum += squares[i];
  }
}

ProductCheck::Worst ProductCheck::check_sums(Device& device, const void* a, const void* b, const void* d, double z,
                                             double& certain) {
  const auto matrix = [](const void* first, DataType type, std::int64_t index) {
    return index == 0 ? first : static_cast<const std::byte*>(first) + static_cast<std::size_t>(index) * size_of(type);
  };
  Sums sums;
  std::optional<Scratch> scratch;
  for (std::int64_t i = 0; i < problem_.products(); ++i) {
    if (!scratch || scratch->product.n != problem_.columns(i)) scratch.emplace(device, problem_.product(i));
    sum(device, matrix(a, problem_.type, problem_.first_of_a(i)), matrix(b, problem_.type, problem_.first_of_b(i)),
        matrix(d, output_, problem_.first_of_d(i)), z, *scratch, sums);
  }
  auto& [errors, norms, allowed, square_sum] = sums;
  std::vector<double> relative;
  double squares = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (norms[i] == 0) continue;
    relative.push_back(errors[i] / norms[i]);
    squares += relative.back() * relative.back();
  }
  const auto count = static_cast<double>(relative.size());
  sum_deviation_ = relative.empty()   ? 0
                   : count < kTelling ? std::numeric_limits<double>::infinity()
                                      : std::sqrt(squares / count);
  if (sums_in_few_bits(problem_.type) && errors.size() >= kAlike && std::isfinite(square_sum)) {
    const double deviation = relative.empty() ? 0 : median(std::move(relative)) / kNormalMedian;
    for (std::size_t i = 0; i < allowed.size(); ++i) allowed[i] = std::min(allowed[i], 4 * z * deviation * norms[i]);
  }
  Worst worst;
  for (std::size_t i = 0; i < errors.size(); ++i) worst.see(errors[i], allowed[i]);
  // A wrong element must exceed the bound and the errors of the other elements.
  const double most_allowed = *std::max_element(allowed.begin(), allowed.end());
  const double elements = static_cast<double>(problem_.batch) * static_cast<double>(problem_.d_count());
  certain = square_sum > 0 ? 2 * most_allowed / std::sqrt(square_sum / elements) : 0;
  return worst;
}

Verification ProductCheck::verify(Device& device, const void* a, const void* b, const void* d) {
  ++calls_;
  std::int64_t blocks = 0;
  for (std::int64_t i = 0; i < problem_.products(); ++i) blocks += block_count(problem_.product(i));
  const double comparisons = static_cast<double>(problem_.m) * static_cast<double>(blocks) + 2 * kSampledElements;
  const double z = certain_deviations(comparisons);
  double in_units_of_u = 0, certain = 0;
  const Worst elements = check_elements(device, d, z, in_units_of_u);
  const Worst sums = check_sums(device, a, b, d, z, certain);

  const std::string unit = is_integer(output_) ? "sum of |terms|" : fmt::format("u({}) x sum of |terms|", name(output_));
  std::string detail = fmt::format(
      "share of the allowed error: {} in {} sampled elements (maximum {} {}), {} in {} x {} checksums of up to {} elements, "
      "which detect any element that is off by {} of the root mean square",
      format_figure(elements.of_allowed, 3), elements_.size(), format_figure(in_units_of_u, 3), unit,
      format_figure(sums.of_allowed, 3), problem_.m, blocks, block_columns(problem_.product(0)), format_figure(certain, 2));
  Worst worst = elements;
  worst.see(sums.of_allowed, 1);
  return Verification::within(worst.of_allowed, 1, std::move(detail));
}

}  // namespace roofmark
