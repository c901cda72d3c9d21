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

/// One series of transfers: their names differ only in bytes.
struct TransferSeries {
  std::string name;               ///< the records', without their bytes
  std::vector<Resource> links;    ///< that each transfer crosses, at the same time
  std::vector<std::string> how;   ///< by the other keys of the names: "pinned", "node 1", "copy_engine"
  std::size_t flows = 1;          ///< of one transfer
  std::optional<LatencyFit> fit;  ///< over the bytes that cross the busiest link; absent for one size
  /// latency x rate: the size that reaches half the rate; absent if the fit has no latency or no rate.
  std::optional<double> half_size_bytes;
  std::string largest;                                 ///< name of the case of the largest size
  double bytes = 0;                                    ///< its, over the busiest link
  double bytes_per_second = 0;                         ///< its, over the busiest link
  double sum_bytes_per_second = 0;                     ///< its, of all flows
  std::optional<double> of_theoretical, of_empirical;  ///< as its Placement
};

/// Time of the flow that is slowest alone / time of all together: 1 if they share nothing, 0.5 if two share one link, each of
/// which fills it alone.
struct LinkContention {
  std::string together;            ///< name of the case
  std::vector<std::string> alone;  ///< by flow
  double factor = 0;
};

/// The rates between all ends at one size, from series whose names differ only in the ends.
struct TransferMatrix {
  struct Cell {
    Flow flow;
    double bytes_per_second = 0;
    std::optional<PeerPath> path = {};
    std::optional<int> node_distance = {};  ///< of the host's node from the GPU's own
  };
  std::string name;              ///< the records', without their bytes and ends
  std::vector<std::string> how;  ///< as of a series
  double bytes = 0;              ///< of a flow
  bool staged = false;           ///< in the host's memory
  std::vector<Cell> cells = {};
  std::vector<std::string> series = {};  ///< whose sizes they are
};

struct Transfers {
  std::vector<TransferSeries> series;
  std::vector<LinkContention> contention;
  std::vector<TransferMatrix> matrices = {};  ///< of two pairs of ends or more
  std::vector<Finding> findings = {};         ///< slow_link, peer_access, no_peer_access, node_affinity
  bool compares_links = false;                ///< a slow link would be among them
  std::string slow = {};                      ///< these in one line, worst first, without notes; empty if none
};

/// For the ok records of transfers that demand only links: between host and device, peers, or the host's nodes, without the
/// probes of ceilings. The records are placed.
///
/// By the rule of the ranks (harness/judge/ranks/stragglers.hpp), an end is judged by its best pair, and a pair relative to
/// most pairs of its ends. Only pairs with the same path are compared; those of a GPU and a NUMA node relative to the median of
/// all that are as far apart. Each is named once, in the series where it is slowest.
Transfers transfers_of(const std::vector<Record>& records);

}  // namespace roofmark
