// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/support/case_request.hpp"
#include "bench/support/listing.hpp"
#include "bench/support/reference_check.hpp"
#include "bench/support/slots.hpp"
#include "kernels/attention_reference.hpp"

namespace roofmark {

/// Q, K, V and O of a problem in every slot.
class AttentionOperands {
 public:
  AttentionOperands(const Setup& setup, const AttentionProblem& problem);

  AttentionArrays at(int slot) const;
  Output output(int slot) const;
  /// O with its reference; a row is one query with all its heads, batch by batch.
  CheckedOutput checked(int slot, AttentionReference::Queries reference, bool rounds_scores = false) const;

 private:
  Device& device_;
  AttentionProblem problem_;
  Slots slots_;
};

// What may be asked for.
inline constexpr std::int64_t kMostKeys = std::int64_t{1} << 20;     ///< of decoding: one query per sequence
inline constexpr std::int64_t kMostQueries = std::int64_t{1} << 17;  ///< and keys: the check takes the square of it
/// A problem of one query and one key with the batch, heads and head dimension asked for: as many key-value heads as query
/// heads where none are given.
AttentionProblem heads_of(const CaseRequest& asked);

/// The type, memory and Work of a problem, which do not depend on the implementation.
Case attention_case(const Listing& listing, std::string family, Shape shape, const AttentionProblem& problem);

}  // namespace roofmark
