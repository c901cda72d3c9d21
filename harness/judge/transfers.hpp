// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/ranks/fits.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// The sizes of one series of transfers, whose names differ in their bytes alone.
struct TransferSeries {
  std::string name;               ///< the records', without their bytes
  std::vector<Resource> links;    ///< that each transfer crosses, at the same time
  std::vector<std::string> how;   ///< by the other keys of the names: "pinned", "node 1", "copy_engine"
  std::optional<LatencyFit> fit;  ///< over the bytes that cross one link; absent for one size
  /// latency x rate, the size at which half of the rate is reached; absent where the line has no latency or no rate.
  std::optional<double> half_size_bytes;
  std::string largest;                                 ///< name of the case of the largest size
  double bytes = 0;                                    ///< its, over one link
  double bytes_per_second = 0;                         ///< its, over one link
  std::optional<double> of_theoretical, of_empirical;  ///< as its Placement
};

/// What links carry together, over the sum of what each carries alone: 1 where they share nothing, 0.5 where two share one.
struct LinkContention {
  std::string together;            ///< name of the case
  std::vector<std::string> alone;  ///< by link
  double factor = 0;
};

struct Transfers {
  std::vector<TransferSeries> series;
  std::vector<LinkContention> contention;
};

/// Of the ok records whose work is to move as many bytes over each of one or several links, and nothing else: between host and
/// device, peers, or the host's nodes. The probes of ceilings and ranks' messages do not count. The records are placed.
Transfers transfers_of(const std::vector<Record>& records);

}  // namespace roofmark
