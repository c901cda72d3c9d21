// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "harness/device/cuda_device.hpp"
#include "harness/device/random.hpp"
#include "kernels/attention_reference.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/base/element.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

std::unique_ptr<AttentionPlan> make_plan(const AttentionProblem& problem) { return cuda::attention_cudnn.plan(problem); }

std::string describe(const AttentionProblem& p) {
  return std::string(name(p.type)) + " batch " + std::to_string(p.batch) + " heads " + std::to_string(p.heads) + "/" +
         std::to_string(p.kv_heads) + " queries " + std::to_string(p.queries) + " keys " + std::to_string(p.keys) + " d " +
         std::to_string(p.head_dim) + (p.causal ? " causal" : "");
}

/// N(0, 1), as it is stored.
std::vector<unsigned char> drawn(DataType type, std::int64_t count, std::uint64_t array) {
  std::vector<unsigned char> stored(static_cast<std::size_t>(count) * size_of(type));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    store(type, stored.data(), i, generate(Distribution::normal, type, 5, array, i));
  }
  return stored;
}

struct HostArrays {
  explicit HostArrays(const AttentionProblem& p)
      : q(drawn(p.type, p.batch * p.queries * p.heads * p.head_dim, 0)),
        k(drawn(p.type, p.batch * p.keys * p.kv_heads * p.head_dim, 1)),
        v(drawn(p.type, p.batch * p.keys * p.kv_heads * p.head_dim, 2)) {}
  std::vector<unsigned char> q, k, v;
};

class AttentionCudnnTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!&cuda::attention_cudnn) GTEST_SKIP() << "this build has no cuDNN";
    const CudaDevices devices = cuda_devices();
    if (devices.ordinals.empty()) GTEST_SKIP() << "no GPU: " << devices.reason;
    device_ = open_cuda_device(devices.ordinals.front());
    const std::string why = cuda::attention_cudnn.unsupported(device_->info().compute_capability);
    if (!why.empty()) GTEST_SKIP() << why;
    try {
      make_plan({});
    } catch (const Unsupported& unsupported) {
      const std::string reason = unsupported.what();
      if (reason.find("cannot be loaded") == std::string::npos && reason.find("does not start") == std::string::npos) throw;
      GTEST_SKIP() << reason;
    }
  }

  Memory copy(const std::vector<unsigned char>& stored) {
    Memory data = device_->allocate(stored.size());
    device_->to_device(data.get(), stored.data(), stored.size());
    return data;
  }

  void expect_matches(const AttentionProblem& p, Issue issue = Issue::stream) {
    SCOPED_TRACE(describe(p));
    const HostArrays host(p);
    const Memory q = copy(host.q), k = copy(host.k), v = copy(host.v), o = device_->allocate(host.q.size());
    device_->poison(o.get(), host.q.size());
    const auto plan = make_plan(p);
    const Memory workspace = device_->allocate(plan->workspace_bytes() + 1);
    const auto batch = device_->batch({.path = issue, .launches = 3}, [&](Stream stream, int) {
      plan->launch({q.get(), k.get(), v.get(), o.get()}, workspace.get(), stream);
    });
    EXPECT_EQ(batch->path(), issue);
    batch->run();
    std::vector<unsigned char> got(host.q.size());
    device_->to_host(got.data(), o.get(), got.size());

    const auto row = static_cast<std::size_t>(p.heads * p.head_dim);
    std::vector<double> expected(static_cast<std::size_t>(p.queries) * row), scale(expected.size());
    for (std::int64_t b = 0; b < p.batch; ++b) {
      cpu::attention_reference.exact(p, {host.q.data(), host.k.data(), host.v.data(), nullptr}, false, b, 0, p.queries,
                                     expected.data(), scale.data(), nullptr);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double value = load_as_double(p.type, got.data(), static_cast<std::size_t>(b) * expected.size() + i);
        // The roundings to the type are what the scale is made of; the fp32 arithmetic adds much less.
        ASSERT_LE(std::fabs(value - expected[i]), 1.5 * unit_roundoff(p.type) * scale[i])
            << value << " is not " << expected[i] << ": batch " << b << ", query " << i / row << ", element " << i % row;
      }
    }
  }

  std::unique_ptr<Device> device_;
};

TEST_F(AttentionCudnnTest, MatchesFloat64) {
  for (DataType type : {DataType::fp16, DataType::bf16}) {
    for (std::int64_t head_dim : {64, 128, 256}) {
      for (bool causal : {false, true}) {
        expect_matches({1, 1, 1, 1, 1, head_dim, type, causal});
        expect_matches({2, 4, 2, 127, 127, head_dim, type, causal});
        expect_matches({2, 4, 1, 257, 385, head_dim, type, causal});
        expect_matches({2, 8, 2, 1, 1000, head_dim, type, causal});
        expect_matches({1, 2, 2, 1000, 1000, head_dim, type, causal});
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(AttentionCudnnTest, MoreQueriesThanKeys) { expect_matches({2, 4, 2, 300, 70, 128, DataType::bf16, false}); }

TEST_F(AttentionCudnnTest, IsCapturedInAGraph) {
  for (bool causal : {false, true}) expect_matches({1, 8, 2, 512, 512, 128, DataType::bf16, causal}, Issue::graph);
}

TEST_F(AttentionCudnnTest, SaysWhichEngineItIs) {
  EXPECT_THAT(make_plan({})->algorithm(), MatchesRegex("cuDNN 9\\.[0-9]+\\.[0-9]+, engine [0-9]+.*"));
}

TEST_F(AttentionCudnnTest, GivesCudnnsOwnReasonForWhatItLacks) {
  try {
    make_plan({1, 1, 1, 8, 8, 100, DataType::bf16, false});
    FAIL() << "head dimensions are multiples of 8";
  } catch (const Unsupported& unsupported) {
    EXPECT_THAT(unsupported.what(), HasSubstr("cuDNN: CUDNN_STATUS_NOT_SUPPORTED"));
  }
}

TEST(AttentionCudnn, RefusesWhatIsUndefinedThere) {
  if (!&cuda::attention_cudnn) GTEST_SKIP() << "this build has no cuDNN";
  EXPECT_THROW(make_plan({1, 1, 1, 8, 8, 64, DataType::fp32, false}), Unsupported);
  EXPECT_THROW(make_plan({1, 1, 1, 9, 8, 64, DataType::bf16, true}), Unsupported);
}

// The model GPU has a cuDNN that loads and does not start.
TEST(AttentionCudnn, ThatItCannotStartIsAReasonAndNoFailure) {
  if (!&cuda::attention_cudnn) GTEST_SKIP() << "this build has no cuDNN";
  const CudaDevices devices = cuda_devices();
  if (devices.ordinals.empty()) GTEST_SKIP() << "no GPU: " << devices.reason;
  const auto device = open_cuda_device(devices.ordinals.front());
  if (device->info().name.find("roofmark model GPU") == std::string::npos) GTEST_SKIP() << "a cuDNN that may start";
  try {
    make_plan({});
    FAIL() << "it started";
  } catch (const Unsupported& unsupported) {
    EXPECT_THAT(unsupported.what(),
                HasSubstr("is installed but does not start: CUDNN_STATUS_NOT_INITIALIZED: the model has no driver for it"));
  }
  // Or the next kernel would be told of an error that is not its own.
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(AttentionCudnn, SaysWhereItRuns) {
  if (!&cuda::attention_cudnn) GTEST_SKIP() << "this build has no cuDNN";
  EXPECT_EQ(cuda::attention_cudnn.how, "cudnn");
  EXPECT_EQ(cuda::attention_cudnn.unsupported(90), "");
}

}  // namespace
}  // namespace roofmark
