// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/memory_in_use.hpp"

#include <fmt/format.h>

#include "harness/model/units.hpp"

namespace roofmark {
namespace {

/// Driver and context took 552 MB of an H100 and of an H200 (results/reference). Twice that, and a share for GPUs whose context
/// or reserve is larger.
constexpr double kUsualBytes = kGiB, kUsualShare = 0.02;

std::string held_by(const GpuFacts& gpu, double used, double most_usual) {
  std::string text;
  double listed = 0;
  bool all_known = true;
  for (const ForeignProcess& process : gpu.foreign_processes.value_or(std::vector<ForeignProcess>())) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", process.pid, process.name);
    if (process.memory_bytes) text += fmt::format(" ({})", format_bytes(static_cast<double>(*process.memory_bytes)));
    listed += static_cast<double>(process.memory_bytes.value_or(0));
    all_known &= process.memory_bytes.has_value();
  }
  const double rest = used - listed;
  if (text.empty()) return "by no process that is visible here";
  return all_known && rest > most_usual ? fmt::format("by {}; {} by none that is visible here", text, format_bytes(rest))
                                        : "by " + text;
}

}  // namespace

std::optional<MemoryInUse> memory_in_use(const DeviceInfo& device) {
  if (device.backend != Backend::cuda || device.integrated || device.used_bytes == 0) return std::nullopt;
  const auto used = static_cast<double>(device.used_bytes), all = static_cast<double>(device.memory_bytes);
  MemoryInUse memory;
  memory.most_usual_bytes = kUsualBytes + kUsualShare * all;
  if (used <= memory.most_usual_bytes) return memory;
  memory.unusual = fmt::format("{} of {} in use {}", format_bytes(used), format_bytes(all),
                               held_by(device.gpu, used, memory.most_usual_bytes));
  memory.remedy =
      "the memory test covers only what is free, and large cases are smaller: stop what holds it (nvidia-smi lists the "
      "programs "
      "of a display too). A GPU reset or a reboot frees what a process that cannot end (state D) still holds";
  if (reaches_host_by_c2c(device.gpu)) {
    memory.remedy +=
        ". The kernel may also keep file caches in this GPU's memory: echo 1 > /proc/sys/vm/drop_caches as root frees them";
  }
  return memory;
}

std::vector<Finding> find_memory_in_use(const DeviceInfo& device) {
  const auto memory = memory_in_use(device);
  if (!memory || memory->unusual.empty()) return {};
  return {{FindingKind::memory_in_use,
           fmt::format("before the run {}; {}", memory->unusual, memory->remedy),
           {},
           static_cast<double>(device.used_bytes),
           fmt::format("{} of the GPU's memory was in use", format_bytes(static_cast<double>(device.used_bytes)))}};
}

}  // namespace roofmark
