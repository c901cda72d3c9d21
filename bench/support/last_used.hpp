// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <utility>

namespace roofmark {

/// The values that were used last, by key.
template <class Key, class Value>
class LastUsed {
 public:
  explicit LastUsed(std::size_t most) : most_(most) {}

  /// Null if there is none. Valid until the next call.
  Value* use(const Key& key) {
    const auto found = find(key);
    if (found == all_.end()) return nullptr;
    all_.splice(all_.end(), all_, found);
    return &all_.back().second;
  }
  /// Of a new key. The value that was used least recently goes if there are too many.
  Value& add(const Key& key, Value value) {
    if (all_.size() == most_) all_.pop_front();
    return all_.emplace_back(key, std::move(value)).second;
  }
  void erase(const Key& key) {
    if (const auto found = find(key); found != all_.end()) all_.erase(found);
  }

 private:
  auto find(const Key& key) {
    return std::find_if(all_.begin(), all_.end(), [&](const auto& one) { return one.first == key; });
  }

  std::size_t most_;
  std::list<std::pair<Key, Value>> all_;  ///< the last used one at the end
};

}  // namespace roofmark
