// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The stand-in NCCL (libnccl.so.2) for the ranks of one process: links with the stand-in runtime. Data go as NCCL says they do;
// ranks of other processes cannot be reached. No log is written.
#include <nccl.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

#include "../runtime/runtime.hpp"

using namespace gpu_model::runtime;

namespace {

struct Team;
}  // namespace

struct ncclComm {
  std::shared_ptr<Team> team;
  int rank = 0, device = 0;
  unsigned long long executed = 0;
  bool gone = false;
};

namespace {

enum class What { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter, send, receive };
struct Call {
  What what{};
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
  ncclDataType_t type{};
  ncclRedOp_t op{};
  int root = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::shared_ptr<std::vector<Call>> joined;  // sends and receives of a group
};
struct Meeting {
  std::vector<const Call*> calls;
  int come = 0, left = 0;
  double start = 0;
  bool over = false;
};
struct Team {
  int size = 0;
  int joined = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<unsigned long long, Meeting> meetings;
  bool aborted = false;
  double noise_seed = 0;
};
std::mutex g_mutex;
std::map<std::string, std::shared_ptr<Team>> g_teams;
thread_local int t_depth = 0;
thread_local std::vector<Call> t_calls;
thread_local std::string t_reason;

ncclResult_t refuse(ncclResult_t status, const std::string& why) {
  t_reason = why;
  say("NCCL: %s: %s", ncclGetErrorString(status), why.c_str());
  return status;
}

std::size_t width(ncclDataType_t type) {
  switch (static_cast<int>(type)) {
    case 0:
    case 1:
    case 10:
    case 11:
      return 1;
    case 6:
    case 9:
      return 2;
    case 2:
    case 3:
    case 7:
      return 4;
    case 4:
    case 5:
    case 8:
      return 8;
    default:
      return 0;
  }
}
float half_value(std::uint16_t h) {
  const int e = h >> 10 & 31, m = h & 1023;
  const float v = e == 31 ? (m ? NAN : INFINITY) : e ? std::ldexp(1024.0f + m, e - 25) : std::ldexp(float(m), -24);
  return h & 0x8000 ? -v : v;
}
double load(ncclDataType_t type, const void* p, std::size_t i) {
  switch (static_cast<int>(type)) {
    case 0:
      return static_cast<const std::int8_t*>(p)[i];
    case 1:
      return static_cast<const std::uint8_t*>(p)[i];
    case 2:
      return static_cast<const std::int32_t*>(p)[i];
    case 3:
      return static_cast<const std::uint32_t*>(p)[i];
    case 6:
      return half_value(static_cast<const std::uint16_t*>(p)[i]);
    case 7:
      return static_cast<const float*>(p)[i];
    case 8:
      return static_cast<const double*>(p)[i];
    case 9:
      return std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(p)[i]) << 16);
    case 10: {
      const int v = static_cast<const std::uint8_t*>(p)[i], e = v >> 3 & 15, m = v & 7;
      const double s = (v & 127) == 127 ? NAN : e ? std::ldexp(8.0 + m, e - 10) : std::ldexp(double(m), -9);
      return v & 128 ? -s : s;
    }
    default:
      return 0;
  }
}
/// Rounds to nearest even at `bits` of significand, with the least exponent of a subnormal's last place.
double rounded(double v, int bits, int least) {
  if (v == 0 || !std::isfinite(v)) return v;
  int e;
  std::frexp(v, &e);
  const int place = std::max(e - bits, least);
  return std::ldexp(std::nearbyint(std::ldexp(v, -place)), place);
}
void store(ncclDataType_t type, void* p, std::size_t i, double v) {
  switch (static_cast<int>(type)) {
    case 0:
      static_cast<std::int8_t*>(p)[i] = static_cast<std::int8_t>(static_cast<std::int64_t>(v));
      break;
    case 1:
      static_cast<std::uint8_t*>(p)[i] = static_cast<std::uint8_t>(static_cast<std::int64_t>(v));
      break;
    case 2:
      static_cast<std::int32_t*>(p)[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(v));
      break;
    case 3:
      static_cast<std::uint32_t*>(p)[i] = static_cast<std::uint32_t>(static_cast<std::int64_t>(v));
      break;
    case 6: {
      const double r = rounded(v, 11, -24), a = std::fabs(r);
      std::uint16_t h;
      if (std::isnan(r))
        h = 0x7fff;
      else if (a >= 65520)
        h = 0x7c00;
      else if (a < std::ldexp(1, -14))
        h = static_cast<std::uint16_t>(std::ldexp(a, 24));
      else {
        int e;
        const double f = std::frexp(a, &e);
        h = static_cast<std::uint16_t>((e + 14) << 10 | (static_cast<int>(std::ldexp(f, 11)) & 1023));
      }
      static_cast<std::uint16_t*>(p)[i] = static_cast<std::uint16_t>(h | (std::signbit(v) ? 0x8000 : 0));
      break;
    }
    case 7:
      static_cast<float*>(p)[i] = static_cast<float>(v);
      break;
    case 8:
      static_cast<double*>(p)[i] = v;
      break;
    case 9: {
      const auto f = std::bit_cast<std::uint32_t>(static_cast<float>(rounded(v, 8, -133)));
      static_cast<std::uint16_t*>(p)[i] = std::isnan(v) ? 0x7fff : static_cast<std::uint16_t>(f >> 16);
      break;
    }
    case 10: {
      const double r = rounded(v, 4, -9), a = std::min(std::fabs(r), 448.0);
      std::uint8_t h;
      if (std::isnan(r))
        h = 0x7f;
      else if (a < std::ldexp(1, -6))
        h = static_cast<std::uint8_t>(std::ldexp(a, 9));
      else {
        int e;
        const double f = std::frexp(a, &e);
        h = static_cast<std::uint8_t>((e + 6) << 3 | (static_cast<int>(std::ldexp(f, 4)) & 7));
      }
      static_cast<std::uint8_t*>(p)[i] = static_cast<std::uint8_t>(h | (std::signbit(v) ? 0x80 : 0));
      break;
    }
    default:
      break;
  }
}
/// The sum (or what it is) of one element of all ranks, rounded to the type at every step as a ring does.
void reduce_into(std::vector<char>& to, const Meeting& m, std::size_t first, std::size_t count) {
  const Call& call = *m.calls[0];
  const bool whole = static_cast<int>(call.type) <= 5;
  const double n = static_cast<double>(m.calls.size());
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::size_t r = 0; r < m.calls.size(); ++r) {
      double v = load(call.type, m.calls[r]->in, first + i);
      if (call.op == ncclAvg && !whole) {
        store(call.type, to.data(), i, v / n);
        v = load(call.type, to.data(), i);
      }
      sum = r == 0                ? v
            : call.op == ncclMax  ? std::fmax(sum, v)
            : call.op == ncclMin  ? std::fmin(sum, v)
            : call.op == ncclProd ? sum * v
                                  : sum + v;
      store(call.type, to.data(), i, sum);
      sum = load(call.type, to.data(), i);
    }
    if (call.op == ncclAvg && whole) store(call.type, to.data(), i, std::trunc(sum / n));
  }
}

void perform(Meeting& m) {
  const std::size_t n = m.calls.size();
  const Call& one = *m.calls[0];
  const std::size_t bytes = one.count * width(one.type);
  const auto at = [&](const void* p, std::size_t i) { return static_cast<const char*>(p) + i * bytes; };
  const auto to = [&](void* p, std::size_t i) { return static_cast<char*>(p) + i * bytes; };
  std::vector<std::vector<char>> made(n);
  switch (one.what) {
    case What::all_reduce:
    case What::reduce: {
      std::vector<char> sum(bytes);
      reduce_into(sum, m, 0, one.count);
      for (std::size_t r = 0; r < n; ++r) {
        if (one.what == What::all_reduce || static_cast<int>(r) == one.root) std::memcpy(m.calls[r]->out, sum.data(), bytes);
      }
      break;
    }
    case What::reduce_scatter:
      for (std::size_t r = 0; r < n; ++r) {
        made[r].resize(bytes);
        reduce_into(made[r], m, r * one.count, one.count);
      }
      for (std::size_t r = 0; r < n; ++r) std::memcpy(m.calls[r]->out, made[r].data(), bytes);
      break;
    case What::all_gather:
    case What::gather:
      for (std::size_t r = 0; r < n; ++r) made[r].assign(at(m.calls[r]->in, 0), at(m.calls[r]->in, 1));
      for (std::size_t r = 0; r < n; ++r) {
        if (one.what == What::gather && static_cast<int>(r) != one.root) continue;
        for (std::size_t s = 0; s < n; ++s) std::memcpy(to(m.calls[r]->out, s), made[s].data(), bytes);
      }
      break;
    case What::broadcast: {
      const auto root = static_cast<std::size_t>(one.root);
      made[0].assign(at(m.calls[root]->in, 0), at(m.calls[root]->in, 1));
      for (std::size_t r = 0; r < n; ++r) std::memcpy(m.calls[r]->out, made[0].data(), bytes);
      break;
    }
    case What::scatter: {
      const auto root = static_cast<std::size_t>(one.root);
      made[0].assign(at(m.calls[root]->in, 0), at(m.calls[root]->in, n));
      for (std::size_t r = 0; r < n; ++r) std::memcpy(m.calls[r]->out, made[0].data() + r * bytes, bytes);
      break;
    }
    case What::all_to_all:
      for (std::size_t r = 0; r < n; ++r) made[r].assign(at(m.calls[r]->in, 0), at(m.calls[r]->in, n));
      for (std::size_t r = 0; r < n; ++r) {
        for (std::size_t s = 0; s < n; ++s) std::memcpy(to(m.calls[r]->out, s), made[s].data() + r * bytes, bytes);
      }
      break;
    case What::send:
    case What::receive: {  // a group of them: in order between each pair
      std::vector<std::pair<const Call*, std::vector<char>>> sent;
      for (const Call* rank : m.calls) {
        for (const Call& c : *rank->joined) {
          if (c.what == What::send)
            sent.emplace_back(&c, std::vector<char>(static_cast<const char*>(c.in),
                                                    static_cast<const char*>(c.in) + c.count * width(c.type)));
        }
      }
      for (const Call* rank : m.calls) {
        for (const Call& c : *rank->joined) {
          if (c.what != What::receive) continue;
          bool found = false;
          for (auto& [s, data] : sent) {
            if (!s || s->comm->rank != c.root || s->root != c.comm->rank) continue;
            if (data.size() != c.count * width(c.type)) say("NCCL: a receive of another size than its send");
            std::memcpy(c.out, data.data(), std::min(data.size(), c.count * width(c.type)));
            s = nullptr;
            found = true;
            break;
          }
          if (!found) say("NCCL: a receive by rank %d from %d without a send: the real one would hang", c.comm->rank, c.root);
        }
      }
      for (auto& [s, data] : sent) {
        if (s) say("NCCL: a send by rank %d to %d without a receive: the real one would hang", s->comm->rank, s->root);
      }
      break;
    }
  }
}

double seconds_ns(const Call& call, std::size_t ranks) {
  double bytes = double(call.count) * double(width(call.type));
  if (call.joined) {
    bytes = 0;
    for (const Call& c : *call.joined) bytes += double(c.count) * double(width(c.type));
  }
  const double n = double(ranks);
  double traffic = bytes;
  if (call.what == What::all_reduce) traffic = 2 * bytes * (n - 1) / n;
  if (call.what == What::all_gather || call.what == What::reduce_scatter || call.what == What::all_to_all)
    traffic = bytes * (n - 1);
  return 6000 + 1500 * (n - 1) + traffic / 360;  // 360 GB/s of a link's 450
}

/// One rank's part, on its stream's thread.
double take_part(const Call& call, Device& device, double start, double overhead) {
  ncclComm& comm = *call.comm;
  Team& team = *comm.team;
  std::unique_lock lock(team.mutex);
  const unsigned long long turn = comm.executed++;
  Meeting& m = team.meetings[turn];
  m.calls.resize(static_cast<std::size_t>(team.size));
  m.calls[static_cast<std::size_t>(comm.rank)] = &call;
  m.start = std::max(m.start, start);
  if (++m.come == team.size) {
    for (const Call* other : m.calls) {
      if (other->joined || other->what == call.what) {
        if (other->count != call.count || other->type != call.type || other->op != call.op || other->root != call.root) {
          if (!call.joined) say("NCCL: ranks call the same collective with other arguments: undefined");
        }
      } else {
        say("NCCL: ranks call different collectives: the real one would hang");
      }
    }
    perform(m);
    m.over = true;
    team.changed.notify_all();
  } else {
    team.changed.wait(lock, [&] { return m.over || team.aborted; });
  }
  const double end = m.start + (overhead + seconds_ns(call, static_cast<std::size_t>(team.size))) * device.noise();
  if (++m.left == team.size) team.meetings.erase(turn);
  device.was_busy(start, end, 0.3);
  return end;
}

ncclResult_t submit_call(Call call) {
  const auto made = std::make_shared<const Call>(std::move(call));
  const cudaError_t status = submit(made->stream, "nccl", [made](Device& device, double start, double overhead) {
    return take_part(*made, device, start, overhead);
  });
  return status == cudaSuccess ? ncclSuccess : refuse(ncclUnhandledCudaError, cudaGetErrorString(status));
}

ncclResult_t flush() {
  std::vector<Call> calls = std::move(t_calls);
  t_calls.clear();
  // The sends and receives of a rank are one operation.
  std::map<ncclComm_t, std::shared_ptr<std::vector<Call>>> joined;
  std::vector<Call> all;
  for (Call& call : calls) {
    if (call.what != What::send && call.what != What::receive) {
      all.push_back(call);
      continue;
    }
    auto& list = joined[call.comm];
    if (!list) {
      list = std::make_shared<std::vector<Call>>();
      Call whole;
      whole.what = What::send;
      whole.comm = call.comm;
      whole.stream = call.stream;
      whole.joined = list;
      all.push_back(whole);
    }
    list->push_back(call);
  }
  for (Call& call : all) {
    if (const ncclResult_t status = submit_call(std::move(call)); status != ncclSuccess) return status;
  }
  return ncclSuccess;
}

ncclResult_t enqueue(Call call) {
  if (!call.comm || call.comm->gone) return refuse(ncclInvalidArgument, "no communicator");
  if (!width(call.type)) return refuse(ncclInvalidArgument, "an unknown type");
  int device = -1;
  if (cublas_stream_device(call.stream, &device) != cudaSuccess) return refuse(ncclUnhandledCudaError, "an unknown stream");
  if (device != call.comm->device) return refuse(ncclInvalidUsage, "a stream of another device than the communicator's");
  const std::size_t n = static_cast<std::size_t>(call.comm->team->size), bytes = call.count * width(call.type);
  const auto fits = [&](const void* p, std::size_t times) {
    int where = -1;
    return bytes == 0 || (place_of(p, times * bytes, &where) == Place::device && where == call.comm->device);
  };
  const bool in_n = call.what == What::reduce_scatter || call.what == What::all_to_all ||
                    (call.what == What::scatter && call.comm->rank == call.root);
  const bool out_n = call.what == What::all_gather || call.what == What::all_to_all ||
                     (call.what == What::gather && call.comm->rank == call.root);
  const bool no_in = call.what == What::receive ||
                     ((call.what == What::scatter || call.what == What::broadcast) && call.comm->rank != call.root);
  const bool no_out =
      call.what == What::send || ((call.what == What::gather || call.what == What::reduce) && call.comm->rank != call.root);
  if (!no_in && !fits(call.in, in_n ? n : 1))
    return refuse(ncclInvalidArgument, "the input is not within one allocation of the rank's device");
  if (!no_out && !fits(call.out, out_n ? n : 1))
    return refuse(ncclInvalidArgument, "the output is not within one allocation of the rank's device");
  if (static_cast<int>(call.type) == 10 && call.op == ncclAvg && n == 1)
    return refuse(ncclInvalidUsage, "fp8 average of one rank");
  t_calls.push_back(call);
  return t_depth ? ncclSuccess : flush();
}

ncclResult_t make(ncclComm_t* to, std::shared_ptr<Team> team, int rank, int device) {
  auto* comm = new ncclComm;
  comm->team = std::move(team);
  comm->rank = rank;
  comm->device = device;
  *to = comm;
  return ncclSuccess;
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
const char* ncclGetLastError(ncclComm_t) { return t_reason.c_str(); }
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int count = 0;
  std::memset(id, 0, sizeof *id);
  const std::lock_guard lock(g_mutex);
  std::snprintf(id->internal, sizeof id->internal, "gpumodel %d", ++count);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  if (!comm || size < 1 || rank < 0 || rank >= size) return refuse(ncclInvalidArgument, "ranks");
  std::shared_ptr<Team> team;
  {
    const std::lock_guard lock(g_mutex);
    auto& known = g_teams[std::string(id.internal, sizeof id.internal)];
    if (!known) known = std::make_shared<Team>(), known->size = size;
    team = known;
  }
  std::unique_lock lock(team->mutex);
  ++team->joined;
  team->changed.notify_all();
  if (t_depth == 0 && !team->changed.wait_for(lock, std::chrono::seconds(20), [&] { return team->joined >= size; }))
    return refuse(ncclSystemError, "the other ranks did not come: the stand-in reaches those of this process alone");
  lock.unlock();
  return make(comm, team, rank, current_device().ordinal);
}
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  int there = 0;
  if (cudaGetDeviceCount(&there) != cudaSuccess) return refuse(ncclUnhandledCudaError, "no device");
  auto team = std::make_shared<Team>();
  team->size = team->joined = count;
  std::set<int> seen;
  for (int i = 0; i < count; ++i) {
    const int device = devices ? devices[i] : i;
    if (device < 0 || device >= there) return refuse(ncclUnhandledCudaError, "invalid device ordinal");
    if (!seen.insert(device).second) return refuse(ncclInvalidUsage, "a device twice");
    make(&comms[i], team, i, device);
  }
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm || comm->gone) return refuse(ncclInvalidArgument, "no communicator");
  comm->gone = true;  // left where it is: what is enqueued refers to it
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm) return ncclInvalidArgument;
  const std::lock_guard lock(comm->team->mutex);
  comm->gone = comm->team->aborted = true;
  comm->team->changed.notify_all();
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  if (!comm) return ncclInvalidArgument;
  return *state = comm->team->aborted ? ncclRemoteError : ncclSuccess, ncclSuccess;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) { return *count = comm->team->size, ncclSuccess; }
ncclResult_t ncclGroupStart() { return ++t_depth, ncclSuccess; }
ncclResult_t ncclGroupEnd() {
  if (t_depth == 0) return refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  return --t_depth ? ncclSuccess : flush();
}
ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return enqueue({What::all_reduce, in, out, count, type, op, 0, comm, stream, {}});
}
ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  return enqueue({What::all_gather, in, out, count, type, ncclSum, 0, comm, stream, {}});
}
ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return enqueue({What::reduce_scatter, in, out, count, type, op, 0, comm, stream, {}});
}
ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return enqueue({What::broadcast, in, out, count, type, ncclSum, root, comm, stream, {}});
}
ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return enqueue({What::reduce, in, out, count, type, op, root, comm, stream, {}});
}
ncclResult_t ncclAlltoAll(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  return enqueue({What::all_to_all, in, out, count, type, ncclSum, 0, comm, stream, {}});
}
ncclResult_t ncclGather(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return enqueue({What::gather, in, out, count, type, ncclSum, root, comm, stream, {}});
}
ncclResult_t ncclScatter(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                         cudaStream_t stream) {
  return enqueue({What::scatter, in, out, count, type, ncclSum, root, comm, stream, {}});
}
ncclResult_t ncclSend(const void* in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return enqueue({What::send, in, nullptr, count, type, ncclSum, peer, comm, stream, {}});
}
ncclResult_t ncclRecv(void* out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return enqueue({What::receive, nullptr, out, count, type, ncclSum, peer, comm, stream, {}});
}
ncclResult_t ncclMemAlloc(void** to, size_t bytes) {
  return cudaMalloc(to, bytes) == cudaSuccess ? ncclSuccess : refuse(ncclUnhandledCudaError, "out of memory");
}
ncclResult_t ncclMemFree(void* pointer) {
  return cudaFree(pointer) == cudaSuccess ? ncclSuccess : refuse(ncclUnhandledCudaError, "invalid pointer");
}
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t bytes, void** handle) {
  if (!comm || comm->gone || place_of(buffer, bytes) != Place::device)
    return refuse(ncclInvalidArgument, "a buffer to register");
  *handle = buffer;
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t, void*) { return ncclSuccess; }
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buffer, size_t bytes, ncclWindow_t* window, int) {
  if (!comm || comm->gone || place_of(buffer, bytes) != Place::device) return refuse(ncclInvalidArgument, "a window");
  *window = reinterpret_cast<ncclWindow_t>(buffer);
  return ncclSuccess;
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t, ncclWindow_t) { return ncclSuccess; }

}  // extern "C"
