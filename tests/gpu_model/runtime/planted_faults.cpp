// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "planted_faults.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "diagnostics.hpp"

namespace gpu_model::runtime {
namespace {

bool concerns(const PlantedFault& fault, const std::string& kernel, const Device& device) {
  return kernel.find(fault.part) != std::string::npos && (fault.device == any_device || fault.device == device.physical());
}

const PlantedFault* find_fault(const std::vector<PlantedFault>& faults, const std::string& kernel, const Device& device) {
  for (const PlantedFault& fault : faults) {
    if (concerns(fault, kernel, device)) return &fault;
  }
  return nullptr;
}

/// Counts the launch for every fault that names the kernel. Returns a fault that strikes in this launch, or nullptr.
const PlantedFault* strike(const std::vector<PlantedFault>& faults, const std::string& kernel, const Device& device) {
  static std::mutex mutex;
  static std::map<const PlantedFault*, double> launches;
  const PlantedFault* found = nullptr;
  const std::lock_guard lock(mutex);
  for (const PlantedFault& fault : faults) {
    if (!concerns(fault, kernel, device)) continue;
    const double n = fault.numbers[0], launch = ++launches[&fault];
    if (n == 0 || n == launch) found = &fault;
  }
  return found;
}

}  // namespace

double slowdown(const std::string& kernel, const Device& device) {
  const PlantedFault* fault = find_fault(settings().slow, kernel, device);
  return fault ? fault->numbers[0] : 1;
}

bool is_to_hang(const std::string& kernel, const Device& device) {
  if (!strike(settings().hang, kernel, device)) return false;
  say("planted: %s never ends", kernel.c_str());
  return true;
}

bool is_to_fail(const std::string& kernel, const Device& device) {
  if (!strike(settings().sticky, kernel, device)) return false;
  say("planted: %s ends with an illegal address", kernel.c_str());
  return true;
}

void hang() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

bool is_to_be_skipped(const std::string& kernel, double threads) {
  const Settings& s = settings();
  if (std::any_of(s.skip.begin(), s.skip.end(),
                  [&](const std::string& part) { return kernel.find(part) != std::string::npos; })) {
    GPUMODEL_TRACE("skipped: %s (GPUMODEL_SKIP)", kernel.c_str());
    return true;
  }
  if (s.skip_over_threads == 0 || threads <= s.skip_over_threads) return false;
  say("skipped: %s of %.0f threads (GPUMODEL_SKIP_OVER)", kernel.c_str(), threads);
  return true;
}

PlantedFlip::PlantedFlip(const std::string& kernel, const Device& device, const std::vector<char>& parameters)
    : kernel_(kernel), device_(device.physical()) {
  const PlantedFault* struck = strike(settings().flip, kernel, device);
  const PlantedFault* watched = struck ? struck : find_fault(settings().flip, kernel, device);
  if (!watched) return;
  strikes_ = struck;
  byte_ = static_cast<std::size_t>(watched->numbers[1]);
  for (std::size_t i = 0; i + sizeof(void*) <= parameters.size(); i += sizeof(void*)) {
    void* pointer = nullptr;
    std::memcpy(&pointer, parameters.data() + i, sizeof pointer);
    const auto found = find_allocation(pointer);
    if (!found || found->device < 0) continue;
    const auto same = [&](const Snapshot& other) { return other.allocation.base == found->base; };
    if (std::any_of(before_.begin(), before_.end(), same)) continue;
    before_.push_back({*found, std::vector<char>(found->base, found->base + found->bytes)});
  }
}

void PlantedFlip::apply() {
  if (before_.empty()) return;
  // A launch that repeats an earlier one stores the bits that are there already. A flip then strikes where it would have struck
  // in the last launch that changed anything.
  static std::mutex mutex;
  static std::map<std::pair<std::string, int>, char*> targets;
  const std::lock_guard lock(mutex);
  char*& target = targets[{kernel_, device_}];
  // Where fewer bytes changed than the fault counts, the last of them is taken.
  std::size_t left = byte_ + 1;
  bool is_reachable = false;
  for (const Snapshot& snapshot : before_) {
    char* const data = snapshot.allocation.base;
    for (std::size_t i = 0; i < snapshot.bytes.size() && left; ++i) {
      if (data[i] == snapshot.bytes[i]) continue;
      target = data + i;
      --left;
    }
    is_reachable = is_reachable || (target >= data && target < data + snapshot.bytes.size());
  }
  if (!strikes_) return;
  if (is_reachable) *target ^= 0x10;
  say("planted: a bit of the output of %s %s", kernel_.c_str(),
      is_reachable ? "flips" : "cannot flip: no launch changed anything");
}

}  // namespace gpu_model::runtime
