# Run at every build: writes OUTPUT anew only when the commit or its cleanliness changed.
set(commit unknown)
set(dirty false)
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(commit ${found})
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE_DIR} status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(dirty true)
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#pragma once

namespace roofmark::build_info {
inline constexpr char version[] = "@VERSION@";
inline constexpr char commit[] = "@commit@";
inline constexpr bool dirty = @dirty@;
inline constexpr char compiler[] = "@COMPILER@";
inline constexpr char build_type[] = "@BUILD_TYPE@";
inline constexpr char cuda_toolkit[] = "@CUDA_TOOLKIT@";
inline constexpr char cuda_compiler[] = "@CUDA_COMPILER@";
inline constexpr char cuda_architectures[] = "@CUDA_ARCHITECTURES@";
}  // namespace roofmark::build_info
]])
