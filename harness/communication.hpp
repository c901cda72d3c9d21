// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/analysis.hpp"
#include "harness/member.hpp"

namespace roofmark {

/// time = latency + bytes / rate over the sizes of one series (records that differ in `bytes` alone), by least squares on
/// relative errors; r2 is of the same weighted fit. Two sizes at the least.
struct LatencyFit {
  std::string series;  ///< the records' name without its bytes
  double latency_seconds = 0;
  std::optional<double> bytes_per_second;      ///< absent where the time does not grow with the size
  std::optional<double> bus_bytes_per_second;  ///< x bus_factor
  double r2 = 0;
  int points = 0;
};

/// algbw and busbw of a record in bytes per second, as nccl-tests defines them, and the time of one trip.
struct BusBandwidth {
  double seconds = 0, algbw = 0, busbw = 0;
};
std::optional<BusBandwidth> bus_bandwidth(const Record& record);

/// What a ring would take: (steps) x latency + busbw share: bytes x bus_factor / rate, with the latency and rate that the
/// neighbours of the ring measured among themselves. Steps: 2(n-1) all_reduce; n-1 all_gather, reduce_scatter, all_to_all,
/// gather, scatter, broadcast, reduce; 1 send_recv.
struct RingPrediction {
  std::string case_name;
  double seconds = 0;
  double ratio = 0;  ///< predicted / measured: above 1 is faster than the ring
};

/// One pair of the matrix, both directions together: half a round trip.
struct PairTime {
  int a = 0, b = 0;
  std::size_t bytes = 0;
  double seconds = 0;
};

/// A row of the scaling table.
struct ScalingRow {
  std::string series;  ///< name without bytes and ranks
  int ranks = 1;
  std::size_t bytes = 0;
  double seconds = 0, busbw = 0;
  /// Strong: the same size as the smallest team of at least 2; weak: a size that grows with the ranks, from the same start.
  /// busbw / busbw of that smallest team.
  std::optional<double> strong_efficiency, weak_efficiency;
};

struct Overlap {
  std::string series;
  double work_seconds = 0, communication_seconds = 0, together_seconds = 0;
  double hidden = 0;     ///< (work + communication - together) / communication; not clamped
  double slow_down = 0;  ///< together / work - 1, where the work is the longer of the two
};

struct Communication {
  std::vector<LatencyFit> fits;
  std::vector<RingPrediction> rings;
  std::vector<PairTime> pairs;
  std::vector<ScalingRow> scaling;
  std::vector<Overlap> overlaps;
  /// slow_rank, slow_node, slow_link, fingerprint: who, and how far from the median in units of the median absolute deviation.
  std::vector<Finding> findings;
};

/// All that follows from the records of a team; pure.
Communication analyze_communication(const std::vector<Record>& records, const std::vector<Member>& members);

Json to_json(const Communication& communication);

}  // namespace roofmark
