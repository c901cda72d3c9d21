// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

class Transpose : public KernelTest<TransposeKernels> {
 protected:
  Transpose() : KernelTest(&cuda::transpose, &cpu::transpose) {}
};

TEST_P(Transpose, MovesEveryElementAndWritesNothingElse) {
  struct Shape {
    std::int64_t rows, columns;
  };
  for (const DataType type : {DataType::fp64, DataType::fp32, DataType::bf16, DataType::int8}) {
    // One element; less than a tile; one row, one column; whole tiles of both sizes; ragged on both sides; ragged in whole
    // words of two and of four elements.
    for (const auto& [rows, columns] :
         {Shape{1, 1}, {5, 3}, {1, 257}, {257, 1}, {128, 64}, {67, 129}, {130, 65}, {66, 130}, {68, 132}, {4, 4}}) {
      for (const std::size_t offset : {0, 1}) {
        SCOPED_TRACE(testing::Message() << name(type) << " " << rows << " x " << columns << " at " << offset);
        // The input ends where its memory ends, so that reading beyond it is an error.
        const auto count = static_cast<std::size_t>(rows * columns);
        const Memory memory = device_->allocate((offset + count) * size_of(type));
        void* const in = static_cast<char*>(memory.get()) + offset * size_of(type);
        device_->fill(in, type, count, {Distribution::normal, 1, 0});
        const Array out(*device_, type, rows * columns, offset);
        kernels_->launch(type, out.data(), in, rows, columns, device_->stream());
        device_->synchronize();
        std::vector<unsigned char> before(count * size_of(type));
        device_->to_host(before.data(), in, before.size());
        std::vector<double> expected;
        for (std::int64_t c = 0; c < columns; ++c) {
          for (std::int64_t r = 0; r < rows; ++r) expected.push_back(load_as_double(type, before.data(), r * columns + c));
        }
        EXPECT_EQ(out.values(), expected);
        EXPECT_TRUE(out.untouched_around());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Transpose, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
