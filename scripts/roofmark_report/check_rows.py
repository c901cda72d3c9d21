# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of a verdict with the rows of their checks, the worst first."""

import re

from . import evidence
from . import verdict as verdicts

PASSING = 6  # passing rows of a rule that are shown, those nearest to the limit
ALIKE = 3  # cases of which the same is said share a row, unless they fail
NAMED = 8  # unmeasured cases of a row


def badness(check):
    """Sorts the worst first: mandatory before not, then by verdict and margin."""
    order = verdicts.VERDICTS.index(check["verdict"])
    return (order == len(verdicts.VERDICTS) - 1, not check["mandatory"], order, check.get("margin", -1e9))


def whom(check):
    """Whom a check judges, in short: the table of devices has the rest."""
    if label := check.get("device"):
        return evidence.short(label)
    return f"node {check['node']}" if "node" in check else "delivery"


def expected(text):
    """A limit as it is printed: with its numbers and their "%" kept together."""
    text = {">=": "≥", "<=": "≤"}.get(text[:2], text[:2]) + text[2:]
    return re.sub("^([≥≤]) ", "\\1\N{NO-BREAK SPACE}", text).replace(" %", "\N{NO-BREAK SPACE}%")


def natural(subject):
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


def _alike(rows):
    """The rows, with those that differ only in their case as one: of cases that pass the first is named, of unmeasured ones the first few."""
    groups = {}
    for i, row in enumerate(rows):
        same = tuple(value for key, value in row.items() if key != "of") if row["verdict"] in ("PASS", "NOT MEASURED") and row["of"] else i
        groups.setdefault(same, []).append(row)
    made = []
    for group in groups.values():
        names = [row["of"] for row in group]
        first = names[:1 if group[0]["verdict"] == "PASS" else NAMED]
        made += [group[0] | {"of": f"{len(group)} cases", "first": ", ".join(first)}] if len(group) >= ALIKE else group
    return made


def _rows(checks, devices, every):
    """The rows of a rule's table, in the order of the checks; checks that say the same of several share a row. `devices` is the number of all."""
    rows = {}
    for check in checks:
        of = check.get("of", "")
        case, first = ("", [of]) if " " in of else (of, [])  # of a count, the first that was counted
        notes = first + ([f"because: {check['explanation']}"] if "explanation" in check else [])
        told = (case, expected(check["expected"]), expected(check["found"]), _interval(check), _margin(check), check["verdict"], tuple(notes))
        rows.setdefault(told, []).append(whom(check))
    made = []
    for (case, limit, found, interval, margin, verdict, notes), names in rows.items():
        names = list(dict.fromkeys(names))
        few = len(names) <= 2
        made.append({"whom": ", ".join(names) if few else ("all " if len(names) == devices else "") + f"{len(names)} devices", "of": case,
                     "expected": limit, "found": found, "interval": interval, "margin": margin, "verdict": verdict, "first": "",
                     "notes": notes if few or verdict == "PASS" or len(names) == devices else (", ".join(names), *notes)})
    return made if every else _alike(made)


def rules(checks, devices, every):
    """The rules, the worst first, each with its checks, the worst first. Of the rows that pass, those nearest to the limit are shown."""
    groups = {}
    for check in checks:
        groups.setdefault(check["rule"], []).append(check)
    made = []
    for rule, found in groups.items():
        found.sort(key=badness)
        worst = dict.fromkeys(("quantity", "meaning", "reason", "source", "origin"), "") | found[0]
        rows = _rows(found, devices, every)
        bad = sum(row["verdict"] != "PASS" for row in rows)
        shown = rows if every else rows[:bad + PASSING]
        limits, cases = ({row[key] for row in shown} for key in ("expected", "of"))
        made.append({
            "id": rule, "limit": limits.pop() if len(limits) == 1 else "",
            "case": cases.pop() if len(cases) == 1 else "", "worst": worst, "margin": _margin(worst), "count": len(found), "rows": shown, "rest": len(rows) - len(shown),
            "rest_margins": " to ".join(dict.fromkeys((rows[len(shown)]["margin"], rows[-1]["margin"]))) if len(shown) < len(rows) else "",
            "counts": {verdict: count for verdict in verdicts.VERDICTS if (count := sum(check["verdict"] == verdict for check in found))}})
    return sorted(made, key=lambda rule: badness(rule["worst"]))


def meanings(checks):
    """(quantity without its argument, what it means) of the rules, each once, in their order."""
    return list({check["quantity"].partition(".")[0]: check["meaning"] for check in checks if check.get("meaning")}.items())
