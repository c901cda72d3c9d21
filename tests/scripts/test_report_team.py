# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The report of a team of ranks."""

import json
from pathlib import Path

import pytest
from conftest import need

need("jsonschema", "jinja2", "orjson", "plotly", "tree_sitter_javascript")
import jsonschema  # noqa: E402
from report_pages import figures_of  # noqa: E402
from roofmark_report import communication, facts, plots, report, table  # noqa: E402


def without_breaks(page):
    return page.replace("<wbr>", "")


def test_a_team_has_a_section_with_every_record(cluster):
    page = without_breaks(report.page(cluster, "0" * 64))
    for entry in cluster["benchmarks"]:
        name = entry["name"] if communication.is_collective(entry) else entry["name"].partition("/")[2]
        assert name in page
    for entry in cluster["unmeasured"]:
        assert entry["name"] in page
    assert cluster["families"]["all_reduce"] in page
    for said in ("rank 11 (node2): its best pair between hosts takes 3.20 times", "GPU-0000000d-", "mlx5_4:1", "ping_pong: 45 cases"):
        assert said in page
    drawn = {line for figure in figures_of(page).values() for t in figure["data"] if t.get("meta") == "records" for line in t["text"]}
    for entry in cluster["benchmarks"]:
        if communication.is_collective(entry):
            assert plots.hover(entry) in drawn


def test_groups_of_ranks_are_shown_beside_stragglers(cluster):
    assert cluster["findings"] and "Pairs take longer with ranks of other groups" not in report.page(cluster, "0" * 64)
    group = {"of": "pairs between hosts", "who": "ranks 8-11 (node08 ... node11)", "ranks": [8, 9, 10, 11], "times_within": 3.314}
    grouped = {**cluster, "communication": {**cluster["communication"], "groups": [group]}}
    jsonschema.validate(grouped, json.loads((Path(__file__).parents[2] / "results/schema.json").read_text(encoding="utf-8")))
    page = without_breaks(report.page(grouped, "0" * 64))
    assert "Pairs take longer with ranks of other groups" in page and group["who"] in page and "3.31" in page


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


def test_collectives_that_last_are_told_apart(cluster):
    for entry in cluster["benchmarks"]:
        if communication.is_collective(entry):
            entry["roofmark"] |= {"family": "sustained", "operation": entry["roofmark"]["family"]}
    assert {t["name"] for t in communication.busbw(cluster)["data"]} >= {"sustained/all_reduce", "sustained/all_to_all"}
    assert {"sustained/all_reduce/bf16/impl:nccl", "sustained/all_to_all/fp32/impl:nccl"} <= {title for title, _, _ in communication.collectives(cluster)}


def test_collectives_have_the_words_of_nccl_tests(cluster):
    tables = {title: (columns, rows) for title, columns, rows in communication.collectives(cluster)}
    columns, rows = tables["all_reduce/bf16/impl:nccl"]
    names = [name for name, _, _ in columns]
    assert names[6:14] == ["time, us", "algbw, GB/s", "busbw, GB/s", "#wrong", "in place: time, us", "algbw, GB/s", "busbw, GB/s", "#wrong"]
    [wrong] = [row for row in rows if row[0][1] == 4 << 20]
    text = [cell[0] if isinstance(cell, tuple) else cell for cell in wrong]
    assert text[9] == "0" and text[10:14] == ["-", "-", "-", "12"]
    record = next(e["roofmark"] for e in cluster["benchmarks"] if e["name"] == "all_reduce/bf16/bytes:4194304/ranks:16/op:sum/place:out/impl:nccl")
    seconds = record["measurement"]["median"]
    assert text[6:9] == [f"{seconds * 1e6:.2f}", f"{(4 << 20) / seconds / 1e9:.2f}", f"{1.875 * (4 << 20) / seconds / 1e9:.2f}"]
    columns, rows = tables["all_reduce/fp32/impl:nccl"]
    switched = {row[5]: row[17][0] for row in rows if row[0][1] == 16 << 30 and row[4] == "8"}
    assert switched["group:node"] and rows[0][17][0] == ""


def test_a_call_in_place_alone_stands_under_in_place(cluster):
    # The largest size may have room for the call in place alone.
    series, largest = "all_reduce/fp32/bytes:{}/ranks:16/op:sum/place:{}/impl:nccl", 16 << 30
    out, in_place = (next(e for e in cluster["benchmarks"] if e["name"] == series.format(largest, place)) for place in ("out", "in"))
    out["roofmark"]["placement"]["of_empirical"], in_place["roofmark"]["placement"]["of_empirical"] = 0.75, 0.069

    def row_of_largest():
        [table] = [(columns, rows) for title, columns, rows in communication.collectives(cluster) if title == "all_reduce/fp32/impl:nccl"]
        [row] = [row for row in table[1] if row[0][1] == largest and row[4] == "16" and not row[5]]
        assert len(row) == len(table[0])
        return [name for name, _, _ in table[0]], [cell[0] if isinstance(cell, tuple) else cell for cell in row]

    names, row = row_of_largest()
    assert (row[names.index("of roof")], row[names.index("in place: of roof")]) == ("75.0 %", "6.9 %")
    cluster["benchmarks"].remove(out)
    names, row = row_of_largest()
    assert [row[names.index(name)] for name in ("of roof", "of theor.", "on the wire", "of ring", "p95, us", "p99, us")] == [""] * 6
    assert row[names.index("in place: of roof")] == "6.9 %"
    cluster["benchmarks"] = [e for e in cluster["benchmarks"] if e["roofmark"].get("message", {}).get("place") != "out"]
    names, row = row_of_largest()
    assert row[names.index("in place: of roof")] == "6.9 %" and "of roof" not in names and row[names.index("p95, us")]


def test_of_ring_stands_where_a_ring_takes_more_than_the_roof(cluster):
    shares = {}
    for _, columns, rows in communication.collectives(cluster):
        at = [name for name, _, _ in columns].index("of ring")
        for row in rows:
            shares.setdefault((row[4], bool(row[at][0])), row)
    assert {ranks for ranks, has in shares if has} == {"16"} and {"2", "4", "8"} <= {ranks for ranks, has in shares if not has}
    entry = next(e for e in cluster["benchmarks"] if e["name"] == "all_reduce/fp32/bytes:17179869184/ranks:16/op:sum/place:out/impl:nccl")
    message = entry["roofmark"]["message"]
    [ring] = [ring for ring in cluster["communication"]["rings"] if ring["case"] == entry["name"]]
    assert ring["seconds"] == pytest.approx(1.875 * message["bytes"] / 3.4e11)


def test_an_overlap_says_how_much_of_the_all_reduce_the_product_covers(cluster):
    cluster["communication"]["overlaps"][0] |= {"hidden": 0.98, "covered": 0.157}
    columns, [row] = communication.overlap_rows(cluster)
    texts = {name: cell[0] if isinstance(cell, tuple) else cell for (name, _, _), cell in zip(columns, row, strict=True)}
    assert (texts["Hidden"], texts["Product covers"]) == ("98.0 %", "15.7 %")


def test_the_operands_of_collectives_are_small_integers(cluster):
    assert any("message" not in entry["roofmark"] for entry in cluster["benchmarks"]), "the products"
    assert facts.operands(cluster) == "normally distributed, small integers in collectives, seed 1"
    cluster["benchmarks"] = [entry for entry in cluster["benchmarks"] if "message" in entry["roofmark"]]
    assert facts.operands(cluster) == "small integers, seed 1"
    cluster["benchmarks"] = []
    assert facts.operands(cluster) == "normally distributed, seed 1"


def test_one_rank_alone_has_no_bandwidth(cluster):
    entry = next(e for e in cluster["benchmarks"] if e["name"].startswith("all_reduce/"))
    assert "busbw" in plots.hover(entry) and communication.place_cells(entry)[1][0] and table.COLUMNS["busbw"].of(entry["roofmark"])
    entry["roofmark"]["message"] |= {"ranks": 1, "bus_factor": 0}
    assert "busbw" not in plots.hover(entry) and [cell[0] for cell in communication.place_cells(entry)[1:3]] == ["", ""]
    assert table.COLUMNS["busbw"].of(entry["roofmark"]) is table.COLUMNS["algbw"].of(entry["roofmark"]) is None
    for row in cluster["communication"]["scaling"]:
        row["ranks"] = 1
        for key in ("busbw", "strong_efficiency", "weak_efficiency"):
            row.pop(key, None)
    columns, rows = communication.scaling_rows(cluster)
    assert communication.scaling(cluster) is None and {row[[name for name, _, _ in columns].index("busbw")][0] for row in rows} == {""}


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


def test_the_stragglers_are_what_a_comparison_of_ranks_found(cluster):
    named = [finding["kind"] for finding in communication.stragglers(cluster)[0]]
    assert named == ["fingerprint", "slow_rank", "slow_rank", "slow_link"], "the worst first, then as on the terminal"
    cluster["findings"].append({"kind": "xid", "severity": "error", "doubt": "part", "found_by": ["counters"], "text": "t", "advice": "a", "ranks": [3]})
    assert [finding["kind"] for finding in communication.stragglers(cluster)[0]] == named


def test_that_nobody_is_slow_is_said_as_the_run_said_it(cluster):
    cluster["findings"] = []
    assert "straggler." not in report.page(cluster, "0" * 64), "an older file does not say whether any could be told"
    cluster["communication"]["slow"] = "whether a rank or pair is slow cannot be told: ranks share CPU cores"
    assert "<p>Whether a rank or pair is slow cannot be told: ranks share CPU cores.</p>" in report.page(cluster, "0" * 64)


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
