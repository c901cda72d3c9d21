# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The plots of each family of cases."""

import math

from . import access_latency, plots, transfers, units

MEMORY = ("dram", "l3", "l2", "l1", "shared")
SIZE_OF = {"fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2}


def series_of(record):
    """The label of a record's line among the lines of its family: the operation, and the implementation unless it is roofmark's own."""
    operation, impl = record.get("operation", ""), record["shape"].get("impl", "")
    return ", ".join(part for part in (operation, "" if operation and impl == "own" else impl) if part)


def rate_of(record):
    """A record's rate and its unit: FLOP/s where arithmetic is the limit, else bytes/s; None without either."""
    placement = record["placement"]
    flops, moved = placement.get("flops_per_second"), placement.get("bytes_per_second")
    if flops and (not moved or placement.get("bound_by") not in MEMORY):
        return flops, units.operation(record)
    return (moved, "B") if moved else (None, None)


def stream(result, entries):
    """Bytes touched per median time over these bytes, with the cache capacities. A record's own rate counts only what the level that binds has to
    deliver: beside a cache that keeps a part, it would show a dip."""
    drawn = [e for e in entries if e["roofmark"]["placement"].get("bytes_per_second") and plots.number(e["roofmark"]["shape"].get("bytes"))]
    if not drawn:
        return None
    xs = [plots.number(e["roofmark"]["shape"]["bytes"]) for e in drawn]
    ys = [x / e["roofmark"]["measurement"]["median"] for x, e in zip(xs, drawn)]
    labels = list(dict.fromkeys(series_of(e["roofmark"]) for e in drawn))
    series = {}
    for x, y, entry in sorted(zip(xs, ys, drawn), key=lambda item: item[0]):
        series.setdefault((series_of(entry["roofmark"]), entry["roofmark"]["type"]), []).append((x, y, entry))
    traces = []
    memory = plots.outermost(result)
    top = max(ys)
    x_range = plots.decades(xs)
    span = [10**x_range[0], 10**x_range[1]]
    if memory:
        top = max(top, memory["empirical"])
        traces.append(plots.line("measured DRAM ceiling", span, [memory["empirical"]] * 2,
                           f"measured DRAM ceiling {units.rate(memory['empirical'], 'B')}", showlegend=True))
        if "theoretical" in memory:
            top = max(top, memory["theoretical"])
            traces.append(plots.line("theoretical DRAM ceiling", span, [memory["theoretical"]] * 2,
                               f"theoretical DRAM ceiling {units.rate(memory['theoretical'], 'B')}", showlegend=True,
                               line={"color": "#B2182B", "width": 1.2, "dash": "dot"}))
    for (label, kind), points in series.items():
        first = not any(trace.get("legendgroup") == plots.text(label) for trace in traces)
        traces.append(plots.records_trace(
            label, [p[2] for p in points], [p[0] for p in points], [p[1] for p in points], legendgroup=plots.text(label), showlegend=first,
            mode="lines+markers" if len(points) > 1 else "markers",
            line={"color": plots.colour_of(label, labels), "width": 1.4, "dash": {"fp64": "solid", "fp32": "dash"}.get(kind, "dot")},
            marker={"color": plots.colour_of(label, labels), "symbol": plots.symbol_of(kind), "size": 6}))
    shapes, annotations = [], []
    for level in result["device"]["caches"]:
        at = level["total_bytes"]
        if at <= 0 or not span[0] < at < span[1]:
            continue
        shapes.append({"type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1,
                       "line": {"color": "#8b949e", "width": 1, "dash": "dash"}})
        annotations.append({"x": math.log10(at), "yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False,
                            "yshift": 13 * (len(annotations) % 2),
                            "text": f"{plots.text(level['name'].upper())} {units.size(at)}", "font": {"size": 11, "color": plots.CEILING}})
    y = plots.axis("bandwidth, B/s", ys, range=plots.decades([min(ys), top], 1.5, 1.4))
    return {"data": traces, "layout": plots.layout(
        plots.axis("bytes of all arrays together", range=x_range), y, 540, shapes=shapes, annotations=annotations,
        margin={"l": 84, "r": 24, "t": 70, "b": 56}, updatemenus=[scale_buttons(y["range"], top)])}


def scale_buttons(log_range, top):
    """A linear scale shows the step between two caches, a logarithmic one the small sizes."""
    return {"type": "buttons", "direction": "left", "x": 0, "xanchor": "left", "y": 1.03, "yanchor": "bottom", "showactive": True,
            "pad": {"b": 14}, "font": {"size": 11}, "buttons": [
                {"label": "logarithmic", "method": "relayout", "args": [{"yaxis.type": "log", "yaxis.range": log_range}]},
                {"label": "linear", "method": "relayout", "args": [{"yaxis.type": "linear", "yaxis.range": [0, top * 1.05]}]}]}


def gemm_sizes(entry):
    sizes = [plots.number(entry["roofmark"]["shape"].get(key)) for key in ("m", "n", "k")]
    return sizes if all(sizes) else None


def gemm_words(shape):
    """What a product has that others lack: ", imbalance:4", ", scale:blk128, out:fp32, epilogue:bias_gelu"."""
    return "".join(f", {key}:{shape[key]}" for key in ("imbalance", "scale", "out", "beta", "epilogue", "act") if key in shape)


def gemm_dash(shape, otherwise):
    """The dash of a line: our own kernels' is their own."""
    return "dashdot" if shape.get("impl", "").startswith("tiled") else otherwise


def gemm_squares(result, entries):
    """Rate over n of the square products, one colour per type; solid lines for the library's best algorithm."""
    square = [e for e in entries if (s := gemm_sizes(e)) and s[0] == s[1] == s[2] and e["roofmark"]["placement"].get("flops_per_second")]
    if not square:
        return None
    kinds = sorted({e["roofmark"]["type"] for e in square}, key=lambda k: plots.TYPES.index(k) if k in plots.TYPES else 99)
    series = {}
    for entry in sorted(square, key=lambda e: gemm_sizes(e)[0]):
        shape = entry["roofmark"]["shape"]
        off_line = gemm_words(shape) or (
            ", batches" if shape.get("batch", "1") != "1" else
            ", other layouts and odd sizes" if shape.get("layout", "tn") != "tn" or gemm_sizes(entry)[0] % 8 != 0 else "")
        key = (entry["roofmark"]["type"], shape.get("impl", ""), shape.get("algo", ""), off_line)
        series.setdefault(key, []).append(entry)
    ceilings = {c["resource"]: c for c in plots.compute_ceilings(result)}
    sizes = [gemm_sizes(e)[0] for e in square]
    x_range = plots.decades(sizes)
    ys = [e["roofmark"]["placement"]["flops_per_second"] for e in square]
    traces, drawn = [], set()
    for (kind, impl, algo, off_line), members in sorted(series.items(), key=lambda item: (kinds.index(item[0][0]), item[0][1:])):
        colour = plots.colour_of(kind, kinds)
        first = algo == "default" and any(key[:2] == (kind, impl) and key[2] == "tuned" for key in series)
        traces.append(plots.records_trace(
            f"{kind}, {impl} {algo}{off_line}", members, [gemm_sizes(e)[0] for e in members],
            [e["roofmark"]["placement"]["flops_per_second"] for e in members], mode="markers" if off_line else "lines+markers",
            line={"color": colour, "width": 1 if first else 2, "dash": gemm_dash({"impl": impl}, "dash" if first else "solid")},
            marker={"color": colour, "symbol": plots.symbol_of(kind) + ("-open" if first or off_line else ""), "size": 7}))
        for demand in members[0]["roofmark"]["work"]["phases"][0] if members[0]["roofmark"]["work"]["phases"] else []:
            ceiling = ceilings.get(demand["resource"])
            if ceiling and ceiling["resource"] not in drawn:
                drawn.add(ceiling["resource"])
                ys.append(ceiling["empirical"])
                label = f"measured ceiling: {ceiling['title']} {units.rate(ceiling['empirical'], ceiling['unit'])}"
                traces.append(plots.line(ceiling["title"], [10**x_range[0], 10**x_range[1]], [ceiling["empirical"]] * 2, label,
                                   line={"color": colour, "width": 1, "dash": "dot"}))
    powers = sorted({size for size in sizes if math.log2(size).is_integer()}) or sorted(set(sizes))
    x = plots.axis("n (m = n = k)", tickvals=powers, ticktext=[f"{size:.0f}" for size in powers], range=x_range)
    return {"data": traces, "layout": plots.layout(x, plots.axis("rate, FLOP/s (int8: op/s)", ys, range=plots.decades(ys)), 540)}


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
    # The weights that a line is of.
    def weights(entry):
        shape = entry["roofmark"]["shape"]
        return shape.get("batch", "1"), shape["m"], shape["k"]
    shapes = list(dict.fromkeys(weights(members[0]) for members in series.values()))
    traces = []
    for (kind, _), members in series.items():
        shape = members[0]["roofmark"]["shape"]
        batch = f"batch {shape['batch']}, " if "batch" in shape else ""
        what = members[0]["roofmark"]["notes"].get("shape of", f"{batch}m {shape['m']}, k {shape['k']}")
        colour = plots.COLOURS[shapes.index(weights(members[0])) % len(plots.COLOURS)]
        dash = gemm_dash(shape, "dash" if shape.get("algo") == "default" else "dot" if gemm_words(shape) else "solid")
        traces.append(plots.records_trace(
            f"{what}: {kind}, {shape.get('impl', '')} {shape.get('algo', '')}{gemm_words(shape)}", members, [gemm_sizes(e)[1] for e in members],
            [e["roofmark"]["placement"]["flops_per_second"] for e in members], mode="lines+markers",
            line={"color": colour, "width": 1.6, "dash": dash},
            marker={"color": colour, "symbol": plots.symbol_of(kind), "size": 7}))
    counts = sorted({gemm_sizes(e)[1] for members in series.values() for e in members})
    x = plots.axis("n (tokens of a transformer layer)", tickvals=counts, ticktext=[f"{count:.0f}" for count in counts])
    ys = [y for trace in traces for y in trace["y"]]
    return {"data": traces, "layout": plots.layout(x, plots.axis("rate, FLOP/s (int8: op/s)", ys), 460)}


def attention_variant(record):
    """A label of everything but the sequence length, and the length."""
    shape = record["shape"]
    words = [record["type"], f"d {shape.get('d')}", f"{shape.get('heads')} heads, {shape.get('kv_heads')} key-value heads"]
    words += ["causal"] if shape.get("mask") == "causal" else []
    words += [f"batch {shape['batch']}"] if shape.get("batch", "1") != "1" else []
    queries, keys = plots.number(shape.get("queries")), plots.number(shape.get("keys"))
    words += [f"{keys - queries:+.0f} keys"] if queries and keys and queries != keys else []
    words += ["warm"] if shape.get("cache") == "warm" else []
    return ", ".join(words), queries


def attention_memory(record):
    """Bytes of one execution: Q, K, V, O and the workspace; None where the record does not say."""
    shape = {key: plots.number(record["shape"].get(key)) for key in ("batch", "heads", "kv_heads", "queries", "keys", "d")}
    workspace = record["notes"].get("workspace_bytes")
    if not all(shape.values()) or workspace is None or record["type"] not in SIZE_OF:
        return None
    rows = 2 * shape["heads"] * shape["queries"] + 2 * shape["kv_heads"] * shape["keys"]
    return plots.number(shape["batch"] * rows * shape["d"] * SIZE_OF[record["type"]] + (plots.number(workspace) or 0))


def attention(entries, measure, title, axis=plots.axis):
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
            traces.append(plots.records_trace(
                impl, [p[0] for p in points], [p[1] for p in points], [p[2] for p in points], mode="lines+markers",
                visible=variant == order[0], line={"color": plots.colour_of(impl, impls), "width": 2},
                marker={"color": plots.colour_of(impl, impls), "symbol": plots.symbol_of(points[0][0]["roofmark"]["type"]), "size": 7}))
            owners.append(variant)
    lengths = sorted({item[2] for item in drawn})
    x = plots.axis("queries", tickvals=lengths, ticktext=[f"{length:.0f}" for length in lengths], range=plots.decades(lengths, 1.3, 1.3))
    menu = {"type": "dropdown", "x": 0, "xanchor": "left", "y": 1.03, "yanchor": "bottom", "pad": {"b": 10}, "font": {"size": 12},
            "buttons": [{"label": plots.text(variant), "method": "update", "args": [{"visible": [owner == variant for owner in owners]}]}
                        for variant in order]}
    return {"data": traces, "layout": plots.layout(
        x, axis(title, [item[3] for item in drawn]), 420, showlegend=True, margin={"l": 84, "r": 24, "t": 64, "b": 56},
        updatemenus=[menu] if len(order) > 1 else [],
        title={"text": "" if len(order) > 1 else plots.text(order[0]), "font": {"size": 13}, "x": 0.06})}


def fused_pairs(result):
    """Speed-up of fused operations over separate kernels; None for fewer than two pairs, which the comparisons tell."""
    pairs = [c for c in result["comparisons"] if (c["key"], c["name"]) == ("algo", "fused against separate")]
    if len(pairs) < 2:
        return None
    names = [plots.text(c["numerator"].replace("/algo:fused", "")) for c in pairs]
    ratios = [c["ratio"] for c in pairs]
    up = [c.get("high", c["ratio"]) - c["ratio"] for c in pairs]
    down = [c["ratio"] - c.get("low", c["ratio"]) for c in pairs]
    trace = {"type": "bar", "orientation": "h", "x": ratios, "y": names, "marker": {"color": plots.COLOURS[2]}, "width": 0.6,
             "error_x": {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": "#1b1f24", "thickness": 1.2},
             "hovertemplate": "%{y}<br>%{x:.3f} times faster<extra></extra>", "showlegend": False}
    x = plots.axis("speed-up over separate kernels", type="linear", dtick=None, tickformat="", rangemode="tozero")
    y = plots.axis("", type="category", autorange="reversed", tickformat="", ticks="", tickfont={"size": 11})
    one = {"type": "line", "yref": "paper", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "line": {"color": plots.CEILING, "width": 1, "dash": "dash"}}
    return {"data": [trace], "layout": plots.layout(x, y, 110 + 28 * len(pairs), shapes=[one])}


def ceilings_family(_result, entries):
    """Each probe's share of the theoretical ceiling; None where no such ceiling is known."""
    shares = [(e, e["roofmark"]["placement"]["of_theoretical"]) for e in entries if "of_theoretical" in e["roofmark"]["placement"]]
    return bars(shares, "share of the theoretical ceiling", percent=True) if shares else None


def bars(values, title, percent=False, axis=plots.axis):
    """One bar per record; `values` pairs records with numbers."""
    traces = []
    for number_of_pass, colour in ((1, plots.COLOURS[0]), (2, plots.COLOURS[5])):
        members = [(e, v) for e, v in values if e["roofmark"]["pass"] == number_of_pass]
        if members:
            traces.append(plots.records_trace(
                "before the suite" if number_of_pass == 1 else "after the suite", [e for e, _ in members],
                [100 * v if percent else v for _, v in members],
                [plots.text(plots.within_family(e["name"], e)) for e, _ in members], type="bar", orientation="h", textposition="none",
                marker={"color": colour}))
            del traces[-1]["mode"]
    rows = len({e["name"] for e, _ in values})
    x = axis(title, [v for _, v in values], type="linear", dtick=None, rangemode="tozero", tickformat="" if percent else "~s",
             ticksuffix=" %" if percent else "")
    y = plots.axis("", type="category", autorange="reversed", tickformat="", ticks="", tickfont={"size": 11})
    both = len(traces) > 1
    return {"data": traces, "layout": plots.layout(x, y, 110 + (20 if both else 18) * rows, showlegend=both, barmode="group", bargap=0.25,
                                             legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})}


def generic(entries):
    """For a family without a plot of its own: a plot of the rates in each unit, or of the times where there is no rate."""
    rated = {}
    for entry in entries:
        value, unit = rate_of(entry["roofmark"])
        if value:
            rated.setdefault(unit, []).append((entry, value))
    if not rated:
        return [bars([(e, e["roofmark"]["measurement"]["median"]) for e in entries], "median", axis=plots.time_axis)]
    return [rates(rated[unit], unit) for unit in ("FLOP", "op", "B") if unit in rated]


def rates(rated, unit):
    """Over the first size that varies, or one bar per record."""
    varying = None
    for key in rated[0][0]["roofmark"]["shape"]:
        sizes = {plots.number(e["roofmark"]["shape"].get(key)) for e, _ in rated}
        if None not in sizes and len(sizes) > 1:
            varying = key
            break
    title = f"{'bandwidth' if unit == 'B' else 'rate'}, {units.PER_SECOND[unit]}"
    if varying is None:
        return bars(rated, title)
    series = {}
    for entry, value in sorted(rated, key=lambda item: plots.number(item[0]["roofmark"]["shape"][varying])):
        record = entry["roofmark"]
        series.setdefault((series_of(record), record["type"]), []).append((plots.number(record["shape"][varying]), value, entry))
    traces = []
    for i, ((label, kind), points) in enumerate(series.items()):
        distinct = len({x for x, _, _ in points}) == len(points)
        colour = plots.COLOURS[i % len(plots.COLOURS)]
        traces.append(plots.records_trace(
            f"{label}, {kind}", [p[2] for p in points], [p[0] for p in points], [p[1] for p in points],
            mode="lines+markers" if distinct else "markers", line={"color": colour}, marker={
                "color": colour, "symbol": plots.symbol_of(kind), "size": 7}))
    return {"data": traces, "layout": plots.layout(
        plots.axis(plots.text(varying), [x for trace in traces for x in trace["x"]]), plots.axis(title, [v for _, v in rated]), showlegend=True)}


def of_family(family, result, entries):
    """The plots of a family, each with its caption."""
    if family == "stream":
        made = [(stream(result, entries), "Bandwidth (size / median) over size. Dashed vertical lines mark the cache capacities: to the left "
                 "of a line the data fit into that cache. A copy counts the bytes read and the bytes written. Solid lines: fp64; dashed: fp32; "
                 "points without a line: measured at one size. The table's bandwidth leaves out the bytes that caches spare the limiting "
                 "memory.")]
    elif family == "gemm":
        made = [(gemm_squares(result, entries), "Square matrix products: rate over size, one colour per type. Dotted: the measured ceiling "
                 "of the type. Dashed with open markers: the library's first choice, where the best of several algorithms was measured too."),
                (gemm_projections(result, entries), "Other products: rate over n, the number of tokens in a transformer layer. "
                 "With few tokens, reading the weights is the limit; with many, arithmetic is.")]
    elif family == "attention":
        made = [(attention(entries, lambda record: record["placement"].get("flops_per_second"), "rate, FLOP/s"),
                 "Rate over sequence length, one line per implementation: with the scores in memory (naive, unfused) and without "
                 "(tiled, cuDNN). Masked query-key pairs are not counted."),
                (attention(entries, lambda record: record["measurement"]["median"], "time", plots.time_axis), "Time over sequence length."),
                (attention(entries, attention_memory, "memory, B"), "Memory of one execution: Q, K, V, O and the allocated workspace. "
                 "Scores in memory grow with the square of the length.")]
    elif family == "ceilings":
        made = [(ceilings_family(result, entries), "Each probe's share of the theoretical ceiling. The best probe of a resource sets its "
                 "measured ceiling.")]
    else:
        made = [(access_latency.ladders(result, entries), "Time per dependent access, over the range of the accesses. "
                 "Thick: the levels found; dashed: the end of a level, between two sizes. (2), (3): further steps within a level: a farther "
                 "part of the cache, or memory beyond the reach of a TLB."),
                (access_latency.over_sms(result, entries), "Time per access to the same line from each SM. "
                 "Thick: SMs at the same distance: near the half of L2 that holds the line, or near the other half."),
                (access_latency.loaded(result, entries), "Time per access while other SMs read, from an idle memory to a busy one."),
                (transfers.plot(result, entries), "Rate over each link. Dotted: time = latency + bytes / rate, fitted over the sizes. "
                 "Horizontal lines: the ceilings of the links (grey: measured, red: theoretical).")]
        if not any(figure for figure, _ in made):
            made = [(figure, "") for figure in generic(entries)]
    return [(figure, caption) for figure, caption in made if figure]
