# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Figures for plotly.js: {"data": traces, "layout": layout}. Traces whose points are records have meta "records"."""

import html
import math

from . import units

# Okabe and Ito's colours, safe for colour-blind readers; then some of Tableau's.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#6A3D9A", "#B2182B", "#4D4D4D"]
SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down"]
TYPES = ["bf16", "fp16", "fp8", "int8", "tf32", "fp32", "fp64", "int32"]
CEILING = "#555555"
FONT = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif", "size": 13, "color": "#1b1f24"}
MEMORY = ("dram", "l3", "l2", "l1", "shared")
SIZE_OF = {"fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2}


def text(value):
    """Escaped: plotly.js interprets tags and entities in every text."""
    return html.escape(str(value), quote=False)


def colour_of(name, names):
    return COLOURS[list(names).index(name) % len(COLOURS)]


def symbol_of(kind):
    return SYMBOLS[TYPES.index(kind)] if kind in TYPES else "circle-open"


def series_of(record):
    """The label of a record's line among the lines of its family: the operation, and the implementation unless it is roofmark's own."""
    operation, impl = record.get("operation", ""), record["shape"].get("impl", "")
    return ", ".join(part for part in (operation, "" if operation and impl == "own" else impl) if part)


def rate_of(record):
    """A record's rate and its unit: FLOP/s where arithmetic is the limit, else bytes/s; None without either."""
    placement = record["placement"]
    flops, moved = placement.get("flops_per_second"), placement.get("bytes_per_second")
    if flops and (not moved or placement.get("bound_by") not in MEMORY):
        return flops, "op" if record["type"] == "int8" else "FLOP"
    return (moved, "B") if moved else (None, None)


def hover(entry):
    """The tooltip of a record."""
    record = entry["roofmark"]
    measurement, placement = record["measurement"], record["placement"]
    words = entry["name"].split("/")
    path, keys = [word for word in words if ":" not in word], [word for word in words if ":" in word]
    lines = [f"<b>{text('/'.join(path))}</b>", text("/".join(keys))]
    rates = [units.rate(placement.get("flops_per_second"), "op" if record["type"] == "int8" else "FLOP"),
             units.rate(placement.get("bytes_per_second"), "B")]
    lines.append("median " + ", ".join(part for part in [units.seconds(measurement["median"]), *rates] if part))
    if message := record.get("message"):
        algbw = message["bytes"] * message.get("trips", 1) / measurement["median"]
        lines.append(f"algbw {units.rate(algbw, 'B')}, busbw {units.rate(algbw * message['bus_factor'], 'B')}")
    if placement.get("intensity"):
        lines.append(f"{units.digits(placement['intensity'])} FLOP/B")
    if "of_empirical" in placement:
        lines.append(f"{units.share(placement['of_empirical'])} of the measured roof, bound by {text(placement.get('bound_by', '?'))}")
    if "clock_hz" in measurement:
        lines.append(f"at {units.clock(measurement['clock_hz'])}")
    return "<br>".join(line for line in lines if line)


def axis(title, values=(), **extra):
    """Logarithmic. Ticks at 1, 2 and 5 where the values are few decades apart."""
    few = values and max(values) / min(values) < 1e4
    return {"dtick": "D2" if few else 1} | {
        "title": {"text": title, "standoff": 8}, "type": "log", "tickformat": "~s", "gridcolor": "#e4e7eb",
        "linecolor": "#8b949e", "showline": True, "ticks": "outside", "tickcolor": "#8b949e", "zeroline": False, "mirror": True,
        "automargin": True,
    } | extra


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


def decades(values, below=1.5, above=1.5):
    """The range of a logarithmic axis around the values."""
    return [math.log10(min(values) / below), math.log10(max(values) * above)]


def placed_on_roofline(result):
    """The records with a place on the roofline: those with both FLOPs and bytes."""
    return [entry for entry in result["benchmarks"]
            if entry["roofmark"]["placement"].get("intensity") and entry["roofmark"]["placement"].get("flops_per_second")]


def compute_ceilings(result):
    return [c for c in result["ceilings"] if c["unit"] in ("FLOP", "op") and "empirical" in c]


def memory_ceilings(result):
    return [c for c in result["ceilings"] if c["unit"] == "B" and "empirical" in c]


def outermost(result):
    """The DRAM ceiling, or None."""
    return next((c for c in memory_ceilings(result) if c["resource"] == "dram"), None)


def roofline(result):
    """None without a ceiling and a point to draw. The page rotates the labels named "... slope" along their lines and moves
    those named "ceiling" apart."""
    points, flat, slopes = placed_on_roofline(result), compute_ceilings(result), memory_ceilings(result)
    if not points and not (flat and slopes):
        return None
    xs = [entry["roofmark"]["placement"]["intensity"] for entry in points]
    ys = [entry["roofmark"]["placement"]["flops_per_second"] for entry in points]
    ridges = [c["empirical"] / s["empirical"] for c in flat for s in slopes]
    x_range = decades(xs + ridges, 2, 4)
    y_range = decades(ys + [c["empirical"] for c in flat], 2, 2.5)
    left, right = 10 ** x_range[0], 10 ** x_range[1]
    top = max([c["empirical"] for c in flat], default=10 ** y_range[1])
    traces, annotations = [], []

    memory = outermost(result)
    taken = [(math.log10(px), math.log10(py)) for px, py in zip(xs, ys)]
    if memory:
        taken += [(math.log10(c["empirical"] / memory["empirical"]), math.log10(c["empirical"])) for c in flat]
    for i, ceiling in enumerate(slopes):
        end = min(top / ceiling["empirical"], right)
        label = f"{ceiling['title']} {units.rate(ceiling['empirical'], 'B')}"
        traces.append(line(ceiling["title"], [left, end], [left * ceiling["empirical"], end * ceiling["empirical"]],
                           f"measured ceiling: {label}", line={"color": CEILING, "width": 2 if ceiling is memory else 1.2}))
        # The label stands inside the axes, as far as possible from any point and from its neighbours' labels.
        start = max(x_range[0], y_range[0] - math.log10(ceiling["empirical"]))
        places = [start + (math.log10(end) - start) * (part + 0.05 * (i % 2)) for part in (0.3, 0.4, 0.5, 0.6, 0.7)]
        x = max(places, key=lambda at: min((math.hypot(at - px, at + math.log10(ceiling["empirical"]) - py) for px, py in taken),
                                           default=0))
        taken.append((x, x + math.log10(ceiling["empirical"])))
        annotations.append({"name": "below slope" if ceiling is memory else "above slope", "text": text(label), "x": x, "y": x + math.log10(ceiling["empirical"]),
                            "showarrow": False, "font": {"size": 11, "color": CEILING}})

    for ceiling in flat:
        label = f"{ceiling['title']} {units.rate(ceiling['empirical'], ceiling['unit'])}"
        start = ceiling["empirical"] / memory["empirical"] if memory else left
        traces.append(line(ceiling["title"], [start, right], [ceiling["empirical"]] * 2, f"measured ceiling: {label}"))
        annotations.append({"name": "ceiling", "text": text(label), "x": x_range[1], "y": math.log10(ceiling["empirical"]), "xanchor": "left",
                            "ax": 14, "ay": 0, "showarrow": True, "arrowhead": 0, "arrowwidth": 0.7, "arrowcolor": "#8b949e",
                            "align": "left", "font": {"size": 11, "color": CEILING}})
    if memory and flat:
        traces.append({
            "type": "scatter", "mode": "markers", "name": "ridge points (DRAM)", "showlegend": True,
            "x": [c["empirical"] / memory["empirical"] for c in flat], "y": [c["empirical"] for c in flat],
            "marker": {"symbol": "diamond-open", "size": 9, "color": CEILING},
            "text": [f"ridge point of {text(c['title'])}: {units.digits(c['empirical'] / memory['empirical'])} FLOP/B" for c in flat],
            "hovertemplate": "%{text}<extra></extra>"})
    traces += theoretical_lines(result, left, right)

    families = list(dict.fromkeys(entry["roofmark"]["family"] for entry in result["benchmarks"]))
    series = {}
    for entry in points:
        series.setdefault((entry["roofmark"]["family"], entry["roofmark"]["type"]), []).append(entry)
    for (family, kind), entries in sorted(series.items(), key=lambda item: (families.index(item[0][0]), item[0][1])):
        places = [entry["roofmark"]["placement"] for entry in entries]
        traces.append(records_trace(
            f"{family}, {kind}", entries, [p["intensity"] for p in places], [p["flops_per_second"] for p in places],
            marker={"color": colour_of(family, families), "symbol": symbol_of(kind), "size": 8, "opacity": 0.8,
                    "line": {"color": "#ffffff", "width": 0.6}}))
    x = axis("arithmetic intensity, FLOP per byte", dtick=1, tickformat="~r", range=x_range)
    y = axis("rate, FLOP/s (int8: op/s)", dtick=1, range=y_range)
    return {"data": traces, "layout": layout(
        x, y, 620, annotations=annotations, margin={"l": 84, "r": 275, "t": 40, "b": 135},
        legend={"orientation": "h", "y": -0.15, "yanchor": "top", "x": 0, "font": {"size": 12}})}


def theoretical_lines(result, left, right):
    """The theoretical ceilings as one trace, hidden until its legend is clicked."""
    flat = [c for c in result["ceilings"] if c["unit"] in ("FLOP", "op") and "theoretical" in c]
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
             "text": [text(label) for label in labels], "hovertemplate": "%{text}<extra></extra>", "visible": "legendonly",
             "line": {"color": "#B2182B", "width": 1, "dash": "dot"}}]


def stream(result, entries):
    """Bandwidth over the bytes touched, with the cache capacities."""
    drawn = [e for e in entries if e["roofmark"]["placement"].get("bytes_per_second") and number(e["roofmark"]["shape"].get("bytes"))]
    if not drawn:
        return None
    xs = [number(e["roofmark"]["shape"]["bytes"]) for e in drawn]
    ys = [e["roofmark"]["placement"]["bytes_per_second"] for e in drawn]
    labels = list(dict.fromkeys(series_of(e["roofmark"]) for e in drawn))
    series = {}
    for x, y, entry in sorted(zip(xs, ys, drawn), key=lambda item: item[0]):
        series.setdefault((series_of(entry["roofmark"]), entry["roofmark"]["type"]), []).append((x, y, entry))
    traces = []
    memory = outermost(result)
    top = max(ys)
    x_range = decades(xs)
    span = [10**x_range[0], 10**x_range[1]]
    if memory:
        top = max(top, memory["empirical"])
        traces.append(line("measured DRAM ceiling", span, [memory["empirical"]] * 2,
                           f"measured DRAM ceiling {units.rate(memory['empirical'], 'B')}", showlegend=True))
        if "theoretical" in memory:
            top = max(top, memory["theoretical"])
            traces.append(line("theoretical DRAM ceiling", span, [memory["theoretical"]] * 2,
                               f"theoretical DRAM ceiling {units.rate(memory['theoretical'], 'B')}", showlegend=True,
                               line={"color": "#B2182B", "width": 1.2, "dash": "dot"}))
    for (label, kind), points in series.items():
        first = not any(trace.get("legendgroup") == text(label) for trace in traces)
        traces.append(records_trace(
            label, [p[2] for p in points], [p[0] for p in points], [p[1] for p in points], legendgroup=text(label), showlegend=first,
            mode="lines+markers" if len(points) > 1 else "markers",
            line={"color": colour_of(label, labels), "width": 1.4, "dash": {"fp64": "solid", "fp32": "dash"}.get(kind, "dot")},
            marker={"color": colour_of(label, labels), "symbol": symbol_of(kind), "size": 6}))
    shapes, annotations = [], []
    for level in result["device"]["caches"]:
        at = level["total_bytes"]
        if at <= 0 or not span[0] < at < span[1]:
            continue
        shapes.append({"type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1,
                       "line": {"color": "#8b949e", "width": 1, "dash": "dash"}})
        annotations.append({"x": math.log10(at), "yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False,
                            "yshift": 13 * (len(annotations) % 2),
                            "text": f"{text(level['name'].upper())} {units.capacity(at)}", "font": {"size": 11, "color": CEILING}})
    y = axis("bandwidth, B/s", ys, range=decades([min(ys), top], 1.5, 1.4))
    return {"data": traces, "layout": layout(
        axis("bytes of all arrays together", range=x_range), y, 540, shapes=shapes, annotations=annotations,
        margin={"l": 84, "r": 24, "t": 70, "b": 56}, updatemenus=[scale_buttons(y["range"], top)])}


def scale_buttons(log_range, top):
    """A linear scale shows the step between two caches, a logarithmic one the small sizes."""
    return {"type": "buttons", "direction": "left", "x": 0, "xanchor": "left", "y": 1.03, "yanchor": "bottom", "showactive": True,
            "pad": {"b": 14}, "font": {"size": 11}, "buttons": [
                {"label": "logarithmic", "method": "relayout", "args": [{"yaxis.type": "log", "yaxis.range": log_range}]},
                {"label": "linear", "method": "relayout", "args": [{"yaxis.type": "linear", "yaxis.range": [0, top * 1.05]}]}]}


def number(value):
    """The value of a key where it is a positive number, else None."""
    try:
        read = float(value)
    except (TypeError, ValueError):
        return None
    return read if 0 < read < 1e90 else None


def gemm_sizes(entry):
    sizes = [number(entry["roofmark"]["shape"].get(key)) for key in ("m", "n", "k")]
    return sizes if all(sizes) else None


def gemm_squares(result, entries):
    """Rate over n of the square products, one colour per type; solid lines for the best algorithm."""
    square = [e for e in entries if (s := gemm_sizes(e)) and s[0] == s[1] == s[2] and e["roofmark"]["placement"].get("flops_per_second")]
    if not square:
        return None
    kinds = sorted({e["roofmark"]["type"] for e in square}, key=lambda k: TYPES.index(k) if k in TYPES else 99)
    series = {}
    for entry in sorted(square, key=lambda e: gemm_sizes(e)[0]):
        shape = entry["roofmark"]["shape"]
        off_line = shape.get("layout", "tn") != "tn" or gemm_sizes(entry)[0] % 8 != 0
        key = (entry["roofmark"]["type"], shape.get("impl", ""), shape.get("algo", ""), off_line)
        series.setdefault(key, []).append(entry)
    ceilings = {c["resource"]: c for c in compute_ceilings(result)}
    sizes = [gemm_sizes(e)[0] for e in square]
    x_range = decades(sizes)
    ys = [e["roofmark"]["placement"]["flops_per_second"] for e in square]
    traces, drawn = [], set()
    for (kind, impl, algo, off_line), members in sorted(series.items(), key=lambda item: (kinds.index(item[0][0]), item[0][1:])):
        colour = colour_of(kind, kinds)
        first = algo == "default" and any(key[:2] == (kind, impl) and key[2] == "tuned" for key in series)
        what = ", other layouts and odd sizes" if off_line else ""
        traces.append(records_trace(
            f"{kind}, {impl} {algo}{what}", members, [gemm_sizes(e)[0] for e in members],
            [e["roofmark"]["placement"]["flops_per_second"] for e in members], mode="markers" if off_line else "lines+markers",
            line={"color": colour, "width": 1 if first else 2, "dash": "dash" if first else "solid"},
            marker={"color": colour, "symbol": symbol_of(kind) + ("-open" if first or off_line else ""), "size": 7}))
        for demand in members[0]["roofmark"]["work"]["phases"][0] if members[0]["roofmark"]["work"]["phases"] else []:
            ceiling = ceilings.get(demand["resource"])
            if ceiling and ceiling["resource"] not in drawn:
                drawn.add(ceiling["resource"])
                ys.append(ceiling["empirical"])
                label = f"measured ceiling: {ceiling['title']} {units.rate(ceiling['empirical'], ceiling['unit'])}"
                traces.append(line(ceiling["title"], [10**x_range[0], 10**x_range[1]], [ceiling["empirical"]] * 2, label,
                                   line={"color": colour, "width": 1, "dash": "dot"}))
    powers = sorted({size for size in sizes if math.log2(size).is_integer()}) or sorted(set(sizes))
    x = axis("n (m = n = k)", tickvals=powers, ticktext=[f"{size:.0f}" for size in powers], range=x_range)
    return {"data": traces, "layout": layout(x, axis("rate, FLOP/s (int8: op/s)", ys, range=decades(ys)), 540)}


def gemm_projections(_result, entries):
    """Rate over n (the tokens of a layer), one line per set of products that differ in n alone."""
    series = {}
    for entry in entries:
        sizes = gemm_sizes(entry)
        if sizes and not sizes[0] == sizes[1] == sizes[2] and entry["roofmark"]["placement"].get("flops_per_second"):
            record = entry["roofmark"]
            rest = tuple(value for key, value in record["shape"].items() if key != "n")
            series.setdefault((record["type"], rest), []).append(entry)
    series = {key: sorted(members, key=lambda e: gemm_sizes(e)[1]) for key, members in series.items()}
    if not series:
        return None
    shapes = list(dict.fromkeys(rest[:2] for _, rest in series))
    traces = []
    for (kind, _), members in series.items():
        shape = members[0]["roofmark"]["shape"]
        what = members[0]["roofmark"]["notes"].get("shape of", f"m {shape['m']}, k {shape['k']}")
        colour = COLOURS[shapes.index(tuple(v for k, v in shape.items() if k != "n")[:2]) % len(COLOURS)]
        traces.append(records_trace(
            f"{what}: {kind}, {shape.get('impl', '')} {shape.get('algo', '')}", members, [gemm_sizes(e)[1] for e in members],
            [e["roofmark"]["placement"]["flops_per_second"] for e in members], mode="lines+markers",
            line={"color": colour, "width": 1.6, "dash": "dash" if shape.get("algo") == "default" else "solid"},
            marker={"color": colour, "symbol": symbol_of(kind), "size": 7}))
    counts = sorted({gemm_sizes(e)[1] for members in series.values() for e in members})
    x = axis("n (tokens of a transformer layer)", tickvals=counts, ticktext=[f"{count:.0f}" for count in counts])
    ys = [y for trace in traces for y in trace["y"]]
    return {"data": traces, "layout": layout(x, axis("rate, FLOP/s (int8: op/s)", ys), 460)}


def attention_variant(record):
    """A label of everything but the sequence length, and the length."""
    shape = record["shape"]
    words = [record["type"], f"d {shape.get('d')}", f"{shape.get('heads')} heads, {shape.get('kv_heads')} key-value heads"]
    words += ["causal"] if shape.get("mask") == "causal" else []
    words += [f"batch {shape['batch']}"] if shape.get("batch", "1") != "1" else []
    queries, keys = number(shape.get("queries")), number(shape.get("keys"))
    words += [f"{keys - queries:+.0f} keys"] if queries and keys and queries != keys else []
    words += ["warm"] if shape.get("cache") == "warm" else []
    return ", ".join(words), queries


def attention_memory(record):
    """Bytes of one execution: Q, K, V, O and the workspace; None where the record does not say."""
    shape = {key: number(record["shape"].get(key)) for key in ("batch", "heads", "kv_heads", "queries", "keys", "d")}
    workspace = record["notes"].get("workspace_bytes")
    if not all(shape.values()) or workspace is None or record["type"] not in SIZE_OF:
        return None
    rows = 2 * shape["heads"] * shape["queries"] + 2 * shape["kv_heads"] * shape["keys"]
    return number(shape["batch"] * rows * shape["d"] * SIZE_OF[record["type"]] + (number(workspace) or 0))


def attention(entries, measure, title):
    """A quantity over the sequence length, one line per implementation; a menu chooses the variant."""
    drawn = [(e, *attention_variant(e["roofmark"]), measure(e["roofmark"])) for e in entries]
    drawn = sorted((item for item in drawn if item[2] and item[3]), key=lambda item: item[2])
    if not drawn:
        return None
    impls = list(dict.fromkeys(series_of(e["roofmark"]) for e in entries))
    variants = {}
    for entry, variant, length, value in drawn:
        variants.setdefault(variant, {}).setdefault(series_of(entry["roofmark"]), []).append((entry, length, value))
    # The most telling variant comes first: the most implementations, then the longest lines.
    order = sorted(variants, key=lambda v: (len(variants[v]), sum(map(len, variants[v].values()))), reverse=True)
    traces, owners = [], []
    for variant in order:
        for impl, points in variants[variant].items():
            traces.append(records_trace(
                impl, [p[0] for p in points], [p[1] for p in points], [p[2] for p in points], mode="lines+markers",
                visible=variant == order[0], line={"color": colour_of(impl, impls), "width": 2},
                marker={"color": colour_of(impl, impls), "symbol": symbol_of(points[0][0]["roofmark"]["type"]), "size": 7}))
            owners.append(variant)
    lengths = sorted({item[2] for item in drawn})
    x = axis("queries", tickvals=lengths, ticktext=[f"{length:.0f}" for length in lengths], range=decades(lengths, 1.3, 1.3))
    menu = {"type": "dropdown", "x": 0, "xanchor": "left", "y": 1.03, "yanchor": "bottom", "pad": {"b": 10}, "font": {"size": 12},
            "buttons": [{"label": text(variant), "method": "update", "args": [{"visible": [owner == variant for owner in owners]}]}
                        for variant in order]}
    return {"data": traces, "layout": layout(
        x, axis(title, [item[3] for item in drawn]), 420, showlegend=True, margin={"l": 84, "r": 24, "t": 64, "b": 56},
        updatemenus=[menu] if len(order) > 1 else [],
        title={"text": "" if len(order) > 1 else text(order[0]), "font": {"size": 13}, "x": 0.06})}


def fused_pairs(result):
    """Speed-up of fused operations over separate kernels; None without such a pair."""
    pairs = [c for c in result["comparisons"] if (c["key"], c["name"]) == ("algo", "fused against separate")]
    if not pairs:
        return None
    names = [text(c["numerator"].replace("/algo:fused", "")) for c in pairs]
    ratios = [c["ratio"] for c in pairs]
    up = [c.get("high", c["ratio"]) - c["ratio"] for c in pairs]
    down = [c["ratio"] - c.get("low", c["ratio"]) for c in pairs]
    trace = {"type": "bar", "orientation": "h", "x": ratios, "y": names, "marker": {"color": COLOURS[2]}, "width": 0.6,
             "error_x": {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": "#1b1f24", "thickness": 1.2},
             "hovertemplate": "%{y}<br>%{x:.3f} times faster<extra></extra>", "showlegend": False}
    x = axis("speed-up over separate kernels", type="linear", dtick=None, tickformat="", rangemode="tozero")
    y = axis("", type="category", autorange="reversed", tickformat="", ticks="", tickfont={"size": 11})
    one = {"type": "line", "yref": "paper", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "line": {"color": CEILING, "width": 1, "dash": "dash"}}
    return {"data": [trace], "layout": layout(x, y, 110 + 28 * len(pairs), shapes=[one])}


def ceilings_family(_result, entries):
    """Each probe's share of the theoretical ceiling; None where no such ceiling is known."""
    shares = [(e, e["roofmark"]["placement"]["of_theoretical"]) for e in entries if "of_theoretical" in e["roofmark"]["placement"]]
    return bars(shares, "share of the theoretical ceiling", percent=True) if shares else None


def bars(values, title, percent=False):
    """One bar per record; `values` pairs records with numbers."""
    traces = []
    for number_of_pass, colour in ((1, COLOURS[0]), (2, COLOURS[5])):
        members = [(e, v) for e, v in values if e["roofmark"]["pass"] == number_of_pass]
        if members:
            traces.append(records_trace(
                "before the suite" if number_of_pass == 1 else "after the suite", [e for e, _ in members],
                [100 * v if percent else v for _, v in members],
                [text(e["name"].partition("/")[2]) for e, _ in members], type="bar", orientation="h", textposition="none",
                marker={"color": colour}))
            del traces[-1]["mode"]
    rows = len({e["name"] for e, _ in values})
    x = axis(title, type="linear", dtick=None, rangemode="tozero", tickformat="" if percent else "~s", ticksuffix=" %" if percent else "")
    y = axis("", type="category", autorange="reversed", tickformat="", ticks="", tickfont={"size": 11})
    both = len(traces) > 1
    return {"data": traces, "layout": layout(x, y, 110 + (20 if both else 18) * rows, showlegend=both, barmode="group", bargap=0.25,
                                             legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})}


def generic(_result, entries):
    """For a family without a plot of its own: rates over the first size that varies, or one bar per record."""
    rated = [(e, *rate_of(e["roofmark"])) for e in entries]
    units_used = {unit for _, value, unit in rated if value}
    unit = next((u for u in ("FLOP", "op", "B") if u in units_used), None)
    if unit is None:
        return bars([(e, e["roofmark"]["measurement"]["median"]) for e in entries], "median, s")
    rated = [(e, value) for e, value, u in rated if u == unit]
    varying = None
    for key in rated[0][0]["roofmark"]["shape"]:
        sizes = {number(e["roofmark"]["shape"].get(key)) for e, _ in rated}
        if None not in sizes and len(sizes) > 1:
            varying = key
            break
    title = f"{'bandwidth' if unit == 'B' else 'rate'}, {units.PER_SECOND[unit]}"
    if varying is None:
        return bars(rated, title)
    series = {}
    for entry, value in sorted(rated, key=lambda item: number(item[0]["roofmark"]["shape"][varying])):
        record = entry["roofmark"]
        series.setdefault((series_of(record), record["type"]), []).append((number(record["shape"][varying]), value, entry))
    traces = []
    for i, ((label, kind), points) in enumerate(series.items()):
        distinct = len({x for x, _, _ in points}) == len(points)
        colour = COLOURS[i % len(COLOURS)]
        traces.append(records_trace(
            f"{label}, {kind}", [p[2] for p in points], [p[0] for p in points], [p[1] for p in points],
            mode="lines+markers" if distinct else "markers", line={"color": colour}, marker={
                "color": colour, "symbol": symbol_of(kind), "size": 7}))
    return {"data": traces, "layout": layout(
        axis(text(varying), [x for trace in traces for x in trace["x"]]), axis(title, [v for _, v in rated]), showlegend=True)}


def of_family(family, result, entries):
    """The plots of a family, each with its caption."""
    if family == "stream":
        made = [(stream(result, entries), "Bandwidth over size. Dashed vertical lines mark the cache capacities: to the left of a line the "
                 "data fit into that cache. A copy counts the bytes read and the bytes written. Solid lines: fp64; dashed: fp32; single "
                 "points: other types.")]
    elif family == "gemm":
        made = [(gemm_squares(result, entries), "Square matrix products: rate over size, one colour per type. Dotted: the measured ceiling "
                 "of the type. Dashed with open markers: the library's first choice, where the best of several algorithms was measured too."),
                (gemm_projections(result, entries), "Other products: rate over n, the number of tokens in a transformer layer. With few "
                 "tokens the bytes of the weights are the limit, with many the arithmetic.")]
    elif family == "attention":
        made = [(attention(entries, lambda record: record["placement"].get("flops_per_second"), "rate, FLOP/s"),
                 "Rate over sequence length, one line per implementation: with the scores in memory (naive, unfused) and without "
                 "(tiled, cuDNN). Masked query-key pairs are not counted."),
                (attention(entries, lambda record: record["measurement"]["median"], "time, s"), "Time over sequence length."),
                (attention(entries, attention_memory, "memory, B"), "Memory of one execution: Q, K, V, O and the allocated workspace. "
                 "Scores in memory grow with the square of the length.")]
    elif family == "ceilings":
        made = [(ceilings_family(result, entries), "Each probe's share of the theoretical ceiling. The best probe of a resource sets its "
                 "measured ceiling.")]
    else:
        made = [(generic(result, entries), "")]
    return [(figure, caption) for figure, caption in made if figure]
