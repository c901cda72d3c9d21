// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/libraries.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace roofmark {
namespace {

/// Empty where it is not loaded.
Library loaded(const std::string& name) {
  const std::vector<Library> libraries = loaded_libraries();
  const auto found = std::find_if(libraries.begin(), libraries.end(), [&name](const Library& one) { return one.name == name; });
  return found == libraries.end() ? Library{} : *found;
}

TEST(LoadedLibraries, AreThoseOfThisProcessWithTheirFiles) {
  const std::filesystem::path blas = loaded("BLAS").path;
  EXPECT_TRUE(blas.is_absolute() && std::filesystem::exists(blas)) << blas;
  EXPECT_EQ(blas, std::filesystem::canonical(blas)) << "a link, whose target may have the version in its name";
  EXPECT_EQ(loaded("NCCL").name, "");
}

TEST(LoadedLibraries, IncludeWhatWasLoadedLaterAndForItselfAlone) {
  const std::filesystem::path file = ROOFMARK_STAND_IN_NCCL;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  EXPECT_EQ(loaded("NCCL").version, "2.32.3");
  EXPECT_EQ(loaded("NCCL").path, std::filesystem::canonical(file).string());
  EXPECT_EQ(loaded("NCCL").unsupported, "");
  dlclose(library);
  EXPECT_EQ(loaded("NCCL").name, "") << "asking has kept it loaded";
}

}  // namespace
}  // namespace roofmark
