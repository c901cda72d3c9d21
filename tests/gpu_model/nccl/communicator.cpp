// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "../runtime/runtime.hpp"
#include "fault.hpp"
#include "log.hpp"
#include "numbers.hpp"

namespace gpu_model::nccl {

/// Goes ahead of the data and tells the receiver what the sender has called.
struct Communicator::Notice {
  Action action{};
  std::uint64_t bytes = 0;
  int type = 0, op = 0, root = 0;
  bool is_captured = false;
  double start_ns = 0;  ///< by the clock that all processes share
};

namespace {

/// Bytes that a rank sends to each other rank before it reduces what it has received.
constexpr std::size_t reduced_bytes = 64 * 1024;

/// The runtime's model time starts at 0 in each process. This is when that was, by the clock that processes share.
double model_epoch_ns() {
  using std::chrono::duration;
  static const double epoch =
      duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count() - runtime::host_now_ns();
  return epoch;
}

Location locate(int device) {
  Location location;
  std::array<char, 256> host{};
  const char* named = std::getenv("NCCL_HOSTID");
  if (!named) ::gethostname(host.data(), host.size() - 1);
  location.host = std::hash<std::string>()(named ? named : host.data());
  cudaDeviceGetPCIBusId(location.bus_id, sizeof location.bus_id, device);
  return location;
}

bool reduces(Action action) {
  return action == Action::all_reduce || action == Action::reduce_scatter || action == Action::reduce;
}

char* bytes_of(auto& value) { return reinterpret_cast<char*>(&value); }

/// Flips a bit in a collective's output, or in the first message that is received.
void flip(const Call& call) {
  char* out = call.out;
  std::size_t bytes = call.bytes();
  const auto first =
      std::find_if(call.messages.begin(), call.messages.end(), [](const Message& message) { return !message.is_send; });
  if (first != call.messages.end()) {
    out = first->data;
    bytes = first->bytes;
  }
  if (out && flipped_byte() < bytes) out[flipped_byte()] ^= 0x40;
}

}  // namespace

std::string_view name(Action action) {
  constexpr std::string_view names[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                        "all_to_all", "gather",     "scatter",        "messages"};
  return names[static_cast<std::size_t>(action)];
}

std::size_t Call::bytes() const {
  if (action != Action::messages) return count * width(type);
  return std::accumulate(messages.begin(), messages.end(), std::size_t{0},
                         [](std::size_t sum, const Message& message) { return sum + message.bytes; });
}

Communicator::Communicator(const std::string& id, int size, int rank, int device)
    : endpoint_(id, size, rank, locate(device)), device_(device) {}

bool Communicator::is_ready() const {
  static const char* const blocking = std::getenv("NCCL_COMM_BLOCKING");  // read once
  return !blocking || std::string_view(blocking) != "0";
}

bool Communicator::meet() {
  if (!endpoint_.wait_for(1, "the initialisation")) return false;
  endpoint_.close_door();
  const Location& own = endpoint_.location(rank());
  for (int other = 0; other < size(); ++other) {
    const Location& location = endpoint_.location(other);
    if (other == rank() || location.host != own.host || std::strcmp(location.bus_id, own.bus_id) != 0) continue;
    throw std::logic_error("Duplicate GPU detected : rank " + std::to_string(rank()) + " and rank " + std::to_string(other) +
                           " both on CUDA device " + own.bus_id);
  }
  return true;
}

bool Communicator::perform(const Call& call, double& start_ns) {
  const std::lock_guard turn(turn_);
  const std::optional<Fault> fault = planted_fault(rank(), name(call.action), call.bytes());
  if (fault == Fault::warn || fault == Fault::lose) log_lost_connection(*this);
  if (fault == Fault::lose) state_ = ncclRemoteError;
  if (fault == Fault::hang || fault == Fault::warn || fault == Fault::lose) endpoint_.wait_for_abort();
  const bool messages = call.action == Action::messages;
  if (!messages && !agree(call, start_ns)) return false;
  if (fault == Fault::kill) std::raise(SIGKILL);
  if (messages ? !exchange_messages(call, start_ns) : !move(call)) return false;
  if (fault == Fault::flip) flip(call);
  if (fault == Fault::error) {
    log_lost_connection(*this);
    state_ = ncclRemoteError;
  }
  return true;
}

bool Communicator::disagree(const Notice& own, const Notice& other, int rank) {
  const auto describe = [](const Notice& notice) {
    return std::string(name(notice.action)) + " of " + std::to_string(notice.bytes) + " bytes, type " +
           std::to_string(notice.type) + ", operation " + std::to_string(notice.op) + ", root " + std::to_string(notice.root) +
           (notice.is_captured ? ", captured in a graph" : "");
  };
  runtime::say("NCCL: rank %d calls %s; rank %d calls %s: on GPUs this hangs or is undefined", this->rank(),
               describe(own).c_str(), rank, describe(other).c_str());
  endpoint_.wait_for_abort();
  return false;
}

/// Waits until all ranks have entered the same collective.
bool Communicator::agree(const Call& call, double& start_ns) {
  const double epoch = model_epoch_ns();
  Notice own{call.action, call.bytes(),     call.type,       reduces(call.action) ? call.op : ncclSum,
             call.root,   call.is_captured, epoch + start_ns};
  std::vector<Notice> notices(static_cast<std::size_t>(size()));
  std::vector<Part> sends, receives;
  for (int other = 0; other < size(); ++other) {
    sends.push_back({other, bytes_of(own), sizeof own});
    receives.push_back({other, bytes_of(notices[static_cast<std::size_t>(other)]), sizeof own});
  }
  if (!endpoint_.exchange(std::move(sends), std::move(receives), name(call.action))) return false;
  for (int other = 0; other < size(); ++other) {
    const Notice& notice = notices[static_cast<std::size_t>(other)];
    if (notice.action != own.action || notice.bytes != own.bytes || notice.type != own.type || notice.op != own.op ||
        notice.root != own.root || notice.is_captured != own.is_captured) {
      return disagree(own, notice, other);
    }
    start_ns = std::max(start_ns, notice.start_ns - epoch);
  }
  return true;
}

bool Communicator::move(const Call& call) { return reduces(call.action) ? reduce_parts(call) : exchange_parts(call); }

bool Communicator::exchange_parts(const Call& call) {
  const std::size_t bytes = call.bytes();
  const bool is_root = rank() == call.root;
  std::vector<Part> sends, receives;
  const auto send = [&](int to, int part) {
    sends.push_back({to, const_cast<char*>(call.in) + static_cast<std::size_t>(part) * bytes, bytes});
  };
  const auto receive = [&](int from, int part) {
    receives.push_back({from, call.out + static_cast<std::size_t>(part) * bytes, bytes});
  };
  for (int other = 0; other < size(); ++other) {
    switch (call.action) {
      case Action::all_gather:
        send(other, 0);
        receive(other, other);
        break;
      case Action::all_to_all:
        send(other, other);
        receive(other, other);
        break;
      case Action::broadcast:
        if (is_root) send(other, 0);
        if (other == call.root) receive(other, 0);
        break;
      case Action::gather:
        if (other == call.root) send(other, 0);
        if (is_root) receive(other, other);
        break;
      case Action::scatter:
        if (is_root) send(other, other);
        if (other == call.root) receive(other, 0);
        break;
      default:
        break;
    }
  }
  return endpoint_.exchange(std::move(sends), std::move(receives), name(call.action));
}

bool Communicator::reduce_parts(const Call& call) {
  const std::size_t size_of_one = width(call.type), step = reduced_bytes / size_of_one;
  const bool scatters = call.action == Action::reduce_scatter;
  const bool receives_all = call.action != Action::reduce || rank() == call.root;
  std::vector<std::vector<char>> terms(static_cast<std::size_t>(size()), std::vector<char>(step * size_of_one));
  std::vector<const char*> in_order;
  for (const auto& term : terms) in_order.push_back(term.data());
  for (std::size_t first = 0; first < call.count; first += step) {
    const std::size_t count = std::min(step, call.count - first), bytes = count * size_of_one;
    std::vector<Part> sends, receives;
    for (int other = 0; other < size(); ++other) {
      const auto place = static_cast<std::size_t>(other);
      const std::size_t element = (scatters ? place * call.count : 0) + first;
      if (call.action != Action::reduce || other == call.root) {
        sends.push_back({other, const_cast<char*>(call.in) + element * size_of_one, bytes});
      }
      if (receives_all) receives.push_back({other, terms[place].data(), bytes});
    }
    // In place, the reduction overwrites the input. By now that part of it has been sent.
    if (!endpoint_.exchange(std::move(sends), std::move(receives), name(call.action))) return false;
    if (receives_all) reduce(call.type, call.op, in_order, call.out + first * size_of_one, count);
  }
  return true;
}

bool Communicator::exchange_messages(const Call& call, double& start_ns) {
  const double epoch = model_epoch_ns();
  Notice own{Action::messages, 0, 0, 0, 0, call.is_captured, epoch + start_ns};
  std::vector<Notice> expected(call.messages.size(), own), notices(call.messages.size());
  std::vector<Part> sends, receives;
  // The first receive whose peer sent something else.
  std::optional<std::size_t> wrong;
  for (std::size_t i = 0; i < call.messages.size(); ++i) {
    const Message& message = call.messages[i];
    expected[i].bytes = message.bytes;
    auto& parts = message.is_send ? sends : receives;
    parts.push_back({message.peer, bytes_of(message.is_send ? expected[i] : notices[i]), sizeof own});
    if (!message.is_send) {
      parts.back().arrived = [&, i] {
        const Notice &got = notices[i], &wanted = expected[i];
        if (got.action != wanted.action || got.bytes != wanted.bytes || got.is_captured != wanted.is_captured) wrong = i;
        return !wrong;
      };
    }
    parts.push_back({message.peer, message.data, message.bytes});
  }
  const bool done = endpoint_.exchange(std::move(sends), std::move(receives), name(call.action));
  if (wrong) return disagree(expected[*wrong], notices[*wrong], call.messages[*wrong].peer);
  for (const Notice& notice : notices) start_ns = std::max(start_ns, notice.start_ns - epoch);
  return done;
}

double duration_ns(const Call& call, int ranks) {
  constexpr double latency_ns = 6000, step_ns = 1500, bytes_per_ns = 360;  // of a link's 450
  const auto bytes = static_cast<double>(call.bytes());
  const double others = ranks - 1;
  double traffic = bytes;
  if (call.action == Action::all_reduce) traffic = 2 * bytes * others / ranks;
  if (call.action == Action::all_gather || call.action == Action::reduce_scatter || call.action == Action::all_to_all) {
    traffic = bytes * others;
  }
  return latency_ns + step_ns * others + traffic / bytes_per_ns;
}

}  // namespace gpu_model::nccl
