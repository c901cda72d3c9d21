// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/node_affinity.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "harness/judge/transfers.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kLittle = 1 << 20, kMuch = 1 << 30;
constexpr int kFarDistance = 21;

/// A copy from the host's memory to a GPU, or back.
Record copy_with(const char* operation, HostNode node, std::size_t bytes, double bytes_per_second, int gpu = 0) {
  const bool own = node.distance == HostNode::kOwn;
  Transfer transfer{bytes, {{own ? host_endpoint() : host_endpoint(node.number), gpu_endpoint(gpu)}}};
  if (operation == std::string("out")) std::swap(transfer.flows.front().from, transfer.flows.front().to);
  transfer.host_node = node;
  Record record = ok_record("transfer", operation, {{link_demands(transfer)}}, static_cast<double>(bytes) / bytes_per_second);
  record.shape = {{"bytes", std::to_string(bytes)}, {"node", own ? "near" : std::to_string(node.number)}};
  if (gpu > 0) record.shape.emplace_back("gpu", std::to_string(gpu));
  record.transfer = std::move(transfer);
  return record;
}
/// Both ways, near and far, at two sizes; the rates are of the larger one.
std::vector<Record> both_ways(double own, double far) {
  std::vector<Record> all;
  for (const char* operation : {"in", "out"}) {
    all.push_back(copy_with(operation, {0}, kLittle, 10e9));
    all.push_back(copy_with(operation, {1, kFarDistance}, kLittle, 20e9));
    all.push_back(copy_with(operation, {0}, kMuch, own));
    all.push_back(copy_with(operation, {1, kFarDistance}, kMuch, far));
  }
  return all;
}

std::vector<std::string> texts(const std::vector<Record>& records) {
  std::vector<std::string> all;
  for (const Finding& finding : transfers_of(records).findings) {
    if (finding.kind == FindingKind::node_affinity) all.push_back(finding.text);
  }
  return all;
}

TEST(NodeAffinity, AFarNodeThatIsFasterContradictsTheKernel) {
  const std::vector<Record> records = both_ways(40e9, 55e9);
  EXPECT_THAT(texts(records),
              ElementsAre("GPU 0: memory of NUMA node 1 is 1.38 times as fast as that of node 0, the GPU's own by the kernel: "
                          "55.0 GB/s against 40.0 GB/s (in, 1.07 GB; faster in 2 of 2 series)"));
  const Transfers found = transfers_of(records);
  EXPECT_NEAR(found.findings.front().size, 0.375, 1e-9);
  EXPECT_THAT(found.slow, HasSubstr("a far NUMA node is faster for GPU 0 than its own"));
}

TEST(NodeAffinity, AFarNodeThatIsSlowerOrAsFastIsHealthy) {
  EXPECT_THAT(texts(both_ways(55e9, 40e9)), IsEmpty()) << "though it is faster at the smaller size";
  EXPECT_THAT(texts(both_ways(55e9, 55e9)), IsEmpty());
  EXPECT_THAT(texts(both_ways(55e9, 57e9)), IsEmpty()) << "noise";
}

TEST(NodeAffinity, OneOfTwoWaysIsNotEnough) {
  std::vector<Record> records = both_ways(40e9, 55e9);
  for (Record& record : records) {
    if (record.operation == "in" && record.shape[1].second == "1") record.measurement->summary.median *= 2;
  }
  EXPECT_THAT(texts(records), IsEmpty());
}

TEST(NodeAffinity, OnlyOneSizeOfOneSeriesOnBothNodesIsCompared) {
  std::vector<Record> records = both_ways(40e9, 55e9);
  std::erase_if(records, [](const Record& record) { return record.transfer->host_node->distance == kFarDistance; });
  EXPECT_THAT(texts(records), IsEmpty());
  records.push_back(copy_with("in", {1, kFarDistance}, kLittle, 10e9));
  EXPECT_THAT(texts(records), IsEmpty()) << "the near node is slow at the larger size alone";
}

TEST(NodeAffinity, WithoutTheGpusOwnNodeNothingIsSaid) {
  std::vector<Record> records = both_ways(40e9, 55e9);
  for (Record& record : records) record.transfer->host_node.reset();
  EXPECT_THAT(texts(records), IsEmpty());
}

TEST(NodeAffinity, OfSeveralNodesTheFastestIsNamed) {
  std::vector<Record> records = both_ways(40e9, 45e9);
  for (const char* operation : {"in", "out"}) {
    records.push_back(copy_with(operation, {2, kFarDistance}, kMuch, 55e9));
    records.push_back(copy_with(operation, {3, kFarDistance}, kMuch, 50e9));
  }
  const std::vector<std::string> all = texts(records);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all.front(), HasSubstr("memory of NUMA node 2 is 1.38 times as fast"));
}

TEST(NodeAffinity, EachGpuHasItsOwnNode) {
  std::vector<Record> records;
  for (const int gpu : {0, 1}) {
    records.push_back(copy_with("in", {gpu}, kMuch, gpu == 0 ? 55e9 : 40e9, gpu));
    records.push_back(copy_with("in", {1 - gpu, kFarDistance}, kMuch, gpu == 0 ? 40e9 : 55e9, gpu));
  }
  const std::vector<std::string> all = texts(records);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all.front(), HasSubstr("GPU 1: memory of NUMA node 0 is 1.38 times as fast as that of node 1"));
}

}  // namespace
}  // namespace roofmark
