// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: the probes of every kind of device, on the same made-up devices.
#include "bench/families/ceilings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "bench/support/listing.hpp"
#include "harness/device/random.hpp"
#include "harness/judge/theory.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

// What the tests' parameters are called, by GoogleTest too.
std::string label(const DeviceInfo& device) {
  return device.backend == Backend::cuda ? "sm_" + std::to_string(device.compute_capability)
                                         : "cores_" + std::to_string(device.multiprocessors);
}
std::string label(Distribution data) {
  constexpr const char* names[] = {"normal", "uniform", "zeros"};
  return names[static_cast<int>(data)];
}
// GoogleTest looks for these names.
void PrintTo(const DeviceInfo& device, std::ostream* out) { *out << label(device); }  // NOLINT(readability-identifier-naming)
void PrintTo(Distribution data, std::ostream* out) { *out << label(data); }           // NOLINT(readability-identifier-naming)

namespace ceilings {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

DeviceInfo gpu(int capability, int multiprocessors, std::size_t l2_bytes) {
  DeviceInfo info;
  info.id = "cuda:0";
  info.backend = Backend::cuda;
  info.compute_capability = capability;
  info.multiprocessors = multiprocessors;
  info.rated_clock_hz = info.highest_clock_hz = 1.98e9;
  info.memory_bytes = info.free_bytes = std::size_t{80} << 30;
  info.caches = {{"l2", l2_bytes, l2_bytes}};
  return info;
}

DeviceInfo cpu(int cores) {
  DeviceInfo info;
  info.id = "cpu";
  info.multiprocessors = cores;
  info.memory_bytes = info.free_bytes = std::size_t{16} << 30;
  info.caches = {{"l1", cores * std::size_t{32768}, 32768},
                 {"l2", cores * std::size_t{1} << 20, std::size_t{1} << 20},
                 {"l3", std::size_t{32} << 20, std::size_t{32} << 20}};
  return info;
}

std::vector<Case> listed(const DeviceInfo& device, SuiteName suite = SuiteName::quick, std::optional<Cache> cache = {}) {
  std::vector<Case> cases;
  for (const Group& group : list(Listing{device, suite, cache})) {
    for (const Case& c : group.cases) cases.push_back(c);
  }
  return cases;
}

std::set<std::string> names(const std::vector<Case>& cases, bool supported) {
  std::set<std::string> found;
  for (const Case& c : cases) {
    if (c.unsupported.empty() == supported) found.insert(c.name());
  }
  return found;
}

const Case& find(const std::vector<Case>& cases, const std::string& name) {
  for (const Case& c : cases) {
    if (c.name() == name) return c;
  }
  throw std::invalid_argument(name);
}

class Ceilings : public ::testing::TestWithParam<DeviceInfo> {
 protected:
  void SetUp() override {
    const DeviceInfo& device = GetParam();
    if (!select(device.backend, &cuda::ceilings, &cpu::ceilings)) GTEST_SKIP() << "this build has no kernels for " << device.id;
  }
};

TEST_P(Ceilings, HaveNamesOfTheirOwn) {
  const std::vector<Case> cases = listed(GetParam());
  EXPECT_EQ(names(cases, true).size() + names(cases, false).size(), cases.size());
  EXPECT_FALSE(names(cases, true).empty());
}

TEST_P(Ceilings, AreSetOfTheOneResourceThatAProbeDemands) {
  for (const Case& c : listed(GetParam())) {
    if (!c.unsupported.empty()) continue;
    SCOPED_TRACE(c.name());
    ASSERT_TRUE(c.sets_ceiling);
    ASSERT_EQ(c.work.phases.size(), 1U);
    ASSERT_EQ(c.work.phases[0].size(), 1U);
    EXPECT_EQ(c.work.phases[0][0].resource, c.sets_ceiling->resource);
    EXPECT_GT(c.work.phases[0][0].amount, 0);
    EXPECT_EQ(c.family, "ceilings");
  }
}

TEST_P(Ceilings, AreTheSameWhateverElseIsMeasured) {
  const std::vector<Case> quick = listed(GetParam(), SuiteName::quick), full = listed(GetParam(), SuiteName::full, Cache::warm);
  EXPECT_EQ(names(quick, true), names(full, true));
  for (const Case& c : quick)
    EXPECT_EQ(c.work.total(c.sets_ceiling->resource), find(full, c.name()).work.total(c.sets_ceiling->resource)) << c.name();
}

TEST_P(Ceilings, FitInTheMemory) {
  for (const Case& c : listed(GetParam())) EXPECT_LT(c.slot_bytes + c.shared_bytes, GetParam().free_bytes) << c.name();
}

TEST_P(Ceilings, OfDramNeedFreeMemory) {
  DeviceInfo device = GetParam();
  device.free_bytes = 1000;
  int seen = 0;
  for (const Case& c : listed(device)) {
    if (c.sets_ceiling->resource != resource::dram) continue;
    ++seen;
    EXPECT_EQ(c.unsupported, "less than 1 MiB of memory is free") << c.name();
  }
  EXPECT_GT(seen, 0);
}

INSTANTIATE_TEST_SUITE_P(Devices, Ceilings,
                         ::testing::Values(gpu(80, 108, 40 << 20), gpu(89, 58, 48 << 20), gpu(90, 132, 60 << 20),
                                           gpu(100, 148, 126 << 20), gpu(120, 170, 96 << 20), cpu(1), cpu(2), cpu(64)),
                         [](const auto& test) { return label(test.param); });

/// Cases of the ceilings family with other names, by the resource whose ceiling they set.
std::vector<std::string> that_set(const Resource& resource, const std::vector<Case>& cases) {
  std::vector<std::string> found;
  for (const Case& c : cases) {
    if (c.sets_ceiling->resource == resource) found.push_back(c.name());
  }
  return found;
}

// So that whatever a warm stream does with a cache has a roof.
TEST(CacheCeilings, AreSetByReadsWritesAndCopies) {
  const auto cases = listed(cpu(2));
  for (const auto& [level, resource] : {std::pair{"l1", resource::l1}, {"l2", resource::l2}, {"l3", resource::l3}}) {
    const std::string end = std::string("/fp32/level:") + level;
    EXPECT_THAT(that_set(resource, cases),
                ElementsAre(StartsWith("ceilings/cache_read" + end), StartsWith("ceilings/cache_write" + end),
                            StartsWith("ceilings/cache_copy" + end)));
  }
  // Seconds count there.
  for (const Case& c : listed(cpu(2), SuiteName::smoke)) EXPECT_NE(c.operation, "cache_copy");
}

class CudaCeilings : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!select(Backend::cuda, &cuda::ceilings, &cpu::ceilings)) GTEST_SKIP() << "this build has no CUDA kernels";
  }
};

TEST_F(CudaCeilings, OfferWhatEachComputeCapabilityHas) {
  const auto ampere = listed(gpu(80, 108, 40 << 20)), ada = listed(gpu(89, 58, 48 << 20)),
             hopper = listed(gpu(90, 132, 60 << 20)), blackwell = listed(gpu(100, 148, 126 << 20));
  EXPECT_THAT(names(ampere, true), IsSupersetOf({"ceilings/mma/fp64/accumulate:fp64", "ceilings/mma/tf32/accumulate:fp32",
                                                 "ceilings/mma/fp16/accumulate:fp32", "ceilings/mma/fp16/accumulate:fp16",
                                                 "ceilings/mma/bf16/accumulate:fp32", "ceilings/mma/int8/accumulate:int32"}));
  EXPECT_THAT(names(ampere, false), IsSupersetOf({"ceilings/mma/fp8/accumulate:fp32", "ceilings/wgmma/fp16/accumulate:fp32"}));
  EXPECT_THAT(names(ada, true), Contains("ceilings/mma/fp8/accumulate:fp32"));
  EXPECT_THAT(names(ada, false), IsSupersetOf({"ceilings/mma/fp64/accumulate:fp64", "ceilings/wgmma/int8/accumulate:int32"}));
  EXPECT_THAT(names(hopper, true), IsSupersetOf({"ceilings/mma/fp64/accumulate:fp64", "ceilings/wgmma/tf32/accumulate:fp32",
                                                 "ceilings/wgmma/fp16/accumulate:fp32", "ceilings/wgmma/fp16/accumulate:fp16",
                                                 "ceilings/wgmma/bf16/accumulate:fp32", "ceilings/wgmma/fp8/accumulate:fp32",
                                                 "ceilings/wgmma/int8/accumulate:int32"}));
  EXPECT_THAT(names(hopper, false), Contains("ceilings/mma/fp8/accumulate:fp32"));
  EXPECT_THAT(names(blackwell, false),
              IsSupersetOf({"ceilings/wgmma/bf16/accumulate:fp32", "ceilings/mma/fp8/accumulate:fp32"}));
  EXPECT_THAT(names(blackwell, true),
              IsSupersetOf({"ceilings/tcgen05/tf32/accumulate:fp32", "ceilings/tcgen05/fp16/accumulate:fp32",
                            "ceilings/tcgen05/fp16/accumulate:fp16", "ceilings/tcgen05/bf16/accumulate:fp32",
                            "ceilings/tcgen05/fp8/accumulate:fp32", "ceilings/tcgen05/int8/accumulate:int32",
                            "ceilings/tcgen05/mxfp8/accumulate:fp32", "ceilings/tcgen05/nvfp4/accumulate:fp32"}));
  EXPECT_THAT(names(blackwell, false), Not(Contains(HasSubstr("nvfp4/accumulate")))) << "of the other instructions";
  const auto ultra = listed(gpu(103, 152, 126 << 20));
  EXPECT_THAT(names(ultra, true), Contains("ceilings/tcgen05/fp8/accumulate:fp32"));
  EXPECT_THAT(names(ultra, false), Contains("ceilings/tcgen05/int8/accumulate:int32")) << "10.3 has none";
  for (const bool possible : {false, true}) {
    EXPECT_THAT(names(hopper, possible), Not(Contains(StartsWith("ceilings/tcgen05/")))) << "too new";
  }
  // A launch of the large product would take a second where fp64 is cut.
  DeviceInfo cut = gpu(90, 132, 50 << 20);
  cut.name = "NVIDIA H800";
  EXPECT_THAT(names(hopper, true),
              Contains("ceilings/gemm/fp64/m:8192/n:8192/k:8192/impl:cublaslt/layout:tn/algo:tuned/cache:cold"));
  EXPECT_THAT(names(listed(cut), true),
              IsSupersetOf({"ceilings/gemm/fp64/m:2048/n:2048/k:2048/impl:cublaslt/layout:tn/algo:tuned/cache:cold",
                            "ceilings/gemm/bf16/m:8192/n:8192/k:8192/impl:cublaslt/layout:tn/algo:tuned/cache:cold"}));
  EXPECT_THAT(names(hopper, true),
              Contains("ceilings/gemm/bf16/m:8192/n:8192/k:8192/impl:cublaslt/layout:tn/algo:tuned/cache:cold"));
  EXPECT_THAT(find(ampere, "ceilings/mma/fp8/accumulate:fp32").unsupported, ::testing::HasSubstr("8.0"));
}

TEST_F(CudaCeilings, HaveProbesOfTheL2ThatReadWriteAndCopy) {
  // A quarter and a half of it, and 24 MB, in granules of 16 KiB per SM.
  EXPECT_THAT(
      that_set(resource::l2, listed(gpu(90, 132, 60 << 20))),
      ElementsAre("ceilings/cache_read/fp32/level:l2/bytes:15138816", "ceilings/cache_read/fp32/level:l2/bytes:30277632",
                  "ceilings/cache_read/fp32/level:l2/bytes:23789568", "ceilings/cache_write/fp32/level:l2/bytes:15138816",
                  "ceilings/cache_copy/fp32/level:l2/bytes:15138816"));
  const auto cases = listed(gpu(90, 132, 60 << 20));
  const Case& copy = find(cases, "ceilings/cache_copy/fp32/level:l2/bytes:15138816");
  EXPECT_EQ(copy.slot_bytes + copy.shared_bytes, 15138816U);
  // Bytes read and bytes written, in whole passes.
  EXPECT_EQ(std::fmod(copy.work.total(resource::l2), 15138816), 0);
}

// 32 KiB per SM, which every L1 holds.
TEST_F(CudaCeilings, HaveAProbeOfTheL1ThatReads) {
  for (const DeviceInfo& device : {gpu(80, 132, 40 << 20), gpu(90, 132, 60 << 20)}) {
    EXPECT_THAT(that_set(resource::l1, listed(device)), ElementsAre("ceilings/cache_read/fp32/level:l1/bytes:4325376"));
  }
}

// A quarter and a half of it round to the same granules.
TEST_F(CudaCeilings, AreListedOnceWhereTheL2IsSmall) {
  EXPECT_THAT(that_set(resource::l2, listed(gpu(90, 132, 2 << 20))),
              ElementsAre("ceilings/cache_read/fp32/level:l2/bytes:2162688", "ceilings/cache_write/fp32/level:l2/bytes:2162688",
                          "ceilings/cache_copy/fp32/level:l2/bytes:2162688"));
}

TEST_F(CudaCeilings, MeasureGraphsOfSeveralNumbersOfNodes) {
  const auto cases = listed(gpu(90, 132, 60 << 20));
  EXPECT_THAT(that_set(resource::graph_launch, cases),
              ElementsAre("ceilings/launch/fp32/issue:graph/nodes:128", "ceilings/launch/fp32/issue:graph/nodes:512",
                          "ceilings/launch/fp32/issue:graph/nodes:2048"));
  for (const Case& c : cases) {
    const bool graph = c.sets_ceiling->resource == resource::graph_launch;
    using enum SetsCeiling::By;
    EXPECT_EQ(c.sets_ceiling->by, graph ? slope : c.operation == "gemm" ? library : rate) << c.name();
    if (!graph) continue;
    EXPECT_EQ(c.protocol.issue, Issue::graph);
    EXPECT_EQ(std::to_string(c.protocol.launches), value_of(c.shape, "nodes"));
  }
}

// A launch of 2 ms at the peak rate of the compute capability: FLOPs per clock per SM from the vendor's tables.
TEST_F(CudaCeilings, CountWhatTwoMillisecondsAtThePeakHold) {
  const auto hopper = listed(gpu(90, 132, 60 << 20));
  const double clocks = 132 * 1.98e9 * 2e-3;
  const auto amount = [&](const std::string& name) {
    const Case& c = find(hopper, name);
    return c.work.total(c.sets_ceiling->resource) / clocks;
  };
  const auto near = [](double per_clock) { return ::testing::DoubleNear(per_clock, 0.01 * per_clock); };
  EXPECT_THAT(amount("ceilings/fma/fp64"), near(128));
  EXPECT_THAT(amount("ceilings/fma/fp32"), near(256));
  EXPECT_THAT(amount("ceilings/fma/fp16"), near(512));
  EXPECT_THAT(amount("ceilings/wgmma/tf32/accumulate:fp32"), near(2048));
  EXPECT_THAT(amount("ceilings/wgmma/bf16/accumulate:fp32"), near(4096));
  EXPECT_THAT(amount("ceilings/wgmma/fp8/accumulate:fp32"), near(8192));
  EXPECT_THAT(amount("ceilings/exp2/fp32"), near(16));
  EXPECT_THAT(amount("ceilings/shared_read/fp32/bytes:32768"), near(128));
  EXPECT_THAT(amount("ceilings/cache_read/fp32/level:l1/bytes:4325376"), near(128));
}

// The FLOPs of a grid, counted by threads, registers and instructions.
TEST_F(CudaCeilings, CountEveryOperationOfTheGrid) {
  const ProbeTarget h200{90, 132};
  EXPECT_EQ(cuda::ceilings.fma_layout(DataType::fp32, h200).chains, 132U * 512 * 8);
  EXPECT_EQ(cuda::ceilings.fma_layout(DataType::fp16, h200).chains, 132U * 512 * 8 * 2);
  const auto operations = [&](TensorInstruction instruction, DataType type, DataType accumulate) {
    const TensorLayout l = cuda::ceilings.tensor_layout({instruction, type, accumulate}, h200);
    return 2.0 * l.blocks * l.m * l.n * l.k * l.depth;
  };
  // 8 warps, 4 x 4 products, 16 of each before they are cleared.
  EXPECT_EQ(operations(TensorInstruction::mma, DataType::bf16, DataType::fp32), 132.0 * 8 * 16 * 16 * (2 * 16 * 8 * 16));
  EXPECT_EQ(operations(TensorInstruction::mma, DataType::fp64, DataType::fp64), 132.0 * 8 * 8 * 16 * (2 * 16 * 8 * 16));
  // 2 warpgroups, 8 instructions.
  EXPECT_EQ(operations(TensorInstruction::wgmma, DataType::bf16, DataType::fp32), 132.0 * 2 * 8 * (2 * 64 * 256 * 16));
  EXPECT_EQ(operations(TensorInstruction::wgmma, DataType::fp8, DataType::fp32), 132.0 * 2 * 8 * (2 * 64 * 256 * 32));
  // 8 instructions.
  const TensorLayout l = cuda::ceilings.tensor_layout({TensorInstruction::tcgen05, DataType::bf16, DataType::fp32}, {100, 148});
  EXPECT_EQ(2.0 * l.blocks * l.m * l.n * l.k * l.depth, 148.0 * 8 * (2 * 128 * 256 * 16));
}

// What the kernels are to compute, written down once more as plainly as can be, for a processor that has everything: it
// shows that the checks take right results and no others.
namespace model {

ChainLayout chains(DataType, ProbeTarget) { return {40, 1e-4}; }
ChainLayout exp2_chains(ProbeTarget) { return {12, 1e-4}; }

double fma_step(DataType type, double x) {
  if (type == DataType::fp64) return std::fma(fma_multiplier(type), x, 1.0);
  // Exact in float for 16-bit types, near 1.
  const float next = std::fma(static_cast<float>(fma_multiplier(type)), static_cast<float>(x), 1.0F);
  return with_type(type, [=]<DataType kType>() { return Element<kType>::value(Element<kType>::rounded(next)); });
}
void fma(DataType type, void* sink, std::size_t steps, ProbeTarget target, Stream) {
  for (std::size_t chain = 0; chain < chains(type, target).chains; ++chain) {
    double x = fma_start(chain);
    for (std::size_t step = 0; step < steps; ++step) x = fma_step(type, x);
    store(type, sink, chain, x);
  }
}
void exp2(float* sink, std::size_t steps, ProbeTarget target, Stream) {
  for (std::size_t chain = 0; chain < exp2_chains(target).chains; ++chain) {
    sink[chain] = 0;
    for (std::size_t step = 0; step < steps; ++step) sink[chain] = std::exp2(-sink[chain]);
  }
}

TensorLayout tensor_layout(TensorProbe, ProbeTarget) { return {3, 2, 32, 16, 64, 16, 4, 1e-6}; }
void tensor(TensorProbe probe, void* sink, const void* a, const void* b, std::size_t, ProbeTarget target, Stream) {
  const TensorLayout l = tensor_layout(probe, target);
  const DataType type = is_integer(probe.type)         ? DataType::int32
                        : probe.type == DataType::fp64 ? DataType::fp64
                                                       : DataType::fp32;
  for (int lane = 0; lane < l.blocks * l.warps * 32; ++lane) {
    double sum = 0;
    for (int row = 0; row < l.m; ++row) {
      for (int column = 0; column < l.n; ++column) {
        const int owner = row / (l.m / l.warps) * 32 + row % 8 * 4 + column % 8 / 2;
        if (lane % (l.warps * 32) != owner) continue;
        double element = 0;
        for (int round = 0; round < l.depth; ++round) {
          for (int k = 0; k < l.k; ++k) {
            element += load_as_double(probe.type, a, row * l.k + k) * load_as_double(probe.type, b, column * l.k + k);
            if (k % l.instruction_k != l.instruction_k - 1) continue;
            element = with_type(probe.accumulate,
                                [=]<DataType kType>() { return Element<kType>::value(Element<kType>::rounded(element)); });
          }
        }
        sum += element;
      }
    }
    store(type, sink, lane, sum);
  }
}

std::size_t sinks(ProbeTarget target) { return 2 * target.processors; }
void cache_read(std::uint64_t* sink, const void* data, std::size_t bytes, std::size_t repeats, ProbeTarget target, Stream) {
  std::vector<std::uint64_t> words(bytes / 8);
  std::memcpy(words.data(), data, bytes);
  std::fill_n(sink, sinks(target), 0);
  for (std::size_t i = 0; i < words.size(); ++i) sink[i % sinks(target)] += repeats * words[i];
}
void cache_write(std::uint64_t* to, std::size_t bytes, std::size_t repeats, ProbeTarget, Stream) {
  for (std::size_t w = 0; w < bytes / 8; ++w) to[w] = w + repeats - 1;
}
void cache_copy(std::uint64_t* to, const std::uint64_t* from, std::size_t bytes, std::size_t repeats, ProbeTarget, Stream) {
  for (std::size_t w = 0; w < bytes / 2 / 8; ++w) to[w] = from[w] + repeats - 1;
}
std::size_t shared_bytes() { return 1024; }
void shared_read(std::uint64_t* sink, const void* data, std::size_t repeats, ProbeTarget target, Stream stream) {
  cache_read(sink, data, shared_bytes(), repeats * target.processors, target, stream);
}
void empty(Stream) {}

constexpr CeilingKernels kernels = {.fma_layout = chains,
                                    .fma = fma,
                                    .exp2_layout = exp2_chains,
                                    .exp2 = exp2,
                                    .tensor_layout = tensor_layout,
                                    .tensor = tensor,
                                    .cache_read_sinks = sinks,
                                    .cache_read = cache_read,
                                    .l1_read = cache_read,
                                    .cache_write = cache_write,
                                    .cache_copy = cache_copy,
                                    .shared_read_bytes = shared_bytes,
                                    .shared_read_sinks = sinks,
                                    .shared_read = shared_read,
                                    .empty = empty};

}  // namespace model

class Checks : public ::testing::TestWithParam<Distribution> {};

TEST_P(Checks, TakeRightResultsAndNoOthers) {
  const std::unique_ptr<Device> device = open_device("cpu");
  const DeviceInfo info = gpu(90, 4, 1 << 20);
  int checked = 0;
  for (const Group& group : list(Listing{info, SuiteName::quick, {}}, model::kernels)) {
    const Case& c = group.cases.front();
    if (c.operation.starts_with("dram") || c.operation == "gemm" || carries_transfers(c.sets_ceiling->resource)) continue;
    // Their kernels are those of the family access, which the contract verifies.
    if (c.sets_ceiling->resource == resource::global_atomic || c.sets_ceiling->resource == resource::shared_atomic) continue;
    SCOPED_TRACE(c.name());
    const auto prepared = c.prepare({*device, 2, GetParam(), 7, {}});
    const auto passes = [&](int slot) { return prepared->verify(slot).status == Verification::Status::passed; };
    const std::vector<Output> outputs = prepared->outputs(1);
    if (outputs.empty()) {
      EXPECT_EQ(prepared->verify(1).status, Verification::Status::nothing_to_verify);
      continue;
    }
    const Output output = outputs.front();
    EXPECT_FALSE(passes(1));
    prepared->launch(device->stream(), 1);
    const Verification right = prepared->verify(1);
    EXPECT_EQ(right.status, Verification::Status::passed) << right.error << " > " << right.bound << ": " << right.detail;
    EXPECT_FALSE(passes(0)) << "never launched";
    for (std::size_t at : {std::size_t{0}, output.count / 2, output.count - 1}) {
      std::vector<std::byte> element(size_of(output.type));
      std::byte* place = static_cast<std::byte*>(output.data) + at * element.size();
      std::memcpy(element.data(), place, element.size());
      place[0] ^= std::byte{1};
      EXPECT_FALSE(passes(1)) << "last bit of element " << at;
      std::memcpy(place, element.data(), element.size());
    }
    EXPECT_TRUE(passes(1));
    ++checked;
  }
  EXPECT_GE(checked, 20);
}

INSTANTIATE_TEST_SUITE_P(Data, Checks, ::testing::Values(Distribution::normal, Distribution::uniform, Distribution::zeros),
                         [](const auto& test) { return label(test.param); });

class ProbeRates : public ::testing::TestWithParam<const char*> {};

// A probe that leaves out some of the work that it counts seems faster than the chip. A short launch can only seem slower.
TEST_P(ProbeRates, StayUnderWhatThePipesCanDo) {
  std::unique_ptr<Device> device;
  try {
    device = open_device(GetParam());
  } catch (const DeviceError& error) {
    GTEST_SKIP() << error.what();
  }
  const Roofline roofline = theoretical_roofline(device->info());
  int measured = 0;
  for (const Group& group : list({.device = device->info(), .suite = SuiteName::contract, .short_probes = true})) {
    const Case& c = group.cases.front();
    const Ceiling* const ceiling = c.sets_ceiling ? roofline.find(c.sets_ceiling->resource) : nullptr;
    if (!c.unsupported.empty() || !ceiling || !ceiling->theoretical) continue;
    if (c.operation.starts_with("dram") || c.operation == "gemm" || carries_transfers(c.sets_ceiling->resource)) continue;
    SCOPED_TRACE(c.name());
    const auto prepared = c.prepare({*device, 1, Distribution::normal, 7, {}});
    const auto batch = device->batch({.path = Issue::gate}, [&](Stream stream, int slot) { prepared->launch(stream, slot); });
    EXPECT_LT(c.work.total(c.sets_ceiling->resource) / batch->run().seconds, 1.05 * *ceiling->theoretical);
    ++measured;
  }
  if (measured == 0) GTEST_SKIP() << "no rates are known of " << device->info().name;
}

INSTANTIATE_TEST_SUITE_P(Gpu, ProbeRates, ::testing::Values("cuda:0"), [](const auto&) { return "cuda"; });

}  // namespace
}  // namespace ceilings
}  // namespace roofmark
