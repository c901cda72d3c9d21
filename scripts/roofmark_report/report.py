# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a result file as one self-contained HTML page."""

import functools
import json
import math
import os
import statistics
from pathlib import Path

import jinja2
import plotly.offline

from . import communication, plots, units
from .program import BAD_INPUT, NOT_WRITTEN, Parser, Problem
from .result import load

STATUSES = {
    "ok": "measured, and every check passed",
    "wrong": "wrong result: no time is reported",
    "failed": "could not be measured",
    "not_run": "not reached, or out of memory",
    "unsupported": "not possible on this device; no failure",
}
SEVERITIES = ("error", "warning", "note")
# Findings that make the ceilings uncertain.
DOUBTS = {"drift", "above_empirical", "above_theoretical", "foreign_process"}
DATA = {"normal": "normally distributed", "uniform": "uniformly distributed", "zeros": "zeros"}
FAMILIES = {
    "ceilings": "Probes that load one resource each: they set the measured ceilings. They run before the suite and again after it "
                "(marked: after).",
    "stream": "Loops that move memory and compute almost nothing.",
    "gemm": "Matrix products D [m, n] = A [m, k] × B [k, n] by a library.",
    "elementwise": "Element-wise operations of a model, and the gain from fusing several steps into one kernel.",
    "reductions": "Row-wise operations: softmax, norms, losses. At best, each row is read once and written once.",
    "gemv": "A weight matrix times one vector, as in decoding: the bytes of the weights are the limit, so narrower weights are faster.",
    "attention": "O = softmax(Q Kᵀ / √d) V, head by head.",
    "decode_attention": "Attention of one new token to a cache of keys and values: reading the cache is the limit.",
}
# The ceilings that a reader looks for first, in this order.
HEADLINES = ("dram", "bf16_tensor", "fp8_tensor", "fp64_tensor", "fp32_fma", "fp64_fma", "nvlink", "network", "stream_launch")


def table(name, columns, rows, empty=True):
    """`columns` are (title, help, numeric); the cells of a row are texts or (text, sort key, tooltip). Columns without any text
    are left out unless `empty`."""
    cells = [[cell if isinstance(cell, tuple) else (cell, cell, "") for cell in row] for row in rows]
    kept = [i for i in range(len(columns)) if empty or any(row[i][0] for row in cells)]
    return {"name": name, "columns": [columns[i] for i in kept], "rows": [[row[i] for i in kept] for row in cells]}


def quantity(value, form, *args, more=""):
    return (form(value, *args), "" if value is None else value, more)


def counts(result):
    made = dict.fromkeys(STATUSES, 0)
    for entry in result["benchmarks"] + result["unmeasured"]:
        made[entry["roofmark"]["status"]] += 1
    return made


def plural(count, one, many=None):
    return f"{count} {one if count == 1 else many or one + 's'}"


def verdict(result):
    """The level (good, warn, bad), a headline and its explanation."""
    number = counts(result)
    missed = number["failed"] + number["not_run"]
    if number["wrong"]:
        return ("bad", f"{plural(number['wrong'], 'case')} gave a wrong result",
                "The device, its software or this program computed a wrong result. Do not rely on any number of this run until that is "
                "explained.")
    if not result["complete"]:
        why = "was interrupted" if result["interrupted"] else "was cut off"
        return ("warn", f"The run {why}: these results are incomplete", "The measured cases stand. Cases that were not reached have not passed.")
    if missed:
        return ("warn", f"{plural(missed, 'case')} could not be measured",
                "No result was wrong. Cases without a measurement are listed with their reason; they have not passed.")
    if DOUBTS & {finding["kind"] for finding in result["findings"]}:
        return ("warn", "Every case was measured and no result was wrong, but the ceilings are in doubt",
                "The ceilings changed, were exceeded, or another process used the device: the findings say how far. A fraction of a roof "
                "is only as reliable as the roof.")
    return ("good", "Every case was measured, and no result was wrong",
            "Cases that this device cannot run are listed as unsupported." if number["unsupported"] else "")


def warnings(result):
    """What a reader must know before trusting the numbers."""
    made = []
    if result["findings"]:
        kinds = {}
        for finding in result["findings"]:
            kinds[finding["kind"]] = kinds.get(finding["kind"], 0) + 1
        made.append(f"Read before you trust the numbers: {plural(len(result['findings']), 'finding')} ("
                    + ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in kinds.items()) + ").")
    if result["data"] == "zeros":
        made.append("The operands were zeros, which draw less power: rates under a power cap are too high.")
    if result["build"]["dirty"]:
        made.append("roofmark was built from sources with local changes.")
    if result["build"]["build_type"].lower() == "debug":
        made.append("roofmark was built without optimisation.")
    return made


def group_findings(result):
    groups = {}
    for finding in sorted(result["findings"], key=lambda f: SEVERITIES.index(f["severity"])):
        groups.setdefault(finding["kind"], []).append(finding)
    made = []
    for kind, findings in groups.items():
        same = {}
        for finding in findings:
            same.setdefault(finding["text"], []).append(finding.get("case", ""))
        made.append({"kind": kind.replace("_", " "), "meaning": findings[0]["advice"], "count": len(findings),
                     "texts": [(text, [case for case in cases if case]) for text, cases in same.items()]})
    return made


def headlines(result):
    made = []
    by_resource = {c["resource"]: c for c in result["ceilings"] if "empirical" in c}
    for resource in HEADLINES:
        ceiling = by_resource.get(resource)
        if not ceiling or len(made) == 6:
            continue
        value, note = units.rate(ceiling["empirical"], ceiling["unit"]), ""
        if ceiling["unit"] == "launch":
            value, note = f"{units.seconds(1 / ceiling['empirical'])}", "per launch"
        elif "theoretical" in ceiling:
            note = f"{units.share(ceiling['empirical'] / ceiling['theoretical'])} of the theoretical {units.rate(ceiling['theoretical'], ceiling['unit'])}"
        made.append({"title": ceiling["title"], "value": value, "note": note})
    return made


def ceilings_table(result):
    memory = plots.outermost(result)
    rows = []
    for c in result["ceilings"]:
        best, unit = c.get("empirical"), c["unit"]

        def of(other, best=best, c=c):
            return quantity(best / c[other] if best and other in c else None, units.share)

        ridge = best / memory["empirical"] if best and memory and unit in ("FLOP", "op") else None
        sources = [f"theoretical: {c['theoretical_source']}" if c.get("theoretical_source") else "",
                   f"datasheet: {c['datasheet_source']}" if c.get("datasheet_source") else "",
                   f"start: {c['first_by']}" if c.get("first_by") else "",
                   f"end: {c['last_by']}" if c.get("last_by") and c["last_by"] != c.get("first_by") else ""]
        name = c["title"] + (f" ({units.seconds(1 / best)} each)" if unit == "launch" and best else "")
        name += ", doubtful" if c["doubtful"] else ""
        drift = c.get("drift")
        rows.append([
            (name, name, "\n".join(source for source in sources if source)), (c["resource"], c["resource"], ""),
            quantity(best, units.rate, unit), quantity(c.get("first"), units.rate, unit), quantity(c.get("last"), units.rate, unit),
            ("" if drift is None else f"{100 * drift:+.1f} %", "" if drift is None else drift, ""),
            quantity(c.get("theoretical"), units.rate, unit), of("theoretical"), quantity(c.get("datasheet"), units.rate, unit),
            of("datasheet"), ("" if ridge is None else units.digits(ridge), "" if ridge is None else ridge, "")])
    return table("ceilings", [
        ("Resource", "The resource; its tooltip says where the figures come from", False),
        ("Id", "Its name in the tables of cases and in roofmark list", False),
        ("Measured", "The better of start and end: the roof for all results", True),
        ("at the start", "Best probe before the suite", True), ("at the end", "Best probe after the suite", True),
        ("Drift", "Change from start to end; above 2 % is a finding", True),
        ("Theoretical", "From attributes read on the device: units x clock x operations per clock, or bus width x memory clock", True),
        ("Reached", "Measured / theoretical", True), ("Datasheet", "The vendor's figure, dense (never sparse)", True),
        ("Reached", "Measured / datasheet", True),
        ("Ridge, FLOP/B", "Arithmetic intensity above which this ceiling, not DRAM, is the limit", True)], rows, empty=False)


def checked(record):
    """The cell that says how a record was verified."""
    found = record.get("verification", {})
    found = found.get("after") or found.get("before")
    if not found:
        return ("", "", "")
    if found["status"] == "nothing_to_verify":
        return ("nothing to check", "", found["detail"])
    if found.get("error") == 0 and found.get("bound") == 0:
        return ("exact", 0, found["detail"])
    if "error" in found and "bound" in found:
        return (f"{units.digits(found['error'], 2)} of {units.digits(found['bound'], 2)}",
                found["error"] / found["bound"] if found["bound"] else 0, found["detail"])
    return (found["status"], "", found["detail"])


def family_table(family, entries, titles):
    rows = []
    for entry in entries:
        record = entry["roofmark"]
        m, p = record["measurement"], record["placement"]
        name = entry["name"].partition("/")[2] or entry["name"]
        if record["pass"] == 2:
            name += " (after)"
        low, high = m.get("interval", (None, None))
        width = None if low is None else max(high - m["median"], m["median"] - low) / m["median"]
        bound = p.get("bound_by")
        samples = m["samples"]["seconds"]
        throttled = sum(m["samples"]["throttled"])
        marks = ([f"throttled in {throttled} of {len(samples)} samples"] if throttled else []) + (
            [] if m["settled"] else ["warm-up not settled"]) + (["the time budget ended before the interval was narrow enough"]
                                                                if m["stopped_by"] == "budget" else [])
        notes = [f"{key}: {value}" for key, value in record["notes"].items()]
        rows.append([
            (name, name, "\n".join(notes)),
            quantity(m["median"], units.seconds,
                     more=f"{plural(len(samples), 'sample')} of {plural(m['launches_per_sample'], 'launch', 'launches')}, by {m['path']}"),
            ("" if width is None else f"± {100 * width:.2f} %" if width < 1 else f"± {units.digits(100 * width)} %", "" if width is None else width, ""),
            quantity(p.get("flops_per_second"), units.rate, "op" if record["type"] == "int8" else "FLOP"),
            quantity(p.get("bytes_per_second"), units.rate, "B"),
            quantity(p.get("intensity"), lambda v: "" if v is None else units.digits(v)),
            (bound or "", bound or "", titles.get(bound, "")), quantity(p.get("of_empirical"), units.share),
            quantity(p.get("of_theoretical"), units.share), quantity(p.get("of_theoretical_clock"), units.share),
            quantity(m.get("clock_hz"), units.clock), checked(record),
            ("".join("†‡*"[i] for i in range(3) if (throttled, not m["settled"], m["stopped_by"] == "budget")[i]), len(marks),
             "; ".join(marks))])
    return table(f"family-{family}", [
        ("Case", "Operation, type and keys; the tooltip shows algorithm and workspace", False),
        ("Median", "Time per launch; the tooltip shows the number of samples and launches per sample", True), ("95 % interval", "Of the median, from blocks apart in time", True),
        ("Arithmetic", "Model FLOPs / median", True),
        ("Memory", "Compulsory bytes / median", True),
        ("FLOP/B", "Arithmetic intensity", True), ("Bound by", "The resource that limits this case, by its id in the table of ceilings", False),
        ("of measured roof", "Minimum time on the measured ceilings / measured time", True),
        ("of theoretical", "Minimum time on the theoretical ceilings / measured time", True),
        ("at this clock", "The same, with the theoretical ceilings at the observed clock", True),
        ("Clock", "Observed directly after each block: the median", True),
        ("Error", "Largest error found, of the allowed error", True), ("", "† throttled ‡ not settled * time budget ended", False)],
        rows, empty=False)


def comparison_rows(result):
    """Positions run from 0 to 100, with 50 for a ratio of 1; the scale is logarithmic, so that 1 % shows beside a factor of 2."""
    ends = [c.get(key, c["ratio"]) for c in result["comparisons"] for key in ("low", "high", "ratio")]
    reach = max([abs(end - 1) for end in ends], default=0) * 1.1 or 1

    def place(ratio):
        return round(50 + math.copysign(50 * math.log1p(abs(ratio - 1) / 0.02) / math.log1p(reach / 0.02), ratio - 1), 2)

    rows = []
    for c in result["comparisons"]:
        low, high = c.get("low"), c.get("high")
        known = low is not None and high is not None
        rows.append({
            "name": c["name"], "key": c["key"], "numerator": c["numerator"], "denominator": c["denominator"], "ratio": units.digits(c["ratio"], 4),
            "interval": f"{units.digits(low, 4)} to {units.digits(high, 4)}" if known else "",
            "says": "" if not known else "faster" if low > 1 else "slower" if high < 1 else "no significant difference",
            "at": place(c["ratio"]), "from": place(low if known else c["ratio"]),
            "width": round(place(high) - place(low), 2) if known else 0})
    return rows


def comparison_medians(result):
    """The median ratio of comparisons of the same key and values, where there are several."""
    ratios = {}
    for comparison in result["comparisons"]:
        ratios.setdefault(f"{comparison['key']}: {comparison['name']}", []).append(comparison["ratio"])
    return [(name, len(values), units.digits(statistics.median(values), 4)) for name, values in ratios.items() if len(values) > 1]


def unmeasured_groups(result):
    order = ("wrong", "failed", "not_run", "unsupported")
    groups = {}
    for entry in result["unmeasured"]:
        record = entry["roofmark"]
        groups.setdefault((record["status"], record.get("reason", "no reason recorded")), []).append(entry["name"])
    return [{"status": status, "reason": reason, "cases": cases}
            for (status, reason), cases in sorted(groups.items(), key=lambda item: order.index(item[0][0]))]


def wall_time(result):
    if "wall_time" not in result:
        return []
    spent = result["wall_time"]
    total = spent["total_seconds"]
    parts = {"timing": "timing", "warm_up": "warming up", "preparation": "preparing (allocating, filling, tuning)",
             "verification": "verifying results", "writing": "writing files", "other": "other"}
    return [{"what": what, "seconds": units.duration(spent[f"{key}_seconds"]),
             "share": units.share(spent[f"{key}_seconds"] / total if total else 0),
             "percent": round(100 * spent[f"{key}_seconds"] / total, 2) if total else 0} for key, what in parts.items()]


def flat(value, prefix=""):
    """Nested details as (name, text) pairs."""
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in flat(inner, f"{prefix}.{key}" if prefix else key)]
    if isinstance(value, list) and not any(isinstance(inner, (dict, list)) for inner in value):
        return [(prefix, ", ".join(plain(inner) for inner in value) or "none")]
    if isinstance(value, list):
        return [pair for i, inner in enumerate(value) for pair in flat(inner, f"{prefix}[{i}]")]
    return [(prefix, plain(value))]


def plain(value):
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else "unknown" if value is None else str(value)


def facts(pairs):
    return [(name, value) for name, value in pairs if value not in (None, "")]


def device_facts(result):
    d = result["device"]
    processors = "cores" if d["kind"] == "cpu" else "multiprocessors (SMs)"
    return facts([
        ("device", f"{d['name']} ({d['id']})"), ("published figures", None if d["kind"] == "cpu" else "known" if d["known"] else "unknown: see the findings"),
        (processors, d["multiprocessors"]), ("compute capability", d.get("compute_capability")),
        ("rated clock", units.clock(d.get("rated_clock_hz"))), ("highest clock", units.clock(d.get("highest_clock_hz"))), ("memory clock", units.clock(d.get("memory_clock_hz"))),
        ("memory bus", f"{d['memory_bus_bits']} bit" if "memory_bus_bits" in d else None),
        ("memory", f"{units.size(d['memory_bytes'])}, {units.size(d['free_bytes'])} free at the start")] + [
            (f"{c['name'].upper()} cache", units.capacity(c["total_bytes"]) + (
                f", {units.capacity(c['instance_bytes'])} each" if c["instance_bytes"] != c["total_bytes"] else "")) for c in d["caches"]])


def run_facts(result, digest):
    h, b = result["host"], result["build"]
    return facts([
        ("host", h["name"]), ("processor", ", ".join(part for part in (h.get("cpu"), plural(h["cores"], "logical core")) if part)),
        ("host memory", units.size(h.get("memory_bytes"))),
        ("system", ", ".join(part for part in (h.get("os"), h.get("kernel")) if part)),
        ("driver", result["device"]["details"].get("driver_version")),
        ("CUDA toolkit", b.get("cuda_toolkit")), *result["libraries"].items(),
        ("roofmark", f"{b['version']}, commit {b['commit']}{' with local changes' if b['dirty'] else ''}"),
        ("built by", f"{b['compiler']}, {b['build_type']}" + (f", for {b['cuda_architectures']}" if "cuda_architectures" in b else "")),
        ("command", " ".join(result["arguments"])), ("suite", result["suite"]),
        ("operands", f"{DATA[result['data']]}, seed {result['seed']}"), ("started", result["started_utc"]),
        ("finished", result.get("finished_utc", "not finished: the file was recovered from the journal")),
        ("result file", f"SHA-256 {digest}")])


def host_details(result):
    """Details of the host, unless it is the device."""
    return [] if result["device"]["kind"] == "cpu" else flat(result["host"].get("details", {}), "host")


def conditions(result):
    """Clock, power and temperature of the device during the measurements."""
    clocks, powers, temperatures, reasons = [], [], [], {}
    for entry in result["benchmarks"]:
        for block in entry["roofmark"]["measurement"]["blocks"]:
            clocks += [block["clock_hz"]] if "clock_hz" in block else []
            for telemetry in (block["before"], block["after"]):
                powers += [telemetry["power_watts"]] if "power_watts" in telemetry else []
                temperatures += [telemetry["temperature_celsius"]] if "temperature_celsius" in telemetry else []
            for reason in {*block["before"]["throttle_reasons"], *block["after"]["throttle_reasons"]}:
                reasons[reason] = reasons.get(reason, 0) + 1
    def span(values, form):
        return f"{form(min(values))} to {form(max(values))}, median {form(statistics.median(values))}" if values else None

    return facts([
        ("clock observed", span(clocks, units.clock)), ("power", span(powers, lambda v: f"{v:.0f} W")),
        ("temperature", span(temperatures, lambda v: f"{v:.0f} °C")),
        ("clock lowered by", ", ".join(f"{reason} (in {plural(count, 'block')})" for reason, count in reasons.items()))])


def team_section(result, figure, titles):
    """The section on communication; `figure` registers a figure and returns its id."""
    made = {"members": table("members", *communication.members(result), empty=False)}
    for name, plot in (("busbw", communication.busbw(result)), ("scaling", communication.scaling(result)),
                       ("overlap", communication.overlaps(result))):
        made[name] = figure(plot) if plot else None
    made["matrices"] = [figure(plot) for plot in communication.matrices(result)]
    for name, parts in (("fits", communication.fits(result)), ("scaling_rows", communication.scaling_rows(result)),
                        ("overlap_rows", communication.overlap_rows(result)), ("slowest", communication.slowest(result))):
        made[name] = table(name, *parts, empty=False) if parts[1] else None
    made["collectives"] = [(title, table(f"collective-{i}", columns, rows, empty=False))
                           for i, (title, columns, rows) in enumerate(communication.collectives(result))]
    apart = {}
    for entry in result["benchmarks"]:
        if communication.concerns(entry) and not communication.is_collective(entry):
            apart.setdefault(entry["roofmark"]["family"], []).append(entry)
    made["apart"] = [(family, len(entries), family_table(family, entries, titles)) for family, entries in apart.items()]
    made["stragglers"], made["judged"] = communication.stragglers(result)
    return made


@functools.cache
def template(name):
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined)
    return environment.get_template(name)


def page(result, digest):
    """The page as HTML."""
    families = {}
    for entry in result["benchmarks"]:
        if not communication.concerns(entry) or "communication" not in result:
            families.setdefault(entry["roofmark"]["family"], []).append(entry)
    titles = {c["resource"]: c["title"] for c in result["ceilings"]}
    roofline = plots.roofline(result)
    figures = {"roofline": roofline} if roofline else {}

    def figure(made):
        name = f"plot-{len(figures)}"
        figures[name] = made
        return name

    sections = [{
        "name": family, "meaning": FAMILIES.get(family, ""), "table": family_table(family, entries, titles), "count": len(entries),
        "plots": [(figure(made), caption) for made, caption in plots.of_family(family, result, entries)]}
        for family, entries in families.items()]
    team = team_section(result, figure, titles) if "communication" in result else None
    fused = plots.fused_pairs(result)
    fused = figure(fused) if fused else None
    level, headline, advice = verdict(result)
    return template("report.html.j2").render(
        result=result, level=level, headline=headline, advice=advice, warnings=warnings(result), counts=counts(result),
        statuses=STATUSES, findings=group_findings(result), headlines=headlines(result), ceilings=ceilings_table(result),
        has_roofline=roofline is not None, points=len(plots.placed_on_roofline(result)), sections=sections, team=team, fused=fused,
        comparisons=comparison_rows(result), comparison_medians=comparison_medians(result), unmeasured=unmeasured_groups(result), wall_time=wall_time(result),
        total=units.duration(result["wall_time"]["total_seconds"]) if "wall_time" in result else "", device=device_facts(result),
        details=flat(result["device"]["details"]) + host_details(result), run=run_facts(result, digest),
        conditions=conditions(result), figures=script_safe(figures), plotly=plotly.offline.get_plotlyjs(), digest=digest)


def script_safe(value):
    """JSON that is safe inside a script element."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def write(path, parts):
    """Writes texts to a temporary file and renames it: an existing file stays whole or is replaced."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise Problem(NOT_WRITTEN, f"cannot write {path}: it is not a regular file")
    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        try:
            with open(temporary, "x", encoding="utf-8", errors="replace") as file:
                file.writelines(parts)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Problem(NOT_WRITTEN, f"cannot write {path}: {error.strerror}") from error


def main(arguments):
    parser = Parser(prog="report", description="Writes a roofmark result file as one self-contained HTML page.",
                    epilog="Exit status: 0; 2 bad usage or input; 3 the page could not be written.")
    parser.add_argument("result", metavar="RESULT.json")
    parser.add_argument("-o", "--output", metavar="FILE", help="output file [report.html beside the result]")
    options = parser.parse_args(arguments)
    output = options.output or str(Path(options.result).parent / "report.html")
    if os.path.realpath(output) == os.path.realpath(options.result):
        raise Problem(BAD_INPUT, f"{output} is the result file itself")
    write(output, [page(*load(options.result))])
