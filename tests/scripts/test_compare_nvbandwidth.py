# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/peers/compare_nvbandwidth on canned outputs."""
import json

import pytest
from peer_programs import executable, load, run_script

compare = load("compare_nvbandwidth")

# What the columns of newer versions are, and what stands behind the matrix.
OUTPUT = """nvbandwidth Version: v0.8
Device 0: NVIDIA H200 (00000000:3b:00)

Running {test}.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     {first}     {second}

SUM {test} 99.99
"""


def output(test, first="55.25", second="11.5"):
    return OUTPUT.format(test=test, first=first, second=second)


def test_the_rate_is_of_the_device_and_the_test():
    assert compare.parse_nvbandwidth(output("a_test"), "a_test", 0) == 55.25e9
    assert compare.parse_nvbandwidth(output("a_test"), "a_test", 1) == 11.5e9


PEERS = """Running {test}.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1         2
 0       N/A    {a}    390.00
 1    {b}       N/A    390.00
 2    390.00    390.00       N/A

SUM {test} 2340.00
"""


def test_between_gpus_the_row_counts_too():
    text = PEERS.format(test="a_test", a="380.50", b="370.25")
    assert compare.parse_nvbandwidth(text, "a_test", 1, 0) == 380.5e9
    assert compare.parse_nvbandwidth(text, "a_test", 0, 1) == 370.25e9
    with pytest.raises(compare.CannotCompare, match="gives N/A for GPU 1"):
        compare.parse_nvbandwidth(text, "a_test", 1, 1)
    with pytest.raises(compare.CannotCompare, match="no matrix"):
        compare.parse_nvbandwidth(text, "a_test", 1, 3)


@pytest.mark.parametrize("text, ordinal, said", [
    ("", 0, "did not run a_test"), (output("other_test"), 0, "did not run a_test"), (output("a_test"), 2, "no GPU 2"),
    (output("a_test", first="N/A"), 0, "gives N/A"), ("Running a_test.\nERROR: out of memory\n", 0, "no matrix"),
])
def test_what_cannot_be_read_is_said(text, ordinal, said):
    with pytest.raises(compare.CannotCompare, match=said):
        compare.parse_nvbandwidth(text, "a_test", ordinal)


def programs(folder, seconds, size=256 << 20):
    """Both programs, which log their words in folder/calls. Copies to the host beside others are the slower ones."""
    name = f"transfer/{{}}/int8/bytes:{size}/memory:pinned/node:near/impl:copy_engine/cache:warm"
    # A probe of the ceilings has the same keys; it is not to be taken.
    entries = [{"name": "ceilings" + name.format("host_to_device").removeprefix("transfer"), "roofmark": {"measurement": {"median": 1.0}}}]
    entries += [{"name": name.format(op), "roofmark": {"measurement": {"median": median}}} for op, median in seconds.items()]
    (folder / "result").write_text(json.dumps({"benchmarks": entries, "unmeasured": []}), encoding="utf-8")
    roofmark = executable(folder / "roofmark", f"""#!/bin/bash
        echo "roofmark $*" >>{folder}/calls
        while [[ $1 != --out ]]; do shift; done
        cp {folder}/result "$2/result.json"
        """)
    nvbandwidth = executable(folder / "nvbandwidth", f"""#!/bin/bash
        echo "nvbandwidth $*" >>{folder}/calls
        rate=50.00
        [[ ${{@: -1}} == device_to_host_bidirectional* ]] && rate=40.00
        printf 'Running %s.\\n           0\\n 0     %s\\n' "${{@: -1}}" "$rate"
        """)
    return nvbandwidth, roofmark


def test_a_table_of_ratios_and_runs_that_alternate(tmp_path):
    at = {op: (256 << 20) / rate for op, rate in {"host_to_device": 55e9, "device_to_host": 50e9, "both": 45e9}.items()}
    nvbandwidth, roofmark = programs(tmp_path, at)
    done = run_script("compare_nvbandwidth", "--rounds", "6", f"{nvbandwidth} --bufferSize 256", roofmark)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert rows == [["host_to_device", "50.00", "55.00", "1.100", "1.100", "..", "1.100"],
                    ["device_to_host", "50.00", "50.00", "1.000", "1.000", "..", "1.000"],
                    ["both", "40.00", "45.00", "1.125", "1.125", "..", "1.125"]]
    calls = [line.split() for line in (tmp_path / "calls").read_text(encoding="utf-8").splitlines()]
    assert [call[0] for call in calls] == 6 * (["roofmark"] + 4 * ["nvbandwidth"])
    assert calls[1][1:] == ["--bufferSize", "256", "-t", "host_to_device_memcpy_ce"]
    assert [call[-1] for call in calls[3:5]] == ["host_to_device_bidirectional_memcpy_ce", "device_to_host_bidirectional_memcpy_ce"]
    assert "baseline" in calls[0]


def test_larger_copies_are_of_the_suite_that_has_them(tmp_path):
    size = 1 << 30
    nvbandwidth, roofmark = programs(tmp_path, {op: size / 50e9 for op in ("host_to_device", "device_to_host", "both")}, size)
    done = run_script("compare_nvbandwidth", "--rounds", "1", "--bytes", str(size), nvbandwidth, roofmark)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[:4] == ["host_to_device", "50.00", "50.00", "1.000"]
    call = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()[0]
    assert "--suite baseline" in call and f"bytes:{size}/" in call
    assert run_script("compare_nvbandwidth", "--bytes", "1000", nvbandwidth, roofmark).returncode == 2


def test_between_two_gpus_each_way_and_by_each_means(tmp_path):
    """nvbandwidth's matrices have 1 and 2 GB/s in the rows of the two GPUs, whoever reads or writes: the row's GPU does."""
    host = "transfer/{}/int8/bytes:268435456/memory:pinned/node:near/impl:copy_engine/cache:warm"
    names = [host.format(op) for op in ("host_to_device", "device_to_host", "both")]
    names += [f"transfer/peer/int8/bytes:268435456/from:{start}/to:{1 - start}/access:on/impl:{by}/cache:warm"
              for by in ("copy_engine_read", "copy_engine_write", "sm_read", "sm_write") for start in (0, 1)]
    entries = [{"name": name, "roofmark": {"measurement": {"median": 0.268435456}}} for name in names]
    (tmp_path / "result").write_text(json.dumps({"benchmarks": entries, "unmeasured": []}), encoding="utf-8")
    roofmark = executable(tmp_path / "roofmark", f"""#!/bin/bash
        echo "$*" >>{tmp_path}/calls
        while [[ $1 != --out ]]; do shift; done
        cp {tmp_path}/result "$2/result.json"
        """)
    nvbandwidth = executable(tmp_path / "nvbandwidth", """#!/bin/bash
        printf 'Running %s.\\n           0         1\\n 0      1.00      1.00\\n 1      2.00      2.00\\n' "${@: -1}"
        """)
    done = run_script("compare_nvbandwidth", "--rounds", "1", "--peer", "cuda:1", nvbandwidth, roofmark)
    assert done.returncode == 0, done.stderr
    rates = {line[:24].strip(): line[24:].split()[0] for line in done.stdout.splitlines()[4:]}
    # Who reads receives, and who writes sends.
    assert rates == {"copy_engine_read 0->1": "2.00", "copy_engine_read 1->0": "1.00", "copy_engine_write 0->1": "1.00",
                     "copy_engine_write 1->0": "2.00", "sm_read 0->1": "2.00", "sm_read 1->0": "1.00", "sm_write 0->1": "1.00",
                     "sm_write 1->0": "2.00"}
    assert "--suite baseline" in (tmp_path / "calls").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [["--peer", "cuda:0"], ["--device", "cuda:1", "--peer", "cuda:2"], ["--peer", "1"]])
def test_a_peer_is_another_gpu_than_the_first(words):
    assert run_script("compare_nvbandwidth", *words, "nvbandwidth", "roofmark").returncode == 2


def test_what_was_not_measured_ends_with_3(tmp_path):
    nvbandwidth, roofmark = programs(tmp_path, {"host_to_device": 0.005})
    done = run_script("compare_nvbandwidth", "--rounds", "1", nvbandwidth, roofmark)
    assert done.returncode == 3 and "roofmark did not measure transfer/device_to_host/" in done.stderr
    assert run_script("compare_nvbandwidth", "--rounds", "0", nvbandwidth, roofmark).returncode == 2
