# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Transfers between host and device, peers, or the host's nodes: series over size, and the rates of concurrent links."""

from . import plots, tables, units


def series_name(entry):
    """The name of a case without its bytes, which its series has."""
    return entry["name"].replace(f"/bytes:{entry['roofmark']['shape'].get('bytes')}", "", 1)


def ways(result, series):
    """The links of a series in words."""
    titles = {c["resource"]: c["title"] for c in result["ceilings"]}
    return " + ".join(titles.get(link, link.replace("_", " ")) for link in series["links"])


def crosses(entry, links):
    """Whether a record demands nothing but these links: a copy within the caches of a CPU belongs to no series."""
    return {demand["resource"] for phase in entry["roofmark"]["work"]["phases"] for demand in phase} <= set(links)


def sizes_of(series, entries):
    """What each of these cases of a series carries over its busiest link: where one GPU sends to several, more than the bytes of a flow."""
    largest = series["largest"]
    of_flow = plots.number(largest["case"].partition("/bytes:")[2].partition("/")[0])
    flows = largest["bytes"] / of_flow if of_flow else 1
    return [flows * float(entry["roofmark"]["shape"]["bytes"]) for entry in entries]


def plot(result, entries):
    """Rate over size, one colour per way to transfer, with the line that each series was fitted to; a menu chooses the links. None
    where no entry belongs to a series."""
    named = {}
    for entry in entries:
        named.setdefault(series_name(entry), []).append(entry)
    members = {series["series"]: [entry for entry in named.get(series["series"], ()) if crosses(entry, series["links"])]
               for series in result.get("transfers", {}).get("series", ())}
    drawn = [series for series in result.get("transfers", {}).get("series", ()) if members[series["series"]]]
    if not drawn:
        return None
    manners = list(dict.fromkeys(", ".join(series["how"]) for series in drawn))
    groups = {}
    for series in drawn:
        groups.setdefault((ways(result, series), tuple(series["links"])), []).append(series)
    sizes = [size for series in drawn for size in sizes_of(series, members[series["series"]])]
    x_range = plots.decades(sizes)
    span = [10**x_range[0], 10**x_range[1]]
    traces, owners = [], []
    for (title, links), of_links in groups.items():
        made = plots.link_lines(result, span, links)
        for series in of_links:
            points = sorted(members[series["series"]], key=lambda entry: float(entry["roofmark"]["shape"]["bytes"]))
            xs = sizes_of(series, points)
            name = ", ".join(series["how"])
            colour = plots.colour_of(name, manners)
            made.append(plots.records_trace(
                name, points, xs, [x / entry["roofmark"]["measurement"]["median"] for x, entry in zip(xs, points)],
                marker={"color": colour, "size": 6}))
            if "bytes_per_second" in series and len(xs) > 1:
                latency, rate = series.get("latency_seconds", 0), series["bytes_per_second"]
                said = f"{name}: {units.seconds(latency)} + bytes / {units.rate(rate, 'B')}"
                steps = [xs[0] * (xs[-1] / xs[0]) ** (i / 60) for i in range(61)]
                made.append(plots.line(said, steps, [x / (latency + x / rate) for x in steps], said,
                                       line={"color": colour, "width": 1.3, "dash": "dot"}))
        traces += [trace | {"visible": (title, links) == next(iter(groups))} for trace in made]
        owners += [(title, links)] * len(made)
    ys = [y for trace in traces for y in trace["y"]]
    return {"data": traces, "layout": plots.layout(
        plots.axis("size, B over each link", sizes, range=x_range, dtick=1), plots.axis("rate over each link, B/s", ys, range=plots.decades(ys), dtick=1),
        540, showlegend=True, margin={"l": 84, "r": 24, "t": 64, "b": 56}, **plots.menu([title for title, _ in groups], [
            [owner == group for owner in owners] for group in groups]))}


def table(result):
    """A row for each series; None without any."""
    contention = {c["together"]: c for c in result.get("transfers", {}).get("contention", ())}
    rows = []
    for series in result.get("transfers", {}).get("series", ()):
        largest = series["largest"]
        together = contention.get(largest["case"])
        rows.append([
            ways(result, series), ", ".join(series["how"]), tables.quantity(largest["bytes"], units.size),
            tables.quantity(largest["bytes_per_second"], units.rate, "B", more=largest["case"]),
            tables.quantity(largest.get("of_theoretical"), units.share), tables.quantity(largest.get("of_empirical"), units.share),
            tables.quantity(together["factor"], units.digits, 3, more="alone: " + ", ".join(together["alone"])) if together else ("", "", ""),
            tables.quantity(series.get("latency_seconds"), units.seconds),
            tables.quantity(series.get("bytes_per_second") if "points" in series else None, units.rate, "B"),
            tables.quantity(series.get("half_size_bytes"), units.size), tables.quantity(series.get("r2"), units.digits, 4),
            tables.quantity(series.get("points"), str)])
    return tables.table("transfers", [
        ("Links", "The links that the transfer uses at the same time", False), ("How", "The other keys of the names", False),
        ("Largest", "Bytes over each link", True), ("Rate", "Rate of the largest size, over each link", True),
        ("of theor.", "Share of the links' theoretical ceiling", True), ("of roof", "Share of the measured ceiling", True),
        ("Together / alone", "Time of the flow that is slowest alone / time of all together: 1 if they share nothing", True),
        ("Latency", "Of the fit: time = latency + bytes / rate", True), ("Rate of the fit", "Rate of an infinitely long transfer", True),
        ("Half at", "The size at which half of that rate is reached: latency x rate", True),
        ("r2", "Of the fit, by relative errors", True), ("Sizes", "Number of measured sizes", True)], rows, empty=False) if rows else None


def path_words(path):
    """What connects two GPUs: "18 NVLinks", "a PCIe host bridge"."""
    if not path:
        return ""
    refusal = f"no access to each other's memory: {path['refusal']}" if "refusal" in path else ""
    return "; ".join(part for part in (path.get("text"), refusal) if part)


def matrices(result):
    """Of each series of pairs the rates at its largest size, as a heat map with its caption."""
    largest = {}
    if not result["benchmarks"]:
        return []
    for matrix in result.get("transfers", {}).get("matrices", ()):
        largest[matrix["series"]] = max(largest.get(matrix["series"], matrix), matrix, key=lambda one: one["bytes"])
    return [heat(matrix) for matrix in largest.values()]


def heat(matrix):
    cells = {}
    for cell in matrix["cells"]:
        said = f"{cell['from']} to {cell['to']}: {units.rate(cell['bytes_per_second'], 'B')}"
        words = path_words(cell.get("path"))
        cells[cell["from"], cell["to"]] = (cell["bytes_per_second"], plots.text(said) + (f"<br>{plots.text(words)}" if words else ""))
    ends = [sorted({key[side] for key in cells}, key=lambda end: (end.partition(":")[0], int(end.partition(":")[2] or -1))) for side in (0, 1)]
    trace = plots.heat_map(*ends, cells, lambda rate: (units.digits(rate / 1e9), units.rate(rate, "B")), True)

    def axis(title, names, **extra):
        every = max(1, len(names) // 32)
        return plots.axis(title, type="linear", dtick=None, tickvals=list(range(0, len(names), every)), ticktext=names[::every], tickformat="",
                          showgrid=False, mirror=False, ticks="", showline=False, **extra)

    down, across = ends
    through = ", through host memory" if matrix.get("staged") else ""
    title = plots.text(f"{', '.join(matrix['how'])}, {units.size(matrix['bytes'])}{through}: GB/s")
    return {"data": [trace], "layout": plots.layout(
        axis("to", across, range=[-0.5, len(across) - 0.5]), axis("from", down, range=[len(down) - 0.5, -0.5]), 150 + 50 * min(len(down), 16),
        margin={"l": 80, "r": 10, "t": 50, "b": 50}, title={"text": title, "font": {"size": 13}, "x": 0.02})}
