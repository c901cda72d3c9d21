# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The ceilings of a result as rows of a table."""

from collections import Counter


def _clock_shares(entries):
    """By resource, the clock observed during its fastest probe / that of the theoretical ceiling; 1 of what follows no clock."""
    fastest = {}
    for entry in entries:
        resource = entry["roofmark"].get("sets_ceiling", {}).get("resource")
        placed = entry["roofmark"].get("placement", {})
        if resource and placed.get("of_theoretical") and placed.get("of_theoretical_clock"):
            fastest[resource] = max(fastest.get(resource, (0, 0)), (placed["of_theoretical"], placed["of_theoretical_clock"]))
    return {resource: highest / observed for resource, (highest, observed) in fastest.items()}


def _ceilings_of_ranks(result, devices):
    """What each rank's own times make of the probes, by resource: rate, and its clock / that of the theoretical ceiling, which is the lowest of
    the ranks'. None of a device that several ranks share, of what ranks measure together, or of a slope."""
    sharing = Counter((device["host"], device["device"]) for device in devices)
    devices = [device for device in devices if sharing[device["host"], device["device"]] == 1]
    clocks = {ceiling["resource"]: ceiling.get("theoretical_clock_hz") for ceiling in result["ceilings"]}
    fastest = {}
    for record in (entry["roofmark"] for entry in result["benchmarks"]):
        probe, times = record.get("sets_ceiling"), record["measurement"].get("ranks")
        if not probe or not times or probe["by"] == "slope" or "message" in record:
            continue
        resource = probe["resource"]
        amount = sum(demand["amount"] for phase in record["work"]["phases"] for demand in phase if demand["resource"] == resource)
        for device in devices:
            own = times[device["rank"]]
            if not own or not own["median"]:
                continue
            share = own["clock_hz"] / clocks[resource] if clocks.get(resource) and "clock_hz" in own else None
            key, found = (device["gpu"], resource), (amount / own["median"], share)
            fastest[key] = max(fastest.get(key, found), found, key=lambda one: one[0])
    return fastest


def ceiling_rows(result, run, devices, columns):
    """Those of the file, with these columns of it; of several devices those of each too."""
    shares = _clock_shares(result["benchmarks"])
    rows = [{"run": run, "gpu": None if len(devices) > 1 else devices[0]["gpu"], "clock_share": shares.get(ceiling["resource"])}
            | {key: ceiling.get(key) for key in columns} for ceiling in result["ceilings"]]
    if len(devices) == 1:
        return rows
    by_resource = {row["resource"]: row for row in rows}
    return rows + [by_resource[resource] | {"gpu": gpu, "empirical": rate, "clock_share": share, "drift": None}
                   for (gpu, resource), (rate, share) in _ceilings_of_ranks(result, devices).items() if resource in by_resource]
