// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/beside.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/measure/slots.hpp"
#include "harness/model/units.hpp"
#include "kernels/side_stream.hpp"

namespace roofmark {

void PreparedPair::reset(int slot) {
  work_->reset(slot);
  other_->reset(slot);
}

Verification PreparedPair::verify(int slot) {
  const Verification work = work_->verify(slot);
  return work.status == Verification::Status::passed ? other_->verify(slot) : work;
}

std::vector<Output> PreparedPair::outputs(int slot) {
  std::vector<Output> all = work_->outputs(slot);
  for (const Output& output : other_->outputs(slot)) all.push_back(output);
  return all;
}

Repetitions repetitions_beside(const std::function<double(int count)>& seconds_with, double once) {
  constexpr double kCovered = 0.95;
  constexpr int kMost = 40;  // each may be several commands, and the launch queue holds some hundreds
  constexpr int kRounds = 4;
  const auto fitting = [&](double seconds) {
    return once > 0 ? static_cast<int>(std::clamp(kCovered * seconds / once, 1.0, double{kMost})) : kMost;
  };
  int count = fitting(seconds_with(0));
  double seconds = seconds_with(count);
  // The work may take longer beside them.
  for (int round = 0; round < kRounds && fitting(seconds) > count; ++round) {
    count = fitting(seconds);
    seconds = seconds_with(count);
  }
  // They may take longer beside the work, and end after it: then fewer shorten the launch by all of their time. Where they only
  // slow the work down, by a small part of it.
  constexpr double kOfTheirTime = 0.25;
  while (count > 1) {
    const int fewer = count - std::max(1, count / 10);
    const double shorter = seconds_with(fewer);
    if (seconds - shorter < kOfTheirTime * (count - fewer) * once) break;
    count = fewer;
    seconds = shorter;
  }
  return {count, count * once / seconds};
}

namespace {

class PreparedBeside final : public PreparedPair {
 public:
  PreparedBeside(const Setup& setup, std::unique_ptr<Prepared> work, std::unique_ptr<Prepared> other)
      : PreparedPair(std::move(work), std::move(other)) {
    setup.device.stream();  // makes the device the current one
    side_ = cuda::side_stream.make();
  }

  /// By trial launches, which write the outputs.
  Repetitions count(const Setup& setup) {
    // Of several, so that what starts a launch counts little.
    constexpr int kSeveral = 8;
    const auto seconds_of = [&](const Launch& launch) { return setup.time({launch}).front(); };
    const double several = seconds_of([this](Stream stream, int slot) {
      for (int i = 0; i < kSeveral; ++i) other_->launch(stream, slot);
    });
    return repetitions_beside(
        [&](int count) { return seconds_of([this, count](Stream stream, int slot) { launch_with(count, stream, slot); }); },
        several / kSeveral);
  }
  void repeat(const Repetitions& repetitions) { repetitions_ = repetitions; }

  void launch(Stream stream, int slot) override { launch_with(repetitions_.count, stream, slot); }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    auto all = PreparedPair::notes();
    if (repetitions_.covered > 0) {
      all.emplace_back("beside it", fmt::format("{} times, one after the other; alone they take {} of the time of a launch",
                                                repetitions_.count, format_share(repetitions_.covered)));
    }
    return all;
  }

 private:
  void launch_with(int count, Stream stream, int slot) {
    const Stream beside = side_->fork(stream);
    work_->launch(stream, slot);  // first: enqueueing the others takes longer
    for (int i = 0; i < count; ++i) other_->launch(beside, slot);
    side_->join(stream);
  }

  std::unique_ptr<SideStream> side_;
  Repetitions repetitions_;
};

}  // namespace

Case together(Case work, const Case& other, PreparePair prepare) {
  Phase& demands = work.work.phases.front();
  for (const Phase& more : other.work.phases) demands.insert(demands.end(), more.begin(), more.end());
  work.touched_bytes = touched_bytes(work) + touched_bytes(other);
  work.slot_bytes += other.slot_bytes;
  work.shared_bytes += other.shared_bytes;
  work.host_slot_bytes += other.host_slot_bytes;
  if (work.unsupported.empty()) work.unsupported = other.unsupported;
  work.prepare = [prepare, first = work.prepare, second = other.prepare](const Setup& setup) {
    return prepare(setup, first(setup), second(setup));
  };
  return work;
}

Case beside(Case work, const Case& other, Times times) {
  const auto pair_of = [first = work.prepare, second = other.prepare](const Setup& setup) {
    return std::make_unique<PreparedBeside>(setup, first(setup), second(setup));
  };
  Case both = together(std::move(work), other, nullptr);
  both.prepare = [pair_of, times](const Setup& setup) -> std::unique_ptr<Prepared> {
    Repetitions repetitions;
    // On arrays of their own: what trials leave behind would pass for what the verified launch writes.
    if (setup.time && times == Times::repeated) repetitions = pair_of(setup)->count(setup);
    auto made = pair_of(setup);
    made->repeat(repetitions);
    return made;
  };
  if (both.unsupported.empty() && !&cuda::side_stream) both.unsupported = "this build has no second stream for the device";
  return both;
}

Shape shape_beside(const Case& product, const Shape& beside) {
  Shape shape = {{"side", value_of(product.shape, "m")}};
  shape.insert(shape.end(), beside.begin(), beside.end());
  for (const char* key : {"impl", "cache"}) shape.emplace_back(key, value_of(product.shape, key));
  return shape;
}

}  // namespace roofmark
