// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/member.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "harness/cpu/facts.hpp"
#include "harness/host.hpp"
#include "harness/terminal.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<double> number(const fs::path& file) {
  std::ifstream in(file);
  double value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// Of a folder of the PCI device; -1 there means none.
std::optional<int> numa_node(const fs::path& device) {
  const auto node = number(device / "numa_node");
  return node && *node >= 0 ? std::optional<int>(static_cast<int>(*node)) : std::nullopt;
}

/// Of an interface; not every driver knows, and some say -1.
std::optional<double> interface_rate(const fs::path& interface) {
  const auto megabits = number(interface / "speed");
  return megabits && *megabits > 0 ? std::optional<double>(*megabits * 1e6 / 8) : std::nullopt;
}

/// "200 Gb/sec (4X HDR)". SDR (which older kernels do not name), DDR and QDR put 8 bits on the line as 10, FDR 64 as 66, and
/// their figures are of the line; the others' are of the data, and so is every one of an Ethernet port (InfiniBand Architecture
/// Specification, volume 2).
std::optional<double> port_rate(const fs::path& port, bool infiniband) {
  const auto gigabits = number(port / "rate");
  if (!gigabits || *gigabits <= 0) return std::nullopt;
  const std::string text = first_line(port / "rate");
  const auto is = [&](const char* name) { return infiniband && text.ends_with(name); };
  const double carried = is("X)") || is(" SDR)") || is(" DDR)") || is(" QDR)") ? 8.0 / 10 : is(" FDR)") ? 64.0 / 66 : 1;
  return *gigabits * carried * 1e9 / 8;
}

std::vector<Nic> rdma_ports(const fs::path& root) {
  std::vector<Nic> found;
  for (const fs::path& device : entries(root / "sys/class/infiniband")) {
    for (const fs::path& port : entries(device / "ports")) {
      if (first_line(port / "state").find("ACTIVE") == std::string::npos) continue;
      const std::string layer = first_line(port / "link_layer");
      Nic nic;
      nic.name = fmt::format("{}:{}", device.filename().string(), port.filename().string());
      nic.kind = layer == "InfiniBand" ? "InfiniBand" : layer == "Ethernet" ? "RoCE" : "RDMA";
      // The rate in words knows InfiniBand's steps alone.
      if (nic.kind == "RoCE") {
        const std::string interface = first_line(port / "gid_attrs/ndevs/0");
        if (!interface.empty()) nic.bytes_per_second = interface_rate(root / "sys/class/net" / interface);
      }
      if (!nic.bytes_per_second) nic.bytes_per_second = port_rate(port, nic.kind == "InfiniBand");
      nic.numa_node = numa_node(device / "device");
      found.push_back(std::move(nic));
    }
  }
  return found;
}

bool is_up(const fs::path& interface) {
  const std::string state = first_line(interface / "operstate");
  return state == "up" || (state == "unknown" && number(interface / "carrier") == 1);
}

/// Of all its members; absent where they are of several.
std::optional<int> bond_numa_node(const fs::path& bond) {
  std::set<std::optional<int>> nodes;
  std::ifstream in(bond / "bonding/slaves");
  for (std::string member; in >> member;) nodes.insert(numa_node(bond.parent_path() / member / "device"));
  return nodes.size() == 1 ? *nodes.begin() : std::nullopt;
}

std::vector<Nic> interfaces(const fs::path& root) {
  constexpr double kEthernet = 1;  // ARPHRD_ETHER
  std::vector<Nic> hardware, pairs;
  for (const fs::path& interface : entries(root / "sys/class/net")) {
    if (number(interface / "type") != kEthernet || !is_up(interface)) continue;
    // What is behind a bond, or the virtual machine's fast path behind its slow one, is counted there; what is behind a bridge
    // is not, since the bridge is no hardware.
    const bool behind_bridge = fs::exists(interface / "brport");
    if (fs::exists(interface / "master") && !behind_bridge) continue;
    const bool bond = fs::exists(interface / "bonding");
    const std::vector<fs::path> all = entries(interface);
    const bool stacked = std::any_of(all.begin(), all.end(), [](const fs::path& entry) {
      return entry.filename().string().starts_with("lower_");  // a VLAN on another interface, say
    });
    Nic nic{interface.filename().string(), "Ethernet", interface_rate(interface), numa_node(interface / "device")};
    if (bond) nic.numa_node = bond_numa_node(interface);
    if (bond || fs::exists(interface / "device")) {
      hardware.push_back(std::move(nic));
    } else if (!behind_bridge && !stacked && number(interface / "iflink") != number(interface / "ifindex")) {
      nic.bytes_per_second.reset();  // the kernel says 10 Gb/s of every pair
      pairs.push_back(std::move(nic));
    }
  }
  return hardware.empty() ? pairs : hardware;
}

/// "0-3,8"
std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

/// The one node that all of them are of.
std::optional<int> numa_node_of(const std::vector<int>& cores, const fs::path& root) {
  for (const fs::path& node : entries(root / "sys/devices/system/node")) {
    const std::string name = node.filename().string();
    if (!name.starts_with("node") || name.find_first_not_of("0123456789", 4) != std::string::npos) continue;
    const std::vector<int> its = parse_cpu_list(first_line(node / "cpulist"));
    if (!cores.empty() && std::all_of(cores.begin(), cores.end(),
                                      [&](int core) { return std::find(its.begin(), its.end(), core) != its.end(); })) {
      return std::stoi(name.substr(4));
    }
  }
  return std::nullopt;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string describe(const Member& member) { return fmt::format("rank {} ({})", member.rank, member.host); }

std::string rate(const Nic& nic) {
  return nic.bytes_per_second ? fmt::format("{:.3g} Gb/s", *nic.bytes_per_second * 8 / 1e9) : "unknown rate";
}

template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}
void put(Json& json, const char* key, const std::string& value) {
  if (!value.empty()) json[key] = value;
}
template <class T>
std::optional<T> optional(const Json& json, const char* key) {
  return json.contains(key) ? std::optional<T>(json.at(key).get<T>()) : std::nullopt;
}

}  // namespace

std::vector<Nic> read_nics(const fs::path& root) {
  std::vector<Nic> ports = rdma_ports(root);
  return ports.empty() ? interfaces(root) : ports;
}

Member describe_member(const DeviceInfo& device, const fs::path& root) {
  Member member;
  member.host = host_name();
  member.nccl_host_id = variable("NCCL_HOSTID");
  member.may_share_gpu = variable("NCCL_MULTI_RANK_GPU_ENABLE") == "1";
  member.pid = static_cast<int>(::getpid());
  member.device_id = device.id;
  member.device_name = device.name;
  member.nics = read_nics(root);
  if (device.backend == Backend::cpu) {
    member.cores = allowed_cpus();
    member.numa_node = numa_node_of(member.cores, root);
    return member;
  }
  const Json& details = device.details;
  member.uuid = details.value("uuid", "");
  member.pci_bus_id = details.value("pci_bus_id", "");
  member.numa_node = optional<int>(details, "numa_node");
  member.nvlink_bytes_per_second = optional<double>(details, "nvlink_bytes_per_second");
  member.nvlink_source = details.value("nvlink_source", "");
  member.pcie_bytes_per_second = optional<double>(details, "pcie_bytes_per_second");
  member.pcie_source = details.value("pcie_source", "");
  return member;
}

Json to_json(const Member& member) {
  Json json = {{"rank", member.rank}, {"local_rank", member.local_rank}, {"host", member.host}, {"pid", member.pid}};
  put(json, "nccl_host_id", member.nccl_host_id);
  if (member.may_share_gpu) json["may_share_gpu"] = true;
  json["device_id"] = member.device_id;
  json["device_name"] = member.device_name;
  put(json, "uuid", member.uuid);
  put(json, "pci_bus_id", member.pci_bus_id);
  put(json, "numa_node", member.numa_node);
  if (!member.cores.empty()) json["cores"] = member.cores;
  Json& nics = json["nics"] = Json::array();
  for (const Nic& nic : member.nics) {
    Json entry = {{"name", nic.name}, {"kind", nic.kind}};
    put(entry, "bytes_per_second", nic.bytes_per_second);
    put(entry, "numa_node", nic.numa_node);
    nics.push_back(std::move(entry));
  }
  put(json, "nvlink_bytes_per_second", member.nvlink_bytes_per_second);
  put(json, "nvlink_source", member.nvlink_source);
  put(json, "pcie_bytes_per_second", member.pcie_bytes_per_second);
  put(json, "pcie_source", member.pcie_source);
  Json& versions = json["versions"] = Json::object();
  for (const auto& [name, version] : member.versions) versions[name] = version;
  return json;
}

Member member_from_json(const Json& json) {
  Member member;
  member.rank = json.at("rank");
  member.local_rank = json.at("local_rank");
  member.host = json.at("host");
  member.nccl_host_id = json.value("nccl_host_id", "");
  member.may_share_gpu = json.value("may_share_gpu", false);
  member.pid = json.at("pid");
  member.device_id = json.at("device_id");
  member.device_name = json.at("device_name");
  member.uuid = json.value("uuid", "");
  member.pci_bus_id = json.value("pci_bus_id", "");
  member.numa_node = optional<int>(json, "numa_node");
  member.cores = json.value("cores", std::vector<int>());
  for (const Json& nic : json.at("nics")) {
    member.nics.push_back(
        {nic.at("name"), nic.at("kind"), optional<double>(nic, "bytes_per_second"), optional<int>(nic, "numa_node")});
  }
  member.nvlink_bytes_per_second = optional<double>(json, "nvlink_bytes_per_second");
  member.nvlink_source = json.value("nvlink_source", "");
  member.pcie_bytes_per_second = optional<double>(json, "pcie_bytes_per_second");
  member.pcie_source = json.value("pcie_source", "");
  for (const auto& [name, version] : json.at("versions").items()) {
    member.versions.emplace_back(name, version.get<std::string>());
  }
  return member;
}

std::vector<std::vector<int>> ranks_by_host(const std::vector<Member>& members) {
  std::map<std::string, std::vector<int>> hosts;
  for (const Member& member : members) hosts[member.host].push_back(member.rank);
  std::vector<std::vector<int>> groups;
  for (auto& [host, ranks] : hosts) {
    std::sort(ranks.begin(), ranks.end());
    groups.push_back(std::move(ranks));
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

int ranks_on_gpu(const std::vector<Member>& members, int rank) {
  const auto own = std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.rank == rank; });
  if (own == members.end() || own->uuid.empty()) return 1;
  return static_cast<int>(
      std::count_if(members.begin(), members.end(), [&](const Member& member) { return member.uuid == own->uuid; }));
}

bool share_gpu(const std::vector<Member>& members) {
  std::set<std::string> seen;
  return std::any_of(members.begin(), members.end(),
                     [&](const Member& member) { return !member.uuid.empty() && !seen.insert(member.uuid).second; });
}

std::string members_table(const std::vector<Member>& members) {
  constexpr std::size_t kNamed = 4;
  const bool gpus = std::any_of(members.begin(), members.end(), [](const Member& member) { return !member.uuid.empty(); });
  std::vector<std::vector<std::string>> rows{{"rank", "host", "local rank", "device", gpus ? "UUID" : "cores", "NUMA", "NIC"}};
  for (const Member& member : members) {
    std::string names;
    std::size_t near = 0;
    for (const Nic& nic : member.nics) {
      if (member.numa_node && nic.numa_node && *member.numa_node != *nic.numa_node) continue;
      if (++near <= kNamed) names += fmt::format("{}{} {} {}", names.empty() ? "" : ", ", nic.name, nic.kind, rate(nic));
    }
    if (near > kNamed) names += fmt::format(" and {} more", near - kNamed);
    rows.push_back({std::to_string(member.rank), member.host, std::to_string(member.local_rank),
                    fmt::format("{} {}", member.device_id, member.device_name), gpus ? member.uuid : ranges(member.cores),
                    member.numa_node ? std::to_string(*member.numa_node) : "-", names.empty() ? "-" : names});
  }
  return align(rows);
}

Roofline theoretical_links(const std::vector<Member>& members) {
  Roofline roofline;
  // The slowest, where every one is known.
  const auto add = [&](const Resource& resource, std::optional<double> Member::*figure, std::string Member::*source) {
    const Member* slowest = nullptr;
    for (const Member& member : members) {
      if (!(member.*figure)) return false;
      if (!slowest || *(member.*figure) < *(slowest->*figure)) slowest = &member;
    }
    if (!slowest) return false;
    Ceiling& ceiling = roofline.at(resource);
    ceiling.theoretical = slowest->*figure;
    ceiling.theoretical_source = slowest->*source + ", " + describe(*slowest);
    return true;
  };
  if (!share_gpu(members) && !add(resource::nvlink, &Member::nvlink_bytes_per_second, &Member::nvlink_source)) {
    add(resource::pcie, &Member::pcie_bytes_per_second, &Member::pcie_source);
  }

  const std::vector<std::vector<int>> hosts = ranks_by_host(members);
  std::optional<double> least;
  std::string source;
  for (const std::vector<int>& ranks : hosts) {
    const auto member =
        std::find_if(members.begin(), members.end(), [&](const Member& one) { return one.rank == ranks.front(); });
    double sum = 0;
    std::string names;
    for (const Nic& nic : member->nics) {
      if (!nic.bytes_per_second) return roofline;
      sum += *nic.bytes_per_second;
      names += fmt::format("{}{} {}", names.empty() ? "" : " + ", nic.name, rate(nic));
    }
    if (member->nics.empty()) return roofline;
    if (least && sum >= *least) continue;
    least = sum;
    source = fmt::format("{}, {} (the kernel's tables)", names, member->host);
  }
  if (hosts.size() > 1) {
    roofline.at(resource::network).theoretical = least;
    roofline.at(resource::network).theoretical_source = source;
  }
  return roofline;
}

std::string mismatch(const std::vector<Member>& members) {
  std::vector<std::string> reasons;
  // NCCL knows a GPU by its host, or by NCCL_HOSTID in the host's place, and its address there.
  std::map<std::tuple<bool, std::string, std::string>, const Member*> owners;
  for (const Member& member : members) {
    if (member.uuid.empty()) continue;
    const bool given = !member.nccl_host_id.empty();
    const auto [found, first] = owners.try_emplace({given, given ? member.nccl_host_id : member.host, member.uuid}, &member);
    if (first || (member.may_share_gpu && found->second->may_share_gpu)) continue;
    reasons.push_back(
        fmt::format("{} and {} have the same GPU ({}), which NCCL refuses: start one rank a GPU (from NCCL 2.30 on "
                    "NCCL_MULTI_RANK_GPU_ENABLE=1 allows more)",
                    describe(*found->second), describe(member), member.uuid));
    break;
  }
  const auto version_of = [](const Member& member, const std::string& name) -> std::string {
    for (const auto& [its, version] : member.versions) {
      if (its == name) return version;
    }
    return "no " + name;
  };
  std::set<std::string> names;
  for (const Member& member : members) {
    for (const auto& entry : member.versions) names.insert(entry.first);
  }
  for (const std::string& name : names) {
    for (const Member& member : members) {
      const std::string here = version_of(members.front(), name), there = version_of(member, name);
      if (here == there) continue;
      reasons.push_back(fmt::format("versions of {} differ: {} has {}, {} has {}", name, describe(members.front()), here,
                                    describe(member), there));
      break;
    }
  }
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
  return text;
}

}  // namespace roofmark
