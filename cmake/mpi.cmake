# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# MPI is optional: without it roofmark-mpi is left out.
set(ROOFMARK_HAVE_MPI OFF)
if(NOT ROOFMARK_MPI)
  message(STATUS "MPI: switched off (ROOFMARK_MPI=OFF), roofmark-mpi is left out")
  return()
endif()
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(STATUS "MPI: none found (mpicxx in PATH, MPI_HOME), roofmark-mpi is left out")
  return()
endif()
set(ROOFMARK_HAVE_MPI ON)
message(STATUS "MPI: ${MPI_CXX_LIBRARIES}")
