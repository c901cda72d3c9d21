# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/report on damaged and strange files: a line that says why, never a traceback."""

import json
import math
import random

import pytest
from conftest import need

need("jsonschema", "jinja2", "orjson", "plotly", "tree_sitter_javascript")
from report_pages import attempt, places  # noqa: E402


@pytest.mark.usefixtures("no_plotly")
def test_no_file_that_was_cut_makes_a_report(small, tmp_path):
    data = json.dumps(small).encode()
    path, page = tmp_path / "result.json", tmp_path / "out.html"
    for length in random.Random(1).sample(range(len(data)), 150):
        path.write_bytes(data[:length])
        assert attempt(path, page)


@pytest.mark.usefixtures("no_plotly")
def test_flipped_bits_never_end_in_a_traceback(small, tmp_path):
    data = json.dumps(small).encode()
    path, page = tmp_path / "result.json", tmp_path / "out.html"
    chance = random.Random(2)
    refused = 0
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 1, 5, 50))):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        refused += attempt(path, page) is not None
    assert refused > 50


def changed(result, place, value):
    """A copy with another value in one place."""
    made = json.loads(json.dumps(result))
    *way, last = place
    inner = made
    for key in way:
        inner = inner[key]
    inner[last] = value
    return made


@pytest.mark.usefixtures("no_plotly")
def test_strange_values_never_end_in_a_traceback(small, tmp_path):
    path, page = tmp_path / "result.json", tmp_path / "out.html"
    chance = random.Random(3)
    everywhere = [place for place in places(small) if place and "samples" not in place]
    strange = [None, True, "", "\0\ud800<b>", -1, 0, 1, 2**63, 10**400, 1e-300, 1e300, 1e89, 1e-89, 0.5, [], {}, [[]], {"": None},
               float("nan"), float("inf"), -0.0]
    refused = 0
    for _ in range(100):
        value = chance.choice(strange)
        path.write_text(json.dumps(changed(small, chance.choice(everywhere), value)))
        line = attempt(path, page)
        refused += line is not None
        if isinstance(value, float) and not math.isfinite(value):
            assert line
    assert refused > 30


@pytest.mark.usefixtures("no_plotly")
def test_extreme_but_lawful_values_are_drawn(small, tmp_path):
    path, page = tmp_path / "result.json", tmp_path / "out.html"
    for value in (1e-89, 1e89):
        made = json.loads(json.dumps(small))
        for entry in made["benchmarks"]:
            entry["roofmark"]["placement"] = {key: value if key != "bound_by" else "dram" for key in entry["roofmark"]["placement"]}
            entry["roofmark"]["measurement"].update(median=1 / value, interval=[0, value])
            entry["roofmark"]["shape"] = {key: "1e80" for key in entry["roofmark"]["shape"]}
        for ceiling in made["ceilings"]:
            ceiling.update(empirical=value, theoretical=1 / value)
        path.write_text(json.dumps(made))
        assert attempt(path, page) is None


@pytest.mark.usefixtures("no_plotly")
def test_strange_values_of_a_team_never_end_in_a_traceback(cluster, tmp_path):
    cluster["benchmarks"] = cluster["benchmarks"][::17]
    for key, rows in cluster["communication"].items():
        cluster["communication"][key] = rows[::9] if len(rows) > 20 else rows
    path, page = tmp_path / "result.json", tmp_path / "out.html"
    chance = random.Random(5)
    everywhere = [place for place in places(cluster) if place and "samples" not in place and (
        place[0] in ("team", "communication") or "message" in place or "ranks" in place)]
    strange = [None, True, "", "\0\ud800<b>", -1, 0, 1, 2**63, 1e89, 1e-89, 0.5, [], {}, [[]], {"": None}]
    refused = 0
    for _ in range(70):
        path.write_text(json.dumps(changed(cluster, chance.choice(everywhere), chance.choice(strange))))
        refused += attempt(path, page) is not None
    assert refused > 25
