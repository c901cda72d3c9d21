# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The cases of cost/new_process: where the program that they start is found, and what is said of one that fails."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOFMARK = os.environ.get("ROOFMARK")
NAME = "roofmark-new-process"
# As in test_gpu_model.py.
GPU = {"GPUMODEL_SMS": "1", "GPUMODEL_BOOST_MHZ": "2", "GPUMODEL_CLOCK_MHZ": "2", "GPUMODEL_L2": "128K", "GPUMODEL_MEMORY": "2304K",
       "GPUMODEL_TOTAL": "2304K", "GPUMODEL_NOISE": "0.0005", "OMP_WAIT_POLICY": "passive"}

pytestmark = pytest.mark.skipif(not ROOFMARK or not (Path(ROOFMARK).parent / NAME).exists(),
                                reason="ROOFMARK names no program that was built for the model GPU")


def roofmark(program, *arguments):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GPUMODEL_")}
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300, env=kept | GPU)


def listed(program):
    """{what the case times: why it is unsupported, or None}"""
    done = roofmark(program, "list", "--device", "cuda:0", "--suite", "baseline", "--filter", "^cost/new_process/", "--json")
    assert done.returncode == 0, done.stderr
    cases = [case for case in json.loads(done.stdout) if case["name"].startswith("cost/new_process/")]
    return {case["name"].removeprefix("cost/new_process/int32/").removesuffix("/impl:cuda"): case.get("unsupported") for case in cases}


PARTS = {"from:start/until:first_kernel", "from:start/until:main", "from:main/until:context", "from:context/until:first_kernel",
         "from:first_kernel/until:second_kernel"}


@pytest.fixture
def tree(tmp_path):
    """As installed: bin, and libexec without the program that is looked for."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "libexec/roofmark").mkdir(parents=True)
    shutil.copy(ROOFMARK, tmp_path / "bin/roofmark")
    return tmp_path


def test_it_is_found_beside_the_program_of_a_build():
    assert listed(ROOFMARK) == dict.fromkeys(PARTS)


def test_it_is_found_in_an_installed_tree(tree):
    shutil.copy(Path(ROOFMARK).parent / NAME, tree / "libexec/roofmark")
    assert listed(tree / "bin/roofmark") == dict.fromkeys(PARTS)


def test_where_it_is_missing_the_cases_say_where_it_was_looked_for(tree):
    reason = f"{NAME} is missing: it is neither {tree}/bin/{NAME} nor {tree}/libexec/roofmark/{NAME}"
    assert listed(tree / "bin/roofmark") == dict.fromkeys(PARTS, reason)


def test_it_is_in_no_quick_suite():
    done = roofmark(ROOFMARK, "list", "--device", "cuda:0", "--suite", "quick", "--json")
    names = [case["name"] for case in json.loads(done.stdout)]
    assert any(name.startswith("cost/") for name in names) and not any("new_process" in name for name in names)


def test_one_that_fails_has_its_words_in_the_record_and_the_others_are_measured(tree):
    program = tree / "libexec/roofmark" / NAME
    program.write_text(f"""#!/bin/sh
case "$*" in
  "0 main context") echo 'this GPU takes one process' >&2; exit 3 ;;
  "0 context first_kernel") echo 'out of memory' >&2; exit 1 ;;
  "0 first_kernel second_kernel") kill -SEGV $$ ;;
esac
exec {Path(ROOFMARK).parent / NAME} "$@"
""")
    program.chmod(0o755)
    done = roofmark(tree / "bin/roofmark", "run", "--device", "cuda:0", "--suite", "baseline", "--filter", "^cost/new_process/",
                    "--max-seconds", "0.001", "--out", tree / "out")
    assert done.returncode == 3, done.stderr
    result = json.loads((tree / "out/result.json").read_text())
    found = {}
    for entry in result["benchmarks"] + result["unmeasured"]:
        record = entry["roofmark"]
        if record["operation"] == "new_process":
            shape = record["shape"]
            found[shape["from"], shape["until"]] = record["status"], record.get("reason", ""), entry.get("iterations", 0)
    # A budget of a millisecond has one sample per block of what the budget limits.
    assert found == {
        ("start", "main"): ("ok", "", 5),
        ("start", "first_kernel"): ("ok", "", 10),
        ("main", "context"): ("unsupported", "this GPU takes one process", 0),
        ("context", "first_kernel"): ("failed", f"{NAME} ended with status 1: out of memory", 0),
        ("first_kernel", "second_kernel"): ("failed", f"{NAME} was ended by signal 11", 0),
    }
