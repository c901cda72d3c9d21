// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "endpoint.hpp"

namespace gpu_model::nccl {

enum class Action { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter, messages };
std::string_view name(Action action);

/// A send to or a receive from `peer`.
struct Message {
  int peer = 0;
  bool is_send = false;
  char* data = nullptr;
  std::size_t bytes = 0;
};

/// What one rank enqueues: a collective, or the messages of a group.
struct Call {
  Action action{};
  const char* in = nullptr;
  char* out = nullptr;
  std::size_t count = 0;  ///< as in NCCL's own call: elements per rank
  ncclDataType_t type{};
  ncclRedOp_t op{};
  int root = 0;
  std::vector<Message> messages;
  bool is_captured = false;  ///< in a graph

  /// Of count elements, or of all messages.
  std::size_t bytes() const;
};

/// One rank of a communicator.
class Communicator {
 public:
  /// Joins the others without waiting; throws as Endpoint does.
  Communicator(const std::string& id, int size, int rank, int device);

  int size() const { return endpoint_.size(); }
  int rank() const { return endpoint_.rank(); }
  int device() const { return device_; }
  std::atomic<ncclResult_t>& state() { return state_; }

  /// Waits until all have joined; false after abort(). Throws std::logic_error where two ranks use one GPU.
  bool meet();
  /// Of the host's threads; as Endpoint's.
  std::uint64_t arrive(std::uint64_t word) { return endpoint_.arrive(word); }
  bool all_told(std::uint64_t barrier, std::uint64_t word) const { return endpoint_.all_told(barrier, word); }
  bool wait_for(std::uint64_t barrier, std::string_view what) { return endpoint_.wait_for(barrier, what); }
  void leave() { endpoint_.leave(); }
  void wait_for_host(std::string_view what) { endpoint_.wait_for_host(what); }
  void abort() { endpoint_.abort(); }
  bool aborted() const { return endpoint_.aborted(); }
  /// Not with NCCL_COMM_BLOCKING=0: a call returns before it has ended, and nothing here ends it.
  bool is_ready() const;

  /// Does this rank's part, on its stream's thread. `start_ns` is model time; it becomes the start of the last rank.
  /// False after abort(). Ranks that disagree about the call wait for abort(): on GPUs they may hang.
  bool perform(const Call& call, double& start_ns);
  /// Messages for this rank that it never received.
  std::size_t unread_bytes() const { return endpoint_.unread(); }

 private:
  struct Notice;

  bool agree(const Call& call, double& start_ns);
  bool move(const Call& call);
  bool exchange_parts(const Call& call);
  bool reduce_parts(const Call& call);
  bool exchange_messages(const Call& call, double& start_ns);
  bool disagree(const Notice& own, const Notice& other, int rank);

  Endpoint endpoint_;
  int device_;
  std::mutex turn_;  ///< held during a call: two streams may not exchange at once
  std::atomic<ncclResult_t> state_ = ncclSuccess;
};

/// Nanoseconds from the start of the last rank to the end of the call, by a model of NVLink through one switch.
double duration_ns(const Call& call, int ranks);

}  // namespace gpu_model::nccl
