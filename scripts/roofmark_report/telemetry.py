# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The device's behaviour during the run: telemetry over time, counters, energy, sustained load. All of it is optional in a result
file; only this module uses its names."""

import math
import statistics

from . import plots, units
from .tables import quantity, table

POINTS = 600  # per line of a plot
LISTED = 24  # rows of sustained load
# The plots of telemetry, from top to bottom: (title, columns as (column, name, scale)).
PANELS = (
    ("clock, MHz", (("sm_clock_hz", "SM clock", 1e-6), ("memory_clock_hz", "memory clock", 1e-6))),
    ("power, W", (("power_watts", "power", 1),)),
    ("temperature,<br>°C", (("temperature_celsius", "temperature", 1), ("memory_temperature_celsius", "memory temperature", 1),
                         ("slowdown_margin_celsius", "margin to slowdown", 1))),
)
# The same of several devices, with a line for each: (title, column, scale).
SHARED_PANELS = (("SM clock,<br>MHz", "sm_clock_hz", 1e-6), ("memory<br>clock, MHz", "memory_clock_hz", 1e-6), ("power, W", "power_watts", 1),
                 ("temperature,<br>°C", "temperature_celsius", 1), ("memory<br>temp., °C", "memory_temperature_celsius", 1))
SHARED = 16  # devices in one plot
NAMED_PER_ROW = 6  # names in a row of a legend, at the width of an A4 page


def _work(record):
    """Of a launch's work what its rate is told by, as on the terminal: all of the first demand, and its unit."""
    demands = [demand for phase in record["work"]["phases"] for demand in phase]
    if not demands:
        return 1, "launch"
    return sum(demand["amount"] for demand in demands if demand["resource"] == demands[0]["resource"]), demands[0]["unit"]


def _sustained_of(record, named):
    """(device, rates) of a load that lasted: of each rank by itself, or of all as one (device: None)."""
    ranks = [(named(rank), times["sustained"]) for rank, times in enumerate(record["measurement"].get("ranks", []))
             if times and "sustained" in times]
    return ranks or ([(None, record["sustained"])] if "sustained" in record else [])


def summary(result, places):
    """What the tables below need of a result; `places` names the device of each rank."""
    places = dict(enumerate(places))

    def named(rank):
        return places.get(rank, f"rank {rank}")

    energy, sustained = [], []
    for entry in result["benchmarks"]:
        record = entry["roofmark"]
        if found := record["measurement"].get("telemetry"):
            energy.append((entry["name"], record["pass"], found))
        for where, found in _sustained_of(record, named):
            work, unit = _work(record)
            rates = {key: found[key] * work for key in ("burst_rate", "settled_rate")}  # launches per second in the file
            sustained.append((entry["name"], where, unit, found | rates))
    ranks = [(named(rank), found["summary"]) for rank, found in enumerate(result.get("rank_telemetry", [])) if found]
    return {"telemetry": bool(result.get("telemetry", {}).get("rows")) or bool(ranks), "rank_telemetry": ranks, "energy": energy,
            "counters": [(counter, named(counter["rank"])) for counter in result.get("counters", [])], "sustained": sustained}


def _thinned(xs, ys):
    """At most POINTS points: the lowest and the highest of each stretch, so that no dip or peak is lost."""
    known = [(x, y) for x, y in zip(xs, ys) if y is not None]
    if len(known) <= POINTS:
        return known
    size = -(-2 * len(known) // POINTS)
    kept = []
    for first in range(0, len(known), size):
        stretch = known[first:first + size]
        kept += sorted({min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])})
    return kept


def _throttled_spans(found, end):
    """(begin, end, reasons) of each stretch in which the device reported reasons to lower its clock."""
    changes = [(seconds, tuple(map(str, reasons))) for seconds, *reasons in found.get("reasons", []) if not isinstance(seconds, str)]
    ends = [seconds for seconds, _ in changes[1:]] + [end]
    return [(begin, until, reasons) for (begin, reasons), until in zip(changes, ends) if reasons and until > begin]


def _columns(found):
    """A series by column, empty without any reading or any time."""
    columns = dict(zip(found.get("columns", ()), zip(*found.get("rows", ()))))
    return columns if None not in columns.get("seconds", [None]) else {}


def _line(columns, column, name, scale):
    """(name, points) of a column over time; no points where it was never read."""
    values = columns.get(column, [None] * len(columns["seconds"]))
    return name, _thinned(columns["seconds"], [value if value is None else scale * value for value in values])


def _device_courses(result, places):
    """(name, columns) of the devices of several that have telemetry: of more than SHARED, the slowest and the hottest halves."""
    found = [(places[rank] if rank < len(places) else f"rank {rank}", one["summary"], columns) for rank, one in enumerate(result.get("rank_telemetry", []))
             if one and (columns := _columns(one["course"]))]
    if len(found) > SHARED:
        slowest = sorted(found, key=lambda one: one[1].get("sm_clock_hz", math.inf))[:SHARED // 2]
        hottest = sorted((one for one in found if one not in slowest), key=lambda one: -one[1].get("temperature_celsius", -math.inf))
        shown = slowest + hottest[:SHARED - len(slowest)]
        found = [one for one in found if one in shown]
    hosts = {name.partition(" ")[0] for name, *_ in found}
    return [(name.partition(" ")[2] if len(hosts) == 1 and places else name, columns) for name, _, columns in found]


def plot(result, places=()):
    """Clock, power and temperature over the run, one above the other; None without telemetry. `places` names the device of each rank."""
    devices = _device_courses(result, places)
    several = bool(devices)
    columns = {} if several else _columns(result.get("telemetry", {}))
    if several:
        named = [(title, [_line(columns, column, name, scale) for name, columns in devices]) for title, column, scale in SHARED_PANELS]
    elif columns:
        named = [(title, [_line(columns, *line) for line in lines]) for title, lines in PANELS]
    else:
        return None
    panels = [(title, lines) for title, lines in ((title, [line for line in lines if line[1]]) for title, lines in named) if lines]
    if not panels:
        return None
    traces, axes, colours = [], {}, {}
    height = 1 / len(panels)
    for i, (title, lines) in enumerate(panels):
        suffix = "" if i == 0 else str(i + 1)
        for name, points in lines:
            shown_before = name in colours
            number = colours.setdefault(name, len(colours))
            traces.append({"type": "scatter", "mode": "lines", "name": plots.text(name), "x": [x for x, _ in points], "y": [y for _, y in points],
                           "yaxis": f"y{suffix}", "legendgroup": str(number), "showlegend": not shown_before,
                           "line": {"width": 1.1, "color": plots.COLOURS[number % len(plots.COLOURS)],
                                    "dash": "solid" if number < len(plots.COLOURS) else "dot"}})
        axes[f"yaxis{suffix}"] = plots.axis(title, type="linear", dtick=None, tickformat="", rangemode="tozero",
                                            domain=[1 - (i + 1) * height + 0.03, 1 - i * height])
    times = [seconds for _, one in devices or [("", columns)] for seconds in (one["seconds"][0], one["seconds"][-1])]
    spans = [] if several else _throttled_spans(result["telemetry"], max(times))
    shapes = [{"type": "rect", "xref": "x", "yref": "paper", "x0": begin, "x1": end, "y0": 0, "y1": 1, "fillcolor": "#E69F00", "opacity": 0.2,
               "line": {"width": 0}, "layer": "below"} for begin, end, _ in spans]
    x = plots.axis(f"seconds since {'each' if several else 'the'} device was opened", type="linear", dtick=None, tickformat="",
                   anchor=f"y{'' if len(panels) == 1 else len(panels)}",
                   range=[min(times), max(times)])
    above = 18 * (1 + (len(colours) - 1) // NAMED_PER_ROW)  # pixels of the legend
    layout = plots.layout(x, axes.pop("yaxis"), 105 * len(panels) + 77 + above, shapes=shapes, showlegend=True,
                          margin={"l": 66, "r": 12, "t": 16 + above, "b": 44}, font=plots.FONT | {"size": 11}) | axes
    layout["legend"] |= {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 10}}
    return {"data": traces, "layout": layout}


def reasons(result):
    """The reasons that lowered the clock of the one device of a run, with the seconds of each."""
    columns = {} if "rank_telemetry" in result else _columns(result.get("telemetry", {}))
    lasted = {}
    for begin, end, named in _throttled_spans(result["telemetry"], columns["seconds"][-1]) if columns else ():
        for reason in named:
            lasted[reason] = lasted.get(reason, 0) + end - begin
    return [(reason, units.duration(seconds)) for reason, seconds in sorted(lasted.items(), key=lambda item: -item[1])]


def _median(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _extreme(which, values):
    known = [value for value in values if value is not None]
    return which(known) if known else None


def tables(files, judged=()):
    """What a page shows of telemetry, by the names of its macro; `judged` are the cases whose energy is listed."""
    return {"ranks": ranks_table(files), "energy": energy_table(files, judged), "sustained": sustained_table(files), "listed": LISTED,
            "counters": counters_table(files)}


def energy_table(files, judged):
    """A row per judged case: medians and extremes over the results."""
    cases = {}
    for file in files:
        for name, number, found in file["energy"]:
            if name in judged:
                cases.setdefault(name + (" (after)" if number == 2 else ""), []).append(found)
    several = any(len(found) > 1 for found in cases.values())  # else the median is the only value
    rows = []
    for name, found in cases.items():
        def of(key, found=found):
            return [one.get(key) for one in found]

        shares = [(share, reason) for one in found for reason, share in one.get("throttled_share", {}).items() if share]
        worst = max(shares, default=None)
        rows.append([name, str(len(found)) if several else "",
                     quantity(_median(of("sm_clock_hz")), units.clock), quantity(_extreme(min, of("sm_clock_hz")) if several else None, units.clock),
                     quantity(_median(of("power_watts")), units.watts), quantity(_extreme(max, of("power_watts")) if several else None, units.watts),
                     quantity(_median(of("joules_per_launch")), units.joules),
                     quantity(_median(of("flops_per_joule")), units.joules, "FLOP/J"),
                     f"{units.share(worst[0])}, {worst[1]}" if worst else ""])
    return table("energy", [
        ("Case", "", False), ("Results", "", True), ("SM clock", "Median of the results", True), ("lowest", "", True), ("Power", "Median of the results", True),
        ("highest", "", True), ("Energy per launch", "Median of the results", True), ("Efficiency", "Median of the results", True),
        ("Throttled", "The largest share of time, and its reason", False)], rows, empty=False)


def ranks_table(files):
    """A row per device of the results of several: means and extremes over the whole run."""
    rows = []
    for where, found in (rank for file in files for rank in file["rank_telemetry"]):
        shares = sorted(((share, reason) for reason, share in found.get("throttled_share", {}).items() if share), reverse=True)
        rows.append([where, *(quantity(found.get(key), scale) for key, scale in (("sm_clock_hz", units.clock), ("memory_clock_hz", units.clock),
                                                                                    ("power_watts", units.watts))),
                     *(quantity(found.get(key), _degrees) for key in ("temperature_celsius", "memory_temperature_celsius", "slowdown_margin_celsius")),
                     ", ".join(f"{units.share(share)} {reason}" for share, reason in shares)])
    return table("ranks", [
        ("Device", "", False), ("SM clock", "Mean over the run", True), ("Memory clock", "Mean over the run", True), ("Power", "Mean over the run", True),
        ("Temperature", "Highest", True), ("Memory temperature", "Highest", True), ("Margin to slowdown", "Lowest", True),
        ("Throttled", "Share of the time, by reason", False)], rows, empty=False)


def _degrees(celsius):
    return "" if celsius is None else f"{celsius:.0f}\N{NO-BREAK SPACE}°C"


def _from_to(found, key, scale, unit):
    """A quantity of the burst and when settled."""
    values = [f"{scale * found[name]:.0f}" for name in (f"burst_{key}", f"settled_{key}") if name in found]
    return " → ".join(values) + f"\N{NO-BREAK SPACE}{unit}" if values else ""


def _dips(found):
    """ "3 (14 s, to 31.0 %)"; empty where they were not looked for."""
    dips = found.get("dips")
    if not dips:
        return ""
    return f"{dips['count']} ({units.duration(math.ceil(dips['seconds']))}, to {units.share(dips['deepest'])})" if dips["count"] else "0"


def sustained_table(files):
    """A row per result and sustained case: the rate of the burst against the rate that it settled at; those that fell furthest first."""
    cases = [(name, where or file["where"], unit, found) for file in files for name, where, unit, found in file["sustained"]]
    rows = []
    for name, where, unit, found in sorted(cases, key=lambda case: case[3].get("settled_of_burst", 1))[:LISTED]:
        compared, explained = found.get("launches_checked"), found.get("explained_by_clock")
        rows.append([
            name, where, quantity(found.get("burst_rate"), units.rate, unit), quantity(found.get("settled_rate"), units.rate, unit),
            quantity(found.get("settled_of_burst"), units.share),
            quantity(math.ceil(found["settled_after_seconds"]), units.duration) if "settled_after_seconds" in found else "never",
            _dips(found),
            _from_to(found, "memory_clock_hz" if found.get("clock") == "memory" else "clock_hz", 1e-6, "MHz"), _from_to(found, "power_watts", 1, "W"),
            quantity(found.get("rate_per_clock_ratio"), units.share), quantity(explained, units.share),
            "" if compared is None else f"{compared}" + (f" ({units.share(found['share_checked'])})" if "share_checked" in found else "")])
    return table("sustained", [
        ("Case", "", False), ("Device", "", False), ("Burst", "Rate of the first second", True), ("Settled", "Rate in the last quarter", True),
        ("of burst", "Settled / burst", True), ("Settled after", "", True),
        ("Dips", "How often the rate fell and recovered, and for how long in all; the lowest rate of a second, of the median second's", True), ("Clock by the driver", "Burst and settled: memory clock for memory-bound cases, else SM clock. The clock of the cases is counted in cycles, and may be lower under load (finding clock_under_load)", False), ("Power", "Burst and settled", False),
        ("Rate per clock", "Settled / burst, by the medians of rate / clock; more than 3 % from 100 % is a finding", True),
        ("Explained by the clock", "100 %: the rate fell as the clock did; 0 %: the clock held", True),
        ("Launches compared", "Launches whose output bits were compared with the verified launch's; in brackets, the share of all bytes written", True)],
        rows, empty=False)


def counters_table(files):
    """A row per counter: how many devices it was read on, and on which it got worse."""
    found = {}
    for file in files:
        for counter, where in file["counters"]:
            found.setdefault(counter["id"], []).append((counter, where))
    rows = []
    for name, read in found.items():
        title = next((counter["title"] for counter, _ in read if "title" in counter), name.replace("_", " "))
        worse = [f"{where}: {units.in_full(counter['worse'])}{' (' + counter['where'] + ')' if 'where' in counter else ''}" for counter, where in read if counter.get("worse")]
        before = [f"{where}: {units.in_full(counter['before'])}" for counter, where in read if counter.get("before")]
        values = {counter.get("before") for counter, _ in read}
        if len(read) > 2 and len(values) == 1 and before:
            before = [f"{units.in_full(values.pop())} on all {len(read)}"]
        once = sum("worse" not in counter for counter, _ in read)
        rows.append([(title, title, name), str(len(read) - once), str(once or ""), "; ".join(worse) or "none", "; ".join(before)])
    return table("counters", [
        ("Counter", "The tooltip has its name in profiles: counter.NAME, state.NAME", False), ("Devices", "Devices that reported it before and after", True), ("read once or reset", "Devices", True),
        ("Got worse during the runs", "", False), ("Before the runs: a state, or errors if not 0", "", False)], rows, empty=False)
