# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What a report is made of: the run in short, units, axes, colours, plots."""

import copy
import os
import re

import make_result
import pytest
from conftest import ROOT, need
from result_maker import MIB

need("jsonschema", "jinja2", "orjson", "plotly", "tree_sitter_javascript")
from report_pages import figures_of  # noqa: E402
from roofmark_report import communication, family_plots, plots, program, report, roofline_plot, summary, tables, telemetry, transfers, units  # noqa: E402


def cells(result):
    found = summary.summary_table(result)
    titles = [title for title, _, _ in found["columns"]]
    return [dict(zip(titles, (cell[0] for cell in row))) for row in found["rows"]]


def test_what_no_roof_allows_a_microsecond_for_is_not_the_worst_case(h200):
    worst = summary.worst(h200)
    for t_min, is_worst in ((1e-9, False), (2e-6, True)):
        placement = worst["roofmark"]["placement"] | {"t_min_seconds": t_min, "of_empirical": 0.001}
        small = worst | {"name": "a small transfer", "roofmark": worst["roofmark"] | {"placement": placement}}
        found = summary.worst(h200 | {"benchmarks": [*h200["benchmarks"], small]})
        assert (found["name"] == "a small transfer") == is_worst
        stride = small | {"roofmark": small["roofmark"] | {"family": "access"}}
        assert summary.worst(h200 | {"benchmarks": [*h200["benchmarks"], stride]}) is worst, "it is slow on purpose"


def test_a_transfer_is_not_the_worst_case(h200):
    transfer = next(e for e in h200["benchmarks"] if e["name"] == h200["transfers"]["series"][0]["largest"]["case"])
    slow = transfer | {"roofmark": transfer["roofmark"] | {"placement": transfer["roofmark"]["placement"] | {"of_empirical": 1e-6}}}
    others = [e for e in h200["benchmarks"] if e is not transfer]
    assert summary.worst(h200 | {"benchmarks": [*others, slow]}) is summary.worst(h200)
    assert summary.worst(h200 | {"benchmarks": [*others, slow], "transfers": {"series": [], "contention": []}}) is summary.worst(h200), \
        "of no series, as copies of managed memory"
    busy = slow | {"roofmark": slow["roofmark"] | {"work": {"phases": [[{"resource": "dram", "unit": "B", "amount": 64.0}]]}}}
    assert summary.worst(h200 | {"benchmarks": [*others, busy]}) is busy


def test_the_run_in_short_is_measured_against_ceilings(h200, cluster):
    rows = cells(h200)
    assert 3 <= len(rows) <= 12
    dram = rows[0]
    assert dram["What"] == "DRAM" and dram["Measured"] == "4.57 TB/s" and dram["Ceiling"] == "4.92 TB/s (theoretical)" and dram["Share"] == "93.0 %"
    assert dram["Of datasheet"] == "95.3 %"
    assert dram["Clock"] == "1980 MHz" and dram["Case"].startswith("ceilings/dram_")
    product = next(row for row in rows if row["What"] == "best product, bf16")
    assert product["Case"].startswith("gemm/bf16/") and product["Health"] == "throttle" and product["Clock"] == "1620 MHz"
    assert [row["What"] for row in rows[-2:]] == ["best attention", "worst case"]
    # The naive attention is slower by design, as a comparison says.
    assert "naive" not in rows[-1]["Case"] and "algo:separate" not in rows[-1]["Case"]
    rows = cells(cluster)
    assert [row["What"] for row in rows[1:4]] == ["NVLink, one direction, per GPU", "best product, bf16", "best all-reduce, busbw"] and len(rows) == 10
    best = max(communication.bandwidth(e["roofmark"])[2] for e in cluster["benchmarks"] if e["name"].startswith("all_reduce/"))
    assert rows[3]["Measured"] == units.rate(best, "B") and rows[-1]["What"] == "worst case" and "ranks:" not in rows[-1]["Case"]
    fastest = max((e for e in cluster["benchmarks"] if e["name"].startswith("all_reduce/")), key=lambda e: communication.bandwidth(e["roofmark"])[2])
    demands = [demand | {"lighter": True} for demand in fastest["roofmark"]["work"]["phases"][0]]
    lighter = fastest | {"roofmark": fastest["roofmark"] | {"work": {"phases": [demands]}}}
    others = [lighter if e is fastest else e for e in cluster["benchmarks"]]
    assert cells(cluster | {"benchmarks": others})[3]["Case"] not in ("", fastest["name"]), "of fewer ranks, or with an imbalance"
    record = next(e["roofmark"] for e in h200["benchmarks"] if e["name"] == product["Case"])
    expected = record["placement"]["flops_per_second"] / record["placement"]["of_theoretical"]
    assert product["Ceiling"] == f"{units.rate(expected, 'FLOP')} (theoretical)"


def test_the_run_in_short_without_theory_takes_the_measured_ceilings():
    rows = cells(make_result.cpu())
    assert rows[0]["Ceiling"] == "unknown" and "Share" in rows[0] and rows[0]["Share"] == ""
    assert rows[1]["What"] == "best product, fp32" and rows[1]["Ceiling"].endswith("(measured ceiling)") and rows[1]["Health"] == "no finding"


def test_a_finding_of_the_whole_run_is_in_every_line_of_the_run_in_short(h200):
    for made in (make_result.cpu(), h200):
        before = cells(made)
        for kind, doubt in (("foreign_process", "all"), ("shared_cores", "all"), ("corrected_errors", "nothing"), ("drift", "part")):
            made["findings"].append({"kind": kind, "severity": "warning", "doubt": doubt, "found_by": ["results"], "text": "t", "advice": "a"})
        made["findings"].append({"kind": "gate", "severity": "warning", "doubt": "part", "found_by": ["results"], "text": "t", "advice": "a", "case": "another"})
        own = [row["Health"] for row in before]
        assert [row["Health"] for row in cells(made)] == ["foreign process, shared cores" if one == "no finding" else one for one in own]
        assert made is h200 or "no finding" in own


def test_a_ceiling_drifted_from_where_the_program_finds_a_drift():
    text = (ROOT / "harness" / "model" / "roofline.hpp").read_text(encoding="utf-8")
    assert float(re.search(r"kDriftLimit = ([\d.]+);", text)[1]) == tables.DRIFT


def test_a_drift_that_the_clock_explains_is_said_and_casts_no_doubt():
    def ceiling(drift, left, *clocks):
        return {"drift": drift, "unexplained_drift": left, "doubtful": False, **dict(zip(("first_clock_hz", "last_clock_hz"), clocks))}

    for made, cell, health in (
            (ceiling(-0.13, 0.0, 1.755e9, 1.527e9), "-13.0 %, by its clock", "no finding"),
            (ceiling(-0.13, -0.05, 1.755e9, 1.6e9), "-13.0 %", "drift -5.0\N{NO-BREAK SPACE}%"),
            (ceiling(-0.13, -0.13), "-13.0 %", "drift -13.0\N{NO-BREAK SPACE}%"),
            (ceiling(-0.01, 0.0, 1.755e9, 1.73e9), "-1.0 %", "no finding"),
            (ceiling(0.79, 0.79) | {"drift_half_width": 0.7}, "+79.0 %, within the intervals", "no finding"),  # a factor of 1.79 is less than e^0.7
            (ceiling(-0.4, -0.4) | {"drift_half_width": 0.45}, "-40.0 %", "drift -40.0\N{NO-BREAK SPACE}%"),
            ({"drift": -0.13, "doubtful": False}, "-13.0 %", "drift -13.0\N{NO-BREAK SPACE}%")):  # an older file
        assert tables.drift_of(made)[0].replace("\N{NO-BREAK SPACE}", " ") == cell
        assert summary.ceiling_health(made, []) == health
    assert tables.drift_of(ceiling(-0.13, -0.05, 1.755e9, 1.6e9))[2] == "clock at the start 1755 MHz, at the end 1600 MHz; it does not explain -5.0 %"


def test_calls_of_a_cpu_are_in_no_proportion_to_a_kernel(h200):
    entry = copy.deepcopy(h200["benchmarks"][0])
    entry["roofmark"]["measurement"]["timed"] = "call"
    for on_gpu in (False, True):
        assert ("of a 10 us kernel" in {column[0] for column in tables.calls_table("cost", [entry], on_gpu)["columns"]}) == on_gpu


@pytest.mark.usefixtures("no_plotly")
def test_ceilings_that_were_measured_once_are_not_said_to_be_measured_again(h200):
    once = h200 | {"ceilings": [{key: value for key, value in ceiling.items() if not key.startswith("last")} for ceiling in h200["ceilings"]]}
    for result, said in ((h200, "in this run, before and after the suite."), (once, "in this run, before the suite.")):
        assert said in report.page(result, "0" * 64)


def test_a_counter_is_written_in_full():
    read = {"id": "ecc_corrected", "before": 1234567, "worse": 7654321}
    rows = [telemetry.counters_table([{"counters": [(read, str(i))]} for i in range(n)])["rows"][0] for n in (1, 3)]
    assert [[cell[0] for cell in row[2:]] for row in rows] == [["0: 7654321", "0: 1234567"], ["0: 7654321; 1: 7654321; 2: 7654321", "1234567 on all 3"]]


def test_a_counter_has_its_title_where_the_file_has_one():
    named, older = ({"id": name, "rank": 0, "before": 16, "after": 16, "worse": 0} for name in ("pcie_width", "nvlink_links"))
    rows = telemetry.counters_table([{"counters": [(named | {"title": "PCIe lanes in use"}, "a"), (older, "a")]}])["rows"]
    assert [row[0][::2] for row in rows] == [("PCIe lanes in use", "pcie_width"), ("nvlink links", "nvlink_links")]


def contrast(colour, other):
    """WCAG's contrast of two colours as #rrggbb."""
    def luminance(text):
        parts = [int(text[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(colour), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_text_has_a_contrast_of_4_5_on_every_background():
    assert contrast("#000000", "#ffffff") == 21 and contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    style = "".join((ROOT / "scripts" / "roofmark_report" / name).read_text(encoding="utf-8") for name in ("style.css", "acceptance.css"))
    named = dict(re.findall(r"--(\w+): (#\w{6})", style))
    texts = {named.get(name, name) for name in re.findall(r"(?<![-\w])color: (?:var\(--)?([#\w]+)", style)}
    backgrounds = {named.get(name, name) for name in re.findall(r"background: (?:var\(--)?([#\w]+)\)?;", style)} - {"#0072B2"} | {"#ffffff"}
    assert len(texts) >= 5 and {"#ffffff", named["pale"]} <= backgrounds
    backgrounds = {"#ffffff" if colour == "#fff" else colour for colour in backgrounds}
    assert {(text, ground): contrast(text, ground) for text in texts for ground in backgrounds if contrast(text, ground) < 4.5} == {}


@pytest.mark.usefixtures("no_plotly")
def test_plots_have_enough_contrast(h200, cluster):
    texts, marks = set(), set()

    def collect(value, key=""):
        if isinstance(value, list):
            for inner in value:
                collect(inner, key)
        elif isinstance(value, dict):
            if isinstance(colour := value.get("color"), str):
                (texts if key.endswith("font") else marks).add(colour)
            for name, inner in value.items():
                collect(inner, name)

    for made in (h200, make_result.cpu(), cluster):
        for figure in figures_of(report.page(made, "0" * 64)).values():
            assert figure["layout"]["plot_bgcolor"] == figure["layout"]["paper_bgcolor"] == "#ffffff"
            collect(figure)
    marks.discard("#ffffff")  # the rim of a point
    assert texts and len(marks) > 8
    assert {text: contrast(text, "#ffffff") for text in texts if contrast(text, "#ffffff") < 4.5} == {}
    assert {mark: contrast(mark, "#ffffff") for mark in {*marks, *plots.COLOURS} if contrast(mark, "#ffffff") < 3} == {}


@pytest.mark.parametrize("text, expected", [
    (units.seconds(0), "0 ns"), (units.seconds(-0.5), "-500 ms"), (units.seconds(1234), "1234 s"), (units.share(1.143), "114.3 %"),
    (units.share(0.0004), "0.0 %"), (units.duration(41.4), "41 s"), (units.duration(7322), "2 h 02 min"), (units.digits(0.0833), "0.0833"),
    (units.digits(123456), "123456"), (units.joules(0.0031), "3.10 mJ"), (units.joules(4.5e10, "FLOP/J"), "45.0 GFLOP/J"), (units.rate(None, "B"), ""),
    (units.rate(float("nan"), "B"), ""), (units.seconds(float("inf")), ""), (units.share(float("-nan")), ""), (units.duration(float("nan")), ""),
])
def test_units(text, expected):
    assert text == expected


def test_axes_of_time_have_the_units_of_the_tables():
    axis = plots.time_axis("time", [2.5e-5, 3e-3])
    shown = dict(zip(axis["ticktext"], axis["tickvals"]))
    assert axis["type"] == "log" and {"20 us", "100 us", "1 ms", "5 ms"} <= shown.keys() and shown["20 us"] == pytest.approx(2e-5)
    axis = plots.time_axis("time", [1.2e-3], type="linear")
    assert axis["ticktext"][:3] == ["0 ns", "200 us", "400 us"] and axis["tickvals"][-1] >= 1.2e-3


def test_units_are_spelled_as_on_the_terminal():
    expected = re.findall(r'EXPECT_EQ\(format_(\w+)\(([\d.e-]+)(?:, Unit::(\w+))?\), "([^"]*)"\)',
                          (ROOT / "tests" / "harness" / "model" / "units_test.cpp").read_text(encoding="utf-8"))
    names = {"flop": "FLOP", "op": "op", "byte": "B", "launch": "launch", "access": "access"}
    forms = {"rate": lambda value, unit: units.rate(value, names[unit]), "amount": lambda value, unit: units.scaled(value, names[unit]),
             "seconds": lambda value, _: units.seconds(value), "bytes": lambda value, _: units.size(value),
             "share": lambda value, _: units.share(value), "change": lambda value, _: units.change(value), "duration": lambda value, _: units.duration(value), "intensity": lambda value, _: units.intensity(value),
             "clock": lambda value, _: units.clock(value), "power": lambda value, _: units.watts(value),
             "link_rate": lambda value, _: units.link_rate(value)}
    # Values of data are words in the file.
    expected = [one for one in expected if one[0] != "figure"]
    assert len(expected) >= 20 and {kind for kind, *_ in expected} == forms.keys()
    for kind, value, unit, text in expected:
        assert forms[kind](float(value), unit) == text
    for path in [*(ROOT / "scripts").rglob("*.py"), *(ROOT / "scripts").rglob("*.j2")]:
        assert "\N{MICRO SIGN}" not in path.read_text(encoding="utf-8"), path


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


def test_latency_is_drawn_over_the_range_with_its_levels():
    result = make_result.cpu()
    entries = [e for e in result["benchmarks"] if e["roofmark"]["family"] == "latency"]
    [(figure, caption)] = family_plots.of_family("latency", result, entries)
    points, *levels = figure["data"]
    assert points["x"] == [4096 * 2**i for i in range(16)] and "per access" in points["text"][0] and "5.0 cycles" in points["text"][0]
    assert [(line["x"], line["name"].partition(":")[0]) for line in levels] == [
        ([4096, 32768], "l1_access"), ([65536, 2**21], "l2_access"), ([2**22, 2**25], "l3_access"), ([2**26, 2**27], "dram_access")]
    table = tables.family_table("latency", entries[:1], {})
    cells = {column[0]: cell[0] for column, cell in zip(table["columns"], table["rows"][0])}
    assert cells["Cycles"] == "5.0" and cells["Per access"].endswith(" ns")
    knees = [shape["x0"] for shape in figure["layout"]["shapes"]]
    assert all(low < knee < 2 * low for low, knee in zip((32768, 2**21, 2**25), knees, strict=True)) and "levels" in caption
    # Some cases were taken out of the file: the family is drawn as any other.
    [(figure, caption)] = family_plots.of_family("latency", result, entries[1:])
    assert figure["data"][0]["type"] == "bar" and not caption


def test_transfers_are_drawn_with_their_lines_under_the_ceilings_of_their_links(h200):
    entries = [e for e in h200["benchmarks"] if e["roofmark"]["family"] == "transfer"]
    [(figure, caption)] = family_plots.of_family("transfer", h200, entries)
    [menu] = figure["layout"]["updatemenus"]
    assert [button["label"] for button in menu["buttons"]] == ["host to device", "device to host", "host to device + device to host"]
    shown = [[t["name"] for t, drawn in zip(figure["data"], button["args"][0]["visible"], strict=True) if drawn] for button in menu["buttons"]]
    assert shown[0][:2] == ["host to device: measured 55.0 GB/s", "host to device: theoretical 63.0 GB/s"] and len(shown[2]) == 4 + 2
    assert [t["visible"] for t in figure["data"]] == menu["buttons"][0]["args"][0]["visible"]
    points, line = figure["data"][2:4]
    assert points["name"] == "pinned, near, copy_engine, warm" and points["x"] == [64 * 4**i for i in range(14)]
    assert line["name"] == "pinned, near, copy_engine, warm: 2.10 us + bytes / 54.9 GB/s" and "latency + bytes / rate" in caption
    assert all(near == pytest.approx(of, rel=0.03) for near, of in zip((line["y"][0], line["y"][-1]), (points["y"][0], points["y"][-1])))
    found = transfers.table(h200)
    titles = [title for title, _, _ in found["columns"]]
    rows = [dict(zip(titles, (cell[0] for cell in row))) for row in found["rows"]]
    assert [row["Together / alone"] for row in rows] == ["", "", "0.930", "", ""] and rows[3]["How"] == "pageable, near, copy_engine, warm"
    assert rows[0]["Half at"] == "115 kB" and rows[0]["of theor."].startswith("87.") and rows[0]["Sizes"] == "14"
    assert 'id="transfers"' in report.page(h200, "0" * 64)


def test_one_gpu_that_sends_to_three_is_drawn_by_what_its_link_carries(h200):
    old = next(e for e in h200["benchmarks"] if e["name"] == h200["transfers"]["series"][0]["largest"]["case"])
    shape = {"bytes": "1048576", "from": "0", "access": "on", "impl": "sm_write", "cache": "warm"}
    name = "transfer/one_to_all/int8/" + "/".join(f"{key}:{value}" for key, value in shape.items())
    seconds = old["roofmark"]["measurement"]["median"]
    work = {"phases": [[{"resource": "peer_out", "unit": "B", "amount": 3.0 * MIB}, {"resource": "peer_in", "unit": "B", "amount": 1.0 * MIB}]]}
    entry = old | {"name": name, "roofmark": old["roofmark"] | {"operation": "one_to_all", "shape": shape, "work": work}}
    series = {"series": name.replace("/bytes:1048576", ""), "links": ["peer_in", "peer_out"], "how": ["one to all others"], "flows": 3, "largest": {
        "case": name, "bytes": 3 * MIB, "bytes_per_second": 3 * MIB / seconds, "sum_bytes_per_second": 3 * MIB / seconds}}
    figure = transfers.plot(h200 | {"transfers": {"series": [series], "contention": []}}, [entry])
    [points] = [trace for trace in figure["data"] if trace.get("meta") == "records"]
    assert points["x"] == [3 * MIB] and points["y"] == [pytest.approx(series["largest"]["bytes_per_second"])]


def test_cold_and_warm_transfers_are_two_series(h200):
    entries = [e for e in h200["benchmarks"] if e["name"].startswith("transfer/host_to_device/") and "/memory:pinned/" in e["name"]]
    [(figure, _)] = family_plots.of_family("transfer", h200, entries)
    points = {trace["name"]: trace for trace in figure["data"] if trace.get("meta") == "records"}
    warm, cold = points["pinned, near, copy_engine, warm"], points["pinned, near, copy_engine, cold"]
    assert cold["x"] == [1 << 16, 1 << 20, 1 << 24, 1 << 26] and set(cold["x"]) < set(warm["x"])
    assert all("cache:cold" in text for text in cold["text"]) and all("cache:warm" in text for text in warm["text"])
    assert cold["marker"]["color"] != warm["marker"]["color"]
    rows = [row for row in transfers.table(h200)["rows"] if row[1][0].startswith("pinned, near, copy_engine, ") and row[0][0] == "host to device"]
    assert [row[1][0].rpartition(" ")[2] for row in rows] == ["warm", "cold"]


def test_a_copy_within_the_caches_is_no_point_of_its_series(h200):
    entries = [e for e in h200["benchmarks"] if re.match("transfer/host_to_device/.*/memory:pinned/.*warm$", e["name"])]
    cached = entries[0] | {"roofmark": entries[0]["roofmark"] | {"work": {"phases": [[{"resource": "l1", "unit": "B", "amount": 64.0}]]}}}
    [(figure, _)] = family_plots.of_family("transfer", h200, [cached, *entries[1:]])
    [points] = [trace for trace in figure["data"] if trace.get("meta") == "records"]
    assert len(points["x"]) == len(entries) - 1 and points["x"][0] == 256


def test_pairs_of_gpus_are_a_heat_map_with_their_paths(h200):
    [figure] = transfers.matrices(h200)
    [trace] = figure["data"]
    assert [len(row) for row in trace["z"]] == [4] * 4 and [trace["z"][i][i] for i in range(4)] == [None] * 4
    assert trace["text"][0] == ["", "391", "391", "202"] and trace["customdata"][0][3] == "gpu:0 to gpu:3: 202 GB/s<br>18 NVLinks"
    assert trace["reversescale"] and figure["layout"]["title"]["text"] == "one way, access on, copy_engine_read, warm, 268 MB: GB/s"
    assert figure["layout"]["xaxis"]["ticktext"] == [f"gpu:{i}" for i in range(4)]
    refused = {"kind": "system", "text": "PCIe across NUMA nodes", "refusal": "the driver refuses it"}
    assert transfers.path_words(refused) == "PCIe across NUMA nodes; no access to each other's memory: the driver refuses it"
    assert transfers.path_words(None) == "" and transfers.matrices(make_result.cpu()) == []


def test_latency_is_drawn_from_each_sm_and_beside_readers(h200):
    entries = [e for e in h200["benchmarks"] if e["roofmark"]["family"] == "latency"]
    (sms, of_sms), (load, of_load) = family_plots.of_family("latency", h200, entries)
    points, near, far = sms["data"]
    assert points["x"] == list(range(1, 17)) and points["y"] == sorted(points["y"]) and "/sm:0/" in points["text"][0] and "ns per access" in points["text"][0]
    assert near["x"] == [0.6, 8.4] and far["x"] == [8.6, 16.4] and near["name"].startswith("8 SMs: 133 ns, 26") and "each SM" in of_sms
    [curve] = load["data"]
    assert len(curve["x"]) == 5 and curve["x"][0] == 0 and curve["y"] == sorted(curve["y"]) and "other SMs read" in of_load
    assert "beside 4.21 TB/s of dram" in curve["text"][-1] and load["layout"]["xaxis"]["title"]["text"] == "DRAM: other SMs read, B/s"


def test_a_transfer_of_one_size_has_no_line(h200):
    one = h200["transfers"]["series"][0]
    kept = {key: value for key, value in one.items() if key not in ("latency_seconds", "half_size_bytes", "r2", "points")}
    result = h200 | {"transfers": {"series": [kept], "contention": []}}
    entries = [e for e in h200["benchmarks"] if e["name"] == one["largest"]["case"]]
    [(figure, _)] = family_plots.of_family("transfer", result, entries)
    assert [trace.get("meta") for trace in figure["data"]] == [None, None, "records"] and "updatemenus" not in figure["layout"]
    assert transfers.table(result)["rows"] and transfers.table(h200 | {"transfers": {"series": [], "contention": []}}) is None


@pytest.mark.usefixtures("no_plotly")
def test_the_verdict_says_which_roofmark_judged(h200):
    for dirty, changes in ((False, ""), (True, " with local changes")):
        h200["build"] |= {"commit": "0123456789abcdef0123", "dirty": dirty}
        page = report.page(h200, "0" * 64)
        verdict = page[page.index('id="verdict"'):page.index("</section>")]
        assert f"Judged by roofmark 0.1.0, commit 0123456789ab{changes}, when the result file was written." in verdict
        assert f"<dd>0.1.0, commit 0123456789abcdef0123{changes}</dd>" in page
    del h200["finished_utc"]
    assert "Measured by roofmark 0.1.0, commit 0123456789ab with local changes, judged when the file was recovered." in report.page(h200, "0" * 64)


def test_a_page_replaces_what_the_terminal_replaces_but_for_line_breaks():
    text = (ROOT / "harness" / "model" / "printable.cpp").read_text(encoding="utf-8")
    ranges = re.findall(r"{(0x[0-9a-f]+), (0x[0-9a-f]+)}", text[text.index("kUnprintable"):].partition(";")[0])
    there = {code for first, last in ranges for code in range(int(first, 16), int(last, 16) + 1)}
    here = {code for code in range(0x110000) if program.visible(chr(code)) != chr(code)}
    assert len(ranges) == 9 and here == there - {ord("\n"), ord("\t")} and program.visible("a\u202eb") == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize("form", ["packed", "plain"])
@pytest.mark.usefixtures("no_plotly")
def test_a_lone_surrogate_is_no_traceback(h200, monkeypatch, form):
    monkeypatch.setattr("roofmark_report.library._part", lambda: "")
    h200["benchmarks"][0]["name"] = h200["host"]["name"] = "a\ud800"
    assert "on a\N{REPLACEMENT CHARACTER}," in report.page(h200, "0" * 64, form)


@pytest.mark.usefixtures("no_plotly")
def test_fused_operations_stand_beside_separate_ones(h200):
    cpu = make_result.cpu()
    figure = family_plots.fused_pairs(h200)
    assert [name.split("/")[1] for name in figure["data"][0]["y"]] == ["bias_gelu_residual", "adamw"]
    assert all(ratio > 2 for ratio in figure["data"][0]["x"])
    assert "Speed-up by fusion" in report.page(h200, "0" * 64)
    assert family_plots.fused_pairs(cpu) is None and "Speed-up by fusion" not in report.page(cpu, "0" * 64)


def test_a_killed_writer_does_not_stop_the_next_one_that_has_its_pid(tmp_path):
    """In a container the PIDs are the same each time."""
    (tmp_path / f"report.html.{os.getpid()}.tmp").write_text("half of another page")
    program.write(tmp_path / "report.html", ["a ", "page"])
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("report.html", "a page")]
