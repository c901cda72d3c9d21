// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/nccl/log.hpp"

#include <algorithm>
#include <charconv>

namespace roofmark {

namespace {

/// The text after `mark`; empty without it.
std::string_view after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(" \r")); }

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

template <std::size_t kCount>
std::string named(std::string_view word, const std::string_view (&names)[kCount]) {
  const auto index = number(word);
  return std::string(index && *index >= 0 && *index < static_cast<int>(kCount) ? names[*index] : word);
}

constexpr std::string_view kAlgorithms[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::string_view kProtocols[] = {"LL", "LL128", "SIMPLE"};

/// "{0..15}" of "channel{Lo..Hi}={0..15}".
std::optional<int> channel_count(std::string_view range) {
  const auto low = number(range), high = number(after(range, ".."));
  return low && high ? std::optional(*high - *low + 1) : std::nullopt;
}

constexpr std::string_view kNetwork = "NET/", kSockets = "NET/Socket";

/// The path without the numbers of devices and ranks, and without settings (from 2.31 on how writes are flushed):
/// "NET/IB/0(3)/GDRDMA/flush=None" gives NET/IB/GDRDMA.
std::string transport(std::string_view way, const std::map<int, std::string>& interfaces) {
  // "P2P/direct pointer": the word after the space adds nothing. The name of a network plugin may have one: "AWS Libfabric".
  way = way.substr(0, way.find_first_of(way.find(kNetwork) == std::string_view::npos ? " \r" : "\r"));
  std::string kinds;
  while (!way.empty()) {
    const std::size_t slash = std::min(way.find('/'), way.size());
    const std::string_view part = way.substr(0, slash);
    way.remove_prefix(std::min(slash + 1, way.size()));
    const auto device = number(part);
    const auto interface = device && kinds == kSockets ? interfaces.find(*device) : interfaces.end();
    if (interface != interfaces.end()) kinds += " (" + interface->second + ")";
    if (part.empty() || device || part.find('=') != std::string_view::npos) continue;
    kinds += (kinds.empty() ? "" : "/") + std::string(part);
  }
  return kinds;
}

constexpr std::string_view kWarning = "NCCL WARN ";

/// The next line, which is taken from `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::map<int, std::string> parse_nccl_interfaces(std::string_view log) {
  std::map<int, std::string> interfaces;
  while (!log.empty()) {
    // " [0]eth0:10.0.0.1<0> [1]ib0:fe80::1%ib0<0>"
    std::string_view named = after(take_line(log), "NCCL INFO NET/Socket : Using ");
    while (!(named = after(named, "[")).empty()) {
      const auto device = number(named);
      const std::string_view name = after(named, "]");
      if (device) interfaces[*device] = name.substr(0, name.find(':'));
    }
  }
  return interfaces;
}

NcclChoice parse_nccl_log(std::string_view log, const std::map<int, std::string>& interfaces) {
  NcclChoice choice;
  while (!log.empty()) {
    const std::string_view said = after(take_line(log), "NCCL INFO ");
    if (const std::string_view algorithm = after(said, " Bytes -> Algo "); !algorithm.empty()) {
      choice.algorithm = named(first_word(algorithm), kAlgorithms);
      choice.protocol = named(first_word(after(algorithm, " proto ")), kProtocols);
      choice.channels = channel_count(after(algorithm, "={"));
    } else if (const std::string_view kernel = after(said, " Bytes -> Kernel "); !kernel.empty()) {
      choice.algorithm = "symmetric " + std::string(first_word(kernel));
      choice.protocol.clear();
      choice.channels = number(first_word(after(kernel, " nchannels ")));
    } else if (const std::string_view by = after(said, " Bytes -> "); by.starts_with("cuda") || by.starts_with("RMA proxy")) {
      // Of the copy engines: the call, or between the hosts of several NVLink domains "RMA proxy + CE".
      choice.algorithm = std::string(by.substr(0, by.find_first_of(by.starts_with("cuda") ? " ;\r" : "\r")));
      choice.protocol.clear();
      choice.channels.reset();
    } else if (said.starts_with("Channel ") || said.starts_with("CollNet ")) {
      const std::string way = transport(after(said, " via "), interfaces);
      if (!way.empty()) choice.transports.insert(way);
    }
  }
  return choice;
}

std::vector<std::string> nccl_warnings(std::string_view log) {
  std::vector<std::string> warnings;
  while (!log.empty()) {
    if (const std::string_view text = after(take_line(log), kWarning); !text.empty()) warnings.emplace_back(text);
  }
  return warnings;
}

std::string nccl_warning_lines(std::string_view log) {
  std::string lines;
  while (!log.empty()) {
    const std::string_view line = take_line(log);
    if (!after(line, kWarning).empty()) lines += std::string(line) + "\n";
  }
  return lines;
}

}  // namespace roofmark
