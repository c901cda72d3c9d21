// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: every rule of a placement, worked out in plain numbers on one made-up device.
#include "harness/model/roofline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace roofmark {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// Measured: 4 T B/s of DRAM, 10 T B/s of L2, 800 T and 60 T FLOP/s, 2.5 us a stream launch and 1.25 us a graph node.
/// Theoretical, at 2 GHz: 5 T B/s, 1000 T and 64 T FLOP/s; nobody publishes one for L2.
Roofline device() {
  Roofline roofline;
  const auto measured = [&](const Resource& resource, double rate) { roofline.at(resource).first = rate; };
  const auto theoretical = [&](const Resource& resource, double rate) {
    roofline.at(resource).theoretical = rate;
    roofline.at(resource).theoretical_source = "by its attributes";
    if (resource.clock == ClockDomain::sm) roofline.at(resource).theoretical_clock_hz = 2e9;
  };
  measured(resource::dram, 4e12);
  measured(resource::l2, 10e12);
  measured(resource::bf16_tensor, 800e12);
  measured(resource::fp32_fma, 60e12);
  measured(resource::stream_launch, 4e5);
  measured(resource::graph_launch, 8e5);
  theoretical(resource::dram, 5e12);
  theoretical(resource::bf16_tensor, 1000e12);
  theoretical(resource::fp32_fma, 64e12);
  return roofline;
}

Work one_phase(Phase demands) { return Work{{std::move(demands)}}; }

Placement placed(const Work& work, double seconds, std::optional<double> clock_hz = 2e9) {
  return place(work, device(), seconds, Issue::stream, clock_hz);
}

TEST(Place, TakesTheGreatestDemandOfAPhase) {
  // 4 GB in 1 ms of DRAM, 1.6 TFLOP in 2 ms of the tensor cores; measured 2.5 ms.
  const Placement placement = placed(one_phase({{resource::dram, 4e9}, {resource::bf16_tensor, 1.6e12}}), 2.5e-3);
  EXPECT_DOUBLE_EQ(*placement.t_min_seconds, 2e-3);
  EXPECT_EQ(placement.bound_by, "bf16_tensor");
  EXPECT_DOUBLE_EQ(*placement.of_empirical, 0.8);
  EXPECT_DOUBLE_EQ(*placement.of_theoretical, 0.64);
  EXPECT_DOUBLE_EQ(*placement.flops_per_second, 640e12);
  EXPECT_DOUBLE_EQ(*placement.bytes_per_second, 1.6e12);
  EXPECT_DOUBLE_EQ(*placement.intensity, 400);
}

TEST(Place, RatesAreHeldAgainstTheWorkWhicheverLevelBinds) {
  const Work work = one_phase({{resource::dram, 4e9}, {resource::l2, 6e9}, {resource::bf16_tensor, 1.6e12}});
  const auto held = [&](std::optional<double> flops, std::optional<double> bytes) {
    Placement placement;
    placement.flops_per_second = flops;
    placement.bytes_per_second = bytes;
    return has_rates_of(placement, work, 2.5e-3);
  };
  EXPECT_TRUE(held(640e12, 1.6e12) && held(640e12, 2.4e12) && held({}, 1.6e12) && held({}, {}));
  EXPECT_FALSE(held(641e12, {}) || held(640e12, 1.7e12) || held({}, 0));
}

TEST(Place, AddsUpThePhases) {
  // 1 ms of DRAM, then 2 ms of the tensor cores, then 1.5 ms of DRAM: DRAM has the largest share though no phase of its own
  // is the longest.
  Work work{{{{resource::dram, 4e9}, {resource::fp32_fma, 6e9}}, {{resource::bf16_tensor, 1.6e12}}, {{resource::dram, 6e9}}}};
  const Placement placement = placed(work, 5e-3);
  EXPECT_DOUBLE_EQ(*placement.t_min_seconds, 4.5e-3);
  EXPECT_EQ(placement.bound_by, "dram");
  EXPECT_DOUBLE_EQ(*placement.of_empirical, 0.9);
  EXPECT_DOUBLE_EQ(*placement.of_theoretical, (0.8e-3 + 1.6e-3 + 1.2e-3) / 5e-3);
  EXPECT_DOUBLE_EQ(*placement.bytes_per_second, 2e12);
}

TEST(Place, AddsDemandsOnOneResource) {
  EXPECT_DOUBLE_EQ(*placed(one_phase({{resource::dram, 4e9}, {resource::dram, 4e9}}), 4e-3).t_min_seconds, 2e-3);
}

TEST(Place, HoldsADemandAgainstThePartOfTheResourceThatIsThereForIt) {
  Roofline links;
  links.at(resource::peer_in).theoretical = 300e9;
  links.at(resource::peer_in).first = 270e9;
  const Work work = one_phase({{.resource = resource::peer_in, .amount = 90e9, .part = 1.0 / 3}});
  const Placement placement = place(work, links, 1, {}, {});
  EXPECT_DOUBLE_EQ(*placement.of_theoretical, 0.9);
  EXPECT_DOUBLE_EQ(*placement.of_empirical, 1);
  EXPECT_DOUBLE_EQ(*placement.bytes_per_second, 90e9);
  EXPECT_EQ(above_theoretical(work, links, 0.89, {}).size(), 0U);
  EXPECT_EQ(above_theoretical(work, links, 0.88, {}).size(), 1U);
}

TEST(Place, IsNeverUnderOneLaunch) {
  // 4 kB would take a nanosecond; the kernel takes 3 us.
  const Work tiny = one_phase({{resource::dram, 4e3}});
  for (const Issue path : {Issue::stream, Issue::gate}) {
    const Placement placement = place(tiny, device(), 3e-6, path, {});
    EXPECT_DOUBLE_EQ(*placement.t_min_seconds, 2.5e-6);
    EXPECT_EQ(placement.bound_by, "stream_launch");
    EXPECT_DOUBLE_EQ(*placement.of_empirical, 2.5 / 3);
  }
  const Placement graph = place(tiny, device(), 3e-6, Issue::graph, {});
  EXPECT_DOUBLE_EQ(*graph.t_min_seconds, 1.25e-6);
  EXPECT_EQ(graph.bound_by, "graph_launch");
  EXPECT_NEAR(*graph.of_theoretical, 0.8e-9 / 3e-6, 1e-12);
}

TEST(Place, OfALaunchAndItsWorkTheLongerIsTheLimit) {
  // A stream launch takes 2.5 us.
  EXPECT_EQ(placed(one_phase({{resource::dram, 9.6e6}}), 3e-6).bound_by, "stream_launch");
  const Placement longer = placed(one_phase({{resource::dram, 10.4e6}}), 3e-6);
  EXPECT_EQ(longer.bound_by, "dram");
  EXPECT_DOUBLE_EQ(*longer.t_min_seconds, 2.6e-6);
}

TEST(Place, KnowsNoLaunchWithoutACeilingForIt) {
  Roofline cpu;
  cpu.at(resource::dram).first = 1e10;
  const Placement placement = place(one_phase({{resource::dram, 10}}), cpu, 2e-9, Issue::stream, {});
  EXPECT_DOUBLE_EQ(*placement.t_min_seconds, 1e-9);
  EXPECT_EQ(placement.bound_by, "dram");
  EXPECT_FALSE(placement.of_theoretical || placement.of_theoretical_clock);
}

TEST(Place, HasNoLaunchAmongTheLimitsOfWhatTheHostTimes) {
  const Work tiny = one_phase({{resource::dram, 4e3}});
  EXPECT_DOUBLE_EQ(*place(tiny, device(), 3e-6, {}, {}).t_min_seconds, 1e-9);
  EXPECT_FALSE(place(Work{}, device(), 3e-6, {}, {}).t_min_seconds);
}

TEST(Place, PlacesWorkThatDemandsNothingByItsLaunch) {
  for (const Work& work : {Work{}, one_phase({}), one_phase({{resource::dram, 0}})}) {
    const Placement placement = placed(work, 5e-6);
    EXPECT_DOUBLE_EQ(*placement.t_min_seconds, 2.5e-6);
    EXPECT_EQ(placement.bound_by, "stream_launch");
    EXPECT_FALSE(placement.of_theoretical || placement.flops_per_second || placement.bytes_per_second || placement.intensity);
  }
  EXPECT_FALSE(place(Work{}, Roofline{}, 5e-6, Issue::stream, {}).t_min_seconds.has_value());
}

TEST(Place, IsAbsentWhereADemandedResourceHasNoEmpiricalCeiling) {
  const Placement placement = placed(one_phase({{resource::dram, 4e9}, {resource::exp, 1e6}}), 1e-3);
  EXPECT_FALSE(placement.t_min_seconds || placement.of_empirical || placement.of_theoretical);
  EXPECT_EQ(placement.bound_by, "");
  EXPECT_DOUBLE_EQ(*placement.bytes_per_second, 4e12);
}

TEST(Place, NamesWhatBindsInTheoryWhereNoProbeMeasuredIt) {
  Roofline roofline = device();
  roofline.at(resource::nvlink).theoretical = 4e11;
  roofline.at(resource::network).theoretical = 1e11;
  const Work work = one_phase({{resource::nvlink, 4e8}, {resource::network, 2e8}});
  const Placement placement = place(work, roofline, 4e-3, Issue::stream, {});
  EXPECT_FALSE(placement.t_min_seconds || placement.of_empirical);
  EXPECT_EQ(placement.bound_by, "network");
  EXPECT_DOUBLE_EQ(*placement.of_theoretical, 0.5);
}

TEST(Place, IsAbsentOnTheTheoreticalRoofWhereADemandedResourceHasNone) {
  const Placement placement = placed(one_phase({{resource::dram, 4e9}, {resource::l2, 8e9}}), 2e-3);
  EXPECT_DOUBLE_EQ(*placement.of_empirical, 0.5);
  EXPECT_FALSE(placement.of_theoretical || placement.of_theoretical_clock);
}

TEST(Place, TakesTheBetterOfBothMeasurementsOfACeiling) {
  Roofline roofline = device();
  roofline.at(resource::dram).last = 5e12;
  EXPECT_DOUBLE_EQ(*place(one_phase({{resource::dram, 5e9}}), roofline, 2e-3, Issue::stream, {}).t_min_seconds, 1e-3);
}

TEST(Place, ScalesOnlyWhatFollowsTheClock) {
  const Work compute = one_phase({{resource::bf16_tensor, 1e12}}), memory = one_phase({{resource::dram, 5e9}});
  EXPECT_DOUBLE_EQ(*placed(compute, 2e-3, 1.5e9).of_theoretical, 0.5);
  EXPECT_DOUBLE_EQ(*placed(compute, 2e-3, 1.5e9).of_theoretical_clock, 0.5 / 0.75);
  EXPECT_DOUBLE_EQ(*placed(memory, 2e-3, 1.5e9).of_theoretical_clock, 0.5);
  // At a low clock the tensor cores bind where the memory did.
  const Work both = one_phase({{resource::dram, 5e9}, {resource::bf16_tensor, 0.9e12}});
  EXPECT_DOUBLE_EQ(*placed(both, 2e-3, 1e9).of_theoretical, 0.5);
  EXPECT_DOUBLE_EQ(*placed(both, 2e-3, 1e9).of_theoretical_clock, 0.9);
}

TEST(Place, HasNoClockedFractionWithoutAClock) {
  EXPECT_FALSE(placed(one_phase({{resource::bf16_tensor, 1e12}}), 2e-3, {}).of_theoretical_clock.has_value());
  EXPECT_DOUBLE_EQ(*placed(one_phase({{resource::dram, 5e9}}), 2e-3, {}).of_theoretical_clock, 0.5);
}

TEST(Place, NeverClamps) {
  // Faster than the ceiling that was measured, slower than the theoretical one.
  const Placement placement = placed(one_phase({{resource::dram, 4.8e9}}), 1e-3);
  EXPECT_DOUBLE_EQ(*placement.of_empirical, 1.2);
}

TEST(Place, GivesTheIntensityOfTheLevelThatBindsElseOfTheOutermost) {
  // Little more than the cache holds: the cache serves nearly all of it.
  const Placement spilling = placed(one_phase({{resource::l2, 8e9}, {resource::dram, 1e9}, {resource::fp32_fma, 8e9}}), 1e-3);
  EXPECT_EQ(spilling.bound_by, "l2");
  EXPECT_DOUBLE_EQ(*spilling.bytes_per_second, 8e12);
  EXPECT_DOUBLE_EQ(*spilling.intensity, 1);
  const Placement both = placed(one_phase({{resource::l2, 8e9}, {resource::dram, 4e9}, {resource::fp32_fma, 8e9}}), 1e-3);
  EXPECT_DOUBLE_EQ(*both.intensity, 2);
  EXPECT_DOUBLE_EQ(*both.bytes_per_second, 4e12);
  const Placement cached = placed(one_phase({{resource::l2, 8e9}, {resource::int8_tensor, 4e9}}), 1e-3);
  EXPECT_DOUBLE_EQ(*cached.intensity, 0.5);
  EXPECT_DOUBLE_EQ(*cached.flops_per_second, 4e12);
  EXPECT_DOUBLE_EQ(*cached.bytes_per_second, 8e12);
  EXPECT_FALSE(placed(one_phase({{resource::dram, 4e9}}), 1e-3).intensity.has_value());
  EXPECT_FALSE(placed(one_phase({{resource::fp32_fma, 4e9}}), 1e-3).intensity.has_value());
}

std::vector<Excess> excesses(const Work& work, double seconds, std::optional<double> clock_hz = {}) {
  return above_theoretical(work, device(), seconds, clock_hz);
}

TEST(AboveTheoretical, ByMoreThanTwoPercent) {
  const Work work = one_phase({{resource::dram, 5e9}});
  EXPECT_THAT(excesses(work, 1e-3 / 1.019), IsEmpty());
  const std::vector<Excess> found = excesses(work, 1e-3 / 1.03);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].resource, resource::dram);
  EXPECT_DOUBLE_EQ(found[0].rate, 5.15e12);
  EXPECT_DOUBLE_EQ(found[0].ceiling, 5e12);
}

TEST(AboveTheoretical, AtTheHighestClock) {
  // Were the observed clock 1.5 GHz, 1000 T in 1.1 ms would be 1.21 of the 750 T/s there.
  const Work work = one_phase({{resource::bf16_tensor, 1e12}});
  EXPECT_THAT(excesses(work, 1.1e-3, 1.5e9), IsEmpty());
  EXPECT_THAT(excesses(work, 0.9e-3, 1.5e9), SizeIs(1));
}

// Where nobody says how far a card boosts, its clock does. That of the memory is another.
TEST(AboveTheoretical, AtTheObservedClockWhereThatIsHigher) {
  const Work pipe = one_phase({{resource::bf16_tensor, 1e12}}), memory = one_phase({{resource::dram, 5e9}});
  EXPECT_THAT(excesses(pipe, 0.95e-3, 2.1e9), IsEmpty());
  const std::vector<Excess> found = excesses(pipe, 0.9e-3, 2.1e9);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_DOUBLE_EQ(found[0].ceiling, 1050e12);
  EXPECT_THAT(excesses(memory, 0.95e-3, 2.1e9), SizeIs(1));
}

// Of Blackwell's packed fp16, sources have one figure and its double.
TEST(AboveTheoretical, NotUpToTheHighestFigureWhereSourcesDiffer) {
  Roofline roofline = device();
  roofline.at(resource::fp32_fma).theoretical_at_most = 128e12;
  const auto above = [&](double rate, double clock_hz) {
    return above_theoretical(one_phase({{resource::fp32_fma, rate}}), roofline, 1, clock_hz);
  };
  EXPECT_THAT(above(120e12, 2e9), IsEmpty());
  const auto found = above(140e12, 2e9);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_DOUBLE_EQ(found[0].ceiling, 128e12);
  EXPECT_THAT(above(140e12, 2.2e9), IsEmpty()) << "at a higher clock";
  EXPECT_DOUBLE_EQ(*place(one_phase({{resource::fp32_fma, 96e12}}), roofline, 1, {}, 2e9).of_theoretical, 1.5)
      << "shares are of the figure that is used";
}

TEST(AboveTheoretical, LeavesOutWhatACacheMayServe) {
  EXPECT_THAT(excesses(one_phase({{resource::dram, 8e9, 4e9}}), 1e-3), IsEmpty());
  EXPECT_THAT(excesses(one_phase({{resource::dram, 8e9, 1e9}}), 1e-3), SizeIs(1));
  // But it counts in the placement.
  EXPECT_DOUBLE_EQ(*placed(one_phase({{resource::dram, 8e9, 4e9}}), 1e-3).of_empirical, 2);
}

TEST(AboveTheoretical, OverAllPhasesOfAResource) {
  const std::vector<Excess> found = excesses(Work{{{{resource::dram, 4e9}}, {{resource::dram, 4e9}}}}, 1e-3);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_DOUBLE_EQ(found[0].rate, 8e12);
  // Two phases that an implementation overlaps: each resource alone keeps within its limit.
  EXPECT_THAT(excesses(Work{{{{resource::dram, 4.9e9}}, {{resource::bf16_tensor, 0.9e12}}}}, 1e-3), IsEmpty());
}

TEST(AboveTheoretical, NamesEveryResource) {
  const std::vector<Excess> found = excesses(one_phase({{resource::dram, 9e9}, {resource::bf16_tensor, 9e12}}), 1e-3);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].resource, resource::dram);
  EXPECT_EQ(found[1].resource, resource::bf16_tensor);
}

TEST(Place, RefusesTimesAndPathsThatAreNone) {
  const Work work = one_phase({{resource::dram, 1}});
  for (const double seconds : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(placed(work, seconds), std::invalid_argument);
  }
  EXPECT_THROW(place(work, device(), 1, Issue::automatic, {}), std::invalid_argument);
}

TEST(Ceiling, KeepsBothMeasurements) {
  Ceiling ceiling;
  EXPECT_FALSE(ceiling.empirical() || ceiling.drift());
  ceiling.last = 3;
  EXPECT_EQ(ceiling.empirical(), 3);
  ceiling.first = 4;
  EXPECT_EQ(ceiling.empirical(), 4);
  EXPECT_DOUBLE_EQ(*ceiling.drift(), -0.25);
}

Ceiling drifting(const Resource& resource, double rate, std::optional<double> clock_hz) {
  Ceiling ceiling;
  ceiling.resource = resource;
  ceiling.first = 1;
  ceiling.last = rate;
  ceiling.first_clock_hz = 2e9;
  ceiling.last_clock_hz = clock_hz;
  return ceiling;
}

double unexplained(double rate, double clock, const Resource& resource = resource::bf16_tensor) {
  return *drifting(resource, rate, 2e9 * clock).unexplained_drift();
}

TEST(Ceiling, WhatItsClockExplainsOfADriftIsNotUnexplained) {
  constexpr double kExact = 1e-12;
  EXPECT_NEAR(unexplained(0.9, 0.9), 0, kExact);
  EXPECT_NEAR(unexplained(1.1, 1.1), 0, kExact);
  EXPECT_NEAR(unexplained(0.81, 0.9), -0.1, kExact) << "it fell further";
  EXPECT_NEAR(unexplained(1.21, 1.1), 0.1, kExact);
  EXPECT_NEAR(unexplained(0.9, 1), -0.1, kExact) << "its clock held";
  EXPECT_NEAR(unexplained(0.9, 1.1), -0.1, kExact) << "its clock rose, which explains no fall";
  // A clock of the device's own, or power, holds an L2: then the SM clock explains less than its change.
  EXPECT_NEAR(unexplained(0.95, 0.9), 0, kExact);
  EXPECT_NEAR(unexplained(1, 0.9), 0, kExact);
}

TEST(Ceiling, WithoutAClockNothingOfADriftIsExplained) {
  EXPECT_NEAR(unexplained(0.9, 0.9, resource::dram), -0.1, 1e-12) << "it does not follow the SM clock";
  EXPECT_NEAR(unexplained(0.9, 0.9, resource::graph_launch), -0.1, 1e-12);
  EXPECT_NEAR(*drifting(resource::bf16_tensor, 0.9, {}).unexplained_drift(), -0.1, 1e-12) << "not observed";
  Ceiling once = drifting(resource::bf16_tensor, 0.9, 1e9);
  once.last.reset();
  EXPECT_FALSE(once.unexplained_drift());
}

TEST(Ceiling, IsALibrarysWhereItsProductIsTheBestOfAllProbes) {
  Ceiling ceiling = drifting(resource::bf16_tensor, 0.9, {});
  EXPECT_FALSE(ceiling.by_library());
  ceiling.last_by_library = true;
  EXPECT_FALSE(ceiling.by_library()) << "the first is better";
  ceiling.first_by_library = true;
  EXPECT_TRUE(ceiling.by_library());
  ceiling.last = 1.1;
  ceiling.last_by_library = false;
  EXPECT_FALSE(ceiling.by_library());
}

TEST(Roofline, TheLowestCeilingHoldsForAllDevices) {
  const auto one = [](double dram, double datasheet) {
    Roofline roofline;
    Ceiling& ceiling = roofline.at(resource::dram);
    ceiling.theoretical = dram;
    ceiling.theoretical_source = std::to_string(dram);
    ceiling.theoretical_at_most = 2 * dram;
    ceiling.datasheet = datasheet;
    return roofline;
  };
  Roofline first = one(4, 5);
  first.at(resource::fp32_fma).theoretical = 1;
  const Roofline all = lowest({first, one(3, 6)});
  EXPECT_EQ(all.find(resource::dram)->theoretical, 3);
  EXPECT_EQ(all.find(resource::dram)->theoretical_source, std::to_string(3.0));
  EXPECT_EQ(all.find(resource::dram)->theoretical_at_most, 6);
  EXPECT_EQ(all.find(resource::dram)->datasheet, 5);
  EXPECT_EQ(all.find(resource::fp32_fma), nullptr);
  EXPECT_EQ(lowest({first}).find(resource::fp32_fma)->theoretical, 1);
  EXPECT_TRUE(lowest({}).ceilings().empty());
}

TEST(Roofline, TheLowestCeilingIsThatOfOneDevice) {
  const auto one = [](double hz, std::optional<double> datasheet) {
    Roofline roofline;
    Ceiling& ceiling = roofline.at(resource::fp32_fma);
    ceiling.theoretical = 1e3 * hz;
    ceiling.theoretical_source = "by its clock";
    ceiling.theoretical_clock_hz = hz;
    ceiling.rated_clock_hz = 0.9 * hz;
    ceiling.datasheet = datasheet;
    if (datasheet) ceiling.datasheet_source = std::to_string(*datasheet);
    return roofline;
  };
  const auto of_all = [](const std::vector<Roofline>& devices) { return *lowest(devices).find(resource::fp32_fma); };
  for (const std::vector<Roofline>& devices : {std::vector{one(2e9, 4), one(1e9, 3)}, {one(1e9, 3), one(2e9, 4)}}) {
    const Ceiling all = of_all(devices);
    EXPECT_EQ(all.theoretical_clock_hz, 1e9);
    EXPECT_EQ(all.rated_clock_hz, 0.9e9);
    EXPECT_EQ(all.datasheet, 3);
    EXPECT_EQ(all.datasheet_source, std::to_string(3.0));
  }
  for (const std::vector<Roofline>& devices : {std::vector{one(2e9, {}), one(1e9, 3)}, {one(1e9, 3), one(2e9, {})}}) {
    const Ceiling all = of_all(devices);
    EXPECT_EQ(all.theoretical, 1e12);
    EXPECT_FALSE(all.datasheet) << "that of one device is unknown";
    EXPECT_EQ(all.datasheet_source, "");
  }
  Roofline of_sheet = one(1e9, 3);
  of_sheet.at(resource::fp32_fma).theoretical.reset();
  const Ceiling all = of_all({one(2e9, 4), of_sheet, one(2e9, 4)});
  EXPECT_FALSE(all.theoretical || all.theoretical_clock_hz || all.rated_clock_hz);
  EXPECT_EQ(all.theoretical_source, "");
  EXPECT_EQ(all.datasheet, 3);
}

TEST(Resources, AreFoundByTheirIds) {
  for (const Resource& resource : kResources) EXPECT_EQ(&find_resource(resource.id), &resource);
  EXPECT_THROW(find_resource("hbm"), std::invalid_argument);
}

}  // namespace
}  // namespace roofmark
