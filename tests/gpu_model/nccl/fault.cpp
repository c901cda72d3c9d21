// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "fault.hpp"

#include <atomic>
#include <cstdlib>
#include <map>
#include <sstream>

#include "../runtime/runtime.hpp"

namespace gpu_model::nccl {

namespace {

struct Plan {
  std::map<std::string, std::string, std::less<>> words;
  Fault fault{};
  long from = 1;
  std::atomic<long> calls = 0;

  Plan() {
    const char* text = std::getenv("GPUMODEL_NCCL_FAULT");
    if (!text) return;
    std::istringstream line(text);
    for (std::string word; line >> word;) words[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    const std::map<std::string, Fault> faults = {{"hang", Fault::hang}, {"warn", Fault::warn}, {"lose", Fault::lose},
                                                 {"kill", Fault::kill}, {"flip", Fault::flip}, {"error", Fault::error}};
    const auto found = faults.find(words["do"]);
    if (found == faults.end() || !words.contains("rank")) {
      runtime::say("GPUMODEL_NCCL_FAULT needs rank=... and do=hang, warn, lose, kill, flip or error: '%s'", text);
      std::_Exit(2);
    }
    fault = found->second;
    from = static_cast<long>(number("from", 1));
  }

  std::size_t number(std::string_view key, std::size_t otherwise) const {
    const auto found = words.find(key);
    return found == words.end() ? otherwise : std::strtoul(found->second.c_str(), nullptr, 10);
  }
};

Plan& plan() {
  static Plan& only = *new Plan;
  return only;
}

}  // namespace

std::optional<Fault> planted_fault(int rank, std::string_view call, std::size_t bytes) {
  Plan& planned = plan();
  if (planned.words.empty() || planned.number("rank", 0) != static_cast<std::size_t>(rank)) return std::nullopt;
  const auto wanted = planned.words.find("call");
  if (wanted == planned.words.end() ? call == "init" : wanted->second != call) return std::nullopt;
  if (planned.number("bytes", bytes) != bytes) return std::nullopt;
  return ++planned.calls >= planned.from ? std::optional(planned.fault) : std::nullopt;
}

std::size_t flipped_byte() { return plan().number("byte", 0); }

}  // namespace gpu_model::nccl
