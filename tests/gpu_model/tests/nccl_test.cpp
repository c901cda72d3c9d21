// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "../nccl/endpoint.hpp"

namespace gpu_model {
namespace {

using testing::Each;
using testing::ElementsAre;

/// Read before the first call of the runtime.
[[maybe_unused]] const int four_devices = ::setenv("GPUMODEL_DEVICES", "4", 1);

/// An array on a GPU.
template <class T>
class Array {
 public:
  Array(int device, const std::vector<T>& values) : count_(values.size()) {
    cudaSetDevice(device);
    void* data = nullptr;
    EXPECT_EQ(cudaMalloc(&data, count_ * sizeof(T)), cudaSuccess);
    data_ = std::shared_ptr<void>(data, cudaFree);
    cudaMemcpy(data, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  T* get() const { return static_cast<T*>(data_.get()); }
  std::vector<T> values() const {
    std::vector<T> copy(count_);
    cudaMemcpy(copy.data(), get(), count_ * sizeof(T), cudaMemcpyDeviceToHost);
    return copy;
  }

 private:
  std::size_t count_;
  std::shared_ptr<void> data_;
};

/// A communicator of `ranks` GPUs, with a stream for each.
class Nccl : public testing::Test {
 protected:
  void make(int ranks) {
    comms.resize(static_cast<std::size_t>(ranks));
    ASSERT_EQ(ncclCommInitAll(comms.data(), ranks, nullptr), ncclSuccess);
    for (int rank = 0; rank < ranks; ++rank) {
      cudaSetDevice(rank);
      cudaStreamCreateWithFlags(&streams.emplace_back(), cudaStreamNonBlocking);
    }
  }
  void synchronize() {
    for (cudaStream_t stream : streams) EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
  void TearDown() override {
    for (ncclComm_t comm : comms) ncclCommAbort(comm);
    for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
  }

  /// What each rank gets of an all-reduce to which rank r brings values[r].
  template <class T>
  std::vector<std::vector<T>> all_reduce(ncclDataType_t type, ncclRedOp_t op, const std::vector<std::vector<T>>& values) {
    make(static_cast<int>(values.size()));
    std::vector<Array<T>> arrays;
    for (const auto& brought : values) arrays.emplace_back(static_cast<int>(arrays.size()), brought);
    ncclGroupStart();
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
      T* data = arrays[rank].get();
      EXPECT_EQ(ncclAllReduce(data, data, values[rank].size(), type, op, comms[rank], streams[rank]), ncclSuccess);
    }
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    synchronize();
    std::vector<std::vector<T>> got;
    for (const auto& array : arrays) got.push_back(array.values());
    return got;
  }

  std::vector<ncclComm_t> comms;
  std::vector<cudaStream_t> streams;
};

TEST_F(Nccl, AddsLongIntegersExactly) {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  EXPECT_THAT(all_reduce<std::int64_t>(ncclInt64, ncclSum, {{large}, {large}, {-3}}),
              Each(ElementsAre((std::int64_t{1} << 61) - 1)));
}

TEST_F(Nccl, WrapsUnsignedIntegersAround) {
  EXPECT_THAT(all_reduce<std::uint8_t>(ncclUint8, ncclSum, {{200, 1}, {100, 2}}), Each(ElementsAre(44, 3)));
}

TEST_F(Nccl, AveragesIntegersTowardsZero) {
  EXPECT_THAT(all_reduce<std::int8_t>(ncclInt8, ncclAvg, {{-3, 5}, {-4, 4}}), Each(ElementsAre(-3, 4)));
}

TEST_F(Nccl, RoundsEightBitFloatsToNearestEvenAndSaturates) {
  // e5m2: 1 + 0.125 is a tie and goes down to 1, 1.25 + 0.125 goes up to 1.5; 57344 is the largest number.
  EXPECT_THAT(all_reduce<std::uint8_t>(ncclFloat8e5m2, ncclSum, {{0x3c, 0x3d, 0x7b}, {0x30, 0x30, 0x7b}}),
              Each(ElementsAre(0x3c, 0x3e, 0x7b)));
}

TEST_F(Nccl, AllRanksGetTheSameBits) {
  std::vector<std::vector<float>> values(4, std::vector<float>(40'000));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    for (std::size_t i = 0; i < values[rank].size(); ++i) {
      values[rank][i] = 1.0F / static_cast<float>(1 + i * (2 * rank + 1));
    }
  }
  const auto got = all_reduce<float>(ncclFloat32, ncclSum, values);
  EXPECT_THAT(got, Each(got.front()));
  EXPECT_FLOAT_EQ(got[0][39'999], values[0][39'999] + values[1][39'999] + values[2][39'999] + values[3][39'999]);
}

TEST_F(Nccl, MessagesLongerThanAPipeArriveInOrder) {
  make(3);
  constexpr std::size_t length = 700'001;
  std::vector<Array<char>> sent, received;
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<char> values(length);
    std::iota(values.begin(), values.end(), static_cast<char>(7 * rank));
    sent.emplace_back(rank, values);
    received.emplace_back(rank, std::vector<char>(3 * (length + 1), '\0'));
  }
  // Each rank sends the last element and then all to each rank, itself among them.
  ncclGroupStart();
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (int peer = 0; peer < 3; ++peer) {
      char* to = received[rank].get() + static_cast<std::size_t>(peer) * (length + 1);
      ncclSend(sent[rank].get() + length - 1, 1, ncclInt8, peer, comms[rank], streams[rank]);
      ncclSend(sent[rank].get(), length, ncclInt8, peer, comms[rank], streams[rank]);
      ncclRecv(to, 1, ncclInt8, peer, comms[rank], streams[rank]);
      ncclRecv(to + 1, length, ncclInt8, peer, comms[rank], streams[rank]);
    }
  }
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  synchronize();
  std::vector<char> expected;
  for (const auto& array : sent) {
    const std::vector<char> values = array.values();
    expected.push_back(values.back());
    expected.insert(expected.end(), values.begin(), values.end());
  }
  for (const auto& array : received) EXPECT_EQ(array.values(), expected);
}

TEST_F(Nccl, RanksThatCallDifferentCollectivesWaitUntilTheyAreAborted) {
  make(2);
  const Array<float> first(0, std::vector<float>(8)), second(1, std::vector<float>(8));
  testing::internal::CaptureStderr();
  ASSERT_EQ(ncclAllReduce(first.get(), first.get(), 4, ncclFloat32, ncclSum, comms[0], streams[0]), ncclSuccess);
  ASSERT_EQ(ncclAllGather(second.get(), second.get(), 4, ncclFloat32, comms[1], streams[1]), ncclSuccess);
  auto done = std::async(std::launch::async, [&] { cudaStreamSynchronize(streams[0]); });
  EXPECT_EQ(done.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  EXPECT_EQ(cudaStreamQuery(streams[1]), cudaErrorNotReady);
  ncclCommAbort(comms[0]);
  done.wait();
  EXPECT_EQ(cudaStreamQuery(streams[1]), cudaErrorNotReady) << "the other rank is not told";
  ncclCommAbort(comms[1]);
  synchronize();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("rank 0 calls all_reduce of 16 bytes, type 7, operation 0, root 0; rank 1 calls all_gather"));
}

TEST_F(Nccl, AGraphOnOneRankAndAStreamOnAnotherWaitUntilTheyAreAborted) {
  make(2);
  const Array<float> first(0, std::vector<float>(8)), second(1, std::vector<float>(8));
  testing::internal::CaptureStderr();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaSetDevice(0);
  cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal);
  ASSERT_EQ(ncclAllReduce(first.get(), first.get(), 4, ncclFloat32, ncclSum, comms[0], streams[0]), ncclSuccess);
  ASSERT_EQ(cudaStreamEndCapture(streams[0], &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, streams[0]), cudaSuccess);
  ASSERT_EQ(ncclAllReduce(second.get(), second.get(), 4, ncclFloat32, ncclSum, comms[1], streams[1]), ncclSuccess);
  auto done = std::async(std::launch::async, [&] { cudaStreamSynchronize(streams[1]); });
  EXPECT_EQ(done.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  for (ncclComm_t comm : comms) ncclCommAbort(comm);
  done.wait();
  synchronize();
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("root 0, captured in a graph"));
}

TEST_F(Nccl, ToDestroyWaitsForAGraphThatHasCapturedACall) {
  make(1);
  const Array<float> data(0, {1, 2, 3});
  cudaGraph_t graph = nullptr;
  cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal);
  ASSERT_EQ(ncclAllReduce(data.get(), data.get(), 3, ncclFloat32, ncclSum, comms[0], streams[0]), ncclSuccess);
  ASSERT_EQ(cudaStreamEndCapture(streams[0], &graph), cudaSuccess);
  auto done = std::async(std::launch::async, [&] { return ncclCommDestroy(comms[0]); });
  EXPECT_EQ(done.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  cudaGraphDestroy(graph);
  EXPECT_EQ(done.get(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(data.get(), data.get(), 3, ncclFloat32, ncclSum, comms[0], streams[0]), ncclInvalidArgument);
}

TEST_F(Nccl, RefusesIdsAndRanksThatDoNotFit) {
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclInvalidArgument) << "no id";
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument) << "no such rank";
  comms.resize(2);
  ncclGroupStart();
  cudaSetDevice(0);
  EXPECT_EQ(ncclCommInitRank(comms.data(), 2, id, 0), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comm, 3, id, 1), ncclInvalidArgument) << "another size";
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 0), ncclInvalidArgument) << "a rank that has joined";
  cudaSetDevice(1);
  EXPECT_EQ(ncclCommInitRank(&comms[1], 2, id, 1), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_NE(ncclCommInitRank(&comm, 2, id, 0), ncclSuccess) << "ranks that have met";
}

TEST_F(Nccl, RefusesTwoRanksOnOneGpu) {
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  comms.resize(2);
  cudaSetDevice(0);
  ncclGroupStart();
  EXPECT_EQ(ncclCommInitRank(comms.data(), 2, id, 0), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comms[1], 2, id, 1), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(nullptr), testing::StartsWith("Duplicate GPU detected : rank 1 and rank 0"));
}

TEST_F(Nccl, RegistersWindowsOfItsOwnMemoryAlone) {
  make(1);
  const Array<float> foreign(0, {1, 2, 3});
  void* memory = nullptr;
  ASSERT_EQ(ncclMemAlloc(&memory, 4096), ncclSuccess);
  ncclWindow_t window = nullptr;
  EXPECT_EQ(ncclCommWindowRegister(comms[0], foreign.get(), 8, &window, 1), ncclUnhandledCudaError);
  EXPECT_EQ(ncclCommWindowRegister(comms[0], memory, 0, &window, 1), ncclInvalidArgument);
  ASSERT_EQ(ncclCommWindowRegister(comms[0], memory, 4096, &window, 1), ncclSuccess);
  EXPECT_EQ(ncclMemFree(memory), ncclInvalidUsage) << "it is registered";
  EXPECT_EQ(ncclCommWindowDeregister(comms[0], window), ncclSuccess);
  EXPECT_EQ(ncclCommWindowDeregister(comms[0], window), ncclInvalidArgument);
  void* handle = nullptr;
  ASSERT_EQ(ncclCommRegister(comms[0], memory, 4096, &handle), ncclSuccess);
  EXPECT_EQ(ncclMemFree(memory), ncclInvalidUsage) << "it is registered";
  ncclCommAbort(comms[0]);
  EXPECT_EQ(ncclCommDeregister(comms[0], handle), ncclInvalidArgument) << "the communicator is gone";
  EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
}

/// A rank of a process of its own, which does what it is told by a byte: to leave, or to end.
class OtherProcess {
 public:
  OtherProcess(const std::string& id, const nccl::Location& location) {
    EXPECT_EQ(::pipe(told_), 0);
    process_ = ::fork();
    if (process_ != 0) return;
    ::close(told_[1]);
    nccl::Endpoint endpoint(id, 2, 1, location);
    for (char word = 0; ::read(told_[0], &word, 1) == 1;) endpoint.leave();
    ::_exit(0);
  }
  ~OtherProcess() {
    end();
    ::close(told_[0]);
  }
  void leave() const { EXPECT_EQ(::write(told_[1], "l", 1), 1); }
  void end() {
    if (process_ == 0) return;
    ::close(told_[1]);
    ::waitpid(std::exchange(process_, 0), nullptr, 0);
  }

 private:
  int told_[2] = {};
  pid_t process_ = 0;
};

TEST(NcclEndpoint, WaitsForTheRanksOfItsHostToLeaveOrEnd) {
  const nccl::Location here{.host = 1}, there{.host = 2};
  for (const bool leaves : {true, false}) {
    const std::string id = nccl::Endpoint::create();
    OtherProcess other(id, here);
    nccl::Endpoint own(id, 2, 0, here);
    ASSERT_TRUE(own.wait_for(1, "the test"));
    own.leave();
    auto done = std::async(std::launch::async, [&] { own.wait_for_host("the test"); });
    EXPECT_EQ(done.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
    leaves ? other.leave() : other.end();
    EXPECT_EQ(done.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
  const std::string id = nccl::Endpoint::create();
  const OtherProcess other(id, there);
  nccl::Endpoint own(id, 2, 0, here);
  ASSERT_TRUE(own.wait_for(1, "the test"));
  own.leave();
  own.wait_for_host("the test");  // at once
}

}  // namespace
}  // namespace gpu_model
