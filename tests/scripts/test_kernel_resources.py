# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""kernel_resources, on what ptxas says and on this build."""
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAID = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN8roofmark4cuda4lazyEv' for 'sm_90a'
ptxas info    : Function properties for _ZN8roofmark4cuda4lazyEv
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 31 registers, used 1 barriers, 8320 bytes smem
ptxas info    : Compiling entry function '_ZN8roofmark4cuda6greedyEv' for 'sm_80'
ptxas info    : Function properties for _ZN8roofmark4cuda6greedyEv
    24 bytes stack frame, 20 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 400 bytes cmem[0]
"""


def list_kernels(*arguments):
    return subprocess.run([ROOT / "scripts/kernel_resources", *arguments], capture_output=True, text=True)


def test_lists_every_kernel_with_its_spills(tmp_path):
    (tmp_path / "objects").mkdir()
    (tmp_path / "objects" / "norm.cu.o.ptxas").write_text(SAID)
    done = list_kernels(tmp_path)
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["255", "20", "B", "16", "B", "0", "B", "sm_80", "norm.cu:", "greedy"] in rows
    assert ["31", "0", "B", "0", "B", "8320", "B", "sm_90a", "norm.cu:", "lazy"] in rows
    assert done.stdout.endswith("2 kernels for sm_80, sm_90a; 1 spill\n")
    assert list_kernels("--no-spills", "sm_90a", tmp_path).returncode == 0
    assert list_kernels("--no-spills", "sm_80", tmp_path).returncode == 1


def test_writes_the_list_and_prints_its_last_line(tmp_path):
    (tmp_path / "norm.cu.o.ptxas").write_text(SAID)
    done = list_kernels("--out", tmp_path / "list.txt", tmp_path)
    assert done.stdout == f"2 kernels for sm_80, sm_90a; 1 spill: {tmp_path / 'list.txt'}\n"
    assert "greedy" in (tmp_path / "list.txt").read_text()


@pytest.mark.parametrize("line", [
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register "
    "resources for the wgmma pipeline in the function '_ZN8roofmark4cuda4lazyEv'",
    "ptxas info    : (C7507) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements."])
def test_lost_performance_is_told_and_fails(tmp_path, line):
    (tmp_path / "norm.cu.o.ptxas").write_text(SAID + line + "\n")
    done = list_kernels("--no-spills", "sm_90a", "--out", tmp_path / "list.txt", tmp_path)
    assert done.returncode == 1
    assert line in done.stdout and line in (tmp_path / "list.txt").read_text()
    assert list_kernels(tmp_path).returncode == 0


def test_a_folder_without_kernels_is_an_error(tmp_path):
    done = list_kernels(tmp_path)
    assert done.returncode == 3
    assert "give the folder of a build with CUDA" in done.stderr


def test_virtual_architectures_alone_have_nothing_to_list(tmp_path):
    (tmp_path / "norm.cu.o.ptxas").write_text("")
    (tmp_path / "lib.cu.o.ptxas").write_text("ptxas info    : 0 bytes gmem\n")
    done = list_kernels("--out", tmp_path / "list.txt", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"no machine code: virtual architectures alone: {tmp_path / 'list.txt'}\n"
    assert (tmp_path / "list.txt").read_text().endswith("kernel\nno machine code: virtual architectures alone\n")
    assert list_kernels("--no-spills", "sm_90a", tmp_path).returncode == 0


def test_no_kernel_of_this_build_spills_on_hopper():
    build = os.environ.get("ROOFMARK_BUILD")
    if not build or not list(Path(build).rglob("*.ptxas")):
        pytest.skip("the build has no CUDA kernels")
    done = list_kernels("--no-spills", "sm_90a", build)
    assert done.returncode == 0, done.stdout
