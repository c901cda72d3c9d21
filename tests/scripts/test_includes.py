# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Which folder may include which: arrows run down, never up, and a library's header stands in its own folder alone."""

import re

import pytest
from conftest import ROOT

# A folder may include those after it in its column, and those below the column.
COLUMNS = [
    ["bench/program", "bench/families", "bench/support"],
    ["harness/present", "harness/result", "harness/judge", "harness/measure", "harness/team", "harness/model", "harness/device",
     "harness/machine"],
    ["kernels/base"],
]
# The operations. bench calls them through their headers; the harness knows none of them.
KERNELS = {"kernels/cuda": ["kernels", "kernels/base"], "kernels/cpu": ["kernels", "kernels/base"],
           "kernels/mpi": ["kernels", "kernels/base"], "kernels": ["kernels/base"]}
LIBRARIES = {r"mpi\.h": r"/mpi/|kernels/base/mpi\.hpp", r"nccl\.h": r"/nccl/", r"cudnn\w*\.h": r"/cudnn/",
             r"(cuda_runtime|cublasLt|nvml)\.h": r"/cuda/|kernels/base/cuda\.hpp",
             r"nlohmann/.*": r"harness/team/json(_fwd)?\.hpp"}
# Values become JSON at the edge: in files, between ranks, and where the table of GPUs is read.
JSON = r"harness/(result|team)/|harness/judge/gpu_table\.cpp"

SOURCES = sorted(path for folder in ("kernels", "harness", "bench") for path in (ROOT / folder).rglob("*")
                 if path.suffix in (".hpp", ".cpp", ".cu", ".cuh", ".inc"))


def room(path):
    """The folder of COLUMNS or KERNELS that a path from the root is in."""
    rooms = [name for column in COLUMNS for name in column] + list(KERNELS)
    inside = [name for name in rooms if path.startswith(name + "/")]
    return max(inside, key=len, default=None)


def allowed():
    """{room: the rooms that it may include}"""
    down = {name: set(KERNELS[name]) for name in KERNELS}
    for i, column in enumerate(COLUMNS):
        below = {name for lower in COLUMNS[i + 1:] for name in lower}
        for j, name in enumerate(column):
            down[name] = set(column[j + 1:]) | below
            if name.startswith("bench/"):
                down[name] |= {"kernels"}
    down["bench/program"].add("kernels/mpi")  # roofmark-mpi makes the communicators itself
    return down


def included(path):
    return re.findall(r'^\s*#include (["<])([^">]+)[">]', path.read_text(encoding="utf-8"), re.M)


def name(path):
    return str(path.relative_to(ROOT))


def test_every_source_is_in_a_room():
    assert [name(path) for path in SOURCES if room(name(path)) is None] == []
    assert len(SOURCES) > 200


def test_arrows_run_down():
    down = allowed()
    wrong = []
    for path in SOURCES:
        here = room(name(path))
        for quote, target in included(path):
            there = room(target) if quote == '"' else None
            if there and there != here and there not in down[here]:
                wrong.append(f"{name(path)} includes {target}")
    assert wrong == []


@pytest.mark.parametrize("header", LIBRARIES)
def test_a_librarys_header_stands_in_its_folder(header):
    wrong = [name(path) for path in SOURCES for quote, target in included(path)
             if quote == "<" and re.fullmatch(header, target) and not re.search(LIBRARIES[header], name(path))]
    assert wrong == []


def test_json_stays_at_the_edge():
    wrong = [name(path) for path in SOURCES for quote, target in included(path)
             if re.fullmatch(r"harness/team/json(_fwd)?\.hpp", target) and not re.match(JSON, name(path))]
    assert wrong == []


def test_a_folder_may_not_include_one_above_it():
    down = allowed()
    assert "harness/present" not in down["harness/machine"] and "bench/families" not in down["bench/support"]
    assert "kernels" not in down["harness/present"] and "kernels/cuda" not in down["kernels/cpu"]
