# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# The CUDA toolkit is optional. Architectures are named, never `native`: that fails at generate time without a GPU.
set(ROOFMARK_HAVE_CUDA OFF)
if(NOT ROOFMARK_CUDA)
  message(STATUS "CUDA: switched off (ROOFMARK_CUDA=OFF), building for the CPU alone")
  return()
endif()

# PATH comes first; it often lacks the place where the toolkit's own installer puts it.
find_program(CMAKE_CUDA_COMPILER NAMES $ENV{CUDACXX} nvcc PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "CUDA: no nvcc found (PATH, CUDACXX, CUDA_HOME, /usr/local/cuda), building for the CPU alone")
  return()
endif()

execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE output)
string(REGEX MATCH "release ([0-9.]+)" output "${output}")
set(toolkit ${CMAKE_MATCH_1})
if(toolkit VERSION_LESS 12.4)
  message(FATAL_ERROR "CUDA: toolkit 12.4 or newer is needed, ${CMAKE_CUDA_COMPILER} is '${toolkit}': "
    "put a newer nvcc first in PATH, or build for the CPU alone with -DROOFMARK_CUDA=OFF")
endif()

if(NOT CMAKE_CUDA_ARCHITECTURES)
  if(toolkit VERSION_LESS 12.8)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 89-real 90a-real 90-virtual)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 80-real 89-real 90a-real 100-real 120)
  endif()
endif()
execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known)
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  string(REGEX MATCH "^[0-9]+" number ${architecture})
  if(NOT known MATCHES "compute_${number}\n")
    message(FATAL_ERROR "CUDA: toolkit ${toolkit} cannot build for ${architecture}: take a newer toolkit, "
      "or name architectures that it knows with -DCMAKE_CUDA_ARCHITECTURES=...")
  endif()
endforeach()

# CMake 3.25 does not know how to ask this nvcc for C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
enable_language(CUDA)
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

# cuDNN is optional. The build needs its headers alone: the library is loaded when it is first used, by the loader's ways and,
# in the build tree, from where it is found here. This header came with version 9.
set(cudnn_places ${CUDNN_ROOT} $ENV{CUDNN_ROOT} $ENV{CUDNN_PATH} ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR})
find_path(CUDNN_INCLUDE_DIR cudnn_graph.h HINTS ${cudnn_places} PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${cudnn_places} PATH_SUFFIXES lib64 lib)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)
if(CUDNN_INCLUDE_DIR)
  message(STATUS "cuDNN: headers in ${CUDNN_INCLUDE_DIR}, library ${CUDNN_LIBRARY}")
else()
  message(STATUS "cuDNN: no cudnn_graph.h found (CUDNN_ROOT, CUDNN_PATH, the toolkit), building without it")
endif()
if(CUDNN_LIBRARY)
  cmake_path(GET CUDNN_LIBRARY PARENT_PATH cudnn_folder)
  list(APPEND CMAKE_BUILD_RPATH ${cudnn_folder})
endif()

# NCCL is optional in the same way: the header here, the library when it is first used.
set(nccl_places ${NCCL_ROOT} $ENV{NCCL_ROOT} $ENV{NCCL_HOME} ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR})
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nccl_places} ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${nccl_places} PATH_SUFFIXES lib64 lib)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
if(NCCL_INCLUDE_DIR)
  message(STATUS "NCCL: header in ${NCCL_INCLUDE_DIR}, library ${NCCL_LIBRARY}")
else()
  message(STATUS "NCCL: no nccl.h found (NCCL_ROOT, NCCL_HOME, the toolkit), building without it")
endif()
if(NCCL_LIBRARY)
  cmake_path(GET NCCL_LIBRARY PARENT_PATH nccl_folder)
  list(APPEND CMAKE_BUILD_RPATH ${nccl_folder})
  list(REMOVE_DUPLICATES CMAKE_BUILD_RPATH)
endif()
