// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/machine/json_fwd.hpp"

namespace roofmark {

/// ISO 8601 in UTC, to the second.
std::string utc_now(double seconds_ago = 0);
std::string host_name();

/// Name, system, kernel, CPU, cores and memory of the host; `details` has what else affects results (governor, SMT, NUMA,
/// container limits, load). Absent if it cannot be read.
Json describe_host();
/// Environment variables that affect rates, as they were when the program started: CUDA_*, NVIDIA_*, CUBLAS_*, NCCL_*, OMP_*,
/// GOMP_*, OPENBLAS_*.
Json rate_environment();
/// This program's version, commit, compiler and toolkit.
Json describe_build();
/// The build on one line, for a fingerprint's key.
std::string build_key();
/// The `context` that every reader of Google Benchmark's format expects.
Json benchmark_context(const std::string& executable);

}  // namespace roofmark
