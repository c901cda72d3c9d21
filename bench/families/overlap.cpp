// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>

#include "bench/families/collective_list.hpp"
#include "bench/families/collectives.hpp"
#include "bench/families/gemm.hpp"
#include "bench/families/prepared_collective.hpp"
#include "bench/support/beside.hpp"
#include "harness/model/units.hpp"

namespace roofmark::overlap {

namespace {

/// A collective beside a product.
class PreparedOverlap final : public PreparedPair {
 public:
  using PreparedPair::PreparedPair;

  void launch(Stream stream, int slot) override {
    static_cast<collectives::PreparedCollective&>(*other_).launch_beside(stream, slot, [&] { work_->launch(stream, slot); });
  }
  std::string fingerprint_key() const override { return work_->fingerprint_key() + "; " + other_->fingerprint_key(); }
  std::vector<std::pair<std::string, std::string>> notes() const override { return other_->notes(); }
};

std::unique_ptr<Prepared> prepare_overlap(const Setup&, std::unique_ptr<Prepared> product,
                                          std::unique_ptr<Prepared> collective) {
  return std::make_unique<PreparedOverlap>(std::move(product), std::move(collective));
}

}  // namespace

std::vector<Group> list(const Listing& listing) {
  // The GPUs of one process are driven by one thread: what it enqueues for one waits for the others.
  if (!listing.fabric || listing.fabric->local) return {};
  const Fabric& fabric = *listing.fabric;
  const auto ranks = static_cast<int>(fabric.members.size());
  const SuiteName suite = listing.suite;
  if (suite == SuiteName::smoke || suite == SuiteName::quick || suite == SuiteName::sustained || ranks == 1) return {};
  const bool gpu = listing.device.backend == Backend::cuda, small = listing.suite == SuiteName::contract;
  // The product takes longer than the all-reduce, so that all of it could be hidden.
  const std::int64_t side = small ? 65 : gpu ? 8192 : 1024;
  const std::size_t bytes = small ? 4 * 1001 : gpu ? 256 * kMiB : 32 * kMiB;
  const DataType type = gpu ? DataType::bf16 : DataType::fp32;
  Listing warm = listing;
  warm.cache = Cache::warm;
  Case product = gemm::gemm_case(warm, type, side, side, side);
  product.protocol.issue = Issue::stream;
  collectives::Point point{Collective::all_reduce, type, Reduction::sum, bytes, false, everyone(fabric), {}, {}, {}, -1, true};
  Case collective = collectives::collective_case(listing, point);
  const std::string length = std::to_string(side);
  const Shape shape = {{"m", length},
                       {"n", length},
                       {"k", length},
                       {"bytes", std::to_string(collectives::bytes_of(point))},
                       {"ranks", std::to_string(ranks)}};
  Case both = together(product, collective, prepare_overlap);
  collective.message.reset();
  product.operation = "gemm";
  collective.operation = "all_reduce";
  both.operation = "both";
  Group group;
  using Role = OverlapRole;
  for (const auto& [c, role] : {std::pair(&product, Role::work), {&collective, Role::communication}, {&both, Role::together}}) {
    c->family = "overlap";
    c->shape = shape;
    c->overlap = role;
    group.cases.push_back(std::move(*c));
  }
  CaseList list(listing);
  list.add(std::move(group));
  return list.take();
}

}  // namespace roofmark::overlap
