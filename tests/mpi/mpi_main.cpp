// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/team/mpi/team.hpp"

// Every rank runs the same tests in the same order; a rank on which one failed makes the whole fail.
int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  roofmark::MpiSession mpi(&argc, &argv);
  return RUN_ALL_TESTS();
}
