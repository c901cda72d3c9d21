// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/machine/patience.hpp"

// Null in a build without CUDA, and with another BLAS.
extern "C" {
__attribute__((weak)) int cudaRuntimeGetVersion(int* version);  // NOLINT(readability-identifier-naming)
__attribute__((weak)) char* openblas_get_config();
}

namespace roofmark {

namespace {

namespace fs = std::filesystem;

/// The function at an address that the loader or the linker gave.
template <class Function>
Function* as(void* address) {
  return reinterpret_cast<Function*>(address);
}

std::string thousands(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }
std::string ten_thousands(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

// What the libraries' functions for this look like: 0 is success.
std::string driver_or_runtime(void* address) {
  int version = 0;
  return as<int(int*)>(address)(&version) == 0 ? thousands(version) : std::string();
}
std::string nccl(void* address) {
  int version = 0;
  return as<int(int*)>(address)(&version) == 0 ? ten_thousands(static_cast<std::size_t>(version)) : std::string();
}
std::string returned(void* address) { return ten_thousands(as<std::size_t()>(address)()); }
std::string nvml(void* address) {
  const auto version = within_patience<std::string>([ask = as<int(char*, unsigned)>(address)]() -> std::string {
    std::array<char, 128> text{};
    return ask(text.data(), text.size()) == 0 ? text.data() : "";
  });
  return version.value_or("");  // its driver hangs
}
std::string blas(void* /*address*/) { return openblas_get_config ? openblas_get_config() : ""; }
std::string mpi(void* address) {
  // MPICH's text is the longest, of several lines: MPI_MAX_LIBRARY_VERSION_STRING.
  std::array<char, 8192> text{};
  int length = 0;
  if (as<int(char*, int*)>(address)(text.data(), &length) != 0) return {};
  const std::string version = text.data();
  return version.substr(0, version.find('\n'));
}

struct Known {
  const char* name;
  const char* symbol;  ///< which no other library has
  std::string (*version)(void* address);
  void* linked = nullptr;  ///< the symbol's address if it may be in a static library, whose symbols the loader does not know
};

const std::array kLibraries = {
    Known{"CUDA driver", "cuDriverGetVersion", driver_or_runtime},
    Known{"CUDA runtime", "cudaRuntimeGetVersion", driver_or_runtime, reinterpret_cast<void*>(&cudaRuntimeGetVersion)},
    Known{"NVML", "nvmlSystemGetNVMLVersion", nvml},
    Known{"cuBLASLt", "cublasLtGetVersion", returned},
    Known{"cuDNN", "cudnnGetVersion", returned},
    Known{"NCCL", "ncclGetVersion", nccl},
    Known{"BLAS", "cblas_dgemm", blas},
    Known{"MPI", "MPI_Get_library_version", mpi},
};

std::vector<std::string> loaded_files() {
  std::vector<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        return 0;
      },
      &files);
  return files;
}

/// Null where no loaded file has it. Libraries that were loaded for themselves alone (RTLD_LOCAL) are asked one by one.
void* find(const char* symbol, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    // The program itself has no name.
    void* const handle = dlopen(file.empty() ? nullptr : file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    void* const address = handle ? dlsym(handle, symbol) : nullptr;
    if (handle) dlclose(handle);
    if (address) return address;
  }
  return nullptr;
}

std::string file_of(void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || !info.dli_fname) return {};
  // The driver's libraries are links to a file with its version in its name.
  std::error_code failed;
  const fs::path file = fs::canonical(info.dli_fname, failed);
  return failed ? info.dli_fname : file.string();
}

}  // namespace

std::vector<Library> loaded_libraries() {
  const std::vector<std::string> files = loaded_files();
  std::vector<Library> all;
  for (const Known& library : kLibraries) {
    void* const loaded = find(library.symbol, files);
    void* const address = loaded ? loaded : library.linked;
    if (address) all.push_back({library.name, library.version(address), file_of(address), ""});
  }
  return all;
}

std::vector<std::string_view> library_names() {
  std::vector<std::string_view> names;
  for (const Known& library : kLibraries) names.emplace_back(library.name);
  return names;
}

}  // namespace roofmark
