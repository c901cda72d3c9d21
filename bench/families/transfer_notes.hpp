// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "bench/families/prepared_transfer.hpp"
#include "bench/families/transfer.hpp"
#include "kernels/transfer.hpp"

namespace roofmark::transfer {

/// The GPUs of a transfer, and how many arrays it has in the memory of each.
std::map<int, std::size_t> arrays_by_gpu(const Transfer& transfer);

/// Why a process with one GPU has no transfers to others.
std::string why_unreached(const Fabric* fabric);

/// Empty where the transfer can be made. `fabric`: as transfer_case gets it.
std::string why_unsupported(const DeviceInfo& device, const TransferKernels* kernels, const TransferPoint& point,
                            const Transfer& transfer, const Fabric* fabric);

/// How its bytes are counted, where its memory is, and whose ceilings are its roof. `unlike`: a GPU whose links have not that
/// roof, or null; `other_links`: why the roof is of another kind of link, or empty; `fabric`: null where no other GPU is within
/// reach.
Notes notes_of(const DeviceInfo& device, const TransferPoint& point, const Transfer& transfer, const Work& work,
               const RankInfo* unlike, const std::string& other_links, const Fabric* fabric);

}  // namespace roofmark::transfer
