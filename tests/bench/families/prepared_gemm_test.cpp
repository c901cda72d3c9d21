// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/prepared_gemm.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "bench/families/gemm.hpp"
#include "bench/support/case_request.hpp"
#include "harness/device/cpu_device.hpp"
#include "kernels/base/check.hpp"

namespace roofmark::gemm {

std::optional<Case> make(const Listing& listing, const CaseRequest& asked);

namespace {

using testing::HasSubstr;

Listing of_baseline(const DeviceInfo& device) { return {device, SuiteName::baseline, {}, 0.9}; }

/// A launch on every slot, and what the checks say before and after.
void expect_contract(Device& device, DataType type, GemmLayout layout, std::int64_t m, std::int64_t n, std::int64_t k,
                     const std::string& algo, std::int64_t batch = 1, const std::string& epilogue = "epilogue:none") {
  const std::string asked = fmt::format("gemm/{}/batch:{}/m:{}/n:{}/k:{}/{}/layout:{}/algo:{}", name(type), batch, m, n, k,
                                        epilogue, name(layout), algo);
  const Case made = *make(of_baseline(device.info()), CaseRequest(parse_case_name(asked)));
  if (!made.unsupported.empty()) return;
  const int slots = 2;
  // Every algorithm runs once, and the last is chosen.
  const auto once = [&](const std::vector<Launch>& launches) {
    std::vector<double> seconds;
    for (const Launch& launch : launches) {
      launch(device.stream(), 0);
      device.synchronize();
      seconds.push_back(std::ldexp(1, -static_cast<int>(seconds.size())));
    }
    return seconds;
  };
  std::unique_ptr<Prepared> prepared;
  try {
    prepared = made.prepare({device, slots, Distribution::normal, 11, once});
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(), HasSubstr("CUBLAS_STATUS_")) << made.name();
    return;
  }
  std::set<std::uint64_t> hashes;
  for (int slot = 0; slot < slots; ++slot) {
    EXPECT_EQ(prepared->verify(slot).status, Verification::Status::failed) << made.name() << " before any launch";
    for (int launch = 1; launch <= 3; ++launch) {
      prepared->launch(device.stream(), slot);
      device.synchronize();
      const Verification found = prepared->verify(slot);
      EXPECT_EQ(found.status, Verification::Status::passed) << made.name() << " launch " << launch << ": " << found.detail;
    }
    const Output output = prepared->outputs(slot).front();
    EXPECT_EQ(output.type, epilogue.starts_with("out:fp8") ? DataType::fp8 : gemm_output_type(type));
    EXPECT_EQ(output.count, static_cast<std::size_t>(batch * m * n));
    hashes.insert(device.hash(output.data, output.count * size_of(output.type)));
  }
  EXPECT_EQ(hashes.size(), 1u) << made.name() << ": the slots hold the same operands";
  EXPECT_NE(prepared->fingerprint_key(), "");
}

/// Null where there is none, and the reason.
std::unique_ptr<Device> gpu(std::string& why_not) {
  try {
    return open_device(resolve_devices("cuda", why_not).front());
  } catch (const DeviceError& error) {
    why_not = error.what();
    return nullptr;
  }
}

constexpr std::pair<std::int64_t, const char*> kUneven[] = {{3, "imbalance:2"}, {3, "imbalance:3"}, {5, "imbalance:2"}};

TEST(GemmPrepared, KeepsTheContractOnTheHost) {
  const std::unique_ptr<Device> device = open_cpu_device();
  for (DataType type : {DataType::fp64, DataType::fp32}) {
    for (GemmLayout layout : kGemmLayouts) {
      expect_contract(*device, type, layout, 67, 131, 45, "default");
      expect_contract(*device, type, layout, 19, 33, 45, "default", 9);
    }
    for (const auto& [batch, words] : kUneven) {
      expect_contract(*device, type, GemmLayout::tn, 67, 31, 45, "default", batch, words);
      expect_contract(*device, type, GemmLayout::tn, 67, 1, 45, "default", batch, words);
    }
  }
}

// The last algorithm of each, and long sums; the contract of all cases has the first, and more shapes.
TEST(GemmPrepared, KeepsTheContractOnAGpu) {
  std::string why_not;
  const std::unique_ptr<Device> device = gpu(why_not);
  if (!device) GTEST_SKIP() << why_not;
  for (DataType type : kDataTypes) {
    for (GemmLayout layout : kGemmLayouts) {
      expect_contract(*device, type, layout, 67, 131, 45, "tuned");
      expect_contract(*device, type, layout, 144, 40, 160, "tuned", 2);
    }
    const GemmLayout layout = GemmLayout::tn;
    expect_contract(*device, type, layout, 272, 1, 1040, "default");
    expect_contract(*device, type, layout, 80, 48, 2064, "default");
    expect_contract(*device, type, layout, 19, 33, 45, "tuned", 2, "epilogue:bias_gelu");
    expect_contract(*device, type, layout, 48, 16, 160, "tuned", 1, "epilogue:bias_relu");
    expect_contract(*device, type, layout, 48, 16, 160, "default", 1, "out:fp8/epilogue:gelu");
    expect_contract(*device, type, layout, 272, 40, 400, "tuned", 1, "scale:blk128");
    expect_contract(*device, type, layout, 272, 40, 400, "default", 1, "scale:vec128/epilogue:bias");
  }
}

TEST(GemmPrepared, TellsTheAlgorithmOfEachNumberOfColumnsOnAGpu) {
  std::string why_not;
  const std::unique_ptr<Device> device = gpu(why_not);
  if (!device) GTEST_SKIP() << why_not;
  const auto algorithm = [&](const std::string& sizes) {
    const CaseRequest asked(parse_case_name("gemm/bf16/" + sizes));
    const auto prepared = make(of_baseline(device->info()), asked)->prepare({*device, 1, Distribution::normal, 0, {}});
    return value_of(prepared->notes(), "algorithm");
  };
  const std::string by = " by id [^;]+";
  EXPECT_THAT(algorithm("batch:4/m:32/n:40/k:64/imbalance:2"),
              testing::MatchesRegex("one product per call: n 80" + by + "; n 27" + by + "; n 26" + by));
  EXPECT_THAT(algorithm("batch:3/m:32/n:40/k:64/imbalance:2"),
              testing::MatchesRegex("one product per call: n 80" + by + "; n 20" + by));
  EXPECT_THAT(algorithm("batch:3/m:32/n:40/k:64/imbalance:3"), testing::MatchesRegex("one product per call: n 120" + by));
}

/// A library that multiplies and does not add.
std::unique_ptr<GemmPlan> plan_without_beta(const GemmProblem& problem, int most, const GemmOperands& operands) {
  GemmProblem alone = problem;
  alone.accumulates = false;
  return cpu::gemm.plan(alone, most, operands);
}

TEST(GemmPrepared, AddsToDWhichADoubledProductShows) {
  const std::unique_ptr<Device> device = open_cpu_device();
  GemmKernels forgetful = cpu::gemm;
  forgetful.plan = plan_without_beta;
  for (DataType type : {DataType::fp64, DataType::fp32}) {
    GemmProblem problem{67, 131, 45, type, GemmLayout::nt, 2};
    problem.accumulates = true;
    const ::roofmark::Setup setup{*device, 2, Distribution::normal, 11, {}};
    const auto added = prepare(setup, problem, Activation::fused, cpu::gemm, false, "");
    const auto replaced = prepare(setup, problem, Activation::fused, forgetful, false, "");
    EXPECT_TRUE(added->accumulates());
    for (int slot = 0; slot < 2; ++slot) {
      const auto status_after = [&](Prepared& prepared, int launches) {
        prepared.reset(slot);
        for (int i = 0; i < launches; ++i) prepared.launch(device->stream(), slot);
        device->synchronize();
        return prepared.verify(slot).status;
      };
      EXPECT_EQ(added->verify(slot).status, Verification::Status::failed) << "no launch yet";
      EXPECT_EQ(status_after(*added, 1), Verification::Status::passed);
      EXPECT_EQ(status_after(*added, 2), Verification::Status::failed);
      EXPECT_EQ(status_after(*replaced, 1), Verification::Status::failed);
    }
  }
}

TEST(GemmPrepared, SaysHowItWasDone) {
  const std::unique_ptr<Device> device = open_cpu_device();
  const auto prepared =
      gemm_case(of_baseline(device->info()), DataType::fp64, 8, 8, 8).prepare({*device, 1, Distribution::normal, 0, {}});
  const auto notes = prepared->notes();
  EXPECT_THAT(notes, testing::Contains(testing::Pair("library", cpu::gemm.version())));
  EXPECT_THAT(notes, testing::Contains(testing::Pair("algorithm", "gemm")));
  EXPECT_THAT(prepared->fingerprint_key(), HasSubstr(cpu::gemm.version()));
}

// Its bits may be compared among devices: no timing chooses the algorithm.
TEST(GemmPrepared, TheLibrarysFirstChoiceIsNotTimed) {
  const std::unique_ptr<Device> device = open_cpu_device();
  const auto timed = [](const std::vector<Launch>& launches) {
    ADD_FAILURE() << "timed";
    return std::vector<double>(launches.size(), 1.0);
  };
  const Case made = gemm_case(of_baseline(device->info()), DataType::fp32, 48, 48, 48);
  const auto one = made.prepare({*device, 1, Distribution::normal, 1, timed});
  const auto other = made.prepare({*device, 2, Distribution::normal, 1, timed});
  EXPECT_EQ(one->fingerprint_key(), other->fingerprint_key());
}

}  // namespace
}  // namespace roofmark::gemm
