// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/model/verification.hpp"
#include "harness/model/work.hpp"

namespace roofmark {

/// An array that a launch writes.
struct Output {
  void* data = nullptr;
  DataType type = DataType::fp32;
  std::size_t count = 0;
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
  /// What preparation and verification left in the caches would speed up the timed launches: the caches are evicted once,
  /// before the warm-up.
  virtual bool begins_evicted() const { return false; }
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
  /// What this rank communicated by, in the words of its library: "NET/IB/GDRDMA"; empty where that does not say.
  virtual std::set<std::string> transports() const { return {}; }
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
};

}  // namespace roofmark
