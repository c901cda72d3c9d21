// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/flow.hpp"

#include <fmt/format.h>

#include "bench/program/cpu_share.hpp"
#include "bench/program/interrupt.hpp"
#include "bench/program/run_folder.hpp"
#include "bench/program/settings.hpp"
#include "bench/program/standard_output.hpp"
#include "bench/program/time_limit.hpp"
#include "bench/program/together.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/machine/steady_seconds.hpp"
#include "harness/measure/overhead.hpp"
#include "harness/measure/runner.hpp"
#include "harness/team/gather.hpp"

namespace roofmark {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CpuTime, at, own, busy, stolen, cpus)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CpuShare, host, begin, end, cpus, cores, limited)

namespace {

std::size_t count_cases(const std::vector<Group>& groups) {
  std::size_t count = 0;
  for (const Group& group : groups) count += group.cases.size();
  return count;
}

std::size_t count_cases(const Plan& plan) {
  return (plan.ceilings_again ? 2 : 1) * count_cases(plan.ceilings) + count_cases(plan.suite);
}

std::vector<Record> left_out(const Group& group, int pass, const std::string& reason) {
  std::vector<Record> records;
  for (const Case& c : group.cases) records.push_back(left_out(c, pass, reason));
  return records;
}

/// While this lives, a session that is abandoned may ask the runner what it has observed.
class Observing {
 public:
  Observing(Session* session, Runner& runner) : session_(session) {
    if (!session_) return;
    const auto now = [&runner] {
      Observations observed;
      observed.counters = runner.own_counters();
      observed.telemetry = runner.telemetry();
      observed.findings = runner.find_own_lost_telemetry();
      return observed;
    };
    session_->observe({[&runner](std::size_t first) { return runner.telemetry(first); }, now}, runner.counters_before());
  }
  ~Observing() {
    if (session_) session_->observe({}, {});
  }
  Observing(const Observing&) = delete;
  Observing& operator=(const Observing&) = delete;

 private:
  Session* session_;
};

/// `more_after_suite`: gives further cases. False when the run was interrupted.
template <class OnMeasured, class More>
bool measure(Runner& runner, Team& team, const Plan& plan, std::string_view suite, const OnMeasured& on_measured,
             const More& more_after_suite) {
  TimeLimit limit(plan.limit_seconds, steady_seconds, suite);
  const auto measure_all = [&](const std::vector<Group>& groups, int pass) {
    for (const Group& group : groups) {
      const std::size_t cases = group.cases.size();
      if (team.decide(limit.allows(cases))) {
        on_measured(group, runner.run(group, pass), pass);
        limit.took(cases);
      } else {
        on_measured(group, left_out(group, pass, limit.refusal(cases)), pass);
      }
    }
  };
  try {
    measure_all(plan.ceilings, 1);
    measure_all(plan.suite, 1);
    measure_all(more_after_suite(), 1);
    if (plan.ceilings_again) measure_all(plan.ceilings, 2);
  } catch (const Interrupted&) {
    note_interruption();
    return false;
  }
  return true;
}

}  // namespace

int run_plan(const RunOptions& options, const RunSetup& setup, SharedSession& shared) {
  Team& team = setup.team;
  Watch& watch = setup.watch;
  const bool writes = team.rank() == 0;
  std::string place;
  // Reads the device's counters before anything runs there.
  Runner runner(setup.device, team, settings_of(options, setup.device.info().backend));
  // The slowest rank's; negative if there is none.
  const double slowest = team.max({timing_overhead_seconds(setup.device).value_or(-1)}).front();
  const std::optional<double> overhead = slowest < 0 ? std::nullopt : std::optional(slowest);
  Session* const session = shared.open(together(team, [&]() -> std::unique_ptr<Session> {
    if (!writes) return nullptr;
    const std::filesystem::path folder = make_folder(options.out);
    place = folder.string();
    if (!options.out_file.empty()) check_writable(options.out_file);
    if (!setup.note.empty()) say(options.program, setup.note);
    for (const std::string& left_out : setup.plan.left_out) say(options.program, left_out);
    return std::make_unique<Session>(setup.device.info(), options, folder, setup.plan, setup.origin, overhead);
  }));
  shared.set_folder(team.gather(place).front());

  const Observing observing(session, runner);
  const std::optional<CpuShare> load = begin_share(setup.device.info());
  Progress progress(options.program, terminal_style(stderr), !writes || options.quiet || !options.format.empty(),
                    count_cases(setup.plan));
  take_signals();
  runner.on_stage([&](const std::string& case_name, std::string_view stage) {
    if (session) session->doing(case_name, runner.wall_time());
    watch.doing(fmt::format("{} ({})", case_name, stage));
    watch.part();
    progress.show(case_name, stage);
  });
  runner.on_course([&](const std::string& case_name, const Course& course) { progress.show(case_name, course); });
  const auto on_measured = [&](const Group& group, const std::vector<Record>& records, int pass) {
    if (!session) return;
    watch.rest();  // writing may take its time
    session->add(records, group.comparisons, pass);
    for (const Record& record : records) progress.done(record);
    watch.part();
  };
  const auto more_after_suite = [&] {
    std::vector<Group> groups;
    if (!setup.more) return groups;
    watch.rest();  // judging thousands of ranks takes seconds
    const std::vector<std::string> names = team.gather(session ? session->measure_next() : std::vector<std::string>()).front();
    if (!names.empty()) groups = setup.more(names);
    if (session) session->expect(groups);
    progress.expect(count_cases(groups));
    return groups;
  };
  const bool complete = measure(runner, team, setup.plan, name(options.selection.suite), on_measured, more_after_suite);
  if (const std::vector<Record> cut_off = runner.take_cut_off(); session && !cut_off.empty()) {
    session->add(cut_off, {}, 1);
    for (const Record& record : cut_off) progress.done(record);
  }
  watch.rest();
  progress.clear();
  int status = kOk;
  Observations observed;
  // After an interruption the ranks are no longer in step.
  bool in_step = complete || team.size() == 1;
  try {
    if (in_step) {
      observed.counters = runner.counters();
      if (team.size() > 1) observed.rank_telemetry = runner.rank_telemetry();
      observed.findings = runner.find_lost_telemetry();
      observed.loads = team.gather(end_share(load));
    }
  } catch (const Interrupted&) {
    note_interruption();
    in_step = false;
  }
  if (session && !in_step) {
    if (observed.counters.empty()) observed.counters = runner.own_counters();
    if (observed.findings.empty()) observed.findings = runner.find_own_lost_telemetry();
  }
  if (session) {
    observed.telemetry = runner.telemetry();
    status = session->finish(complete, runner.wall_time(), std::move(observed));
    if (!session->present(options, setup.style) && status == kOk) throw NotPrinted();
  }
  watch.doing("ending");
  if (!complete) {
    watch.step();
    return kInterrupted;
  }
  try {
    status = static_cast<int>(team.decide(status));
  } catch (const Interrupted&) {
    return kInterrupted;
  }
  return interrupted() ? kInterrupted : status;
}

}  // namespace roofmark
