// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Machines that work as they should, from what their ranks say of themselves to the findings.
#include <gmock/gmock.h>

#include <algorithm>

#include "bench/families/collectives.hpp"
#include "harness/judge/analysis.hpp"
#include "tests/bench/fabrics.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Cluster {
  int hosts, gpus_per_host;
  double nvlink;  ///< bytes per second per GPU
  int ports_per_host;
  double port;         ///< bytes per second
  std::string domain;  ///< of NVLink, over all hosts; empty: each host has one of its own
};

std::vector<RankInfo> ranks_of(const Cluster& cluster) {
  std::vector<RankInfo> ranks;
  for (int i = 0; i < cluster.hosts * cluster.gpus_per_host; ++i) {
    RankInfo& rank = ranks.emplace_back();
    rank.rank = i;
    rank.local_rank = i % cluster.gpus_per_host;
    rank.host = "node" + std::to_string(i / cluster.gpus_per_host);
    rank.uuid = "GPU-" + std::to_string(i);
    rank.nvlink_domain = cluster.domain;
    rank.nvlink_bytes_per_second = cluster.nvlink;
    rank.nvlink_source = "NVLinks";
    for (int port = 0; port < cluster.ports_per_host; ++port) {
      rank.nics.push_back({"mlx5_" + std::to_string(port), "InfiniBand", cluster.port, {}});
    }
  }
  return ranks;
}

/// The findings of an all-reduce of 1 GiB that reaches this bus bandwidth on the whole cluster.
std::vector<FindingKind> found(const Cluster& cluster, double busbw) {
  DeviceInfo device;
  device.backend = Backend::cuda;
  device.compute_capability = 90;
  device.memory_bytes = device.free_bytes = std::size_t{130} << 30;
  Fabric fabric;
  fabric.how = "nccl";
  fabric.types = {DataType::fp32};
  fabric.members = ranks_of(cluster);
  fabric.split = [](const std::vector<int>&) { return std::make_shared<SilentCommunicator>(); };
  for (const Group& group : collectives::list({device, SuiteName::full, {}, 0.9, &fabric})) {
    for (const Case& c : group.cases) {
      if (c.family != "all_reduce" || c.message->bytes != std::size_t{1} << 30) continue;
      if (c.message->ranks != static_cast<int>(fabric.members.size())) continue;
      Record record =
          ok_record("all_reduce", "nccl", c.work, c.message->bus_factor * static_cast<double>(c.message->bytes) / busbw);
      record.message = c.message;
      std::vector<Record> records = {std::move(record)};
      std::vector<FindingKind> kinds;
      for (const Finding& finding : analyze(theoretical_links(fabric.members), records, {}).findings) {
        kinds.push_back(finding.kind);
      }
      EXPECT_EQ(records[0].status, Status::ok);
      return kinds;
    }
  }
  ADD_FAILURE() << "the suite has no such all-reduce";
  return {};
}

// A host's ports carry 400 GB/s. A ring moves 2 (k - 1) / k of the bytes over them, a switch that reduces on the way 1: at 480
// GB/s of bus bandwidth, 427 GB/s against 244 GB/s.
TEST(HealthyClusters, ANetworkThatReducesMayExceedWhatARingCould) {
  const Cluster cluster = {8, 8, 450e9, 8, 50e9, ""};
  EXPECT_THAT(found(cluster, 440e9), IsEmpty());
  EXPECT_THAT(found(cluster, 480e9), IsEmpty());
}

// A rack of 72 GPUs has one NVLink domain over its 18 hosts: nothing takes their ports, whose 200 GB/s are less.
TEST(HealthyClusters, ARackThatIsOneNvlinkDomainIsNotBoundByItsHostsPorts) {
  Cluster rack = {18, 4, 900e9, 4, 50e9, "8f6a/1"};
  EXPECT_THAT(found(rack, 800e9), IsEmpty());
  rack.domain = "";
  EXPECT_THAT(found(rack, 800e9), ElementsAre(FindingKind::above_theoretical));
}

}  // namespace
}  // namespace roofmark
