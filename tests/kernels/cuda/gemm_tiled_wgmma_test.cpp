// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/device/cuda_device.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/element.hpp"
#include "kernels/base/mix.hpp"
#include "kernels/gemm.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const GemmKernels& kTiledProducts = cuda::gemm_tiled_wgmma;
constexpr DataType kProductTypes[] = {DataType::tf32, DataType::fp16, DataType::bf16, DataType::fp8, DataType::int8};

GemmProblem product(DataType type, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  return {m, n, k, type, GemmLayout::tn, batch};
}

TEST(GemmTiledWgmma, SaysWhatItIsAndWhatItMultiplies) {
  EXPECT_EQ(kTiledProducts.library, "tiled_wgmma");
  const GemmProblem fits = product(DataType::bf16, 256, 7, 64);
  EXPECT_THAT(kTiledProducts.unsupported(fits, 90), IsEmpty());
  for (int other : {80, 89, 100, 120}) EXPECT_THAT(kTiledProducts.unsupported(fits, other), HasSubstr("9.0")) << other;
  const auto refused = [&](auto change, const std::string& reason) {
    GemmProblem problem = fits;
    change(problem);
    EXPECT_THAT(kTiledProducts.unsupported(problem, 90), HasSubstr(reason));
  };
  refused([](GemmProblem& p) { p = product(DataType::fp64, 256, 7, 64); }, "not fp64");
  refused([](GemmProblem& p) { p.layout = GemmLayout::nn; }, "layout tn");
  refused([](GemmProblem& p) { p.output = DataType::fp32; }, "type of D");
  refused([](GemmProblem& p) { p.epilogue = GemmEpilogue::bias; }, "epilogue");
  refused([](GemmProblem& p) { p.accumulates = true; }, "beta:1");
  refused([](GemmProblem& p) { p.scaling = GemmScaling::vec128; }, "scale:vec128");
  refused([](GemmProblem& p) { p.k = 60; }, "multiple of 8");
  refused([](GemmProblem& p) { p.m = 252; }, "multiple of 8");
  refused([](GemmProblem& p) { p.n = (std::int64_t{1} << 31) - 255; }, "2^31 - 256");
  EXPECT_THAT(kTiledProducts.unsupported(product(DataType::fp8, 8, 1, 8), 90),
              HasSubstr("k that is a multiple of 16, and m of 8"));
}

class GemmTiledWgmmaTest : public testing::Test {
 protected:
  void SetUp() override {
    const CudaDevices devices = cuda_devices();
    if (devices.ordinals.empty()) GTEST_SKIP() << "no GPU: " << devices.reason;
    device_ = open_cuda_device(devices.ordinals.front());
    const std::string why = kTiledProducts.unsupported(product(DataType::bf16, 8, 1, 8), device_->info().compute_capability);
    if (!why.empty()) GTEST_SKIP() << why;
  }

  /// Whole numbers from -2 to 2: with few terms every sum is exact in every type and order.
  struct Operand {
    Operand(DataType type, std::int64_t count, std::uint64_t seed)
        : stored(static_cast<std::size_t>(count) * size_of(type)), values(static_cast<std::size_t>(count)) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<int>(mix(seed + i * kGoldenGamma) >> 40) % 5 - 2;
        store(type, stored.data(), i, values[i]);
      }
    }
    std::vector<unsigned char> stored;
    std::vector<int> values;
  };

  Memory copied(const void* data, std::size_t bytes) {
    Memory memory = device_->allocate(bytes);
    device_->to_device(memory.get(), data, bytes);
    return memory;
  }

  /// Every element of D by every algorithm, and that nothing is written beside D. `columns`: of each product, where they
  /// differ.
  void expect_product(const GemmProblem& p, const std::vector<std::int32_t>& columns = {}) {
    SCOPED_TRACE(std::string(name(p.type)) + " " + std::to_string(p.m) + " x " + std::to_string(p.n) + " x " +
                 std::to_string(p.k) + ", batch " + std::to_string(p.batch));
    const Operand a(p.type, p.batch * p.m * p.k, 1), b(p.type, p.batch * p.n * p.k, 2);
    std::vector<std::int32_t> first = {0};
    for (std::int64_t i = 0; i < p.batch; ++i) {
      first.push_back(first.back() + (columns.empty() ? static_cast<std::int32_t>(p.n) : columns[static_cast<std::size_t>(i)]));
    }
    ASSERT_EQ(first.back(), p.batch * p.n);
    const Memory on_device[] = {copied(a.stored.data(), a.stored.size()), copied(b.stored.data(), b.stored.size()),
                                copied(first.data(), first.size() * sizeof(first.front()))};
    const GemmOperands operands = {on_device[0].get(), on_device[1].get(), nullptr,
                                   columns.empty() ? nullptr : static_cast<const std::int32_t*>(on_device[2].get())};

    constexpr std::size_t kAround = 4096;
    const auto count = static_cast<std::size_t>(p.batch * p.m * p.n);
    const std::size_t bytes = count * size_of(p.output);
    const Memory d = device_->allocate(bytes + 2 * kAround);
    const auto plan = kTiledProducts.plan(p, 8, operands);
    const std::vector<std::string>& algorithms = plan->algorithms();
    ASSERT_EQ(algorithms.size(), device_->info().multiprocessors > 1 ? 2 : 1);
    for (int algorithm = 0; algorithm < static_cast<int>(algorithms.size()); ++algorithm) {
      SCOPED_TRACE(algorithms[static_cast<std::size_t>(algorithm)]);
      device_->poison(d.get(), bytes + 2 * kAround);
      plan->launch(algorithm, operands, static_cast<char*>(d.get()) + kAround, nullptr, device_->stream());
      device_->synchronize();
      std::vector<unsigned char> all(bytes + 2 * kAround);
      device_->to_host(all.data(), d.get(), all.size());
      for (std::size_t i = 0; i < kAround; ++i) {
        ASSERT_TRUE(all[i] == 0xFF && all[kAround + bytes + i] == 0xFF) << "written " << i << " bytes beside D";
      }
      for (std::size_t i = 0; i < static_cast<std::size_t>(p.batch); ++i) {
        for (std::int64_t column = first[i]; column < first[i + 1]; ++column) {
          for (std::int64_t row = 0; row < p.m; ++row) {
            const int* const left = &a.values[i * static_cast<std::size_t>(p.m * p.k) + static_cast<std::size_t>(row * p.k)];
            const int* const right = &b.values[static_cast<std::size_t>(column * p.k)];
            int sum = 0;
            for (std::int64_t l = 0; l < p.k; ++l) sum += left[l] * right[l];
            double rounded[1];
            store(p.output, rounded, 0, p.alpha * sum);
            ASSERT_EQ(load_as_double(p.output, all.data() + kAround, static_cast<std::size_t>(column * p.m + row)),
                      load_as_double(p.output, rounded, 0))
                << "product " << i << ", row " << row << ", column " << column;
          }
        }
      }
    }
  }

  std::unique_ptr<Device> device_;
};

// One chunk of 16 bytes; parts of a tile and of a step; one more than a tile; more steps than stages.
TEST_F(GemmTiledWgmmaTest, MultipliesEveryTypeAtAwkwardSizes) {
  for (DataType type : kProductTypes) {
    const std::int64_t terms = 128 / static_cast<std::int64_t>(size_of(type));
    expect_product(product(type, 8, 1, 16));
    expect_product(product(type, 264, 130, terms + 16));
    expect_product(product(type, 48, 257, 6 * terms));
    if (HasFailure()) return;
  }
}

TEST_F(GemmTiledWgmmaTest, ScalesByAlpha) {
  GemmProblem problem = product(DataType::bf16, 16, 8, 64);
  problem.alpha = 0.125;
  expect_product(problem);
}

// Every block has several tiles, of one product and of several; more than a band of tiles along the columns.
TEST_F(GemmTiledWgmmaTest, MoreTilesThanProcessors) {
  const std::int64_t processors = device_->info().multiprocessors;
  expect_product(product(DataType::bf16, 520, 128 * (processors + 1) + 3, 72));
  expect_product(product(DataType::int8, 272, 40, 48, 3 * processors));
}

TEST_F(GemmTiledWgmmaTest, BandsCoverManyColumns) { expect_product(product(DataType::fp8, 272, 17 * 128 + 5, 32)); }

// A product without columns at each end and between, one of several tiles, and more products than a warp has lanes.
TEST_F(GemmTiledWgmmaTest, MultipliesUnevenBatches) {
  expect_product(product(DataType::bf16, 264, 84, 72, 5), {0, 270, 0, 150, 0});
  for (DataType type : {DataType::tf32, DataType::fp8}) expect_product(product(type, 24, 3, 32, 4), {1, 0, 10, 1});
  std::vector<std::int32_t> many(70);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 5 : 1;
  many[40] += 300;
  std::int32_t all = 0;
  for (std::int32_t columns : many) all += columns;
  many.back() += 70 - all % 70;
  expect_product(product(DataType::bf16, 16, (all + 70 - all % 70) / 70, 16, 70), many);
}

TEST_F(GemmTiledWgmmaTest, FirstProposesClustersWhereTheColumnsFillThem) {
  if (device_->info().multiprocessors == 1) GTEST_SKIP() << "one SM has no clusters of two";
  const auto first = [&](std::int64_t n) {
    return kTiledProducts.plan(product(DataType::bf16, 256, n, 64), 1, {})->algorithms();
  };
  EXPECT_THAT(first(128), testing::ElementsAre(HasSubstr("cluster 1")));
  EXPECT_THAT(first(129), testing::ElementsAre(HasSubstr("cluster 2")));
}

TEST_F(GemmTiledWgmmaTest, RefusesWhatItHasNoKernelFor) {
  EXPECT_THROW(kTiledProducts.plan(product(DataType::fp32, 8, 8, 8), 1, {}), Unsupported);
  EXPECT_THROW(kTiledProducts.plan(product(DataType::bf16, 1 << 24, 1 << 24, 8), 1, {}), Unsupported) << "2^32 tiles";
}

}  // namespace
}  // namespace roofmark
