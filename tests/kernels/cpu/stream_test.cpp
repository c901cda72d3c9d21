// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/stream.hpp"

#include <gmock/gmock.h>
#include <omp.h>

#include <cstring>

#include "harness/device/cpu_device.hpp"

namespace roofmark {
namespace {

class CpuStreamTest : public testing::TestWithParam<std::size_t> {
 protected:
  std::unique_ptr<Device> device = open_cpu_device();
};

// One core's work, a shared one, and one past the caches.
INSTANTIATE_TEST_SUITE_P(Sizes, CpuStreamTest, testing::Values(1, 1001, 100'003, 6'000'007));

TEST_P(CpuStreamTest, EveryOperationOverTheWholeArray) {
  const std::size_t n = GetParam();
  for (DataType type : {DataType::fp64, DataType::fp32}) {
    const std::size_t bytes = n * size_of(type);
    const Memory x = device->allocate(bytes), y = device->allocate(bytes), to = device->allocate(bytes + 8);
    device->fill(x.get(), type, n, {Distribution::normal, 1, 0});
    device->fill(y.get(), type, n, {Distribution::normal, 1, 1});
    constexpr double s = 0.40625;
    for (StreamOp op : kStreamOps) {
      SCOPED_TRACE(std::string(name(op)) + " " + std::string(name(type)));
      const void* first = input_count(op) > 0 ? x.get() : nullptr;
      const void* second = input_count(op) > 1 ? y.get() : nullptr;
      const Memory workspace = device->allocate(cpu::stream.workspace_bytes(op, n));
      device->poison(to.get(), bytes + 8);
      cpu::stream.launch(op, type, to.get(), first, second, n, s, workspace.get(), nullptr);
      if (is_reduction(op)) {
        const double got = *static_cast<double*>(to.get());
        const TermSums terms = device->sum_terms(type, first, second, n);
        EXPECT_NEAR(got, terms.sum, 32 * unit_roundoff(type) * std::sqrt(terms.squares) + 1e-9);
        cpu::stream.launch(op, type, to.get(), first, second, n, s, workspace.get(), nullptr);
        EXPECT_EQ(*static_cast<double*>(to.get()), got) << "the sum depends on when the threads ended";
        continue;
      }
      const double alpha = op == StreamOp::scale ? s : 1, beta = op == StreamOp::triad ? s : 1;
      const double constant = op == StreamOp::write ? s : 0;
      EXPECT_LE(device->compare_linear(type, to.get(), n, alpha, first, beta, second, constant).worst, 4);
      EXPECT_EQ(static_cast<unsigned char*>(to.get())[bytes], 0xFF) << "written past the end";
    }
  }
}

TEST_P(CpuStreamTest, TheLibrarysCopyAndFill) {
  const std::size_t bytes = GetParam();
  const Memory x = device->allocate(bytes), to = device->allocate(bytes + 1);
  device->fill(x.get(), DataType::int8, bytes, {});
  device->poison(to.get(), bytes + 1);
  cpu::stream.library_copy(to.get(), x.get(), bytes, nullptr);
  EXPECT_EQ(std::memcmp(to.get(), x.get(), bytes), 0);
  cpu::stream.library_fill(to.get(), 0x3c, bytes, nullptr);
  const auto* data = static_cast<const unsigned char*>(to.get());
  EXPECT_EQ(std::count(data, data + bytes, 0x3c), static_cast<std::ptrdiff_t>(bytes));
  EXPECT_EQ(data[bytes], 0xFF);
}

TEST(CpuStream, KnowsFp64AndFp32) {
  for (DataType type : kArrayTypes) {
    EXPECT_EQ(cpu::stream.supports(type), type == DataType::fp64 || type == DataType::fp32) << name(type);
  }
}

}  // namespace
}  // namespace roofmark
