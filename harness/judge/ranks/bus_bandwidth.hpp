// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/model/measurement.hpp"

namespace roofmark {

/// algbw and busbw in bytes per second as nccl-tests defines them: algbw = size / time, busbw = algbw x bus factor; `seconds`
/// is per trip. Absent for one rank: no data crosses a link.
struct BusBandwidth {
  double seconds = 0;
  std::optional<double> algbw, busbw;
};
/// For an ok record with a message.
std::optional<BusBandwidth> bus_bandwidth(const Record& record);

/// A network that reduces (NVLS inside an NVLink domain, SHARP between hosts) can exceed the roof of a ring. This is the share
/// of that roof by the bytes that remain on the link (amount - avoidable). Absent if none are saved on the limiting link.
std::optional<double> switched_share(const Record& record);

}  // namespace roofmark
