// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "harness/device/device.hpp"

namespace roofmark {

/// Device::on_progress for as long as it lives.
class Progress {
 public:
  Progress(Device& device, std::function<void()> told) : device_(device) { device_.on_progress(std::move(told)); }
  ~Progress() { device_.on_progress({}); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  Device& device_;
};

}  // namespace roofmark
