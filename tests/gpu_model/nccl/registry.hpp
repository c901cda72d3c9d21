// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

namespace gpu_model::nccl {

/// The memory that ncclMemAlloc has given, and what is registered with which communicator.
class Registry {
 public:
  enum class As { buffer, window };

  /// Never destroyed: threads may wait at the end of the process.
  static Registry& only() {
    static Registry& registry = *new Registry;
    return registry;
  }

  void give(const void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    given_[static_cast<const char*>(memory)] = bytes;
  }
  /// False for memory that is still registered.
  bool take_back(const void* memory) {
    const std::lock_guard lock(mutex_);
    const auto is_it = [memory](const Entry& entry) { return std::get<const void*>(entry) == memory; };
    if (std::any_of(registered_.begin(), registered_.end(), is_it)) return false;
    given_.erase(static_cast<const char*>(memory));
    return true;
  }
  bool has_given(const void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto* const first = static_cast<const char*>(data);
    const auto next = given_.upper_bound(first);
    return next != given_.begin() && first + bytes <= std::prev(next)->first + std::prev(next)->second;
  }

  void add(ncclComm_t comm, As as, const void* data) {
    const std::lock_guard lock(mutex_);
    registered_.emplace(comm, as, data);
  }
  /// False where it was not registered so.
  bool remove(ncclComm_t comm, As as, const void* data) {
    const std::lock_guard lock(mutex_);
    const auto found = registered_.find({comm, as, data});
    if (found == registered_.end()) return false;
    registered_.erase(found);
    return true;
  }
  /// A communicator's registrations end with it.
  void forget(ncclComm_t comm) {
    const std::lock_guard lock(mutex_);
    std::erase_if(registered_, [comm](const Entry& entry) { return std::get<ncclComm_t>(entry) == comm; });
  }

 private:
  using Entry = std::tuple<ncclComm_t, As, const void*>;

  std::mutex mutex_;
  std::map<const char*, std::size_t> given_;  ///< by its first byte
  std::multiset<Entry> registered_;
};

}  // namespace gpu_model::nccl
