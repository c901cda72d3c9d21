# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The acceptance document: what `roofmark accept` decided, with its evidence, as a page that prints to A4."""

import argparse
import contextlib
import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path

from . import delivery, evidence, library, roofline_plot, telemetry, units
from . import verdict as verdicts
from .program import BAD_INPUT, Parser, Problem, roofmark_program
from .report import template, write

DRAWN = 8  # devices with a roofline and a plot of telemetry of their own
PASSING = 12  # passing rows of a rule that are shown, those nearest to the limit
LEVELS = dict(zip(verdicts.VERDICTS, ("bad", "warn", "warn", "good")))

def _read(path, use):
    """What `use` makes of the bytes of a file and their SHA-256."""
    try:
        data = Path(path).read_bytes()
        return use(data, hashlib.sha256(data).hexdigest())
    except OSError as error:
        raise Problem(BAD_INPUT, f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise Problem(BAD_INPUT, f"{path}: {error}") from error


def judge(options, path):
    """Has `roofmark accept` judge the results and write its verdict to `path`."""
    command = [roofmark_program(), "accept", *options.results, "--profile", options.profile, "--json", str(path)]
    for flag, value in (("--expect-gpus", options.expect_gpus), ("--max-age", options.max_age)):
        command += [flag, value] if value else []
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if done.returncode not in (0, 1):
        said = " ".join(done.stderr.split()).removeprefix("roofmark: ")
        raise Problem(BAD_INPUT, f"roofmark accept: {said or f'exit status {done.returncode}'}")


def find_results(arguments):
    """{SHA-256: path} of the result files that the arguments name or that lie below them."""
    found = {}
    for argument in map(Path, arguments):
        for path in sorted(argument.rglob("result.json")) if argument.is_dir() else [argument]:
            found[_read(path, lambda _, digest: digest)] = path
    return found


def _badness(check):
    """Sorts the worst first: mandatory before not, then by verdict and margin."""
    order = verdicts.VERDICTS.index(check["verdict"])
    return (order == len(verdicts.VERDICTS) - 1, not check["mandatory"], order, check.get("margin", -1e9))


def whom(check):
    """Whom a check judges, in short: the table of devices has the rest."""
    if label := check.get("device"):
        return evidence.short(label)
    return f"node {check['node']}" if "node" in check else "delivery"


def _whole(text):
    """The text with its numbers and their "%" kept together."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _natural(subject):
    """Sorts node2 before node10; devices by node."""
    place = "/".join(reversed(evidence.parts_of(subject["name"])[1:])) if " of " in subject["name"] else subject["name"]
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", place)]


def _interval(check):
    low, high, measured = (check.get(key) for key in ("interval_low", "interval_high", "measured"))
    if low is None or not measured:
        return ""
    if high is None:
        return f"from {100 * (low / measured - 1):+.2f}\N{NO-BREAK SPACE}%"
    return f"{100 * (low / measured - 1):+.2f} to {100 * (high / measured - 1):+.2f}\N{NO-BREAK SPACE}%"


def _margin(check):
    return f"{100 * check['margin']:+.1f}\N{NO-BREAK SPACE}%" if "margin" in check else ""


def _rows(checks, devices):
    """The rows of a rule's table, in the order of the checks; checks that say the same of several share a row. `devices` is the number of all."""
    rows = {}
    for check in checks:
        of = check.get("of", "")
        case, first = ("", [of]) if " " in of else (of, [])  # of a count, the first that was counted
        notes = first + ([f"because: {check['explanation']}"] if "explanation" in check else [])
        told = (case, _whole(check["expected"]), _whole(check["found"]), _interval(check), _margin(check), check["verdict"], tuple(notes))
        rows.setdefault(told, []).append(whom(check))
    made = []
    for (case, expected, found, interval, margin, verdict, notes), names in rows.items():
        names = list(dict.fromkeys(names))
        few = len(names) <= 2
        made.append({"whom": ", ".join(names) if few else ("all " if len(names) == devices else "") + f"{len(names)} devices", "of": case,
                     "expected": expected, "found": found, "interval": interval, "margin": margin, "verdict": verdict,
                     "notes": notes if few or verdict == "PASS" or len(names) == devices else (", ".join(names), *notes)})
    return made


def rules(checks, devices, every):
    """The rules, the worst first, each with its checks, the worst first. Of the rows that pass, those nearest to the limit are shown."""
    groups = {}
    for check in checks:
        groups.setdefault(check["rule"], []).append(check)
    made = []
    for rule, found in groups.items():
        found.sort(key=_badness)
        worst = dict.fromkeys(("quantity", "meaning", "reason", "source", "origin"), "") | found[0]
        rows = _rows(found, devices)
        bad = sum(row["verdict"] != "PASS" for row in rows)
        shown = rows if every else rows[:bad + PASSING]
        made.append({
            "id": rule, "worst": worst, "margin": _margin(worst), "count": len(found), "rows": shown, "rest": len(rows) - len(shown),
            "rest_margins": " to ".join(dict.fromkeys((rows[len(shown)]["margin"], rows[-1]["margin"]))) if len(shown) < len(rows) else "",
            "counts": {verdict: sum(check["verdict"] == verdict for check in found) for verdict in verdicts.VERDICTS}})
    return sorted(made, key=lambda rule: _badness(rule["worst"]))


def drawn_files(verdict, paths, files):
    """The results that are drawn: (caption, path) of every device, or of the worst of each kind where there are more than DRAWN."""
    margins = {}
    for check in verdict["checks"]:
        if "margin" in check and "file" in check:
            margins[check["file"]] = min(check["margin"], margins.get(check["file"], check["margin"]))
    ordered = sorted(zip(verdict["files"], paths, files), key=lambda one: margins.get(one[0]["path"], 1e9))
    if len(ordered) <= DRAWN:
        shown = sorted(ordered, key=lambda one: (one[2]["where"], one[2]["suite"]))
        several = {file["where"] for _, _, file in shown if [other["where"] for _, _, other in shown].count(file["where"]) > 1}
        return [(file["where"] + (f", suite {file['suite']}" if file["where"] in several else ""), path) for _, path, file in shown]
    kinds = {}
    for _, path, file in ordered:
        kinds.setdefault(tuple(sorted({device["name"] for device in file["devices"].values()})), (file["where"], path))
    return [(f"{', '.join(kind)}: {where}, the one with the smallest margin", path) for kind, (where, path) in list(kinds.items())[:DRAWN]]


def narrow(figure):
    """A roofline for the width of an A4 page, two on a page."""
    figure["data"] = [trace for trace in figure["data"] if trace.get("visible") != "legendonly"]  # paper has no clicks
    layout = figure["layout"]
    layout |= {"height": 385, "margin": {"l": 58, "r": 222, "t": 50, "b": 60}, "font": layout["font"] | {"size": 11}}
    layout["legend"] |= {"font": {"size": 9}, "entrywidth": 98, "x": -0.12, "y": -0.2}
    for label in layout["annotations"]:
        label["font"] = label["font"] | {"size": 9.5}
    return figure


def drawings(chosen):
    """The figures of the chosen results, by id, and what the page says of each."""
    figures, rooflines, courses = {}, [], []
    for i, (caption, path) in enumerate(chosen):
        roofline, course, reasons = _read(path, lambda data, _: evidence.read(data, lambda result: (
            roofline_plot.roofline(result), telemetry.plot(result, delivery.places(result)), telemetry.reasons(result))))
        if roofline:
            figures[f"roofline-{i}"] = narrow(roofline)
            rooflines.append((f"roofline-{i}", caption))
        if course:
            figures[f"telemetry-{i}"] = course
            courses.append((f"telemetry-{i}", caption, reasons))
    return figures, rooflines, courses


def css_string(text):
    """Text as a string of a style sheet, which no character of it can leave."""
    return '"' + "".join(c if c.isascii() and c.isalnum() or c == " " else f"\\{ord(c):x} " for c in text if c.isprintable()) + '"'


def title_of(verdict, files):
    """What is delivered: "8 × NVIDIA H200 on 1 node (node7)"."""
    models = {}
    for label in (device["name"] for device in verdict["devices"]):
        name = next((file["devices"][label]["name"] for file in files if label in file["devices"]), label)
        models[name] = models.get(name, 0) + 1
    nodes = [node["name"] for node in verdict["nodes"]]
    named = f" ({', '.join(nodes)})" if len(nodes) <= 4 else ""
    return ", ".join(f"{count} × {name}" for name, count in models.items()) + f" on {units.plural(len(nodes), 'node')}{named}"


def page(verdict, digest, name, results, title=None, every=False):
    """The document as HTML. `results` has the path of each judged file by its SHA-256."""
    paths = []
    for file in verdict["files"]:
        if file["sha256"] not in results:
            raise Problem(BAD_INPUT, f"{file['path']} was judged, and no result file here has its SHA-256 ({file['sha256'][:16]}...)")
        paths.append(results[file["sha256"]])
    files = [_read(path, lambda data, digest: evidence.read(data, lambda result: delivery.summary(result, digest))) for path in paths]
    unjudged = sorted(str(path) for sha256, path in results.items() if sha256 not in {file["sha256"] for file in verdict["files"]})
    figures, rooflines, courses = drawings(drawn_files(verdict, paths, files))
    subjects = {key: {one["name"]: one["verdict"] for one in sorted(verdict[key], key=_natural)} for key in ("nodes", "devices")}
    counts = [(key, sum(one == "PASS" for one in subjects[key].values()), len(subjects[key])) for key in ("nodes", "devices")]
    max_age = units.duration(verdict["max_age_seconds"]) if "max_age_seconds" in verdict else ""
    timed = {check.get("of") for check in verdict["checks"] if "interval_low" in check}
    return template("acceptance.html.j2").render(
        verdict=verdict, digest=digest, name=name, title=title or title_of(verdict, files), described=title_of(verdict, files), max_age=max_age,
        rules=rules(verdict["checks"], len(verdict["devices"]), every), verdicts=verdicts.VERDICTS, levels=LEVELS, counts=counts,
        passing=sum(check["verdict"] == "PASS" for check in verdict["checks"]), measured=sum(file["ok"] for file in files), unjudged=unjudged,
        nodes=delivery.hosts_table(files, subjects["nodes"]), devices=delivery.devices_table(files, subjects["devices"]),
        software=delivery.software(files), conditions=delivery.conditions(files), findings=delivery.findings(files),
        unmeasured=delivery.unmeasured(files), not_looked_for=delivery.not_looked_for(files), rooflines=rooflines, courses=courses,
        telemetry=telemetry.tables(files, timed), figures=library.elements(figures, "plain"), css_string=css_string)


def main(arguments):
    parser = Parser(
        prog="acceptance", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Writes the acceptance document of a delivery: the verdict of `roofmark accept`, every rule with its evidence, the cases that\n"
        "were not measured, and a signature block. One self-contained HTML file that a browser prints to A4; the verdict is also written as JSON.",
        epilog="ROOFMARK names the program where it is not in build/release or build/cpu-only, beside these scripts' installation, or in PATH.\n\n"
        "Exit status: 0 accepted; 1 not accepted; 2 bad usage or input; 3 the document could not be written.")
    parser.add_argument("results", metavar="FOLDER", nargs="+", help="result files, or folders to search for result.json")
    parser.add_argument("--profile", metavar="P", help="a shipped profile, or a TOML file, for `roofmark accept`")
    parser.add_argument("--expect-gpus", metavar="N", help="number of GPUs ordered")
    parser.add_argument("--max-age", metavar="AGE", help="maximum age of a result: 90s, 15m, 12h, 7d")
    parser.add_argument("--verdict", metavar="FILE", help="present this verdict of `roofmark accept --json` instead of judging")
    parser.add_argument("--title", metavar="TEXT", help="what is accepted, such as an order number [the devices and nodes]")
    parser.add_argument("--every-check", action="store_true",
                        help=f"show every passing row, not only the {PASSING} per rule that are nearest to the limit")
    parser.add_argument("--out", metavar="FILE.html", help="the document [acceptance.html in the first FOLDER]")
    options = parser.parse_args(arguments)
    if bool(options.profile) == bool(options.verdict):
        parser.error("either --profile or --verdict is needed")
    if options.verdict and (options.expect_gpus or options.max_age):
        parser.error("--expect-gpus and --max-age have no effect on an existing --verdict")
    first = Path(options.results[0])
    out = Path(options.out) if options.out else (first if first.is_dir() else first.parent) / "acceptance.html"
    beside = out.with_suffix(".json")
    results = find_results(options.results)
    if {os.path.realpath(path) for path in results.values()} & {os.path.realpath(out), os.path.realpath(beside)} or out == beside:
        parser.error(f"--out {out} would replace a result file")
    with contextlib.ExitStack() as stack:
        path = options.verdict
        if not path:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roofmark-acceptance-"))) / "verdict.json"
            judge(options, path)
        verdict, digest = _read(path, lambda data, digest: (verdicts.parse(data), digest))
        name = os.path.basename(options.verdict or beside)
        made = page(verdict, digest, name, results, options.title, options.every_check)
        if not options.verdict:
            write(beside, [path.read_text(encoding="utf-8")])
        write(out, [made])
    print(f"{'ACCEPTED' if verdict['accepted'] else 'NOT ACCEPTED'}: {out}")
    return 0 if verdict["accepted"] else 1
