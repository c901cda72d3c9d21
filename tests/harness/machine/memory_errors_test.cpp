// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/memory_errors.hpp"

#include <gmock/gmock.h>

#include "tests/harness/fake_root.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(MemoryErrors, AreThoseOfAllControllers) {
  const FakeRoot root;
  EXPECT_THAT(memory_errors(root.root), IsEmpty());
  root.put("sys/devices/system/edac/mc/mc0/ce_count", "3");
  root.put("sys/devices/system/edac/mc/mc0/ue_count", "0");
  root.put("sys/devices/system/edac/mc/mc1/ce_count", "4");
  root.put("sys/devices/system/edac/mc/mc1/ue_count", "1");
  EXPECT_THAT(memory_errors(root.root),
              ElementsAre(Pair("mc0", ElementsAre(Pair("host_ecc_corrected", 3), Pair("host_ecc_uncorrected", 0))),
                          Pair("mc1", ElementsAre(Pair("host_ecc_corrected", 4), Pair("host_ecc_uncorrected", 1)))));
}

}  // namespace
}  // namespace roofmark
