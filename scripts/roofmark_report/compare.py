# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Compares two runs case by case: repeatability, and equal bits for equal fingerprint keys."""

import math
import statistics

from . import units
from .program import Parser, printable
from .result import key_of, load


def ratio_of(a, b):
    """How many times faster b is than a, and its 95 % interval: the intervals of the two medians are independent, so their relative
    widths add as squares."""
    ratio = a["median"] / b["median"]
    squares = 0.0
    for measurement in (a, b):
        low, high = measurement.get("interval", (0, 0))
        if low <= 0 or high < low:
            return ratio, None, None
        squares += (math.log(high / low) / 2) ** 2
    width = math.exp(min(math.sqrt(squares), 200))
    return ratio, ratio / width, ratio * width


def percentile(values, share):
    """With linear interpolation between the two nearest values."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def fingerprints(a, b):
    """"equal" or "differ" where both records have a fingerprint of the same key, else empty."""
    one, other = a.get("fingerprint"), b.get("fingerprint")
    if not one or not other or not one["hash"] or not other["hash"] or one["key"] != other["key"]:
        return ""
    return "equal" if one["hash"] == other["hash"] else "differ"


def groups_of(record):
    """The ranks of each communicator; None where all ranks are in one."""
    return record.get("message", {}).get("groups")


def name_of(key):
    return printable(key[0]) + (" (after the suite)" if key[1] == 2 else "")


def compare(a, b):
    """The rows of the table, and the lines of the summary."""
    runs = [{key_of(entry): entry["roofmark"] for entry in run["benchmarks"] + run["unmeasured"]} for run in (a, b)]
    rows, differences, bits = [], [], {"": 0, "equal": 0, "differ": 0}
    changed, elsewhere = [], 0
    for key in runs[0].keys() & runs[1].keys():
        records = [run[key] for run in runs]
        if records[0]["status"] != records[1]["status"]:
            changed.append(f"{name_of(key)}: {records[0]['status']}, then {records[1]['status']}")
    for key, one in runs[0].items():
        other = runs[1].get(key)
        if not other or one["status"] != "ok" or other["status"] != "ok":
            continue
        if groups_of(one) != groups_of(other):
            elsewhere += 1
            continue
        ratio, low, high = ratio_of(one["measurement"], other["measurement"])
        same = fingerprints(one, other)
        bits[same] += 1
        differences.append(abs(ratio - 1))
        known = low is not None
        rows.append([
            name_of(key), units.seconds(one["measurement"]["median"]), units.seconds(other["measurement"]["median"]),
            units.digits(ratio, 4), f"{units.digits(low, 4)} to {units.digits(high, 4)}" if known else "",
            "" if not known or low <= 1 <= high else "faster" if low > 1 else "slower", same])
    lines = [f"{len(rows)} cases measured in both, {len(runs[0].keys() - runs[1].keys())} listed in A alone, "
             f"{len(runs[1].keys() - runs[0].keys())} in B alone"]
    if elsewhere:
        lines.append(f"{elsewhere} cases have different ranks in B: not compared")
    if differences:
        lines.append(f"|ratio - 1|: median {100 * statistics.median(differences):.2f} %, "
                     f"95th percentile {100 * percentile(differences, 0.95):.2f} %, maximum {100 * max(differences):.2f} %")
    lines.append(f"fingerprints with equal keys: {bits['equal']} equal, {bits['differ']} different"
                 + (": the same computation gave different bits, which points at silent data corruption" if bits["differ"] else ""))
    lines += [f"different verdict: {text}" for text in sorted(changed)]
    return rows, lines


def differences_of_setting(a, b):
    """Differences between the settings of the two runs."""
    said = {
        "ranks": lambda r: str(len(r.get("team", [])) or 1), "device": lambda r: r["device"]["name"], "host": lambda r: r["host"]["name"], "data": lambda r: r["data"],
        "seed": lambda r: str(r["seed"]), "roofmark": lambda r: f"{r['build']['version']} {r['build']['commit'][:12]}",
        "driver": lambda r: str(r["device"]["details"].get("driver_version", "unknown"))}
    return [f"{what}: {printable(one)} in A, {printable(other)} in B" for what, of in said.items() if (one := of(a)) != (other := of(b))]


def align(rows):
    """The first column is left-aligned, the others right-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
                     for row in rows)


def main(arguments):
    parser = Parser(prog="compare", description="Compares two roofmark result files case by case. ratio = seconds in A / seconds in B: "
                    "above 1, B is faster.", epilog="Exit status: 0 for any ratios; 2 bad usage or input.")
    parser.add_argument("a", metavar="RESULT_A")
    parser.add_argument("b", metavar="RESULT_B")
    options = parser.parse_args(arguments)
    a, b = load(options.a)[0], load(options.b)[0]
    rows, lines = compare(a, b)
    if rows:
        print(align([["case", "median A", "median B", "ratio A/B", "95 % interval", "B is", "bits"], *rows]) + "\n")
    for line in lines + differences_of_setting(a, b):
        print(line)
