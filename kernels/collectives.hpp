// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/data_type.hpp"
#include "kernels/base/kernel.hpp"
#include "kernels/base/operation.hpp"

namespace roofmark {

/// A collective over n ranks; `chunk` elements per rank, "total" is n chunks in the order of the ranks.
///   all_reduce      out = reduction of the ranks' in                          in chunk, out chunk
///   all_gather      out = the ranks' in, one after another                    in chunk, out total
///   reduce_scatter  out = this rank's chunk of the reduction of the ranks' in in total, out chunk
///   broadcast       out = the root's in                                       in chunk (root), out chunk
///   reduce          the root's out = reduction of the ranks' in               in chunk, out chunk (root)
///   all_to_all      chunk r of out = this rank's chunk of rank r's in         in total, out total; the root's chunk may be
///                                                                             larger than the others'
///   gather          the root's out = the ranks' in, one after another         in chunk, out total (root)
///   scatter         out = this rank's chunk of the root's in                  in total (root), out chunk
///   send_recv       out = in of the previous rank in a ring                   in chunk, out chunk
///   ping_pong       two peers: the lower rank's in goes to the other's out, and from there back to the lower rank's out
///                                                                             in chunk (the lower), out chunk
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

enum class Reduction { sum, max, avg, min, prod };

inline constexpr Reduction kReductions[] = {Reduction::sum, Reduction::max, Reduction::avg, Reduction::min, Reduction::prod};

constexpr std::string_view name(Reduction reduction) {
  constexpr std::string_view names[] = {"sum", "max", "avg", "min", "prod"};
  return names[static_cast<int>(reduction)];
}

/// Of the arrays of a rank: one chunk, or one per rank; of the root's alone, where the others have none.
enum class Chunks { one, total, one_of_root, total_of_root };

/// What a collective counts among n ranks.
struct CollectiveOperation {
  Collective op;
  std::string_view name;
  bool reduces;
  Chunks in, out;
  /// busbw / algbw, as nccl-tests' PERFORMANCE.md defines them: algbw = size / time; busbw is the rate of each link of a ring
  /// in one direction, so it compares with the hardware's rate for any n. This many times (n - 1) / n; 0: the factor is 1.
  int bus_rounds;
  /// NCCL performs it by rings: each rank sends the size x bus factor to the next one. The others' parts have one destination
  /// each, to which they go directly.
  bool by_ring;
};
inline constexpr CollectiveOperation kCollectiveOperations[] = {
    {Collective::all_reduce, "all_reduce", true, Chunks::one, Chunks::one, 2, true},
    {Collective::all_gather, "all_gather", false, Chunks::one, Chunks::total, 1, true},
    {Collective::reduce_scatter, "reduce_scatter", true, Chunks::total, Chunks::one, 1, true},
    {Collective::broadcast, "broadcast", false, Chunks::one_of_root, Chunks::one, 0, true},
    {Collective::reduce, "reduce", true, Chunks::one, Chunks::one_of_root, 0, true},
    {Collective::all_to_all, "all_to_all", false, Chunks::total, Chunks::total, 1, false},
    {Collective::gather, "gather", false, Chunks::one, Chunks::total_of_root, 1, false},
    {Collective::scatter, "scatter", false, Chunks::total_of_root, Chunks::one, 1, false},
    {Collective::send_recv, "send_recv", false, Chunks::one, Chunks::one, 0, false},
    {Collective::ping_pong, "ping_pong", false, Chunks::one, Chunks::one, 0, false}};
static_assert(rows_in_order(kCollectiveOperations));

constexpr const CollectiveOperation& operation(Collective op) { return kCollectiveOperations[static_cast<int>(op)]; }
constexpr std::string_view name(Collective op) { return operation(op).name; }
constexpr bool reduces(Collective op) { return operation(op).reduces; }
constexpr bool is_of_root(Chunks chunks) { return chunks == Chunks::one_of_root || chunks == Chunks::total_of_root; }
constexpr bool is_total(Chunks chunks) { return chunks == Chunks::total || chunks == Chunks::total_of_root; }
/// One rank, the root, holds all of the input or output.
constexpr bool has_root(Collective op) { return is_of_root(operation(op).in) || is_of_root(operation(op).out); }
/// nccl-tests' size counts n chunks, not one.
constexpr bool counts_total(Collective op) { return is_total(operation(op).in) || is_total(operation(op).out); }
constexpr int chunk_count(Chunks chunks, int ranks, bool root) {
  return is_of_root(chunks) && !root ? 0 : is_total(chunks) ? ranks : 1;
}
/// Chunks of a rank's input and output.
constexpr int chunks_in(Collective op, int ranks, bool root) { return chunk_count(operation(op).in, ranks, root); }
constexpr int chunks_out(Collective op, int ranks, bool root) { return chunk_count(operation(op).out, ranks, root); }
constexpr double bus_factor(Collective op, int ranks) {
  const double n = ranks;
  return operation(op).bus_rounds ? operation(op).bus_rounds * (n - 1) / n : 1;
}

/// One call; `in` or `out` may be null where a rank has no input or output.
struct CollectiveCall {
  Collective op = Collective::all_reduce;
  DataType type = DataType::fp32;
  Reduction reduction = Reduction::sum;
  int root = 0;
  int peer = -1;  ///< of ping_pong; negative: this rank takes no part
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t chunk = 0;       ///< elements
  std::size_t root_chunk = 0;  ///< of all_to_all, elements that each rank sends to the root; 0: `chunk`

  bool is_uneven() const { return root_chunk != 0 && root_chunk != chunk; }
  /// Of all_to_all: the elements that each rank sends to rank `to`, and where they begin in its input.
  std::size_t part(int to) const { return is_uneven() && to == root ? root_chunk : chunk; }
  std::size_t part_begin(int to) const {
    return static_cast<std::size_t>(to) * chunk + (is_uneven() && to > root ? root_chunk - chunk : 0);
  }
};

/// How a communicator's memory is allocated and registered.
enum class Buffer {
  plain,       ///< the device's own allocation
  registered,  ///< by the library's allocator, registered for zero-copy
  symmetric    ///< the same, in a window that all ranks register together
};

constexpr std::string_view name(Buffer buffer) {
  constexpr std::string_view names[] = {"plain", "registered", "symmetric"};
  return names[static_cast<int>(buffer)];
}

/// The ranks of a collective, which create and destroy it together. Destroy graphs that captured its calls first.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int size() const = 0;
  virtual int rank() const = 0;
  /// False after a call failed, on this rank or on another of its thread.
  virtual bool is_usable() const { return true; }

  /// The library implements `op` for this type; the same answer on every rank.
  virtual bool supports(Collective op, DataType type, Reduction reduction) const = 0;
  /// Largest chunk; enqueue throws Unsupported for more.
  virtual std::size_t most_elements() const { return std::numeric_limits<std::size_t>::max(); }
  /// The library has a call with separate in and out arrays.
  virtual bool out_of_place(Collective op) const = 0;
  /// In place, the array of one chunk starts this many chunks into the array of all chunks (0 where in and out are equally
  /// long); negative where the library has no in-place call. enqueue recognises an in-place call by its addresses.
  virtual int in_place_offset(Collective op) const = 0;
  /// Enqueues; on the CPU it blocks until this rank's part is done.
  virtual void enqueue(const CollectiveCall& call, Stream stream) = 0;
  /// The call, with `work` of this rank beside it: on its own stream, which forks from `stream` and joins it; on the CPU the
  /// call is started, `work` runs, then the call is completed.
  virtual void enqueue_beside(const CollectiveCall& call, Stream stream, const std::function<void()>& work) = 0;

  /// Memory of a kind other than plain; allocated and freed by all ranks together. Throws Unsupported where the library has
  /// none.
  virtual std::unique_ptr<void, std::function<void(void*)>> allocate(std::size_t bytes, Buffer buffer) = 0;
  /// How the library ran the last call outside of a graph: algorithm, protocol, transport.
  virtual std::vector<std::pair<std::string, std::string>> notes() const = 0;
  /// What this rank has communicated by, in the library's words; empty where it does not say.
  virtual std::set<std::string> transports() const { return {}; }
  /// Throws DeviceError for an asynchronous error.
  virtual void check_health() {}
  /// "NCCL 2.28.9", "Open MPI v4.1.4".
  virtual std::string library() const = 0;
};

/// The call of one of this process's ranks.
struct RankCall {
  Communicator* communicator = nullptr;
  CollectiveCall call;
};

/// Communicators over NCCL, which is loaded at its first use; without it these throw Unsupported.
struct NcclKernels {
  /// Made on one rank, for all ranks that create() a communicator together.
  std::string (*unique_id)();
  /// One rank, on the calling thread's current device. Throws DeviceError with NCCL's text.
  std::unique_ptr<Communicator> (*create)(const std::string& unique_id, int size, int rank);
  /// All ranks, one per device, for the calling thread; `devices` are distinct CUDA ordinals. They have no symmetric memory.
  std::vector<std::unique_ptr<Communicator>> (*create_all)(const std::vector<int>& devices);
  /// Enqueues the same collective on ranks that create_all() made. `stream` is of the first one's device; the other devices'
  /// own streams fork from it and join it.
  void (*enqueue_all)(const std::vector<RankCall>& calls, Stream stream);
  /// 22809 for 2.28.9.
  int (*version)();
  /// NCCL's text for an error of a communicator of this process that came after the call had returned, such as a lost
  /// connection; "" without one. From any thread.
  std::string (*late_error)();
  /// NCCL's last warnings, oldest first; empty where the user controls NCCL's log. From any thread.
  std::vector<std::string> (*warnings)();
};

/// Test data of the ranks: small integers, scattered by a hash of the seed, so that every sum is exact in any order; or
/// `factors`, whose product is.
struct CollectiveData {
  std::uint64_t seed = 0;
  int ranks = 1;
  bool factors = false;
};

/// Generates the collectives' data and their expected results.
struct CollectiveDataKernels {
  /// out[i] = element first + i of the input of `rank`.
  void (*fill)(DataType type, void* out, std::size_t count, const CollectiveData& data, int rank, std::size_t first,
               Stream stream);
  /// expected[i] = the same element as a double, exactly.
  void (*expect)(DataType type, double* expected, std::size_t count, const CollectiveData& data, int rank, std::size_t first,
                 Stream stream);
  /// expected[i] = element first + i of the reduction over all ranks; scale[i] = the sum of the |terms|, of avg over n, or
  /// the |product|. All are exact except averages of floating-point types, which are within average_bound; averages of integers
  /// round towards 0. Reduction::prod needs data with `factors`, the others data without.
  void (*expect_reduced)(DataType type, Reduction reduction, double* expected, double* scale, std::size_t count,
                         const CollectiveData& data, std::size_t first, Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS CollectiveDataKernels collective_data;
ROOFMARK_KERNELS NcclKernels nccl;
}  // namespace cuda
namespace cpu {
ROOFMARK_KERNELS CollectiveDataKernels collective_data;
}

}  // namespace roofmark
