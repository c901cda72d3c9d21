// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The PTX that nvcc embeds in an object file, as it registers it at the start of the program.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "../interpreter/interpreter.hpp"

namespace gpu_model::runtime {

/// A PTX text, cut so that one entry can be parsed without the others.
struct PtxParts {
  std::string declarations;                    ///< everything outside of entries but debug sections
  std::map<std::string, std::string> entries;  ///< by their mangled names
};
PtxParts cut_ptx(const std::string& text);

/// The kernels of one translation unit. Thread-safe.
class FatBinary {
 public:
  /// `image` lives as long as the program.
  explicit FatBinary(const void* image) : image_(image) {}

  /// Kernels of a translation unit with a __device__ variable share one module, or each would have its own variable.
  void note_variable() { has_variables_ = true; }

  /// The PTX of a kernel for the modelled device; nullptr if there is none.
  const std::string* entry(const std::string& kernel);

  /// A module that has the kernel. Throws std::runtime_error if the PTX cannot be parsed.
  std::shared_ptr<const Module> load(const std::string& kernel);

  /// The address and size of a variable; nullptr if there is none. Throws as load() does.
  void* variable(const std::string& name, std::size_t* bytes);

 private:
  const PtxParts& parts();
  std::shared_ptr<const Module> load_all();

  const void* image_;
  bool has_variables_ = false;
  std::once_flag cut_;
  PtxParts parts_;
  std::mutex mutex_;  // guards shared_module_
  std::shared_ptr<const Module> shared_module_;
};

}  // namespace gpu_model::runtime
