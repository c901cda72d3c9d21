// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/transfer.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace roofmark {
namespace {

TEST(Endpoint, HasANameThatIsReadBack) {
  for (const Endpoint& end : {host_endpoint(), host_endpoint(1), gpu_endpoint(0), gpu_endpoint(12)}) {
    EXPECT_EQ(parse_endpoint(name(end)), end) << name(end);
  }
  EXPECT_EQ(name(host_endpoint()), "host");
  EXPECT_EQ(name(host_endpoint(0)), "host:0");
  EXPECT_EQ(name(gpu_endpoint(3)), "gpu:3");
  for (const char* text : {"", "gpu", "gpu:", "gpu:x", "gpu:-1", "gpu:1x", "host:", "cpu:0", "hosts"}) {
    EXPECT_THROW(parse_endpoint(text), std::invalid_argument) << text;
  }
}

double demand(const Transfer& transfer, const Resource& link) { return Work{{link_demands(transfer)}}.total(link); }

TEST(LinkDemands, AreThoseOfTheBusiestLink) {
  const Endpoint host = host_endpoint(), a = gpu_endpoint(0), b = gpu_endpoint(1), c = gpu_endpoint(2), d = gpu_endpoint(3);
  const Transfer pair{100, {{b, c}}};
  EXPECT_EQ(demand(pair, resource::peer_in), 100) << "of the GPU that receives";
  EXPECT_EQ(demand(pair, resource::peer_out), 100) << "of the GPU that sends";
  EXPECT_EQ(link_demands(pair).size(), 2U);
  const Transfer round{100, {{a, b}, {b, a}, {c, d}, {d, c}}};
  EXPECT_EQ(demand(round, resource::peer_in), 100) << "each link carries its own";
  EXPECT_EQ(demand(round, resource::peer_out), 100);
  const Transfer one_to_all{100, {{a, b}, {a, c}, {a, d}}};
  EXPECT_EQ(demand(one_to_all, resource::peer_out), 300);
  EXPECT_EQ(demand(one_to_all, resource::peer_in), 100);
  const Transfer all_to_one{100, {{b, a}, {c, a}, {d, a}}};
  EXPECT_EQ(demand(all_to_one, resource::peer_out), 100);
  EXPECT_EQ(demand(all_to_one, resource::peer_in), 300);
  const Transfer all_with_host{100, {{host, a}, {a, host}, {host, b}, {b, host}}};
  EXPECT_EQ(demand(all_with_host, resource::host_to_device), 100);
  EXPECT_EQ(demand(all_with_host, resource::device_to_host), 100);
  EXPECT_EQ(demand({100, {{host_endpoint(0), host_endpoint(1)}}}, resource::host_dram), 100);
}

TEST(LinkDemands, OfStagedCopiesAreOnTheLinksToTheHost) {
  const Endpoint a = gpu_endpoint(0), b = gpu_endpoint(1), c = gpu_endpoint(2);
  Transfer staged{100, {{a, b}, {a, c}}};
  staged.staged = true;
  EXPECT_EQ(demand(staged, resource::device_to_host), 200) << "of the GPU that sends";
  EXPECT_EQ(demand(staged, resource::host_to_device), 100);
  EXPECT_EQ(link_demands(staged).size(), 2U);
}

TEST(LinkDemands, WhatACacheOfTheHostMayServeIsOfTheWayToTheDevice) {
  const Transfer both{100, {{host_endpoint(), gpu_endpoint(0)}, {gpu_endpoint(0), host_endpoint()}}};
  for (const auto& [cached, served] : {std::pair{40.0, 40.0}, {400.0, 100.0}}) {
    const Phase demands = link_demands(both, cached);
    ASSERT_EQ(demands.size(), 2U);
    EXPECT_EQ(demands[0].resource, resource::host_to_device);
    EXPECT_EQ(demands[0].avoidable, served);
    EXPECT_EQ(demands[1].resource, resource::device_to_host);
    EXPECT_EQ(demands[1].avoidable, 0);
  }
}

TEST(WayOf, IsWhatTheFlowsBetweenGpusHaveInCommon) {
  const Endpoint a = gpu_endpoint(0), b = gpu_endpoint(1), c = gpu_endpoint(2), d = gpu_endpoint(3);
  EXPECT_EQ(way_of({1, {{a, b}}}), "one way");
  EXPECT_EQ(way_of({1, {{a, b}, {b, a}}}), "both ways");
  EXPECT_EQ(way_of({1, {{b, a}, {b, c}}}), "one to all others");
  EXPECT_EQ(way_of({1, {{a, b}, {c, b}}}), "all others to one");
  EXPECT_EQ(way_of({1, {{a, b}, {b, a}, {c, d}, {d, c}}}), "disjoint pairs at once");
  EXPECT_EQ(way_of({1, {{host_endpoint(), a}}}), "");
  EXPECT_EQ(way_of({1, {}}), "");
}

}  // namespace
}  // namespace roofmark
