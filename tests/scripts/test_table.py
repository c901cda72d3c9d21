# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/table: one row per record, results side by side."""

import csv
import io
import json
import subprocess
import sys

import make_result
import pytest
from conftest import ROOT, need

need("jsonschema")
from roofmark_report import result as reader  # noqa: E402
from roofmark_report import table, units  # noqa: E402

COMMAND = [sys.executable, str(ROOT / "scripts" / "table")]


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def folders(tmp_path):
    """Two nodes of which the second lacks the first case."""
    made = [make_result.cpu(), make_result.cpu(7)]
    del made[1]["benchmarks"][0]
    for name, one in zip(("node1", "node2"), made):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(json.dumps(one))
    return tmp_path, made


def test_every_record_is_a_row_of_csv(result, save):
    done = run(save(result), "--format", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {(row["case"], int(row["pass"])): row for row in csv.DictReader(io.StringIO(done.stdout))}
    records = {reader.key_of(entry): entry["roofmark"] for entry in result["benchmarks"] + result["unmeasured"]}
    assert rows.keys() == records.keys()
    for key, record in records.items():
        row = rows[key]
        assert row["status"] == record["status"]
        if record["status"] == "ok":
            measured, placed = record["measurement"], record["placement"]
            assert [float(row[name]) for name in ("median", "low", "high")] == [measured["median"], *measured["interval"]]
            assert row["of_roof"] == str(placed.get("of_empirical", "")) and row["bound_by"] == placed.get("bound_by", "")
            assert float(row["error"]) == record["verification"]["after"]["error"] / 2
        else:
            assert row["median"] == "" and row["reason"] == record["reason"]


def test_results_stand_side_by_side(folders):
    folder, made = folders
    done = run(folder, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    lost = make_result.cpu()["benchmarks"][0]["name"]
    assert rows[0]["case"] == lost and rows[0]["node1 median"] and rows[0]["node2 median"] == rows[0]["node2 status"] == ""
    by_name = [{reader.key_of(e): e["roofmark"]["measurement"]["median"] for e in one["benchmarks"]} for one in made]
    for row in rows[1:-1]:
        key = (row["case"], int(row["pass"]))
        assert [float(row["node1 median"]), float(row["node2 median"])] == [one[key] for one in by_name]


def test_json_has_the_numbers_of_each_result(folders):
    folder, made = folders
    found = json.loads(run(folder / "node1", folder / "node2" / "result.json", "--format", "json").stdout)
    assert found["results"] == ["node1", "node2"] and found["columns"].keys() <= table.COLUMNS.keys()
    first, second = found["rows"][:2]
    assert first["of"].keys() == {"node1"} and second["of"].keys() == {"node1", "node2"}
    assert first["of"]["node1"]["median"] == made[0]["benchmarks"][0]["roofmark"]["measurement"]["median"]


def test_markdown_has_units_and_no_cell_breaks_it(small, save):
    small["unmeasured"][0]["roofmark"]["reason"] = "a | b\nc\x1b[2J"
    done = run(save(small))
    lines = done.stdout.splitlines()
    assert len(lines) == 2 + len(small["benchmarks"]) + len(small["unmeasured"])
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1 and "a \\| b c\N{REPLACEMENT CHARACTER}[2J" in done.stdout
    measured = small["benchmarks"][0]["roofmark"]["measurement"]
    assert f"| {units.seconds(measured['median'])} |" in lines[2]


def test_an_interval_that_reaches_0_has_no_lower_end(small, save):
    measured = small["benchmarks"][0]["roofmark"]["measurement"]
    for low in (-0.5, 0):
        measured["interval"] = [low, 2.5]
        row, other = list(csv.DictReader(io.StringIO(run(save(small), "--format", "csv").stdout)))[:2]
        assert row["low"] == "" and row["high"] == "2.5" and float(other["low"]) > 0
        [found] = json.loads(run(save(small), "--format", "json").stdout)["rows"][0]["of"].values()
        assert "low" not in found and found["high"] == 2.5


def test_a_result_without_a_record_says_so(small, save):
    small["benchmarks"], small["unmeasured"] = [], []
    path = save(small)
    done = run(path)
    assert (done.returncode, done.stderr) == (0, f"table: {path} has no record\n")


def test_collectives_have_their_bandwidths(cluster, save):
    rows = csv.DictReader(io.StringIO(run(save(cluster), "--format", "csv").stdout))
    row = next(row for row in rows if row["case"].startswith("all_reduce/bf16/") and row["status"] == "ok")
    assert float(row["busbw"]) == pytest.approx(1.875 * float(row["algbw"]))


@pytest.mark.parametrize("ranks, clock", [
    ([], 2e9), ([{"median": 1, "clock_hz": 2e9}, {"median": 2, "clock_hz": 1.6e9}, None], 1.6e9), ([{"median": 1, "clock_hz": 2e9}, {"median": 2}], 2e9)])
def test_the_clock_of_a_team_is_that_of_its_slowest_rank(ranks, clock):
    """As the share of the theoretical roof beside it, whose time is that rank's."""
    assert table.COLUMNS["clock"].of({"measurement": {"clock_hz": 2e9, "ranks": ranks}}) == clock


def test_every_column_is_documented():
    said = run("--help").stdout
    page = (ROOT / "docs" / "reading-a-report.md").read_text(encoding="utf-8")
    for name, column in table.COLUMNS.items():
        assert f"  {name:17} {column.meaning}\n" in said and f"| `{name}` | {column.meaning} |" in page


def test_bad_usage_is_one_line(tmp_path):
    for arguments in ([], [tmp_path], [tmp_path / "none"], ["--format", "xml", tmp_path]):
        done = run(*arguments)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("table: ") and done.stderr.count("\n") == 1


def test_atomic_additions_are_operations_and_no_flops(save):
    result = make_result.cpu()
    entry = next(entry for entry in result["benchmarks"] if entry["roofmark"]["placement"].get("flops_per_second"))
    entry["roofmark"] |= {"type": "int32", "work": {"phases": [[{"resource": "global_atomic", "unit": "op", "amount": 1e6}]]}}
    entry["roofmark"]["placement"]["flops_per_second"] = 1.5e12
    row = next(line for line in run(save(result)).stdout.splitlines() if entry["name"] in line)
    assert "1.50 Top/s" in row and "FLOP/s" not in row
