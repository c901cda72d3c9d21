# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Makes up a result file, case by case: nothing in it was measured. Longer than most files: one function per family."""

import random
import statistics
from collections import Counter

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
SIZE_OF = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}
OUTPUT_SIZE_OF = SIZE_OF | {"fp8": 2, "int8": 4}
NOT_MEASURED = "made up by tests/scripts/make_result.py: nothing was measured"
UNITS = {
    "fp64_fma": "FLOP", "fp32_fma": "FLOP", "fp16_fma": "FLOP", "bf16_fma": "FLOP", "fp64_tensor": "FLOP",
    "tf32_tensor": "FLOP", "fp16_tensor": "FLOP", "fp16_tensor_fp16": "FLOP", "bf16_tensor": "FLOP", "fp8_tensor": "FLOP",
    "int8_tensor": "op", "exp": "exp", "dram": "B", "shared": "B", "l1": "B", "l2": "B", "l3": "B", "stream_launch": "launch",
    "graph_launch": "launch", "fp64_fma_one_core": "FLOP", "fp32_fma_one_core": "FLOP", "nvlink": "B", "network": "B",
    "host_to_device": "B", "device_to_host": "B", "l1_access": "access", "l2_access": "access", "l3_access": "access", "dram_access": "access",
}
TITLES = {
    "exp": "exp2, special-function unit", "dram": "DRAM", "shared": "shared memory", "l1": "L1 cache", "l2": "L2 cache",
    "l3": "L3 cache", "stream_launch": "stream launches", "graph_launch": "graph-node launches",
    "fp16_tensor": "fp16 tensor, fp32 accumulate", "fp16_tensor_fp16": "fp16 tensor, fp16 accumulate",
    "fp64_fma_one_core": "fp64 FMA, one core", "fp32_fma_one_core": "fp32 FMA, one core",
    "host_to_device": "host to device", "device_to_host": "device to host", "nvlink": "NVLink, one direction, per GPU", "network": "network, one direction, per host",
}
FOLLOW_CLOCK = {name for name in UNITS if name not in (
    "dram", "nvlink", "network", "host_to_device", "device_to_host", "stream_launch", "graph_launch")}


def title(resource):
    return TITLES.get(resource, resource.replace("_fma", " FMA").replace("_tensor", " tensor"))


class Maker:
    """Collects the records of a device whose ceilings are given, and places them as roofmark would."""

    def __init__(self, device, theoretical, reached, datasheet, noise_seed):
        self.random = random.Random(noise_seed)
        self.device = device
        self.reached = reached
        self.time = 2.0
        self.readings = []
        self.ceilings = {}
        for resource in UNITS:
            if resource not in reached and resource not in theoretical:
                continue
            ceiling = {"resource": resource, "title": title(resource), "unit": UNITS[resource], "doubtful": False}
            if resource in theoretical:
                ceiling["theoretical"], ceiling["theoretical_source"] = theoretical[resource]
                if resource in FOLLOW_CLOCK:
                    ceiling["theoretical_clock_hz"] = ceiling["rated_clock_hz"] = device["highest_clock_hz"]
            if resource in datasheet:
                ceiling["datasheet"], ceiling["datasheet_source"] = datasheet[resource]
            self.ceilings[resource] = ceiling
        self.benchmarks, self.unmeasured, self.comparisons, self.findings, self.ladders = [], [], [], [], []
        self.transfers = {"series": [], "contention": []}
        self.sm_latencies, self.loaded_latencies, self.call_lines = [], [], []

    def case(self, family, operation, kind, shape, phases, **extra):
        """A record without its outcome, and its name."""
        words = [family, *([operation] if operation else []), kind] + [f"{key}:{value}" for key, value in shape.items()]
        record = {
            "family": family, **({"operation": operation} if operation else {}), "type": kind, "shape": {key: str(value) for key, value in shape.items()},
            "status": "ok", "pass": 1,
            "work": {"phases": [[{"resource": r, "unit": UNITS[r], "amount": float(a)} | ({"avoidable": float(avoidable[0])} if avoidable else {})
                                 for r, a, *avoidable in phase] for phase in phases]},
            "memory_bytes": 1 << 28, "notes": {},
        }
        return "/".join(words), record | extra

    def miss(self, status, reason, *args, **extra):
        name, record = self.case(*args, **extra)
        self.unmeasured.append({"name": name, "roofmark": record | {"status": status, "reason": reason}})

    def measure(self, *args, share=0.95, seconds=None, slower=None, clock_hz=None, power=420.0, reasons=(), settled=True, path=None, **extra):
        """Adds an ok record that takes 1 / share of the least time that its work allows, and a launch, or `seconds`; returns its
        name. `slower` has a factor for each rank of a team."""
        name, record = self.case(*args, **extra)
        least = seconds or sum(max(d["amount"] / self.reached[d["resource"]] for d in phase) for phase in record["work"]["phases"])
        gpu = self.device["kind"] == "cuda"
        path = path or ("stream" if not gpu or least > 1e-4 else "graph")
        launch = 0 if not gpu or "sets_ceiling" in record else 1 / self.reached["graph_launch" if path == "graph" else "stream_launch"]
        seconds = seconds or max(least / share, launch) + (0.2 * launch if gpu else 1e-7)
        cache = record["shape"].get("cache", "warm")
        record["measurement"] = self.measurement(seconds * max(slower or [1]), cache, path, clock_hz, power, list(reasons), settled)
        if slower:
            own = [seconds * factor * self.random.gauss(1, 0.002) for factor in slower]
            record["measurement"]["ranks"] = [{"median": s, "maximum": 1.03 * s, "p95": 1.01 * s, "interval": [0.998 * s, 1.002 * s]} for s in own]
        record["placement"] = self.placement(record, path, clock_hz, launch)
        record["verification"] = {
            when: {"status": "passed", "error": round(self.random.uniform(0.2, 0.9), 3), "bound": 2.0,
                   "detail": "all elements, in u x sum of |terms|"} for when in ("before", "after")}
        record["fingerprint"] = {"hash": f"{hash_of(name):016x}", "key": f"roofmark 0.1.0|{self.device['name']}|data normal|seed 1",
                                 "deterministic": True}
        median = record["measurement"]["median"]
        samples = record["measurement"]["samples"]["seconds"]
        self.benchmarks.append({
            "name": name, "run_name": name, "run_type": "iteration",
            "iterations": len(samples) * record["measurement"]["launches_per_sample"], "real_time": median * 1e6,
            "cpu_time": 1.4, "time_unit": "us", "roofmark": record})
        return name

    def measurement(self, seconds, cache, path, clock_hz, power, reasons, settled):
        if clock_hz and clock_hz < 0.95 * self.device["highest_clock_hz"] and not reasons:
            reasons = ["power cap"]  # what lowers the clock of a healthy GPU
        samples = {"start": [], "seconds": [], "host_seconds": [], "block": [], "throttled": []}
        blocks = []
        medians = []
        for block in range(5):
            start = len(samples["seconds"])
            shift = self.random.gauss(1, 0.001)
            for _ in range(8):
                sample = seconds * shift * self.random.gauss(1, 0.002)
                samples["start"].append(round(self.time, 6))
                samples["seconds"].append(sample)
                samples["host_seconds"].append(1.4e-6)
                samples["block"].append(block)
                samples["throttled"].append(bool(reasons))
                self.time += max(sample, 1e-4)
            medians.append(sorted(samples["seconds"][start:])[4])
            telemetry = {"throttle_reasons": reasons}
            if self.device["kind"] == "cuda":
                telemetry |= {"sm_clock_hz": clock_hz or self.device["highest_clock_hz"], "memory_clock_hz": self.device["memory_clock_hz"],
                              "power_watts": round(power * self.random.gauss(1, 0.01), 1), "temperature_celsius": 52.0,
                              "pcie_bytes_per_second": 63e9, "pcie_bytes_per_second_at_most": 63e9}
            blocks.append({"start": samples["start"][start], "end": round(self.time, 6), "before": telemetry, "after": dict(telemetry),
                           "lead_in_seconds": 0.009, "throttled_share": {reason: 1.0 for reason in reasons},
                           **({name: clock_hz for name in ("clock_hz", "first_clock_hz", "mean_clock_hz", "last_clock_hz")} if clock_hz else {})})
            if self.device["kind"] == "cuda":
                columns = ("sm_clock_hz", "memory_clock_hz", "power_watts", "temperature_celsius")
                self.readings += [[round(at, 6), *(telemetry[column] for column in columns)] for at in (blocks[-1]["start"], self.time)]
        ordered = sorted(samples["seconds"])
        median = (ordered[19] + ordered[20]) / 2
        mean = sum(ordered) / len(ordered)
        made = {
            "median": median, "minimum": ordered[0], "maximum": ordered[-1], "p5": ordered[2], "p95": ordered[37],
            "cv": (sum((s - mean) ** 2 for s in ordered) / (len(ordered) - 1)) ** 0.5 / mean,
            "interval": [min(median, sorted(medians)[0]), max(median, sorted(medians)[-1])],
            "launches_per_sample": min(256, max(1, round(1e-3 / seconds))), "path": path, "timed": "device", "cache": cache,
            "cache_by": "warm" if cache == "warm" else "slots", "slots": 1 if cache == "warm" else 4, "settled": settled,
            "warm_up_seconds": 0.31, "stopped_by": "interval", "void_samples": 0, "samples_checked": 40, "share_checked": 1.0, "samples": samples, "blocks": blocks}
        if self.device["kind"] == "cuda":
            watts = statistics.mean(block["before"]["power_watts"] for block in blocks)
            seconds_in_all = sum(block["end"] - block["start"] for block in blocks)
            made["telemetry"] = {
                "seconds": seconds_in_all, "sm_clock_hz": clock_hz or self.device["highest_clock_hz"],
                "memory_clock_hz": self.device["memory_clock_hz"], "power_watts": watts, "temperature_celsius": 52.0,
                "integrated_joules": watts * seconds_in_all, "joules_per_launch": watts * median,
                "throttled_share": {reason: 1.0 for reason in reasons}}
        return made | ({"clock_hz": clock_hz} if clock_hz else {})

    def telemetry(self):
        """The series of a GPU's readings, and its counters."""
        if not self.readings:
            return {}
        return {"telemetry": {"period_seconds": 0.05, "power": "instantaneous", "cpu_seconds": 0.004,
                              "columns": ["seconds", "sm_clock_hz", "memory_clock_hz", "power_watts", "temperature_celsius"],
                              "rows": self.readings, "reasons": []},
                "counters": counters()}

    def placement(self, record, path, clock_hz, launch):
        def least(ceilings, scale=False):
            total, bound_by, longest = 0.0, None, 0.0
            for phase in record["work"]["phases"]:
                worst = 0.0
                for demand in phase:
                    if demand["resource"] not in ceilings:
                        return None, None
                    rate = ceilings[demand["resource"]]
                    if scale and demand["resource"] in FOLLOW_CLOCK:
                        rate *= clock_hz / self.device["highest_clock_hz"]
                    seconds = demand["amount"] / rate
                    worst = max(worst, seconds)
                    if seconds > longest:
                        longest, bound_by = seconds, demand["resource"]
                total += worst
            if total < launch:
                return launch, "graph_launch" if path == "graph" else "stream_launch"
            return total, bound_by

        theoretical = {c["resource"]: c["theoretical"] for c in self.ceilings.values() if "theoretical" in c}
        median = record["measurement"]["median"]
        made = {}
        t_min, bound_by = least(self.reached)
        if t_min is not None:
            made |= {"t_min_seconds": t_min, "bound_by": bound_by, "of_empirical": t_min / median}
        seconds, binds = least(theoretical)
        if seconds is not None:
            made = {"bound_by": binds} | made | {"of_theoretical": seconds / median}
            if clock_hz:
                made["of_theoretical_clock"] = least(theoretical, scale=True)[0] / median
        demands = [d for phase in record["work"]["phases"] for d in phase]
        flops = sum(d["amount"] for d in demands if d["unit"] in ("FLOP", "op"))
        level = next((r for r in ("dram", "l3", "l2", "l1", "shared", "host_to_device", "device_to_host") if any(d["resource"] == r for d in demands)), None)
        moved = sum(d["amount"] for d in demands if d["resource"] == level)
        if flops:
            made["flops_per_second"] = flops / median
        if moved:
            made["bytes_per_second"] = moved / median
        if flops and moved:
            made["intensity"] = flops / moved
        return made

    def find(self, kind, text, severity="warning", doubt="part", found_by=("results",), **more):
        self.findings.append({"kind": kind, "severity": severity, "doubt": doubt, "found_by": list(found_by), "text": text,
                              "advice": f"What {kind} means.", **more})

    def compare(self, numerator, denominator):
        [(one, other)] = [pair for pair in zip(numerator.split("/"), denominator.split("/"), strict=True) if pair[0] != pair[1]]
        key, _, value = one.partition(":")
        entries = {entry["name"]: entry["roofmark"]["measurement"]["median"] for entry in self.benchmarks}
        ratio = entries[denominator] / entries[numerator]
        self.comparisons.append({"name": f"{value} against {other.partition(':')[2]}", "key": key, "numerator": numerator, "denominator": denominator, "ratio": ratio,
                                 "low": ratio * 0.996, "high": ratio * 1.004})

    def probe(self, passes, operation, kind, shape, resource, share, **extra):
        """A probe that reaches `share` of what the ceilings family reaches with this resource."""
        for number in passes:
            name = self.measure("ceilings", operation, kind, shape, [[(resource, 2e-3 * self.reached[resource] if UNITS[resource] != "launch"
                                                              else 1)]],
                                share=share * (1 if number == 1 else 0.997), sets_ceiling={"resource": resource, "by": "library" if operation == "gemm" else "rate"}, **extra)
            entry = self.benchmarks[-1]
            entry["roofmark"]["pass"] = number
            rate = sum(d["amount"] for d in entry["roofmark"]["work"]["phases"][0]) / (entry["real_time"] * 1e-6)
            ceiling = self.ceilings[resource]
            which = "first" if number == 1 else "last"
            if rate > ceiling.get(which, 0):
                ceiling[which], ceiling[f"{which}_by"] = rate, name
                if clock_hz := entry["roofmark"]["measurement"].get("clock_hz"):
                    ceiling[f"{which}_clock_hz"] = clock_hz
                ceiling["empirical"] = max(ceiling["first"], ceiling.get("last", 0))
                if number == 2:
                    ceiling["drift"] = ceiling["unexplained_drift"] = ceiling["last"] / ceiling["first"] - 1  # at one clock

    def scope(self, suite):
        cases = len({entry["name"] for entry in self.benchmarks + self.unmeasured})
        return {"suite_cases": cases, "cases": cases, "changes": [], "text": f"The {suite} suite: all {cases} cases"}

    def health(self):
        """The circumstances of the environment: the last one is as it should not be."""
        made = [{"what": "other processes", "state": "none"}, {"what": "ECC", "state": "on"}] if self.device["kind"] == "cuda" else []
        return [*made, {"what": "load", "state": "0.40 on 96 CPUs, one-minute average"},
                {"what": "CPU governor", "state": "powersave",
                 "advice": "the clock follows the load; cpupower frequency-set -g performance as root"}]

    def verdict(self):
        """What roofmark would say in short; no reader of it judges again."""
        counted = Counter({entry["name"]: entry["roofmark"]["status"] for entry in self.benchmarks + self.unmeasured}.values())
        headline = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in counted.items())
        if counted["wrong"] or counted["failed"] or counted["not_run"]:
            return {"level": "bad", "headline": headline, "advice": "Do not use any number from this run until the wrong result is explained."}
        if self.findings:
            return {"level": "doubtful", "headline": headline, "advice": "Read the findings, then run again."}
        return {"level": "good", "headline": headline, "advice": ""}

    def result(self, **top):
        return {
            "context": {
                "date": "2026-01-15T10:00:00+00:00", "host_name": top["host"]["name"], "executable": "roofmark",
                "num_cpus": top["host"]["cores"], "mhz_per_cpu": 2000, "cpu_scaling_enabled": False, "caches": [],
                "load_avg": [0.4, 0.3, 0.2], "library_build_type": "release"},
            "schema_version": 2, "data": "normal", "seed": 1, "labels": {"synthetic": NOT_MEASURED},
            "started_utc": "2026-01-15T10:00:00Z", "finished_utc": "2026-01-15T10:05:03Z", "complete": True, "interrupted": False,
            "build": {"version": "0.1.0", "commit": "0123456789abcdef0123456789abcdef01234567", "dirty": False,
                      "compiler": "GNU 12.2.0", "build_type": "Release"},
            "families": {family: f"What {family} measures." for family in sorted({entry["roofmark"]["family"] for entry in self.benchmarks})},
            "device": self.device, "ceilings": list(self.ceilings.values()), "benchmarks": self.benchmarks,
            "unmeasured": self.unmeasured, "comparisons": self.comparisons, "findings": self.findings,
            **({"ladders": self.ladders} if self.ladders else {}),
            **({"call_lines": self.call_lines} if self.call_lines else {}),
            **({"transfers": self.transfers} if self.transfers["series"] else {}),
            **({"sm_latencies": self.sm_latencies, "loaded_latencies": self.loaded_latencies} if self.sm_latencies else {}), **self.telemetry(), "scope": self.scope(top["suite"]), "health": self.health(), "verdict": self.verdict(),
            "timing_overhead_seconds": 1.6e-6,
            "wall_time": {"total_seconds": 303.2, "timing_seconds": 181.0, "warm_up_seconds": 64.1, "preparation_seconds": 22.6,
                          "verification_seconds": 27.9, "writing_seconds": 1.9, "other_seconds": 5.7,
                          "families": {family: 12.5 for family in sorted({entry["roofmark"]["family"] for entry in self.benchmarks})}},
        } | top


def counters(rank=0, **values):
    """What a GPU counts, of which nothing changes during a run; `values` are (before, after)."""
    steady = {"ecc_corrected": 0, "ecc_uncorrected": 0, "remapped_rows_corrected": 0, "remapped_rows_uncorrected": 0, "remap_pending": 0, "remap_failed": 0,
              "xid": 0, "application_xid": 0, "informational_xid": 0, "recovery_action": 0, "inforom_corrupted": 0, "pcie_replays": 0, "pcie_width": 16, "nvlink_crc_errors": 0, "nvlink_links": 18, "fabric_completed": 1, "fabric_degraded": 0, "fabric_unhealthy": 0,
              "power_limit_of_default": 1, "foreign_processes": 0}
    falls = ("pcie_width", "nvlink_links", "fabric_completed", "power_limit_of_default")
    made = []
    for name, value in steady.items() | values.items():
        before, after = value if isinstance(value, tuple) else (value, value)
        made.append({"id": name, "rank": rank, "before": before, "after": after, "worse": max(0, before - after if name in falls else after - before)})
    return sorted(made, key=lambda one: list(steady).index(one["id"]) if one["id"] in steady else len(steady))


def hash_of(text):
    """The same for the same text in every process, unlike Python's own."""
    return random.Random(text).getrandbits(64)


def stream(maker, op, kind, size, share, level, **extra):
    arrays = {"read": 1, "write": 1, "copy": 2, "memcpy": 2, "scale": 2, "add": 3, "triad": 3, "dot": 2}[op]
    flops = {"read": 1, "scale": 1, "add": 1, "triad": 2, "dot": 2}.get(op, 0)
    demands = [(level, size)]
    if flops:
        demands.append(("fp64_fma" if kind == "fp64" else "fp32_fma", flops * size / arrays / SIZE_OF[kind]))
    operation, impl = ("copy", "memcpy") if op == "memcpy" else (op, "own")
    return maker.measure("stream", operation, kind, {"bytes": size, "impl": impl, "cache": "warm"}, [demands], share=share, **extra)


def chase(maker, series, sizes, levels, clock_hz):
    """A pointer chase over sizes, and its ladder. `levels` has the bytes up to which a resource takes so many cycles."""
    ladder = {"series": f"latency/chase/int8/{series}", "points": [], "levels": []}
    for size in sizes:
        resource, cycles = next((resource, cycles) for upto, resource, cycles in levels if size <= upto)
        key, _, value = series.partition(":")
        name = maker.measure("latency", "chase", "int8", {"bytes": size, "stride": 128, key: value}, [[(resource, 10**5)]],
                             seconds=10**5 * cycles / clock_hz, clock_hz=clock_hz)
        seconds = maker.benchmarks[-1]["roofmark"]["measurement"]["median"] / 10**5
        ladder["points"].append({"case": name, "bytes": size, "seconds": seconds, "cycles": seconds * clock_hz})
        found = ladder["levels"][-1] if ladder["levels"] else None
        if not found or found["resource"] != resource:
            if found:
                found["beyond_bytes"] = size
            found = {"resource": resource, "step": 1, "smallest_bytes": size, "points": 0}
            ladder["levels"].append(found)
        found |= {"largest_bytes": size, "seconds": seconds, "cycles": seconds * clock_hz, "points": found["points"] + 1}
    maker.ladders.append(ladder)


def from_each_sm(maker, sms, near, far, clock_hz):
    """A line of L2 that half of the SMs are near, in cycles."""
    points = []
    for sm in range(sms):
        aimed = near + sm % 5 if sm % 2 == 0 else far + sm % 5
        name = maker.measure("latency", "chase", "int8", {"bytes": 128, "stride": 128, "load": "cg", "sm": sm, "impl": "own"},
                             [[("l2_access", 10**4)]], seconds=10**4 * aimed / clock_hz, clock_hz=clock_hz)
        seconds = maker.benchmarks[-1]["roofmark"]["measurement"]["median"] / 10**4
        points.append({"case": name, "sm": sm, "seconds": seconds, "cycles": seconds * clock_hz})
    points.sort(key=lambda point: point["seconds"])
    halves = points[:(sms + 1) // 2], points[(sms + 1) // 2:]
    levels = [{"sms": [p["sm"] for p in half], **{key: statistics.median(p[key] for p in half) for key in ("seconds", "cycles")}}
              for half in halves]
    maker.sm_latencies.append({"series": "latency/chase/int8/bytes:128/stride:128/load:cg/impl:own", "points": points, "levels": levels})


def beside_readers(maker, idle, clock_hz):
    """A chase in DRAM beside readers that take a share of its rate; `idle` in cycles."""
    points = []
    for percent in (0, 25, 50, 75, 100):
        share = 0.92 * percent / 100
        name = maker.measure("latency", "chase", "int8", {"bytes": GIB, "stride": 256, "readers": percent, "impl": "own"},
                             [[("dram_access", 10**4)]], seconds=10**4 * idle * (1 + share**4) / clock_hz, clock_hz=clock_hz)
        maker.benchmarks[-1]["roofmark"]["measurement"]["background"] = {"resource": "dram", "per_second": share * maker.reached["dram"]}
        seconds = maker.benchmarks[-1]["roofmark"]["measurement"]["median"] / 10**4
        points.append({"case": name, "background_per_second": share * maker.reached["dram"], "seconds": seconds, "share_of_ceiling": share,
                       "cycles": seconds * clock_hz})
    maker.loaded_latencies.append({"series": "latency/chase/int8/bytes:1073741824/stride:256/impl:own", "background": "dram", "points": points})


def calls(maker):
    """Calls that the host timed, each until it returns and until the device has finished, and the lines over a count."""
    def add(operation, shape, until, seconds):
        name = maker.measure("cost", operation, "int32", shape | {"until": until, "impl": "cuda"}, [], seconds=seconds, path="stream")
        record = maker.benchmarks[-1]["roofmark"]
        record["measurement"] |= {"timed": "call" if until == "return" else "completion", "launches_per_sample": 1, "samples_checked": 0,
                                  "share_checked": 0.0}
        record["measurement"]["p99"] = record["measurement"]["maximum"]
        record["placement"] = {}
        maker.benchmarks[-1]["iterations"] = len(record["measurement"]["samples"]["seconds"])
        return name

    for until, least in (("return", 2.1e-6), ("finish", 6.4e-6)):
        add("launch", {"kernel": "empty"}, until, least)
        ways = {}
        for by, fixed, each in (("graph", 5e-6, 1.1e-6), ("stream", 1e-6, 2.2e-6)):
            ways[by] = [add("launch_all", {"kernels": kernels, "by": by}, until, least + fixed + each * kernels) for kernels in (1, 10, 100)]
        for graph, stream_name in zip(ways["graph"], ways["stream"]):
            maker.compare(graph, stream_name)
        series = f"cost/launch_all/int32/by:{{}}/until:{until}/impl:cuda"
        maker.call_lines += [
            {"series": series.format("graph"), "key": "kernels", "fixed_seconds": least + 5e-6, "each_seconds": 1.1e-6, "r2": 0.9997, "points": 3,
             "faster_from": 3.64, "than": series.format("stream")},
            {"series": series.format("stream"), "key": "kernels", "fixed_seconds": least + 1e-6, "each_seconds": 2.2e-6, "points": 3}]


def access(maker, clock_hz):
    """Reads of which the longer strides use a part of each line."""
    for stride, useful in ((4, 1.0), (32, 1.0), (128, 0.25), (4096, 0.25)):
        maker.measure("access", "strided", "int32", {"bytes": 2 * GIB, "stride": stride, "impl": "own", "cache": "cold"},
                      [[("dram", 2 * GIB * useful)]], share=0.9 * useful, clock_hz=clock_hz)


def transfer(maker, operation, links, memory, sizes, latency, rate, alone=(), cache="warm"):
    """Transfers over sizes, and the line of their series. `alone` has the operations that cross each link alone."""
    shape = {"memory": memory, "node": "near", "impl": "copy_engine", "cache": cache}
    for size in sizes:
        name = maker.measure("transfer", operation, "int8", {"bytes": size} | shape, [[(link, size) for link in links]],
                             seconds=latency + size / rate)
    entry = maker.benchmarks[-1]
    reached = sizes[-1] / entry["roofmark"]["measurement"]["median"]
    largest = {"case": name, "bytes": float(sizes[-1]), "bytes_per_second": reached, "sum_bytes_per_second": len(links) * reached}
    maker.transfers["series"].append({
        "series": name.replace(f"/bytes:{sizes[-1]}", ""), "links": list(links), "how": list(shape.values()), "flows": len(links),
        "latency_seconds": latency,
        "bytes_per_second": rate, "half_size_bytes": latency * rate, "r2": 0.9998, "points": len(sizes),
        "largest": largest | {key: entry["roofmark"]["placement"][key] for key in ("of_theoretical", "of_empirical")}})
    if alone:
        maker.transfers["contention"].append({"together": name, "factor": 0.93, "alone": [
            name.replace(f"/{operation}/", f"/{other}/") for other in alone]})


def gemm(maker, impl, kind, shape, algo, share, pipe, clock_hz=None, cache="cold", layout="tn", **extra):
    m, n, k = shape
    moved = (m * k + k * n) * SIZE_OF[kind] + m * n * OUTPUT_SIZE_OF[kind]
    words = {"m": m, "n": n, "k": k, "impl": impl, "layout": layout, "algo": algo, "cache": cache}
    return maker.measure("gemm", "", kind, words, [[(pipe, 2 * m * n * k), ("dram", moved)]], share=share, clock_hz=clock_hz, **extra)


def attention(maker, impl, queries, mask, share, clock_hz, workspace=0, heads=64, kv_heads=8, d=128, kind="bf16"):
    pairs = heads * queries * (queries + 1) / 2 if mask == "causal" else heads * queries * queries
    shape = {"batch": 1, "heads": heads, "kv_heads": kv_heads, "queries": queries, "keys": queries, "d": d, "mask": mask, "impl": impl,
             "cache": "cold"}
    moved = 2 * (heads + kv_heads) * queries * d * SIZE_OF[kind]
    return maker.measure("attention", "", kind, shape, [[(f"{kind}_tensor", 4 * pairs * d), ("exp", pairs), ("dram", moved)]],
                         share=share, clock_hz=clock_hz, notes={"workspace_bytes": str(workspace)})
