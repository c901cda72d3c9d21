# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Figures for plotly.js: {"data": traces, "layout": layout}. Traces whose points are records have meta "records"."""

import html
import math
import re

from . import units
from .result import observed_clock

# Okabe and Ito's colours, safe for colour-blind readers, the orange and the sky blue darkened to a contrast of 3 with white; then some of
# Tableau's.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B87A00", "#2E93CC", "#8C6D31", "#6A3D9A", "#B2182B", "#4D4D4D"]
SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down", "pentagon", "hexagram"]
TYPES = ["bf16", "fp16", "fp8", "mxfp8", "nvfp4", "int8", "tf32", "fp32", "fp64", "int32"]
CEILING = "#555555"
BLUES = [[0, "#f7fbff"], [0.25, "#c6dbef"], [0.5, "#6baed6"], [0.75, "#2171b5"], [1, "#08306b"]]
LINKS = ("nvlink", "pcie", "interprocess", "network", "network_of_rank", "host_to_device", "device_to_host", "peer_in", "peer_out")
ATOMICS = ("global_atomic", "shared_atomic")
FONT = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif", "size": 13, "color": "#1b1f24"}


def text(value):
    """Escaped: plotly.js interprets tags and entities in every text."""
    return html.escape(str(value), quote=False)


def colour_of(name, names):
    return COLOURS[list(names).index(name) % len(COLOURS)]


def symbol_of(kind):
    return SYMBOLS[TYPES.index(kind)] if kind in TYPES else "circle-open"


def number(value):
    """The value of a key where it is a positive number, else None."""
    try:
        read = float(value)
    except (TypeError, ValueError):
        return None
    return read if 0 < read < 1e90 else None


def is_arithmetic(ceiling):
    """Of FMAs or tensor cores: a flat roof over the arithmetic intensity. Atomic additions are none."""
    return ceiling["unit"] in ("FLOP", "op") and ceiling["resource"] not in ATOMICS


def compute_ceilings(result):
    return [c for c in result["ceilings"] if is_arithmetic(c) and "empirical" in c]


def is_memory(ceiling):
    """Of the device itself: no link, and no memory behind one."""
    return ceiling["unit"] == "B" and ceiling["resource"] not in (*LINKS, "host_dram")


def memory_ceilings(result):
    return [c for c in result["ceilings"] if is_memory(c) and "empirical" in c]


def outermost(result):
    """The DRAM ceiling, or None."""
    return next((c for c in memory_ceilings(result) if c["resource"] == "dram"), None)


def within_family(name, entry):
    """The name of an entry or of its series where all are of its family: operation, type and keys."""
    return name.removeprefix(entry["roofmark"]["family"] + "/")


def hover(entry):
    """The tooltip of a record."""
    record = entry["roofmark"]
    measurement, placement = record["measurement"], record["placement"]
    path = "/".join(record[key] for key in ("family", "operation", "type") if key in record)
    keys = "/".join(f"{key}:{value}" for key, value in record["shape"].items())
    lines, clock = [f"<b>{text(path)}</b>", text(keys)], observed_clock(measurement)
    rates = [units.rate(placement.get("flops_per_second"), units.operation(record)),
             units.rate(placement.get("bytes_per_second"), "B")]
    lines.append("median " + ", ".join(part for part in [units.seconds(measurement["median"]), *rates] if part))
    if accesses := sum(d["amount"] for phase in record["work"]["phases"] for d in phase if d["unit"] == "access"):
        cycles = f", {measurement['median'] / accesses * clock:.1f} cycles" if clock else ""
        lines.append(f"{units.seconds(measurement['median'] / accesses)} per access{cycles}")
    if background := measurement.get("background"):
        lines.append(f"beside {units.rate(background['per_second'], 'B')} of {text(background['resource'])}")
    if (message := record.get("message")) and message["ranks"] > 1:
        algbw = message["bytes"] * message.get("trips", 1) / measurement["median"]
        lines.append(f"algbw {units.rate(algbw, 'B')}, busbw {units.rate(algbw * message['bus_factor'], 'B')}")
    if placement.get("intensity"):
        lines.append(f"{units.intensity(placement['intensity'])} FLOP/B")
    if "of_empirical" in placement:
        lines.append(f"{units.share(placement['of_empirical'])} of the measured roof, bound by {text(placement.get('bound_by', '?'))}")
    if clock:
        lines.append(f"at {units.clock(clock)}")
    return "<br>".join(line for line in lines if line)


def axis(title, values=(), **extra):
    """Logarithmic. Ticks at 1, 2 and 5 where the values are few decades apart."""
    drawn = [value for value in values if value > 0]
    few = drawn and max(drawn) / min(drawn) < 1e4
    return {"dtick": "D2" if few else 1} | {
        "title": {"text": title, "standoff": 8}, "type": "log", "tickformat": "~s", "gridcolor": "#e4e7eb",
        "linecolor": "#8b949e", "showline": True, "ticks": "outside", "tickcolor": "#8b949e", "zeroline": False, "mirror": True,
        "automargin": True,
    } | extra


def time_axis(title, values, **extra):
    """With the units of the tables at its ticks: logarithmic, or linear from 0."""
    most, least = max(values), min(values)
    if extra.get("type") == "linear":
        step = next(s * 10.0**e for e in range(math.floor(math.log10(most)) - 1, 99) for s in (1, 2, 5) if most / (s * 10.0**e) <= 6)
        ticks = [i * step for i in range(1 + math.ceil(most / step))]
    else:
        ticks = [s * 10.0**e for e in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1) for s in ((1, 2, 5) if most / least < 1e3 else (1,))]
    return axis(title, tickvals=ticks, ticktext=[re.sub(r"\.0+ ", " ", units.seconds(tick)) for tick in ticks], **extra)


def layout(x, y, height=460, **extra):
    return {
        "font": FONT, "height": height, "margin": {"l": 84, "r": 24, "t": 36, "b": 56}, "plot_bgcolor": "#ffffff",
        "paper_bgcolor": "#ffffff", "hovermode": "closest", "hoverlabel": {"align": "left", "font": {"size": 12}}, "xaxis": x,
        "yaxis": y, "legend": {"font": {"size": 12}, "itemsizing": "constant"},
    } | extra


def records_trace(name, entries, xs, ys, **extra):
    return {"type": "scatter", "mode": "markers", "name": text(name), "meta": "records", "x": xs, "y": ys,
            "text": [hover(entry) for entry in entries], "hovertemplate": "%{text}<extra></extra>"} | extra


def line(name, xs, ys, label, **extra):
    """A line that marks a limit; its tooltip is at its ends."""
    return {"type": "scatter", "mode": "lines", "name": text(name), "x": xs, "y": ys, "hovertemplate": f"{text(label)}<extra></extra>",
            "showlegend": False, "line": {"color": CEILING, "width": 1.3}} | extra


def link_lines(result, span, resources):
    """The measured and the theoretical ceilings of those links among the resources."""
    traces = []
    for ceiling in result["ceilings"]:
        if ceiling["resource"] not in resources or ceiling["resource"] not in (*LINKS, "host_dram"):
            continue
        for key, word, style in (("empirical", "measured", {"color": CEILING, "width": 1.5}),
                                 ("theoretical", "theoretical", {"color": "#B2182B", "width": 1.2, "dash": "dot"})):
            if key in ceiling:
                label = f"{ceiling['title']}: {word} {units.rate(ceiling[key], 'B')}"
                traces.append(line(label, span, [ceiling[key]] * 2, label, showlegend=True, line=style | (
                    {"dash": "dash"} if ceiling["resource"] == "network" and key == "empirical" else {})))
    return traces


def menu(names, visible):
    """The part of a layout that chooses among groups of traces, of which `visible` says for each whether a trace belongs to it: a
    menu, or a title where there is one group."""
    if len(names) == 1:
        return {"title": {"text": text(names[0]), "font": {"size": 13}, "x": 0.06}}
    buttons = [{"label": text(name), "method": "update", "args": [{"visible": shown}]} for name, shown in zip(names, visible, strict=True)]
    return {"updatemenus": [{"type": "dropdown", "x": 0, "xanchor": "left", "y": 1.03, "yanchor": "bottom", "pad": {"b": 10},
                             "font": {"size": 12}, "buttons": buttons}]}


def heat_map(down, across, cells, form, more_is_better):
    """A trace with a square for each of `cells`, (value, tooltip) by (down, across), on a logarithmic scale; darker is worse. `form` gives
    the text of a square and that of the scale."""
    logs, shown, said = ([[empty] * len(across) for _ in down] for empty in (None, "", ""))
    for (a, b), (value, tooltip) in cells.items():
        i, j = down.index(a), across.index(b)
        logs[i][j], shown[i][j], said[i][j] = math.log10(value), form(value)[0], tooltip
    found = [math.log10(value) for value, _ in cells.values()]
    least, most = min(found), max(found)
    if most - least < 0.05:  # noise alone must not span all colours
        least, most = (least + most) / 2 - 0.025, (least + most) / 2 + 0.025
    ticks = [least + (most - least) * part / 4 for part in range(5)]
    trace = {"type": "heatmap", "z": logs, "x": list(range(len(across))), "y": list(range(len(down))), "text": shown, "customdata": said,
             "hovertemplate": "%{customdata}<extra></extra>", "hoverongaps": False, "zmin": least, "zmax": most, "colorscale": BLUES,
             "reversescale": more_is_better, "xgap": 1, "ygap": 1,
             "colorbar": {"thickness": 12, "tickvals": ticks, "ticktext": [form(10**tick)[1] for tick in ticks], "tickfont": {"size": 11}}}
    return trace | ({"texttemplate": "%{text}", "textfont": {"size": 10}} if max(len(down), len(across)) <= 16 else {})


def decades(values, below=1.5, above=1.5):
    """The range of a logarithmic axis around the values."""
    return [math.log10(min(values) / below), math.log10(max(values) * above)]


def sole_place(figure):
    """The tooltips, as HTML, of a figure whose records all stand at one place of its axis: it shows no course. Else None."""
    records = [trace for trace in figure["data"] if trace.get("meta") == "records"]
    places = {place for trace in records for place in trace["y" if trace["type"] == "bar" else "x"]}
    return [line.replace("<br>", ", ") for trace in records for line in trace["text"]] if len(places) == 1 else None
