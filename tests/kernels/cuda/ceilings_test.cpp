// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ceilings.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "harness/device/random.hpp"
#include "tests/kernels/kernel_test.hpp"
#include "tests/on_a_gpu.hpp"

namespace roofmark {
namespace {

/// The probes on two SMs, in launches as short as they come.
class CudaCeilings : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (!device_) return;
    target_ = {device_->info().compute_capability, 2};
  }

  Array array(DataType type, std::size_t count) { return {*device_, type, static_cast<std::int64_t>(count), 0}; }

  std::vector<std::uint64_t> words(const void* data, std::size_t bytes) {
    std::vector<std::uint64_t> all(bytes / sizeof(std::uint64_t));
    device_->to_host(all.data(), data, bytes);
    return all;
  }
  /// Modulo 2^64.
  std::uint64_t sum_of_words(const void* data, std::size_t bytes) {
    const std::vector<std::uint64_t> all = words(data, bytes);
    return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
  }

  ProbeTarget target_;
};

/// One step of a chain, rounded once.
double fma_step(DataType type, double x) {
  const double m = fma_multiplier(type);
  if (type == DataType::fp64) return std::fma(x, m, 1);
  if (type == DataType::fp32) return std::fma(static_cast<float>(x), static_cast<float>(m), 1.0F);
  // Exact in double for 16-bit types, whose chains stay near 1.
  return with_type(
      type, [=]<DataType kType>() -> double { return Element<kType>::value(Element<kType>::rounded(std::fma(x, m, 1))); });
}

TEST_F(CudaCeilings, EveryFmaChainMakesEveryStep) {
  for (const DataType type : {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16}) {
    for (const std::size_t steps : {kStepMultiple, 3 * kStepMultiple}) {
      SCOPED_TRACE(std::string(name(type)) + " " + std::to_string(steps));
      const std::size_t chains = cuda::ceilings.fma_layout(type, target_).chains;
      const Array sink = array(type, chains);
      cuda::ceilings.fma(type, sink.data(), steps, target_, device_->stream());
      device_->synchronize();
      std::vector<double> expected(chains);
      for (std::size_t chain = 0; chain < chains; ++chain) {
        if (chain >= kFmaStarts) {
          expected[chain] = expected[chain - kFmaStarts];
          continue;
        }
        double x = fma_start(chain);
        for (std::size_t step = 0; step < steps; ++step) x = fma_step(type, x);
        expected[chain] = x;
      }
      EXPECT_EQ(sink.values(), expected);
      EXPECT_TRUE(sink.untouched_around());
    }
  }
}

TEST_F(CudaCeilings, EveryExp2ChainEndsAtTheFixedPoint) {
  const std::size_t chains = cuda::ceilings.exp2_layout(target_).chains;
  const Array sink = array(DataType::fp32, chains);
  cuda::ceilings.exp2(sink.as<float>(), kStepMultiple, target_, device_->stream());
  device_->synchronize();
  const double tolerance = 8 * unit_roundoff(DataType::fp32);
  for (const double end : sink.values()) ASSERT_NEAR(end, kExp2FixedPoint, tolerance);
  EXPECT_TRUE(sink.untouched_around());
}

/// What the lanes of all blocks have to hold, where A and B have these values.
std::vector<double> lane_sums(const TensorLayout& layout, const std::vector<double>& a, const std::vector<double>& b) {
  const std::size_t lanes = static_cast<std::size_t>(layout.warps) * 32;
  std::vector<double> sums(lanes * static_cast<std::size_t>(layout.blocks));
  for (int row = 0; row < layout.m; ++row) {
    for (int column = 0; column < layout.n; ++column) {
      double element = 0;
      for (int k = 0; k < layout.k; ++k) element += a[row * layout.k + k] * b[column * layout.k + k];
      const int lane = row / (layout.m / layout.warps) * 32 + row % 8 * 4 + column % 8 / 2;
      for (std::size_t i = static_cast<std::size_t>(lane); i < sums.size(); i += lanes) sums[i] += layout.depth * element;
    }
  }
  return sums;
}

// Products of -1, 0 and 1, whose sums every accumulator holds exactly.
TEST_F(CudaCeilings, EveryLaneOfATensorProbeHasTheSumOfItsElements) {
  using enum DataType;
  int probes = 0;
  for (const TensorInstruction instruction : kTensorInstructions) {
    for (const auto& [type, accumulate] :
         {std::pair{fp64, fp64}, std::pair{tf32, fp32}, std::pair{fp16, fp32}, std::pair{fp16, fp16}, std::pair{bf16, fp32},
          std::pair{fp8, fp32}, std::pair{int8, int32}}) {
      const TensorProbe probe{instruction, type, accumulate};
      const TensorLayout layout = cuda::ceilings.tensor_layout(probe, target_);
      if (layout.blocks == 0) continue;
      ++probes;
      SCOPED_TRACE(testing::Message() << name(instruction) << ' ' << name(type) << " in " << name(accumulate));
      const auto operand = [&](int rows, std::uint64_t number) {
        std::vector<double> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(layout.k));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(random_bits(3, number, i) % 3) - 1;
        return values;
      };
      const std::vector<double> a = operand(layout.m, 0), b = operand(layout.n, 1);
      const Array a_array = array(type, a.size()), b_array = array(type, b.size());
      a_array.set(a);
      b_array.set(b);
      const auto lanes = static_cast<std::size_t>(layout.warps) * 32;
      const DataType sums = type == fp64 || type == int8 ? accumulate : fp32;
      const Array sink = array(sums, lanes * static_cast<std::size_t>(layout.blocks));
      cuda::ceilings.tensor(probe, sink.data(), a_array.data(), b_array.data(), 2, target_, device_->stream());
      device_->synchronize();

      EXPECT_EQ(sink.values(), lane_sums(layout, a, b));
      EXPECT_TRUE(sink.untouched_around());
    }
  }
  if (probes == 0) GTEST_SKIP() << "no tensor-core probe for compute capability " << target_.compute_capability;
}

// Whatever the build has of the kernel for another GPU: none, or an empty one.
TEST_F(CudaCeilings, TensorProbesWithoutCodeAreUnsupported) {
  const TensorProbe probe{TensorInstruction::tcgen05, DataType::bf16, DataType::fp32};
  if (cuda::ceilings.tensor_layout(probe, target_).blocks > 0) GTEST_SKIP() << "this GPU has tcgen05";
  EXPECT_THROW(cuda::ceilings.tensor(probe, nullptr, nullptr, nullptr, 1, target_, device_->stream()), Unsupported);
}

// The same with scales of 1/2, 1 and 2, each block its own.
TEST_F(CudaCeilings, TensorProbesOfBlockScaledTypesApplyEveryScale) {
  for (const DataType type : {DataType::mxfp8, DataType::nvfp4}) {
    SCOPED_TRACE(name(type));
    const TensorProbe probe{TensorInstruction::tcgen05, type, DataType::fp32};
    const TensorLayout layout = cuda::ceilings.tensor_layout(probe, target_);
    if (layout.blocks == 0) GTEST_SKIP() << "no tcgen05 for compute capability " << target_.compute_capability;
    const auto operand = [&](int rows, std::uint64_t number, std::vector<double>& values) {
      const BlockScaledLayout stored{type, rows, layout.k};
      std::vector<std::uint8_t> bytes(stored.bytes());
      with_block_scaled_type(type, [&]<DataType kType>() {
        constexpr bool is_fp4 = kType == DataType::nvfp4;
        constexpr std::uint8_t kElements[] = {is_fp4 ? 0xA : 0xB8, 0, is_fp4 ? 0x2 : 0x38};  // -1, 0, 1
        for (std::int64_t i = 0; i < rows * stored.terms; ++i) {
          const int element = kElements[random_bits(3, number, static_cast<std::uint64_t>(i)) % 3];
          bytes[is_fp4 ? i / 2 : i] |= static_cast<std::uint8_t>(element << (is_fp4 && i % 2 ? 4 : 0));
        }
        constexpr float kScales[] = {0.5F, 1, 2};
        for (std::int64_t line = 0; line < rows; ++line) {
          for (std::int64_t block = 0; block < stored.blocks_per_line(); ++block) {
            const std::uint64_t i = line * stored.blocks_per_line() + block;
            bytes[stored.scales_offset() + stored.scale_index(line, block)] =
                static_cast<std::uint8_t>(stored_scale<kType>(kScales[random_bits(4, number, i) % 3]));
          }
          for (std::int64_t k = 0; k < stored.terms; ++k) {
            values.push_back(block_scaled_value<kType>(bytes.data(), stored, line, k));
          }
        }
      });
      return bytes;
    };
    std::vector<double> a, b;
    const std::vector<std::uint8_t> a_bytes = operand(layout.m, 0, a), b_bytes = operand(layout.n, 1, b);
    const Array a_array = array(DataType::fp32, a_bytes.size() / 4), b_array = array(DataType::fp32, b_bytes.size() / 4);
    device_->to_device(a_array.data(), a_bytes.data(), a_bytes.size());
    device_->to_device(b_array.data(), b_bytes.data(), b_bytes.size());
    const Array sink = array(DataType::fp32, static_cast<std::size_t>(layout.blocks) * layout.warps * 32);
    cuda::ceilings.tensor(probe, sink.data(), a_array.data(), b_array.data(), 2, target_, device_->stream());
    device_->synchronize();
    EXPECT_EQ(sink.values(), lane_sums(layout, a, b));
    EXPECT_TRUE(sink.untouched_around());
  }
}

// Each block's sums, so that no block can read another's part in its place.
TEST_F(CudaCeilings, EveryBlockReadsItsPartOfTheCache) {
  constexpr std::size_t kTile = 16384, kRepeats = 3;
  const auto processors = static_cast<std::size_t>(target_.processors);
  // As many tiles as there are teams in a block; fewer; more, and no multiple.
  for (const std::size_t tiles : {4, 1, 6}) {
    SCOPED_TRACE(tiles);
    const std::size_t part = tiles * kTile, sinks = cuda::ceilings.cache_read_sinks(target_);
    const Array data = array(DataType::fp32, processors * part / sizeof(float)), sink = array(DataType::fp64, sinks);
    data.fill(0);
    for (const auto read : {cuda::ceilings.cache_read, cuda::ceilings.l1_read}) {
      read(sink.as<std::uint64_t>(), data.data(), processors * part, kRepeats, target_, device_->stream());
      device_->synchronize();
      for (std::size_t block = 0; block < processors; ++block) {
        const std::size_t own_sinks = sinks / processors;
        EXPECT_EQ(sum_of_words(sink.as<std::uint64_t>() + block * own_sinks, own_sinks * sizeof(std::uint64_t)),
                  kRepeats * sum_of_words(data.as<std::byte>() + block * part, part))
            << "block " << block;
      }
      EXPECT_TRUE(sink.untouched_around());
      device_->poison(sink.data(), sinks * sizeof(std::uint64_t));
    }
  }
}

// Fewer granules than a round of the unrolled loops has, as many, and no multiple.
TEST_F(CudaCeilings, EveryThreadStoresItsWordsInEveryPass) {
  constexpr std::size_t kPasses = 4;
  const auto processors = static_cast<std::size_t>(target_.processors);
  for (const std::size_t granules : {1, 4, 7, 9}) {
    SCOPED_TRACE(granules);
    const std::size_t bytes = processors * granules * kCacheGranule;
    const Array to = array(DataType::fp64, bytes / 8), from = array(DataType::fp64, bytes / 8);
    from.fill(0);
    cuda::ceilings.cache_write(to.as<std::uint64_t>(), bytes, kPasses, target_, device_->stream());
    device_->synchronize();
    std::vector<std::uint64_t> expected(bytes / 8);
    std::iota(expected.begin(), expected.end(), kPasses - 1);
    EXPECT_EQ(words(to.data(), bytes), expected);
    EXPECT_TRUE(to.untouched_around());

    const Array copied = array(DataType::fp64, bytes / 16);
    cuda::ceilings.cache_copy(copied.as<std::uint64_t>(), from.as<std::uint64_t>(), bytes, kPasses, target_, device_->stream());
    device_->synchronize();
    expected = words(from.data(), bytes / 2);
    for (std::uint64_t& word : expected) word += kPasses - 1;
    EXPECT_EQ(words(copied.data(), bytes / 2), expected);
    EXPECT_TRUE(copied.untouched_around());
  }
}

// Each thread reads the same 16-byte words in every repeat, as many apart as there are threads.
TEST_F(CudaCeilings, EveryThreadReadsItsPartOfSharedMemory) {
  constexpr std::size_t kRepeats = 10;
  const std::size_t bytes = cuda::ceilings.shared_read_bytes(), sinks = cuda::ceilings.shared_read_sinks(target_);
  const std::size_t threads = sinks / static_cast<std::size_t>(target_.processors);
  const Array data = array(DataType::fp32, bytes / sizeof(float)), sink = array(DataType::fp64, sinks);
  data.fill(0);
  cuda::ceilings.shared_read(sink.as<std::uint64_t>(), data.data(), kRepeats, target_, device_->stream());
  device_->synchronize();
  const std::vector<std::uint64_t> set = words(data.data(), bytes), got = words(sink.data(), sinks * sizeof(std::uint64_t));
  std::vector<std::uint64_t> expected(threads);
  for (std::size_t i = 0; i < set.size(); ++i) expected[i / 2 % threads] += kRepeats * set[i];
  for (std::size_t i = 0; i < sinks; ++i) ASSERT_EQ(got[i], expected[i % threads]) << "thread " << i;
  EXPECT_TRUE(sink.untouched_around());
}

TEST_F(CudaCeilings, TheEmptyKernelRuns) {
  cuda::ceilings.empty(device_->stream());
  device_->synchronize();
}

}  // namespace
}  // namespace roofmark
