// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/transfer.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <stdexcept>
#include <utility>

namespace roofmark {

std::string name(const Endpoint& end) {
  const std::string kind = end.kind == Endpoint::Kind::gpu ? "gpu" : "host";
  return end.number < 0 ? kind : kind + ":" + std::to_string(end.number);
}

Endpoint parse_endpoint(std::string_view text) {
  for (const Endpoint::Kind kind : {Endpoint::Kind::host, Endpoint::Kind::gpu}) {
    const std::string_view word = kind == Endpoint::Kind::gpu ? "gpu" : "host";
    if (text == word && kind == Endpoint::Kind::host) return host_endpoint();
    if (text.size() <= word.size() + 1 || !text.starts_with(word) || text[word.size()] != ':') continue;
    const std::string_view digits = text.substr(word.size() + 1);
    Endpoint end{kind, -1};
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), end.number);
    if (error == std::errc() && stop == digits.data() + digits.size() && end.number >= 0) return end;
  }
  throw std::invalid_argument("'" + std::string(text) + "' is not an endpoint of a transfer");
}

std::string_view way_of(const Transfer& transfer) {
  const std::vector<Flow>& flows = transfer.flows;
  const auto is_host = [](const Flow& flow) {
    return flow.from.kind == Endpoint::Kind::host || flow.to.kind == Endpoint::Kind::host;
  };
  if (flows.empty() || std::any_of(flows.begin(), flows.end(), is_host)) return {};
  const Flow& first = flows.front();
  if (flows.size() == 1) return "one way";
  if (flows == std::vector<Flow>{first, {first.to, first.from}}) return "both ways";
  const auto all = [&](auto matches) { return std::all_of(flows.begin(), flows.end(), matches); };
  if (all([&](const Flow& flow) { return flow.from == first.from; })) return "one to all others";
  if (all([&](const Flow& flow) { return flow.to == first.to; })) return "all others to one";
  return "disjoint pairs at once";
}

Phase link_demands(const Transfer& transfer, double cached) {
  // By the end whose link it is.
  std::map<int, std::pair<Resource, std::map<Endpoint, double>>> carried;
  const auto add = [&](int order, const Resource& link, const Endpoint& of) {
    const auto place = carried.try_emplace(order, link, std::map<Endpoint, double>()).first;
    place->second.second[of] += static_cast<double>(transfer.bytes);
  };
  for (const auto& [from, to] : transfer.flows) {
    const bool from_gpu = from.kind == Endpoint::Kind::gpu, to_gpu = to.kind == Endpoint::Kind::gpu;
    if (from_gpu && to_gpu && !transfer.staged) {
      add(0, resource::peer_in, to);
      add(1, resource::peer_out, from);
    } else if (from_gpu || to_gpu) {
      if (to_gpu) add(2, resource::host_to_device, to);
      if (from_gpu) add(3, resource::device_to_host, from);
    } else {
      add(4, resource::host_dram, host_endpoint());
    }
  }
  Phase phase;
  for (const auto& [order, link] : carried) {
    double most = 0;
    for (const auto& [end, bytes] : link.second) most = std::max(most, bytes);
    phase.push_back({link.first, most, link.first.id == resource::host_to_device.id ? std::min(most, cached) : 0});
  }
  return phase;
}

}  // namespace roofmark
