// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cost.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "bench/support/case_list.hpp"
#include "bench/support/listing.hpp"

namespace roofmark {

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
        return Verification::within(0, 0, "the call has had its effect");
      case HostCall::Effect::missing:
        return Verification::within(1, 0, "the call has had no effect");
      case HostCall::Effect::invisible:
        break;
    }
    return Verification::nothing("the call leaves nothing that could be looked at");
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
  c.protocol = {.cache = Cache::warm, .timed = timed, .samples = kSamples};
  c.slot_bytes = plan.device_bytes;
  c.unsupported = plan.unsupported;
  c.prepare = [plan](const Setup& setup) { return std::make_unique<PreparedCall>(setup, plan); };
  return c;
}

std::vector<HostCallPlan> calls_of(const Listing& listing) {
  const CostKernels* kernels = select(listing.device.backend, &cuda::cost, &cpu::cost);
  return kernels ? kernels->calls(listing.device.compute_capability) : std::vector<HostCallPlan>();
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
}

void list_contract(CaseList& list) {
  add(list, [](const HostCallPlan& plan) {
    constexpr int kMostNodes = 10;
    constexpr std::size_t kMostBytes = std::size_t{2} << 20;
    return std::atoi(value_of(plan.keys, "nodes").c_str()) <= kMostNodes && plan.device_bytes <= kMostBytes;
  });
}

}  // namespace

std::vector<Group> cost(const Listing& listing) { return list_cases(listing, list_contract, list_suite, list_suite); }

}  // namespace roofmark
