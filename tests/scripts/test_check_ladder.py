# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/peers/check_ladder on made-up files."""
import json

import pytest
from peer_programs import load, run_script

ladder = load("check_ladder")
KIB, MIB = 1 << 10, 1 << 20


def result(ends, stated=(48 * KIB, 2 * MIB, 32 * MIB), series="latency/chase/int8/impl:own"):
    levels = [{"resource": "l1_access", "smallest_bytes": 4096, "largest_bytes": inside, "beyond_bytes": beyond} for inside, beyond in ends]
    levels.append({"resource": "dram_access", "smallest_bytes": 128 * MIB, "largest_bytes": 1024 * MIB})
    caches = [{"name": f"l{i + 1}", "instance_bytes": size, "total_bytes": 8 * size} for i, size in enumerate(stated)]
    return {"schema_version": 2, "device": {"caches": caches}, "ladders": [{"series": series, "levels": levels}]}


def run(tmp_path, made, *words):
    (tmp_path / "result.json").write_text(json.dumps(made), encoding="utf-8")
    return run_script("check_ladder", *words, tmp_path)


AS_STATED = [(45 * KIB, 54 * KIB), (1.6 * MIB, 2.1 * MIB), (24 * MIB, 36 * MIB)]


def test_levels_that_end_where_the_caches_do_pass(tmp_path):
    done = run(tmp_path, result(AS_STATED))
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[2:]] == ["l1", "l2", "l3"] and "FAIL" not in done.stdout


@pytest.mark.parametrize("ends, failing", [
    ([*AS_STATED[:2], (12 * MIB, 16 * MIB)], "l3"),  # as in a machine that gets a part of the cache
    ([*AS_STATED[:2], (50 * MIB, 60 * MIB)], "l3"),
    ([(16 * KIB, 24 * KIB), *AS_STATED[1:]], "l1"),
    ([AS_STATED[0], AS_STATED[2]], "l2"),  # two levels for three caches
])
def test_a_level_that_ends_elsewhere_is_named(tmp_path, ends, failing):
    done = run(tmp_path, result(ends))
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines() if line.endswith("FAIL")] == [failing], done.stdout


def test_one_and_a_half_is_the_limit(tmp_path):
    assert run(tmp_path, result([*AS_STATED[:2], (16 * MIB, 32 / 1.49 * MIB)])).returncode == 0
    assert run(tmp_path, result([*AS_STATED[:2], (16 * MIB, 32 / 1.51 * MIB)])).returncode == 1


def test_more_levels_than_caches_leave_the_others_out(tmp_path):
    """As the reach of a TLB, between the caches and beyond them."""
    done = run(tmp_path, result([*AS_STATED[:2], (6 * MIB, 8 * MIB), AS_STATED[2], (90 * MIB, 128 * MIB)]))
    assert done.returncode == 0, done.stdout


def test_a_ladder_of_shared_memory_shows_no_cache(tmp_path):
    both = result(AS_STATED)
    both["ladders"] += result([], series="latency/shared/int8/impl:own")["ladders"]
    done = run(tmp_path, both)
    assert done.returncode == 0 and "shared" not in done.stdout
    assert run(tmp_path, both, "--series", "shared").returncode == 1


def test_what_cannot_be_compared_ends_with_3(tmp_path):
    assert run(tmp_path, result(AS_STATED, stated=())).returncode == 3
    without = run(tmp_path, result(AS_STATED) | {"ladders": []})
    assert without.returncode == 3 and "no ladder" in without.stderr
    assert run(tmp_path, result(AS_STATED), "--series", "stride").returncode == 3
    assert run_script("check_ladder", tmp_path / "missing").returncode == 3
    assert run_script("check_ladder").returncode == 2


@pytest.mark.parametrize("text, words, status", [("", (), 3), ("[1]", (), 3), ("{}", (), 3), ('{"schema_version": 2}', (), 3), ('{"schema_version": 2, "device": 1}', (), 3),
                                                 (json.dumps(result(AS_STATED)), ("--series", "("), 2)])
def test_bad_input_is_one_line(tmp_path, text, words, status):
    (tmp_path / "result.json").write_text(text, encoding="utf-8")
    done = run_script("check_ladder", *words, tmp_path)
    assert done.returncode == status and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("check_ladder: ")


def test_every_series_counts(tmp_path):
    made = result(AS_STATED)
    made["ladders"] += result([*AS_STATED[:2], (12 * MIB, 16 * MIB)], series="latency/chase/int8/node:1")["ladders"]
    assert run(tmp_path, made).returncode == 1
    assert run(tmp_path, made, "--series", "impl:own$").returncode == 0
