// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cost.hpp"

namespace roofmark::cuda {

/// Enqueues a kernel of one thread that does nothing.
void launch_empty(Stream stream);

/// Enqueues a kernel of one thread: *to = value.
void launch_store(unsigned* to, unsigned value, Stream stream);
/// The function of that kernel, as a graph's nodes have it.
const void* store_function();

/// Plans of calls, in order.
class CallPlans {
 public:
  using Keys = std::vector<std::pair<std::string, std::string>>;
  enum Returns { at_once, when_finished };

  explicit CallPlans(const CostTarget& target) : target_(target) {}
  int compute_capability() const { return target_.compute_capability; }

  /// A call made by Call(given..., stream).
  template <class Call, class... Given>
  HostCallPlan& add(std::string operation, Keys keys, Returns returns, const Given&... given) {
    const auto make = [given...](Stream stream) -> std::unique_ptr<HostCall> {
      return std::make_unique<Call>(given..., stream);
    };
    return plans_.emplace_back(HostCallPlan{std::move(operation), std::move(keys), returns == when_finished, 0, {}, make});
  }
  std::vector<HostCallPlan> take() { return std::move(plans_); }

 private:
  CostTarget target_;
  std::vector<HostCallPlan> plans_;
};

// By kind: starting work, waiting for it, memory, graphs, the first kernel of a new process.
void add_launches(CallPlans& calls);
void add_waits(CallPlans& calls);
void add_memory(CallPlans& calls);
void add_graphs(CallPlans& calls);
void add_new_process(CallPlans& calls);

/// Empty kernels back to back, each after the last one or by programmatic launch; those of a graph, in one chain or in 32;
/// barriers.
void add_back_to_back(std::vector<DeviceCostPlan>& plans, const CostTarget& target);
void add_empty_graphs(std::vector<DeviceCostPlan>& plans, const CostTarget& target);
void add_barriers(std::vector<DeviceCostPlan>& plans, const CostTarget& target);

}  // namespace roofmark::cuda
