// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/gpu_model/tests/interpreted.hpp"

namespace gpu_model {

struct LaunchShape {
  Dim3 grid = {}, block = {};
  std::size_t dynamic_shared_bytes = 0;
  Dim3 cluster = {};
};

/// The kernels that were compiled to PTX for this test program.
inline const Module& compiled_kernels() {
  static const Module module([] {
    std::ifstream file(GPU_MODEL_TEST_PTX);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }());
  return module;
}

/// Runs one of compiled_kernels(). The arguments have the types of the kernel's parameters.
template <class... Arguments>
Counters launch(const char* name, const LaunchShape& shape, Arguments... arguments) {
  const Function* function = compiled_kernels().find(name);
  if (!function) throw std::invalid_argument(std::string("no kernel ") + name);
  void* parameters[] = {static_cast<void*>(&arguments)...};
  Time time;
  Counters counters;
  run(function, shape.grid, shape.block, shape.cluster, shape.dynamic_shared_bytes, parameters, time, counters);
  return counters;
}

}  // namespace gpu_model
