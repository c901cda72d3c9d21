// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/data_type.hpp"
#include "kernels/base/kernel.hpp"

namespace roofmark {

/// What n ranks do together, each with a `chunk` of elements; "total" is n chunks, by rank.
///   all_reduce      out = reduction of the ranks' in                          in chunk, out chunk
///   all_gather      out = the ranks' in, one after another                    in chunk, out total
///   reduce_scatter  out = this rank's chunk of the reduction of the ranks' in in total, out chunk
///   broadcast       out = the root's in                                       in chunk (root), out chunk
///   reduce          the root's out = reduction of the ranks' in               in chunk, out chunk (root)
///   all_to_all      chunk r of out = this rank's chunk of rank r's in         in total, out total
///   gather          the root's out = the ranks' in, one after another         in chunk, out total (root)
///   scatter         out = this rank's chunk of the root's in                  in total (root), out chunk
///   send_recv       out = in of the rank before, in a ring                    in chunk, out chunk
///   ping_pong       of two ranks, each the other's peer: the lower one's in goes to the other's out and from there back to the
///                   lower one's out                                           in chunk (the lower), out chunk
enum class Collective {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  send_recv,
  ping_pong
};

inline constexpr Collective kCollectives[] = {
    Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast, Collective::reduce,
    Collective::all_to_all, Collective::gather,     Collective::scatter,        Collective::send_recv, Collective::ping_pong};

constexpr std::string_view name(Collective op) {
  constexpr std::string_view names[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                        "all_to_all", "gather",     "scatter",        "send_recv", "ping_pong"};
  return names[static_cast<int>(op)];
}

enum class Reduction { sum, max, avg };

constexpr std::string_view name(Reduction reduction) {
  constexpr std::string_view names[] = {"sum", "max", "avg"};
  return names[static_cast<int>(reduction)];
}

constexpr bool reduces(Collective op) {
  return op == Collective::all_reduce || op == Collective::reduce_scatter || op == Collective::reduce;
}
/// One rank, the root, holds the whole of what goes in or comes out.
constexpr bool has_root(Collective op) {
  return op == Collective::broadcast || op == Collective::reduce || op == Collective::gather || op == Collective::scatter;
}
/// The size in a name and a table is of n chunks, as nccl-tests counts it, and not of one.
constexpr bool counts_total(Collective op) {
  return op == Collective::all_gather || op == Collective::reduce_scatter || op == Collective::all_to_all ||
         op == Collective::gather || op == Collective::scatter;
}
/// Chunks that a rank brings and gets.
constexpr int chunks_in(Collective op, int ranks, bool root) {
  if (op == Collective::reduce_scatter || op == Collective::all_to_all) return ranks;
  if (op == Collective::scatter) return root ? ranks : 0;
  return op == Collective::broadcast && !root ? 0 : 1;
}
constexpr int chunks_out(Collective op, int ranks, bool root) {
  if (op == Collective::all_gather || op == Collective::all_to_all) return ranks;
  if (op == Collective::gather) return root ? ranks : 0;
  return op == Collective::reduce && !root ? 0 : 1;
}

/// busbw / algbw, as nccl-tests' PERFORMANCE.md defines them: algbw = size / time; busbw is what every link of a ring of n
/// carries in one direction, so that it compares with the hardware's rate whatever n is.
constexpr double bus_factor(Collective op, int ranks) {
  const double n = ranks;
  switch (op) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send_recv:
    case Collective::ping_pong:
      break;
  }
  return 1;
}

/// One collective; `in` and `out` may be null where a rank brings or gets nothing.
struct CollectiveCall {
  Collective op = Collective::all_reduce;
  DataType type = DataType::fp32;
  Reduction reduction = Reduction::sum;
  int root = 0;
  int peer = -1;  ///< of ping_pong; negative: this rank takes no part
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t chunk = 0;  ///< elements
};

/// How the memory that a communicator is given was allocated and made known to it.
enum class Buffer {
  plain,       ///< the device's own allocation
  registered,  ///< by the library's allocator, and registered for zero-copy
  symmetric    ///< the same, in a window that every rank registers at once
};

constexpr std::string_view name(Buffer buffer) {
  constexpr std::string_view names[] = {"plain", "registered", "symmetric"};
  return names[static_cast<int>(buffer)];
}

/// The ranks of a collective. Created and destroyed by all its ranks together, destroyed after the graphs that captured its
/// calls.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int size() const = 0;
  virtual int rank() const = 0;

  /// The library does it with this type; every rank gets the same answer.
  virtual bool supports(Collective op, DataType type, Reduction reduction) const = 0;
  /// Of a chunk; enqueue throws Unsupported for more.
  virtual std::size_t most_elements() const { return std::numeric_limits<std::size_t>::max(); }
  /// The library has a call whose in and out are two arrays.
  virtual bool out_of_place(Collective op) const = 0;
  /// In place, the one of `in` and `out` that is a chunk begins so many chunks into the one that is the total (0 where neither
  /// or both are); negative where the library has no such call. Where in and out lie so, enqueue takes the call as in place.
  virtual int in_place_offset(Collective op) const = 0;
  /// Enqueues; on the CPU it blocks until this rank's part is done.
  virtual void enqueue(const CollectiveCall& call, Stream stream) = 0;
  /// The call, with `work` of this rank enqueued beside it: on a stream of its own that leaves `stream` and joins it again;
  /// on the CPU started, then `work`, then waited for.
  virtual void enqueue_beside(const CollectiveCall& call, Stream stream, const std::function<void()>& work) = 0;

  /// Memory of a kind other than plain; called by all ranks together, and freed by all. Throws Unsupported where the library
  /// has none.
  virtual std::unique_ptr<void, std::function<void(void*)>> allocate(std::size_t bytes, Buffer buffer) = 0;
  /// What the library says of how it did the last call that was enqueued outside of a graph: algorithm, protocol, transport.
  virtual std::vector<std::pair<std::string, std::string>> notes() const = 0;
  /// Throws DeviceError where something went wrong after the call that enqueued it had returned.
  virtual void check_health() {}
  /// "NCCL 2.28.9", "Open MPI v4.1.4".
  virtual std::string library() const = 0;
};

/// Communicators over NCCL, which is loaded at its first use; without it all of these throw Unsupported.
struct NcclKernels {
  /// Made on one rank, and given to all that create() a communicator together.
  std::string (*unique_id)();
  /// Of `size` ranks, each with the current device of its calling thread. Throws DeviceError, with NCCL's own words.
  std::unique_ptr<Communicator> (*create)(const std::string& unique_id, int size, int rank);
  /// 22809 for 2.28.9.
  int (*version)();
};

/// All-reduce over several GPUs of this node from one process: a plan that owns their communicators, and is given the arrays.
class NodeAllReduce {
 public:
  virtual ~NodeAllReduce() = default;
  /// out[d][i] = the reduction over the devices of in[d][i], i < count; in[d] and out[d] are device d's, and may be the same.
  /// Enqueues on `stream`, one of the first device's, which the other devices' own streams leave and join again.
  virtual void launch(const std::vector<const void*>& in, const std::vector<void*>& out, std::size_t count, DataType type,
                      Reduction reduction, Stream stream) = 0;
  virtual bool supports(DataType type, Reduction reduction) const = 0;
  virtual std::vector<std::pair<std::string, std::string>> notes() const = 0;
  virtual void check_health() = 0;
  virtual std::string library() const = 0;
};

struct NodeCollectiveKernels {
  /// `devices`: CUDA's ordinals, each once. Throws Unsupported without NCCL, DeviceError with its own words.
  std::unique_ptr<NodeAllReduce> (*all_reduce)(const std::vector<int>& devices);
};

/// What the ranks' arrays hold: small whole numbers, scattered by a hash of the seed, so that every sum is exact, in any
/// order. The formula, and what a wrong result can hide from, is in kernels/collective_data.hpp.
struct CollectiveData {
  std::uint64_t seed = 0;
  int ranks = 1;
};

/// Fills and expects what the collectives carry.
struct CollectiveDataKernels {
  /// out[i] = element first + i of what `rank` brings.
  void (*fill)(DataType type, void* out, std::size_t count, const CollectiveData& data, int rank, std::size_t first,
               Stream stream);
  /// expected[i] = element first + i of what `rank` brings, as a double (exactly).
  void (*expect)(DataType type, double* expected, std::size_t count, const CollectiveData& data, int rank, std::size_t first,
                 Stream stream);
  /// expected[i] = element first + i of the reduction over all ranks; scale[i] = the sum of the |terms|, of avg over n. Sums
  /// and maxima, and averages of integers (towards 0), are exact; other averages are within average_bound.
  void (*expect_reduced)(DataType type, Reduction reduction, double* expected, double* scale, std::size_t count,
                         const CollectiveData& data, std::size_t first, Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS CollectiveDataKernels collective_data;
ROOFMARK_KERNELS NcclKernels nccl;
ROOFMARK_KERNELS NodeCollectiveKernels node_collectives;
}  // namespace cuda
namespace cpu {
ROOFMARK_KERNELS CollectiveDataKernels collective_data;
}

}  // namespace roofmark
