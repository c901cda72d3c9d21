// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/families/prepared_transfer.hpp"
#include "bench/families/transfer.hpp"
#include "bench/families/transfer_links.hpp"
#include "bench/families/transfer_notes.hpp"
#include "bench/families/transfer_path.hpp"
#include "bench/support/slots.hpp"
#include "harness/judge/theory.hpp"
#include "harness/model/traffic.hpp"
#include "harness/model/units.hpp"

namespace roofmark::transfer {
namespace {

constexpr int kMostCommands = 256;  ///< of a sample behind a gate: the launch queue holds no more
constexpr std::size_t kLarge = 16 * kMiB;

bool is_of_pair(TransferOp op) { return op == TransferOp::peer || op == TransferOp::peer_both; }

std::vector<Flow> flows_of(const TransferPoint& point, int own, int gpus) {
  const Endpoint host = host_endpoint(point.node), from = gpu_endpoint(point.from), to = gpu_endpoint(point.to);
  std::vector<Endpoint> all;
  for (int gpu = 0; gpu < gpus && point.others.empty(); ++gpu) all.push_back(gpu_endpoint(gpu));
  for (const int gpu : point.others) all.push_back(gpu_endpoint(gpu));
  std::vector<Flow> flows;
  switch (point.op) {
    case TransferOp::host_to_device:
    case TransferOp::device_to_host:
    case TransferOp::both:
      if (!point.all_gpus) all = {gpu_endpoint(point.gpu.value_or(own))};
      for (const Endpoint& gpu : all) {
        if (point.op != TransferOp::device_to_host) flows.push_back({host, gpu});
        if (point.op != TransferOp::host_to_device) flows.push_back({gpu, host});
      }
      break;
    case TransferOp::host_copy:
    case TransferOp::managed_copy:
      return {{host, host_endpoint(point.to_node)}};
    case TransferOp::peer:
      return {{from, to}};
    case TransferOp::peer_both:
      return {{from, to}, {to, from}};
    case TransferOp::peer_round:
      for (const std::vector<int>& pair : groups_of(rounds_of_pairs(gpus).at(static_cast<std::size_t>(point.round)))) {
        flows.push_back({gpu_endpoint(pair[0]), gpu_endpoint(pair[1])});
        flows.push_back({gpu_endpoint(pair[1]), gpu_endpoint(pair[0])});
      }
      break;
    case TransferOp::one_to_all:
      for (const Endpoint& gpu : all) {
        if (gpu != from) flows.push_back({from, gpu});
      }
      break;
    case TransferOp::all_to_one:
      for (const Endpoint& gpu : all) {
        if (gpu != to) flows.push_back({gpu, to});
      }
      break;
  }
  return flows;
}

Shape shape_of(const TransferPoint& point) {
  const auto node = [](std::optional<int> number) { return number ? std::to_string(*number) : std::string("near"); };
  Shape shape = {point.of_memory ? std::pair<std::string, std::string>("of_memory", fmt::format("{:g}", *point.of_memory))
                                 : std::pair<std::string, std::string>("bytes", std::to_string(point.bytes))};
  const auto add = [&](const char* key, std::string value) { shape.emplace_back(key, std::move(value)); };
  if (is_between_gpus(point.op)) {
    const bool pair = is_of_pair(point.op);
    if (pair || point.op == TransferOp::one_to_all) add("from", std::to_string(point.from));
    if (pair || point.op == TransferOp::all_to_one) add("to", std::to_string(point.to));
    if (point.op == TransferOp::peer_round) add("round", std::to_string(point.round));
    if (!point.others.empty()) add("others", fmt::format("{}", fmt::join(point.others, "+")));
    add("access", point.access ? "on" : "off");
  } else if (point.op == TransferOp::host_copy) {
    add("from", node(point.node));
    add("to", node(point.to_node));
  } else {
    add("memory", std::string(name(point.memory)));
    if (point.op != TransferOp::managed_copy) add("node", node(point.node));
    if (point.huge_pages) add("pages", *point.huge_pages ? "huge" : "small");
    if (point.all_gpus || point.gpu) add("gpu", point.all_gpus ? "all" : std::to_string(*point.gpu));
  }
  if (point.offset) add("offset", std::to_string(point.offset));
  add("impl", std::string(name(point.by)));
  shape.push_back(shape_entry(point.cache));
  return shape;
}

/// Within the caches a copy is read and written there; beyond them, and where they are cold, each byte that is copied counts
/// once, as on a link. Of the host's caches a GPU's run knows the size of the last level alone.
Phase host_copy_demands(const DeviceInfo& device, double bytes, Cache cache) {
  const auto last_level = static_cast<double>(host_last_level_bytes(device));
  if (device.backend != Backend::cpu) return {{resource::host_dram, bytes, std::min(bytes, last_level)}};
  if (cache == Cache::cold) return {{resource::host_dram, bytes, std::min(bytes * 0.25, last_level)}};
  if (2 * bytes < 4 * last_level) {
    Phase demands = memory_demands(device, 2 * bytes, 2 * bytes, cache);
    std::erase_if(demands, [](const Demand& demand) { return demand.resource == resource::dram; });
    return demands;
  }
  return {{resource::host_dram, bytes, std::min(bytes, last_level)}};
}

/// Where the device shares the host's page tables, the host reads and writes pages of managed memory that are on the device
/// without moving them: nothing brings them back before the next launch.
bool managed_pages_may_stay(const DeviceInfo& device) { return device.gpu.host_page_tables.value_or(false); }

/// The pages of the source come to the device once at least, if they are not there.
Phase managed_copy_demands(const DeviceInfo& device, double bytes) {
  return {{resource::host_to_device, bytes, managed_pages_may_stay(device) ? bytes : 0}};
}

/// The arrays that it has in the host's memory.
std::size_t host_ends(const Transfer& transfer) {
  std::size_t ends = 0;
  for (const Flow& flow : transfer.flows) {
    ends += static_cast<std::size_t>(flow.from.kind == Endpoint::Kind::host) + (flow.to.kind == Endpoint::Kind::host);
  }
  return ends;
}

/// One of two arrays, in whole pages, that together are `share` of the memory.
std::size_t half_of(double share, std::size_t memory_bytes) {
  constexpr std::size_t kPage = 4096;
  return static_cast<std::size_t>(std::ceil(share * static_cast<double>(memory_bytes) / 2 / kPage)) * kPage;
}

bool is_other_model(const RankInfo& member, const Fabric& fabric) {
  return member.device_name != fabric.members.front().device_name;
}

/// A GPU of the transfer whose links are not those of the device under measurement, so that its roof says nothing of them: of
/// another model, or trained to another width or number; or null.
const RankInfo* unlike_gpu(const Transfer& transfer, const Fabric* fabric, bool by_peer_links) {
  if (!fabric) return nullptr;
  const RankInfo& own = fabric->members.front();
  for (const auto& [gpu, arrays] : arrays_by_gpu(transfer)) {
    const RankInfo& member = fabric->members.at(static_cast<std::size_t>(gpu));
    const bool has_other_links = by_peer_links ? !has_peer_links_of_first(member, *fabric)
                                               : member.pcie_bytes_per_second != own.pcie_bytes_per_second ||
                                                     member.host_bytes_per_second != own.host_bytes_per_second;
    if (is_other_model(member, *fabric) || has_other_links) return &member;
  }
  return nullptr;
}

/// Why the roof of transfers between GPUs says nothing of this one, which takes another kind of link; empty if it takes the
/// same.
std::string why_other_links(const Transfer& transfer, const Fabric& fabric, const DeviceInfo& device) {
  const bool by_nvlink = first_has_nvlink(fabric);
  const std::optional<int> links = nvlinks_to_others(fabric, device);
  for (const auto& [from, to] : transfer.flows) {
    const PeerPath path = fabric.local->path(from.number, to.number);
    if (by_nvlink && links && path.nvlinks > *links) {
      return fmt::format("none: the ceilings are of the {} NVLinks of {} that lead to GPUs, and {} connect cuda:{} and cuda:{}",
                         *links, device.id, path.nvlinks, from.number, to.number);
    }
    if (!path.kind || (*path.kind == PathKind::nvlink) == by_nvlink) continue;
    return by_nvlink ? fmt::format("none: the ceilings are those of NVLink, which does not connect cuda:{} and cuda:{}",
                                   from.number, to.number)
                     : fmt::format("none: the ceilings are those of PCIe, and NVLink connects cuda:{} and cuda:{}", from.number,
                                   to.number);
  }
  return {};
}

/// The pairs of GPUs between which these flows are and that have no access to each other's memory.
std::vector<RefusedAccess> refused_access(const std::vector<Flow>& flows, const Fabric& fabric) {
  std::set<std::pair<Endpoint, Endpoint>> pairs;
  for (const Flow& flow : flows) pairs.insert(std::minmax(flow.from, flow.to));
  std::vector<RefusedAccess> refused;
  for (const auto& [one, other] : pairs) {
    const PeerPath path = fabric.local->path(one.number, other.number);
    if (!path.refusal.empty()) refused.push_back({one, other, path.refusal, path.by_design});
  }
  return refused;
}

/// Where the host's memory of a transfer with one GPU lies; absent where that GPU's own node is unknown, or where this process
/// may not use its memory and the kernel places what is near.
std::optional<HostNode> host_node_of(const DeviceInfo& device, const TransferPoint& point, const Fabric* fabric) {
  const bool with_host =
      point.op == TransferOp::host_to_device || point.op == TransferOp::device_to_host || point.op == TransferOp::both;
  if (!with_host || point.all_gpus) return std::nullopt;
  const int gpu = point.gpu.value_or(cuda_ordinal(device));
  const bool is_own = gpu == cuda_ordinal(device);
  const auto own = is_own || !fabric ? device.near_node : fabric->members.at(static_cast<std::size_t>(gpu)).numa_node;
  const std::vector<int>& usable = device.host_nodes;
  if (!own || std::find(usable.begin(), usable.end(), point.node.value_or(*own)) == usable.end()) return std::nullopt;
  const int node = point.node.value_or(*own);
  if (node == *own) return HostNode{node};
  // Some firmware says of other nodes what it says of the own one.
  return HostNode{node, std::max(HostNode::kOwn + 1, distance_between(*own, node, device.node_distances))};
}

/// Launches of a sample, so that what starts one counts little: as many as the link's theoretical rate gives in 20 ms, and no
/// more than nvbandwidth enqueues. Single copies of an H100 in a virtual machine scattered from 30 to 55 GB/s, those of 20 ms
/// from 54 to 55.
int pipelined(const DeviceInfo& device, std::size_t bytes) {
  constexpr double kSampleSeconds = 20e-3, kUnknownRate = 25e9;
  constexpr int kMost = 16;
  const Roofline roofline = theoretical_roofline(device);
  const Ceiling* const link = roofline.find(resource::host_to_device);
  const double rate = link && link->theoretical ? *link->theoretical : kUnknownRate;
  return static_cast<int>(std::clamp(std::ceil(kSampleSeconds * rate / static_cast<double>(bytes)), 1.0, double{kMost}));
}

/// Copies of a launch that forks to other devices and joins them, which takes tens of microseconds: 1 GiB of each flow, of
/// small ones as many as a sample may have.
int copies_per_fork(std::size_t bytes, int flows) {
  constexpr int kEvents = 5;  // and the gate
  const std::size_t most = bytes < kLarge ? kMostCommands : 16;
  const auto wanted = static_cast<int>(std::clamp<std::size_t>(kGiB / bytes, 1, most));
  return std::clamp(kMostCommands / flows - kEvents, 1, wanted);
}

Protocol protocol_of(const DeviceInfo& device, const TransferPoint& point, const Transfer& transfer) {
  Protocol protocol;
  protocol.cache = point.cache;
  protocol.most_slots = 1 << 17;  // filling one takes microseconds
  // A copy of pageable memory waits for the stream, and one that is staged may: behind a gate it would wait for ever. Pages
  // move to the host before each sample, and in its first launch to the device.
  const bool waits = point.memory == HostMemoryKind::pageable || point.memory == HostMemoryKind::managed || !point.access;
  if (waits) protocol.issue = Issue::stream;
  if (point.memory == HostMemoryKind::managed) protocol.launches = 1;
  const auto flows = static_cast<int>(transfer.flows.size());
  const bool several_gpus = arrays_by_gpu(transfer).size() > 1 || point.gpu;
  int commands = 1;                                     // of a launch
  if (flows > 1 || several_gpus) commands = 3 * flows;  // a copy, and the events of its stream's fork and join
  if (point.by == TransferBy::batched) commands = flows * static_cast<int>(batch_count(kLarge));
  const int most = std::max(1, kMostCommands / commands);
  const bool has_own_issue = point.by == TransferBy::batched || several_gpus;
  if (has_own_issue && !waits) protocol.issue = Issue::gate;
  const bool crosses_link = point.op != TransferOp::host_copy && point.op != TransferOp::managed_copy;
  if (!crosses_link || protocol.launches > 0) return protocol;
  if (several_gpus && !waits && point.by != TransferBy::batched) {
    protocol.launches = 1;
    protocol.executions = copies_per_fork(point.bytes, flows);
  } else if (point.bytes < kLarge) {
    if (commands > 1) protocol.launches = most;
  } else if (several_gpus) {
    protocol.launches = 1;  // staged copies of one flow may be over before those of the next one begin
  } else if (!waits) {
    protocol.launches = std::min(most, pipelined(device, point.bytes));
  }
  return protocol;
}

}  // namespace

std::string_view name(TransferOp op) {
  constexpr std::string_view names[] = {"host_to_device", "device_to_host", "both",       "host_copy",  "managed_copy",
                                        "peer",           "peer_both",      "peer_round", "one_to_all", "all_to_one"};
  return names[static_cast<int>(op)];
}
bool is_between_gpus(TransferOp op) { return op >= TransferOp::peer; }
std::string_view name(TransferBy by) {
  constexpr std::string_view names[] = {"copy_engine", "copy_engine_read", "copy_engine_write", "sm",
                                        "sm_read",     "sm_write",         "batched",           "memcpy"};
  return names[static_cast<int>(by)];
}

int gpus_within_reach(const Fabric* fabric) { return fabric && fabric->local ? static_cast<int>(fabric->members.size()) : 1; }

std::size_t host_last_level_bytes(const DeviceInfo& device) {
  return device.backend == Backend::cpu ? device.last_level_cache_bytes() : device.host_cache_bytes;
}

std::size_t large_host_copy(const DeviceInfo& device) {
  return std::max(std::bit_ceil(2 * host_last_level_bytes(device)), kLargeTransfer);
}

Case transfer_case(const DeviceInfo& device, const TransferPoint& point, const Fabric* fabric) {
  const bool managed = point.op == TransferOp::managed_copy, host_copy = point.op == TransferOp::host_copy;
  const TransferKernels* kernels = select(host_copy ? Backend::cpu : device.backend, &cuda::transfer, &cpu::transfer);
  const int own = cuda_ordinal(device), gpus = gpus_within_reach(fabric);
  const Fabric* const reached = gpus > 1 ? fabric : nullptr;
  const std::size_t bytes = point.of_memory ? half_of(*point.of_memory, device.memory_bytes) : point.bytes;
  const bool between = is_between_gpus(point.op), by_peer_links = between && point.access;
  Transfer transfer{.bytes = bytes, .flows = flows_of(point, own, gpus), .staged = between && !by_peer_links};
  if (reached && is_of_pair(point.op)) {
    transfer.path = reached->local->path(point.from, point.to);
  } else if (reached && between) {
    transfer.refused = refused_access(transfer.flows, *reached);
  }
  transfer.host_node = host_node_of(device, point, reached);
  const RankInfo* const unlike = unlike_gpu(transfer, reached, by_peer_links);
  const std::string other_links = reached && by_peer_links ? why_other_links(transfer, *reached, device) : std::string();
  for (const auto& [gpu, arrays] : arrays_by_gpu(transfer)) {
    if (reached && is_other_model(reached->members.at(static_cast<std::size_t>(gpu)), *reached)) transfer.one_model = false;
  }
  Case c;
  c.family = "transfer";
  c.operation = name(point.op);
  c.type = DataType::int8;
  c.shape = shape_of(point);
  const bool is_with_own = !between && !host_copy && !managed && !point.gpu && !point.all_gpus;
  if (is_with_own && device.backend == Backend::cuda) c.implied.emplace_back("gpu", std::to_string(own));
  if (host_copy) {
    c.work.phases = {host_copy_demands(device, static_cast<double>(bytes), point.cache)};
  } else if (managed) {
    c.work.phases = {managed_copy_demands(device, static_cast<double>(bytes))};
  } else if (!unlike && other_links.empty()) {
    // What SMs read of the host's memory the L2 cache may still hold from the launch before.
    const double cached = point.by == TransferBy::sm ? static_cast<double>(device.last_level_cache_bytes()) : 0;
    c.work.phases = {link_demands(transfer, cached)};
    if (point.memory == HostMemoryKind::managed && managed_pages_may_stay(device)) {
      for (Demand& demand : c.work.phases.front()) demand.avoidable = demand.amount;
    }
    if (reached) take_part_of_links(c.work.phases.front(), transfer, *reached, device);
  }
  c.protocol = protocol_of(device, point, transfer);
  // For the GPU with the most arrays.
  std::size_t arrays = host_copy ? 2 : 0;
  for (const auto& [gpu, count] : arrays_by_gpu(transfer)) arrays = std::max(arrays, count);
  const std::size_t array = transfer_layout(bytes, point.offset).slot_bytes();
  const bool is_all_on_host = device.backend == Backend::cpu;
  c.slot_bytes = is_all_on_host || !host_copy ? arrays * array : 0;
  if (!is_all_on_host) c.host_slot_bytes = host_ends(transfer) * array;
  c.shared_bytes = aligned(bytes);  // the generator's array, which the copy is compared with
  c.unsupported = why_unsupported(device, kernels, point, transfer, fabric);
  // A kernel that touches memory on both sides is no transfer over one link.
  if (!managed) c.transfer = transfer;
  if (between) c.setting = point.access ? "peer access on" : "peer access off";
  if (!c.unsupported.empty()) return c;
  Notes notes = notes_of(device, point, transfer, c.work, unlike, other_links, reached);
  c.prepare = [point, kernels, reached, own, executions = c.protocol.executions, transfer = std::move(transfer),
               notes = std::move(notes)](const Setup& setup) {
    const auto gpu = [&](int ordinal) -> Device& { return ordinal == own ? setup.device : reached->local->device(ordinal); };
    return prepare_transfer(setup, point, transfer, *kernels, gpu, executions, notes);
  };
  return c;
}

}  // namespace roofmark::transfer
