// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "harness/device/elementwise_error.hpp"
#include "kernels/base/element.hpp"

namespace roofmark {
namespace {

constexpr DataType kCollectiveTypes[] = {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16,
                                         DataType::fp8,  DataType::int8, DataType::int32};
constexpr int kTeams[] = {1, 2, 3, 6, 7, 8, 40, 41, 85, 86, 421, 422, 1000};

double rounded(DataType type, double value) {
  return with_type(type, [=]<DataType kType>() -> double { return Element<kType>::value(Element<kType>::rounded(value)); });
}

std::vector<double> expected_of(DataType type, const CollectiveData& data, int rank, std::size_t count, std::size_t first = 0) {
  std::vector<double> values(count);
  cpu::collective_data.expect(type, values.data(), count, data, rank, first, nullptr);
  return values;
}

/// What every rank brings at places 0..count - 1.
std::vector<std::vector<double>> everything(DataType type, const CollectiveData& data, std::size_t count) {
  std::vector<std::vector<double>> ranks;
  for (int rank = 0; rank < data.ranks; ++rank) ranks.push_back(expected_of(type, data, rank, count));
  return ranks;
}

struct Reduced {
  std::vector<double> expected, scale;
};
Reduced reduced(DataType type, Reduction reduction, const CollectiveData& data, std::size_t count, std::size_t first = 0) {
  Reduced got = {std::vector<double>(count), std::vector<double>(count)};
  cpu::collective_data.expect_reduced(type, reduction, got.expected.data(), got.scale.data(), count, data, first, nullptr);
  return got;
}

TEST(CollectiveData, AsManyRanksBringSomethingAsTheTypeCanSum) {
  EXPECT_EQ(CollectiveValues::used_ranks(DataType::bf16, 1000), 421);
  EXPECT_EQ(CollectiveValues::used_ranks(DataType::fp16, 5000), 3406);
  EXPECT_EQ(CollectiveValues::used_ranks(DataType::fp8, 1000), 40);
  EXPECT_EQ(CollectiveValues::used_ranks(DataType::int8, 1000), 373);
  for (DataType type : {DataType::fp64, DataType::fp32, DataType::int32}) {
    EXPECT_EQ(CollectiveValues::used_ranks(type, 1'000'000), 1'000'000);
  }
}

TEST(CollectiveData, EveryPartialSumIsExactInAnyOrder) {
  std::mt19937 random(1);
  for (DataType type : kCollectiveTypes) {
    for (int n : kTeams) {
      SCOPED_TRACE(std::string(name(type)) + " ranks " + std::to_string(n));
      const auto ranks = everything(type, {3, n}, 20);
      std::vector<std::size_t> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      for (std::size_t i = 0; i < 20; ++i) {
        double positive = 0, negative = 0;
        for (const auto& rank : ranks) (rank[i] > 0 ? positive : negative) += rank[i];
        // All of one sign first is the worst order of all.
        ASSERT_EQ(rounded(type, positive), positive);
        ASSERT_EQ(rounded(type, positive - 1), positive - 1);
        ASSERT_EQ(rounded(type, negative), negative);
        ASSERT_EQ(rounded(type, negative + 1), negative + 1);
        for (int shuffles = 0; shuffles < 3; ++shuffles) {
          std::shuffle(order.begin(), order.end(), random);
          double exact = 0, stored = 0;
          for (std::size_t r : order) {
            exact += ranks[r][i];
            stored = rounded(type, stored + ranks[r][i]);
            ASSERT_EQ(stored, exact);
          }
        }
      }
    }
  }
}

TEST(CollectiveData, TheReductionIsThatOfAllRanks) {
  constexpr std::size_t kCount = 200;
  for (DataType type : kCollectiveTypes) {
    for (int n : kTeams) {
      SCOPED_TRACE(std::string(name(type)) + " ranks " + std::to_string(n));
      const CollectiveData data{4, n};
      const auto ranks = everything(type, data, kCount);
      const Reduced sum = reduced(type, Reduction::sum, data, kCount), max = reduced(type, Reduction::max, data, kCount),
                    avg = reduced(type, Reduction::avg, data, kCount), min = reduced(type, Reduction::min, data, kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        double total = 0, magnitudes = 0, most = -INFINITY, least = INFINITY;
        for (const auto& rank : ranks) {
          least = std::min(least, rank[i]);
          total += rank[i];
          magnitudes += std::fabs(rank[i]);
          most = std::max(most, rank[i]);
        }
        ASSERT_EQ(sum.expected[i], total);
        ASSERT_EQ(sum.scale[i], magnitudes);
        ASSERT_GE(magnitudes, 1);
        ASSERT_EQ(max.expected[i], most);
        ASSERT_EQ(min.expected[i], least);
        ASSERT_EQ(avg.expected[i], is_integer(type) ? std::trunc(total / n) : total / n);
        ASSERT_EQ(avg.scale[i], magnitudes / n);
      }
    }
  }
}

TEST(CollectiveData, AProductIsThatOfAllRanksAndExactInAnyOrder) {
  constexpr std::size_t kCount = 200;
  std::mt19937 random(3);
  for (DataType type : kCollectiveTypes) {
    for (int n : kTeams) {
      SCOPED_TRACE(std::string(name(type)) + " ranks " + std::to_string(n));
      const CollectiveData data{4, n, true};
      auto ranks = everything(type, data, kCount);
      std::shuffle(ranks.begin(), ranks.end(), random);
      const Reduced product = reduced(type, Reduction::prod, data, kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        double stored = 1;
        for (const auto& rank : ranks) stored = rounded(type, stored * rank[i]);
        ASSERT_EQ(stored, product.expected[i]);
        ASSERT_EQ(product.scale[i], std::fabs(stored));
        ASSERT_GT(std::fabs(stored), 1) << "a product without the peak is another one";
      }
    }
  }
}

TEST(CollectiveData, AFillIsTheSameWhereverItBegins) {
  constexpr std::size_t kCount = 1000;
  const CollectiveData data{5, 7};
  for (DataType type : kCollectiveTypes) {
    SCOPED_TRACE(name(type));
    std::vector<unsigned char> whole(kCount * size_of(type)), parts(whole.size());
    cpu::collective_data.fill(type, whole.data(), kCount, data, 2, 0, nullptr);
    for (std::size_t first = 0; first < kCount; first += 129) {
      const std::size_t count = std::min<std::size_t>(129, kCount - first);
      cpu::collective_data.fill(type, parts.data() + first * size_of(type), count, data, 2, first, nullptr);
      const Reduced part = reduced(type, Reduction::sum, data, count, first), all = reduced(type, Reduction::sum, data, kCount);
      EXPECT_TRUE(std::equal(part.expected.begin(), part.expected.end(), all.expected.begin() + static_cast<long>(first)));
      EXPECT_TRUE(std::equal(part.scale.begin(), part.scale.end(), all.scale.begin() + static_cast<long>(first)));
    }
    EXPECT_EQ(whole, parts);
    const std::vector<double> expected = expected_of(type, data, 2, kCount - 500, 500);
    for (std::size_t i = 500; i < kCount; ++i) ASSERT_EQ(load_as_double(type, whole.data(), i), expected[i - 500]);
  }
}

/// Of groups of eight neighbours, the share in which a and b are the same.
double same_groups(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr std::size_t kGroup = 8;
  std::size_t groups = 0, same = 0;
  for (std::size_t i = 0; i + kGroup <= a.size(); i += kGroup, ++groups) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    if (std::equal(a.begin() + at, a.begin() + at + kGroup, b.begin() + at)) ++same;
  }
  return static_cast<double>(same) / static_cast<double>(groups);
}

TEST(CollectiveData, AChunkOfAnotherRankOrPlaceShowsInEveryFewElements) {
  constexpr std::size_t kCount = 8000;
  for (DataType type : {DataType::fp32, DataType::bf16, DataType::fp8}) {
    for (int n : {2, 3, 6, 7, 8, 14, 35, 36}) {
      SCOPED_TRACE(std::string(name(type)) + " ranks " + std::to_string(n));
      const CollectiveData data{6, n};
      const auto ranks = everything(type, data, kCount);
      for (int rank = 1; rank < n; ++rank) {
        ASSERT_LT(same_groups(ranks[0], ranks[static_cast<std::size_t>(rank)]), 0.01) << "rank " << rank;
      }
      for (std::size_t moved : {1u, 2u, 64u, 1024u, 65536u}) {
        EXPECT_LT(same_groups(ranks[0], expected_of(type, data, 0, kCount, moved)), 0.02) << "moved by " << moved;
        for (Reduction reduction : {Reduction::sum, Reduction::max}) {
          EXPECT_LT(same_groups(reduced(type, reduction, data, kCount).expected,
                                reduced(type, reduction, data, kCount, moved).expected),
                    0.02)
              << name(reduction) << " moved by " << moved;
        }
      }
    }
  }
}

TEST(CollectiveData, ARankThatIsLeftOutOrCountedTwiceShowsInEveryFewElements) {
  constexpr std::size_t kCount = 800;
  const std::vector<double> nothing(kCount, 0.0);
  for (DataType type : kCollectiveTypes) {
    for (int n : {1, 2, 3, 7, 8, 36, 86}) {
      SCOPED_TRACE(std::string(name(type)) + " ranks " + std::to_string(n));
      const CollectiveData data{7, n};
      const bool some_bring_nothing = CollectiveValues::used_ranks(type, n) < n;
      // What rank r brings is the difference that it makes to a sum.
      for (int rank = 0; rank < n; ++rank) {
        ASSERT_LT(same_groups(expected_of(type, data, rank, kCount), nothing), some_bring_nothing ? 0.25 : 0.02)
            << "rank " << rank;
      }
    }
  }
}

TEST(CollectiveData, ARankThatIsLeftOutOfAProductOrCountedTwiceShowsInHalfOfTheElements) {
  constexpr std::size_t kCount = 800;
  for (int n : {1, 2, 3, 8, 64, 65, 130}) {
    const CollectiveData data{7, n, true};
    for (int rank = 0; rank < n; ++rank) {
      const std::vector<double> factors = expected_of(DataType::fp32, data, rank, kCount);
      const auto hidden = std::count(factors.begin(), factors.end(), 1.0);
      ASSERT_LT(static_cast<double>(hidden), 0.6 * kCount) << "rank " << rank << " of " << n;
    }
    const std::vector<double> expected = reduced(DataType::fp32, Reduction::prod, data, kCount).expected;
    for (std::size_t moved : {1u, 64u, 65536u}) {
      EXPECT_LT(same_groups(expected, reduced(DataType::fp32, Reduction::prod, data, kCount, moved).expected), 0.02);
    }
  }
}

TEST(CollectiveData, AMaximumWithoutOneRankShowsOnceInTwiceTheRanks) {
  constexpr std::size_t kCount = 4000;
  for (int n : {2, 3, 8, 40}) {
    const CollectiveData data{8, n};
    const auto ranks = everything(DataType::fp32, data, kCount);
    const std::vector<double> expected = reduced(DataType::fp32, Reduction::max, data, kCount).expected;
    for (std::size_t missing = 0; missing < ranks.size(); ++missing) {
      std::size_t seen = 0;
      for (std::size_t i = 0; i < kCount; ++i) {
        double most = -INFINITY;
        for (std::size_t r = 0; r < ranks.size(); ++r) {
          if (r != missing) most = std::max(most, ranks[r][i]);
        }
        seen += most != expected[i];
      }
      EXPECT_GT(static_cast<double>(seen), 0.6 * static_cast<double>(kCount) / (2.0 * n));
    }
  }
}

/// An average by scaling the terms with a rounded 1/n and rounding each sum, along a ring and in a random order.
TEST(CollectiveData, AnHonestAverageIsWithinItsBoundAndOneWithoutARankIsNot) {
  constexpr std::size_t kCount = 200;
  std::mt19937 random(2);
  for (DataType type : {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16, DataType::fp8}) {
    for (int n : {1, 2, 3, 5, 7, 8, 12, 24, 48, 64, 100, 300, 512}) {
      SCOPED_TRACE(std::string(name(type)) + " ranks " + std::to_string(n));
      const CollectiveData data{9, n};
      const auto ranks = everything(type, data, kCount);
      const Reduced avg = reduced(type, Reduction::avg, data, kCount);
      std::vector<std::size_t> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      const double bound = average_bound(n);
      const double share = rounded(type, 1.0 / n);
      std::size_t missed = 0, missable = 0;
      for (std::size_t i = 0; i < kCount; ++i) {
        std::rotate(order.begin(), order.begin() + 1, order.end());
        if (i % 2) std::shuffle(order.begin(), order.end(), random);
        double got = 0, divided = 0;
        for (std::size_t r : order) {
          got = rounded(type, got + rounded(type, share * ranks[r][i]));
          divided += ranks[r][i];
        }
        ASSERT_LE(elementwise_error(type, got, avg.expected[i], avg.scale[i]), bound);
        ASSERT_LE(elementwise_error(type, rounded(type, divided / n), avg.expected[i], avg.scale[i]), bound);
        const double left_out = ranks[order[0]][i];
        if (left_out == 0) continue;
        ++missable;
        missed += elementwise_error(type, avg.expected[i] - left_out / n, avg.expected[i], avg.scale[i]) <= bound;
      }
      const bool all_are_seen = bound == 0 || (type != DataType::fp8 && (type != DataType::bf16 || n < 50));
      EXPECT_TRUE(missed == 0 || !all_are_seen) << missed << " of " << missable;
    }
  }
}

}  // namespace
}  // namespace roofmark
