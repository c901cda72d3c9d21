# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""roofmark-selftest of an installed tree that was moved, on the model GPU."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

BUILD = os.environ.get("ROOFMARK_BUILD")
pytestmark = pytest.mark.skipif(not BUILD or not (Path(BUILD) / "tests/gpu_tests.txt").exists(), reason="ROOFMARK_BUILD names no build with GPU tests")

GPU = {"GPUMODEL_SMS": "4", "GPUMODEL_L2": "2M"}
SUITE = "harness_cuda_test/GateObstacle."
FILL = "harness_cuda_test/CudaDeviceTest.FillsNothingBeyondTheEnd"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("selftest")
    subprocess.run(["cmake", "--install", BUILD, "--component", "tests", "--prefix", folder / "first"], check=True, capture_output=True)
    yield (folder / "first").rename(folder / "moved")
    shutil.rmtree(folder)


def selftest(tree, *arguments, **gpu):
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tree)} | GPU | gpu
    return subprocess.run([tree / "bin/roofmark-selftest", *arguments], env=environment, capture_output=True, text=True, timeout=600)


def test_it_lists_every_gpu_test_that_ctest_has(tree):
    result = selftest(tree, "--list")
    assert result.returncode == 0 and "run on the model GPU" in result.stderr
    known = subprocess.run(["ctest", "--test-dir", BUILD, "-N", "-L", "^gpu$"], capture_output=True, text=True, check=True).stdout
    # The variants are of the model alone; the whole runs are one test of CTest.
    alone = [line for line in re.findall(r"Test +#\d+: (.*)", known) if not re.search(r"_test/\w+/\d$|run_on_a_gpu$", line)]
    whole_runs = [name for name in result.stdout.splitlines() if "RunOnAGpu" in name]
    assert whole_runs and len(result.stdout.splitlines()) == len(alone) + len(whole_runs) > 100


def test_what_passes_is_one_line_each_and_0(tree):
    names = selftest(tree, "--list", SUITE).stdout.splitlines()
    result = selftest(tree, SUITE)
    assert result.returncode == 0
    assert result.stdout.splitlines() == [*(f"ok       {name}" for name in names), f"{len(names)} tests: {len(names)} ok, 0 failed, 0 skipped"]
    assert not list(tree.glob("tmp.*")), "nothing is left behind"


def test_a_test_that_fails_is_1_and_names_its_output(tree):
    result = selftest(tree, FILL, GPUMODEL_EDIT="0fBF38AA93=>0fBF38AA92", GPUMODEL_EDIT_KERNEL="fill_cu.*fill_kernel")
    assert result.returncode == 1
    line, last = result.stdout.splitlines()
    assert line.startswith(f"FAILED   {FILL}: exit status 1, see ") and last == "1 tests: 0 ok, 1 failed, 0 skipped"
    assert "FillsNothingBeyondTheEnd" in Path(line.split(" see ")[1]).read_text()


def test_skips_are_said_and_nothing_but_skips_is_1(tree):
    skips = "kernels_cuda_test/NcclLibrary.SaysThatItNeedsAGpu"
    result = selftest(tree, skips)
    assert result.stdout.splitlines() == [f"skipped  {skips}: here is one", "1 tests: 0 ok, 0 failed, 1 skipped"]
    assert result.returncode == 1 and "all tests were skipped" in result.stderr
    with_another = selftest(tree, "NcclLibrary.Says")
    assert with_another.returncode == 0 and with_another.stdout.splitlines()[-1] == "2 tests: 1 ok, 0 failed, 1 skipped"


def test_without_a_gpu_the_tests_have_failed(tree):
    result = selftest(tree, FILL, CUDA_VISIBLE_DEVICES="")
    assert result.returncode == 1 and result.stdout.startswith(f"FAILED   {FILL}: no GPU")


def test_unknown_words_are_2(tree):
    for argument, said in [("--all", "unknown argument '--all'"), ("no_such_test", "no test's name contains 'no_such_test'")]:
        result = selftest(tree, argument)
        assert result.returncode == 2 and said in result.stderr
