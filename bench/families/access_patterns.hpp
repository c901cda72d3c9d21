// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "bench/support/slots.hpp"
#include "kernels/access.hpp"

namespace roofmark::access {

// The patterns of access, prepared: each verifies all that it writes, exactly.

inline constexpr std::size_t kElementBytes = sizeof(std::int32_t);

/// A line of the caches, and the part of it that one access fetches: of a GPU a sector.
struct Line {
  std::size_t bytes, fetched;
};
constexpr Line line_of(Backend backend) { return backend == Backend::cuda ? Line{128, 32} : Line{64, 64}; }

/// Sweeps over `count` elements that are `stride` elements apart. Where a stride is several lines, there are as many sweeps, so
/// that a launch meets every line of the range once.
struct Strided {
  std::int64_t count, stride, sweeps, offset;

  Strided(std::int64_t count, std::int64_t stride, Backend backend);
  std::size_t range_bytes() const { return static_cast<std::size_t>(count * stride) * kElementBytes; }
  std::size_t elements() const { return static_cast<std::size_t>(count * sweeps); }
  std::size_t fetched_bytes(Backend backend) const;
  SlotLayout layout() const;
};
std::unique_ptr<Prepared> strided_sums(const Setup& setup, const AccessKernels& kernels, const Strided& strided);

/// Rows of a table, each read once.
struct Gathered {
  std::int64_t rows, width;
  bool in_order;  ///< else at random

  std::size_t index_bytes() const { return static_cast<std::size_t>(rows) * sizeof(std::uint32_t); }
  SlotLayout layout() const;
};
std::unique_ptr<Prepared> gathered_rows(const Setup& setup, const AccessKernels& kernels, const Gathered& gathered);

/// An array of `count` elements, a multiple of 4, read `passes` times.
struct ReadArray {
  ReadBy by;
  std::int64_t count, passes;

  SlotLayout layout() const;
};
std::unique_ptr<Prepared> read_array(const Setup& setup, const AccessKernels& kernels, const ReadArray& array);

/// The expected content of an array of `count` elements after a launch.
struct KnownOutput {
  DataType type = DataType::int32;
  std::size_t count = 0;
  std::function<void(void* out, Stream stream)> launch;
  /// The bits of an element of 4 bytes.
  std::function<std::uint32_t(std::size_t i)> expected;
  bool accumulates = false;  ///< adds to zeros
  std::vector<std::pair<std::string, std::string>> notes = {};
};
std::unique_ptr<Prepared> known_output(const Setup& setup, KnownOutput known);

}  // namespace roofmark::access
