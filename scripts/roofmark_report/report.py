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

from . import communication, facts, family_plots, roofline_plot, tables, units
from .program import BAD_INPUT, NOT_WRITTEN, Parser, Problem
from .result import load

STATUSES = {
    "ok": "measured, and every check passed",
    "wrong": "wrong result: no time is reported",
    "failed": "could not be measured",
    "not_run": "not reached, or too little memory",
    "unsupported": "not possible on this device; not a failure",
}
SEVERITIES = ("error", "warning", "note")
# Findings that make the ceilings uncertain.
DOUBTS = {"drift", "above_empirical", "above_theoretical", "foreign_process"}
FAMILIES = {
    "ceilings": "Probes that load one resource each: they set the measured ceilings. They run before the suite and again after it "
                "(marked: after).",
    "stream": "Loops that move memory and compute almost nothing.",
    "gemm": "Matrix products D [m, n] = A [m, k] × B [k, n] by a library.",
    "transpose": "The transpose of a matrix: each element is read once and written once.",
    "elementwise": "Element-wise operations of a model, and the gain from fusing several steps into one kernel.",
    "reductions": "Row-wise operations: softmax, norms, losses. At best, each row is read once and written once.",
    "argmax": "The index of the maximum of each row, as in greedy decoding.",
    "gemv": "A weight matrix times one vector, as in decoding: the bytes of the weights are the limit, so narrower weights are faster.",
    "attention": "O = softmax(Q Kᵀ / √d) V, head by head.",
    "decode_attention": "Attention of one new token to a cache of keys and values: reading the cache is the limit.",
}
# The ceilings that a reader looks for first, in this order.
HEADLINES = ("dram", "bf16_tensor", "fp8_tensor", "fp64_tensor", "fp32_fma", "fp64_fma", "nvlink", "network", "stream_launch")


def counts(result):
    made = dict.fromkeys(STATUSES, 0)
    for entry in result["benchmarks"] + result["unmeasured"]:
        made[entry["roofmark"]["status"]] += 1
    return made


def verdict(result):
    """The level (good, warn, bad), a headline and its explanation."""
    number = counts(result)
    missed = number["failed"] + number["not_run"]
    if number["wrong"]:
        return ("bad", f"{units.plural(number['wrong'], 'case')} gave a wrong result",
                "The device, its software or this program computed a wrong result. Do not rely on any number of this run until that is "
                "explained.")
    if not result["complete"]:
        why = "was interrupted" if result["interrupted"] else "was cut off"
        return ("warn", f"The run {why}: these results are incomplete", "The measured cases stand. Cases that were not reached have not passed.")
    if missed:
        return ("warn", f"{units.plural(missed, 'case')} could not be measured",
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
        made.append(f"Read before you trust the numbers: {units.plural(len(result['findings']), 'finding')} ("
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
        made.append({"kind": f"{findings[0]['severity']}: {kind.replace('_', ' ')}", "meaning": findings[0]["advice"], "count": len(findings),
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


def team_section(result, figure, titles):
    """The section on communication; `figure` registers a figure and returns its id."""
    made = {"members": tables.table("members", *communication.members(result), empty=False)}
    for name, plot in (("busbw", communication.busbw(result)), ("scaling", communication.scaling(result)),
                       ("overlap", communication.overlaps(result))):
        made[name] = figure(plot) if plot else None
    made["matrices"] = [figure(plot) for plot in communication.matrices(result)]
    for name, parts in (("fits", communication.fits(result)), ("scaling_rows", communication.scaling_rows(result)),
                        ("overlap_rows", communication.overlap_rows(result)), ("slowest", communication.slowest(result))):
        made[name] = tables.table(name, *parts, empty=False) if parts[1] else None
    made["collectives"] = [(title, tables.table(f"collective-{i}", columns, rows, empty=False))
                           for i, (title, columns, rows) in enumerate(communication.collectives(result))]
    apart = {}
    for entry in result["benchmarks"]:
        if communication.concerns(entry) and not communication.is_collective(entry):
            apart.setdefault(entry["roofmark"]["family"], []).append(entry)
    made["apart"] = [(family, len(entries), tables.family_table(family, entries, titles)) for family, entries in apart.items()]
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
    roofline = roofline_plot.roofline(result)
    figures = {"roofline": roofline} if roofline else {}

    def figure(made):
        name = f"plot-{len(figures)}"
        figures[name] = made
        return name

    sections = [{
        "name": family, "meaning": FAMILIES.get(family, ""), "table": tables.family_table(family, entries, titles), "count": len(entries),
        "plots": [(figure(made), caption) for made, caption in family_plots.of_family(family, result, entries)]}
        for family, entries in families.items()]
    team = team_section(result, figure, titles) if "communication" in result else None
    fused = family_plots.fused_pairs(result)
    fused = figure(fused) if fused else None
    level, headline, advice = verdict(result)
    return template("report.html.j2").render(
        result=result, level=level, headline=headline, advice=advice, warnings=warnings(result), counts=counts(result),
        statuses=STATUSES, findings=group_findings(result), headlines=headlines(result), ceilings=tables.ceilings_table(result),
        has_roofline=roofline is not None, points=len(roofline_plot.placed_on_roofline(result)), sections=sections, team=team, fused=fused,
        comparisons=comparison_rows(result), comparison_medians=comparison_medians(result), unmeasured=unmeasured_groups(result), wall_time=wall_time(result),
        total=units.duration(result["wall_time"]["total_seconds"]) if "wall_time" in result else "", device=facts.device_facts(result),
        details=facts.flat(result["device"]["details"]) + facts.host_details(result), run=facts.run_facts(result, digest),
        conditions=facts.conditions(result), figures=script_safe(figures), plotly=plotly.offline.get_plotlyjs(), digest=digest)


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
