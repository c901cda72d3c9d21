// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/sampler.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>

namespace roofmark {

namespace {

double thread_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

struct Sampler::State {
  std::shared_ptr<TelemetrySource> source;
  std::function<double()> seconds;
  std::chrono::duration<double> patience, long_patience;

  std::mutex mutex;
  std::condition_variable wake, answered;
  std::uint64_t asked = 0, served = 0;  ///< readings that somebody waits for
  bool quiet = false, reading = false;
  bool asked_counters = false, ready = false, ending = false, ended = false, gave_up = false;
  CounterReadings counters;
  TelemetrySeries series;
  Telemetry latest;

  void run();
  /// Waits for `done`; gives the source up when it does not come.
  template <class Done>
  bool wait(std::unique_lock<std::mutex>& lock, const Done& done, bool is_long = false) {
    if (gave_up) return false;
    gave_up = !answered.wait_for(lock, is_long ? long_patience : patience, done);
    series.gave_up = series.gave_up || gave_up;
    return !gave_up;
  }
};

void Sampler::State::run() {
  // The source is asked without the lock: it may never answer.
  const double period_seconds = source->period_seconds();
  std::string power = source->power_kind();
  std::unique_lock lock(mutex);
  series.period_seconds = period_seconds;
  series.power = std::move(power);
  ready = true;
  answered.notify_all();
  const auto period =
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(period_seconds));
  const auto is_wanted = [&] { return ending || asked_counters || asked != served; };
  while (!ending) {
    if (std::exchange(asked_counters, false)) {
      lock.unlock();
      auto read = source->counters();
      lock.lock();
      counters = std::move(read);
      ready = true;
      answered.notify_all();
      continue;
    }
    if (quiet && !is_wanted()) {
      wake.wait(lock, [&] { return !quiet || is_wanted(); });
      continue;
    }
    const std::uint64_t serves = asked;
    reading = true;
    lock.unlock();
    const auto next = std::chrono::steady_clock::now() + period;
    const double begin = seconds();
    Telemetry state = source->read();
    const double middle = (begin + seconds()) / 2;
    const double spent = thread_cpu_seconds();
    lock.lock();
    reading = false;
    series.cpu_seconds = spent;
    latest = state;
    const bool says = state != Telemetry();  // a reading that says nothing is none
    if (!gave_up) series.gave_up = !says && !series.readings.empty();
    if (says) series.readings.push_back({middle, std::move(state)});
    served = serves;
    answered.notify_all();
    // Where a reading takes longer than a period, others get the driver in between.
    wake.wait_until(lock, std::max(next, std::chrono::steady_clock::now() + period / 4), is_wanted);
  }
  ended = true;
  answered.notify_all();
}

Sampler::Sampler(std::shared_ptr<TelemetrySource> source, std::function<double()> seconds, double patience_seconds,
                 double long_patience_seconds) {
  if (!source) return;
  state_ = std::make_shared<State>();
  state_->source = std::move(source);
  state_->seconds = std::move(seconds);
  state_->patience = std::chrono::duration<double>(patience_seconds);
  state_->long_patience = std::chrono::duration<double>(long_patience_seconds);
  // Signals are for the measuring thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([state = state_] { state->run(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::unique_lock lock(state_->mutex);
  state_->wait(
      lock, [this] { return state_->ready; }, true);
}

Sampler::~Sampler() {
  if (!state_) return;
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  state_->wake.notify_all();
  state_->wait(lock, [this] { return state_->ended; });
}

std::uint64_t Sampler::ask() {
  if (!state_) return 0;
  const std::lock_guard lock(state_->mutex);
  state_->wake.notify_all();
  return ++state_->asked;
}

bool Sampler::answered(std::uint64_t asked) const {
  if (!state_) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->gave_up || state_->served >= asked;
}

Telemetry Sampler::wait(std::uint64_t asked) {
  if (!state_) return {};
  std::unique_lock lock(state_->mutex);
  if (!state_->wait(lock, [&] { return state_->served >= asked; })) return {};
  return state_->latest;
}

Sampler::Quiet::Quiet(Sampler& sampler) : sampler_(sampler) {
  if (!sampler_.state_) return;
  State& state = *sampler_.state_;
  std::unique_lock lock(state.mutex);
  state.quiet = true;
  state.wait(lock, [&] { return !state.reading; });
}

Sampler::Quiet::~Quiet() {
  if (!sampler_.state_) return;
  const std::lock_guard lock(sampler_.state_->mutex);
  sampler_.state_->quiet = false;
  sampler_.state_->wake.notify_all();
}

CounterReadings Sampler::counters() {
  if (!state_) return {};
  std::unique_lock lock(state_->mutex);
  state_->ready = false;
  state_->asked_counters = true;
  state_->wake.notify_all();
  if (!state_->wait(
          lock, [this] { return state_->ready; }, true)) {
    return {};
  }
  return state_->counters;
}

std::vector<Reading> Sampler::around(const Span& span) const {
  if (!state_) return {};
  const std::lock_guard lock(state_->mutex);
  const auto found = roofmark::around(state_->series.readings, span);
  return {found.begin(), found.end()};
}

TelemetrySeries Sampler::series_from(std::size_t first) const {
  if (!state_) return {};
  const std::lock_guard lock(state_->mutex);
  const TelemetrySeries& all = state_->series;
  TelemetrySeries rest{all.period_seconds, all.power, {}, all.cpu_seconds, all.gave_up};
  const auto skipped = static_cast<std::ptrdiff_t>(std::min(first, all.readings.size()));
  rest.readings.assign(all.readings.begin() + skipped, all.readings.end());
  return rest;
}

bool Sampler::may_be_throttled() const {
  if (!state_) return true;
  const std::lock_guard lock(state_->mutex);
  const auto& readings = state_->series.readings;
  if (readings.empty() || state_->series.gave_up) return true;
  const auto& reasons = readings.back().state.throttle_reasons;
  return reasons && std::any_of(reasons->begin(), reasons->end(),
                                [](const std::string& reason) { return reason != throttle::application_clocks.name; });
}

bool Sampler::gave_up() const {
  if (!state_) return false;
  const std::lock_guard lock(state_->mutex);
  return state_->gave_up;
}

}  // namespace roofmark
