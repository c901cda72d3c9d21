// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/epilogue.hpp"

#include "kernels/epilogue_reference.hpp"

namespace roofmark::cpu {
namespace {

void reference(const EpilogueReference& of, std::int64_t first, std::int64_t count, double* expected, double* allowed, Stream) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const Scaled found = epilogue_reference(of, first + i);
    expected[i] = found.value;
    allowed[i] = found.scale;
  }
}

}  // namespace

const EpilogueKernels epilogue = {reference};

}  // namespace roofmark::cpu
