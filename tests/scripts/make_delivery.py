# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""A delivery that looks real and is not: nothing in it was measured. `make_delivery.py FOLDER [NODES [GPUS]]` writes a result file per GPU,
with telemetry, counters and a sustained case."""

import copy
import json
import math
import random
import sys
from pathlib import Path

import make_result
import result_maker


def clean(result, device=0):
    """Without the findings and results that a test of reports has and an acceptance would not pass."""
    result["findings"] = [f for f in result["findings"] if f["kind"] not in ("fingerprint", "foreign_process", "clock")]
    result["unmeasured"] = [entry for entry in result["unmeasured"] if entry["roofmark"]["status"] == "unsupported"]
    result["complete"] = True
    result["device"]["name"] = "NVIDIA H200"
    result["device"].setdefault("details", {})["foreign_processes"] = []
    result["suite"], result["data"], result["arguments"] = "quick", "normal", ["roofmark", "run", "--suite", "quick"]
    cases = len({entry["name"] for entry in result["benchmarks"] + result["unmeasured"]})
    result["scope"] |= {"suite_cases": cases, "cases": cases, "text": f"The quick suite: all {cases} cases"}
    result["verdict"] = {"level": "good", "headline": f"{len({entry['name'] for entry in result['benchmarks']})} ok", "advice": ""}
    result["device"].setdefault("details", {})["uuid"] = f"GPU-{device:08x}"
    samples = result["benchmarks"][0]["roofmark"]["measurement"]["samples"]
    samples["start"] = [start + device for start in samples["start"]]  # no two runs have the same times
    return result


def in_one_file(result, nodes=2, gpus=8, counters=(), findings=(), slower=()):
    """A delivery of several nodes that measured together; `slower`: by rank, how many times as long its cases take."""
    merged, ranks = clean(result), range(nodes * gpus)
    merged["team"] = [{"rank": rank, "local_rank": rank % gpus, "device_id": f"cuda:{rank % gpus}", "uuid": f"GPU-{rank:08x}", "host": f"node{rank // gpus}", "pid": 1,
                       "device_name": "NVIDIA H200", "nics": [], "versions": {}} for rank in ranks]
    for entry in merged["benchmarks"]:
        measured = entry["roofmark"]["measurement"]
        measured["ranks"] = [{"median": measured["median"] * times, "maximum": measured["maximum"] * times, "interval": [times * end for end in measured["interval"]],
                              "throttled_share": {}} for times in (dict(slower).get(rank, 1) for rank in ranks)]
    merged["counters"] = [one for rank in ranks for one in result_maker.counters(rank, **(dict(counters).get(rank, {})))]
    merged["findings"] += findings
    return merged


def observe(result, seed):
    """Adds what the device did while it was measured."""
    noise = random.Random(seed)
    rows = []
    for i in range(6000):
        seconds = 0.05 * i
        hot = min(1, seconds / 60) * (0.7 + 0.3 * math.sin(seconds / 9))
        rows.append([seconds, 1.98e9 - 3.6e8 * hot * (seconds > 40), 3.201e9, 180 + 500 * hot + noise.gauss(0, 6), None, 38 + 30 * hot, 45 + 38 * hot, 49 - 30 * hot, 1.0])
    result["telemetry"] = {"period_seconds": 0.05, "power": "instantaneous", "cpu_seconds": 1.2, "rows": rows, "reasons": [[0.0], [42.0, "power cap"], [131.5], [180.0, "power cap"]],
                           "columns": ["seconds", "sm_clock_hz", "memory_clock_hz", "power_watts", "energy_joules", "temperature_celsius",
                                       "memory_temperature_celsius", "slowdown_margin_celsius", "utilization"]}
    result["counters"] = result_maker.counters(ecc_corrected=(0, int(seed % 5 == 3)))
    for entry in result["benchmarks"]:
        record = entry["roofmark"]
        rate = record["placement"].get("flops_per_second")
        watts = 640.0 if rate else 410.0
        record["measurement"]["telemetry"] = {
            "seconds": 0.5, "sm_clock_hz": 1.75e9, "power_watts": watts, "joules_per_launch": watts * record["measurement"]["median"],
            "throttled_share": {"power cap": 0.4} if rate else {}} | ({"flops_per_joule": rate / watts} if rate else {})
    product = next(entry["roofmark"] for entry in result["benchmarks"] if entry["name"].startswith("gemm/bf16"))
    burst = 1 / product["measurement"]["median"]
    product["sustained"] = {
        "burst_rate": burst, "settled_rate": 0.91 * burst, "settled_after_seconds": 212.0, "settled_of_burst": 0.91,
        "dips": {"count": 3, "seconds": 13.4, "deepest": 0.31, "deepest_after": 121.0, "deepest_seconds": 6.0}, "burst_clock_hz": 1.98e9, "settled_clock_hz": 1.8e9,
        "burst_power_watts": 640.0, "settled_power_watts": 699.0, "rate_per_clock_ratio": 1.001, "explained_by_clock": 0.97, "launches_checked": 4000, "share_checked": 0.25,
        "checking_share_of_time": 0.021}
    return result


def rank_telemetry(clock_hz=1.9e9, celsius=60.0, slow=False):
    """Of one rank of a team: over a minute, with the course of three readings."""
    clock_hz, celsius = (clock_hz - 5e8, celsius + 25) if slow else (clock_hz, celsius)
    rows = [[30.0 * i, clock_hz, 600.0, celsius - 10 + 5 * i] for i in range(3)]
    return {"summary": {"seconds": 60.0, "sm_clock_hz": clock_hz, "power_watts": 600.0, "temperature_celsius": celsius,
                        "throttled_share": {"thermal": 0.5} if slow else {}},
            "course": {"period_seconds": 0.05, "cpu_seconds": 0.1, "columns": ["seconds", "sm_clock_hz", "power_watts", "temperature_celsius"], "rows": rows, "reasons": []}}


def gpu(base, node, place, gpus, observed=True):
    """The result of one GPU of the delivery."""
    number = node * gpus + place
    result = clean(copy.deepcopy(base), number)
    result["host"]["name"] = f"node{node + 1}"
    result["device"]["id"] = f"cuda:{place}"
    result["device"]["details"] |= {"serial": f"16542300{number:05d}", "vbios": "96.00.89.00.01", "pci_bus_id": f"0000:{16 * (place + 1):02x}:00.0",
                                    "uuid": f"GPU-{number + 1:08x}-0000-0000-0000-000000000000"}
    if observed:
        return observe(result, number)
    for part in (result, *(entry["roofmark"]["measurement"] for entry in result["benchmarks"])):
        for key in ("telemetry", "counters"):
            part.pop(key, None)
    return result


def write(folder, base, nodes, gpus, observed=True):
    """One file per GPU: FOLDER/nodeN/cuda-M/result.json."""
    paths = []
    for node in range(nodes):
        for place in range(gpus):
            path = Path(folder) / f"node{node + 1}" / f"cuda-{place}" / "result.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(gpu(base, node, place, gpus, observed)), encoding="utf-8")
            paths.append(path)
    return paths


if __name__ == "__main__":
    write(sys.argv[1], make_result.h200(), int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 8)
