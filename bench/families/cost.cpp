// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cost.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "bench/support/case_list.hpp"
#include "bench/support/listing.hpp"
#include "bench/support/slots.hpp"

namespace roofmark::cost {

namespace {

/// Enough for a p99 that ten samples lie above.
constexpr int kSamples = 1000;

class PreparedCall final : public Prepared {
 public:
  PreparedCall(const Setup& setup, const HostCallPlan& plan) {
    for (int slot = 0; slot < setup.slots; ++slot) calls_.push_back(plan.make(setup.device.stream()));
  }

  void launch(Stream, int slot) override { at(slot).call(); }
  void reset(int slot) override {
    if (needs_reset()) at(slot).restore();
  }
  bool needs_reset() const override { return calls_.front()->needs_restore(); }
  bool outputs_are_all() const override { return false; }

  Verification verify(int slot) override {
    switch (at(slot).effect()) {
      case HostCall::Effect::there:
        return Verification::within(0, 0, "the call took effect");
      case HostCall::Effect::missing:
        return Verification::within(1, 0, "the call had no effect");
      case HostCall::Effect::invisible:
        break;
    }
    return Verification::nothing("the call leaves nothing to check");
  }

 private:
  HostCall& at(int slot) { return *calls_[static_cast<std::size_t>(slot)]; }

  std::vector<std::unique_ptr<HostCall>> calls_;
};

Case cost_case(const CaseList& list, const HostCallPlan& plan, Timed timed) {
  Case c;
  c.family = "cost";
  c.operation = plan.operation;
  c.type = DataType::int32;
  c.shape = plan.keys;
  if (!plan.waits) c.shape.emplace_back("until", timed == Timed::call ? "return" : "finish");
  c.shape.emplace_back("impl", list.on_gpu() ? "cuda" : "host");
  c.protocol = {.cache = Cache::warm, .timed = timed, .samples = kSamples, .budget_samples = plan.samples};
  c.slot_bytes = plan.device_bytes;
  c.unsupported = plan.unsupported;
  c.prepare = [plan](const Setup& setup) { return std::make_unique<PreparedCall>(setup, plan); };
  return c;
}

/// Barriers are verified by a launch of their own that checks each: the timed one counts them.
class PreparedDeviceCost final : public Prepared {
 public:
  PreparedDeviceCost(const Setup& setup, const DeviceCostPlan& plan)
      : device_(setup.device), plan_(plan), launch_(plan.prepare()), slots_(setup, layout_of(plan)) {
    for (int slot = 0; slot < setup.slots && plan_.barriers > 0; ++slot)
      device_.zero(slots_.at(slot, kArrivals), kArrivalBytes);
    device_.synchronize();
  }

  static SlotLayout layout_of(const DeviceCostPlan& plan) {
    const auto blocks = static_cast<std::size_t>(plan.blocks);
    return SlotLayout({SlotArray::output(DataType::int32, blocks),
                       SlotArray::scratch(DataType::int8, plan.barriers > 0 ? kArrivalBytes : 0),
                       SlotArray::scratch(DataType::int32, blocks), SlotArray::output(DataType::int32, blocks)});
  }

  void launch(Stream stream, int slot) override { launch_(memory(slot, kPassed, false), stream); }

  Verification verify(int slot) override {
    if (plan_.barriers == 0) return Verification::nothing("empty kernels leave nothing to check");
    if (const std::size_t wrong = count_wrong(slot, kPassed); wrong > 0) {
      return failed(wrong, "blocks that did not pass every barrier");
    }
    device_.zero(slots_.at(slot, kRounds), slots_.layout()[kRounds].bytes());
    launch_(memory(slot, kChecked, true), device_.stream());
    device_.synchronize();
    if (const std::size_t wrong = count_wrong(slot, kChecked); wrong > 0) {
      return failed(wrong, "blocks that passed a barrier before all others had arrived");
    }
    return Verification::within(0, 0, "blocks that did not pass every barrier, or passed one before all others had arrived");
  }

  std::vector<Output> outputs(int slot) override {
    return plan_.barriers == 0 ? std::vector<Output>() : std::vector{slots_.output(slot, kPassed)};
  }
  bool outputs_are_all() const override { return false; }

 private:
  static constexpr std::size_t kPassed = 0, kArrivals = 1, kRounds = 2, kChecked = 3;
  static constexpr std::size_t kArrivalBytes = sizeof(std::uint64_t);

  static Verification failed(std::size_t wrong, std::string detail) {
    return Verification::within(static_cast<double>(wrong), 0, std::move(detail));
  }
  BarrierMemory memory(int slot, std::size_t passed, bool checked) const {
    return {slots_.at<std::uint64_t>(slot, kArrivals), slots_.at<std::uint32_t>(slot, passed),
            checked ? slots_.at<std::uint32_t>(slot, kRounds) : nullptr};
  }
  std::size_t count_wrong(int slot, std::size_t array) {
    std::vector<std::uint32_t> passed(static_cast<std::size_t>(plan_.blocks));
    device_.to_host(passed.data(), slots_.at(slot, array), passed.size() * sizeof(passed[0]));
    return passed.size() - std::count(passed.begin(), passed.end(), static_cast<std::uint32_t>(plan_.barriers));
  }

  Device& device_;
  DeviceCostPlan plan_;
  DeviceCostLaunch launch_;
  Slots slots_;
};

Case device_cost_case(const DeviceCostPlan& plan) {
  Case c;
  c.family = "cost";
  c.operation = plan.operation;
  c.type = DataType::int32;
  c.shape = plan.keys;
  c.protocol.cache = Cache::warm;
  if (plan.kernels > 1) {
    // One launch is the batch: a gate holds no more kernels.
    c.protocol.issue = Issue::gate;
    c.protocol.launches = 1;
  }
  c.slot_bytes = PreparedDeviceCost::layout_of(plan).slot_bytes();
  c.unsupported = plan.unsupported;
  c.prepare = [plan](const Setup& setup) { return std::make_unique<PreparedDeviceCost>(setup, plan); };
  return c;
}

const CostKernels* kernels_for(const Listing& listing) { return select(listing.device.backend, &cuda::cost, &cpu::cost); }
CostTarget target_of(const Listing& listing) { return {listing.device.compute_capability, listing.device.multiprocessors}; }

std::vector<HostCallPlan> calls_of(const Listing& listing) {
  const CostKernels* kernels = kernels_for(listing);
  return kernels ? kernels->calls(target_of(listing)) : std::vector<HostCallPlan>();
}

/// With at most `most` kernels or barriers. Two plans in a row that differ in one key are compared.
void add_device_costs(CaseList& list, int most) {
  const CostKernels* kernels = kernels_for(list.listing());
  if (!kernels || !kernels->device_costs) return;
  std::vector<DeviceCostPlan> plans = kernels->device_costs(target_of(list.listing()));
  std::erase_if(plans, [&](const DeviceCostPlan& plan) { return plan.kernels > most || plan.barriers > most; });
  for (auto plan = plans.begin(); plan != plans.end(); ++plan) {
    Group group = {{device_cost_case(*plan)}, {}};
    if (plan->is_compared && plan + 1 != plans.end()) {
      group.cases.push_back(device_cost_case(*++plan));
      group.comparisons = {compare(group.cases[0], group.cases[1])};
    }
    list.add(std::move(group));
  }
}

/// All calls for which `is_wanted`. What a stream or a graph does alike is compared.
template <class IsWanted>
void add(CaseList& list, const IsWanted& is_wanted) {
  std::vector<HostCallPlan> plans = calls_of(list.listing());
  std::erase_if(plans, [&](const HostCallPlan& plan) { return !is_wanted(plan); });
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const bool by_graph = value_of(plans[i].keys, "by") == "graph";
    if (by_graph && i + 1 < plans.size()) {
      for (const Timed timed : {Timed::call, Timed::completion}) {
        Group both = {{cost_case(list, plans[i], timed), cost_case(list, plans[i + 1], timed)}, {}};
        both.comparisons = {compare(both.cases[0], both.cases[1])};
        list.add(std::move(both));
      }
      ++i;
      continue;
    }
    list.add(cost_case(list, plans[i], Timed::call));
    if (!plans[i].waits) list.add(cost_case(list, plans[i], Timed::completion));
  }
}

/// A call with these values of its keys, in their order: "launch/empty".
std::string short_name(const HostCallPlan& plan) {
  std::string text = plan.operation;
  for (const auto& [key, value] : plan.keys) text += "/" + value;
  return text;
}

// What a step of training or inference pays again and again.
constexpr std::string_view kQuick[] = {"launch/empty",
                                       "launch_and_wait/stream",
                                       "launch_and_wait/blocking_event",
                                       "synchronize/stream",
                                       "copy_to_host/4/pinned",
                                       "allocate/2097152/malloc",
                                       "allocate/2097152/pool_warm",
                                       "graph_launch/100/1",
                                       "system_call",
                                       "wake/2",
                                       "first_touch/2097152"};

void list_quick(CaseList& list) {
  add(list, [](const HostCallPlan& plan) {
    return plan.operation == "fork_join" ||
           std::find(std::begin(kQuick), std::end(kQuick), short_name(plan)) != std::end(kQuick);
  });
}

void list_suite(CaseList& list) {
  if (list.listing().suite == SuiteName::quick) return list_quick(list);
  add(list, [](const HostCallPlan&) { return true; });
  add_device_costs(list, std::numeric_limits<int>::max());
}

void list_contract(CaseList& list) {
  add(list, [](const HostCallPlan& plan) {
    constexpr int kMostNodes = 10;
    constexpr long kMostBytes = 2L << 20;
    return std::atoi(value_of(plan.keys, "nodes").c_str()) <= kMostNodes &&
           std::atol(value_of(plan.keys, "bytes").c_str()) <= kMostBytes;
  });
  add_device_costs(list, 100);
}

}  // namespace

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_suite, list_suite); }

}  // namespace roofmark::cost
