// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "harness/device/device.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

/// Tests on the first GPU, or on the model; skipped, with the reason, where there is none. Outside of the programs for CUDA
/// files a test's name must have "OnAGpu" for CTest's label and for roofmark-selftest (tests/CMakeLists.txt).
class OnAGpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = open_device("cuda:0");
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  std::unique_ptr<Device> device_;
};

}  // namespace roofmark
