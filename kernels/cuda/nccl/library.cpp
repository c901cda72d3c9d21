// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <map>
#include <mutex>
#include <stdexcept>

#include "kernels/cuda/nccl/capture.hpp"
#include "kernels/cuda/nccl/nccl.hpp"

namespace roofmark::cuda {

namespace {

/// The first version with registered memory.
constexpr int kOldestVersion = 21900;

std::string version_text(int version) {
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

template <class Function>
bool find(void* library, std::initializer_list<const char*> symbols, Function*& function) {
  for (const char* symbol : symbols) {
    function = reinterpret_cast<Function*>(dlsym(library, symbol));
    if (function) return true;
  }
  return false;
}

template <class Function>
void require(void* library, const char* symbol, Function*& function) {
  if (!find(library, {symbol}, function)) throw Unsupported("NCCL has no " + std::string(symbol));
}

/// What can be asked for its state.
struct LiveRanks {
  static LiveRanks& all() {
    static LiveRanks& live = *new LiveRanks;
    return live;
  }
  std::mutex mutex;
  std::map<ncclComm_t, NcclRank::GivenUp> ranks;
};

NcclLog& nccl_log() { return NcclLog::only(Nccl::loaded().reset_log); }

}  // namespace

Nccl::Nccl() {
  // Never closed: the process uses it to its end.
  void* library = dlopen("libnccl.so.2", RTLD_NOW);
  if (!library) throw Unsupported("NCCL cannot be loaded: " + std::string(dlerror()));
  require(library, "ncclGetVersion", get_version);
  if (get_version(&version) != ncclSuccess || version < kOldestVersion) {
    throw Unsupported(version_text(version) + " is installed, " + version_text(kOldestVersion) + " or newer is needed");
  }
  // Else the environment or a configuration file may let calls return before they have ended, and the next ones fail.
  setenv("NCCL_COMM_BLOCKING", "1", 1);
  require(library, "ncclGetErrorString", error_string);
  require(library, "ncclGetLastError", last_error);
  require(library, "ncclGetUniqueId", get_unique_id);
  require(library, "ncclCommInitRank", comm_init_rank);
  require(library, "ncclCommInitAll", comm_init_all);
  require(library, "ncclCommDestroy", comm_destroy);
  require(library, "ncclCommAbort", comm_abort);
  require(library, "ncclCommGetAsyncError", comm_async_error);
  require(library, "ncclGroupStart", group_start);
  require(library, "ncclGroupEnd", group_end);
  require(library, "ncclAllReduce", all_reduce);
  require(library, "ncclAllGather", all_gather);
  require(library, "ncclReduceScatter", reduce_scatter);
  require(library, "ncclBroadcast", broadcast);
  require(library, "ncclReduce", reduce);
  require(library, "ncclSend", send);
  require(library, "ncclRecv", receive);
  require(library, "ncclMemAlloc", mem_alloc);
  require(library, "ncclMemFree", mem_free);
  require(library, "ncclCommRegister", comm_register);
  require(library, "ncclCommDeregister", comm_deregister);
  if (!find(library, {"ncclCommWindowDeregister"}, window_deregister) ||
      !find(library, {"ncclCommWindowRegister"}, window_register)) {
    window_register = nullptr;
  }
  find(library, {"ncclAlltoAll"}, all_to_all);
  find(library, {"ncclGather"}, gather);
  find(library, {"ncclScatter"}, scatter);
  // The second name is deprecated.
  find(library, {"ncclResetDebugInitInternal", "ncclResetDebugInit"}, reset_log);
  // Before 2.27 it closes the file that NCCL's other threads may be writing to.
  constexpr int kResetsUnderLock = 22700;
  if (version < kResetsUnderLock) reset_log = nullptr;
}

const Nccl& Nccl::loaded() {
  static const Nccl library;
  return library;
}

std::string Nccl::name() const { return version_text(version); }

void capture_nccl_log() { nccl_log(); }
NcclTrace::NcclTrace() { nccl_log().start(); }
NcclTrace::~NcclTrace() { nccl_log().stop(); }
std::string NcclTrace::text() const { return nccl_log().text(); }

NcclChoice choice_of(const NcclTrace& trace) {
  static std::mutex mutex;
  static std::map<int, std::string> interfaces;
  const std::string log = trace.text();
  const std::lock_guard lock(mutex);
  for (const auto& [device, name] : parse_nccl_interfaces(log)) interfaces[device] = name;
  return parse_nccl_log(log, interfaces);
}

NcclRank::NcclRank(ncclComm_t comm, int device, GivenUp given_up)
    : comm_(comm), device_(device), given_up_(std::move(given_up)) {
  LiveRanks& live = LiveRanks::all();
  const std::lock_guard lock(live.mutex);
  live.ranks[comm_] = given_up_;
}

NcclRank::~NcclRank() {
  {
    LiveRanks& live = LiveRanks::all();
    const std::lock_guard lock(live.mutex);
    live.ranks.erase(comm_);
  }
  const Nccl& nccl = Nccl::loaded();
  const OnDevice here(device_, std::nothrow);
  ncclResult_t state = ncclSuccess;
  // During an exception the peers may be anywhere, and destroying may wait for them.
  const bool well = here.status() == cudaSuccess && !*given_up_ && std::uncaught_exceptions() == 0 &&
                    nccl.comm_async_error(comm_, &state) == ncclSuccess && state == ncclSuccess;
  // Destroy also finalizes, and handles several ranks in one process.
  well ? nccl.comm_destroy(comm_) : nccl.comm_abort(comm_);
}

void NcclRank::check_health() const {
  ncclResult_t state = ncclSuccess;
  check(Nccl::loaded().comm_async_error(comm_, &state));
  if (state != ncclSuccess && state != ncclInProgress) throw DeviceError(describe_status(state).text, true);
}

std::string nccl_late_error() {
  LiveRanks& live = LiveRanks::all();
  const std::lock_guard lock(live.mutex);
  for (const auto& [comm, given_up] : live.ranks) {
    ncclResult_t state = ncclSuccess;
    if (*given_up || Nccl::loaded().comm_async_error(comm, &state) != ncclSuccess) continue;
    if (state != ncclSuccess && state != ncclInProgress) return describe_status(state).text;
  }
  return {};
}

std::vector<std::string> last_nccl_warnings() { return NcclLog::last_warnings_if_made(); }

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::fp64:
      return ncclFloat64;
    case DataType::fp32:
      return ncclFloat32;
    case DataType::fp16:
      return ncclFloat16;
    case DataType::bf16:
      return ncclBfloat16;
    case DataType::fp8:
      return static_cast<ncclDataType_t>(10);  // ncclFloat8e4m3, from 2.24 on
    case DataType::int8:
      return ncclInt8;
    case DataType::int32:
      return ncclInt32;
    case DataType::tf32:
    case DataType::mxfp8:
    case DataType::nvfp4:
    case DataType::fp8_vec128:
    case DataType::fp8_blk128:
      break;
  }
  throw Unsupported("NCCL does not reduce " + std::string(name(type)));
}

ncclRedOp_t nccl_operator(Reduction reduction) {
  constexpr ncclRedOp_t operators[] = {ncclSum, ncclMax, ncclAvg, ncclMin, ncclProd};
  return operators[static_cast<int>(reduction)];
}

bool nccl_reduces(DataType type, Reduction reduction, int ranks, int capability) {
  if (type == DataType::tf32) return false;
  if (type != DataType::fp8) return true;
  if (Nccl::loaded().version < 22400 || capability < 90) return false;
  // A team of one scales its terms by a kernel that NCCL (seen in 2.28) lacks for fp8. A larger team scales them by 1/n in fp8,
  // which is 0 from n = 1024 on.
  return reduction != Reduction::avg || (ranks > 1 && ranks < 1024);
}

std::vector<std::pair<std::string, std::string>> describe(const NcclChoice& choice) {
  std::vector<std::pair<std::string, std::string>> notes;
  if (!choice.algorithm.empty()) notes.emplace_back("algorithm", choice.algorithm);
  if (!choice.protocol.empty()) notes.emplace_back("protocol", choice.protocol);
  if (choice.channels) notes.emplace_back("channels", std::to_string(*choice.channels));
  std::string transports;
  for (const std::string& transport : choice.transports) transports += (transports.empty() ? "" : ", ") + transport;
  if (!transports.empty()) notes.emplace_back("transport", transports);
  return notes;
}

OwnedStream make_urgent_stream() {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  return OwnedStream(stream);
}

void require_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return;
  cudaGetLastError();
  throw DeviceError("NCCL needs a GPU, and none is usable: " + describe_status(status).text, false);
}

}  // namespace roofmark::cuda

roofmark::StatusText describe_status(ncclResult_t status) {
  if (status == ncclSuccess) return {};
  const roofmark::cuda::Nccl& nccl = roofmark::cuda::Nccl::loaded();
  const char* reason = nccl.last_error(nullptr);
  // A lost peer does not come back. NCCL does not say whether the context survived, and its runtime is another copy than ours.
  return {false, status == ncclRemoteError,
          nccl.name() + ": " + nccl.error_string(status) + (reason && *reason ? ": " + std::string(reason) : std::string())};
}
