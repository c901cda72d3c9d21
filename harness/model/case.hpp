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
  /// Limit for cold caches, because filling each slot takes time.
  int most_slots = 4096;
  Issue issue = Issue::automatic;
  /// With the host's clock a sample is a single launch, so percentiles are of single events, and no ceiling of the device
  /// applies.
  Timed timed = Timed::device;
  /// Only one thread works: on a CPU the clock of its core counts.
  bool one_core = false;
  /// Launches per sample; 0: enough for a sample of Effort::sample_seconds.
  int launches = 0;
  /// Executions that one call of Prepared::launch enqueues, where what a call takes besides must not count: work and time are
  /// of one.
  int executions = 1;
  /// Minimum number of samples, if the budget allows; 0: as the interval needs.
  int samples = 0;
  /// The budget as a number of samples, times Effort::longer, for samples so long that Effort::max_seconds allows
  /// too few; 0: budget in seconds.
  int budget_samples = 0;
  /// Duration of the measurement; 0: as the interval needs. A case with a duration has no warm-up; it launches until the time
  /// is over, times each launch, and compares its bits with the verified launch's.
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
  /// Passed when error <= bound; a NaN or infinite error always fails.
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

/// The device's background work during launches, as counted by the launches.
struct Background {
  Resource resource;
  double per_second = 0;  ///< in units of the resource, during the work
};

/// A case allocated, filled and ready, with `slots` copies of its operands. Outputs start poisoned (0xFF bytes).
class Prepared {
 public:
  virtual ~Prepared() = default;
  /// Enqueues one execution on copy `slot`. Neither allocates nor synchronises; may fork to other streams, which it joins
  /// by events before it returns.
  virtual void launch(Stream stream, int slot) = 0;
  /// Restores inputs that a launch overwrites; untimed. Called before a launch that is verified and, when
  /// needs_reset() says so, before each sample.
  virtual void reset(int /*slot*/) {}
  virtual bool needs_reset() const { return false; }
  /// False if this rank's launches do nothing while other ranks measure: it has no times.
  virtual bool takes_part() const { return true; }
  /// More launches without a reset change the result, and are timed all the same.
  virtual bool accumulates() const { return false; }
  /// Passes after a reset and one launch, and after more launches without a reset unless needs_reset() or accumulates(). Fails
  /// on a poisoned output and on a single wrong element.
  virtual Verification verify(int slot) = 0;
  /// The arrays that a launch writes: hashed for the fingerprint; the contract test plants wrong elements there.
  virtual std::vector<Output> outputs(int /*slot*/) { return {}; }
  /// Equal operands give equal bits: the algorithm is pinned, and no sum depends on the order of execution. Differing launches
  /// then make the record wrong. False without such a guarantee.
  virtual bool is_deterministic() const { return false; }
  /// False if verify() checks more than outputs(): equal bits there then do not imply a verified result.
  virtual bool outputs_are_all() const { return true; }
  /// Other inputs to the output's bits (a library's version and algorithm), for the fingerprint's key.
  virtual std::string fingerprint_key() const { return {}; }
  /// Details for the reader of a result (chosen algorithm, workspace); kept in the record.
  virtual std::vector<std::pair<std::string, std::string>> notes() const { return {}; }
  /// Over all launches so far, if the case has a background. The device is idle.
  virtual std::optional<Background> background() const { return {}; }
};

/// The inputs of Case::prepare.
struct Setup {
  Device& device;
  int slots = 1;
  Distribution data = Distribution::normal;
  std::uint64_t seed = 0;
  /// Seconds per launch of each candidate, by a short run of the measuring loop; infinity on all ranks if it fails on any.
  /// Every rank of a team must call it at the same point. Throws DeviceError if no candidate is left.
  std::function<std::vector<double>(const std::vector<Launch>&)> time;
  /// Restarts the run's timeout. May be empty. Call it between the parts of a preparation that can take a minute.
  std::function<void()> progress = {};
};

/// Named values in the order of the case's name: the operation's sizes and options, then impl (who does it), layout, algo,
/// cache.
using Shape = std::vector<std::pair<std::string, std::string>>;

/// The value of a key; empty where the shape does not have it.
std::string value_of(const Shape& shape, std::string_view key);

/// family/operation/type/key:value...; family/type/key:value... where the family has one operation.
std::string case_name(const std::string& family, const std::string& operation, DataType type, const Shape& shape);

/// The communication pattern.
enum class Pattern {
  collective,  ///< all ranks of a communicator take part
  neighbours,  ///< each rank sends to the next one: a step of a ring
  pairs        ///< each group is two ranks; the message crosses only their link, there and back
};

/// The message between the ranks of a case, in nccl-tests' terms.
struct Message {
  Pattern pattern = Pattern::collective;
  int ring_steps = 0;     ///< of a ring that performs it; 0: a ring cannot
  int ranks = 1;          ///< of one communicator; several may run at once
  std::size_t bytes = 0;  ///< size: algbw = bytes / time
  std::size_t count = 0;  ///< elements passed to one call: of one part where `bytes` covers the parts of all ranks
  double bus_factor = 1;  ///< busbw / algbw
  int trips = 1;          ///< messages in sequence per launch; size and time are per message
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

/// How the probes of a ceiling raise it. rate: each by its own rate; the best counts. slope: together, by the fit of a sample's
/// seconds over its launches, so the fixed cost of a sample is not part of the ceiling.
enum class RaisedBy { rate, slope };

/// One point of a sweep, cheap to list: nothing is allocated before prepare.
struct Case {
  std::string family;     ///< stream, gemm
  std::string operation;  ///< triad; empty where the family has one operation
  DataType type = DataType::fp32;
  Shape shape;
  Work work;
  Protocol protocol;
  /// Device memory per slot, including workspace, and memory shared by all slots.
  std::size_t slot_bytes = 0;
  std::size_t shared_bytes = 0;
  /// Additional host memory per slot; 0 on a CPU, where host memory is device memory.
  std::size_t host_slot_bytes = 0;
  /// Bytes touched by one launch, for counting cold slots; 0: slot_bytes.
  std::size_t touched_bytes = 0;
  /// The resource whose empirical ceiling this case may raise; only cases of the ceilings family have one.
  std::optional<Resource> raises;
  RaisedBy raised_by = RaisedBy::rate;
  std::optional<Message> message;
  std::optional<OverlapPart> overlap;
  std::optional<Transfer> transfer;
  /// Why this kind of device does not support it; empty if it does.
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
