# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What the first page of an acceptance document says: the figures of most weight, and what did not pass. It is chosen from the rules of
the verdict, and its length is bounded for any delivery; the annexes have the rest."""

import re

from . import delivery, evidence, units
from . import verdict as verdicts
from .check_rows import badness, expected, whom
from .communication import bandwidth, is_collective
from .family_plots import rate_of
from .summary import of_datasheet

RATES = 8  # lines at most
OTHERS = 8
PROBLEMS = 4  # mandatory rules that do not pass, at most
NAMED = 6  # in a list
LINE = 106  # letters of a line on what does not pass
SHARES = ("of_theoretical", "of_theoretical_clock", "of_empirical", "of_datasheet")
OF_RATES = (*SHARES, "rate", "busbw", "seconds", "settled_of_burst", "ratio")
# Rules of other quantities that allow nothing share a row: {the quantity without its argument: the row}.
ALLOW_NOTHING = {**dict.fromkeys(("results", "runs", "differing_bits"), "Results wrong or missing"),
                 "finding": "Findings that may not occur", **dict.fromkeys(("counter", "state"), "Error counters")}
NAMES = {"share_of_time": "Time with a lowered clock", "drift": "Drift of the ceilings", "": "Model and conditions of runs"}
WORDS = {"gemm": "matrix product", "gemv": "matrix-vector product", "dram": "DRAM", "fma": "FMA", "pcie": "PCIe", "nvlink": "NVLink", "gpus": "GPUs",
         "vbios": "VBIOS", "l1": "L1", "l2": "L2", "l3": "L3"}


def spoken(name):
    """A name of the program in words."""
    text = " ".join(WORDS.get(word, word) for word in name.replace("_", " ").split())
    return text[:1].upper() + text[1:]


def cut(text, most):
    """The text, or its beginning where it is longer: an annex has all of it."""
    return text if len(text) <= most else text[:most - 1].rstrip() + "…"


def _limit(check):
    """A limit without the name of its ceiling, which the row has."""
    return re.sub(r" \((?:[^()]*?(, )([^()]*)|[^()]*)\)$", lambda found: f" {found[2].replace('the ', '')}" if found[1] else "", expected(check["expected"]))


def number(count):
    """1 128"""
    return f"{count:,}".replace(",", "\N{NO-BREAK SPACE}")


def some(names, most=NAMED):
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def judged_cases(checks):
    """The cases whose rates the rules judge."""
    return {check["of"] for check in checks if check.get("quantity") in OF_RATES and "of" in check}


def records(result, cases):
    """What the figures need of the records of these cases, by their names; a case that was measured twice has two."""
    ceilings = {ceiling["resource"]: ceiling for ceiling in result["ceilings"]}
    devices = delivery.keys(result)
    found = {}
    for entry in result["benchmarks"]:
        record = entry["roofmark"]
        if entry["name"] in cases and "placement" in record:
            rate, unit = (bandwidth(record)[2], "B") if is_collective(entry) else rate_of(record)
            shares = {key: record["placement"].get(key) for key in SHARES} | {"of_datasheet": of_datasheet(record, ceilings)}
            measured = record["measurement"]
            faster = {device: measured["median"] / rank["median"] for device, rank in zip(devices, measured.get("ranks", ())) if rank and rank.get("median")}
            found.setdefault(entry["name"], []).append({
                "rate": rate, "unit": unit, "shares": shares, "resource": record["placement"].get("bound_by"), "faster": faster})
    return found


def _rate(check, found):
    """(rate, share of the datasheet) of a check, as texts: of its device, where ranks measured together."""
    def times(record):
        return record["faster"].get(evidence.key_of(check["device"]), 1) if "device" in check else 1

    if check.get("measured") is None or not found:
        return "", ""
    record = min(found, key=lambda one: abs((one["shares"].get(check["quantity"]) or 0) * times(one) - check["measured"]))
    rate, sheet = record["rate"], record["shares"]["of_datasheet"]
    return units.rate(times(record) * rate, record["unit"]) if rate else "", units.share(times(record) * sheet if sheet else None)


def _words(check):
    """The operation, type and kind of a check's case: its name up to its first key."""
    words = []
    for part in check.get("of", "").split("/"):
        if ":" in part or not part:
            break
        words.append(part)
    return tuple(word for word in words if word != "ceilings") or (check["rule"],)


def _named(check, found):
    """What a check of a rate judges: "Matrix product, bf16, sustained"."""
    kind, *words = words if len(words := _words(check)) > 1 and words[0] == "sustained" else ("", *words)
    carried = found and found[0]["unit"] == "B"  # what is counted in bytes is told without their type
    return ", ".join(filter(None, [spoken(words[0]), *(() if carried else words[1:]), kind]))


def _row(name, checks, numbers, devices):
    """One row of the table: the check that is nearest to its limit, and how many pass. Optional checks decide a row only by themselves."""
    counting = [check for check in checks if check["mandatory"]] or checks
    lead = min(counting, key=badness)
    ids = list(dict.fromkeys(check["rule"] for check in counting))
    by = {}
    for i, check in enumerate(counting):
        by.setdefault(check.get("device", check.get("node", "")) if devices > 1 else i, []).append(check["verdict"] == "PASS")
    found = "" if lead["found"] == "-" else lead["found"]
    rule = f"C{numbers[lead['rule']]}" + (f" +{len(ids) - 1}" if len(ids) > 1 else "")
    return {"name": name, "rate": "", "share": expected(found), "limit": _limit(lead), "datasheet": "", "lead": lead, "verdict": lead["verdict"],
            "passed": f"{sum(map(all, by.values()))}/{len(by)}", "mandatory": lead["mandatory"], "rule": rule, "ids": ids, "other": False, "single": False}


def _weight(row):
    """Sorts by weight: what refuses the delivery, then what could, then rates before their decay and rows that stand for many rules before
    others; then in the profile's order."""
    return (row["verdict"] == "PASS" or not row["mandatory"], not row["mandatory"], row["lead"].get("quantity") == "settled_of_burst" or row["single"])


def _heaviest(rows, most):
    """The rows of most weight, in their order, that fill so many lines: "INSIDE THE INTERVAL" takes two."""
    known = [row for row in rows if row["mandatory"] or row["verdict"] != "NOT MEASURED"]
    kept = []
    for row in sorted(known, key=_weight):
        most -= 2 if row["verdict"] == "INSIDE THE INTERVAL" else 1
        kept += [id(row)] if most >= 0 else []
    return [row for row in rows if id(row) in kept]


def _rates(checks, found, numbers, devices):
    """The rows of rates: by operation and type or, where these are too many, by the resource that limits them."""
    def of(check):
        return found.get(check.get("file"), {}).get(check.get("of"), [])

    def rows(key):
        groups = {}
        for check in checks:
            groups.setdefault(key(check), []).append(check)
        return [_row("", group, numbers, devices) for group in groups.values()]

    def resource(check):
        words = _words(check)
        return ((of(check) or [{}])[0].get("resource") or words, words[0] == "sustained")

    made = rows(_words)
    made = _heaviest(made if len(made) <= RATES else rows(resource), RATES)
    made.sort(key=lambda row: _words(row["lead"])[0] == "sustained")
    for row in made:
        lead = row["lead"]
        row["name"] = _named(lead, of(lead))
        row["rate"], row["datasheet"] = _rate(lead, of(lead)) if lead["quantity"] in (*SHARES, "settled_of_burst") else ("", "")
        if lead["quantity"] == "settled_of_burst":
            row["limit"] += " of the first second"
        elif lead["quantity"] not in SHARES:
            row["rate"], row["share"] = row["share"], ""
    return made


def _others(checks, numbers, devices):
    """The rows of counts, states and conditions."""
    groups = {}
    for check in checks:
        head, _, argument = check.get("quantity", "").partition(".")
        nothing = ALLOW_NOTHING.get(head) if check["expected"] == "<= 0" else None
        groups.setdefault(nothing or NAMES.get(head) or spoken(argument or head), []).append(check)
    made = [_row(name, group, numbers, devices) for name, group in groups.items()]
    for row in made:
        row["single"] = row["name"] not in (*ALLOW_NOTHING.values(), *NAMES.values())
        if not row["lead"].get("quantity"):
            row["share"], row["limit"] = "as agreed" if row["verdict"] == "PASS" else "not as agreed", ""
    return _heaviest(made, OTHERS)


def figures(checks, found, numbers, devices):
    """The table of the first page. `found`: by file, what records() returns; `numbers`: by rule, its number in the annex."""
    of_rates = [check for check in checks if check.get("quantity") in OF_RATES]
    rest = [check for check in checks if check.get("quantity") not in OF_RATES]
    rows = [*_rates(of_rates, found, numbers, devices), *(row | {"other": True} for row in _others(rest, numbers, devices))]
    shown = {rule for row in rows for rule in row["ids"]}
    return {"rows": rows, "rest": [rule for rule in numbers if rule not in shown]}


def problems(rules, devices):
    """What of the rules did not pass: the first mandatory ones, the number of further ones, the names of the optional ones."""
    bad = [(place, rule) for place, rule in enumerate(rules, 1) if rule["worst"]["verdict"] != "PASS"]
    decisive = [(place, rule) for place, rule in bad if rule["worst"]["mandatory"]]
    told = []
    for place, rule in decisive[:PROBLEMS]:
        worst = rule["worst"]
        count = sum(count for verdict, count in rule["counts"].items() if verdict != "PASS")
        where = [cut(whom(worst), 44)] if devices > 1 or "device" not in worst else []
        where += [f"the worst of {number(count)}"] if count > 1 and devices > 1 else []
        why = worst.get("explanation") if worst["verdict"] == "NOT MEASURED" else f"{worst['found']}, limit {_limit(worst)}"
        name, where = cut(rule["id"], 32), ", ".join(where)
        room = max(24, LINE - len(worst["verdict"]) - len(name) - len(where))
        told.append({"number": place, "id": name, "verdict": worst["verdict"], "where": where, "why": cut(why or worst["found"], room)})
    optional = [f"{rule['id']} (C{place})" for place, rule in bad if not rule["worst"]["mandatory"]]
    return {"shown": told, "more": len(decisive) - len(told), "optional": some(optional, 4)}


def open_points(unmeasured, findings):
    """(what, how many of each kind) of the cases without a measurement and of the findings, the worst first."""
    counts = {}
    for what, kind, count in [("unmeasured", row[0], row[2]) for row in unmeasured] + [("findings", one["severity"], one["count"]) for one in findings]:
        of = counts.setdefault(what, {})
        of[kind] = of.get(kind, 0) + count
    return {"unmeasured": ", ".join(f"{number(count)} {kind}" for kind, count in counts.get("unmeasured", {}).items()) or "none",
            "findings": ", ".join(number(count) + f" {kind}" + ("" if count == 1 else "s") for kind, count in counts.get("findings", {}).items()) or "none"}


def sentence(verdict):
    """The verdict in one sentence."""
    checks = verdict["checks"]
    mandatory = [check for check in checks if check["mandatory"]]
    bad = [check for check in mandatory if check["verdict"] != "PASS"]
    others = sum(check["verdict"] != "PASS" for check in checks) - len(bad)
    aside = f"; of the others, {number(others)} {'does' if others == 1 else 'do'} not" if others else ""
    if not bad:
        return f"All {number(len(mandatory))} mandatory checks pass{aside}." if mandatory else f"No check was made that is mandatory{aside}."
    each = [f"{number(count)} {one.lower()}" for one in verdicts.VERDICTS if (count := sum(check["verdict"] == one for check in bad))]
    return (f"{number(len(bad))} of {number(len(mandatory))} mandatory checks {'does' if len(bad) == 1 else 'do'} not pass"
            f" ({', '.join(each)}){aside}.")


def _distinct(files, key, form=str):
    """The values of a detail of the devices, each once with how many have it where they differ."""
    counts = {}
    for device in delivery.known(files).values():
        if device.get(key) not in (None, ""):
            counts[form(device[key])] = counts.get(form(device[key]), 0) + 1
    return some([value + (f" ({count})" if len(counts) > 1 else "") for value, count in counts.items()], 3)


def delivered(verdict, files, described):
    """(name, text) of what was delivered, measured and judged; each text is bounded."""
    known = delivery.known(files)
    serials = [serial for one in verdict["devices"] if (serial := known.get(evidence.key_of(one["name"]), {}).get("serial"))]
    count = len(verdict["devices"])
    if not serials:
        numbers = "not in the result files"
    elif len(serials) <= 8:
        numbers = ", ".join(map(str, serials)) + ("" if len(serials) == count else f"; {count - len(serials)} not known")
    else:
        numbers = f"{len(serials)} of {count} known, {serials[0]} to {serials[-1]}: Annex A"
    state = [("power limit", _distinct(files, "power_limit_watts", units.watts)), ("ECC", _distinct(files, "ecc", lambda on: "on" if on else "off")),
             ("VBIOS", _distinct(files, "vbios")), ("driver", some(list(dict.fromkeys(
                 host["driver"] for file in files for host in file["hosts"].values() if host.get("driver"))), 3))]
    passed = {key: f"{sum(one['verdict'] == 'PASS' for one in verdict[key])} of {units.plural(len(verdict[key]), key[:-1])}" for key in ("devices", "nodes")}
    started, finished = min(file["started"] for file in files), max(file["finished"] for file in files)
    programs = list(dict.fromkeys(value for file in files for name, value in file["software"] if name == "roofmark"))
    profile, judge = verdict["profile"], verdict["build"]
    return [(name, cut(value, most)) for name, value, most in (
        ("Devices", described + (f"; ordered: {units.plural(verdict['expected_gpus'], 'GPU')}" if "expected_gpus" in verdict else "") + f"; accepted: {passed['devices']}, {passed['nodes']}", 210),
        ("Serial numbers", numbers, 190), ("State", ", ".join(f"{name} {value}" for name, value in state if value), 190),
        ("Profile", f"{profile['name']}: {profile['title']}", 105),
        ("Measured", f"{moment(started)} to {moment(finished) if finished else 'an unknown time'}, {units.plural(len(files), 'result file')}, "
         f"{number(sum(file['ok'] for file in files))} cases measured and verified, by roofmark {some(programs, 2)}", 190),
        ("Judged", f"{moment(verdict['judged_utc'])} by roofmark {judge['version']}, commit {judge['commit']}{' with local changes' if judge['dirty'] else ''}"
         + (f"; no result older than {units.duration(verdict['max_age_seconds'])}" if "max_age_seconds" in verdict else ""), 150)) if value]


def moment(utc):
    """2026-02-01 10:00 UTC"""
    return utc[:16].replace("T", " ") + (" UTC" if len(utc) > 10 else "")
