// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/beside.hpp"

#include "harness/measure/slots.hpp"
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

namespace {

class PreparedBeside final : public PreparedPair {
 public:
  PreparedBeside(const Setup& setup, std::unique_ptr<Prepared> work, std::unique_ptr<Prepared> other)
      : PreparedPair(std::move(work), std::move(other)) {
    setup.device.stream();  // makes the device the current one
    side_ = cuda::side_stream.make();
  }

  void launch(Stream stream, int slot) override {
    other_->launch(side_->fork(stream), slot);
    work_->launch(stream, slot);
    side_->join(stream);
  }

 private:
  std::unique_ptr<SideStream> side_;
};

}  // namespace

Case together(Case work, const Case& other, PreparePair prepare) {
  Phase& demands = work.work.phases.front();
  for (const Phase& more : other.work.phases) demands.insert(demands.end(), more.begin(), more.end());
  work.touched_bytes = touched_bytes(work) + touched_bytes(other);
  work.slot_bytes += other.slot_bytes;
  work.shared_bytes += other.shared_bytes;
  if (work.unsupported.empty()) work.unsupported = other.unsupported;
  work.prepare = [prepare, first = work.prepare, second = other.prepare](const Setup& setup) {
    return prepare(setup, first(setup), second(setup));
  };
  return work;
}

Case beside(Case work, const Case& other) {
  Case both = together(
      std::move(work), other,
      [](const Setup& setup, std::unique_ptr<Prepared> first, std::unique_ptr<Prepared> second) -> std::unique_ptr<Prepared> {
        return std::make_unique<PreparedBeside>(setup, std::move(first), std::move(second));
      });
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
