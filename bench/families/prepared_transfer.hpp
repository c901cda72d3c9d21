// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/families/transfer.hpp"
#include "harness/model/prepared.hpp"
#include "kernels/transfer.hpp"

namespace roofmark::transfer {

using Notes = std::vector<std::pair<std::string, std::string>>;

/// The flows of `transfer`, each on a stream of the GPU that moves it; the first of the device under measurement is on its own
/// stream, which the others fork from and join; a launch makes `copies` of each. `gpu` gives the device of an ordinal.
std::unique_ptr<Prepared> prepare_transfer(const Setup& setup, const TransferPoint& point, const Transfer& transfer,
                                           const TransferKernels& kernels, const std::function<Device&(int ordinal)>& gpu,
                                           int copies, Notes notes);

/// The number of copies in a batch of `bytes`.
std::size_t batch_count(std::size_t bytes);

}  // namespace roofmark::transfer
