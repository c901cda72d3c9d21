// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/model/finding.hpp"

namespace roofmark {

/// What the host, or the machine around it, leaves of a link of the GPU. It is known before anything is measured.
struct GpuLink {
  std::string what, state;
  std::string advice;  ///< empty where all is there
  double lost = 0;     ///< the share of the rate of both ends that is missing; 0 where that can be healthy
};

/// The slot of the GPU, its NVLinks and its NVLink-C2C; only what is known of both sides.
std::vector<GpuLink> links_of(const DeviceInfo& gpu);
/// Those with something missing.
std::vector<Finding> find_missing_links(const DeviceInfo& gpu);

}  // namespace roofmark
