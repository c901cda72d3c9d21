# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser."""

import subprocess
import time

import browser
import make_delivery
import make_result
import pytest
from conftest import need

need("jsonschema", "jinja2", "orjson", "plotly", "tree_sitter_javascript")
from roofmark_report import communication, report  # noqa: E402

PATH = browser.find()
pytestmark = pytest.mark.skipif(PATH is None, reason=f"no browser (looked for {', '.join(browser.NAMES)})")


@pytest.fixture
def observed():
    """With telemetry over time, a sustained case and counters."""
    return make_delivery.gpu(make_result.h200(), 0, 0, 1)


def make(result, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(report.page(result, "0" * 64), encoding="utf-8")
    return page


def wait_for(shown, expression):
    deadline = time.monotonic() + 120
    while not (value := shown.evaluate(expression)):
        assert time.monotonic() < deadline, f"never became true: {expression}"
        time.sleep(0.1)
    return value


def test_draws_every_record_and_asks_nobody(result, tmp_path, shown):
    page = make(result, tmp_path)
    shown.open(page)
    placed = [e for e in result["benchmarks"] if "intensity" in e["roofmark"]["placement"]]
    # What plotly.js drew, not what it was given.
    assert shown.evaluate("document.querySelectorAll('#roofline .scatterlayer .trace path.point').length") >= len(placed)
    assert shown.evaluate("+document.getElementById('roofline').dataset.points") == len(placed) > 0
    rows = shown.evaluate("document.querySelectorAll('.family tbody tr').length")
    assert rows == len(result["benchmarks"])
    ceilings = [c["title"] for c in result["ceilings"] if c["unit"] in ("FLOP", "op")]
    labels = shown.evaluate("[...document.querySelectorAll('#roofline .annotation')].map(a => a.textContent).join('|')")
    assert ceilings and all(title in labels for title in ceilings) and "DRAM" in labels

    # No label of a ceiling lies on another.
    boxes = shown.evaluate("""[...document.querySelectorAll('#roofline .annotation')].filter(a => a.querySelector('.annotation-arrow-g'))
      .map(a => a.querySelector('.annotation-text').getBoundingClientRect()).map(r => [r.top, r.bottom]).sort((a, b) => a[0] - b[0])""")
    assert len(boxes) == len(ceilings) and all(above[1] < below[0] + 2 for above, below in zip(boxes, boxes[1:]))

    # The pointer on the last point of the last trace shows that case.
    text = shown.evaluate("""(() => {
      const plot = document.getElementById('roofline'), last = plot.data.length - 1;
      Plotly.Fx.hover(plot, [{curveNumber: last, pointNumber: plot.data[last].x.length - 1}]);
      return plot.querySelector('.hoverlayer').textContent; })()""")
    assert "of the measured roof" in text and any("/".join(word for word in e["name"].split("/") if ":" not in word) in text for e in placed)

    # One of plotly.js' own buttons would send the chart away.
    buttons = shown.evaluate("[...new Set([...document.querySelectorAll('.modebar-btn')].map(b => b.dataset.title))]")
    assert sorted(buttons) == ["Download plot as a PNG", "Pan", "Reset axes", "Zoom", "Zoom in", "Zoom out"]
    assert shown.requests() == [page.as_uri()]
    assert shown.complaints() == []


@pytest.mark.parametrize("rates", [(1.05, 1.1, 1.15), (1.3, 1.7, 2.1), (2, 7, 7.02)])
def test_labels_of_slopes_of_close_rates_stay_apart(rates, tmp_path, shown):
    result = make_result.h200()
    dram = next(c for c in result["ceilings"] if c["resource"] == "dram")
    slopes = [dram | {"resource": name, "title": title, "empirical": rate * dram["empirical"]}
              for (name, title), rate in zip({"l2": "L2 cache", "l1": "L1 cache", "shared": "shared memory"}.items(), rates)]
    result["ceilings"] = [c for c in result["ceilings"] if c["resource"] not in ("l2", "l1", "shared")] + slopes
    shown.open(make(result, tmp_path))
    wait_for(shown, "document.getElementById('roofline').dataset.points")
    # Of each label the centre along its line and at right angles to it, and its length, as drawn.
    labels = shown.evaluate("""(() => {
      const plot = document.getElementById('roofline');
      return plot._fullLayout.annotations.flatMap((label, i) => {
        if (!/ slope$/.test(label.name)) return [];
        const angle = -label.textangle * Math.PI / 180, text = plot.querySelector(`.annotation[data-index="${i}"] .annotation-text`);
        const box = text.getBoundingClientRect(), x = (box.left + box.right) / 2, y = -(box.top + box.bottom) / 2;
        return [[x * Math.cos(angle) + y * Math.sin(angle), y * Math.cos(angle) - x * Math.sin(angle), text.getComputedTextLength()]];
      }); })()""")
    assert len(labels) == 4
    for i, (along, across, length) in enumerate(labels):
        for other_along, other_across, other_length in labels[:i]:
            assert abs(across - other_across) > 10 or abs(along - other_along) > (length + other_length) / 2, labels


def test_a_team_is_drawn(cluster, tmp_path, shown):
    page = make(cluster, tmp_path)
    shown.open(page)
    cells = "[...document.querySelectorAll('.matrices .plot')].map(p => p.querySelectorAll('.heatmap-label').length)"
    assert shown.evaluate(cells) == [240, 240]  # every pair, both ways
    lines = sum(len(rows) for _, _, rows in communication.collectives(cluster))
    assert shown.evaluate("document.querySelectorAll('.collective tbody tr').length") == lines > 50
    apart = [e for e in cluster["benchmarks"] if not communication.is_collective(e)]
    assert shown.evaluate("document.querySelectorAll('.family tbody tr').length") == len(apart)
    # The menu's second entry shows other lines.
    names = """(() => { const id = document.querySelector('#stragglers ~ .plot').id, plot = document.getElementById(id);
      const button = plot.layout.updatemenus[0].buttons[%d]; Plotly.restyle(plot, button.args[0]);
      return plot.data.filter(t => t.visible === true && t.meta).map(t => t.name); })()"""
    first = shown.evaluate(names % 0)
    assert "all_to_all" in first and shown.evaluate(names % 2) != first
    assert shown.pdf().startswith(b"%PDF")
    assert shown.requests() == [page.as_uri()]
    assert shown.complaints() == []


def test_tables_sort_and_filter(h200, tmp_path, shown):
    shown.open(make(h200, tmp_path))
    medians = "[...document.querySelectorAll('#family-gemm tbody tr')].map(r => +r.cells[1].dataset.key)"
    for order in (sorted, lambda values: sorted(values, reverse=True)):
        shown.evaluate("document.querySelectorAll('#family-gemm th')[1].click()")
        values = shown.evaluate(medians)
        assert values == order(values)
    shown.evaluate("""(() => { const box = document.getElementById('family-gemm').closest('.family').previousElementSibling;
      box.value = 'FP8'; box.dispatchEvent(new Event('input')); })()""")
    left = shown.evaluate("[...document.querySelectorAll('#family-gemm tbody tr')].filter(r => !r.hidden).map(r => r.cells[0].textContent)")
    assert left and all("fp8" in name for name in left)
    assert shown.complaints() == []


def test_hostile_texts_stay_texts(small, tmp_path, shown):
    hostile = "</script><img src=x onerror='window.fell=1'><a href='javascript:window.fell=1'>x</a>"
    small["labels"] = {"a": hostile}
    small["verdict"]["headline"] = f"1 ok (--filter '{'a' * 400}')"
    small["device"]["name"] = hostile
    for ceiling in small["ceilings"]:
        ceiling["title"] = hostile
    for i, entry in enumerate(small["benchmarks"]):
        entry["name"] = f"gemm/{hostile}/{i}"
    shown.open(make(small, tmp_path))
    assert shown.evaluate("window.fell === undefined && document.querySelectorAll('main img, main a').length === 0")
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert shown.complaints() == []


@pytest.mark.parametrize("form", ("packed", "plain", "whole"))
def test_a_page_is_drawn_when_it_has_loaded(small, form, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(report.page(small, "0" * 64, form), encoding="utf-8")
    command = [PATH, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    drawn = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    assert drawn.count('class="main-svg"') > 3 and "FLOP per byte</text>" in drawn


@pytest.mark.parametrize("name", ("h200", "cpu", "cluster", "observed"))
def test_no_table_is_cut_on_paper(name, request, tmp_path, shown):
    made = request.getfixturevalue(name) if name != "cpu" else make_result.cpu()
    shown.open(make(made, tmp_path))
    width = 1031  # of A4 landscape within the margins of style.css, in CSS pixels
    shown.call("Emulation.setEmulatedMedia", media="print")
    shown.call("Emulation.setDeviceMetricsOverride", width=width, height=700, deviceScaleFactor=1, mobile=False)
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert shown.evaluate("document.querySelectorAll('table').length") > 3
    cut = f"""[...document.querySelectorAll('table, dl, .tiles, .verdict')].map(t => [t.id || t.className || t.textContent.slice(0, 40),
      Math.round(t.getBoundingClientRect().right)]).filter(([, right]) => right > {width})"""
    assert shown.evaluate(cut) == []


@pytest.mark.parametrize("name", ("small", "h200", "cluster", "observed"))
def test_a_phone_shows_it_without_scrolling_the_page(name, request, tmp_path, shown):
    shown.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
    shown.open(make(request.getfixturevalue(name), tmp_path))
    wide = """[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && !e.closest('svg') && e.getBoundingClientRect().right > 391)
      .map(e => e.id || e.className || e.tagName)"""
    assert shown.evaluate(wide) == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390
    assert shown.evaluate("document.getElementById('roofline')._fullLayout._size.w") > 300


def test_paper_shows_what_the_screen_folds_away(small, tmp_path, shown):
    shown.open(make(small, tmp_path))
    assert shown.evaluate("document.querySelectorAll('details:not([open])').length") > 0
    shown.evaluate("window.folded = -1; addEventListener('beforeprint', () => { folded = document.querySelectorAll('details:not([open])').length; })")
    assert shown.pdf().startswith(b"%PDF")
    assert wait_for(shown, "window.folded === 0")
    assert shown.complaints() == []
