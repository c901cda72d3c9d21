// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/gpu_model/interpreter/interpreter.hpp"

namespace gpu_model {

/// Sets a variable of the environment for as long as it lives. The interpreter reads its variables at every launch.
class Setting {
 public:
  Setting(std::string name, const std::string& value) : name_(std::move(name)) { setenv(name_.c_str(), value.c_str(), 1); }
  ~Setting() { unsetenv(name_.c_str()); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  std::string name_;
};

/// Host memory that kernels may access.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count, T value = {}) : values_(count, value) {
    allow_range(values_.data(), count * sizeof(T));
  }
  ~DeviceArray() { forbid_range(values_.data()); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return values_.data(); }
  T& operator[](std::size_t i) { return values_[i]; }
  std::vector<T>& values() { return values_; }
  template <class Function>
  void fill(Function value) {
    for (T& element : values_) element = value();
  }

 private:
  std::vector<T> values_;
};

/// The text of the fault that a call ends with; fails where there is none or one of another kind.
template <class Call>
std::string text_of_fault(Fault::Kind kind, Call call) {
  try {
    call();
  } catch (const Fault& fault) {
    EXPECT_EQ(static_cast<int>(fault.kind), static_cast<int>(kind)) << fault.what();
    return fault.what();
  }
  ADD_FAILURE() << "no fault";
  return "";
}

/// Multiples of 1/4 from -2 to 2: products and short sums of them are exact in every type that kernels accumulate in.
class Quarters {
 public:
  float operator()() { return static_cast<float>(static_cast<int>(random_() % 17) - 8) * 0.25f; }

 private:
  std::mt19937 random_{7};
};

}  // namespace gpu_model
