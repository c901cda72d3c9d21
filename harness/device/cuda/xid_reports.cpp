// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/xid_reports.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "harness/machine/files.hpp"

namespace roofmark::cuda {

namespace {

constexpr int kMostAtOnce = 1000;  // a driver that never stops reporting must not hold the reader

/// The number of the report that a line of the log has about the GPU. With MIG the driver names the instance:
/// "NVRM: Xid (PCI:0000:3b:00 GPU-I:01 GPU-CI:00): 43, pid=7".
std::optional<double> number_in_line(const std::string& line, const std::string& gpu) {
  // "4,1234,56789,-;NVRM: ...": a text that a process brings into a line, such as its name, stands further behind.
  const std::size_t message = line.find(';') + 1;
  if (message == 0 || line.compare(message, gpu.size(), gpu) != 0) return std::nullopt;
  const std::string behind = line.substr(message + gpu.size());
  const std::size_t end = behind.find("): ");
  if (end == std::string::npos || (end > 0 && behind.front() != ' ')) return std::nullopt;
  return number(behind.substr(end + 3));
}

/// As the driver writes it: in lower case, without the function.
std::string bus_in_log(std::string pci_bus_id) {
  std::transform(pci_bus_id.begin(), pci_bus_id.end(), pci_bus_id.begin(), [](unsigned char c) { return std::tolower(c); });
  return pci_bus_id.substr(0, pci_bus_id.rfind('.'));
}

}  // namespace

XidReports::XidReports(const NvmlDevice& device, const std::filesystem::path& kernel_log)
    : nvml_(device.nvml()), gpu_in_log_("NVRM: Xid (PCI:" + bus_in_log(device.pci_bus_id())) {
  if (nvml_.call("nvmlEventSetCreate", &events_)) {
    if (device.call("nvmlDeviceRegisterEvents", kXidEvent, events_)) return;
    nvml_.call("nvmlEventSetFree", events_);
  }
  events_ = nullptr;
  log_ = open(kernel_log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (log_ >= 0) lseek(log_, 0, SEEK_END);
}

XidReports::~XidReports() {
  if (events_) nvml_.call("nvmlEventSetFree", events_);
  if (log_ >= 0) close(log_);
}

void XidReports::drain() {
  if (events_) drain_events();
  if (log_ >= 0) drain_log();
}

void XidReports::count(double number) {
  Xids& xids = counted_[class_of_xid(number)];
  ++xids.count;
  xids.last = number;
}

std::optional<Xids> XidReports::of(XidClass which) const {
  const bool readable = (events_ && !refused_) || log_ >= 0;
  const auto found = counted_.find(which);
  if (found != counted_.end()) return found->second;
  return readable ? std::optional(Xids()) : std::nullopt;
}

void XidReports::drain_events() {
  constexpr unsigned kNoWait = 0;
  for (int i = 0; i < kMostAtOnce; ++i) {
    EventData event;
    const auto status = nvml_.status("nvmlEventSetWait_v2", events_, &event, kNoWait);
    refused_ = status != kSuccess && status != kTimeout;
    if (status != kSuccess) return;
    if (event.type != kXidEvent) continue;
    count(static_cast<double>(event.data));
  }
}

void XidReports::drain_log() {
  std::array<char, 8192> text;
  for (int i = 0; i < kMostAtOnce; ++i) {
    const ssize_t length = ::read(log_, text.data(), text.size());
    // EPIPE: the kernel has overwritten lines that were not read.
    if (length < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (length <= 0) return;
    rest_.append(text.data(), static_cast<std::size_t>(length));
    for (std::size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1)) {
      const std::string line = rest_.substr(0, end);
      if (const auto reported = number_in_line(line, gpu_in_log_)) count(*reported);
    }
  }
}

}  // namespace roofmark::cuda
