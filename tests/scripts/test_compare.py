# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/compare, and that Google Benchmark's own compare.py reads the same files."""

import copy
import math
import os
import subprocess
import sys
from pathlib import Path

import make_result
import pytest
from conftest import ROOT, need

need("jsonschema")
from roofmark_report import compare  # noqa: E402

COMMAND = [sys.executable, str(ROOT / "scripts" / "compare")]
SYSTEM_PYTHON = "/usr/bin/python3"
GOOGLE_COMPARE = next((path for path in map(Path, ("/usr/share/benchmark/compare.py", "/usr/share/benchmark/tools/compare.py"))
                       if path.exists()), None)


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)


def measurement(median, low=None, high=None):
    return {"median": median} | ({"interval": [low, high]} if low else {})


def test_ratio_and_interval():
    ratio, low, high = compare.ratio_of(measurement(2.0, 1.8, 2.2), measurement(1.0, 0.9, 1.1))
    width = math.exp(math.sqrt(2) * math.log(2.2 / 1.8) / 2)
    assert ratio == 2.0 and low == pytest.approx(2 / width) and high == pytest.approx(2 * width)
    assert compare.ratio_of(measurement(2.0), measurement(1.0, 0.9, 1.1)) == (2.0, None, None)
    assert compare.ratio_of(measurement(2.0, 2.0, 2.0), measurement(1.0, 1.0, 1.0)) == (2.0, 2.0, 2.0)


def test_percentile():
    assert compare.percentile([1, 2, 3, 4, 5], 0.95) == pytest.approx(4.8)
    assert compare.percentile([7], 0.95) == 7
    assert compare.percentile([3, 1], 0.5) == 2


def test_a_run_against_itself_repeats_exactly(result, save):
    path = save(result)
    done = run(path, path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(result['benchmarks'])} cases measured in both, 0 listed in A alone, 0 in B alone" in done.stdout
    assert "median 0.00 %, 95th percentile 0.00 %" in done.stdout
    assert f"{len(result['benchmarks'])} equal, 0 different" in done.stdout
    assert "faster" not in done.stdout and "slower" not in done.stdout


def test_repeatability_of_two_runs(h200):
    rows, lines = compare.compare(h200, make_result.h200(7))
    assert len(rows) == len(h200["benchmarks"])
    assert any(line.startswith("|ratio - 1|: median 0.") for line in lines)


def test_a_slower_second_run_is_said(small):
    other = copy.deepcopy(small)
    slow = other["benchmarks"][0]["roofmark"]["measurement"]
    slow["median"] *= 1.5
    slow["interval"] = [1.5 * end for end in slow["interval"]]
    rows, _ = compare.compare(small, other)
    assert rows[0][3] == "0.6667" and rows[0][5] == "slower"
    assert all(row[5] == "" for row in rows[1:])


def test_fingerprints_are_compared_where_keys_are_equal(small):
    other = copy.deepcopy(small)
    marks = [entry["roofmark"]["fingerprint"] for entry in other["benchmarks"]]
    marks[0]["hash"] = "0"  # other bits
    marks[1].update(hash="0", key="another build")  # cannot be compared
    marks[2].update(hash="", deterministic=False)  # has none
    rows, lines = compare.compare(small, other)
    assert [row[6] for row in rows[:4]] == ["differ", "", "", "equal"]
    assert f"fingerprints with equal keys: {len(rows) - 3} equal, 1 different: " in "\n".join(lines)


def test_cases_of_one_run_alone_and_other_verdicts(small):
    other = copy.deepcopy(small)
    lost = other["benchmarks"].pop(0)
    wrong = other["benchmarks"].pop(0)
    record = {key: value for key, value in wrong["roofmark"].items() if key not in ("measurement", "placement")}
    other["unmeasured"].append({"name": wrong["name"], "roofmark": record | {"status": "wrong"}})
    rows, lines = compare.compare(small, other)
    assert len(rows) == len(small["benchmarks"]) - 2 and lost["name"] not in {row[0] for row in rows}
    assert "1 listed in A alone, 0 in B alone" in lines[0]
    assert f"different verdict: {wrong['name']}: ok, then wrong" in lines


def test_rounds_of_other_pairs_are_not_compared(small):
    other = copy.deepcopy(small)
    small["benchmarks"][0]["roofmark"]["message"] = {"groups": [[0, 1]]}
    other["benchmarks"][0]["roofmark"]["message"] = {"groups": [[1, 2]]}
    rows, lines = compare.compare(small, other)
    assert len(rows) == len(small["benchmarks"]) - 1 and any(line.startswith("1 cases have different ranks in B") for line in lines)
    other["benchmarks"][0]["roofmark"]["message"] = {"groups": [[0, 1]]}
    assert len(compare.compare(small, other)[0]) == len(rows) + 1


def test_other_settings_are_said(small):
    other = copy.deepcopy(small) | {"data": "zeros"}
    other["device"]["name"] = "another\x1b[31m"
    said = compare.differences_of_setting(small, other)
    assert "data: normal in A, zeros in B" in said and "\x1b" not in "".join(said) and len(said) == 2


def test_nothing_in_common(small, save):
    small["benchmarks"], small["unmeasured"] = [], []
    path = save(small)
    done = run(path, path)
    assert done.returncode == 0 and "0 cases measured in both" in done.stdout


def test_bad_input_and_usage_are_one_line(small, save, tmp_path):
    path = save(small)
    broken = tmp_path / "broken.json"
    broken.write_bytes(path.read_bytes()[:1000])
    for arguments, said in [((path, broken), f"{broken}: cut short"), ((tmp_path / "none", path), "cannot read"), ((path,), "required")]:
        done = run(*arguments)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and said in done.stderr


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
