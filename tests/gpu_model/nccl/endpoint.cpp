// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "endpoint.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "../runtime/runtime.hpp"

namespace gpu_model::nccl {

/// Starts as zeros, as new memory does.
struct Endpoint::Member {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> bell;      ///< a futex: counts events that this rank may wait for
  std::atomic<std::uint32_t> sleepers;  ///< threads of this rank that wait for the bell
  std::atomic<std::uint64_t> barriers;  ///< at which this rank has arrived
  std::atomic<std::uint64_t> told[2];   ///< at the last even barrier and the last odd one
  std::atomic<std::uint32_t> left;
  pid_t process;
  Location location;
};

struct Endpoint::Header {
  std::uint64_t nonce;
  std::atomic<std::uint32_t> size;
  Member members[most_ranks];
};

/// A ring of bytes with one writer and one reader.
struct Endpoint::Pipe {
  static constexpr std::size_t capacity = 256 * 1024;
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> read;
  alignas(64) char data[capacity];
};

namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

/// A sleeper looks again after this time, whatever happens.
constexpr long longest_sleep_ns = 100'000'000;
constexpr double patience_seconds = 10;

std::mutex doors_mutex;
/// The memory of the ids that this process has made, by id. Never destroyed: threads may wait at the end of the process.
std::map<std::string, int>& doors() {
  static auto* all = new std::map<std::string, int>;
  return *all;
}

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

char* map(int descriptor, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) fail("mapping the memory of a communicator");
  return static_cast<char*>(memory);
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

/// The pipes begin on a page of their own.
std::size_t rounded_to_page(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

/// Says once that a rank has waited for long, and for which ranks.
class Endpoint::Patience {
 public:
  Patience(const Endpoint& endpoint, std::string_view what) : endpoint_(endpoint), what_(what) {}

  void renew() { since_ = Clock::now(); }
  template <class Missing>
  void check(const Missing& missing) {
    if (said_ || std::chrono::duration<double>(Clock::now() - since_).count() < patience_seconds) return;
    said_ = true;
    std::bitset<most_ranks> ranks = missing();
    std::string names;
    for (int rank = 0; rank < endpoint_.size(); ++rank) {
      if (ranks[static_cast<std::size_t>(rank)]) names += (names.empty() ? "" : ", ") + std::to_string(rank);
    }
    runtime::say("NCCL: rank %d of %d has waited %g s in %s for rank %s", endpoint_.rank(), endpoint_.size(), patience_seconds,
                 what_.c_str(), names.c_str());
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Endpoint& endpoint_;
  std::string what_;
  Clock::time_point since_ = Clock::now();
  bool said_ = false;
};

std::string Endpoint::create() {
  Descriptor memory(::memfd_create("gpu_model_nccl", MFD_CLOEXEC));
  if (memory.get() < 0) fail("memfd_create");
  if (::ftruncate(memory.get(), sizeof(Header)) != 0) fail("ftruncate");
  std::random_device random;
  const std::uint64_t nonce = static_cast<std::uint64_t>(random()) << 32 | random();
  if (::pwrite(memory.get(), &nonce, sizeof nonce, offsetof(Header, nonce)) != sizeof nonce) fail("pwrite");
  char id[128];
  std::snprintf(id, sizeof id, "gpu_model %d %d %llx", static_cast<int>(::getpid()), memory.get(),
                static_cast<unsigned long long>(nonce));
  const std::lock_guard lock(doors_mutex);
  doors()[id] = memory.release();
  return id;
}

Endpoint::Endpoint(const std::string& id, int size, int rank, const Location& location) : id_(id), size_(size), rank_(rank) {
  if (size < 1 || size > most_ranks) {
    throw std::invalid_argument("a communicator of " + std::to_string(size) + " ranks; here are at most " +
                                std::to_string(most_ranks));
  }
  if (rank < 0 || rank >= size) throw std::invalid_argument("rank " + std::to_string(rank) + " of " + std::to_string(size));
  int process = 0, number = 0;
  unsigned long long nonce = 0;
  if (std::sscanf(id.c_str(), "gpu_model %d %d %llx", &process, &number, &nonce) != 3) {
    throw std::invalid_argument("not a unique id");
  }
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
  const Descriptor memory(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (memory.get() < 0) fail("process " + std::to_string(process) + ", which made the unique id, cannot be reached");
  std::uint64_t found = 0;
  if (::pread(memory.get(), &found, sizeof found, offsetof(Header, nonce)) != sizeof found || found != nonce) {
    throw std::invalid_argument("a unique id whose ranks have met already");
  }
  const auto pipes = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  bytes_ = rounded_to_page(sizeof(Header)) + pipes * sizeof(Pipe);
  // Checked before any rank sets the size of the memory: a smaller one would cut off the others' pipes.
  memory_ = map(memory.get(), sizeof(Header));
  std::uint32_t agreed = 0;
  const bool same = header().size.compare_exchange_strong(agreed, static_cast<std::uint32_t>(size)) ||
                    agreed == static_cast<std::uint32_t>(size);
  const bool free = same && member(rank).taken.exchange(1) == 0;
  if (free) {
    member(rank).location = location;
    member(rank).process = ::getpid();
  }
  ::munmap(memory_, sizeof(Header));
  if (!same) throw std::invalid_argument("ranks of communicators of different sizes meet by one unique id");
  if (!free) throw std::invalid_argument("rank " + std::to_string(rank) + " has joined already");
  if (::ftruncate(memory.get(), static_cast<off_t>(bytes_)) != 0) fail("ftruncate");
  memory_ = map(memory.get(), bytes_);
  arrive();
}

Endpoint::~Endpoint() { ::munmap(memory_, bytes_); }

Endpoint::Header& Endpoint::header() const { return *reinterpret_cast<Header*>(memory_); }
Endpoint::Member& Endpoint::member(int rank) const { return header().members[rank]; }
Endpoint::Pipe& Endpoint::pipe(int from, int to) const {
  auto* pipes = reinterpret_cast<Pipe*>(memory_ + rounded_to_page(sizeof(Header)));
  return pipes[from * size_ + to];
}
const Location& Endpoint::location(int rank) const { return member(rank).location; }

void Endpoint::close_door() {
  const std::lock_guard lock(doors_mutex);
  const auto door = doors().find(id_);
  if (door == doors().end()) return;
  ::close(door->second);
  doors().erase(door);
}

void Endpoint::ring(int rank) const {
  Member& rung = member(rank);
  ++rung.bell;
  if (rung.sleepers != 0) futex(rung.bell, FUTEX_WAKE, INT_MAX, nullptr);
}

/// Until the bell differs from what it was, or for a while.
void Endpoint::sleep(std::uint32_t bell) const {
  Member& own = member(rank_);
  const timespec longest{0, longest_sleep_ns};
  ++own.sleepers;
  futex(own.bell, FUTEX_WAIT, bell, &longest);
  --own.sleepers;
}

std::uint64_t Endpoint::arrive(std::uint64_t word) {
  Member& own = member(rank_);
  own.told[(own.barriers + 1) % 2] = word;
  const std::uint64_t barrier = ++own.barriers;
  for (int rank = 0; rank < size_; ++rank) ring(rank);
  return barrier;
}

bool Endpoint::wait_for(std::uint64_t barrier, std::string_view what) {
  Patience patience(*this, what);
  while (!aborted_) {
    const std::uint32_t bell = member(rank_).bell;
    std::bitset<most_ranks> missing;
    for (int rank = 0; rank < size_; ++rank) missing[static_cast<std::size_t>(rank)] = member(rank).barriers < barrier;
    if (missing.none()) return true;
    patience.check([&] { return missing; });
    sleep(bell);
  }
  return false;
}

bool Endpoint::all_told(std::uint64_t barrier, std::uint64_t word) const {
  for (int rank = 0; rank < size_; ++rank) {
    if (member(rank).told[barrier % 2] != word) return false;
  }
  return true;
}

bool Endpoint::push(std::vector<Part>& sends) const {
  bool moved = false;
  std::bitset<most_ranks> waits;
  for (Part& part : sends) {
    const auto peer = static_cast<std::size_t>(part.peer);
    if (waits[peer]) continue;
    Pipe& to = pipe(rank_, part.peer);
    const std::uint64_t written = to.written;
    const std::size_t count = std::min(part.bytes, Pipe::capacity - static_cast<std::size_t>(written - to.read));
    const std::size_t at = written % Pipe::capacity, straight = std::min(count, Pipe::capacity - at);
    std::copy_n(part.data, straight, to.data + at);
    std::copy_n(part.data + straight, count - straight, to.data);
    part.data += count;
    part.bytes -= count;
    waits[peer] = part.bytes != 0;
    if (count == 0) continue;
    to.written = written + count;
    ring(part.peer);
    moved = true;
  }
  std::erase_if(sends, [](const Part& part) { return part.bytes == 0; });
  return moved;
}

bool Endpoint::pull(std::vector<Part>& receives, bool& as_meant) const {
  bool moved = false;
  std::bitset<most_ranks> waits;
  for (Part& part : receives) {
    const auto peer = static_cast<std::size_t>(part.peer);
    if (waits[peer]) continue;
    Pipe& from = pipe(part.peer, rank_);
    const std::uint64_t read = from.read;
    const std::size_t count = std::min(part.bytes, static_cast<std::size_t>(from.written - read));
    const std::size_t at = read % Pipe::capacity, straight = std::min(count, Pipe::capacity - at);
    std::copy_n(from.data + at, straight, part.data);
    std::copy_n(from.data, count - straight, part.data + straight);
    part.data += count;
    part.bytes -= count;
    waits[peer] = part.bytes != 0;
    if (count == 0) continue;
    from.read = read + count;
    ring(part.peer);
    moved = true;
    if (part.bytes == 0 && part.arrived && !part.arrived()) {
      as_meant = false;
      return true;
    }
  }
  std::erase_if(receives, [](const Part& part) { return part.bytes == 0; });
  return moved;
}

bool Endpoint::exchange(std::vector<Part> sends, std::vector<Part> receives, std::string_view what) {
  Patience patience(*this, what);
  for (bool as_meant = true; !aborted_;) {
    const std::uint32_t bell = member(rank_).bell;
    const bool sent = push(sends);
    const bool moved = pull(receives, as_meant) || sent;
    if (!as_meant) return false;
    if (sends.empty() && receives.empty()) return true;
    if (moved) {
      patience.renew();
      continue;
    }
    patience.check([&] {
      std::bitset<most_ranks> missing;
      for (const auto* parts : {&sends, &receives}) {
        for (const Part& part : *parts) missing.set(static_cast<std::size_t>(part.peer));
      }
      return missing;
    });
    sleep(bell);
  }
  return false;
}

std::size_t Endpoint::unread() const {
  std::size_t bytes = 0;
  for (int from = 0; from < size_; ++from) {
    const Pipe& in = pipe(from, rank_);
    bytes += static_cast<std::size_t>(in.written - in.read);
  }
  return bytes;
}

void Endpoint::leave() {
  member(rank_).left = 1;
  for (int rank = 0; rank < size_; ++rank) ring(rank);
}

/// A process that has ended no longer holds others up: its connections are closed.
bool Endpoint::is_gone(int rank) const {
  std::ifstream status("/proc/" + std::to_string(member(rank).process) + "/stat");
  std::string text;
  if (!std::getline(status, text)) return true;
  const std::size_t state = text.rfind(')') + 2;
  return state < text.size() && (text[state] == 'Z' || text[state] == 'X');
}

void Endpoint::wait_for_host(std::string_view what) {
  const Member& own = member(rank_);
  Patience patience(*this, what);
  while (true) {
    const std::uint32_t bell = own.bell;
    std::bitset<most_ranks> missing;
    for (int rank = 0; rank < size_; ++rank) {
      const Member& other = member(rank);
      if (other.location.host != own.location.host || other.left) continue;
      if (other.process == own.process) return;
      missing[static_cast<std::size_t>(rank)] = !is_gone(rank);
    }
    if (missing.none()) return;
    patience.check([&] { return missing; });
    sleep(bell);
  }
}

void Endpoint::wait_for_abort() {
  while (!aborted_) sleep(member(rank_).bell);
}

void Endpoint::abort() {
  aborted_ = true;
  ring(rank_);
}

}  // namespace gpu_model::nccl
