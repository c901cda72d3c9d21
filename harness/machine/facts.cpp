// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/facts.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <system_error>

#include "harness/machine/files.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

std::optional<double> meminfo_bytes(const fs::path& root, const std::string& key) {
  const auto kibibytes = number(value_in(root / "proc/meminfo", key));
  if (!kibibytes) return std::nullopt;
  return *kibibytes * 1024;
}

std::optional<double> node_meminfo_bytes(const fs::path& root, int node, const char* key) {
  const auto kibibytes = number(
      value_in(root / fmt::format("sys/devices/system/node/node{}/meminfo", node), fmt::format("Node {} {}", node, key)));
  return kibibytes ? std::optional(*kibibytes * 1024) : std::nullopt;
}

fs::path cpu_folder(const fs::path& root, int cpu) { return root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)); }

/// This process's control group of `controller` and all its parents: each may set a limit. In a container the path in /proc may
/// be the host's, and only the root exists.
std::vector<fs::path> control_groups(const fs::path& root, const std::string& controller) {
  std::vector<fs::path> folders;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // id:controllers:path, no controllers in version 2
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    fs::path base = root / "sys/fs/cgroup";
    if (controllers == ",,") {
      if (is_there(base / "unified")) base /= "unified";
    } else if (controllers.find("," + controller + ",") != std::string::npos) {
      base /= controller;
    } else {
      continue;
    }
    for (fs::path path = fs::path(line.substr(second + 1)).relative_path(); !path.empty(); path = path.parent_path()) {
      folders.push_back(base / path);
    }
    folders.push_back(base);
  }
  return folders;
}

std::optional<double> cpu_quota(const fs::path& root) {
  std::optional<double> least;
  for (const fs::path& folder : control_groups(root, "cpu")) {
    std::optional<double> quota = number_in(folder / "cpu.cfs_quota_us"), period = number_in(folder / "cpu.cfs_period_us");
    if (const auto both = first_line(folder / "cpu.max")) {  // "quota period", or "max period"
      quota = number(both);
      period = number(both->substr(std::min(both->find(' '), both->size())));
    }
    if (quota && period && *quota > 0 && *period > 0) least = std::min(least.value_or(*quota / *period), *quota / *period);
  }
  return least;
}

/// The smallest memory limit of the control groups, and the smallest remainder below one.
struct MemoryLimit {
  std::optional<double> limit, left;
};

MemoryLimit memory_limit(const fs::path& root) {
  MemoryLimit found;
  for (const fs::path& folder : control_groups(root, "memory")) {
    std::optional<double> limit = number_in(folder / "memory.max"), used = number_in(folder / "memory.current");
    // Above its high mark the kernel takes memory back, and slows the group down.
    if (const auto high = number_in(folder / "memory.high")) limit = std::min(limit.value_or(*high), *high);
    std::string cache_key = "inactive_file ";
    if (!used) {
      limit = number_in(folder / "memory.limit_in_bytes");
      used = number_in(folder / "memory.usage_in_bytes");
      cache_key = "total_inactive_file ";
    }
    if (!limit || !used) continue;
    // Inactive page cache counts as used but is reclaimed when memory is needed.
    double reclaimable = 0;
    std::ifstream in(folder / "memory.stat");
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(cache_key)) reclaimable = number(line.substr(cache_key.size())).value_or(0);
    }
    const double left = std::max(0.0, *limit - *used + reclaimable);
    found.limit = std::min(found.limit.value_or(*limit), *limit);
    found.left = std::min(found.left.value_or(left), left);
  }
  return found;
}

/// "512K", "32768K", "1M" in bytes.
std::size_t parse_size(const std::string& text) {
  std::istringstream in(text);
  std::size_t value = 0;
  char unit = ' ';
  in >> value >> unit;
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

/// The vector and matrix extensions among the CPU's flags.
std::vector<std::string> vector_extensions(const fs::path& root) {
  constexpr std::array kKnown = {"sse2",        "avx",         "fma",      "avx2",     "avx512f", "avx512vl", "avx512_bf16",
                                 "avx512_fp16", "avx512_vnni", "amx_tile", "amx_bf16", "asimd",   "sve",      "sve2"};
  std::istringstream flags(
      value_in(root / "proc/cpuinfo", "flags").value_or(value_in(root / "proc/cpuinfo", "Features").value_or("")));
  const std::set<std::string> all{std::istream_iterator<std::string>(flags), {}};
  std::vector<std::string> found;
  std::copy_if(kKnown.begin(), kKnown.end(), std::back_inserter(found), [&](const char* flag) { return all.contains(flag); });
  return found;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void keep_to(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot pin the thread to its cores");
  }
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    std::istringstream range(part);
    int first = 0, last = 0;
    char dash = ' ';
    if (!(range >> first)) continue;
    if (!(range >> dash >> last) || dash != '-') last = first;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::optional<int> numa_node(const fs::path& device) {
  const auto node = number_in(device / "numa_node");
  return node && *node >= 0 ? std::optional<int>(static_cast<int>(*node)) : std::nullopt;
}

bool is_virtual_machine(const fs::path& root) {
  // An x86 CPU tells it.
  if (const auto flags = value_in(root / "proc/cpuinfo", "flags")) return flags->find(" hypervisor") != std::string::npos;
  if (is_there(root / "proc/device-tree/hypervisor")) return true;
  const fs::path firmware = root / "sys/class/dmi/id";
  const auto is_of = [&firmware](std::string_view maker) {
    constexpr std::array kNames = {"product_name", "sys_vendor", "board_vendor", "bios_vendor", "product_version"};
    return std::any_of(kNames.begin(), kNames.end(),
                       [&](const char* name) { return first_line(firmware / name).value_or("").starts_with(maker); });
  };
  // Names that systemd-detect-virt knows; those of makers of servers too are left out.
  constexpr std::array kHypervisors = {"KVM", "QEMU", "OpenStack", "KubeVirt", "VMware", "Hyper-V", "Xen"};
  if (std::any_of(kHypervisors.begin(), kHypervisors.end(), is_of)) return true;
  if (!is_of("Amazon EC2") && !is_of("Google Compute Engine")) return false;
  // They have machines without a hypervisor too: Amazon's say so by their name. On Google's the kernel can have virtual
  // machines of its own, for which an Arm CPU needs the privilege level of a hypervisor.
  const bool is_metal = first_line(firmware / "product_name").value_or("").find(".metal") != std::string::npos;
  return !is_metal && !is_there(root / "sys/class/misc/kvm");
}

std::optional<int> numa_node_of(const std::vector<int>& cores, const fs::path& root) {
  if (cores.empty()) return std::nullopt;
  for (const fs::path& node : entries(root / "sys/devices/system/node", "node")) {
    const auto list = first_line(node / "cpulist");
    if (!list) continue;
    const std::vector<int> its = parse_cpu_list(*list);
    if (std::includes(its.begin(), its.end(), cores.begin(), cores.end())) {
      return std::stoi(node.filename().string().substr(4));
    }
  }
  return std::nullopt;
}

std::vector<CacheLevel> read_caches(const fs::path& root, const std::vector<int>& cpus) {
  std::map<int, std::map<std::string, std::size_t>> levels;  // level -> sharing CPUs -> bytes
  for (int cpu : cpus) {
    for (const fs::path& index : entries(cpu_folder(root, cpu) / "cache", "index")) {
      const auto level = number_in(index / "level");
      const auto type = first_line(index / "type"), size = first_line(index / "size");
      if (!level || !type || !size || *type == "Instruction") continue;
      const std::string shared = first_line(index / "shared_cpu_list").value_or(std::to_string(cpu));
      levels[static_cast<int>(*level)][shared] = parse_size(*size);
    }
  }
  std::vector<CacheLevel> caches;
  for (const auto& [level, instances] : levels) {
    CacheLevel cache{"l" + std::to_string(level), 0, 0};
    for (const auto& [shared, bytes] : instances) {
      cache.total_bytes += bytes;
      cache.instance_bytes = std::max(cache.instance_bytes, bytes);
    }
    caches.push_back(cache);
  }
  return caches;
}

std::vector<int> first_cpus(const fs::path& root, const std::vector<int>& usable) {
  std::set<std::string> seen;
  std::vector<int> first;
  for (int cpu : usable) {
    const auto siblings = first_line(cpu_folder(root, cpu) / "topology/thread_siblings_list");
    if (seen.insert(siblings.value_or(std::to_string(cpu))).second) first.push_back(cpu);
  }
  return first;
}

std::string cpu_name(const fs::path& root) {
  const fs::path cpuinfo = root / "proc/cpuinfo";
  if (const auto name = value_in(cpuinfo, "model name")) return *name;
  const auto implementer = value_in(cpuinfo, "CPU implementer"), part = value_in(cpuinfo, "CPU part");
  return implementer && part ? fmt::format("CPU of implementer {}, part {}", *implementer, *part) : std::string();
}

CpuFacts read_cpu_facts(const fs::path& root, const std::vector<int>& usable) {
  CpuFacts facts;
  const fs::path cpuinfo = root / "proc/cpuinfo";
  const std::string name = cpu_name(root);
  facts.model = name.empty() ? "CPU" : name;

  const std::vector<int> cores = first_cpus(root, usable);
  facts.cores = static_cast<int>(cores.size());
  std::set<std::string> packages;
  for (int cpu : usable) {
    const fs::path topology = cpu_folder(root, cpu) / "topology";
    const auto siblings = first_line(topology / "thread_siblings_list");
    if (siblings) facts.threads_per_core = std::max(facts.threads_per_core, static_cast<int>(parse_cpu_list(*siblings).size()));
    if (const auto package = first_line(topology / "physical_package_id")) packages.insert(*package);
  }

  for (const char* key : {"vendor_id", "cpu family", "model", "stepping", "microcode", "cpu MHz", "CPU implementer", "CPU part",
                          "CPU revision"}) {
    if (const auto value = value_in(cpuinfo, key)) facts.cpuinfo.emplace_back(key, *value);
  }
  facts.logical_cpus = static_cast<int>(usable.size());
  if (!packages.empty()) facts.packages = static_cast<int>(packages.size());
  if (const auto nodes = first_line(root / "sys/devices/system/node/has_cpu")) {
    facts.numa_nodes = static_cast<int>(parse_cpu_list(*nodes).size());
  }
  facts.cpu_quota = cpu_quota(root);
  facts.isa = vector_extensions(root);
  facts.virtual_machine = is_virtual_machine(root);

  for (int cpu : cores) {
    const auto kilohertz = number_in(cpu_folder(root, cpu) / "cpufreq/cpuinfo_max_freq");
    if (kilohertz) facts.max_clock_hz = std::max(facts.max_clock_hz.value_or(0), *kilohertz * 1e3);
  }
  if (!cores.empty()) {
    facts.governor = first_line(cpu_folder(root, cores.front()) / "cpufreq/scaling_governor");
  }
  facts.transparent_hugepage = choice_in(root / "sys/kernel/mm/transparent_hugepage/enabled");
  if (const auto mode = number_in(root / "proc/sys/kernel/numa_balancing")) facts.numa_balancing = static_cast<int>(*mode);

  facts.caches = read_caches(root, cores);
  facts.memory_bytes = static_cast<std::size_t>(meminfo_bytes(root, "MemTotal").value_or(0));
  const auto limit = memory_limit(root).limit;
  if (limit && *limit < static_cast<double>(facts.memory_bytes)) {
    facts.machine_memory_bytes = facts.memory_bytes;
    facts.memory_bytes = static_cast<std::size_t>(*limit);
  }
  return facts;
}

std::size_t available_memory(const fs::path& root) {
  const double available = meminfo_bytes(root, "MemAvailable").value_or(0);
  return static_cast<std::size_t>(std::min(available, memory_limit(root).left.value_or(available)));
}

std::size_t total_memory(const fs::path& root) {
  const double total = meminfo_bytes(root, "MemTotal").value_or(0);
  return static_cast<std::size_t>(std::min(total, memory_limit(root).limit.value_or(total)));
}

std::optional<std::size_t> total_memory_of_node(int node, const fs::path& root) {
  const auto total = node_meminfo_bytes(root, node, "MemTotal");
  return total ? std::optional(static_cast<std::size_t>(*total)) : std::nullopt;
}

std::optional<std::size_t> available_memory_of_node(int node, const fs::path& root) {
  const auto bytes = [&](const char* key) { return node_meminfo_bytes(root, node, key); };
  const auto free = bytes("MemFree");
  if (!free) return std::nullopt;
  // Half of the cached files may be in use; the kernel assumes as much for MemAvailable. It keeps the reserve for itself.
  const double files = bytes("Active(file)").value_or(0) + bytes("Inactive(file)").value_or(0);
  const double reserve = 1024 * number_in(root / "proc/sys/vm/min_free_kbytes").value_or(0);
  return static_cast<std::size_t>(std::max(0.0, *free + files / 2 - reserve));
}

std::optional<double> current_clock_hz(const fs::path& root, const std::vector<int>& cpus) {
  double sum = 0;
  int count = 0;
  for (int cpu : cpus) {
    if (const auto kilohertz = number_in(cpu_folder(root, cpu) / "cpufreq/scaling_cur_freq")) {
      sum += *kilohertz * 1e3;
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

std::optional<double> temperature_celsius(const fs::path& root) {
  const std::set<std::string> cpu_sensors = {"coretemp", "k10temp", "zenpower", "cpu_thermal"};
  std::optional<double> hottest;
  for (const fs::path& sensor : entries(root / "sys/class/hwmon", "hwmon")) {
    if (!cpu_sensors.contains(first_line(sensor / "name").value_or(""))) continue;
    for (const fs::path& input : entries(sensor, "temp")) {
      if (!input.string().ends_with("_input")) continue;
      if (const auto thousandths = number_in(input)) hottest = std::max(hottest.value_or(-273), *thousandths / 1e3);
    }
  }
  return hottest;
}

}  // namespace roofmark
