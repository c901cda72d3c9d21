// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace roofmark {

template <class Handle, auto kDestroy>
struct Destroy {
  using pointer = Handle;
  void operator()(Handle handle) const { kDestroy(handle); }
};

/// A library's handle with one owner, which calls kDestroy(handle) in the end.
template <class Handle, auto kDestroy>
using Owned = std::unique_ptr<Handle, Destroy<Handle, kDestroy>>;

}  // namespace roofmark
