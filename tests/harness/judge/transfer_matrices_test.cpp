// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one kind of matrix per test.
#include "harness/judge/transfer_matrices.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "tests/harness/transfer_records.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr double kLarge = 268435456, kSmall = 65536;

/// 1 %, never the same.
double spread(int from, int to) { return 1 + 0.01 * std::sin(12.9898 * from + 78.233 * to); }

/// Every ordered pair of these GPUs at two sizes; `times` is how many times as long each takes.
template <class Times>
std::vector<Record> pairs(int gpus, const Times& times, const char* impl = "engine") {
  std::vector<Record> records;
  for (const double bytes : {kSmall, kLarge}) {
    for (int from = 0; from < gpus; ++from) {
      for (int to = 0; to < gpus; ++to) {
        if (from == to) continue;
        const double seconds = line_seconds(bytes) * spread(from, to) * times(from, to);
        Record record = moved("pair", {{gpu_endpoint(from), gpu_endpoint(to)}}, bytes, seconds);
        record.shape = {{"bytes", std::to_string(static_cast<std::size_t>(bytes))},
                        {"from", std::to_string(from)},
                        {"to", std::to_string(to)},
                        {"impl", impl}};
        record.transfer->path = PeerPath{PathKind::nvlink, 18, {}};
        records.push_back(std::move(record));
      }
    }
  }
  return records;
}

std::vector<std::string> texts(const Transfers& found) {
  std::vector<std::string> all;
  for (const Finding& finding : found.findings) {
    EXPECT_EQ(finding.kind, FindingKind::slow_link);
    all.push_back(finding.text);
  }
  return all;
}

TEST(TransferMatrices, SayWhetherThePairsMoveOneWayOrBoth) {
  Record record;
  record.shape = {{"bytes", "64"}, {"impl", "engine"}};
  const auto how = [&](const std::vector<Flow>& flows) {
    record.transfer = Transfer{64, flows};
    return how_in_words(record, {});
  };
  EXPECT_THAT(how({{gpu_endpoint(0), gpu_endpoint(1)}}), ElementsAre("one way", "engine"));
  EXPECT_THAT(how({{host_endpoint(), gpu_endpoint(0)}}), ElementsAre("engine"));
}

TEST(TransferMatrices, OfStagedPairsDoNotRestOnNvlink) {
  std::vector<Record> records = pairs(4, [](int from, int to) { return from + to == 5 ? 2.0 : 1.0; });
  for (Record& record : records) {
    record.transfer->staged = true;
    record.transfer->path = PeerPath{PathKind::nvlink, std::stoi(value_of(record.shape, "from")) + 1, "refused"};
  }
  const Transfers found = transfers_of(records);
  ASSERT_THAT(found.matrices, SizeIs(2));
  EXPECT_TRUE(found.matrices.back().staged);
  for (const TransferMatrix::Cell& cell : found.matrices.back().cells) {
    EXPECT_FALSE(cell.path->kind);
    EXPECT_EQ(cell.path->nvlinks, 0);
    EXPECT_EQ(cell.path->refusal, "refused");
  }
  const auto slow = std::count_if(found.findings.begin(), found.findings.end(),
                                  [](const Finding& finding) { return finding.kind == FindingKind::slow_link; });
  EXPECT_EQ(slow, 2) << "all are one class, whatever their NVLinks";
  for (Record& record : records) record.transfer->path->kind = PathKind::system;
  EXPECT_EQ(transfers_of(records).matrices.back().cells.front().path->kind, PathKind::system);
}

TEST(TransferMatrices, HaveEveryOrderedPairOfEachSize) {
  const Transfers found = transfers_of(pairs(4, [](int, int) { return 1.0; }));
  ASSERT_THAT(found.matrices, SizeIs(2));
  const TransferMatrix& matrix = found.matrices.back();
  EXPECT_EQ(matrix.name, "any/pair/fp32/impl:engine");
  EXPECT_THAT(matrix.how, ElementsAre("one way", "engine"));
  EXPECT_EQ(matrix.bytes, kLarge);
  ASSERT_THAT(matrix.cells, SizeIs(12));
  EXPECT_EQ(matrix.cells.front().flow, (Flow{gpu_endpoint(0), gpu_endpoint(1)}));
  EXPECT_NEAR(matrix.cells.front().bytes_per_second, kLarge / line_seconds(kLarge) / spread(0, 1), 1);
  EXPECT_EQ(matrix.cells.front().path->nvlinks, 18);
  EXPECT_THAT(found.findings, IsEmpty());
}

TEST(TransferMatrices, NeedTwoPairs) {
  EXPECT_THAT(transfers_of(pairs(2, [](int, int) { return 1.0; })).matrices, IsEmpty());
  EXPECT_THAT(transfers_of({copy_in(64, 1e-6), copy_out(64, 1e-6), copy_both(64, 2e-6)}).matrices, IsEmpty());
}

TEST(TransferMatrices, ComparePairsOfOnePathAlone) {
  std::vector<Record> records = pairs(3, [](int, int) { return 1.0; });
  EXPECT_TRUE(transfers_of(records).compares_links);
  EXPECT_FALSE(transfers_of(pairs(2, [](int, int) { return 1.0; })).compares_links);
  for (Record& record : records) {
    const int both = std::stoi(value_of(record.shape, "from")) + std::stoi(value_of(record.shape, "to"));
    constexpr PathKind kinds[] = {PathKind::nvlink, PathKind::pcie_switch, PathKind::system};
    record.transfer->path->kind = kinds[both - 1];
  }
  EXPECT_FALSE(transfers_of(records).compares_links);
}

TEST(TransferMatrices, BothWaysAtOnceFillTwoCells) {
  const Endpoint a = gpu_endpoint(0), b = gpu_endpoint(1), c = gpu_endpoint(2);
  const Transfers found =
      transfers_of({moved("twice", {{a, b}, {b, a}}, 1e9, 0.01), moved("twice", {{a, c}, {c, a}}, 1e9, 0.02),
                    moved("ring", {{a, b}, {b, c}, {c, a}}, 1e9, 0.02)});
  ASSERT_THAT(found.matrices, SizeIs(1)) << "a ring is no pair";
  ASSERT_THAT(found.matrices.front().cells, SizeIs(4));
  EXPECT_EQ(found.matrices.front().cells[1].flow, (Flow{b, a}));
  EXPECT_DOUBLE_EQ(found.matrices.front().cells[1].bytes_per_second, 1e11);
}

TEST(TransferMatrices, OneSlowCellIsNamedAlone) {
  const Transfers transfers = transfers_of(pairs(8, [](int from, int to) { return from == 2 && to == 5 ? 3 : 1; }));
  EXPECT_THAT(transfers.slow, StartsWith("slow links: transfers from GPU 2 to GPU 5 (3.0"));
  const auto found = texts(transfers);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found.front(), StartsWith("from GPU 2 to GPU 5: this transfer takes 3.0"));
  EXPECT_THAT(found.front(), HasSubstr("slow at 2 of 2 sizes"));
}

TEST(TransferMatrices, OneSlowRowIsNamedAlone) {
  const auto found = texts(transfers_of(pairs(8, [](int from, int) { return from == 3 ? 2 : 1; })));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found.front(), StartsWith("from GPU 3: its best transfer takes 2.0"));
}

TEST(TransferMatrices, OneSlowColumnIsNamedAlone) {
  const auto found = texts(transfers_of(pairs(8, [](int, int to) { return to == 6 ? 2 : 1; })));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found.front(), StartsWith("to GPU 6: its best transfer takes 2.0"));
}

TEST(TransferMatrices, WhatIsSlowInSeveralSeriesIsNamedOnce) {
  std::vector<Record> records = pairs(8, [](int from, int) { return from == 3 ? 2 : 1; });
  for (Record& record : pairs(
           8, [](int from, int) { return from == 3 ? 4 : 1; }, "threads"))
    records.push_back(record);
  const auto found = texts(transfers_of(records));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found.front(), AllOf(StartsWith("from GPU 3: its best transfer takes 4.0"), HasSubstr("(one way, threads, "),
                                   HasSubstr("slow in 2 series")));
}

// A disturbed transfer of many.
TEST(TransferMatrices, WhatIsSlowInOneOfSeveralSeriesIsNot) {
  const auto largest = [](int slow_series, int all_series) {
    std::vector<Record> records;
    for (int series = 0; series < all_series; ++series) {
      const bool slow = series < slow_series;
      for (Record& record : pairs(
               8, [&](int from, int to) { return slow && from == 3 && to == 5 ? 1.3 : 1; },
               ("engine_" + std::to_string(series)).c_str())) {
        if (record.transfer->bytes == static_cast<std::size_t>(kLarge)) records.push_back(std::move(record));
      }
    }
    return texts(transfers_of(records));
  };
  EXPECT_THAT(largest(1, 3), IsEmpty());
  EXPECT_THAT(largest(2, 3), SizeIs(1));
  EXPECT_THAT(largest(1, 1), SizeIs(1)) << "there is no other to confirm it";
}

// Two sockets: what is far takes longer, and is no slow link.
TEST(TransferMatrices, OnlyPairsOfOnePathAreCompared) {
  std::vector<Record> records = pairs(8, [](int from, int to) { return from / 4 == to / 4 ? 1 : 3; });
  for (Record& record : records) {
    const bool near = record.transfer->flows.front().from.number / 4 == record.transfer->flows.front().to.number / 4;
    record.transfer->path = PeerPath{near ? PathKind::pcie_switch : PathKind::system, 0, {}};
  }
  EXPECT_THAT(texts(transfers_of(records)), IsEmpty());
  for (Record& record : records) {
    if (record.transfer->flows == std::vector<Flow>{{gpu_endpoint(0), gpu_endpoint(7)}}) {
      record.measurement->summary.median *= 2;
    }
  }
  const auto found = texts(transfers_of(records));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found.front(), StartsWith("from GPU 0 to GPU 7"));
}

TEST(TransferMatrices, AGpuThatHasLostLinksIsNamed) {
  for (const int links : {0, 17}) {
    std::vector<Record> records = pairs(8, [](int from, int to) { return from == 5 || to == 5 ? 1.5 : 1; });
    for (Record& record : records) {
      const Flow& flow = record.transfer->flows.front();
      if (flow.from.number != 5 && flow.to.number != 5) continue;
      record.transfer->path = links > 0 ? PeerPath{PathKind::nvlink, links, {}} : PeerPath{PathKind::system, 0, {}};
    }
    const auto found = texts(transfers_of(records));
    ASSERT_THAT(found, SizeIs(2)) << links;
    EXPECT_THAT(found, ElementsAre(StartsWith("from GPU 5: its best transfer takes 1.5"),
                                   StartsWith("to GPU 5: its best transfer takes 1.5")));
  }
}

TEST(TransferMatrices, AGpuOfAnotherModelIsNotCompared) {
  std::vector<Record> records = pairs(8, [](int from, int to) { return from == 7 || to == 7 ? 3 : 1; });
  EXPECT_THAT(texts(transfers_of(records)), SizeIs(2));
  for (Record& record : records) {
    const Flow& flow = record.transfer->flows.front();
    record.transfer->one_model = flow.from.number != 7 && flow.to.number != 7;
  }
  const Transfers found = transfers_of(records);
  EXPECT_THAT(texts(found), IsEmpty());
  EXPECT_THAT(found.matrices.back().cells, SizeIs(7 * 6));
  EXPECT_THAT(found.series, SizeIs(8 * 7));
}

TEST(TransferMatrices, GpusWithOneAndWithTwoLinksAreAsTheyWereWired) {
  // A ring of eight whose neighbours have two links; every other pair that is linked has one.
  const auto is_near = [](int from, int to) { return (from + 1) % 8 == to || (to + 1) % 8 == from; };
  std::vector<Record> records = pairs(8, [&](int from, int to) { return is_near(from, to) ? 1 : 2; });
  for (Record& record : records) {
    const Flow& flow = record.transfer->flows.front();
    record.transfer->path = PeerPath{PathKind::nvlink, is_near(flow.from.number, flow.to.number) ? 2 : 1, {}};
  }
  EXPECT_THAT(texts(transfers_of(records)), IsEmpty());
  // Of three GPUs two have a bridge.
  records = pairs(3, [](int from, int to) { return from + to == 1 ? 1 : 8; });
  for (Record& record : records) {
    const Flow& flow = record.transfer->flows.front();
    record.transfer->path =
        flow.from.number + flow.to.number == 1 ? PeerPath{PathKind::nvlink, 4, {}} : PeerPath{PathKind::system, 0, {}};
  }
  EXPECT_THAT(texts(transfers_of(records)), IsEmpty());
}

TEST(TransferMatrices, AHostLinkThatStandsOut) {
  std::vector<Record> records;
  for (int gpu = 0; gpu < 8; ++gpu) {
    Record record =
        moved("in", {{kHost, gpu_endpoint(gpu)}}, kLarge, line_seconds(kLarge) * spread(0, gpu) * (gpu == 4 ? 2 : 1));
    if (gpu > 0) record.shape.insert(record.shape.end() - 1, {"gpu", std::to_string(gpu)});
    records.push_back(std::move(record));
  }
  const auto found = texts(transfers_of(records));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found.front(), StartsWith("to GPU 4: its best transfer takes 1.98 times the median"));
}

/// From every NUMA node to every GPU, of which each node has as many; `times` as of pairs().
template <class Times>
std::vector<Record> nodes_by_gpus(int nodes, int gpus, const Times& times) {
  std::vector<Record> records;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const int own = gpu * nodes / gpus;
    for (int node = 0; node < nodes; ++node) {
      const Endpoint host = node == own ? host_endpoint() : host_endpoint(node);
      const int distance = node == own ? HostNode::kOwn : node / 2 == own / 2 ? 12 : 32;
      const double far = distance == HostNode::kOwn ? 1 : distance == 12 ? 1.1 : 1.6;
      Record record =
          moved("in", {{host, gpu_endpoint(gpu)}}, kLarge, line_seconds(kLarge) * far * spread(node, gpu) * times(node, gpu));
      record.shape.insert(record.shape.begin() + 2, {"node", node == own ? "near" : std::to_string(node)});
      if (gpu > 0) record.shape.insert(record.shape.end() - 1, {"gpu", std::to_string(gpu)});
      record.transfer->host_node = HostNode{node, distance};
      records.push_back(std::move(record));
    }
  }
  return records;
}

TEST(TransferMatrices, HaveARowForEveryNumaNodeAndAColumnForEveryGpu) {
  const Transfers found = transfers_of(nodes_by_gpus(4, 8, [](int, int) { return 1; }));
  ASSERT_THAT(found.matrices, SizeIs(1));
  const TransferMatrix& matrix = found.matrices.front();
  EXPECT_EQ(matrix.name, "any/in/fp32/memory:pinned/impl:engine");
  EXPECT_THAT(matrix.how, ElementsAre("pinned", "engine")) << "for all nodes";
  EXPECT_THAT(matrix.cells, SizeIs(4 * 8));
  std::set<Endpoint> from, to;
  for (const TransferMatrix::Cell& cell : matrix.cells) {
    from.insert(cell.flow.from);
    to.insert(cell.flow.to);
  }
  EXPECT_THAT(from, ElementsAre(host_endpoint(0), host_endpoint(1), host_endpoint(2), host_endpoint(3)));
  EXPECT_THAT(to, SizeIs(8));
  EXPECT_THAT(found.findings, IsEmpty()) << "what is far takes longer, and is no slow link";
}

TEST(TransferMatrices, OfOneGpuOrNearNodesAloneNodesHaveNoMatrixOfTheirOwn) {
  std::vector<Record> records = nodes_by_gpus(2, 1, [](int, int) { return 1; });
  EXPECT_THAT(transfers_of(records).matrices, IsEmpty());
  records = nodes_by_gpus(2, 8, [](int, int) { return 1; });
  std::erase_if(records, [](const Record& record) { return record.transfer->host_node->distance != HostNode::kOwn; });
  const Transfers found = transfers_of(records);
  ASSERT_THAT(found.matrices, SizeIs(1));
  EXPECT_EQ(found.matrices.front().cells.front().flow.from, kHost);
  EXPECT_EQ(found.matrices.front().name, "any/in/fp32/memory:pinned/node:near/impl:engine");
}

TEST(TransferMatrices, ASlowNodeGpuOrPairOfBothIsNamedAlone) {
  for (const int nodes : {2, 4}) {
    const auto one = [&](const auto& times) {
      Transfers found = transfers_of(nodes_by_gpus(nodes, 8, times));
      std::erase_if(found.findings, [](const Finding& finding) { return finding.kind == FindingKind::node_affinity; });
      const auto all = texts(found);
      EXPECT_THAT(all, SizeIs(1)) << nodes;
      return all.empty() ? std::string() : all.front();
    };
    EXPECT_THAT(one([](int node, int) { return node == 1 ? 2 : 1; }), StartsWith("from NUMA node 1: its best transfer takes"));
    EXPECT_THAT(one([](int, int gpu) { return gpu == 6 ? 2 : 1; }), StartsWith("to GPU 6: its best transfer takes"));
    EXPECT_THAT(one([](int node, int gpu) { return node == 0 && gpu == 1 ? 2 : 1; }),
                StartsWith("from NUMA node 0 to GPU 1: this transfer takes"))
        << "near";
    EXPECT_THAT(one([](int node, int gpu) { return node == 0 && gpu == 7 ? 2 : 1; }),
                StartsWith("from NUMA node 0 to GPU 7: this transfer takes"))
        << "far";
  }
}

TEST(TransferMatrices, NumaNodesAreNoGpus) {
  std::vector<Record> records;
  for (const int from : {0, 1}) {
    for (const int to : {0, 1}) {
      Record record = moved("copy", {{host_endpoint(from), host_endpoint(to)}}, kLarge, from == to ? 0.01 : 0.03);
      record.shape = {{"bytes", "268435456"}, {"from", std::to_string(from)}, {"to", std::to_string(to)}};
      records.push_back(std::move(record));
    }
  }
  const Transfers found = transfers_of(records);
  ASSERT_THAT(found.matrices, SizeIs(1));
  EXPECT_THAT(found.matrices.front().cells, SizeIs(4));
  EXPECT_THAT(found.findings, IsEmpty()) << "of two nobody can say which one is slow";
}

TEST(TransferMatrices, ASlowNumaNodeIsNamedAndNobodyElse) {
  for (const int nodes : {4, 8}) {
    for (const int slow : {-1, 0, nodes - 1}) {
      std::vector<Record> records;
      for (int from = 0; from < nodes; ++from) {
        for (int to = 0; to < nodes; ++to) {
          const double own = from == to ? 0.01 : 0.02;  // other nodes are behind the links between sockets
          const double seconds = own * spread(from, to) * (from == slow || to == slow ? 2 : 1);
          Record record = moved("copy", {{host_endpoint(from), host_endpoint(to)}}, kLarge, seconds);
          record.shape = {{"bytes", "268435456"}, {"from", std::to_string(from)}, {"to", std::to_string(to)}};
          records.push_back(std::move(record));
        }
      }
      const Transfers found = transfers_of(records);
      for (const std::string& text : texts(found)) EXPECT_THAT(text, HasSubstr("node " + std::to_string(slow))) << nodes;
      EXPECT_EQ(texts(found).empty(), slow < 0) << nodes << " nodes, " << slow;
    }
  }
}

TEST(TransferMatrices, RefusedAccessIsSaidWithItsReasonAndItsPrice) {
  std::vector<Record> records = pairs(3, [](int, int) { return 1.0; });
  for (Record& record : records) record.transfer->path->refusal = "the PCIe topology does not support it";
  Record refused = records.front();
  refused.status = Status::unsupported;
  refused.measurement.reset();
  records.push_back(refused);
  const Transfers found = transfers_of(records);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings.front().kind, FindingKind::peer_access);
  EXPECT_THAT(found.findings.front().text,
              AllOf(StartsWith("GPU 0 and GPU 1, and 2 more pairs, have no access to each other's memory (the PCIe topology "
                               "does not support it): copies between them go through host memory, at 5"),
                    EndsWith(" GB/s")));
  EXPECT_THAT(transfers_of({refused}).findings.front().text, EndsWith("go through host memory"));
  EXPECT_EQ(found.slow, "GPUs have no access to each other's memory");
}

TEST(TransferMatrices, RefusedAccessIsSeenInTransfersBetweenMoreGpusToo) {
  Record round = moved("round", {{gpu_endpoint(0), gpu_endpoint(1)}, {gpu_endpoint(2), gpu_endpoint(3)}}, kLarge, 1e-2);
  round.transfer->refused = {{gpu_endpoint(2), gpu_endpoint(3), "a setting of the driver disables it"}};
  const Transfers found = transfers_of({round});
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings.front().kind, FindingKind::peer_access);
  EXPECT_EQ(
      found.findings.front().text,
      "GPU 2 and GPU 3 have no access to each other's memory (a setting of the driver disables it): copies between them go "
      "through host memory");
}

TEST(TransferMatrices, AccessThatTheMachineDoesNotOfferIsSaidAndPutsNothingInDoubt) {
  std::vector<Record> records = pairs(3, [](int, int) { return 1.0; });
  for (Record& record : records) {
    record.transfer->path->refusal = "the GPU does not support it";
    record.transfer->path->by_design = true;
  }
  const Transfers found = transfers_of(records);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings.front().kind, FindingKind::no_peer_access);
  EXPECT_EQ(type_of(FindingKind::no_peer_access).doubt, Doubt::nothing);
  EXPECT_THAT(found.findings.front().text,
              HasSubstr("(the GPU does not support it): copies between them go through host memory"));
  EXPECT_EQ(found.slow, "");
}

}  // namespace
}  // namespace roofmark
