# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Communication of a team of ranks: tables with nccl-tests' columns, and figures."""

import math

from . import plots, units
from .result import rank_of_finding

# Keys that have a column of their own; the others make the variant.
COLUMNS = ("bytes", "ranks", "op", "root", "place", "impl")
LINE = 0.9  # minimum r2 of a linear fit


def concerns(entry):
    """Whether a record belongs to the section on communication."""
    record = entry["roofmark"]
    return "overlap" in record or ("message" in record and "sets_ceiling" not in record)


def is_collective(entry):
    record = entry["roofmark"]
    return concerns(entry) and "overlap" not in record and record["message"].get("pattern") != "pairs"


def name_of(record):
    """all_reduce; sustained/all_reduce."""
    return "/".join(word for word in (record["family"], record.get("operation")) if word)


def bandwidth(record):
    """Seconds of one trip, algbw and busbw."""
    message = record["message"]
    seconds = record["measurement"]["median"] / message.get("trips", 1)
    return seconds, message["bytes"] / seconds, message["bytes"] / seconds * message["bus_factor"]


def loads_fully(record):
    """The ranks load their links as the probes of the links do: not pairs, fewer ranks, or one rank more than the others."""
    return not any(demand.get("lighter") for phase in record["work"]["phases"] for demand in phase)


def variant(record):
    return " ".join(f"{key}:{value}" for key, value in record["shape"].items() if key not in COLUMNS)


def hosts(result):
    return {member["rank"]: member["host"] for member in result.get("team", [])}


def who(rank, names):
    return f"rank {rank} ({names[rank]})" if rank in names else f"rank {rank}"


def members(result):
    """Columns and rows of the table of ranks."""
    columns = [("Rank", "", True), ("Host", "", False), ("Local rank", "Rank within its host", True), ("Device", "", False),
               ("UUID", "", False), ("PCI bus", "", False), ("NUMA node", "Of the device", True), ("Cores", "Cores that the process may use", False),
               ("Network ports", "Ports of the host that are up, near the device if NUMA nodes are known", False),
               ("NVLink", "One direction, per GPU", True), ("PCIe", "One direction, per GPU", True)]
    rows = []
    for m in result.get("team", []):
        near = [n for n in m["nics"] if "numa_node" not in m or n.get("numa_node", m["numa_node"]) == m["numa_node"]]
        ports = {}
        for n in near:
            ports.setdefault((n["kind"], n.get("bytes_per_second")), []).append(n["name"])
        nics = "; ".join(f"{', '.join(names)} ({kind}{', ' + units.link_rate(rate) if rate else ''})" for (kind, rate), names in ports.items())
        cores = m.get("cores", [])
        rows.append([
            (str(m["rank"]), m["rank"], "\n".join(f"{name}: {version}" for name, version in m["versions"].items())), m["host"],
            (str(m["local_rank"]), m["local_rank"], f"process {m['pid']}"), f"{m['device_name']} ({m['device_id']})", m.get("uuid", ""),
            m.get("pci_bus_id", ""), str(m["numa_node"]) if "numa_node" in m else "",
            f"{', '.join(map(str, cores[:8]))}{f', ... ({len(cores)} in all)' if len(cores) > 8 else ''}", nics,
            (units.rate(m.get("nvlink_bytes_per_second"), "B"), m.get("nvlink_bytes_per_second", ""), m.get("nvlink_source", "")),
            (units.rate(m.get("pcie_bytes_per_second"), "B"), m.get("pcie_bytes_per_second", ""), m.get("pcie_source", ""))])
    return columns, rows


def team_of(record):
    """The label of the team, type, implementation and variant of a record."""
    words = [f"{record['message']['ranks']} ranks", record["type"], record["shape"].get("impl", "")] + [w for w in (variant(record),) if w]
    return ", ".join(words)


def busbw(result):
    """Bus bandwidth over size, one colour per collective; a menu chooses type, ranks and variant."""
    drawn = [e for e in result["benchmarks"] if is_collective(e) and e["roofmark"]["message"]["bytes"] > 0 and
             bandwidth(e["roofmark"])[2] > 0]
    if not drawn:
        return None
    ops = list(dict.fromkeys(name_of(e["roofmark"]) for e in drawn))
    teams = {}
    for entry in sorted(drawn, key=lambda e: e["roofmark"]["message"]["bytes"]):
        record = entry["roofmark"]
        key = (name_of(record), record["message"].get("reduction", ""), record["message"].get("place", ""))
        teams.setdefault(team_of(record), {}).setdefault(key, []).append(entry)
    order = sorted(teams, key=lambda team: (len(teams[team]), sum(map(len, teams[team].values()))), reverse=True)
    sizes = [e["roofmark"]["message"]["bytes"] for e in drawn]
    x_range = plots.decades(sizes)
    traces, owners = [], []
    for team in order:
        demanded = {d["resource"] for entries in teams[team].values() for e in entries
                    for phase in e["roofmark"]["work"]["phases"] for d in phase}
        made = plots.link_lines(result, [10**x_range[0], 10**x_range[1]], demanded)
        reductions = {reduction for _, reduction, _ in teams[team] if reduction}
        for (op, reduction, place), entries in teams[team].items():
            colour = plots.colour_of(op, ops)
            name = op + (f" {reduction}" if len(reductions) > 1 and reduction else "") + (", in place" if place == "in" else "")
            made.append(plots.records_trace(
                name, entries, [e["roofmark"]["message"]["bytes"] for e in entries], [bandwidth(e["roofmark"])[2] for e in entries],
                mode="lines+markers", line={"color": colour, "width": 1.6, "dash": "dash" if place == "in" else "solid"},
                marker={"color": colour, "symbol": "circle-open" if place == "in" else "circle", "size": 6}))
        for trace in made:
            traces.append(trace | {"visible": team == order[0]})
            owners.append(team)
    ys = [y for trace in traces for y in trace["y"]]
    return {"data": traces, "layout": plots.layout(
        plots.axis("size, B", sizes, range=x_range, dtick=1), plots.axis("bus bandwidth, B/s", ys, range=plots.decades(ys), dtick=1), 560,
        showlegend=True, margin={"l": 84, "r": 24, "t": 64, "b": 56}, **plots.menu(order, [[owner == team for owner in owners] for team in order]))}


def matrix(result, size, title, value, form, more_is_better):
    """The pairs at one size as a heat map; darker is worse, lines separate the hosts."""
    pairs = [p for p in result["communication"]["pairs"] if p["bytes"] == size and p["a"] != p["b"]]
    names = hosts(result)
    ranks = sorted({rank for p in result["communication"]["pairs"] if p["bytes"] == size for rank in (p["a"], p["b"])})
    cells = {}
    for p in pairs:
        said = f"{plots.text(who(p['a'], names))} and {plots.text(who(p['b'], names))}: {form(value(p))[1]}"
        cells[p["a"], p["b"]] = cells[p["b"], p["a"]] = (value(p), said)
    if not cells:
        return None
    trace = plots.heat_map(ranks, ranks, cells, form, more_is_better)
    borders = [i - 0.5 for i in range(1, len(ranks)) if names.get(ranks[i]) != names.get(ranks[i - 1])]
    ends = [-0.5, len(ranks) - 0.5]
    shapes = [{"type": "line", "line": {"color": "#D55E00", "width": 2}} | ends_of for at in borders for ends_of in (
        {"x0": at, "x1": at, "y0": ends[0], "y1": ends[1]}, {"x0": ends[0], "x1": ends[1], "y0": at, "y1": at})]
    starts = [0] + [math.ceil(at) for at in borders]
    annotations = [{"x": (start + end - 1) / 2, "yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False, "font": {"size": 11},
                    "text": plots.text(names.get(ranks[start], ""))} for start, end in zip(starts, [*starts[1:], len(ranks)])]
    every = max(1, len(ranks) // 32)
    axis = {"type": "linear", "dtick": None, "tickvals": list(range(0, len(ranks), every)), "tickformat": "", "showgrid": False, "mirror": False,
            "ticktext": [str(rank) for rank in ranks[::every]], "ticks": "", "showline": False}
    return {"data": [trace], "layout": plots.layout(
        plots.axis("rank", **axis, range=ends), plots.axis("rank", **axis, range=ends[::-1]), 560, shapes=shapes,
        annotations=annotations if sum(len(a["text"]) + 2 for a in annotations) <= 70 else [], margin={"l": 60, "r": 10, "t": 62, "b": 50},
        title={"text": title, "font": {"size": 13}, "x": 0.02, "y": 0.98, "yanchor": "top"})}


def matrices(result):
    """Latency at the smallest size and bandwidth at the largest."""
    sizes = sorted({p["bytes"] for p in result["communication"]["pairs"]})
    if not sizes:
        return []
    made = [matrix(result, sizes[0], f"one way, {units.size(sizes[0])}: time, us", lambda p: p["seconds"],
                   lambda v: (units.digits(v * 1e6), units.seconds(v)), False)]
    if sizes[-1] > max(sizes[0], 0):
        made.append(matrix(result, sizes[-1], f"one way, {units.size(sizes[-1])}: bandwidth, GB/s", lambda p: p["bytes"] / p["seconds"],
                           lambda v: (units.digits(v / 1e9), units.rate(v, "B")), True))
    return [figure for figure in made if figure]


def pairs_of_all(result):
    """How many of all pairs were measured, in words; empty where all were."""
    ranks, measured = len(result["team"]), len({(p["a"], p["b"]) for p in result["communication"]["pairs"] if p["a"] != p["b"]})
    all_pairs = ranks * (ranks - 1) // 2
    return f"{measured} of {all_pairs} pairs were measured" if measured < all_pairs else ""


def largest_common(rows):
    """Per series, the rows of the largest size that most of its teams measured."""
    teams = {}
    for row in rows:
        teams.setdefault(row["series"], {}).setdefault(row["bytes"], []).append(row)
    return {series: max(sizes.items(), key=lambda item: (len(item[1]), item[0]))[1] for series, sizes in teams.items()}


def scaling(result):
    """Efficiency over ranks: strong scaling at the largest common size, weak scaling at each team's largest."""
    every = result["communication"]["scaling"]
    common, grown = largest_common(every), {}
    for row in every:
        if "weak_efficiency" in row:
            largest = grown.setdefault(row["series"], {}).setdefault(row["ranks"], row)
            grown[row["series"]][row["ranks"]] = max(largest, row, key=lambda r: r["bytes"])
    traces = []
    for i, name in enumerate(common):
        for key, word, dash, rows in (("strong_efficiency", "strong", "solid", common[name]),
                                      ("weak_efficiency", "weak", "dash", grown.get(name, {}).values())):
            points = sorted((r for r in rows if key in r), key=lambda r: r["ranks"])
            if not points:
                continue
            traces.append({
                "type": "scatter", "mode": "lines+markers", "name": plots.text(f"{name}, {word}"), "x": [r["ranks"] for r in points],
                "y": [100 * r[key] for r in points], "line": {"color": plots.COLOURS[i % len(plots.COLOURS)], "dash": dash, "width": 1.8},
                "text": [f"{plots.text(name)}<br>{r['ranks']} ranks, {units.size(r['bytes'])}: busbw {units.rate(r.get('busbw'), 'B')}<br>"
                         f"{word} efficiency {units.share(r[key])}" for r in points], "hovertemplate": "%{text}<extra></extra>"})
    if not traces:
        return None
    ranks = sorted({x for trace in traces for x in trace["x"]})
    x = plots.axis("ranks", tickvals=ranks, ticktext=[str(n) for n in ranks], range=plots.decades(ranks, 1.15, 1.15))
    y = plots.axis("busbw relative to the smallest team", type="linear", dtick=None, tickformat="", ticksuffix=" %", rangemode="tozero")
    whole = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 100, "y1": 100, "line": {"color": plots.CEILING, "width": 1, "dash": "dot"}}
    return {"data": traces, "layout": plots.layout(x, y, 380, showlegend=True, shapes=[whole], margin={"l": 84, "r": 24, "t": 24, "b": 100},
                                                   legend={"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0, "font": {"size": 12}})}


def overlaps(result):
    """Matrix product and all-reduce in sequence, above both together."""
    found = result["communication"]["overlaps"]
    if not found:
        return None
    ys = [[plots.text(o["series"].removeprefix("overlap/")) for o in found for _ in range(2)],
          [word for _ in found for word in ("in sequence", "together")]]
    parts = [("product", "work_seconds", None, plots.COLOURS[0]), ("all-reduce", "communication_seconds", None, plots.COLOURS[1]),
             ("both together", None, "together_seconds", plots.COLOURS[2])]
    traces = []
    for name, first, second, colour in parts:
        xs = [o[key] if key else None for o in found for key in (first, second)]
        traces.append({"type": "bar", "orientation": "h", "name": name, "x": xs, "y": ys, "marker": {"color": colour},
                       "text": [units.seconds(x) for x in xs], "textposition": "inside", "insidetextanchor": "middle",
                       "hovertemplate": name + ": %{text}<extra></extra>"})
    x = plots.time_axis("time", [o[key] for o in found for key in ("work_seconds", "communication_seconds", "together_seconds")] + [
        o["work_seconds"] + o["communication_seconds"] for o in found], type="linear", dtick=None, rangemode="tozero")
    y = plots.axis("", type="multicategory", autorange="reversed", tickformat="", ticks="", dtick=None, tickfont={"size": 11})
    return {"data": traces, "layout": plots.layout(x, y, 130 + 80 * len(found), barmode="stack", showlegend=True, bargap=0.25,
                                                   margin={"l": 84, "r": 24, "t": 40, "b": 56},
                                                   legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "traceorder": "normal"})}


def wrong_elements(record):
    found = record.get("verification", {})
    if record["status"] == "wrong":
        return str(max((v.get("wrong", 0) for v in found.values()), default=0) or "wrong")
    last = found.get("after") or found.get("before")
    return "0" if last and last["status"] == "passed" else "N/A"


def place_cells(entry):
    """time, algbw, busbw, #wrong of one case; empty cells without one."""
    if entry is None:
        return ["", "", "", ""]
    record = entry["roofmark"]
    more = "\n".join([entry["name"], record.get("reason", ""), *(f"{key}: {value}" for key, value in record["notes"].items())]).strip()
    if record["status"] != "ok":
        return [("-", "", more), "-", "-", wrong_elements(record)]
    seconds, alg, bus = bandwidth(record)
    us = seconds * 1e6
    # One rank has no link.
    rates = [("", "", "")] * 2 if record["message"]["ranks"] == 1 else [(f"{rate / 1e9:.2f}", rate, "") for rate in (alg, bus)]
    return [(f"{us:.{2 if us < 100 else 1 if us < 10000 else 0}f}", seconds, more), *rates, wrong_elements(record)]


def on_the_wire(record):
    """The share of the same roof by the bytes that a network which reduces leaves on the link; None where it saves none."""
    placement = record["placement"]
    demands = [d for phase in record["work"]["phases"] for d in phase if d["resource"] == placement.get("bound_by")]
    moved, saved = sum(d["amount"] for d in demands), sum(d.get("avoidable", 0) for d in demands)
    share_of_roof = placement.get("of_empirical", placement.get("of_theoretical"))
    return share_of_roof * (moved - saved) / moved if saved and share_of_roof is not None else None


def placement_cells(entry, rings):
    """of roof, of theor., on the wire, of ring, p95, p99 of one case; empty cells without one."""
    if entry is None:
        return [share(None)] * 4 + ["", ""]
    record = entry["roofmark"]
    placement, measured, trips = record.get("placement", {}), record.get("measurement", {}), record["message"].get("trips", 1)
    return [share(placement.get("of_empirical")), share(placement.get("of_theoretical")), share(on_the_wire(record) if placement else None),
            share(rings.get(entry["name"])), *(f"{measured[key] / trips * 1e6:.1f}" if key in measured else "" for key in ("p95", "p99"))]


def in_place_share(entry):
    return entry["roofmark"].get("placement", {}).get("of_empirical") if entry else None


def collective_columns(any_out):
    """Shares and percentiles are those out of place, of a table without any those in place."""
    place = "" if any_out else "in place: "
    return [
        ("size, B", "As nccl-tests defines it", True), ("count", "Elements per call, as nccl-tests counts them", True), ("redop", "", False), ("root", "", True), ("ranks", "", True),
        ("variant", "", False), ("time, us", "Out of place: median of the slowest rank", True), ("algbw, GB/s", "size / time", True),
        ("busbw, GB/s", "algbw x the bus factor of the collective", True), ("#wrong", "Wrong elements", True), ("in place: time, us", "", True),
        ("algbw, GB/s", "", True), ("busbw, GB/s", "", True), ("#wrong", "", True),
        ("bound by", "The resource that limits this case", False), (f"{place}of roof", "Minimum time on the measured ceilings / time", True),
        ("of theor.", "Minimum time on the theoretical ceilings / time", True), ("on the wire", "Share of the same roof, counting only the bytes on the wire if the network reduces", True),
        ("of ring", "Where several hosts have several ranks each: the time of rings over all links and NICs, at their measured rates, / measured time; above 100 % is faster than rings", True),
        ("p95, us", "Over the samples of the slowest rank", True), ("p99, us", "", True), *([("in place: of roof", "", True)] if any_out else [])]


def collectives(result):
    """(title, columns, rows), one table per collective, type and implementation; out of place and in place share a row, and wrong
    records keep theirs."""
    rings = {ring["case"]: ring["ratio"] for ring in result["communication"]["rings"]}
    tables = {}
    for entry in result["benchmarks"] + result["unmeasured"]:
        record = entry["roofmark"]
        if not is_collective(entry) or record["status"] not in ("ok", "wrong") or record["pass"] == 2:
            continue
        call = tuple(pair for pair in record["shape"].items() if pair[0] != "place")
        lines = tables.setdefault(f"{name_of(record)}/{record['type']}/impl:{record['shape'].get('impl', '')}", {})
        lines.setdefault(call, {})["in" if record["message"].get("place") == "in" else "out"] = entry
    made = []
    for title, lines in tables.items():
        rows = []
        any_out = any("out" in places for places in lines.values())
        # Teams in the order of their measurement, each with its sizes together.
        first = {}
        for places in lines.values():
            record = next(iter(places.values()))["roofmark"]
            first.setdefault((record["message"]["ranks"], variant(record)), len(first))

        def order(places, first=first):
            record = next(iter(places.values()))["roofmark"]
            return first[record["message"]["ranks"], variant(record)], record["message"]["bytes"]

        for places in sorted(lines.values(), key=order):
            entry = places.get("out") or places["in"]
            message, bound_by = entry["roofmark"]["message"], entry["roofmark"].get("placement", {}).get("bound_by", "")
            rows.append([
                (str(message["bytes"]), message["bytes"], ""), str(message["count"]), message.get("reduction", ""),
                str(message.get("root", -1)), str(message["ranks"]), variant(entry["roofmark"]),
                *place_cells(places.get("out")), *place_cells(places.get("in")), bound_by,
                *placement_cells(places.get("out" if any_out else "in"), rings),
                *([share(in_place_share(places.get("in")))] if any_out else [])])
        made.append((title, collective_columns(any_out), rows))
    return made


def share(value):
    return (units.share(value), "" if value is None else value, "")


def fits(result):
    columns = [("time = latency + size / rate", "The name of the case without its size", False), ("Latency", "", True), ("Rate", "algbw", True),
               ("as busbw", "", True), ("r²", "Of the weighted fit, from three sizes", True), ("Sizes", "", True)]
    return columns, [[
        f["series"], (units.seconds(f.get("latency_seconds")), f.get("latency_seconds", ""), ""),
        (units.rate(f.get("bytes_per_second"), "B"), f.get("bytes_per_second", ""), ""),
        (units.rate(f.get("bus_bytes_per_second"), "B"), f.get("bus_bytes_per_second", ""), ""),
        f"{f['r2']:.4f}{' (no line)' if f['r2'] < LINE else ''}" if "r2" in f else "", str(f["points"])] for f in result["communication"]["fits"]]


def scaling_rows(result):
    columns = [("Series", "", False), ("Size", "", True), ("Ranks", "", True), ("Time", "", True), ("busbw", "", True),
               ("Strong", "busbw relative to the smallest team of at least 2 ranks, at the same size of all ranks' parts; an all-reduce has none", True),
               ("Weak", "The same, at the same size per rank", True)]
    return columns, [[r["series"], (units.size(r["bytes"]), r["bytes"], ""), str(r["ranks"]), (units.seconds(r["seconds"]), r["seconds"], ""),
                      (units.rate(r.get("busbw"), "B"), r.get("busbw", ""), ""), share(r.get("strong_efficiency")), share(r.get("weak_efficiency"))]
                     for r in result["communication"]["scaling"]]


def overlap_rows(result):
    columns = [("Case", "", False), ("Product", "", True), ("All-reduce", "", True), ("Both together", "", True),
               ("Hidden", "Of what can be hidden: (product + all-reduce - both) / the shorter of the two", True),
               ("± 95 %", "From the blocks, in which the three were measured beside each other", True),
               ("Product covers", "Product / all-reduce, 100 % at most: the share of the all-reduce that the product can hide", True),
               ("Product slowed by", "Only if the product takes longer than the all-reduce", True)]
    return columns, [[o["series"], *((units.seconds(o[key]), o[key], "") for key in ("work_seconds", "communication_seconds", "together_seconds")),
                      share(o["hidden"]), share(o.get("hidden_half_width")), share(o["covered"]), share(o.get("slow_down"))] for o in result["communication"]["overlaps"]]


def slowest(result):
    columns = [("Slowest of", "", False), ("", "", False), ("Among", "", True), ("× median", "Geometric mean over the cases or sizes", True),
               ("MADs above", "Scaled median absolute deviations", True), ("× fastest", "", True)]
    return columns, [[s["of"], s["who"], str(s["among"]), (f"{s['times_median']:.3f}", s["times_median"], ""),
                      f"{s['mads']:.1f}" if "mads" in s else "", (f"{s['times_fastest']:.3f}", s["times_fastest"], "")]
                     for s in result["communication"]["slowest"]]


def groups(result):
    columns = [("Groups", "", False), ("", "", False), ("× within", "Time of pairs with the nearest other group / of pairs within", True)]
    return columns, [[g["of"], g["who"], (f"{g['times_within']:.2f}", g["times_within"], "")] for g in result["communication"].get("groups", ())]


def stragglers(result):
    """The findings that name a rank, host or link, and whether the run measured anything that could show one."""
    named = sorted((f for f in result["findings"] if "ranks" in f["found_by"]), key=rank_of_finding)
    return named, bool(named or result["communication"]["slowest"] or result["communication"]["pairs"])
