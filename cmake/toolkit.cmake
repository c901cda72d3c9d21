# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# Which CUDA toolkits build roofmark. The scripts read the oldest from here.
set(oldest_toolkit 12.4)

# check_toolkit(NVCC VERSION): refuses one that is too old, warns of one that can compile wrongly. VERSION is nvcc's own.
function(check_toolkit nvcc version)
  if(version VERSION_LESS oldest_toolkit)
    message(FATAL_ERROR "CUDA: toolkit ${oldest_toolkit} or newer is needed, ${nvcc} is '${version}': "
      "put a newer nvcc first in PATH, or build for the CPU alone with -DROOFMARK_CUDA=OFF")
  endif()
  # Release notes of CUDA 13.2 Update 2, 6111901: registers may be stale or overwritten in kernels with two or more nested levels of
  # divergence. 13.2.86 is the nvcc of toolkit 13.2.2.
  if(version VERSION_GREATER_EQUAL 12.8 AND version VERSION_LESS 13.2.86)
    message(WARNING "CUDA: nvcc ${version} can miscompile kernels whose threads diverge on two nested levels (toolkits 12.8 to 13.2.1): "
      "take toolkit 13.2.2 or newer if the driver is 580 or newer (./scripts/baseline --toolkit pypi installs one)")
  endif()
endfunction()
