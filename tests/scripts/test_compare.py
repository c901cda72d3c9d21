# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# Longer than most files: one kind of comparison per test.
"""scripts/compare, and that Google Benchmark's own compare.py reads the same files."""

import contextlib
import copy
import io
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest import mock

import make_result
import pytest
from conftest import ROOT, need

need("jsonschema", "numpy", "scipy")
import numpy as np  # noqa: E402
from roofmark_report import compare, compare_texts, program  # noqa: E402
from roofmark_report.program import Problem  # noqa: E402

COMMAND = [sys.executable, str(ROOT / "scripts" / "compare")]
SYSTEM_PYTHON = "/usr/bin/python3"
GOOGLE_COMPARE = next((path for path in map(Path, ("/usr/share/benchmark/compare.py", "/usr/share/benchmark/tools/compare.py"))
                       if path.exists()), None)


def run(*arguments):
    """The program, but in this process: to import scipy takes it longer than most of these comparisons."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with (mock.patch.object(sys, "argv", ["compare", *map(str, arguments)]), mock.patch.object(program, "enter_environment"),
          contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended):
        program.run("compare")
    out.flush(), err.flush()
    return subprocess.CompletedProcess(arguments, ended.value.code or 0, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def equal_of(path):
    """A file of the same result with other bytes: the same file on both sides is refused."""
    made = path.with_name("equal.json")
    made.write_bytes(path.read_bytes() + b"\n")
    return made


def scaled(result, factor, name=None, clock=1.0):
    """The result with all times, or those of one case, multiplied by the factor, and clocks by another."""
    made = copy.deepcopy(result)
    for entry in made["benchmarks"]:
        if name in (None, entry["name"]):
            measured = entry["roofmark"]["measurement"]
            measured["median"] *= factor
            measured["samples"]["seconds"] = [factor * seconds for seconds in measured["samples"]["seconds"]]
            for place in [measured, *measured["blocks"]]:
                if "clock_hz" in place:
                    place["clock_hz"] *= clock
    return made


def noisy(result, count, cv=0.003, seed=0, name=None, factor=1.0, clock=1.0):
    """Runs of which each case has its own normally distributed factor."""
    random, runs = np.random.default_rng(seed), []
    for _ in range(count):
        run = scaled(result, factor, name, clock)
        for entry in run["benchmarks"]:
            entry["roofmark"]["measurement"]["median"] *= math.exp(random.normal(0, cv))
        runs.append(run)
    return runs


def test_a_merged_result_stands_for_its_folder(tmp_path):
    paths = [tmp_path / place / "result.json" for place in ("a", "a/alone/cuda-0", "a/together/cuda-0", "b/together/cuda-0", "result")]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    assert compare.files_of(tmp_path) == sorted(paths), "it is not merged from them"
    paths[0].write_text('{"team": [{"device_id": "cuda:0"}]}')
    assert compare.files_of(tmp_path / "a") == [paths[0]]
    assert compare.files_of(tmp_path / "b") == [paths[3]]
    assert compare.files_of(tmp_path) == sorted([paths[0], paths[1], paths[3], paths[4]])


def row_of(found, name, verdict=None):
    [row] = [row for row in found["cases"] if row["name"] == name]
    assert verdict in (None, row["verdict"]), row
    return row


def clocked_case(result):
    """A case whose time follows the clock."""
    return next(entry["name"] for entry in result["benchmarks"] if compare.follows_clock([entry["roofmark"]])
                and entry["roofmark"]["family"] != "ceilings")


def counts(found):
    return Counter(row["verdict"] for row in found["cases"])


def test_a_run_against_its_equal_repeats_exactly(result, save):
    path = save(result)
    done = subprocess.run([*COMMAND, path, "--", equal_of(path)], capture_output=True, text=True, timeout=300, check=False)
    number = len(result["benchmarks"])
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{number} cases measured in both, 0 listed in A alone, 0 in B alone" in done.stdout
    assert "median 0.00 %, 95th percentile 0.00 %" in done.stdout
    assert f"{number} equal, 0 different" in done.stdout
    assert done.stdout.splitlines()[0] == f"B: 0 faster, 0 slower, {number} undecided, 0 the same"
    assert "variation within one process" in " ".join(done.stdout.split())


def test_nine_runs_find_2_percent_in_one_case(small):
    name = small["benchmarks"][3]["name"]
    found = compare.compare(noisy(small, 9), noisy(small, 9, seed=1, name=name, factor=1.02))
    row = row_of(found, name, "SLOWER")
    assert found["cases"][0] is row and row["unit"] == "run" and row["runs"] == [9, 9]
    assert row["ratio"] == pytest.approx(1 / 1.02, abs=0.004) and row["interval"][0] < row["ratio"] < row["interval"][1] < 1
    assert row["p"] <= row["p_holm"] <= 0.01
    assert counts(found)["SLOWER"] == 1 and counts(found)["FASTER"] == 0
    assert counts(compare.compare(noisy(small, 9, name=name, factor=1.02), noisy(small, 9, seed=1)))["FASTER"] == 1


def test_few_runs_call_only_large_differences(small):
    name = small["benchmarks"][3]["name"]
    before = noisy(small, 3, cv=0.001)
    row_of(compare.compare(before, noisy(small, 3, cv=0.001, seed=1, name=name, factor=1.05)), name, "UNCLEAR")
    row_of(compare.compare(before, noisy(small, 3, cv=0.001, seed=1, name=name, factor=1.5)), name, "SLOWER")


@pytest.mark.parametrize(("runs", "others"), [(1, 1), (3, 1), (1, 9), (9, 1)])
def test_with_one_run_on_a_side_a_case_only_seems_slower(small, runs, others):
    """That one may be the run in hundreds that something disturbed."""
    name = small["benchmarks"][3]["name"]
    for factor, seems in ((1.12, None), (1.3, "SLOWER"), (1 / 1.3, "FASTER")):
        found = compare.compare(noisy(small, runs, cv=0.001), noisy(small, others, cv=0.001, seed=1, name=name, factor=factor))
        row = row_of(found, name, "UNCLEAR")
        assert row.get("seems") == seems and row["ratio"] == pytest.approx(1 / factor, rel=0.01)
        assert not compare.fails(found, 0) and counts(found)["SLOWER"] == counts(found)["FASTER"] == 0
        assert sum("seems" in row for row in found["cases"]) == (seems is not None)
        if seems:
            undecided = [row for row in found["cases"] if row["verdict"] == "UNCLEAR"]
            assert undecided[0] is row and f"; 1 seems {seems.lower()} (repeat the run)" in found["headline"]
            assert f" {seems.lower()}?  " in compare.table([row])
        said = " ".join(compare.basis(found))
        assert "none of these cases is called SLOWER or FASTER. Those that seem so, by more than 15 %, do not fail: repeat the run." in said


def test_several_cases_may_seem_faster_or_slower(small):
    found = compare.compare([scaled(small, 1.3)], [scaled(small, 1.7, small["benchmarks"][3]["name"])])
    assert f"; {len(small['benchmarks']) - 1} seem faster, 1 seems slower (repeat the run)" in found["headline"]


def calls(small, ticks):
    """Runs of which one case, timed by a clock of 40 ns, took so many steps in all samples."""
    runs = []
    for count in ticks:
        run = copy.deepcopy(small)
        measured = run["benchmarks"][3]["roofmark"]["measurement"]
        measured["samples"]["seconds"] = [40e-9 * count] * len(measured["samples"]["seconds"])
        measured["median"] = 40e-9 * count
        runs.append(run)
    return runs


@pytest.mark.parametrize("runs", [2, 3])
def test_on_a_disturbed_machine_chance_makes_no_case_slower(small, runs):
    """Other programs double half of the times, and some cases happen to be alike within each side."""
    random = np.random.default_rng(runs)

    def disturbed():
        made = noisy(small, runs, cv=0.003, seed=random.integers(1 << 30))
        for run in made:
            for entry in run["benchmarks"]:
                entry["roofmark"]["measurement"]["median"] *= 2 if random.random() < 0.5 else 1
        return made

    found = [counts(compare.compare(disturbed(), disturbed())) for _ in range(20)]
    assert all(verdicts["SLOWER"] == verdicts["FASTER"] == 0 for verdicts in found)


def test_a_step_of_the_clock_is_no_difference(small):
    name = small["benchmarks"][3]["name"]
    for runs in (2, 3, 4):
        row = row_of(compare.compare(calls(small, [4] * runs), calls(small, [3] * runs)), name, "UNCLEAR")
        assert row["ratio"] == pytest.approx(4 / 3) and row["p_holm"] > 0.01
    # Where the clock shows steps of less, the same times differ.
    fine = calls(small, [4] * 4)
    fine[0]["benchmarks"][3]["roofmark"]["measurement"]["samples"]["seconds"][0] += 1e-9
    row_of(compare.compare(fine, calls(small, [3] * 4)), name, "FASTER")
    row_of(compare.compare(calls(small, [3] * 9), calls(small, [4] * 9)), name, "SLOWER")


def test_one_run_per_side_never_shows_that_a_case_is_the_same(small):
    equal = compare.compare([small], [scaled(small, 1.002)])
    assert set(counts(equal)) == {"UNCLEAR"} and all(0.99 < end < 1.01 for row in equal["cases"] for end in row["interval"])
    number = len(small["benchmarks"])
    said = " ".join(compare.basis(equal))
    assert "One run against fewer than 7 shows only the variation within one process: none of these cases is called the same." in said
    assert "More runs decide more: from 2 runs per side cases that are the same and differences above 10 %, from 7 per side differences above 1 %." in said
    assert f"{number} undecided cases have one run on a side: with at least 2 this line says how many they need" in compare.summary(equal)
    said = " ".join(compare.basis(compare.compare([small], [small], margin=0.3)))
    assert "Those that seem so, by more than 30 %, do not fail" in said
    assert said.endswith("More runs decide more: from 2 runs per side cases that are the same and differences above 30 %.")
    several = compare.compare(noisy(small, 2, cv=0.0002), noisy(small, 2, cv=0.0002, seed=1))
    assert counts(several)["SAME"] > 0.9 * number and not any("one run on a side" in line for line in compare.summary(several))


def test_wide_spread_is_unclear_and_says_how_many_runs_it_takes(small):
    found = compare.compare(noisy(small, 7, cv=0.02), noisy(small, 7, cv=0.02, seed=1))
    assert counts(found)["UNCLEAR"] == len(found["cases"])
    assert all(20 < row["runs_needed"] < 150 for row in found["cases"])
    assert any(line.startswith("undecided cases need ") for line in compare.summary(found))


def test_a_lower_clock_is_apart_from_more_clocks(small):
    name = clocked_case(small)
    before = noisy(small, 9)
    lower = compare.compare(before, noisy(small, 9, seed=1, name=name, factor=1.06, clock=1 / 1.06))
    row = row_of(lower, name, "SLOWER")
    assert row["cause"] == "clock" and row["per_clock"]["ratio"] == pytest.approx(1, abs=0.01)
    assert "1 SLOWER because the clock was lower" in compare.summary(lower)
    more = compare.compare(before, noisy(small, 9, seed=1, name=name, factor=1.06))
    assert row_of(more, name, "SLOWER")["cause"] == "per clock" and "1 SLOWER per clock" in compare.summary(more)
    hidden = compare.compare(before, noisy(small, 9, seed=1, name=name, clock=1.06))
    row = row_of(hidden, name)
    assert row["verdict"] != "SLOWER" and row["per_clock"]["verdict"] == "SLOWER"
    assert "1 SLOWER per clock, but not in time" in compare.summary(hidden)


def test_blocks_have_their_own_clocks(small):
    name = clocked_case(small)
    row = row_of(compare.compare([small], [scaled(small, 1.5, name, 1 / 1.5)]), name, "UNCLEAR")
    assert row["unit"] == "block" and row["cause"] == "clock" and row["per_clock"]["ratio"] == pytest.approx(1)


def test_memory_and_launches_have_no_time_per_clock(small):
    found = compare.compare([small], [small])
    bound = {entry["name"]: entry["roofmark"]["placement"]["bound_by"] for entry in small["benchmarks"]
             if "clock_hz" in entry["roofmark"]["measurement"] and "bound_by" in entry["roofmark"]["placement"]}
    assert {"dram", "bf16_tensor"} <= set(bound.values())
    for name, resource in bound.items():
        assert ("per_clock" in row_of(found, name)) == (resource not in compare.UNCLOCKED)


def test_resources_without_a_clock_are_those_of_the_program():
    text = (ROOT / "harness" / "model" / "resource.hpp").read_text(encoding="utf-8")
    clocks = dict(re.findall(r'Resource \w+\{\s*"(\w+)", [^}]*,\s+ClockDomain::(\w+)\}', text))
    assert {name for name, clock in clocks.items() if clock != "sm"} == compare.UNCLOCKED


def test_fingerprints_are_compared_where_keys_are_equal(small):
    other = copy.deepcopy(small)
    names = [entry["name"] for entry in small["benchmarks"]]
    marks = [entry["roofmark"]["fingerprint"] for entry in other["benchmarks"]]
    marks[0]["hash"] = "0"  # other bits
    marks[1].update(hash="0", key="another build")  # cannot be compared
    marks[2].update(hash="", deterministic=False)  # other bits where most launches agree
    found = compare.compare([small, small], [small, other])
    assert [row_of(found, name)["bits"] for name in names[:4]] == ["differ", "equal", "differ", "equal"]
    found = compare.compare([small], [other])
    assert [row_of(found, name)["bits"] for name in names[:4]] == ["differ", "", "", "equal"]
    assert f"fingerprints with equal keys: {len(names) - 3} equal, 1 different: " in "\n".join(compare.summary(found))


def test_a_device_whose_bits_differ_from_the_others_has_other_bits(small):
    other = copy.deepcopy(small)
    other["benchmarks"][0]["roofmark"]["fingerprint"]["differing_ranks"] = [2]
    for a, b in (([small], [other]), ([other], [small])):
        found = compare.compare(a, b)
        assert [row["name"] for row in found["cases"] if row["bits"] == "differ"] == [small["benchmarks"][0]["name"]] and compare.fails(found, 0)


def without_time(result, index, status):
    """The result with one case of that status; and its name."""
    made = copy.deepcopy(result)
    entry = made["benchmarks"].pop(index)
    record = {key: value for key, value in entry["roofmark"].items() if key not in ("measurement", "placement")}
    made["unmeasured"].append({"name": entry["name"], "roofmark": record | {"status": status}})
    return made, entry["name"]


def test_cases_of_one_side_alone_and_other_statuses(small):
    other, wrong = without_time(small, 1, "wrong")
    lost = other["benchmarks"].pop(0)
    found = compare.compare([small], [other])
    lines = compare.summary(found)
    assert len(found["cases"]) == len(small["benchmarks"]) - 2
    assert "1 listed in A alone, 0 in B alone" in lines[0] and f"only in A: {lost['name']}" in lines
    assert f"worse status: {wrong}: ok, then wrong" in lines
    assert found["headline"].endswith(" the same; 1 case with a worse status; 1 case only in A")
    back = compare.compare([other], [small])
    assert f"different status: {wrong}: wrong, then ok" in compare.summary(back)
    assert back["headline"].endswith(" the same; 1 case with another status; 1 case only in B")
    lines = compare.summary(compare.compare([small, small], [small, other]))
    assert f"worse status: {wrong}: ok, then 1 ok, 1 wrong" in lines and not any(line.startswith("only in") for line in lines)


def test_of_many_cases_of_one_side_the_first_are_listed(small):
    h200 = make_result.h200()
    lines = [line for line in compare.summary(compare.compare([h200], [small])) if line.startswith("only in A: ")]
    missing = len(h200["benchmarks"]) - len(small["benchmarks"])
    assert len(lines) == 9 and lines[-1] == f"only in A: {missing - 8} more, which --json lists"


def test_rounds_of_other_pairs_are_not_compared(small):
    other = copy.deepcopy(small)
    name = small["benchmarks"][0]["name"]
    small["benchmarks"][0]["roofmark"]["message"] = {"groups": [[0, 1]]}
    other["benchmarks"][0]["roofmark"]["message"] = {"groups": [[1, 2]]}
    found = compare.compare([small], [other])
    assert found["different_ranks"] == [name] and len(found["cases"]) == len(small["benchmarks"]) - 1
    assert any(line.startswith("1 case has different ranks in B") for line in compare.summary(found))
    other["benchmarks"][0]["roofmark"]["message"] = {"groups": [[0, 1]]}
    assert not compare.compare([small], [other])["different_ranks"]


def test_other_settings_are_said(small):
    assert compare.differences_of_setting([small], [small, small]) == []
    other = copy.deepcopy(small) | {"data": "zeros", "suite": "full"}
    other["device"]["name"] = "another\x1b[31m"
    other["device"]["details"]["driver_version"] = "590.00"
    other["libraries"]["cuBLASLt"]["version"] = "13.1.0"
    other["libraries"]["CUDA runtime"]["path"] = "/elsewhere"
    said = compare.differences_of_setting([small], [small, other])
    assert "data: normal in A, normal, zeros in B" in said and "suite: baseline in A, baseline, full in B" in said
    assert "driver: 580.00 in A, 580.00, 590.00 in B" in said and "cuBLASLt: 13.0.0 in A, 13.0.0, 13.1.0 in B" in said
    assert "\x1b" not in "".join(said) and len(said) == 5


@pytest.mark.parametrize("order, said", [("AABB", True), ("BBAA", True), ("ABAB", False), ("ABBA", False), ("AB", False), ("AAAB", False)])
def test_runs_that_were_not_alternated_are_said(small, order, said):
    sides = {"A": [], "B": []}
    for day, (side, result) in enumerate(zip(order, noisy(small, len(order)))):
        sides[side].append(result | {"started_utc": f"2026-03-{day + 1:02d}T00:00:00Z"})
    found = compare.compare(*sides.values())
    assert found["alternated"] != said
    assert any("were not alternated" in line for line in compare_texts.basis(found)) == said


def test_another_scope_verdict_and_completeness_are_said(small):
    other = copy.deepcopy(small) | {"complete": False, "interrupted": True}
    other["scope"]["changes"] = ["--filter gemm", "--max-seconds 1"]
    other["verdict"]["level"] = {"good": "bad", "bad": "good", "doubtful": "good"}[small["verdict"]["level"]]
    assert compare.differences_of_setting([small], [other]) == [
        "scope: the whole suite in A, --filter gemm, --max-seconds 1 in B", "completeness: complete in A, incomplete, interrupted in B",
        f"verdict: {small['verdict']['level']} in A, {other['verdict']['level']} in B"]


def test_one_run_against_several_is_judged_by_their_blocks_beyond_15_percent(small):
    name = small["benchmarks"][3]["name"]
    several = [copy.deepcopy(small) for _ in range(3)]
    for factor, seems in ((1.0, None), (1.12, None), (1.3, "SLOWER")):
        found = compare.compare(several, [scaled(small, factor, name)])
        row = row_of(found, name, "UNCLEAR")
        assert row.get("seems") == seems and row["unit"] == "block" and row["runs"] == [3, 1] and found["tested"] == len(small["benchmarks"])
    case = compare.Case(("a", 1), [[run["benchmarks"][3]["roofmark"] for run in runs] for runs in (several, several[:1])])
    assert len(case.seconds[0]) == 3 * len(case.seconds[1]) > 3, "the blocks of all runs"
    said = " ".join(compare.basis(found))
    assert "One run against fewer than 7 shows only the variation within one process" in said and " are called SLOWER" not in said
    assert "from 2 runs per side cases that are the same and differences above 10 %, from 7" in said and "Holm" not in said


def test_one_run_against_many_is_judged_as_a_run(small):
    found = compare.compare(noisy(small, 9, cv=0.001), noisy(small, 1, cv=0.001, seed=1))
    assert all(row["runs"] == [9, 1] and row["unit"] == "run" for row in found["cases"]) and counts(found)["SAME"] > 0
    said = " ".join(compare.basis(found))
    assert "within one process" not in said and "Holm" not in said and "Student" not in said
    assert said.endswith("More runs decide more: from 2 runs per side differences above 10 %, from 7 per side differences above 1 %.")


def test_a_case_that_one_run_alone_measured_does_not_speak_for_the_others(small):
    several = noisy(small, 3)
    name = small["benchmarks"][3]["name"]
    for run in several[1:]:
        run["benchmarks"] = [entry for entry in run["benchmarks"] if entry["name"] != name]
    found = compare.compare(noisy(small, 3, seed=1), several)
    assert row_of(found, name)["unit"] == "block"
    said, cases = compare.basis(found), len(small["benchmarks"])
    assert f"Only differences above 10 % are called SLOWER or FASTER in {cases - 1} of {cases} cases." in said
    assert any(line.startswith(f"One run on a side in 1 of {cases} cases does not show how runs vary") for line in said)


def test_one_block_on_a_side_has_no_interval(small):
    other = copy.deepcopy(small)
    name = other["benchmarks"][0]["name"]
    measured = other["benchmarks"][0]["roofmark"]["measurement"]
    kept = measured["samples"]["block"].count(0)
    measured["samples"] = {column: values[:kept] for column, values in measured["samples"].items()}
    measured["blocks"] = measured["blocks"][:1]
    found = compare.compare([small], [other])
    assert "interval" not in row_of(found, name, "UNCLEAR") and found["tested"] == len(small["benchmarks"]) - 1


def test_a_case_too_short_for_two_blocks_is_unclear(small):
    for entry in small["benchmarks"]:
        measured = entry["roofmark"]["measurement"]
        measured["samples"] = {name: column[:1] for name, column in measured["samples"].items()}
        measured["blocks"] = measured["blocks"][:1]
    found = compare.compare([small], [small])
    assert set(counts(found)) == {"UNCLEAR"} and not any("p" in row for row in found["cases"])
    assert "undecided" in compare.table(found["cases"]) and "no interval" in compare.table(found["cases"])


def test_folders_are_searched_and_slower_is_status_1(small, tmp_path):
    name = small["benchmarks"][3]["name"]
    for side, factor in (("a", 1.0), ("b", 1.04)):
        for number, made in enumerate(noisy(small, 7, seed=ord(side), name=name, factor=factor)):
            folder = tmp_path / side / f"run-{number}"
            folder.mkdir(parents=True)
            (folder / "result.json").write_text(json.dumps(made), encoding="utf-8")
    written = tmp_path / "compared.json"
    done = run(tmp_path / "a", "--", tmp_path / "b", "--json", written)
    assert (done.returncode, done.stderr) == (1, "")
    assert "runs: 7 in A, 7 in B" in done.stdout and "variation within one process" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120
    lines = done.stdout.splitlines()
    assert lines[lines.index("") + 2].startswith(name), "the slow case is first"
    found = json.loads(written.read_text(encoding="utf-8"))
    assert found["cases"][0]["name"] == name and found["cases"][0]["verdict"] == "SLOWER"
    assert run(tmp_path / "b", "--", tmp_path / "a").returncode == 0, "FASTER"
    assert run(tmp_path / "a" / "run-0", tmp_path / "a" / "run-1" / "result.json", "--", tmp_path / "b").returncode == 0
    assert run("--margin", 5, tmp_path / "a", "--", tmp_path / "b").returncode == 0


def test_tables_fit_the_terminal(result):
    found = compare.compare(noisy(result, 2), noisy(result, 3, cv=0.5, seed=1))
    lines = compare.table(found["cases"]).splitlines()
    names = {row["name"] for row in found["cases"]}
    assert all(len(line) <= 120 or line in names for line in lines) and all(any(line.startswith(name) for line in lines) for name in names)


def test_absurd_times_do_not_widen_the_table(small):
    name = small["benchmarks"][0]["name"]
    longest = max(len(entry["name"]) for entry in small["benchmarks"])
    for factor, shown in ((1e85, "1.00e-85"), (1e-80, "1.00e+80")):
        found = compare.compare([small], [scaled(small, factor, name)])
        lines = compare.table(found["cases"]).splitlines() + compare.summary(found)
        assert max(map(len, lines)) <= max(120, longest) and any(shown in line for line in lines)


def test_the_runs_that_suffice_are_counted_as_the_help_says():
    sides = [(7, 7), (6, 9), (4, 15), (3, 26)], [(6, 6), (6, 8), (4, 14), (25, 3)]
    assert [[compare.significance.runs_suffice(*of) for of in some] for some in sides] == [[True] * 4, [False] * 4]
    done = run("--help")
    assert "fewer than 7 runs per side (6 and 9, 4 and 15, 3 and 26 count as 7 each) only" in " ".join(done.stdout.split())


def test_nothing_in_common(small, save):
    small["benchmarks"], small["unmeasured"] = [], []
    path = save(small)
    done = run(path, equal_of(path))
    assert done.returncode == 2 and done.stdout == "" and "no case in common (suites: baseline in A, baseline in B)" in done.stderr


def test_nothing_in_common_but_rounds_of_other_pairs(cluster, save):
    entry = next(entry for entry in cluster["benchmarks"] if entry["name"].startswith("ping_pong"))
    before = cluster | {"benchmarks": [entry], "unmeasured": []}
    after = copy.deepcopy(before)
    after["team"].pop()
    after["benchmarks"][0]["roofmark"]["message"]["groups"] = [[0, 1]]
    done = run(save(before), save(after, "after.json"))
    assert done.returncode == 2 and done.stdout == "" and done.stderr == "compare: A and B have no case of the same ranks in common (ranks: 16 in A, 15 in B)\n"


def test_where_no_case_was_measured_on_both_sides_no_test_is_told_of(small):
    other = copy.deepcopy(small)
    for _ in small["benchmarks"]:
        other, _ = without_time(other, 0, "not_run")
    assert not any("false alarms" in line for line in compare.basis(compare.compare([small, small], [other, other])))
    only = small | {"benchmarks": small["benchmarks"][:1], "unmeasured": []}
    assert "1 % false alarms in 1 tested case together (Holm)" in compare.basis(compare.compare(noisy(only, 2), noisy(only, 2, seed=1)))


def test_the_headline_says_what_came_out_and_what_differs(small):
    name = small["benchmarks"][3]["name"]
    other = scaled(small, 1.5, name) | {"data": "zeros"}
    other["benchmarks"][0]["roofmark"]["fingerprint"]["hash"] = "0"
    other, _ = without_time(other, 1, "wrong")
    found = compare.compare([small], [other])
    others = len(small["benchmarks"]) - 2
    assert found["headline"] == f"B: 0 faster, 0 slower, {others + 1} undecided, 0 the same; 1 seems slower (repeat the run); bits differ in 1 case; 1 case with a worse status; different data"


def test_results_of_different_kinds_are_refused(h200, cluster, save):
    cpu, gpu, team = save(make_result.cpu(), "cpu.json"), save(h200, "gpu.json"), save(cluster, "team.json")
    for a, b, said in [(cpu, gpu, "a run on the CPU in A, a run on a GPU in B"), (gpu, team, "a run on a GPU in A, collectives on a GPU in B")]:
        done = run(a, "--", b)
        assert (done.returncode, done.stdout) == (2, "") and done.stderr == f"compare: results of different kinds: {said}\n"
    other = make_result.cpu() | {"suite": "full"}
    other["benchmarks"] = [e | {"name": e["name"] + "0"} for e in other["benchmarks"]]
    other["unmeasured"] = []
    done = run(cpu, save(other, "full.json"))
    assert done.returncode == 2 and done.stderr == "compare: A and B have no case in common (suites: quick in A, full in B)\n"


def test_how_much_slower_fails_can_be_set(small, save):
    (a, *as_), (b, *bs) = ([save(made, f"{side}{i}.json") for i, made in enumerate(noisy(small, 3, 0.001, ord(side), small["benchmarks"][3]["name"], factor))]
                           for side, factor in (("a", 1), ("b", 1.3)))
    assert run(a, b).returncode == 0
    assert [run(*flags, a, *as_, "--", b, *bs).returncode for flags in ((), ("--fail-above", "29%"), ("--fail-above", "31%"))] == [1, 1, 0]
    assert run("--fail-above", "x", a, b).returncode == 2


@pytest.mark.parametrize(("before", "after", "status"), [
    ("ok", "wrong", 1), ("ok", "failed", 1), ("ok", "not_run", 1), ("ok", "unsupported", 0), ("unsupported", "wrong", 1), ("failed", "wrong", 1),
    ("wrong", "failed", 0), ("wrong", "wrong", 0), ("wrong", "ok", 0)])
def test_a_worse_status_fails_whatever_the_times(small, save, before, after, status):
    a, b = (small if word == "ok" else without_time(small, 0, word)[0] for word in (before, after))
    a, b = save(a, "a.json"), save(b | {"labels": {"side": "b"}}, "b.json")
    assert [run(*flags, a, b).returncode for flags in ((), ("--fail-above", "50%"))] == [status, status]


def test_a_status_is_worse_over_all_runs(small):
    wrong, name = without_time(small, 0, "wrong")
    not_run, _ = without_time(small, 0, "not_run")

    def worse(a, b):
        found = compare.compare(a, b)
        assert all(text.startswith(f"{name}: ") for text in found["worse_status"])
        return len(found["worse_status"]) == 1

    assert worse([small, small], [small, wrong]) and worse([small, not_run], [small, wrong]) and worse([small, not_run], [not_run])
    assert not worse([small, wrong], [small, wrong, wrong]) and not worse([small, wrong], [small, not_run]) and not worse([not_run], [small, not_run])


def test_what_a_run_that_was_cut_off_did_not_reach_is_not_run(small, save):
    """Killed, it has no time to list it."""
    for result in (small, cut := copy.deepcopy(small)):
        result["scope"] |= {"suite_cases": len(small["benchmarks"]), "cases": len(small["benchmarks"])}
    lost = cut["benchmarks"].pop()["name"]
    cut["complete"] = False
    a, b = save(small, "a.json"), save(cut, "b.json")
    done = run(a, b)
    assert done.returncode == 1 and f"\nworse status: {lost}: ok, then not_run\n" in done.stdout
    found = compare.compare([small, small], [small, cut])
    assert found["worse_status"] == [f"{lost}: ok, then 1 not_run, 1 ok"] and compare.fails(found, 0.5)
    assert not compare.fails(compare.compare([small, cut], [small, cut]), 0) and not compare.fails(compare.compare([cut], [small]), 0)
    # Another selection may lack the case for another reason.
    cut["scope"]["cases"] -= 1
    found = compare.compare([small], [cut])
    assert found["only_a"] == [lost] and not found["worse_status"]


def test_other_bits_fail_whatever_the_times(small, save):
    a = save(small, "a.json")
    name = small["benchmarks"][0]["name"]
    small["benchmarks"][0]["roofmark"]["fingerprint"]["hash"] = "0"
    b = save(small, "b.json")
    for flags in ((), ("--fail-above", "50%")):
        done = run(*flags, a, b)
        assert done.returncode == 1 and f"\ndifferent bits: {name}\n" in done.stdout
        assert done.stdout.splitlines()[0].endswith("; bits differ in 1 case")
    small["benchmarks"][0]["roofmark"]["fingerprint"]["key"] += " of another build"
    assert run(a, save(small, "b.json")).returncode == 0


def test_bad_input_and_usage_are_one_line(small, save, tmp_path):
    path = save(small)
    broken = tmp_path / "broken.json"
    broken.write_bytes(path.read_bytes()[:1000])
    (tmp_path / "empty").mkdir()
    (tmp_path / "copy.json").write_bytes(path.read_bytes())
    for arguments, said in [((tmp_path / "none", path), "cannot read"), ((path,), "required"), ((path, "--"), "required"),
                            (("--", path), "required"), ((path, "--", path, "--", path), "required"), ((path, path, path), "required"),
                            ((path, "--", tmp_path / "empty"), "no result.json"), ((path, tmp_path / "copy.json", "--", path), "the same run as"),
                            ((path, path), "the same run on both sides: "), ((path, "--", tmp_path / "copy.json"), "the same run on both sides: "),
                            (("--margin", "0", path, path), "percentage"), (("--margin", "x", path, path), "percentage")]:
        with pytest.raises(Problem, match=said) as raised:
            compare.main([str(argument) for argument in arguments])
        assert raised.value.status == 2
    done = run(path, "--", broken)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and f"{broken}: truncated" in done.stderr
    done = run(path, equal_of(path), "--json", tmp_path / "none" / "file")
    assert (done.returncode, done.stderr) == (3, f"compare: cannot write {tmp_path / 'none' / 'file'}: No such file or directory\n")
    before = path.read_bytes()
    done = run(equal_of(path), path, "--json", path)
    assert done.returncode == 2 and f"{path} would replace a result file" in done.stderr and path.read_bytes() == before


def test_a_reader_that_goes_away_is_no_traceback(h200, save):
    path = save(h200)
    done = subprocess.run(["sh", "-c", '"$@" | head -c 1', "sh", *COMMAND, path, equal_of(path)], capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""


@pytest.mark.skipif(GOOGLE_COMPARE is None, reason="Google Benchmark's compare.py (libbenchmark-tools) is not installed")
def test_google_benchmarks_compare_reads_the_files(h200, save):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    if subprocess.run([SYSTEM_PYTHON, "-c", "import scipy.stats"], capture_output=True, check=False, env=environment).returncode != 0:
        pytest.skip(f"compare.py needs scipy for {SYSTEM_PYTHON} (python3-scipy)")
    a, b = save(h200, "a.json"), save(make_result.h200(7), "b.json")
    done = subprocess.run([SYSTEM_PYTHON, GOOGLE_COMPARE, "--no-color", "benchmarks", a, b], capture_output=True, text=True,
                          timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    for entry in h200["benchmarks"]:
        assert entry["name"] in done.stdout
