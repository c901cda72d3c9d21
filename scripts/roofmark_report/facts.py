# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Facts about device, host, build and conditions for a report, as pairs of a name and a text."""

import shlex
import statistics

from . import units

DATA = {"normal": "normally distributed", "uniform": "uniformly distributed", "zeros": "zeros"}


def operands(result):
    """What collectives carry is fixed."""
    carries = ["message" in entry["roofmark"] for entry in result["benchmarks"]]
    words = "small integers" if carries and all(carries) else DATA[result["data"]] + (", small integers in collectives" if any(carries) else "")
    return f"{words}, seed {result['seed']}"


def flat(value, prefix=""):
    """Nested details as (name, text) pairs."""
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in flat(inner, f"{prefix}.{key}" if prefix else key)]
    if isinstance(value, list) and not any(isinstance(inner, (dict, list)) for inner in value):
        return [(prefix, ", ".join(plain(inner) for inner in value) or "none")]
    if isinstance(value, list):
        return [pair for i, inner in enumerate(value) for pair in flat(inner, f"{prefix}[{i}]")]
    return [(prefix, plain(value))]


def plain(value):
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else "unknown" if value is None else str(value)


def facts(pairs):
    return [(name, value) for name, value in pairs if value not in (None, "")]


def device_facts(result):
    d = result["device"]
    processors = "cores" if d["kind"] == "cpu" else "multiprocessors (SMs)"
    return facts([
        ("device", f"{d['name']} ({d['id']})"), ("published figures", None if d["kind"] == "cpu" else "known" if d["known"] else "unknown: see the findings"),
        (processors, d["multiprocessors"]), ("compute capability", d.get("compute_capability")),
        ("rated clock", units.clock(d.get("rated_clock_hz"))), ("highest clock", units.clock(d.get("highest_clock_hz"))), ("memory clock", units.clock(d.get("memory_clock_hz"))),
        ("memory bus", f"{d['memory_bus_bits']} bit" if "memory_bus_bits" in d else None),
        ("memory", f"{units.size(d['memory_bytes'])}, {units.size(d['free_bytes'])} free at the start")] + [
            (f"{c['name'].upper()} cache", units.size(c["total_bytes"]) + (
                f", {units.size(c['instance_bytes'])} each" if c["instance_bytes"] != c["total_bytes"] else "")) for c in d["caches"]])


def program(build, digits=None):
    """The roofmark of a build, with so many digits of its commit."""
    return f"{build['version']}, commit {build['commit'][:digits]}{' with local changes' if build['dirty'] else ''}"


def run_facts(result, digest):
    h, b = result["host"], result["build"]
    return facts([
        ("host", h["name"]), ("processor", ", ".join(part for part in (h.get("cpu"), units.plural(h["cores"], "logical core")) if part)),
        ("host memory", units.size(h.get("memory_bytes"))),
        ("system", ", ".join(part for part in (h.get("os"), h.get("kernel")) if part)),
        ("driver", result["device"]["details"].get("driver_version")),
        ("CUDA toolkit", ", ".join(filter(None, (b.get("cuda_toolkit"), b.get("cuda_compiler"))))),
        *((name, ", ".join(filter(None, (library["version"], library["path"])))) for name, library in result["libraries"].items()),
        ("roofmark", program(b)),
        ("built by", f"{b['compiler']}, {b['build_type']}" + (f", for {b['cuda_architectures']}" if "cuda_architectures" in b else "")),
        ("command", shlex.join(result["arguments"])), ("suite", result["suite"]),
        ("timing adds to a sample", units.seconds(result.get("timing_overhead_seconds"))),
        ("operands", operands(result)), ("started", result["started_utc"]),
        ("finished", result.get("finished_utc", "not finished: the file was recovered from the journal")),
        ("result file", f"SHA-256 {digest}")])


def health(result):
    """Whether the environment is as it should be, and its circumstances, those that are not first."""
    found = sorted(result["health"], key=lambda one: "advice" not in one)
    bad = sum("advice" in one for one in found)
    answer = ("The environment could not be read." if not found else
              f"{bad} of {units.plural(len(found), 'check')} of the environment found something that can make the results worse." if bad else
              f"The environment is fine in all {units.plural(len(found), 'check')}.")
    return answer, [(one["what"] + (f" (rank {one['rank']})" if "rank" in one else ""), one["state"], one.get("advice", "")) for one in found]


def host_details(result):
    """Details of the host, unless it is the device."""
    return [] if result["device"]["kind"] == "cpu" else flat(result["host"].get("details", {}), "host")


def conditions(result):
    """Clock, power and temperature of the device during the measurements."""
    clocks, powers, temperatures, reasons = [], [], [], {}
    for entry in result["benchmarks"]:
        measured = entry["roofmark"]["measurement"]
        clocks += [block["clock_hz"] for block in measured["blocks"] if "clock_hz" in block]
        telemetry = measured.get("telemetry", {})
        powers += [telemetry["power_watts"]] if "power_watts" in telemetry else []
        temperatures += [telemetry["temperature_celsius"]] if "temperature_celsius" in telemetry else []
        for reason in telemetry.get("throttled_share", {}):
            reasons[reason] = reasons.get(reason, 0) + 1

    def span(values, form):
        ends = dict.fromkeys((form(min(values)), form(max(values)))) if values else ()
        return " to ".join(ends) + (f", median {form(statistics.median(values))}" if len(ends) > 1 else "") or None

    return facts([
        ("clock observed", span(clocks, units.clock)), ("power", span(powers, units.watts)),
        ("temperature", span(temperatures, lambda v: f"{v:.0f} °C")),
        ("clock lowered by", ", ".join(f"{reason} (in {units.plural(count, 'case')})" for reason, count in reasons.items()))])
