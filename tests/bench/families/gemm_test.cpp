// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/gemm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "bench/families/gemm_case.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/listing.hpp"
#include "kernels/gemm.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark::gemm {

std::vector<Group> list(const Listing& listing);
std::optional<Case> make(const Listing& listing, const CaseRequest& asked);

namespace {

using testing::HasSubstr;

DeviceInfo cpu_of(std::size_t memory_bytes) {
  DeviceInfo info;
  info.id = "cpu";
  info.memory_bytes = info.free_bytes = memory_bytes;
  info.caches = {{"l1", 64 << 10, 32 << 10}, {"l3", 32 << 20, 32 << 20}};
  return info;
}

std::vector<Case> cases_of(const std::vector<Group>& groups) {
  std::vector<Case> all;
  for (const Group& group : groups) all.insert(all.end(), group.cases.begin(), group.cases.end());
  return all;
}

Listing on(const DeviceInfo& device, SuiteName suite = SuiteName::baseline) { return {device, suite, {}, 0.9}; }

std::vector<Case> listed(const DeviceInfo& device, SuiteName suite) { return cases_of(list(on(device, suite))); }

std::map<std::string, std::string> shape_of(const Case& one) { return {one.shape.begin(), one.shape.end()}; }

constexpr const char* kNoCuda = "this build has no CUDA";

TEST(GemmCase, IsNamedAsItsShape) {
  const DeviceInfo device = unnamed_gpu(90);
  EXPECT_EQ(gemm_case(on(device), DataType::bf16, 4096, 512, 1024, "tn", "tuned").name(),
            "gemm/bf16/m:4096/n:512/k:1024/impl:cublaslt/layout:tn/algo:tuned/cache:cold");
  const DeviceInfo host = cpu_of(1u << 30);
  EXPECT_EQ(gemm_case({host, SuiteName::quick, Cache::warm, 0.9}, DataType::fp64, 64, 32, 16, "nt").name(),
            "gemm/fp64/m:64/n:32/k:16/impl:blas/layout:nt/algo:default/cache:warm");
}

TEST(GemmCase, CountsModelFlopsAndCompulsoryBytes) {
  const DeviceInfo device = unnamed_gpu(90);
  struct Expected {
    DataType type;
    Resource resource;
    double bytes;  // of A [30 x 50], B [50 x 40] and D [30 x 40]; k is 64 with blocks, and there are scales of each line
  };
  const Expected all[] = {
      {DataType::fp64, resource::fp64_tensor, 8 * 1500 + 8 * 2000 + 8 * 1200},
      {DataType::fp32, resource::fp32_fma, 4 * 1500 + 4 * 2000 + 4 * 1200},
      {DataType::tf32, resource::tf32_tensor, 4 * 1500 + 4 * 2000 + 4 * 1200},
      {DataType::fp16, resource::fp16_tensor, 2 * 1500 + 2 * 2000 + 2 * 1200},
      {DataType::bf16, resource::bf16_tensor, 2 * 1500 + 2 * 2000 + 2 * 1200},
      {DataType::fp8, resource::fp8_tensor, 1 * 1500 + 1 * 2000 + 2 * 1200},
      {DataType::int8, resource::int8_tensor, 1 * 1500 + 1 * 2000 + 4 * 1200},
      {DataType::mxfp8, resource::mxfp8_tensor, 1 * 1920 + 1 * 2560 + 2 * 30 + 2 * 40 + 2 * 1200},
      {DataType::nvfp4, resource::fp4_tensor, 960 + 1280 + 4 * 30 + 4 * 40 + 2 * 1200},
  };
  for (const Expected& expected : all) {
    const std::int64_t k = is_block_scaled(expected.type) ? 64 : 50;
    const Case made = gemm_case(on(device), expected.type, 30, 40, k);
    EXPECT_EQ(made.work.phases.size(), 1u);
    EXPECT_EQ(made.work.total(expected.resource), 2400.0 * static_cast<double>(k)) << name(expected.type);
    EXPECT_EQ(made.work.total(resource::dram), expected.bytes) << name(expected.type);
    EXPECT_GE(static_cast<double>(made.slot_bytes), expected.bytes);
    // The scales are in tiles of 512 bytes.
    EXPECT_LT(static_cast<double>(made.slot_bytes), expected.bytes + (is_block_scaled(expected.type) ? 2048 : 3 * 256));
  }
}

Case asked_for(const DeviceInfo& device, const std::string& name) {
  return *make(on(device), CaseRequest(parse_case_name(name)));
}

TEST(GemmCase, OfABatchHasTheWorkOfItsProducts) {
  const DeviceInfo device = unnamed_gpu(90);
  const Case one = asked_for(device, "gemm/bf16/m:30/n:40/k:50"), batch = asked_for(device, "gemm/bf16/batch:7/m:30/n:40/k:50");
  EXPECT_EQ(batch.name(), "gemm/bf16/batch:7/m:30/n:40/k:50/impl:cublaslt/layout:tn/algo:tuned/cache:cold");
  EXPECT_EQ(batch.work.total(resource::bf16_tensor), 7 * one.work.total(resource::bf16_tensor));
  EXPECT_EQ(batch.work.total(resource::dram), 7 * one.work.total(resource::dram));
  EXPECT_GE(static_cast<double>(batch.slot_bytes), batch.work.total(resource::dram));
  EXPECT_EQ(asked_for(device, "gemm/bf16/batch:1/m:30/n:40/k:50").name(),
            "gemm/bf16/batch:1/m:30/n:40/k:50/impl:cublaslt/layout:tn/algo:tuned/cache:cold");
  EXPECT_THROW(asked_for(device, "gemm/bf16/batch:0/m:30/n:40/k:50"), std::invalid_argument);
  EXPECT_THROW(asked_for(device, "gemm/bf16/batch:65537/m:30/n:40/k:50"), std::invalid_argument);
  if (!&cuda::gemm) GTEST_SKIP() << kNoCuda;
  EXPECT_THAT(asked_for(unnamed_gpu(100), "gemm/nvfp4/batch:2/m:32/n:32/k:32").unsupported, HasSubstr("no batch of nvfp4"));
}

TEST(GemmCase, TakesThePipeThatTheChipHasForFp64) {
  for (int capability : {80, 90, 100}) {
    const DeviceInfo device = unnamed_gpu(capability);
    EXPECT_GT(gemm_case(on(device), DataType::fp64, 64, 64, 64).work.total(resource::fp64_tensor), 0) << capability;
  }
  for (int capability : {86, 89, 103, 120}) {
    const DeviceInfo device = unnamed_gpu(capability);
    EXPECT_GT(gemm_case(on(device), DataType::fp64, 64, 64, 64).work.total(resource::fp64_fma), 0) << capability;
  }
  const DeviceInfo host = cpu_of(1u << 30);
  EXPECT_GT(gemm_case(on(host), DataType::fp64, 64, 64, 64).work.total(resource::fp64_fma), 0);
}

TEST(GemmCase, SaysWhyADeviceCannotDoIt) {
  if (!&cuda::gemm) GTEST_SKIP() << kNoCuda;
  const auto reason = [](int capability, DataType type, std::int64_t m = 64, std::int64_t k = 64,
                         const std::string& layout = "tn") {
    const DeviceInfo device = unnamed_gpu(capability);
    return gemm_case(on(device), type, m, 64, k, layout).unsupported;
  };
  EXPECT_THAT(reason(80, DataType::fp8), HasSubstr("8.9"));
  EXPECT_EQ(reason(89, DataType::fp8), "");
  EXPECT_THAT(reason(75, DataType::bf16), HasSubstr("8.0"));
  EXPECT_THAT(reason(75, DataType::tf32), HasSubstr("8.0"));
  EXPECT_EQ(reason(80, DataType::tf32), "");
  EXPECT_EQ(reason(75, DataType::fp16), "");
  EXPECT_THAT(reason(90, DataType::fp8, 72), HasSubstr("multiples of 16"));
  EXPECT_THAT(reason(90, DataType::fp8, 64, 100), HasSubstr("multiples of 16"));
  EXPECT_THAT(reason(90, DataType::fp8, 64, 64, "nn"), HasSubstr("layout tn"));
  EXPECT_EQ(reason(100, DataType::fp8, 64, 64, "nn"), "");
  EXPECT_THAT(reason(120, DataType::fp8, 64, 64, "nn"), HasSubstr("layout tn"));
  EXPECT_THAT(reason(90, DataType::int32), HasSubstr("int32"));
  for (const DataType type : {DataType::mxfp8, DataType::nvfp4}) {
    EXPECT_THAT(reason(90, type), HasSubstr("10.0"));
    EXPECT_EQ(reason(100, type), "");
    EXPECT_EQ(reason(120, type, 1), "");
    EXPECT_THAT(reason(100, type, 64, 48), HasSubstr("multiple of 32"));
    EXPECT_THAT(reason(100, type, 64, 64, "nt"), HasSubstr("layout tn"));
  }
}

TEST(GemmCase, OfOurOwnHasTheWorkOfTheLibrarysAndNoWorkspace) {
  if (!&cuda::gemm) GTEST_SKIP() << kNoCuda;
  const DeviceInfo hopper = unnamed_gpu(90), ampere = unnamed_gpu(80);
  const GemmProblem problem = {512, 64, 128, DataType::bf16};
  const auto own = [&](const DeviceInfo& device) { return make_case(on(device), problem, "tuned", {}, {}, kTiledWgmma); };
  const Case library = make_case(on(hopper), problem, "tuned");
  EXPECT_EQ(own(hopper).name(), "gemm/bf16/m:512/n:64/k:128/impl:tiled_wgmma/layout:tn/algo:tuned/cache:cold");
  EXPECT_EQ(own(hopper).unsupported, "");
  EXPECT_EQ(own(hopper).shared_bytes, 0);
  for (const Resource resource : {resource::bf16_tensor, resource::dram}) {
    EXPECT_EQ(own(hopper).work.total(resource), library.work.total(resource));
  }
  EXPECT_THAT(own(ampere).unsupported, HasSubstr("tiled_wgmma needs compute capability 9.0"));
  EXPECT_EQ(compare(own(hopper), library).name, "tiled_wgmma against cublaslt");
}

TEST(GemmCase, OffersTheLibraryAWorkspaceThatTheSlotsShare) {
  if (!&cuda::gemm) GTEST_SKIP() << kNoCuda;
  const DeviceInfo device = unnamed_gpu(90);
  EXPECT_EQ(gemm_case(on(device), DataType::fp32, 30, 40, 50).shared_bytes, 32u << 20);
}

TEST(GemmCase, SaysThatTheBuildHasNoCuda) {
  if (&cuda::gemm) GTEST_SKIP() << "this build has CUDA";
  const DeviceInfo device = unnamed_gpu(90);
  EXPECT_THAT(gemm_case(on(device), DataType::bf16, 64, 64, 64).unsupported, HasSubstr("this build"));
}

TEST(GemmCase, SaysWhatTheHostLacks) {
  const DeviceInfo host = cpu_of(1u << 20);
  EXPECT_THAT(gemm_case(on(host), DataType::bf16, 64, 64, 64).unsupported, HasSubstr("fp64 and fp32"));
  EXPECT_THAT(gemm_case(on(host), DataType::fp64, 64, 64, 64, "tn", "tuned").unsupported, HasSubstr("algorithms"));
  EXPECT_EQ(gemm_case(on(host), DataType::fp64, 64, 64, 64).unsupported, "");
}

TEST(GemmCase, RefusesWhatIsNoProduct) {
  const DeviceInfo host = cpu_of(1u << 20);
  EXPECT_THROW(gemm_case(on(host), DataType::fp64, 64, 64, 64, "nx"), std::invalid_argument);
  EXPECT_THROW(gemm_case(on(host), DataType::fp64, 64, 64, 64, "tn", "best"), std::invalid_argument);
  EXPECT_THROW(gemm_case(on(host), DataType::fp64, 0, 64, 64), std::invalid_argument);
}

TEST(GemmFamily, NamesAreUniqueAndComparisonsNameCasesOfTheirGroup) {
  for (const DeviceInfo& device : {unnamed_gpu(90), unnamed_gpu(86), unnamed_gpu(75), cpu_of(std::size_t{64} << 30)}) {
    for (SuiteName suite : {SuiteName::quick, SuiteName::baseline, SuiteName::full}) {
      std::set<std::string> names;
      for (const Group& group : list(on(device, suite))) {
        ASSERT_FALSE(group.cases.empty());
        std::set<std::string> of_group;
        for (const Case& one : group.cases) {
          EXPECT_TRUE(names.insert(one.name()).second) << one.name() << " is listed twice";
          of_group.insert(one.name());
          EXPECT_EQ(one.unsupported.empty(), static_cast<bool>(one.prepare)) << one.name();
        }
        for (const Comparison& comparison : group.comparisons) {
          EXPECT_EQ(of_group.count(comparison.numerator.name()), 1u) << comparison.numerator.name();
          EXPECT_EQ(of_group.count(comparison.denominator.name()), 1u) << comparison.denominator.name();
        }
      }
    }
  }
}

TEST(GemmFamily, KeepsToTheTimeOfASuite) {
  EXPECT_EQ(listed(unnamed_gpu(90), SuiteName::quick).size(), 14u);
  EXPECT_LE(listed(unnamed_gpu(90), SuiteName::baseline).size(), 120u);
  const DeviceInfo host = cpu_of(std::size_t{64} << 30);
  EXPECT_LE(listed(host, SuiteName::quick).size(), 6u);
  EXPECT_LE(listed(host, SuiteName::baseline).size(), 16u);
  for (const Case& one : listed(host, SuiteName::quick)) EXPECT_LE(one.work.total(Unit::flop), 2e10) << one.name();
}

TEST(GemmFamily, FullSweepsEveryTypeFrom256To16384) {
  std::set<std::pair<DataType, std::string>> squares;
  for (const Case& one : listed(unnamed_gpu(90), SuiteName::full)) {
    auto shape = shape_of(one);
    if (shape["m"] == shape["n"] && shape["n"] == shape["k"] && shape["layout"] == "tn") squares.insert({one.type, shape["m"]});
  }
  for (DataType type : kDataTypes) {
    if (type == DataType::int32) continue;
    for (const char* size : {"256", "512", "1024", "2048", "4096", "8192", "16384", "4095", "4097", "4104"}) {
      EXPECT_EQ(squares.count({type, size}), 1u) << name(type) << " " << size;
    }
  }
}

// Ranks whose devices differ have the same cases.
TEST(GemmFamily, ListsEveryTypeAndSaysWhichTheDeviceLacks) {
  if (!&cuda::gemm) GTEST_SKIP() << kNoCuda;
  const auto supported = [](int capability, SuiteName suite) {
    std::set<DataType> types, usable;
    for (const Case& one : listed(unnamed_gpu(capability), suite)) {
      types.insert(one.type);
      if (one.unsupported.empty()) usable.insert(one.type);
    }
    EXPECT_EQ(types.size(), std::size(kDataTypes) - 1) << "all but int32";
    return usable;
  };
  for (const SuiteName suite : {SuiteName::quick, SuiteName::baseline, SuiteName::full}) {
    using enum DataType;
    EXPECT_EQ(supported(80, suite), (std::set{fp64, fp32, tf32, fp16, bf16, int8}));
    EXPECT_EQ(supported(90, suite), (std::set{fp64, fp32, tf32, fp16, bf16, fp8, int8}));
    EXPECT_EQ(supported(100, suite), (std::set{fp64, fp32, tf32, fp16, bf16, fp8, int8, mxfp8, nvfp4}));
  }
}

TEST(GemmFamily, HasTheProjectionsOfLlama3) {
  using Shape3 = std::array<std::string, 3>;
  std::set<Shape3> shapes;
  for (const Case& one : listed(unnamed_gpu(90), SuiteName::baseline)) {
    auto shape = shape_of(one);
    if (one.type == DataType::bf16) shapes.insert({shape["m"], shape["n"], shape["k"]});
  }
  // Outputs and inputs of the weights in the models' files: attention in, attention out, gate with up, down.
  const std::pair<const char*, const char*> weights[] = {{"6144", "4096"},  {"4096", "4096"},  {"28672", "4096"},
                                                         {"4096", "14336"}, {"10240", "8192"}, {"8192", "8192"},
                                                         {"57344", "8192"}, {"8192", "28672"}};
  for (const auto& [outputs, inputs] : weights) {
    for (const char* tokens : {"1", "16", "128", "1024", "8192"}) {
      EXPECT_EQ(shapes.count({outputs, tokens, inputs}), 1u) << outputs << " x " << tokens << " x " << inputs;
    }
  }
}

TEST(GemmFamily, HasTheExpertsOfMixtures) {
  using Shape4 = std::array<std::string, 4>;
  std::set<Shape4> shapes;
  for (const Case& one : listed(unnamed_gpu(90), SuiteName::baseline)) {
    auto shape = shape_of(one);
    if (one.type == DataType::bf16) shapes.insert({shape["batch"], shape["m"], shape["n"], shape["k"]});
  }
  // Experts, outputs and inputs of the weights in the models' files: gate with up, down.
  const Shape4 weights[] = {
      {"8", "28672", "", "4096"}, {"8", "4096", "", "14336"}, {"128", "1536", "", "2048"}, {"128", "2048", "", "768"}};
  for (Shape4 shape : weights) {
    for (const char* tokens : {"16", "256"}) {
      shape[2] = tokens;
      EXPECT_EQ(shapes.count(shape), 1u) << fmt::format("{}", fmt::join(shape, " x "));
    }
  }
}

TEST(GemmFamily, ComparesTunedWithDefaultAndLayouts) {
  if (!&cuda::gemm) GTEST_SKIP() << kNoCuda;
  std::map<std::string, int> counted;
  for (const Group& group : list(on(unnamed_gpu(90)))) {
    for (const Comparison& comparison : group.comparisons) {
      ++counted[comparison.name];
      if (comparison.name == "tuned against default") {
        EXPECT_THAT(comparison.numerator.name(), HasSubstr("algo:tuned"));
        EXPECT_THAT(comparison.denominator.name(), HasSubstr("algo:default"));
      }
    }
  }
  EXPECT_GE(counted["tuned against default"], 20);
  for (const char* other : {"tn against nt", "tn against nn", "tn against tt"}) {
    EXPECT_EQ(counted[other], 1) << other;
  }
}

TEST(GemmFamily, SparesChipsWithSlowFp64LaunchesOfSeconds) {
  const auto largest = [](int capability, const char* name) {
    DeviceInfo device = unnamed_gpu(capability);
    device.name = name;
    double most = 0;
    for (const Case& one : listed(device, SuiteName::full)) {
      most = std::max({most, one.work.total(resource::fp64_fma), one.work.total(resource::fp64_tensor)});
    }
    return most;
  };
  const double small = 2.0 * std::pow(2048, 3), large = 2.0 * std::pow(16384, 3);
  EXPECT_EQ(largest(89, "NVIDIA L4"), small);
  // Chips with fp64 tensor cores on boards that lack them all but in name.
  EXPECT_EQ(largest(90, "NVIDIA H20"), small);
  EXPECT_EQ(largest(90, "NVIDIA H800"), small);
  EXPECT_EQ(largest(200, "NVIDIA X"), small) << "nobody knows its rate";
  EXPECT_EQ(largest(90, "NVIDIA H200"), large);
}

}  // namespace
}  // namespace roofmark::gemm
