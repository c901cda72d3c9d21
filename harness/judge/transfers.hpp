// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/ranks/fits.hpp"
#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// The sizes of one series of transfers, whose names differ in their bytes alone.
struct TransferSeries {
  std::string name;               ///< the records', without their bytes
  std::vector<Resource> links;    ///< that each transfer crosses, at the same time
  std::vector<std::string> how;   ///< by the other keys of the names: "pinned", "node 1", "copy_engine"
  std::size_t flows = 1;          ///< of one transfer
  std::optional<LatencyFit> fit;  ///< over the bytes that cross the busiest link; absent for one size
  /// latency x rate, the size at which half of the rate is reached; absent where the line has no latency or no rate.
  std::optional<double> half_size_bytes;
  std::string largest;                                 ///< name of the case of the largest size
  double bytes = 0;                                    ///< its, over the busiest link
  double bytes_per_second = 0;                         ///< its, over the busiest link
  double sum_bytes_per_second = 0;                     ///< its, of all flows
  std::optional<double> of_theoretical, of_empirical;  ///< as its Placement
};

/// What several flows carry together, over the sum of what each carries alone: 1 where they share nothing, 0.5 where two share
/// one link.
struct LinkContention {
  std::string together;            ///< name of the case
  std::vector<std::string> alone;  ///< by flow
  double factor = 0;
};

/// The rates of one size from each end to each other, of series whose names differ in these ends alone.
struct TransferMatrix {
  struct Cell {
    Flow flow;
    double bytes_per_second = 0;
    std::optional<PeerPath> path = {};
  };
  std::string name;              ///< the records', without their bytes and ends
  std::vector<std::string> how;  ///< as of a series
  double bytes = 0;              ///< of a flow
  std::vector<Cell> cells = {};
  std::vector<std::string> series = {};  ///< whose sizes they are
};

struct Transfers {
  std::vector<TransferSeries> series;
  std::vector<LinkContention> contention;
  std::vector<TransferMatrix> matrices = {};  ///< of two pairs of ends or more
  std::vector<Finding> findings = {};         ///< slow_link, peer_access
  std::string slow = {};                      ///< these in one line, the worst first; empty without any
};

/// Of the ok records of transfers whose demands are on links alone: between host and device, peers, or the host's nodes. The
/// probes of ceilings do not count. The records are placed.
///
/// By the rule of the ranks (harness/judge/ranks/stragglers.hpp), an end that sends or receives is slow by its best pair, and a
/// pair by what the best pairs of its ends explain. Only pairs of the same path are compared. Each is named once, by the series
/// where it is slowest.
Transfers transfers_of(const std::vector<Record>& records);

}  // namespace roofmark
