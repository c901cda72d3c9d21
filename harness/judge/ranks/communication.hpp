// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/analysis.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

/// algbw and busbw in bytes per second as nccl-tests defines them: algbw = size / time, busbw = algbw x bus factor; `seconds`
/// are of one trip.
struct BusBandwidth {
  double seconds = 0, algbw = 0, busbw = 0;
};
/// Of an ok record with a message.
std::optional<BusBandwidth> bus_bandwidth(const Record& record);

/// Where the network itself reduces, a roof counted for rings can be passed: the share of the same roof by the bytes that are
/// left on the wire (Message::switched_bytes). Absent where there are none, or where no link binds.
std::optional<double> switched_share(const Record& record);

/// time = latency + bytes / rate over the sizes of one series, by least squares on relative errors, so that a small message
/// counts as much as a large one: weights 1 / fitted time^2, found by iterating (by 1 / measured time^2, what was quick by
/// chance would count most). Two sizes at the least.
struct LatencyFit {
  /// The records' name without its bytes; of ping_pong also without its round, and the median pair is fitted once for the
  /// pairs "within a host" and once for those "between hosts".
  std::string series;
  std::optional<double> latency_seconds;       ///< absent where the line begins at no time, the least that there is
  std::optional<double> bytes_per_second;      ///< absent where the time does not grow with the size
  std::optional<double> bus_bytes_per_second;  ///< x bus factor; absent where that is 0: one rank
  std::optional<double> r2;                    ///< of the same weighted fit; absent of two sizes, and where all times are equal
  int points = 0;                              ///< sizes
};

/// What a ring would take: steps x latency + bytes x bus factor / rate, with the latency and rate that its neighbours measured
/// among themselves: from the send_recv series of the same ranks or, without one, from the slowest neighbours' ping_pong (one
/// direction at a time). Steps: 2(n-1) all_reduce; 1 send_recv; n-1 all others.
struct RingPrediction {
  std::string case_name;
  double seconds = 0;
  double ratio = 0;  ///< predicted / measured: above 1 is faster than the ring
};

/// One pair of the matrix, both directions together: half a round trip, by the slower of the two ranks' medians. a < b.
struct PairTime {
  int a = 0, b = 0;
  std::size_t bytes = 0;
  double seconds = 0;
};

/// A row of the scaling table. A perfect ring of any length has the same busbw, so efficiencies are ratios of busbw, n ranks
/// against the smallest team n0 of at least 2 in the same series:
///   strong  busbw(n, S) / busbw(n0, S): the same size
///   weak    busbw(n, S) / busbw(n0, S n0 / n): as much for each rank
/// Sizes that differ by at most 2 % are the same (they are made of whole chunks). Absent where the other was not measured.
struct ScalingRow {
  std::string series;  ///< name without bytes and ranks
  int ranks = 1;
  std::size_t bytes = 0;
  double seconds = 0, busbw = 0;
  std::optional<double> strong_efficiency, weak_efficiency;
};

/// A product and an all-reduce alone, and both at once.
struct Overlap {
  std::string series;  ///< overlap/type/shape
  double work_seconds = 0, communication_seconds = 0, together_seconds = 0;
  double hidden = 0;                        ///< (work + communication - together) / communication; not clamped
  std::optional<double> hidden_half_width;  ///< of its 95 % interval, by those of the three medians
  /// together / work - 1, where the work is the longer of the two: it ends last, so this is what it pays.
  std::optional<double> slow_down;
};

/// Who is slowest, and by how much, whether that says something or not.
struct Slowest {
  std::string of;              ///< "ranks, each alone", "hosts, each alone", "ranks, by the best pair within a host", ...
  std::string who;             ///< "rank 3 (node1)", "node1"
  int among = 0;               ///< as many are compared
  double times_median = 1;     ///< geometric means over the cases or sizes of what each took over the median of all
  double times_fastest = 1;    ///< the same, over the fastest one's
  std::optional<double> mads;  ///< above the median, in scaled median absolute deviations; absent of two, and where it is 0
};

struct Communication {
  std::vector<LatencyFit> fits;
  std::vector<RingPrediction> rings;
  std::vector<PairTime> pairs;
  std::vector<ScalingRow> scaling;
  std::vector<Overlap> overlaps;
  std::vector<Slowest> slowest;
  /// Who is guilty; the worst first in each kind.
  ///
  /// All ranks of a collective take nearly the same time, the slowest one's, so pairs tell: by kind of pair (of one host,
  /// between hosts) and size, a rank's score is the time of its best pair, a host's that of its ranks' best. A slow link to
  /// host C slows the pairs A-C and B-C; only C has no pair that is fast. What is slower than the median of the scores by more
  /// than 5 scaled median absolute deviations and by more than 10 % is a slow_rank or, of a host with several ranks, a
  /// slow_node (whose ranks are then not named each). A slow_link is a pair that takes over 1.2 times the worse of its ranks'
  /// scores, and whose ratio to it stands out by as many deviations (else every pair across two sockets would be one).
  ///
  /// Of two nobody can say which is slow. Of up to six the deviations say little (of three ranks the two of the best pair
  /// always agree exactly), so there it takes 25 % and half of the sizes.
  ///
  /// In the single-device suite, which every rank runs alone but at once, the ranks' medians of each case are judged by the
  /// same rule; named is who is slow in at least one case of 20. `fingerprint`: a rank that came to other bits than most.
  std::vector<Finding> findings;
};

/// All that follows from the records of a team; pure.
Communication analyze_communication(const std::vector<Record>& records, const std::vector<RankInfo>& members);

}  // namespace roofmark
