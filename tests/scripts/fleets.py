# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of made-up results for the tests of scripts/fleet, and what it says of them."""

import copy
import json
import random
import subprocess
import sys

import make_result
from conftest import ROOT, need

need("duckdb", "jinja2", "jsonschema", "orjson", "plotly", "tree_sitter_javascript")
from roofmark_report import fleet_judge, fleet_tables  # noqa: E402

COMMAND = [sys.executable, str(ROOT / "scripts" / "fleet")]
NAMES_OF_TIME = ("median", "minimum", "maximum", "p5", "p95")


def _base():
    """Two cases of each family, without what is wrong or throttled in the whole result."""
    made = make_result.h200()
    families = {}
    for entry in made["benchmarks"]:
        families.setdefault(entry["roofmark"]["family"], []).append(entry)
    kept = [entry for entries in families.values() for entry in entries[:2]]
    cases = len({entry["name"] for entry in kept})
    return made | {"benchmarks": kept, "unmeasured": [], "findings": [], "comparisons": [], "scope": made["scope"] | {"cases": cases, "suite_cases": cases},
                   "verdict": {"level": "good", "headline": "all ok", "advice": ""}}


BASE = _base()


def healthy(gpu, host, rack="a", seed=None, **top):
    """A run of a GPU of its own speed, within a percent of the others'."""
    noise = random.Random(gpu if seed is None else seed)
    made = copy.deepcopy(BASE) | top
    made["labels"] = {"rack": rack}
    made["host"]["name"] = host
    made["device"]["details"] |= {"uuid": f"GPU-{gpu:04d}", "vbios": "96.00"}
    slow(made, noise.gauss(1, 0.003))
    return made


def slow(result, factor, only="", ceilings=True):
    """Makes the cases and ceilings whose name begins with `only`, or one of these, slower."""
    for entry in result["benchmarks"]:
        if entry["name"].startswith(only):
            measured, placed = entry["roofmark"]["measurement"], entry["roofmark"]["placement"]
            for name in NAMES_OF_TIME:
                measured[name] *= factor
            for name in ("of_empirical", "of_theoretical", "of_theoretical_clock"):
                if name in placed:
                    placed[name] /= factor
    for ceiling in result["ceilings"] if ceilings and not only else []:
        for name in ("empirical", "first", "last"):
            ceiling[name] /= factor
    return result


def rack(count=16, per_host=2, name="a", first=0):
    return [healthy(gpu, f"{name}{gpu // per_host:02d}", name) for gpu in range(first, first + count)]


def put(folder, results, name="run"):
    for i, result in enumerate(results):
        path = folder / f"{name}{i}" / "result.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result), encoding="utf-8")


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)


def tables(folder, tmp_path, by="host"):
    scratch = tmp_path / "scratch"
    scratch.mkdir(parents=True)
    connection = fleet_tables.load(folder, str(scratch))
    fleet_judge.prepare(connection, by)
    fleet_judge.judge(connection, by)
    return connection


def judged(folder, tmp_path, by="host"):
    """What stands out, as {(kind, who): text}, and {host: verdict}."""
    connection = tables(folder, tmp_path, by)
    suspects = {(kind, who): text for kind, who, text in connection.execute("SELECT kind, who, text FROM suspects").fetchall()}
    return suspects, dict(connection.execute("SELECT host, verdict FROM hosts").fetchall())


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()
