# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# A tree that can be moved: the program finds the libraries it carries beside itself. glibc, MPI, the CUDA libraries and what
# comes with the driver are the node's, by its loader's own ways (ld.so.conf, LD_LIBRARY_PATH).
set(programs roofmark)
if(ROOFMARK_HAVE_MPI)
  list(APPEND programs roofmark-mpi)
endif()
install(TARGETS ${programs} RUNTIME_DEPENDENCY_SET carried RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(RUNTIME_DEPENDENCY_SET carried
  PRE_EXCLUDE_REGEXES
    "^ld-linux" "^lib(c|m|dl|rt|pthread|util|resolv|mvec)\\.so"
    "^lib(cuda|cudart|cublas|cublasLt|cudnn|nccl|nvidia|nvrtc|nvJitLink)[-_.]"
    "^lib(mpi|mpi_cxx|open-rte|open-pal|pmix)\\."
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/roofmark)

# DT_RPATH rather than DT_RUNPATH, which serves only the libraries that the program itself names and not those that they need.
foreach(program IN LISTS programs)
  target_link_options(${program} PRIVATE LINKER:--disable-new-dtags)
endforeach()

# The tools that read result files, what they are made of, and what they compare with.
install(DIRECTORY scripts results DESTINATION ${CMAKE_INSTALL_DATADIR}/roofmark USE_SOURCE_PERMISSIONS
  PATTERN setup EXCLUDE PATTERN baseline EXCLUDE PATTERN test EXCLUDE
  PATTERN *.cpp EXCLUDE PATTERN results/local EXCLUDE PATTERN results/reference EXCLUDE PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/roofmark)
