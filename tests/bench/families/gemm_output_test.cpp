// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/support/case_request.hpp"
#include "bench/support/listing.hpp"
#include "kernels/gemm.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark::gemm {

std::vector<Group> list(const Listing& listing);
std::optional<Case> make(const Listing& listing, const CaseRequest& asked);

namespace {

Listing of_suite(const DeviceInfo& device, SuiteName suite) { return {device, suite, {}, 0.9}; }

Case named_case(const DeviceInfo& device, const std::string& name) {
  return *make(of_suite(device, SuiteName::baseline), CaseRequest(parse_case_name(name)));
}

TEST(GemmOutput, NamesWhatItsOutputHasThatOthersLack) {
  const DeviceInfo device = unnamed_gpu(90);
  const std::string sizes = "gemm/fp8/m:32/n:48/k:64", rest = "/impl:cublaslt/layout:tn/algo:tuned/cache:cold";
  const auto named = [&](const std::string& words) { return named_case(device, sizes + words).name(); };
  EXPECT_EQ(named(""), sizes + rest);
  EXPECT_EQ(named("/out:bf16/epilogue:none"), sizes + rest) << "what every name without them means";
  EXPECT_EQ(named("/out:fp8"), sizes + "/out:fp8" + rest);
  EXPECT_EQ(named("/epilogue:bias_gelu/out:fp32"), sizes + "/out:fp32/epilogue:bias_gelu" + rest);
  EXPECT_EQ(named_case(device, "gemm/bf16/batch:2/m:32/n:48/k:64/epilogue:relu").name(),
            "gemm/bf16/batch:2/m:32/n:48/k:64/epilogue:relu" + rest);
  EXPECT_EQ(named("/epilogue:gelu/act:fused"), sizes + "/epilogue:gelu" + rest);
  EXPECT_EQ(named("/epilogue:gelu/act:separate"), sizes + "/epilogue:gelu/act:separate" + rest);
  EXPECT_EQ(named("/act:separate"), sizes + "/act:separate" + rest);
  EXPECT_THROW(named("/out:e4m3"), std::invalid_argument);
  EXPECT_THROW(named("/epilogue:silu"), std::invalid_argument);
}

TEST(GemmOutput, CountsTheBytesOfItsOutputAndBiasAndNoFlopsOfAnEpilogue) {
  const DeviceInfo device = unnamed_gpu(90);
  const auto bytes = [&](const std::string& name) { return named_case(device, name).work.total(resource::dram); };
  const std::string bf16 = "gemm/bf16/batch:3/m:32/n:48/k:64", fp8 = "gemm/fp8/m:32/n:48/k:64";
  EXPECT_EQ(bytes(bf16 + "/out:fp32"), bytes(bf16) + 3 * 32 * 48 * 2);
  EXPECT_EQ(bytes(bf16 + "/epilogue:gelu"), bytes(bf16));
  EXPECT_EQ(bytes(bf16 + "/epilogue:bias_gelu"), bytes(bf16) + 3 * 32 * 2);
  EXPECT_EQ(bytes(bf16 + "/out:fp32/epilogue:bias"), bytes(bf16) + 3 * 32 * (48 * 2 + 4));
  EXPECT_EQ(bytes(fp8 + "/out:fp8"), bytes(fp8) - 32 * 48);
  EXPECT_EQ(bytes(fp8 + "/out:fp8/epilogue:bias"), bytes(fp8) - 32 * 48 + 32 * 2) << "a bias in bf16";
  EXPECT_EQ(bytes(fp8 + "/out:fp32/epilogue:bias"), bytes(fp8) + 32 * 48 * 2 + 32 * 2) << "a bias in bf16";
  for (const char* words : {"", "/epilogue:bias_gelu", "/out:fp32/epilogue:relu"}) {
    EXPECT_EQ(named_case(device, bf16 + words).work.total(resource::bf16_tensor), 3 * 2.0 * 32 * 48 * 64) << words;
  }
}

TEST(GemmOutput, SaysWhichOutputsTheLibraryLacks) {
  if (!&cuda::gemm) GTEST_SKIP() << "this build has no CUDA";
  const auto reason = [](int capability, const std::string& type, const std::string& words) {
    return named_case(unnamed_gpu(capability), "gemm/" + type + "/m:64/n:64/k:64/" + words).unsupported;
  };
  const std::pair<std::string, std::string> all[] = {{"fp64", "fp64"},
                                                     {"fp32", "fp32"},
                                                     {"tf32", "fp32"},
                                                     {"fp16", "fp16 fp32"},
                                                     {"bf16", "bf16 fp32"},
                                                     {"int8", "int32"},
                                                     {"fp8", "bf16 fp16 fp32 fp8"},
                                                     {"mxfp8", "bf16 fp16 fp32"},
                                                     {"nvfp4", "bf16 fp16 fp32"}};
  for (const auto& [type, outputs] : all) {
    for (const char* output : {"bf16", "fp16", "fp32", "fp8", "fp64", "int32"}) {
      const bool has = outputs.find(output) != std::string::npos;
      EXPECT_EQ(reason(100, type, std::string("out:") + output),
                has ? "" : fmt::format("cuBLASLt has no product of {} with D in {}", type, output));
    }
    EXPECT_EQ(reason(100, type, "epilogue:bias_gelu"), type == "int8" ? "cuBLASLt has no epilogue for int8" : "");
  }
  EXPECT_EQ(reason(90, "fp8", "epilogue:relu/act:separate"), "");
  for (const char* words : {"act:separate", "epilogue:none/act:separate", "epilogue:bias/act:separate"}) {
    EXPECT_EQ(reason(90, "fp8", words), "act:separate needs an epilogue with relu or gelu") << "beside others of a list";
  }
  EXPECT_EQ(reason(90, "fp8", "out:fp8/epilogue:relu/act:separate"), "there is no kernel for relu of fp8 alone");
  DeviceInfo host;
  host.id = "cpu";
  EXPECT_THAT(named_case(host, "gemm/fp32/m:64/n:64/k:64/epilogue:relu").unsupported, testing::HasSubstr("no epilogue"));
  EXPECT_THAT(named_case(host, "gemm/fp32/m:64/n:64/k:64/out:fp16").unsupported, testing::HasSubstr("the type of A and B"));
  EXPECT_EQ(named_case(host, "gemm/fp32/m:64/n:64/k:64/out:fp32/epilogue:none").unsupported, "");
}

TEST(GemmScale, IsInTheNameWhereItIsNotThatOfTheType) {
  const DeviceInfo device = unnamed_gpu(90);
  const std::string sizes = "/m:32/n:48/k:64", rest = "/impl:cublaslt/layout:tn/algo:tuned/cache:cold";
  const auto named = [&](const std::string& type, const std::string& words) {
    return named_case(device, "gemm/" + type + sizes + words).name();
  };
  EXPECT_EQ(named("fp8", "/scale:tensor"), "gemm/fp8" + sizes + rest);
  EXPECT_EQ(named("mxfp8", "/scale:vec32"), "gemm/mxfp8" + sizes + rest);
  EXPECT_EQ(named("nvfp4", "/scale:vec16"), "gemm/nvfp4" + sizes + rest);
  EXPECT_EQ(named("bf16", "/scale:none"), "gemm/bf16" + sizes + rest);
  EXPECT_EQ(named("fp8", "/out:fp32/scale:blk128"), "gemm/fp8" + sizes + "/scale:blk128/out:fp32" + rest);
  EXPECT_THROW(named("fp8", "/scale:128"), std::invalid_argument);
  const Case plain = named_case(device, "gemm/fp8" + sizes), scaled = named_case(device, "gemm/fp8" + sizes + "/scale:blk128");
  const Comparison comparison = compare(plain, scaled);
  EXPECT_EQ(comparison.key, "scale");
  EXPECT_EQ(comparison.name, "tensor against blk128");
}

TEST(GemmScale, CountsTheFlopsOfTheProductAndTheBytesOfItsScales) {
  const DeviceInfo device = unnamed_gpu(90);
  const std::string product = "gemm/fp8/m:272/n:40/k:400";  // three lines of squares, four blocks along k
  const Case plain = named_case(device, product), lines = named_case(device, product + "/scale:vec128"),
             squares = named_case(device, product + "/scale:blk128");
  const double elements = 272 * 400 + 40 * 400 + 2 * 272 * 40;
  EXPECT_EQ(plain.work.total(resource::dram), elements);
  EXPECT_EQ(lines.work.total(resource::dram), elements + 4 * (272 * 4 + 40 * 4));
  EXPECT_EQ(squares.work.total(resource::dram), elements + 4 * (3 * 4 + 40 * 4));
  for (const Case& one : {plain, lines, squares}) {
    EXPECT_EQ(one.type, DataType::fp8);
    EXPECT_EQ(one.work.total(resource::fp8_tensor), 2.0 * 272 * 40 * 400);
    EXPECT_GE(static_cast<double>(one.slot_bytes), one.work.total(resource::dram));
  }
}

TEST(GemmScale, SaysWhatTheLibraryLacks) {
  if (!&cuda::gemm) GTEST_SKIP() << "this build has no CUDA";
  const auto reason = [](int capability, const std::string& name) {
    return named_case(unnamed_gpu(capability), "gemm/" + name).unsupported;
  };
  for (const std::string scale : {"scale:vec128", "scale:blk128"}) {
    const std::string product = "fp8/m:48/n:8/k:144/" + scale;
    for (const char* words : {"", "/out:fp16", "/out:fp32", "/epilogue:bias", "/epilogue:bias_gelu/act:separate"}) {
      EXPECT_EQ(reason(90, product + words), "") << words;
    }
    for (const auto& [capability, text] : {std::pair{100, "10.0"}, {103, "10.3"}, {120, "12.0"}, {89, "8.9"}, {80, "8.0"}}) {
      EXPECT_EQ(reason(capability, product), fmt::format("{} needs compute capability 9.0, the device has {}", scale, text));
    }
    EXPECT_EQ(reason(90, product + "/out:fp8"), fmt::format("cuBLASLt has no product with {} and D in fp8", scale));
    EXPECT_EQ(reason(90, product + "/epilogue:bias_gelu"),
              fmt::format("cuBLASLt is not known to fuse an activation with {}", scale));
    EXPECT_EQ(reason(90, product + "/batch:2"), "no batch with " + scale);
    EXPECT_EQ(reason(90, product + "/layout:nt"), "fp8 needs layout tn on compute capabilities 8.9, 9.0 and 12.x");
    EXPECT_EQ(reason(90, "fp8/m:48/n:12/k:144/" + scale), scale + " needs n that is a multiple of 8");
    EXPECT_EQ(reason(90, "fp8/m:48/n:8/k:136/" + scale), "fp8 needs m and k that are multiples of 16");
    EXPECT_EQ(reason(90, "bf16/m:48/n:8/k:144/" + scale), "bf16 has no " + scale);
    EXPECT_EQ(reason(100, "mxfp8/m:48/n:8/k:160/" + scale), "mxfp8 has no " + scale);
  }
  EXPECT_EQ(reason(90, "fp8/m:48/n:8/k:144/scale:vec32"), "fp8 has no scale:vec32");
}

TEST(GemmScale, FullHasTheLayersOfDeepSeekV3) {
  if (!&cuda::gemm) GTEST_SKIP() << "this build has no CUDA";
  std::map<std::string, int> counted;
  std::set<std::string> shapes;
  for (const Group& group : list(of_suite(unnamed_gpu(90), SuiteName::full))) {
    for (const Comparison& comparison : group.comparisons) {
      if (comparison.key == "scale") ++counted[comparison.name];
    }
    for (const Case& one : group.cases) {
      if (value_of(one.shape, "scale") == "blk128" && value_of(one.shape, "n") == "4096") {
        shapes.insert(fmt::format("{} x {}", value_of(one.shape, "m"), value_of(one.shape, "k")));
      }
    }
  }
  // Outputs and inputs of the weights in the model's files; query, key and value down are one product.
  EXPECT_EQ(shapes, (std::set<std::string>{"2112 x 7168", "24576 x 1536", "32768 x 512", "7168 x 16384", "4096 x 7168",
                                           "7168 x 2048"}));
  EXPECT_EQ(counted, (std::map<std::string, int>{{"tensor against blk128", 12}, {"tensor against vec128", 6}}));
}

TEST(GemmBeta, CountsDTwiceAndItsAdditionNot) {
  const DeviceInfo device = unnamed_gpu(90);
  const std::string product = "gemm/bf16/m:272/n:40/k:400/out:fp32";
  const Case alone = named_case(device, product), added = named_case(device, product + "/beta:1");
  EXPECT_EQ(named_case(device, product + "/beta:0").name(), alone.name());
  EXPECT_THAT(added.name(), testing::HasSubstr("/k:400/out:fp32/beta:1/impl:cublaslt/"));
  EXPECT_EQ(added.work.total(resource::dram), alone.work.total(resource::dram) + 4.0 * 272 * 40);
  EXPECT_EQ(added.work.total(Unit::flop), alone.work.total(Unit::flop));
  EXPECT_EQ(added.slot_bytes, alone.slot_bytes);
  const Comparison comparison = compare(alone, added);
  EXPECT_EQ(comparison.key + " " + comparison.name, "beta 0 against 1");
  for (const char* words : {"/beta:2", "/beta:-1", "/beta:0.5"}) {
    EXPECT_THROW(named_case(device, product + words), std::invalid_argument) << words;
  }
}

TEST(GemmBeta, IsForSumsInWideTypesWithoutAnEpilogue) {
  if (!&cuda::gemm) GTEST_SKIP() << "this build has no CUDA";
  const auto reason = [](const std::string& name) { return named_case(unnamed_gpu(90), "gemm/" + name).unsupported; };
  const std::string sizes = "/m:48/n:16/k:144";
  EXPECT_EQ(reason("bf16" + sizes + "/beta:1"), "beta:1 needs D in fp32 or fp64, here it is bf16 (out:fp32)");
  EXPECT_EQ(reason("int8" + sizes + "/beta:1"), "beta:1 needs D in fp32 or fp64, here it is int32 (out:fp32)");
  EXPECT_EQ(reason("bf16" + sizes + "/out:fp32/beta:1/epilogue:bias"), "no epilogue with beta:1");
  for (const char* one : {"fp64", "fp32", "tf32"}) EXPECT_EQ(reason(one + sizes + "/beta:1"), "") << one;
  for (const char* words : {"/out:fp32/beta:1", "/out:fp32/beta:1/scale:vec128"}) EXPECT_EQ(reason("fp8" + sizes + words), "");
}

TEST(GemmBeta, FullHasGradientsOfWeights) {
  if (!&cuda::gemm) GTEST_SKIP() << "this build has no CUDA";
  std::set<std::string> shapes;
  for (const Group& group : list(of_suite(unnamed_gpu(90), SuiteName::full))) {
    for (const Comparison& comparison : group.comparisons) {
      if (comparison.key != "beta") continue;
      const Case& added = group.cases.back();
      EXPECT_EQ(value_of(added.shape, "layout"), "nt");
      shapes.insert(fmt::format("{} x {}", value_of(added.shape, "n"), value_of(added.shape, "m")));
    }
  }
  // Outputs and inputs of Llama 3 8B's weights.
  EXPECT_EQ(shapes, (std::set<std::string>{"6144 x 4096", "4096 x 4096", "28672 x 4096", "4096 x 14336"}));
}

TEST(GemmOutput, FullComparesEpiloguesAndOutputs) {
  if (!&cuda::gemm) GTEST_SKIP() << "this build has no CUDA";
  const DeviceInfo device = unnamed_gpu(90);
  std::map<std::string, int> counted;
  for (const Group& group : list(of_suite(device, SuiteName::full))) {
    for (const Comparison& comparison : group.comparisons) {
      if (comparison.key != "algo") ++counted[comparison.key + " " + comparison.name];
    }
  }
  EXPECT_EQ(counted["epilogue none against bias_gelu"], 6);
  EXPECT_EQ(counted["act fused against separate"], 6);
  EXPECT_EQ(counted["out fp8 against bf16"], 3) << "with bias and GELU";
  EXPECT_EQ(counted["out bf16 against fp8"], 1) << "of a square";
  EXPECT_EQ(counted["out bf16 against fp32"], 2);
  for (const SuiteName suite : {SuiteName::smoke, SuiteName::quick, SuiteName::baseline}) {
    for (const Group& group : list(of_suite(device, suite))) {
      for (const Case& one : group.cases) {
        for (const char* key : {"scale", "out", "epilogue", "act"}) EXPECT_EQ(value_of(one.shape, key), "") << one.name();
      }
    }
  }
}

}  // namespace
}  // namespace roofmark::gemm
