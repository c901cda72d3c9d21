// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "harness/device/cuda/nvml.hpp"
#include "harness/device/cuda/xid_log.hpp"
#include "harness/device/xid.hpp"

namespace roofmark::cuda {

/// Reports of one class.
struct Xids {
  double count = 0;
  std::optional<double> last;         ///< its number
  std::optional<double> age_seconds;  ///< of the last of the past
};

/// Counts the driver's error reports (Xid) about one GPU from now on: NVML's events or, where it has none, the lines of the
/// kernel's log. Of the past it has what that log still tells. No function throws.
class XidReports {
 public:
  /// `now`: seconds since the host booted.
  XidReports(const NvmlDevice& device, const std::filesystem::path& kernel_log, double now);
  ~XidReports();
  XidReports(const XidReports&) = delete;
  XidReports& operator=(const XidReports&) = delete;

  /// Takes in what was reported since the last call, without waiting.
  void drain();
  /// Absent where neither can be read, or no longer, unless there was a report before.
  std::optional<Xids> of(XidClass which) const;
  /// Faults that were reported before, since the host booted.
  const std::optional<Xids>& past() const { return past_; }

 private:
  void drain_events();
  void count(double number);

  const Nvml& nvml_;
  void* events_ = nullptr;
  XidLog log_;
  bool refused_ = false;  ///< the driver tells no more events, as that of a lost GPU
  std::map<XidClass, Xids> counted_;
  std::optional<Xids> past_;
};

}  // namespace roofmark::cuda
