// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace roofmark {

/// The ranks that measure together. Every rank calls the same functions in the same order.
class Team {
 public:
  virtual ~Team() = default;
  virtual int size() const = 0;
  virtual int rank() const = 0;
  virtual void barrier() = 0;
  /// True when every rank says true.
  virtual bool agree(bool ok) = 0;
  /// The value of rank 0, on every rank.
  virtual std::int64_t decide(std::int64_t value) = 0;
  /// The greatest of the ranks' i-th values, for every i; all ranks bring equally many.
  virtual std::vector<double> max(std::vector<double> values) = 0;
};

/// A team of one, without MPI.
class SoloTeam final : public Team {
 public:
  int size() const override { return 1; }
  int rank() const override { return 0; }
  void barrier() override {}
  bool agree(bool ok) override { return ok; }
  std::int64_t decide(std::int64_t value) override { return value; }
  std::vector<double> max(std::vector<double> values) override { return values; }
};

}  // namespace roofmark
