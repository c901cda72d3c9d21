// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory_test.hpp"

#include <gmock/gmock.h>

#include <set>
#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

using testing::Each;
using testing::ElementsAre;

using Words = std::vector<std::uint32_t>;

std::uint32_t word_of(MemoryPattern pattern, std::uint64_t i) {
  if (pattern == MemoryPattern::random) return pattern_word<MemoryPattern::random>(i);
  return pattern == MemoryPattern::solid ? 0 : 0x55555555;
}

class MemoryTest : public KernelTest<MemoryTestKernels> {
 protected:
  MemoryTest() : KernelTest(&cuda::memory_test, &cpu::memory_test) {}

  /// Words in device memory between others that must stay as they are, and what passes found wrong.
  class Tested {
   public:
    Tested(MemoryTest& test, std::size_t count)
        : test_(test),
          count_(count),
          words_(*test.device_, DataType::int32, static_cast<std::int64_t>(count), kBefore),
          wrong_(test.device_->allocate(sizeof(WrongWords))) {
      test.device_->zero(wrong_.get(), sizeof(WrongWords));
    }
    void run(MemoryPattern pattern, MemoryPass pass) {
      test_.kernels_->pass(pattern, pass, words_.as<std::uint32_t>(), count_, static_cast<WrongWords*>(wrong_.get()),
                           test_.device_->stream());
      test_.device_->synchronize();
      EXPECT_TRUE(words_.untouched_around());
    }
    Words words() {
      Words host(count_);
      test_.device_->to_host(host.data(), words_.data(), count_ * sizeof(std::uint32_t));
      return host;
    }
    void flip(std::size_t i, std::uint32_t bits) {
      std::uint32_t word = words()[i] ^ bits;
      test_.device_->to_device(words_.as<std::uint32_t>() + i, &word, sizeof(word));
    }
    WrongWords wrong() {
      WrongWords host;
      test_.device_->to_host(&host, wrong_.get(), sizeof(host));
      return host;
    }

   private:
    static constexpr std::size_t kBefore = 64;  ///< of alignment
    MemoryTest& test_;
    std::size_t count_;
    Array words_;
    Memory wrong_;
  };

  static Words right(MemoryPattern pattern, std::size_t count, bool inverted) {
    Words words(count);
    for (std::size_t i = 0; i < count; ++i) words[i] = word_of(pattern, i) ^ (inverted ? ~0U : 0U);
    return words;
  }
};

/// Less than a packet of four words; the ends of a block's tile, and of a CPU's piece; several blocks.
constexpr std::size_t kCounts[] = {1, 3, 4, 5, 1023, 4095, 4096, 4097, 4103, 8191, 12290};

TEST_P(MemoryTest, EachPassLeavesItsPatternAndFindsNothingWrong) {
  for (const MemoryPattern pattern : kMemoryPatterns) {
    for (const std::size_t count : kCounts) {
      SCOPED_TRACE(testing::Message() << name(pattern) << " of " << count);
      Tested tested(*this, count);
      for (const MemoryPass pass : kMemoryPasses) {
        tested.run(pattern, pass);
        EXPECT_EQ(tested.words(), right(pattern, count, pass == MemoryPass::invert));
      }
      EXPECT_EQ(tested.wrong().count, 0U);
      EXPECT_EQ(tested.wrong().bits, 0U);
      EXPECT_EQ(tested.wrong().first, 0U);
    }
  }
}

TEST_P(MemoryTest, OneBitIsFoundInEveryWordByEveryPassThatReads) {
  constexpr std::size_t kCount = 4107;  // a whole tile and piece, packets beyond, and words beyond those
  for (const MemoryPattern pattern : kMemoryPatterns) {
    for (const MemoryPass pass : {MemoryPass::invert, MemoryPass::restore, MemoryPass::check}) {
      for (const std::size_t i : {0, 1, 2, 3, 4, 1023, 1024, 2048, 3072, 4095, 4096, 4103, 4104, 4106}) {
        SCOPED_TRACE(testing::Message() << name(pattern) << " in " << i << " by pass " << static_cast<int>(pass));
        Tested tested(*this, kCount);
        tested.run(pattern, MemoryPass::write);
        if (pass == MemoryPass::restore) tested.run(pattern, MemoryPass::invert);
        const std::uint32_t bit = 1U << i % 32;
        tested.flip(i, bit);
        tested.run(pattern, pass);
        EXPECT_EQ(tested.wrong().count, 1U);
        EXPECT_EQ(tested.wrong().bits, bit);
        EXPECT_EQ(~tested.wrong().first, i);
        // What was written is right again.
        if (writes(pass)) {
          EXPECT_EQ(tested.words(), right(pattern, kCount, pass == MemoryPass::invert));
        }
      }
    }
  }
}

TEST_P(MemoryTest, WrongWordsAddUpOverPassesAndTheLowestIsKept) {
  Tested tested(*this, 9000);
  tested.run(MemoryPattern::random, MemoryPass::write);
  for (const std::size_t i : {8999, 77, 5000, 78}) tested.flip(i, i == 77 ? 0x80000000 : 0x6);
  tested.run(MemoryPattern::random, MemoryPass::check);
  EXPECT_EQ(tested.wrong().count, 4U);
  EXPECT_EQ(tested.wrong().bits, 0x80000006U);
  EXPECT_EQ(~tested.wrong().first, 77U);
  tested.run(MemoryPattern::random, MemoryPass::invert);
  tested.run(MemoryPattern::random, MemoryPass::restore);
  tested.run(MemoryPattern::random, MemoryPass::check);
  EXPECT_EQ(tested.wrong().count, 8U) << "the check, and the inversion that mended them";
}

TEST_P(MemoryTest, OfNoWordsNothingIsTouched) {
  Tested tested(*this, 0);
  for (const MemoryPass pass : kMemoryPasses) tested.run(MemoryPattern::solid, pass);
  EXPECT_EQ(tested.wrong().count, 0U);
}

TEST(MemoryPattern, ARandomWordTellsItsPlaceAndItsBitsAreBalanced) {
  std::set<std::uint32_t> seen;
  std::vector<int> ones(32);
  constexpr int kWords = 100000;
  for (int i = 0; i < kWords; ++i) {
    const std::uint32_t word = random_word(static_cast<std::uint64_t>(i));
    seen.insert(word);
    for (std::size_t bit = 0; bit < 32; ++bit) ones[bit] += static_cast<int>(word >> bit & 1);
  }
  EXPECT_EQ(seen.size(), kWords);
  // Five standard deviations of a fair bit.
  EXPECT_THAT(ones, Each(testing::AllOf(testing::Gt(kWords / 2 - 791), testing::Lt(kWords / 2 + 791))));
}

TEST(MemoryPattern, WordsThatAPowerOfTwoPartsDiffer) {
  for (const std::uint64_t i : {std::uint64_t{0}, std::uint64_t{12345}, std::uint64_t{30} << 30}) {
    for (int power = 0; power < 36; ++power) {
      EXPECT_NE(random_word(i), random_word(i + (std::uint64_t{1} << power))) << i << " and 2^" << power;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MemoryTest, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
