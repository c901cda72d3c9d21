// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/prepared_transfer.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <optional>

#include "bench/families/transfer_path.hpp"
#include "bench/support/slots.hpp"
#include "harness/device/cpu/pool.hpp"
#include "kernels/base/check.hpp"
#include "kernels/peer_access.hpp"
#include "kernels/side_stream.hpp"

namespace roofmark::transfer {
namespace {

constexpr std::size_t kPieces = 64;  ///< of a batch

bool is_gpu(const Endpoint& end) { return end.kind == Endpoint::Kind::gpu; }

/// What is asked of the host's memory: with a single node there is nothing to choose, and near is where the kernel places it if
/// this process may use no memory of the near node.
HostMemory host_memory(const DeviceInfo& device, const TransferPoint& point, std::optional<int> node) {
  const HostMemoryKind kind = point.memory;
  HostMemory memory{kind, node ? node : device.near_memory_node(), point.huge_pages.value_or(true)};
  if (device.host_nodes.size() < 2) memory.node.reset();
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
  PreparedTransfer(const Setup& setup, const TransferPoint& point, const Transfer& transfer, const TransferKernels& kernels,
                   const std::function<Device&(int)>& gpu, int copies, Notes notes)
      : device_(setup.device), point_(point), kernels_(kernels), copies_(copies), notes_(std::move(notes)) {
    for (const Flow& flow : transfer.flows) add(setup, flow, transfer.bytes, gpu);
    if (point.op == TransferOp::host_copy) place_threads(point.to_node.value_or(0));
    for (Leg& leg : legs_) {
      for (int slot = 0; slot < setup.slots; ++slot) add_copy(leg, leg.path.range(slot));
    }
    device_.stream();  // the current device is again the one under measurement
  }

  void launch(Stream stream, int slot) override {
    const auto at = static_cast<std::size_t>(slot);
    for (Leg& leg : legs_) leg.stream = leg.side ? leg.side->fork(stream) : stream;
    for (Leg& leg : legs_) {
      if (several_devices_) leg.mover.stream();  // makes its device the current one
      for (int i = 0; i < copies_; ++i) copy(leg, at);
    }
    if (several_devices_) device_.stream();
    for (Leg& leg : legs_) {
      if (leg.side) leg.side->join(stream);
    }
  }

  // Managed pages migrate to the processor that touches them.
  bool needs_reset() const override { return legs_.front().path.moves_pages(); }
  void reset(int slot) override {
    for (Leg& leg : legs_) leg.path.bring_back(slot);
  }

  Verification verify(int slot) override {
    Verification found;
    for (Leg& leg : legs_) leg.mover.synchronize();  // a GPU that is lost has moved nothing: that is no wrong result
    for (Leg& leg : legs_) {
      found = leg.path.verify(slot);
      if (found.status == Verification::Status::failed) break;
    }
    device_.stream();
    return found;
  }
  std::vector<Output> outputs(int slot) override {
    std::vector<Output> all;
    for (const Leg& leg : legs_) {
      if (const Output output = leg.path.output(device_, slot); output.data) all.push_back(output);
    }
    return all;
  }
  bool outputs_are_all() const override {
    return std::all_of(legs_.begin(), legs_.end(), [&](const Leg& leg) { return leg.path.output(device_, 0).data != nullptr; });
  }

  Notes notes() const override {
    Notes all = notes_;
    for (const Leg& leg : legs_) leg.path.add_notes(all);
    if (point_.op == TransferOp::host_copy) {
      all.emplace_back("threads", fmt::format("{}, where the copy is", threads_.size()));
    } else if (const auto node = node_of_this_thread()) {
      all.emplace_back("calling thread", fmt::format("on node {} at the end", *node));
    }
    return all;
  }

 private:
  struct Leg {
    Flow flow;
    TransferPath path;
    Device& mover;                       ///< whose stream it is on
    std::unique_ptr<SideStream> side;    ///< null: the stream of the launch
    Stream stream = nullptr;             ///< of the launch that is being enqueued
    std::vector<CopyRange> ranges = {};  ///< by slot
    std::vector<std::unique_ptr<CopyBatch>> batches = {};
  };

  void add(const Setup& setup, const Flow& flow, std::size_t bytes, const std::function<Device&(int)>& gpu) {
    const auto device_of = [&](const Endpoint& end) { return is_gpu(end) ? &gpu(end.number) : nullptr; };
    Device* const from = device_of(flow.from);
    Device* const to = device_of(flow.to);
    Device& near = from ? *from : to ? *to : setup.device;
    const auto end = [&](const Endpoint& of, Device* device, std::optional<int> node) {
      if (is_gpu(of)) return TransferEnd{true, {}, device};
      const HostMemory memory = host_memory(near.info(), point_, node);
      return TransferEnd{false, memory, &near, node && memory.node, point_.huge_pages == true};
    };
    const bool host_copy = point_.op == TransferOp::host_copy;
    if (from && to) hold_access(flow);
    const bool sender_moves = from && (!to || point_.by == TransferBy::copy_engine_write || point_.by == TransferBy::sm_write);
    Device& mover = sender_moves ? *from : near_or(to, setup.device);
    std::unique_ptr<SideStream> side;
    const bool own_stream_is_taken =
        std::any_of(legs_.begin(), legs_.end(), [&](const Leg& leg) { return &leg.mover == &setup.device && !leg.side; });
    setup.device.stream();  // a side stream is beside one of the current device
    if (&mover != &setup.device) {
      several_devices_ = true;
      side = cuda::side_stream.make_on(sender_moves ? flow.from.number : flow.to.number);
    } else if (own_stream_is_taken) {
      side = cuda::side_stream.make();
    }
    TransferPath path(setup, fmt::format("{} to {} by {}", name(flow.from), name(flow.to), name(point_.by)), bytes,
                      point_.offset, end(flow.from, from, point_.node),
                      end(flow.to, to, host_copy ? point_.to_node : point_.node), legs_.size());
    legs_.push_back({flow, std::move(path), mover, std::move(side)});
  }
  /// A CPU has its threads on its cores already.
  void place_threads(int node) {
    const std::vector<int> cpus = cpus_of_node(node, "/");
    if (device_.info().backend != Backend::cpu) {
      const std::vector<int> usable = cpu::usable_cpus();
      if (!cpus.empty() && std::find_first_of(cpus.begin(), cpus.end(), usable.begin(), usable.end()) == cpus.end()) {
        throw Unsupported(fmt::format("this process may not use CPUs of node {}", node));
      }
      pool_.emplace(usable, omp_get_max_threads());
    }
    threads_ = kernels_.threads_on(cpus);
  }

  static Device& near_or(Device* device, Device& otherwise) { return device ? *device : otherwise; }

  void hold_access(const Flow& flow) {
    const int one = flow.from.number, other = flow.to.number;
    access_.push_back(cuda::peer_access.hold(one, other, point_.access));
    access_.push_back(cuda::peer_access.hold(other, one, point_.access));
  }

  void add_copy(Leg& leg, CopyRange range) {
    if (point_.by == TransferBy::batched) {
      leg.batches.push_back(kernels_.batch(pieces_of(range)));
    } else if (point_.by == TransferBy::sm && point_.memory != HostMemoryKind::managed) {
      const auto reached = [&](void* host) {
        return static_cast<unsigned char*>(kernels_.device_address(static_cast<unsigned char*>(host) - point_.offset)) +
               point_.offset;
      };
      if (!is_gpu(leg.flow.from)) range.from = reached(const_cast<void*>(range.from));
      if (!is_gpu(leg.flow.to)) range.to = reached(range.to);
    }
    leg.ranges.push_back(range);
  }

  int moved_at_once(const Device& mover) const {
    return static_cast<int>(std::count_if(legs_.begin(), legs_.end(), [&](const Leg& leg) { return &leg.mover == &mover; }));
  }

  void copy(const Leg& leg, std::size_t slot) {
    const CopyRange& range = leg.ranges[slot];
    switch (point_.by) {
      case TransferBy::copy_engine:
        return kernels_.by_copy_engine(range, is_gpu(leg.flow.to) ? CopyWay::host_to_device : CopyWay::device_to_host,
                                       leg.stream);
      case TransferBy::copy_engine_read:
      case TransferBy::copy_engine_write:
        return kernels_.between_gpus(range, leg.stream);
      case TransferBy::sm:
      case TransferBy::sm_read:
      case TransferBy::sm_write:
        return kernels_.by_sm(range, moved_at_once(leg.mover), leg.stream);
      case TransferBy::batched:
        return leg.batches[slot]->launch(leg.stream);
      case TransferBy::memcpy:
        break;
    }
    kernels_.by_threads(range, threads_);
  }

  Device& device_;
  TransferPoint point_;
  const TransferKernels& kernels_;
  int copies_;  ///< of each flow in a launch
  Notes notes_;
  std::vector<std::shared_ptr<void>> access_;  ///< held for as long as the case
  std::vector<Leg> legs_;
  bool several_devices_ = false;
  std::optional<cpu::Pool> pool_;
  std::vector<int> threads_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_transfer(const Setup& setup, const TransferPoint& point, const Transfer& transfer,
                                           const TransferKernels& kernels, const std::function<Device&(int ordinal)>& gpu,
                                           int copies, Notes notes) {
  return std::make_unique<PreparedTransfer>(setup, point, transfer, kernels, gpu, copies, std::move(notes));
}

std::size_t batch_count(std::size_t bytes) { return pieces_of({{}, {}, bytes}).size(); }

}  // namespace roofmark::transfer
