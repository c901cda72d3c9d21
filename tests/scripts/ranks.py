# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""roofmark-mpi on several ranks, and what it leaves."""
import functools
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

PROGRAM = os.environ.get("ROOFMARK_MPI")
MPIRUN = os.environ.get("ROOFMARK_MPIRUN", "mpirun")
SCHEMA = Path(__file__).parents[2] / "results" / "schema.json"

needs_mpi = pytest.mark.skipif(not PROGRAM, reason="ROOFMARK_MPI names no program: built without MPI")

# Ranks that wait give way to others: there are more of them than cores. Open MPI asks root twice.
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    # The same from Open MPI 5 on.
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMP_WAIT_POLICY": "passive",
}


@functools.cache
def launcher_is_hydra():
    """MPICH's launcher and Intel MPI's, which end all ranks when one is killed."""
    says = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, env=ENVIRONMENT).stdout
    return "HYDRA" in says or "Intel(R) MPI" in says


def start(ranks, *arguments, wrapper=(), launcher=()):
    command = [MPIRUN, *launcher, "-np", ranks, *wrapper, PROGRAM, *arguments]
    return subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )


def finish(process, seconds=240):
    """All that it printed. One that hangs is ended, and the test fails."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
        out, err = process.communicate()
        pytest.fail(f"still running after {seconds} s:\n{out}\n{err}")
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run(ranks, *arguments, **options):
    return finish(start(ranks, *arguments, **options))


def load(folder):
    """The result file in the folder, which fits the schema."""
    result = json.loads((folder / "result.json").read_text())
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(result)
    return result


def of_rank(folder, rank):
    """The process of this rank of the run that writes to the folder."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        is_program = words[0] == os.fsencode(PROGRAM) and os.fsencode(folder) in words
        if is_program and any(f"{name}={rank}".encode() in variables for name in ["OMPI_COMM_WORLD_RANK", "PMI_RANK"]):
            return int(entry.name)
    return None


def wait_until(holds, seconds=180):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
