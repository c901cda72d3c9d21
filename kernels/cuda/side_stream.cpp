// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/side_stream.hpp"

#include "kernels/base/cuda.hpp"

namespace roofmark::cuda {

namespace {

class CudaSideStream final : public SideStream {
 public:
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
  OwnedStream side_ = make_stream();
  OwnedEvent fork_ = make_event(cudaEventDisableTiming), join_ = make_event(cudaEventDisableTiming);
};

std::unique_ptr<SideStream> make_side_stream() { return std::make_unique<CudaSideStream>(); }

}  // namespace

const SideStreamKernels side_stream = {make_side_stream};

}  // namespace roofmark::cuda
