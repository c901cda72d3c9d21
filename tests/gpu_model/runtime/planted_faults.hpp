// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Faults of the machine that the environment plants in kernel launches.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "device.hpp"
#include "memory.hpp"

namespace gpu_model::runtime {

/// The factor on the kernel's time; 1 without a fault.
double slowdown(const std::string& kernel, const Device& device);

/// Whether this launch is to hang, or to end with an illegal address. Each call counts one launch.
bool is_to_hang(const std::string& kernel, const Device& device);
bool is_to_fail(const std::string& kernel, const Device& device);

/// Never returns. Call it without a lock, so that other streams go on and the process can exit.
[[noreturn]] void hang();

/// Whether the kernel is too slow to interpret.
bool is_to_be_skipped(const std::string& kernel, double threads);

/// A bit that flips in the output of one launch. Each construction counts one launch.
class PlantedFlip {
 public:
  /// Before the launch: copies the allocations that the parameters point to. `parameters`: their bytes, each one aligned to 8.
  PlantedFlip(const std::string& kernel, const Device& device, const std::vector<char>& parameters);
  /// After the launch: flips the bit.
  void apply();

 private:
  struct Snapshot {
    Allocation allocation;
    std::vector<char> bytes;
  };
  std::string kernel_;
  int device_;
  bool strikes_ = false;
  std::size_t byte_ = 0;
  std::vector<Snapshot> before_;
};

}  // namespace gpu_model::runtime
