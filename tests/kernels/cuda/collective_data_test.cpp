// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective_data.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/kernels/kernel_test.hpp"
#include "tests/on_a_gpu.hpp"

namespace roofmark {
namespace {

constexpr std::int64_t kCount = 1023;  // one less than whole blocks of threads
constexpr std::size_t kFirst = 77;

/// The GPU has to give what the CPU gives, to the last bit, and to write nothing else.
class CudaCollectiveData : public OnAGpu {
 protected:
  /// Calls use(type, data) for every type and for teams that bring whole blocks, parts of one, and more ranks than are used.
  template <class Use>
  void for_teams(Use use) {
    for (const DataType type : kArrayTypes) {
      if (type == DataType::tf32) continue;
      for (const int ranks : {1, 2, 7, 8, 41, 1000}) {
        SCOPED_TRACE(std::string(name(type)) + " ranks " + std::to_string(ranks));
        for (const bool factors : {false, true}) use(type, CollectiveData{11, ranks, factors});
      }
    }
  }
  Array array(DataType type) { return {*device_, type, kCount, 0}; }
};

TEST_F(CudaCollectiveData, FillsAsTheCpuDoes) {
  for_teams([&](DataType type, const CollectiveData& data) {
    for (const int rank : {0, data.ranks / 2, data.ranks - 1}) {
      const Array filled = array(type);
      cuda::collective_data.fill(type, filled.data(), kCount, data, rank, kFirst, device_->stream());
      device_->synchronize();
      std::vector<double> expected(kCount);
      cpu::collective_data.expect(type, expected.data(), kCount, data, rank, kFirst, nullptr);
      EXPECT_EQ(filled.values(), expected) << "rank " << rank;
      EXPECT_TRUE(filled.untouched_around());
    }
  });
}

TEST_F(CudaCollectiveData, ExpectsWhatTheCpuDoes) {
  for_teams([&](DataType type, const CollectiveData& data) {
    const int rank = data.ranks - 1;
    const Array got = array(DataType::fp64);
    cuda::collective_data.expect(type, got.as<double>(), kCount, data, rank, kFirst, device_->stream());
    device_->synchronize();
    std::vector<double> expected(kCount);
    cpu::collective_data.expect(type, expected.data(), kCount, data, rank, kFirst, nullptr);
    EXPECT_EQ(got.values(), expected);
    EXPECT_TRUE(got.untouched_around());
  });
}

TEST_F(CudaCollectiveData, ReducesAsTheCpuDoes) {
  for_teams([&](DataType type, const CollectiveData& data) {
    for (const Reduction reduction : kReductions) {
      const Array got = array(DataType::fp64), got_scale = array(DataType::fp64);
      cuda::collective_data.expect_reduced(type, reduction, got.as<double>(), got_scale.as<double>(), kCount, data, kFirst,
                                           device_->stream());
      device_->synchronize();
      std::vector<double> expected(kCount), scale(kCount);
      cpu::collective_data.expect_reduced(type, reduction, expected.data(), scale.data(), kCount, data, kFirst, nullptr);
      EXPECT_EQ(got.values(), expected) << name(reduction);
      EXPECT_EQ(got_scale.values(), scale) << name(reduction);
      EXPECT_TRUE(got.untouched_around());
      EXPECT_TRUE(got_scale.untouched_around());
    }
  });
}

}  // namespace
}  // namespace roofmark
