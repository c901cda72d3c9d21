// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace roofmark::cuda {

struct XidReport {
  double number = 0;
  double seconds = 0;  ///< since the host booted, by the kernel's clock
};

/// The driver's error reports (Xid) about one GPU in the kernel's log, the oldest first. No function throws or waits.
class XidLog {
 public:
  /// `pci_bus_id` as NVML writes it: "0000:3B:00.0".
  XidLog(const std::filesystem::path& kernel_log, const std::string& pci_bus_id);
  ~XidLog();
  XidLog(const XidLog&) = delete;
  XidLog& operator=(const XidLog&) = delete;

  bool is_readable() const { return log_ >= 0; }
  /// Those up to now; drain() goes on from here. Absent if the log has no lines, as what containers have in its place, or could
  /// not be read to its end in time and none was found before.
  std::optional<std::vector<XidReport>> past();
  /// Those since the last call; after a flood of other messages those in its first part.
  std::vector<XidReport> drain();

 private:
  /// Of the next records. Whether these were all.
  bool read_on(std::vector<XidReport>& reports);

  int log_ = -1;
  std::string gpu_in_log_;  ///< its lines begin with it: "NVRM: Xid (PCI:0000:3b:00"
  std::string rest_;        ///< a line whose end was not read yet
  bool has_lines_ = false;
};

}  // namespace roofmark::cuda
