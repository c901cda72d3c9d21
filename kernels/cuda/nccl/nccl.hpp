// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

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

// At global scope, where argument-dependent look-up finds it.
roofmark::StatusText describe_status(ncclResult_t status);

namespace roofmark::cuda {

/// NCCL, loaded at its first use, so that a node without it runs everything else. What came after 2.19 is null where the
/// library lacks it, and has its type written out: the header may be older than the library.
class Nccl {
 public:
  /// Throws Unsupported where it is not there, or too old.
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
  void (*reset_log)() = nullptr;  ///< reads NCCL_DEBUG and its like from the environment anew

 private:
  Nccl();
};

/// NCCL's log of what is done while this lives. The log goes to memory, and between two of these only warnings are written:
/// calls that are timed are not slowed down. Silent where the user has asked for NCCL's log, by NCCL_DEBUG, NCCL_DEBUG_FILE or
/// NCCL_DEBUG_SUBSYS in the environment or in NCCL's configuration files, and where the library cannot be asked.
class NcclTrace {
 public:
  NcclTrace();
  NcclTrace(const NcclTrace&) = delete;
  NcclTrace& operator=(const NcclTrace&) = delete;
  ~NcclTrace();
  std::string text() const;
};

/// Makes another device the calling thread's current one, for a while.
class OnDevice {
 public:
  explicit OnDevice(int device) : device_(device), before_(device) {
    if (cudaGetDevice(&before_) == cudaSuccess && before_ != device_) cudaSetDevice(device_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (before_ != device_) cudaSetDevice(before_);
  }

 private:
  int device_, before_;
};

/// Calls that NCCL begins together; end() tells of their errors.
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

/// One rank of a communicator. When it ends it waits for what was enqueued, and for its peers; after an error it does not.
/// NCCL would wait for ever for a graph that has captured its calls, and still stands.
class NcclRank {
 public:
  NcclRank(ncclComm_t comm, int device) : comm_(comm), device_(device) {}
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;
  ~NcclRank();

  ncclComm_t get() const { return comm_; }
  int device() const { return device_; }
  /// Throws DeviceError, sticky: nothing more comes of a communicator that one of its ranks has left.
  void check_health() const;
  /// A call has failed.
  void give_up() { given_up_ = true; }

 private:
  ncclComm_t comm_;
  int device_;
  bool given_up_ = false;
};

/// Of the types that are reduced here; tf32 is none of them.
ncclDataType_t nccl_type(DataType type);
ncclRedOp_t nccl_operator(Reduction reduction);
/// `capability`: the least of the ranks' GPUs.
bool nccl_reduces(DataType type, Reduction reduction, int ranks, int capability);

/// Pairs for a record.
std::vector<std::pair<std::string, std::string>> describe(const NcclChoice& choice);

/// How NCCL does the calls of each kind, a kind being all that its choice depends on.
template <class Kind>
class NcclChoices {
 public:
  /// `connect` makes the communicators, by whatever transports.
  template <class Connect>
  void connecting(Connect connect) {
    const NcclTrace trace;
    connect();
    transports_ = parse_nccl_log(trace.text()).transports;
  }

  /// The first call of a kind, which is never a timed one, is done with NCCL's log on.
  template <class Calls>
  void calling(const Kind& kind, Calls calls) {
    if (last_ == kind || choices_.contains(kind)) {
      calls();
    } else {
      const NcclTrace trace;
      calls();
      NcclChoice choice = parse_nccl_log(trace.text());
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

 private:
  std::map<Kind, NcclChoice> choices_;
  std::optional<Kind> last_;
  std::set<std::string> transports_;
};

struct DestroyStream {
  using pointer = cudaStream_t;
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using SideStream = std::unique_ptr<cudaStream_t, DestroyStream>;
/// On the current device, of the highest priority: a collective that shares the device gets its few SMs when it starts.
SideStream make_side_stream();

struct DestroyEvent {
  using pointer = cudaEvent_t;
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using OrderEvent = std::unique_ptr<cudaEvent_t, DestroyEvent>;
/// Of the current device, for order alone.
OrderEvent make_order_event();

/// cudaErrorNoDevice and its like, in words, where there is no GPU to communicate with.
void require_gpu();

}  // namespace roofmark::cuda
