# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What the real program says with a stand-in for the driver."""
import os
import re
import shutil
import subprocess

import pytest
from shell import ROOT

ROOFMARK = os.environ.get("ROOFMARK")
COMPILER = os.environ.get("CXX") or shutil.which("c++")
RUNTIME = ROOFMARK and re.search(r"CUDA runtime +(\d+)\.", subprocess.run([ROOFMARK, "info", "--device", "cpu"], capture_output=True, text=True).stdout)

pytestmark = pytest.mark.skipif(not RUNTIME or not COMPILER, reason="ROOFMARK names no program with CUDA, or there is no compiler")


def info(folder, driver):
    subprocess.run([COMPILER, "-shared", "-fPIC", f"-DDRIVER_CUDA={driver}", "-o", folder / "libcuda.so.1", ROOT / "tests/stand_ins/driver.cpp"],
                   check=True)
    path = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return subprocess.run([ROOFMARK, "info", "--device", "cuda"], capture_output=True, text=True, timeout=60, env=os.environ | {"LD_LIBRARY_PATH": path})


def test_a_driver_older_than_the_toolkit_is_one_line(tmp_path):
    major = int(RUNTIME[1])
    result = info(tmp_path, 1000 * (major - 1) + 80)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (3, "", 1)
    assert f"it supports CUDA {major - 1}.8, the runtime is {major}." in result.stderr and "update the driver" in result.stderr


def test_a_driver_of_the_same_major_version_is_asked_for_its_gpus(tmp_path):
    result = info(tmp_path, 1000 * int(RUNTIME[1]))
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (3, "", 1)
    assert "the driver finds no GPU" in result.stderr
