// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/fabric.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark {

/// Supports everything and moves nothing.
class SilentCommunicator : public Communicator {
 public:
  int size() const override { return 1; }
  int rank() const override { return 0; }
  bool supports(Collective, DataType, Reduction) const override { return true; }
  bool out_of_place(Collective) const override { return true; }
  int in_place_offset(Collective op) const override {
    return op == Collective::all_to_all || op == Collective::send_recv || op == Collective::ping_pong ? -1 : 0;
  }
  void enqueue(const CollectiveCall&, Stream) override {}
  void enqueue_beside(const CollectiveCall&, Stream, const std::function<void()>&) override {}
  std::unique_ptr<void, std::function<void(void*)>> allocate(std::size_t, Buffer) override { return nullptr; }
  std::vector<std::pair<std::string, std::string>> notes() const override { return {}; }
  std::string library() const override { return "silent"; }
};

/// Ranks that are not there, one GPU each with NVLink, or one CPU.
inline Fabric made_up_ranks(int hosts, int ranks_per_host, Backend backend = Backend::cuda) {
  Fabric fabric;
  fabric.how = backend == Backend::cuda ? "nccl" : "mpi";
  fabric.types = {DataType::fp32, DataType::fp16, DataType::bf16, DataType::fp8};
  fabric.buffers = {Buffer::registered, Buffer::symmetric};
  fabric.split = [](const std::vector<int>&) { return std::make_shared<SilentCommunicator>(); };
  for (int rank = 0; rank < hosts * ranks_per_host; ++rank) {
    RankInfo& member = fabric.members.emplace_back();
    member.rank = rank;
    member.local_rank = rank % ranks_per_host;
    member.host = "host" + std::to_string(rank / ranks_per_host);
    if (backend == Backend::cuda) member.uuid = "GPU-" + std::to_string(rank);
    member.nvlink_bytes_per_second = 450e9;
  }
  return fabric;
}

/// The GPUs of one process, none of which is there.
inline Fabric made_up_gpus(int count, const std::string& refusal = {}) {
  Fabric fabric;
  fabric.how = "nccl";
  for (int gpu = 0; gpu < count; ++gpu) {
    RankInfo& member = fabric.members.emplace_back();
    member.rank = gpu;
    member.device_id = "cuda:" + std::to_string(gpu);
    member.device_name = h200().name;
  }
  fabric.local.emplace();
  fabric.local->path = [refusal](int, int) { return PeerPath{PathKind::nvlink, 18, refusal}; };
  return fabric;
}

}  // namespace roofmark
