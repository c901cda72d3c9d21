// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// parse_check FILE.ptx ...: parses, lists entries and opcodes that the core does not know. Exits 1 where there are any.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "../interpreter/interpreter.hpp"

int main(int argc, char** argv) {
  int bad = 0;
  for (int k = 1; k < argc; ++k) {
    std::ifstream in(argv[k]);
    std::stringstream text;
    text << in.rdbuf();
    try {
      auto t0 = std::chrono::steady_clock::now();
      gpu_model::Module m(text.str());
      std::printf("%s: %zu kernels, %zu unknown, %.0f ms\n", argv[k], m.functions().size(), m.unknown().size(),
                  std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count());
      for (auto& u : m.unknown()) {
        std::printf("  %s\n", u.c_str());
        bad = 1;
      }
    } catch (const std::exception& e) {
      std::printf("%s: %s\n", argv[k], e.what());
      bad = 1;
    }
  }
  return bad;
}
