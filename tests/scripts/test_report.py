# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/report: what it shows, what it refuses, and that it loses no file."""

import json
import math
import os
import random
import re
import resource
import subprocess
import sys

import make_result
import pytest
from conftest import ROOT, need

need("jsonschema", "jinja2", "plotly")
from roofmark_report import communication, family_plots, plots, program, report, tables, units  # noqa: E402
from roofmark_report import result as reader  # noqa: E402

COMMAND = [sys.executable, str(ROOT / "scripts" / "report")]


def run(*arguments, **options):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False, **options)


def figures_of(page):
    return json.loads(re.search(r'id="figures">(.*?)</script>', page, re.DOTALL)[1])


@pytest.fixture
def no_plotly(monkeypatch):
    """Leaves plotly.js, most of the page, out."""
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "")


def test_default_output_is_beside_the_input(result, save):
    path = save(result)
    done = run(path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    page = path.with_name("report.html").read_text(encoding="utf-8")
    assert result["device"]["name"] in page and "made up by tests/scripts/make_result.py" in page
    assert not re.search(r'(?:src|href)\s*=\s*["\']?\s*(?:https?:)?//', page[:page.index('id="figures"')])
    assert {p.name for p in path.parent.iterdir()} == {"result.json", "report.html"}


@pytest.mark.skipif("ROOFMARK" not in os.environ, reason="ROOFMARK names no program")
def test_a_real_run_is_shown_and_compared(tmp_path):
    subprocess.run([os.environ["ROOFMARK"], "run", "--device", "cpu", "--suite", "quick", "--filter", "^stream/triad/fp64/bytes:[0-9]{5,7}/|^argmax",
                    "--max-seconds", "0.005", "--memory-fraction", "0.03", "--out", tmp_path / "out"], capture_output=True, timeout=600, check=True)
    path = tmp_path / "out" / "result.json"
    done = run(path)
    assert (done.returncode, done.stderr) == (0, "")
    page = path.with_name("report.html").read_text(encoding="utf-8")
    for entry in json.loads(path.read_text())["benchmarks"]:
        assert "/<wbr>".join(entry["name"].split("/")[1:]) in page
    done = subprocess.run([sys.executable, ROOT / "scripts" / "compare", path, path], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "0 different" in done.stdout


@pytest.mark.usefixtures("no_plotly")
def test_every_record_is_in_a_table_and_a_plot(result):
    page = report.page(result, "0" * 64)
    for entry in result["benchmarks"]:
        assert "/<wbr>".join(entry["name"].split("/")[1:]) in page
    for entry in result["unmeasured"]:
        assert entry["name"] in page and entry["roofmark"]["reason"].partition("(")[0] in page
    made = figures_of(page)
    points = sum(len(t["x"]) for t in made["roofline"]["data"] if t.get("meta") == "records")
    assert points == sum("intensity" in e["roofmark"]["placement"] for e in result["benchmarks"]) > 0
    drawn = {line for figure in made.values() for t in figure["data"] if t.get("meta") == "records" for line in t["text"]}
    for entry in result["benchmarks"]:
        if entry["roofmark"]["family"] != "ceilings":
            assert plots.hover(entry) in drawn


def column(table, title):
    [at] = [i for i, (name, _, _) in enumerate(table["columns"]) if name == title]
    return [row[at][0] for row in table["rows"]]


def test_what_binds_is_called_as_in_the_table_of_ceilings(result):
    ids = column(tables.ceilings_table(result), "Id")
    assert ids == [ceiling["resource"] for ceiling in result["ceilings"]]
    titles = {ceiling["resource"]: ceiling["title"] for ceiling in result["ceilings"]}
    bound = column(tables.family_table("all", result["benchmarks"], titles), "Bound by")
    assert {each for each in bound if each} and {each for each in bound if each} <= set(ids)


def test_the_kinds_of_findings_that_the_report_knows_are_those_of_the_schema():
    properties = reader.SCHEMA["$defs"]["finding"]["properties"]
    assert report.DOUBTS | set(communication.STRAGGLERS) <= set(properties["kind"]["enum"])
    assert set(report.SEVERITIES) == set(properties["severity"]["enum"])


def test_findings_stand_by_severity_with_their_advice(h200):
    h200["findings"] += [{"kind": "above_theoretical", "severity": "error", "text": "too fast", "advice": "Report it.", "case": "a/b"}]
    groups = report.group_findings(h200)
    assert groups[0] == {"kind": "error: above theoretical", "meaning": "Report it.", "count": 1, "texts": [("too fast", ["a/b"])]}
    assert groups[-1]["kind"] == "note: unsettled"
    h200["unmeasured"].clear()
    assert report.verdict(h200)[0] == "warn"


@pytest.mark.parametrize("change, level, said", [
    (lambda r: (r["unmeasured"].clear(), r["findings"].clear()), "good", "Every case was measured, and no result was wrong"),
    (lambda r: (r["unmeasured"].clear(), r["findings"].append(r["findings"][0] | {"kind": "drift"})), "warn", "the ceilings are in doubt"),
    (lambda r: None, "bad", "1 case gave a wrong result"),
    (lambda r: r["unmeasured"].pop(2), "warn", "2 cases could not be measured"),
    (lambda r: r.update(complete=False, unmeasured=[]), "warn", "was cut off"),
])
def test_verdict(h200, change, level, said):
    change(h200)
    found = report.verdict(h200)
    assert found[0] == level and said in found[1]


def test_an_interrupted_run_is_no_pass(h200):
    made = make_result.interrupted(h200)
    made["unmeasured"] = [e for e in made["unmeasured"] if e["roofmark"]["status"] == "not_run"]
    assert report.verdict(made)[:2] == ("warn", "The run was interrupted: these results are incomplete")


@pytest.mark.usefixtures("no_plotly")
def test_absent_parts_are_left_out(small):
    for key in ("wall_time", "finished_utc"):
        small.pop(key)
    for key in ("ceilings", "benchmarks", "comparisons", "findings", "unmeasured"):
        small[key] = []
    for key in ("labels", "environment", "libraries"):
        small[key] = {}
    page = report.page(small, "0" * 64)
    assert "Roofline</h2>" not in page and "Comparisons</h2>" not in page and "the file was recovered from the journal" in page
    assert figures_of(page) == {}


@pytest.mark.usefixtures("no_plotly")
def test_everything_from_the_file_is_escaped(small):
    hostile = "</script><img src=x onerror=alert(1)>&lt;b&gt;"
    small["labels"] = {hostile: hostile}
    small["device"]["name"] = small["host"]["name"] = hostile
    small["device"]["details"] = {hostile: [hostile]}
    small["device"]["caches"][0]["name"] = hostile
    small["environment"] = {hostile: hostile}
    for finding in small["findings"]:
        finding["text"] = finding["case"] = hostile
    for ceiling in small["ceilings"]:
        ceiling["title"] = ceiling["theoretical_source"] = hostile
    for i, entry in enumerate(small["benchmarks"]):
        entry["name"] = f"{hostile}/{i}/fp32/m:1"
        entry["roofmark"]["operation"] = entry["roofmark"]["shape"]["impl"] = hostile
        entry["roofmark"]["notes"] = {"shape of": hostile}
    for entry in small["unmeasured"]:
        entry["roofmark"]["reason"] = hostile
    for comparison in small["comparisons"]:
        comparison["name"] = comparison["key"] = hostile
    page = report.page(small, "0" * 64)
    assert "<img" not in page and page.count("</script>") == 3
    # plotly.js reads tags in its texts, too.
    assert "<img" not in json.dumps(figures_of(page))


def test_hover_names_the_case_and_its_rates(h200):
    entry = next(e for e in h200["benchmarks"] if e["roofmark"]["family"] == "gemm" and "8192" in e["name"])
    text = plots.hover(entry)
    assert f"<b>gemm/{entry['roofmark']['type']}</b>" in text and "m:8192/n:8192/k:8192/impl:cublaslt" in text and "FLOP/s" in text and "of the measured roof" in text


@pytest.mark.parametrize("text, expected", [
    (units.rate(789.4e12, "FLOP"), "789 TFLOP/s"), (units.rate(4.134e12, "B"), "4.13 TB/s"), (units.rate(999.6e9, "B"), "1.00 TB/s"),
    (units.rate(450e3, "launch"), "450 k launches/s"), (units.seconds(12.34e-6), "12.3 µs"), (units.seconds(0), "0 s"),
    (units.size(268435456), "268 MB"), (units.capacity(60 << 20), "60 MiB"), (units.share(0.941), "94.1 %"), (units.share(1.143), "114 %"),
    (units.share(0.0004), "0.0 %"), (units.duration(125), "2 m 05 s"), (units.duration(7322), "2 h 02 m"), (units.digits(0.0833), "0.0833"),
    (units.digits(123456), "123456"), (units.rate(None, "B"), ""),
])
def test_units(text, expected):
    assert text == expected


@pytest.mark.parametrize("data, status", [(b"", 2), (b'{"schema_version": 7}', 2), (b'{"schema_version": NaN}', 2), (None, 2)])
def test_bad_input_is_one_line_and_loses_nothing(tmp_path, data, status):
    path, page = tmp_path / "result.json", tmp_path / "report.html"
    page.write_text("before")
    if data is not None:
        path.write_bytes(data)
    done = run(path)
    assert done.returncode == status and done.stdout == ""
    assert done.stderr.startswith("report: ") and done.stderr.count("\n") == 1 and str(path) in done.stderr
    assert page.read_text() == "before" and {p.name for p in tmp_path.iterdir()} <= {"result.json", "report.html"}


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["--what", "a"], ["a", "-o"]])
def test_bad_usage_is_one_line(arguments):
    done = run(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("report: ") and done.stderr.count("\n") == 1


def test_the_input_is_never_written_over(small, save):
    path = save(small)
    before = path.read_bytes()
    done = run(path, "-o", path.parent / "." / path.name)
    assert done.returncode == 2 and "is the result file itself" in done.stderr and path.read_bytes() == before


@pytest.mark.parametrize("output", ["missing/report.html", "folder", "/dev/null"])
def test_what_cannot_be_written_is_said(small, save, output):
    path = save(small)
    (path.parent / "folder").mkdir()
    done = run(path, "-o", path.parent / output)
    assert done.returncode == 3 and done.stderr.startswith("report: cannot write ") and done.stderr.count("\n") == 1
    assert {p.name for p in path.parent.iterdir()} == {"result.json", "folder"}


def test_a_full_disk_leaves_the_file_that_stood_before(small, save):
    path = save(small)
    page = path.with_name("report.html")
    page.write_text("before")
    done = run(path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and "cannot write" in done.stderr
    assert page.read_text() == "before" and {p.name for p in path.parent.iterdir()} == {"result.json", "report.html"}


def test_a_link_stays_a_link(small, save, tmp_path):
    path = save(small)
    (tmp_path / "real.html").write_text("before")
    (tmp_path / "report.html").symlink_to("real.html")
    assert run(path).returncode == 0
    assert (tmp_path / "report.html").is_symlink() and "roofmark" in (tmp_path / "real.html").read_text(encoding="utf-8")


def attempt(path, page):
    """Makes a report of whatever the file holds; the line it was refused with, or None. Anything but a Problem is a traceback."""
    page.unlink(missing_ok=True)
    try:
        report.main([str(path), "-o", str(page)])
    except program.Problem as problem:
        assert problem.status == 2 and not page.exists()
        assert str(problem) and "\n" not in program.printable(str(problem))
        return str(problem)
    assert page.exists()
    return None


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


def places(value, into=()):
    """Every place in a JSON value, as the keys that lead there."""
    yield into
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*into, key))


@pytest.mark.usefixtures("no_plotly")
def test_strange_values_never_end_in_a_traceback(small, tmp_path):
    path, page = tmp_path / "result.json", tmp_path / "out.html"
    chance = random.Random(3)
    everywhere = [place for place in places(small) if place and "samples" not in place]
    strange = [None, True, "", "\0\ud800<b>", -1, 0, 1, 2**63, 10**400, 1e-300, 1e300, 1e89, 1e-89, 0.5, [], {}, [[]], {"": None},
               float("nan"), float("inf"), -0.0]
    refused = 0
    for _ in range(300):
        made = json.loads(json.dumps(small))
        *way, last = chance.choice(everywhere)
        inner = made
        for key in way:
            inner = inner[key]
        value = chance.choice(strange)
        inner[last] = value
        path.write_text(json.dumps(made))
        line = attempt(path, page)
        refused += line is not None
        if isinstance(value, float) and not math.isfinite(value):
            assert line
    assert refused > 100


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


def test_attention_is_drawn_by_rate_time_and_memory(h200):
    entries = [e for e in h200["benchmarks"] if e["roofmark"]["family"] == "attention"]
    rate, time, memory = (figure for figure, _ in family_plots.of_family("attention", h200, entries))
    for figure in (rate, time, memory):
        assert sum(len(t["x"]) for t in figure["data"]) == len(entries)
        assert len(figure["layout"]["updatemenus"][0]["buttons"]) == 2
        assert {t["name"] for t in figure["data"] if t["visible"]} == {"naive", "unfused", "tiled_mma", "tiled_wgmma", "cudnn"}
    grown = {t["name"]: t["y"][3] / t["y"][2] for t in memory["data"] if t["visible"]}
    assert grown["naive"] > 3.8 and grown["unfused"] > 3.5 and grown["tiled_wgmma"] == grown["cudnn"] == 2
    entries[0]["roofmark"]["notes"].clear()
    assert sum(len(t["x"]) for t in family_plots.of_family("attention", h200, entries)[2][0]["data"]) == len(entries) - 1


@pytest.mark.usefixtures("no_plotly")
def test_fused_operations_stand_beside_separate_ones(h200):
    cpu = make_result.cpu()
    figure = family_plots.fused_pairs(h200)
    assert [name.split("/")[1] for name in figure["data"][0]["y"]] == ["bias_gelu_residual", "adamw"]
    assert all(ratio > 2 for ratio in figure["data"][0]["x"])
    assert "Speed-up by fusion" in report.page(h200, "0" * 64)
    assert family_plots.fused_pairs(cpu) is None and "Speed-up by fusion" not in report.page(cpu, "0" * 64)


def without_breaks(page):
    return page.replace("<wbr>", "")


def test_a_team_has_a_section_with_every_record(cluster):
    page = without_breaks(report.page(cluster, "0" * 64))
    for entry in cluster["benchmarks"]:
        name = entry["name"] if communication.is_collective(entry) else entry["name"].partition("/")[2]
        assert name in page
    for entry in cluster["unmeasured"]:
        assert entry["name"] in page
    for said in ("rank 11 (node2): its best pair between hosts takes 3.20 times", "GPU-0000000d-", "mlx5_4:1", "ping_pong: 45 cases"):
        assert said in page
    drawn = {line for figure in figures_of(page).values() for t in figure["data"] if t.get("meta") == "records" for line in t["text"]}
    for entry in cluster["benchmarks"]:
        if communication.is_collective(entry):
            assert plots.hover(entry) in drawn


def test_bus_bandwidth_is_drawn_with_the_links_that_bind(cluster):
    figure = communication.busbw(cluster)
    shown = [t for t in figure["data"] if t["visible"]]
    assert [t["name"].partition(":")[0] for t in shown if "meta" not in t] == ["NVLink, one direction, per GPU"] * 2 + ["network, one direction, per host"]
    assert {t["name"] for t in shown if "meta" in t} >= {"all_reduce", "all_reduce, in place", "broadcast", "send_recv"}
    assert sum(len(t["x"]) for t in figure["data"] if "meta" in t) == sum(map(communication.is_collective, cluster["benchmarks"]))
    buttons = [button["label"] for button in figure["layout"]["updatemenus"][0]["buttons"]]
    assert "8 ranks, fp32, nccl, group:node" in buttons and buttons[0] == "16 ranks, fp32, nccl"
    best = max(y for t in figure["data"] if t.get("meta") for y in t["y"])
    assert 4.5e11 < best < 4.9e11  # NVLS, above the wire


def test_collectives_have_the_words_of_nccl_tests(cluster):
    tables = {title: (columns, rows) for title, columns, rows in communication.collectives(cluster)}
    columns, rows = tables["all_reduce/bf16/impl:nccl"]
    names = [name for name, _, _ in columns]
    assert names[6:14] == ["time, µs", "algbw, GB/s", "busbw, GB/s", "#wrong", "in place: time, µs", "algbw, GB/s", "busbw, GB/s", "#wrong"]
    [wrong] = [row for row in rows if row[0][1] == 4 << 20]
    text = [cell[0] if isinstance(cell, tuple) else cell for cell in wrong]
    assert text[9] == "0" and text[10:14] == ["-", "-", "-", "12"]
    record = next(e["roofmark"] for e in cluster["benchmarks"] if e["name"] == "all_reduce/bf16/bytes:4194304/ranks:16/op:sum/place:out/impl:nccl")
    seconds = record["measurement"]["median"]
    assert text[6:9] == [f"{seconds * 1e6:.2f}", f"{(4 << 20) / seconds / 1e9:.2f}", f"{1.875 * (4 << 20) / seconds / 1e9:.2f}"]
    columns, rows = tables["all_reduce/fp32/impl:nccl"]
    switched = {row[5]: row[17][0] for row in rows if row[0][1] == 16 << 30 and row[4] == "8"}
    assert switched["group:node"] and rows[0][17][0] == ""


def test_pairs_are_maps_with_borders_between_hosts(cluster):
    time, rate = communication.matrices(cluster)
    for figure, worst in ((time, max), (rate, min)):
        [trace] = figure["data"]
        values = {(a, b): trace["z"][a][b] for a in range(16) for b in range(16) if a != b}
        assert worst(values, key=values.get)[0] == 11 or worst(values, key=values.get)[1] == 11
        assert all(trace["z"][rank][rank] is None for rank in range(16)) and values[2, 13] == values[13, 2]
        assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [7.5, -0.5]
        assert [label["text"] for label in figure["layout"]["annotations"]] == ["node1", "node2"]
    assert "rank 2 (node1) and rank 13 (node2)" in time["data"][0]["customdata"][2][13]


@pytest.mark.usefixtures("no_plotly")
def test_what_a_message_is_stands_in_the_file_not_in_a_name(cluster):
    def sections():
        return [(communication.concerns(entry), communication.is_collective(entry)) for entry in cluster["benchmarks"]]

    by_name = sections()
    assert {(False, False), (True, False), (True, True)} == set(by_name)
    for entry in cluster["benchmarks"]:
        entry["roofmark"]["family"] = "renamed"
    assert sections() == by_name


def test_a_team_of_which_nothing_is_known_yet(cluster):
    cluster["benchmarks"] = []
    cluster["findings"] = []
    cluster["communication"] = {key: [] for key in cluster["communication"]}
    page = report.page(cluster, "0" * 64)
    assert "<h3>Ranks</h3>" in page and "Stragglers" not in page and "Bus bandwidth over size" not in page


@pytest.mark.usefixtures("no_plotly")
def test_a_team_s_texts_are_escaped(cluster):
    hostile = "</script><img src=x onerror=alert(1)>&lt;b&gt;"
    for member in cluster["team"]:
        member["host"] = member["device_name"] = member["uuid"] = member["nics"][0]["name"] = hostile
    for entry in cluster["benchmarks"]:
        entry["roofmark"]["shape"]["impl"] = entry["roofmark"]["family"] = hostile
        entry["roofmark"]["shape"]["group"] = hostile
    for kind in ("fits", "scaling", "overlaps"):
        for row in cluster["communication"][kind]:
            row["series"] = hostile
    for finding in cluster["findings"]:
        finding["text"] = hostile
    page = report.page(cluster, "0" * 64)
    assert "<img" not in page and page.count("</script>") == 3
    assert "<img" not in json.dumps(figures_of(page))


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
    for _ in range(200):
        made = json.loads(json.dumps(cluster))
        *way, last = chance.choice(everywhere)
        inner = made
        for key in way:
            inner = inner[key]
        inner[last] = chance.choice(strange)
        path.write_text(json.dumps(made))
        refused += attempt(path, page) is not None
    assert refused > 80
