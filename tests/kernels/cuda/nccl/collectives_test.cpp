// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>
#include <vector>

#include "harness/device/cuda_device.hpp"
#include "kernels/base/check.hpp"
#include "kernels/collective_data.hpp"
#include "kernels/cuda/nccl/nccl.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// NCCL's library, or a visible reason why it is not there.
class NcclLibrary : public testing::Test {
 protected:
  void SetUp() override {
    try {
      cuda::nccl.version();
    } catch (const Unsupported& unsupported) {
      GTEST_SKIP() << unsupported.what();
    }
  }
};

TEST_F(NcclLibrary, SaysWhichVersionItIs) {
  EXPECT_GE(cuda::nccl.version(), 21900);
  EXPECT_THAT(cuda::Nccl::loaded().name(), StartsWith("NCCL 2."));
}

TEST_F(NcclLibrary, SaysThatItNeedsAGpu) {
  if (!cuda_devices().ordinals.empty()) GTEST_SKIP() << "here is one";
  try {
    cuda::nccl.create(std::string(NCCL_UNIQUE_ID_BYTES, '\0'), 1, 0);
    FAIL() << "a communicator without a GPU";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("NCCL needs a GPU, and none is usable"), HasSubstr("cudaError")));
    EXPECT_FALSE(error.sticky());
  }
  EXPECT_THROW(cuda::nccl.create_all({0, 1}), DeviceError);
}

TEST_F(NcclLibrary, ExplainsItsStatuses) {
  EXPECT_TRUE(describe_status(ncclSuccess).ok);
  const StatusText usage = describe_status(ncclInvalidUsage);
  EXPECT_FALSE(usage.ok);
  EXPECT_FALSE(usage.sticky);
  EXPECT_THAT(usage.text, AllOf(StartsWith(cuda::Nccl::loaded().name() + ": "), HasSubstr("invalid usage")));
  EXPECT_TRUE(describe_status(ncclRemoteError).sticky);
}

// What NCCL says while it finds its network, which takes no GPU.
TEST_F(NcclLibrary, ItsLogIsReadWhileItIsTracedAndShutOtherwise) {
  if (!cuda::Nccl::loaded().reset_log) GTEST_SKIP() << cuda::Nccl::loaded().name() << " cannot be asked for its log";
  std::string told;
  {
    const cuda::NcclTrace trace;
    EXPECT_EQ(cuda::nccl.unique_id().size(), std::size_t{NCCL_UNIQUE_ID_BYTES});
    told = trace.text();
    if (told.empty()) GTEST_SKIP() << "NCCL said nothing: its log goes elsewhere, or it was used before";
    EXPECT_STREQ(std::getenv("NCCL_DEBUG"), "INFO");
  }
  EXPECT_THAT(told, HasSubstr("NCCL INFO "));
  EXPECT_STREQ(std::getenv("NCCL_DEBUG"), "WARN");
  EXPECT_EQ(cuda::NcclTrace().text(), "") << "what was told before";
}

TEST_F(NcclLibrary, ReducesWhatTheVersionAndTheGpuCan) {
  EXPECT_FALSE(cuda::nccl_reduces(DataType::tf32, Reduction::sum, 2, 90));
  EXPECT_TRUE(cuda::nccl_reduces(DataType::bf16, Reduction::avg, 1, 80));
  const bool fp8 = cuda::nccl.version() >= 22400;
  EXPECT_EQ(cuda::nccl_reduces(DataType::fp8, Reduction::sum, 2, 90), fp8);
  EXPECT_EQ(cuda::nccl_reduces(DataType::fp8, Reduction::avg, 2, 90), fp8);
  EXPECT_FALSE(cuda::nccl_reduces(DataType::fp8, Reduction::avg, 1, 90));
  EXPECT_EQ(cuda::nccl_reduces(DataType::fp8, Reduction::avg, 1023, 90), fp8);
  EXPECT_FALSE(cuda::nccl_reduces(DataType::fp8, Reduction::avg, 1024, 90));
  EXPECT_EQ(cuda::nccl_reduces(DataType::fp8, Reduction::sum, 1024, 90), fp8);
  EXPECT_FALSE(cuda::nccl_reduces(DataType::fp8, Reduction::sum, 2, 89));
}

/// A communicator of one rank: every collective is a copy, or a scaling by 1.
class NcclCommunicatorTest : public NcclLibrary {
 protected:
  void SetUp() override {
    NcclLibrary::SetUp();
    if (IsSkipped()) return;
    const CudaDevices devices = cuda_devices();
    if (devices.ordinals.empty()) GTEST_SKIP() << "no GPU: " << devices.reason;
    device_ = open_cuda_device(devices.ordinals.front());
    communicator_ = cuda::nccl.create(cuda::nccl.unique_id(), 1, 0);
  }

  void fill(DataType type, void* in) { cuda::collective_data.fill(type, in, kCount, kData, 0, 0, device_->stream()); }

  /// The largest error of `out`, which is to hold what the rank brings.
  double error(DataType type, const void* out) {
    const Memory expected = device_->allocate(kCount * sizeof(double)), scale = device_->allocate(kCount * sizeof(double));
    cuda::collective_data.expect_reduced(type, Reduction::sum, static_cast<double*>(expected.get()),
                                         static_cast<double*>(scale.get()), kCount, kData, 0, device_->stream());
    return device_
        ->compare(type, out, kCount, static_cast<const double*>(expected.get()), static_cast<const double*>(scale.get()))
        .worst;
  }

  /// Odd; of some lengths, 4099 doubles among them, NCCL before 2.29.7 leaves the end out of an average over one rank.
  static constexpr std::size_t kCount = 4095;
  static constexpr CollectiveData kData = {11, 1};
  std::unique_ptr<Device> device_;
  std::unique_ptr<Communicator> communicator_;
};

TEST_F(NcclCommunicatorTest, DoesEveryCollectiveOfEveryType) {
  for (const Collective op : kCollectives) {
    for (const DataType type :
         {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16, DataType::fp8, DataType::int8, DataType::int32}) {
      for (const Reduction reduction : kReductions) {
        if (op == Collective::ping_pong || !communicator_->supports(op, type, reduction)) continue;
        SCOPED_TRACE(std::string(name(op)) + " " + std::string(name(type)) + " " + std::string(name(reduction)));
        const std::size_t bytes = kCount * size_of(type);
        const Memory in = device_->allocate(bytes), out = device_->allocate(bytes);
        fill(type, in.get());
        device_->poison(out.get(), bytes);
        EXPECT_NE(error(type, out.get()), 0);  // of floating types a NaN
        communicator_->enqueue({op, type, reduction, 0, -1, in.get(), out.get(), kCount}, device_->stream());
        EXPECT_EQ(error(type, out.get()), 0);
        if (communicator_->in_place_offset(op) < 0) continue;
        communicator_->enqueue({op, type, reduction, 0, -1, in.get(), in.get(), kCount}, device_->stream());
        EXPECT_EQ(error(type, in.get()), 0) << "in place";
      }
    }
  }
  EXPECT_NO_THROW(communicator_->check_health());
  EXPECT_EQ(communicator_->library(), cuda::Nccl::loaded().name());
}

TEST_F(NcclCommunicatorTest, IsCapturedInAGraphAndBesideOtherWork) {
  const std::size_t bytes = kCount * sizeof(float);
  const Memory in = device_->allocate(bytes), out = device_->allocate(bytes), other = device_->allocate(bytes);
  const CollectiveCall call = {Collective::all_reduce, DataType::fp32, Reduction::sum, 0, -1, in.get(), out.get(), kCount};
  fill(DataType::fp32, in.get());
  device_->poison(out.get(), bytes);
  device_->poison(other.get(), bytes);
  const auto batch = device_->batch({.path = Issue::graph, .launches = 3}, [&](Stream stream, int) {
    communicator_->enqueue_beside(
        call, stream, [&] { cuda::collective_data.fill(DataType::fp32, other.get(), kCount, kData, 0, 0, stream); });
  });
  batch->run();
  EXPECT_EQ(batch->path(), Issue::graph);
  EXPECT_EQ(error(DataType::fp32, out.get()), 0);
  EXPECT_EQ(error(DataType::fp32, other.get()), 0);
}

TEST_F(NcclCommunicatorTest, AllocatesRegisteredAndSymmetricMemory) {
  for (const Buffer buffer : {Buffer::registered, Buffer::symmetric}) {
    SCOPED_TRACE(name(buffer));
    try {
      const auto in = communicator_->allocate(kCount * sizeof(float), buffer),
                 out = communicator_->allocate(kCount * sizeof(float), buffer);
      fill(DataType::fp32, in.get());
      communicator_->enqueue({Collective::all_reduce, DataType::fp32, Reduction::sum, 0, -1, in.get(), out.get(), kCount},
                             device_->stream());
      EXPECT_EQ(error(DataType::fp32, out.get()), 0);
    } catch (const Unsupported& unsupported) {
      EXPECT_THAT(unsupported.what(), HasSubstr("NCCL")) << "says who cannot";
    }
  }
  EXPECT_THROW(communicator_->allocate(std::size_t{1} << 50, Buffer::registered), OutOfMemory);
}

/// A rank per GPU of this process, all driven by this thread.
class NcclRanksOfAProcess : public NcclLibrary {
 protected:
  void SetUp() override {
    NcclLibrary::SetUp();
    if (IsSkipped()) return;
    const std::vector<int> ordinals = cuda_devices().ordinals;
    if (ordinals.size() < 2) GTEST_SKIP() << "takes two GPUs";
    communicators_ = cuda::nccl.create_all(ordinals);
    for (const int ordinal : ordinals) {
      Device& device = *devices_.emplace_back(open_cuda_device(ordinal));
      in_.push_back(device.allocate(kCount * sizeof(float)));
      out_.push_back(device.allocate(kCount * sizeof(float)));
      const int rank = static_cast<int>(in_.size()) - 1;
      cuda::collective_data.fill(DataType::fp32, in_.back().get(), kCount, data(), rank, 0, device.stream());
      device.poison(out_.back().get(), kCount * sizeof(float));
    }
  }

  int size() const { return static_cast<int>(cuda_devices().ordinals.size()); }
  CollectiveData data() const { return {12, size()}; }

  std::vector<RankCall> calls(Collective op) const {
    std::vector<RankCall> all;
    for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
      all.push_back(
          {communicators_[rank].get(), {op, DataType::fp32, Reduction::sum, 0, -1, in_[rank].get(), out_[rank].get(), kCount}});
    }
    return all;
  }

  /// Whether this rank's output is the sum of all inputs, or the input of the rank `from`.
  void expect(std::size_t rank, std::optional<int> from = {}) {
    Device& device = *devices_[rank];
    const Memory expected = device.allocate(kCount * sizeof(double)), scale = device.allocate(kCount * sizeof(double));
    auto *values = static_cast<double*>(expected.get()), *scales = static_cast<double*>(scale.get());
    cuda::collective_data.expect_reduced(DataType::fp32, Reduction::sum, values, scales, kCount, data(), 0, device.stream());
    if (from) cuda::collective_data.expect(DataType::fp32, values, kCount, data(), *from, 0, device.stream());
    EXPECT_EQ(device.compare(DataType::fp32, out_[rank].get(), kCount, values, scales).worst, 0) << device.info().id;
  }

  static constexpr std::size_t kCount = 10003;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Memory> in_, out_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

TEST_F(NcclRanksOfAProcess, ReduceTogether) {
  for (int i = 0; i < 3; ++i) cuda::nccl.enqueue_all(calls(Collective::all_reduce), devices_.front()->stream());
  devices_.front()->synchronize();
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    expect(rank);
    EXPECT_EQ(communicators_[rank]->rank(), static_cast<int>(rank));
    EXPECT_EQ(communicators_[rank]->size(), size());
    EXPECT_NO_THROW(communicators_[rank]->check_health());
  }
}

TEST_F(NcclRanksOfAProcess, AreCapturedInAGraph) {
  const auto batch = devices_.front()->batch({.path = Issue::graph, .launches = 3}, [&](Stream stream, int) {
    cuda::nccl.enqueue_all(calls(Collective::all_reduce), stream);
  });
  batch->run();
  EXPECT_EQ(batch->path(), Issue::graph);
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) expect(rank);
}

TEST_F(NcclRanksOfAProcess, SendAroundARing) {
  cuda::nccl.enqueue_all(calls(Collective::send_recv), devices_.front()->stream());
  devices_.front()->synchronize();
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    expect(rank, (static_cast<int>(rank) + size() - 1) % size());
  }
}

// The reply sends what the message brought.
TEST_F(NcclRanksOfAProcess, SendAMessageAndItsReply) {
  std::vector<RankCall> both = calls(Collective::ping_pong);
  both[0].call.peer = 1;
  both[1].call.peer = 0;
  both[1].call.in = nullptr;
  cuda::nccl.enqueue_all(both, devices_.front()->stream());
  devices_.front()->synchronize();
  for (const std::size_t rank : {0, 1}) expect(rank, 0);
}

TEST_F(NcclRanksOfAProcess, HaveRegisteredButNoSymmetricMemory) {
  EXPECT_THROW(communicators_[1]->allocate(64, Buffer::symmetric), Unsupported);
  EXPECT_NE(communicators_[1]->allocate(64, Buffer::registered), nullptr);
}

}  // namespace
}  // namespace roofmark
