// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/collectives.hpp"

#include <gtest/gtest.h>

namespace roofmark {
namespace {

struct Published {
  Collective op;
  int ranks;
  double factor;
};

// nccl-tests, doc/PERFORMANCE.md: all_reduce 2(n-1)/n; reduce_scatter, all_gather, and (by the same reasoning, in their
// sources) all_to_all, gather, scatter (n-1)/n; broadcast, reduce, send_recv 1.
constexpr Published kPublished[] = {
    {Collective::all_reduce, 2, 1.0},
    {Collective::all_reduce, 3, 1.3333333333333333},
    {Collective::all_reduce, 4, 1.5},
    {Collective::all_reduce, 8, 1.75},
    {Collective::all_reduce, 16, 1.875},
    {Collective::all_reduce, 1024, 1.998046875},
    {Collective::all_gather, 2, 0.5},
    {Collective::all_gather, 3, 0.66666666666666667},
    {Collective::all_gather, 8, 0.875},
    {Collective::all_gather, 1024, 0.9990234375},
    {Collective::reduce_scatter, 2, 0.5},
    {Collective::reduce_scatter, 8, 0.875},
    {Collective::reduce_scatter, 16, 0.9375},
    {Collective::all_to_all, 2, 0.5},
    {Collective::all_to_all, 8, 0.875},
    {Collective::gather, 4, 0.75},
    {Collective::scatter, 4, 0.75},
    {Collective::broadcast, 2, 1.0},
    {Collective::broadcast, 8, 1.0},
    {Collective::reduce, 3, 1.0},
    {Collective::reduce, 8, 1.0},
    {Collective::send_recv, 2, 1.0},
    {Collective::send_recv, 8, 1.0},
    {Collective::ping_pong, 2, 1.0},
};

TEST(BusFactor, IsThePublishedOne) {
  for (const Published& published : kPublished) {
    EXPECT_NEAR(bus_factor(published.op, published.ranks), published.factor, 1e-12)
        << name(published.op) << " of " << published.ranks;
  }
}

// What a ring moves over each link, counted step by step. An all-reduce of S on n ranks is
// n-1 steps of a reduce-scatter and n-1 of an all-gather, S/n over every link in each.
TEST(BusFactor, IsWhatEveryLinkOfARingCarries) {
  for (const int ranks : {2, 3, 5, 8, 13}) {
    const double step = 1.0 / ranks;
    double carried = 0;
    for (int i = 1; i < ranks; ++i) carried += step;
    EXPECT_NEAR(bus_factor(Collective::reduce_scatter, ranks), carried, 1e-12);
    EXPECT_NEAR(bus_factor(Collective::all_gather, ranks), carried, 1e-12);
    EXPECT_NEAR(bus_factor(Collective::all_reduce, ranks), 2 * carried, 1e-12);
  }
}

struct Chunks {
  Collective op;
  int root_in, root_out, other_in, other_out;  ///< of 4 ranks
  bool total;                                  ///< the size is that of 4 chunks
};

// nccl-tests' GetCollByteCount: what sendcount and recvcount are of the size that is printed.
constexpr Chunks kChunks[] = {
    {Collective::all_reduce, 1, 1, 1, 1, false},    {Collective::all_gather, 1, 4, 1, 4, true},
    {Collective::reduce_scatter, 4, 1, 4, 1, true}, {Collective::broadcast, 1, 1, 0, 1, false},
    {Collective::reduce, 1, 1, 1, 0, false},        {Collective::all_to_all, 4, 4, 4, 4, true},
    {Collective::gather, 1, 4, 1, 0, true},         {Collective::scatter, 4, 1, 0, 1, true},
    {Collective::send_recv, 1, 1, 1, 1, false},     {Collective::ping_pong, 1, 1, 1, 1, false},
};

TEST(Chunks, AreWhatEachRankBringsAndGets) {
  ASSERT_EQ(std::size(kChunks), std::size(kCollectives));
  for (std::size_t i = 0; i < std::size(kChunks); ++i) {
    const Chunks& chunks = kChunks[i];
    ASSERT_EQ(chunks.op, kCollectives[i]);
    EXPECT_EQ(chunks_in(chunks.op, 4, true), chunks.root_in) << name(chunks.op);
    EXPECT_EQ(chunks_out(chunks.op, 4, true), chunks.root_out) << name(chunks.op);
    EXPECT_EQ(chunks_in(chunks.op, 4, false), chunks.other_in) << name(chunks.op);
    EXPECT_EQ(chunks_out(chunks.op, 4, false), chunks.other_out) << name(chunks.op);
    EXPECT_EQ(counts_total(chunks.op), chunks.total) << name(chunks.op);
  }
}

TEST(Chunks, RootAndReductionBelongToTheOperationsThatHaveThem) {
  for (const Collective op : kCollectives) {
    const bool rooted =
        chunks_in(op, 4, true) != chunks_in(op, 4, false) || chunks_out(op, 4, true) != chunks_out(op, 4, false);
    EXPECT_EQ(has_root(op), rooted) << name(op);
  }
  EXPECT_TRUE(reduces(Collective::all_reduce) && reduces(Collective::reduce_scatter) && reduces(Collective::reduce));
  EXPECT_FALSE(reduces(Collective::all_gather) || reduces(Collective::all_to_all) || reduces(Collective::broadcast));
}

TEST(Rings, DoNotServeWhatHasOneDestination) {
  for (const Collective op : kCollectives) {
    const bool direct = op == Collective::all_to_all || op == Collective::gather || op == Collective::scatter ||
                        op == Collective::send_recv || op == Collective::ping_pong;
    EXPECT_EQ(operation(op).by_ring, !direct) << name(op);
  }
}

}  // namespace
}  // namespace roofmark
