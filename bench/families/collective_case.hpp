// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/families/rank_division.hpp"
#include "bench/support/listing.hpp"

namespace roofmark::collectives {

/// What distinguishes a case.
struct Point {
  Collective op = Collective::all_reduce;
  DataType type = DataType::fp32;
  Reduction reduction = Reduction::sum;
  std::size_t bytes = 0;  ///< requested; the size is made of whole chunks
  bool in_place = false;
  SharedDivision among;
  std::string group;  ///< "", node, rail, cross, div_4, mod_4
  Issue issue = Issue::automatic;
  Buffer buffer = Buffer::plain;
  int round = -1;  ///< of ping_pong, unless it is of a `pair` alone
  /// Chunks among several consist of whole packs where they have one, as those of nccl-tests do.
  bool whole_packs = true;
  int root = 0;       ///< of each communicator, where the operation has one, or an imbalance
  int imbalance = 1;  ///< of all_to_all: what the root receives, at least, over the average of all ranks
  std::optional<std::pair<int, int>> pair = {};  ///< of ping_pong
};

/// NCCL moves data in packs of this size, or else in single elements: where any pointer of a call is unaligned.
inline constexpr std::size_t kPackBytes = 16;

/// Of the largest communicator.
int ranks_of(const Point& point);
/// Elements of a chunk.
std::size_t chunk_of(const Point& point);
/// The same of the root's chunk in an uneven all-to-all; 0 in all others.
std::size_t root_chunk_of(const Point& point);
/// nccl-tests' size.
std::size_t bytes_of(const Point& point);
/// Elements of the input and output of a rank of `ranks`.
std::size_t elements_in(const Point& point, int ranks, bool is_root);
std::size_t elements_out(const Point& point, int ranks, bool is_root);

/// Why the library has no such call; empty where it has one.
std::string lacks(const Communicator& communicator, const Point& point);

Work collective_work(const Listing& listing, const Point& point);
Case collective_case(const Listing& listing, const Point& point);

}  // namespace roofmark::collectives
