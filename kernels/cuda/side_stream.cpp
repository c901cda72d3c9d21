// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/side_stream.hpp"

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/on_device.hpp"

namespace roofmark::cuda {

namespace {

class CudaSideStream final : public SideStream {
 public:
  explicit CudaSideStream(int device) {
    const OnDevice here(device);
    side_ = make_stream();
    join_ = make_event(cudaEventDisableTiming);
  }

  Stream fork(Stream stream) override {
    check(cudaEventRecord(fork_.get(), stream));
    check(cudaStreamWaitEvent(side_.get(), fork_.get(), 0));
    return side_.get();
  }
  void join(Stream stream) override {
    check(cudaEventRecord(join_.get(), side_.get()));
    check(cudaStreamWaitEvent(stream, join_.get(), 0));
  }

 private:
  OwnedEvent fork_ = make_event(cudaEventDisableTiming);  // an event is of the device of the stream that records it
  OwnedStream side_;
  OwnedEvent join_;
};

std::unique_ptr<SideStream> make_on(int device) { return std::make_unique<CudaSideStream>(device); }

std::unique_ptr<SideStream> make_on_current() {
  int device = 0;
  check(cudaGetDevice(&device));
  return make_on(device);
}

}  // namespace

const SideStreamKernels side_stream = {make_on_current, make_on};

}  // namespace roofmark::cuda
