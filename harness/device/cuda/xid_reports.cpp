// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/xid_reports.hpp"

#include <algorithm>
#include <vector>

namespace roofmark::cuda {

namespace {

constexpr int kMostAtOnce = 1000;  // a driver that never stops reporting must not hold the reader

}  // namespace

XidReports::XidReports(const NvmlDevice& device, const std::filesystem::path& kernel_log, double now)
    : nvml_(device.nvml()), log_(kernel_log, device.pci_bus_id()) {
  const bool created = nvml_.call("nvmlEventSetCreate", &events_);
  if (!created || !device.call("nvmlDeviceRegisterEvents", kXidEvent, events_)) {
    if (created) nvml_.call("nvmlEventSetFree", events_);
    events_ = nullptr;
  }
  auto past = log_.past();
  if (!past) return;
  std::erase_if(*past, [](const XidReport& report) { return class_of_xid(report.number) != XidClass::fault; });
  past_.emplace().count = static_cast<double>(past->size());
  if (past->empty()) return;
  past_->last = past->back().number;
  past_->age_seconds = std::max(now - past->back().seconds, 0.0);
}

XidReports::~XidReports() {
  if (events_) nvml_.call("nvmlEventSetFree", events_);
}

void XidReports::drain() {
  if (events_) {
    drain_events();
  } else {
    for (const XidReport& report : log_.drain()) count(report.number);
  }
}

void XidReports::count(double number) {
  Xids& xids = counted_[class_of_xid(number)];
  ++xids.count;
  xids.last = number;
}

std::optional<Xids> XidReports::of(XidClass which) const {
  const bool readable = events_ ? !refused_ : log_.is_readable();
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

}  // namespace roofmark::cuda
