# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The examples of how roofmark-mpi is started: mpirun for real, where there is one; the other launchers played by small
scripts."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
LAUNCH = SCRIPTS / "mpirun_hosts"
PROGRAM = os.environ.get("ROOFMARK_MPI")
MPIRUN = os.environ.get("ROOFMARK_MPIRUN", "mpirun")
# Says what it was called with, and ends as it is told to.
RECORD = """#!/bin/bash
printf '%s\\n' "$@" >>"$CALLS"
for word; do [[ $word != fail ]] || exit 1; done
"""


def executable(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A PATH whose mpirun and srun run the rank's command once, and a roofmark-mpi; both record their words."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "program"))
    monkeypatch.delenv("MPIRUN", raising=False)
    executable(folder / "nvidia-smi", "#!/bin/bash\nexit 9\n")
    executable(folder / "roofmark-mpi", RECORD)
    for name in ("mpirun", "srun"):
        executable(folder / name, f"""#!/bin/bash
            if [[ $1 == --version ]]; then printf '%b\\n' "$SAYS"; exit; fi
            printf '%s\\n' "$@" >{tmp_path}/{name}
            while (($# > 0)) && [[ $1 != *roofmark-mpi ]]; do shift; done
            exec "$@"
            """)
    return tmp_path


OPEN_MPI = "mpirun (Open MPI) 4.1.4\\n\\nReport bugs to http://www.open-mpi.org/community/help/"
HYDRA = "HYDRA build details:\\n    Version:                                 4.0.2"
INTEL_MPI = "Intel(R) MPI Library for Linux* OS, Version 2021.14 Build 20241121 (id: e7829d6)"


def launch(place, *words, says=OPEN_MPI, **environment):
    environment = {**os.environ, "SAYS": says, **environment}
    return subprocess.run([LAUNCH, "--program", place / "bin/roofmark-mpi", *map(str, words)], env=environment,
                          capture_output=True, text=True, timeout=60, check=False)


def words(path):
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.skipif(not PROGRAM or not shutil.which(MPIRUN), reason="no roofmark-mpi (ROOFMARK_MPI) or no mpirun")
def test_two_ranks_of_this_host_are_really_started(tmp_path):
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("# this one\n  localhost slots=64\n", encoding="utf-8")
    out = tmp_path / "out"
    done = subprocess.run([LAUNCH, "--hostfile", hostfile, "--gpus", "2", "--out", out, "--program", PROGRAM, "collectives",
                           "--device", "cpu", "--suite", "quick", "--filter", "bytes:(8|65536)/.*place:out", "--max-seconds",
                           "0.01"], env={**os.environ, "MPIRUN": MPIRUN}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 ranks on 1 host\n")
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert [member["rank"] for member in result["team"]] == [0, 1]
    assert {entry["name"] for entry in result["benchmarks"]} >= {
        f"all_reduce/fp32/bytes:{size}/ranks:2/op:sum/place:out/impl:mpi" for size in (8, 65536)}
    assert (out / "hosts").read_text(encoding="utf-8") in ("localhost slots=2\n", "localhost:2\n")
    assert f"result: {out}/result.json" in done.stdout


@pytest.mark.parametrize("says, hosts, begin", [
    (OPEN_MPI, "node1 slots=4\nnode2 slots=4\n", ["--hostfile", "{out}/hosts", "--bind-to", "none", "-x", "NCCL_DEBUG"]),
    (HYDRA, "node1:4\nnode2:4\n", ["-f", "{out}/hosts", "-bind-to", "none", "-n", "8"]),
    (INTEL_MPI, "node1:4\nnode2:4\n", ["-f", "{out}/hosts", "-n", "8"]),
], ids=["Open MPI", "Hydra", "Intel MPI"])
def test_each_launcher_gets_its_own_words(place, monkeypatch, says, hosts, begin):
    for name in list(os.environ):
        if name.startswith(("NCCL_", "UCX_", "OMP_", "LD_LIBRARY")):
            monkeypatch.delenv(name)
    hostfile, out = place / "hostfile", place / "out"
    hostfile.write_text("node1\tslots=2 max_slots=2\n\n# spare: node9\nnode2:2  # the other rack\n", encoding="utf-8")
    done = launch(place, "--hostfile", hostfile, "--gpus", 4, "--out", out, "run", "--suite", "quick", says=says, NCCL_DEBUG="INFO")
    assert done.returncode == 0, done.stderr
    assert (out / "hosts").read_text(encoding="utf-8") == hosts
    assert words(place / "mpirun")[:len(begin)] == [word.format(out=out) for word in begin]
    # What every rank is called with.
    assert words(place / "program") == ["run", "--expect-ranks", "8", "--out", str(out), "--suite", "quick"]


@pytest.mark.parametrize("says, hosts", [(OPEN_MPI, "node1 slots=3\nnode2 slots=5\nnode3 slots=1\n"), (HYDRA, "node1:3\nnode2:5\nnode3:1\n")],
                         ids=["Open MPI", "Hydra"])
def test_without_a_number_each_host_has_its_slots(place, says, hosts):
    hostfile, out = place / "hostfile", place / "out"
    hostfile.write_text("node1 max_slots=9 slots = 3\r\nnode2:5\r\nnode3\r\n", encoding="utf-8")
    assert launch(place, "--hostfile", hostfile, "--out", out, says=says).returncode == 0
    assert (out / "hosts").read_text(encoding="utf-8") == hosts
    assert words(place / "program")[:3] == ["collectives", "--expect-ranks", "9"]


def test_ranks_on_other_hosts_see_the_same_gpus_and_fabric(place):
    exported = {"CUDA_VISIBLE_DEVICES": "1,0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "FI_PROVIDER": "efa", "SHARP_COLL_LOG_LEVEL": "3",
                "UCX_TLS": "rc", "NCCL_ALGO": "Ring", "OFI_NCCL_PROTOCOL": "RDMA"}
    assert launch(place, "--out", place / "out", **exported, EDITOR="vi").returncode == 0
    called = words(place / "mpirun")
    assert {called[i + 1] for i, word in enumerate(called) if word == "-x"} >= set(exported)
    assert "EDITOR" not in called


@pytest.mark.parametrize("prints, ranks", [("exit 9", "1"), ("echo 'GPU 0: H200 (UUID: GPU-1)'\necho 'GPU 1: H200 (UUID: GPU-2)'", "2")])
def test_without_a_number_there_is_one_rank_for_each_gpu(place, prints, ranks):
    executable(place / "bin/nvidia-smi", f"#!/bin/bash\n{prints}\n")
    assert launch(place, "--out", place / "out").returncode == 0
    assert words(place / "program") == ["collectives", "--expect-ranks", ranks, "--out", str(place / "out")]


def test_a_command_that_writes_nothing_is_given_no_folder(place):
    assert launch(place, "info", "--device", "cpu", "--out", "x").returncode == 0
    assert words(place / "program") == ["info", "--expect-ranks", "1", "--device", "cpu", "--out", "x"]


def test_the_command_is_printed_and_nothing_started(place):
    done = launch(place, "--print", "--out", place / "out", "collectives", "--filter", "a b")
    assert done.returncode == 0
    assert done.stdout.endswith("--filter a\\ b \n")
    assert not (place / "mpirun").exists() and not (place / "out").exists()


def test_the_status_is_the_launchers(place):
    assert launch(place, "--out", place / "out", "collectives", "fail").returncode == 1


@pytest.mark.parametrize("arguments, status, said", [
    (["--bogus"], 2, "--bogus"),
    (["--gpus"], 2, "--gpus needs a value"),
    (["--gpus", "0"], 2, "'0'"),
    (["--gpus", "two"], 2, "'two'"),
    (["--hostfile", "/nonexistent"], 2, "cannot read --hostfile /nonexistent"),
    (["--hostfile", "/dev/null"], 2, "names no host"),
    (["--gpus", "0"], 2, "'0' is not a number from 1 to 9999"),
    (["--program", "/nonexistent"], 3, "no roofmark-mpi"),
], ids=str)
def test_what_cannot_be_started_is_one_line(place, arguments, status, said):
    done = launch(place, *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1)
    assert said in done.stderr
    assert not (place / "mpirun").exists()


def test_a_host_named_twice_is_refused(place):
    (place / "hostfile").write_text("a slots=4\nb\na\n", encoding="utf-8")
    done = launch(place, "--hostfile", place / "hostfile")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "names a twice" in done.stderr


def test_an_address_is_not_taken_for_a_host_and_ranks(place):
    (place / "hostfile").write_text("fd00::1\n", encoding="utf-8")
    done = launch(place, "--hostfile", place / "hostfile")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "'fd00::1' is an IPv6 address: give the host's name" in done.stderr


def test_another_mpirun_or_none_is_refused(place):
    done = launch(place, says="something else")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "none of Open MPI" in done.stderr
    done = launch(place, MPIRUN="/nonexistent/mpirun")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "/nonexistent/mpirun" in done.stderr


def test_help():
    done = subprocess.run([LAUNCH, "--help"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("usage: ./scripts/mpirun_hosts ")


def batch(place, *arguments, **environment):
    environment = {**os.environ, "SLURM_SUBMIT_DIR": str(place), "SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "3",
                   "SLURM_NTASKS_PER_NODE": "8", "ROOFMARK_MPI": str(place / "bin/roofmark-mpi"), **environment}
    # As Slurm does it: a copy, somewhere else.
    copy = shutil.copy(SCRIPTS / "slurm.sbatch", place / "slurm_script")
    return subprocess.run(["bash", copy, *arguments], env=environment, cwd=place, capture_output=True, text=True, timeout=60,
                          check=False)


def test_slurm_starts_one_rank_a_gpu_by_pmix(place):
    done = batch(place)
    assert done.returncode == 0, done.stderr
    assert words(place / "srun")[:3] == ["--mpi=pmix", "--ntasks=24", "--ntasks-per-node=8"]
    assert words(place / "program") == ["collectives", "--expect-ranks", "24", "--out", f"{place}/results/local/slurm/7",
                                        "--suite", "baseline"]


def test_slurm_takes_a_command_another_interface_and_another_folder(place):
    done = batch(place, "run", "--suite", "quick", "--filter", "a b", ROOFMARK_PMI="pmi2", ROOFMARK_OUT="/there")
    assert done.returncode == 0, done.stderr
    assert words(place / "srun")[0] == "--mpi=pmi2"
    assert words(place / "program") == ["run", "--expect-ranks", "24", "--out", "/there", "--suite", "quick", "--filter", "a b"]
    assert batch(place, "collectives", "fail").returncode == 1


def test_slurm_starts_what_is_built_or_else_what_is_installed(place):
    assert batch(place, ROOFMARK_MPI="").returncode == 0
    assert words(place / "program")[0] == "collectives"
    (place / "build/release").mkdir(parents=True)
    executable(place / "build/release/roofmark-mpi", "#!/bin/sh\nexit 7\n")
    assert batch(place, ROOFMARK_MPI="").returncode == 7


def test_slurm_asks_for_as_many_ranks_as_gpus():
    asked = dict(line.removeprefix("#SBATCH --").split("=") for line in words(SCRIPTS / "slurm.sbatch")
                 if line.startswith("#SBATCH --") and "=" in line)
    assert asked["ntasks-per-node"] == asked["gpus-per-node"]


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="no shellcheck")
def test_shellcheck():
    subprocess.run(["shellcheck", "--external-sources", "scripts/mpirun_hosts", "scripts/slurm.sbatch"], cwd=SCRIPTS.parent,
                   check=True, timeout=60)
