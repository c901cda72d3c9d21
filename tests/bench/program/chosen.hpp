// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/program/chosen_cases.hpp"
#include "kernels/stream.hpp"

namespace roofmark {

/// The groups of `--case` with these patterns.
inline std::vector<Group> chosen(const Listing& listing, const std::vector<std::string>& patterns) {
  Lists lists;
  choose(lists, listing, patterns);
  return *lists.chosen;
}

/// A build without CUDA supports no case of a GPU.
inline bool has_cuda() { return select(Backend::cuda, &cuda::stream, &cpu::stream) != nullptr; }

}  // namespace roofmark
