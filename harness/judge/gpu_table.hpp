// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace roofmark {

/// gpus.json, the data file that this table is read from, built into the program. Its "about" explains the fields.
std::string gpus_json();

/// A published figure and its source.
struct Figure {
  double value = 0;
  std::string source;
  std::vector<std::pair<double, std::string>> also;  ///< other figures that are published, with their sources
  bool approximate = false;                          ///< too inexact for a ceiling: true results may exceed it
};

/// By the id of a resource.
using Figures = std::map<std::string, Figure, std::less<>>;

/// Operations per clock per SM of a compute capability.
struct ClockRates {
  Figures rates;
  Figures geforce;  ///< overrides for consumer cards
};

/// A product with its published figures, those that are known: dense, never for 2:4 sparse matrices.
struct Sku {
  std::string name, name_pattern;  ///< the pattern matches the whole name that the driver reports
  int compute_capability = 0;      ///< 90 for 9.0
  bool is_geforce = false;
  Figures rates;  ///< per clock per SM, where they are not those of its compute capability
  Figure multiprocessors;
  Figure boost_clock_mhz;   ///< that the published vector peaks and the fp64 tensor peak assume
  Figure tensor_clock_mhz;  ///< that the other tensor peaks assume
  Figures tera_per_second;  ///< peaks
  Figure memory_gigabytes_per_second, memory_gigabytes, l2_mebibytes;
  std::optional<Figure> memory_bus_bits, memory_clock_mhz, pin_gigabytes_per_second;
  std::optional<Figure> memory_transfers_per_clock;   ///< of the memory clock that the driver reports; absent: two
  std::optional<Figure> nvlink_gigabytes_per_second;  ///< of all links in one direction
  bool nvlink_by_bridge = false;                      ///< without the bridge, which many machines lack, no link is up

  /// The clock that the published peak of a resource assumes.
  const Figure& published_clock_mhz(const std::string& resource_id) const;
};

const std::vector<Sku>& known_skus();
/// Null for an unknown compute capability.
const ClockRates* clock_rates(int compute_capability);
/// The product of a GPU of this name as its driver reports it, or null. The whole name has to match: an H200 NVL is not an
/// H200, and a MIG slice matches nothing.
const Sku* find_sku(const std::string& device_name);
/// The product whose SMs a GPU of this name has: also of a MIG instance ("NVIDIA H20 MIG 1g.12gb"). Null if unknown.
const Sku* find_board(const std::string& device_name);

}  // namespace roofmark
