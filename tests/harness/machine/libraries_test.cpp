// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/libraries.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace roofmark {
namespace {

TEST(LoadedLibraries, AreThoseOfThisProcessWithTheirFiles) {
  const Json libraries = loaded_libraries();
  ASSERT_TRUE(libraries.contains("BLAS"));
  const std::filesystem::path blas = libraries.at("BLAS").at("path").get<std::string>();
  EXPECT_TRUE(blas.is_absolute() && std::filesystem::exists(blas)) << blas;
  EXPECT_EQ(blas, std::filesystem::canonical(blas)) << "a link, whose target may have the version in its name";
  EXPECT_FALSE(libraries.contains("NCCL"));
}

TEST(LoadedLibraries, IncludeWhatWasLoadedLaterAndForItselfAlone) {
  const std::filesystem::path file = ROOFMARK_STAND_IN_NCCL;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  const Json expected = {{"version", "2.32.3"}, {"path", std::filesystem::canonical(file).string()}};
  EXPECT_EQ(loaded_libraries().value("NCCL", Json()), expected);
  dlclose(library);
  EXPECT_FALSE(loaded_libraries().contains("NCCL")) << "asking has kept it loaded";
}

}  // namespace
}  // namespace roofmark
