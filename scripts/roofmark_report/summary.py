# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The run in three to twelve lines: measured rate, its ceiling, share."""

from . import plots, transfers, units
from .communication import bandwidth, is_collective, loads_fully
from .family_plots import rate_of
from .result import observed_clock
from .tables import has_moved, quantity, table, unexplained_drift

LINES = 12
TYPES = ("bf16", "fp8", "mxfp8", "nvfp4", "fp16", "tf32", "fp32", "fp64", "int8", "int32")  # the more telling ones first


def ceiling_of(record):
    """The share of the device's own ceilings, theoretical before measured, and what they are; None without one."""
    placement = record["placement"]
    for key, what in (("of_theoretical", "theoretical"), ("of_empirical", "measured ceiling")):
        if placement.get(key):
            return placement[key], what
    return None


def run_doubts(findings):
    """The kinds of findings that cast doubt on every line."""
    return list(dict.fromkeys(f["kind"].replace("_", " ") for f in findings if f["doubt"] == "all"))


def case_health(entry, findings):
    """What casts doubt on a case: the findings about it or, where there are none, about the whole run."""
    kinds = dict.fromkeys(f["kind"].replace("_", " ") for f in findings if f.get("case") == entry["name"])
    return ", ".join(kinds or run_doubts(findings)) or "no finding"


def ceiling_health(ceiling, findings):
    own = [f"drift {100 * unexplained_drift(ceiling):+.1f}\N{NO-BREAK SPACE}%"] if has_moved(ceiling) else []
    own += ["doubtful"] if ceiling["doubtful"] else []
    return ", ".join(own or run_doubts(findings)) or "no finding"


def of_datasheet(record, ceilings):
    """Of what only one resource limits: its share of the vendor's figure, as the theoretical share says it of its own ceiling."""
    placement = record["placement"]
    ceiling = ceilings.get(placement.get("bound_by"), {})
    if "of_theoretical" not in placement or not ceiling.keys() >= {"theoretical", "datasheet"}:
        return None
    return placement["of_theoretical"] * ceiling["theoretical"] / ceiling["datasheet"]


def case_row(what, entry, ceilings, findings):
    """None without a rate or a ceiling. The rate of a collective is its bus bandwidth, which compares with that of a link."""
    record = entry["roofmark"]
    (rate, unit), found = (bandwidth(record)[2], "B") if is_collective(entry) else rate_of(record), ceiling_of(record)
    if not rate or not found:
        return None
    share, ceiling = found
    return [(what, what, entry["name"]), quantity(rate, units.rate, unit),
            (f"{units.rate(rate / share, unit)} ({ceiling})", rate / share, ""), quantity(share, units.share),
            quantity(of_datasheet(record, ceilings), units.share),
            quantity(observed_clock(record["measurement"]), units.clock), case_health(entry, findings), (entry["name"], entry["name"], "")]


def ceiling_row(ceiling, by_name, findings):
    """None without a measured ceiling. It is compared with the theoretical one and the datasheet's."""
    if "empirical" not in ceiling:
        return None
    key = "theoretical" if "theoretical" in ceiling else None
    probe = max((ceiling.get("first", 0), ceiling.get("first_by", "")), (ceiling.get("last", 0), ceiling.get("last_by", "")))[1]
    clock = observed_clock(by_name.get(probe, {}).get("measurement", {}))
    return [(ceiling["title"], ceiling["title"], ""), quantity(ceiling["empirical"], units.rate, ceiling["unit"]),
            (f"{units.rate(ceiling[key], ceiling['unit'])} ({key})", ceiling[key], "") if key else ("unknown", "", ""),
            quantity(ceiling["empirical"] / ceiling[key] if key else None, units.share),
            quantity(ceiling["empirical"] / ceiling["datasheet"] if "datasheet" in ceiling else None, units.share), quantity(clock, units.clock),
            ceiling_health(ceiling, findings), (probe, probe, "")]


def beaten(result):
    """The cases that a comparison shows to be the slower of two ways, as the naive attention."""
    return {c["denominator"] if c["ratio"] > 1 else c["numerator"] for c in result["comparisons"]}


def worst(result):
    """The case furthest below the measured roof, among those that are nobody's slower way. Small messages are below it by nature, and
    so is what links alone bound, which have lines of their own, and access patterns, which show just that."""
    slower = beaten(result)
    shortest = 1e-6  # of the time that a roof allows; a launch takes longer

    def counts(entry):
        placement = entry["roofmark"]["placement"]
        return placement.get("of_empirical") and placement["t_min_seconds"] >= shortest and entry["name"] not in slower \
            and not transfers.crosses(entry, (*plots.LINKS, "host_dram")) and entry["roofmark"]["family"] != "access"

    found = [e for e in result["benchmarks"] if not e["roofmark"].keys() & {"sets_ceiling", "message", "overlap"} and counts(e)]
    return min(found, key=lambda e: e["roofmark"]["placement"]["of_empirical"], default=None)


def best(entries):
    return max(entries, key=lambda e: e["roofmark"]["placement"].get("flops_per_second", 0), default=None)


def summary_table(result):
    ceilings = {c["resource"]: c for c in result["ceilings"]}
    by_name = {e["name"]: e["roofmark"] for e in result["benchmarks"]}
    families = {}
    for entry in result["benchmarks"]:
        families.setdefault(entry["roofmark"]["family"], []).append(entry)
    memory = [ceiling_row(ceilings[name], by_name, result["findings"]) for name in ("dram",) if name in ceilings]
    links = [ceiling_row(ceilings[name], by_name, result["findings"]) for name in plots.LINKS if name in ceilings]
    of_products = families.get("gemm", []) + [e for e in families.get("ceilings", ()) if e["roofmark"].get("operation") == "gemm"]
    products = [(kind, best(e for e in of_products if e["roofmark"]["type"] == kind)) for kind in TYPES]
    products = [case_row(f"best product, {kind}", entry, ceilings, result["findings"]) for kind, entry in products if entry]
    collectives = {}
    for entry in filter(is_collective, result["benchmarks"]):
        collectives.setdefault(entry["roofmark"]["family"], []).append(entry)

    def busbw(entry):
        return loads_fully(entry["roofmark"]), bandwidth(entry["roofmark"])[2]

    collectives = [case_row(f"best {name.replace('_', '-')}, busbw", max(entries, key=busbw), ceilings, result["findings"])
                   for name, entries in collectives.items()]
    last = [case_row(what, entry, ceilings, result["findings"]) for what, entry in (
        ("best attention", best(families.get("attention", ()))), ("worst case", worst(result))) if entry]
    memory, links, products, last = ([row for row in rows if row] for rows in (memory, links, products + collectives, last))
    room = LINES - len(memory) - len(links) - len(last)
    return table("summary", [
        ("What", "", False), ("Measured", "", True),
        ("Ceiling", "Theoretical, at the highest clock, if known; else measured in this run", True),
        ("Share", "Measured / ceiling", True), ("Of datasheet", "Measured / the vendor's figure (dense), which may assume a lower clock", True),
        ("Clock", "Clock during the case", True), ("Health", "Findings about it", False),
        ("Case", "The case or probe that was measured", False)], memory + links + products[:room] + last, empty=False)
