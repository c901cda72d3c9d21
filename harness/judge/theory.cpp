// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/theory.hpp"

#include <fmt/format.h>

#include "harness/machine/json.hpp"
#include "harness/model/expression.hpp"
#include "harness/model/units.hpp"

namespace roofmark {

extern const char* const kGpusJson;

namespace {

using Json = nlohmann::ordered_json;

std::string source_of(const Json& figure) { return gpu_data().at("sources").at(figure.at("source").get<std::string>()); }

/// Operations per clock per SM for the device's class of card, or null.
const Json* rate(const DeviceInfo& device, const Resource& resource) {
  const std::string capability = fmt::format("{}.{}", device.compute_capability / 10, device.compute_capability % 10);
  const Json& all = gpu_data().at("compute_capabilities");
  const auto found = all.find(capability);
  if (found == all.end()) return nullptr;
  const std::string id(resource.id);
  if (device.name.find("GeForce") != std::string::npos && found->contains("geforce") && found->at("geforce").contains(id)) {
    return &found->at("geforce").at(id);
  }
  const Json& rates = found->at("per_clock_per_multiprocessor");
  return rates.contains(id) ? &rates.at(id) : nullptr;
}

/// "; also 512 (source)" for the other figures that are published.
template <class Format>
std::string others(const Json& figure, const Format& format) {
  std::string text;
  if (!figure.contains("also")) return text;
  for (const Json& other : figure.at("also")) {
    text += fmt::format("; also {} ({})", format(other.at("value").get<double>()), source_of(other));
  }
  return text;
}

void add_rates(const DeviceInfo& device, bool known, Roofline& roofline) {
  if (!device.highest_clock_hz || device.multiprocessors <= 0) return;
  for (const Resource& resource : kResources) {
    const Json* figure = rate(device, resource);
    // True results may exceed an approximate rate.
    if (!figure || figure->value("approximate", false)) continue;
    const double per_clock = figure->at("value");
    Ceiling& ceiling = roofline.at(resource);
    ceiling.theoretical = device.multiprocessors * *device.highest_clock_hz * per_clock;
    ceiling.theoretical_clock_hz = device.highest_clock_hz;
    ceiling.rated_clock_hz = device.rated_clock_hz;
    ceiling.theoretical_source = fmt::format(
        "{} SMs x {:.0f} MHz x {} {} per clock per SM at compute capability {}.{} ({}{}){}", device.multiprocessors,
        *device.highest_clock_hz / 1e6, per_clock, name(resource.unit), device.compute_capability / 10,
        device.compute_capability % 10, source_of(*figure), others(*figure, [](double per_clock) { return per_clock; }),
        known ? "" : "; unknown SKU: a cut-down part delivers less");
  }
}

void add_memory(const DeviceInfo& device, Roofline& roofline) {
  if (!device.memory_bus_bits || !device.memory_clock_hz) return;
  Ceiling& ceiling = roofline.at(resource::dram);
  ceiling.theoretical = *device.memory_bus_bits * *device.memory_clock_hz * 2 / 8;
  ceiling.theoretical_source =
      fmt::format("{} bit x {:.0f} MHz x 2 / 8", *device.memory_bus_bits, *device.memory_clock_hz / 1e6);
}

/// For both directions; false where the rate is unknown.
bool add_link(const LinkRate& link, const Resource& in, const Resource& out, Roofline& roofline) {
  if (!link.bytes_per_second) return false;
  for (const Resource& direction : {in, out}) {
    Ceiling& ceiling = roofline.at(direction);
    ceiling.theoretical = link.bytes_per_second;
    ceiling.theoretical_source = link.source;
  }
  return true;
}

/// Between the GPU and its host. Where a CPU shares its page tables with the GPU, NVLink-C2C connects them, and what PCIe link
/// the GPU has is not the way.
void add_host_link(const DeviceInfo& device, Roofline& roofline) {
  const LinkRate& link = device.gpu.host_page_tables.value_or(false) ? device.gpu.c2c : device.gpu.pcie;
  add_link(link, resource::host_to_device, resource::device_to_host, roofline);
}

void add_datasheet(const Json& sku, Roofline& roofline) {
  for (const Resource& resource : kResources) {
    const std::string id(resource.id);
    if (!sku.at("tera_per_second").contains(id)) continue;
    const Json& figure = sku.at("tera_per_second").at(id);
    const Json& clock = published_clock(sku, id);
    Ceiling& ceiling = roofline.at(resource);
    ceiling.datasheet = figure.at("value").get<double>() * 1e12;
    ceiling.datasheet_source =
        fmt::format("{}: dense, at {:.0f} MHz ({}){}", sku.at("sku").get<std::string>(), clock.at("value").get<double>(),
                    source_of(figure), others(figure, [&](double tera) { return format_rate(tera * 1e12, resource.unit); }));
  }
  const Json& memory = sku.at("memory_gigabytes_per_second");
  Ceiling& dram = roofline.at(resource::dram);
  dram.datasheet = memory.at("value").get<double>() * 1e9;
  dram.datasheet_source = fmt::format("{} ({}){}", sku.at("sku").get<std::string>(), source_of(memory),
                                      others(memory, [](double giga) { return format_rate(giga * 1e9, Unit::byte); }));
}

}  // namespace

const Json& gpu_data() {
  static const Json data = Json::parse(kGpusJson);
  return data;
}

const Json* find_sku(const std::string& device_name) {
  for (const Json& sku : gpu_data().at("skus")) {
    if (Expression(sku.at("name_pattern").get<std::string>()).matches_whole(device_name)) return &sku;
  }
  return nullptr;
}

DeviceInfo specified_device(const std::string& name, const Json& sku) {
  const auto figure = [&](const char* key) { return sku.at(key).at("value").get<double>(); };
  DeviceInfo device;
  device.id = "cuda:0";
  device.backend = Backend::cuda;
  device.name = name;
  const std::string capability = sku.at("compute_capability");
  const std::size_t dot = capability.find('.');
  device.compute_capability = 10 * std::stoi(capability.substr(0, dot)) + std::stoi(capability.substr(dot + 1));
  device.multiprocessors = static_cast<int>(figure("multiprocessors"));
  device.rated_clock_hz = device.highest_clock_hz = figure("boost_clock_mhz") * 1e6;
  if (sku.contains("memory_bus_bits")) device.memory_bus_bits = static_cast<int>(figure("memory_bus_bits"));
  if (sku.contains("memory_clock_mhz")) device.memory_clock_hz = figure("memory_clock_mhz") * 1e6;
  device.memory_bytes = device.free_bytes = static_cast<std::size_t>(figure("memory_gigabytes") * 1e9);
  const auto l2 = static_cast<std::size_t>(figure("l2_mebibytes") * (1 << 20));
  device.caches = {{"l2", l2, l2}};
  return device;
}

const Json& published_clock(const Json& sku, std::string_view resource_id) {
  const bool tensor = resource_id.find("_tensor") != std::string_view::npos && resource_id != resource::fp64_tensor.id;
  return sku.at(tensor ? "tensor_clock_mhz" : "boost_clock_mhz");
}

Roofline theoretical_roofline(const DeviceInfo& device, std::string* sku) {
  Roofline roofline;
  if (sku) sku->clear();
  if (device.backend == Backend::cpu) return roofline;
  const Json* known = find_sku(device.name);
  add_rates(device, known != nullptr, roofline);
  add_memory(device, roofline);
  add_host_link(device, roofline);
  if (known) {
    add_datasheet(*known, roofline);
    if (sku) *sku = known->at("sku");
  }
  return roofline;
}

Roofline theoretical_peer_links(const DeviceInfo& device) {
  Roofline roofline;
  const GpuFacts& gpu = device.gpu;
  // NVLinks whose rate no table has are not bound by PCIe.
  if (gpu.nvlink_links.value_or(0) > 0 && !gpu.nvlink.bytes_per_second) return roofline;
  add_link(gpu.nvlink.bytes_per_second ? gpu.nvlink : gpu.pcie, resource::peer_in, resource::peer_out, roofline);
  return roofline;
}

}  // namespace roofmark
