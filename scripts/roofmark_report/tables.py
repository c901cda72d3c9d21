# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of the ceilings and of each family of cases."""

import math

from . import plots, units
from .result import observed_clock

DRIFT = 0.02  # above it, a drift that the clock does not explain is a finding


def table(name, columns, rows, empty=True):
    """`columns` are (title, help, numeric); the cells of a row are texts or (text, sort key, tooltip). Columns without any text
    are left out unless `empty`."""
    cells = [[cell if isinstance(cell, tuple) else (cell, cell, "") for cell in row] for row in rows]
    kept = [i for i in range(len(columns)) if empty or any(row[i][0] for row in cells)]
    return {"name": name, "columns": [columns[i] for i in kept], "rows": [[row[i] for i in kept] for row in cells]}


def quantity(value, form, *args, more=""):
    return ("", "", more) if value is None else (form(value, *args), value, more)


def slope_of(line):
    """What a ceiling was fitted to: launches have a cost of their own beside that of each."""
    r2 = f", r2 {line['r2']:.4f}" if "r2" in line else ""
    return f"slope over {line['points']} numbers of launches; {units.seconds(line['fixed_seconds'])} more per sample{r2}"


def unexplained_drift(ceiling):
    return ceiling.get("unexplained_drift", ceiling.get("drift", 0))  # older files lack the first


def has_moved(ceiling):
    """Whether the program finds a drift: neither the clock nor the intervals of the two measurements explain it."""
    left = unexplained_drift(ceiling)
    return abs(left) > DRIFT and abs(math.log1p(left)) > ceiling.get("drift_half_width", 0)


def drift_of(ceiling):
    """The cell says where the clock or the intervals explain a drift, and its tooltip what the clock leaves."""
    drift, left = ceiling.get("drift"), unexplained_drift(ceiling)
    if drift is None:
        return quantity(drift, units.change)
    by = ", by its clock" if abs(drift) > DRIFT >= abs(left) else ", within the intervals" if abs(left) > DRIFT and not has_moved(ceiling) else ""
    clocks = [ceiling.get(f"{when}_clock_hz") for when in ("first", "last")]
    said = "" if None in clocks or left == drift else (
        f"clock at the start {units.clock(clocks[0])}, at the end {units.clock(clocks[1])}; it does not explain {units.change(left)}")
    return units.change(drift) + by, drift, said


def ceilings_table(result):
    memory = plots.outermost(result)
    rows = []
    for c in result["ceilings"]:
        best, unit = c.get("empirical"), c["unit"]

        def of(other, best=best, c=c):
            return quantity(best / c[other] if best and other in c else None, units.share)

        ridge = best / memory["empirical"] if best and memory and plots.is_arithmetic(c) else None
        sources = [f"theoretical: {c['theoretical_source']}" if c.get("theoretical_source") else "",
                   f"datasheet: {c['datasheet_source']}" if c.get("datasheet_source") else "",
                   f"start: {c['first_by']}" if c.get("first_by") else "",
                   f"end: {c['last_by']}" if c.get("last_by") and c["last_by"] != c.get("first_by") else "",
                   *(f"{when}: {slope_of(c[key])}" for when, key in (("start", "first_line"), ("end", "last_line")) if key in c)]
        name = c["title"] + (f" ({units.seconds(1 / best)} each)" if unit == "launch" and best else "")
        name += ", doubtful" if c["doubtful"] else ""
        rows.append([
            (name, name, "\n".join(source for source in sources if source)), (c["resource"], c["resource"], ""),
            quantity(best, units.rate, unit), quantity(c.get("first"), units.rate, unit), quantity(c.get("last"), units.rate, unit),
            drift_of(c),
            quantity(c.get("theoretical"), units.rate, unit), of("theoretical"), quantity(c.get("datasheet"), units.rate, unit),
            of("datasheet"), quantity(ridge, units.intensity)])
    return table("ceilings", [
        ("Resource", "The resource; its tooltip gives the sources", False),
        ("Id", "Its name in the tables of cases and in `roofmark list`", False),
        ("Measured", "The better of start and end: the roof for all results", True),
        ("Start", "Best probe before the suite", True), ("End", "Best probe after the suite", True),
        ("Drift", "Change from start to end; what neither the SM clock nor the 95 % intervals of the two explain is a finding above 2 %", True),
        ("Theoretical", "From attributes read on the device: units x clock x operations per clock, or bus width x memory clock", True),
        ("of theor.", "Measured / theoretical", True), ("Datasheet", "The vendor's figure, dense (never sparse)", True),
        ("of datasheet", "Measured / datasheet", True),
        ("Ridge, FLOP/B", "Arithmetic intensity above which this ceiling, not DRAM, is the limit", True)], rows, empty=False)


def last_check(record):
    """The verification after timing, or the one before it; empty without any."""
    found = record.get("verification", {})
    return found.get("after") or found.get("before") or {}


def error_of_allowed(check):
    """The largest error as a share of what rounding allows; None where it is unknown, or where nothing is allowed and something found."""
    error, bound = check.get("error"), check.get("bound")
    return None if error is None or bound is None else error / bound if bound else 0 if error == 0 else None


def checked(record):
    """The cell that says how a record was verified."""
    check = last_check(record)
    if not check:
        return ("", "", "")
    share = error_of_allowed(check)
    if check["status"] == "nothing_to_verify":
        return ("nothing to check", "", check["detail"])
    if share is None:
        return (check["status"], "", check["detail"])
    return ("exact" if check["error"] == 0 else units.share(share), share, check["detail"])


def is_call(entry):
    """The host timed it, one call at a time."""
    return entry["roofmark"]["measurement"]["timed"] != "device"


def calls_table(family, entries, on_gpu):
    """What single calls take, the shortest first; on a GPU also beside a short kernel."""
    kernel = 10e-6  # of a short kernel, to which a call is set in proportion
    rows = []
    for entry in sorted(entries, key=lambda entry: entry["roofmark"]["measurement"]["median"]):
        record = entry["roofmark"]
        m = record["measurement"]
        name = plots.within_family(entry["name"], entry)
        until = {"call": "from the call until it returns", "completion": "from the call until the device has finished"}[m["timed"]]
        rows.append([(name, name, until), *(quantity(m.get(key), units.seconds) for key in ("median", "p95", "p99", "maximum")),
                     quantity(m["median"] / kernel if on_gpu else None, units.share), (str(len(m["samples"]["seconds"])), len(m["samples"]["seconds"]), ""),
                     checked(record)])
    return table(f"calls-{family}", [
        ("Call", "Operation and keys; the tooltip says where its timing ends", False),
        ("p50", "The median of single calls, by the host's clock", True), ("p95", "5 % of the calls take longer", True),
        ("p99", "1 % of the calls take longer", True), ("Maximum", "The longest of all calls", True),
        ("of a 10 us kernel", "p50 / 10 us", True), ("Calls", "Number of timed calls", True),
        ("Error, of what rounding allows", "Whether the call took effect", True)], rows, empty=False)


def call_lines_table(result):
    """What calls take as a count in their names grows; None without any."""
    def faster(line):
        if "faster_from" not in line:
            return ("", math.inf, "")
        count = math.ceil(line["faster_from"])
        return (f"from {line['key']}:{count} on" if count else "always", count, f"than {line['than']}")

    rows = [[line["series"], line["key"], quantity(line["fixed_seconds"], units.seconds), quantity(line["each_seconds"], units.seconds),
             quantity(line.get("r2"), units.digits, 4), str(line["points"]), faster(line)] for line in result.get("call_lines", [])]
    return table("call-lines", [
        ("Call", "The names of the cases without the count", False), ("Count", "What is counted", False),
        ("Fixed", "Time per call, independent of the count", True), ("Each", "Additional time per counted item", True),
        ("r2", "Of the fit time = fixed + count x each, by relative errors", True), ("Points", "Number of measured counts", True),
        ("Faster", "Count from which this line is faster than the one in the tooltip", True)],
        rows, empty=False) if rows else None


def per_access(record):
    """The cells of the time and the clocks of one dependent access, of a record that demands nothing else."""
    demands = [d for phase in record["work"]["phases"] for d in phase]
    measured = record["measurement"]
    if len(demands) != 1 or demands[0]["unit"] != "access":
        return ("", "", ""), ("", "", "")
    seconds = measured["median"] / demands[0]["amount"]
    return quantity(seconds, units.seconds), quantity(seconds * clock if (clock := observed_clock(measured)) else None, lambda cycles: f"{cycles:.1f}")


def rate_of(record):
    """The cell of the rate: FLOP/s, or dependent accesses per second."""
    accesses = sum(d["amount"] for phase in record["work"]["phases"] for d in phase if d["unit"] == "access")
    if accesses:
        return quantity(accesses / record["measurement"]["median"], units.rate, "access")
    return quantity(record["placement"].get("flops_per_second"), units.rate, units.operation(record))


def family_table(family, entries, titles):
    rows = []
    for entry in entries:
        record = entry["roofmark"]
        m, p = record["measurement"], record["placement"]
        name = plots.within_family(entry["name"], entry)
        if record["pass"] == 2:
            name += " (after)"
        low, high = m.get("interval", (None, None))
        # As on the terminal (relative_half_width of harness/model/statistics.hpp).
        width = None if low is None else math.log(high / low) / 2 if low > 0 else (high - low) / 2 / m["median"]
        bound = p.get("bound_by")
        samples = m["samples"]["seconds"]
        throttled = sum(m["samples"]["throttled"])
        marks = ([f"throttled in {throttled} of {len(samples)} samples"] if throttled else []) + (
            [] if m["settled"] else ["the rate did not settle"]) + (["the time budget ended before the interval was narrow enough"]
                                                                if m["stopped_by"] == "budget" else [])
        notes = [f"{key}: {value}" for key, value in record["notes"].items()]
        rows.append([
            (name, name, "\n".join(notes)),
            quantity(m["median"], units.seconds,
                     more=f"{units.plural(len(samples), 'sample')} of {units.plural(m['launches_per_sample'], 'launch', 'launches')}, by {m['path']}; "
                     f"bits compared after {m['samples_checked']}"),
            ("no interval" if width is None else f"± {100 * width:.2f} %" if width < 1 else f"± {units.digits(100 * width)} %", "" if width is None else width, ""),
            *per_access(record), rate_of(record),
            quantity(p.get("bytes_per_second"), units.rate, "B"),
            quantity(p.get("intensity"), units.intensity),
            (bound or "", bound or "", titles.get(bound, "")), quantity(p.get("of_empirical"), units.share),
            quantity(p.get("of_theoretical"), units.share), quantity(p.get("of_theoretical_clock"), units.share),
            quantity(observed_clock(m), units.clock), checked(record),
            ("".join("†‡*"[i] for i in range(3) if (throttled, not m["settled"], m["stopped_by"] == "budget")[i]), len(marks),
             "; ".join(marks))])
    return table(f"family-{family}", [
        ("Case", "Operation, type and keys; the tooltip shows algorithm and workspace", False),
        ("Median", "Time per launch; the tooltip shows the samples, the launches per sample, and the samples with compared bits", True), ("95 % interval", "Of the median, from blocks spread over time", True),
        ("Per access", "Median / dependent accesses of a launch", True), ("Cycles", "The same in clocks, at the observed clock", True),
        ("Rate", "Model FLOPs / median; for dependent accesses, accesses / median", True),
        ("Bandwidth", "Compulsory bytes of the link or memory level that binds / median", True),
        ("FLOP/B", "Arithmetic intensity", True), ("Bound by", "The resource that limits this case, by its id in the table of ceilings", False),
        ("of roof", "Minimum time on the measured ceilings / median", True),
        ("of theor., highest clock", "Minimum time on the theoretical ceilings at the highest clock / median", True),
        ("of theor.", "Minimum time on the theoretical ceilings at the observed clock / median", True),
        ("Clock", "Counted in cycles: median over the blocks of each block's mean", True),
        ("Error, of what rounding allows", "Largest error found / largest error that a correct computation can have", True), ("", "† throttled, ‡ not settled, * time budget ended", False)],
        rows, empty=False)
