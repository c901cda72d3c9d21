// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/stream.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "bench/support/listing.hpp"
#include "harness/device/random.hpp"
#include "harness/model/units.hpp"

namespace roofmark::stream {

std::vector<Group> list(const Listing&);

namespace {

using ::testing::Contains;
using ::testing::Not;

DeviceInfo gpu() {
  DeviceInfo info;
  info.backend = Backend::cuda;
  info.memory_bytes = 141 * 1000000000ull;
  info.free_bytes = 140 * 1000000000ull;
  info.caches = {{"l2", 60 * kMiB, 60 * kMiB}};
  return info;
}

DeviceInfo cpu_device() {
  DeviceInfo info;
  info.backend = Backend::cpu;
  info.memory_bytes = 64 * kGiB;
  info.free_bytes = 60 * kGiB;
  info.caches = {{"l1", 64 * kKiB, 32 * kKiB}, {"l2", 2 * kMiB, kMiB}, {"l3", 32 * kMiB, 32 * kMiB}};
  return info;
}

/// Whether this build has kernels for it: without, every case is listed as unsupported.
bool supports(const DeviceInfo& device) { return select(device.backend, &cuda::stream, &cpu::stream) != nullptr; }

std::vector<Case> cases(const std::vector<Group>& groups) {
  std::vector<Case> all;
  for (const Group& group : groups) all.insert(all.end(), group.cases.begin(), group.cases.end());
  return all;
}

std::set<std::string> names(const std::vector<Case>& cases) {
  std::set<std::string> all;
  for (const Case& one : cases) all.insert(one.name());
  return all;
}

std::string path(std::string_view operation, std::string_view type, std::size_t bytes, std::string_view cache = "warm",
                 std::string_view impl = "own") {
  return fmt::format("stream/{}/{}/bytes:{}/impl:{}/cache:{}", operation, type, bytes, impl, cache);
}

/// Every operation, and copy and write by the library too.
std::vector<std::string> fp64_paths(std::size_t bytes) {
  std::vector<std::string> all = {path("copy", "fp64", bytes, "warm", "memcpy"),
                                  path("write", "fp64", bytes, "warm", "memset")};
  for (StreamOp op : kStreamOps) all.push_back(path(name(op), "fp64", bytes));
  return all;
}

const SuiteName kSuites[] = {SuiteName::quick, SuiteName::baseline, SuiteName::full};

TEST(Stream, NamesAreUniqueInEverySuiteAndCompared) {
  for (const DeviceInfo& device : {gpu(), cpu_device()}) {
    for (SuiteName suite : kSuites) {
      const std::vector<Group> groups = list({device, suite, {}, 0.9});
      const std::vector<Case> all = cases(groups);
      EXPECT_EQ(names(all).size(), all.size());
      std::size_t comparisons = 0;
      for (const Group& group : groups) {
        const std::set<std::string> here = names(group.cases);
        for (const Comparison& comparison : group.comparisons) {
          EXPECT_TRUE(here.contains(comparison.numerator.name())) << comparison.numerator.name();
          EXPECT_TRUE(here.contains(comparison.denominator.name())) << comparison.denominator.name();
          ++comparisons;
        }
      }
      EXPECT_EQ(comparisons >= 2, supports(device)) << device.id;
    }
  }
}

TEST(Stream, QuickStaysQuickAndShowsEveryOperationAndCache) {
  const std::set<std::string> on_cpu = names(cases(list({cpu_device(), SuiteName::quick, {}, 0.9})));
  EXPECT_LE(on_cpu.size(), 14u);
  for (std::size_t held : {32 * kKiB, kMiB, 16 * kMiB}) EXPECT_THAT(on_cpu, Contains(path("triad", "fp64", held)));
  const std::set<std::string> on_gpu = names(cases(list({gpu(), SuiteName::quick, {}, 0.9})));
  EXPECT_LE(on_gpu.size(), 26u);
  EXPECT_THAT(on_gpu, Contains(path("triad", "fp64", 16 * kMiB)));
  EXPECT_THAT(on_cpu, testing::IsSupersetOf(fp64_paths(256 * kMiB)));
  EXPECT_THAT(on_gpu, testing::IsSupersetOf(fp64_paths(kGiB)));
}

TEST(Stream, FullSweepsFrom16KiBToAQuarterOfTheMemoryByTwos) {
  const std::set<std::string> all = names(cases(list({gpu(), SuiteName::full, {}, 0.9})));
  for (std::size_t bytes = 16 * kKiB; bytes <= 32 * kGiB; bytes *= 2) {
    EXPECT_THAT(all, testing::IsSupersetOf(fp64_paths(bytes)));
  }
  for (const std::string& larger : fp64_paths(64 * kGiB)) EXPECT_THAT(all, Not(Contains(larger)));
}

TEST(Stream, OneCaseTakesNearlyAllMemoryAndNoneTakesMoreThanAllowed) {
  const auto largest = [](const DeviceInfo& device, SuiteName suite, double fraction) {
    std::string name;
    std::size_t most = 0;
    for (const Group& group : list({device, suite, {}, fraction})) {
      std::size_t together = 0;
      for (const Case& one : group.cases) {
        if (one.unsupported.empty()) together += one.slot_bytes + one.shared_bytes;
      }
      EXPECT_LE(static_cast<double>(together), fraction * static_cast<double>(device.free_bytes)) << group.cases[0].name();
      if (together > most) name = group.cases[0].name();
      most = std::max(most, together);
    }
    return name;
  };
  EXPECT_EQ(largest(cpu_device(), SuiteName::full, 0.9), path("triad", "fp64", 48 * kGiB + 576 * kMiB));
  for (const Case& one : cases(list({gpu(), SuiteName::full, {}, 0.0}))) EXPECT_NE(one.unsupported, "") << one.name();
  if (!supports(gpu())) GTEST_SKIP() << "this build has no CUDA kernels";
  EXPECT_EQ(largest(gpu(), SuiteName::full, 0.9), path("triad", "fp64", 116 * kGiB));
  EXPECT_EQ(largest(gpu(), SuiteName::baseline, 0.9), path("triad", "fp64", 116 * kGiB));
  EXPECT_EQ(largest(gpu(), SuiteName::baseline, 0.95), path("triad", "fp64", 116 * kGiB));
  EXPECT_EQ(largest(gpu(), SuiteName::full, 0.5), path("triad", "fp64", 64 * kGiB));
  largest(gpu(), SuiteName::quick, 0.001);
}

TEST(Stream, ColdIsSaidInTheNameAndDemandsDram) {
  const DeviceInfo device = gpu();
  const std::vector<Case> all = cases(list({device, SuiteName::quick, Cache::cold, 0.9}));
  EXPECT_THAT(names(all), Contains(path("triad", "fp64", 64 * kKiB, "cold")));
  for (const Case& one : all) {
    EXPECT_EQ(one.protocol.cache, Cache::cold);
    EXPECT_EQ(one.work.total(resource::dram), static_cast<double>(one.touched_bytes)) << one.name();
  }
}

// An L2 that is larger than the L3 holds a part of what exceeds the L3.
TEST(Stream, OfEverySuiteOnACpuSomeDemandDramAlone) {
  DeviceInfo device = cpu_device();
  device.caches = {{"l1", 4 * kMiB, 64 * kKiB}, {"l2", 64 * kMiB, kMiB}, {"l3", 32 * kMiB, 32 * kMiB}};
  for (const SuiteName suite : {SuiteName::smoke, SuiteName::quick}) {
    int alone = 0;
    for (const Case& one : cases(list({.device = device, .suite = suite, .memory_fraction = 0.9}))) {
      const bool all = one.work.total(resource::dram) == static_cast<double>(one.touched_bytes);
      alone += all && one.work.total(resource::l3) == 0 && one.operation == "triad" ? 1 : 0;
    }
    EXPECT_GT(alone, 0) << name(suite);
  }
}

TEST(Stream, WorkIsCountedFromTheOperation) {
  struct Counts {
    StreamOp op;
    double arrays;
    double flops;
  };
  // After the operations' formulas, counted by hand.
  constexpr Counts kCounts[] = {{StreamOp::read, 1, 1},  {StreamOp::write, 1, 0}, {StreamOp::copy, 2, 0},
                                {StreamOp::scale, 2, 1}, {StreamOp::add, 3, 1},   {StreamOp::triad, 3, 2},
                                {StreamOp::dot, 2, 2}};
  struct Type {
    DataType type;
    double bytes;
    Resource pipe;
  };
  const Type types[] = {{DataType::fp64, 8, resource::fp64_fma},
                        {DataType::fp32, 4, resource::fp32_fma},
                        {DataType::fp16, 2, resource::fp32_fma},
                        {DataType::bf16, 2, resource::fp32_fma}};
  for (const Counts& counts : kCounts) {
    for (const Type& type : types) {
      const double n = 1 << 30;
      const double bytes = counts.arrays * n * type.bytes;
      const Case one = stream_case(gpu(), counts.op, type.type, static_cast<std::size_t>(bytes), Cache::warm);
      EXPECT_EQ(one.work.total(resource::dram), bytes) << one.name();
      EXPECT_EQ(one.work.total(type.pipe), counts.flops * n) << one.name();
      EXPECT_EQ(one.work.total(Unit::flop), counts.flops * n) << one.name();
      for (const Demand& demand : one.work.phases.front()) {
        const bool alone = demand.resource == type.pipe && counts.flops == 1;
        EXPECT_EQ(demand.part, alone ? 0.5 : 1) << one.name() << ": an addition takes the time of a fused multiply-add";
      }
      EXPECT_EQ(static_cast<double>(one.touched_bytes), bytes) << one.name();
      EXPECT_GE(static_cast<double>(one.slot_bytes), bytes) << one.name();
    }
  }
}

TEST(Stream, BytesThatDoNotDivideAreCountedAsTheyAreTouched) {
  const Case one = stream_case(gpu(), StreamOp::triad, DataType::fp64, 8 * kGiB + 23, Cache::warm);
  EXPECT_EQ(one.touched_bytes, (8 * kGiB + 23) / 24 * 24);
  EXPECT_EQ(one.work.total(resource::dram), static_cast<double>(one.touched_bytes));
}

/// Prepared on the CPU, or null and a skip that says why.
std::unique_ptr<Prepared> prepared(Device& device, StreamOp op, DataType type, StreamBy by,
                                   Distribution data = Distribution::normal) {
  const Case one = stream_case(device.info(), op, type, 100003, Cache::cold, by);
  return one.unsupported.empty() ? one.prepare({device, 2, data, 7, {}}) : nullptr;
}

TEST(Stream, AResultIsWrongBeforeTheLaunchAndRightAfterIt) {
  const std::unique_ptr<Device> device = open_device("cpu");
  int checked = 0;
  for (StreamOp op : kStreamOps) {
    for (DataType type : {DataType::fp64, DataType::fp32}) {
      for (Distribution data : {Distribution::normal, Distribution::uniform, Distribution::zeros}) {
        const auto stream = prepared(*device, op, type, StreamBy::kernel, data);
        if (!stream) continue;
        SCOPED_TRACE(name(op));
        EXPECT_EQ(stream->verify(1).status, Verification::Status::failed);
        stream->launch(device->stream(), 1);
        EXPECT_EQ(stream->verify(1).status, Verification::Status::passed) << stream->verify(1).error;
        stream->launch(device->stream(), 1);
        stream->launch(device->stream(), 1);
        EXPECT_EQ(stream->verify(1).status, Verification::Status::passed);
        EXPECT_EQ(stream->verify(0).status, Verification::Status::failed);
        ++checked;
      }
    }
  }
  if (!checked) GTEST_SKIP() << "this build has no stream kernels for the CPU";
}

TEST(Stream, OneWrongElementIsFound) {
  const std::unique_ptr<Device> device = open_device("cpu");
  int checked = 0;
  for (StreamOp op : kStreamOps) {
    const auto stream = prepared(*device, op, DataType::fp32, StreamBy::kernel);
    if (!stream) continue;
    SCOPED_TRACE(name(op));
    stream->launch(device->stream(), 0);
    const Output output = stream->outputs(0).front();
    for (std::size_t i : {std::size_t{0}, output.count / 2, output.count - 1}) {
      const double right = load_as_double(output.type, output.data, i);
      // A term of 0.01 left out of a sum; the sixteenth bit of an element.
      store(output.type, output.data, i, is_reduction(op) ? right + 0.01 : right * (1 + 0x1p-16));
      EXPECT_EQ(stream->verify(0).status, Verification::Status::failed) << i;
      store(output.type, output.data, i, right);
      EXPECT_EQ(stream->verify(0).status, Verification::Status::passed) << i;
    }
    ++checked;
  }
  if (!checked) GTEST_SKIP() << "this build has no stream kernels for the CPU";
}

TEST(Stream, TheLibrarysCallLeavesWhatTheKernelLeaves) {
  const std::unique_ptr<Device> device = open_device("cpu");
  for (StreamOp op : {StreamOp::copy, StreamOp::write}) {
    const auto kernel = prepared(*device, op, DataType::fp64, StreamBy::kernel);
    const auto library = prepared(*device, op, DataType::fp64, StreamBy::library);
    if (!kernel || !library) GTEST_SKIP() << "no kernel or no library call on the CPU";
    kernel->launch(device->stream(), 0);
    library->launch(device->stream(), 0);
    EXPECT_EQ(library->verify(0).status, Verification::Status::passed);
    const Output a = kernel->outputs(0).front(), b = library->outputs(0).front();
    EXPECT_EQ(device->hash(a.data, a.count * 8), device->hash(b.data, b.count * 8)) << name(op);
  }
}

}  // namespace
}  // namespace roofmark::stream
