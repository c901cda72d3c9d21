// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/model/measurement.hpp"

namespace roofmark {

/// algbw and busbw in bytes per second as nccl-tests defines them: algbw = size / time, busbw = algbw x bus factor; `seconds`
/// of one trip. Of one rank there is neither: nothing crosses a link.
struct BusBandwidth {
  double seconds = 0;
  std::optional<double> algbw, busbw;
};
/// Of an ok record with a message.
std::optional<BusBandwidth> bus_bandwidth(const Record& record);

/// A network that reduces on the way (NVLS inside an NVLink domain, SHARP between hosts) can pass the roof that is counted for
/// rings. This is the share of the same roof by the bytes that it leaves on the link (amount - avoidable). Absent where it
/// saves none on the link that limits the record.
std::optional<double> switched_share(const Record& record);

}  // namespace roofmark
