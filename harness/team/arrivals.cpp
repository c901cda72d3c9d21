// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/arrivals.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace roofmark {
namespace {

// Lines, each of words and ended by '\n'. From another rank to rank 0:
//   hello TOKEN RANK                     on every address that it tries
//   joined                               on the one that it keeps
//   waiting                              no step for the timeout
//   answer ROUND STEPS SECONDS REST WHAT
//   said                                 its line is on stderr
//   bye STEPS                            ends well
//   failed                               ends by an error of its own
//   left                                 gave rank 0 up
// From rank 0:
//   welcome TOKEN
//   ask ROUND
//   wait SECONDS                         there is progress: complain again after that time
//   say STEPS                            a standstill; who has made no more steps than these is late
//   leave
//   bye
//   failed                               rank 0 ends by an error of its own

// The monotonic clock: it stands while the machine sleeps.
using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

constexpr double kConnectSeconds = 10;
/// Between two attempts to connect: an address that only looks like rank 0's may never answer.
constexpr double kNextAddressSeconds = 0.25;
/// For rank 0 to complete its files, before another rank's exit makes the launcher end it.
constexpr double kFilesSeconds = 60;
/// No line of a peer is longer, but for what a rank says that it does.
constexpr std::size_t kLongestLine = 64 * 1024;
/// Connections of which it is not known who they are, at once; more wait in the kernel's queue.
constexpr std::size_t kStrangers = 128;
constexpr std::size_t kNamed = 16;

Time after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}
double seconds_between(Time from, Time to) { return std::chrono::duration<double>(to - from).count(); }

[[noreturn]] void throw_errno(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  void close() {
    if (open()) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

/// Lines over a socket; no call blocks.
class Connection {
 public:
  Connection() = default;
  explicit Connection(Descriptor socket) : socket_(std::move(socket)) {
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }

  int descriptor() const { return socket_.get(); }
  bool open() const { return socket_.open(); }
  /// What poll waits for; a closed one is a descriptor that it ignores.
  pollfd interest() const { return {socket_.get(), static_cast<short>(POLLIN | (out_.empty() ? 0 : POLLOUT)), 0}; }
  void close() { socket_.close(); }
  void finish_writing() {
    if (open()) ::shutdown(socket_.get(), SHUT_WR);
  }

  void write(const std::string& line) {
    out_ += line + '\n';
    flush();
  }
  void flush() {
    while (open() && !out_.empty()) {
      const ssize_t sent = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) continue;
      // A broken connection shows itself where it is read, after what the other side said before.
      if (sent < 0 && errno != EAGAIN) out_.clear();
      if (sent < 0) return;
      out_.erase(0, static_cast<std::size_t>(sent));
    }
  }
  /// Takes what has arrived.
  void read() {
    std::array<char, 4096> buffer{};
    while (open() && !ended_) {
      const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0) {
        in_.append(buffer.data(), static_cast<std::size_t>(got));
        if (in_.size() > kLongestLine && in_.find('\n') == std::string::npos) ended_ = true;
      } else if (got < 0 && errno == EINTR) {
        continue;
      } else {
        ended_ = got == 0 || errno != EAGAIN;
        return;
      }
    }
  }
  /// The next whole line of what was read.
  std::optional<std::string> line() {
    const auto end = in_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string text = in_.substr(0, end);
    in_.erase(0, end + 1);
    return text;
  }
  /// The other side has closed; it may have said something before.
  bool ended() const { return ended_; }

 private:
  Descriptor socket_;
  std::string in_, out_;
  bool ended_ = false;
};

/// Waits until one of them is ready or the time has come.
void wait_for(std::vector<pollfd>& descriptors, Time until) {
  const double seconds = std::max(0.0, seconds_between(Clock::now(), until));
  const int milliseconds = static_cast<int>(std::min(std::ceil(seconds * 1e3), 1e9));
  if (::poll(descriptors.data(), descriptors.size(), milliseconds) < 0) {
    for (pollfd& descriptor : descriptors) descriptor.revents = 0;
  }
}

/// "10.0.0.1:4711" or "[fd00::1]:4711"; connected without waiting. Throws std::system_error.
Descriptor begin_to_connect(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) throw std::runtime_error("no port in '" + address + "'");
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0) {
    throw std::runtime_error("no address: '" + address + "'");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) throw_errno("socket");
  if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) throw_errno("connect");
  return socket;
}

/// The connection to rank 0: of the addresses the first that answers with the token. `address` is rank 0's address().
Connection join(const std::string& address, int rank) {
  std::istringstream words(address);
  std::string token;
  words >> token;
  struct Attempt {
    std::string address, why;
    Connection connection;
    bool connected = false;
  };
  std::vector<Attempt> attempts;
  for (std::string one; words >> one;) attempts.push_back({one, "not tried", {}, false});

  const Time deadline = after(kConnectSeconds);
  Time next = Clock::now();
  std::size_t begun = 0;
  while (Clock::now() < deadline) {
    std::vector<pollfd> descriptors;
    bool active = false;
    for (const Attempt& attempt : attempts) active |= attempt.connection.open();
    if (begun < attempts.size() && (!active || Clock::now() >= next)) {
      Attempt& attempt = attempts[begun++];
      next = after(kNextAddressSeconds);
      attempt.why = "no answer";
      try {
        attempt.connection = Connection(begin_to_connect(attempt.address));
      } catch (const std::system_error& error) {
        attempt.why = error.code().message();
      } catch (const std::runtime_error& error) {
        attempt.why = error.what();
      }
      continue;
    }
    if (!active) break;
    for (const Attempt& attempt : attempts) {
      descriptors.push_back(attempt.connection.interest());
      if (!attempt.connected) descriptors.back().events = POLLOUT;
    }
    wait_for(descriptors, begun < attempts.size() ? std::min(next, deadline) : deadline);
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      Attempt& attempt = attempts[i];
      if (!attempt.connection.open() || !descriptors[i].revents) continue;
      if (!attempt.connected) {
        int error = 0;
        socklen_t length = sizeof(error);
        ::getsockopt(attempt.connection.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) {
          attempt.why = std::generic_category().message(error);
          attempt.connection.close();
          continue;
        }
        attempt.connected = true;
        attempt.connection.write(fmt::format("hello {} {}", token, rank));
        continue;
      }
      attempt.connection.flush();
      attempt.connection.read();
      const auto line = attempt.connection.line();
      if (line && *line == "welcome " + token) {
        attempt.connection.write("joined");
        return std::move(attempt.connection);
      }
      if (line || attempt.connection.ended()) {
        attempt.why = "not rank 0 of this run";
        attempt.connection.close();
      }
    }
  }
  std::string tried;
  for (const Attempt& attempt : attempts) {
    tried += fmt::format("{}{} ({})", tried.empty() ? "" : ", ", attempt.address, attempt.why);
  }
  throw std::runtime_error(
      fmt::format("rank {} cannot reach rank 0 by TCP at {}: a firewall or a missing route between the hosts?", rank, tried));
}

std::string numeric(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(address, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return host.data();
}

/// The addresses of the interfaces that are up, without loopback; IPv6 only where there is no IPv4, and none that is of its
/// link alone.
std::vector<std::string> own_addresses(bool& ipv6) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) throw_errno("getifaddrs");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, ::freeifaddrs);
  std::vector<std::string> four, six;
  for (const ifaddrs* entry = first; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) || (entry->ifa_flags & IFF_LOOPBACK)) continue;
    if (entry->ifa_addr->sa_family == AF_INET) {
      four.push_back(numeric(entry->ifa_addr, sizeof(sockaddr_in)));
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      const auto* address = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
      if (!IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr)) six.push_back(numeric(entry->ifa_addr, sizeof(sockaddr_in6)));
    }
  }
  ipv6 = four.empty() && !six.empty();
  return ipv6 ? six : four;
}

/// Of 128 random bits.
std::string make_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
  return token;
}

/// Room for a connection to each rank: raises this process's own limit where it may. Throws where that is not enough.
void reserve_descriptors(int ranks) {
  std::error_code ignored;
  const auto in_use = std::distance(std::filesystem::directory_iterator("/proc/self/fd", ignored), {});
  const rlim_t needed = static_cast<rlim_t>(ranks) + kStrangers + static_cast<rlim_t>(in_use);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  if (limit.rlim_max >= needed) {
    limit.rlim_cur = needed;
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  }
  throw std::system_error(
      EMFILE, std::generic_category(),
      fmt::format("rank 0 of {} ranks needs {} file descriptors and may have {} (ulimit -n)", ranks, needed, limit.rlim_max));
}

/// Where a rank is.
struct Arrival {
  std::int64_t steps = 0;
  double waiting_seconds = 0;  ///< since the last step, or since the channel began
  bool rests = false;
  std::string doing;
};

std::string to_line(int round, const Arrival& arrival) {
  return fmt::format("answer {} {} {} {} {}", round, arrival.steps, arrival.waiting_seconds, arrival.rests ? 1 : 0,
                     arrival.doing);
}

struct Peer {
  enum class State { absent, joined, ended, failed, left };  ///< ended: without a word; left: after a bye
  State state = State::absent;
  Connection connection;
  bool answered = false;
  Arrival arrival;  ///< of the last answer; after a bye its steps
};

/// What the answers say: a standstill, or how long there is still to wait.
constexpr std::int64_t kNobody = -1;
struct Finding {
  std::optional<Standstill> standstill;
  std::int64_t late_steps = kNobody;  ///< who has made no more than these is late
  double wait_seconds = 0;
};

std::string name_all(const std::vector<int>& ranks, const std::function<std::string(int)>& describe) {
  std::string names;
  for (std::size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) names += (i == 0 ? "" : ", ") + describe(ranks[i]);
  if (ranks.size() > kNamed) names += fmt::format(" and {} more", ranks.size() - kNamed);
  return names;
}

Finding judge(const std::vector<Peer>& peers, const Arrivals::Setup& setup) {
  Finding found;
  std::vector<int> killed, failed, away, behind, silent;
  std::int64_t most_steps = 0, fewest = std::numeric_limits<std::int64_t>::max();
  for (const Peer& peer : peers) {
    if (peer.answered || peer.state == Peer::State::left) {
      most_steps = std::max(most_steps, peer.arrival.steps);
    }
  }
  double longest = 0, least = setup.timeout_seconds;
  for (int rank = 0; rank < setup.size; ++rank) {
    const Peer& peer = peers[static_cast<std::size_t>(rank)];
    const bool last = peer.arrival.steps == most_steps;
    if (peer.state == Peer::State::ended) {
      killed.push_back(rank);
    } else if (peer.state == Peer::State::failed) {
      failed.push_back(rank);
    } else if (peer.state == Peer::State::left) {
      if (!last) away.push_back(rank);
    } else if (!peer.answered) {
      silent.push_back(rank);
    } else if (peer.arrival.rests) {
      // It is not waited for where it has arrived.
      if (!last) least = 0;
    } else {
      if (!last) behind.push_back(rank);
      fewest = std::min(fewest, peer.arrival.steps);
      longest = std::max(longest, peer.arrival.waiting_seconds);
      least = std::min(least, peer.arrival.waiting_seconds);
    }
  }
  // A rank that made a step lately lets the others go on soon; complaints about the same step come within a moment.
  const bool stands = longest >= 0.9 * setup.timeout_seconds && least >= 0.9 * setup.timeout_seconds;
  if (killed.empty() && failed.empty() && !stands) {
    found.wait_seconds = setup.timeout_seconds - least;
    return found;
  }

  // Some may be behind because they wait for one that is further behind, or that says nothing: the others did not take part.
  if (silent.empty() && killed.empty() && failed.empty()) {
    std::erase_if(behind, [&](int rank) { return peers[static_cast<std::size_t>(rank)].arrival.steps != fewest; });
    if (!behind.empty()) found.late_steps = fewest;
  } else {
    behind.clear();
  }

  Standstill& standstill = found.standstill.emplace();
  std::vector<std::string> parts;
  const auto add = [&](const std::vector<int>& ranks, const std::string& what) {
    if (!ranks.empty()) parts.push_back(name_all(ranks, setup.describe) + what);
  };
  add(killed, " ended without a word");
  // Where one was killed, what MPI tells the others of it makes them fail too.
  if (killed.empty()) add(failed, " failed");
  add(silent,
      fmt::format(" {} not answer: stopped, or the host or the network to it is gone", silent.size() == 1 ? "does" : "do"));
  standstill.ended = killed;
  standstill.ended.insert(standstill.ended.end(), failed.begin(), failed.end());
  standstill.silent = silent;
  if (stands) {
    add(away, " ended before the others");
    add(behind, " never arrived");
    standstill.ended.insert(standstill.ended.end(), away.begin(), away.end());
    standstill.never_arrived = behind;
    standstill.reason = fmt::format("no progress for {:g} s", setup.timeout_seconds);
    if (parts.empty() && setup.size > 1) {
      parts.emplace_back(
          "all ranks arrived and none goes on: the network or a link between them is to blame, or this takes longer than "
          "--timeout");
    }
  }
  std::sort(standstill.ended.begin(), standstill.ended.end());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    standstill.reason += (i > 0 ? "; " : standstill.reason.empty() ? "" : ": ") + parts[i];
  }
  return found;
}

void print(const std::string& line) { std::fputs((line + '\n').c_str(), stderr); }

}  // namespace

class Arrivals::Channel {
 public:
  explicit Channel(Setup setup)
      : setup_(std::move(setup)), began_(Clock::now()), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), woken_(began_) {
    if (!wake_.open()) throw_errno("eventfd");
    since_ = ticks(began_);
  }
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  const std::string& address() const { return address_; }
  // Whoever sees the step sees its time too.
  void step() {
    since_.store(ticks(Clock::now()), std::memory_order_relaxed);
    steps_.store(((steps_.load(std::memory_order_relaxed) >> kPartBits) + 1) << kPartBits, std::memory_order_release);
  }
  void part() {
    since_.store(ticks(Clock::now()), std::memory_order_relaxed);
    steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void rest() { since_.store(kResting, std::memory_order_relaxed); }
  void fail() { failed_ = true; }
  void doing(std::string what) {
    std::replace(what.begin(), what.end(), '\n', ' ');
    if (what.size() > kLongestLine / 2) what.resize(kLongestLine / 2);
    const std::lock_guard lock(mutex_);
    doing_ = std::move(what);
  }

 protected:
  void start(std::function<void()> run) { thread_ = std::thread(std::move(run)); }
  /// Ends the thread, by way of its good-byes.
  void end() {
    ending_ = true;
    const std::uint64_t one = 1;
    const bool woken = ::write(wake_.get(), &one, sizeof(one)) == sizeof(one);
    static_cast<void>(woken);  // else it wakes by itself, later
    thread_.join();
  }
  bool ending() const { return ending_; }
  bool failed() const { return failed_; }

  Arrival arrival() {
    Arrival now;
    now.steps = steps_.load(std::memory_order_acquire);
    const std::int64_t since = since_.load(std::memory_order_relaxed);
    now.rests = since == kResting;
    if (!now.rests) now.waiting_seconds = std::max(0.0, seconds_between(std::max(time(since), forgiven_), Clock::now()));
    const std::lock_guard lock(mutex_);
    now.doing = doing_;
    return now;
  }
  /// When this rank will have waited for the timeout if it makes no step until then; never before the first step.
  Time complaint_due() {
    const Arrival now = arrival();
    if (now.rests || now.steps == 0) return Time::max();
    return std::max(after(setup_.timeout_seconds - now.waiting_seconds), patient_until_);
  }
  void be_patient(double seconds) { patient_until_ = after(seconds); }

  /// Waits; wakes now and then to see whether the process itself stood still, and is true where it did: what was due then is
  /// due anew.
  bool pause(std::vector<pollfd>& descriptors, Time until) {
    const double tick = setup_.timeout_seconds / 4;
    until = std::min(until, after(tick));
    descriptors.push_back({wake_.get(), POLLIN, 0});
    wait_for(descriptors, until);
    if (descriptors.back().revents) {
      std::uint64_t count = 0;
      const bool cleared = ::read(wake_.get(), &count, sizeof(count)) == sizeof(count);
      static_cast<void>(cleared);  // it tells nothing that ending() does not
    }
    descriptors.pop_back();
    const Time now = Clock::now();
    const bool stood_still = seconds_between(std::max(until, woken_), now) > tick;
    if (stood_still) forgiven_ = now;
    woken_ = now;
    return stood_still;
  }
  /// When the last pause ended.
  Time woken() const { return woken_; }

  /// On stderr: where this rank is.
  void say_where(std::int64_t late_steps) {
    const Arrival now = arrival();
    if (now.rests) return;
    const std::string what = now.doing.empty() ? "" : " in " + now.doing;
    const double seconds = now.waiting_seconds;
    const std::string duration = seconds < 10 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
    const std::string who = setup_.describe(setup_.rank);
    print(now.steps <= late_steps ? fmt::format("{} has not arrived where the others wait: {}{}", who, duration, what)
                                  : fmt::format("{} has waited for {}{}", who, duration, what));
  }

  const Setup setup_;
  std::string address_;

 private:
  static constexpr std::int64_t kResting = -1;
  static constexpr int kPartBits = 32;  // of a step's parts
  std::int64_t ticks(Time now) const { return (now - began_).count(); }
  Time time(std::int64_t ticks) const { return began_ + Clock::duration(ticks); }

  const Time began_;
  std::atomic<std::int64_t> steps_{0}, since_{0};
  std::mutex mutex_;
  std::string doing_;
  std::atomic<bool> ending_{false}, failed_{false};
  Descriptor wake_;
  std::thread thread_;
  // Of the thread alone.
  Time woken_, forgiven_{}, patient_until_{};
};

/// On rank 0.
class Arrivals::Leader final : public Channel {
 public:
  explicit Leader(Setup setup) : Channel(std::move(setup)), peers_(static_cast<std::size_t>(setup_.size)) {
    reserve_descriptors(setup_.size);
    bool ipv6 = false;
    std::vector<std::string> addresses = own_addresses(ipv6);
    listener_ = Descriptor(::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener_.open()) throw_errno("socket");
    sockaddr_storage any{};
    any.ss_family = ipv6 ? AF_INET6 : AF_INET;
    socklen_t length = ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    auto* address = reinterpret_cast<sockaddr*>(&any);
    const int off = 0;
    if (ipv6) ::setsockopt(listener_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (::bind(listener_.get(), address, length) != 0) throw_errno("bind");
    if (::listen(listener_.get(), SOMAXCONN) != 0) throw_errno("listen");
    if (::getsockname(listener_.get(), address, &length) != 0) throw_errno("getsockname");
    const int port = ntohs(ipv6 ? reinterpret_cast<const sockaddr_in6*>(&any)->sin6_port
                                : reinterpret_cast<const sockaddr_in*>(&any)->sin_port);
    token_ = make_token();
    address_ = token_;
    for (const std::string& one : addresses) address_ += fmt::format(" {}:{}", ipv6 ? "[" + one + "]" : one, port);
    address_ += fmt::format(" 127.0.0.1:{}", port);
    start([this] { run(); });
  }
  ~Leader() override { end(); }

 private:
  struct Stranger {
    Connection connection;
    Time due;
    int rank = 0;  ///< once it has said so, with the token
  };

  void run() {
    while (true) {
      exchange(asking_ ? answers_due_ : complaint_due());
      if (ending()) break;
      if (deserted_) {
        const std::string reason = setup_.describe(0) + " did not answer in time, and the others have left";
        return stand({reason, {}, {0}, {}}, kNobody);
      }
      if (!asking_ && (broken_ || !complained_.empty() || woken() >= complaint_due())) ask();
      if (asking_ && (answered() || woken() >= answers_due_)) {
        asking_ = false;
        peers_[0].answered = true;
        peers_[0].arrival = arrival();
        const Finding found = judge(peers_, setup_);
        if (found.standstill) return stand(*found.standstill, found.late_steps);
        be_patient(found.wait_seconds);
        for (const int rank : complained_) peer(rank).connection.write(fmt::format("wait {}", found.wait_seconds));
        complained_.clear();
      }
    }
    // Who has not been heard to join may have done so.
    for (Stranger& stranger : strangers_) {
      if (stranger.rank != 0) admit(stranger);
    }
    tell_all(failed() ? "failed" : "bye");
    await(setup_.answer_seconds);
  }

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  void ask() {
    ++round_;
    asking_ = true;
    answers_due_ = after(setup_.answer_seconds);
    for (Peer& peer : peers_) {
      peer.answered = false;
      if (peer.state == Peer::State::joined) peer.connection.write(fmt::format("ask {}", round_));
    }
  }
  bool answered() const {
    return std::all_of(peers_.begin() + 1, peers_.end(), [](const Peer& peer) {
      return peer.answered || (peer.state != Peer::State::absent && peer.state != Peer::State::joined);
    });
  }
  /// To all that there are; `awaited` are then those of which an answer can be expected.
  void tell_all(const std::string& line) {
    awaited_.clear();
    for (int rank = 1; rank < setup_.size; ++rank) {
      if (peer(rank).state != Peer::State::joined) continue;
      peer(rank).connection.write(line);
      awaited_.insert(rank);
    }
  }
  void await(double seconds) {
    const Time due = after(seconds);
    while (!awaited_.empty() && Clock::now() < due) exchange(due);
  }

  void stand(const Standstill& standstill, std::int64_t late_steps) {
    say_where(late_steps);
    tell_all(fmt::format("say {}", late_steps));
    for (const int rank : standstill.silent) awaited_.erase(rank);
    await(setup_.answer_seconds);
    print(standstill.reason);
    setup_.on_standstill(standstill);
    tell_all("leave");
    for (const int rank : standstill.silent) awaited_.erase(rank);
    await(setup_.answer_seconds);
    for (Peer& peer : peers_) peer.connection.close();
    setup_.leave();
  }

  /// Waits, and takes in what the others say.
  void exchange(Time until) {
    std::vector<pollfd> descriptors;
    const bool accepting = strangers_.size() < kStrangers && Clock::now() >= accept_from_;
    descriptors.push_back({accepting ? listener_.get() : -1, POLLIN, 0});
    if (!accepting) until = std::min(until, accept_from_);
    for (const Stranger& stranger : strangers_) descriptors.push_back(stranger.connection.interest());
    if (!strangers_.empty()) until = std::min(until, strangers_.front().due);
    for (const Peer& peer : peers_) descriptors.push_back(peer.connection.interest());
    if (pause(descriptors, until)) answers_due_ = after(setup_.answer_seconds);

    auto descriptor = descriptors.begin() + 1;
    for (auto stranger = strangers_.begin(); stranger != strangers_.end(); ++descriptor) {
      const bool stays = !descriptor->revents ? woken() < stranger->due : listen_to(*stranger);
      stranger = stays ? std::next(stranger) : strangers_.erase(stranger);
    }
    for (int rank = 0; rank < setup_.size; ++rank, ++descriptor) {
      if (descriptor->revents) listen_to(rank);
    }
    if (descriptors.front().revents) accept();
    if (listener_.open() &&
        std::all_of(peers_.begin() + 1, peers_.end(), [](const Peer& peer) { return peer.state != Peer::State::absent; })) {
      listener_.close();
      strangers_.clear();
    }
  }

  void accept() {
    while (strangers_.size() < kStrangers) {
      Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.open()) {
        // Where there is no descriptor left the next one stays in the queue, and poll would name it again at once.
        if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) accept_from_ = after(1);
        return;
      }
      strangers_.push_back({Connection(std::move(socket)), after(kConnectSeconds), 0});
    }
  }

  void admit(Stranger& stranger) {
    peer(stranger.rank).state = Peer::State::joined;
    peer(stranger.rank).connection = std::move(stranger.connection);
  }
  /// True while it is not known who it is.
  bool listen_to(Stranger& stranger) {
    stranger.connection.flush();
    stranger.connection.read();
    while (const auto line = stranger.connection.line()) {
      if (stranger.rank != 0) {
        if (*line != "joined" || peer(stranger.rank).state != Peer::State::absent) return false;
        admit(stranger);
        listen_to(stranger.rank);  // it may have said more
        return false;
      }
      std::istringstream words(*line);
      std::string hello, token;
      int rank = 0;
      if (!(words >> hello >> token >> rank) || hello != "hello" || token != token_) return false;
      if (rank <= 0 || rank >= setup_.size || peer(rank).state != Peer::State::absent) return false;
      stranger.rank = rank;
      stranger.connection.write("welcome " + token_);
    }
    return !stranger.connection.ended();
  }

  void listen_to(int rank) {
    Peer& peer = this->peer(rank);
    peer.connection.flush();
    peer.connection.read();
    while (const auto line = peer.connection.line()) {
      std::istringstream words(*line);
      std::string word;
      words >> word;
      if (word == "waiting") {
        complained_.insert(rank);
      } else if (word == "answer") {
        int round = 0;
        Arrival arrival;
        if (words >> round >> arrival.steps >> arrival.waiting_seconds >> arrival.rests && round == round_) {
          peer.arrival = arrival;
          peer.answered = true;
        }
      } else if (word == "said") {
        awaited_.erase(rank);
      } else if (word == "failed") {
        peer.state = Peer::State::failed;
        broken_ = true;
      } else if (word == "bye" || word == "left") {
        words >> peer.arrival.steps;
        deserted_ |= word == "left";
        peer.state = Peer::State::left;
      }
    }
    if (peer.state == Peer::State::joined && peer.connection.ended()) {
      peer.state = Peer::State::ended;
      broken_ = true;
    }
    if (peer.state != Peer::State::joined) {
      peer.connection.close();
      awaited_.erase(rank);
      complained_.erase(rank);
    }
  }

  std::vector<Peer> peers_;  ///< by rank; the first is this one
  std::list<Stranger> strangers_;
  Descriptor listener_;
  std::string token_;
  Time accept_from_{}, answers_due_{};
  int round_ = 0;
  bool asking_ = false, broken_ = false, deserted_ = false;
  std::set<int> complained_, awaited_;
};

/// On every other rank.
class Arrivals::Follower final : public Channel {
 public:
  Follower(Setup setup, const std::string& address) : Channel(std::move(setup)), leader_(join(address, setup_.rank)) {
    address_ = address;
    start([this] { run(); });
  }
  ~Follower() override { end(); }

 private:
  void run() {
    while (true) {
      exchange(complained_ ? given_up_at_ : complaint_due());
      if (ending()) break;
      if (late_steps_) return stand();
      if (leader_failed_) return desert(" failed");
      if (leader_.open() && leader_.ended()) return desert(" ended without a word");
      if (complained_ && woken() >= given_up_at_)
        return desert(" does not answer: stopped, or its host or the network to it is gone");
      if (!complained_ && woken() >= complaint_due()) {
        if (!leader_.open()) return desert(" ended before the others");
        complained_ = true;
        give_time();
        leader_.write("waiting");
      }
    }
    // What has been said arrives for certain only once the other side has read it and closes.
    leader_.write(failed() ? "failed" : fmt::format("bye {}", arrival().steps));
    leader_.finish_writing();
    const Time due = after(setup_.answer_seconds);
    while (leader_.open() && !leader_.ended() && Clock::now() < due) exchange(due);
  }

  /// For rank 0 to do something: it asks at once and judges after answer_seconds.
  void give_time() { given_up_at_ = after(3 * setup_.answer_seconds); }

  void stand() {
    say_where(*late_steps_);
    leader_.write("said");
    const Time due = after(kFilesSeconds);
    while (!leave_ && !leader_.ended() && Clock::now() < due) exchange(due);
    leader_.close();
    setup_.leave();
  }

  void desert(const std::string& what) {
    say_where(0);
    print(setup_.describe(setup_.rank) + " leaves: " + setup_.describe(0) + what);
    leader_.write("left");
    leader_.close();
    setup_.leave();
  }

  void exchange(Time until) {
    std::vector<pollfd> descriptors{leader_.ended() ? pollfd{-1, 0, 0} : leader_.interest()};
    if (pause(descriptors, until)) give_time();
    if (!descriptors.front().revents) return;
    leader_.flush();
    leader_.read();
    while (const auto line = leader_.line()) {
      std::istringstream words(*line);
      std::string word;
      words >> word;
      if (word == "ask") {
        int round = 0;
        words >> round;
        leader_.write(to_line(round, arrival()));
        give_time();
      } else if (word == "wait") {
        double seconds = 0;
        words >> seconds;
        complained_ = false;
        be_patient(seconds);
      } else if (word == "say") {
        late_steps_ = kNobody;
        words >> *late_steps_;
      } else if (word == "leave") {
        leave_ = true;
      } else if (word == "failed") {
        leader_failed_ = true;
      } else if (word == "bye") {
        complained_ = false;
        leader_.close();
      }
    }
  }

  Connection leader_;  ///< closed once it has said that it ends
  bool complained_ = false, leave_ = false, leader_failed_ = false;
  Time given_up_at_{};
  std::optional<std::int64_t> late_steps_;  ///< once there is a standstill
};

Arrivals::Arrivals(Setup setup, const std::string& address) {
  if (setup.rank == 0) {
    channel_ = std::make_unique<Leader>(std::move(setup));
  } else {
    channel_ = std::make_unique<Follower>(std::move(setup), address);
  }
}
Arrivals::~Arrivals() = default;

const std::string& Arrivals::address() const { return channel_->address(); }
void Arrivals::step() { channel_->step(); }
void Arrivals::part() { channel_->part(); }
void Arrivals::doing(std::string what) { channel_->doing(std::move(what)); }
void Arrivals::rest() { channel_->rest(); }
void Arrivals::fail() { channel_->fail(); }

}  // namespace roofmark
