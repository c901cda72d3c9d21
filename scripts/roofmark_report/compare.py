# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the runs of two sides case by case: times, times per clock, and equal bits for equal fingerprint keys."""

import argparse
import json
import math
import statistics
import textwrap
from collections import Counter

import numpy as np

from . import significance
from .compare_texts import WIDTH, basis, headline, summary, table
from .program import BAD_INPUT, Parser, Problem, printable, refuse_to_replace, write
from .result import files_of, key_of, load, rank_of_status, worst_status

WORSE_FOUND = 1
SEPARATOR = "\0"  # no argument can contain it
ORDER = ("SLOWER", "FASTER", "UNCLEAR", "SAME")
LARGEST = 200  # of an interval's end, as a logarithm
MARGIN = 0.01
# Resources whose ceiling does not scale with the SM (core) clock.
UNCLOCKED = {
    "dram", "nvlink", "pcie", "interprocess", "network", "network_of_rank", "host_to_device", "device_to_host", "peer_in", "peer_out", "host_dram",
    "dram_access", "host_access", "peer_access", "stream_launch", "graph_launch",
}


def block_values(measurement, column):
    """A value per block: the median of its samples, or the clock observed after it."""
    if column == "clock_hz":
        return [block.get("clock_hz") for block in measurement["blocks"]]
    blocks = {}
    for block, sample in zip(measurement["samples"]["block"], measurement["samples"]["seconds"]):
        blocks.setdefault(block, []).append(sample)
    return [statistics.median(blocks[block]) for block in sorted(blocks)]


def units_of(records, column, by_run):
    """A value per unit: of each run, or of each block of all runs."""
    if not by_run:
        return [value for record in records for value in block_values(record["measurement"], column)]
    return [record["measurement"].get({"seconds": "median"}.get(column, column)) for record in records]


def follows_clock(records):
    return all((bound := record["placement"].get("bound_by")) and bound not in UNCLOCKED for record in records)


class Case:
    """The ok records of one case, per side."""

    def __init__(self, key, sides):
        self.name, self.sides = name_of(key), sides
        self.lone = min(map(len, sides)) == 1
        # Beside many runs of a known spread, one is a run too.
        self.by_run = min(map(len, sides)) > 1 or max(map(len, sides)) >= significance.FEWEST_RUNS
        self.runs_suffice = significance.runs_suffice(*map(len, sides))
        self.seconds = [units_of(side, "seconds", self.by_run) for side in sides]
        self.clocks = [units_of(side, "clock_hz", self.by_run) for side in sides]

    def testable(self):
        return all(value > 0 for side in self.seconds for value in side) and (self.by_run or min(map(len, self.seconds)) > 1)

    def clocked(self):
        return (self.testable() and all(follows_clock(side) for side in self.sides)
                and all(len(side) == len(clocks) and all(clocks) for side, clocks in zip(self.seconds, self.clocks)))

    def deviation_of_step(self):
        """What the clock's step adds to a time, as a share of it."""
        return significance.deviation_of_step(np.concatenate([record["measurement"]["samples"]["seconds"] for side in self.sides for record in side]))

    def logarithms(self, per_clock):
        """[units, 1] for each side."""
        return [np.log(np.array(seconds) * (np.array(clocks) if per_clock else 1))[:, None]
                for seconds, clocks in zip(self.seconds, self.clocks)]


def judge(cases, margin, per_clock=False):
    """For each case its ratio, interval, p-values and verdict. Holm corrects over all of these cases. With one run on a side, what would be SLOWER or
    FASTER only `seems` so: nothing shows how that run varies. Few runs show by chance too little scatter: it is at least the usual one of such cases."""
    sides = [case.logarithms(per_clock) for case in cases]
    steps = [case.deviation_of_step() for case in cases]
    deviations = [float(significance.standard_deviation(*side, step)[0]) for side, step in zip(sides, steps)]
    few = {}  # of the cases with few runs, by their unit
    for case, deviation in zip(cases, deviations):
        if not case.runs_suffice:
            few.setdefault(case.by_run, []).append(deviation)
    usual = {by_run: statistics.median(found) for by_run, found in few.items()}
    least = [step if case.runs_suffice else max(step, usual[case.by_run]) for case, step in zip(cases, steps)]
    judged = [significance.shift(*side, len(cases), deviation) for side, deviation in zip(sides, least)]
    corrected = significance.holm([shift.p[0] for shift in judged])
    rows = []
    for case, shift, deviation, p in zip(cases, judged, deviations, corrected):
        beyond = max(margin, significance.MARGIN_OF_ONE_RUN if case.lone else 0 if case.runs_suffice else significance.MARGIN_OF_FEW_RUNS)
        verdict = str(significance.verdicts(shift, np.array([p]), margin, beyond)[0])
        seems = {"seems": verdict} if case.lone and verdict in ("SLOWER", "FASTER") else {}
        if seems or verdict == "SAME" and not case.by_run:  # the interval of blocks is that of these processes alone
            verdict = "UNCLEAR"
        rows.append({
            "verdict": verdict, "ratio": math.exp(shift.estimate[0]),
            "interval": [math.exp(min(max(end[0], -LARGEST), LARGEST)) for end in (shift.low, shift.high)],
            "test": "mann_whitney" if significance.ranks_suffice(*map(len, case.seconds), len(cases)) else "student",
            "p": float(shift.p[0]), "p_holm": float(p), "p_mann_whitney": float(shift.mann_whitney[0]), "called_beyond": beyond}
            | seems | ({"cv": deviation, "runs_needed": significance.runs_needed(deviation, len(cases))} if case.by_run else {}))
    return rows


def verdict_or_guess(row):
    return row.get("seems", row["verdict"])


def cause(row, margin):
    """Why a case is, or seems, slower or faster: the clock, or more or fewer clocks. Empty where the runs cannot tell."""
    per_clock = row.get("per_clock")
    if not per_clock or verdict_or_guess(row) not in ("SLOWER", "FASTER"):
        return ""
    if verdict_or_guess(per_clock) == verdict_or_guess(row):
        return "per clock"
    return "clock" if abs(math.log(per_clock["ratio"])) <= math.log1p(margin) else ""


def marks_of(record):
    """The fingerprint key with each hash: that of most devices, and one of its own for each whose bits differ from them."""
    mark = record.get("fingerprint")
    return [(mark["key"], of) for of in (mark["hash"], *(f"other bits, rank {rank}" for rank in mark.get("differing_ranks", [])))] if mark else []


def fingerprints(a, b):
    """"equal" or "differ" where records of both sides have fingerprints of the same key, else empty. Launches that differ among themselves are other bits,
    unless as many records of the key do so: the operation may be so."""
    marks = [[mark for record in side for mark in marks_of(record)] for side in (a, b)]
    counts = Counter(marks[0] + marks[1])
    varying = {key for key, found in counts if not found and counts[key, ""] >= max(count for (of, _), count in counts.items() if of == key)}
    hashes = [{mark for mark in side if mark[0] not in varying} for side in marks]
    if not {key for key, _ in hashes[0]} & {key for key, _ in hashes[1]}:
        return ""
    both = hashes[0] | hashes[1]
    return "equal" if len(both) == len({key for key, _ in both}) else "differ"


def groups_of(record):
    """The ranks of each communicator; None where all ranks are in one."""
    return record.get("message", {}).get("groups")


def of_same_ranks(records):
    return all(groups_of(record) == groups_of(records[0]) for record in records)


def name_of(key):
    return printable(key[0]) + (" (after the suite)" if key[1] == 2 else "")


def statuses(records):
    """ok; or with counts where the runs differ: 3 ok, 2 wrong."""
    counted = Counter(record["status"] for record in records)
    return next(iter(counted)) if len(counted) == 1 else ", ".join(f"{count} {status}" for status, count in sorted(counted.items()))


def badness(records):
    """Larger where the worst status of the runs is worse, then where none of them is ok."""
    found = {record["status"] for record in records}
    worst = worst_status(found)
    return worst != "ok", -rank_of_status(worst), "ok" not in found


def is_worse(a, b):
    """Whether B has a worse status than A that says more than that the device or the build lacks something."""
    return badness(b) > badness(a) and worst_status(record["status"] for record in b) != "unsupported"


def scope_of(run):
    return run["suite"], run["scope"]["cases"]


def by_case(a, b):
    """For each side the records of each case over its runs. What a run that was cut off does not list and another of its scope does, it has not run."""
    listed = [[{key_of(entry): entry["roofmark"] for entry in run["benchmarks"] + run["unmeasured"]} for run in side] for side in (a, b)]
    planned = {}
    for run, records in zip(a + b, listed[0] + listed[1]):
        planned.setdefault(scope_of(run), {}).update(dict.fromkeys(records, {"status": "not_run"}))
    sides = {}, {}
    for found, runs, of_side in zip(sides, (a, b), listed):
        for run, records in zip(runs, of_side):
            for key, record in (records if run["complete"] else planned[scope_of(run)] | records).items():
                found.setdefault(key, []).append(record)
    return sides


def compare(a, b, margin=MARGIN):
    """Compares lists of results. Returns what --json writes; the rows are sorted by what matters."""
    sides = by_case(a, b)
    alone = [sorted(name_of(key) for key in one.keys() - other.keys()) for one, other in (sides, sides[::-1])]
    cases, elsewhere, changed, worse = [], [], [], []
    for key in (key for key in sides[0] if key in sides[1]):
        records = [side[key] for side in sides]
        if (before := statuses(records[0])) != (after := statuses(records[1])):
            (worse if is_worse(*records) else changed).append(f"{name_of(key)}: {before}, then {after}")
        ok = [[record for record in side if record["status"] == "ok"] for side in records]
        if not all(ok):
            continue
        if of_same_ranks(ok[0] + ok[1]):
            cases.append(Case(key, ok))
        else:
            elsewhere.append(name_of(key))
    rows = [{"name": case.name, "verdict": "UNCLEAR", "runs": [len(side) for side in case.sides], "unit": "run" if case.by_run else "block",
             "seconds": [statistics.median(record["measurement"]["median"] for record in side) for side in case.sides],
             "bits": fingerprints(*case.sides)} for case in cases]
    for row, case in zip(rows, cases):
        row["ratio"] = row["seconds"][0] / row["seconds"][1]
    tested = [i for i, case in enumerate(cases) if case.testable()]
    for i, found in zip(tested, judge([cases[i] for i in tested], margin)):
        rows[i] |= found
    clocked = [i for i, case in enumerate(cases) if case.clocked()]
    for i, found in zip(clocked, judge([cases[i] for i in clocked], margin, per_clock=True)):
        rows[i] |= {"clock_hz": [statistics.median(side) for side in cases[i].clocks], "per_clock": found}
        rows[i]["cause"] = cause(rows[i], margin)
    rows.sort(key=lambda row: (ORDER.index(row["verdict"]), "seems" not in row, -abs(math.log(row["ratio"]))))
    found = {"runs": [len(a), len(b)], "margin": margin, "tested": len(tested), "cases": rows, "only_a": alone[0], "only_b": alone[1],
             "different_ranks": elsewhere, "worse_status": sorted(worse), "different_status": sorted(changed),
             "different_settings": differences_of_setting(a, b), "alternated": alternate(a, b)}
    return {"headline": headline(found)} | found


def alternate(a, b):
    """Whether the runs of two sides began in turn; true where a side has one run."""
    starts = [[run["started_utc"] for run in side] for side in (a, b)]
    return min(map(len, starts)) == 1 or max(map(min, starts)) <= min(map(max, starts))


def fails(found, above):
    """Whether B is worse than A: slower by more than that share of its time, or, whatever the times, by a status or by other bits."""
    return bool(found["worse_status"]) or any(
        row["bits"] == "differ" or row["verdict"] == "SLOWER" and 1 / row["ratio"] - 1 > above for row in found["cases"])


def ranks_of(run):
    return str(len(run.get("team", [])) or 1)


def differences_of_setting(a, b):
    """Differences between the settings of the two sides."""
    def detail(run, name):
        return str(run["device"]["details"].get(name, "unknown"))

    said = {
        "ranks": ranks_of, "device": lambda r: r["device"]["name"], "UUID": lambda r: detail(r, "uuid"),
        "driver": lambda r: detail(r, "driver_version"), "power limit": lambda r: detail(r, "power_limit_watts"),
        "host": lambda r: r["host"]["name"], "suite": lambda r: r.get("suite", "unknown"), "data": lambda r: r["data"],
        "seed": lambda r: str(r["seed"]), "scope": lambda r: ", ".join(r["scope"]["changes"]) or "the whole suite",
        "completeness": lambda r: ("complete" if r["complete"] else "incomplete") + (", interrupted" if r["interrupted"] else ""),
        "verdict": lambda r: r["verdict"]["level"], "roofmark": lambda r: f"{r['build']['version']} {r['build']['commit'][:12]}"}
    libraries = sorted({name for run in a + b for name in run.get("libraries", {})})
    said |= {name: lambda r, name=name: r.get("libraries", {}).get(name, {"version": "absent"})["version"] for name in libraries}

    def values(runs, of):
        found = sorted({of(run) for run in runs})
        return ", ".join(map(printable, found[:3])) + (f" and {len(found) - 3} more" if len(found) > 3 else "")

    return [f"{printable(what)}: {values(a, of)} in A, {values(b, of)} in B" for what, of in said.items()
            if {of(run) for run in a} != {of(run) for run in b}]


def kind_of(run):
    """What cases of one name have to share before their times may be compared."""
    device = "the CPU" if run["device"]["kind"] == "cpu" else "a GPU"
    return f"{'collectives' if 'collectives' in run['arguments'][1:2] else 'a run'} on {device}"


def refuse_what_differs(a, b):
    """Results of different kinds have nothing to compare, whatever their cases are called."""
    kinds = [sorted({kind_of(run) for run in side}) for side in (a, b)]
    if len({*kinds[0], *kinds[1]}) > 1:
        raise Problem(BAD_INPUT, f"results of different kinds: {' and '.join(kinds[0])} in A, {' and '.join(kinds[1])} in B")
    found = by_case(a, b)
    common = found[0].keys() & found[1].keys()
    if not any(of_same_ranks([record for side in found for record in side[key] if record["status"] == "ok"]) for key in common):
        what, value = ("ranks", ranks_of) if common else ("suites", lambda run: run["suite"])
        values = [", ".join(sorted({value(run) for run in side})) for side in (a, b)]
        of = " of the same ranks" if common else ""
        raise Problem(BAD_INPUT, f"A and B have no case{of} in common ({what}: {values[0]} in A, {values[1]} in B)")


def load_side(paths):
    """The results of a side, and the path of each digest. A run that stands there twice would count as two."""
    seen, results = {}, []
    for path in (file for path in paths for file in files_of(path)):
        result, digest = load(path)
        if digest in seen:
            raise Problem(BAD_INPUT, f"{path}: the same run as {seen[digest]}")
        seen[digest] = path
        results.append(result)
    return results, seen


def load_sides(a, b):
    """The results of both sides."""
    (results, seen), (others, seen_too) = load_side(a), load_side(b)
    for digest in seen.keys() & seen_too.keys():
        raise Problem(BAD_INPUT, f"the same run on both sides: {seen[digest]} in A, {seen_too[digest]} in B")
    return results, others


def percentage(text):
    try:
        value = float(text.removesuffix("%")) / 100
    except ValueError:
        value = 0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a percentage above 0 and up to 100")
    return value


def split(paths):
    """The paths of A and of B. Two paths need no separator."""
    if SEPARATOR in paths:
        at = paths.index(SEPARATOR)
        sides = paths[:at], paths[at + 1:]
    else:
        sides = (paths[:1], paths[1:]) if len(paths) == 2 else ([], [])
    if not all(sides) or SEPARATOR in sides[1]:
        raise Problem(BAD_INPUT, "files or folders of both sides are required: A... -- B... (see --help)")
    return sides


def main(arguments):
    parser = Parser(
        prog="compare", usage="compare [--margin PERCENT] [--fail-above PERCENT] [--json FILE] A... -- B...",
        description="Compares the runs of B with those of the baseline A, case by case. ratio = seconds in A / seconds in B: above 1, B is "
        "faster. SLOWER, FASTER: the difference is significant (Mann-Whitney, or Student's t with few runs; Holm over all cases, 1 % false "
        "alarms in all) and exceeds the margin; this takes at least 2 runs per side, and 2 find only large differences among few cases. "
        "The same: the 95 % interval of the ratio is within the margin; one run against "
        f"fewer than {significance.FEWEST_RUNS} never shows that. Else undecided: with one run on a side a case only seems slower or faster, "
        f"by more than {100 * significance.MARGIN_OF_ONE_RUN:g} %, and does not fail.",
        epilog="Alternate the runs of A and B. A slowdown of 2 % among 300 cases is found with 95 % power by 9 runs per side if the medians "
        "of runs scatter by 0.5 %, by 45 at 1.5 %, by 77 at 2 %; 2 per side find nothing among so many cases. Exit status: 1 a case is "
        "SLOWER (with --fail-above: by more than that), has a worse status in B (wrong, failed, not run), or has other bits for an equal "
        "fingerprint key; 2 bad usage or input, results of different kinds, or no case in common; 3 the file could not be written; else 0. "
        "Cases that only one side has do not fail: the first line counts them.")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a result file, or a folder that is searched for result.json")
    parser.add_argument("--margin", type=percentage, default=MARGIN, metavar="PERCENT",
                        help=f"smallest difference that matters (default: {100 * MARGIN:g}). With fewer than {significance.FEWEST_RUNS} runs per "
                        f"side (6 and 9, 4 and 15, 3 and 26 count as {significance.FEWEST_RUNS} each) only differences above "
                        f"{100 * significance.MARGIN_OF_FEW_RUNS:g} %% are called SLOWER or FASTER")
    parser.add_argument("--fail-above", type=percentage, default=0, metavar="PERCENT",
                        help="a SLOWER case makes the exit status 1 only if it is slower by more than this share of its time (default: "
                        "always); a worse status and other bits always do")
    parser.add_argument("--json", metavar="FILE", help="write all numbers to this file")
    # argparse keeps "--" to itself.
    options = parser.parse_intermixed_args([SEPARATOR if argument == "--" else argument for argument in arguments])
    paths = split(options.paths)
    if options.json:
        refuse_to_replace((file for side in paths for path in side for file in files_of(path)), options.json)
    sides = load_sides(*paths)
    refuse_what_differs(*sides)
    found = compare(*sides, options.margin)
    for line in [found["headline"], f"runs: {len(sides[0])} in A, {len(sides[1])} in B", *found["different_settings"], *basis(found)]:
        print(textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False))
    if found["cases"]:
        print("\n" + table(found["cases"]) + "\n")
    for line in summary(found):
        print(line)
    if options.json:
        write(options.json, [json.dumps(found, indent=1, allow_nan=False), "\n"], named=True)
    return WORSE_FOUND if fails(found, options.fail_above) else 0
