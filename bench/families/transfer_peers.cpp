// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/families/transfer.hpp"
#include "harness/model/units.hpp"

namespace roofmark::transfer {
namespace {

constexpr TransferBy kBy[] = {TransferBy::copy_engine_read, TransferBy::copy_engine_write, TransferBy::sm_read,
                              TransferBy::sm_write};

class PeerList {
 public:
  explicit PeerList(CaseList& list)
      : list_(list), fabric_(list.listing().fabric), gpus_(gpus_within_reach(fabric_)), suite_(list.listing().suite) {}

  void add() {
    if (gpus_ < 2) return say_that_there_is_one();
    if (suite_ == SuiteName::quick) return add_quick();
    for (const std::size_t bytes : sizes()) {
      for (const TransferBy by : kBy) {
        if (suite_ != SuiteName::full && bytes != kLargeTransfer && by != TransferBy::copy_engine_read) continue;
        add_pairs(bytes, by);
      }
    }
    for (const TransferBy by : kBy) {
      if (suite_ == SuiteName::full || by == TransferBy::copy_engine_read) add_together(by);
    }
    add_with_host();
  }

  void add_contract() {
    if (gpus_ < 2) return;
    for (const std::size_t bytes : {1, 1009, 70001}) {
      for (const std::size_t offset : {0, 3}) {
        for (const TransferBy by : kBy) {
          for (int from = 0; from < gpus_; ++from) {
            add_one(
                {.op = TransferOp::peer, .bytes = bytes, .by = by, .offset = offset, .from = from, .to = (from + 1) % gpus_});
          }
          add_one({.op = TransferOp::peer_both, .bytes = bytes, .by = by, .offset = offset, .from = 0, .to = gpus_ - 1});
          add_one({.op = TransferOp::one_to_all, .bytes = bytes, .by = by, .offset = offset, .from = gpus_ - 1});
          add_one({.op = TransferOp::all_to_one, .bytes = bytes, .by = by, .offset = offset, .to = 0});
          for (int round = 0; round < rounds(); ++round) {
            add_one({.op = TransferOp::peer_round, .bytes = bytes, .by = by, .offset = offset, .round = round});
          }
        }
        for (const TransferOp op :
             {TransferOp::peer_both, TransferOp::peer_round, TransferOp::one_to_all, TransferOp::all_to_one}) {
          const int to = op == TransferOp::all_to_one ? 0 : 1;
          add_one({.op = op, .bytes = bytes, .by = TransferBy::copy_engine_write, .offset = offset, .to = to, .access = false});
        }
        for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host, TransferOp::both}) {
          add_one({.op = op, .bytes = bytes, .offset = offset, .gpu = 1});
          add_one({.op = op, .bytes = bytes, .offset = offset, .all_gpus = true});
        }
      }
    }
  }

 private:
  void add_one(const TransferPoint& point) { list_.add(made(point)); }
  Case made(const TransferPoint& point) const { return transfer_case(list_.listing().device, point, fabric_); }
  int rounds() const { return static_cast<int>(rounds_of_pairs(gpus_).size()); }

  std::vector<std::size_t> sizes() const {
    return suite_ == SuiteName::full ? transfer_sizes() : std::vector<std::size_t>{kMiB, kLargeTransfer};
  }

  /// Said, not missing.
  void say_that_there_is_one() {
    for (const TransferBy by : {TransferBy::copy_engine_read, TransferBy::copy_engine_write}) {
      add_one({.op = TransferOp::peer, .bytes = kLargeTransfer, .by = by, .from = 0, .to = 1});
    }
  }

  bool is_refused(int one, int other) const { return !fabric_->local->path(one, other).refusal.empty(); }

  /// Where access is refused, that is said, and the way through the host is measured: by copy engines, since SMs have none.
  void add_with_access(TransferPoint point) {
    Case c = made(point);
    const std::vector<Flow>& flows = c.transfer->flows;
    point.access = std::none_of(flows.begin(), flows.end(),
                                [&](const Flow& flow) { return is_refused(flow.from.number, flow.to.number); });
    list_.add(std::move(c));
    if (!point.access && !by_sm(point.by)) add_one(point);
  }

  /// Two GPUs: each way. More take too long for all pairs: one pair, and the first round of pairs at once.
  void add_quick() {
    const TransferPoint pair{
        .op = TransferOp::peer, .bytes = kLargeTransfer, .by = TransferBy::copy_engine_read, .from = 0, .to = 1};
    add_with_access(pair);
    TransferPoint other = pair;
    if (gpus_ == 2) {
      std::swap(other.from, other.to);
    } else {
      other = {.op = TransferOp::peer_round, .bytes = kLargeTransfer, .by = TransferBy::copy_engine_read};
    }
    add_with_access(other);
  }

  /// Whether copies without access are listed: where it is refused, in the suite full, and of the largest size.
  bool is_staged_too(int a, int b, std::size_t bytes, TransferBy by) const {
    return by == TransferBy::copy_engine_read && (suite_ == SuiteName::full || bytes == kLargeTransfer || is_refused(a, b));
  }

  /// With many GPUs, all pairs have the largest size, in full by every means. The other sizes, and in other suites the other
  /// means, are of the first pair of each kind of path.
  bool is_listed(int a, int b, std::size_t bytes, TransferBy by) const {
    constexpr int kFewGpus = 4;
    if (gpus_ <= kFewGpus) return true;
    if (bytes == kLargeTransfer && (by == TransferBy::copy_engine_read || suite_ == SuiteName::full)) return true;
    const auto kind_of = [&](int one, int other) {
      const PeerPath path = fabric_->local->path(one, other);
      return std::tuple(path.kind, path.nvlinks, path.refusal.empty());
    };
    for (int one = 0; one <= a; ++one) {
      for (int other = one + 1; other < gpus_; ++other) {
        if (one == a && other == b) return true;
        if (kind_of(one, other) == kind_of(a, b)) return false;
      }
    }
    return true;
  }

  /// Every ordered pair; of two ordered pairs and both ways at once the blocks alternate where they fit beside one another.
  void add_pairs(std::size_t bytes, TransferBy by) {
    for (int a = 0; a < gpus_; ++a) {
      for (int b = a + 1; b < gpus_; ++b) {
        if (!is_listed(a, b, bytes, by)) continue;
        for (const bool access : {true, false}) {
          if (!access && !is_staged_too(a, b, bytes, by)) continue;
          Group group;
          const TransferPoint there{.op = TransferOp::peer, .bytes = bytes, .by = by, .from = a, .to = b, .access = access};
          TransferPoint back = there, both = there;
          std::swap(back.from, back.to);
          both.op = TransferOp::peer_both;
          group.cases = {made(there), made(back)};
          if (bytes == kLargeTransfer && (access || suite_ == SuiteName::full || is_refused(a, b))) {
            group.cases.push_back(made(both));
          }
          if (bytes > kLargeTransfer) {
            for (Case& c : group.cases) list_.add(std::move(c));
          } else {
            list_.add(std::move(group));
          }
        }
      }
    }
  }

  /// Pairs at once, one GPU to all others, and all others to one.
  void add_together(TransferBy by) {
    for (int round = 0; gpus_ > 2 && round < rounds(); ++round) {
      add_with_access({.op = TransferOp::peer_round, .bytes = kLargeTransfer, .by = by, .round = round});
    }
    for (int gpu = 0; gpus_ > 2 && gpu < gpus_; ++gpu) {
      add_with_access({.op = TransferOp::one_to_all, .bytes = kLargeTransfer, .by = by, .from = gpu});
      add_with_access({.op = TransferOp::all_to_one, .bytes = kLargeTransfer, .by = by, .to = gpu});
    }
  }

  /// Each GPU's own link to the host, then those of all GPUs at once. That of the device itself is listed with its other sizes.
  void add_with_host() {
    for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host, TransferOp::both}) {
      for (int gpu = 1; gpu < gpus_; ++gpu) add_one({.op = op, .bytes = kLargeTransfer, .gpu = gpu});
      add_one({.op = op, .bytes = kLargeTransfer, .all_gpus = true});
    }
    for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host}) {
      for (int gpu = 0; gpu < gpus_; ++gpu) add_far_nodes(op, gpu);
    }
  }

  /// Beside the near node every other one. In full those of the device itself are listed with their other sizes.
  void add_far_nodes(TransferOp op, int gpu) {
    const Listing& listing = list_.listing();
    const std::vector<int>& nodes = listing.device.host_nodes;
    if (!listing.is_alone || nodes.size() < 2 || (gpu == 0 && suite_ == SuiteName::full)) return;
    const std::optional<int> own =
        gpu == 0 ? listing.device.near_node : fabric_->members[static_cast<std::size_t>(gpu)].numa_node;
    for (const int node : nodes) {
      if (node == own) continue;
      TransferPoint point{.op = op, .bytes = kLargeTransfer, .node = node};
      if (gpu > 0) point.gpu = gpu;
      add_one(point);
    }
  }

  CaseList& list_;
  const Fabric* fabric_;
  int gpus_;
  SuiteName suite_;
};

}  // namespace

void list_peers(CaseList& list) { PeerList(list).add(); }
void list_peer_contract(CaseList& list) {
  if (list.on_gpu()) PeerList(list).add_contract();
}

}  // namespace roofmark::transfer
