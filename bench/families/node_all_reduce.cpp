// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/case_list.hpp"
#include "bench/support/slots.hpp"
#include "harness/device/cuda_device.hpp"
#include "kernels/base/check.hpp"
#include "kernels/collective_data.hpp"

namespace roofmark {

namespace {

/// The GPUs of this node but for the first, which is the device under measurement, and what connects them all. Opened when the
/// first case is prepared, and kept for the others: connecting takes longer than measuring.
class Node {
 public:
  explicit Node(std::vector<int> ordinals) : ordinals_(std::move(ordinals)) {}

  int size() const { return static_cast<int>(ordinals_.size()); }
  void connect() {
    if (all_reduce_) return;
    std::vector<std::unique_ptr<Device>> others;
    for (std::size_t d = 1; d < ordinals_.size(); ++d) others.push_back(open_device("cuda:" + std::to_string(ordinals_[d])));
    all_reduce_ = cuda::node_collectives.all_reduce(ordinals_);
    others_ = std::move(others);
  }
  NodeAllReduce& all_reduce() { return *all_reduce_; }
  Device& other(int d) { return *others_.at(static_cast<std::size_t>(d) - 1); }

 private:
  std::vector<int> ordinals_;
  std::vector<std::unique_ptr<Device>> others_;
  std::unique_ptr<NodeAllReduce> all_reduce_;
};

struct Problem {
  DataType type = DataType::fp32;
  Reduction reduction = Reduction::sum;
  std::size_t count = 1;  ///< elements a GPU
  bool in_place = false;

  std::size_t bytes() const { return count * size_of(type); }
  /// Of one GPU.
  std::size_t slot_bytes() const { return (in_place ? 1 : 2) * aligned(bytes()); }
};

class PreparedNodeAllReduce final : public Prepared {
 public:
  PreparedNodeAllReduce(const Setup& setup, std::shared_ptr<Node> node, const Problem& problem)
      : first_(setup.device), node_(std::move(node)), problem_(problem), data_{setup.seed, node_->size()} {
    node_->connect();
    if (!node_->all_reduce().supports(problem_.type, problem_.reduction)) {
      throw Unsupported(node_->all_reduce().library() + " does not reduce " + std::string(name(problem_.type)) + " here");
    }
    for (int d = 0; d < node_->size(); ++d) {
      memory_.push_back(device(d).allocate(static_cast<std::size_t>(setup.slots) * problem_.slot_bytes()));
    }
    for (int slot = 0; slot < setup.slots; ++slot) {
      Arrays arrays;
      for (int d = 0; d < node_->size(); ++d) {
        auto* begin = static_cast<std::byte*>(memory_[static_cast<std::size_t>(d)].get()) +
                      static_cast<std::size_t>(slot) * problem_.slot_bytes();
        arrays.in.push_back(begin);
        arrays.out.push_back(problem_.in_place ? begin : begin + aligned(problem_.bytes()));
        device(d).poison(arrays.out.back(), problem_.bytes());
        if (!problem_.in_place) fill(d, begin);
      }
      slots_.push_back(std::move(arrays));
    }
  }

  void launch(Stream stream, int slot) override {
    const Arrays& arrays = slots_.at(static_cast<std::size_t>(slot));
    node_->all_reduce().launch(arrays.in, arrays.out, problem_.count, problem_.type, problem_.reduction, stream);
  }

  void reset(int slot) override {
    if (!problem_.in_place) return;
    for (int d = 0; d < node_->size(); ++d) {
      fill(d, slots_.at(static_cast<std::size_t>(slot)).out[static_cast<std::size_t>(d)]);
    }
  }
  bool accumulates() const override { return problem_.in_place; }

  Verification verify(int slot) override {
    node_->all_reduce().check_health();
    const std::size_t piece = std::min(problem_.count, kPiece);
    ElementwiseError worst;
    std::string where;
    for (int d = 0; d < node_->size(); ++d) {
      Device& on = device(d);
      const Memory expected = on.allocate(piece * sizeof(double)), scale = on.allocate(piece * sizeof(double));
      const auto* out =
          static_cast<const std::byte*>(slots_.at(static_cast<std::size_t>(slot)).out[static_cast<std::size_t>(d)]);
      for (std::size_t first = 0; first < problem_.count; first += piece) {
        const std::size_t count = std::min(piece, problem_.count - first);
        cuda::collective_data.expect_reduced(problem_.type, problem_.reduction, static_cast<double*>(expected.get()),
                                             static_cast<double*>(scale.get()), count, data_, first, on.stream());
        const ElementwiseError error =
            on.compare(problem_.type, out + first * size_of(problem_.type), count, static_cast<const double*>(expected.get()),
                       static_cast<const double*>(scale.get()));
        if (!where.empty() && error.worst <= worst.worst) continue;
        worst = {error.worst, first + error.index};
        where = on.info().id;
        if (!(worst.worst <= bound())) break;  // NaN too
      }
      if (!(worst.worst <= bound())) break;
    }
    return Verification::within(worst.worst, bound(),
                                "u(" + std::string(name(problem_.type)) + ") x the sum of |terms|, element " +
                                    std::to_string(worst.index) + " of " + where);
  }

  // What other GPUs hold is verified, but not hashed: this one's kernels cannot read it everywhere.
  std::vector<Output> outputs(int slot) override {
    return {{slots_.at(static_cast<std::size_t>(slot)).out[0], problem_.type, problem_.count}};
  }
  bool outputs_are_all() const override { return false; }
  std::string fingerprint_key() const override { return node_->all_reduce().library(); }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    auto notes = node_->all_reduce().notes();
    notes.insert(notes.begin(), {"library", node_->all_reduce().library()});
    return notes;
  }

 private:
  struct Arrays {
    std::vector<const void*> in;
    std::vector<void*> out;
  };
  /// Elements whose expectation is held at once: 64 MiB of doubles.
  static constexpr std::size_t kPiece = std::size_t{1} << 22;

  Device& device(int d) { return d == 0 ? first_ : node_->other(d); }
  double bound() const { return problem_.reduction == Reduction::avg ? average_bound(node_->size()) : 0; }
  void fill(int d, void* in) {
    cuda::collective_data.fill(problem_.type, in, problem_.count, data_, d, 0, device(d).stream());
    device(d).synchronize();
  }

  Device& first_;
  std::shared_ptr<Node> node_;
  Problem problem_;
  CollectiveData data_;
  std::vector<Memory> memory_;
  std::vector<Arrays> slots_;
};

Case all_reduce_case(const DeviceInfo& device, const std::shared_ptr<Node>& node, const Problem& problem) {
  const int ranks = node->size();
  const auto bytes = static_cast<double>(problem.bytes());
  const bool nvlink = device.details.contains("nvlink_bytes_per_second");
  Case c;
  c.family = "all_reduce";
  c.type = problem.type;
  c.shape = {{"bytes", std::to_string(problem.bytes())},
             {"ranks", std::to_string(ranks)},
             {"op", std::string(name(problem.reduction))},
             {"place", problem.in_place ? "in" : "out"},
             {"impl", "nccl"}};
  c.work = {{{{nvlink ? resource::nvlink : resource::pcie, bus_factor(Collective::all_reduce, ranks) * bytes}}}};
  // As nccl-tests has it: always the same arrays, and calls that follow one another on the streams. A gate would hold the first
  // GPU alone.
  c.protocol.cache = Cache::warm;
  c.protocol.issue = Issue::stream;
  c.slot_bytes = problem.slot_bytes();
  Message message;
  message.ranks = ranks;
  message.bytes = problem.bytes();
  message.count = problem.count;
  message.bus_factor = bus_factor(Collective::all_reduce, ranks);
  message.reduction = name(problem.reduction);
  message.place = problem.in_place ? "in" : "out";
  c.message = message;
  if (!&cuda::node_collectives) c.unsupported = "this build has no NCCL";
  c.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedNodeAllReduce>(setup, node, problem);
  };
  return c;
}

}  // namespace

std::vector<Group> all_reduce(const Listing& listing) {
  if (listing.fabric || listing.only_device || listing.device.backend != Backend::cuda || !&cuda_devices) return {};
  const std::vector<int> ordinals = cuda_devices().ordinals;
  if (ordinals.size() < 2 || listing.device.id != "cuda:" + std::to_string(ordinals.front())) return {};

  const auto node = std::make_shared<Node>(ordinals);
  CaseList list(listing);
  const auto add = [&](const Problem& problem) { list.add(all_reduce_case(listing.device, node, problem)); };
  const auto sweep = [&](DataType type, Reduction reduction, bool in_place, std::size_t factor) {
    constexpr std::size_t kLeast = 8, kMost = std::size_t{16} << 30;
    for (std::size_t bytes = kLeast; bytes <= kMost; bytes *= factor) add({type, reduction, bytes / size_of(type), in_place});
  };
  switch (listing.suite) {
    case SuiteName::contract:
      for (const DataType type :
           {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16, DataType::fp8, DataType::int8, DataType::int32}) {
        for (const Reduction reduction : {Reduction::sum, Reduction::max, Reduction::avg}) {
          for (const std::size_t count : {1, 127, 4099}) {
            if (count == 1 && is_integer(type)) continue;  // one -1 is both a sum and the poison
            for (const bool in_place : {false, true}) add({type, reduction, count, in_place});
          }
        }
      }
      break;
    case SuiteName::quick:
      for (const std::size_t bytes : {8u, 1u << 10, 1u << 15, 1u << 20, 1u << 24, 1u << 27, 1u << 29, 1u << 30}) {
        add({DataType::fp32, Reduction::sum, bytes / size_of(DataType::fp32), false});
      }
      break;
    case SuiteName::baseline:
      for (const DataType type : {DataType::fp32, DataType::bf16}) sweep(type, Reduction::sum, false, 4);
      break;
    case SuiteName::full:
      for (const bool in_place : {false, true}) sweep(DataType::fp32, Reduction::sum, in_place, 2);
      for (const DataType type : {DataType::fp16, DataType::bf16}) sweep(type, Reduction::sum, false, 4);
      for (const Reduction reduction : {Reduction::max, Reduction::avg}) sweep(DataType::fp32, reduction, false, 16);
      break;
  }
  return list.take();
}

}  // namespace roofmark
