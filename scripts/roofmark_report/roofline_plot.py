# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The roofline: the measured ceilings, else the theoretical ones, and every record with FLOPs and bytes."""

import math

from . import plots, units

COLOURS = {"measured": plots.CEILING, "theoretical": "#B2182B"}


def placed_on_roofline(result):
    """The records with a place on the roofline: those with both FLOPs and bytes."""
    return [entry for entry in result["benchmarks"]
            if entry["roofmark"]["placement"].get("intensity") and entry["roofmark"]["placement"].get("flops_per_second")]


def roofs(result):
    """What they rest on, the flat ones and the slopes, each with its "rate": the measured ceilings, or those theoretical ones
    that bound a case of a run that measured none. Nothing where there are neither, as on a CPU."""
    measured = plots.compute_ceilings(result), plots.memory_ceilings(result)
    if any(measured):
        return "measured", *([c | {"rate": c["empirical"]} for c in ceilings] for ceilings in measured)
    binding = {entry["roofmark"]["placement"].get("bound_by") for entry in result["benchmarks"]}
    bounds = [c | {"rate": c["theoretical"]} for c in result["ceilings"] if "theoretical" in c and c["resource"] in {"dram", *binding}]
    return ("theoretical" if bounds else ""), [c for c in bounds if plots.is_arithmetic(c)], [c for c in bounds if plots.is_memory(c)]


def roofline(result):
    """None without a ceiling and a point to draw. The page rotates the labels named "... slope" along their lines and moves
    those named "ceiling" apart."""
    points, (basis, flat, slopes) = placed_on_roofline(result), roofs(result)
    if not points and not (flat and slopes):
        return None
    xs = [entry["roofmark"]["placement"]["intensity"] for entry in points]
    ys = [entry["roofmark"]["placement"]["flops_per_second"] for entry in points]
    ridges = [c["rate"] / s["rate"] for c in flat for s in slopes]
    x_range = plots.decades(xs + ridges, 2, 4)
    y_range = plots.decades(ys + [c["rate"] for c in flat], 2, 2.5)
    left, right = 10 ** x_range[0], 10 ** x_range[1]
    top = max([c["rate"] for c in flat], default=10 ** y_range[1])
    traces, annotations = [], []

    memory = next((c for c in slopes if c["resource"] == "dram"), None)
    taken = [(math.log10(px), math.log10(py)) for px, py in zip(xs, ys)]
    if memory:
        taken += [(math.log10(c["rate"] / memory["rate"]), math.log10(c["rate"])) for c in flat]
    labels = []
    for ceiling in slopes:
        end = min(top / ceiling["rate"], right)
        label = f"{ceiling['title']} {units.rate(ceiling['rate'], 'B')}"
        traces.append(plots.line(ceiling["title"], [left, end], [left * ceiling["rate"], end * ceiling["rate"]],
                           f"{basis} ceiling: {label}", line={"color": COLOURS[basis], "width": 2 if ceiling is memory else 1.2}))
        # The label stands inside the axes, as far as possible from any point and from its neighbours' labels, which are long.
        start = max(x_range[0], y_range[0] - math.log10(ceiling["rate"]))
        places = [start + (math.log10(end) - start) * part / 20 for part in range(4, 18)]
        x = max(places, key=lambda at: min((math.hypot(at - px, at + math.log10(ceiling["rate"]) - py) / size
                                            for px, py, size in [*((*point, 1) for point in taken), *((*label, 4) for label in labels)]), default=0))
        labels.append((x, x + math.log10(ceiling["rate"])))
        annotations.append({"name": "below slope" if ceiling is memory else "above slope", "text": plots.text(label), "x": x, "y": x + math.log10(ceiling["rate"]),
                            "showarrow": False, "font": {"size": 11, "color": COLOURS[basis]}})

    for ceiling in flat:
        label = f"{ceiling['title']} {units.rate(ceiling['rate'], ceiling['unit'])}"
        start = ceiling["rate"] / memory["rate"] if memory else left
        traces.append(plots.line(ceiling["title"], [start, right], [ceiling["rate"]] * 2, f"{basis} ceiling: {label}", line={"color": COLOURS[basis], "width": 1.3}))
        annotations.append({"name": "ceiling", "text": plots.text(label), "x": x_range[1], "y": math.log10(ceiling["rate"]), "xanchor": "left",
                            "ax": 14, "ay": 0, "showarrow": True, "arrowhead": 0, "arrowwidth": 0.7, "arrowcolor": "#8b949e",
                            "align": "left", "font": {"size": 11, "color": COLOURS[basis]}})
    if memory and flat:
        traces.append({
            "type": "scatter", "mode": "markers", "name": "ridge points (DRAM)", "showlegend": True,
            "x": [c["rate"] / memory["rate"] for c in flat], "y": [c["rate"] for c in flat],
            "marker": {"symbol": "diamond-open", "size": 9, "color": COLOURS[basis]},
            "text": [f"ridge point of {plots.text(c['title'])}: {units.intensity(c['rate'] / memory['rate'])} FLOP/B" for c in flat],
            "hovertemplate": "%{text}<extra></extra>"})
    if basis == "measured":
        traces += theoretical_lines(result, left, right)

    families = list(dict.fromkeys(entry["roofmark"]["family"] for entry in result["benchmarks"]))
    series = {}
    for entry in points:
        series.setdefault((entry["roofmark"]["family"], entry["roofmark"]["type"]), []).append(entry)
    for (family, kind), entries in sorted(series.items(), key=lambda item: (families.index(item[0][0]), item[0][1])):
        places = [entry["roofmark"]["placement"] for entry in entries]
        traces.append(plots.records_trace(
            f"{family}, {kind}", entries, [p["intensity"] for p in places], [p["flops_per_second"] for p in places],
            marker={"color": plots.colour_of(family, families), "symbol": plots.symbol_of(kind), "size": 8, "opacity": 0.8,
                    "line": {"color": "#ffffff", "width": 0.6}}))
    x = plots.axis("arithmetic intensity, FLOP per byte", dtick=1, tickformat="~r", range=x_range)
    y = plots.axis("rate, FLOP/s (int8: op/s)", dtick=1, range=y_range)
    return {"data": traces, "layout": plots.layout(
        x, y, 620, annotations=annotations, margin={"l": 84, "r": 275, "t": 40, "b": 135},
        legend={"orientation": "h", "y": -0.15, "yanchor": "top", "x": 0, "font": {"size": 12}})}


def theoretical_lines(result, left, right):
    """The theoretical ceilings as one trace, hidden until its legend is clicked."""
    flat = [c for c in result["ceilings"] if plots.is_arithmetic(c) and "theoretical" in c]
    memory = next((c for c in result["ceilings"] if c["resource"] == "dram" and "theoretical" in c), None)
    if not flat or not memory:
        return []
    end = max(c["theoretical"] for c in flat) / memory["theoretical"]
    xs, ys, labels = [left, end, None], [left * memory["theoretical"], end * memory["theoretical"], None], []
    labels += [f"theoretical {memory['title']} {units.rate(memory['theoretical'], 'B')}"] * 3
    for c in flat:
        xs += [c["theoretical"] / memory["theoretical"], right, None]
        ys += [c["theoretical"], c["theoretical"], None]
        labels += [f"theoretical {c['title']} {units.rate(c['theoretical'], c['unit'])}"] * 3
    return [{"type": "scatter", "mode": "lines", "name": "theoretical ceilings", "x": xs, "y": ys,
             "text": [plots.text(label) for label in labels], "hovertemplate": "%{text}<extra></extra>", "visible": "legendonly",
             "line": {"color": COLOURS["theoretical"], "width": 1, "dash": "dot"}}]
