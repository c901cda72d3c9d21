// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace roofmark {

/// Beyond this a driver that was asked something counts as hung.
inline constexpr double kPatienceSeconds = 2;
/// The same for its first answers, as it may have to initialise every GPU of the node, beside other processes that ask it to,
/// and for many questions in a row: a driver took 0.6 s for the NVLinks between two GPUs (NVIDIA/k8s-device-plugin, issue 774).
inline constexpr double kLongPatienceSeconds = 10;

/// The answer of `ask`, which runs in a thread of its own; nothing where it does not come within the patience. That thread is
/// then left to itself: `ask` must own what it uses. What it throws is thrown here.
template <class Answer>
std::optional<Answer> within_patience(std::function<Answer()> ask, double patience_seconds = kPatienceSeconds) {
  std::promise<Answer> promise;
  std::future<Answer> answer = promise.get_future();
  std::thread([ask = std::move(ask), promise = std::move(promise)]() mutable {
    try {
      promise.set_value(ask());
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  if (answer.wait_for(std::chrono::duration<double>(patience_seconds)) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

}  // namespace roofmark
