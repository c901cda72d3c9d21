// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/facts.hpp"

namespace roofmark {

/// ISO 8601 in UTC, to the second.
std::string utc_now(double seconds_ago = 0);
/// ROOFMARK_HOST where it is set, as in a container, whose own name is new each time.
std::string host_name();
/// The kernel's, new with each boot and the same in all containers of a machine; empty if it cannot be read.
std::string boot_id(const std::filesystem::path& root = "/");

/// A machine as NCCL knows it: by its name, of which a cluster may have several, and its boot.
struct MachineIdentity {
  std::string name, boot_id;
};
/// Of each of them its name; where machines have the same one, with their number in it: node#1, node#2.
std::vector<std::string> distinct_names(const std::vector<MachineIdentity>& machines);

/// The host of this process. Absent or empty if it cannot be read.
struct Host {
  std::string name, os, kernel;
  std::string cpu;  ///< cpu_name()
  int cores = 0;    ///< logical CPUs
  std::optional<std::uint64_t> memory_bytes;
  CpuFacts facts;                                       ///< what this process may use
  std::optional<double> load_average;                   ///< of one minute, of the whole machine
  int load_average_cpus = 0;                            ///< that this load is spread over
  std::map<std::string, std::string> environment = {};  ///< rate_environment()
};
Host describe_host();
/// Environment variables that affect rates, as they were when the program started: those of CUDA, cuBLAS and NCCL, of the
/// libraries for networks (UCX, libfabric, SHARP), of OpenMP and OpenBLAS, and the settings of MPIs (of Open MPI those of
/// mpirun's --mca too).
std::map<std::string, std::string> rate_environment();

/// The sources and tools of this build.
struct Build {
  std::string version, commit;
  bool dirty = false;  ///< the checkout had local changes
  std::string compiler, build_type;
  std::string cuda_toolkit, cuda_compiler, cuda_architectures;  ///< empty in a build without CUDA
};
Build describe_build();
/// The build on one line, for a fingerprint's key.
std::string build_key();

/// The `context` that every reader of Google Benchmark's format expects.
struct BenchmarkContext {
  std::string date;  ///< ISO 8601 with the offset from UTC
  std::string host_name, executable;
  unsigned cpus = 0;
  int mhz_per_cpu = 0;       ///< 0 where it cannot be read
  bool cpu_scaling = false;  ///< the CPU's clock has a governor
  std::vector<double> load_averages;
};
BenchmarkContext benchmark_context(const std::string& executable);

}  // namespace roofmark
