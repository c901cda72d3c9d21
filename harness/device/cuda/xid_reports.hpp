// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "harness/device/cuda/nvml.hpp"
#include "harness/device/xid.hpp"

namespace roofmark::cuda {

/// Reports of one class.
struct Xids {
  double count = 0;
  std::optional<double> last;  ///< its number
};

/// Counts the driver's error reports (Xid) about one GPU from now on: NVML's events or, where it has none, the lines of the
/// kernel's log. No function throws.
class XidReports {
 public:
  XidReports(const NvmlDevice& device, const std::filesystem::path& kernel_log);
  ~XidReports();
  XidReports(const XidReports&) = delete;
  XidReports& operator=(const XidReports&) = delete;

  /// Takes in what was reported since the last call, without waiting.
  void drain();
  /// Absent where neither can be read, or no longer, unless there was a report before.
  std::optional<Xids> of(XidClass which) const;

 private:
  void drain_events();
  void drain_log();
  void count(double number);

  const Nvml& nvml_;
  void* events_ = nullptr;
  int log_ = -1;
  std::string gpu_in_log_;  ///< its lines in the log begin with it: "NVRM: Xid (PCI:0000:3b:00"
  std::string rest_;        ///< of the log, a line whose end was not read yet
  bool refused_ = false;    ///< the driver tells no more events, as that of a lost GPU
  std::map<XidClass, Xids> counted_;
};

}  // namespace roofmark::cuda
