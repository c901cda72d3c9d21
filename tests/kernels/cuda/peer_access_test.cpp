// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/peer_access.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "harness/device/device.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/side_stream.hpp"
#include "kernels/transfer.hpp"

namespace roofmark {
namespace {

using Bytes = std::vector<unsigned char>;
constexpr std::size_t kBytes = 10007;

class PeerAccess : public testing::Test {
 protected:
  void SetUp() override {
    try {
      for (const char* id : {"cuda:0", "cuda:1"}) devices_.push_back(open_device(id));
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, 0, 1));
    can_ = can != 0;
    devices_.front()->stream();
  }

  bool enabled(int device, int peer) const {
    devices_[static_cast<std::size_t>(device)]->stream();
    const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
    cudaGetLastError();
    if (status == cudaSuccess) check(cudaDeviceDisablePeerAccess(peer));
    devices_.front()->stream();
    return status == cudaErrorPeerAccessAlreadyEnabled;
  }

  std::vector<std::unique_ptr<Device>> devices_;
  bool can_ = false;
};

TEST_F(PeerAccess, IsHeldForAsLongAsItIsWantedAndThenAsBefore) {
  if (!can_) GTEST_SKIP() << "the driver refuses access";
  {
    const auto access = cuda::peer_access.hold(1, 0, true);
    EXPECT_TRUE(enabled(1, 0));
    EXPECT_FALSE(enabled(0, 1)) << "of one to the other";
    { const auto again = cuda::peer_access.hold(1, 0, true); }
    EXPECT_TRUE(enabled(1, 0)) << "the first still wants it";
    EXPECT_THROW(cuda::peer_access.hold(1, 0, false), std::logic_error);
  }
  EXPECT_FALSE(enabled(1, 0));
  int current = -1;
  check(cudaGetDevice(&current));
  EXPECT_EQ(current, 0);
}

TEST_F(PeerAccess, OfAnotherLibraryIsGivenBack) {
  if (!can_) GTEST_SKIP() << "the driver refuses access";
  check(cudaDeviceEnablePeerAccess(1, 0));
  {
    const auto none = cuda::peer_access.hold(0, 1, false);
    EXPECT_FALSE(enabled(0, 1));
  }
  EXPECT_TRUE(enabled(0, 1));
  { const auto access = cuda::peer_access.hold(0, 1, true); }
  EXPECT_TRUE(enabled(0, 1)) << "who did not enable it does not disable it";
  check(cudaDeviceDisablePeerAccess(1));
}

TEST_F(PeerAccess, ThatIsRefusedIsUnsupported) {
  if (can_) GTEST_SKIP() << "the driver grants access";
  EXPECT_THROW(cuda::peer_access.hold(0, 1, true), Unsupported);
  EXPECT_NO_THROW(cuda::peer_access.hold(0, 1, false));
}

TEST_F(PeerAccess, CopiesBetweenGpusWithAndWithoutIt) {
  const Memory source = devices_[0]->allocate(kBytes), target = devices_[1]->allocate(kBytes);
  devices_[0]->fill(source.get(), DataType::int8, kBytes, {Distribution::normal, 1, 0});
  Bytes expected(kBytes), got(kBytes);
  devices_[0]->to_host(expected.data(), source.get(), kBytes);
  for (const bool access : {false, true}) {
    if (access && !can_) continue;
    for (const int mover : {0, 1}) {
      SCOPED_TRACE(testing::Message() << "access " << access << ", by cuda:" << mover);
      const auto one = cuda::peer_access.hold(0, 1, access), other = cuda::peer_access.hold(1, 0, access);
      Device& device = *devices_[static_cast<std::size_t>(mover)];
      const auto arrives = [&](const char* how, const auto& copy) {
        devices_[1]->poison(target.get(), kBytes);
        copy(CopyRange{target.get(), source.get(), kBytes}, device.stream());
        device.synchronize();
        devices_[1]->to_host(got.data(), target.get(), kBytes);
        EXPECT_EQ(got, expected) << how;
      };
      arrives("copy engine", [](const CopyRange& range, Stream stream) { cuda::transfer.between_gpus(range, stream); });
      if (access) arrives("SMs", [](const CopyRange& range, Stream stream) { cuda::transfer.by_sm(range, 1, stream); });
    }
  }
}

TEST_F(PeerAccess, AStreamOfAnotherDeviceForksAndJoins) {
  constexpr int kTimes = 20;
  const Memory first = devices_[0]->allocate(kBytes), second = devices_[1]->allocate(kBytes);
  const Stream stream = devices_[0]->stream();
  const auto side = cuda::side_stream.make_on(1);
  for (int i = 0; i < kTimes; ++i) {
    check(cudaMemsetAsync(first.get(), i, kBytes, stream));
    const Stream other = side->fork(stream);
    EXPECT_NE(other, stream);
    check(cudaMemcpyPeerAsync(second.get(), 1, first.get(), 0, kBytes, other));
    side->join(stream);
  }
  devices_[0]->synchronize();  // waits for the other device's stream too
  Bytes got(kBytes);
  devices_[1]->to_host(got.data(), second.get(), kBytes);
  EXPECT_EQ(got, Bytes(kBytes, kTimes - 1));
}

}  // namespace
}  // namespace roofmark
