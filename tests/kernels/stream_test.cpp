// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/stream.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/device/random.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

constexpr DataType kStreamTypes[] = {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16};
constexpr double kScalar = 13.0 / 32.0;

/// What an operation gives for one element, or adds to the sum, in float64.
double expected(StreamOp op, double x, double y) {
  switch (op) {
    case StreamOp::write:
      return kScalar;
    case StreamOp::scale:
      return kScalar * x;
    case StreamOp::add:
      return x + y;
    case StreamOp::triad:
      return x + kScalar * y;
    case StreamOp::dot:
      return x * y;
    default:
      return x;
  }
}

class StreamTest : public KernelTest<StreamKernels> {
 protected:
  StreamTest() : KernelTest(&cuda::stream, &cpu::stream) {}

  void run(StreamOp op, DataType type, void* to, Array& x, Array& y, std::size_t count) {
    const std::size_t bytes = kernels_->workspace_bytes(op, count);
    if (bytes > workspace_bytes_) {
      workspace_ = device_->allocate(bytes);
      workspace_bytes_ = bytes;
      device_->zero(workspace_.get(), bytes);
    }
    kernels_->launch(op, type, to, input_count(op) > 0 ? x.data() : nullptr, input_count(op) > 1 ? y.data() : nullptr, count,
                     kScalar, workspace_.get(), device_->stream());
    device_->synchronize();
  }

  double sum(StreamOp op, DataType type, Array& x, Array& y, std::size_t count) {
    const Memory to = device_->allocate(sizeof(double));
    device_->poison(to.get(), sizeof(double));
    run(op, type, to.get(), x, y, count);
    double got = 0;
    device_->to_host(&got, to.get(), sizeof(got));
    return got;
  }

  Memory workspace_;
  std::size_t workspace_bytes_ = 0;
};

TEST_P(StreamTest, IsRightAtEveryLengthAndAlignment) {
  struct Offsets {
    std::size_t to, x, y;
  };
  // Aligned; misaligned alike; each otherwise.
  constexpr Offsets kOffsets[] = {{0, 0, 0}, {3, 3, 3}, {1, 0, 2}};
  for (DataType type : kStreamTypes) {
    if (!kernels_->supports(type)) continue;
    // Two packets less than the smallest tile, for each element size; enough blocks for two partial sums per thread.
    for (std::int64_t n : {0, 1, 7, 1001, 1020, 2040, 4080, 300'007}) {
      const auto count = static_cast<std::size_t>(n);
      for (const Offsets& offsets : kOffsets) {
        Array x(*device_, type, n, offsets.x), y(*device_, type, n, offsets.y);
        x.fill(0);
        y.fill(1);
        const std::vector<double> a = x.values(), b = y.values();
        for (StreamOp op : kStreamOps) {
          SCOPED_TRACE(std::string(name(op)) + " " + std::string(name(type)) + " " + std::to_string(count) + " at " +
                       std::to_string(offsets.to));
          if (is_reduction(op)) {
            double exact = 0, magnitudes = 0;
            for (std::size_t i = 0; i < count; ++i) {
              exact += expected(op, a[i], b[i]);
              magnitudes += std::abs(expected(op, a[i], b[i]));
            }
            const double u = type == DataType::fp64 ? static_cast<double>(count) * unit_roundoff(DataType::fp64)
                                                    : kStreamChunk * unit_roundoff(DataType::fp32);
            EXPECT_NEAR(sum(op, type, x, y, count), exact, 2 * u * magnitudes);
            continue;
          }
          Array to(*device_, type, n, offsets.to);
          run(op, type, to.data(), x, y, count);
          EXPECT_TRUE(to.untouched_around());
          const std::vector<double> got = to.values();
          const double roundings = op == StreamOp::write || op == StreamOp::copy ? 0 : 4;
          for (std::size_t i = 0; i < count; ++i) {
            const double tolerance = roundings * unit_roundoff(type) * (std::abs(a[i]) + std::abs(b[i]));
            ASSERT_NEAR(got[i], expected(op, a[i], b[i]), tolerance) << "element " << i;
          }
        }
      }
    }
  }
}

// Sets around the size of the caches take other paths than small ones.
TEST_P(StreamTest, IsRightFromCachesToMemory) {
  // Of an array: far under the cache, within it, all arrays within it together, and far over it.
  const std::size_t cache = device_->info().last_level_cache_bytes();
  const std::vector<std::size_t> sizes = on_gpu() ? std::vector<std::size_t>{cache / 20, cache / 5, cache / 3, 10 * cache / 3}
                                                  : std::vector<std::size_t>{1 << 20, 40 << 20};
  for (std::size_t bytes : sizes) {
    for (DataType type : kStreamTypes) {
      if (!kernels_->supports(type)) continue;
      const std::size_t count = bytes / size_of(type) - 5;
      Array x(*device_, type, count, 1), y(*device_, type, count, 1), to(*device_, type, count, 1);
      x.fill(0);
      y.fill(1);
      for (StreamOp op : kStreamOps) {
        SCOPED_TRACE(std::string(name(op)) + " " + std::string(name(type)) + " " + std::to_string(count));
        if (is_reduction(op)) {
          const TermSums terms = device_->sum_terms(type, x.data(), op == StreamOp::dot ? y.data() : nullptr, count);
          // Far under one term, far over rounding errors of random signs.
          EXPECT_NEAR(sum(op, type, x, y, count), terms.sum, 1e-6 * std::sqrt(terms.squares));
          continue;
        }
        device_->poison(to.data(), count * size_of(type));
        run(op, type, to.data(), x, y, count);
        const double alpha = op == StreamOp::scale ? kScalar : 1, beta = op == StreamOp::triad ? kScalar : 1;
        const double constant = op == StreamOp::write ? kScalar : 0;
        const ElementwiseError error =
            device_->compare_linear(type, to.data(), count, alpha, input_count(op) > 0 ? x.data() : nullptr, beta,
                                    input_count(op) > 1 ? y.data() : nullptr, constant);
        EXPECT_LE(error.worst, input_count(op) == 0 || op == StreamOp::copy ? 0 : 4) << "element " << error.index;
      }
    }
  }
}

TEST_P(StreamTest, SumsHaveTheSameBitsEveryTime) {
  for (DataType type : kStreamTypes) {
    if (!kernels_->supports(type)) continue;
    const std::size_t count = (on_gpu() ? 23'000 * static_cast<std::size_t>(device_->info().multiprocessors) : 3'000'000) + 1;
    Array x(*device_, type, count, 0), y(*device_, type, count, 0);
    x.fill(0);
    y.fill(1);
    for (StreamOp op : {StreamOp::read, StreamOp::dot}) {
      const double first = sum(op, type, x, y, count);
      for (int i = 0; i < 10; ++i) EXPECT_EQ(sum(op, type, x, y, count), first) << name(op) << " " << name(type);
    }
  }
}

TEST_P(StreamTest, TheLibraryCopiesAndFills) {
  if (!kernels_->library_copy || !kernels_->library_fill) GTEST_SKIP() << "no library copy and fill on " << GetParam();
  const std::size_t count = 1000003;
  Array x(*device_, DataType::fp32, count, 1), to(*device_, DataType::fp32, count, 1);
  x.fill(0);
  kernels_->library_copy(to.data(), x.data(), 4 * count, device_->stream());
  device_->synchronize();
  EXPECT_EQ(to.values(), x.values());
  EXPECT_TRUE(to.untouched_around());
  kernels_->library_fill(to.data(), 0x3c, 4 * count, device_->stream());
  device_->synchronize();
  EXPECT_EQ(to.values(), std::vector<double>(count, same_bits<float>(0x3c3c3c3cu)));
  EXPECT_TRUE(to.untouched_around());
}

INSTANTIATE_TEST_SUITE_P(Devices, StreamTest, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
