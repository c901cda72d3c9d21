// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "harness/device/device.hpp"

namespace roofmark {

/// Device::on_progress for as long as it lives.
class ProgressListener {
 public:
  ProgressListener(Device& device, std::function<void()> told) : device_(device) { device_.on_progress(std::move(told)); }
  ~ProgressListener() { device_.on_progress({}); }
  ProgressListener(const ProgressListener&) = delete;
  ProgressListener& operator=(const ProgressListener&) = delete;

 private:
  Device& device_;
};

}  // namespace roofmark
