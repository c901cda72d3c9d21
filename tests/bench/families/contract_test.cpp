// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/program/suite.hpp"
#include "bench/support/listing.hpp"
#include "bench/support/process_fabric.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

using Verified = Verification::Status;

struct DeviceAndFamily {
  std::string device;
  NamedFamily family;

  friend std::ostream& operator<<(std::ostream& out, const DeviceAndFamily& both) {
    return out << both.family.name << " on " << both.device;
  }
};

std::vector<DeviceAndFamily> families_on(const std::string& device) {
  std::vector<DeviceAndFamily> all;
  for (const NamedFamily& family : families()) all.push_back({device, family});
  return all;
}

// What every case promises, held against every case of a family on a device.
class Contract : public testing::TestWithParam<DeviceAndFamily> {
 protected:
  void SetUp() override {
    std::string note;
    try {
      resolve_devices(GetParam().device, note);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
    device_ = open_device(GetParam().device);
  }

  Verified verify(Prepared& prepared, int slot) { return prepared.verify(slot).status; }

  void launch(Prepared& prepared, int slot, int times = 1) {
    prepared.reset(slot);
    for (int i = 0; i < times; ++i) prepared.launch(device_->stream(), slot);
    device_->synchronize();
  }

  // Changes one element of the output, far enough that no rounding could; and back.
  void plant(const Output& output, std::size_t element) {
    std::vector<std::uint8_t> bytes(size_of(output.type));
    void* const at = static_cast<std::uint8_t*>(output.data) + element * bytes.size();
    device_->to_host(bytes.data(), at, bytes.size());
    bytes.back() ^= 0x40;  // the exponent's highest bit, or a large step of an integer
    device_->to_device(at, bytes.data(), bytes.size());
  }

  void check(const Case& c) {
    SCOPED_TRACE(c.name());
    roofmark::Setup setup{*device_, 2, Distribution::normal, 42,
                          [](const std::vector<Launch>& launches) { return std::vector<double>(launches.size(), 1.0); }};
    const std::size_t allocated = device_->allocated_bytes();
    std::unique_ptr<Prepared> prepared;
    try {
      prepared = c.prepare(setup);
    } catch (const Unsupported&) {
      ++unsupported_;
      return;
    }
    const std::size_t promised = 2 * c.slot_bytes + c.shared_bytes;
    EXPECT_LE(device_->allocated_bytes() - allocated, promised) << "takes more memory than it says";
    const std::vector<Output> outputs = prepared->outputs(0);
    const Verified fresh = verify(*prepared, 0);
    if (fresh == Verified::nothing_to_verify) {
      EXPECT_TRUE(outputs.empty()) << "has an output and verifies nothing";
      for (const int slot : {0, 0, 1}) launch(*prepared, slot);
      return;
    }
    EXPECT_EQ(fresh, Verified::failed) << "a poisoned output passed";
    launch(*prepared, 0);
    const Verification once = prepared->verify(0);
    EXPECT_EQ(once.status, Verified::passed) << once.detail << ": error " << once.error << ", bound " << once.bound;
    EXPECT_EQ(verify(*prepared, 1), Verified::failed) << "a slot that was not launched passed";
    const auto bits = [&](const Output& output) { return device_->hash(output.data, output.count * size_of(output.type)); };
    std::vector<std::uint64_t> first;
    for (const Output& output : outputs) first.push_back(bits(output));
    launch(*prepared, 0, prepared->needs_reset() || prepared->accumulates() ? 1 : 2);
    EXPECT_EQ(verify(*prepared, 0), Verified::passed) << "after more launches";
    ASSERT_TRUE(!outputs.empty() || !prepared->outputs_are_all());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Output& output = outputs[i];
      ASSERT_NE(output.data, nullptr);
      ASSERT_GT(output.count, 0U);
      if (prepared->is_deterministic()) {
        EXPECT_EQ(bits(output), first[i]) << "output " << i << " of another launch";
      }
      for (const std::size_t element : {std::size_t{0}, output.count / 2, output.count - 1}) {
        plant(output, element);
        EXPECT_EQ(verify(*prepared, 0), Verified::failed)
            << "element " << element << " of the " << output.count << " of output " << i << " is wrong";
        plant(output, element);
      }
    }
    EXPECT_EQ(verify(*prepared, 0), Verified::passed) << "with the planted elements as they were";
    launch(*prepared, 1);
    EXPECT_EQ(verify(*prepared, 1), Verified::passed) << "the second slot";
    ++checked_;
  }

  std::unique_ptr<Device> device_;
  int checked_ = 0, unsupported_ = 0;
};

TEST_P(Contract, HoldsForEveryCase) {
  const std::unique_ptr<Fabric> fabric = process_fabric(device_->info());
  const std::vector<Group> groups = GetParam().family.list({.device = device_->info(),
                                                            .suite = SuiteName::contract,
                                                            .memory_fraction = 0.5,
                                                            .fabric = fabric.get(),
                                                            .short_probes = true});
  if (GetParam().family.reach == Reach::between_ranks && groups.empty()) GTEST_SKIP() << "takes two GPUs, or two ranks";
  for (const Group& group : groups) {
    for (const Case& c : group.cases) {
      if (c.unsupported.empty()) check(c);
    }
  }
  EXPECT_GT(checked_, 0) << "no case was checked";
  RecordProperty("checked", checked_);
}

std::string family_name(const testing::TestParamInfo<DeviceAndFamily>& test) { return std::string(test.param.family.name); }

INSTANTIATE_TEST_SUITE_P(Cpu, Contract, testing::ValuesIn(families_on("cpu")), family_name);
INSTANTIATE_TEST_SUITE_P(Gpu, Contract, testing::ValuesIn(families_on("cuda:0")), family_name);

}  // namespace
}  // namespace roofmark
