// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/case_name.hpp"
#include "harness/model/comparison.hpp"
#include "harness/model/message.hpp"
#include "harness/model/overlap_role.hpp"
#include "harness/model/prepared.hpp"
#include "harness/model/protocol.hpp"
#include "harness/model/roofline.hpp"
#include "harness/model/transfer.hpp"
#include "harness/model/work.hpp"

namespace roofmark {

/// One point of a sweep, cheap to list: nothing is allocated before prepare.
struct Case : CaseName {
  Work work;
  Protocol protocol;
  /// Device memory per slot, including workspace, and memory shared by all slots.
  std::size_t slot_bytes = 0;
  std::size_t shared_bytes = 0;
  /// Additional host memory per slot; 0 on a CPU, where host memory is device memory.
  std::size_t host_slot_bytes = 0;
  /// Bytes touched by one launch, for counting cold slots; 0: slot_bytes.
  std::size_t touched_bytes = 0;
  std::optional<SetsCeiling> sets_ceiling;  ///< only of cases of the ceilings family
  std::optional<Message> message;
  std::optional<OverlapRole> overlap;
  std::optional<Transfer> transfer;
  /// Of the machine, from prepare on: "peer access off". Empty: any. Cases with different settings are of different groups.
  std::string setting;
  /// Keys with the value that their absence from the name means. Whoever asks for the case by name may state them.
  Shape implied;
  /// Why this kind of device does not support it; empty if it does.
  std::string unsupported;
  std::function<std::unique_ptr<Prepared>(const Setup&)> prepare;
};

/// Throws std::invalid_argument unless the two cases differ in the value of exactly one key, stated or implied.
Comparison compare(const Case& numerator, const Case& denominator);
/// The same of the rates, of the resource that the numerator demands first.
Comparison compare_rates(const Case& numerator, const Case& denominator);

/// Cases that are prepared together and whose blocks alternate; most groups hold one case.
struct Group {
  std::vector<Case> cases;
  std::vector<Comparison> comparisons;
};

}  // namespace roofmark
