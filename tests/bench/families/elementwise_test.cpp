// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "bench/support/case_request.hpp"
#include "bench/support/listing.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark::elementwise {

std::vector<Group> list(const Listing&);
std::optional<Case> make(const Listing&, const CaseRequest&);

namespace {

struct Counts {
  double bytes, flops, exponentials;
};

// After the formulas, by hand: an element's bytes, FLOPs and exponentials, of the cases whose bytes are all of elements.
const std::map<std::string, Counts> kCounts = {
    {"add/bf16", {6, 1, 0}},      {"add/fp32", {12, 1, 0}},    {"relu/bf16", {4, 1, 0}},   {"gelu_tanh/bf16", {4, 8, 1}},
    {"gelu_erf/fp32", {8, 4, 1}}, {"silu/bf16", {4, 2, 1}},    {"swiglu/bf16", {6, 3, 1}}, {"residual_add/bf16", {10, 1, 0}},
    {"adamw/fp32", {28, 14, 0}},  {"adamw/bf16", {26, 14, 0}},
};

TEST(ElementwiseCases, CountWhatTheOperationMustDo) {
  std::set<std::string> seen;
  for (const Group& group : list({h200(), SuiteName::baseline, {}, 0.9})) {
    const Case& one = group.cases.front();
    const std::string what = one.operation + "/" + std::string(name(one.type));
    const auto found = kCounts.find(what);
    if (found == kCounts.end()) continue;
    const double elements = std::stod(one.shape.front().second);
    EXPECT_EQ(one.work.total(resource::dram), found->second.bytes * elements) << one.name();
    EXPECT_EQ(one.work.total(Unit::flop), found->second.flops * elements) << one.name();
    EXPECT_EQ(one.work.total(Unit::exp), found->second.exponentials * elements) << one.name();
    seen.insert(what);
  }
  EXPECT_EQ(seen.size(), kCounts.size());
}

TEST(ElementwiseCases, CountRowsThatAreSharedOnce) {
  std::map<std::string, double> bytes;
  for (const Group& group : list({h200(), SuiteName::baseline, {}, 0.9})) {
    const Case& one = group.cases.front();
    bytes[one.operation + "/" + std::string(name(one.type))] = one.work.total(resource::dram);
    if (one.operation == "cast") bytes["cast to " + one.shape[1].second] = one.work.total(resource::dram);
  }
  const double n = 1 << 28;
  EXPECT_EQ(bytes["bias_gelu_residual/bf16"], 6 * n + 2 * 8192);
  // Cosines and sines of 64 angles for each token.
  EXPECT_EQ(bytes["rope/bf16"], 4 * n + 65536.0 * 2 * 64 * 4);
  EXPECT_EQ(bytes["embedding/bf16"], 4 * n + 65536.0 * 4);
  EXPECT_EQ(bytes["cast to fp8"], 3 * n);
  EXPECT_EQ(bytes["cast to fp16"], 4 * n);
}

// p, m and v are written again: a cache that holds them saves both ways.
TEST(ElementwiseCases, DemandNoDramForWhatTheCacheHolds) {
  DeviceInfo device = h200();
  device.caches = {{"l2", 2 << 20, 2 << 20}};
  const auto demanded = [&](const std::string& elements, Cache cache, const Resource& level) {
    const Listing listing = {.device = device, .cache = cache};
    return make(listing, CaseRequest(parse_case_name("elementwise/adamw/fp32/elements:" + elements)))->work.total(level);
  };
  EXPECT_EQ(demanded("130000", Cache::warm, resource::l2), 28 * 130000);
  EXPECT_EQ(demanded("130000", Cache::warm, resource::dram), 0);
  EXPECT_EQ(demanded("200000", Cache::warm, resource::dram), 28 * 200000 - 2 * (2 << 20));
  EXPECT_EQ(demanded("130000", Cache::cold, resource::dram), 28 * 130000);
}

// As many different rows are looked up as are counted.
TEST(ElementwiseCases, LookUpEveryRowBeforeTheyRepeatOne) {
  const std::unique_ptr<Device> device = open_device("cpu");
  constexpr std::size_t kTokens = 3, kWidth = 8;
  for (const char* vocabulary : {"3", "48270", "48271", "96542", "48281"}) {
    const std::string name = std::string("elementwise/embedding/fp32/tokens:3/d:8/vocabulary:") + vocabulary;
    const auto made = make({.device = device->info()}, CaseRequest(parse_case_name(name)));
    const auto prepared = made->prepare({*device, 1, Distribution::normal, 1, {}});
    prepared->launch(device->stream(), 0);
    device->synchronize();
    const auto* const out = static_cast<const float*>(prepared->outputs(0).front().data);
    std::set<std::vector<float>> rows;
    for (std::size_t t = 0; t < kTokens; ++t) rows.emplace(out + t * kWidth, out + (t + 1) * kWidth);
    EXPECT_EQ(rows.size(), kTokens) << name;
  }
}

}  // namespace
}  // namespace roofmark::elementwise
