# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/peers/compare_mpi, and what it shares with compare_nccl_tests, on small programs; once on the real ones."""
import json
import os
import shutil
import statistics

import pytest
from peer_programs import calls, executable, load, roofmark_mpi, run_script

compare_mpi = load("compare_mpi")
peers = load("peers.py")

PLAIN_LOOP = os.environ.get("ROOFMARK_PLAIN_LOOP")
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


@pytest.mark.parametrize("values, interval", [
    # By hand: of 6 throws none gives heads in 1 of 64 cases (1.6 %); of 9 none or one in 10 of 512 (2.0 %), two or fewer in 46.
    ([3, 1, 2, 6, 5, 4], (1, 6)),
    ([1, 2, 3, 4, 5, 6, 7, 8, 900], (2, 8)),
    ([1, 2, 3, 4, 5], None),
])
def test_an_interval_is_of_order_statistics(values, interval):
    assert peers.median_interval(values) == (statistics.median(values), interval)


TOLERANCE = peers.Tolerance(1000, 0.03, 1e-6)


@pytest.mark.parametrize("size, ours, theirs, verdict", [
    (1000, 6 * [1.02], 6 * [1], "within"),
    (1000, 6 * [0.96], 6 * [1], "outside"),
    (1000, 6 * [1.04], 6 * [1], "outside"),
    (999, 6 * [3.9e-6], 6 * [3e-6], "within"),
    (999, 6 * [4.1e-6], 6 * [3e-6], "outside"),
    (999, 6 * [1.9e-6], 6 * [3e-6], "outside"),
    # Rounds that do not agree, rounds that agree on being far off, one that was interrupted, and too few to say.
    (1000, [1.0, 1.0, 1.02, 1.02, 1.02, 1.05], 6 * [1], "unclear"),
    (1000, [1.2, 1.2, 1.21, 1.21, 1.22, 1.22], 6 * [1], "outside"),
    (999, 5 * [3e-6] + [6e-6], 6 * [3e-6], "unclear"),
    (1000, 8 * [1] + [100], 9 * [1], "within"),
    (1000, 5 * [1], 5 * [1], "unclear"),
])
def test_verdicts(size, ours, theirs, verdict):
    assert TOLERANCE.judge(size, ours, theirs) == verdict


@pytest.mark.parametrize("verdicts, status", [(["within"], 0), (["within", "unclear"], 3), (["unclear", "outside"], 1)])
def test_only_within_is_success(verdicts, status):
    assert peers.agreement_status(verdicts) == status


@pytest.fixture
def osu(tmp_path):
    """A program of OSU's, of which the slowest rank takes `us` microseconds for 8 bytes and ten times that for others; it logs its
    words."""

    def make(us=1.0, name="osu_allreduce", columns=("Avg Latency(us)", "Max Latency(us)", "Iterations")):
        values = {"Avg Latency(us)": us / 2, "Max Latency(us)": us, "Iterations": 100}
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


def compare(*arguments):
    return run_script("compare_mpi", "--rounds", 6, "--launcher", "env A=b", *arguments)


def test_the_programs_take_turns_and_the_rows_are_judged(tmp_path, osu):
    roofmark = roofmark_mpi(tmp_path, {(8, "out"): [1e-6, 1.5e-6, 2e-6], (131072, "out"): [10.1e-6]})
    done = compare(osu(), roofmark)
    assert done.returncode == 0, done.stderr
    title, _, small, large = done.stdout.splitlines()
    assert "2 ranks" in title and "mean of the slowest rank, 6 rounds" in title
    assert small.split() == ["8", "1.00", "1.50", "1.500", "1.500", "..", "1.500", "+0.50", "+0.50", "..", "+0.50", "within"]
    assert large.split()[:4] == ["131072", "10.00", "10.10", "1.010"] and large.split()[-1] == "within"
    logged = calls(tmp_path)
    # Of each size both directly after one another, each as often first.
    ours, theirs = ["roofmark-mpi", "collectives"], ["osu_allreduce", "-m"]
    assert [call[:2] for call in logged] == [["roofmark-mpi", "list"]] + 3 * [ours, theirs, ours, theirs, theirs, ours, theirs, ours]
    assert "^all_reduce/fp32/bytes:(8)/ranks:2/(op:sum/)?place:(out)/impl:\\w+$" in logged[1]
    assert "^all_reduce/fp32/bytes:(131072)/ranks:2/(op:sum/)?place:(out)/impl:\\w+$" in logged[3]
    # 0.3 s of 1.5 us are more than the most, and of 10.1 us within the bounds; a tenth of them to warm up.
    assert logged[2][2:] == ["8:8", "-i", "10000", "-x", "1000", "-f"]
    assert logged[4][2:] == ["131072:131072", "-i", "10000", "-x", "1000", "-f"]


def test_a_loop_that_is_slower_is_found(tmp_path, osu):
    roofmark = roofmark_mpi(tmp_path, {(8, "out"): [1e-6], (131072, "out"): [10.4e-6]})
    done = compare(osu(), roofmark)
    assert done.returncode == 1
    assert [line.split()[-1] for line in done.stdout.splitlines()[2:]] == ["within", "outside"]


def test_a_program_of_osu_has_flags_of_its_own_and_its_size_is_of_one_part(tmp_path, osu):
    program = osu(name="osu_allgather")
    roofmark = roofmark_mpi(tmp_path, {(512, "out"): [8e-6, 9e-6, 13e-6]}, collective="all_gather")
    done = compare("--collective", "all_gather", f"{program} -T mpi_float", roofmark)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[2].split()[:4] == ["512", "10.00", "10.00", "1.000"]
    assert calls(tmp_path)[2] == ["osu_allgather", "-T", "mpi_float", "-m", "256:256", "-i", "10000", "-x", "1000", "-f"]


def test_broadcast_is_compared_in_place(tmp_path, osu):
    roofmark = roofmark_mpi(tmp_path, {(8, "in"): [1e-6]}, collective="broadcast")
    done = compare("--collective", "broadcast", osu(), roofmark)
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_compared_ends_with_3(tmp_path, osu):
    roofmark = roofmark_mpi(tmp_path, {(8, "out"): [1e-6]})
    for arguments, said in [(["--sizes", "16:32", osu(), roofmark], "16 to 32 bytes"),
                            ([executable(tmp_path / "failing", "#!/bin/bash\necho no room >&2; exit 7\n"), roofmark], "7: no room"),
                            ([osu(name="osu_old", columns=("Avg Latency(us)",)), roofmark], "no 'Max Latency(us)'"),
                            ([osu(), "/nonexistent/roofmark-mpi"], "No such file"),
                            ([executable(tmp_path / "silent", "#!/bin/bash\n")], "no all_reduce from 8 to 8388608 bytes")]:
        done = compare(*arguments)
        assert (done.returncode, done.stdout) == (3, ""), said
        assert said in done.stderr
    for arguments in [["--sizes", "8"], ["--sizes", "9:8"], ["--launcher", ""], ["--launcher", "'"], ["--collective", "gossip"]]:
        assert run_script("compare_mpi", *arguments, osu(), roofmark).returncode == 2


def test_the_blocks_of_both_loops_are_judged_by_size(tmp_path):
    rows = [{"bytes": 131072, "ranks": 3, "roofmark": 6 * [1.04e-4], "plain": 6 * [1e-4]},
            {"bytes": 8, "ranks": 3, "roofmark": 6 * [1.5e-6], "plain": 6 * [1e-6]}]
    loops = executable(tmp_path / "mpi_plain_loop", "\n".join([
        "#!/bin/bash", f'echo "mpi_plain_loop $*" >>{tmp_path}/calls', "echo what a launcher says",
        *(f"echo '{json.dumps(row)}'" for row in rows)]))
    done = compare("--collective", "reduce", "--sizes", "8:131072", loops)
    assert done.returncode == 1, done.stderr
    title, _, small, large = done.stdout.splitlines()
    assert "reduce, 3 ranks" in title and "median of the slowest rank, 6 blocks" in title
    assert (small.split()[0], small.split()[-1]) == ("8", "within")
    assert (large.split()[0], large.split()[3], large.split()[-1]) == ("131072", "1.040", "outside")
    assert calls(tmp_path) == ["mpi_plain_loop reduce --least 8 --most 131072 --blocks 6 --max-seconds 3".split()]


@pytest.mark.skipif(not PLAIN_LOOP or not shutil.which(MPIRUN), reason="no plain loop or mpirun")
@pytest.mark.parametrize("collective", compare_mpi.COLLECTIVES)
def test_the_real_loops_are_compared_whatever_the_verdict(collective):
    done = run_script("compare_mpi", "--sizes", "8:8", "--rounds", 6, "--max-seconds", 0.02, "--collective", collective,
                      "--launcher", f"{MPIRUN} -np 2", PLAIN_LOOP)
    assert done.returncode in (0, 1, 3), done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[2:]] == ["8"], done.stderr
