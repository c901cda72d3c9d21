# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The installed tree, moved away from where it was installed."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = os.environ.get("ROOFMARK_BUILD")
# glibc and the CUDA libraries are the node's.
NODES_OWN = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|util)|libcu\w+|libnccl|libnv\w+)\.so")

pytestmark = pytest.mark.skipif(not BUILD, reason="ROOFMARK_BUILD names no build")


def libraries(program):
    """{name: where the loader finds it} of all that the program needs, and what that needs."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(re.match(r"\s*(\S+)(?: => (.*?))?(?: \(0x\w+\))?$", line).groups() for line in lines)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder / "first"], check=True, capture_output=True)
    return (folder / "first").rename(folder / "moved")


def test_it_carries_its_libraries(tree):
    found = libraries(tree / "bin/roofmark")
    carried = {name: where for name, where in found.items() if not NODES_OWN.match(Path(name).name)}
    assert any(name.startswith("libbenchmark.so") for name in carried)
    for name, where in carried.items():
        assert Path(where).resolve().is_relative_to(tree / "lib"), f"{name} comes from {where}"


def test_it_carries_nothing_of_the_nodes(tree):
    assert [path.name for path in tree.rglob("*.so*") if NODES_OWN.match(path.name)] == []


def test_it_runs_where_it_was_moved_to(tree):
    built = libraries(os.environ["ROOFMARK"])
    cuda = {str(Path(where).parent) for name, where in built.items() if name.startswith("libcu")}
    result = subprocess.run(
        [tree / "bin/roofmark", "list", "--device", "cpu"], env={"LD_LIBRARY_PATH": ":".join(cuda)}, capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_its_report_tool_needs_nothing_of_the_repository(tree):
    tool = tree / "share/roofmark/scripts/report"
    assert os.access(tool, os.X_OK)
    result = subprocess.run([sys.executable, tool, "--help"], capture_output=True, text=True, cwd="/", env={}, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")


def test_it_holds_nothing_to_build_with(tree):
    assert not {"setup", "baseline", "test"} & {path.name for path in tree.rglob("*")}


def test_its_launcher_starts(tree):
    done = subprocess.run([tree / "share/roofmark/scripts/mpirun_hosts", "--help"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("usage: ")
