// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/transfer.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <set>

#include "bench/families/transfer_path.hpp"
#include "kernels/base/check.hpp"
#include "kernels/transfer.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark {

std::vector<Group> transfer(const Listing&);

namespace {

using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::vector<Case> transfers_of_suite(const DeviceInfo& device, SuiteName suite) {
  std::vector<Case> all;
  for (const Group& group : transfer({.device = device, .suite = suite})) {
    all.insert(all.end(), group.cases.begin(), group.cases.end());
  }
  return all;
}

std::set<std::string> transfer_names(const DeviceInfo& device, SuiteName suite) {
  std::set<std::string> all;
  for (const Case& c : transfers_of_suite(device, suite)) all.insert(c.name());
  return all;
}

DeviceInfo on_two_nodes(DeviceInfo device, std::optional<int> near) {
  device.host_nodes = {0, 1};
  device.near_node = near;
  return device;
}

TEST(Transfer, QuickMovesPinnedMemoryEachWayAndBothWays) {
  EXPECT_THAT(transfers_of_suite(h200(), SuiteName::quick), SizeIs(2 + 15)) << "two between GPUs, which one GPU has not";
  const std::set<std::string> all = transfer_names(h200(), SuiteName::quick);
  EXPECT_THAT(all, Contains("transfer/host_to_device/int8/bytes:64/memory:pinned/node:near/impl:copy_engine"));
  EXPECT_THAT(all, Contains("transfer/device_to_host/int8/bytes:268435456/memory:pinned/node:near/impl:copy_engine"));
  EXPECT_THAT(all, Contains("transfer/both/int8/bytes:1048576/memory:pinned/node:near/impl:copy_engine"));
  EXPECT_THAT(transfer({.device = h200(), .suite = SuiteName::quick}).back().cases, SizeIs(3)) << "their blocks alternate";
}

TEST(Transfer, FullHasEveryKindAndSize) {
  const std::set<std::string> all = transfer_names(on_two_nodes(h200(), 0), SuiteName::full);
  for (const char* kind : {"pinned", "pageable", "registered", "write_combined", "managed"}) {
    EXPECT_THAT(all, Contains("transfer/host_to_device/int8/bytes:4294967296/memory:" + std::string(kind) +
                              "/node:near/impl:copy_engine"));
  }
  EXPECT_THAT(all, Contains("transfer/host_to_device/int8/bytes:64/memory:pinned/node:near/impl:sm_read"));
  EXPECT_THAT(all, Contains("transfer/device_to_host/int8/bytes:64/memory:pinned/node:near/impl:sm_write"));
  EXPECT_THAT(all, Contains("transfer/both/int8/bytes:4096/memory:pinned/node:near/impl:batched"));
  EXPECT_THAT(all, Contains("transfer/both/int8/bytes:64/memory:pinned/node:1/impl:copy_engine"));
  EXPECT_THAT(all, Each(Not(HasSubstr("node:0")))) << "the near one";
  EXPECT_THAT(transfer_names(on_two_nodes(h200(), {}), SuiteName::full), Contains(HasSubstr("node:0")))
      << "no node is known to be near";
  EXPECT_THAT(transfer_names(h200(), SuiteName::full), Each(AnyOf(HasSubstr("node:near"), HasSubstr("/peer_"))));
}

TEST(Transfer, PairsOfGpusAreNotMissing) {
  for (const Case& c : transfers_of_suite(h200(), SuiteName::quick)) {
    const bool pair = c.operation == "peer_in" || c.operation == "peer_out";
    EXPECT_EQ(c.unsupported == "takes two GPUs, and this process measures one", pair) << c.name();
  }
}

TEST(Transfer, EachDirectionIsAResourceOfItsOwn) {
  for (const Case& c : transfers_of_suite(h200(), SuiteName::quick)) {
    const std::int64_t bytes = std::stol(value_of(c.shape, "bytes"));
    if (c.operation.starts_with("peer_")) continue;
    EXPECT_EQ(c.work.total(resource::host_to_device), c.operation == "device_to_host" ? 0 : bytes) << c.name();
    EXPECT_EQ(c.work.total(resource::device_to_host), c.operation == "host_to_device" ? 0 : bytes) << c.name();
    EXPECT_EQ(c.work.total(resource::dram), 0) << c.name();
  }
}

TEST(Transfer, HostCopiesCountOnceInMemoryAndTwiceInCaches) {
  for (const Case& c : transfers_of_suite(two_cores(), SuiteName::quick)) {
    const std::int64_t bytes = std::stol(value_of(c.shape, "bytes"));
    if (bytes <= 8 << 10) {
      EXPECT_EQ(c.work.total(resource::l1), 2 * bytes) << c.name();
    }
    if (bytes >= 256 << 20) {
      EXPECT_EQ(c.work.total(resource::host_dram), bytes) << c.name();
    }
    EXPECT_EQ(c.work.total(resource::dram), 0) << c.name();
  }
}

TEST(Transfer, PairsOfHostNodes) {
  EXPECT_THAT(transfer_names(two_cores(), SuiteName::full), Each(HasSubstr("from:0/to:0")));
  const std::set<std::string> all = transfer_names(on_two_nodes(two_cores(), {}), SuiteName::quick);
  for (const std::string pair : {"from:0/to:0", "from:0/to:1", "from:1/to:0", "from:1/to:1"}) {
    EXPECT_THAT(all, Contains("transfer/host_copy/int8/bytes:268435456/" + pair + "/impl:memcpy"));
  }
}

TEST(Transfer, WhatWaitsForTheStreamIsNeverGated) {
  for (const Case& c : transfers_of_suite(h200(), SuiteName::full)) {
    const std::string kind = value_of(c.shape, "memory");
    if (kind == "pageable" || kind == "managed") {
      EXPECT_EQ(c.protocol.issue, Issue::stream) << c.name();
    }
    if (kind == "managed") {
      EXPECT_EQ(c.protocol.launches, 1) << "after one launch the pages are elsewhere";
    }
  }
}

/// Two nodes in name, of which the second is the first.
class TwoNodes final : public Device {
 public:
  explicit TwoNodes(std::unique_ptr<Device> device, std::optional<int> near = {}, std::vector<int> nodes = {0, 1})
      : device_(std::move(device)), info_(device_->info()) {
    info_.host_nodes = std::move(nodes);
    info_.near_node = near;
  }
  std::vector<int> asked;
  std::optional<int> refused;

  const DeviceInfo& info() const override { return info_; }
  Memory allocate_host(std::size_t bytes, const HostMemory& wanted) override {
    asked.push_back(wanted.node.value_or(-1));
    if (refused && wanted.node == refused) throw Unsupported("the kernel refuses it");
    return device_->allocate_host(bytes, {wanted.kind, {}, wanted.huge_pages});
  }
  Stream stream() override { return device_->stream(); }
  void synchronize() override { device_->synchronize(); }
  std::size_t free_bytes() override { return device_->free_bytes(); }
  void to_host(void* host, const void* data, std::size_t bytes) override { device_->to_host(host, data, bytes); }
  void to_device(void* data, const void* host, std::size_t bytes) override { device_->to_device(data, host, bytes); }
  void zero(void* data, std::size_t bytes) override { device_->zero(data, bytes); }
  void fill(void* data, DataType type, std::size_t count, const Fill& fill) override { device_->fill(data, type, count, fill); }
  void poison(void* data, std::size_t bytes) override { device_->poison(data, bytes); }
  std::uint64_t hash(const void* data, std::size_t bytes) override { return device_->hash(data, bytes); }
  void enqueue_hash(Stream stream, const void* data, std::size_t bytes, std::uint64_t* result) override {
    device_->enqueue_hash(stream, data, bytes, result);
  }
  ElementwiseError compare_linear(DataType type, const void* out, std::size_t count, double alpha, const void* x, double beta,
                                  const void* y, double constant) override {
    return device_->compare_linear(type, out, count, alpha, x, beta, y, constant);
  }
  ElementwiseError compare(DataType type, const void* out, std::size_t count, const double* expected,
                           const double* scale) override {
    return device_->compare(type, out, count, expected, scale);
  }
  void signed_block_sums(const MatrixView& view, std::int64_t block, std::uint64_t seed, double* sums,
                         double* squares) override {
    device_->signed_block_sums(view, block, seed, sums, squares);
  }
  void multiply_fp64(const MatrixView& view, const double* right, std::int64_t n, double* products) override {
    device_->multiply_fp64(view, right, n, products);
  }
  TermSums sum_terms(DataType type, const void* x, const void* y, std::size_t count) override {
    return device_->sum_terms(type, x, y, count);
  }
  std::unique_ptr<Batch> batch(const BatchPlan& plan, Launch launch) override {
    return device_->batch(plan, std::move(launch));
  }
  std::optional<double> observed_clock_hz(bool) override { return {}; }

 private:
  Memory obtain(std::size_t bytes) override { return device_->allocate(bytes); }

  std::unique_ptr<Device> device_;
  DeviceInfo info_;
};

Setup setup_of(Device& device, int slots = 1) { return {device, slots, Distribution::normal, 42, {}}; }

std::string note(const Prepared& prepared, std::string_view key) {
  for (const auto& [name, text] : prepared.notes()) {
    if (name == key) return text;
  }
  return "none";
}

TEST(Transfer, HostCopyBetweenTwoNodes) {
  TwoNodes device(open_device("cpu"));
  const PagePlacement known = placement_of(device.allocate_host(1, {}).get(), 1);
  const TransferPoint point{.op = TransferOp::host_copy,
                            .bytes = 1009,
                            .memory = HostMemoryKind::pageable,
                            .node = 0,
                            .to_node = 1,
                            .by = TransferBy::memcpy,
                            .offset = 3};
  device.asked.clear();
  const Case c = transfer_case(device.info(), point);
  EXPECT_EQ(c.name(), "transfer/host_copy/int8/bytes:1009/from:0/to:1/offset:3/impl:memcpy");
  if (known.only_node() == 0) {
    EXPECT_THROW(c.prepare(setup_of(device)), Unsupported) << "the pages lie on node 0, as the kernel says";
  }
  TransferPoint same = point;
  same.to_node = 0;
  const auto prepared = transfer_case(device.info(), same).prepare(setup_of(device));
  EXPECT_THAT(device.asked, Contains(1)) << "which node each end is asked for";
  EXPECT_EQ(prepared->verify(0).status, Verification::Status::failed) << "poisoned";
  prepared->launch(device.stream(), 0);
  EXPECT_EQ(prepared->verify(0).status, Verification::Status::passed);
  EXPECT_THAT(note(*prepared, "source pageable memory"), HasSubstr("asked for node 0"));
  EXPECT_THAT(note(*prepared, "bytes counted"), HasSubstr("once"));
}

TransferPoint copy_of(std::optional<int> from, std::optional<int> to) {
  return {.op = TransferOp::host_copy,
          .bytes = 1009,
          .memory = HostMemoryKind::pageable,
          .node = from,
          .to_node = to,
          .by = TransferBy::memcpy};
}

// As when a job got the CPUs and the memory of the other socket.
TEST(Transfer, NearIsWhereMemoryMayBeUsed) {
  for (const std::vector<int>& nodes : {std::vector{0}, {0, 2}}) {
    TwoNodes device(open_device("cpu"), 1, nodes);
    const auto prepared = transfer_case(device.info(), copy_of({}, {})).prepare(setup_of(device));
    EXPECT_THAT(device.asked, Each(-1));
    EXPECT_THAT(note(*prepared, "near"), HasSubstr("this process may use no memory of NUMA node 1; it lies on "));
    prepared->launch(device.stream(), 0);
    EXPECT_EQ(prepared->verify(0).status, Verification::Status::passed);
  }
}

TEST(Transfer, NearIsBestEffortAndAnotherNodeIsNot) {
  TwoNodes device(open_device("cpu"), 1);
  device.refused = 1;
  const auto prepared = transfer_case(device.info(), copy_of({}, {})).prepare(setup_of(device));
  EXPECT_EQ(device.asked, (std::vector{1, -1, 1, -1})) << "both ends";
  EXPECT_THAT(note(*prepared, "near"), HasSubstr("the kernel refuses it; it lies on "));
  EXPECT_THROW(transfer_case(device.info(), copy_of(1, 1)).prepare(setup_of(device)), Unsupported);
  TwoNodes willing(open_device("cpu"), 1);
  EXPECT_EQ(note(*transfer_case(willing.info(), copy_of({}, {})).prepare(setup_of(willing)), "near"), "none");
}

TEST(Transfer, AStagingCopyThatCrossesNodesIsSaid) {
  EXPECT_EQ(staging_note(1, 0), "crosses NUMA nodes: the calling thread is on node 1 at the end, the memory on node 0");
  EXPECT_THAT(staging_note(1, 1), IsEmpty());
  EXPECT_THAT(staging_note({}, 0), IsEmpty());
  EXPECT_THAT(staging_note(1, {}), IsEmpty());
}

class WrongByte : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      device_ = open_device(GetParam());
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::unique_ptr<Device> device_;
};

// On every path, at the first byte, in the middle and at the last.
TEST_P(WrongByte, IsNamed) {
  constexpr std::size_t kBytes = 100003, kOffset = 1;
  const TransferEnd host{false, {HostMemoryKind::pageable, {}, false}}, device{true};
  const bool gpu = device_->info().backend == Backend::cuda;
  for (const auto& [from, to] : {std::pair(host, gpu ? device : host), std::pair(gpu ? device : host, host)}) {
    TransferPath path(setup_of(*device_, 2), "one way by hand", kBytes, kOffset, from, to, 0);
    EXPECT_EQ(path.verify(1).status, Verification::Status::failed) << "poisoned";
    const CopyRange range = path.range(1);
    std::vector<unsigned char> bytes(kBytes);
    from.on_device ? device_->to_host(bytes.data(), range.from, kBytes)
                   : static_cast<void>(std::memcpy(bytes.data(), range.from, kBytes));
    const auto put = [&, on_device = to.on_device] {
      on_device ? device_->to_device(range.to, bytes.data(), kBytes)
                : static_cast<void>(std::memcpy(range.to, bytes.data(), kBytes));
    };
    put();
    EXPECT_EQ(path.verify(1).status, Verification::Status::passed);
    for (const std::size_t at : {std::size_t{0}, kBytes / 2, kBytes - 1}) {
      bytes[at] ^= 1;
      put();
      const Verification found = path.verify(1);
      EXPECT_EQ(found.status, Verification::Status::failed);
      EXPECT_EQ(found.wrong, 1U);
      EXPECT_EQ(found.detail, "bytes that differ from the generator's; the first is byte " + std::to_string(at) +
                                  " of 100003, one way by hand");
      bytes[at] ^= 1;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, WrongByte, testing::Values("cpu", "cuda:0"),
                         [](const testing::TestParamInfo<const char*>& info) { return std::string(info.param).substr(0, 3); });

}  // namespace
}  // namespace roofmark
