// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
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
        for (const char* key : {"out", "epilogue", "act"}) EXPECT_EQ(value_of(one.shape, key), "") << one.name();
      }
    }
  }
}

}  // namespace
}  // namespace roofmark::gemm
