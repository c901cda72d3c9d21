// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/transfer.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

using Bytes = std::vector<unsigned char>;

class Transfer : public KernelTest<TransferKernels> {
 protected:
  Transfer() : KernelTest(&cuda::transfer, &cpu::transfer) {}

  /// Copies by all means between arrays at these offsets; everything else stays as it is.
  void copies(std::size_t bytes, std::size_t to_offset, std::size_t from_offset) {
    SCOPED_TRACE(testing::Message() << bytes << " bytes from " << from_offset << " to " << to_offset);
    // The source ends where its memory ends, so that reading beyond it is an error.
    const Memory source = device_->allocate(from_offset + bytes);
    auto* const from = static_cast<unsigned char*>(source.get()) + from_offset;
    device_->fill(from, DataType::int8, bytes, {Distribution::normal, 1, 0});
    Bytes expected(bytes);
    device_->to_host(expected.data(), from, bytes);
    const auto check = [&](const char* how, const auto& copy) {
      SCOPED_TRACE(how);
      const Array to(*device_, DataType::int8, static_cast<std::int64_t>(bytes), to_offset);
      copy(CopyRange{to.data(), from, bytes});
      device_->synchronize();
      Bytes got(bytes);
      device_->to_host(got.data(), to.data(), bytes);
      EXPECT_EQ(got, expected);
      EXPECT_TRUE(to.untouched_around());
    };
    const Stream stream = device_->stream();
    if (kernels_->between_gpus) {
      check("between GPUs", [&](const CopyRange& range) { kernels_->between_gpus(range, stream); });
    }
    if (kernels_->by_copy_engine)
      check("copy engine", [&](CopyRange range) {
        range.from = expected.data();
        kernels_->by_copy_engine(range, CopyWay::host_to_device, stream);
      });
    if (kernels_->by_sm) check("SM", [&](const CopyRange& range) { kernels_->by_sm(range, 1, stream); });
    if (kernels_->batch) {
      check("batch", [&](const CopyRange& range) {
        const std::size_t half = (range.bytes + 1) / 2;
        const auto part = [&](std::size_t begin, std::size_t end) {
          return CopyRange{static_cast<char*>(range.to) + begin, static_cast<const char*>(range.from) + begin, end - begin};
        };
        std::vector<CopyRange> parts = {part(0, half)};
        if (half < range.bytes) parts.push_back(part(half, range.bytes));
        kernels_->batch(parts)->launch(stream);
      });
    }
    if (!kernels_->by_threads) return;
    for (const std::vector<int>& threads : {std::vector{0}, {1}, {1, 0}}) {
      if (threads.front() >= device_->info().multiprocessors) continue;
      check("threads", [&](const CopyRange& range) { kernels_->by_threads(range, threads); });
    }
  }
};

TEST_P(Transfer, CopiesEveryByteAndNothingElse) {
  // One byte; less than a vector; a vector; heads and tails of each length; more than one thread's share.
  for (const std::size_t bytes : {1, 15, 16, 17, 33, 1009, 70001}) {
    for (const std::size_t offset : {0, 1, 15}) copies(bytes, offset, offset);
    copies(bytes, 0, 1);  // never aligned together
    copies(bytes, 5, 4);
  }
  copies((std::size_t{1} << 18) + 1, 3, 3);
}

TEST_P(Transfer, ThreadsAreFoundByTheirCpus) {
  if (!kernels_->threads_on) GTEST_SKIP() << "copies of the host alone";
  const auto all = static_cast<std::size_t>(device_->info().multiprocessors);
  EXPECT_EQ(kernels_->threads_on({}).size(), all) << "no thread runs there, so all copy";
  std::vector<int> cpus;
  for (int cpu = 0; cpu < 4096; ++cpu) cpus.push_back(cpu);
  EXPECT_EQ(kernels_->threads_on(cpus).size(), all);
}

TEST_P(Transfer, SmsReachHostMemory) {
  if (!kernels_->by_sm) GTEST_SKIP() << "no SMs";
  constexpr std::size_t kBytes = 10007, kOffset = 3;
  for (const HostMemoryKind kind : {HostMemoryKind::pinned, HostMemoryKind::registered, HostMemoryKind::write_combined}) {
    SCOPED_TRACE(name(kind));
    const Memory host = device_->allocate_host(kOffset + kBytes, {kind, {}, false});
    const Memory device = device_->allocate(kBytes);
    auto* const bytes = static_cast<unsigned char*>(host.get()) + kOffset;
    for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<unsigned char>(i * 7);
    const Bytes expected(bytes, bytes + kBytes);
    auto* const reached = static_cast<unsigned char*>(kernels_->device_address(host.get())) + kOffset;
    kernels_->by_sm({device.get(), reached, kBytes}, 1, device_->stream());
    device_->synchronize();
    Bytes got(kBytes);
    device_->to_host(got.data(), device.get(), kBytes);
    EXPECT_EQ(got, expected) << "read";
    std::fill(bytes, bytes + kBytes, 0);
    kernels_->by_sm({reached, device.get(), kBytes}, 1, device_->stream());
    device_->synchronize();
    EXPECT_EQ(Bytes(bytes, bytes + kBytes), expected) << "written";
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Transfer, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
