// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Healthy machines whose rates exceed what their attributes promise. None of them is wrong.
#include <gmock/gmock.h>

#include "harness/judge/analysis.hpp"
#include "harness/judge/theory.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Judged {
  Record record;
  Analysis analysis;

  std::vector<FindingKind> kinds() const {
    std::vector<FindingKind> all;
    for (const Finding& finding : analysis.findings) all.push_back(finding.kind);
    return all;
  }
  bool doubtful(const Resource& resource) const { return analysis.roofline.find(resource)->doubtful; }
};

/// The record has to stay ok, with its placement, and the run has to end well.
Judged judge(Roofline theoretical, Record record) {
  std::vector<Record> records = {std::move(record)};
  Analysis analysis = analyze(std::move(theoretical), records, {});
  EXPECT_EQ(records[0].status, Status::ok) << records[0].reason;
  EXPECT_TRUE(records[0].measurement && records[0].placement);
  EXPECT_EQ(exit_status(records), 0);
  return {records[0], std::move(analysis)};
}

Roofline links(double nvlink, double network) {
  Roofline roofline;
  roofline.at(resource::nvlink).theoretical = nvlink;
  roofline.at(resource::nvlink).theoretical_source = "18 NVLinks";
  roofline.at(resource::network).theoretical = network;
  roofline.at(resource::network).theoretical_source = "the ports that are up";
  return roofline;
}

/// An all-reduce of 1 GB on `ranks` GPUs that reaches this bus bandwidth.
Record all_reduce(int ranks, double busbw, Phase demands) {
  const double bus_factor = 2.0 * (ranks - 1) / ranks;
  Record record = ok_record("all_reduce", "nccl", {{std::move(demands)}}, 1e9 * bus_factor / busbw);
  record.message = Message{};
  record.message->ranks = ranks;
  record.message->bytes = 1'000'000'000;
  record.message->bus_factor = bus_factor;
  return record;
}

DeviceInfo gpu(const std::string& name, int capability, int multiprocessors, double rated_hz, double highest_hz) {
  DeviceInfo device;
  device.backend = Backend::cuda;
  device.name = name;
  device.compute_capability = capability;
  device.multiprocessors = multiprocessors;
  device.rated_clock_hz = rated_hz;
  device.highest_clock_hz = highest_hz;
  return device;
}

/// `share` of what the pipe gives at a clock, for 1 ms.
Record at_clock(const DeviceInfo& device, const Resource& pipe, double clock_hz, double share) {
  const Roofline roofline = theoretical_roofline(device);
  const Ceiling& ceiling = *roofline.find(pipe);
  const double rate = share * *ceiling.theoretical * clock_hz / *ceiling.theoretical_clock_hz;
  return ok_record("gemm", "x", {{{{pipe, rate * 1e-3}}}}, 1e-3);
}

// 8 hosts of 8 GPUs; each host has 8 ports of 50 GB/s. A ring moves 2 (k - 1) / k S over a host's ports, a switch that reduces
// on the way S: at 480 GB/s of bus bandwidth 427 GB/s against 244 GB/s.
TEST(HealthyMachines, ANetworkThatReduces) {
  constexpr double ring = 2.0 * 7 / 8 * 1e9, switched = 1e9;
  const Judged allowed = judge(links(450e9, 400e9), all_reduce(64, 480e9, {{resource::network, ring, ring - switched}}));
  EXPECT_THAT(allowed.kinds(), IsEmpty());
  EXPECT_FALSE(allowed.doubtful(resource::network));
  EXPECT_NEAR(*allowed.record.placement->of_theoretical, 1.067, 0.001);  // not clamped

  // Counted as a ring alone it is a finding, which is where it ends.
  const Judged ring_alone = judge(links(450e9, 400e9), all_reduce(64, 480e9, {{resource::network, ring}}));
  EXPECT_THAT(ring_alone.kinds(), ElementsAre(FindingKind::above_theoretical));
  EXPECT_THAT(ring_alone.analysis.findings[0].text,
              AllOf(HasSubstr("network"), HasSubstr("1.07 times the theoretical ceiling of 400 GB/s (the ports that are up)")));
  EXPECT_EQ(ring_alone.analysis.findings[0].case_name, ring_alone.record.name());
  EXPECT_TRUE(ring_alone.doubtful(resource::network));
  EXPECT_FALSE(ring_alone.doubtful(resource::nvlink));
}

// 18 hosts of 4 GPUs in one NVLink domain, each GPU with 900 GB/s; each host has 4 ports of 50 GB/s.
TEST(HealthyMachines, ARackThatIsOneNvlinkDomain) {
  constexpr double inside = 2.0 * 71 / 72 * 1e9, between_hosts = 2.0 * 17 / 18 * 1e9;
  const Judged one_domain = judge(links(900e9, 200e9), all_reduce(72, 800e9, {{resource::nvlink, inside}}));
  EXPECT_THAT(one_domain.kinds(), IsEmpty());

  // Taken for 18 nodes, the network seems to carry what NVLink carried.
  const Judged by_host = judge(links(900e9, 200e9), all_reduce(72, 800e9, {{resource::network, between_hosts}}));
  EXPECT_THAT(by_host.kinds(), ElementsAre(FindingKind::above_theoretical));
  EXPECT_THAT(by_host.analysis.findings[0].text, HasSubstr("3.83 times the theoretical ceiling of 200 GB/s"));
  EXPECT_TRUE(by_host.doubtful(resource::network));
}

// Rated 2520 MHz, runs at 2710 MHz: 7.5 % more.
TEST(HealthyMachines, ACardThatBoostsBeyondItsRatedClock) {
  const DeviceInfo card = gpu("NVIDIA GeForce RTX 4090", 89, 128, 2520e6, 3105e6);
  Record record = at_clock(card, resource::fp32_fma, 2710e6, 0.99);
  record.measurement->clock_hz = 2710e6;
  const Judged boosted = judge(theoretical_roofline(card), record);
  EXPECT_THAT(boosted.kinds(), IsEmpty());  // the clock fell below the highest one, not below the rated one
  EXPECT_NEAR(*boosted.record.placement->of_theoretical_clock, 0.99, 1e-9);
  EXPECT_NEAR(*boosted.record.placement->of_theoretical, 0.99 * 2710 / 3105, 1e-9);

  record.measurement->clock_hz = 2300e6;
  EXPECT_THAT(judge(theoretical_roofline(card), record).kinds(), ElementsAre(FindingKind::clock));
}

// The time is the slowest rank's, and the clock of the record is that of the rank that wrote it.
TEST(HealthyMachines, RanksWithDifferentClocks) {
  const DeviceInfo device = gpu("NVIDIA H200", 90, 132, 1980e6, 1980e6);
  Record record = at_clock(device, resource::fp32_fma, 1900e6, 0.99);
  const double slowest = record.measurement->summary.median;
  record.measurement->clock_hz = 1980e6;
  record.measurement->ranks = {
      RankTimes{0.96 * slowest, slowest, {}, {}, 1980e6}, RankTimes{slowest, slowest, {}, {}, 1900e6}, {}};
  EXPECT_NEAR(*judge(theoretical_roofline(device), record).record.placement->of_theoretical_clock, 0.99, 1e-9);
}

// Without NVML the rated clock is the highest one known, until the card is seen at another.
TEST(HealthyMachines, ACardThatBoostsBeyondTheHighestClockKnown) {
  const DeviceInfo card = gpu("NVIDIA GeForce RTX 4090", 89, 128, 2520e6, 2520e6);
  Record record = at_clock(card, resource::fp32_fma, 2655e6, 0.99);
  record.measurement->clock_hz = 2655e6;
  const Judged seen = judge(theoretical_roofline(card), record);
  EXPECT_THAT(seen.kinds(), IsEmpty());
  EXPECT_FALSE(seen.doubtful(resource::fp32_fma));
  EXPECT_NEAR(*seen.record.placement->of_theoretical_clock, 0.99, 1e-9);
  EXPECT_NEAR(*seen.record.placement->of_theoretical, 0.99 * 2655 / 2520, 1e-9);  // not clamped

  // With no clock to explain the rate, the ceiling is in doubt, and that of no other pipe.
  record.measurement->clock_hz.reset();
  const Judged unseen = judge(theoretical_roofline(card), record);
  EXPECT_THAT(unseen.kinds(), ElementsAre(FindingKind::above_theoretical));
  EXPECT_TRUE(unseen.doubtful(resource::fp32_fma));
  EXPECT_FALSE(unseen.doubtful(resource::bf16_tensor));

  // A count that is twice too high is not explained by the boost.
  Record twice = at_clock(card, resource::fp32_fma, 2655e6, 2);
  twice.measurement->clock_hz = 2655e6;
  const Judged wrong_count = judge(theoretical_roofline(card), twice);
  EXPECT_THAT(wrong_count.kinds(), ElementsAre(FindingKind::above_theoretical));
  EXPECT_THAT(wrong_count.analysis.findings[0].text,
              AllOf(HasSubstr("2 times the theoretical ceiling of 87.0 TFLOP/s"), HasSubstr(", at the observed 2655 MHz)")));
}

// 4 % below its highest clock, 3.6 % above its rated one; 5 % below the rated one is a fall.
TEST(HealthyMachines, AClockFallsBelowTheRatedOneNotBelowTheHighest) {
  const DeviceInfo card = gpu("NVIDIA GeForce RTX 4090", 89, 128, 2520e6, 2655e6);
  for (const auto& [clock_hz, falls] : {std::pair{2655e6, false}, {2520e6, false}, {2400e6, false}, {2390e6, true}}) {
    Record record = at_clock(card, resource::fp32_fma, clock_hz, 0.95);
    record.measurement->clock_hz = clock_hz;
    const Judged judged = judge(theoretical_roofline(card), record);
    EXPECT_EQ(judged.kinds(), falls ? std::vector{FindingKind::clock} : std::vector<FindingKind>()) << clock_hz;
    EXPECT_FALSE(judged.doubtful(resource::fp32_fma));
  }
}

// One exponential per 4 d FLOPs. At 1.4 PFLOP/s that is 5.5e12 per second, of which the special-function units give 4.65e12:
// the rest are polynomials.
TEST(HealthyMachines, AttentionWithExponentialsByPolynomial) {
  const DeviceInfo b200 = gpu("NVIDIA B200", 100, 148, 1965e6, 1965e6);
  constexpr double d = 64, flops = 1.4e12;
  Record attention = ok_record("attention", "x", {{{{resource::bf16_tensor, flops}, {resource::exp, flops / (4 * d)}}}}, 1e-3);
  attention.measurement->clock_hz = 1965e6;
  Roofline roofline = theoretical_roofline(b200);
  roofline.at(resource::exp).first = 4.6e12;
  roofline.at(resource::bf16_tensor).first = 2.0e15;
  const Judged judged = judge(std::move(roofline), attention);
  // The probe of the exponentials did not miss its ceiling: the doubt says more than "above the measured ceiling" would.
  EXPECT_THAT(judged.kinds(), ElementsAre(FindingKind::above_theoretical));
  EXPECT_THAT(judged.analysis.findings[0].text, HasSubstr("1.18 times the theoretical ceiling"));
  EXPECT_EQ(judged.record.placement->bound_by, "exp");
  EXPECT_NEAR(*judged.record.placement->of_empirical, 1.19, 0.005);
  EXPECT_TRUE(judged.doubtful(resource::exp));
  EXPECT_FALSE(judged.doubtful(resource::bf16_tensor));
}

// A matrix times a vector by mma, as measured: NVML reads 1980 MHz, the SMs count 1824 MHz.
TEST(HealthyMachines, AnH100WhoseClockIsLowerWhileItsTensorCoresWork) {
  const DeviceInfo h100 = gpu("NVIDIA H100 80GB HBM3", 90, 132, 1980e6, 1980e6);
  Record record = at_clock(h100, resource::bf16_tensor, 1824e6, 0.95);
  record.measurement->clock_hz = 1824e6;
  record.measurement->telemetry.emplace().sm_clock_hz = 1980e6;
  const Judged judged = judge(theoretical_roofline(h100), record);
  EXPECT_THAT(judged.kinds(), ElementsAre(FindingKind::clock_under_load));
  EXPECT_EQ(judged.analysis.findings[0].text,
            "under load the clock was 1824 MHz, 8 % below the 1980 MHz that the driver reports");
  // Locked clocks: the driver knows of them.
  record.measurement->telemetry->sm_clock_hz = 1830e6;
  EXPECT_THAT(judge(theoretical_roofline(h100), record).kinds(), ElementsAre(FindingKind::clock));
  // What names a reason needs no other.
  record.measurement->telemetry->sm_clock_hz = 1980e6;
  record.measurement->telemetry->throttled_share = {{"power cap", 1.0}};
  EXPECT_THAT(judge(theoretical_roofline(h100), record).kinds(), ElementsAre(FindingKind::throttle));
}

// The cap set in while the block ran: from 1980 MHz to 1200 MHz, 1700 MHz in the mean.
TEST(HealthyMachines, ABlockInWhichAPowerCapSetsIn) {
  const DeviceInfo h200 = gpu("NVIDIA H200", 90, 132, 1980e6, 1980e6);
  Record record = at_clock(h200, resource::bf16_tensor, 1700e6, 0.95);
  record.measurement->telemetry.emplace().throttled_share = {{"power cap", 1.0}};
  Block block;
  block.first_clock_hz = 1980e6;
  block.mean_clock_hz = 1700e6;
  block.last_clock_hz = 1200e6;
  record.measurement->clock_hz = block.clock_hz();
  const Judged judged = judge(theoretical_roofline(h200), record);
  EXPECT_THAT(judged.kinds(), ElementsAre(FindingKind::throttle));
  EXPECT_EQ(judged.analysis.findings[0].text,
            "the clock fell by 14 % to 1700 MHz; throttle reason: power cap (during 100.0 % of the blocks' time)");
  EXPECT_NEAR(*judged.record.placement->of_theoretical_clock, 0.95, 1e-9);
  for (const Ceiling& ceiling : judged.analysis.roofline.ceilings()) EXPECT_FALSE(ceiling.doubtful) << ceiling.resource.id;
}

}  // namespace
}  // namespace roofmark
