// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/access.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

using Values = std::vector<double>;

class Access : public KernelTest<AccessKernels> {
 protected:
  Access() : KernelTest(&cuda::access, &cpu::access) {}

  Array array(std::int64_t count, std::size_t offset = 0) { return {*device_, DataType::int32, count, offset}; }

  Values strided_sums(const Array& x, std::int64_t count, std::int64_t stride, std::int64_t sweeps = 1,
                      std::int64_t offset = 0) {
    const Array out = array(sweeps * sum_groups(count), 1);
    kernels_->stride(out.as<std::int32_t>(), x.as<std::int32_t>(), count, stride, sweeps, offset, device_->stream());
    device_->synchronize();
    EXPECT_TRUE(out.untouched_around());
    return out.values();
  }
};

// Fewer elements than a warp has lanes, than a lane has loads, and than a block has groups; each of these, and one more or
// less.
TEST_P(Access, StridedSumsAreThoseOfTheElementsOfEachGroup) {
  constexpr std::int64_t kOffset = 5;
  for (const std::int64_t stride : {1, 2, 17}) {
    for (const std::int64_t count : {1, 31, 32, 33, 992, 993, 1023, 1024, 1025, 8191, 8192, 8193, 20011}) {
      const std::int64_t sweeps = stride == 17 ? 3 : 1;
      SCOPED_TRACE(testing::Message() << count << " elements, stride " << stride);
      const Array x = array((count - 1) * stride + (sweeps - 1) * kOffset + 1, 3);
      x.fill(0);
      const Values values = x.values();
      Values expected(static_cast<std::size_t>(sweeps * sum_groups(count)));
      for (std::int64_t i = 0; i < count * sweeps; ++i) {
        const std::int64_t sweep = i / count, place = sweep * kOffset + i % count * stride;
        expected[static_cast<std::size_t>(sweep * sum_groups(count) + i % count / kSumGroup)] +=
            values[static_cast<std::size_t>(place)];
      }
      EXPECT_EQ(strided_sums(x, count, stride, sweeps, kOffset), expected);
    }
  }
}

TEST_P(Access, StridedSumsAreModulo2To32) {
  const Array x = array(3);
  x.set({0x7fffffff, 0x7fffffff, 3});
  EXPECT_EQ(strided_sums(x, 3, 1), Values{1});
}

INSTANTIATE_TEST_SUITE_P(Devices, Access, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
