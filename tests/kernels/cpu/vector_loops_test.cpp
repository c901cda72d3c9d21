// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/vector_loops.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/device/random.hpp"
#include "kernels/ceilings.hpp"

namespace roofmark::cpu {
namespace {

template <class T>
const TypedLoops<T>& loops_of(const VectorLoops& all) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return all.fp64;
  } else {
    return all.fp32;
  }
}

template <class T>
std::vector<T> data(std::size_t n, std::uint64_t array) {
  constexpr DataType kType = sizeof(T) == sizeof(double) ? DataType::fp64 : DataType::fp32;
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = generate<kType>(Distribution::normal, 1, array, i);
  return values;
}

template <class T>
T expected(StreamOp op, T x, T y, T s) {
  switch (op) {
    case StreamOp::write:
      return s;
    case StreamOp::copy:
      return x;
    case StreamOp::scale:
      return s * x;
    case StreamOp::add:
      return x + y;
    default:
      return x + s * y;
  }
}

template <class T>
class VectorLoopsTest : public testing::Test {};
using Types = testing::Types<double, float>;
TYPED_TEST_SUITE(VectorLoopsTest, Types);

TYPED_TEST(VectorLoopsTest, MapsEveryElementAndNoOther) {
  using T = TypeParam;
  const auto x = data<T>(400, 0), y = data<T>(400, 1);
  for (const VectorLoops& all : vector_loops()) {
    for (StreamOp op : kStreamOps) {
      if (is_reduction(op)) continue;
      for (std::size_t n : {0, 1, 7, 31, 64, 65, 200, 333}) {
        for (std::size_t offset : {0, 1, 5}) {
          for (bool past_caches : {false, true}) {
            std::vector<T> to(400, T{-99});
            loops_of<T>(all).map(op, to.data() + offset, x.data(), y.data(), n, T(0.4), past_caches);
            for (std::size_t i = 0; i < to.size(); ++i) {
              const bool inside = i >= offset && i < offset + n;
              ASSERT_EQ(to[i], inside ? expected(op, x[i - offset], y[i - offset], T(0.4)) : T{-99})
                  << all.instructions << " " << name(op) << " " << n << " " << offset << " " << i;
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(VectorLoopsTest, WritesAMinusZero) {
  std::vector<TypeParam> to(100);
  for (const VectorLoops& all : vector_loops()) {
    loops_of<TypeParam>(all).map(StreamOp::write, to.data(), nullptr, nullptr, to.size(), TypeParam(-0.0), false);
    for (TypeParam value : to) ASSERT_TRUE(std::signbit(value));
  }
}

TYPED_TEST(VectorLoopsTest, SumsEveryTermOnce) {
  using T = TypeParam;
  for (const VectorLoops& all : vector_loops()) {
    for (std::size_t n : {0, 1, 63, 64, 127, 1000, 8191, 8192, 8193, 50'000}) {
      // Small integers: every order of additions gives the same sum, so a missing term cannot hide.
      std::vector<T> x(n), y(n);
      double sum = 0, dot = 0;
      for (std::size_t i = 0; i < n; ++i) {
        x[i] = static_cast<T>(1 + i % 3);
        y[i] = static_cast<T>(1 + i % 5);
        sum += x[i];
        dot += x[i] * y[i];
      }
      EXPECT_EQ(loops_of<T>(all).reduce(StreamOp::read, x.data(), nullptr, n), sum) << all.instructions << " " << n;
      EXPECT_EQ(loops_of<T>(all).reduce(StreamOp::dot, x.data(), y.data(), n), dot) << all.instructions << " " << n;
    }
  }
}

TYPED_TEST(VectorLoopsTest, GoesOnInFp64AfterAFewTerms) {
  // In fp32 a sum of 2^24 and more takes up no ones.
  std::vector<TypeParam> values(16384, TypeParam{1});
  std::fill(values.begin(), values.begin() + 8192, TypeParam(0x1p24));
  for (const VectorLoops& all : vector_loops()) {
    const double sum = loops_of<TypeParam>(all).reduce(StreamOp::read, values.data(), nullptr, values.size());
    EXPECT_EQ(sum, 8192 * 0x1p24 + 8192) << all.instructions;
  }
}

TYPED_TEST(VectorLoopsTest, EveryChainMakesItsSteps) {
  using T = TypeParam;
  const T multiplier = static_cast<T>(fma_multiplier(sizeof(T) == 8 ? DataType::fp64 : DataType::fp32));
  for (const VectorLoops& all : vector_loops()) {
    const auto& loops = loops_of<T>(all);
    if (!loops.fma) continue;
    for (std::size_t steps : {8, 64, 1000}) {
      std::vector<T> sink(loops.fma_chains + 1, T{42});
      for (std::size_t c = 0; c < loops.fma_chains; ++c) sink[c] = static_cast<T>(fma_start(c));
      loops.fma(sink.data(), steps, multiplier);
      for (std::size_t c = 0; c < loops.fma_chains; ++c) {
        T x = static_cast<T>(fma_start(c));
        for (std::size_t step = 0; step < steps; ++step) x = std::fma(x, multiplier, T{1});
        ASSERT_EQ(sink[c], x) << all.instructions << " " << c;
      }
      EXPECT_EQ(sink.back(), T{42});
    }
  }
}

TEST(SumWords, AddsEveryWordAsOftenAsAsked) {
  alignas(64) std::uint64_t words[512];
  for (std::size_t i = 0; i < 512; ++i) words[i] = mix(i);
  for (const VectorLoops& all : vector_loops()) {
    for (std::size_t count : {64, 128, 512}) {
      const std::uint64_t once = std::accumulate(words, words + count, std::uint64_t{0});
      for (std::size_t repeats : {1, 3}) EXPECT_EQ(all.sum_words(words, 8 * count, repeats), repeats * once);
    }
  }
}

TEST(StoreWords, LeavesWhatTheLastPassStores) {
  constexpr std::size_t kMost = 512;
  alignas(64) std::uint64_t from[kMost], to[kMost + 8];
  for (std::size_t i = 0; i < kMost; ++i) from[i] = mix(i);
  for (const VectorLoops& all : vector_loops()) {
    for (std::size_t count : {64, 128, 512}) {
      for (std::size_t repeats : {1, 4}) {
        SCOPED_TRACE(testing::Message() << all.instructions << " " << count << " " << repeats);
        std::fill(std::begin(to), std::end(to), 42);
        all.write_words(to, 8 * count, repeats, 1000);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(to[i], 1000 + i + repeats - 1) << i;
        EXPECT_EQ(to[count], 42U);
        std::fill(std::begin(to), std::end(to), 42);
        all.copy_words(to, from, 8 * count, repeats);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(to[i], from[i] + repeats - 1) << i;
        EXPECT_EQ(to[count], 42U);
      }
    }
  }
}

}  // namespace
}  // namespace roofmark::cpu
