# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/compare, and that Google Benchmark's own compare.py reads the same files."""

import copy
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import make_result
import pytest
from conftest import ROOT, need

need("jsonschema", "numpy", "scipy")
import numpy as np  # noqa: E402
from roofmark_report import compare, significance  # noqa: E402
from roofmark_report.program import Problem  # noqa: E402
from scipy import stats  # noqa: E402

COMMAND = [sys.executable, str(ROOT / "scripts" / "compare")]
SYSTEM_PYTHON = "/usr/bin/python3"
GOOGLE_COMPARE = next((path for path in map(Path, ("/usr/share/benchmark/compare.py", "/usr/share/benchmark/tools/compare.py"))
                       if path.exists()), None)


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)


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
        path.touch()
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


# The simulation: 300 cases, coefficients of variation of a run's median of 0.5, 1.5 and 2 %, half of the variance between processes
# and half between the five blocks of a process.
CASES = 300
CVS = (0.005, 0.015, 0.02)
BLOCKS = 5


def blocks_of(random, cv, runs, cases=CASES):
    return random.normal(0, cv * math.sqrt(0.5), (1, runs, cases)) + random.normal(0, cv * math.sqrt(0.5 * BLOCKS), (BLOCKS, runs, cases))


def runs_of(random, cv, runs, cases=CASES):
    return blocks_of(random, cv, runs, cases).mean(axis=0)


def false_alarms(draw, runs, repeats, called_beyond=0.01):
    """In how many comparisons of equal sides any case is called SLOWER or FASTER."""
    found = 0
    for _ in range(repeats):
        shift = significance.shift(draw(), draw(), CASES)
        verdicts = significance.verdicts(shift, significance.holm(shift.p), 0.01, called_beyond)
        found += bool(np.isin(verdicts, ["SLOWER", "FASTER"]).any())
    return found


@pytest.mark.parametrize("cv, runs", list(zip(CVS, (9, 45, 77))))
def test_a_planted_slowdown_of_2_percent_is_found_with_95_percent_power(cv, runs):
    random, cases = np.random.default_rng(1), 2000
    shift = significance.shift(runs_of(random, cv, runs, cases), runs_of(random, cv, runs, cases) + math.log(1.02), CASES)
    # Each case is the only slow one among 300, so Holm multiplies its p-value by 300.
    found = significance.verdicts(shift, np.minimum(1, CASES * shift.p), 0.01, 0.01)
    assert np.mean(found == "SLOWER") >= 0.95
    assert significance.runs_needed(cv, CASES) == runs
    few = significance.shift(runs_of(random, cv, runs // 2, cases), runs_of(random, cv, runs // 2, cases) + math.log(1.02), CASES)
    assert np.mean(significance.verdicts(few, np.minimum(1, CASES * few.p), 0.01, 0.01) == "SLOWER") < 0.6


@pytest.mark.parametrize("runs, repeats", [(9, 400), (11, 400), (45, 40)])
def test_false_alarms_are_at_most_1_percent_of_comparisons(runs, repeats):
    random, cv = np.random.default_rng(2), np.resize(CVS, CASES)
    alarms = false_alarms(lambda: runs_of(random, cv, runs), runs, repeats)
    # With a probability of 1 % more than this is seen once in 400 simulations.
    assert alarms <= stats.binom.ppf(0.9975, repeats, 0.01)
    # Without the correction over the cases there would be several in every comparison.
    shift = significance.shift(runs_of(random, cv, runs), runs_of(random, cv, runs), CASES)
    assert (shift.p <= 0.05).sum() >= 3


def test_cases_with_two_modes_raise_no_alarm_with_enough_runs():
    random, modal = np.random.default_rng(3), 20

    def draw(runs):
        times = random.normal(0, 0.005, (runs, CASES))
        times[:, :modal] = 0.3 * times[:, :modal] + 0.03 * (random.random((runs, modal)) < 0.5)
        return times

    enough = significance.FEWEST_RUNS
    assert false_alarms(lambda: draw(enough), enough, 300) <= stats.binom.ppf(0.9975, 300, 0.01)
    assert false_alarms(lambda: draw(3), 3, 100) > 10
    assert false_alarms(lambda: draw(3), 3, 100, called_beyond=0.10) == 0


def test_blocks_of_one_run_need_the_wide_margin():
    random, cv = np.random.default_rng(4), np.resize(CVS, CASES)

    def draw():
        return random.normal(0, cv, CASES) + random.normal(0, 0.002, (BLOCKS, CASES))

    assert false_alarms(draw, 1, 50) == 50
    assert false_alarms(draw, 1, 200, called_beyond=0.10) <= 16


def test_holm():
    assert significance.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert significance.holm([0.9, 0.8]) == pytest.approx([1, 1])
    assert len(significance.holm([])) == 0


def test_both_tests_against_plain_numbers():
    a, b = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([[11.0], [12.0], [13.0], [14.0]])
    means = significance.by_means(a, b)
    error = math.sqrt(5 / 3 * 2 / 4)
    assert means.estimate[0] == -10 and means.high[0] - means.low[0] == pytest.approx(2 * 2.4469 * error, rel=1e-4)
    assert means.p[0] == pytest.approx(stats.ttest_ind(a[:, 0], b[:, 0]).pvalue)
    assert means.mann_whitney[0] == pytest.approx(2 / math.comb(8, 4))
    ranks = significance.by_ranks(a, b)
    assert ranks.estimate[0] == -10 and ranks.low[0] == -13 and ranks.high[0] == -7 and ranks.p[0] == pytest.approx(2 / 70)
    alike = significance.by_means(np.ones((5, 1)), np.ones((5, 1)))
    assert alike.p[0] == 1 and significance.by_means(np.ones((5, 1)), 2 * np.ones((5, 1))).p[0] == 0


def test_the_interval_of_the_ranks_holds_the_shift_in_95_percent():
    random = np.random.default_rng(5)
    shift = significance.by_ranks(random.normal(0, 1, (11, 4000)), random.normal(0.5, 1, (11, 4000)))
    assert 0.94 <= np.mean((shift.low <= -0.5) & (shift.high >= -0.5)) <= 0.97


def test_how_many_runs_mann_whitney_takes():
    assert significance.least_runs(300) == 11
    assert significance.ranks_suffice(11, 11, 300) and not significance.ranks_suffice(10, 10, 300)
    assert significance.runs_suffice(7, 7) and not significance.runs_suffice(6, 6) and not significance.runs_suffice(1, 100)


def test_verdicts():
    shift = significance.Shift(*(np.array(values) for values in (
        [-0.02, 0.02, -0.02, -0.001, -0.005, 0.0], [-0.03, 0.01, -0.05, -0.005, -0.006, -0.5], [-0.01, 0.03, 0.01, 0.003, -0.004, 0.5])),
        None, None)
    corrected = np.array([0.001, 0.001, 0.2, 1, 0.001, 1])
    assert list(significance.verdicts(shift, corrected, 0.01, 0.01)) == ["SLOWER", "FASTER", "UNCLEAR", "SAME", "SAME", "UNCLEAR"]
    assert list(significance.verdicts(shift, corrected, 0.01, 0.10))[:2] == ["UNCLEAR", "UNCLEAR"]


def test_a_run_against_itself_repeats_exactly(result, save):
    path = save(result)
    done = run(path, "--", path)
    number = len(result["benchmarks"])
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{number} cases measured in both, 0 listed in A alone, 0 in B alone" in done.stdout
    assert "median 0.00 %, 95th percentile 0.00 %" in done.stdout
    assert f"{number} equal, 0 different" in done.stdout
    assert f"0 SLOWER, 0 FASTER, 0 UNCLEAR, {number} SAME" in done.stdout
    assert "which is less" in done.stdout and "Only differences above 10 %" in done.stdout


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
    for runs in (1, 3):
        before = noisy(small, runs, cv=0.001)
        row_of(compare.compare(before, noisy(small, runs, cv=0.001, seed=1, name=name, factor=1.05)), name, "UNCLEAR")
        row_of(compare.compare(before, noisy(small, runs, cv=0.001, seed=1, name=name, factor=1.5)), name, "SLOWER")


def test_wide_spread_is_unclear_and_says_how_many_runs_it_takes(small):
    found = compare.compare(noisy(small, 7, cv=0.02), noisy(small, 7, cv=0.02, seed=1))
    assert counts(found)["UNCLEAR"] == len(found["cases"])
    assert all(20 < row["runs_needed"] < 150 for row in found["cases"])
    assert any(line.startswith("UNCLEAR cases need ") for line in compare.summary(found))


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
    row = row_of(compare.compare([small], [scaled(small, 1.5, name, 1 / 1.5)]), name, "SLOWER")
    assert row["unit"] == "block" and row["cause"] == "clock" and row["per_clock"]["ratio"] == pytest.approx(1)


def test_memory_and_launches_have_no_time_per_clock(small):
    found = compare.compare([small], [small])
    bound = {entry["name"]: entry["roofmark"]["placement"]["bound_by"] for entry in small["benchmarks"]
             if "clock_hz" in entry["roofmark"]["measurement"]}
    assert {"dram", "bf16_tensor"} <= set(bound.values())
    for name, resource in bound.items():
        assert ("per_clock" in row_of(found, name)) == (resource not in compare.UNCLOCKED)


def test_resources_without_a_clock_are_those_of_the_program():
    text = (ROOT / "harness" / "model" / "resource.hpp").read_text(encoding="utf-8")
    assert set(re.findall(r'Resource \w+\{"(\w+)", [^}]*, false\}', text)) == compare.UNCLOCKED


def test_fingerprints_are_compared_where_keys_are_equal(small):
    other = copy.deepcopy(small)
    names = [entry["name"] for entry in small["benchmarks"]]
    marks = [entry["roofmark"]["fingerprint"] for entry in other["benchmarks"]]
    marks[0]["hash"] = "0"  # other bits
    marks[1].update(hash="0", key="another build")  # cannot be compared
    marks[2].update(hash="", deterministic=False)  # has none
    found = compare.compare([small, small], [small, other])
    assert [row_of(found, name)["bits"] for name in names[:4]] == ["differ", "equal", "equal", "equal"]
    found = compare.compare([small], [other])
    assert [row_of(found, name)["bits"] for name in names[:4]] == ["differ", "", "", "equal"]
    assert f"fingerprints with equal keys: {len(names) - 3} equal, 1 different: " in "\n".join(compare.summary(found))


def test_cases_of_one_side_alone_and_other_verdicts(small):
    other = copy.deepcopy(small)
    lost = other["benchmarks"].pop(0)
    wrong = other["benchmarks"].pop(0)
    record = {key: value for key, value in wrong["roofmark"].items() if key not in ("measurement", "placement")}
    other["unmeasured"].append({"name": wrong["name"], "roofmark": record | {"status": "wrong"}})
    found = compare.compare([small], [other])
    lines = compare.summary(found)
    assert len(found["cases"]) == len(small["benchmarks"]) - 2
    assert "1 listed in A alone, 0 in B alone" in lines[0] and f"only in A: {lost['name']}" in lines
    assert f"different verdict: {wrong['name']}: ok, then wrong" in lines
    lines = compare.summary(compare.compare([small, small], [small, other]))
    assert f"different verdict: {wrong['name']}: ok, then 1 ok, 1 wrong" in lines and not any(line.startswith("only in") for line in lines)


def test_rounds_of_other_pairs_are_not_compared(small):
    other = copy.deepcopy(small)
    name = small["benchmarks"][0]["name"]
    small["benchmarks"][0]["roofmark"]["message"] = {"groups": [[0, 1]]}
    other["benchmarks"][0]["roofmark"]["message"] = {"groups": [[1, 2]]}
    found = compare.compare([small], [other])
    assert found["different_ranks"] == [name] and len(found["cases"]) == len(small["benchmarks"]) - 1
    assert any(line.startswith("1 cases have different ranks in B") for line in compare.summary(found))
    other["benchmarks"][0]["roofmark"]["message"] = {"groups": [[0, 1]]}
    assert not compare.compare([small], [other])["different_ranks"]


def test_other_settings_are_said(small):
    assert compare.differences_of_setting([small], [small, small]) == []
    other = copy.deepcopy(small) | {"data": "zeros", "suite": "full"}
    other["device"]["name"] = "another\x1b[31m"
    other["device"]["details"]["driver_version"] = "590.00"
    other["libraries"]["cublasLt"] = "13.1"
    said = compare.differences_of_setting([small], [small, other])
    assert "data: normal in A, normal, zeros in B" in said and "suite: baseline in A, baseline, full in B" in said
    assert "driver: 580.00 in A, 580.00, 590.00 in B" in said and "cublasLt: 13.0.0.19 in A, 13.0.0.19, 13.1 in B" in said
    assert "\x1b" not in "".join(said) and len(said) == 5


def test_a_case_too_short_for_two_blocks_is_unclear(small):
    for entry in small["benchmarks"]:
        measured = entry["roofmark"]["measurement"]
        measured["samples"] = {name: column[:1] for name, column in measured["samples"].items()}
        measured["blocks"] = measured["blocks"][:1]
    found = compare.compare([small], [small])
    assert set(counts(found)) == {"UNCLEAR"} and not any("p" in row for row in found["cases"])
    assert "UNCLEAR" in compare.table(found["cases"])


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
    assert "runs: 7 in A, 7 in B" in done.stdout and "which is less" not in done.stdout
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


def test_nothing_in_common(small, save):
    small["benchmarks"], small["unmeasured"] = [], []
    path = save(small)
    done = run(path, path)
    assert done.returncode == 0 and "0 cases measured in both" in done.stdout


def test_bad_input_and_usage_are_one_line(small, save, tmp_path):
    path = save(small)
    broken = tmp_path / "broken.json"
    broken.write_bytes(path.read_bytes()[:1000])
    (tmp_path / "empty").mkdir()
    (tmp_path / "copy.json").write_bytes(path.read_bytes())
    for arguments, said in [((tmp_path / "none", path), "cannot read"), ((path,), "required"), ((path, "--"), "required"),
                            (("--", path), "required"), ((path, "--", path, "--", path), "required"), ((path, path, path), "required"),
                            ((path, "--", tmp_path / "empty"), "no result.json"), ((path, tmp_path / "copy.json", "--", path), "the same run as"),
                            (("--margin", "0", path, path), "percentage"), (("--margin", "x", path, path), "percentage")]:
        with pytest.raises(Problem, match=said) as raised:
            compare.main([str(argument) for argument in arguments])
        assert raised.value.status == 2
    done = run(path, "--", broken)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and f"{broken}: cut short" in done.stderr
    done = run(path, path, "--json", tmp_path / "none" / "file")
    assert done.returncode == 3 and "cannot write" in done.stderr and "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_traceback(h200, save):
    path = save(h200)
    done = subprocess.run(["sh", "-c", '"$@" | head -c 1', "sh", *COMMAND, path, path], capture_output=True, text=True, timeout=300, check=False)
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
