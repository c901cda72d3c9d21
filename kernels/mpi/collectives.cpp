// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/mpi/collectives.hpp"

#include <climits>
#include <cstring>
#include <exception>
#include <vector>

#include "kernels/base/mpi.hpp"

namespace roofmark::mpi {

namespace {

MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::fp64:
      return MPI_DOUBLE;
    case DataType::fp32:
      return MPI_FLOAT;
    case DataType::int32:
      return MPI_INT32_T;
    case DataType::int8:
      return MPI_INT8_T;
    // MPI cannot add these, but it can move them.
    case DataType::fp16:
    case DataType::bf16:
      return MPI_UINT16_T;
    case DataType::fp8:
      return MPI_UINT8_T;
    default:
      throw Unsupported("MPI has no type for " + std::string(name(type)));
  }
}

bool can_reduce(DataType type) {
  return type == DataType::fp64 || type == DataType::fp32 || type == DataType::int32 || type == DataType::int8;
}

bool can_move(DataType type) {
  return can_reduce(type) || type == DataType::fp16 || type == DataType::bf16 || type == DataType::fp8;
}

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm comm) : comm_(comm) {
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
    check_mpi(MPI_Comm_size(comm_, &size_));
    check_mpi(MPI_Comm_rank(comm_, &rank_));
  }
  ~MpiCommunicator() override {
    if (std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
  }

  int size() const override { return size_; }
  int rank() const override { return rank_; }

  std::size_t most_elements() const override { return INT_MAX; }
  bool supports(Collective op, DataType type, Reduction reduction) const override {
    return reduces(op) ? can_reduce(type) && reduction != Reduction::avg : can_move(type);
  }
  bool out_of_place(Collective op) const override { return op != Collective::broadcast; }
  int in_place_offset(Collective op) const override {
    switch (op) {
      case Collective::all_gather:
      case Collective::gather:
      case Collective::scatter:
        return rank_;
      case Collective::all_reduce:
      case Collective::reduce_scatter:
      case Collective::broadcast:
      case Collective::reduce:
        return 0;
      case Collective::all_to_all:
      case Collective::send_recv:
      case Collective::ping_pong:
        break;
    }
    return -1;
  }

  void enqueue(const CollectiveCall& call, Stream) override {
    const MPI_Datatype type = mpi_type(call.type);
    const int chunk = count(call), root = call.root;
    const bool in_place = is_in_place(call);
    const void* in = in_place ? MPI_IN_PLACE : call.in;
    switch (call.op) {
      case Collective::all_reduce:
        return check_mpi(MPI_Allreduce(in, call.out, chunk, type, operation(call), comm_));
      case Collective::all_gather:
        return check_mpi(MPI_Allgather(in, chunk, type, call.out, chunk, type, comm_));
      case Collective::reduce_scatter:
        return check_mpi(MPI_Reduce_scatter_block(in, call.out, chunk, type, operation(call), comm_));
      case Collective::broadcast:
        return check_mpi(MPI_Bcast(call.out, chunk, type, root, comm_));
      case Collective::reduce:
        return check_mpi(MPI_Reduce(rank_ == root ? in : call.in, call.out, chunk, type, operation(call), root, comm_));
      case Collective::all_to_all:
        if (call.is_uneven()) return all_to_all_v(call, type);
        return check_mpi(MPI_Alltoall(in, chunk, type, call.out, chunk, type, comm_));
      case Collective::gather:
        return check_mpi(MPI_Gather(rank_ == root ? in : call.in, chunk, type, call.out, chunk, type, root, comm_));
      case Collective::scatter:
        return check_mpi(
            MPI_Scatter(call.in, chunk, type, rank_ == root && in_place ? MPI_IN_PLACE : call.out, chunk, type, root, comm_));
      case Collective::send_recv:
        return check_mpi(MPI_Sendrecv(call.in, chunk, type, (rank_ + 1) % size_, kTag, call.out, chunk, type,
                                      (rank_ + size_ - 1) % size_, kTag, comm_, MPI_STATUS_IGNORE));
      case Collective::ping_pong:
        return ping_pong(call, chunk, type);
    }
  }

  void enqueue_beside(const CollectiveCall& call, Stream, const std::function<void()>& work) override {
    if (call.op != Collective::all_reduce) throw Unsupported("over MPI, only all_reduce can overlap other work");
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(is_in_place(call) ? MPI_IN_PLACE : call.in, call.out, count(call), mpi_type(call.type),
                             operation(call), comm_, &request));
    work();
    check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }

  std::unique_ptr<void, std::function<void(void*)>> allocate(std::size_t, Buffer buffer) override {
    throw Unsupported("MPI has no " + std::string(name(buffer)) + " buffers");
  }
  std::vector<std::pair<std::string, std::string>> notes() const override { return {{"library", library()}}; }
  std::string library() const override { return mpi::library(); }

 private:
  static constexpr int kTag = 1;

  static int count(const CollectiveCall& call) {
    if (call.chunk > INT_MAX) throw Unsupported("MPI counts only up to 2^31 - 1 elements");
    return static_cast<int>(call.chunk);
  }

  static MPI_Op operation(const CollectiveCall& call) {
    switch (call.reduction) {
      case Reduction::sum:
        return MPI_SUM;
      case Reduction::max:
        return MPI_MAX;
      case Reduction::min:
        return MPI_MIN;
      case Reduction::prod:
        return MPI_PROD;
      case Reduction::avg:
        break;
    }
    throw Unsupported("MPI has no average");
  }

  bool is_in_place(const CollectiveCall& call) const {
    const auto offset = static_cast<std::ptrdiff_t>(in_place_offset(call.op));
    if (offset < 0 || !call.in || !call.out) return false;
    const auto step = offset * static_cast<std::ptrdiff_t>(call.chunk * size_of(call.type));
    const auto *in = static_cast<const std::byte*>(call.in), *out = static_cast<const std::byte*>(call.out);
    return call.op == Collective::scatter ? out == in + step : in == out + step;
  }

  void all_to_all_v(const CollectiveCall& call, MPI_Datatype type) {
    const auto ranks = static_cast<std::size_t>(size_);
    const int own = static_cast<int>(call.part(rank_));
    std::vector<int> sent(ranks), from(ranks), received(ranks, own), into(ranks);
    for (int r = 0; r < size_; ++r) {
      const auto at = static_cast<std::size_t>(r);
      sent[at] = static_cast<int>(call.part(r));
      from[at] = static_cast<int>(call.part_begin(r));
      into[at] = r * own;
    }
    check_mpi(MPI_Alltoallv(call.in, sent.data(), from.data(), type, call.out, received.data(), into.data(), type, comm_));
  }

  void ping_pong(const CollectiveCall& call, int count, MPI_Datatype type) {
    if (call.peer < 0) return;
    if (rank_ < call.peer) {
      check_mpi(MPI_Send(call.in, count, type, call.peer, kTag, comm_));
      check_mpi(MPI_Recv(call.out, count, type, call.peer, kTag, comm_, MPI_STATUS_IGNORE));
    } else {
      check_mpi(MPI_Recv(call.out, count, type, call.peer, kTag, comm_, MPI_STATUS_IGNORE));
      check_mpi(MPI_Send(call.out, count, type, call.peer, kTag, comm_));
    }
  }

  MPI_Comm comm_;
  int size_ = 1, rank_ = 0;
};

}  // namespace

std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length));
  const std::string whole(text, static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

std::shared_ptr<Communicator> communicator(MPI_Comm parent, int colour) {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(parent, colour < 0 ? MPI_UNDEFINED : colour, 0, &comm));
  return comm == MPI_COMM_NULL ? nullptr : std::make_shared<MpiCommunicator>(comm);
}

}  // namespace roofmark::mpi
