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
  bool is_full() const { return all_.size() == most_; }
  /// Of a new key. If it is full, the value that was used least recently goes.
  Value& add(const Key& key, Value value) {
    if (is_full()) all_.pop_front();
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
