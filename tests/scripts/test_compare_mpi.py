# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/compare_mpi, and what it shares with compare_nccl_tests, on small programs; once on the real ones."""
import os
import shutil

import pytest
from peer_programs import calls, executable, load, roofmark_mpi, run_script

compare_mpi = load("compare_mpi")
peers = load("peers.py")

PROGRAM, PLAIN_LOOP = os.environ.get("ROOFMARK_MPI"), os.environ.get("ROOFMARK_PLAIN_LOOP")
MPIRUN = os.environ.get("ROOFMARK_MPIRUN", "mpirun")

# As a program of theirs prints it with -f.
OSU = """
# OSU MPI Allreduce Latency Test v7.2
# Datatype: MPI_FLOAT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
8                       1.10              1.05              1.20        1000
65536                  40.00             39.00             41.00         100
"""


def test_an_osu_table_is_read_by_the_names_of_its_columns():
    rows = compare_mpi.parse_osu(OSU)
    assert rows == {8: {"Avg Latency(us)": 1.1, "Min Latency(us)": 1.05, "Max Latency(us)": 1.2, "Iterations": 1000},
                    65536: {"Avg Latency(us)": 40, "Min Latency(us)": 39, "Max Latency(us)": 41, "Iterations": 100}}


@pytest.mark.parametrize("text", ["", "8 1.1 1.0 1.2 1000\n", OSU.replace("8    ", "8  1  ", 1)], ids=["nothing", "no head", "columns"])
def test_what_is_no_such_table_is_refused(text):
    with pytest.raises(peers.CannotCompare):
        try:
            compare_mpi.parse_osu(text)
        except compare_mpi.CannotCompare as error:  # of the script's own import
            raise peers.CannotCompare(str(error)) from error


TOLERANCE = peers.Tolerance(1000, 0.03, 1e-6)


@pytest.mark.parametrize("size, ours, theirs, verdict", [
    (1000, [1.02], [1], "within"),
    (1000, [0.96], [1], "outside"),
    (1000, [1.04], [1], "outside"),
    (999, [3.9e-6], [3e-6], "within"),
    (999, [4.1e-6], [3e-6], "outside"),
    (999, [1.9e-6], [3e-6], "outside"),
    # Rounds that agree, rounds that do not, and rounds that agree on being far off.
    (1000, [1.01, 1.01, 1.01], [1, 1, 1], "within"),
    (1000, [1.0, 1.02, 1.05], [1, 1, 1], "unclear"),
    (1000, [1.2, 1.21, 1.22], [1, 1, 1], "outside"),
    (999, [3e-6, 4e-6, 6e-6], [3e-6, 3e-6, 3e-6], "unclear"),
])
def test_verdicts(size, ours, theirs, verdict):
    assert TOLERANCE.judge(size, ours, theirs) == verdict


@pytest.mark.parametrize("verdicts, status", [(["within"], 0), (["within", "unclear"], 3), (["unclear", "outside"], 1)])
def test_only_within_is_success(verdicts, status):
    assert peers.agreement_status(verdicts) == status


@pytest.fixture
def plain(tmp_path):
    """A plain loop, which prints `us` microseconds for 8 bytes and ten times that for others, and logs its words."""

    def make(us=1.0, name="mpi_plain_loop", columns=("Avg Latency(us)", "Max Latency(us)", "Iterations", "P50 slowest(us)")):
        values = {"Avg Latency(us)": us, "Max Latency(us)": 2 * us, "Iterations": 100, "P50 slowest(us)": us}
        row = " ".join(f"$(({int(values[column] * 1000)} * scale))e-3" for column in columns)
        return executable(tmp_path / name, f"""#!/bin/bash
            echo "{name} $*" >>{tmp_path}/calls
            while [[ $1 != -m ]]; do shift; done
            size=${{2%:*}} scale=10
            [[ $size != 8 ]] || scale=1
            echo '# Size  {"  ".join(columns)}'
            echo "$size {row}"
            """)

    return make


def test_the_programs_take_turns_and_the_rows_are_judged(tmp_path, plain):
    roofmark = roofmark_mpi(tmp_path, {(8, "out"): [1e-6, 1.5e-6, 9e-6], (131072, "out"): [10.1e-6]})
    done = run_script("compare_mpi", "--rounds", 2, "--launcher", "env A=b", plain(), roofmark)
    assert done.returncode == 0, done.stderr
    title, _, small, large = done.stdout.splitlines()
    assert "2 ranks" in title and "median" in title
    assert small.split() == ["8", "1.00", "1.50", "1.500", "1.500", "..", "1.500", "+0.50", "+0.50", "..", "+0.50", "within"]
    assert large.split()[:4] == ["131072", "10.00", "10.10", "1.010"] and large.split()[-1] == "within"
    logged = calls(tmp_path)
    # Of each size both directly after one another, each as often first.
    ours, theirs = ["roofmark-mpi", "collectives"], ["mpi_plain_loop", "-m"]
    assert [call[:2] for call in logged] == [["roofmark-mpi", "list"], ours, theirs, ours, theirs, theirs, ours, theirs, ours]
    assert "^all_reduce/\\w+/fp32/bytes:(8)/ranks:2/(op:sum/)?place:(out)$" in logged[1]
    assert "^all_reduce/\\w+/fp32/bytes:(131072)/ranks:2/(op:sum/)?place:(out)$" in logged[3]
    # 0.3 s of 1.5 us are more than the most, and of 10.1 us within the bounds; a tenth of them to warm up.
    assert logged[2][2:] == ["8:8", "-i", "10000", "-x", "1000", "-f", "all_reduce"]
    assert logged[4][2:] == ["131072:131072", "-i", "10000", "-x", "1000", "-f", "all_reduce"]


def test_a_loop_that_is_slower_is_found(tmp_path, plain):
    roofmark = roofmark_mpi(tmp_path, {(8, "out"): [1e-6], (131072, "out"): [10.4e-6]})
    done = run_script("compare_mpi", "--rounds", 1, "--launcher", "env", plain(), roofmark)
    assert done.returncode == 1
    assert [line.split()[-1] for line in done.stdout.splitlines()[2:]] == ["within", "outside"]


def test_a_program_of_osu_gives_means_and_its_size_is_of_one_part(tmp_path, plain):
    osu = plain(name="osu_allgather", columns=("Avg Latency(us)", "Max Latency(us)", "Iterations"))
    roofmark = roofmark_mpi(tmp_path, {(512, "out"): [10e-6, 10e-6, 40e-6]}, collective="all_gather")
    done = run_script("compare_mpi", "--rounds", 1, "--launcher", "env", "--collective", "all_gather", f"{osu} -T mpi_float", roofmark)
    assert done.returncode == 0, done.stderr
    # The mean of the samples beside the slowest rank's average.
    assert done.stdout.splitlines()[2].split()[:4] == ["512", "20.00", "20.00", "1.000"]
    assert calls(tmp_path)[-1] == ["osu_allgather", "-T", "mpi_float", "-m", "256:256", "-i", "10000", "-x", "1000", "-f"]
    done = run_script("compare_mpi", "--rounds", 1, "--launcher", "env", "--collective", "all_gather", "--statistic", "median", osu,
                      roofmark)
    assert (done.returncode, done.stdout) == (3, "") and "P50 slowest" in done.stderr


def test_broadcast_is_compared_in_place(tmp_path, plain):
    roofmark = roofmark_mpi(tmp_path, {(8, "in"): [1e-6]}, collective="broadcast")
    done = run_script("compare_mpi", "--rounds", 1, "--launcher", "env", "--collective", "broadcast", plain(), roofmark)
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_compared_ends_with_3(tmp_path, plain):
    roofmark = roofmark_mpi(tmp_path, {(8, "out"): [1e-6]})
    for arguments, said in [(["--sizes", "16:32", plain(), roofmark], "16 to 32 bytes"),
                            ([executable(tmp_path / "failing", "#!/bin/bash\necho no room >&2; exit 7\n"), roofmark], "7: no room"),
                            ([plain(), "/nonexistent/roofmark-mpi"], "No such file")]:
        done = run_script("compare_mpi", "--rounds", 1, "--launcher", "env", *arguments)
        assert (done.returncode, done.stdout) == (3, ""), said
        assert said in done.stderr
    for arguments in [["--sizes", "8"], ["--sizes", "9:8"], ["--launcher", ""], ["--launcher", "'"], ["--collective", "gossip"]]:
        assert run_script("compare_mpi", *arguments, plain(), roofmark).returncode == 2


@pytest.mark.skipif(not PROGRAM or not PLAIN_LOOP or not shutil.which(MPIRUN), reason="no roofmark-mpi, plain loop or mpirun")
def test_the_real_programs_are_compared_whatever_the_verdict():
    done = run_script("compare_mpi", "--rounds", 1, "--sizes", "8:32", "--max-seconds", 0.005, "--collective", "all_gather",
                      "--launcher", f"{MPIRUN} -np 2", PLAIN_LOOP, PROGRAM)
    assert done.returncode in (0, 1), done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[2:]] == ["8", "32"]
