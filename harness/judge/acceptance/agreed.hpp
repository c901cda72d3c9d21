// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "harness/model/table.hpp"

namespace roofmark {

/// What a site may set on its GPUs on purpose.
enum class Setting { power_limit, clock, ecc, mig, persistence_mode };

struct SettingType {
  Setting setting;
  std::string_view id;                            ///< in profiles
  std::string_view unit{};                        ///< empty: true or false
  double lowest = 0, highest = 0, tolerance = 0;  ///< in this unit

  constexpr bool is_switch() const { return unit.empty(); }
};

/// In the order of Setting.
inline constexpr SettingType kSettings[] = {{Setting::power_limit, "power_limit", "W", 1, 5000, 0.5},
                                            {Setting::clock, "clock", "MHz", 100, 10000, 10},
                                            {Setting::ecc, "ecc"},
                                            {Setting::mig, "mig"},
                                            {Setting::persistence_mode, "persistence_mode"}};

static_assert(is_in_order(kSettings, &SettingType::setting));

constexpr const SettingType& type_of(Setting setting) { return kSettings[static_cast<int>(setting)]; }

/// Those of a device that are known; of a switch 0 or 1.
using SettingValues = std::map<Setting, double>;

/// The value that a profile agrees on.
struct Agreement {
  double value = 0;
  std::string origin;  ///< profile and line

  bool is_met(Setting setting, double found) const { return std::abs(found - value) <= type_of(setting).tolerance; }
};

using Agreed = std::map<Setting, Agreement>;

/// "500 W", "false"
std::string value_text(Setting setting, double value);
/// "power_limit = 500 W"
std::string setting_text(Setting setting, double value);

}  // namespace roofmark
