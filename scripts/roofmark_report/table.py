# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Writes results as one flat table: a row per record, a set of columns per result."""

import argparse
import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from . import units
from .communication import bandwidth
from .program import Parser, printable
from .result import STATUSES, files_of, key_of, load, observed_clock
from .tables import error_of_allowed, last_check


class Column(NamedTuple):
    """A value of a record, in SI units, and how Markdown shows it."""

    meaning: str
    of: Callable
    form: Callable = lambda value, record: str(value)
    numeric: bool = True


def _part(part, key, meaning, form):
    return Column(meaning, lambda record: record.get(part, {}).get(key), lambda value, _: form(value))


def _end(which, meaning):
    """An end at 0 or below, of an interval of few wild blocks, is no time: it is left out."""
    def of(record):
        end = record.get("measurement", {}).get("interval", (None, None))[which]
        return end if end is not None and end > 0 else None

    return Column(meaning, of, lambda value, _: units.seconds(value))


def _bus(which, meaning):
    return Column(meaning, lambda record: bandwidth(record)[which] if record.get("message", {}).get("ranks", 1) > 1 and "measurement" in record else None,
                  lambda value, _: units.rate(value, "B"))


# CSV and JSON have units without prefix.
COLUMNS = {
    "status": Column(" or ".join((", ".join(list(STATUSES)[:-1]), list(STATUSES)[-1])), lambda record: record["status"], numeric=False),
    "median": _part("measurement", "median", "seconds per launch: the median of all samples", units.seconds),
    "low": _end(0, "lower end of the median's 95 % interval, in seconds"),
    "high": _end(1, "its upper end"),
    "flops": Column("model FLOPs per second; for int8 and atomic additions, operations per second", lambda record: record.get("placement", {}).get("flops_per_second"),
                    lambda value, record: units.rate(value, units.operation(record))),
    "bytes": _part("placement", "bytes_per_second", "compulsory bytes per second", lambda value: units.rate(value, "B")),
    "algbw": _bus(1, "of a collective: size / time, in bytes per second"),
    "busbw": _bus(2, "of a collective: the rate on each link of a ring, in bytes per second"),
    "intensity": _part("placement", "intensity", "FLOPs per byte", units.intensity),
    "bound_by": Column("the resource that limits the case", lambda record: record.get("placement", {}).get("bound_by"), numeric=False),
    "of_roof": _part("placement", "of_empirical", "minimum time on the ceilings measured in the run / median", units.share),
    "of_theor": _part("placement", "of_theoretical_clock", "the same with the theoretical ceilings at the observed clock", units.share),
    "of_theor_highest": _part("placement", "of_theoretical", "the same at the highest clock", units.share),
    "clock": Column("observed SM (core) clock in hertz", lambda record: observed_clock(record.get("measurement", {})), lambda value, _: units.clock(value)),
    "watts": Column("mean power during the measurement", lambda record: record.get("measurement", {}).get("telemetry", {}).get("power_watts"),
                    lambda value, _: units.watts(value)),
    "error": Column("largest error found / error that rounding allows; 0: exact", lambda record: error_of_allowed(last_check(record)),
                    lambda value, _: units.share(value) if value else "exact"),
    "reason": Column("why the case has no measurement", lambda record: record.get("reason"), numeric=False),
}


def labels_of(paths):
    """A short and distinct name per result: its folder, or its whole path where folders share a name."""
    short = [path.resolve().parent.name or str(path) for path in paths]
    return short if len(set(short)) == len(short) else list(map(str, paths))


def rows_of(results):
    """{(case, pass): the record of each result, or None}, in the order of first appearance."""
    rows = {}
    for i, result in enumerate(results):
        for entry in result["benchmarks"] + result["unmeasured"]:
            rows.setdefault(key_of(entry), [None] * len(results))[i] = entry["roofmark"]
    return rows


def kept_columns(rows):
    """The columns in which any record has a value."""
    return [name for name, column in COLUMNS.items()
            if any(record and column.of(record) is not None for records in rows.values() for record in records)]


def titles(labels, kept):
    return ["case", "pass"] + [name if len(labels) == 1 else f"{label} {name}" for label in labels for name in kept]


def lines(rows, kept, form):
    """The rows as lists of cells, empty where there is no value."""
    for (case, number), records in rows.items():
        cells = [case, str(number)]
        for record in records:
            found = [COLUMNS[name].of(record) if record else None for name in kept]
            cells += ["" if value is None else form(COLUMNS[name], value, record) for name, value in zip(kept, found)]
        yield cells


def write_csv(rows, labels, kept):
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(titles(labels, kept))
    writer.writerows(lines(rows, kept, lambda column, value, record: str(value)))


def write_markdown(rows, labels, kept):
    def row(cells):
        print("| " + " | ".join(printable(cell.replace("\n", " ")).replace("|", "\\|") for cell in cells) + " |")

    row(titles(labels, kept))
    row(["---", "---:"] + ["---:" if COLUMNS[name].numeric else "---" for _ in labels for name in kept])
    for cells in lines(rows, kept, lambda column, value, record: column.form(value, record)):
        row(cells)


def write_json(rows, labels, kept):
    def of(record):
        found = {name: COLUMNS[name].of(record) for name in kept}
        return {name: value for name, value in found.items() if value is not None}

    json.dump({"columns": {name: COLUMNS[name].meaning for name in kept}, "results": labels,
               "rows": [{"case": case, "pass": number, "of": {label: of(record) for label, record in zip(labels, records) if record}}
                        for (case, number), records in rows.items()]}, sys.stdout, indent=1, allow_nan=False)
    print()


FORMATS = {"markdown": write_markdown, "csv": write_csv, "json": write_json}


def main(arguments):
    parser = Parser(
        prog="table", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Writes results to standard output as one table: one row per case and pass (2: the ceilings after the suite), one set\n"
        "of columns per result, named after its folder.",
        epilog="columns (without prefix in csv and json; empty columns are left out):\n"
        + "\n".join(f"  {name:17} {column.meaning}" for name, column in COLUMNS.items())
        + "\n\nExit status: 0; 2 bad usage or input; 3 the table could not be written.")
    parser.add_argument("results", nargs="+", metavar="RESULT", help="a result file, or a folder that is searched for result.json")
    parser.add_argument("--format", choices=FORMATS, default="markdown", help="[markdown]")
    options = parser.parse_args(arguments)
    paths = [Path(file) for path in options.results for file in files_of(path)]
    results = [load(path)[0] for path in paths]
    for path, result in zip(paths, results):
        if not result["benchmarks"] + result["unmeasured"]:
            print(f"table: {printable(str(path))} has no record", file=sys.stderr)
    rows = rows_of(results)
    FORMATS[options.format](rows, labels_of(paths), kept_columns(rows))
