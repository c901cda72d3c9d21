// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/machine/json.hpp"

namespace roofmark {

/// ISO 8601 in UTC, to the second.
std::string utc_now();
std::string host_name();

/// Name, system, kernel, CPU, cores and memory of the host, and as `details` what else bears on results (governor, SMT, NUMA,
/// limits of the container, load); what cannot be read is absent.
Json describe_host();
/// The variables that change rates, as the program was started with them: CUDA_*, NVIDIA_*, CUBLAS_*, NCCL_*, OMP_*, GOMP_*,
/// OPENBLAS_*.
Json rate_environment();
/// Version, commit, compiler and toolkit that this program was built with.
Json describe_build();
/// The build in a line, as part of a fingerprint's key.
std::string build_key();
/// The `context` that every reader of Google Benchmark's format expects.
Json benchmark_context(const std::string& executable);

}  // namespace roofmark
