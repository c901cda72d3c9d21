// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "tests/constants.hpp"

namespace roofmark {
namespace {

double normal_cdf(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

/// The greatest distance between the sample's distribution function and `cdf`, times sqrt(n).
template <class Cdf>
double kolmogorov_smirnov(std::vector<double> sample, Cdf cdf) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double worst = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double expected = cdf(sample[i]);
    worst = std::max({worst, expected - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - expected});
  }
  return worst * std::sqrt(n);
}

std::vector<double> draw(Distribution distribution, DataType type, std::size_t count, std::uint64_t array = 0) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = generate(distribution, type, 42, array, i);
  return values;
}

double moment(const std::vector<double>& values, int power) {
  double sum = 0;
  for (double value : values) sum += std::pow(value, power);
  return sum / static_cast<double>(values.size());
}

// These fix the generator: another compiler, and the GPU, must give the same bits.
TEST(RandomBits, GoldenValues) {
  EXPECT_EQ(random_bits(0, 0, 0), 0x568a9b0b1a2c05ecu);
  EXPECT_EQ(random_bits(42, 7, 1'000'000'000'000u), 0x3cacd7dc89ee109du);
  EXPECT_EQ(same_bits<std::uint32_t>(normal(random_bits(42, 0, 0))), 0xbf3ee20au);
  EXPECT_EQ(same_bits<std::uint32_t>(normal(0xffffffffffffffffu)), 0xc0cad084u);
  EXPECT_EQ(same_bits<std::uint32_t>(uniform(random_bits(42, 0, 0))), 0xbee96a08u);
  // A hash over many draws notices one fused or reassociated operation anywhere in them.
  std::uint64_t all = 0;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) all = mix(all + same_bits<std::uint32_t>(normal(random_bits(1, 2, i))));
  EXPECT_EQ(all, 0xfc5a4382b326901eu);
}

TEST(RandomBits, MixIsABijectionThatSpreadsOneBit) {
  double flipped = 0;
  for (int bit = 0; bit < 64; ++bit) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      flipped += __builtin_popcountll(random_bits(1, 0, i) ^ random_bits(1 ^ (1ull << bit), 0, i));
    }
  }
  EXPECT_NEAR(flipped / 64000, 32, 0.1);
}

TEST(RandomBits, SeedArrayAndIndexAllMatter) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t array = 0; array < 10; ++array) {
      for (std::uint64_t i = 0; i < 100; ++i) seen.insert(random_bits(seed, array, i));
    }
  }
  EXPECT_EQ(seen.size(), 10'000u);
}

TEST(Normal, IsTheInverseOfTheDistributionFunction) {
  for (std::uint64_t drawn :
       {0ull, 1ull, 1000ull, 1ull << 20, 1ull << 28, 1ull << 30, (1ull << 31) - (1ull << 26), (1ull << 31) - (1ull << 25),
        (1ull << 31) - (1ull << 20), (1ull << 31) - 1000, (1ull << 31) - 1}) {
    const double outside = (static_cast<double>((1ull << 31) - 1 - drawn) + 0.5) * 0x1p-31;
    const double z = normal(drawn << 32);
    ASSERT_GT(z, 0);
    // d log P(|Z| > z) = -pdf / tail dz: an error of z seen in the probability.
    const double slope = std::exp(-z * z / 2) / std::sqrt(2 * M_PI) * 2;
    EXPECT_NEAR((std::erfc(z / std::sqrt(2.0)) - outside) / slope / z, 0, 5e-6) << drawn;
    EXPECT_EQ(normal(drawn << 32 | 1ull << 63), -z);
  }
  EXPECT_LT(normal(0x7fffffffffffffffu), 6.35F);
}

TEST(Normal, IncreasesWithItsBits) {
  float last = 0;
  for (std::uint64_t drawn = 0; drawn < 1ull << 31; drawn += 9973) {
    const float z = normal(drawn << 32);
    ASSERT_GE(z, last) << drawn;
    last = z;
  }
}

TEST(Generate, NormalHasTheRightDistributionInEveryFloatingType) {
  for (DataType type : {DataType::fp64, DataType::fp32, DataType::tf32, DataType::fp16, DataType::bf16, DataType::fp8}) {
    const auto values = draw(Distribution::normal, type, 200'000);
    EXPECT_NEAR(moment(values, 1), 0, 0.01) << name(type);
    EXPECT_NEAR(moment(values, 2), 1, 0.02) << name(type);
    EXPECT_NEAR(moment(values, 3), 0, 0.03) << name(type);
    EXPECT_NEAR(moment(values, 4), 3, 0.1) << name(type);
  }
  // 1.95 is exceeded once in a thousand seeds.
  EXPECT_LT(kolmogorov_smirnov(draw(Distribution::normal, DataType::fp32, 200'000), normal_cdf), 1.95);
  EXPECT_LT(kolmogorov_smirnov(draw(Distribution::normal, DataType::fp64, 200'000, 3), normal_cdf), 1.95);
}

TEST(Generate, NeighboursAndArraysAreUncorrelated) {
  const auto values = draw(Distribution::normal, DataType::fp32, 200'000);
  const auto others = draw(Distribution::normal, DataType::fp32, 200'000, 1);
  double neighbours = 0, arrays = 0;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    neighbours += values[i] * values[i + 1];
    arrays += values[i] * others[i];
  }
  EXPECT_NEAR(neighbours / 200'000, 0, 0.01);
  EXPECT_NEAR(arrays / 200'000, 0, 0.01);
}

TEST(Generate, UniformIsUniform) {
  const auto values = draw(Distribution::uniform, DataType::fp32, 200'000);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -1);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 1);
  EXPECT_LT(kolmogorov_smirnov(values, [](double x) { return (x + 1) / 2; }), 1.95);
  EXPECT_EQ(uniform(1ull << 63), -1.0F);
  EXPECT_EQ(uniform(~0ull >> 1), 1.0F - 0x1p-23F);
}

TEST(Generate, IntegersCoverTheirRangeEvenly) {
  for (Distribution distribution : {Distribution::normal, Distribution::uniform}) {
    std::vector<int> counts(256);
    for (double value : draw(distribution, DataType::int8, 255'000)) ++counts.at(static_cast<std::size_t>(value + 128));
    EXPECT_EQ(counts[0], 0);
    double chi_squared = 0;
    for (int v = 1; v < 256; ++v) chi_squared += (counts[v] - 1000.0) * (counts[v] - 1000.0) / 1000;
    // 254 degrees of freedom: mean 254, standard deviation 22.5.
    EXPECT_NEAR(chi_squared, 254, 90);
  }
}

TEST(Generate, ZerosAreZero) {
  for (DataType type : kArrayTypes) EXPECT_EQ(generate(Distribution::zeros, type, 1, 2, 3), 0) << name(type);
}

TEST(Generate, Fp64FillsItsLowMantissaBits) {
  for (Distribution distribution : {Distribution::normal, Distribution::uniform}) {
    std::uint64_t any = 0, all = ~0ull;
    for (double value : draw(distribution, DataType::fp64, 1000)) {
      any |= same_bits<std::uint64_t>(value);
      all &= same_bits<std::uint64_t>(value);
    }
    EXPECT_EQ(any & 0xffffffu, 0xffffffu);
    EXPECT_EQ(all & 0xffffffu, 0u);
  }
}

TEST(Sign, IsEitherAboutEquallyOften) {
  int sum = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const int s = sign(9, i);
    ASSERT_EQ(s * s, 1);
    sum += s;
  }
  EXPECT_NEAR(sum, 0, 1500);
}

/// Value of a pattern by the definition of the format.
double by_definition(std::uint32_t bits, int exponent_bits, int mantissa_bits, bool ieee) {
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const std::uint32_t exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  const double sign = bits >> (exponent_bits + mantissa_bits) ? -1 : 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == (1u << exponent_bits) - 1) {
    if (ieee) return mantissa ? kNaN : sign * kInfinity;
    if (mantissa == (1u << mantissa_bits) - 1) return kNaN;
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1u << mantissa_bits), static_cast<int>(exponent) - bias - mantissa_bits);
}

struct Format {
  DataType type;
  int exponent_bits, mantissa_bits;
  bool ieee;
};
constexpr Format kFormats[] = {{DataType::fp16, 5, 10, true}, {DataType::bf16, 8, 7, true}, {DataType::fp8, 4, 3, false}};

std::uint64_t stored_bits(DataType type, double value) {
  alignas(8) unsigned char storage[8] = {};
  store(type, storage, 0, value);
  std::uint64_t bits;
  std::memcpy(&bits, storage, sizeof(bits));
  return bits;
}

double value_of(DataType type, std::uint64_t bits) {
  alignas(8) unsigned char storage[8];
  std::memcpy(storage, &bits, sizeof(bits));
  return load_as_double(type, storage, 0);
}

TEST(Store, EveryPatternComesBack) {
  for (const Format& format : kFormats) {
    const int bits = 1 + format.exponent_bits + format.mantissa_bits;
    for (std::uint32_t pattern = 0; pattern < 1u << bits; ++pattern) {
      const double expected = by_definition(pattern, format.exponent_bits, format.mantissa_bits, format.ieee);
      const double loaded = value_of(format.type, pattern);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(loaded)) << name(format.type) << " " << pattern;
        ASSERT_TRUE(std::isnan(value_of(format.type, stored_bits(format.type, loaded))));
      } else {
        ASSERT_EQ(same_bits<std::uint64_t>(loaded), same_bits<std::uint64_t>(expected)) << name(format.type) << " " << pattern;
        ASSERT_EQ(stored_bits(format.type, loaded), pattern) << name(format.type);
      }
    }
  }
}

TEST(Store, TiesGoToEvenAndAllElseToTheNearest) {
  for (const Format& format : kFormats) {
    const std::uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
    const std::uint32_t greatest = format.ieee ? infinity - 1 : (1u << (format.exponent_bits + format.mantissa_bits)) - 2;
    for (std::uint32_t pattern = 0; pattern < greatest; ++pattern) {
      const double low = value_of(format.type, pattern);
      const std::uint32_t next = pattern + 1;
      const double high = value_of(format.type, next);
      const double middle = (low + high) / 2;
      ASSERT_EQ(stored_bits(format.type, middle), pattern & 1 ? next : pattern) << name(format.type);
      ASSERT_EQ(stored_bits(format.type, std::nextafter(middle, 0)), pattern) << name(format.type);
      ASSERT_EQ(stored_bits(format.type, std::nextafter(middle, kInfinity)), next) << name(format.type);
    }
  }
}

TEST(Store, FiniteValuesSaturate) {
  struct Limit {
    DataType type;
    double greatest;
  };
  for (const Limit& limit : {Limit{DataType::fp16, 65504}, Limit{DataType::bf16, 0x1.fep127}, Limit{DataType::fp8, 448},
                             Limit{DataType::tf32, 0x1.ffcp127}, Limit{DataType::fp32, 0x1.fffffep127},
                             Limit{DataType::int8, 127}, Limit{DataType::int32, 2147483647}}) {
    const auto round_trip = [&](double value) { return value_of(limit.type, stored_bits(limit.type, value)); };
    for (double value : {limit.greatest, limit.greatest * 1.001, 1e300}) {
      EXPECT_EQ(round_trip(value), limit.greatest) << name(limit.type);
      EXPECT_NEAR(round_trip(-value), -limit.greatest, is_integer(limit.type)) << name(limit.type);
    }
    const bool has_infinity = !is_integer(limit.type) && limit.type != DataType::fp8;
    EXPECT_EQ(round_trip(kInfinity), has_infinity ? kInfinity : limit.greatest) << name(limit.type);
    EXPECT_EQ(std::isnan(round_trip(kNaN)), !is_integer(limit.type)) << name(limit.type);
  }
}

TEST(Store, Fp32AgreesWithTheHardware) {
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    // Any exponent around fp32's range, subnormals included.
    const double value = std::ldexp(static_cast<double>(random_bits(5, 0, i)), -64 - 155 + static_cast<int>(i % 270));
    ASSERT_EQ(stored_bits(DataType::fp32, value), same_bits<std::uint32_t>(static_cast<float>(value))) << value;
  }
  EXPECT_EQ(stored_bits(DataType::fp32, 1e-320), 0u);
  EXPECT_EQ(stored_bits(DataType::fp32, -0.0), 0x80000000u);
}

TEST(Store, Tf32KeepsTenMantissaBits) {
  EXPECT_EQ(stored_bits(DataType::tf32, 1 + 0x1p-10), same_bits<std::uint32_t>(1.0F + 0x1p-10F));
  EXPECT_EQ(stored_bits(DataType::tf32, 1 + 0x1p-11), same_bits<std::uint32_t>(1.0F));
  EXPECT_EQ(stored_bits(DataType::tf32, 1 + 0x3p-11), same_bits<std::uint32_t>(1.0F + 0x1p-9F));
  EXPECT_EQ(stored_bits(DataType::tf32, -1 - 0x1.001p-11), same_bits<std::uint32_t>(-1.0F - 0x1p-10F));
}

TEST(Store, IntegersTakeTheNearest) {
  for (const auto& [value, expected] : std::vector<std::pair<double, int>>{
           {0.5, 0}, {1.5, 2}, {-0.5, 0}, {-1.5, -2}, {2.4999, 2}, {2.5001, 3}, {-128, -128}, {-127.5, -128}, {126.5, 126}}) {
    std::int8_t stored = 99;
    store(DataType::int8, &stored, 0, value);
    EXPECT_EQ(stored, expected) << value;
  }
}

TEST(Load, PoisonIsNaNOrMinusOne) {
  for (DataType type : kArrayTypes) {
    const double value = value_of(type, ~0ull);
    if (is_integer(type)) {
      EXPECT_EQ(value, -1);
    } else {
      EXPECT_TRUE(std::isnan(value)) << name(type);
    }
  }
}

TEST(Load, ReachesTheElementAsked) {
  for (DataType type : kArrayTypes) {
    std::vector<double> storage(5);
    for (int i = 0; i < 5; ++i) store(type, storage.data(), i, i - 2);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(load_as_double(type, storage.data(), i), i - 2) << name(type);
  }
}

}  // namespace
}  // namespace roofmark
