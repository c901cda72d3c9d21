// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/nccl/log.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NcclLog, TellsTheAlgorithmOfTheLastCall) {
  const NcclChoice choice = parse_nccl_log(
      "node7:4242:4242 [0] NCCL INFO AllReduce: 8 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n"
      "node7:4242:4242 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={2..17}\n");
  EXPECT_EQ(choice.algorithm, "NVLS_TREE");
  EXPECT_EQ(choice.protocol, "SIMPLE");
  EXPECT_EQ(choice.channels, 16);
  EXPECT_THAT(choice.transports, IsEmpty());
}

TEST(NcclLog, TellsItsWarningsWithoutTheirPlace) {
  const std::string log =
      "node7:42:42 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "\n[2025-11-02 10:00:00] node7:42:57 [0] transport/net_ib.cc:2100 NCCL WARN NET/IB: Got completion "
      "from peer 10.0.0.2<45123> with status=12 opcode=0 len=0 vendor err 129 (Send)\n"
      "node7:42:57 [0] NCCL INFO proxy.cc:700 -> 6\nnode7:42:57 [0] proxy.cc:1 NCCL WARN last";
  EXPECT_THAT(
      nccl_warnings(log),
      ElementsAre("NET/IB: Got completion from peer 10.0.0.2<45123> with status=12 opcode=0 len=0 vendor err 129 (Send)",
                  "last"));
  EXPECT_EQ(nccl_warning_lines(log),
            "[2025-11-02 10:00:00] node7:42:57 [0] transport/net_ib.cc:2100 NCCL WARN NET/IB: Got completion "
            "from peer 10.0.0.2<45123> with status=12 opcode=0 len=0 vendor err 129 (Send)\n"
            "node7:42:57 [0] proxy.cc:1 NCCL WARN last\n")
      << "whole lines";
  EXPECT_THAT(nccl_warnings(""), IsEmpty());
  EXPECT_EQ(nccl_warning_lines(""), "");
}

TEST(NcclLog, NamesTheNumbersOfOlderVersions) {
  const NcclChoice choice = parse_nccl_log("a:1:1 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo 1 proto 2 time 12.345678");
  EXPECT_EQ(choice.algorithm, "RING");
  EXPECT_EQ(choice.protocol, "SIMPLE");
  EXPECT_FALSE(choice.channels);
  EXPECT_EQ(parse_nccl_log("a:1:1 [0] NCCL INFO Reduce: 1 Bytes -> Algo 99 proto 7 time 1").algorithm, "99");
}

TEST(NcclLog, TellsASymmetricKernel) {
  const NcclChoice choice = parse_nccl_log(
      "a:1:1 [0] NCCL INFO AllReduce: 4 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}\n"
      "a:1:1 [0] NCCL INFO AllReduce [Symmetric]: 65536 Bytes -> Kernel AllReduce_AGxLL_R nchannels 8 nthreads 512 nWorks 1\n");
  EXPECT_EQ(choice.algorithm, "symmetric AllReduce_AGxLL_R");
  EXPECT_EQ(choice.protocol, "");
  EXPECT_EQ(choice.channels, 8);
}

TEST(NcclLog, TellsACopyEnginesCall) {
  const NcclChoice choice = parse_nccl_log(
      "a:1:1 [0] NCCL INFO AllGather: 4 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}\n"
      "a:1:1 [0] NCCL INFO AllGather [Copy Engine]: 1048576 Bytes -> cudaMemcpyBatchAsync 8 ranks\n");
  EXPECT_EQ(choice.algorithm, "cudaMemcpyBatchAsync");
  EXPECT_EQ(choice.protocol, "");
  EXPECT_FALSE(choice.channels);
}

TEST(NcclLog, TellsWhatCopyEnginesDoFromVersion230On) {
  EXPECT_EQ(
      parse_nccl_log("a:1:1 [0] NCCL INFO AllGather [Copy Engine]: 4096 Bytes -> cudaMemcpy; CE synchronization with NVLS\n")
          .algorithm,
      "cudaMemcpy");
  EXPECT_EQ(parse_nccl_log("a:1:1 [0] NCCL INFO AllGather [Hierarchical CE]: 4096 Bytes -> RMA proxy + CE\n").algorithm,
            "RMA proxy + CE");
}

TEST(NcclLog, TellsEachTransportOnce) {
  const NcclChoice choice = parse_nccl_log(
      "a:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "a:1:9 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
      "a:1:9 [0] NCCL INFO Channel 02/0 : 0[0] -> 1[1] via P2P/direct pointer\n"
      "a:1:9 [0] NCCL INFO Channel 03/1 : 0[0] -> 1[1] via P2P/indirect/2[2]\n"
      "a:1:9 [0] NCCL INFO Channel 04 : 0[0] -> 1[1] via SHM/direct/direct\n"
      "a:1:9 [0] NCCL INFO Channel 05/0 : 3[3] -> 4[0] [send] via NET/IB/0/GDRDMA\n"
      "a:1:9 [0] NCCL INFO Channel 06/0 : 4[0] -> 3[3] [receive] via NET/IB/12(3)/GDRDMA/Shared\n"
      "a:1:9 [0] NCCL INFO Channel 07/0 : 4[0] -> 3[3] [receive] via NET/Socket/1\n"
      "a:1:9 [0] NCCL INFO CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA\n"
      "a:1:9 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n"
      "a:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n");
  EXPECT_THAT(choice.transports, ElementsAre("COLLNET/SHARP/GDRDMA", "NET/IB/GDRDMA", "NET/IB/GDRDMA/Shared", "NET/Socket",
                                             "P2P/CUMEM", "P2P/CUMEM/read", "P2P/direct", "P2P/indirect", "SHM/direct/direct"));
  EXPECT_EQ(choice.algorithm, "");
}

// What 2.19 to 2.29 write: the names of the plugins are aws-ofi-nccl's (before and since 1.19), HPC-X's and FasTrak's.
TEST(NcclLog, TellsTheNetworkOfAPlugin) {
  const NcclChoice choice = parse_nccl_log(
      "a:1:9 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [receive] via NET/AWS Libfabric/3/GDRDMA\n"
      "a:1:9 [0] NCCL INFO Channel 01/0 : 7[7] -> 8[0] [receive] via NET/Libfabric/3(5)/GDRDMA/Shared\r\n"
      "a:1:9 [0] NCCL INFO Channel 02/0 : 7[7] -> 8[0] [send] via NET/IBext_v8/1\n"
      "a:1:9 [0] NCCL INFO Channel 03/0 : 7[7] -> 8[0] [send] via NET/FasTrak/0/GDRDMA(PCI)\n"
      "a:1:9 [0] NCCL INFO Channel 04/0 : 0[0] -> 1[1] via P2P/direct pointer/read\n");
  EXPECT_THAT(choice.transports, ElementsAre("NET/AWS Libfabric/GDRDMA", "NET/FasTrak/GDRDMA(PCI)", "NET/IBext_v8",
                                             "NET/Libfabric/GDRDMA/Shared", "P2P/direct"));
}

// From 2.31 on, of what is received.
TEST(NcclLog, LeavesOutHowWritesAreFlushed) {
  const NcclChoice choice = parse_nccl_log(
      "a:1:9 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [receive] via NET/IB/3/GDRDMA/flush=None\n"
      "a:1:9 [0] NCCL INFO Channel 00/0 : 8[0] -> 7[7] [send] via NET/IB/3/GDRDMA\n"
      "a:1:9 [0] NCCL INFO Channel 01/1 : 7[7] -> 8[0] [receive] via NET/IB/3/GDRDMA(PCI)/Shared/flush=C2c\n");
  EXPECT_THAT(choice.transports, ElementsAre("NET/IB/GDRDMA", "NET/IB/GDRDMA(PCI)/Shared"));
}

TEST(NcclLog, NamesTheInterfaceOfSockets) {
  const auto interfaces = parse_nccl_interfaces(
      "a:1:1 [0] NCCL INFO Bootstrap: Using eth9:10.0.0.1<0>\n"
      "a:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]bond1:fe80::1%bond1<0>\n");
  EXPECT_THAT(interfaces, ElementsAre(testing::Pair(0, "eth0"), testing::Pair(1, "bond1")));
  const char* log =
      "a:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/1\n"
      "a:1:9 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/Socket/0/Shared\n"
      "a:1:9 [0] NCCL INFO Channel 02/0 : 0[0] -> 1[0] [send] via NET/Socket/7\n"
      "a:1:9 [0] NCCL INFO Channel 02/0 : 0[0] -> 1[0] [send] via NET/IB/0\n";
  EXPECT_THAT(parse_nccl_log(log, interfaces).transports,
              ElementsAre("NET/IB", "NET/Socket", "NET/Socket (bond1)", "NET/Socket (eth0)/Shared"));
  EXPECT_THAT(parse_nccl_interfaces("a:1:1 [0] NCCL INFO NET/Socket : Using [0"), ElementsAre(testing::Pair(0, "")));
  EXPECT_THAT(parse_nccl_interfaces("a:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>"), IsEmpty());
}

TEST(NcclLog, MakesNothingOfWhatIsNoneOfNccls) {
  for (const char* log : {"", "\n\n", "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}", "a:1:1 [0] NCCL INFO ",
                          "a:1:1 [0] NCCL INFO   Algorithm   |                            Tree                  |",
                          "\n[2025-01-01 00:00:00] a:1:1 [0] init.cc:12 NCCL WARN Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"}) {
    const NcclChoice choice = parse_nccl_log(log);
    EXPECT_EQ(choice.algorithm + choice.protocol, "") << log;
    EXPECT_FALSE(choice.channels) << log;
    EXPECT_THAT(choice.transports, IsEmpty()) << log;
  }
}

TEST(NcclLog, TakesALineThatWasCutOff) {
  EXPECT_EQ(parse_nccl_log("a:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RI").algorithm, "RI");
  EXPECT_FALSE(parse_nccl_log("a:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0.").channels);
  EXPECT_THAT(parse_nccl_log("a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via ").transports, IsEmpty());
}

}  // namespace
}  // namespace roofmark
