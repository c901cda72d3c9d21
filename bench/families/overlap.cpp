// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <memory>
#include <set>
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
  std::set<std::string> transports() const override { return other_->transports(); }
};

std::unique_ptr<Prepared> prepare_overlap(const Setup&, std::unique_ptr<Prepared> product,
                                          std::unique_ptr<Prepared> collective) {
  return std::make_unique<PreparedOverlap>(std::move(product), std::move(collective));
}

struct Sizes {
  std::int64_t side = 0;
  collectives::Point point;
};

collectives::Point at(collectives::Point point, std::size_t bytes) {
  point.bytes = bytes;
  return point;
}

/// What the links need for it by their theoretical rates, by rings at least; 0 where a rate is unknown.
double seconds_of(const Listing& listing, const collectives::Point& point) {
  const Case c = collectives::collective_case(listing, point);
  const Work& work = c.message->ring.phases.empty() ? c.work : c.message->ring;
  return place(work, theoretical_links(listing.fabric->members), 1, {}, {}).of_theoretical.value_or(0);
}

/// A product that takes as long as the all-reduce, so that all of it can be hidden: over a slow network a larger one, and then
/// a smaller all-reduce. The same on all ranks, so neither depends on the rank's GPU: a faster one hides less.
Sizes sizes_of(const Listing& listing, const collectives::Point& any) {
  constexpr double kFlopsPerSecond = 7e14;  // of an H100
  constexpr std::int64_t kSides[] = {8192, 10240, 12288, 14336, 16384};
  constexpr std::size_t kLargest = 256 * kMiB, kSmallest = 32 * kMiB;
  for (std::size_t bytes = kLargest;; bytes /= 2) {
    const collectives::Point point = at(any, bytes);
    const double seconds = seconds_of(listing, point);
    for (const std::int64_t side : kSides) {
      if (gemm::product_flops(side, side, side) / kFlopsPerSecond >= seconds) return {side, point};
    }
    if (bytes == kSmallest) return {*std::rbegin(kSides), point};
  }
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
  const DataType type = gpu ? DataType::bf16 : DataType::fp32;
  const collectives::Point small_point{Collective::all_reduce,
                                       type,
                                       Reduction::sum,
                                       4 * 1001,
                                       false,
                                       collectives::Divisions(fabric).world(),
                                       {},
                                       {},
                                       {},
                                       -1,
                                       true};
  const auto [side, point] = small ? Sizes{65, small_point}
                             : gpu ? sizes_of(listing, small_point)
                                   : Sizes{1024, at(small_point, 32 * kMiB)};
  Listing warm = listing;
  warm.cache = Cache::warm;
  Case product = gemm::gemm_case(warm, type, side, side, side);
  product.protocol.issue = Issue::stream;
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
