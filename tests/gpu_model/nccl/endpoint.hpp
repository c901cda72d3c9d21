// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpu_model::nccl {

/// What a rank tells the others of its GPU when they meet.
struct Location {
  std::uint64_t host = 0;  ///< hash of the host's name, or of NCCL_HOSTID
  char bus_id[16] = {};    ///< of the PCI bus, ends in 0
};

/// Bytes of one message to or from a peer.
struct Part {
  int peer = 0;
  char* data = nullptr;
  std::size_t bytes = 0;
  std::function<bool()> arrived = {};  ///< receives only: called when all bytes are there; false ends the exchange
};

/// One rank's end of the shared memory in which the ranks of a communicator meet. Ranks may be threads of one process,
/// processes of one host, or both: each maps the memory itself. Each pair of ranks has one pipe per direction. The memory has
/// no name in a file system. The process that made the unique id holds it until all ranks have joined; then their mappings do.
/// So a rank that dies leaves nothing behind.
class Endpoint {
 public:
  static constexpr int most_ranks = 64;

  /// Text of at most 127 characters. Throws std::system_error.
  static std::string create();

  /// Joins without waiting. Throws std::invalid_argument for a bad id, a rank that is taken, or a size that is not that of the
  /// other ranks, and std::system_error when the memory cannot be reached.
  Endpoint(const std::string& id, int size, int rank, const Location& location);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  int size() const { return size_; }
  int rank() const { return rank_; }

  /// Arrives at the next barrier with a word for the others, and gives its number. To join is to arrive at barrier 1.
  std::uint64_t arrive(std::uint64_t word = 0);
  /// Waits until every rank has arrived at the barrier; false after abort().
  bool wait_for(std::uint64_t barrier, std::string_view what);
  /// Whether all ranks arrived at it with this word; to be called before this rank arrives at the next one.
  bool all_told(std::uint64_t barrier, std::uint64_t word) const;
  /// Of a rank that has joined.
  const Location& location(int rank) const;
  /// Says that this rank is destroyed or aborted.
  void leave();
  /// Waits until all ranks of this host have left, or their processes have ended; at once while other ranks of this process are
  /// still there, so that a thread can end its ranks one after the other.
  void wait_for_host(std::string_view what);
  /// To be called once all have joined: the process that made the id stops holding the memory for others.
  void close_door();

  /// Sends and receives all parts, those of one peer in their order. One thread at a time. Sends are buffered: on return the
  /// peer may not have received them. False after abort(), or when Part::arrived returned false.
  bool exchange(std::vector<Part> sends, std::vector<Part> receives, std::string_view what);
  /// Bytes that other ranks have sent and this one has not received.
  std::size_t unread() const;

  void wait_for_abort();
  /// Ends this rank's waits, now and later. The other ranks do not learn of it.
  void abort();
  bool aborted() const { return aborted_; }

 private:
  struct Member;
  struct Header;
  struct Pipe;
  class Patience;

  Header& header() const;
  Member& member(int rank) const;
  Pipe& pipe(int from, int to) const;
  void ring(int rank) const;
  bool is_gone(int rank) const;
  void sleep(std::uint32_t bell) const;
  bool push(std::vector<Part>& sends) const;
  bool pull(std::vector<Part>& receives, bool& as_meant) const;

  std::string id_;
  int size_, rank_;
  char* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::atomic<bool> aborted_ = false;
};

}  // namespace gpu_model::nccl
