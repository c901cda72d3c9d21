// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/gpu_model/interpreter/interpreter.hpp"

namespace gpu_model {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

/// PTX texts by architecture: 80, 90.
using Texts = std::map<unsigned, std::string>;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

template <class T>
T read_at(const std::string& bytes, std::size_t at) {
  T value{};
  if (at + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

/// The PTX in the fat binaries of an object file. A fat binary begins with a magic word, a version and its header's size; an
/// entry has its kind (1: PTX), its header's and its own size, and its architecture.
Texts texts_of_object(const std::string& path) {
  const std::string object = read_file(path);
  constexpr std::uint32_t magic = 0xBA55ED50;
  constexpr std::uint16_t ptx = 1;
  Texts texts;
  for (std::size_t at = 0; at + 16 <= object.size(); at += 8) {
    if (read_at<std::uint32_t>(object, at) != magic) continue;
    std::size_t entry = at + read_at<std::uint16_t>(object, at + 6);
    const std::size_t end = entry + read_at<std::uint64_t>(object, at + 8);
    while (entry < end) {
      const std::size_t text = entry + read_at<std::uint32_t>(object, entry + 4);
      const std::size_t bytes = read_at<std::uint64_t>(object, entry + 8);
      if (read_at<std::uint16_t>(object, entry) == ptx) {
        texts[read_at<std::uint32_t>(object, entry + 28)] =
            object.substr(text, std::min(bytes, object.find('\0', text) - text));
      }
      entry = text + bytes;
    }
  }
  return texts;
}

/// Object files of roofmark's .cu files.
std::vector<std::string> objects() {
  std::istringstream list(read_file(GPU_MODEL_CUDA_OBJECTS));
  std::vector<std::string> paths;
  for (std::string path; std::getline(list, path);) paths.push_back(path);
  return paths;
}

TEST(RoofmarkPtx, EveryKernelParsesWithoutUnknownInstructions) {
  std::map<unsigned, std::set<std::string>> kernels;
  for (const std::string& path : objects()) {
    SCOPED_TRACE(path);
    for (const auto& [architecture, text] : texts_of_object(path)) {
      const Module module(text);
      EXPECT_THAT(module.unknown(), IsEmpty()) << "compute_" << architecture;
      for (const std::string& kernel : module.functions()) kernels[architecture].insert(kernel);
    }
  }
  // Both have all kernels; those that they cannot run have bodies without instructions.
  EXPECT_EQ(kernels[80], kernels[90]);
  EXPECT_GT(kernels[90].size(), 100u);
  for (const char* part : {"tiled_wgmma", "gemv", "transpose", "stream", "fill"}) {
    EXPECT_THAT(kernels[90], Contains(HasSubstr(part)));
  }
  // From toolkit 12.8 on, those that need it.
  kernels.erase(80);
  kernels.erase(90);
  for (const auto& [architecture, names] : kernels) {
    EXPECT_EQ(architecture, 100u);
    EXPECT_THAT(names, Each(HasSubstr("tcgen05")));
  }
}

}  // namespace
}  // namespace gpu_model
