// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/beside.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/side_stream.hpp"

namespace roofmark {

namespace {

class PreparedBeside final : public Prepared {
 public:
  PreparedBeside(const Setup& setup, std::unique_ptr<Prepared> work, std::unique_ptr<Prepared> other)
      : work_(std::move(work)), other_(std::move(other)) {
    setup.device.stream();  // makes the device the current one
    side_ = cuda::side_stream.make();
  }

  void launch(Stream stream, int slot) override {
    other_->launch(side_->fork(stream), slot);
    work_->launch(stream, slot);
    side_->join(stream);
  }
  void reset(int slot) override {
    work_->reset(slot);
    other_->reset(slot);
  }
  bool needs_reset() const override { return work_->needs_reset() || other_->needs_reset(); }
  bool accumulates() const override { return work_->accumulates() || other_->accumulates(); }
  Verification verify(int slot) override {
    const Verification work = work_->verify(slot);
    return work.status == Verification::Status::passed ? other_->verify(slot) : work;
  }
  std::vector<Output> outputs(int slot) override {
    std::vector<Output> all = work_->outputs(slot);
    for (const Output& output : other_->outputs(slot)) all.push_back(output);
    return all;
  }
  bool outputs_are_all() const override { return work_->outputs_are_all() && other_->outputs_are_all(); }
  std::string fingerprint_key() const override { return work_->fingerprint_key(); }
  std::vector<std::pair<std::string, std::string>> notes() const override { return work_->notes(); }

 private:
  std::unique_ptr<Prepared> work_, other_;
  std::unique_ptr<SideStream> side_;
};

}  // namespace

Case beside(Case work, const Case& other) {
  Phase& demands = work.work.phases.front();
  const Phase& more = other.work.phases.front();
  demands.insert(demands.end(), more.begin(), more.end());
  work.slot_bytes += other.slot_bytes;
  work.touched_bytes += other.touched_bytes;
  work.shared_bytes += other.shared_bytes;
  if (work.unsupported.empty()) work.unsupported = other.unsupported;
  if (work.unsupported.empty() && !&cuda::side_stream) work.unsupported = "this build has no second stream for the device";
  work.prepare = [first = work.prepare, second = other.prepare](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedBeside>(setup, first(setup), second(setup));
  };
  return work;
}

}  // namespace roofmark
