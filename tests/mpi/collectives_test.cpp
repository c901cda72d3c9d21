// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/collectives.hpp"

#include <gmock/gmock.h>

#include "bench/support/listing.hpp"
#include "harness/machine/host.hpp"
#include "harness/team/gather.hpp"
#include "kernels/base/check.hpp"
#include "tests/mpi/one_host.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using Verified = Verification::Status;

// What every case promises, held against every collective over the ranks that this program was started with.
class MpiCollectives : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_device("cpu");
    fabric_ = one_host(team_, {DataType::fp32, DataType::fp64});
  }

  Listing contract() const { return {device_->info(), SuiteName::contract, {}, 0.5, &fabric_}; }

  void launch(Prepared& prepared, int slot, int times = 1) {
    prepared.reset(slot);
    for (int i = 0; i < times; ++i) prepared.launch(device_->stream(), slot);
  }

  /// On every rank: the worst that any of them found.
  bool passes(Prepared& prepared, int slot) { return team_.agree(prepared.verify(slot).status != Verified::failed); }

  void plant(const Output& output, std::size_t element) {
    std::vector<std::uint8_t> bytes(size_of(output.type));
    void* const at = static_cast<std::uint8_t*>(output.data) + element * bytes.size();
    device_->to_host(bytes.data(), at, bytes.size());
    bytes.back() ^= 0x40;
    device_->to_device(at, bytes.data(), bytes.size());
  }

  void check(const Case& c) {
    SCOPED_TRACE(c.name());
    ASSERT_TRUE(c.unsupported.empty()) << c.unsupported;
    roofmark::Setup setup{*device_, 2, Distribution::normal, 42,
                          [](const std::vector<Launch>& launches) { return std::vector<double>(launches.size(), 1.0); }};
    const std::size_t before = device_->allocated_bytes();
    const std::unique_ptr<Prepared> prepared = c.prepare(setup);
    EXPECT_LE(device_->allocated_bytes() - before, 2 * c.slot_bytes + c.shared_bytes) << "takes more memory than it says";
    // In place a rank alone has its result before it begins, and of a few elements all may be right by chance.
    const bool in_place = c.message && c.message->place == "in";
    const bool passed = passes(*prepared, 0);
    EXPECT_FALSE(passed && !(in_place && (team_.size() == 1 || c.message->count < 100))) << "before a launch";
    launch(*prepared, 0);
    const Verification once = prepared->verify(0);
    EXPECT_NE(once.status, Verified::failed) << once.detail;
    EXPECT_EQ(once.wrong, 0U);
    team_.barrier();
    launch(*prepared, 0, prepared->needs_reset() || prepared->accumulates() ? 1 : 3);
    EXPECT_TRUE(passes(*prepared, 0)) << "after three launches";
    std::size_t count = 0;
    for (const Output& output : prepared->outputs(0)) count = std::max(count, output.count);
    // All ranks launch as often, so all go through as many elements.
    for (const double place : {0.0, 0.5, 1.0}) {
      launch(*prepared, 0);
      const std::vector<Output> outputs = prepared->outputs(0);
      if (!outputs.empty()) {
        const Output& output = outputs.back();
        plant(output, static_cast<std::size_t>(place * static_cast<double>(output.count - 1)));
        const Verification found = prepared->verify(0);
        EXPECT_EQ(found.status, Verified::failed) << "a wrong element at " << place << " of the output";
        EXPECT_EQ(found.wrong, 1U);
        EXPECT_THAT(found.detail, HasSubstr("expected"));
      }
      team_.barrier();
    }
    launch(*prepared, 1);
    EXPECT_TRUE(passes(*prepared, 1)) << "the second slot";
    ++checked_;
  }

  MpiTeam team_{nullptr, [] {}};
  std::unique_ptr<Device> device_;
  Fabric fabric_;
  int checked_ = 0;
};

TEST_F(MpiCollectives, EveryOneHoldsItsPromises) {
  for (const Group& group : collectives::list(contract())) {
    for (const Case& c : group.cases) check(c);
  }
  EXPECT_GT(checked_, 100);
}

TEST_F(MpiCollectives, TheProbesOfTheLinksHoldTheirPromises) {
  for (const Group& group : link_ceilings::list(contract())) {
    for (const Case& c : group.cases) check(c);
  }
  EXPECT_EQ(checked_ > 0, team_.size() > 1);
}

TEST_F(MpiCollectives, BesideAProductNoEarlierResultIsTakenForANewOne) {
  for (const Group& group : overlap::list(contract())) {
    const Case& both = group.cases.back();
    SCOPED_TRACE(both.name());
    ASSERT_TRUE(both.unsupported.empty()) << both.unsupported;
    const std::unique_ptr<Prepared> prepared =
        both.prepare({*device_, 1, Distribution::normal, 42,
                      [](const std::vector<Launch>& launches) { return std::vector<double>(launches.size(), 1.0); }});
    launch(*prepared, 0);
    EXPECT_TRUE(passes(*prepared, 0));
    prepared->reset(0);
    EXPECT_FALSE(passes(*prepared, 0)) << "after a reset";
    ++checked_;
  }
  EXPECT_EQ(checked_ > 0, team_.size() > 1);
}

TEST_F(MpiCollectives, AllRanksListTheSame) {
  std::string names;
  for (const SuiteName suite : {SuiteName::quick, SuiteName::baseline, SuiteName::full}) {
    for (const Group& group : collectives::list({device_->info(), suite, {}, 0.5, &fabric_}))
      names += group.cases.front().name();
  }
  for (const std::string& other : team_.gather(names)) EXPECT_EQ(other, names);
}

TEST_F(MpiCollectives, MoreElementsThanMpiCountsAreUnsupported) {
  const std::shared_ptr<Communicator> communicator = fabric_.split(std::vector<int>(fabric_.members.size(), 0));
  CollectiveCall call;
  call.chunk = std::size_t{1} << 31;
  EXPECT_THROW(communicator->enqueue(call, nullptr), Unsupported);
}

}  // namespace
}  // namespace roofmark
