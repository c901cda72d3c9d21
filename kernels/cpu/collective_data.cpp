// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective_data.hpp"

#include <cstdint>

namespace roofmark::cpu {

namespace {

constexpr std::size_t kWorthThreads = 4096;

void fill(DataType type, void* out, std::size_t count, const CollectiveData& data, int rank, std::size_t first, Stream) {
  with_type(type, [&]<DataType kType>() {
    auto* elements = static_cast<typename Element<kType>::Storage*>(out);
#pragma omp parallel for schedule(static) if (count >= kWorthThreads)
    for (std::size_t i = 0; i < count; ++i) {
      elements[i] = Element<kType>::rounded(CollectiveValues(kType, data, first + i).value(rank));
    }
  });
}

void expect(DataType type, double* expected, std::size_t count, const CollectiveData& data, int rank, std::size_t first,
            Stream) {
#pragma omp parallel for schedule(static) if (count >= kWorthThreads)
  for (std::size_t i = 0; i < count; ++i) expected[i] = CollectiveValues(type, data, first + i).value(rank);
}

void expect_reduced(DataType type, Reduction reduction, double* expected, double* scale, std::size_t count,
                    const CollectiveData& data, std::size_t first, Stream) {
#pragma omp parallel for schedule(static) if (count >= kWorthThreads)
  for (std::size_t i = 0; i < count; ++i) {
    const CollectiveValues values(type, data, first + i);
    expected[i] = values.reduced(type, reduction);
    scale[i] = values.scale(reduction);
  }
}

}  // namespace

const CollectiveDataKernels collective_data = {fill, expect, expect_reduced};

}  // namespace roofmark::cpu
