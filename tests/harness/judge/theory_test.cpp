// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one table of published figures per GPU.
#include "harness/judge/theory.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include "harness/team/json.hpp"
#include "kernels/base/data_type.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

DeviceInfo gpu(const std::string& name, int capability, int multiprocessors, double clock_mhz) {
  DeviceInfo device;
  device.backend = Backend::cuda;
  device.name = name;
  device.compute_capability = capability;
  device.multiprocessors = multiprocessors;
  device.rated_clock_hz = device.highest_clock_hz = clock_mhz * 1e6;
  return device;
}

DeviceInfo with_memory(DeviceInfo device, int bus_bits, double clock_mhz) {
  device.memory_bus_bits = bus_bits;
  device.memory_clock_hz = clock_mhz * 1e6;
  return device;
}

DeviceInfo h200() { return with_memory(gpu("NVIDIA H200", 90, 132, 1980), 6016, 3201); }

double theoretical(const DeviceInfo& device, const Resource& resource) {
  const Roofline roofline = theoretical_roofline(device);
  const Ceiling* ceiling = roofline.find(resource);
  return ceiling && ceiling->theoretical ? *ceiling->theoretical : std::nan("");
}

double datasheet(const DeviceInfo& device, const Resource& resource) {
  const Roofline roofline = theoretical_roofline(device);
  const Ceiling* ceiling = roofline.find(resource);
  return ceiling && ceiling->datasheet ? *ceiling->datasheet : std::nan("");
}

const Sku& sku(const std::string& name) {
  for (const Sku& entry : known_skus()) {
    if (entry.name == name) return entry;
  }
  throw std::out_of_range(name);
}

/// A figure and the others that are published beside it.
std::vector<double> values(const Figure& figure) {
  std::vector<double> all{figure.value};
  for (const auto& [other, source] : figure.also) all.push_back(other);
  return all;
}

/// Operations per clock per SM of a SKU, by the table.
double per_clock(const Sku& entry, const std::string& resource) {
  if (entry.rates.contains(resource)) return entry.rates.at(resource).value;
  const ClockRates& rates = *clock_rates(entry.compute_capability);
  return (entry.is_geforce && rates.geforce.contains(resource) ? rates.geforce : rates.rates).at(resource).value;
}

/// 1e12 operations a second from the table, one for each clock that is published.
std::vector<double> computed(const Sku& entry, const std::string& resource) {
  std::vector<double> all;
  for (double clock : values(entry.published_clock_mhz(resource))) {
    all.push_back(entry.multiprocessors.value * clock * 1e6 * per_clock(entry, resource) / 1e12);
  }
  return all;
}

const Json& gpu_data() {
  static const Json data = Json::parse(gpus_json());
  return data;
}

/// Cells that sources give as a range or disagree on, or that the table does not give within 2 %. Nothing is tuned to pass.
const std::set<std::string> kExceptions = {
    "L40S fp64_fma",    "GB200 fp64_fma",    "GB200 fp64_tensor",    "GB200 fp32_fma", "GB200 fp16_tensor", "GB200 bf16_tensor",
    "GB200 fp8_tensor", "GB200 fp4_tensor",  "B300 HGX fp4_tensor",  "GB300 fp64_fma", "GB300 fp32_fma",    "GB300 int8_tensor",
    "H20 fp32_fma",     "H800 SXM fp64_fma", "H800 SXM fp64_tensor", "GB10 fp4_tensor"};

/// SKUs of which not every peak has a source.
const std::set<std::string> kPartlyPublished = {
    "A16", "A10G", "RTX 3090", "RTX A6000", "RTX 6000 Ada", "L20", "RTX PRO 6000 Server", "RTX PRO 6000 Max-Q", "GB10", "H20"};

TEST(PublishedPeaks, FollowFromTheRateTable) {
  std::set<std::string> listed;
  for (const Sku& entry : known_skus()) {
    for (const auto& [resource, figure] : entry.tera_per_second) {
      const std::string cell = entry.name + " " + resource;
      const std::vector<double> published = values(figure), calculated = computed(entry, resource);
      const auto [low, high] = std::minmax_element(calculated.begin(), calculated.end());
      const bool reproduced = published[0] >= 0.98 * *low && published[0] <= 1.02 * *high;
      if (!kExceptions.contains(cell)) {
        EXPECT_TRUE(reproduced) << cell << ": published " << published[0] << ", the table gives " << *low << " to " << *high;
        EXPECT_EQ(published.size(), 1u) << cell << " has more than one figure and is not listed";
        continue;
      }
      listed.insert(cell);
      EXPECT_FALSE(reproduced && published.size() == 1) << cell << " is listed, yet its only figure is reproduced";
      std::cout << fmt::format("exception: {}: published {}, the table gives {:.4g} to {:.4g}\n", cell,
                               fmt::join(published, " and "), *low, *high);
    }
  }
  EXPECT_EQ(listed, kExceptions) << "an exception is listed that is no cell";
}

TEST(PublishedPeaks, CoverEveryRateOfTheTable) {
  // What the table knows of a part and the datasheet does not print: vector fp16 and bf16, exponentials, shared memory,
  // fp16 accumulation where it is no faster, and fp8 with block scales.
  const std::set<std::string> unprinted = {"fp16_fma", "bf16_fma", "exp", "shared", "l1", "fp16_tensor_fp16", "mxfp8_tensor"};
  std::set<std::string> partly;
  for (const Sku& entry : known_skus()) {
    for (const auto& [resource, figure] : clock_rates(entry.compute_capability)->rates) {
      if (unprinted.contains(resource) || entry.tera_per_second.contains(resource)) continue;
      EXPECT_TRUE(kPartlyPublished.contains(entry.name)) << entry.name << " " << resource;
      partly.insert(entry.name);
    }
  }
  EXPECT_EQ(partly, kPartlyPublished);
}

TEST(PublishedBandwidths, FollowFromTheBus) {
  int pins = 0;
  for (const Sku& entry : known_skus()) {
    ASSERT_EQ(entry.memory_bus_bits.has_value(), entry.pin_gigabytes_per_second.has_value()) << entry.name;
    ASSERT_EQ(entry.memory_clock_mhz.has_value(), entry.pin_gigabytes_per_second.has_value()) << entry.name;
    if (!entry.memory_bus_bits) continue;
    ++pins;
    const double transfers = entry.memory_transfers_per_clock ? entry.memory_transfers_per_clock->value : 2;
    const double calculated = entry.memory_bus_bits->value * entry.memory_clock_mhz->value * transfers * 1e6 / 8e9;
    EXPECT_NEAR(calculated, entry.pin_gigabytes_per_second->value, 0.6) << entry.name;
    // Vendors round; another bus or clock would differ by more.
    const std::vector<double> published = values(entry.memory_gigabytes_per_second);
    EXPECT_TRUE(std::any_of(published.begin(), published.end(),
                            [calculated](double figure) { return std::abs(calculated / figure - 1) < 0.021; }))
        << entry.name << ": " << calculated << " GB/s";
  }
  EXPECT_GE(pins, 10);
}

TEST(Data, HasASourceForEveryFigure) {
  int figures = 0;
  const auto check_figure = [&](const Json& figure, const std::string& where) {
    ++figures;
    EXPECT_TRUE(gpu_data().at("sources").contains(figure.at("source").get<std::string>())) << where;
    EXPECT_GT(figure.at("value").get<double>(), 0) << where;
  };
  const std::function<void(const Json&, const std::string&)> walk = [&](const Json& node, const std::string& where) {
    if (node.is_object() && node.contains("value")) check_figure(node, where);
    // A bare number would be a figure without a source.
    EXPECT_TRUE(!node.is_number()) << where;
    if (!node.is_structured()) return;
    for (const auto& [key, child] : node.items()) {
      if (key != "value") walk(child, where + "/" + key);
    }
  };
  walk(gpu_data(), "");
  EXPECT_GT(figures, 300);
}

TEST(Data, NamesEachSourceThatIsUsedAndNoOther) {
  std::set<std::string> used, named;
  const std::function<void(const Json&)> walk = [&](const Json& node) {
    if (node.is_object() && node.contains("source")) used.insert(node.at("source").get<std::string>());
    if (!node.is_structured()) return;
    for (const auto& [key, child] : node.items()) walk(child);
  };
  walk(gpu_data());
  for (const auto& [key, text] : gpu_data().at("sources").items()) named.insert(key);
  EXPECT_EQ(used, named);
}

TEST(FindSku, KnowsTheNamesThatDriversReport) {
  const std::map<std::string, std::string> names = {
      {"NVIDIA A100-SXM4-40GB", "A100 40GB SXM"},
      {"A100-SXM4-40GB", "A100 40GB SXM"},
      {"NVIDIA A100-PCIE-40GB", "A100 40GB PCIe"},
      {"NVIDIA A100-SXM4-80GB", "A100 80GB SXM"},
      {"NVIDIA A100 80GB PCIe", "A100 80GB PCIe"},
      {"NVIDIA A30", "A30"},
      {"NVIDIA A10", "A10"},
      {"NVIDIA A40", "A40"},
      {"NVIDIA A800-SXM4-80GB", "A800 80GB SXM"},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000"},
      {"NVIDIA L4", "L4"},
      {"NVIDIA L40S", "L40S"},
      {"NVIDIA GeForce RTX 4090", "RTX 4090"},
      {"NVIDIA GeForce RTX 5090", "RTX 5090"},
      {"NVIDIA H100 PCIe", "H100 PCIe"},
      {"NVIDIA H100 80GB HBM3", "H100 SXM"},
      {"NVIDIA H100 NVL", "H100 NVL"},
      {"NVIDIA H200", "H200 SXM"},
      {"NVIDIA H200 NVL", "H200 NVL"},
      {"NVIDIA GH200 480GB", "GH200 96GB"},
      {"NVIDIA GH200 120GB", "GH200 96GB"},
      {"NVIDIA GH200 144G HBM3e", "GH200 144GB"},
      {"NVIDIA B200", "B200 HGX"},
      {"NVIDIA GB200", "GB200"},
      {"NVIDIA B300 SXM6 AC", "B300 HGX"},
      {"NVIDIA GB300", "GB300"},
      {"NVIDIA A800 80GB PCIe", "A800 80GB PCIe"},
      {"NVIDIA A2", "A2"},
      {"NVIDIA A10G", "A10G"},
      {"NVIDIA A16", "A16"},
      {"NVIDIA RTX A6000", "RTX A6000"},
      {"NVIDIA GeForce RTX 3090", "RTX 3090"},
      {"NVIDIA L20", "L20"},
      {"NVIDIA L40", "L40"},
      {"NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"},
      {"NVIDIA H20", "H20"},
      {"NVIDIA H800", "H800 SXM"},
      {"NVIDIA H800 PCIe", "H800 PCIe"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Server"},
      {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTX PRO 6000 Max-Q"},
      {"NVIDIA GB10", "GB10"}};
  std::set<std::string> found;
  for (const auto& [name, expected] : names) {
    const Sku* entry = find_sku(name);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_EQ(entry->name, expected) << name;
    found.insert(expected);
  }
  EXPECT_EQ(found.size(), known_skus().size());
}

TEST(FindSku, TakesNoOtherPartForAKnownOne) {
  for (const char* name : {"NVIDIA H20-3e", "NVIDIA L40G", "NVIDIA RTX A5000", "NVIDIA GeForce RTX 4090 D", "NVIDIA H100",
                           "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA GeForce RTX 5090 D",
                           "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA A800 40GB Active", ""}) {
    EXPECT_EQ(find_sku(name), nullptr) << name;
  }
}

TEST(TheoreticalRoofline, KeepsAnH200WithinItsPhysicalLimits) {
  const DeviceInfo device = h200();
  EXPECT_NEAR(theoretical(device, resource::dram), 4814e9, 1e9);
  EXPECT_NEAR(theoretical(device, resource::shared), 33.45e12, 0.01e12);
  EXPECT_NEAR(theoretical(device, resource::bf16_tensor), 1070.5e12, 0.1e12);
  EXPECT_NEAR(theoretical(device, resource::fp16_tensor), 1070.5e12, 0.1e12);
  EXPECT_NEAR(theoretical(device, resource::fp8_tensor), 2141e12, 0.5e12);
  EXPECT_NEAR(theoretical(device, resource::int8_tensor), 2141e12, 0.5e12);
  EXPECT_NEAR(theoretical(device, resource::tf32_tensor), 535e12, 0.5e12);
  EXPECT_NEAR(theoretical(device, resource::fp32_fma), 66.9e12, 0.05e12);
  EXPECT_NEAR(theoretical(device, resource::fp64_fma), 33.5e12, 0.05e12);
  EXPECT_NEAR(theoretical(device, resource::fp64_tensor), 66.9e12, 0.05e12);
  EXPECT_NEAR(theoretical(device, resource::exp), 4.18e12, 0.005e12);
}

TEST(TheoreticalRoofline, SaysWhereItsFiguresComeFrom) {
  std::string sku;
  const Roofline roofline = theoretical_roofline(h200(), &sku);
  EXPECT_EQ(sku, "H200 SXM");
  const Ceiling& tensor = *roofline.find(resource::bf16_tensor);
  EXPECT_THAT(tensor.theoretical_source,
              HasSubstr("132 SMs x 1980 MHz x 4096 FLOP per clock per SM at compute capability 9.0"));
  EXPECT_THAT(tensor.theoretical_source, Not(HasSubstr("unknown SKU")));
  EXPECT_EQ(tensor.theoretical_clock_hz, 1980e6);
  EXPECT_EQ(tensor.datasheet, 989e12);
  EXPECT_THAT(tensor.datasheet_source, HasSubstr("H200 SXM: dense, at 1830 MHz"));
  const Ceiling& memory = *roofline.find(resource::dram);
  EXPECT_EQ(memory.theoretical_source, "6016 bit x 3201 MHz x 2 / 8");
  EXPECT_FALSE(memory.theoretical_clock_hz.has_value());
  EXPECT_EQ(memory.datasheet, 4800e9);
  for (const Ceiling& ceiling : roofline.ceilings()) {
    EXPECT_EQ(ceiling.theoretical.has_value(), !ceiling.theoretical_source.empty()) << ceiling.resource.id;
    EXPECT_EQ(ceiling.datasheet.has_value(), !ceiling.datasheet_source.empty()) << ceiling.resource.id;
    EXPECT_EQ(ceiling.resource.clock == ClockDomain::sm, ceiling.theoretical_clock_hz.has_value()) << ceiling.resource.id;
  }
}

TEST(TheoreticalRoofline, QuotesEveryPublishedFigure) {
  const Roofline roofline = theoretical_roofline(gpu("NVIDIA GB200", 100, 152, 2062));
  const Ceiling& fp64 = *roofline.find(resource::fp64_fma);
  EXPECT_EQ(fp64.datasheet, 39e12);
  EXPECT_THAT(fp64.datasheet_source, HasSubstr("also 40.0 TFLOP/s"));
  // The SMs are those of the device, whatever is published.
  EXPECT_NEAR(*fp64.theoretical, 152 * 2062e6 * 128, 1);
}

TEST(TheoreticalRoofline, HasTheHighestFigureWhereSourcesDiffer) {
  const Roofline blackwell = theoretical_roofline(gpu("NVIDIA B200", 100, 148, 1965));
  const Figure& published = clock_rates(100)->rates.at("fp16_fma");
  ASSERT_FALSE(published.also.empty());
  const std::vector<double> all = values(published);
  const double highest = *std::max_element(all.begin(), all.end());
  const Ceiling& fp16 = *blackwell.find(resource::fp16_fma);
  EXPECT_DOUBLE_EQ(*fp16.theoretical, 148 * 1965e6 * published.value);
  EXPECT_DOUBLE_EQ(*fp16.theoretical_at_most, 148 * 1965e6 * highest);
  EXPECT_FALSE(blackwell.find(resource::fp32_fma)->theoretical_at_most);
}

TEST(TheoreticalRoofline, OfAnUnknownGpuComesFromItsAttributes) {
  std::string sku = "left over";
  const Roofline roofline = theoretical_roofline(with_memory(gpu("NVIDIA H999", 90, 100, 1000), 1000, 1000), &sku);
  EXPECT_EQ(sku, "");
  EXPECT_DOUBLE_EQ(*roofline.find(resource::bf16_tensor)->theoretical, 100 * 1e9 * 4096);
  EXPECT_THAT(roofline.find(resource::bf16_tensor)->theoretical_source, HasSubstr("unknown SKU"));
  EXPECT_DOUBLE_EQ(*roofline.find(resource::dram)->theoretical, 250e9);
  for (const Ceiling& ceiling : roofline.ceilings()) EXPECT_FALSE(ceiling.datasheet.has_value()) << ceiling.resource.id;
}

TEST(TheoreticalRoofline, GuessesNothing) {
  // An unknown compute capability: memory alone.
  const Roofline future = theoretical_roofline(with_memory(gpu("NVIDIA X", 200, 100, 1000), 1000, 1000));
  ASSERT_EQ(future.ceilings().size(), 1u);
  EXPECT_EQ(future.ceilings()[0].resource, resource::dram);
  // Attributes that could not be read: what they would give is absent, what is published stays.
  DeviceInfo bare = gpu("NVIDIA H200", 90, 132, 1980);
  bare.highest_clock_hz.reset();
  const Roofline unread = theoretical_roofline(bare);
  for (const Ceiling& ceiling : unread.ceilings()) EXPECT_FALSE(ceiling.theoretical.has_value()) << ceiling.resource.id;
  EXPECT_EQ(unread.find(resource::dram)->datasheet, 4800e9);
  EXPECT_TRUE(std::isnan(theoretical(gpu("NVIDIA H200", 90, 0, 1980), resource::fp32_fma)));
  EXPECT_EQ(theoretical_roofline(h200()).find(resource::l2), nullptr);
}

TEST(TheoreticalRoofline, OfTheCpuIsEmpty) {
  DeviceInfo cpu;
  cpu.name = "NVIDIA H200";
  cpu.highest_clock_hz = 3e9;
  cpu.multiprocessors = 8;
  EXPECT_TRUE(theoretical_roofline(cpu).ceilings().empty());
}

TEST(Traps, NoFigureIsASparseOne) {
  // A sparse figure is twice the dense one; between them lies nothing.
  for (const Sku& entry : known_skus()) {
    for (const auto& [resource, figure] : entry.tera_per_second) {
      const std::vector<double> calculated = computed(entry, resource);
      for (double published : values(figure)) {
        EXPECT_LT(published, 1.5 * *std::max_element(calculated.begin(), calculated.end())) << entry.name << " " << resource;
      }
    }
  }
  EXPECT_EQ(datasheet(gpu("NVIDIA H100 80GB HBM3", 90, 132, 1980), resource::bf16_tensor), 989e12);
  EXPECT_EQ(datasheet(gpu("NVIDIA H100 80GB HBM3", 90, 132, 1980), resource::tf32_tensor), 495e12);
  EXPECT_EQ(datasheet(gpu("NVIDIA L4", 89, 58, 2040), resource::bf16_tensor), 121e12);
  EXPECT_EQ(datasheet(gpu("NVIDIA L4", 89, 58, 2040), resource::dram), 300e9);
}

TEST(Traps, ThreeDenominatorsOfOneChip) {
  // 700 TFLOP/s in bf16 at a clock of 1460 MHz: of the datasheet's peak, of the boost clock's, of the observed clock's.
  const Roofline roofline = theoretical_roofline(h200());
  const Work work{{{{resource::bf16_tensor, 700e12}}}};
  const Placement placement = place(work, roofline, 1, Issue::stream, 1460e6);
  EXPECT_NEAR(*placement.flops_per_second / *roofline.find(resource::bf16_tensor)->datasheet, 0.708, 0.001);
  EXPECT_NEAR(*placement.of_theoretical, 0.654, 0.001);
  EXPECT_NEAR(*placement.of_theoretical_clock, 0.887, 0.001);
  // 820 TFLOP/s pass for 83 % of the datasheet's peak. That is more than the observed clock allows, which is not clamped; the
  // clock was observed beside the samples, so it says nothing against the count.
  const Work above{{{{resource::bf16_tensor, 820e12}}}};
  EXPECT_NEAR(*place(above, roofline, 1, Issue::stream, 1460e6).of_theoretical_clock, 1.039, 0.001);
  EXPECT_THAT(above_theoretical(above, roofline, 1, 1460e6), IsEmpty());
  EXPECT_THAT(above_theoretical({{{{resource::bf16_tensor, 1100e12}}}}, roofline, 1, 1460e6), SizeIs(1));
}

TEST(Traps, PciePartsMayPassTheirDatasheet) {
  // Its tensor peaks assume 1620 MHz; a short run at 1755 MHz gives more, and is right.
  const DeviceInfo device = gpu("NVIDIA H100 PCIe", 90, 114, 1755);
  const Roofline roofline = theoretical_roofline(device);
  EXPECT_EQ(roofline.find(resource::bf16_tensor)->datasheet, 756e12);
  const Placement placement = place({{{{resource::bf16_tensor, 790e12}}}}, roofline, 1, Issue::stream, 1755e6);
  EXPECT_LT(*placement.of_theoretical, 1);
}

TEST(Traps, GeForceBoostsBeyondItsRatedClock) {
  DeviceInfo device = gpu("NVIDIA GeForce RTX 4090", 89, 128, 2520);
  device.highest_clock_hz = 3105e6;
  const Ceiling fma = *theoretical_roofline(device).find(resource::fp32_fma);
  EXPECT_DOUBLE_EQ(*fma.theoretical, 128 * 3105e6 * 256);
  EXPECT_EQ(fma.theoretical_clock_hz, 3105e6);
  EXPECT_EQ(fma.rated_clock_hz, 2520e6);
}

TEST(Traps, PublishedBandwidthIsNotThePins) {
  // Above what is published on an H200, below it on a B200: both are kept, and the pins are the limit.
  EXPECT_GT(theoretical(h200(), resource::dram), datasheet(h200(), resource::dram));
  const DeviceInfo b200 = with_memory(gpu("NVIDIA B200", 100, 148, 1965), 7680, 3996);
  EXPECT_NEAR(theoretical(b200, resource::dram), 7672e9, 1e9);
  EXPECT_EQ(datasheet(b200, resource::dram), 7700e9);
  EXPECT_THAT(theoretical_roofline(b200).find(resource::dram)->datasheet_source, HasSubstr("also 8.00 TB/s"));
  EXPECT_THAT(above_theoretical({{{{resource::dram, 7.9e12}}}}, theoretical_roofline(b200), 1, {}), SizeIs(1));
}

// Drivers stated 8192 bits of a B200 until they were corrected.
TEST(Traps, ADriverMayStateAWiderBusThanTheBoardHas) {
  const DeviceInfo before = with_memory(gpu("NVIDIA B200", 100, 148, 1965), 8192, 3996);
  EXPECT_NEAR(theoretical(before, resource::dram), 7672e9, 1e9);
  EXPECT_EQ(theoretical_roofline(before).find(resource::dram)->theoretical_source,
            "7680 bit (of the B200 HGX; its driver states 8192) x 3996 MHz x 2 / 8");
  // A narrower one is taken: the driver knows of memory that is switched off.
  EXPECT_NEAR(theoretical(with_memory(gpu("NVIDIA B200", 100, 148, 1965), 7168, 3996), resource::dram), 7161e9, 1e9);
  // Of a B300 two widths are published, of an unknown board none.
  EXPECT_NEAR(theoretical(with_memory(gpu("NVIDIA B300", 103, 148, 2032), 8192, 3996), resource::dram), 8184e9, 1e9);
  EXPECT_NEAR(theoretical(with_memory(gpu("NVIDIA X", 100, 148, 1965), 8192, 3996), resource::dram), 8184e9, 1e9);
}

// The driver of an Orin has stated 612 MHz at 256 bit and 624, 918 and 1300 MHz at 64 and 256: a clock of the GPU.
TEST(Traps, TheMemoryClockOfAnIntegratedGpuIsKnownOnlyFromTheTable) {
  DeviceInfo orin = with_memory(gpu("Orin", 87, 16, 1300), 256, 612),
             gb10 = with_memory(gpu("NVIDIA GB10", 121, 48, 2418), 256, 8533);
  orin.integrated = gb10.integrated = true;
  EXPECT_THAT(theoretical_roofline(orin).ceilings(), IsEmpty());
  EXPECT_NEAR(theoretical(gb10, resource::dram), 273e9, 0.1e9);
}

TEST(Traps, GeForceHalvesFp32Accumulation) {
  for (const int capability : {86, 89, 120}) {
    const DeviceInfo consumer = gpu("NVIDIA GeForce RTX X", capability, 100, 1000),
                     professional = gpu("NVIDIA RTX X", capability, 100, 1000);
    for (const Resource& resource : {resource::tf32_tensor, resource::fp16_tensor, resource::bf16_tensor}) {
      EXPECT_EQ(2 * theoretical(consumer, resource), theoretical(professional, resource)) << capability << resource.id;
    }
    EXPECT_EQ(theoretical(consumer, resource::fp16_tensor_fp16), theoretical(professional, resource::fp16_tensor_fp16));
    EXPECT_EQ(theoretical(consumer, resource::int8_tensor), theoretical(professional, resource::int8_tensor));
  }
  EXPECT_EQ(2 * theoretical(gpu("NVIDIA GeForce RTX 4090", 89, 128, 2520), resource::fp8_tensor),
            theoretical(gpu("NVIDIA L40S", 89, 128, 2520), resource::fp8_tensor));
  EXPECT_EQ(theoretical(h200(), resource::fp16_tensor_fp16), theoretical(h200(), resource::fp16_tensor));
  EXPECT_EQ(datasheet(gpu("NVIDIA L40S", 89, 142, 2520), resource::bf16_tensor), 362e12);
}

// Healthy boards that have half or a quarter of the tensor cores of their compute capability, or hardly any fp64. Each was
// measured to have 90 % of these rates or more, where it was measured at all.
TEST(Traps, ABoardMayHaveAPartOfItsComputeCapability) {
  const DeviceInfo a10g = gpu("NVIDIA A10G", 86, 80, 1710), l40 = gpu("NVIDIA L40", 89, 142, 2490),
                   l20 = gpu("NVIDIA L20", 89, 92, 2520), h20 = gpu("NVIDIA H20", 90, 78, 1980),
                   h800 = gpu("NVIDIA H800", 90, 132, 1980), h800_pcie = gpu("NVIDIA H800 PCIe", 90, 114, 1755);
  EXPECT_NEAR(theoretical(a10g, resource::bf16_tensor), 70.0e12, 0.1e12);
  EXPECT_NEAR(theoretical(a10g, resource::tf32_tensor), 35.0e12, 0.1e12);
  EXPECT_NEAR(theoretical(l40, resource::bf16_tensor), 181.0e12, 0.1e12);
  EXPECT_NEAR(theoretical(l40, resource::fp8_tensor), 362.0e12, 0.2e12);
  EXPECT_NEAR(theoretical(l20, resource::bf16_tensor), 118.7e12, 0.1e12);
  EXPECT_NEAR(theoretical(h20, resource::bf16_tensor), 158.1e12, 0.1e12);
  EXPECT_NEAR(theoretical(h800, resource::bf16_tensor), 1070.5e12, 0.1e12);
  EXPECT_NEAR(theoretical(h800, resource::fp64_tensor), 1.045e12, 0.001e12);
  EXPECT_NEAR(theoretical(h800_pcie, resource::fp64_fma), 0.800e12, 0.001e12);
  // What is not cut is that of the compute capability.
  EXPECT_DOUBLE_EQ(theoretical(a10g, resource::fp32_fma), 80 * 1710e6 * 256);
  EXPECT_DOUBLE_EQ(theoretical(h20, resource::exp), 78 * 1980e6 * 16);
  // Of these nobody knows more than a digit, or that they are cut.
  EXPECT_TRUE(std::isnan(theoretical(h20, resource::fp64_fma)));
  EXPECT_TRUE(std::isnan(theoretical(a10g, resource::int8_tensor)));
  EXPECT_DOUBLE_EQ(operations_per_clock(h20, resource::fp64_tensor)->value, 6.5);
  EXPECT_THAT(theoretical_roofline(l40).find(resource::bf16_tensor)->theoretical_source,
              HasSubstr("512 FLOP per clock per SM of the L40 (mullet.se"));
  EXPECT_THAT(theoretical_roofline(l40).find(resource::fp32_fma)->theoretical_source,
              HasSubstr("256 FLOP per clock per SM at compute capability 8.9 ("));
}

TEST(Traps, AMigInstanceHasTheSmsOfItsBoard) {
  const DeviceInfo h20 = gpu("NVIDIA H20 MIG 1g.12gb", 90, 8, 1980), h800 = gpu("NVIDIA H800 MIG 1g.10gb", 90, 16, 1980);
  EXPECT_DOUBLE_EQ(theoretical(h20, resource::bf16_tensor), 8 * 1980e6 * 1024);
  EXPECT_DOUBLE_EQ(theoretical(h800, resource::fp64_tensor), 16 * 1980e6 * 4);
  EXPECT_THAT(theoretical_roofline(h20).find(resource::bf16_tensor)->theoretical_source,
              AllOf(HasSubstr("8 SMs x 1980 MHz x 1024 FLOP per clock per SM of the H20"), HasSubstr("unknown SKU")));
  EXPECT_EQ(find_sku(h20.name), nullptr) << "whose datasheet is of the whole";
}

// Its driver reports the rate of the transfers, not a clock of two of them.
TEST(Traps, TheMemoryClockOfAGb10IsThatOfItsTransfers) {
  const DeviceInfo gb10 = with_memory(gpu("NVIDIA GB10", 121, 48, 2418), 256, 8533);
  EXPECT_NEAR(theoretical(gb10, resource::dram), 273e9, 0.1e9);
  EXPECT_EQ(theoretical_roofline(gb10).find(resource::dram)->theoretical_source, "256 bit x 8533 MHz x 1 / 8");
}

TEST(Traps, B300IsCutInFp64AndInt8) {
  for (const int multiprocessors : {148, 152}) {
    const DeviceInfo device = gpu("NVIDIA B300 SXM6 AC", 103, multiprocessors, 1920);
    EXPECT_LT(theoretical(device, resource::fp64_fma), 1.3e12);
    EXPECT_EQ(datasheet(device, resource::int8_tensor), 150e12);
    // About 1/30 of the fp8 rate is too inexact for a ceiling.
    EXPECT_TRUE(std::isnan(theoretical(device, resource::int8_tensor)));
    EXPECT_TRUE(std::isnan(theoretical(device, resource::fp64_tensor)));
    EXPECT_DOUBLE_EQ(theoretical(device, resource::exp), multiprocessors * 1920e6 * 32);
  }
  EXPECT_EQ(values(sku("B300 HGX").multiprocessors), (std::vector<double>{148, 152}));
}

// CUDA 13's table has 64 packed FMAs per clock per SM where CUDA 12's had 128, of Blackwell only.
TEST(Traps, PackedFp16OfBlackwellIsNoFasterThanFp32) {
  for (const int capability : {100, 103, 120}) {
    const DeviceInfo device = gpu("NVIDIA X", capability, 100, 1000);
    EXPECT_DOUBLE_EQ(theoretical(device, resource::fp32_fma), 100e9 * 256) << capability;
    EXPECT_DOUBLE_EQ(theoretical(device, resource::fp16_fma), 100e9 * 256) << capability;
    EXPECT_DOUBLE_EQ(theoretical(device, resource::bf16_fma), 100e9 * 256) << capability;
    EXPECT_THAT(theoretical_roofline(device).find(resource::fp16_fma)->theoretical_source,
                AllOf(HasSubstr("Best Practices Guide 13.0"), HasSubstr("; also 512 (CUDA C++ Programming Guide 12.9.1")));
  }
  EXPECT_DOUBLE_EQ(theoretical(gpu("NVIDIA X", 90, 100, 1000), resource::fp16_fma), 100e9 * 512);
}

TEST(Traps, Fp64OfBlackwellIsFastOnOnePartAlone) {
  EXPECT_DOUBLE_EQ(theoretical(gpu("NVIDIA X", 100, 100, 1000), resource::fp64_fma), 100e9 * 128);
  for (const int capability : {103, 120, 121}) {
    EXPECT_DOUBLE_EQ(theoretical(gpu("NVIDIA X", capability, 100, 1000), resource::fp64_fma), 100e9 * 4) << capability;
  }
}

// Of 12.1 there are the rows of the table that it shares with 12.0, and what is taken from 12.0 says so.
TEST(Traps, ATableOfOneCapabilityIsNotAnothers) {
  const DeviceInfo gb10 = gpu("NVIDIA GB10", 121, 48, 1000);
  EXPECT_DOUBLE_EQ(theoretical(gb10, resource::fp16_fma), 48e9 * 256);
  for (const Resource& resource : {resource::exp, resource::shared, resource::l1}) {
    EXPECT_DOUBLE_EQ(theoretical(gb10, resource), theoretical(gpu("NVIDIA X", 120, 48, 1000), resource)) << resource.id;
    EXPECT_THAT(theoretical_roofline(gb10).find(resource)->theoretical_source, HasSubstr("taken from 12.0"));
  }
  EXPECT_DOUBLE_EQ(theoretical(gb10, resource::fp8_tensor), 48e9 * 2048);
  EXPECT_TRUE(std::isnan(theoretical(gb10, resource::bf16_fma)));
  EXPECT_TRUE(std::isnan(theoretical(gb10, resource::bf16_tensor)));
  // What no table of 12.0 confirms says so.
  EXPECT_THAT(theoretical_roofline(gpu("NVIDIA X", 120, 100, 1000)).find(resource::exp)->theoretical_source,
              HasSubstr("not confirmed"));
}

TEST(Traps, Tf32MovesFourBytesAtHalfTheRate) {
  EXPECT_EQ(size_of(DataType::tf32), 2 * size_of(DataType::bf16));
  EXPECT_DOUBLE_EQ(2 * theoretical(h200(), resource::tf32_tensor), theoretical(h200(), resource::bf16_tensor));
}

TEST(Traps, Fp16OnGa102IsNoFasterThanFp32) {
  const DeviceInfo a10 = gpu("NVIDIA A10", 86, 72, 1695);
  EXPECT_EQ(theoretical(a10, resource::fp16_fma), theoretical(a10, resource::fp32_fma));
}

TEST(Theory, TheHostIsBehindPcieOrC2c) {
  DeviceInfo device = h200();
  EXPECT_EQ(theoretical_roofline(device).find(resource::host_to_device), nullptr) << "no link was read";
  device.gpu.pcie = {63e9, "PCIe 5 x16: 16 lanes x 32 GT/s"};
  for (const Resource& direction : {resource::host_to_device, resource::device_to_host}) {
    EXPECT_EQ(theoretical(device, direction), 63e9);
    EXPECT_EQ(theoretical_roofline(device).find(direction)->theoretical_source, "PCIe 5 x16: 16 lanes x 32 GT/s");
  }
  device.gpu.way_to_host = {31.5e9, "PCIe 4 x16: of the link above the switch"};
  EXPECT_EQ(theoretical(device, resource::host_to_device), 31.5e9);
  EXPECT_EQ(theoretical_roofline(device).find(resource::device_to_host)->theoretical_source,
            "PCIe 4 x16: of the link above the switch");
  device.gpu.host_page_tables = true;
  EXPECT_EQ(theoretical_roofline(device).find(resource::host_to_device), nullptr)
      << "with page tables in common C2C is the way, of which nothing was read";
  device.gpu.c2c = {447e9, "NVLink-C2C"};
  EXPECT_EQ(theoretical(device, resource::device_to_host), 447e9);
  device.gpu.host_page_tables = false;
  EXPECT_NE(theoretical(device, resource::device_to_host), 447e9) << "whose links are down";
  device.gpu.c2c_links_up = 2;
  EXPECT_EQ(theoretical(device, resource::device_to_host), 447e9) << "whoever has the page tables";
}

TEST(Theory, PeersAreBehindNvlinkOrPcie) {
  DeviceInfo device = h200();
  const auto rate = [&](bool by_nvlink = true) {
    const Roofline roofline = theoretical_peer_links(device, by_nvlink);
    const Ceiling* const ceiling = roofline.find(resource::peer_in);
    return ceiling ? ceiling->theoretical : std::nullopt;
  };
  device.gpu.pcie = {63e9, "PCIe 5 x16"};
  EXPECT_EQ(rate(), 63e9);
  device.gpu.nvlink_links = 4;
  EXPECT_EQ(rate(), std::nullopt) << "nobody knows the rate of these NVLinks, and PCIe does not bound them";
  device.gpu.nvlink = {425e9, "17 NVLinks"};
  EXPECT_EQ(rate(), 425e9);
  EXPECT_EQ(theoretical_peer_links(device, true).find(resource::peer_out)->datasheet, 450e9) << "of all, whatever is up";
  EXPECT_EQ(rate(false), 63e9) << "they lead to none of the peers";
  device.gpu.nvlink_links = 17;
  EXPECT_EQ(theoretical_peer_links(device, true, 4).find(resource::peer_in)->theoretical, 100e9);
  EXPECT_EQ(theoretical_peer_links(device, true, 4).find(resource::peer_out)->theoretical_source,
            "4 of 17 NVLinks, those that lead to GPUs of this process");
  EXPECT_EQ(theoretical_peer_links(device, true, 17).find(resource::peer_in)->theoretical, 425e9);
  EXPECT_FALSE(theoretical_peer_links(device, false).find(resource::peer_out)->datasheet);
}

}  // namespace
}  // namespace roofmark
