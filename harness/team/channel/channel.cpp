// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/channel/channel.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "harness/team/channel/connection.hpp"

namespace roofmark::channel {

namespace {

constexpr std::int64_t kResting = -1;
constexpr int kPartBits = 32;  // of `steps_`, for the parts of a step
/// Between two looks at whether the process was interrupted. A launcher may leave it a second to end.
constexpr double kLookSeconds = 0.25;

/// As it goes into a line of the protocol.
std::string one_line(std::string text, std::size_t longest) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > longest) text.resize(longest);
  return text;
}

}  // namespace

Channel::Channel(TeamWatch::Setup setup)
    : setup_(std::move(setup)),
      began_(Clock::now()),
      timeout_seconds_(setup_.timeout_seconds),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      woken_(began_) {
  if (!wake_.open()) throw_errno("eventfd");
  since_ = ticks(began_);
}

void Channel::doing(std::string what) {
  what = one_line(std::move(what), kLongestLine / 2);
  const std::lock_guard lock(mutex_);
  doing_ = std::move(what);
  part_.clear();
}

// The time is written before the step: a thread that sees the step sees its time too.
void Channel::step() {
  since_.store(ticks(Clock::now()), std::memory_order_relaxed);
  steps_.store(((steps_.load(std::memory_order_relaxed) >> kPartBits) + 1) << kPartBits, std::memory_order_release);
}

void Channel::part() {
  since_.store(ticks(Clock::now()), std::memory_order_relaxed);
  steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Channel::named_part(std::string what) {
  part();
  what = one_line(std::move(what), kLongestLine / 4);
  const std::lock_guard lock(mutex_);
  part_ = std::move(what);
  part_steps_ = steps_.load(std::memory_order_relaxed);
}

void Channel::rest() { since_.store(kResting, std::memory_order_relaxed); }

void Channel::end() {
  ending_ = true;
  const std::uint64_t one = 1;
  const bool woken = ::write(wake_.get(), &one, sizeof(one)) == sizeof(one);
  static_cast<void>(woken);  // else the thread wakes by itself, later
  thread_.join();
}

Position Channel::position() {
  Position now;
  now.steps = steps_.load(std::memory_order_acquire);
  const std::int64_t since = since_.load(std::memory_order_relaxed);
  now.rests = since == kResting;
  if (!now.rests) now.waiting_seconds = std::max(0.0, seconds_between(std::max(time(since), forgiven_), Clock::now()));
  const std::lock_guard lock(mutex_);
  now.doing = doing_;
  if (!part_.empty() && part_steps_ == now.steps) now.doing += (doing_.empty() ? "" : ": ") + part_;
  return now;
}

Patience Channel::patience() const {
  const double seconds = timeout_seconds_;
  return {interrupted_ ? std::min(seconds, setup_.interrupted_seconds) : seconds, interrupted_};
}

Time Channel::complaint_due() {
  const Position now = position();
  if (now.rests || now.steps == 0) return Time::max();
  return std::max(after(patience().seconds - now.waiting_seconds), patient_until_);
}

void Channel::interrupt() {
  if (std::exchange(interrupted_, true)) return;
  patient_until_ = {};
  setup_.interrupt();
}

bool Channel::pause(std::vector<pollfd>& descriptors, Time until) {
  const double stop = timeout_seconds_ / 4;
  until = std::min(until, after(std::min(stop, kLookSeconds)));
  descriptors.push_back({wake_.get(), POLLIN, 0});
  wait_for(descriptors, until);
  if (descriptors.back().revents) {
    std::uint64_t count = 0;
    const bool cleared = ::read(wake_.get(), &count, sizeof(count)) == sizeof(count);
    static_cast<void>(cleared);  // ending() says all that it could
  }
  descriptors.pop_back();
  const Time now = Clock::now();
  const bool was_stopped = seconds_between(std::max(until, woken_), now) > stop;
  if (was_stopped) forgiven_ = now;
  woken_ = now;
  return was_stopped;
}

std::string Channel::new_fault() {
  if (!fault_.empty()) return {};
  const Position now = position();
  if (now.rests || now.steps == 0 || now.waiting_seconds < setup_.fault_seconds) return {};
  constexpr std::size_t kLongestFault = 1024;
  fault_ = one_line(setup_.fault(), kLongestFault);
  return fault_;
}

void Channel::say_where(std::int64_t late_steps) {
  const Position now = position();
  if (now.rests) return;
  const std::string what = now.doing.empty() ? "" : " in " + now.doing;
  const double seconds = now.waiting_seconds;
  const std::string duration = seconds < 0.05 ? "less than 0.1 s" : fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
  const std::string who = setup_.describe(setup_.rank);
  setup_.say(now.steps <= late_steps ? fmt::format("{} has not arrived where the others wait: for {}{}", who, duration, what)
                                     : fmt::format("{} has waited for {}{}", who, duration, what));
  for (const std::string& clue : setup_.clues()) setup_.say(fmt::format("{}: {}", who, clue));
}

}  // namespace roofmark::channel
