// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/measure.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <sstream>
#include <thread>
#include <utility>

#include "harness/model/statistics.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

namespace {

constexpr int kMostSlots = 4096;
constexpr double kNoLimit = 1e18;  // bytes
// Stands for a sample that does not count: in a team, one void sample makes the others' of that moment void.
constexpr double kVoid = std::numeric_limits<double>::infinity();
// With a launch this long, evicting the caches before each one costs little beside it.
constexpr double kFlushFromSeconds = 100e-6;

/// Adds the time until it is destroyed to a total.
class Stopwatch {
 public:
  Stopwatch(double& total, const std::function<double()>& clock) : total_(total), clock_(clock), start_(clock()) {}
  ~Stopwatch() { total_ += clock_() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  const std::function<double()>& clock_;
  double start_;
};

/// Google Benchmark's own output is not wanted: samples are kept by the loop, records are presented elsewhere.
class SilentReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

int launches_for(double seconds, const Effort& effort) {
  if (seconds >= effort.sample_seconds) return 1;
  return static_cast<int>(
      std::clamp(std::ceil(effort.sample_seconds / std::max(seconds, 1e-9)), 1.0, double(effort.max_launches)));
}

std::vector<double> seconds_of(const std::vector<Timing>& timings, int launches) {
  std::vector<double> seconds;
  for (const Timing& timing : timings) seconds.push_back(timing.valid ? timing.device_seconds / launches : kVoid);
  return seconds;
}

}  // namespace

double steady_seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

Record blank_record(const Case& c, int pass) {
  Record record;
  record.name = c.name();
  record.family = c.family;
  record.how = c.how;
  record.type = c.type;
  record.shape = c.shape;
  record.work = c.work;
  record.message = c.message;
  record.overlap = c.overlap;
  record.raises = c.raises;
  record.pass = pass;
  return record;
}

SlotPlan plan_slots(const Case& c, std::size_t last_level_cache_bytes, std::size_t limit_bytes) {
  if (c.protocol.cache == Cache::warm) return {1, "warm"};
  const std::size_t touched = std::max<std::size_t>(c.touched_bytes ? c.touched_bytes : c.slot_bytes, 1);
  const std::size_t cold = 4 * last_level_cache_bytes;
  if (touched >= cold) return {1, "size"};
  const std::size_t wanted = std::min<std::size_t>(cold / touched + 1, kMostSlots);
  const std::size_t room = limit_bytes > c.shared_bytes ? limit_bytes - c.shared_bytes : 0;
  const std::size_t fitting = c.slot_bytes ? room / c.slot_bytes : wanted;
  const std::size_t slots = std::max<std::size_t>(1, std::min(wanted, fitting));
  return {static_cast<int>(slots), slots * touched > cold ? "slots" : "partly"};
}

/// One case of the group under way.
struct Runner::Member {
  const Case* c = nullptr;
  Record record;
  std::unique_ptr<Prepared> prepared;
  std::unique_ptr<Batch> batch;
  BatchPlan plan;
  int samples_per_block = 1;
  int blocks = 1;
  bool alive = true;
  std::vector<double> own_seconds;  ///< this rank's part of the samples
};

Runner::Runner(Device& device, Team& team, Settings settings) : device_(device), team_(team), settings_(std::move(settings)) {}

// Every stage begins with the ranks together, so that a signal to one of them ends all at the same place.
void Runner::stage(const Member& member, std::string_view name) {
  team_.barrier();
  if (listener_) listener_(member.record.name, name);
}

namespace {

// The verdict on a case is the worst of the ranks': in this order, with the reason that came with it.
constexpr std::string_view kWorstLetters = "abcde";
constexpr Status kWorstFirst[] = {Status::wrong, Status::failed, Status::not_run, Status::unsupported, Status::ok};

int badness(Status status) {
  return static_cast<int>(std::find(std::begin(kWorstFirst), std::end(kWorstFirst), status) - std::begin(kWorstFirst));
}

}  // namespace

// Runs one stage of one case on this rank and lets the team agree on the outcome: what failed on one rank failed on all.
void Runner::guarded(Member& member, const std::function<void()>& stage) {
  if (!member.alive) return;
  Status status = Status::ok;
  std::string reason;
  bool agreed = false;
  if (device_lost()) {
    status = Status::not_run;
    reason = "device lost to " + lost_to_;
  } else {
    try {
      stage();
      status = member.record.status == Status::wrong ? Status::wrong : Status::ok;
      reason = member.record.reason;
    } catch (const Interrupted&) {
      throw;
    } catch (const TeamBroken&) {
      throw;
    } catch (const PeerFailed&) {
      agreed = true;
    } catch (const OutOfMemory& error) {
      status = Status::not_run;
      reason = error.what();
    } catch (const Unsupported& error) {
      status = Status::unsupported;
      reason = error.what();
    } catch (const DeviceError& error) {
      status = Status::failed;
      reason = error.what();
      if (error.sticky()) lost_to_ = member.record.name;
    } catch (const std::exception& error) {
      status = Status::failed;
      reason = error.what();
    }
  }
  if (!agreed && team_.agree(status == Status::ok)) return;
  member.alive = false;
  settle(member, status, reason);
}

void Runner::settle(Member& member, Status status, const std::string& reason) {
  Record& record = member.record;
  record.status = status;
  record.reason = reason;
  if (team_.size() == 1) return;
  std::optional<Verification>& found = record.verification_after ? record.verification_after : record.verification_before;
  const Verification own = found.value_or(Verification{});
  // A line of the verdict and of what verifying found, then the reason.
  const std::vector<std::string> said =
      team_.gather(fmt::format("{}{} {} {}\n{}", kWorstLetters[badness(status)], own.wrong, own.error, own.bound, reason));
  const auto letter = [&](std::size_t rank) { return said[rank].front(); };
  std::size_t worst = 0;
  for (std::size_t rank = 1; rank < said.size(); ++rank) {
    if (letter(rank) < letter(worst)) worst = rank;
  }
  record.status = kWorstFirst[letter(worst) - kWorstLetters.front()];
  record.reason = team_.describe(static_cast<int>(worst)) + ": " + said[worst].substr(said[worst].find('\n') + 1);
  if (record.status != Status::wrong) return;
  std::size_t wrong = 0;
  std::vector<std::string> others;
  for (std::size_t rank = worst; rank < said.size(); ++rank) {
    if (letter(rank) != letter(worst)) continue;
    wrong += std::strtoull(said[rank].c_str() + 1, nullptr, 10);
    if (rank != worst) others.push_back(team_.describe(static_cast<int>(rank)));
  }
  if (!others.empty()) record.reason += fmt::format("; wrong too: {}", fmt::join(others, ", "));
  if (!found) return;
  // The record is of the team, and so is what verifying found.
  char* next = nullptr;
  std::strtoull(said[worst].c_str() + 1, &next, 10);
  const double error = std::strtod(next, &next), bound = std::strtod(next, &next);
  found = Verification{Verification::Status::failed, error, bound, record.reason, wrong};
}

void Runner::prepare(Member& member, std::size_t limit_bytes) {
  stage(member, "preparing");
  Stopwatch watch(wall_.preparation, settings_.clock);
  const Case& c = *member.c;
  const std::size_t least = c.slot_bytes + c.shared_bytes;
  if (least > device_.info().memory_bytes) {
    throw Unsupported(fmt::format("needs {} bytes, the device has {}", least, device_.info().memory_bytes));
  }
  if (least > limit_bytes) throw OutOfMemory(least, limit_bytes);
  const SlotPlan slots = plan_slots(c, device_.info().last_level_cache_bytes(), limit_bytes);
  Setup setup{device_, slots.slots, settings_.data, settings_.seed,
              [&](const std::vector<Launch>& launches) { return time(launches, c.protocol, slots.slots); }};
  const std::size_t before = device_.allocated_bytes();
  member.prepared = c.prepare(setup);
  member.record.memory_bytes = device_.allocated_bytes() - before;
  member.plan.slots = slots.slots;
  Measurement measurement;
  measurement.cache = c.protocol.cache;
  measurement.cache_by = slots.cache_by;
  measurement.slots = slots.slots;
  member.record.measurement = measurement;
}

void Runner::launch_once(Prepared& prepared, int slot) {
  prepared.reset(slot);
  prepared.launch(device_.stream(), slot);
  device_.synchronize();
}

Verification Runner::verify(Member& member, int slot) {
  Stopwatch watch(wall_.verification, settings_.clock);
  launch_once(*member.prepared, slot);
  return judge(member, slot);
}

Verification Runner::judge(Member& member, int slot) {
  Verification found = member.prepared->verify(slot);
  if (found.status == Verification::Status::failed) {
    member.record.status = Status::wrong;
    member.record.reason =
        fmt::format("wrong result: error {:.4g} where {:.4g} is allowed ({})", found.error, found.bound, found.detail);
  }
  return found;
}

// A case whose launches agree bit for bit needs no second look at every element: the bits that were found right still are.
Verification Runner::verify_again(Member& member, int slot) {
  Stopwatch watch(wall_.verification, settings_.clock);
  launch_once(*member.prepared, slot);
  const std::optional<Fingerprint>& fingerprint = member.record.fingerprint;
  if (fingerprint && fingerprint->deterministic && member.prepared->outputs_are_all()) {
    if (hash_outputs(*member.prepared, slot) == fingerprint->hash) {
      Verification found = *member.record.verification_before;
      found.detail = "the bits that were verified before";
      return found;
    }
  }
  return judge(member, slot);
}

// Nothing when a launch writes nothing.
std::optional<std::string> Runner::hash_outputs(Prepared& prepared, int slot) {
  const std::vector<Output> outputs = prepared.outputs(slot);
  if (outputs.empty()) return std::nullopt;
  std::uint64_t hash = 0;
  for (const Output& output : outputs) {
    hash = hash * kGoldenGamma + device_.hash(output.data, output.count * size_of(output.type));
  }
  return fmt::format("{:016x}", hash);
}

void Runner::take_fingerprint(Member& member) {
  Stopwatch watch(wall_.verification, settings_.clock);
  Fingerprint fingerprint;
  const DeviceInfo& info = device_.info();
  fingerprint.key = fmt::format("{}|{}|cc{}|sm{}|{}|data{}|seed{}|{}", settings_.build_key, info.name, info.compute_capability,
                                info.multiprocessors, member.record.name, static_cast<int>(settings_.data), settings_.seed,
                                member.prepared->fingerprint_key());
  std::optional<std::string> hash;
  for (int launch = 0; launch < 3; ++launch) {
    launch_once(*member.prepared, 0);  // by every rank, also by one that gets nothing
    hash = hash_outputs(*member.prepared, 0);
    if (launch > 0 && hash.value_or("") != fingerprint.hash) fingerprint.deterministic = false;
    fingerprint.hash = hash.value_or("");
  }
  if (!fingerprint.deterministic) fingerprint.hash.clear();
  if (hash) member.record.fingerprint = fingerprint;
  if (team_.size() > 1) compare_fingerprints(member);
}

// Devices that are alike must come to the same bits; which of them do not, most of the others say, and where there is no most
// all are named. One whose own launches differ stands for a result of its own.
void Runner::compare_fingerprints(Member& member) {
  std::optional<Fingerprint>& own = member.record.fingerprint;
  const std::vector<std::string> lines = team_.gather(own ? own->key + "\n" + own->hash : std::string());
  std::map<std::string, std::map<std::string, std::vector<int>>> ranks;  // by key, by hash
  for (std::size_t rank = 0; rank < lines.size(); ++rank) {
    const auto end = lines[rank].find('\n');
    if (end != std::string::npos)
      ranks[lines[rank].substr(0, end)][lines[rank].substr(end + 1)].push_back(static_cast<int>(rank));
  }
  if (!own) return;
  std::vector<int>& differing = own->differing_ranks;
  for (const auto& [key, hashes] : ranks) {
    std::size_t most = 0;
    for (const auto& [hash, same] : hashes) most = std::max(most, same.size());
    const auto with_most =
        std::count_if(hashes.begin(), hashes.end(), [&](const auto& group) { return group.second.size() == most; });
    const auto unsteady = hashes.find(std::string());
    if (unsteady != hashes.end() && unsteady->second.size() == most) continue;  // the operation may be so
    for (const auto& [hash, same] : hashes) {
      if (hashes.size() == 1 || (same.size() == most && with_most == 1)) continue;
      differing.insert(differing.end(), same.begin(), same.end());
    }
  }
  std::sort(differing.begin(), differing.end());
}

// Finds the launches a sample and the path, warms up until two windows agree, and decides from the last window's spread how
// many samples the interval needs.
void Runner::warm_up(Member& member) {
  stage(member, "warming up");
  Stopwatch watch(wall_.warm_up, settings_.clock);
  const Effort& effort = settings_.effort;
  const Case& c = *member.c;
  Measurement& measurement = *member.record.measurement;
  Prepared& prepared = *member.prepared;
  const Launch launch = [&prepared](Stream stream, int slot) { prepared.launch(stream, slot); };

  BatchPlan& plan = member.plan;
  plan.path = c.protocol.issue;
  if (prepared.needs_reset()) plan.restore = [&prepared](int slot) { prepared.reset(slot); };

  const double started = settings_.clock();
  // The first launches pay for loading and for idle clocks, so the count is settled in two steps.
  plan.launches = c.protocol.launches ? c.protocol.launches : 1;
  member.batch = device_.batch(plan, launch);
  member.batch->run();
  double seconds = member.batch->run().device_seconds / plan.launches;
  if (!c.protocol.launches) {
    for (int round = 0; round < 2; ++round) {
      const int launches = launches_for(team_.max({seconds}).front(), effort);
      if (launches != plan.launches) {
        plan.launches = launches;
        member.batch = device_.batch(plan, launch);
        member.batch->run();
      }
      seconds = member.batch->run().device_seconds / plan.launches;
    }
  }
  if (team_.decide(measurement.cache_by == "partly" && seconds >= kFlushFromSeconds)) {
    plan.flush_before = true;
    plan.launches = 1;
    measurement.cache_by = "flush";
    member.batch = device_.batch(plan, launch);
  }

  std::vector<double> window, previous;
  std::vector<double> elapsed;  // host time a sample takes in all, which the budget has to pay
  do {
    previous = std::exchange(window, {});
    const double window_start = settings_.clock();
    do {
      team_.barrier();
      const double sample_start = settings_.clock();
      const Timing timing = member.batch->run();
      window.push_back(timing.valid ? timing.device_seconds / plan.launches : kVoid);
      elapsed.push_back(settings_.clock() - sample_start);
    } while (team_.decide(settings_.clock() - window_start < effort.window_seconds));
    window = team_.max(std::move(window));
    std::erase(window, kVoid);
    measurement.settled = windows_agree(previous, window, effort.window_agreement);
  } while (team_.decide(!measurement.settled && settings_.clock() - started < effort.warm_up_seconds));
  if (window.empty()) throw DeviceError("no valid sample: the gate had to open by itself each time", false);

  // A rank that takes no part spends next to nothing.
  const double sample_cost = std::max(team_.max({median(elapsed)}).front(), 1e-9);
  const double affordable = std::max(1.0, effort.max_seconds / sample_cost);
  // A pilot of one sample knows no spread: then the budget decides.
  const auto needed = samples_needed(window, effort.interval_half_width, effort.blocks);
  const double wanted = needed ? std::max<double>(double(*needed), effort.least_samples) : effort.most_samples;
  const double samples = std::min({wanted, affordable, double(effort.most_samples)});
  measurement.stopped_by = wanted <= affordable ? StopReason::interval : StopReason::budget;
  member.blocks = static_cast<int>(team_.decide(std::clamp<std::int64_t>(std::llround(samples), 1, effort.blocks)));
  member.samples_per_block = static_cast<int>(team_.decide(std::llround(std::ceil(samples / member.blocks))));
  measurement.launches_per_sample = plan.launches;
  measurement.path = member.batch->path();
  measurement.warm_up_seconds = settings_.clock() - started;
}

// One block through Google Benchmark: one event pair and one SetIterationTime a sample.
void Runner::time_block(Member& member, int block) {
  if (block >= member.blocks) return;
  stage(member, "timing");
  Stopwatch watch(wall_.timing, settings_.clock);
  Measurement& measurement = *member.record.measurement;
  Block around;
  around.before = device_.telemetry();
  // The clock falls between blocks and operands may have left the caches: one batch that does not count.
  team_.barrier();
  member.batch->run();

  std::vector<Timing> timings;
  std::exception_ptr thrown;
  const int launches = measurement.launches_per_sample;
  benchmark::RegisterBenchmark(member.record.name.c_str(),
                               [&](benchmark::State& state) {
                                 while (state.KeepRunningBatch(launches)) {
                                   try {
                                     team_.barrier();
                                     timings.push_back(member.batch->run());
                                     state.SetIterationTime(timings.back().device_seconds);
                                   } catch (...) {
                                     thrown = std::current_exception();
                                     state.SkipWithError("stopped");
                                     break;
                                   }
                                 }
                               })
      ->UseManualTime()
      ->Iterations(static_cast<benchmark::IterationCount>(member.samples_per_block) * launches)
      ->Repetitions(1);
  SilentReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, ".");
  benchmark::ClearRegisteredBenchmarks();
  if (thrown) std::rethrow_exception(thrown);

  around.clock_hz = device_.observed_clock_hz();
  around.after = device_.telemetry();
  measurement.blocks.push_back(around);
  const bool throttled = !around.before.throttle_reasons.empty() || !around.after.throttle_reasons.empty();
  const std::vector<double> slowest = team_.max(seconds_of(timings, launches));
  for (std::size_t i = 0; i < timings.size(); ++i) {
    if (slowest[i] == kVoid) {
      ++measurement.void_samples;
      continue;
    }
    if (member.prepared->takes_part()) member.own_seconds.push_back(timings[i].device_seconds / launches);
    measurement.samples.push_back({timings[i].start_seconds, slowest[i], timings[i].host_seconds / launches, block, throttled});
  }
}

// As one line of text a rank: the statistics in a fixed order, absent ones 0; empty for one that takes no part.
void Runner::gather_ranks(Member& member) {
  const std::vector<double>& own = member.own_seconds;
  std::vector<Sample> samples;
  for (const double seconds : own) samples.push_back({0, seconds, 0, 0, false});
  std::string line;
  if (!own.empty()) {
    const Summary summary = summarize(samples);
    line = fmt::format("{} {} {} {}", summary.median, summary.maximum, summary.p95.value_or(0), summary.p99.value_or(0));
  }
  for (const std::string& text : team_.gather(line)) {
    std::optional<RankTimes>& place = member.record.measurement->ranks.emplace_back();
    if (text.empty()) continue;
    RankTimes times;
    double p95 = 0, p99 = 0;
    std::istringstream(text) >> times.median >> times.maximum >> p95 >> p99;
    if (p95 > 0) times.p95 = p95;
    if (p99 > 0) times.p99 = p99;
    place = times;
  }
}

std::vector<double> Runner::time(const std::vector<Launch>& launches, const Protocol& protocol, int slots) {
  std::vector<double> seconds;
  std::string refused;
  // A library may propose other ways on another rank: what only some can do none takes.
  const auto most = static_cast<std::size_t>(team_.max({static_cast<double>(launches.size())}).front());
  for (std::size_t i = 0; i < most; ++i) {
    const double taken = time_one(i < launches.size() ? &launches[i] : nullptr, protocol, slots, refused);
    if (i < launches.size()) seconds.push_back(taken);
  }
  if (std::any_of(seconds.begin(), seconds.end(), [](double taken) { return taken < kVoid; })) return seconds;
  if (team_.size() == 1 && !refused.empty()) throw DeviceError(refused, false);
  const std::vector<std::string> reasons = team_.gather(refused);
  for (std::size_t rank = 0; rank < reasons.size(); ++rank) {
    if (!reasons[rank].empty()) throw DeviceError(team_.describe(static_cast<int>(rank)) + ": " + reasons[rank], false);
  }
  throw DeviceError("nothing that every rank can do was proposed", false);
}

// Whoever cannot do it goes through the same steps as the others, so that all come to the same next one; only a device that is
// lost ends them, as in every stage.
double Runner::time_one(const Launch* launch, const Protocol& protocol, int slots, std::string& refused) {
  BatchPlan plan;
  plan.path = protocol.issue;
  plan.slots = slots;
  plan.launches = 1;
  std::unique_ptr<Batch> batch;
  const auto run = [&]() -> std::optional<Timing> {
    if (!launch) return std::nullopt;
    try {
      if (!batch) batch = device_.batch(plan, *launch);
      return batch->run();
    } catch (const DeviceError& error) {
      if (error.sticky()) throw;
      refused = error.what();
      launch = nullptr;
      return std::nullopt;
    }
  };
  run();
  const auto one = run();
  const double once = team_.max({one ? one->device_seconds : kVoid}).front();
  if (once == kVoid) return kVoid;
  plan.launches = launches_for(once, settings_.effort);
  if (plan.launches > 1) batch.reset();
  const double started = settings_.clock();
  std::vector<double> seconds;
  do {
    team_.barrier();
    const auto timing = run();
    if (timing && timing->valid) seconds.push_back(timing->device_seconds / plan.launches);
  } while (team_.decide(launch && settings_.clock() - started < settings_.effort.window_seconds / 2 && seconds.size() < 50));
  if (launch && seconds.empty()) {
    refused = "no valid sample: the gate had to open by itself each time";
  }
  return team_.max({launch && !seconds.empty() ? median(seconds) : kVoid}).front();
}

std::vector<Record> Runner::run(const Group& group, int pass) {
  std::vector<Member> members;
  for (const Case& c : group.cases) {
    Member member;
    member.c = &c;
    member.record = blank_record(c, pass);
    Record& record = member.record;
    record.status = Status::ok;
    if (!c.unsupported.empty()) {
      record.status = Status::unsupported;
      record.reason = c.unsupported;
      member.alive = false;
    }
    members.push_back(std::move(member));
  }

  // The group lives in memory together, so each gets its share of what may be taken.
  const auto alive = std::count_if(members.begin(), members.end(), [](const Member& m) { return m.alive; });
  // A lost device answers no question: its cases are told so one by one below.
  const bool ask = alive > 0 && !device_lost();
  const double free = ask ? static_cast<double>(device_.free_bytes()) * settings_.memory_fraction : kNoLimit;
  // All ranks prepare the same number of slots.
  const auto allowed = static_cast<std::size_t>(team_.min(free));
  for (Member& member : members) guarded(member, [&] { prepare(member, allowed / alive); });
  for (Member& member : members) {
    guarded(member, [&] {
      stage(member, "verifying");
      member.record.verification_before = verify(member, 0);
    });
    guarded(member, [&] { take_fingerprint(member); });
  }
  for (Member& member : members) guarded(member, [&] { warm_up(member); });
  for (int block = 0; block < settings_.effort.blocks; ++block) {
    if (block > 0) std::this_thread::sleep_for(std::chrono::duration<double>(settings_.effort.gap_seconds));
    for (Member& member : members) guarded(member, [&] { time_block(member, block); });
  }
  for (Member& member : members) {
    guarded(member, [&] {
      stage(member, "verifying");
      member.record.verification_after = verify_again(member, member.plan.slots - 1);
      if (team_.size() > 1) gather_ranks(member);
    });
  }

  std::vector<Record> records;
  for (Member& member : members) {
    Record& record = member.record;
    if (member.prepared) record.notes = member.prepared->notes();
    if (member.alive && record.measurement->samples.empty()) {
      record.status = Status::failed;
      record.reason = "no valid sample: the gate had to open by itself each time";
    }
    if (record.status == Status::ok) {
      Measurement& measurement = *record.measurement;
      measurement.summary = summarize(measurement.samples);
      if (!(measurement.summary.minimum > 0)) {
        record.status = Status::failed;
        record.reason = "the device's clock did not advance over a sample";
      }
    }
    if (record.status == Status::ok) {
      Measurement& measurement = *record.measurement;
      std::vector<double> clocks;
      for (const Block& block : measurement.blocks) {
        if (block.clock_hz) clocks.push_back(*block.clock_hz);
      }
      if (!clocks.empty()) measurement.clock_hz = median(clocks);
    } else {
      record.measurement.reset();  // a wrong or failed case has no number
    }
    member.batch.reset();
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace roofmark
