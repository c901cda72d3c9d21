// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one class, whose collectives, branches and registered memory share a communicator's state.
#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <list>
#include <stdexcept>
#include <tuple>

#include "kernels/cuda/nccl/nccl.hpp"

namespace roofmark::cuda {

namespace {

/// NCCL_WIN_COLL_SYMMETRIC, from 2.27 on.
constexpr int kSymmetricWindow = 1;

struct Range {
  std::size_t bytes = 0;
  Buffer buffer = Buffer::plain;
};
/// The memory that this communicator allocated, by its first byte.
using Ranges = std::map<const char*, Range>;

/// What NCCL's choice of algorithm depends on.
struct Kind {
  Collective op;
  DataType type;
  Reduction reduction;
  int root, peer;
  std::size_t chunk, root_chunk;
  bool in_place;
  Buffer in, out;

  auto key() const { return std::tie(op, type, reduction, root, peer, chunk, root_chunk, in_place, in, out); }
  friend bool operator==(const Kind& a, const Kind& b) { return a.key() == b.key(); }
  friend bool operator<(const Kind& a, const Kind& b) { return a.key() < b.key(); }
};

int capability_of(int device) {
  return 10 * device_attribute(cudaDevAttrComputeCapabilityMajor, device) +
         device_attribute(cudaDevAttrComputeCapabilityMinor, device);
}

/// Transfers that follow one another in stream order.
constexpr int steps_of(Collective op) { return op == Collective::ping_pong ? 2 : 1; }

class NcclCommunicator final : public Communicator {
 public:
  /// `capability`: the minimum over the ranks' GPUs, or this one's until the ranks agree.
  NcclCommunicator(std::unique_ptr<NcclRank> comm, int size, int rank, int capability, NcclChoices<Kind> choices)
      : size_(size), rank_(rank), comm_(std::move(comm)), least_capability_(capability), choices_(std::move(choices)) {
    const OnDevice here(comm_->device());
    side_ = make_urgent_stream();
    fork_ = make_event(cudaEventDisableTiming);
    join_ = make_event(cudaEventDisableTiming);
  }

  /// Waits for the other ranks, so that all give the same answer in supports().
  void agree_on_capability() {
    if (size_ == 1) return;
    void* flag = nullptr;
    check(cudaMalloc(&flag, sizeof(int)));
    agreed_.reset(flag);
    least_capability_ = least(least_capability_);
  }

  int size() const override { return size_; }
  int rank() const override { return rank_; }
  bool is_usable() const override { return comm_->is_usable(); }

  bool supports(Collective op, DataType type, Reduction reduction) const override {
    return !reduces(op) || nccl_reduces(type, reduction, size_, least_capability_);
  }
  bool out_of_place(Collective) const override { return true; }
  int in_place_offset(Collective op) const override {
    switch (op) {
      case Collective::all_reduce:
      case Collective::broadcast:
      case Collective::reduce:
        return 0;
      case Collective::all_gather:
      case Collective::reduce_scatter:
      case Collective::gather:
      case Collective::scatter:
        return rank_;
      default:
        return -1;
    }
  }

  void enqueue(const CollectiveCall& call, Stream stream) override {
    const OnDevice here(comm_->device());
    call_nccl(call, stream);
  }

  void enqueue_beside(const CollectiveCall& call, Stream stream, const std::function<void()>& work) override {
    const OnDevice here(comm_->device());
    check(cudaEventRecord(fork_.get(), stream));
    Branch side(*this, fork_.get(), stream);
    call_nccl(call, side_.get());
    work();
    side.join();
  }

  static void enqueue_all(const std::vector<RankCall>& calls, Stream stream) {
    const auto rank = [&](std::size_t i) -> NcclCommunicator& {
      return static_cast<NcclCommunicator&>(*calls[i].communicator);
    };
    NcclCommunicator& first = rank(0);
    const CollectiveCall& call = calls.front().call;
    const OnDevice here(first.comm_->device());
    check(cudaEventRecord(first.fork_.get(), stream));
    std::list<Branch> others;
    for (std::size_t i = 1; i < calls.size(); ++i) others.emplace_back(rank(i), first.fork_.get(), stream);
    first.choices_.calling(first.kind_of(call), [&] {
      first.attempt([&] {
        for (int step = 0; step < steps_of(call.op); ++step) {
          NcclGroup group;
          for (std::size_t i = 0; i < calls.size(); ++i) {
            rank(i).issue(calls[i].call, i == 0 ? stream : rank(i).side_.get(), step);
          }
          group.end();
        }
      });
    });
    for (Branch& other : others) other.join();
  }

  std::unique_ptr<void, std::function<void(void*)>> allocate(std::size_t bytes, Buffer buffer) override {
    if (buffer == Buffer::plain) throw std::invalid_argument("the device allocates plain buffers");
    if (buffer == Buffer::symmetric && !nccl_.window_register) throw Unsupported(nccl_.name() + " has no symmetric windows");
    if (buffer == Buffer::symmetric && size_ > 1 && !agreed_) {
      throw Unsupported("registering a window waits for the other ranks, which this thread also runs");
    }
    const OnDevice here(comm_->device());
    bytes = std::max<std::size_t>(bytes, 1);
    Allocated data(nullptr, nccl_.mem_free);
    std::exception_ptr thrown;
    try {
      data = take(bytes);
    } catch (...) {
      thrown = std::current_exception();
    }
    // Registering a window waits for all ranks, so no rank begins when one of them has no memory.
    const bool all_have = buffer == Buffer::registered || least(thrown ? 0 : 1) == 1;
    if (thrown) std::rethrow_exception(thrown);
    // The team reports its most severe error, which is that of the rank that knows the reason.
    if (!all_have) throw Unsupported("another rank has too little memory for its part of the window");
    void* handle = nullptr;
    attempt([&] {
      check(buffer == Buffer::registered ? nccl_.comm_register(comm_->get(), data.get(), bytes, &handle)
                                         : nccl_.window_register(comm_->get(), data.get(), bytes, &handle, kSymmetricWindow));
    });
    if (!handle) throw Unsupported(nccl_.name() + " registers no memory between these GPUs");
    (*ranges_)[static_cast<const char*>(data.get())] = {bytes, buffer};
    // The memory may outlive the communicator, so its deleter holds what freeing it needs.
    return {data.release(), [comm = comm_, ranges = ranges_, handle, buffer](void* given) {
              const Nccl& nccl = Nccl::loaded();
              const OnDevice there(comm->device(), std::nothrow);
              ranges->erase(static_cast<const char*>(given));
              if (buffer == Buffer::registered) {
                nccl.comm_deregister(comm->get(), handle);
              } else {
                nccl.window_deregister(comm->get(), handle);
              }
              nccl.mem_free(given);
            }};
  }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    auto notes = choices_.notes();
    if (!calls_.empty()) notes.emplace_back("calls", calls_);
    return notes;
  }

  std::set<std::string> transports() const override { return choices_.transports(); }

  void check_health() override {
    attempt([&] { comm_->check_health(); });
  }

  std::string library() const override { return nccl_.name(); }

 private:
  /// A rank's side stream from its fork on. Joins `into` at the latest when this ends: a capture with an unjoined stream cannot
  /// end.
  class Branch {
   public:
    Branch(const NcclCommunicator& rank, cudaEvent_t fork, Stream into) : rank_(rank), into_(into) {
      const OnDevice there(rank.comm_->device());
      check(cudaStreamWaitEvent(rank.side_.get(), fork, 0));
    }
    Branch(const Branch&) = delete;
    Branch& operator=(const Branch&) = delete;
    ~Branch() {
      if (open_) static_cast<void>(record() == cudaSuccess && wait() == cudaSuccess);
    }
    void join() {
      open_ = false;
      check(record());
      check(wait());
    }

   private:
    cudaError_t record() const {
      const OnDevice there(rank_.comm_->device(), std::nothrow);
      return there.status() == cudaSuccess ? cudaEventRecord(rank_.join_.get(), rank_.side_.get()) : there.status();
    }
    cudaError_t wait() const { return cudaStreamWaitEvent(into_, rank_.join_.get(), 0); }

    const NcclCommunicator& rank_;
    Stream into_;
    bool open_ = true;
  };

  /// Minimum of all ranks' values; waits for them.
  int least(int value) {
    if (size_ == 1) return value;
    check(cudaMemcpyAsync(agreed_.get(), &value, sizeof(value), cudaMemcpyHostToDevice, side_.get()));
    attempt([&] { check(nccl_.all_reduce(agreed_.get(), agreed_.get(), 1, ncclInt32, ncclMin, comm_->get(), side_.get())); });
    check(cudaMemcpyAsync(&value, agreed_.get(), sizeof(value), cudaMemcpyDeviceToHost, side_.get()));
    check(cudaStreamSynchronize(side_.get()));
    return value;
  }

  using Allocated = std::unique_ptr<void, ncclResult_t (*)(void*)>;
  Allocated take(std::size_t bytes) const {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    if (bytes > free) throw OutOfMemory(bytes, free);
    void* data = nullptr;
    check(nccl_.mem_alloc(&data, bytes));
    return {data, nccl_.mem_free};
  }

  Buffer buffer_of(const void* data) const {
    const auto* byte = static_cast<const char*>(data);
    const auto next = ranges_->upper_bound(byte);
    if (next == ranges_->begin()) return Buffer::plain;
    const auto& [first, range] = *std::prev(next);
    return byte < first + range.bytes ? range.buffer : Buffer::plain;
  }

  Kind kind_of(const CollectiveCall& call) const {
    const auto* in = static_cast<const char*>(call.in);
    const auto* out = static_cast<const char*>(call.out);
    const std::size_t chunk_bytes = call.chunk * size_of(call.type);
    const bool is_root = rank_ == call.root;
    const bool in_place = in && out && in < out + chunk_bytes * static_cast<std::size_t>(chunks_out(call.op, size_, is_root)) &&
                          out < in + chunk_bytes * static_cast<std::size_t>(chunks_in(call.op, size_, is_root));
    return {call.op,    call.type,       call.reduction, call.root,     call.peer,
            call.chunk, call.root_chunk, in_place,       buffer_of(in), buffer_of(out)};
  }

  /// A communicator is unusable after an error in `calls`.
  template <class Calls>
  void attempt(Calls calls) {
    try {
      calls();
    } catch (...) {
      comm_->give_up();
      throw;
    }
  }

  void call_nccl(const CollectiveCall& call, Stream stream) {
    choices_.calling(kind_of(call), [&] {
      attempt([&] {
        for (int step = 0; step < steps_of(call.op); ++step) issue(call, stream, step);
      });
    });
  }

  void issue(const CollectiveCall& call, Stream stream, int step) {
    ncclComm_t comm = comm_->get();
    const ncclRedOp_t reduction = nccl_operator(call.reduction);
    // Data that is only moved goes as bytes, whatever its type.
    const std::size_t bytes = call.chunk * size_of(call.type);
    calls_.clear();
    switch (call.op) {
      case Collective::all_reduce:
        return check(nccl_.all_reduce(call.in, call.out, call.chunk, nccl_type(call.type), reduction, comm, stream));
      case Collective::reduce_scatter:
        return check(nccl_.reduce_scatter(call.in, call.out, call.chunk, nccl_type(call.type), reduction, comm, stream));
      case Collective::reduce:
        return check(nccl_.reduce(call.in, call.out, call.chunk, nccl_type(call.type), reduction, call.root, comm, stream));
      case Collective::all_gather:
        return check(nccl_.all_gather(call.in, call.out, bytes, ncclInt8, comm, stream));
      case Collective::broadcast:
        return check(nccl_.broadcast(call.in, call.out, bytes, ncclInt8, call.root, comm, stream));
      case Collective::all_to_all:
        if (nccl_.all_to_all && !call.is_uneven())
          return check(nccl_.all_to_all(call.in, call.out, bytes, ncclInt8, comm, stream));
        return exchange(call, stream);
      case Collective::gather:
        if (nccl_.gather) return check(nccl_.gather(call.in, call.out, bytes, ncclInt8, call.root, comm, stream));
        return exchange(call, stream);
      case Collective::scatter:
        if (nccl_.scatter) return check(nccl_.scatter(call.in, call.out, bytes, ncclInt8, call.root, comm, stream));
        return exchange(call, stream);
      case Collective::send_recv:
        return exchange(call, stream);
      case Collective::ping_pong:
        return ping_pong(call, stream, step);
    }
  }

  /// Sends and receives in one group.
  void exchange(const CollectiveCall& call, Stream stream) {
    calls_ = "ncclSend and ncclRecv in a group";
    ncclComm_t comm = comm_->get();
    const std::size_t width = size_of(call.type), bytes = call.part(rank_) * width;
    const auto in = [&](int chunk) { return static_cast<const char*>(call.in) + call.part_begin(chunk) * width; };
    const auto out = [&](int chunk) { return static_cast<char*>(call.out) + static_cast<std::size_t>(chunk) * bytes; };
    const auto send = [&](const char* from, int to) {
      check(nccl_.send(from, call.part(to) * width, ncclInt8, to, comm, stream));
    };
    const auto receive = [&](char* into, int from) { check(nccl_.receive(into, bytes, ncclInt8, from, comm, stream)); };
    const bool is_root = rank_ == call.root;
    NcclGroup group;
    switch (call.op) {
      case Collective::all_to_all:
        for (int r = 0; r < size_; ++r) {
          send(in(r), r);
          receive(out(r), r);
        }
        break;
      case Collective::gather:
        // In place, the root's own chunk is already where it belongs.
        if (!is_root || call.in != out(rank_)) send(in(0), call.root);
        for (int r = 0; is_root && r < size_; ++r) {
          if (r != rank_ || call.in != out(r)) receive(out(r), r);
        }
        break;
      case Collective::scatter:
        for (int r = 0; is_root && r < size_; ++r) {
          if (r != rank_ || call.out != in(r)) send(in(r), r);
        }
        if (!is_root || call.out != in(rank_)) receive(out(0), call.root);
        break;
      default:
        send(in(0), (rank_ + 1) % size_);
        receive(out(0), (rank_ + size_ - 1) % size_);
        break;
    }
    group.end();
  }

  /// The message, then the reply.
  void ping_pong(const CollectiveCall& call, Stream stream, int step) {
    if (call.peer < 0) return;
    calls_ = "ncclSend and ncclRecv, one after the other";
    ncclComm_t comm = comm_->get();
    const std::size_t bytes = call.chunk * size_of(call.type);
    const bool lower = rank_ < call.peer;
    if (lower == (step == 0)) {
      check(nccl_.send(lower ? call.in : call.out, bytes, ncclInt8, call.peer, comm, stream));
    } else {
      check(nccl_.receive(call.out, bytes, ncclInt8, call.peer, comm, stream));
    }
  }

  const Nccl& nccl_ = Nccl::loaded();
  int size_, rank_;
  /// Outlives the communicator: cudaFree waits for the GPU, which may be in a collective that never ends.
  std::unique_ptr<void, decltype(&cudaFree)> agreed_{nullptr, cudaFree};
  std::shared_ptr<NcclRank> comm_;
  OwnedStream side_;
  OwnedEvent fork_, join_;
  int least_capability_;
  std::shared_ptr<Ranges> ranges_ = std::make_shared<Ranges>();
  NcclChoices<Kind> choices_;
  std::string calls_;  ///< made by the last collective, where NCCL has no call of its name
};

std::string unique_id() {
  ncclUniqueId id{};
  capture_nccl_log();
  check(Nccl::loaded().get_unique_id(&id));
  return {id.internal, sizeof(id.internal)};
}

std::unique_ptr<Communicator> create(const std::string& unique_id, int size, int rank) {
  require_gpu();
  ncclUniqueId id{};
  if (unique_id.size() != sizeof(id)) throw std::invalid_argument("not an NCCL unique id");
  std::memcpy(&id, unique_id.data(), sizeof(id));
  int device = 0;
  check(cudaGetDevice(&device));
  NcclChoices<Kind> choices;
  std::unique_ptr<NcclRank> comm;
  choices.connecting([&] {
    ncclComm_t made = nullptr;
    check(Nccl::loaded().comm_init_rank(&made, size, id, rank));
    comm = std::make_unique<NcclRank>(made, device);
  });
  auto communicator =
      std::make_unique<NcclCommunicator>(std::move(comm), size, rank, capability_of(device), std::move(choices));
  communicator->agree_on_capability();
  return communicator;
}

std::vector<std::unique_ptr<Communicator>> create_all(const std::vector<int>& devices) {
  require_gpu();
  const auto size = static_cast<int>(devices.size());
  int least = std::numeric_limits<int>::max();
  for (const int device : devices) least = std::min(least, capability_of(device));
  NcclChoices<Kind> choices;
  std::vector<std::unique_ptr<NcclRank>> comms;
  choices.connecting([&] {
    std::vector<ncclComm_t> made(devices.size());
    check(Nccl::loaded().comm_init_all(made.data(), size, devices.data()));
    const auto given_up = std::make_shared<std::atomic<bool>>(false);
    for (std::size_t i = 0; i < made.size(); ++i) comms.push_back(std::make_unique<NcclRank>(made[i], devices[i], given_up));
  });
  std::vector<std::unique_ptr<Communicator>> all;
  for (int rank = 0; rank < size; ++rank) {
    all.push_back(
        std::make_unique<NcclCommunicator>(std::move(comms[static_cast<std::size_t>(rank)]), size, rank, least, choices));
  }
  return all;
}

int version() { return Nccl::loaded().version; }

}  // namespace

const NcclKernels nccl = {unique_id, create,          create_all,        NcclCommunicator::enqueue_all,
                          version,   nccl_late_error, last_nccl_warnings};

}  // namespace roofmark::cuda
