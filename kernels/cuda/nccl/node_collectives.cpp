// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "kernels/cuda/nccl/nccl.hpp"

namespace roofmark::cuda {

namespace {

int capability_of(int device) {
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return 10 * major + minor;
}

class NcclNodeAllReduce final : public NodeAllReduce {
 public:
  explicit NcclNodeAllReduce(const std::vector<int>& devices) {
    require_gpu();
    for (const int device : devices) {
      least_capability_ = std::min(least_capability_, capability_of(device));
    }
    choices_.connecting([&] {
      std::vector<ncclComm_t> comms(devices.size());
      check(nccl_.comm_init_all(comms.data(), static_cast<int>(devices.size()), devices.data()));
      for (std::size_t d = 0; d < devices.size(); ++d) ranks_.push_back(std::make_unique<NcclRank>(comms[d], devices[d]));
    });
    for (const int device : devices) {
      const OnDevice there(device);
      streams_.push_back(make_side_stream());
      events_.push_back(make_order_event());
    }
  }

  void launch(const std::vector<const void*>& in, const std::vector<void*>& out, std::size_t count, DataType type,
              Reduction reduction, Stream stream) override {
    const OnDevice first(ranks_[0]->device());
    check(cudaEventRecord(events_[0].get(), stream));
    for (std::size_t d = 1; d < ranks_.size(); ++d) {
      const OnDevice there(ranks_[d]->device());
      check(cudaStreamWaitEvent(streams_[d].get(), events_[0].get(), 0));
    }
    choices_.calling({type, reduction, count, in[0] == out[0]}, [&] {
      attempt([&] {
        NcclGroup group;
        for (std::size_t d = 0; d < ranks_.size(); ++d) {
          check(nccl_.all_reduce(in[d], out[d], count, nccl_type(type), nccl_operator(reduction), ranks_[d]->get(),
                                 d == 0 ? stream : streams_[d].get()));
        }
        group.end();
      });
    });
    for (std::size_t d = 1; d < ranks_.size(); ++d) {
      const OnDevice there(ranks_[d]->device());
      check(cudaEventRecord(events_[d].get(), streams_[d].get()));
    }
    for (std::size_t d = 1; d < ranks_.size(); ++d) check(cudaStreamWaitEvent(stream, events_[d].get(), 0));
  }

  bool supports(DataType type, Reduction reduction) const override {
    return nccl_reduces(type, reduction, static_cast<int>(ranks_.size()), least_capability_);
  }

  std::vector<std::pair<std::string, std::string>> notes() const override { return choices_.notes(); }

  void check_health() override {
    attempt([&] {
      for (const auto& rank : ranks_) rank->check_health();
    });
  }

  std::string library() const override { return nccl_.name(); }

 private:
  /// Type, reduction, elements, in place: what NCCL's choice depends on.
  using Kind = std::tuple<DataType, Reduction, std::size_t, bool>;

  /// After what fails here the communicators are of no use any more.
  template <class Calls>
  void attempt(Calls calls) {
    try {
      calls();
    } catch (...) {
      for (const auto& rank : ranks_) rank->give_up();
      throw;
    }
  }

  const Nccl& nccl_ = Nccl::loaded();
  int least_capability_ = 1 << 30;
  std::vector<std::unique_ptr<NcclRank>> ranks_;
  std::vector<SideStream> streams_;  ///< the first device's is the caller's: its own is idle
  std::vector<OrderEvent> events_;   ///< of the first device the fork, of the others the joins
  NcclChoices<Kind> choices_;
};

std::unique_ptr<NodeAllReduce> all_reduce(const std::vector<int>& devices) {
  return std::make_unique<NcclNodeAllReduce>(devices);
}

}  // namespace

const NodeCollectiveKernels node_collectives = {all_reduce};

}  // namespace roofmark::cuda
