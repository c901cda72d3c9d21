# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/acceptance: what the document shows, what it refuses, and that it judges nothing itself."""

import copy
import hashlib
import json
import math
import os
import re
import subprocess
import sys

import browser
import make_delivery
import pytest
from conftest import ROOT, need

need("jsonschema", "jinja2", "orjson", "plotly", "tree_sitter_javascript")
import jsonschema  # noqa: E402
from acceptance_pages import BASE, PRODUCT, check, judged, team_labels, text_of  # noqa: E402
from make_verdict import folded, written  # noqa: E402
from roofmark_report import acceptance, check_rows, delivery, evidence, program, report, telemetry, units  # noqa: E402
from roofmark_report import result as reader  # noqa: E402
from roofmark_report import verdict as verdicts  # noqa: E402

COMMAND = [sys.executable, str(ROOT / "scripts" / "acceptance")]
ROOFMARK = os.environ.get("ROOFMARK")
judged_by_roofmark = pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")
REASON = f"What was ordered, {'long ' * 60}and to its end."


@pytest.mark.parametrize("preset", ["release", "cpu-only"])
def test_the_program_is_found_where_baseline_builds_it(tmp_path, monkeypatch, preset):
    built = tmp_path / "build" / preset / "roofmark"
    built.parent.mkdir(parents=True)
    built.touch(0o755)
    monkeypatch.delenv("ROOFMARK", raising=False)
    monkeypatch.setattr("roofmark_report.program.ROOT", tmp_path)
    assert str(program.roofmark_program()) == str(built)


@pytest.fixture(autouse=True)
def no_plotly(monkeypatch, request):
    """Leaves plotly.js, most of the page, out; not in a browser."""
    if "shown" not in request.fixturenames:
        monkeypatch.setattr("roofmark_report.library._part", lambda: "")


def run(*arguments, **options):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False, **options)


@pytest.fixture
def delivered(tmp_path):
    """Two nodes of two GPUs: the folder, the files and the labels of the GPUs."""
    paths = make_delivery.write(tmp_path / "delivery", BASE, 2, 2)
    return tmp_path / "delivery", paths, [device["name"] for device in judged(paths, [])["devices"]]


def page_of(delivered, checks, **options):
    folder, paths, _ = delivered
    return acceptance.page(judged(paths, checks), "f" * 64, "acceptance.json", acceptance.find_results([folder]), **options)


@judged_by_roofmark
def test_roofmark_judges_and_the_document_presents(delivered, own_profile):
    folder, paths, labels = delivered
    done = run(folder, "--profile", own_profile(0.5, reason=REASON), "--expect-gpus", 4, "--max-age", "36500d")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == f"ACCEPTED: {folder}/acceptance.html\n"
    page = text_of((folder / "acceptance.html").read_text(encoding="utf-8"))
    verdict = verdicts.parse((folder / "acceptance.json").read_bytes())
    assert [device["name"] for device in verdict["devices"]] == sorted(labels)  # the labels that these tools make are roofmark's
    assert "4 × NVIDIA H200 on 2 nodes (node1, node2)" in page and "Order 4711" in page and "share of the theoretical roof at the highest clock" in page
    for path in [*paths, folder / "acceptance.json"]:
        assert hashlib.sha256(path.read_bytes()).hexdigest() in page
    assert "and to its end." in page  # the reason, unshortened
    for expected in ("1654230000003", "GPU-00000004-0000-0000-0000-000000000000", "96.00.89.00.01", "580.00", "Synthetic CPU", "GNU 12.2.0"):
        assert expected in page
    before = {path: path.read_bytes() for path in paths}
    done = run(folder, "--profile", own_profile(0.999, reason=REASON), "--out", folder / "second.html")
    assert done.returncode == 1 and done.stdout.startswith("NOT ACCEPTED: ")
    assert {path: path.read_bytes() for path in paths} == before and (folder / "second.json").exists()
    # The same verdict once more, from its file.
    done = run(folder, "--verdict", folder / "second.json", "--out", folder / "third.html")
    assert done.returncode == 1 and (folder / "third.html").read_bytes() == (folder / "second.html").read_bytes()


def test_the_worst_rule_comes_first_and_every_check_that_does_not_pass_is_shown(delivered):
    labels = delivered[2]
    checks = [check("good", "PASS", labels[0], margin=0.1 + i / 100, of=f"stream/case:{i}") for i in range(40)]
    checks += [check("optional", "FAIL", labels[0], mandatory=False), check("absent", "NOT MEASURED", labels[1], explanation="no result matches"),
               check("near", "INSIDE THE INTERVAL", labels[2], measured=0.8, interval_low=0.796, interval_high=0.808, margin=0.0)]
    checks += [check("slow", "FAIL", labels[3], margin=-0.1 * i, of=f"gemm/{'long' * 30}/case:{i}", found=f"{i}.5 %") for i in range(30)]
    made = check_rows.rules(checks, 4, False)
    assert [rule["id"] for rule in made] == ["slow", "absent", "near", "optional", "good"]
    assert len(made[0]["rows"]) == 30 and made[0]["rows"][0]["of"].endswith("case:29")
    assert made[-1]["rest"] == 34 and made[-1]["rest_margins"] == "+16.0\N{NO-BREAK SPACE}% to +49.0\N{NO-BREAK SPACE}%"
    assert made[2]["rows"][0]["interval"] == "-0.50 to +1.00\N{NO-BREAK SPACE}%"
    assert len(check_rows.rules(checks, 4, True)[-1]["rows"]) == 40
    page = text_of(page_of(delivered, checks))
    assert "NOT ACCEPTED" in page and "because: no result matches" in page and "long" * 30 in page
    assert all(f"gemm/{'long' * 30}/case:{i}" in page for i in range(30))


def test_checks_that_say_the_same_share_a_row_and_the_bad_are_all_named(delivered):
    labels = delivered[2]
    [rule] = check_rows.rules([check("same", "FAIL", label) for label in labels[:3]], 4, False)
    [row] = rule["rows"]
    assert row["whom"] == "3 devices" and row["notes"] == (", ".join(evidence.short(label) for label in labels[:3]),)
    [rule] = check_rows.rules([check("same", "PASS", label) for label in labels], 4, False)
    assert rule["rows"][0]["whom"] == "all 4 devices" and not rule["rows"][0]["notes"]


def test_nodes_stand_in_the_order_of_their_numbers():
    names = ["GPU-1 (cuda:10 of node2)", "GPU-2 (cuda:9 of node2)", "GPU-3 (cuda:0 of node10)", "cpu of node1"]
    assert sorted(({"name": name} for name in names), key=check_rows.natural) == [{"name": names[i]} for i in (3, 1, 0, 2)]


def test_what_was_not_measured_is_said(delivered):
    folder, paths, _ = delivered
    page = text_of(page_of(delivered, []))
    for entry in BASE["unmeasured"]:
        if entry["roofmark"]["status"] == "unsupported":
            assert entry["name"] in page and entry["roofmark"]["reason"] in page
    assert "no result of several nodes together" in page and "no result has a sustained case" not in page
    bare = make_delivery.write(folder / "bare", BASE, 1, 1, observed=False)
    verdict = judged(bare, [])
    page = text_of(acceptance.page(verdict, "f" * 64, "v.json", acceptance.find_results([folder / "bare"])))
    for said in ("no result has a sustained case", "no result has telemetry", "no result has counters"):
        assert said in page
    assert "Sustained load\n" not in page and "Error counters\n" not in page
    # A result beside the judged ones that was not judged is named.
    page = text_of(acceptance.page(verdict, "f" * 64, "v.json", acceptance.find_results([folder])))
    assert "Not judged, although in the same folder" in page and str(paths[0]) in page


def test_telemetry_sustained_load_and_counters(delivered):
    page = text_of(page_of(delivered, [check("product", "PASS", delivered[2][0], of=PRODUCT, interval_low=1.0)]))
    for said in ("Shaded: clock lowered by power cap for 3 min 29 s", "1980 → 1800 MHz", "4000 (25.0 %)", "91.0 %", "100.1 %", "Launches compared", "ecc corrected", "node2 cuda:1 (GPU-00000004): 1",
                 "40.0 %, power cap", "640 W"):
        assert said in page, said


def test_both_passes_of_a_ceiling_are_one_case():
    result = make_delivery.gpu(BASE, 0, 0, 1)
    ceiling, impossible = (copy.deepcopy(next(entry for entry in result[part] if of(entry))) for part, of in (
        ("benchmarks", lambda entry: entry["name"].startswith("ceilings/")), ("unmeasured", lambda entry: entry["roofmark"]["status"] == "unsupported")))
    for part, again in (("benchmarks", ceiling), ("unmeasured", impossible)):
        again["roofmark"]["pass"] = 2
        result[part].append(again)
    made = delivery.summary(result, "0")
    assert made["ok"] == len(result["benchmarks"]) - 1
    assert [(count, cases) for status, _, count, cases, _ in delivery.unmeasured([made]) if status == "unsupported"] == [(1, [impossible["name"]])]
    assert [group["cases"] for group in report.unmeasured_groups(result) if group["status"] == "unsupported"] == [[impossible["name"]]]


def test_the_rates_and_times_of_a_sustained_load_are_those_of_the_terminal():
    result = make_delivery.gpu(BASE, 0, 0, 1)
    triad, product = (next(entry["roofmark"] for entry in result["benchmarks"] if entry["name"].startswith(name)) for name in ("stream/triad", "gemm/bf16"))
    triad["sustained"] = product.pop("sustained") | {"burst_rate": 30.0, "settled_rate": 29.0, "settled_after_seconds": 75.03}
    triad["work"] = {"phases": [[{"resource": "dram", "unit": "B", "amount": 1e11}, {"resource": "fp64_fma", "unit": "FLOP", "amount": 1e10}]]}
    [row] = telemetry.sustained_table([delivery.summary(result, "0")])["rows"]
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text, _, _ in row[2:7]] == [
        "3.00 TB/s", "2.90 TB/s", "91.0 %", "1 min 16 s", "3 (14 s, to 31.0 %)"]


def test_a_plot_of_telemetry_loses_no_dip():
    result = make_delivery.gpu(BASE, 0, 0, 1)
    rows = result["telemetry"]["rows"]
    rows[3000][1] = 3e8
    rows[10][3] = None
    clock = telemetry.plot(result)["data"][0]
    assert len(clock["x"]) <= telemetry.POINTS and 300 in [round(value) for value in clock["y"]] and clock["x"] == sorted(clock["x"])
    spans = [(shape["x0"], shape["x1"]) for shape in telemetry.plot(result)["layout"]["shapes"]]
    assert spans == [(42.0, 131.5), (180.0, rows[-1][0])]
    del result["telemetry"]
    assert telemetry.plot(result) is None and telemetry.reasons(result) == []


@pytest.mark.parametrize("nodes, gpus, kinds, drawn", [(1, 8, 1, 8), (3, 3, 1, 1), (3, 3, 2, 2)])
def test_a_roofline_for_each_of_few_devices_else_of_the_worst_of_each_kind(tmp_path, nodes, gpus, kinds, drawn):
    paths = make_delivery.write(tmp_path, BASE | {"benchmarks": BASE["benchmarks"][:2]}, nodes, gpus, observed=False)
    if kinds == 2:
        other = json.loads(paths[4].read_text())
        other["device"]["name"] = "NVIDIA other"
        paths[4].write_text(json.dumps(other))
    labels = [device["name"] for device in judged(paths, [])["devices"]]
    checks = [check("r", "PASS", label, file=str(path), margin=0.01 if i == 5 else 0.2) for i, (label, path) in enumerate(zip(labels, paths))]
    files = [evidence.read(path.read_bytes(), lambda result: delivery.summary(result, "")) for path in paths]
    chosen = acceptance.drawn_files(judged(paths, checks), paths, files)
    assert len(chosen) == drawn and paths[5] in [path for _, path in chosen]


def test_of_a_device_with_several_runs_each_drawing_names_its_suite(tmp_path):
    paths = make_delivery.write(tmp_path, BASE | {"benchmarks": BASE["benchmarks"][:2]}, 1, 3, observed=False)
    made = [evidence.read(path.read_bytes(), lambda result: delivery.summary(result, "")) for path in paths]
    made[1] |= {"where": made[0]["where"], "suite": "sustained"}
    captions = [caption for caption, _ in acceptance.drawn_files(judged(paths, []), paths, made)]
    assert captions == [f"{made[0]['where']}, suite {made[0]['suite']}", f"{made[0]['where']}, suite sustained", made[2]["where"]]


def test_a_team_has_a_device_per_rank(cluster):
    made = delivery.summary(cluster, "0")
    assert len(made["devices"]) == 16 and made["nodes"] == ["node1", "node2"] and made["where"] == "16 devices of 2 nodes"
    assert "mlx5_0:1 (InfiniBand, 400 Gb/s)" in made["hosts"]["node2"]["ports"]
    assert ("NCCL of the ranks", "2.28.9") in made["software"]


def test_each_device_of_a_team_has_its_own_telemetry_and_decay(cluster):
    cluster["rank_telemetry"] = [make_delivery.rank_telemetry(slow=rank == 6) for rank in range(15)] + [None]
    record = next(entry["roofmark"] for entry in cluster["benchmarks"] if entry["name"].startswith("stream/"))
    rates = make_delivery.gpu(BASE, 0, 0, 1)["benchmarks"]
    rates = next(entry["roofmark"]["sustained"] for entry in rates if "sustained" in entry["roofmark"])
    record["sustained"] = rates
    for rank, times in enumerate(record["measurement"]["ranks"]):
        if rank != 15:
            times["sustained"] = rates | {"clock": "memory", "burst_memory_clock_hz": 3.2e9, "settled_memory_clock_hz": 2.4e9} | ({"settled_of_burst": 0.7} if rank == 6 else {})
    validator = jsonschema.Draft202012Validator(reader.SCHEMA)
    assert not list(validator.iter_errors(cluster))
    files = [delivery.summary(cluster, "0")]
    def texts(table):
        return [[text.replace("\N{NO-BREAK SPACE}", " ") for text, _, _ in row] for row in table["rows"]]

    rows = texts(telemetry.ranks_table(files))
    assert len(rows) == 15
    assert rows[6][0].startswith("node1 cuda:6")
    assert rows[6][1:] == ["1400 MHz", "600 W", "85 °C", "50.0 % thermal"]
    worst, *others = texts(telemetry.sustained_table(files))
    assert worst[1] == rows[6][0] and worst[4] == "70.0 %" and len({row[1] for row in others}) == 14
    assert "3200 → 2400 MHz" in worst
    drawn = telemetry.plot(cluster, delivery.places(cluster))
    clocks = {trace["name"]: trace["y"] for trace in drawn["data"] if trace["yaxis"] == "y"}
    assert len(clocks) == 15 and len(drawn["data"]) == 45 and sum(trace["showlegend"] for trace in drawn["data"]) == 15
    assert clocks[rows[6][0]] == [1400] * 3 and not drawn["layout"]["shapes"] and telemetry.reasons(cluster) == []
    # A file that has no more than one rank's.
    for times in record["measurement"]["ranks"]:
        times.pop("sustained", None)
    [row] = telemetry.sustained_table([delivery.summary(cluster, "0")])["rows"]
    assert row[1][0] == "16 devices of 2 nodes"


def test_of_many_devices_the_slowest_and_the_hottest_are_drawn():
    ranks = [make_delivery.rank_telemetry(clock_hz=1e9 + rank, celsius=40 + rank) for rank in range(40)]
    drawn = telemetry.plot({"rank_telemetry": ranks}, [f"node1 cuda:{rank}" for rank in range(40)])
    assert {trace["name"] for trace in drawn["data"]} == {f"cuda:{rank}" for rank in (*range(8), *range(32, 40))}
    assert telemetry.plot({"rank_telemetry": [None, None]}) is None


def test_each_device_of_a_team_has_its_serial_firmware_limit_and_driver(cluster):
    for rank, member in enumerate(cluster["team"]):
        member |= {"serial": f"16542300{rank:05d}", "ecc": rank != 9, "power_limit_watts": 700.0 - rank}
        member["versions"] |= {"driver": f"570.{rank // 8}", "vbios": f"96.00.{rank:02d}"}
    assert not list(jsonschema.Draft202012Validator(reader.SCHEMA).iter_errors(cluster))
    made = delivery.summary(cluster, "0")
    found = delivery.devices_table([made], dict.fromkeys(team_labels(cluster), "PASS"))
    rows = [dict(zip((title for title, _, _ in found["columns"]), (cell[0] for cell in row))) for row in found["rows"]]
    assert [(row["Serial number"], row["VBIOS"], row["PCI bus"], row["ECC"]) for row in rows[8:10]] == [
        ("1654230000008", "96.00.08", "0000:10:00.0", "on"), ("1654230000009", "96.00.09", "0000:20:00.0", "off")]
    assert rows[15]["Power limit"] == units.watts(685) and len({row["Serial number"] for row in rows}) == 16
    assert made["hosts"]["node2"]["driver"] == "570.1"


def test_versions_that_differ_are_counted(delivered):
    files = [evidence.read(path.read_bytes(), lambda result: delivery.summary(result, "")) for path in delivered[1]]
    files[1]["software"] = [(name, "570.00" if name == "driver" else value) for name, value in files[1]["software"]]
    assert dict(delivery.software(files))["driver"] == "580.00 (in 3 of 4 results); 570.00 (in 1 of 4 results)"


def test_hostile_texts_stay_texts(delivered):
    hostile = '"; } </style><script>window.fell=1</script>\u202e\\'
    page = page_of(delivered, [check(hostile, "FAIL", delivered[2][0], reason=hostile, of=hostile)], title=hostile)
    assert "<script>window" not in page and page.count("</style>") == 1 and "\u202e" not in page
    assert re.fullmatch(r'"([A-Za-z0-9 ]|\\[0-9a-f]+ )*"', acceptance.css_string(hostile))


def with_first_check(verdict, change):
    """A verdict's file with its first entry changed."""
    first, *others = verdict["rules"]
    return verdict | {"rules": [first | {"checks": [change(first["checks"][0]), *first["checks"][1:]]}, *others]}


@pytest.mark.parametrize("edit", [
    lambda v: v | {"accepted": False},
    lambda v: v | {"delivery": v["delivery"] | {"verdict": "NOT MEASURED"}},
    lambda v: v | {"nodes": [v["nodes"][0] | {"bad": 1}, *v["nodes"][1:]]},
    lambda v: v | {"devices": [v["devices"][0] | {"checks": 9}, *v["devices"][1:]]},
    lambda v: with_first_check(v, lambda check: check | {"measured": 0.7}),
    lambda v: with_first_check(v, lambda check: {key: value for key, value in check.items() if key != "measured"}),
    lambda v: with_first_check(v, lambda check: check | {"verdict": "FAIL"}),
    lambda v: with_first_check(v, lambda check: check | {"of": [0, 0]})])
def test_an_edited_verdict_is_refused(delivered, tmp_path, edit):
    folder, paths, labels = delivered
    verdict = judged(paths, [check("dram", "PASS", labels[0], of=PRODUCT, limit=0.8, measured=0.9)])
    assert verdict["accepted"] and verdicts.parse(written(verdict).encode()) == verdict | {"verdict_version": verdicts.VERSION}
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(edit(folded(verdict))))
    done = run(folder, "--verdict", path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and "the verdict was edited: " in done.stderr, done.stderr


def test_an_entry_of_several_cases_is_a_check_of_each(delivered):
    _, paths, labels = delivered
    one = check("thermal", "PASS", labels[0], limit=0.01, measured=0.0, expected="<= 1 %", found="0 %")
    checks = [one | {"of": name} for name in ("a", "b", "a")]
    file = folded(judged(paths, checks))
    for cases in [0.0, 1.0, 0.0], [0, 1, 0]:  # the same numbers in JSON
        file["rules"][0]["checks"] = [file["rules"][0]["checks"][0] | {"of": cases}]
        assert verdicts.parse(json.dumps(file).encode())["checks"] == checks
    file["names"].pop()
    with pytest.raises(ValueError, match="not a verdict of roofmark accept: a check of thermal is of name 1 of 1"):
        verdicts.parse(json.dumps(file).encode())


@pytest.mark.parametrize("change", [
    lambda rule, entry: rule.update(limit="x"), lambda rule, entry: rule.update(of={}), lambda rule, entry: entry.update(rule=7),
    lambda rule, entry: entry.update(found="\ud800"), lambda rule, entry: entry.update(measured=math.nan), lambda rule, entry: entry.update(margin=math.inf),
    lambda rule, entry: entry.update(limit=10**400, measured=0.5), lambda rule, entry: entry.update(of=[0.5])])
def test_what_roofmark_does_not_write_is_no_verdict(delivered, change):
    _, paths, labels = delivered
    file = folded(judged(paths, [check("dram", "PASS", labels[0], of=PRODUCT, limit=0.8, measured=0.9)]))
    [rule] = file["rules"]
    change(rule, rule["checks"][0])
    with pytest.raises(ValueError, match="not a verdict of roofmark accept|not JSON"):
        verdicts.parse(json.dumps(file).encode())


def test_any_limit_of_a_profile_is_read(delivered):
    _, paths, labels = delivered
    verdict = judged(paths, [check("dram", "PASS", labels[0], limit=1e300, measured=0.0, margin=1.0, expected="<= 1e300")])
    assert verdicts.parse(written(verdict).encode())["checks"] == verdict["checks"]


def test_a_verdict_nested_without_end_is_refused():
    with pytest.raises(ValueError, match="not JSON"):
        verdicts.parse(b'{"judged_utc": ' + b"[" * 100000)


def test_bad_input_is_one_line(delivered, tmp_path):
    folder, paths, _ = delivered
    good = tmp_path / "verdict.json"
    good.write_text(written(judged(paths, [])))
    empty = tmp_path / "empty"
    empty.mkdir()
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(folded(judged(paths, [])) | {"rules": [{"rule": "r"}]}))
    old = tmp_path / "old.json"
    old.write_text(json.dumps(judged(paths, [])))
    for arguments, said in [((folder,), "either --profile or --verdict"), ((folder, "--profile", "cpu", "--verdict", good), "give only one"),
                            ((folder, "--verdict", tmp_path / "none.json"), "cannot read"), ((folder, "--verdict", paths[0]), "not a verdict of roofmark accept"),
                            ((empty, "--verdict", good), "no result file here has its SHA-256"), ((folder, "--verdict", changed), "not a verdict of roofmark accept"),
                            ((folder, "--verdict", old), "a verdict of version 1, and these scripts read version 2: have roofmark accept judge again"),
                            ((folder, "--verdict", good, "--max-age", "7d"), "have no effect on an existing --verdict"), ((tmp_path / "none", "--profile", "cpu"), "cannot read"),
                            ((folder, "--verdict", good, "--out", folder / "document.pdf"), "the document is HTML"),
                            ((paths[0], "--verdict", good, "--out", paths[0].with_suffix(".html")), "would replace"), ((), "required")]:
        done = run(*arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and said in done.stderr, (arguments, done)
    paths[0].write_text(paths[0].read_text().replace("NVIDIA H200", "NVIDIA  H200", 1))
    done = run(folder, "--verdict", good)
    assert done.returncode == 2 and f"{paths[0]} was judged, and no result file here has its SHA-256" in done.stderr
    assert not (folder / "acceptance.html").exists()


@judged_by_roofmark
def test_what_roofmark_refuses_is_its_own_line(delivered):
    done = run(delivered[0], "--profile", "h9000")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "roofmark accept: no profile 'h9000'" in done.stderr
    done = run(delivered[0], "--profile", "cpu", env=os.environ | {"ROOFMARK": "/nonexistent", "PATH": "/nonexistent"})
    assert done.returncode == 3 or any((ROOT / "build" / preset / "roofmark").exists() for preset in ("release", "cpu-only"))


def test_the_document_in_a_browser_and_on_paper(delivered, tmp_path, shown):
    folder, paths, labels = delivered
    page = tmp_path / "acceptance.html"
    page.write_text(page_of(delivered, [check("slow", "FAIL", label, of=PRODUCT) for label in labels]), encoding="utf-8")
    shown.open(page)
    assert shown.evaluate("[...document.querySelectorAll('.plot')].map(p => p.querySelectorAll('.trace').length > 0)") == [True] * 8
    assert shown.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    pdf = shown.pdf()
    # A4 upright: 595 x 842 points.
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert len(boxes) > 4 and {(round(float(width)), round(float(height))) for width, height in boxes} <= {(595, 842), (596, 842), (595, 841), (596, 843)}
    # On paper nothing is wider than the page, and a figure fits on one.
    shown.call("Emulation.setEmulatedMedia", media="print")
    shown.call("Emulation.setDeviceMetricsOverride", width=688, height=979, deviceScaleFactor=1, mobile=False)
    wide = "[...document.querySelectorAll('main *')].filter(e => !e.closest('.plot') && e.getBoundingClientRect().right > 690).map(e => e.outerHTML.slice(0, 200))"
    assert shown.evaluate(wide) == []
    assert shown.evaluate("Math.max(...[...document.querySelectorAll('figure, .rule-head, #signatures')].map(e => e.getBoundingClientRect().height))") < 979
    assert shown.requests() == [page.as_uri()]
    assert shown.complaints() == []


def test_the_copied_base_is_left_alone():
    before = copy.deepcopy(BASE)
    make_delivery.gpu(BASE, 0, 0, 1)
    assert before == BASE
