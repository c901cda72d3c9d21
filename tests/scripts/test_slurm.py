# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The example for Slurm under a real one: a controller and one node, both on this machine, with two GPUs that it only counts."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import ranks

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "srun", "sinfo", "scancel"]
MISSING = [name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")]
pytestmark = [
    ranks.needs_mpi,
    pytest.mark.skipif(bool(MISSING), reason=f"no Slurm on this machine: {', '.join(MISSING)} missing"),
    pytest.mark.skipif(os.geteuid() != 0, reason="slurmd starts jobs as root"),
]

SCRIPT = Path(__file__).parents[2] / "scripts" / "slurm.sbatch"
SMALL = ["collectives", "--device", "cpu", "--suite", "quick", "--max-seconds", "0.005", "--filter",
         "^all_reduce/.*/bytes:8/.*place:out"]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment of a user of it."""
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    host = subprocess.run(["hostname", "-s"], capture_output=True, text=True, check=True).stdout.strip()
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o400)
    for gpu in range(2):
        (folder / f"gpu{gpu}").touch()
    (folder / "gres.conf").write_text(f"Name=gpu File={folder}/gpu[0-1]\n")
    (folder / "slurm.conf").write_text(f"""
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=1000 Gres=gpu:2
PartitionName=all Nodes=ALL Default=YES
""")
    environment = {**ranks.ENVIRONMENT, "PATH": f"{os.environ['PATH']}:/usr/sbin", "SLURM_CONF": str(folder / "slurm.conf"),
                   "ROOFMARK_MPI": ranks.PROGRAM}
    commands = [
        ["munged", "--foreground", "--force", f"--key-file={folder}/key", f"--socket={folder}/munge",
         f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"],
        ["slurmctld", "-D"],
        ["slurmd", "-D", "-N", host],
    ]
    started = []

    def is_idle():
        states = subprocess.run(["sinfo", "--noheader", "--format=%T"], env=environment, capture_output=True, text=True)
        return states.stdout.strip() == "idle"

    try:
        try:
            for command in commands:
                with open(folder / f"{command[0]}.out", "wb") as out:
                    started.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out, start_new_session=True))
                ranks.wait_until(is_idle if command[0] == "slurmd" else (folder / "munge").exists)
        except AssertionError:
            said = "".join((folder / f"{command[0]}.out").read_text()[-300:] for command in commands[: len(started)])
            pytest.skip("Slurm does not come up here: " + said)
        yield environment
    finally:
        if len(started) == len(commands):
            subprocess.run(["scancel", "--full", "--user=root"], env=environment, timeout=20)
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def batch(slurm, folder, *words, **variables):
    """Through sbatch; what the job printed, its status, and its folder of results."""
    out, log = folder / "out", folder / "log"
    done = subprocess.run(["sbatch", "--wait", "--nodes=1", "--ntasks-per-node=2", "--gpus-per-node=2", f"--output={log}", SCRIPT,
                           *words], env={**slurm, "ROOFMARK_OUT": str(out), **variables}, capture_output=True, text=True,
                          timeout=120, cwd=folder)
    return done.returncode, log.read_text() if log.exists() else done.stderr, out


# What this MPI was built to be started by.
PMI = "pmi2" if ranks.PROGRAM and ranks.launcher_is_hydra() else "pmix"


def test_a_job_measures_and_says_so(slurm, tmp_path):
    status, log, out = batch(slurm, tmp_path, *SMALL, ROOFMARK_PMI=PMI)
    assert status == 0, log
    assert "2 ranks on 1 host" in log.splitlines()
    result = ranks.load(out)
    assert result["complete"] and [member["local_rank"] for member in result["team"]] == [0, 1]
    assert any(entry["name"].startswith("all_reduce/") for entry in result["benchmarks"])


def test_bad_usage_has_its_status(slurm, tmp_path):
    status, log, out = batch(slurm, tmp_path, *SMALL, "--suite", "huge", ROOFMARK_PMI=PMI)
    assert status == 2, log
    assert log.count("roofmark-mpi: ") == 1 and not out.exists()


# Open MPI's library says itself that srun and it do not fit; MPICH's believes to be alone, twice.
def test_ranks_that_do_not_find_one_another_measure_nothing(slurm, tmp_path):
    status, log, out = batch(slurm, tmp_path, *SMALL, ROOFMARK_PMI="none")
    assert status != 0 and not out.exists()
    assert "(SLURM_STEP_NUM_TASKS)" in log if ranks.launcher_is_hydra() else "srun" in log, log


def test_a_killed_rank_ends_the_job_and_is_named(slurm, tmp_path):
    words = "call=MPI_Allreduce count=2 rank=1 do=kill"
    program = tmp_path / "roofmark-mpi"
    program.write_text(f"""#!/bin/bash
exec env LD_PRELOAD={os.environ['ROOFMARK_MPI_FAULT']} ROOFMARK_FAULT='{words}' {ranks.PROGRAM} "$@"
""")
    program.chmod(0o755)
    status, log, out = batch(slurm, tmp_path, *SMALL, ROOFMARK_PMI=PMI, ROOFMARK_MPI=str(program))
    assert status not in (0, 1, 2, 130), log
    assert "rank 1 (" in log and "ended unexpectedly" in log
    assert not ranks.load(out)["complete"]
