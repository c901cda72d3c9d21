# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# Sourced by setup, baseline, test, compute_sanitizer, mpirun_hosts and examples.
# shellcheck shell=bash

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
me=$(basename "$0")
# The commands' words are compared, so they must be English.
export LC_ALL=C.UTF-8

# fail STATUS MESSAGE...: prints one line on stderr and exits.
fail() {
  local status=$1
  shift
  printf '%s: %s\n' "$me" "$*" >&2
  exit "$status"
}

# usage_error MESSAGE: exits with 2, as roofmark does.
usage_error() { fail 2 "$1 (see --help)"; }

# find_program NAME: the path of roofmark or roofmark-mpi: of the builds, of the installation that these scripts are part of, or in PATH.
find_program() {
  local path
  for path in "$root"/build/{release,cpu-only}/"$1" "$root/../../bin/$1" "$(type -P "$1")"; do
    [[ ! -f $path || ! -x $path ]] || { echo "$path" && return; }
  done
  return 1
}

# check_profile PROGRAM PROFILE: exits with 2 where `roofmark accept` could not read it either; before a measurement takes its time.
check_profile() {
  "$1" profile check "$2" >/dev/null || (($? == 1)) || exit 2
}

# stage NAME COMMAND...: prints one line with the time and the CPU time; logs the output, and shows its end if the command fails.
stage() {
  local name=$1 log=$root/build/logs/$me-${1//[^a-zA-Z0-9]/-}.log spent status=0
  shift
  mkdir -p "${log%/*}"
  printf '%s ... ' "$name"
  spent=$(TIMEFORMAT='%0R s (%0U s of CPU)' && { time "$@" >"$log" 2>&1 </dev/null; } 2>&1) || status=$?
  if ((status != 0)); then
    printf 'failed\n'
    tail -n 40 "$log" >&2
    fail 3 "$name failed with exit status $status; its whole output is in $log"
  fi
  printf '%s\n' "$spent"
}
