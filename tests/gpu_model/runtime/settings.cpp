// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "diagnostics.hpp"

namespace gpu_model::runtime {
namespace {

constexpr double unlimited = std::numeric_limits<double>::max();

/// The variable's value; nothing if it is unset or empty.
std::optional<std::string> text_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return std::nullopt;
  return text;
}

[[noreturn]] void refuse(const char* variable, const std::string& expected) {
  say("%s=%s: expected %s", variable, std::getenv(variable), expected.c_str());
  std::_Exit(2);
}

/// Nothing if the text is not a number.
std::optional<double> parse_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end) return std::nullopt;
  return value;
}

double number(const char* variable, double otherwise, double least = 0, double greatest = unlimited) {
  const auto text = text_of(variable);
  if (!text) return otherwise;
  const auto value = parse_number(*text);
  if (!value) refuse(variable, "a number");
  if (!(*value >= least && *value <= greatest)) {
    refuse(variable, greatest == unlimited ? "a number that is not negative"
                                           : "a number from " + std::to_string(std::lround(least)) + " to " +
                                                 std::to_string(std::lround(greatest)));
  }
  return *value;
}

bool is_on(const char* variable, bool otherwise) { return number(variable, otherwise, 0, 1) != 0; }

std::size_t bytes(const char* variable, std::size_t otherwise) {
  auto text = text_of(variable);
  if (!text) return otherwise;
  double unit = 1;
  constexpr std::string_view suffixes = "KMG";
  const std::size_t suffix = suffixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text->back()))));
  if (suffix != std::string_view::npos) {
    unit = static_cast<double>(std::size_t{1} << (10 * (suffix + 1)));
    text->pop_back();
  }
  const auto value = parse_number(*text);
  if (!value || *value < 0) refuse(variable, "bytes, with or without K, M or G");
  return static_cast<std::size_t>(*value * unit);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::vector<std::string> list(const char* variable) {
  const auto text = text_of(variable);
  return text ? split(*text, ',') : std::vector<std::string>{};
}

/// Removes "@device" from the end of an entry and returns its number.
int device_of(std::string& entry, const char* variable, const std::string& expected) {
  const std::size_t at = entry.rfind('@');
  if (at == std::string::npos) return any_device;
  const auto device = parse_number(entry.substr(at + 1));
  if (!device || *device < 0) refuse(variable, expected);
  entry.resize(at);
  return static_cast<int>(*device);
}

/// defaults: of the numbers after the part. The first `required` ones must be given.
std::vector<PlantedFault> planted(const char* variable, const std::string& expected, const std::vector<double>& defaults,
                                  std::size_t required) {
  std::vector<PlantedFault> faults;
  for (std::string& entry : list(variable)) {
    PlantedFault fault;
    fault.device = device_of(entry, variable, expected);
    const std::vector<std::string> fields = split(entry, ':');
    fault.part = fields[0];
    fault.numbers = defaults;
    if (fault.part.empty() || fields.size() - 1 < required || fields.size() - 1 > defaults.size()) refuse(variable, expected);
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const auto value = parse_number(fields[i]);
      if (!value || *value < 0) refuse(variable, expected);
      fault.numbers[i - 1] = *value;
    }
    faults.push_back(std::move(fault));
  }
  return faults;
}

void read_throttle(Settings& settings) {
  constexpr auto variable = "GPUMODEL_THROTTLE";
  const std::string expected = "seconds:mhz[@device]";
  auto text = text_of(variable);
  if (!text) return;
  settings.throttled_device = device_of(*text, variable, expected);
  const std::vector<std::string> fields = split(*text, ':');
  const auto seconds = parse_number(fields[0]), mhz = parse_number(fields.back());
  if (fields.size() != 2 || !seconds || !mhz || *mhz <= 0) refuse(variable, expected);
  settings.throttle_after_seconds = *seconds;
  settings.throttle_mhz = *mhz;
}

/// Like the driver, ignores everything from the first entry on that is not a device.
std::vector<int> visible_devices(int installed) {
  std::vector<int> visible;
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!text) {
    for (int i = 0; i < installed; ++i) visible.push_back(i);
    return visible;
  }
  for (const std::string& entry : split(text, ',')) {
    const auto device = parse_number(entry);
    if (!device || *device < 0 || *device >= installed) break;
    visible.push_back(static_cast<int>(*device));
  }
  return visible;
}

const DeviceModel* read_model() {
  const DeviceModel* found = find_device_model(text_of("GPUMODEL_ARCH").value_or("90"));
  if (!found) refuse("GPUMODEL_ARCH", "70, 80, 86, 90 or 100");
  static DeviceModel model = *found;
  model.clock_mhz = number("GPUMODEL_BOOST_MHZ", found->clock_mhz, 1, 10000);
  model.loaded_clock_mhz *= model.clock_mhz / found->clock_mhz;
  return &model;
}

Settings read_settings() {
  Settings s;
  s.model = read_model();
  s.installed_devices = static_cast<int>(number("GPUMODEL_DEVICES", 1, 0, 16));
  s.visible_devices = visible_devices(s.installed_devices);
  s.multiprocessors = static_cast<int>(number("GPUMODEL_SMS", s.model->multiprocessors, 1, s.model->multiprocessors));
  s.l2_bytes = bytes("GPUMODEL_L2", s.model->l2_bytes);
  s.memory_bytes = bytes("GPUMODEL_MEMORY", std::size_t{4} << 30);
  s.total_memory_bytes = std::max(bytes("GPUMODEL_TOTAL", s.model->memory_bytes), s.memory_bytes);
  s.held_bytes = std::min(bytes("GPUMODEL_HELD", 0), s.memory_bytes);
  s.pinned_bytes = bytes("GPUMODEL_PINNED", 0);
  s.out_of_memory_after = bytes("GPUMODEL_OOM_AFTER", 0);
  s.clock_mhz = number("GPUMODEL_CLOCK_MHZ", 0);
  s.clock_gated = is_on("GPUMODEL_CLOCK_GATED", false);
  s.noise = number("GPUMODEL_NOISE", 0.003);
  s.seed = static_cast<std::uint64_t>(number("GPUMODEL_SEED", 1));
  s.has_ecc = text_of("GPUMODEL_ECC") != "none";
  s.ecc = s.has_ecc && is_on("GPUMODEL_ECC", true);
  s.peer_access = is_on("GPUMODEL_PEER_ACCESS", true);
  s.taken = is_on("GPUMODEL_TAKEN", false);
  s.confidential = is_on("GPUMODEL_CONFIDENTIAL", false);
  s.trace = is_on("GPUMODEL_TRACE", false);
  s.deadlock_hangs = is_on("GPUMODEL_DEADLOCK_HANGS", false);
  s.split_epilogue = is_on("GPUMODEL_SPLIT_EPILOGUE", false);
  read_throttle(s);
  s.slow = planted("GPUMODEL_SLOW", "part:factor[@device],...", {1}, 1);
  s.flip = planted("GPUMODEL_FLIP", "part:n:byte[@device],...", {1, 0}, 0);
  s.sticky = planted("GPUMODEL_STICKY", "part:n[@device],...", {1}, 0);
  s.hang = planted("GPUMODEL_HANG", "part:n[@device],...", {1}, 0);
  s.counters = planted("GPUMODEL_COUNTER", "id:step[@device],...", {0}, 1);
  s.skip = list("GPUMODEL_SKIP");
  s.skip_over_threads = number("GPUMODEL_SKIP_OVER", 0);
  s.blas_limit = number("GPUMODEL_BLAS_LIMIT", 0);
  s.dump_folder = text_of("GPUMODEL_DUMP").value_or("");
  s.blocking = text_of("CUDA_LAUNCH_BLOCKING").value_or("0") != "0";
  return s;
}

}  // namespace

const Settings& settings() {
  static const auto* all = new Settings(read_settings());  // never destroyed: threads of streams outlive main()
  return *all;
}

}  // namespace gpu_model::runtime
