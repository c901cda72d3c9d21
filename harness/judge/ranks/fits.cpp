// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/fits.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/judge/ranks/bus_bandwidth.hpp"
#include "harness/judge/ranks/series.hpp"
#include "harness/model/statistics.hpp"

namespace roofmark {

namespace {

/// The median pair's, per kind of pair.
void add_pairs(const std::vector<Record>& records, const PairTimes& times, const Places& places,
               std::vector<LatencyFit>& fits) {
  for (const bool linked : {true, false}) {
    std::map<std::size_t, double> medians;
    for (const auto& [bytes, pairs] : times) {
      std::vector<double> seconds;
      for (const auto& [pair, time] : pairs) {
        if (places.linked(pair) == linked) seconds.push_back(time);
      }
      if (!seconds.empty()) medians[bytes] = median(std::move(seconds));
    }
    if (medians.size() < 2) continue;
    const auto first = std::find_if(records.begin(), records.end(), [](const Record& record) {
      return record.message && record.message->pattern == Pattern::pairs;
    });
    if (auto made =
            fit(name_without(*first, {"bytes", "round", "from", "to"}).name() + ", " + places.kind(linked), medians, 1)) {
      fits.push_back(*made);
    }
  }
}

}  // namespace

std::optional<LatencyFit> fit(std::string series, const std::map<std::size_t, double>& seconds, double bus_factor) {
  std::vector<double> x, y;
  for (const auto& [bytes, time] : seconds) {
    x.push_back(static_cast<double>(bytes));
    y.push_back(time);
  }
  const std::optional<Line> line = fit_line_relative(x, y, 0);  // no message arrives before it is sent
  if (!line) return std::nullopt;
  LatencyFit made{std::move(series), {}, {}, {}, {}, static_cast<int>(seconds.size())};
  if (seconds.size() > 2) made.r2 = line->r2;
  if (line->slope > 0) {
    if (line->intercept > 0) made.latency_seconds = line->intercept;
    made.bytes_per_second = 1 / line->slope;
    if (bus_factor > 0) made.bus_bytes_per_second = bus_factor / line->slope;
    return made;
  }
  // No message is faster for being larger: the best of the lines that do not fall is level.
  made.latency_seconds = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
  if (made.r2) made.r2 = 0;
  return made;
}

std::optional<LatencyFit> fit(const std::string& name, const std::vector<const Record*>& series) {
  if (series.front()->message->ranks < 2) return std::nullopt;  // no link has a latency or a rate
  std::map<std::size_t, double> seconds;
  for (const Record* record : series) seconds[record->message->bytes] = bus_bandwidth(*record)->seconds;
  return fit(name, seconds, series.front()->message->bus_factor);
}

std::vector<LatencyFit> fits_of(const std::vector<Record>& records, const PairTimes& times, const Places& places) {
  std::vector<LatencyFit> fits;
  for (const auto& [name, series] : series_of(records, {"bytes"})) {
    if (auto made = fit(name.name(), series)) fits.push_back(std::move(*made));
  }
  add_pairs(records, times, places, fits);
  return fits;
}

}  // namespace roofmark
