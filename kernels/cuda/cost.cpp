// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cost.hpp"

namespace roofmark::cuda {

namespace {

std::vector<HostCallPlan> calls(const CostTarget& target) {
  CallPlans plans(target);
  for (const auto add : {add_launches, add_waits, add_memory, add_graphs, add_new_process}) add(plans);
  return plans.take();
}

std::vector<DeviceCostPlan> device_costs(const CostTarget& target) {
  std::vector<DeviceCostPlan> plans;
  for (const auto add : {add_back_to_back, add_empty_graphs, add_barriers}) add(plans, target);
  return plans;
}

}  // namespace

const CostKernels cost = {calls, device_costs};

}  // namespace roofmark::cuda
