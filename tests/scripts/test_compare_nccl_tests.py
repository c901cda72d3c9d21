# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/peers/compare_nccl_tests on lines in nccl-tests' format and small programs."""
import pytest
from peer_programs import calls, executable, load, roofmark_mpi, run_script

compare = load("compare_nccl_tests")

HEAD = """# nThread 1 nGpus 1 minBytes 8 maxBytes 2097152 step: 4(factor) warmup iters: 20 iters: 100 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   4711 on      node1 device  0 [0000:19:00] NVIDIA H200
#  Rank  1 Group  0 Pid   4712 on      node1 device  1 [0000:3b:00] NVIDIA H200
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
SMALL = "           8             2     float     sum      -1    10.50    0.00    0.00      0    10.25    0.00    0.00      0\n"
LARGE = "     2097152        524288     float     sum      -1    100.0   20.97   20.97      0    200.0   10.49   10.49      0\n"
FOOT = """# Out of bounds values : 0 OK
# Avg bus bandwidth    : 12.3456
#
"""


def test_the_table_is_read():
    small, large = compare.parse_nccl_tests(HEAD + SMALL + LARGE + FOOT)
    assert (small.size, small.wrong) == (8, {"out": 0, "in": 0})
    assert small.seconds == pytest.approx({"out": 10.5e-6, "in": 10.25e-6})
    assert large.seconds == pytest.approx({"out": 100e-6, "in": 200e-6})


def test_elements_that_were_not_checked_are_not_wrong():
    [row] = compare.parse_nccl_tests(HEAD + SMALL.replace("0.00      0\n", "0.00    N/A\n"))
    assert row.wrong == {"out": 0, "in": None}


@pytest.mark.parametrize("text", ["", SMALL, HEAD.replace("algbw", "bandwidth") + SMALL, HEAD + SMALL.replace("10.50", "fast!")],
                         ids=["nothing", "no head", "other columns", "no number"])
def test_what_is_no_such_table_is_refused(text):
    with pytest.raises(compare.CannotCompare):
        compare.parse_nccl_tests(text)


@pytest.fixture
def folder(tmp_path):
    """nccl-tests' folder, whose all_reduce_perf prints of `text` the lines of the size it is started with and all without size, and fails
    where these say so."""

    def make(text=HEAD + SMALL + LARGE + FOOT, name="all_reduce_perf"):
        (tmp_path / "table").write_text(text, encoding="utf-8")
        executable(tmp_path / name, f"""#!/bin/bash
            echo "{name} $*" >>{tmp_path}/calls
            awk -v size="$2" '$1 !~ /^[0-9]+$/ || $1 == size' {tmp_path}/table
            ! grep -q FAILED {tmp_path}/table
            """)
        return tmp_path

    return make


def times(small_out=10e-6, large_in=200e-6):
    return {(8, "out"): [small_out], (8, "in"): [10e-6], (2097152, "out"): [99e-6, 101e-6, 103e-6], (2097152, "in"): [large_in]}


def script(folder, roofmark, *arguments):
    return run_script("compare_nccl_tests", "--launcher", "env A=b", "--rounds", 6, *arguments, folder, roofmark)


def test_the_programs_take_turns_and_both_places_are_judged(folder, tmp_path):
    done = script(folder(), roofmark_mpi(tmp_path, times(), impl="nccl"))
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [row[:5] for row in rows] == [["out-of-place", "8", "10.50", "10.00", "0.952"],
                                         ["out-of-place", "2097152", "100.00", "101.00", "1.010"],
                                         ["in-place", "8", "10.25", "10.00", "0.976"],
                                         ["in-place", "2097152", "200.00", "200.00", "1.000"]]
    assert {row[-1] for row in rows} == {"within"}
    logged = calls(tmp_path)
    assert [call[:2] for call in logged] == [["roofmark-mpi", "list"]] + 6 * [["all_reduce_perf", "-b"], ["all_reduce_perf", "-b"],
                                                                              ["roofmark-mpi", "collectives"]]
    assert logged[2] == ("all_reduce_perf -b 2097152 -e 2097152 -g 1 -a 3 -c 1 -d float -o sum -n 100 -w 20").split()
    assert "^all_reduce/fp32/bytes:(8|2097152)/ranks:2/(op:sum/)?place:(in|out)/impl:\\w+$" in logged[3]


@pytest.mark.parametrize("change, verdicts", [
    ({"small_out": 11.6e-6}, ["outside", "within", "within", "within"]),
    ({"large_in": 205e-6}, ["within", "within", "within", "outside"]),
    ({"large_in": 195e-6}, ["within", "within", "within", "outside"]),
])
def test_a_difference_is_found(folder, tmp_path, change, verdicts):
    done = script(folder(), roofmark_mpi(tmp_path, times(**change), impl="nccl"))
    assert done.returncode == 1
    assert [line.split()[-1] for line in done.stdout.splitlines()[1:]] == verdicts


@pytest.mark.parametrize("count", ["7", "1e+06", "1.04858e+06"])
def test_wrong_elements_are_no_success(folder, tmp_path, count):
    """nccl-tests prints their number by %g, and ends with an error."""
    text = HEAD + SMALL + LARGE.replace("20.97      0", f"20.97  {count}") + FOOT.replace("0 OK", "1 FAILED")
    done = script(folder(text), roofmark_mpi(tmp_path, times(), impl="nccl"))
    assert done.returncode == 1
    assert "wrong elements at 2097152 bytes, out of place" in done.stderr
    assert len(done.stdout.splitlines()) == 5


def test_an_error_without_wrong_elements_is_told(folder, tmp_path):
    done = script(folder(HEAD + SMALL + "node1: Test NCCL failure FAILED\n"), roofmark_mpi(tmp_path, times(), impl="nccl"))
    assert (done.returncode, done.stdout) == (3, "")
    assert "ended with status 1: node1: Test NCCL failure FAILED" in done.stderr


def test_a_size_that_one_of_them_lacks_is_named_and_no_success(folder, tmp_path):
    done = script(folder(HEAD + SMALL + FOOT), roofmark_mpi(tmp_path, times(), impl="nccl"))
    assert done.returncode == 3
    assert done.stdout.count("within") == 2
    assert "only one program measured them: 2097152 bytes" in done.stderr


def test_another_collective_and_type(folder, tmp_path):
    roofmark = roofmark_mpi(tmp_path, {(64, "out"): [1e-6]}, collective="all_to_all", impl="nccl")
    table = HEAD + SMALL.replace("  8 ", " 64 ").replace("sum", "none").replace("10.50", " 1.00").replace("0.00      0\n",
                                                                                                          "0.00    N/A\n")
    done = script(folder(table, "alltoall_perf"), roofmark, "--collective", "all_to_all")
    assert done.returncode == 0, done.stderr
    assert script(tmp_path, roofmark, "--collective", "all_to_all", "--type", "bf16").returncode == 3


@pytest.mark.parametrize("ranks", [3, 5, 16, 24, 72])
def test_any_number_of_ranks_has_sizes_in_common(tmp_path, ranks):
    """As nccl-tests does, the program rounds the part of each rank down to 16 bytes, and multiplies its size by -f up to -e."""
    elements = [max(1, 2 << 2 * step) // ranks for step in range(14)]
    sizes = [4 * ranks * (count // 4 * 4 if count >= 4 else max(count, 1)) for count in elements]
    roofmark = roofmark_mpi(tmp_path, {(size, place): [1e-6] for size in sizes for place in ("out", "in")}, "all_gather", "nccl",
                            ranks)
    executable(tmp_path / "all_gather_perf", f"""#!/usr/bin/env python3
import sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
print({HEAD!r})
size, largest, factor = int(options["-b"]), int(options["-e"]), int(options.get("-f", 1))
while size <= largest:
    part = size // 4 // {ranks} // 4 * 4
    print({ranks} * part * 4, part, "float", "none", -1, *(2 * ["1.00", "0.00", "0.00", "0"]))
    size = size * factor if factor > 1 else size + (1 << 20)
""")
    done = script(tmp_path, roofmark, "--collective", "all_gather")
    assert done.returncode == 0, done.stderr
    aligned = sorted(size for size in set(sizes) if size >= 16 * ranks)
    assert [int(line.split()[1]) for line in done.stdout.splitlines()[1:]] == 2 * aligned
    assert f"from {16 * ranks} bytes on" in done.stderr


def test_what_cannot_be_compared_ends_with_3_or_is_bad_usage(folder, tmp_path):
    roofmark = roofmark_mpi(tmp_path, times(), impl="nccl")
    done = script(tmp_path / "nowhere", roofmark)
    assert (done.returncode, done.stdout) == (3, "")
    assert "all_reduce_perf" in done.stderr
    assert script(folder("no table"), roofmark).returncode == 3
    for arguments in [["--rounds", "0"], ["--sizes", "8-16"], ["--type", "fp8"], ["--iterations", "0"]]:
        assert run_script("compare_nccl_tests", *arguments, folder(), roofmark).returncode == 2
