# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What a comparison of runs prints: the headline, what the verdicts rest on, a table of the cases, and the summary below it."""

from collections import Counter

import numpy as np

from . import significance, units

WIDTH = 120
LISTED = 8  # cases of one side alone
LONGEST = 12  # characters of a number with its unit
WORDS = {"SLOWER": "SLOWER", "FASTER": "FASTER", "UNCLEAR": "undecided", "SAME": "the same"}  # of the terminal


def headline(found):
    """B against A in one line."""
    counted = Counter(row["verdict"] for row in found["cases"])
    seem = Counter(row.get("seems") for row in found["cases"])
    differ = sum(row["bits"] == "differ" for row in found["cases"])
    parts = [", ".join(f"{counted[verdict]} {WORDS[verdict].lower()}" for verdict in ("FASTER", "SLOWER", "UNCLEAR", "SAME"))]
    guesses = [f"{seem[verdict]} {'seems' if seem[verdict] == 1 else 'seem'} {WORDS[verdict].lower()}" for verdict in ("FASTER", "SLOWER") if seem[verdict]]
    parts += [f"{', '.join(guesses)} (repeat the run)"] if guesses else []
    parts += [f"bits differ in {units.plural(differ, 'case')}"] if differ else []
    parts += [f"{units.plural(len(found[key]), 'case')} {what}" for key, what in (
        ("worse_status", "with a worse status"), ("different_status", "with another status"), ("only_a", "only in A"), ("only_b", "only in B")) if found[key]]
    settings = found["different_settings"]
    parts += [f"different {', '.join(text.partition(':')[0] for text in settings)}"] if settings else []
    return "B: " + "; ".join(parts)


def basis(found):
    """What the verdicts rest on, and what is missing for better ones."""
    judged = [row for row in found["cases"] if "test" in row]

    def of(count):
        return "" if count == len(judged) else f" in {count} of {len(judged)} cases"

    lines = [] if found["alternated"] else [
        "The runs of A and B were not alternated: what changed on the machine between the two sides looks like a difference between them."]
    lone = sum(min(row["runs"]) == 1 for row in judged)
    blocks = sum(row["unit"] == "block" for row in judged)
    several = [row for row in judged if min(row["runs"]) > 1]
    if several:
        lines.append(f"{100 * significance.ALPHA:g} % false alarms in {units.plural(found['tested'], 'tested case')} together (Holm)")
    if any(row["test"] == "student" for row in several):
        lines.append("The test is Student's t, which assumes normally distributed medians of runs: Mann-Whitney needs "
                     f"{significance.least_runs(max(1, found['tested']))} runs per side.")
    if lone:
        lines.append(f"One run on a side{of(lone)} does not show how runs vary: none of these cases is called SLOWER or FASTER. Those that seem so, by more than "
                     f"{100 * max(significance.MARGIN_OF_ONE_RUN, found['margin']):g} %, do not fail: repeat the run.")
    if blocks:
        lines.append(f"One run against fewer than {significance.FEWEST_RUNS}{of(blocks)} shows only the variation within one process: none of these cases is "
                     "called the same.")
    margins = Counter(row["called_beyond"] for row in several if row["called_beyond"] > found["margin"])
    lines += [f"Only differences above {100 * beyond:g} % are called SLOWER or FASTER{of(count)}." for beyond, count in sorted(margins.items())]
    few = max(significance.MARGIN_OF_FEW_RUNS, found["margin"])
    more = [f"from 2 runs per side {'cases that are the same and ' if blocks else ''}differences above {100 * few:g} %"] if lone else []
    if few > found["margin"] and (lone or margins):
        more.append(f"from {significance.FEWEST_RUNS}{'' if more else ' runs'} per side differences above {100 * found['margin']:g} %")
    lines += [f"More runs decide more: {', '.join(more)}."] if more else []
    return lines


def summary(found):
    rows = found["cases"]
    causes = Counter((row["verdict"], row.get("cause")) for row in rows)
    lines = [f"{len(rows)} cases measured in both, {len(found['only_a'])} listed in A alone, {len(found['only_b'])} in B alone"]
    for verdict, clock in (("SLOWER", "lower"), ("FASTER", "higher")):
        if number := causes[verdict, "clock"]:
            lines.append(f"{number} {verdict} because the clock was {clock}")
        if number := causes[verdict, "per clock"]:
            lines.append(f"{number} {verdict} per clock")
    if hidden := sum(row["verdict"] != "SLOWER" and row.get("per_clock", {}).get("verdict") == "SLOWER" for row in rows):
        lines.append(f"{hidden} SLOWER per clock, but not in time")
    needed = [row["runs_needed"] for row in rows if row["verdict"] == "UNCLEAR" and "runs_needed" in row]
    if needed:
        lines.append(f"undecided cases need {min(needed)} to {max(needed)} runs per side for a difference of 2 % (95 % power)")
    if unknown := sum(row["verdict"] == "UNCLEAR" and row["unit"] == "block" for row in rows):
        lines.append(f"{units.plural(unknown, 'undecided case has', 'undecided cases have')} one run on a side: "
                     f"with at least 2 this line says how many {'it needs' if unknown == 1 else 'they need'}")
    if number := len(found["different_ranks"]):
        lines.append(f"{units.plural(number, 'case has', 'cases have')} different ranks in B: not compared")
    if rows:
        differences = [abs(100 * (row["ratio"] - 1)) for row in rows]
        of = [short(f"{value:.2f}", f"{value:.2e}") for value in (np.median(differences), np.percentile(differences, 95), max(differences))]
        lines.append("|ratio - 1|: median {} %, 95th percentile {} %, maximum {} %".format(*of))
    bits = Counter(row["bits"] for row in rows)
    lines.append(f"fingerprints with equal keys: {bits['equal']} equal, {bits['differ']} different"
                 + (": the same computation gave different bits, which points to silent data corruption" if bits["differ"] else ""))
    lines += [f"different bits: {row['name']}" for row in rows if row["bits"] == "differ"]
    lines += [f"worse status: {text}" for text in found["worse_status"]] + [f"different status: {text}" for text in found["different_status"]]
    for side, names in (("A", found["only_a"]), ("B", found["only_b"])):
        lines += [f"only in {side}: {name}" for name in names[:LISTED]]
        lines += [f"only in {side}: {len(names) - LISTED} more, which --json lists"] if len(names) > LISTED else []
    return lines


def short(text, exponential):
    """The text, or that with an exponent, where the digits of a number are as many as only absurd ones have."""
    return text if len(text) <= LONGEST else exponential


def ratio(value):
    return short(units.digits(value, 4), f"{value:.2e}")


def table(rows):
    """At most WIDTH columns: a name that does not fit has a line of its own."""
    def probability(value):
        return "" if value is None else f"{value:.4f}" if value >= 0.0001 else "<0.0001"

    def cells(row):
        interval = row.get("interval")
        per_clock = row.get("per_clock")
        return [f"{row['seems'].lower()}?" if "seems" in row else WORDS[row["verdict"]], ratio(row["ratio"]),
                "no interval" if not interval else "over 1000 times wide" if interval[1] > 1000 * interval[0] else
                f"{ratio(interval[0])} to {ratio(interval[1])}",
                probability(row.get("p_mann_whitney")), {"mann_whitney": "M-W", "student": "t"}.get(row.get("test"), ""),
                probability(row.get("p_holm")), *(short(units.seconds(value), f"{value:.1e} s") for value in row["seconds"]),
                ratio(per_clock["ratio"]) if per_clock else "", row.get("cause", ""), row["bits"]]

    titles = ["verdict", "A/B", "95 % interval", "M-W p", "test", "p (Holm)", "A", "B", "per clock", "cause", "bits"]
    made = [cells(row) for row in rows]
    kept = [i for i in range(len(titles)) if any(row[i] for row in made)]
    widths = {i: max(len(row[i]) for row in [titles, *made]) for i in kept}
    room = WIDTH - sum(width + 2 for width in widths.values())
    names = max((len(row["name"]) for row in rows if len(row["name"]) <= room), default=4)
    lines = []
    for name, line in [("case", titles), *zip((row["name"] for row in rows), made)]:
        numbers = "".join("  " + line[i].rjust(widths[i]) for i in kept)
        if len(name) > names:
            lines.append(name)
            name = ""
        lines.append((name.ljust(names) + numbers).rstrip())
    return "\n".join(lines)
