# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The acceptance document: what `roofmark accept` decided, with its evidence, as a page that prints to A4."""

import argparse
import contextlib
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from . import check_rows, delivery, evidence, key_figures, library, roofline_plot, telemetry, units
from . import verdict as verdicts
from .check_rows import PASSING
from .program import BAD_INPUT, Parser, Problem, read_file, refuse_to_replace, roofmark_program, write
from .report import template

DRAWN = 8  # devices with a roofline and a plot of telemetry of their own
FILES = 2  # result files whose SHA-256 the first page has: of more it has the verdict's, which holds theirs
# The annexes, in order; those with the same page have the same running head. {letter: (title, id, page)}
ANNEXES = {"A": ("Nodes and devices", "delivery", "delivered"), "B": ("Software and conditions", "software", "delivered"),
           "C": ("Rules and evidence", "rules", "evidence"), "D": ("Cases not measured", "not-measured", "evidence"),
           "E": ("Rooflines", "rooflines", "drawn"), "F": ("Clock, power, load and errors over the runs", "over-time", "drawn"),
           "G": ("Findings", "findings", "files"), "H": ("Files judged", "files", "files")}
LEVELS = dict(zip(verdicts.VERDICTS, ("bad", "warn", "warn", "good")))

def _read(path, use):
    """What `use` makes of the bytes of a file and their SHA-256."""
    try:
        data = read_file(path)
        return use(data, hashlib.sha256(data).hexdigest())
    except OSError as error:
        raise Problem(BAD_INPUT, f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise Problem(BAD_INPUT, f"{path}: {error}") from error
    except MemoryError as error:
        raise Problem(BAD_INPUT, f"{path}: too large for the memory") from error


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
    return [(f"{', '.join(kind)}: {where}, with the smallest margin", path) for kind, (where, path) in list(kinds.items())[:DRAWN]]


def _same_legend(figure, first):
    """Whether the legend of a figure is that of the `first` one of its kind."""
    return first is not None and [(trace.get("name"), trace.get("marker")) for trace in figure["data"]] == [
        (trace.get("name"), trace.get("marker")) for trace in first["data"]]


def narrow(figure, first, several):
    """A roofline for the width of an A4 page, higher where it is the only one."""
    figure["data"] = [trace for trace in figure["data"] if trace.get("visible") != "legendonly"]  # paper has no clicks
    layout, same = figure["layout"], _same_legend(figure, first)
    layout |= {"height": 272 if same else 400 if several else 520, "margin": {"l": 58, "r": 222, "t": 44, "b": 42 if same else 60}, "font": layout["font"] | {"size": 11}}
    layout["legend"] |= {"font": {"size": 9}, "entrywidth": 106, "x": -0.12, "y": -0.2, "orientation": "h", "yanchor": "top"}
    layout |= {"showlegend": False} if same else {}
    for label in layout["annotations"]:
        label["font"] = label["font"] | {"size": 9.5}
    return figure


def flat(figure, first, several):
    """A plot of telemetry: two on a page, three where there are `several`. Its axes have the units alone, since the legend says what is drawn."""
    layout, same = figure["layout"], _same_legend(figure, first)
    layout |= {"height": min(layout["height"], (210 if same else 250) if several else 330), "font": layout["font"] | {"size": 10}}
    layout |= {"showlegend": False, "margin": layout["margin"] | {"t": 8}} if same else {}
    layout["legend"]["font"] = {"size": 9}
    for key in layout:
        if key.startswith("yaxis"):
            layout[key]["title"] = {"text": layout[key]["title"]["text"].rpartition(", ")[2], "font": {"size": 9}}
    return figure


def drawings(chosen):
    """The figures of the chosen results, by id, and what the page says of each."""
    figures, rooflines, courses = {}, [], []
    for i, (caption, path) in enumerate(chosen):
        roofline, course, reasons = _read(path, lambda data, _: evidence.read(data, lambda result: (
            roofline_plot.roofline(result), telemetry.plot(result, delivery.places(result)), telemetry.reasons(result))))
        if roofline:
            figures[f"roofline-{i}"] = narrow(roofline, figures.get(rooflines[0][0]) if rooflines else None, len(chosen) > 1)
            rooflines.append((f"roofline-{i}", caption))
        if course:
            figures[f"telemetry-{i}"] = flat(course, figures.get(courses[0][0]) if courses else None, len(chosen) > 2)
            courses.append((f"telemetry-{i}", caption, reasons))
    return figures, rooflines, courses


def apart(table):
    """What all rows of a table have in common, as (title, text), and the table without it; of few rows, nothing."""
    columns, rows = table["columns"], table["rows"]
    same = [i for i, (title, _, _) in enumerate(columns) if i and title != "Verdict" and len(rows) > 2 and len({row[i][0] for row in rows}) == 1]
    kept = [i for i in range(len(columns)) if i not in same]
    return {"common": [(columns[i][0], rows[0][i][0]) for i in same],
            "table": table | {"columns": [columns[i] for i in kept], "rows": [[row[i] for i in kept] for row in rows]}}


def css_string(text):
    """Text as a string of a style sheet, which no character of it can leave."""
    return '"' + "".join(c if c.isascii() and c.isalnum() or c == " " else f"\\{ord(c):x} " for c in text if c.isprintable()) + '"'


def title_of(verdict, files):
    """What is delivered: "8 × NVIDIA H200 on 1 node (node7)"."""
    models, known = {}, delivery.known(files)
    for label in (device["name"] for device in verdict["devices"]):
        name = known.get(evidence.key_of(label), {}).get("name", label)
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
    cases = key_figures.judged_cases(verdict["checks"])
    read = [_read(path, lambda data, digest: evidence.read(data, lambda result: (
        delivery.summary(result, digest), key_figures.records(result, cases)))) for path in paths]
    files, found = [one for one, _ in read], {file["path"]: records for file, (_, records) in zip(verdict["files"], read)}
    unjudged = sorted(str(path) for sha256, path in results.items() if sha256 not in {file["sha256"] for file in verdict["files"]})
    figures, rooflines, courses = drawings(drawn_files(verdict, paths, files))
    subjects = {key: {one["name"]: one["verdict"] for one in sorted(verdict[key], key=check_rows.natural)} for key in ("nodes", "devices")}
    timed = {check.get("of") for check in verdict["checks"] if "interval_low" in check}
    rules = check_rows.rules(verdict["checks"], len(verdict["devices"]), every)
    described, unmeasured, findings = title_of(verdict, files), delivery.unmeasured(files), delivery.findings(files)
    return template("acceptance.html.j2").render(
        verdict=verdict, digest=digest, name=name, title=title or described, described=described, annexes=ANNEXES, files_shown=FILES,
        sentence=key_figures.sentence(verdict), facts=key_figures.delivered(verdict, files, described), problems=key_figures.problems(rules, len(verdict["devices"])),
        key=key_figures.figures(verdict["checks"], found, {rule["id"]: i for i, rule in enumerate(rules, 1)}, len(verdict["devices"])),
        rules=rules, meanings=check_rows.meanings(verdict["checks"]), levels=LEVELS, unjudged=unjudged,
        passing=sum(check["verdict"] == "PASS" for check in verdict["checks"]), cut=key_figures.cut, number=key_figures.number,
        nodes=apart(delivery.hosts_table(files, subjects["nodes"])), devices=apart(delivery.devices_table(files, subjects["devices"])),
        above=os.path.commonpath([os.path.dirname(file["path"]) for file in verdict["files"]]) if len(verdict["files"]) > FILES else "",
        software=delivery.software(files), conditions=delivery.conditions(files), findings=findings,
        unmeasured=unmeasured, points=key_figures.open_points(unmeasured, findings), not_looked_for=delivery.not_looked_for(files), rooflines=rooflines, courses=courses,
        telemetry=telemetry.tables(files, timed), figures=library.elements(figures, "plain"), css_string=css_string)


def main(arguments):
    parser = Parser(
        prog="acceptance", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Writes the acceptance document of a delivery: page one, for the signatures, has the verdict of `roofmark accept`, the devices\n"
        "and the key figures; the annexes have every rule with its evidence, and what was not measured. One self-contained HTML file that a browser\n"
        "prints to A4; the verdict is also written as JSON.",
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
        parser.error("--profile judges and --verdict presents a judgement: give only one" if options.profile else "either --profile or --verdict is needed")
    if options.verdict and (options.expect_gpus or options.max_age):
        parser.error("--expect-gpus and --max-age have no effect on an existing --verdict")
    if options.out and Path(options.out).suffix.lower() not in (".html", ".htm"):
        parser.error(f"--out {options.out}: the document is HTML, so its name ends in .html; a browser prints it to PDF")
    first = Path(options.results[0])
    out = Path(options.out) if options.out else (first if first.is_dir() else first.parent) / "acceptance.html"
    beside = out.with_suffix(".json")
    results = find_results(options.results)
    refuse_to_replace(results.values(), beside)
    refuse_to_replace([*results.values(), beside], out)
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
        write(out, [made], named=bool(options.out))
    print(f"{'ACCEPTED' if verdict['accepted'] else 'NOT ACCEPTED'}: {out}")
    return 0 if verdict["accepted"] else 1
