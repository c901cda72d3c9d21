# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a result file as one self-contained HTML page."""

import functools
import math
import statistics
from pathlib import Path

import jinja2
import markupsafe

from . import communication, delivery, facts, family_plots, library, plots, roofline_plot, summary, tables, telemetry, transfers, units
from .program import Parser, printable, refuse_to_replace, visible, write
from .result import STATUSES, counts, files_of, load, rank_of_finding, rank_of_status

LEVELS = {"good": "good", "doubtful": "warn", "bad": "bad"}  # of a verdict: the page's classes


def warnings(result):
    """What of the operands and of the build changes the numbers."""
    made = []
    if result["data"] == "zeros":
        made.append("The operands were zeros, which draw less power: rates under a power cap are too high.")
    if result["build"]["dirty"]:
        made.append("roofmark was built from sources with local changes.")
    if result["build"]["build_type"].lower() == "debug":
        made.append("roofmark was built without optimisation.")
    return made


def group_findings(result):
    """By kind, the severe kinds first; within a kind the largest first."""
    groups = {}
    for finding in sorted(result["findings"], key=rank_of_finding):
        groups.setdefault(finding["kind"], []).append(finding)
    for findings in groups.values():
        findings.sort(key=lambda f: -f.get("size", 0))
    made = []
    for kind, findings in groups.items():
        same = {}
        for finding in findings:
            same.setdefault(finding["text"], []).append(finding.get("case", ""))
        made.append({"kind": f"{findings[0]['severity']}: {kind.replace('_', ' ')}", "meaning": findings[0]["advice"], "count": len(findings),
                     "texts": [(text, [case for case in cases if case]) for text, cases in same.items()]})
    return made


def comparison_rows(result):
    """Positions run from 0 to 100, with 50 for a ratio of 1; the scale is logarithmic, so that 1 % shows beside a factor of 2."""
    ends = [c.get(key, c["ratio"]) for c in result["comparisons"] for key in ("low", "high", "ratio")]
    reach = max([abs(end - 1) for end in ends], default=0) * 1.1 or 1

    def place(ratio):
        return round(50 + math.copysign(50 * math.log1p(abs(ratio - 1) / 0.02) / math.log1p(reach / 0.02), ratio - 1), 2)

    rows = []
    for c in sorted(result["comparisons"], key=lambda c: c["ratio"]):  # where the first loses most comes first
        low, high = c.get("low"), c.get("high")
        known = low is not None and high is not None
        rows.append({
            "name": c["name"], "key": c["key"], "numerator": c["numerator"], "denominator": c["denominator"], "ratio": units.digits(c["ratio"], 4),
            "interval": f"{units.digits(low, 4)} to {units.digits(high, 4)}" if known else "no interval",
            "says": "faster" if known and low > 1 else "slower" if known and high < 1 else "undecided",
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
    groups = {}
    for entry in result["unmeasured"]:
        record = entry["roofmark"]
        groups.setdefault((record["status"], record.get("reason", "no reason recorded")), {})[entry["name"]] = True  # once of both passes
    return [{"status": status, "reason": reason, "cases": list(cases)}
            for (status, reason), cases in sorted(groups.items(), key=lambda item: rank_of_status(item[0][0]))]


def wall_time(result):
    if "wall_time" not in result:
        return []
    spent = result["wall_time"]
    total = spent["total_seconds"]
    parts = {"timing": "timing", "warm_up": "warming up", "preparation": "preparing (allocating, filling, tuning)",
             "verification": "verifying results", "writing": "writing files", "other": "other"}
    return [{"what": what, "seconds": units.seconds(spent[f"{key}_seconds"]),
             "share": units.share(spent[f"{key}_seconds"] / total if total else 0),
             "percent": round(100 * spent[f"{key}_seconds"] / total, 2) if total else 0} for key, what in parts.items()]


def team_section(result, figure, titles):
    """The section on communication; `figure` registers a figure and returns its id."""
    made = {"members": tables.table("members", *communication.members(result), empty=False)}
    for name, plot in (("busbw", communication.busbw(result)), ("scaling", communication.scaling(result)),
                       ("overlap", communication.overlaps(result))):
        made[name] = figure(plot) if plot else None
    made["matrices"] = [figure(plot) for plot in communication.matrices(result)]
    made["pairs_of_all"] = communication.pairs_of_all(result)
    for name, parts in (("fits", communication.fits(result)), ("scaling_rows", communication.scaling_rows(result)),
                        ("overlap_rows", communication.overlap_rows(result)), ("slowest", communication.slowest(result)), ("groups", communication.groups(result))):
        made[name] = tables.table(name, *parts, empty=False) if parts[1] else None
    made["collectives"] = [(title, tables.table(f"collective-{i}", columns, rows, empty=False))
                           for i, (title, columns, rows) in enumerate(communication.collectives(result))]
    apart = {}
    for entry in result["benchmarks"]:
        if communication.concerns(entry) and not communication.is_collective(entry):
            apart.setdefault(entry["roofmark"]["family"], []).append(entry)
    made["apart"] = [(family, len(entries), tables.family_table(family, entries, titles)) for family, entries in apart.items()]
    concerned = (entry["roofmark"]["family"] for entry in result["benchmarks"] if communication.concerns(entry))
    made["meanings"] = list(dict.fromkeys(filter(None, map(result["families"].get, concerned))))
    made["stragglers"], made["judged"] = communication.stragglers(result)
    slow = result["communication"].get("slow", "")
    made["slow"] = slow[:1].upper() + slow[1:]
    return made


def entering(value):
    """A value where it enters a page. Markup is made of values that have entered."""
    return visible(value) if isinstance(value, str) and not isinstance(value, markupsafe.Markup) else value


@functools.cache
def template(name):
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, finalize=entering)
    return environment.get_template(name)


def page(result, digest, form="packed"):
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

    def drawn(made):
        """The figures of a family with their captions, and in words what has no course to draw."""
        said = {line: None for plot, _ in made for line in plots.sole_place(plot) or ()}
        return {"plots": [(figure(plot), caption) for plot, caption in made if plots.sole_place(plot) is None],
                "said": [markupsafe.Markup(visible(line)) for line in said]}

    def tabled(family, entries):
        """Calls that the host timed have columns of their own."""
        calls = [entry for entry in entries if tables.is_call(entry)]
        others = [entry for entry in entries if not tables.is_call(entry)]
        made = [tables.calls_table(family, calls, on_gpu=result["device"]["kind"] != "cpu")] if calls else []
        return made + ([tables.family_table(family, others, titles)] if others else [])

    sections = [{
        "name": family, "meaning": result["families"].get(family, ""), "tables": tabled(family, entries), "count": len(entries)}
        | drawn(family_plots.of_family(family, result, entries)) for family, entries in families.items()]
    team = team_section(result, figure, titles) if "communication" in result else None
    course = telemetry.plot(result, delivery.places(result))
    courses = [(figure(course), "", telemetry.reasons(result))] if course else []
    fused = family_plots.fused_pairs(result)
    fused = figure(fused) if fused else None
    return template("report.html.j2").render(
        result=result, level=LEVELS[result["verdict"]["level"]], program=facts.program(result["build"], 12), health=facts.health(result), ranks=units.plural(len(result.get("team", ())), "rank"), summary=summary.summary_table(result), warnings=warnings(result), counts=counts(result),
        courses=courses, telemetry=telemetry.tables([telemetry.summary(result, delivery.places(result)) | {"where": delivery.where(result)}]),
        statuses=STATUSES, findings=group_findings(result), ceilings=tables.ceilings_table(result),
        call_lines=tables.call_lines_table(result), transfers=transfers.table(result),
        matrices=[figure(plot) for plot in transfers.matrices(result)], has_roofline=roofline is not None, basis=roofline_plot.roofs(result)[0], hides_theory=roofline is not None and any(t.get("visible") == "legendonly" for t in roofline["data"]), probed=any("empirical" in c for c in result["ceilings"]), probed_again=any("last" in c for c in result["ceilings"]), in_theory=any("theoretical" in c for c in result["ceilings"]), points=len({entry["name"] for entry in roofline_plot.placed_on_roofline(result)}), sections=sections, team=team, fused=fused,
        comparisons=comparison_rows(result), comparison_medians=comparison_medians(result), unmeasured=unmeasured_groups(result), wall_time=wall_time(result),
        total=units.duration(result["wall_time"]["total_seconds"]) if "wall_time" in result else "", device=facts.device_facts(result),
        details=facts.flat(result["device"]["details"]) + facts.host_details(result), run=facts.run_facts(result, digest),
        conditions=facts.conditions(result), figures=library.elements(figures, form), digest=digest)


def main(arguments):
    parser = Parser(prog="report", description="Writes a roofmark result file as one self-contained HTML page, which docs/reading-a-report.md explains.",
                    epilog="Exit status: 0; 2 bad usage or input; 3 the page could not be written.")
    parser.add_argument("result", metavar="PATH", help="a result file, or a folder that is searched for result.json")
    parser.add_argument("-o", "--output", metavar="FILE", help="output file [report.html beside each result]")
    parser.add_argument("--whole-library", action="store_true",
                        help="embed all of plotly.js, not packed (5 MB): for browsers from before 2023")
    options = parser.parse_args(arguments)
    files = files_of(options.result)
    if options.output and len(files) > 1:
        parser.error(f"{options.result} has {len(files)} results, which do not fit into {options.output}")
    for file in files:
        output = options.output or str(file.parent / "report.html")
        refuse_to_replace(files, output)
        write(output, [page(*load(file), "whole" if options.whole_library else "packed")], named=bool(options.output))
        print(f"page: {printable(output)}")
