// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/support/listing.hpp"
#include "bench/support/reference_check.hpp"
#include "kernels/attention_reference.hpp"

namespace roofmark {

/// Q, K, V and O of a problem in every slot, filled and poisoned.
class AttentionOperands {
 public:
  AttentionOperands(const Setup& setup, const AttentionProblem& problem);

  AttentionArrays at(int slot) const;
  Output output(int slot) const;
  /// O against a reference; a row is a query with all its heads, batch after batch.
  CheckedOutput checked(int slot, AttentionReference::Queries reference, bool rounds_scores = false) const;

 private:
  Device& device_;
  AttentionProblem problem_;
  Memory slots_;
};

/// A case without its name, shape and way: type, memory and Work of a problem, the same however it is computed.
Case attention_case(const Listing& listing, const AttentionProblem& problem);

}  // namespace roofmark
