# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# Sourced by setup, baseline, test, compute_sanitizer and mpirun_hosts.
# shellcheck shell=bash

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
me=$(basename "$0")
# The commands' words are compared, so they must be English.
export LC_ALL=C.UTF-8

# fail STATUS MESSAGE...: one line on stderr, and the end.
fail() {
  local status=$1
  shift
  printf '%s: %s\n' "$me" "$*" >&2
  exit "$status"
}

# usage_error MESSAGE: 2, as roofmark's own.
usage_error() { fail 2 "$1 (see --help)"; }

# stage NAME COMMAND...: one line, with the time and the CPU time. What the command prints goes to a log, whose end is shown if it fails.
stage() {
  local name=$1 log=$root/build/logs/$me-${1//[^a-zA-Z0-9]/-}.log spent status=0
  shift
  mkdir -p "${log%/*}"
  printf '%s ... ' "$name"
  spent=$(TIMEFORMAT='%0R s (%0U s of CPU)' && { time "$@" >"$log" 2>&1 </dev/null; } 2>&1) || status=$?
  if ((status != 0)); then
    printf 'failed\n'
    tail -n 40 "$log" >&2
    fail 3 "$name: failed with exit status $status; all that it printed: $log"
  fi
  printf '%s\n' "$spent"
}

# The CUDA architectures of the GPUs that are here, as a CMake list; empty without a GPU.
gpu_architectures() {
  local capability list=
  while read -r capability; do
    case $capability in
      9.0) list+=";90a-real" ;; # 90 alone has no wgmma
      [0-9]*.[0-9]) list+=";${capability/./}-real" ;;
    esac
  done < <(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -u)
  printf '%s' "${list#;}"
}

# configure PRESET: for the GPUs that are here or, without one, for the preset's list; then says what of CUDA was found.
configure() {
  local preset=$1 architectures flags=()
  architectures=$(gpu_architectures)
  [[ -z $architectures ]] || flags=("-DCMAKE_CUDA_ARCHITECTURES=$architectures")
  stage "configure $preset" cmake -S "$root" --preset "$preset" "${flags[@]}"
  sed -n 's/^-- CUDA:/  CUDA:/p' "$root/build/logs/$me-configure-$preset.log"
}

build() { stage "build $1" cmake --build "$root/build/$1"; }
