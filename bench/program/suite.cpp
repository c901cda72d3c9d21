// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/suite.hpp"

namespace roofmark {

// One line per family, in the order in which they run. Each is a function of this name in bench/families/.
// clang-format off
#define ROOFMARK_FAMILIES(family) \
  family(ceilings) \
  family(link_ceilings) \
  family(stream) \
  family(gemm) \
  family(gemv) \
  family(attention) \
  family(decode_attention) \
  family(transpose) \
  family(reductions) \
  family(elementwise) \
  family(argmax) \
  family(transfer) \
  family(latency) \
  family(access) \
  family(cost) \
  family(sustained) \
  family(collectives)
// clang-format on

#define ROOFMARK_DECLARE(name) std::vector<Group> name(const Listing&);
#define ROOFMARK_ENTRY(name) {#name, name},

ROOFMARK_FAMILIES(ROOFMARK_DECLARE)

const std::vector<NamedFamily>& families() {
  static const std::vector<NamedFamily> all = {ROOFMARK_FAMILIES(ROOFMARK_ENTRY)};
  return all;
}

}  // namespace roofmark
