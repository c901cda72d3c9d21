// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Of NCCL its version alone.
extern "C" int ncclGetVersion(int* version) {  // NOLINT(readability-identifier-naming)
  *version = 23203;
  return 0;
}
