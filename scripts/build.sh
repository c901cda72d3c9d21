# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# Sourced by setup, baseline and test: which CUDA toolkit builds for which GPUs, and the builds.
# shellcheck shell=bash
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

oldest_toolkit=$(sed -n 's/^set(oldest_toolkit \(.*\))$/\1/p' "$root/cmake/toolkit.cmake")
pypi_toolkit=$root/.venv/cuda
pypi_requirements=$root/scripts/requirements_cuda.txt
pypi_version=$(sed -n 's/^cuda-toolkit.*==//p' "$pypi_requirements")

# What take_cuda_flag found, and the words as given.
gpus='' toolkit_wanted='' with_cudnn=false cuda_flags=()

cuda_usage() {
  cat <<END
  --toolkit system|pypi|none  the CUDA toolkit to build with: the nvcc of this system, CUDA $pypi_version from PyPI in .venv, or none, for
                the CPU alone. Default, for GPUs: the first, unless it is missing, older than $oldest_toolkit or too new for the driver
  --gpus 90a,100  compute capabilities to build for. Default: this machine's GPUs
  --with-cudnn  cuDNN too, with the toolkit from PyPI
END
}

# take_cuda_flag WORDS...: whether the first is a flag of cuda_usage; `taken` is then the number of its words.
take_cuda_flag() {
  local value
  taken=1
  case $1 in
    --with-cudnn) with_cudnn=true ;;
    --toolkit | --toolkit=* | --gpus | --gpus=*)
      if [[ $1 == *=* ]]; then
        value=${1#*=}
      else
        (($# > 1)) || usage_error "$1 needs a value"
        value=$2 taken=2
      fi
      if [[ $1 == --toolkit* ]]; then
        [[ $value =~ ^(system|pypi|none)$ ]] || usage_error "--toolkit: '$value' is not one of system, pypi, none"
        toolkit_wanted=$value
      else
        [[ $value =~ ^[0-9]{2,3}a?(,[0-9]{2,3}a?)*$ ]] || usage_error "--gpus: '$value' is not a list like 80,90a,100"
        gpus=$value
      fi
      ;;
    *) return 1 ;;
  esac
  cuda_flags+=("${@:1:taken}")
}

# The CUDA architectures of --gpus or, without it, of this machine's GPUs, as a CMake list; empty without a GPU.
gpu_architectures() {
  local capability list=
  while read -r capability; do
    case $capability in
      90 | 9.0) list+=";90a-real" ;; # 90 alone has no wgmma
      [0-9]*.[0-9] | [1-9][0-9]*) list+=";${capability/./}-real" ;;
    esac
  done < <(if [[ -n $gpus ]]; then
    printf '%s\n' "${gpus//,/$'\n'}"
  else
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null
  fi | sort -u)
  printf '%s' "${list#;}"
}

# at_least VERSION OLDEST
at_least() { printf '%s\n' "$2" "$1" | sort --version-sort --check=quiet; }

# The nvcc that cmake/cuda.cmake finds; empty without one.
system_nvcc() {
  local path
  for path in "${CUDACXX-}" nvcc "${CUDA_HOME-}/bin/nvcc" "${CUDA_PATH-}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
    ! command -v "${path:-nvcc}" || return 0
  done
}

# nvcc_version NVCC: as 13.0.88; empty where it is none.
nvcc_version() { [[ -z $1 ]] || "$1" --version 2>/dev/null | sed -n 's/^.*, V\([0-9.]*\)$/\1/p'; }

# The newest CUDA that the driver supports, as 13.0; empty without a driver. The program will ask the same library; how nvidia-smi words
# it depends on the driver.
driver_cuda() {
  python3 - 2>/dev/null <<'END' || true
import ctypes
version = ctypes.c_int()
if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version)) == 0:
    print(f"{version.value // 1000}.{version.value % 1000 // 10}")
END
}

# gpus_to_compute_with ROOT: how many NVIDIA GPUs without an output for a display (PCI class 0x0302) the kernel lists, a driver or not.
gpus_to_compute_with() {
  local device count=0
  for device in "${1%/}"/sys/bus/pci/devices/*; do
    [[ $(cat "$device/vendor" "$device/class" 2>/dev/null) != 0x10de$'\n'0x0302* ]] || ((++count))
  done
  echo "$count"
}

# Kernels copy to shared memory asynchronously, which began with 8.0.
check_capabilities() {
  local architecture
  for architecture in ${architectures//;/ }; do
    architecture=${architecture%-real}
    ((${architecture%a} >= 80)) || fail 3 "compute capability ${architecture%a}: GPUs of 8.0 and newer are supported (--toolkit none" \
      "builds for the CPU alone)"
  done
}

# beyond_nvcc NVCC: the first of `architectures` that it cannot build for; empty where it can, or says nothing.
beyond_nvcc() {
  local known architecture
  [[ -n $1 ]] && known=$("$1" --list-gpu-arch 2>/dev/null | grep -x 'compute_[0-9]*') || return 0
  for architecture in ${architectures//;/ }; do
    architecture=${architecture%-real} architecture=${architecture%a}
    grep -qx "compute_$architecture" <<<"$known" || { printf '%s' "$architecture" && return; }
  done
}

# toolkit_for WANTED DRIVER NVCC BEYOND: prints the toolkit to build with, system or pypi, where --toolkit is WANTED, the driver supports
# CUDA version DRIVER, and the system's nvcc has version NVCC and cannot build for BEYOND. Each may be empty. Fails where there is none.
toolkit_for() {
  local wanted=$1 driver=$2 nvcc=$3 beyond=$4 why
  if [[ -n $driver ]] && ! at_least "$driver" "$oldest_toolkit"; then
    fail 3 "the driver supports CUDA $driver, and $oldest_toolkit or newer is needed: update the driver, or build for the CPU alone" \
      "(--toolkit none)"
  fi
  if [[ -z $nvcc ]]; then
    why="no nvcc is found"
  elif ! at_least "$nvcc" "$oldest_toolkit"; then
    why="nvcc is $nvcc, and $oldest_toolkit or newer is needed"
  elif [[ -n $driver ]] && ((${nvcc%%.*} > ${driver%%.*})); then
    why="nvcc is $nvcc, and the driver supports CUDA $driver"
  elif [[ -n $beyond ]]; then
    why="nvcc is $nvcc, which does not know compute capability $beyond"
  elif [[ $wanted != pypi ]]; then
    echo system
    return
  else
    why="--toolkit pypi"
  fi
  [[ $wanted != system ]] || fail 3 "--toolkit system: $why"
  if [[ -n $driver ]] && ((${pypi_version%%.*} > ${driver%%.*})); then
    fail 3 "$why, and PyPI has no nvcc for drivers of CUDA ${driver%%.*} (this one: $driver): install a CUDA toolkit from $oldest_toolkit to ${driver%%.*}.x," \
      "update the driver to 580 or newer, or build for the CPU alone (--toolkit none)"
  fi
  echo pypi
}

# Sets `architectures` (of gpu_architectures), `toolkit` (system, pypi or empty) and `nvcc` (its compiler). Without a GPU and without a
# flag that asks for one, the toolkit is what CMake finds.
choose_toolkit() {
  local driver
  architectures='' toolkit='' nvcc=''
  [[ $toolkit_wanted != none ]] || return 0
  architectures=$(gpu_architectures)
  if [[ -z $architectures$toolkit_wanted ]]; then
    ! $with_cudnn || usage_error "--with-cudnn needs a GPU, --gpus or --toolkit pypi"
    return 0
  fi
  check_capabilities
  driver=$(driver_cuda)
  if [[ -z $gpus && -n $architectures && -z $driver ]] && command -v python3 >/dev/null; then
    fail 3 "nvidia-smi lists a GPU, but libcuda.so.1 cannot be loaded: in a container, pass the driver's libraries for computing too" \
      "(NVIDIA_DRIVER_CAPABILITIES=compute,utility)"
  fi
  nvcc=$(system_nvcc)
  toolkit=$(toolkit_for "$toolkit_wanted" "$driver" "$(nvcc_version "$nvcc")" "$(beyond_nvcc "$nvcc")")
  [[ $toolkit != pypi ]] || nvcc=$pypi_toolkit/bin/nvcc
  if $with_cudnn && [[ $toolkit != pypi ]]; then
    fail 3 "--with-cudnn needs --toolkit pypi; this build takes $nvcc: name its cuDNN with CUDNN_ROOT"
  fi
}

# configure PRESET: after choose_toolkit. Prints which parts of CUDA were found.
configure() {
  local preset=$1 flags=() cache=$root/build/$1/CMakeCache.txt
  [[ -z $architectures ]] || flags+=("-DCMAKE_CUDA_ARCHITECTURES=$architectures")
  if [[ -n $nvcc ]]; then
    flags+=("-DCMAKE_CUDA_COMPILER=$nvcc")
    # A build keeps what it found with its compiler.
    if [[ -e $cache ]] && { [[ $(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' "$cache") != "$nvcc" ]] ||
      [[ ${nvcc%/bin/nvcc}/installed -nt $cache ]]; }; then
      flags+=(--fresh)
    fi
  fi
  stage "configure $preset" cmake -S "$root" --preset "$preset" "${flags[@]}"
  sed -n 's/^-- CUDA:/  CUDA:/p' "$root/build/logs/$me-configure-$preset.log"
}

# build PRESET [TARGET]: all, or one target.
build() { stage "build $1" cmake --build "$root/build/$1" ${2:+--target "$2"}; }
