# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# MPI is optional: without it roofmark-mpi is left out.
set(ROOFMARK_HAVE_MPI OFF)
if(NOT ROOFMARK_MPI)
  message(STATUS "MPI: switched off (ROOFMARK_MPI=OFF), roofmark-mpi is left out")
  return()
endif()
# Where I_MPI_ROOT is set, FindMPI takes Intel's wrapper and mpiexec even if PATH begins with another MPI, and Intel's mpiexec also
# for another MPI's wrapper. Unless told otherwise, this takes the first mpicxx in PATH, and always the mpiexec beside it.
set(wrapper ${MPI_CXX_COMPILER})
if(NOT wrapper AND NOT MPI_HOME AND NOT DEFINED ENV{MPI_HOME})
  find_program(wrapper mpicxx NO_CACHE)
endif()
if(wrapper)
  cmake_path(GET wrapper PARENT_PATH folder)
  find_program(MPIEXEC_EXECUTABLE mpiexec HINTS ${folder} NO_DEFAULT_PATH DOC "Executable for running MPI programs.")
endif()
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(STATUS "MPI: none found (mpicxx in PATH, MPI_HOME), roofmark-mpi is left out")
  return()
endif()
set(ROOFMARK_HAVE_MPI ON)
message(STATUS "MPI: ${MPI_CXX_LIBRARIES}")
