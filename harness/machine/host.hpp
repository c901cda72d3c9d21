// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/machine/facts.hpp"
#include "harness/machine/json_fwd.hpp"

namespace roofmark {

/// ISO 8601 in UTC, to the second.
std::string utc_now(double seconds_ago = 0);
std::string host_name();

/// The host of this process. Absent or empty if it cannot be read.
struct Host {
  std::string name, os, kernel;
  std::string cpu;  ///< "model name" of /proc/cpuinfo
  int cores = 0;    ///< logical CPUs
  std::optional<std::uint64_t> memory_bytes;
  CpuFacts facts;                      ///< what this process may use
  std::optional<double> load_average;  ///< of one minute, of the whole machine
  int load_average_cpus = 0;           ///< that this load is spread over
};
Host describe_host();
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
