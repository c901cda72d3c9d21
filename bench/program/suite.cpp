// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/suite.hpp"

namespace roofmark {

// Each is defined in bench/<name>.cpp.
std::vector<Group> ceilings(const Listing&);
std::vector<Group> stream(const Listing&);
std::vector<Group> gemm(const Listing&);
std::vector<Group> gemv(const Listing&);
std::vector<Group> attention(const Listing&);
std::vector<Group> decode_attention(const Listing&);
std::vector<Group> transpose(const Listing&);
std::vector<Group> reductions(const Listing&);
std::vector<Group> elementwise(const Listing&);
std::vector<Group> node_all_reduce(const Listing&);

const std::vector<NamedFamily>& families() {
  static const std::vector<NamedFamily> all = {{"ceilings", ceilings},
                                               {"stream", stream},
                                               {"gemm", gemm},
                                               {"gemv", gemv},
                                               {"attention", attention},
                                               {"decode_attention", decode_attention},
                                               {"transpose", transpose},
                                               {"reductions", reductions},
                                               {"elementwise", elementwise},
                                               {"all_reduce", node_all_reduce}};
  return all;
}

}  // namespace roofmark
