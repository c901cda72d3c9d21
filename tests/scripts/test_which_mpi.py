# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Which MPI CMake takes where there are two: the one in PATH, and a stand-in for Intel's."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from shell import ROOT, executable

WRAPPER, LAUNCHER = shutil.which("mpicxx"), shutil.which("mpiexec")
pytestmark = pytest.mark.skipif(not (WRAPPER and LAUNCHER and shutil.which("cmake")), reason="no cmake, or no MPI in PATH")


@pytest.mark.parametrize("chosen, folder", [
    ([], Path(WRAPPER or "").parent),
    ([f"-DMPI_CXX_COMPILER={WRAPPER}"], Path(WRAPPER or "").parent),
    (["-DMPI_HOME={root}"], "{root}/bin"),
], ids=["PATH", "wrapper", "home"])
def test_wrapper_and_launcher_are_of_one_mpi(tmp_path, chosen, folder):
    root = tmp_path / "intel"
    executable(root / "bin/mpigxx", f'#!/bin/sh\nexec {WRAPPER} "$@"\n')
    executable(root / "bin/mpiexec", f'#!/bin/sh\nexec {LAUNCHER} "$@"\n')
    (tmp_path / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.24)
project(which CXX)
set(ROOFMARK_MPI ON)
include({ROOT}/cmake/mpi.cmake)
""")
    environment = {name: value for name, value in os.environ.items() if name != "MPI_HOME"}
    words = [word.format(root=root) for word in chosen]
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", *words], capture_output=True, text=True, timeout=120,
                          check=False, env={**environment, "I_MPI_ROOT": str(root)})
    assert done.returncode == 0, done.stderr
    cache = dict(re.findall(r"^(MPI\w+):\w+=(.*)$", (tmp_path / "build/CMakeCache.txt").read_text(), re.MULTILINE))
    folders = {str(Path(cache[name]).parent) for name in ("MPI_CXX_COMPILER", "MPIEXEC_EXECUTABLE")}
    assert folders == {str(folder).format(root=root)}
