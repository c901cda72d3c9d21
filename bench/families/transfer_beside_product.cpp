// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "bench/families/gemm.hpp"
#include "bench/families/transfer.hpp"
#include "bench/support/beside.hpp"
#include "harness/judge/theory.hpp"
#include "harness/model/units.hpp"

namespace roofmark::transfer {
namespace {

/// A sixteenth of what the link carries one way while the product runs at its peak: several fill its time closely, and starting
/// one counts little.
std::size_t bytes_beside(const Case& product, const DeviceInfo& device) {
  constexpr double kShare = 1.0 / 16;
  constexpr std::size_t kUnknown = 2 * kMiB;
  const Roofline roofline = theoretical_roofline(device);
  const Demand& flops = product.work.phases.front().front();
  const Ceiling *const peak = roofline.find(flops.resource), *const link = roofline.find(resource::host_to_device);
  if (!peak || !peak->theoretical || !link || !link->theoretical) return kUnknown;
  const double bytes = kShare * flops.amount / *peak->theoretical * *link->theoretical;
  return std::max(static_cast<std::size_t>(bytes) / kMiB, std::size_t{1}) * kMiB;
}

}  // namespace

void list_copies_beside_product(CaseList& list) {
  Listing warm = list.listing();
  warm.cache = Cache::warm;
  const bool contract = warm.suite == SuiteName::contract;
  const std::int64_t side = contract ? 61 : 8192;
  const auto named = [](Case c, std::string copies, const std::string& bytes) {
    c.family = "transfer";
    c.operation = "beside_product";
    c.shape = shape_beside(c, {{"bytes", bytes}, {"copies", std::move(copies)}});
    return c;
  };
  Case product = gemm::gemm_case(warm, DataType::bf16, side, side, side);
  product.protocol.issue = Issue::stream;  // the copies of several launches would fill the queue behind a gate
  const std::size_t bytes = contract ? 1009 : bytes_beside(product, warm.device);
  Group group = {{named(product, "none", std::to_string(bytes))}, {}};
  for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host, TransferOp::both}) {
    Case both = beside(product, transfer_case(warm.device, {.op = op, .bytes = bytes}), Times::repeated);
    both.work = product.work;  // the copies are what may disturb it
    group.cases.push_back(named(std::move(both), std::string(name(op)), std::to_string(bytes)));
    group.comparisons.push_back(compare(group.cases.front(), group.cases.back()));
  }
  list.add(std::move(group));
}

}  // namespace roofmark::transfer
