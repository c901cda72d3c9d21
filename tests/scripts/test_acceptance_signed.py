# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The page of the acceptance document that is signed: what it says, that it is one page of A4 for any delivery, and that the annexes have
what it leaves out."""

import copy
import json
import re

import make_delivery
import make_result
import pytest
from conftest import need

need("jsonschema", "jinja2", "orjson", "plotly", "tree_sitter_javascript")
from acceptance_pages import BASE, PRODUCT, check, judged, team_labels, text_of  # noqa: E402
from roofmark_report import acceptance, check_rows, delivery, evidence, key_figures, telemetry  # noqa: E402

LONG = "from beginning " + "to " * 150 + "end"
SMALL = BASE | {"benchmarks": BASE["benchmarks"][:2] + [entry for entry in BASE["benchmarks"] if entry["name"] == PRODUCT]}
STATES = ("state.pcie_width", "state.power_limit_of_default", "state.nvlink_links", "share_of_time.thermal", "version.driver", "gpus", "cv", "drift")
NOTHING = ("results.wrong", "finding.xid", "counter.ecc_uncorrected")


def rules_of(device, file, verdict, text=""):
    """A check of each kind of rule on a device: many rates, counts, states and conditions, more of each than a page has room for."""
    rates = [f"ceilings/{operation}/{kind}/m:{'9' * (len(text) and 40)}8192" for operation in ("gemm", "attention", "fma") for kind in ("bf16", "fp8", "fp32", "fp64")]
    made = [check(f"rate_{i}", verdict, device, of=case, file=file, margin=0.1) for i, case in enumerate([PRODUCT, "sustained/" + PRODUCT, *rates])]
    made += [check(f"state_{i}{text[:60].replace(' ', '_')}", verdict, device, quantity=quantity, expected=">= 16", found=f"16{text[:60]}") for i, quantity in enumerate(STATES)]
    made += [check(f"none_{i}", verdict, device, quantity=quantity, expected="<= 0", found="0") for i, quantity in enumerate(NOTHING)]
    return [*made, check("conditions", verdict, device, quantity="", expected="suite quick, normal data, all of it", found=f"suite smoke {text}")]


def numbers_of(checks):
    return {rule["id"]: i for i, rule in enumerate(check_rows.rules(checks, 1, False), 1)}


@pytest.fixture
def undrawn(monkeypatch):
    """Leaves the plots out, which are in the annexes."""
    monkeypatch.setattr("roofmark_report.library._part", lambda: "")
    monkeypatch.setattr("roofmark_report.acceptance.drawings", lambda chosen: ({}, [], []))


def delivered(folder, nodes, gpus):
    if gpus:
        return make_delivery.write(folder, SMALL, nodes, gpus)
    cpu = folder / "result.json"
    folder.mkdir()
    cpu.write_text(json.dumps(make_delivery.clean(make_result.cpu()) | {"device": make_result.cpu()["device"]}))
    return [cpu]


@pytest.mark.parametrize("nodes, gpus, verdict, text", [
    (1, 0, "PASS", ""), (1, 1, "PASS", ""), (1, 1, "FAIL", ""), (1, 1, "NOT MEASURED", ""), (1, 8, "PASS", ""), (1, 8, "INSIDE THE INTERVAL", LONG),
    (8, 8, "PASS", ""), (8, 8, "FAIL", LONG)])
def test_what_is_signed_is_on_page_one(tmp_path, shown, undrawn, nodes, gpus, verdict, text):
    paths = delivered(tmp_path / f"delivery{text[:90]}", nodes, gpus)
    devices = [device["name"] for device in judged(paths, [])["devices"]]
    more = {"explanation": text or "the device does not count it"} if verdict != "PASS" else {}
    checks = [one | more for device, path in zip(devices, paths) for one in rules_of(device, str(path), verdict, text)]
    checks += [check("optional", "NOT MEASURED", devices[0], mandatory=False)]
    found = acceptance.find_results(paths) | ({"0" * 64: tmp_path / text[:200]} if text else {})
    made = judged(paths, checks) | {"expected_gpus": max(1, nodes * gpus), "max_age_seconds": 86400.0} | ({"doubts": [f"doubtful: {text}"] * 3} if text else {})
    made["profile"]["title"] += text
    made["files"] = [file | {"not_held": ["no journal"] if text else []} for file in made["files"]]
    page = tmp_path / "acceptance.html"
    page.write_text(acceptance.page(made, "f" * 64, "acceptance.json", found, title=f"Order {text}" if text else None), encoding="utf-8")
    shown.open(page)
    shown.call("Emulation.setEmulatedMedia", media="print")
    shown.call("Emulation.setDeviceMetricsOverride", width=688, height=1016, deviceScaleFactor=1, mobile=False)
    wide = "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > 689).map(e => e.outerHTML.slice(0, 200))"
    assert shown.evaluate(wide) == []
    # No text of a cell reaches into the next one.
    clipped = "[...document.querySelectorAll('.key td, .facts dd')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
    assert shown.evaluate(clipped) == []
    sheets = len(re.findall(rb"/MediaBox", shown.pdf()))
    height = shown.evaluate("document.getElementById('signed').getBoundingClientRect().height")
    shown.evaluate("document.querySelectorAll('main > section:not(#signed)').forEach(e => e.remove())")
    alone = len(re.findall(rb"/MediaBox", shown.pdf()))
    assert alone == 1 < sheets, height
    words = shown.evaluate("document.getElementById('signed').innerText")
    outcome = "ACCEPTED" if verdict == "PASS" else "NOT ACCEPTED"
    for said in (outcome, "2026-02-01 10:00 UTC", "own: Order 4711", "Key figures", "f" * 64, "Signature", "C Rules and evidence", "For the customer"):
        assert said.lower() in words.lower(), said
    assert (f"Results without checksum or journal: {len(paths)} of {len(paths)}" in words) == bool(text)
    assert shown.evaluate("document.getElementById('signatures').getBoundingClientRect().bottom") <= 1016


def test_the_annexes_have_what_page_one_leaves_out(tmp_path, undrawn):
    paths = delivered(tmp_path / "delivery", 1, 8)
    devices = [device["name"] for device in judged(paths, [])["devices"]]
    checks = [one | {"explanation": LONG} for device, path in zip(devices, paths) for one in rules_of(device, str(path), "FAIL", LONG)]
    title, doubts = f"Order {LONG}", [f"doubtful: {LONG}", "another doubt"]
    page = acceptance.page(judged(paths, checks) | {"doubts": doubts}, "f" * 64, "acceptance.json", acceptance.find_results(paths), title=title)
    signed, annexes = text_of(page[page.index("<body"):]).split("Annex A", 1)
    assert LONG not in signed and "another doubt" not in signed
    for said in (title, *doubts, f"because: {LONG}", *(one["rule"] for one in checks), *(path.read_text() and str(path.parent.name) for path in paths)):
        assert said in annexes, said
    assert re.findall(r'<h2 class="annex" id="[a-z-]+"><span>Annex (.)</span>', page) == list("ABCDEFGH")
    # What page one refers to by number is there by this number.
    name, number = re.search(r"<b>(\w+)…?</b> \(C(\d+)\)", page).groups()
    assert re.search(rf'id="rule-{number}">\s*<tr class="head"><td>C{number}</td><td><b>{name}', page)


def test_the_heaviest_rules_make_the_key_figures():
    [device] = ["GPU-1 (cuda:0 of n)"]
    checks = rules_of(device, "f", "PASS")
    checks += [check("decay", "FAIL", device, quantity="settled_of_burst", of="sustained/odd/fp64/m:1", expected=">= 75.0 %", found="60.0 %"),
               check("wish", "NOT MEASURED", device, of="ceilings/wish/bf16/m:1", mandatory=False, found="-")]
    table = key_figures.figures(checks, {}, numbers_of(checks), 1)
    names = [row["name"] for row in table["rows"]]
    assert len(names) == key_figures.RATES + key_figures.OTHERS and names[:2] == ["Matrix product, bf16", "Matrix product, fp8"]
    failed = next(row for row in table["rows"] if row["verdict"] == "FAIL")
    assert (failed["name"], failed["share"], failed["limit"], failed["rule"]) == ("Odd, fp64, sustained", "60.0\N{NO-BREAK SPACE}%", "≥\N{NO-BREAK SPACE}75.0\N{NO-BREAK SPACE}% of the first second", "C1")
    assert "Wish, bf16" not in names and "wish" in table["rest"]
    # Rules that allow nothing share a row by their kind, and so do those without a quantity.
    assert {"Results wrong or missing", "Findings that may not occur", "Error counters", "Time with a lowered clock", "Model and conditions of runs", "PCIe width"} <= set(names)
    bad = [check(one["rule"], "FAIL", device, **{key: one[key] for key in ("quantity", "expected")}, found="3") if one["rule"] == "none_2" else one for one in checks]
    row = next(row for row in key_figures.figures(bad, {}, numbers_of(bad), 1)["rows"] if row["name"] == "Error counters")
    assert (row["verdict"], row["share"], row["passed"]) == ("FAIL", "3", "0/1")
    # A row's verdict is not that of an optional rule, so the row does not have its name either.
    optional = [*checks, check("foreign", "FAIL", device, quantity="finding.foreign_process", expected="<= 0", found="1", mandatory=False)]
    table = key_figures.figures(optional, {}, numbers_of(optional), 1)
    row = next(row for row in table["rows"] if row["name"] == "Findings that may not occur")
    assert row["verdict"] == "PASS" and "foreign" not in row["ids"] and "foreign" in table["rest"]


def test_too_many_rates_are_told_by_what_limits_them():
    device = "GPU-1 (cuda:0 of n)"
    cases = [f"ceilings/dram_{way}/fp32/bytes:1" for way in ("read", "write", "copy", "triad")] + [f"gemm/{kind}/m:1" for kind in ("bf16", "fp16", "fp8", "fp32", "fp64")]
    checks = [check(f"r{i}", "PASS", device, of=case, file="f", margin=0.3 - 0.01 * i) for i, case in enumerate(cases)]
    found = {"f": {case: [{"rate": 4e12, "unit": "B", "shares": {}, "resource": "dram" if "dram" in case else case, "faster": {}}] for case in cases}}
    rows = key_figures.figures(checks, found, numbers_of(checks), 1)["rows"]
    assert [row["name"] for row in rows[:2]] == ["DRAM triad", "Matrix product"] and rows[0]["passed"] == "4/4" and len(rows) == 6
    few = key_figures.figures(checks[:4], found, numbers_of(checks), 1)["rows"]
    assert [row["name"] for row in few] == ["DRAM read", "DRAM write", "DRAM copy", "DRAM triad"]


def test_a_figure_is_that_of_the_worst_device_of_a_team(cluster):
    entry = next(entry for entry in cluster["benchmarks"] if entry["roofmark"]["placement"].get("of_theoretical") and "message" not in entry["roofmark"])
    measured, share = entry["roofmark"]["measurement"], entry["roofmark"]["placement"]["of_theoretical"]
    labels = team_labels(cluster)
    measured["ranks"] = [{"median": measured["median"] * (2 if rank == 3 else 1)} for rank in range(16)]
    checks = [check("r", "FAIL" if rank == 3 else "PASS", label, of=entry["name"], file="f", measured=share / (2 if rank == 3 else 1), margin=-0.1 if rank == 3 else 0.1)
              for rank, label in enumerate(labels)] * 2  # both passes
    found = {"f": key_figures.records(cluster, key_figures.judged_cases(checks))}
    whole = found["f"][entry["name"]][0]["rate"]
    [row] = key_figures.figures(checks, found, {"r": 1}, 16)["rows"]
    assert row["rate"] == key_figures.units.rate(whole / 2, found["f"][entry["name"]][0]["unit"]) and row["passed"] == "15/16"


def test_the_figures_of_a_single_device():
    placed = next(entry for entry in BASE["benchmarks"] if entry["name"] == PRODUCT)["roofmark"]["placement"]
    checks = [check("product", "PASS", "GPU-1 (cuda:0 of n)", of=PRODUCT, file="f", measured=placed["of_theoretical"], found="73.4 %",
                    expected=">= 60.0 % of 848 TFLOP/s (bf16 tensor, at the observed clock)")]
    [row] = key_figures.figures(checks, {"f": key_figures.records(BASE, {PRODUCT})}, {"product": 7}, 1)["rows"]
    assert row["rate"] == key_figures.units.rate(placed["flops_per_second"], "FLOP") and row["datasheet"].endswith(" %") and row["rule"] == "C7"
    assert row["limit"].replace("\N{NO-BREAK SPACE}", " ") == "≥ 60.0 % of 848 TFLOP/s at observed clock"


def test_of_what_does_not_pass_the_first_are_named_and_the_rest_counted():
    device = "GPU-1 (cuda:0 of n)"
    checks = [check(f"bad_{i}", "FAIL", device) for i in range(7)] + [check("wish", "NOT MEASURED", device, mandatory=False, explanation="not there")]
    made = key_figures.problems(check_rows.rules(checks, 2, False), 2)
    assert [one["id"] for one in made["shown"]] == ["bad_0", "bad_1", "bad_2", "bad_3"] and made["more"] == 3 and made["optional"] == "wish (C8)"
    assert made["shown"][0]["where"] == "n cuda:0 (GPU-1)" and made["shown"][0]["why"].replace("\N{NO-BREAK SPACE}", " ") == "70.0 %, limit ≥ 80.0 % of 1.07 PFLOP/s"


@pytest.mark.parametrize("verdicts, said", [
    (["PASS"] * 3, "All 3 mandatory checks pass."), (["PASS", "FAIL", "NOT MEASURED"], "2 of 3 mandatory checks do not pass (1 fail, 1 not measured)."),
    (["PASS", "FAIL"], "1 of 2 mandatory checks does not pass (1 fail)."), ([], "No check was made that is mandatory.")])
def test_the_verdict_in_one_sentence(verdicts, said):
    checks = [check(f"r{i}", verdict, "GPU-1 (cuda:0 of n)") for i, verdict in enumerate(verdicts)]
    assert key_figures.sentence({"checks": checks}) == said
    with_aside = key_figures.sentence({"checks": [*checks, check("wish", "FAIL", "GPU-1 (cuda:0 of n)", mandatory=False)]})
    assert with_aside == said[:-1] + "; of the others, 1 does not."


def test_cases_of_which_the_same_is_said_share_a_row_unless_they_fail():
    def rows(verdict, every=False):
        [rule] = check_rows.rules([check("r", verdict, "GPU-1 (cuda:0 of n)", of=f"stream/case:{i}") for i in range(20)], 1, every)
        return [(row["of"], row["first"]) for row in rule["rows"]]

    assert rows("PASS") == [("20 cases", "stream/case:0")]
    assert rows("NOT MEASURED") == [("20 cases", ", ".join(f"stream/case:{i}" for i in range(8)))]
    assert len(rows("FAIL")) == 20 == len(rows("PASS", every=True))


def test_what_all_devices_have_in_common_is_said_once(tmp_path):
    paths = make_delivery.write(tmp_path, SMALL, 2, 2)
    files = [evidence.read(path.read_bytes(), lambda result: delivery.summary(result, "")) for path in paths]
    whole = delivery.devices_table(files, {device["name"]: "PASS" for device in judged(paths, [])["devices"]})
    split = acceptance.apart(whole)
    assert ("Model", "NVIDIA H200") in split["common"] and ("VBIOS", "96.00.89.00.01") in split["common"]
    titles = [title for title, _, _ in split["table"]["columns"]]
    assert titles == ["Node", "Device", "UUID", "Serial number", "PCI bus", "Verdict"] and all(len(row) == 6 for row in split["table"]["rows"])
    assert acceptance.apart(whole | {"rows": whole["rows"][:2]})["common"] == []
    of_one_node = acceptance.apart(whole | {"rows": [[("node1", "node1", ""), *row[1:]] for row in whole["rows"]]})
    assert [title for title, _, _ in of_one_node["table"]["columns"]] == titles  # each row says whose it is


def test_a_legend_is_drawn_once_where_it_is_the_same(tmp_path):
    paths = make_delivery.write(tmp_path, BASE, 1, 2)
    other = copy.deepcopy(json.loads(paths[1].read_text()))
    other["benchmarks"] = [entry for entry in other["benchmarks"] if entry["roofmark"]["family"] != "gemm"]
    third = tmp_path / "third.json"
    third.write_text(json.dumps(other))
    figures, rooflines, courses = acceptance.drawings([("one", paths[0]), ("two", paths[1]), ("three", third)])
    assert [figures[name]["layout"].get("showlegend", True) for name, _ in rooflines] == [True, False, True]
    assert [figures[name]["layout"]["showlegend"] for name, _, _ in courses] == [True, False, False]


def test_values_that_are_all_the_same_are_told_once(tmp_path):
    paths = make_delivery.write(tmp_path, BASE, 1, 3)
    files = [evidence.read(path.read_bytes(), lambda result: delivery.summary(result, "")) for path in paths]
    titles = [title for title, _, _ in telemetry.energy_table(files[:1], {PRODUCT})["columns"]]
    assert "SM clock" in titles and not {"Results", "lowest", "highest"} & set(titles)  # of one result, the median
    assert {"Results", "lowest", "highest"} <= {title for title, _, _ in telemetry.energy_table(files, {PRODUCT})["columns"]}
    for file in files:
        file["counters"] = [({"id": "pcie_width", "before": 16, "worse": 0}, file["where"])]
    assert [cell[0] for cell in telemetry.counters_table(files)["rows"][0]][-1] == "16 on all 3"
    files[1]["counters"][0][0]["before"] = 8
    assert telemetry.counters_table(files)["rows"][0][-1][0].count(": ") == 3
