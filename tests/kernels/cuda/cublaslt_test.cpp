// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cublaslt.hpp"

#include <gmock/gmock.h>

namespace roofmark::cuda::cublaslt {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// 64 x 10 elements in columns that are 64 apart span 640.
constexpr std::int64_t kSpan = 640;

TEST(CublasLt, DistrustsSharedOperandsOnTheDevicesOfTheKnownIssue) {
  for (const int capability : {120, 121}) {
    for (const std::size_t version : {120804u, 130002u, 130600u}) {
      EXPECT_THAT(distrusted_batch({capability, version}, kSpan, 0), HasSubstr("take 13.6.1 or newer")) << version;
      EXPECT_THAT(distrusted_batch({capability, version}, kSpan, 64), HasSubstr("interleaved")) << version;
      EXPECT_THAT(distrusted_batch({capability, version}, kSpan, kSpan - 1), HasSubstr("interleaved")) << version;
      EXPECT_THAT(distrusted_batch({capability, version}, kSpan, kSpan), IsEmpty()) << version;
    }
    EXPECT_THAT(distrusted_batch({capability, 130601}, kSpan, 0), IsEmpty());
    EXPECT_THAT(distrusted_batch({capability, 130700}, kSpan, 0), IsEmpty());
  }
  for (const int capability : {80, 86, 89, 90, 100, 103, 110}) {
    EXPECT_THAT(distrusted_batch({capability, 130000}, kSpan, 0), IsEmpty()) << capability;
  }
  EXPECT_THAT(distrusted_batch({120, 130002}, kSpan, 0), HasSubstr("cuBLASLt 13.0.2 reads past the end"));
}

TEST(CublasLt, MakesNoBatchThatItDistrusts) {
  const Facts distrusted{120, 130002}, mended{120, 130601};
  const auto make = [](int count, std::int64_t stride, const Facts& facts) {
    return make_matrix(DataType::bf16, 64, 10, 64, count, stride, facts);
  };
  EXPECT_THROW(make(2, 0, distrusted), Unsupported);
  EXPECT_THROW(make(8, 64, distrusted), Unsupported);
  EXPECT_NO_THROW(make(2, kSpan, distrusted));
  EXPECT_NO_THROW(make(1, 0, distrusted)) << "one matrix is no batch";
  EXPECT_NO_THROW(make(2, 0, mended));
}

TEST(CublasLt, AsksWithoutACacheThatConfusesScalings) {
  const auto capacity = [] {
    std::size_t entries = 0;
    EXPECT_EQ(cublasLtHeuristicsCacheGetCapacity(&entries), CUBLAS_STATUS_SUCCESS);
    return entries;
  };
  const std::size_t usual = capacity();
  make_handle(120804);
  EXPECT_EQ(capacity(), usual);
  make_handle(120803);
  EXPECT_EQ(capacity(), 0u);
  EXPECT_EQ(cublasLtHeuristicsCacheSetCapacity(usual), CUBLAS_STATUS_SUCCESS);
}

}  // namespace
}  // namespace roofmark::cuda::cublaslt
