// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "harness/device/gpu_facts.hpp"

namespace roofmark {

/// What a PCIe link carries in one direction; absent for a generation that is not known, or without lanes.
std::optional<double> pcie_bytes_per_second(int generation, int lanes);
/// The same with its source.
LinkRate pcie_rate(std::optional<int> generation, std::optional<int> lanes);

/// The narrowest link between a GPU and its host: its own, or one between a switch and the port above it, by the kernel.
/// `device` is the GPU's folder, and its facts have the rest.
LinkRate way_to_host(const GpuFacts& gpu, const std::filesystem::path& device);
/// Of the link between the host's port and the switch below it, which GPUs behind that switch share. Absent without a switch,
/// and where the kernel does not tell.
std::optional<double> root_port_bytes_per_second(const GpuFacts& gpu, const std::filesystem::path& device);

}  // namespace roofmark
