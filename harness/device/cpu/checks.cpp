// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cpu/checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "harness/device/elementwise_error.hpp"
#include "harness/device/random.hpp"

namespace roofmark::cpu {
namespace {

/// Elements that one thread works on at a time, so that the result does not depend on the number of threads.
constexpr std::int64_t kPiece = 1 << 16;

template <DataType kType>
using Storage = typename Element<kType>::Storage;

/// Rows that are walked together, so that the innermost loop runs along memory whichever way the matrix lies.
constexpr std::int64_t kMostRows = 64;
std::int64_t rows_at_once(const MatrixView& view) {
  return std::abs(view.row_stride) < std::abs(view.column_stride) ? kMostRows : 1;
}

/// The greater error; NaN is greater than all, and of equals the first one counts.
void keep_worse(ElementwiseError& worst, const ElementwiseError& other) {
  const auto rank = [](double error) { return std::isnan(error) ? std::pair(1, 0.0) : std::pair(0, error); };
  if (rank(other.worst) > rank(worst.worst) || (rank(other.worst) == rank(worst.worst) && other.index < worst.index)) {
    worst = other;
  }
}

template <DataType kType>
ElementwiseError worst_of(const void* out_data, std::int64_t begin, std::int64_t end, double alpha, const void* x_data,
                          double beta, const void* y_data, double constant) {
  using E = Element<kType>;
  const auto* out = static_cast<const Storage<kType>*>(out_data);
  const auto* x = static_cast<const Storage<kType>*>(x_data);
  const auto* y = static_cast<const Storage<kType>*>(y_data);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ElementwiseError worst{0, static_cast<std::size_t>(begin)};
  double no_worse = 0;  // differences up to this many scales are certainly no worse: only the others need the division
  for (std::int64_t i = begin; i < end; ++i) {
    const double ax = x ? alpha * E::value(x[i]) : 0, by = y ? beta * E::value(y[i]) : 0;
    const double got = E::value(out[i]), expected = ax + by + constant;
    const double scale = std::abs(ax) + std::abs(by) + std::abs(constant);
    const double difference = std::abs(got - expected);
    if (difference <= no_worse * scale && difference < kInfinity) continue;
    const double error = elementwise_error(kType, got, expected, scale);
    if (error <= worst.worst) continue;
    worst = {error, static_cast<std::size_t>(i)};
    if (std::isnan(error)) break;
    no_worse = error * unit_roundoff(kType) * (1 - 0x1p-40);
  }
  return worst;
}

}  // namespace

ElementwiseError compare_linear(DataType type, const void* out, std::size_t count, double alpha, const void* x, double beta,
                                const void* y, double constant) {
  const auto n = static_cast<std::int64_t>(count);
  ElementwiseError worst;
  with_type(type, [&]<DataType kType>() {
#pragma omp parallel for
    for (std::int64_t begin = 0; begin < n; begin += kPiece) {
      const ElementwiseError found = worst_of<kType>(out, begin, std::min(n, begin + kPiece), alpha, x, beta, y, constant);
#pragma omp critical
      keep_worse(worst, found);
    }
  });
  return worst;
}

ElementwiseError compare(DataType type, const void* out, std::size_t count, const double* expected, const double* scale) {
  const auto n = static_cast<std::int64_t>(count);
  ElementwiseError worst;
  with_type(type, [&]<DataType kType>() {
    const auto* elements = static_cast<const Storage<kType>*>(out);
#pragma omp parallel for
    for (std::int64_t begin = 0; begin < n; begin += kPiece) {
      ElementwiseError found{0, static_cast<std::size_t>(begin)};
      for (std::int64_t i = begin; i < std::min(n, begin + kPiece); ++i) {
        keep_worse(found, {elementwise_error(kType, Element<kType>::value(elements[i]), expected[i], scale[i]),
                           static_cast<std::size_t>(i)});
      }
#pragma omp critical
      keep_worse(worst, found);
    }
  });
  return worst;
}

void signed_block_sums(const MatrixView& view, std::int64_t block, std::uint64_t seed, double* sums, double* squares) {
  const std::int64_t blocks = (view.columns + block - 1) / block, together = rows_at_once(view);
  std::vector<double> signs(static_cast<std::size_t>(view.columns));
  for (std::size_t c = 0; c < signs.size(); ++c) signs[c] = sign(seed, c);
  with_matrix_type(view.type, [&]<DataType kType>() {
#pragma omp parallel for collapse(2)
    for (std::int64_t top = 0; top < view.rows; top += together) {
      for (std::int64_t b = 0; b < blocks; ++b) {
        const std::int64_t rows = std::min(together, view.rows - top), end = std::min(view.columns, (b + 1) * block);
        double sum[kMostRows] = {}, square[kMostRows] = {};
        for (std::int64_t c = b * block; c < end; ++c) {
          for (std::int64_t r = 0; r < rows; ++r) {
            const double term = element<kType>(view, top + r, c);
            sum[r] += term * signs[static_cast<std::size_t>(c)];
            square[r] += term * term;
          }
        }
        for (std::int64_t r = 0; r < rows; ++r) {
          sums[(top + r) * blocks + b] = sum[r];
          if (squares) squares[(top + r) * blocks + b] = square[r];
        }
      }
    }
  });
}

void fourth_power_sums(const MatrixView& view, double* sums) {
  const std::int64_t together = rows_at_once(view);
  with_matrix_type(view.type, [&]<DataType kType>() {
#pragma omp parallel for
    for (std::int64_t top = 0; top < view.rows; top += together) {
      const std::int64_t rows = std::min(together, view.rows - top);
      double sum[kMostRows] = {};
      for (std::int64_t c = 0; c < view.columns; ++c) {
        for (std::int64_t r = 0; r < rows; ++r) {
          const double value = element<kType>(view, top + r, c), square = value * value;
          sum[r] += square * square;
        }
      }
      std::copy(sum, sum + rows, sums + top);
    }
  });
}

void multiply_fp64(const MatrixView& view, const double* right, std::int64_t n, double* products) {
  const std::int64_t together = rows_at_once(view);
  with_matrix_type(view.type, [&]<DataType kType>() {
#pragma omp parallel for
    for (std::int64_t top = 0; top < view.rows; top += together) {
      const std::int64_t rows = std::min(together, view.rows - top);
      double* out = products + top * n;
      std::fill(out, out + rows * n, 0.0);
      for (std::int64_t c = 0; c < view.columns; ++c) {
        for (std::int64_t r = 0; r < rows; ++r) {
          const double factor = element<kType>(view, top + r, c);
          for (std::int64_t j = 0; j < n; ++j) out[r * n + j] += factor * right[c * n + j];
        }
      }
    }
  });
}

TermSums sum_terms(DataType type, const void* x, const void* y, std::size_t count) {
  const auto n = static_cast<std::int64_t>(count);
  std::vector<TermSums> pieces(static_cast<std::size_t>((n + kPiece - 1) / kPiece));
  with_type(type, [&]<DataType kType>() {
    const auto* first = static_cast<const Storage<kType>*>(x);
    const auto* second = static_cast<const Storage<kType>*>(y);
#pragma omp parallel for
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      const auto begin = static_cast<std::int64_t>(piece) * kPiece;
      TermSums sums;
      for (std::int64_t i = begin; i < std::min(n, begin + kPiece); ++i) {
        const double term = Element<kType>::value(first[i]) * (second ? Element<kType>::value(second[i]) : 1);
        sums.sum += term;
        sums.squares += term * term;
      }
      pieces[piece] = sums;
    }
  });
  TermSums total;
  for (const TermSums& piece : pieces) {
    total.sum += piece.sum;
    total.squares += piece.squares;
  }
  return total;
}

}  // namespace roofmark::cpu
