# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/report: what it shows, what it refuses, and that it loses no file."""

import copy
import json
import os
import re
import resource
import shlex
import subprocess
import sys

import make_delivery
import make_result
import pytest
import result_maker
from conftest import ROOT, need

need("jsonschema", "jinja2", "orjson", "plotly", "tree_sitter_javascript")
from report_pages import figures_of  # noqa: E402
from roofmark_report import facts, library, plots, report, table, tables  # noqa: E402
from roofmark_report import result as reader  # noqa: E402

COMMAND = [sys.executable, str(ROOT / "scripts" / "report")]


def run(*arguments, **options):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False, **options)


def test_default_output_is_beside_the_input(result, save):
    path = save(result)
    done = run(path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"page: {path.with_name('report.html')}\n", "")
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
    assert "<p>The index of the maximum of each row, as in greedy decoding.</p>" in page
    equal = tmp_path / "equal.json"
    equal.write_bytes(path.read_bytes() + b"\n")  # the same file on both sides is refused
    done = subprocess.run([sys.executable, ROOT / "scripts" / "compare", path, equal], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "0 different" in done.stdout


@pytest.mark.usefixtures("no_plotly")
def test_calls_that_the_host_timed_have_a_table_of_their_own_beside_what_the_device_timed(small):
    first, second = (copy.deepcopy(small["benchmarks"][0]) for _ in range(2))
    for entry, name, timed in ((first, "cost/launch/int32/until:return", "call"), (second, "cost/barrier/int32/of:grid", "device")):
        entry["name"] = entry["run_name"] = name
        entry["roofmark"]["family"] = "cost"
        entry["roofmark"]["measurement"]["timed"] = timed
    small["benchmarks"] += [first, second]
    small["call_lines"] = [{"series": "cost/all/by:graph", "key": "kernels", "fixed_seconds": 8e-6, "each_seconds": 1e-6, "points": 3, "faster_from": 2.4, "than": "cost/all/by:stream"}]
    page = report.page(small, "0" * 64)
    calls = page[page.index('id="calls-cost"'):page.index('id="family-cost"')]
    assert "launch/<wbr>int32" in calls and "of a 10 us kernel" in calls and "barrier" not in calls
    assert "barrier/<wbr>int32" in page[page.index('id="family-cost"'):]
    assert "from kernels:3 on" in page and "than cost/all/by:stream" in page


@pytest.mark.usefixtures("no_plotly")
def test_every_record_is_in_a_table_and_a_plot(result):
    page = report.page(result, "0" * 64)
    for entry in result["benchmarks"]:
        assert "/<wbr>".join(entry["name"].split("/")[1:]) in page
    for entry in result["unmeasured"]:
        assert entry["name"] in page and entry["roofmark"]["reason"].partition("(")[0] in page
    for family, about in result["families"].items():
        assert f"<p>{about}</p>" in page
    made = figures_of(page)
    points = sum(len(t["x"]) for t in made["roofline"]["data"] if t.get("meta") == "records")
    assert points == sum("intensity" in e["roofmark"]["placement"] for e in result["benchmarks"]) > 0
    drawn = {line for figure in made.values() for t in figure["data"] if t.get("meta") == "records" for line in t["text"]}
    for entry in result["benchmarks"]:
        if entry["roofmark"]["family"] != "ceilings":
            assert plots.hover(entry) in drawn


@pytest.mark.usefixtures("no_plotly")
def test_the_caption_speaks_of_hidden_lines_only_where_there_are_any(result):
    said = "are hidden at first"
    known = any("theoretical" in ceiling for ceiling in result["ceilings"])
    assert known == (result["device"]["kind"] != "cpu") and (said in report.page(result, "0" * 64)) == known
    for ceiling in result["ceilings"]:
        ceiling.pop("theoretical", None)
    page = report.page(result, "0" * 64)
    assert said not in page and "to hide or show it" in page and "theoretical ceilings" not in {t["name"] for t in figures_of(page)["roofline"]["data"]}


@pytest.mark.usefixtures("no_plotly")
def test_without_measured_ceilings_the_theoretical_ones_are_the_roofs(result):
    def lines():
        page = report.page(result, "0" * 64)
        traces = figures_of(page)["roofline"]["data"]
        return page, {trace["hovertemplate"].partition(" ceiling:")[0] for trace in traces if trace["mode"] == "lines" and "ceiling:" in trace["hovertemplate"]}

    links = {ceiling["title"] for ceiling in result["ceilings"] if ceiling["unit"] == "B" and ceiling["resource"] in plots.LINKS}
    page, drawn = lines()
    assert not links & {trace["name"] for trace in figures_of(page)["roofline"]["data"]}, "no case is under a link's slope"
    assert drawn == {"measured"} and "Lines are measured ceilings" in page and "measured no ceilings" not in page
    for ceiling in result["ceilings"]:
        del ceiling["empirical"]
    bounds = any("theoretical" in ceiling for ceiling in result["ceilings"])
    page, drawn = lines()
    assert drawn == ({"theoretical"} if bounds else set()) and "Lines are measured" not in page
    assert "This run measured no ceilings." in page and "no ceilings of arithmetic and memory" in page and ("the lines are theoretical ones" in page) == bounds


def test_telemetry_sustained_load_and_counters_are_shown_as_in_an_acceptance():
    made = make_delivery.gpu(make_result.h200(), 0, 0, 1)
    page = report.page(made, "0" * 64).replace("\N{NO-BREAK SPACE}", " ")
    drawn = [figure for figure in figures_of(page).values() if figure["layout"]["xaxis"].get("title", {}).get("text") == "seconds since the device was opened"]
    assert len(drawn) == 1 and {trace["name"] for trace in drawn[0]["data"]} >= {"SM clock", "memory clock", "power", "margin to slowdown"}
    shown = page[page.index('id="telemetry"'):page.index('id="section-1"')]
    for said in ("Shaded: clock lowered by power cap for 3 min 29 s", 'id="sustained"', "1980 → 1800 MHz", "100.1 %", "97.0 %", "4000 (25.0 %)", 'id="counters"',
                 "ecc corrected", "node1 cuda:0 (GPU-00000001): 16"):
        assert said in shown, said
    assert 'id="energy"' not in page, "the tables of the families have it"
    for key in ("telemetry", "counters"):
        del made[key]
    for entry in made["benchmarks"]:
        entry["roofmark"].pop("sustained", None)
    page = report.page(made, "0" * 64)
    assert not any(f'id="{name}"' in page for name in ("telemetry", "sustained", "counters"))


def test_strange_telemetry_ends_in_no_traceback(cluster):
    made = cluster | {"rank_telemetry": [{"summary": {"seconds": 1.0, "throttled_share": {}}, "course": {}}] * 20, "counters": result_maker.counters(rank=77)}
    assert "rank 77" in report.page(made, "0" * 64) and "rank 19" in report.page(made, "0" * 64)
    for series in ({"columns": ["power_watts"], "rows": [[1.0]]}, {"columns": ["seconds"], "rows": [[]]}, {"columns": ["seconds"], "rows": [[None]]},
                   {"columns": ["seconds", "power_watts"], "rows": [[0.0, 1.0], [1.0, 1.0]], "reasons": [["a"], [0.0, 1.0], [0.5]]}):
        alone = {key: value for key, value in cluster.items() if key != "rank_telemetry"}
        report.page(alone | {"telemetry": {"period_seconds": 0.05} | series}, "0" * 64)
        report.page(cluster | {"rank_telemetry": [{"summary": {"seconds": 1.0, "throttled_share": {}}, "course": series}]}, "0" * 64)


def column(table, title):
    [at] = [i for i, (name, _, _) in enumerate(table["columns"]) if name == title]
    return [row[at][0] for row in table["rows"]]


def test_a_report_is_below_1_mb_and_brings_the_whole_library_on_demand(tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(make_result.cpu()))
    sizes = []
    for flags in ((), ("--whole-library",)):
        done = run(path, *flags)
        assert (done.returncode, done.stdout) == (0, f"page: {tmp_path / 'report.html'}\n")
        sizes.append((tmp_path / "report.html").stat().st_size)
    assert sizes[0] < 8e5 and sizes[1] > 4e6


def test_a_library_of_another_layout_is_an_error():
    with pytest.raises(ValueError, match="not laid out as expected"):
        library.reduced(b"var Plotly = 1;", library.TRACES)


def test_the_part_of_the_library_is_kept_and_a_damaged_one_is_made_again(tmp_path, monkeypatch):
    made = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "reduced", lambda source, traces: made.append(traces) or b"var Plotly = 1;")
    for damage in (lambda file: None, lambda file: file.write_bytes(file.read_bytes()[:-1]), lambda file: file.unlink()):
        for _ in range(2):
            library._compressed.cache_clear()
            assert library._part() == "var Plotly = 1;"
        [file] = (tmp_path / "roofmark").iterdir()
        damage(file)
    assert len(made) == 2
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    library._compressed.cache_clear()
    assert library._part() == "var Plotly = 1;" and len(made) == 3
    library._compressed.cache_clear()


def test_what_binds_is_called_as_in_the_table_of_ceilings(result):
    ids = column(tables.ceilings_table(result), "Id")
    assert ids == [ceiling["resource"] for ceiling in result["ceilings"]]
    titles = {ceiling["resource"]: ceiling["title"] for ceiling in result["ceilings"]}
    bound = column(tables.family_table("all", result["benchmarks"], titles), "Bound by")
    assert {each for each in bound if each} and {each for each in bound if each} <= set(ids)


def test_the_statuses_of_the_report_are_those_of_the_schema():
    assert list(reader.STATUSES) == reader.SCHEMA["$defs"]["record"]["properties"]["status"]["enum"]
    assert reader.worst_status(["ok", "unsupported", "not_run", "failed"]) == "failed" and reader.worst_status(["ok", "unsupported"]) == "unsupported"
    assert {status for status, (_, mark) in reader.STATUSES.items() if mark} == {"wrong", "failed", "not_run"}
    assert table.COLUMNS["status"].meaning == "ok, wrong, failed, not_run or unsupported"


def test_the_order_of_findings_is_that_of_the_schema():
    properties = reader.SCHEMA["$defs"]["finding"]["properties"]
    assert reader.SEVERITIES == ["error", "warning", "note"] and reader.KINDS == properties["kind"]["enum"]
    assert set(report.LEVELS) == set(reader.SCHEMA["properties"]["verdict"]["properties"]["level"]["enum"])


def test_findings_stand_by_severity_with_their_advice(h200):
    h200["findings"] += [{"kind": "above_theoretical", "severity": "error", "text": "too fast", "advice": "Report it.", "case": "a/b"}]
    groups = report.group_findings(h200)
    assert groups[0] == {"kind": "error: above theoretical", "meaning": "Report it.", "count": 1, "texts": [("too fast", ["a/b"])]}
    assert groups[-1]["kind"] == "note: unsettled"


@pytest.mark.usefixtures("no_plotly")
def test_verdict_scope_and_health_are_those_of_the_file(small):
    small["verdict"] = {"level": "good", "headline": "7 ok, says the file", "advice": "Sign."}
    small["scope"]["text"] = "A selection of the quick suite: 7 of 52 cases (--filter 'gemm')"
    small["health"] = [{"what": "ECC", "state": "on"}, {"what": "governor", "state": "powersave", "advice": "the clock follows the load", "rank": 3}]
    page = report.page(small, "0" * 64)
    assert '<section class="verdict good" id="verdict">' in page and "<strong>Good: 7 ok, says the file</strong>" in page
    assert "<div>Sign.</div>" in page and "7 of 52 cases (--filter &#39;gemm&#39;)" in page
    answer, rows = facts.health(small)
    assert answer.startswith("1 of 2 checks") and answer in page
    assert rows[0] == ("governor (rank 3)", "powersave", "the clock follows the load") and "the clock follows the load" in page
    del small["health"][1]["advice"]
    assert facts.health(small)[0] == "The environment is fine in all 2 checks."


@pytest.mark.usefixtures("no_plotly")
def test_a_run_that_was_cut_off_says_where_in_the_headline(h200):
    made = make_result.interrupted(h200)
    page = report.page(made, "0" * 64)
    assert '<section class="verdict bad"' in page and f"Bad: The run was cut off in {made['ended']['case']}: interrupted" in page


@pytest.mark.usefixtures("no_plotly")
def test_a_plot_of_one_point_is_a_line_of_text(h200):
    h200["benchmarks"] = [e for e in h200["benchmarks"] if e["roofmark"]["family"] != "stream" or "triad/fp64/bytes:65536" in e["name"]]
    [point] = [e for e in h200["benchmarks"] if e["roofmark"]["family"] == "stream"]
    page = report.page(h200, "0" * 64)
    assert f'<p class="said">{plots.hover(point).replace("<br>", ", ")}</p>' in page
    assert page.count('<p class="said">') == 1
    section = page[page.index(">stream (1)</h2>"):]
    assert 'class="plot"' not in section[:section.index("</table>")]


def test_findings_and_comparisons_stand_worst_first(h200):
    def throttle(name, **size):
        return {"kind": "throttle", "severity": "warning", "text": f"{name}: slow", "advice": "", "case": name, **size}

    h200["findings"] = [throttle("none"), throttle("a", size=0.03), throttle("b", size=0.18), throttle("c", size=0.075)]
    [group] = report.group_findings(h200)
    assert [names for _, names in group["texts"]] == [["b"], ["c"], ["a"], ["none"]]
    assert {row["says"] for row in report.comparison_rows(h200)} <= {"faster", "slower", "undecided"}
    del h200["comparisons"][0]["low"]
    [alone] = [row for row in report.comparison_rows(h200) if row["interval"] == "no interval"]
    assert alone["says"] == "undecided"
    ratios = [float(row["ratio"]) for row in report.comparison_rows(h200)]
    assert len(ratios) > 10 and ratios == sorted(ratios)


def test_the_command_can_be_pasted(small):
    small["arguments"] = ["roofmark", "run", "--filter", "^gemm|it's", "--label", "rack=a b"]
    [command] = [value for name, value in facts.run_facts(small, "0") if name == "command"]
    assert shlex.split(command) == small["arguments"]


def test_a_ceiling_that_is_measured_twice_is_one_case(h200):
    names = {entry["name"] for entry in h200["benchmarks"]}
    assert report.counts(h200) == {"ok": len(names), "wrong": 1, "failed": 1, "not_run": 1, "unsupported": 1} and len(names) < len(h200["benchmarks"])
    [second] = [e for e in h200["benchmarks"] if e["name"] == "ceilings/fma/fp64" and e["roofmark"]["pass"] == 2]
    h200["benchmarks"].remove(second)
    h200["unmeasured"].append({"name": second["name"], "roofmark": {"status": "wrong"}})
    assert report.counts(h200)["ok"] == len(names) - 1 and report.counts(h200)["wrong"] == 2
    h200["unmeasured"].append({"name": second["name"], "roofmark": {"status": "not_run"}})
    assert report.counts(h200)["wrong"] == 2 and report.counts(h200)["not_run"] == 1, "of the worse pass, in whatever order"


def test_errors_are_in_words(h200):
    assert column(tables.family_table("gemm", h200["benchmarks"], {}), "Error, of what rounding allows")[0].endswith(" %")

    def words(**check):
        return tables.checked({"verification": {"after": {"detail": "", "status": "passed"} | check}})[0]

    assert words(error=0.016, bound=2.0) == "0.8 %" and words(error=0, bound=0) == words(error=0, bound=2.0) == "exact"
    assert words(status="nothing_to_verify") == "nothing to check" and words() == "passed" and tables.checked({})[0] == ""


def test_a_folder_gets_a_report_beside_each_result(small, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(json.dumps(small))
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and all((tmp_path / name / "report.html").exists() for name in ("a", "b"))
    done = run(tmp_path, "-o", tmp_path / "one.html")
    assert done.returncode == 2 and "2 results" in done.stderr and not (tmp_path / "one.html").exists()
    assert run(tmp_path / "a", "-o", tmp_path / "one.html").returncode == 0 and (tmp_path / "one.html").exists()


@pytest.mark.usefixtures("no_plotly")
def test_absent_parts_are_left_out(small):
    for key in ("wall_time", "finished_utc", "telemetry", "counters"):
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
    controls = "\u202e\u2067\u200f\ufeff\x9b"  # of the direction of writing, and of a terminal
    hostile = f"</script><img src=x onerror=alert(1)>&lt;b&gt;{controls}"
    small["labels"] = {hostile: hostile}
    small["device"]["name"] = small["host"]["name"] = hostile
    small["device"]["details"] = {hostile: [hostile]}
    small["verdict"] |= {"headline": hostile, "advice": hostile}
    small["scope"]["text"] = small["health"][0]["what"] = small["health"][0]["state"] = small["health"][0]["advice"] = hostile
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
    figures = json.dumps(figures_of(page), ensure_ascii=False)
    assert "<img" not in figures and not set(controls) & set(page + figures) and "gt;" + 5 * "\N{REPLACEMENT CHARACTER}" in page


def test_hover_names_the_case_and_its_rates(h200):
    entry = next(e for e in h200["benchmarks"] if e["roofmark"]["family"] == "gemm" and "8192" in e["name"])
    text = plots.hover(entry)
    assert f"<b>gemm/{entry['roofmark']['type']}</b>" in text and "m:8192/n:8192/k:8192/impl:cublaslt" in text and "FLOP/s" in text and "of the measured roof" in text


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
    assert done.returncode == 2 and "would replace a result file" in done.stderr and path.read_bytes() == before


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
    done = run(path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18)))
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and "cannot write" in done.stderr
    assert page.read_text() == "before" and {p.name for p in path.parent.iterdir()} == {"result.json", "report.html"}
