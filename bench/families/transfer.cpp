// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/families/transfer_path.hpp"
#include "bench/support/case_list.hpp"
#include "bench/support/slots.hpp"
#include "harness/model/traffic.hpp"
#include "kernels/base/check.hpp"
#include "kernels/side_stream.hpp"

namespace roofmark {
namespace {

constexpr std::size_t kKiB = std::size_t{1} << 10, kMiB = std::size_t{1} << 20, kGiB = std::size_t{1} << 30;
constexpr std::size_t kSmallest = 64, kLargest = 4 * kGiB;
constexpr std::size_t kPieces = 64;  ///< of a batch

std::string_view name(TransferOp op) {
  constexpr std::string_view names[] = {"host_to_device", "device_to_host", "both", "host_copy"};
  return names[static_cast<int>(op)];
}
std::string_view name(TransferBy by) {
  constexpr std::string_view names[] = {"copy_engine", "sm_read", "sm_write", "batched", "memcpy"};
  return names[static_cast<int>(by)];
}

bool by_sm(TransferBy by) { return by == TransferBy::sm_read || by == TransferBy::sm_write; }

/// What is asked of the host's memory: with a single node there is nothing to choose, and near is where the kernel places it if
/// this process may use no memory of the near node.
HostMemory host_memory(const DeviceInfo& device, HostMemoryKind kind, std::optional<int> node) {
  const std::vector<int>& nodes = device.host_nodes;
  HostMemory memory{kind, node ? node : device.near_node, true};
  const bool near_is_usable = std::find(nodes.begin(), nodes.end(), device.near_node) != nodes.end();
  if (nodes.size() < 2 || (!node && !near_is_usable)) memory.node.reset();
  if (kind != HostMemoryKind::pageable && kind != HostMemoryKind::registered) memory.huge_pages = false;
  return memory;
}

/// Pieces of 16 bytes and more, the last one shorter.
std::vector<CopyRange> pieces_of(const CopyRange& range) {
  const std::size_t piece = aligned((range.bytes + kPieces - 1) / kPieces, 16);
  std::vector<CopyRange> pieces;
  for (std::size_t begin = 0; begin < range.bytes; begin += piece) {
    pieces.push_back({static_cast<char*>(range.to) + begin, static_cast<const char*>(range.from) + begin,
                      std::min(piece, range.bytes - begin)});
  }
  return pieces;
}

class PreparedTransfer final : public Prepared {
 public:
  PreparedTransfer(const Setup& setup, const TransferPoint& point, const TransferKernels& kernels)
      : device_(setup.device), point_(point), kernels_(kernels) {
    const DeviceInfo& info = device_.info();
    const auto host_end = [&](std::optional<int> node) {
      const HostMemory memory = host_memory(info, point.memory, node);
      return TransferEnd{false, memory, node && memory.node};
    };
    const TransferEnd host = host_end(point.node);
    const TransferEnd on_device{true};
    if (point.op == TransferOp::host_copy) {
      add(setup, host, host_end(point.to_node), "host_copy");
      threads_ = kernels_.threads_on(cpus_of_node(point.to_node.value_or(0), "/"));
    } else {
      if (point.op != TransferOp::device_to_host) add(setup, host, on_device, "host_to_device");
      if (point.op != TransferOp::host_to_device) add(setup, on_device, host, "device_to_host");
    }
    if (paths_.size() > 1) side_ = cuda::side_stream.make();
    for (int slot = 0; slot < setup.slots; ++slot) {
      for (const TransferPath& path : paths_) add_copy(path.range(slot));
    }
  }

  void launch(Stream stream, int slot) override {
    const std::size_t first = static_cast<std::size_t>(slot) * paths_.size();
    if (!side_) return copy(first, stream);
    const Stream other = side_->fork(stream);
    copy(first, stream);
    copy(first + 1, other);
    side_->join(stream);
  }

  // Whoever touches managed memory takes its pages.
  bool needs_reset() const override { return paths_.front().moves_pages(); }
  void reset(int slot) override {
    for (TransferPath& path : paths_) path.bring_back(slot);
  }

  Verification verify(int slot) override {
    Verification found;
    for (TransferPath& path : paths_) {
      found = path.verify(slot);
      if (found.status == Verification::Status::failed) break;
    }
    return found;
  }
  std::vector<Output> outputs(int slot) override {
    std::vector<Output> all;
    for (const TransferPath& path : paths_) {
      if (const Output output = path.output(slot); output.data) all.push_back(output);
    }
    return all;
  }
  bool outputs_are_all() const override {
    return std::all_of(paths_.begin(), paths_.end(), [](const TransferPath& path) { return path.output(0).data != nullptr; });
  }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    const bool host_copy = point_.op == TransferOp::host_copy;
    std::vector<std::pair<std::string, std::string>> all = {
        {"bytes counted", point_.op == TransferOp::both
                              ? "what crosses the link, once, each direction on its own; `bytes` of one"
                          : host_copy ? "each byte that is copied, once: it is read and written"
                                      : "what crosses the link, once"}};
    for (const TransferPath& path : paths_) path.add_notes(all);
    if (host_copy) {
      all.emplace_back("threads", fmt::format("{}, where the copy is", threads_.size()));
    } else if (const auto node = node_of_this_thread()) {
      all.emplace_back("calling thread", fmt::format("on node {} at the end", *node));
    }
    if (point_.by == TransferBy::batched)
      all.emplace_back("copies per call", std::to_string(pieces_of({{}, {}, point_.bytes}).size()));
    if (!host_copy && !point_.node && !device_.info().near_node) {
      all.emplace_back("near", "the kernel names no node of this device: memory lies where it places it");
    }
    return all;
  }

 private:
  void add(const Setup& setup, const TransferEnd& from, const TransferEnd& to, std::string_view direction) {
    paths_.emplace_back(setup, fmt::format("{} by {}", direction, name(point_.by)), point_.bytes, point_.offset, from, to,
                        paths_.size());
  }

  void add_copy(CopyRange range) {
    if (point_.by == TransferBy::batched) {
      batches_.push_back(kernels_.batch(pieces_of(range)));
    } else if (by_sm(point_.by) && point_.memory != HostMemoryKind::managed) {
      const auto reached = [&](void* host) {
        return static_cast<unsigned char*>(kernels_.device_address(static_cast<unsigned char*>(host) - point_.offset)) +
               point_.offset;
      };
      if (point_.by == TransferBy::sm_read) range.from = reached(const_cast<void*>(range.from));
      if (point_.by == TransferBy::sm_write) range.to = reached(range.to);
    }
    ranges_.push_back(range);
  }

  /// The first path of both leads to the device.
  CopyWay way_of(std::size_t path) const {
    const bool to_host = point_.op == TransferOp::device_to_host || path == 1;
    return to_host ? CopyWay::device_to_host : CopyWay::host_to_device;
  }

  void copy(std::size_t i, Stream stream) {
    switch (point_.by) {
      case TransferBy::copy_engine:
        return kernels_.by_copy_engine(ranges_[i], way_of(i % paths_.size()), stream);
      case TransferBy::sm_read:
      case TransferBy::sm_write:
        return kernels_.by_sm(ranges_[i], stream);
      case TransferBy::batched:
        return batches_[i]->launch(stream);
      case TransferBy::memcpy:
        break;
    }
    kernels_.by_threads(ranges_[i], threads_);
  }

  Device& device_;
  TransferPoint point_;
  const TransferKernels& kernels_;
  std::vector<TransferPath> paths_;
  std::unique_ptr<SideStream> side_;
  std::vector<CopyRange> ranges_;  ///< of each slot, path by path
  std::vector<std::unique_ptr<CopyBatch>> batches_;
  std::vector<int> threads_;
};

/// Within the caches a copy is read and written there; beyond them each byte that is copied counts once, as on a link.
Phase host_copy_demands(const DeviceInfo& device, double bytes) {
  const auto last_level = static_cast<double>(device.last_level_cache_bytes());
  if (const CacheLevel* level = resident_level(device, 2 * bytes)) return {{find_resource(level->name), 2 * bytes}};
  // Of what does not fit, the last level may still hold a part.
  if (2 * bytes < 4 * last_level) return {{find_resource(device.caches.back().name), 2 * bytes}};
  return {{resource::host_dram, bytes, std::min(bytes, last_level)}};
}

Phase demands_of(const DeviceInfo& device, const TransferPoint& point) {
  const auto bytes = static_cast<double>(point.bytes);
  switch (point.op) {
    case TransferOp::host_to_device:
      return {{resource::host_to_device, bytes}};
    case TransferOp::device_to_host:
      return {{resource::device_to_host, bytes}};
    case TransferOp::both:
      return {{resource::host_to_device, bytes}, {resource::device_to_host, bytes}};
    case TransferOp::host_copy:
      break;
  }
  return host_copy_demands(device, bytes);
}

std::string why_unsupported(const TransferKernels* kernels, const TransferPoint& point) {
  if (!kernels) return "this build has no transfers for the device";
  if (point.by == TransferBy::batched && !kernels->batch) return "the CUDA toolkit of this build has no batched copies";
  return {};
}

}  // namespace

std::size_t large_host_copy(const DeviceInfo& device) {
  return std::max(std::bit_ceil(2 * device.last_level_cache_bytes()), kLargeTransfer);
}

Case transfer_case(const DeviceInfo& device, const TransferPoint& point) {
  const TransferKernels* kernels = select(device.backend, &cuda::transfer, &cpu::transfer);
  const auto node = [](std::optional<int> number) { return number ? std::to_string(*number) : std::string("near"); };
  Case c;
  c.family = "transfer";
  c.operation = name(point.op);
  c.type = DataType::int8;
  c.shape = {{"bytes", std::to_string(point.bytes)}};
  if (point.op == TransferOp::host_copy) {
    c.shape.emplace_back("from", node(point.node));
    c.shape.emplace_back("to", node(point.to_node));
  } else {
    c.shape.emplace_back("memory", name(point.memory));
    c.shape.emplace_back("node", node(point.node));
  }
  if (point.offset) c.shape.emplace_back("offset", std::to_string(point.offset));
  c.shape.emplace_back("impl", name(point.by));
  c.work.phases = {demands_of(device, point)};
  c.protocol.cache = Cache::warm;
  // A copy of pageable memory waits for the stream: behind a gate it would wait for ever. Pages move to the host before each
  // sample, and in its first launch to the device.
  if (point.memory == HostMemoryKind::pageable || point.memory == HostMemoryKind::managed) c.protocol.issue = Issue::stream;
  if (point.memory == HostMemoryKind::managed) c.protocol.launches = 1;
  const int arrays = point.op == TransferOp::both || point.op == TransferOp::host_copy ? 2 : 1;
  if (point.by == TransferBy::batched) {
    // A launch is many copies, and a gate holds no more commands than a launch queue takes.
    constexpr int kMostCommands = 256, kPiecesOfAll = static_cast<int>(kPieces);
    c.protocol.issue = Issue::gate;
    if (point.bytes < 16 * kMiB) c.protocol.launches = kMostCommands / (kPiecesOfAll * arrays);
  }
  c.slot_bytes = arrays * aligned(point.bytes + point.offset);
  c.shared_bytes = aligned(point.bytes);  // the generator's array, which the copy is compared with
  c.unsupported = why_unsupported(kernels, point);
  if (!c.unsupported.empty()) return c;
  c.prepare = [point, kernels](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedTransfer>(setup, point, *kernels);
  };
  return c;
}

namespace {

std::vector<std::size_t> all_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}
const std::vector<std::size_t> kQuickSizes = {64, 16 * kKiB, kMiB, 16 * kMiB, kLargeTransfer};
const std::vector<std::size_t> kFewSizes = {kMiB, 64 * kMiB, kGiB};

/// Each direction alone and both at once, so that their blocks alternate where all fit the host's memory beside one another.
void add_both_ways(CaseList& list, TransferPoint point) {
  Group together;
  for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host, TransferOp::both}) {
    point.op = op;
    Case c = transfer_case(list.listing().device, point);
    if (point.bytes > kLargeTransfer) {
      list.add(std::move(c));
    } else {
      together.cases.push_back(std::move(c));
    }
  }
  if (!together.cases.empty()) list.add(std::move(together));
}

void add_one_way(CaseList& list, TransferPoint point, TransferOp op) {
  point.op = op;
  if (by_sm(point.by)) point.by = op == TransferOp::host_to_device ? TransferBy::sm_read : TransferBy::sm_write;
  list.add(transfer_case(list.listing().device, point));
}
void add_each_way(CaseList& list, const TransferPoint& point) {
  for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host}) add_one_way(list, point, op);
}

void list_near(CaseList& list, const std::vector<std::size_t>& sizes, const std::vector<std::size_t>& few) {
  for (const std::size_t bytes : sizes) {
    add_both_ways(list, {.bytes = bytes});
    add_each_way(list, {.bytes = bytes, .by = TransferBy::sm_read});
    add_each_way(list, {.bytes = bytes, .memory = HostMemoryKind::pageable});
  }
  for (const std::size_t bytes : few) {
    if (bytes >= kPieces * kSmallest) add_both_ways(list, {.bytes = bytes, .by = TransferBy::batched});
    add_each_way(list, {.bytes = bytes, .memory = HostMemoryKind::registered});
    // The host reads it too slowly for a check.
    add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::write_combined}, TransferOp::host_to_device);
    add_each_way(list, {.bytes = bytes, .memory = HostMemoryKind::managed});
    // Pages move to whoever touches them: stores of an SM would bring the target to the device.
    add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::managed, .by = TransferBy::sm_read},
                TransferOp::host_to_device);
  }
}

/// Said, not missing.
void list_peers(CaseList& list) {
  for (const Resource& way : {resource::peer_in, resource::peer_out}) {
    Case c;
    c.family = "transfer";
    c.operation = way.id;
    c.type = DataType::int8;
    c.shape = {{"bytes", std::to_string(kLargeTransfer)}, {"impl", std::string(name(TransferBy::copy_engine))}};
    c.work.phases = {{{way, static_cast<double>(kLargeTransfer)}}};
    c.unsupported = list.listing().fabric
                        ? "this version measures no transfers between GPUs: send_recv of the collectives crosses their links"
                        : "takes two GPUs, and this process measures one";
    list.add(std::move(c));
  }
}

void list_gpu(CaseList& list) {
  const DeviceInfo& device = list.listing().device;
  const SuiteName suite = list.listing().suite;
  list_peers(list);
  if (suite == SuiteName::quick) {
    for (const std::size_t bytes : kQuickSizes) add_both_ways(list, {.bytes = bytes});
    return;
  }
  const std::vector<std::size_t> few = suite == SuiteName::full ? all_sizes() : kFewSizes;
  list_near(list, all_sizes(), few);
  for (const int node : device.host_nodes) {
    if (device.host_nodes.size() < 2 || node == device.near_node) continue;
    for (const std::size_t bytes : few) add_both_ways(list, {.bytes = bytes, .node = node});
  }
}

void add_host_copy(CaseList& list, std::size_t bytes, int from, int to, std::size_t offset = 0) {
  list.add(transfer_case(list.listing().device, {.op = TransferOp::host_copy,
                                                 .bytes = bytes,
                                                 .memory = HostMemoryKind::pageable,
                                                 .node = from,
                                                 .to_node = to,
                                                 .by = TransferBy::memcpy,
                                                 .offset = offset}));
}

void list_cpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  std::vector<int> nodes = list.listing().device.host_nodes;
  if (nodes.empty()) nodes = {0};
  std::vector<std::size_t> sizes = all_sizes();
  const std::size_t large = large_host_copy(list.listing().device);
  if (suite == SuiteName::quick) {
    sizes = kQuickSizes;
    sizes.back() = large;
  }
  for (const int from : nodes) {
    for (const int to : nodes) {
      for (const std::size_t bytes : sizes) {
        const bool first = from == nodes.front() && to == from;
        if (first || suite == SuiteName::full || bytes >= large) add_host_copy(list, bytes, from, to);
      }
    }
  }
}

void list_contract(CaseList& list) {
  for (const std::size_t bytes : {1, 15, 64, 1009, 70001}) {
    for (const std::size_t offset : {0, 3}) {
      if (!list.on_gpu()) {
        add_host_copy(list, bytes, 0, 0, offset);
        continue;
      }
      add_both_ways(list, {.bytes = bytes, .offset = offset});
      add_both_ways(list, {.bytes = bytes, .by = TransferBy::batched, .offset = offset});
      add_each_way(list, {.bytes = bytes, .by = TransferBy::sm_read, .offset = offset});
      for (const HostMemoryKind kind : {HostMemoryKind::pageable, HostMemoryKind::registered, HostMemoryKind::managed}) {
        add_each_way(list, {.bytes = bytes, .memory = kind, .offset = offset});
      }
      add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::managed, .by = TransferBy::sm_read, .offset = offset},
                  TransferOp::host_to_device);
      add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::write_combined, .offset = offset},
                  TransferOp::host_to_device);
    }
  }
}

}  // namespace

std::vector<Group> transfer(const Listing& listing) { return list_cases(listing, list_contract, list_cpu, list_gpu); }

}  // namespace roofmark
