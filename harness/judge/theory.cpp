// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/theory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/model/units.hpp"

namespace roofmark {

namespace {

/// "; also 512 (source)" for the other figures that are published.
template <class Format>
std::string others(const Figure& figure, const Format& format) {
  std::string text;
  for (const auto& [value, source] : figure.also) text += fmt::format("; also {} ({})", format(value), source);
  return text;
}

void add_rates(const DeviceInfo& device, const Sku* known, Roofline& roofline) {
  if (!device.highest_clock_hz || device.multiprocessors <= 0) return;
  const Sku* const board = find_board(device.name);
  for (const Resource& resource : kResources) {
    const Figure* figure = operations_per_clock(device, resource);
    if (!figure || figure->approximate) continue;
    const double per_clock = figure->value;
    Ceiling& ceiling = roofline.at(resource);
    ceiling.theoretical = device.multiprocessors * *device.highest_clock_hz * per_clock;
    double at_most = per_clock;
    for (const auto& [other, source] : figure->also) at_most = std::max(at_most, other);
    if (at_most > per_clock) ceiling.theoretical_at_most = device.multiprocessors * *device.highest_clock_hz * at_most;
    ceiling.theoretical_clock_hz = device.highest_clock_hz;
    ceiling.rated_clock_hz = device.rated_clock_hz;
    const std::string whose =
        board && board->rates.contains(resource.id)
            ? "of the " + board->name
            : fmt::format("at compute capability {}.{}", device.compute_capability / 10, device.compute_capability % 10);
    ceiling.theoretical_source = fmt::format("{} SMs x {:.0f} MHz x {} {} per clock per SM {} ({}{}){}", device.multiprocessors,
                                             *device.highest_clock_hz / 1e6, per_clock, name(resource.unit), whose,
                                             figure->source, others(*figure, [](double per_clock) { return per_clock; }),
                                             known ? "" : "; unknown SKU: a cut-down part delivers less");
  }
}

/// The widest bus that is published of a SKU.
std::optional<double> widest_bus_bits(const Sku* known) {
  if (!known || !known->memory_bus_bits) return std::nullopt;
  double widest = known->memory_bus_bits->value;
  for (const auto& [bits, source] : known->memory_bus_bits->also) widest = std::max(widest, bits);
  return widest;
}

void add_memory(const DeviceInfo& device, const Sku* known, Roofline& roofline) {
  if (!device.memory_bus_bits || !device.memory_clock_hz) return;
  // Drivers have stated the GPU's own clock for that of memory that it shares with the host.
  if (device.integrated && !known) return;
  const double transfers = known && known->memory_transfers_per_clock ? known->memory_transfers_per_clock->value : 2;
  // Drivers have stated the bus of the whole chip where the board has a part of it.
  const double stated = *device.memory_bus_bits, bits = std::min(stated, widest_bus_bits(known).value_or(stated));
  Ceiling& ceiling = roofline.at(resource::dram);
  ceiling.theoretical = bits * *device.memory_clock_hz * transfers / 8;
  ceiling.theoretical_source =
      fmt::format("{} bit{} x {:.0f} MHz x {} / 8", bits,
                  bits < stated ? fmt::format(" (of the {}; its driver states {})", known->name, stated) : "",
                  *device.memory_clock_hz / 1e6, transfers);
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

/// Between the GPU and its host.
void add_host_link(const DeviceInfo& device, Roofline& roofline) {
  const GpuFacts& gpu = device.gpu;
  const LinkRate& pcie = gpu.way_to_host.bytes_per_second ? gpu.way_to_host : gpu.pcie;
  add_link(reaches_host_by_c2c(gpu) ? gpu.c2c : pcie, resource::host_to_device, resource::device_to_host, roofline);
}

void add_datasheet(const Sku& sku, Roofline& roofline) {
  for (const Resource& resource : kResources) {
    const auto found = sku.tera_per_second.find(resource.id);
    if (found == sku.tera_per_second.end()) continue;
    const Figure& figure = found->second;
    Ceiling& ceiling = roofline.at(resource);
    ceiling.datasheet = figure.value * 1e12;
    ceiling.datasheet_source =
        fmt::format("{}: dense, at {:.0f} MHz ({}){}", sku.name, sku.published_clock_mhz(found->first).value, figure.source,
                    others(figure, [&](double tera) { return format_rate(tera * 1e12, resource.unit); }));
  }
  const Figure& memory = sku.memory_gigabytes_per_second;
  Ceiling& dram = roofline.at(resource::dram);
  dram.datasheet = memory.value * 1e9;
  dram.datasheet_source = fmt::format("{} ({}){}", sku.name, memory.source,
                                      others(memory, [](double giga) { return format_rate(giga * 1e9, Unit::byte); }));
}

}  // namespace

DeviceInfo specified_device(const std::string& name, const Sku& sku) {
  DeviceInfo device;
  device.id = "cuda:0";
  device.backend = Backend::cuda;
  device.name = name;
  device.compute_capability = sku.compute_capability;
  device.multiprocessors = static_cast<int>(sku.multiprocessors.value);
  device.rated_clock_hz = device.highest_clock_hz = sku.boost_clock_mhz.value * 1e6;
  if (sku.memory_bus_bits) device.memory_bus_bits = static_cast<int>(sku.memory_bus_bits->value);
  if (sku.memory_clock_mhz) device.memory_clock_hz = sku.memory_clock_mhz->value * 1e6;
  device.memory_bytes = device.free_bytes = static_cast<std::size_t>(sku.memory_gigabytes.value * 1e9);
  const auto l2 = static_cast<std::size_t>(sku.l2_mebibytes.value * double(kMiB));
  device.caches = {{"l2", l2, l2}};
  return device;
}

const Figure* operations_per_clock(const DeviceInfo& device, const Resource& resource) {
  const auto in = [&](const Figures& figures) -> const Figure* {
    const auto found = figures.find(resource.id);
    return found == figures.end() ? nullptr : &found->second;
  };
  if (const Sku* board = find_board(device.name); board && in(board->rates)) return in(board->rates);
  const ClockRates* rates = clock_rates(device.compute_capability);
  if (!rates) return nullptr;
  const bool geforce = device.name.find("GeForce") != std::string::npos;
  return geforce && in(rates->geforce) ? in(rates->geforce) : in(rates->rates);
}

Roofline theoretical_roofline(const DeviceInfo& device, std::string* sku) {
  Roofline roofline;
  if (sku) sku->clear();
  if (device.backend == Backend::cpu) return roofline;
  const Sku* known = find_sku(device.name);
  add_rates(device, known, roofline);
  add_memory(device, known, roofline);
  add_host_link(device, roofline);
  if (known) {
    add_datasheet(*known, roofline);
    if (sku) *sku = known->name;
  }
  return roofline;
}

Roofline theoretical_peer_links(const DeviceInfo& device, bool by_nvlink, std::optional<int> links) {
  Roofline roofline;
  const GpuFacts& gpu = device.gpu;
  // NVLinks whose rate no table has are not bound by PCIe.
  if (by_nvlink && gpu.nvlink_links.value_or(0) > 0 && !gpu.nvlink.bytes_per_second) return roofline;
  const bool known = by_nvlink && gpu.nvlink.bytes_per_second;
  LinkRate link = known ? gpu.nvlink : gpu.pcie;
  if (const int all = gpu.nvlink_links.value_or(0); known && links && *links < all) {
    link.bytes_per_second = *gpu.nvlink.bytes_per_second * *links / all;
    link.source = fmt::format("{} of {}, those that lead to GPUs of this process", *links, gpu.nvlink.source);
  }
  add_link(link, resource::peer_in, resource::peer_out, roofline);
  const Sku* const sku = known ? find_sku(device.name) : nullptr;
  if (!sku || !sku->nvlink_gigabytes_per_second) return roofline;
  for (const Resource& direction : {resource::peer_in, resource::peer_out}) {
    roofline.at(direction).datasheet = sku->nvlink_gigabytes_per_second->value * 1e9;
    roofline.at(direction).datasheet_source = fmt::format("{} ({})", sku->name, sku->nvlink_gigabytes_per_second->source);
  }
  return roofline;
}

}  // namespace roofmark
