// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "bench/families/collective_case.hpp"
#include "bench/support/slots.hpp"

namespace roofmark::collectives {

/// Expected values are made, and compared, in pieces of this many elements.
inline constexpr std::size_t kVerifiedPiece = std::size_t{1} << 22;

/// A collective that can be enqueued beside other work of its rank.
class PreparedCollective : public Prepared {
 public:
  virtual void launch_beside(Stream stream, int slot, const std::function<void()>& work) = 0;
};

/// What generates and checks the data; null where the build lacks it.
const CollectiveDataKernels* data_kernels(Backend backend);

/// A rank's input and output of so many elements; in place they are one array.
SlotLayout collective_layout(const Point& point, std::size_t in, std::size_t out);

/// On this process's rank, or on all where it has all.
std::unique_ptr<Prepared> prepare_collective(const Setup& setup, const Fabric& fabric, const Point& point);
/// On the rank of a process that has one.
std::unique_ptr<PreparedCollective> prepare_rank(const Setup& setup, const Fabric& fabric, const Point& point);

}  // namespace roofmark::collectives
