// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace roofmark {

/// Thrown out of the loop after a signal to any rank: the case in progress is not run.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// Thrown on the healthy ranks when another rank called agree(false).
class PeerFailed : public std::runtime_error {
 public:
  PeerFailed() : std::runtime_error("failed on another rank") {}
};

/// Thrown by every rank of a team, after they agreed on it.
class TeamError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown when the ranks' own communication fails: they are out of step, and no function of the team may be called any more.
class TeamBroken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The ranks that measure together. Every rank calls the same functions in the same order; the exception is agree(false), which
/// may meet another function on the other ranks; that function then throws PeerFailed. Every function throws Interrupted on all
/// ranks at once if one rank was interrupted.
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
  /// For every i, the maximum of the ranks' i-th values. All ranks bring the same number of values, none of them NaN.
  virtual std::vector<double> max(std::vector<double> values) = 0;
  /// "rank 3 (node7)"; "" in a team of one.
  virtual std::string describe(int rank) const = 0;

  /// Each rank's value, by rank. T is whatever nlohmann's JSON converts: numbers, text, containers, std::optional, and structs
  /// with NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE. Numbers arrive bit for bit. `interrupted`: after all ranks have caught
  /// Interrupted, which it then does not throw again. Defined in harness/team/gather.hpp.
  template <class T>
  std::vector<T> gather(const T& value, bool interrupted = false);
  /// The minimum of the ranks' values.
  double min(double value) { return -max({-value}).front(); }

 private:
  virtual std::vector<std::string> gather_bytes(const std::string& bytes, bool interrupted) = 0;
};

/// A team of one, without MPI.
class SoloTeam final : public Team {
 public:
  /// When `interrupted` becomes true, the next barrier throws Interrupted. `on_step` is called at every barrier, so before
  /// every sample.
  explicit SoloTeam(const std::atomic<bool>* interrupted = nullptr, std::function<void()> on_step = {})
      : interrupted_(interrupted), on_step_(std::move(on_step)) {}

  int size() const override { return 1; }
  int rank() const override { return 0; }
  void barrier() override {
    if (on_step_) on_step_();
    if (interrupted_ && interrupted_->load()) throw Interrupted();
  }
  bool agree(bool ok) override { return ok; }
  std::int64_t decide(std::int64_t value) override { return value; }
  std::vector<double> max(std::vector<double> values) override { return values; }
  std::string describe(int) const override { return {}; }

 private:
  std::vector<std::string> gather_bytes(const std::string& bytes, bool) override { return {bytes}; }

  const std::atomic<bool>* interrupted_;
  std::function<void()> on_step_;
};

}  // namespace roofmark
