// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/host.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <thread>

#include "build_info.hpp"

namespace roofmark {

namespace {

// The value of the first line "key<spaces>separator value".
std::string field(const char* path, std::string_view key, char separator) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const auto at = line.find(separator, key.size());
    if (at == std::string::npos) continue;
    std::string value = line.substr(at + 1);
    value.erase(0, value.find_first_not_of(" \t\""));
    value.erase(value.find_last_not_of(" \t\"") + 1);
    return value;
  }
  return {};
}

std::map<std::string, std::string> read_rate_environment() {
  std::map<std::string, std::string> variables;
  constexpr std::string_view prefixes[] = {
      "CUDA_", "NVIDIA_", "CUBLAS_", "CUBLASLT_", "NCCL_", "UCX_", "FI_", "OFI_NCCL_", "SHARP_", "OMP_", "GOMP_", "OPENBLAS_",
      // Settings of MPIs; their launchers set others, with the numbers of jobs and processes. Open MPI:
      "OMPI_MCA_btl", "OMPI_MCA_pml", "OMPI_MCA_mtl", "OMPI_MCA_coll", "OMPI_MCA_smsc", "OMPI_MCA_mpi_", "OMPI_MCA_opal_",
      "OMPI_MCA_hwloc_", "OMPI_MCA_rmaps_", "PRTE_MCA_rmaps_", "PRTE_MCA_hwloc_",
      // MPICH, MVAPICH, Intel MPI:
      "MPIR_CVAR_", "MV2_", "MVP_", "I_MPI_ADJUST_", "I_MPI_ASYNC_", "I_MPI_COLL_", "I_MPI_FABRICS", "I_MPI_OFI_", "I_MPI_PIN",
      "I_MPI_SHM", "I_MPI_SPIN_", "I_MPI_TUNING", "I_MPI_WAIT_MODE"};
  // Images of containers state with these what they hold and what they need.
  constexpr std::string_view of_image[] = {
      "CUDA_HOME=",     "CUDA_PATH=", "CUDA_VERSION=", "NCCL_VERSION=", "NVIDIA_PRODUCT_NAME=", "NVIDIA_DRIVER_CAPABILITIES=",
      "NVIDIA_REQUIRE_"};
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view variable = *entry;
    const auto begins = [&](std::string_view prefix) { return variable.substr(0, prefix.size()) == prefix; };
    if (std::none_of(std::begin(prefixes), std::end(prefixes), begins)) continue;
    if (std::any_of(std::begin(of_image), std::end(of_image), begins)) continue;
    const auto at = variable.find('=');
    variables[std::string(variable.substr(0, at))] = variable.substr(at + 1);
  }
  return variables;
}

// Read before main, because the program sets NCCL's log variables itself.
const std::map<std::string, std::string> started_with = read_rate_environment();

}  // namespace

std::string utc_now(double seconds_ago) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr) - static_cast<std::time_t>(seconds_ago)));
}

std::string host_name() {
  if (const char* given = std::getenv("ROOFMARK_HOST"); given && *given) return given;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string boot_id(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::vector<std::string> distinct_names(const std::vector<MachineIdentity>& machines) {
  std::map<std::string, std::vector<std::string>> boots;  // by name, in the order of their first process
  for (const MachineIdentity& machine : machines) {
    std::vector<std::string>& known = boots[machine.name];
    if (std::find(known.begin(), known.end(), machine.boot_id) == known.end()) known.push_back(machine.boot_id);
  }
  std::vector<std::string> names;
  for (const MachineIdentity& machine : machines) {
    const std::vector<std::string>& known = boots[machine.name];
    const auto number = std::find(known.begin(), known.end(), machine.boot_id) - known.begin() + 1;
    names.push_back(known.size() == 1 ? machine.name : fmt::format("{}#{}", machine.name, number));
  }
  return names;
}

Host describe_host() {
  Host host;
  host.name = host_name();
  host.os = field("/etc/os-release", "PRETTY_NAME", '=');
  utsname system{};
  if (::uname(&system) == 0) host.kernel = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  host.cpu = cpu_name("/");
  host.cores = static_cast<int>(std::thread::hardware_concurrency());
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  if (pages > 0) host.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  host.facts = read_cpu_facts("/", allowed_cpus());
  double load = 0;
  if (::getloadavg(&load, 1) == 1) {
    // The load is the machine's, whatever part of it this process may use.
    host.load_average = load;
    host.load_average_cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  }
  host.environment = rate_environment();
  return host;
}

std::map<std::string, std::string> rate_environment() { return started_with; }

Build describe_build() {
  return {build_info::version,    build_info::commit,       build_info::dirty,         build_info::compiler,
          build_info::build_type, build_info::cuda_toolkit, build_info::cuda_compiler, build_info::cuda_architectures};
}

std::string build_key() {
  return fmt::format("roofmark {} {}{}", build_info::version, build_info::commit, build_info::dirty ? "+" : "");
}

BenchmarkContext benchmark_context(const std::string& executable) {
  BenchmarkContext context;
  context.date = fmt::format("{:%Y-%m-%dT%H:%M:%S+00:00}", fmt::gmtime(std::time(nullptr)));
  context.host_name = host_name();
  context.executable = executable;
  context.cpus = std::thread::hardware_concurrency();
  const std::string mhz = field("/proc/cpuinfo", "cpu MHz", ':');
  context.mhz_per_cpu = mhz.empty() ? 0 : static_cast<int>(std::strtod(mhz.c_str(), nullptr));
  context.cpu_scaling = ::access("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", R_OK) == 0;
  std::array<double, 3> load{};
  const int loads = ::getloadavg(load.data(), 3);
  context.load_averages.assign(load.begin(), load.begin() + std::max(loads, 0));
  return context;
}

}  // namespace roofmark
