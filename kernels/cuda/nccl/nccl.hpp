// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/cuda.hpp"
#include "kernels/collectives.hpp"
#include "kernels/cuda/nccl/log.hpp"
#include "kernels/cuda/on_device.hpp"

// At global scope, where argument-dependent look-up finds it.
roofmark::StatusText describe_status(ncclResult_t status);

namespace roofmark::cuda {

/// NCCL, loaded at its first use, so that a node without it runs everything else. A function newer than 2.19 is null where the
/// library lacks it; its type is written out because the header may be older than the library.
class Nccl {
 public:
  /// Throws Unsupported where the library is missing or too old.
  static const Nccl& loaded();

  int version = 0;  ///< 22809 for 2.28.9
  std::string name() const;

  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGetLastError) last_error = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommInitAll) comm_init_all = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) comm_async_error = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclReduce) reduce = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  ncclResult_t (*mem_alloc)(void**, std::size_t) = nullptr;
  ncclResult_t (*mem_free)(void*) = nullptr;
  ncclResult_t (*comm_register)(ncclComm_t, void*, std::size_t, void**) = nullptr;
  ncclResult_t (*comm_deregister)(ncclComm_t, void*) = nullptr;
  ncclResult_t (*window_register)(ncclComm_t, void*, std::size_t, void**, int) = nullptr;
  ncclResult_t (*window_deregister)(ncclComm_t, void*) = nullptr;
  ncclResult_t (*all_to_all)(const void*, void*, std::size_t, ncclDataType_t, ncclComm_t, cudaStream_t) = nullptr;
  ncclResult_t (*gather)(const void*, void*, std::size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) = nullptr;
  ncclResult_t (*scatter)(const void*, void*, std::size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) = nullptr;
  void (*reset_log)() = nullptr;  ///< reads NCCL_DEBUG and related variables again

 private:
  Nccl();
};

/// Captures NCCL's log in memory for its lifetime. Outside of it NCCL logs warnings only and what the user asks for
/// (WantedNcclLog), so timed calls are not slowed down. Captures nothing where the user keeps NCCL's log (NCCL_DEBUG=ABORT or
/// TRACE), or the library has no function to reread its settings.
class NcclTrace {
 public:
  NcclTrace();
  NcclTrace(const NcclTrace&) = delete;
  NcclTrace& operator=(const NcclTrace&) = delete;
  ~NcclTrace();
  std::string text() const;
};

/// Captures the log from now on, as the first trace does: for a call that NCCL may say something in.
void capture_nccl_log();

/// What the trace says, with the interfaces that an earlier one named.
NcclChoice choice_of(const NcclTrace& trace);

/// Calls that NCCL starts together; end() throws their errors.
class NcclGroup {
 public:
  NcclGroup() { check(Nccl::loaded().group_start()); }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  ~NcclGroup() {
    if (open_) Nccl::loaded().group_end();
  }
  void end() {
    open_ = false;
    check(Nccl::loaded().group_end());
  }

 private:
  bool open_ = true;
};

/// One rank of a communicator. Its destructor waits for enqueued work and for its peers, except after an error. Destroy graphs
/// that captured its calls first: NCCL waits for them.
class NcclRank {
 public:
  using GivenUp = std::shared_ptr<std::atomic<bool>>;
  NcclRank(ncclComm_t comm, int device, GivenUp given_up = std::make_shared<std::atomic<bool>>(false));
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;
  ~NcclRank();

  ncclComm_t get() const { return comm_; }
  int device() const { return device_; }
  /// Throws a sticky DeviceError: a communicator that one of its ranks has left is unusable.
  void check_health() const;
  /// A call has failed.
  void give_up() { *given_up_ = true; }
  bool is_usable() const { return !*given_up_; }

 private:
  ncclComm_t comm_;
  int device_;
  GivenUp given_up_;  ///< shared by the ranks of one thread, none of which can wait for the others
};

/// NCCL's text for an asynchronous error of a live NcclRank; "" without one. From any thread: ncclCommGetAsyncError of a
/// blocking communicator only reads what NCCL's own threads write, and the ranks live on while they are asked.
std::string nccl_late_error();
/// The last warnings of NCCL's captured log, oldest first. From any thread.
std::vector<std::string> last_nccl_warnings();

/// Of a type that NCCL reduces; not tf32.
ncclDataType_t nccl_type(DataType type);
ncclRedOp_t nccl_operator(Reduction reduction);
/// `capability`: the minimum over the ranks' GPUs.
bool nccl_reduces(DataType type, Reduction reduction, int ranks, int capability);

/// Pairs for a record.
std::vector<std::pair<std::string, std::string>> describe(const NcclChoice& choice);

/// NCCL's choice of algorithm and protocol per kind of call; a kind is everything that the choice depends on.
template <class Kind>
class NcclChoices {
 public:
  /// `connect` makes the communicators, which chooses transports.
  template <class Connect>
  void connecting(Connect connect) {
    const NcclTrace trace;
    connect();
    transports_ = choice_of(trace).transports;
  }

  /// The first call of a kind, which is never timed, runs with NCCL's log on.
  template <class Calls>
  void calling(const Kind& kind, Calls calls) {
    if (last_ == kind || choices_.contains(kind)) {
      calls();
    } else {
      const NcclTrace trace;
      calls();
      NcclChoice choice = choice_of(trace);
      transports_.merge(choice.transports);
      choices_[kind] = std::move(choice);
    }
    last_ = kind;
  }

  /// Of the last call; empty before the first.
  std::vector<std::pair<std::string, std::string>> notes() const {
    if (!last_) return {};
    NcclChoice choice = choices_.at(*last_);
    choice.transports = transports_;
    return describe(choice);
  }
  /// Of the connections so far; empty where the log does not say.
  const std::set<std::string>& transports() const { return transports_; }

 private:
  std::map<Kind, NcclChoice> choices_;
  std::optional<Kind> last_;
  std::set<std::string> transports_;
};

/// On the current device, with the highest priority: a collective that shares the device gets its few SMs when it starts.
OwnedStream make_urgent_stream();

/// Throws DeviceError with the reason where there is no GPU to communicate with.
void require_gpu();

}  // namespace roofmark::cuda
