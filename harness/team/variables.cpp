// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/variables.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "kernels/base/nccl_debug.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

/// How many ranks must have the same value: those of the team, or those of a host; where the value names something of a rank or
/// its host, none need to. Others may differ, which is unusual.
enum class Alike { team, host, usually, never };

struct Rule {
  std::string_view name;
  Alike alike;
};

// On each rank NCCL decides alone how it communicates with its peers, and they must come to the same.
constexpr Rule kRules[] = {
    {"NCCL_ALGO", Alike::team},
    {"NCCL_PROTO", Alike::team},
    {"NCCL_NTHREADS", Alike::team},
    {"NCCL_LL128_NTHREADS", Alike::team},
    {"NCCL_BUFFSIZE", Alike::team},
    {"NCCL_LL_BUFFSIZE", Alike::team},
    {"NCCL_LL128_BUFFSIZE", Alike::team},
    {"NCCL_MIN_NRINGS", Alike::team},
    {"NCCL_MAX_NRINGS", Alike::team},
    {"NCCL_MIN_NCHANNELS", Alike::team},
    {"NCCL_MAX_NCHANNELS", Alike::team},
    {"NCCL_MIN_CTAS", Alike::team},
    {"NCCL_MAX_CTAS", Alike::team},
    {"NCCL_MIN_P2P_NCHANNELS", Alike::team},
    {"NCCL_MAX_P2P_NCHANNELS", Alike::team},
    {"NCCL_NCHANNELS_PER_NET_PEER", Alike::team},
    {"NCCL_P2P_NET_CHUNKSIZE", Alike::team},
    {"NCCL_P2P_LL_THRESHOLD", Alike::team},
    {"NCCL_ALLOC_P2P_NET_LL_BUFFERS", Alike::team},
    {"NCCL_COLLNET_ENABLE", Alike::team},
    {"NCCL_NVLS_ENABLE", Alike::team},
    {"NCCL_MNNVL_ENABLE", Alike::team},
    {"NCCL_CTA_POLICY", Alike::team},
    {"NCCL_LOCAL_REGISTER", Alike::team},
    {"NCCL_GRAPH_REGISTER", Alike::team},
    {"NCCL_WIN_ENABLE", Alike::team},
    {"NCCL_NET", Alike::team},
    {"NCCL_NET_PLUGIN", Alike::team},
    {"NCCL_IB_DISABLE", Alike::team},
    {"NCCL_TUNER_PLUGIN", Alike::team},
    {"NCCL_TUNER_CONFIG_FILE", Alike::team},
    {"NCCL_COMM_ID", Alike::team},
    {"NCCL_P2P_DISABLE", Alike::host},
    {"NCCL_P2P_NVL_CHUNKSIZE", Alike::host},  // NCCL 2.30.7, computeBuffSizes: not in communicators over several hosts
    {"NCCL_P2P_PCI_CHUNKSIZE", Alike::host},
    {"NCCL_P2P_LEVEL", Alike::host},
    {"NCCL_P2P_DIRECT_DISABLE", Alike::host},
    {"NCCL_SHM_DISABLE", Alike::host},
    {"NCCL_CUMEM_ENABLE", Alike::host},
    {"NCCL_CUMEM_HOST_ENABLE", Alike::host},
    {"CUDA_VISIBLE_DEVICES", Alike::never},
    {"CUDA_MPS_PIPE_DIRECTORY", Alike::never},
    {"CUDA_MPS_LOG_DIRECTORY", Alike::never},
    {"CUDA_CACHE_PATH", Alike::never},
    {"NCCL_HOSTID", Alike::never},
    {"NCCL_CONF_FILE", Alike::never},
    {"NCCL_SOCKET_IFNAME", Alike::never},
    {"NCCL_OOB_NET_IFNAME", Alike::never},
    {"NCCL_IB_HCA", Alike::never},
    {"NCCL_IB_GID_INDEX", Alike::never},
    {"NCCL_IB_ADDR_RANGE", Alike::never},
    {"NCCL_NETDEVS_POLICY", Alike::never},
    {"NCCL_TOPO_FILE", Alike::never},
    {"NCCL_TOPO_DUMP_FILE", Alike::never},
    {"NCCL_GRAPH_DUMP_FILE", Alike::never},
    {"NCCL_DEBUG", Alike::never},
    {"NCCL_DEBUG_SUBSYS", Alike::never},
    {"NCCL_DEBUG_FILE", Alike::never},
    {"NCCL_RAS_ADDR", Alike::never},
    {"UCX_NET_DEVICES", Alike::never},
    {"UCX_LOG_FILE", Alike::never},
    {"UCX_LOG_LEVEL", Alike::never},
    {"FI_CXI_DEVICE_NAME", Alike::never},
    {"FI_OPX_HFI_SELECT", Alike::never},
    {"FI_SOCKETS_IFACE", Alike::never},
    {"FI_TCP_IFACE", Alike::never},
    {"FI_UDP_IFACE", Alike::never},
    {"FI_VERBS_DEVICE_NAME", Alike::never},
    {"FI_VERBS_IFACE", Alike::never},
    {"FI_LOG_LEVEL", Alike::never},
    {"FI_LOG_PROV", Alike::never},
    {"FI_LOG_SUBSYS", Alike::never},
};

Alike rule_for(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& rule) { return rule.name == name; });
  return found == std::end(kRules) ? Alike::usually : found->alike;
}

/// As NCCL reads it (ncclLoadParam): a word is 0.
long long number(std::string_view value) { return std::strtoll(std::string(value).c_str(), nullptr, 0); }

/// Empty without it. What disables nothing is as good as not there.
std::string value_of(const RankInfo& member, const std::string& name) {
  const auto found = member.variables.find(name);
  if (found == member.variables.end()) return {};
  const bool disables = name.starts_with("NCCL_") ? number(found->second) != 0 : found->second != "0";
  return name.ends_with("_DISABLE") && !disables ? std::string() : found->second;
}

/// Where a variable matters. Without NVLink, some machines send faster from the host's memory. `log`: on ranks with
/// NCCL_DEBUG=INFO.
enum class Part { all, inside, network, network_with_nvlink, log };

struct Limit {
  std::string_view name;
  Part part;
  bool (*limits)(const std::string& value);  ///< not empty
  std::string_view effect;
};

bool is(const std::string& value, const char* word) { return strcasecmp(value.c_str(), word) == 0; }

bool any(const std::string&) { return true; }
bool is_on(const std::string& value) { return number(value) != 0; }
bool is_off(const std::string& value) { return number(value) == 0; }

/// How far apart two devices are, nearest first, in NCCL's words, whose case matters (ncclGetLevel), or one of the integers
/// that stood for some of them. Empty for what NCCL ignores.
std::optional<int> distance(std::string_view value) {
  constexpr std::string_view kLevels[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};
  constexpr std::string_view kIntegers[] = {"LOC", "PIX", "PXB", "PHB", "SYS"};
  if (!value.empty() && value[0] >= '0' && value[0] <= '9') {
    value = kIntegers[std::min<std::size_t>(static_cast<std::size_t>(number(value)), std::size(kIntegers) - 1)];
  }
  const auto* const level = std::find(std::begin(kLevels), std::end(kLevels), value);
  return level == std::end(kLevels) ? std::nullopt : std::optional(static_cast<int>(level - std::begin(kLevels)));
}
bool is_below(const std::string& value, std::string_view level) {
  const auto most = distance(value);
  return most && *most < *distance(level);
}
bool is_never(const std::string& value) { return is_below(value, "NVL"); }
bool is_near(const std::string& value) { return is_below(value, "SYS"); }
/// A NIC and a GPU are no nearer to each other than at one PCIe switch.
bool is_below_nics(const std::string& value) { return is_below(value, "PIX"); }
bool is_p2p_level(std::string_view name) { return name == "NCCL_P2P_LEVEL"; }

/// NVLink joins every two GPUs of a host without a third between them: NVLink is the nearest distance, which each level but LOC
/// allows.
bool nvlink_joins_all(const std::vector<RankInfo>& members) {
  const NvlinkMap nvlink(members);
  for (const std::vector<int>& host : ranks_by_host(members)) {
    for (std::size_t i = 0; i < host.size(); ++i) {
      for (std::size_t j = i + 1; j < host.size(); ++j) {
        if (!nvlink.connects({host[i], host[j]})) return false;
      }
    }
  }
  return true;
}
bool is_socket(const std::string& value) { return is(value, "socket"); }
bool is_none(const std::string& value) { return is(value, "none"); }
/// NCCL has 64 channels at most: to allow as many raises the limit that it sets itself on some GPUs.
bool is_cap(const std::string& value) { return number(value) < 64; }
bool is_thrifty(const std::string& value) { return value[0] != '0' && !is(value, "default"); }

/// NCCL_DEBUG_SUBSYS: words, or after ^ those that are left out.
bool logs_calls(const std::string& subsystems) {
  if (subsystems[0] == '^') return true;
  std::istringstream words(subsystems);
  for (std::string word; std::getline(words, word, ',');) {
    for (const char* of_calls : {"COLL", "P2P", "TUNING", "PROXY", "ALL"}) {
      if (is(word, of_calls)) return true;
    }
  }
  return false;
}

constexpr std::string_view kNoLog =
    "NCCL's log is yours, so which transports and algorithms it uses is not in the results, and a fallback from NVLink or RDMA "
    "is not found; unset it";

constexpr Limit kLimits[] = {
    {"NCCL_P2P_DISABLE", Part::inside, is_on,
     "GPUs of a host exchange data through its memory instead of over NVLink or PCIe; unset it"},
    {"NCCL_P2P_LEVEL", Part::inside, is_near,
     "only GPUs up to this distance from each other exchange data directly, the others through the host's memory; unset it"},
    {"NCCL_SHM_DISABLE", Part::inside, is_on, "GPUs of a host that do not exchange data directly use the network; unset it"},
    {"NCCL_NVLS_ENABLE", Part::inside, is_off, "NVLink's switches do not reduce; unset it"},
    {"NCCL_MNNVL_ENABLE", Part::network, is_off, "hosts of one NVLink domain use the network; unset it"},
    {"NCCL_CUMEM_ENABLE", Part::network, is_off,
     "hosts of one NVLink domain use the network, since NVLink between hosts needs this; unset it"},
    {"NCCL_IB_DISABLE", Part::network, is_on, "hosts exchange data over IP sockets, not InfiniBand or RoCE; unset it"},
    {"NCCL_NET", Part::network, is_socket, "hosts exchange data over IP sockets, not InfiniBand or RoCE; unset it"},
    {"NCCL_NET_PLUGIN", Part::network, is_none,
     "NCCL loads no network plugin: over cards that need one, such as AWS' EFA, hosts exchange data over IP sockets; unset it"},
    {"NCCL_NET_GDR_LEVEL", Part::network, is_below_nics,
     "NICs do not access the GPUs' memory (GPUDirect RDMA), so data goes through the host's; unset it"},
    {"NCCL_NET_GDR_READ", Part::network_with_nvlink, is_off,
     "NICs do not read the GPUs' memory (GPUDirect RDMA), so what is sent goes through the host's; unset it"},
    {"NCCL_ALGO", Part::all, any, "NCCL chooses only among these algorithms, which not every size suits; unset it"},
    {"NCCL_PROTO", Part::all, any, "NCCL chooses only among these protocols, which not every size suits; unset it"},
    {"NCCL_MAX_NCHANNELS", Part::all, is_cap, "NCCL uses at most this many channels; unset it"},
    {"NCCL_MAX_NRINGS", Part::all, is_cap, "NCCL uses at most this many channels; unset it"},
    {"NCCL_MAX_CTAS", Part::all, is_cap, "NCCL uses at most this many thread blocks; unset it"},
    {"NCCL_CTA_POLICY", Part::all, is_thrifty, "NCCL uses few thread blocks, or none, at the cost of speed; unset it"},
    {"NCCL_TOPO_FILE", Part::all, any,
     "NCCL believes this file on how the machine is built: it must be the one for this kind of machine, as its provider gives "
     "it"},
    {"NCCL_GRAPH_FILE", Part::all, any,
     "NCCL takes its rings and trees from this file and does not search for better ones; unset it"},
    // What NCCL then uses is in no record.
    {"NCCL_DEBUG", Part::all, leaves_nccl_log, kNoLog},
    {"NCCL_DEBUG_SUBSYS", Part::log, logs_calls, "NCCL writes lines for each call, which then takes longer; unset it"},
};

}  // namespace

std::map<std::string, std::string> communication_variables(Backend backend,
                                                           const std::map<std::string, std::string>& started_with,
                                                           const fs::path& root) {
  std::map<std::string, std::string> variables;
  const bool gpu = backend == Backend::cuda;
  constexpr std::string_view kOfNetworks[] = {"UCX_", "FI_", "SHARP_"}, kOfGpus[] = {"NCCL_", "CUDA_", "OFI_NCCL_"};
  for (const auto& variable : started_with) {
    const auto begins = [&](std::string_view prefix) { return variable.first.starts_with(prefix); };
    const bool is_ours = std::any_of(std::begin(kOfNetworks), std::end(kOfNetworks), begins) ||
                         (gpu && std::any_of(std::begin(kOfGpus), std::end(kOfGpus), begins));
    if (is_ours) variables.insert(variable);
  }
  if (!gpu) return variables;
  const auto own = variables.find("NCCL_CONF_FILE");
  for (const fs::path file : nccl_configuration_files(own == variables.end() ? "" : own->second)) {
    std::ifstream in(root / file.relative_path());
    for (std::string line; std::getline(in, line);) {
      const std::size_t at = line.find('=');
      if (line.starts_with("NCCL_") && at != std::string::npos) variables.emplace(line.substr(0, at), line.substr(at + 1));
    }
  }
  return variables;
}

std::vector<DifferingVariable> differing_variables(const std::vector<RankInfo>& members) {
  std::set<std::string> names;
  for (const RankInfo& member : members) {
    for (const auto& [name, value] : member.variables) names.insert(name);
  }
  std::vector<DifferingVariable> found;
  for (const std::string& name : names) {
    const Alike alike = rule_for(name);
    if (alike == Alike::never) continue;
    // The first rank that has another value than the first rank of all, and than the first of its own host.
    const RankInfo* in_team = nullptr;
    const RankInfo* in_host = nullptr;
    std::map<std::string, const RankInfo*> first_of;
    for (const RankInfo& member : members) {
      const auto differs_from = [&](const RankInfo& first) { return value_of(member, name) != value_of(first, name); };
      if (!in_team && differs_from(members.front())) in_team = &member;
      const RankInfo& first = *first_of.try_emplace(member.host, &member).first->second;
      if (!in_host && differs_from(first)) in_host = &member;
    }
    if (!in_team) continue;
    const bool breaks = alike == Alike::team || (alike == Alike::host && in_host);
    const bool within = alike == Alike::host && in_host;
    const RankInfo& one = within ? *first_of[in_host->host] : members.front();
    const auto in_words = [&](const RankInfo& member) {
      const std::string value = value_of(member, name);
      return fmt::format("rank {} ({}) has {}", member.rank, member.host, value.empty() ? "none" : value);
    };
    found.push_back({name, fmt::format("{}, {}", in_words(one), in_words(within ? *in_host : *in_team)), breaks});
  }
  return found;
}

std::vector<LimitingVariable> limiting_variables(const std::vector<RankInfo>& members) {
  const std::vector<std::vector<int>> hosts = ranks_by_host(members);
  const bool inside = hosts.size() < members.size();
  const bool network = hosts.size() > 1;
  const bool joined = nvlink_joins_all(members);
  const bool nvlink = std::any_of(members.begin(), members.end(), has_nvlink);
  std::vector<LimitingVariable> found;
  for (const Limit& limit : kLimits) {
    if ((limit.part == Part::inside && !inside) || (limit.part == Part::network && !network)) continue;
    if (limit.part == Part::network_with_nvlink && !(network && nvlink)) continue;
    std::vector<const RankInfo*> limited;
    for (const RankInfo& member : members) {
      if (limit.part == Part::log && !is(value_of(member, "NCCL_DEBUG"), "INFO")) continue;
      const std::string value = value_of(member, std::string(limit.name));
      const bool reaches_all = joined && is_p2p_level(limit.name) && !is_never(value);
      if (!value.empty() && limit.limits(value) && !reaches_all) limited.push_back(&member);
    }
    if (limited.empty()) continue;
    const RankInfo& first = *limited.front();
    std::string state = value_of(first, std::string(limit.name));
    if (limited.size() < members.size()) {
      state += fmt::format(" on rank {} ({})", first.rank, first.host);
      if (limited.size() > 1) state += fmt::format(" and {} more", limited.size() - 1);
    }
    found.push_back({std::string(limit.name), state, std::string(limit.effect)});
  }
  return found;
}

}  // namespace roofmark
