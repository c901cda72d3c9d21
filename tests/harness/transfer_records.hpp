// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/harness/records.hpp"

namespace roofmark {

inline constexpr double kLinkLatency = 2e-6, kLinkRate = 55e9;

inline constexpr Endpoint kHost = host_endpoint(), kGpu = gpu_endpoint(0);

/// A transfer of these flows.
inline Record moved(const char* operation, std::vector<Flow> flows, double bytes, double seconds) {
  Transfer transfer{static_cast<std::size_t>(bytes), std::move(flows)};
  Record record = ok_record("any", operation, {{link_demands(transfer)}}, seconds);
  record.transfer = std::move(transfer);
  record.shape = {{"bytes", std::to_string(static_cast<std::size_t>(bytes))}, {"memory", "pinned"}, {"impl", "engine"}};
  return record;
}
inline double line_seconds(double bytes) { return kLinkLatency + bytes / kLinkRate; }
inline Record copy_in(double bytes, double seconds) { return moved("in", {{kHost, kGpu}}, bytes, seconds); }
inline Record copy_out(double bytes, double seconds) { return moved("out", {{kGpu, kHost}}, bytes, seconds); }
inline Record copy_both(double bytes, double seconds) { return moved("both", {{kHost, kGpu}, {kGpu, kHost}}, bytes, seconds); }

}  // namespace roofmark
