// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace roofmark {

/// Thrown out of the loop after a signal to any rank: what was under way is not run.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// Thrown on the ranks that are well when another one said by agree(false) that it is not.
class PeerFailed : public std::runtime_error {
 public:
  PeerFailed() : std::runtime_error("failed on another rank") {}
};

/// Thrown by every rank of a team alike, after they agreed on it.
class TeamError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown where the ranks' own communication fails: they are no longer in step, and nothing of the team may be called any more.
class TeamBroken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The ranks that measure together. Every rank calls the same functions in the same order; only agree(false) may stand where
/// the others call another one, which then throws PeerFailed there. Every function throws Interrupted, on all ranks at once,
/// when one of them was.
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
  /// The greatest of the ranks' i-th values, for every i; all ranks bring equally many, none of them NaN.
  virtual std::vector<double> max(std::vector<double> values) = 0;
  /// What each rank brings, by rank.
  virtual std::vector<std::string> gather(const std::string& text) = 0;
  /// "rank 3 (node7)"; of a team of one "".
  virtual std::string describe(int rank) const = 0;

  /// The least of the ranks' values.
  double min(double value) { return -max({-value}).front(); }
};

/// A team of one, without MPI.
class SoloTeam final : public Team {
 public:
  /// When it becomes true, the next call throws Interrupted.
  explicit SoloTeam(const std::atomic<bool>* interrupted = nullptr) : interrupted_(interrupted) {}

  int size() const override { return 1; }
  int rank() const override { return 0; }
  void barrier() override { check_interrupt(); }
  bool agree(bool ok) override { return ok; }
  std::int64_t decide(std::int64_t value) override { return value; }
  std::vector<double> max(std::vector<double> values) override { return values; }
  std::vector<std::string> gather(const std::string& text) override { return {text}; }
  std::string describe(int) const override { return {}; }

 private:
  void check_interrupt() const {
    if (interrupted_ && interrupted_->load()) throw Interrupted();
  }

  const std::atomic<bool>* interrupted_;
};

}  // namespace roofmark
