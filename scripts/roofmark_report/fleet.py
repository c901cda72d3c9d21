# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the machines that stand out in a folder of result files: tables, a page, lists of hosts, and metrics."""

import argparse
import os
import tempfile
from pathlib import Path

import duckdb

from . import fleet_judge, fleet_page, fleet_prometheus, fleet_tables
from .program import BAD_INPUT, Parser, Problem, printable, refuse_to_replace, write
from .units import plural

SHOWN = 20  # lines of a kind on the terminal; the page has more


def align(rows):
    """The first column is left-aligned, the others right-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
                     for row in rows)


def describe_tables():
    made = ["tables for --sql (DuckDB; seconds, units per second, hertz):"]
    for name, (what, columns) in fleet_tables.TABLES.items():
        made.append(f"  {name}: {what}\n    {', '.join(columns)}")
    for name, (what, _) in fleet_judge.VIEWS.items():
        made.append(f"  {name}: {what}")
    made.append("  suspects: what stands out: kind, who, hosts, verdict (on them), text\n  hosts: host, grp, gpus, newest, verdict (good, bad, not measured), acceptance (PASS,\n    INSIDE THE INTERVAL, NOT MEASURED, FAIL; null: not judged), reasons")
    made.append("DESCRIBE newest lists the columns of a table.")
    return "\n".join(made)


def lists(connection):
    """The hosts that are good, and those that are bad; a host that was not measured is neither."""
    def of(verdict):
        return [host for (host,) in connection.execute("SELECT host FROM hosts WHERE verdict = ? ORDER BY host", [verdict]).fetchall()]

    return of("good"), of("bad")


def show_query(connection, query):
    try:
        found = connection.execute(query)
        rows = [[column[0] for column in found.description or []]]
        rows += [["" if value is None else printable(str(value)) for value in row] for row in (found.fetchall() if found.description else [])]
    except duckdb.Error as error:
        raise Problem(BAD_INPUT, f"--sql: {' '.join(str(error).split())}") from error
    if rows[0]:
        print(align(rows))


def check_expression(connection, expression):
    try:
        connection.execute("SELECT regexp_matches('', ?)", [expression])
    except duckdb.Error as error:
        raise Problem(BAD_INPUT, f"--prometheus-cases: {' '.join(str(error).split())}") from error


def show(connection, by, good, bad):
    """What a person reads on the terminal; returns whether something stands out."""
    counted = fleet_judge.rows(connection, "SELECT (SELECT count(*) FROM runs) AS runs, count(*) AS gpus, count(DISTINCT host) AS hosts, "
                               "count(DISTINCT grp) AS groups, count(DISTINCT model) AS models FROM gpus")[0]
    groups = "" if by == "host" else f", {counted['groups']} of {by}"
    print(f"{plural(counted['runs'], 'run')} of {plural(counted['gpus'], 'device')} on {plural(counted['hosts'], 'host')}{groups}; "
          f"{plural(counted['models'], 'model')}")
    unread = connection.execute("SELECT file, reason FROM unread ORDER BY file").fetchall()
    for file, reason in unread:
        print(f"not read: {printable(file)}: {printable(reason)}")
    left_out = connection.execute("SELECT file, reason FROM left_out ORDER BY file").fetchall()
    for file, reason in left_out[:SHOWN]:
        print(f"left out: {printable(file)}: {printable(reason)}")
    if len(left_out) > SHOWN:
        print(f"left out: {len(left_out) - SHOWN} more, which are on the page")
    suspects = fleet_judge.rows(connection, "SELECT * FROM suspects")
    for kind, (_, meaning) in fleet_judge.KINDS.items():
        found = [suspect for suspect in suspects if suspect["kind"] == kind]
        if not found:
            continue
        print(f"\n{fleet_judge.words(kind)} ({len(found)}). {meaning}")
        for suspect in found[:SHOWN]:
            hosts = suspect["hosts"]
            where = "" if hosts == [suspect["who"]] or suspect["who"].endswith(" hosts") else f" (on {hosts[0]})" if len(hosts) == 1 else f" ({len(hosts)} hosts)"
            print(f"  {printable(suspect['who'])}{printable(where)}: {printable(suspect['text'])}")
        if len(found) > SHOWN:
            print(f"  {len(found) - SHOWN} more on the page")
    unsure = connection.execute("SELECT host, reasons FROM hosts WHERE verdict = 'not measured' ORDER BY host").fetchall()
    if unsure:
        print(f"\nin neither list ({len(unsure)}):")
        for host, reasons in unsure[:SHOWN]:
            print(f"  {printable(host)}: {printable('; '.join(reasons))}")
        if len(unsure) > SHOWN:
            print(f"  {len(unsure) - SHOWN} more on the page")
    if counted["hosts"] == 1:
        print("\none host: no other host to compare with")
    of_two = fleet_judge.of_two(connection, by)
    for line, _ in of_two:
        print(f"\n{printable(line)}")
    found = "" if suspects or any(differ for _, differ in of_two) else f"; {plural(len(unread), 'file')} could not be read" if unread else ": nothing stands out"
    print(f"\n{plural(len(good), 'host')} good, {len(bad)} bad, {counted['hosts'] - len(good) - len(bad)} not measured{found}")
    return bool(suspects or unread)


def main(arguments):
    parser = Parser(
        prog="fleet", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Reads the result files (*.json) below a folder and names the machines that stand out. Writes fleet.html, and good.txt and\n"
        "bad.txt with one host name per line.",
        epilog=describe_tables() + "\n\nExit status: 0 nothing stands out (with two of a kind, neither can); 1 something does, or a file could not be read; 2 bad usage or input; "
        "3 a file could not\nbe written.")
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--by", metavar="LABEL", default="host", help="groups to compare: a label of the runs (--label rack=...), or one of "
                        f"{', '.join(fleet_judge.COLUMNS)} [host]")
    parser.add_argument("--verdict", metavar="FILE", action="append", default=[], help="a verdict of `roofmark accept --json` about these machines, used as a label; it takes precedence over verdicts below FOLDER, which are found without this flag")
    parser.add_argument("--out", metavar="FOLDER", help="folder of the page and the lists [FOLDER itself]")
    parser.add_argument("--prometheus", metavar="FILE", help="also write metrics in Prometheus' text format, for node_exporter's textfile "
                        "collector; scripts/fleet_dashboard.json shows them in Grafana")
    parser.add_argument("--prometheus-cases", metavar="EXPRESSION", default="", help="with --prometheus: only the cases whose name matches this regular "
                        "expression; all cases of a large fleet are a million series [all]")
    parser.add_argument("--sql", metavar="QUERY", help="print the rows of a query over the tables below, and write nothing")
    options = parser.parse_args(arguments)
    if options.prometheus_cases and not options.prometheus:
        raise Problem(BAD_INPUT, "--prometheus-cases chooses the series of --prometheus FILE: give that too")
    out = Path(options.out or options.folder)
    if options.prometheus:
        refuse_to_replace([*Path(options.folder).rglob("*.json"), *options.verdict], options.prometheus)
    with tempfile.TemporaryDirectory(prefix="roofmark-fleet-") as scratch:
        connection = fleet_tables.load(options.folder, scratch, options.verdict)
        check_expression(connection, options.prometheus_cases)
        fleet_judge.prepare(connection, options.by)
        fleet_judge.judge(connection, options.by)
        if options.sql:
            return show_query(connection, options.sql)
        os.makedirs(out, exist_ok=True)
        good, bad = lists(connection)
        stands_out = show(connection, options.by, good, bad)
        for name, hosts in (("good.txt", good), ("bad.txt", bad)):
            write(out / name, (f"{printable(host)}\n" for host in hosts))
        write(out / "fleet.html", [fleet_page.page(connection, options.by, options.folder)])
        if options.prometheus:
            write(options.prometheus, fleet_prometheus.exposition(connection, options.prometheus_cases), named=True)
        print(f"page: {out / 'fleet.html'}; lists: {out / 'good.txt'}, {out / 'bad.txt'}")
    return int(stands_out)
