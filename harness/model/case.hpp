// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/model/roofline.hpp"
#include "harness/model/transfer.hpp"
#include "kernels/base/kernel.hpp"

namespace roofmark {

enum class Cache { cold, warm };
/// How a case is measured. The defaults are those of the suite; a case changes only what it must.
struct Protocol {
  Cache cache = Cache::cold;
  /// Of cold caches: each slot is filled by itself, which takes time.
  int most_slots = 4096;
  Issue issue = Issue::automatic;
  /// By the host's clock a sample is a single launch, so that percentiles are those of single events, and no ceiling of the
  /// device applies.
  Timed timed = Timed::device;
  /// A single thread works: on a CPU the clock of its core counts.
  bool one_core = false;
  /// Launches per sample; 0: as many as make a sample of Effort::sample_seconds.
  int launches = 0;
  /// Executions that one call of Prepared::launch enqueues, where what a call takes besides must not count: work and time are
  /// of one.
  int executions = 1;
  /// Minimum number of samples, where the budget allows; 0: as many as the interval needs.
  int samples = 0;
  /// The budget as a number of samples, where a sample takes so long that Effort::max_seconds would allow too few; 0: in
  /// seconds.
  int budget_samples = 0;
  /// How long it is measured; 0: as many samples as the interval needs. With a duration there is no warm-up, launches follow
  /// one another until the time is over, each is timed by itself, and the bits of each are compared with the verified one's.
  double seconds = 0;
};

/// The result of a verification. `error` and `bound` are in the units that `detail` names.
struct Verification {
  enum class Status { passed, failed, nothing_to_verify } status = Status::failed;
  double error = 0;
  double bound = 0;
  std::string detail;
  std::size_t wrong = 0;  ///< elements, where they were counted

  static Verification nothing(std::string reason) { return {Status::nothing_to_verify, 0, 0, std::move(reason), 0}; }
  /// Passed when error <= bound; an error that is NaN or infinite fails whatever the bound.
  static Verification within(double error, double bound, std::string detail) {
    return {std::isfinite(error) && error <= bound ? Status::passed : Status::failed, error, bound, std::move(detail), 0};
  }
};

/// An array that a launch writes.
struct Output {
  void* data = nullptr;
  DataType type = DataType::fp32;
  std::size_t count = 0;
};

/// What the device did beside the work of its launches, as the launches themselves counted it.
struct Background {
  Resource resource;
  double per_second = 0;  ///< in units of the resource, while the work went on
};

/// A case allocated, filled and ready, with `slots` copies of its operands. Outputs start poisoned (0xFF bytes).
class Prepared {
 public:
  virtual ~Prepared() = default;
  /// Enqueues one execution on copy `slot`. Neither allocates nor synchronises; may fork to other streams, which it joins
  /// by events before it returns.
  virtual void launch(Stream stream, int slot) = 0;
  /// Restores what a launch overwrites of its own inputs; untimed. Called before a launch that is verified and, when
  /// needs_reset() says so, before each sample.
  virtual void reset(int /*slot*/) {}
  virtual bool needs_reset() const { return false; }
  /// False where this rank's launches do nothing, and other ranks of the team measure: it has no times of its own.
  virtual bool takes_part() const { return true; }
  /// More launches without a reset change the result, and are timed all the same.
  virtual bool accumulates() const { return false; }
  /// Holds after a reset and one launch (more launches without a reset may not change it, unless needs_reset() or
  /// accumulates()). Fails on a poisoned output and on one wrong element anywhere.
  virtual Verification verify(int slot) = 0;
  /// What a launch writes: hashed for the fingerprint, and where the contract test plants its wrong elements.
  virtual std::vector<Output> outputs(int /*slot*/) { return {}; }
  /// Equal operands give equal bits: the algorithm is pinned, and no sum depends on who comes first. Launches that differ all
  /// the same make the record wrong. False where nothing promises that.
  virtual bool is_deterministic() const { return false; }
  /// False where verify() looks at more than outputs(): then the same bits there do not stand for a result that was verified.
  virtual bool outputs_are_all() const { return true; }
  /// What else decides the output's bits (a library's version and algorithm), for the fingerprint's key.
  virtual std::string fingerprint_key() const { return {}; }
  /// What a reader of the result wants to know of how it was done (algorithm chosen, workspace); kept in the record.
  virtual std::vector<std::pair<std::string, std::string>> notes() const { return {}; }
  /// Over all launches so far, where the case has one. The device is idle.
  virtual std::optional<Background> background() const { return {}; }
};

/// What a case is prepared with.
struct Setup {
  Device& device;
  int slots = 1;
  Distribution data = Distribution::normal;
  std::uint64_t seed = 0;
  /// Seconds per launch of each candidate, by a short run of the measuring loop; infinity on all ranks if it fails on any.
  /// Every rank of a team must call it at the same point. Throws DeviceError where no candidate is left.
  std::function<std::vector<double>(const std::vector<Launch>&)> time;
};

/// Named values in the order of the case's name: the operation's sizes and options, then impl (who does it), layout, algo,
/// cache.
using Shape = std::vector<std::pair<std::string, std::string>>;

/// The value of a key; empty where the shape does not have it.
std::string value_of(const Shape& shape, std::string_view key);

/// family/operation/type/key:value...; family/type/key:value... where the family has one operation.
std::string case_name(const std::string& family, const std::string& operation, DataType type, const Shape& shape);

/// Who exchanges a message with whom.
enum class Pattern {
  collective,  ///< all ranks of a communicator take part
  neighbours,  ///< each rank sends to the next one: a step of a ring
  pairs        ///< each group is two ranks, whose link alone the message crosses, there and back
};

/// What the ranks of a case send one another, in the words of nccl-tests.
struct Message {
  Pattern pattern = Pattern::collective;
  int ring_steps = 0;     ///< of a ring that performs it; 0: a ring cannot
  int ranks = 1;          ///< of one communicator; several may run at once
  std::size_t bytes = 0;  ///< size: algbw = bytes / time
  std::size_t count = 0;  ///< elements passed to one call: of one part where `bytes` covers the parts of all ranks
  double bus_factor = 1;  ///< busbw / algbw
  int trips = 1;          ///< messages that follow one another in one launch: size and time are of one of them
  int root = -1;          ///< -1: none
  std::string reduction;  ///< sum, max, avg, or empty
  std::string place;      ///< in, out
  /// The ranks of each communicator, where not all ranks are in one.
  std::vector<std::vector<int>> groups;
};

/// The role of a case among three that show how much communication is hidden behind work: each alone, and both together.
struct OverlapPart {
  enum class Role { work, communication, together } role = Role::work;
  std::string series;  ///< what the three have in common
};

/// How the probes of a ceiling raise it. rate: each by its own, and the best counts. slope: together, by the line of the
/// seconds of a sample over its launches, so that what a sample costs besides its launches is no part of the ceiling.
enum class RaisedBy { rate, slope };

/// One point of a sweep, cheap to list: nothing is allocated before prepare.
struct Case {
  std::string family;     ///< stream, gemm
  std::string operation;  ///< triad; empty where the family has one operation
  DataType type = DataType::fp32;
  Shape shape;
  Work work;
  Protocol protocol;
  /// Device memory one slot takes, workspace included, and what all slots share.
  std::size_t slot_bytes = 0;
  std::size_t shared_bytes = 0;
  /// Memory of the device's host that one slot takes besides; 0 on a CPU, whose memory is the device's.
  std::size_t host_slot_bytes = 0;
  /// What one launch touches, by which cold slots are counted; 0: as slot_bytes.
  std::size_t touched_bytes = 0;
  /// The resource whose empirical ceiling this case may raise; only cases of the ceilings family have one.
  std::optional<Resource> raises;
  RaisedBy raised_by = RaisedBy::rate;
  std::optional<Message> message;
  std::optional<OverlapPart> overlap;
  std::optional<Transfer> transfer;
  /// Why this kind of device cannot do it; empty when it can.
  std::string unsupported;
  std::function<std::unique_ptr<Prepared>(const Setup&)> prepare;

  std::string name() const { return case_name(family, operation, type, shape); }
};

/// How many times faster the numerator is: seconds(denominator) / seconds(numerator) x work_ratio, of two records of one run
/// whose names differ in the value of one key.
struct Comparison {
  std::string name;         ///< the two values: "tuned against default"
  std::string key;          ///< "algo"
  std::string numerator;    ///< name of the case that is expected to be faster
  std::string denominator;  ///< name of the case it is compared with
  double work_ratio = 1;    ///< work of the numerator / work of the denominator where rates are compared, not times
};

/// Throws std::invalid_argument unless the two names differ in the value of exactly one key.
Comparison compare(const Case& numerator, const Case& denominator);
/// The same of the rates, of the resource that the numerator demands first.
Comparison compare_rates(const Case& numerator, const Case& denominator);

/// Cases that are prepared together and whose blocks alternate; most groups hold one case.
struct Group {
  std::vector<Case> cases;
  std::vector<Comparison> comparisons;
};

}  // namespace roofmark
