// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/stream.hpp"

namespace roofmark::cpu {

namespace {
bool supports(DataType type) { return type == DataType::fp64 || type == DataType::fp32; }
std::size_t workspace_bytes(StreamOp, std::size_t) { return 0; }
}  // namespace

const StreamKernels stream = {supports, nullptr, workspace_bytes};

}  // namespace roofmark::cpu
