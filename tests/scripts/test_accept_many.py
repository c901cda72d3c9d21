# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""`roofmark accept` on the results of many nodes."""
import copy
import json
import os
import re
import resource
import statistics

import pytest
from make_delivery import clean, in_one_file
from shipped_profiles import ROOFMARK, roofmark

pytestmark = pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")


def test_of_many_nodes_one_table_says_which_are_not_accepted_and_why(h200, tmp_path, own_profile):
    for node in range(24):
        result = in_one_file(copy.deepcopy(h200), 1, 4)
        for member in result["team"]:
            member |= {"host": f"node{node:02d}", "uuid": f"GPU-{node:04d}{member['rank']:04d}"}
            if node == 9:
                member["device_id"] = "cuda:0"  # as in containers, each with one GPU
        result["host"]["name"] = f"node{node:02d}"
        for entry in result["benchmarks"] if node in (7, 9) else []:
            for rank, measured in enumerate(entry["roofmark"]["measurement"]["ranks"]):
                if node == 9 or rank == 2:
                    measured |= {key: measured[key] * 3 for key in ("median", "maximum")} | {"interval": [3 * end for end in measured["interval"]]}
        result["complete"] = node != 5
        path = tmp_path / "delivery" / f"node{node:02d}" / "result.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(result))
    done = roofmark("accept", tmp_path / "delivery", "--profile", own_profile(0.5), "--expect-gpus", 96)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    table = {words[0]: words[1] for line in lines if len(words := re.split(r"  +", line, maxsplit=1)) == 2 and re.match(r"node\d\d$", words[0])}
    assert set(table) == {"node05", "node07", "node09"}
    assert re.fullmatch(r"NOT MEASURED +0 of 4  complete \(all\)", table["node05"])
    assert re.match(r"FAIL +3 of 4  .*product \(cuda:2\)", table["node07"])
    assert re.match(r"FAIL +0 of 4  .*product \(all\)", table["node09"])
    assert re.search(r"GPU-0009000\d of node09", done.stdout)
    assert "93 of 96 devices accepted" not in done.stdout and "87 of 96 devices accepted" in done.stdout and "21 of 24 nodes accepted" in done.stdout
    # Each reason is told once, with the others that it refuses.
    told = [line for line in lines if line.startswith("FAIL product: ")]
    assert len(told) == 1
    assert re.search(r"^  also +cuda:2 of node07, ", done.stdout, re.M) or "cuda:2 of node07" in told[0]
    tables = [line for line in lines if re.match(r"GPU-\d+ \(cuda:\d of node\d\d\)$", line)]
    assert len(tables) == 9 and len(lines) < 300
    text = (tmp_path / "delivery" / "node05" / "result.json").read_text()
    for node in range(24):  # as many as all others: no device has a table of its own
        other = text.replace("node05", f"node{node:02d}").replace("GPU-0005", f"GPU-{node:04d}")
        (tmp_path / "delivery" / f"node{node:02d}" / "result.json").write_text(other)
    lines = roofmark("accept", tmp_path / "delivery", "--profile", own_profile(0.5)).stdout.splitlines()
    assert not [line for line in lines if re.match(r"GPU-\d+ \(cuda", line)] and sum(line.startswith("node") for line in lines) == 24
    assert len([line for line in lines if line.startswith("NOT MEASURED complete: ")]) == 1 and any(line.endswith(" and 87 more") for line in lines)


def small_result(h200):
    """The text of a result of 150 KB with @host@, @gpu@ and "@start@": a case of each family and the one that the profile limits, with
    a tenth of their samples."""
    result, families = clean(h200), {}
    for entry in result["benchmarks"]:
        families.setdefault(entry["roofmark"]["family"], []).append(entry)
    result["benchmarks"] = [entry for entries in families.values() for i, entry in enumerate(entries) if i < 1 or "/bf16/m:4096/n:4096/" in entry["name"]]
    for entry in result["benchmarks"]:
        measured = entry["roofmark"]["measurement"]
        measured["samples"] = {name: column[::10] for name, column in measured["samples"].items()}
        seconds = measured["samples"]["seconds"]
        measured |= {"median": statistics.median(seconds), "minimum": min(seconds), "maximum": max(seconds)}
        measured["interval"] = [0.999 * measured["median"], 1.001 * measured["median"]]
        del entry["roofmark"]["placement"]
    result["scope"]["cases"] = len({entry["name"] for entry in result["benchmarks"] + result["unmeasured"]})
    result.pop("telemetry")
    result["host"]["name"], result["device"]["details"]["uuid"] = "@host@", "@gpu@"
    result["benchmarks"][0]["roofmark"]["measurement"]["samples"]["start"][0] = "@start@"
    return json.dumps(result)


def save_rack(text, folder, gpus):
    for gpu in range(gpus):
        path = folder / f"gpu{gpu}" / "result.json"
        path.parent.mkdir(parents=True)
        path.write_text(text.replace("@host@", f"n{gpu // 8:03d}").replace("@gpu@", f"GPU-{gpu:04d}").replace('"@start@"', str(gpu)), encoding="utf-8")


def test_of_a_rack_the_results_and_their_own_verdicts_take_few_lines(h200, tmp_path, own_profile):
    rack = tmp_path / "rack"
    save_rack(small_result(h200), rack, 24)
    for gpu in (3, 17):
        path = rack / f"gpu{gpu}" / "result.json"
        result = json.loads(path.read_text())
        result["counters"] = [{"id": "xid", "rank": 0, "before": 0.0, "after": 1.0, "worse": 1.0}]
        path.write_text(json.dumps(result))
    done = roofmark("accept", rack, "--profile", own_profile(0.5), env={**os.environ, "COLUMNS": "1000"})
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and len(lines) < 80, done.stdout + done.stderr
    assert [line for line in lines if " of them: " in line] == ["24 of them: no result.json.sha256 in the same folder, no journal result.jsonl in the same folder"]
    assert "24 results; --json FILE keeps the name and SHA-256 of each" in lines
    bad = [str(rack / f"gpu{gpu}" / "result.json") for gpu in (17, 3)]
    [own] = [line for line in lines if line.startswith("The run's own verdict: bad: ")]
    assert own.endswith(f"({', '.join(bad)})")
    told = lines[lines.index("FAIL bad_run: delivery"):]
    assert next(line for line in told if line.startswith("  result ")).split(maxsplit=1)[1] == ", ".join(bad), "those that are bad"
    assert next(line for line in told if line.startswith("  case ")).count("driver error reports") == 1


def test_a_thousand_files_are_judged_in_ten_seconds(h200, tmp_path, own_profile):
    save_rack(small_result(h200), tmp_path / "delivery", 1000)

    def limited():
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))  # seconds, of all threads: 1.3 were taken by a build without sanitizers

    done = roofmark("accept", tmp_path / "delivery", "--profile", own_profile(0.5), "--expect-gpus", 1000, preexec_fn=limited)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert "1000 of 1000 devices accepted" in done.stdout and "125 of 125 nodes accepted" in done.stdout
