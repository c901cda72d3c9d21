// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/gpu_table.hpp"

#include "harness/model/expression.hpp"
#include "harness/model/resource.hpp"
#include "harness/team/json.hpp"

namespace roofmark {

namespace {

struct GpuTable {
  std::vector<Sku> skus;
  std::map<int, ClockRates> rates;
};

/// "10.3" as 103.
int capability(const std::string& text) {
  const std::size_t dot = text.find('.');
  return 10 * std::stoi(text.substr(0, dot)) + std::stoi(text.substr(dot + 1));
}

GpuTable read_table() {
  const Json data = Json::parse(gpus_json());
  const auto source = [&](const Json& figure) { return data.at("sources").at(figure.at("source").get<std::string>()); };
  const auto figure = [&](const Json& json) {
    Figure read{json.at("value"), source(json), {}, json.value("approximate", false)};
    for (const Json& other : json.value("also", Json::array())) read.also.emplace_back(other.at("value"), source(other));
    return read;
  };
  const auto figures = [&](const Json& json) {
    Figures read;
    for (const auto& [resource, one] : json.items()) read[resource] = figure(one);
    return read;
  };
  GpuTable table;
  for (const auto& [name, json] : data.at("compute_capabilities").items()) {
    table.rates[capability(name)] = {figures(json.at("per_clock_per_multiprocessor")),
                                     figures(json.value("geforce", Json::object()))};
  }
  for (const Json& json : data.at("skus")) {
    Sku& sku = table.skus.emplace_back();
    sku.name = json.at("sku");
    sku.name_pattern = json.at("name_pattern");
    sku.compute_capability = capability(json.at("compute_capability"));
    sku.is_geforce = json.value("class", "") == "geforce";
    sku.rates = figures(json.value("per_clock_per_multiprocessor", Json::object()));
    sku.multiprocessors = figure(json.at("multiprocessors"));
    sku.boost_clock_mhz = figure(json.at("boost_clock_mhz"));
    sku.tensor_clock_mhz = figure(json.at("tensor_clock_mhz"));
    sku.tera_per_second = figures(json.at("tera_per_second"));
    sku.memory_gigabytes_per_second = figure(json.at("memory_gigabytes_per_second"));
    sku.memory_gigabytes = figure(json.at("memory_gigabytes"));
    sku.l2_mebibytes = figure(json.at("l2_mebibytes"));
    for (const auto& [key, value] : {std::pair("memory_bus_bits", &sku.memory_bus_bits),
                                     {"memory_clock_mhz", &sku.memory_clock_mhz},
                                     {"pin_gigabytes_per_second", &sku.pin_gigabytes_per_second},
                                     {"memory_transfers_per_clock", &sku.memory_transfers_per_clock},
                                     {"nvlink_gigabytes_per_second_per_direction", &sku.nvlink_gigabytes_per_second}}) {
      if (json.contains(key)) *value = figure(json.at(key));
    }
    if (sku.nvlink_gigabytes_per_second) {
      sku.nvlink_by_bridge = json.at("nvlink_gigabytes_per_second_per_direction").value("note", "") == "through a bridge";
    }
  }
  return table;
}

const GpuTable& gpu_table() {
  static const GpuTable table = read_table();
  return table;
}

}  // namespace

const Figure& Sku::published_clock_mhz(const std::string& resource_id) const {
  const bool tensor = resource_id.find("_tensor") != std::string::npos && resource_id != resource::fp64_tensor.id;
  return tensor ? tensor_clock_mhz : boost_clock_mhz;
}

const std::vector<Sku>& known_skus() { return gpu_table().skus; }

const ClockRates* clock_rates(int compute_capability) {
  const auto found = gpu_table().rates.find(compute_capability);
  return found == gpu_table().rates.end() ? nullptr : &found->second;
}

const Sku* find_sku(const std::string& device_name) {
  static const std::vector<Expression> patterns = [] {
    std::vector<Expression> all;
    for (const Sku& sku : known_skus()) all.emplace_back(sku.name_pattern);
    return all;
  }();
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].matches_whole(device_name)) return &known_skus()[i];
  }
  return nullptr;
}

const Sku* find_board(const std::string& device_name) { return find_sku(device_name.substr(0, device_name.find(" MIG "))); }

}  // namespace roofmark
