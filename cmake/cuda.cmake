# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# The CUDA toolkit is optional. Architectures are named, never `native`: that fails at generate time without a GPU.
include(toolkit)
set(ROOFMARK_HAVE_CUDA OFF)
if(NOT ROOFMARK_CUDA)
  message(STATUS "CUDA: switched off (ROOFMARK_CUDA=OFF), building for the CPU alone")
  return()
endif()

# PATH comes first; it often lacks the place where the toolkit's own installer puts it. Last is where scripts/setup puts one.
find_program(CMAKE_CUDA_COMPILER NAMES $ENV{CUDACXX} nvcc
  PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda ${CMAKE_CURRENT_SOURCE_DIR}/.venv/cuda PATH_SUFFIXES bin)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "CUDA: no nvcc found (PATH, CUDACXX, CUDA_HOME, /usr/local/cuda, .venv/cuda), building for the CPU alone")
  return()
endif()

execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE output)
string(REGEX MATCH "V([0-9.]+)" output "${output}")
set(toolkit ${CMAKE_MATCH_1})
check_toolkit(${CMAKE_CUDA_COMPILER} "${toolkit}")

if(NOT CMAKE_CUDA_ARCHITECTURES)
  # 8.6 and 10.3 run the code of 8.0 and 10.0, with fewer FMAs or exponentials per clock. The driver compiles the PTX of 10.0 for GPUs up
  # to 11.x, that of 12.0 for newer ones.
  if(toolkit VERSION_LESS 12.8)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90a-real 90-virtual)
  elseif(toolkit VERSION_LESS 12.9)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90a-real 100 120)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90a-real 100 103-real 120)
  endif()
endif()
execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known)
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  string(REGEX MATCH "^[0-9]+" number ${architecture})
  if(number LESS 80)
    # Kernels copy to shared memory asynchronously, which began with 8.0.
    message(FATAL_ERROR "CUDA: cannot build for ${architecture}: GPUs of compute capability 8.0 and newer are supported")
  endif()
  if(NOT known MATCHES "compute_${number}\n")
    message(FATAL_ERROR "CUDA: toolkit ${toolkit} cannot build for ${architecture}: take a newer toolkit, "
      "or name architectures that it knows with -DCMAKE_CUDA_ARCHITECTURES=...")
  endif()
endforeach()

# CMake 3.25 does not know how to ask this nvcc for C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
enable_language(CUDA)
# The C++ compiler links programs, with its own standard library. CMake would add the folder of nvcc's host compiler, whose library may be
# older: with g++ 14 and nvcc 12.4 of Debian 13, which compiles with g++ 13, nothing could be linked.
set(CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES ${CMAKE_CUDA_HOST_IMPLICIT_LINK_DIRECTORIES})
# Lists what each kernel takes beside its object; scripts/kernel_resources reads it.
list(PREPEND CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/ptxas_report)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(ROOFMARK_HAVE_CUDA ON)
message(STATUS "CUDA: toolkit ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")

# Programs name the runtime that they are linked to: NVIDIA's, or the model GPU's, which reads PTX that nvcc has not compressed.
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
if(ROOFMARK_GPU_MODEL)
  string(APPEND CMAKE_CUDA_FLAGS " --no-compress")
endif()

# find_optional(NAME TITLE HEADER LIBRARIES PLACES): sets NAME_INCLUDE_DIR and NAME_LIBRARY. The build needs the header alone: the
# library is loaded when it is first used, by the loader's ways and, in the build tree, from where it is found here.
macro(find_optional name title header libraries places)
  find_path(${name}_INCLUDE_DIR ${header} HINTS ${places} ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
  find_library(${name}_LIBRARY NAMES ${libraries} HINTS ${places} PATH_SUFFIXES lib64 lib)
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(${name}_INCLUDE_DIR)
    message(STATUS "${title}: header in ${${name}_INCLUDE_DIR}, library ${${name}_LIBRARY}")
  else()
    message(STATUS "${title}: no ${header} found (${name}_ROOT, the toolkit), building without it")
  endif()
  if(${name}_LIBRARY)
    cmake_path(GET ${name}_LIBRARY PARENT_PATH folder)
    list(APPEND CMAKE_BUILD_RPATH ${folder})
    list(REMOVE_DUPLICATES CMAKE_BUILD_RPATH)
  endif()
endmacro()

set(toolkit ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR})
# This header came with version 9.
find_optional(CUDNN cuDNN cudnn_graph.h "cudnn;libcudnn.so.9" "${CUDNN_ROOT};$ENV{CUDNN_ROOT};$ENV{CUDNN_PATH};${toolkit}")
find_optional(NCCL NCCL nccl.h "nccl;libnccl.so.2" "${NCCL_ROOT};$ENV{NCCL_ROOT};$ENV{NCCL_HOME};${toolkit}")
