// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/device/device.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/element.hpp"

namespace roofmark {

/// Tests of an operation's table on the device that the parameter names; skipped where there is no such device or no table.
template <class Kernels>
class KernelTest : public testing::TestWithParam<const char*> {
 protected:
  KernelTest(const Kernels* cuda, const Kernels* cpu) : cuda_(cuda), cpu_(cpu) {}

  void SetUp() override {
    try {
      device_ = open_device(GetParam());
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
    kernels_ = select(device_->info().backend, cuda_, cpu_);
    if (!kernels_) GTEST_SKIP() << "this build has no such kernels for " << GetParam();
  }
  bool on_gpu() const { return device_->info().backend == Backend::cuda; }

  std::unique_ptr<Device> device_;
  const Kernels* kernels_ = nullptr;

 private:
  const Kernels *cuda_, *cpu_;
};

/// cpu or cuda.
inline std::string device_name(const testing::TestParamInfo<const char*>& info) {
  const std::string device = info.param;
  return device.substr(0, device.find(':'));
}

/// An array in device memory that starts `offset` elements after an aligned address, with poison in it and on both sides.
class Array {
 public:
  Array(Device& device, DataType type, std::int64_t count, std::size_t offset)
      : device_(device),
        type_(type),
        count_(static_cast<std::size_t>(count)),
        offset_(offset),
        memory_(device.allocate(all_bytes())) {
    device_.poison(memory_.get(), all_bytes());
  }
  void* data() const { return static_cast<char*>(memory_.get()) + offset_ * size_of(type_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data());
  }
  DataType type() const { return type_; }
  std::size_t count() const { return count_; }
  void fill(std::uint64_t array) const { device_.fill(data(), type_, count_, {Distribution::normal, 1, array}); }
  void set(const std::vector<double>& values) const {
    ASSERT_EQ(values.size(), count_);
    std::vector<unsigned char> bytes(count_ * size_of(type_));
    for (std::size_t i = 0; i < count_; ++i) store(type_, bytes.data(), i, values[i]);
    device_.to_device(data(), bytes.data(), bytes.size());
  }
  std::vector<double> values() const {
    const std::vector<unsigned char> bytes = everything();
    std::vector<double> all(count_);
    for (std::size_t i = 0; i < count_; ++i) all[i] = load_as_double(type_, bytes.data(), offset_ + i);
    return all;
  }
  /// Whether the poison before and after the array still stands.
  bool untouched_around() const {
    const std::vector<unsigned char> bytes = everything();
    const std::size_t begin = offset_ * size_of(type_), end = begin + count_ * size_of(type_);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if ((i < begin || i >= end) && bytes[i] != 0xff) return false;
    }
    return true;
  }

 private:
  std::size_t all_bytes() const { return (offset_ + count_ + 64) * size_of(type_); }
  std::vector<unsigned char> everything() const {
    std::vector<unsigned char> bytes(all_bytes());
    device_.to_host(bytes.data(), memory_.get(), bytes.size());
    return bytes;
  }

  Device& device_;
  DataType type_;
  std::size_t count_, offset_;
  Memory memory_;
};

}  // namespace roofmark
