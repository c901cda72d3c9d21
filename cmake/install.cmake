# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# A tree that can be moved: the program finds the libraries it carries beside itself. glibc, MPI, the CUDA libraries and what
# comes with the driver are the node's, by its loader's own ways (ld.so.conf, LD_LIBRARY_PATH). The CUDA runtime is linked statically.
option(ROOFMARK_CARRY_CUDA "Install cuBLASLt and NCCL too: the tree then needs nothing of CUDA but the driver" OFF)
set(carried ${CMAKE_INSTALL_LIBDIR}/roofmark)
set(of_cuda cuda cudart cublas cudnn nvidia nvrtc nvJitLink)
if(NOT ROOFMARK_CARRY_CUDA)
  list(APPEND of_cuda cublasLt nccl)
endif()
list(JOIN of_cuda "|" of_cuda)
set(of_the_node PRE_EXCLUDE_REGEXES
  "^ld-linux" "^lib(c|m|dl|rt|pthread|util|resolv|mvec)\\.so"
  "^lib(${of_cuda})[-_.]"
  "^lib(mpi|open-rte|open-pal|pmi)[^/]*\\.so"
  "^libgpu_model\\."
  # The system's C++ runtime: a node whose glibc serves this build has one that serves it too. An older one beside the program would
  # keep out what the node loads and links with a newer one, such as NCCL's network plugins. A compiler's own is carried.
  POST_EXCLUDE_REGEXES "^/(usr/)?lib(64)?/([^/]*-linux-gnu/)?lib(stdc\\+\\+|gcc_s)\\.so")
# NCCL is loaded, not linked. Its file may have any name; this one is asked for.
macro(install_nccl)
  if(ROOFMARK_CARRY_CUDA AND NCCL_LIBRARY)
    file(REAL_PATH ${NCCL_LIBRARY} nccl)
    install(FILES ${nccl} DESTINATION ${carried} RENAME libnccl.so.2 ${ARGN})
  endif()
endmacro()

# look_in(FOLDER PLACES PROGRAM... [COMPONENT ...]): programs that are installed in FOLDER find their libraries in PLACES. CMake would write
# that over the RPATH of the build, which it lengthens by ":" until it fits; but an empty part is the current folder to the loader, whoever
# put a library there. So a program is built with both, and its installation loses the build's.
function(look_in folder places)
  cmake_parse_arguments(PARSE_ARGV 2 of "EXCLUDE_FROM_ALL" "COMPONENT" "")
  list(JOIN places ":" installed)
  foreach(program IN LISTS of_UNPARSED_ARGUMENTS)
    set(built $<TARGET_PROPERTY:${program},BUILD_RPATH>)
    set_target_properties(${program} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON
      INSTALL_RPATH "$<$<BOOL:${built}>:${built};>${places}")
    set(component)
    if(of_COMPONENT)
      set(component COMPONENT ${of_COMPONENT} EXCLUDE_FROM_ALL)
    endif()
    install(CODE "
      set(program \${CMAKE_INSTALL_PREFIX}/${folder}/$<TARGET_FILE_NAME:${program}>)
      cmake_path(ABSOLUTE_PATH program)
      file(RPATH_SET FILE \$ENV{DESTDIR}\${program} NEW_RPATH \"${installed}\")" ${component})
  endforeach()
endfunction()

set(programs roofmark)
if(ROOFMARK_HAVE_MPI)
  list(APPEND programs roofmark-mpi)
endif()
install(TARGETS ${programs} RUNTIME_DEPENDENCY_SET of_programs RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
look_in(${CMAKE_INSTALL_BINDIR} "$ORIGIN/../${carried}" ${programs})
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBEXECDIR}/roofmark /)
set(places "$ORIGIN/${up}${carried}")
if(ROOFMARK_HAVE_CUDA)
  set(new_process roofmark-new-process)
  install(TARGETS ${new_process} RUNTIME_DEPENDENCY_SET of_programs RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/roofmark)
  look_in(${CMAKE_INSTALL_LIBEXECDIR}/roofmark "${places}" ${new_process})
endif()
install(RUNTIME_DEPENDENCY_SET of_programs ${of_the_node} LIBRARY DESTINATION ${carried})
install_nccl()

# With --component tests: the programs whose tests need a GPU, and what runs them.
if(ROOFMARK_TESTS AND ROOFMARK_HAVE_CUDA)
  set(in_tests COMPONENT tests EXCLUDE_FROM_ALL)
  install(TARGETS ${gpu_test_programs} RUNTIME_DEPENDENCY_SET of_tests RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/roofmark ${in_tests})
  install(RUNTIME_DEPENDENCY_SET of_tests ${of_the_node} LIBRARY DESTINATION ${carried} ${in_tests})
  install_nccl(${in_tests})
  install(PROGRAMS tests/roofmark-selftest DESTINATION ${CMAKE_INSTALL_BINDIR} ${in_tests})
  install(FILES ${PROJECT_BINARY_DIR}/tests/gpu_tests.txt DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/roofmark ${in_tests})
  if(ROOFMARK_GPU_MODEL)
    # Where no real program looks. The model's roofmark-new-process has no such place and stays away.
    list(PREPEND places "$ORIGIN/gpu_model")
    install(TARGETS ${gpu_model_libraries} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/roofmark/gpu_model NAMELINK_SKIP ${in_tests})
  else()
    install(TARGETS ${new_process} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/roofmark ${in_tests})
    look_in(${CMAKE_INSTALL_LIBEXECDIR}/roofmark "${places}" ${new_process} ${in_tests})
  endif()
  look_in(${CMAKE_INSTALL_LIBEXECDIR}/roofmark "${places}" ${gpu_test_programs} ${in_tests})
endif()

# DT_RPATH rather than DT_RUNPATH, which serves only the libraries that the program itself names and not those that they need.
foreach(program IN LISTS programs new_process gpu_test_programs)
  target_link_options(${program} PRIVATE LINKER:--disable-new-dtags)
endforeach()

# The tools that read result files, what they are made of, and what they compare with.
install(DIRECTORY scripts results DESTINATION ${CMAKE_INSTALL_DATADIR}/roofmark USE_SOURCE_PERMISSIONS
  PATTERN setup EXCLUDE PATTERN baseline EXCLUDE PATTERN run_flags EXCLUDE PATTERN test EXCLUDE PATTERN texts EXCLUDE
  PATTERN build.sh EXCLUDE PATTERN requirements_*.txt EXCLUDE
  PATTERN *.cpp EXCLUDE PATTERN results/local EXCLUDE PATTERN results/reference EXCLUDE PATTERN __pycache__ EXCLUDE)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/roofmark)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/roofmark)

# The programs write their manual pages and their completion in bash.
foreach(program IN LISTS programs)
  install(CODE "
    function(write path)
      cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
      message(STATUS \"Installing: \${path}\")
      cmake_path(GET path PARENT_PATH folder)
      file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${folder}\")
      execute_process(COMMAND $<TARGET_FILE:${program}> \${ARGN} OUTPUT_FILE \"\$ENV{DESTDIR}\${path}\" COMMAND_ERROR_IS_FATAL ANY)
    endfunction()
    write(${CMAKE_INSTALL_MANDIR}/man1/${program}.1 man)
    write(${CMAKE_INSTALL_DATADIR}/bash-completion/completions/${program} completion bash)")
endforeach()
