// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "harness/device/cpu_device.hpp"
#include "harness/device/cuda_device.hpp"
#include "harness/device/device.hpp"
#include "harness/machine/pci.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";

/// The N of "cuda:N"; absent when the text is something else.
std::optional<int> cuda_ordinal(std::string_view text) {
  if (!text.starts_with(kCudaPrefix)) return std::nullopt;
  const char* const end = text.data() + text.size();
  int ordinal = 0;
  const auto [stop, error] = std::from_chars(text.data() + kCudaPrefix.size(), end, ordinal);
  if (error != std::errc() || stop != end || ordinal < 0) return std::nullopt;
  return ordinal;
}

std::string cuda_id(int ordinal) { return std::string(kCudaPrefix) + std::to_string(ordinal); }

CudaDevices cuda_devices_of_this_build() {
  if (cuda_devices) return cuda_devices();
  return {{}, "this roofmark was built without CUDA; install a CUDA toolkit and build again"};
}

}  // namespace

std::string unusable_in_words(const CudaDevices& cuda) {
  return fmt::format("this host has {} NVIDIA GPU{}, but no GPU can be used: {}; --device cpu measures the CPU", cuda.unusable,
                     cuda.unusable == 1 ? "" : "s", cuda.reason);
}

std::vector<std::string> resolve_devices(const std::string& value, const CudaDevices& cuda, std::string& note) {
  const std::optional<int> wanted = value == "cuda" ? 0 : cuda_ordinal(value);
  if (!wanted && value != "auto" && value != "cpu" && value != "all") {
    throw std::invalid_argument("unknown device '" + value + "' (known: auto, cpu, cuda, cuda:N, all)");
  }
  if (value == "cpu") return {"cpu"};
  if (cuda.ordinals.empty()) {
    if (value != "auto") throw DeviceError("no GPU can be used: " + cuda.reason, false);
    if (cuda.unusable > 0) throw DeviceError(unusable_in_words(cuda), false);
    note = "no GPU can be used, so the CPU is measured: " + cuda.reason;
    return {"cpu"};
  }
  if (value == "auto") return {cuda_id(cuda.ordinals.front())};
  std::vector<std::string> all;
  for (int ordinal : cuda.ordinals) all.push_back(cuda_id(ordinal));
  if (value == "all") return all;
  if (std::find(cuda.ordinals.begin(), cuda.ordinals.end(), *wanted) == cuda.ordinals.end()) {
    std::string known;
    for (const std::string& id : all) known += (known.empty() ? "" : ", ") + id;
    throw DeviceError("no " + cuda_id(*wanted) + " on this host (known: " + known + ")", false);
  }
  return {cuda_id(*wanted)};
}

void expect_gpus(int expected, const CudaDevices& cuda, int on_pci, const char* visible) {
  const std::size_t usable = cuda.ordinals.size();
  if (usable == static_cast<std::size_t>(expected)) return;
  std::string text = fmt::format("{} GPU{} expected, {} can be used (PCI lists {}{})", expected, expected == 1 ? "" : "s",
                                 usable, on_pci, visible ? fmt::format(", CUDA_VISIBLE_DEVICES is {}", visible) : "");
  if (usable == 0) {
    text += ": " + cuda.reason;
  } else if (usable < static_cast<std::size_t>(expected)) {
    text += "; the driver may have lost one: look for NVRM in dmesg";
    if (visible) text += "; CUDA ends at the first number of CUDA_VISIBLE_DEVICES that has no GPU";
  }
  throw DeviceError(text, false);
}

void expect_gpus(int expected) {
  expect_gpus(expected, cuda_devices_of_this_build(), gpus_to_compute_with("/"), std::getenv("CUDA_VISIBLE_DEVICES"));
}

std::vector<std::string> resolve_devices(const std::string& value, std::string& note) {
  return resolve_devices(value, value == "cpu" ? CudaDevices{} : cuda_devices_of_this_build(), note);
}

std::unique_ptr<Device> open_device(const std::string& id) {
  if (id == "cpu") return open_cpu_device();
  const std::optional<int> ordinal = cuda_ordinal(id);
  if (!ordinal) throw std::invalid_argument("'" + id + "' is not a device (known: cpu, cuda:N)");
  if (!open_cuda_device) throw DeviceError("no GPU can be used: " + cuda_devices_of_this_build().reason, false);
  return open_cuda_device(*ordinal);
}

}  // namespace roofmark
