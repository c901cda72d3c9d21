// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/xid_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>

#include "harness/machine/files.hpp"
#include "harness/machine/steady_seconds.hpp"

namespace roofmark::cuda {

namespace {

constexpr int kRecordsAtOnce = 1000;    // a driver that never stops reporting must not hold the reader
constexpr int kMostPastParts = 1000;    // of so many records: the kernel's largest usual buffer has fewer
constexpr double kMostPastSeconds = 1;  // reading 1 MiB takes a hundredth of that

/// The report that a line of the log has about the GPU: "4,1234,56789,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=7" (priority,
/// sequence, microseconds since boot, flags; message). With MIG the driver names the instance:
/// "NVRM: Xid (PCI:0000:3b:00 GPU-I:01 GPU-CI:00): 43, pid=7".
std::optional<XidReport> report_in(const std::string& line, const std::string& gpu) {
  // A text that a process brings into a line, such as its name, stands further behind.
  const std::size_t message = line.find(';') + 1;
  if (message == 0 || line.compare(message, gpu.size(), gpu) != 0) return std::nullopt;
  // What a process writes into the log has a facility, from 8 on; the kernel has none.
  unsigned priority = 0;
  unsigned long long sequence = 0, microseconds = 0;
  if (std::sscanf(line.c_str(), "%u,%llu,%llu", &priority, &sequence, &microseconds) != 3 || priority > 7) return std::nullopt;
  const std::string behind = line.substr(message + gpu.size());
  const std::size_t end = behind.find("): ");
  if (end == std::string::npos || (end > 0 && behind.front() != ' ')) return std::nullopt;
  const auto reported = number(behind.substr(end + 3));
  return reported ? std::optional(XidReport{*reported, static_cast<double>(microseconds) * 1e-6}) : std::nullopt;
}

/// As the driver writes it: in lower case, without the function.
std::string bus_in_log(std::string pci_bus_id) {
  std::transform(pci_bus_id.begin(), pci_bus_id.end(), pci_bus_id.begin(), [](unsigned char c) { return std::tolower(c); });
  return pci_bus_id.substr(0, pci_bus_id.rfind('.'));
}

}  // namespace

XidLog::XidLog(const std::filesystem::path& kernel_log, const std::string& pci_bus_id)
    : log_(open(kernel_log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)),
      gpu_in_log_("NVRM: Xid (PCI:" + bus_in_log(pci_bus_id)) {}

XidLog::~XidLog() {
  if (log_ >= 0) close(log_);
}

bool XidLog::read_on(std::vector<XidReport>& reports) {
  std::array<char, 8192> text;
  for (int i = 0; i < kRecordsAtOnce; ++i) {
    const ssize_t length = ::read(log_, text.data(), text.size());
    // EPIPE: the kernel has overwritten lines that were not read.
    if (length < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (length <= 0) return true;
    has_lines_ = true;
    rest_.append(text.data(), static_cast<std::size_t>(length));
    for (std::size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1)) {
      if (const auto reported = report_in(rest_.substr(0, end), gpu_in_log_)) reports.push_back(*reported);
    }
    if (rest_.size() > text.size()) rest_.clear();  // no line of the kernel is so long
  }
  return false;
}

std::optional<std::vector<XidReport>> XidLog::past() {
  std::vector<XidReport> reports;
  const double began = steady_seconds();
  bool all = false;
  for (int part = 0; !all && part < kMostPastParts && steady_seconds() - began < kMostPastSeconds; ++part) {
    all = read_on(reports);
  }
  if (!all) {
    lseek(log_, 0, SEEK_END);
    rest_.clear();
  }
  return (all && has_lines_) || !reports.empty() ? std::optional(reports) : std::nullopt;
}

std::vector<XidReport> XidLog::drain() {
  std::vector<XidReport> reports;
  read_on(reports);
  return reports;
}

}  // namespace roofmark::cuda
