// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The entry points of the stand-in NCCL (libnccl.so.2), over the stand-in runtime. Ranks are GPUs of one process, or processes
// of one host. Calls are refused, and wait, where NCCL's do.
#include <nccl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "../runtime/runtime.hpp"
#include "communicator.hpp"
#include "fault.hpp"
#include "log.hpp"
#include "numbers.hpp"
#include "registry.hpp"

using namespace gpu_model;
using nccl::Action;
using nccl::Call;
using nccl::Communicator;
using nccl::Registry;

/// Is not freed when it is destroyed, so that a later use of it is refused.
struct ncclComm {
  std::shared_ptr<Communicator> rank;
};

namespace {

struct Enqueued {
  std::shared_ptr<Communicator> rank;
  cudaStream_t stream = nullptr;
  Call call;
};

thread_local int group_depth = 0;
thread_local std::vector<Enqueued> group_calls;
/// Waits for other ranks. Those may be this thread's own, so it waits at the end of the group.
thread_local std::vector<std::function<ncclResult_t()>> group_waits;
thread_local std::string reason;

ncclResult_t refuse(ncclResult_t status, const std::string& why) {
  reason = why;
  runtime::say("NCCL: %s: %s", ncclGetErrorString(status), why.c_str());
  return status;
}

/// Turns exceptions into NCCL's statuses.
template <class Work>
ncclResult_t guarded(const Work& work) {
  try {
    return work();
  } catch (const std::invalid_argument& error) {
    return refuse(ncclInvalidArgument, error.what());
  } catch (const std::logic_error& error) {
    return refuse(ncclInvalidUsage, error.what());
  } catch (const std::exception& error) {
    return refuse(ncclSystemError, error.what());
  }
}

bool is_live(ncclComm_t comm) { return comm && comm->rank && !comm->rank->aborted(); }

ncclResult_t submit(Enqueued enqueued) {
  log_choice(*enqueued.rank, enqueued.call);
  const auto rank = std::move(enqueued.rank);
  const auto call = std::make_shared<const Call>(std::move(enqueued.call));
  const auto work = [rank, call](runtime::Device& device, double start, double overhead) {
    if (!rank->perform(*call, start)) return start;
    const double end = start + (overhead + duration_ns(*call, rank->size())) * device.noise();
    device.was_busy(start, end, 0.3);
    return end;
  };
  const cudaError_t status = runtime::submit(enqueued.stream, "nccl", work);
  return status == cudaSuccess ? ncclSuccess : refuse(ncclUnhandledCudaError, cudaGetErrorString(status));
}

ncclResult_t end_group() {
  // The messages of a rank are one call, which takes the place of the first.
  std::vector<Enqueued> calls;
  std::map<Communicator*, std::size_t> messages;
  for (Enqueued& enqueued : std::exchange(group_calls, {})) {
    if (enqueued.call.action == Action::messages) {
      const auto [first, is_first] = messages.try_emplace(enqueued.rank.get(), calls.size());
      if (!is_first) {
        calls[first->second].call.messages.push_back(enqueued.call.messages.front());
        continue;
      }
    }
    calls.push_back(std::move(enqueued));
  }
  ncclResult_t first_status = ncclSuccess;
  for (const auto& wait : std::exchange(group_waits, {})) {
    if (const ncclResult_t status = wait(); first_status == ncclSuccess) first_status = status;
  }
  for (Enqueued& enqueued : calls) {
    if (first_status != ncclSuccess) break;
    first_status = submit(std::move(enqueued));
  }
  return first_status;
}

/// At once, or at the end of the group.
ncclResult_t at_end_of_group(std::function<ncclResult_t()> wait) {
  group_waits.push_back(std::move(wait));
  return group_depth ? ncclSuccess : end_group();
}

ncclResult_t check_stream(const Communicator& rank, cudaStream_t stream) {
  int device = -1;
  if (runtime::device_of_stream(stream, &device) != cudaSuccess) return refuse(ncclUnhandledCudaError, "an unknown stream");
  if (device != rank.device()) return refuse(ncclInvalidUsage, "a stream of another device than the communicator's");
  return ncclSuccess;
}

/// Within one allocation of the rank's device.
bool fits(const Communicator& rank, const void* data, std::size_t bytes) {
  int device = -1;
  return bytes == 0 || (runtime::place_of(data, bytes, &device) == runtime::Place::device && device == rank.device());
}

ncclResult_t add_to_group(ncclComm_t comm, cudaStream_t stream, Call call) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  call.is_captured = cudaStreamIsCapturing(stream, &capture) == cudaSuccess && capture == cudaStreamCaptureStatusActive;
  group_calls.push_back({comm->rank, stream, std::move(call)});
  return group_depth ? ncclSuccess : end_group();
}

ncclResult_t enqueue(Action action, const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                     ncclComm_t comm, cudaStream_t stream) {
  if (!is_live(comm) || !comm->rank->is_ready()) return refuse(ncclInvalidArgument, "no communicator that is ready");
  const Communicator& rank = *comm->rank;
  if (nccl::width(type) == 0) return refuse(ncclInvalidArgument, "an unknown type");
  if (op < ncclSum || op > ncclAvg) return refuse(ncclInvalidArgument, "an unknown reduction");
  if (root < 0 || root >= rank.size()) return refuse(ncclInvalidArgument, "an invalid root");
  if (const ncclResult_t status = check_stream(rank, stream); status != ncclSuccess) return status;
  const std::size_t parts = static_cast<std::size_t>(rank.size()), bytes = count * nccl::width(type);
  const bool is_root = rank.rank() == root;
  std::size_t parts_in = 1, parts_out = 1;
  if (action == Action::reduce_scatter || action == Action::all_to_all) parts_in = parts;
  if (action == Action::scatter) parts_in = is_root ? parts : 0;
  if (action == Action::broadcast) parts_in = is_root ? 1 : 0;
  if (action == Action::all_gather || action == Action::all_to_all) parts_out = parts;
  if (action == Action::gather) parts_out = is_root ? parts : 0;
  if (action == Action::reduce) parts_out = is_root ? 1 : 0;
  if (!fits(rank, in, parts_in * bytes)) {
    return refuse(ncclInvalidArgument, "the input is not within one allocation of the rank's device");
  }
  if (!fits(rank, out, parts_out * bytes)) {
    return refuse(ncclInvalidArgument, "the output is not within one allocation of the rank's device");
  }
  // A single rank scales by a kernel of its own, which NCCL lacks for fp8.
  if (type == ncclFloat8e4m3 && op == ncclAvg && parts == 1) return refuse(ncclInvalidUsage, "fp8 average of one rank");
  return add_to_group(comm, stream,
                      {action, static_cast<const char*>(in), static_cast<char*>(out), count, type, op, root, {}, false});
}

ncclResult_t enqueue_message(bool is_send, void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                             cudaStream_t stream) {
  if (!is_live(comm) || !comm->rank->is_ready()) return refuse(ncclInvalidArgument, "no communicator that is ready");
  const Communicator& rank = *comm->rank;
  if (nccl::width(type) == 0) return refuse(ncclInvalidArgument, "an unknown type");
  if (peer < 0 || peer >= rank.size()) return refuse(ncclInvalidArgument, "an invalid peer");
  if (const ncclResult_t status = check_stream(rank, stream); status != ncclSuccess) return status;
  const std::size_t bytes = count * nccl::width(type);
  if (!fits(rank, data, bytes))
    return refuse(ncclInvalidArgument, "a message is not within one allocation of the rank's device");
  Call call;
  call.action = Action::messages;
  call.messages = {{peer, is_send, static_cast<char*>(data), bytes}};
  return add_to_group(comm, stream, std::move(call));
}

ncclResult_t meet(const std::shared_ptr<Communicator>& rank) {
  return guarded([&] {
    if (!rank->meet()) return ncclInvalidUsage;
    log_connections(*rank);
    return ncclSuccess;
  });
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) { return *version = NCCL_VERSION_CODE, ncclSuccess; }

const char* ncclGetErrorString(ncclResult_t status) {
  switch (status) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t) { return reason.c_str(); }

/// Not in NCCL's header.
// NOLINTNEXTLINE(readability-identifier-naming)
void ncclResetDebugInitInternal() { nccl::reset_log(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return guarded([&] {
    std::memset(id, 0, sizeof *id);
    std::snprintf(id->internal, sizeof id->internal, "%s", nccl::Endpoint::create().c_str());
    nccl::log_unique_id();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  if (!comm) return refuse(ncclInvalidArgument, "no place for a communicator");
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return refuse(ncclUnhandledCudaError, "no device");
  // There is no communicator yet that could be aborted.
  while (nccl::planted_fault(rank, "init", 0) == nccl::Fault::hang) std::this_thread::sleep_for(std::chrono::hours(1));
  const std::string text(id.internal, strnlen(id.internal, sizeof id.internal));
  return guarded([&] {
    const auto made = std::make_shared<Communicator>(text, size, rank, device);
    *comm = new ncclComm{made};
    return at_end_of_group([made] { return meet(made); });
  });
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  int there = 0;
  if (cudaGetDeviceCount(&there) != cudaSuccess) return refuse(ncclUnhandledCudaError, "no device");
  std::set<int> seen;
  for (int i = 0; i < count; ++i) {
    const int device = devices ? devices[i] : i;
    if (device < 0 || device >= there) return refuse(ncclUnhandledCudaError, "invalid device ordinal");
    if (!seen.insert(device).second) return refuse(ncclInvalidUsage, "a device twice");
  }
  return guarded([&] {
    const std::string id = nccl::Endpoint::create();
    for (int i = 0; i < count; ++i) {
      comms[i] = new ncclComm{std::make_shared<Communicator>(id, count, i, devices ? devices[i] : i)};
    }
    for (int i = 0; i < count; ++i) {
      if (const ncclResult_t status = meet(comms[i]->rank); status != ncclSuccess) return status;
    }
    return ncclSuccess;
  });
}

/// Waits for calls in flight, for graphs that have captured calls, and for the other ranks of the host, as NCCL does.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm || !comm->rank) return refuse(ncclInvalidArgument, "no communicator");
  const std::shared_ptr<Communicator> rank = std::move(comm->rank);
  for (int waited = 0; !rank->aborted() && rank.use_count() > 1; ++waited) {
    if (waited == 10'000)
      runtime::say("NCCL: ncclCommDestroy waits for a call in flight, or for a graph that has captured one");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (const std::size_t bytes = rank->unread_bytes(); bytes != 0 && !rank->aborted()) {
    runtime::say("NCCL: rank %d is destroyed and never received %zu bytes that were sent to it", rank->rank(), bytes);
  }
  Registry::only().forget(comm);
  rank->leave();
  rank->wait_for_host("ncclCommDestroy");
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }

/// Waits for the other ranks of the host: all active ranks are required to call it.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm) return ncclInvalidArgument;
  if (const std::shared_ptr<Communicator> rank = std::move(comm->rank)) {
    rank->abort();
    Registry::only().forget(comm);
    rank->leave();
    rank->wait_for_host("ncclCommAbort");
  }
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  if (!comm || !comm->rank) return ncclInvalidArgument;
  return *state = comm->rank->state(), ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  if (!is_live(comm)) return ncclInvalidArgument;
  return *count = comm->rank->size(), ncclSuccess;
}

ncclResult_t ncclGroupStart() { return ++group_depth, ncclSuccess; }
ncclResult_t ncclGroupEnd() {
  if (group_depth == 0) return refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  return --group_depth ? ncclSuccess : end_group();
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return enqueue(Action::all_reduce, in, out, count, type, op, 0, comm, stream);
}
ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(Action::all_gather, in, out, count, type, ncclSum, 0, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return enqueue(Action::reduce_scatter, in, out, count, type, op, 0, comm, stream);
}
ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return enqueue(Action::broadcast, in, out, count, type, ncclSum, root, comm, stream);
}
ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return enqueue(Action::reduce, in, out, count, type, op, root, comm, stream);
}
ncclResult_t ncclAlltoAll(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(Action::all_to_all, in, out, count, type, ncclSum, 0, comm, stream);
}
ncclResult_t ncclGather(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return enqueue(Action::gather, in, out, count, type, ncclSum, root, comm, stream);
}
ncclResult_t ncclScatter(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                         cudaStream_t stream) {
  return enqueue(Action::scatter, in, out, count, type, ncclSum, root, comm, stream);
}
ncclResult_t ncclSend(const void* in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return enqueue_message(true, const_cast<void*>(in), count, type, peer, comm, stream);
}
ncclResult_t ncclRecv(void* out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return enqueue_message(false, out, count, type, peer, comm, stream);
}

ncclResult_t ncclMemAlloc(void** to, size_t bytes) {
  if (cudaMalloc(to, bytes) != cudaSuccess) return refuse(ncclUnhandledCudaError, "out of memory");
  return Registry::only().give(*to, bytes), ncclSuccess;
}
ncclResult_t ncclMemFree(void* pointer) {
  if (!Registry::only().take_back(pointer)) return refuse(ncclInvalidUsage, "memory is freed that is still registered");
  return cudaFree(pointer) == cudaSuccess ? ncclSuccess : refuse(ncclUnhandledCudaError, "invalid pointer");
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t bytes, void** handle) {
  if (!is_live(comm) || !fits(*comm->rank, buffer, bytes)) return refuse(ncclInvalidArgument, "a buffer to register");
  *handle = buffer;
  return Registry::only().add(comm, Registry::As::buffer, buffer), ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  if (!is_live(comm)) return refuse(ncclInvalidArgument, "no communicator");
  const bool known = Registry::only().remove(comm, Registry::As::buffer, handle);
  return known ? ncclSuccess : refuse(ncclInvalidUsage, "Deregister: Could not find handle");
}

/// Waits for all ranks, whose windows have one size: before 2.30.7 each maps the others' memory with the size of its own.
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buffer, size_t bytes, ncclWindow_t* window, int) {
  if (!is_live(comm) || bytes == 0 || !fits(*comm->rank, buffer, bytes)) return refuse(ncclInvalidArgument, "a window");
  if (!Registry::only().has_given(buffer, bytes)) {
    return refuse(ncclUnhandledCudaError, "a window of memory that is not from ncclMemAlloc");
  }
  Registry::only().add(comm, Registry::As::window, buffer);
  *window = reinterpret_cast<ncclWindow_t>(buffer);
  const std::shared_ptr<Communicator> rank = comm->rank;
  const std::uint64_t barrier = rank->arrive(bytes);
  return at_end_of_group([rank, barrier, bytes] {
    if (!rank->wait_for(barrier, "ncclCommWindowRegister")) return ncclInvalidUsage;
    return rank->all_told(barrier, bytes) ? ncclSuccess : refuse(ncclUnhandledCudaError, "windows of different sizes");
  });
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  if (!is_live(comm)) return refuse(ncclInvalidArgument, "no communicator");
  const bool known = Registry::only().remove(comm, Registry::As::window, window);
  return known ? ncclSuccess : refuse(ncclInvalidArgument, "an unknown window");
}

}  // extern "C"
