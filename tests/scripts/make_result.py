# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Result files that look real and are not: nothing in them was measured. For tests of the report tools, and for looking at a
report where there is no device. `make_result.py h200|cpu|cluster [noise seed]` prints one."""

import copy
import json
import random
import sys

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
}
TITLES = {
    "exp": "exp2, special-function unit", "dram": "DRAM", "shared": "shared memory", "l1": "L1 cache", "l2": "L2 cache",
    "l3": "L3 cache", "stream_launch": "stream launches", "graph_launch": "graph-node launches",
    "fp16_tensor": "fp16 tensor, fp32 accumulate", "fp16_tensor_fp16": "fp16 tensor, fp16 accumulate",
    "fp64_fma_one_core": "fp64 FMA, one core", "fp32_fma_one_core": "fp32 FMA, one core",
    "nvlink": "NVLink, one direction, per GPU", "network": "network, one direction, per host",
}
FOLLOW_CLOCK = {name for name in UNITS if name not in ("dram", "nvlink", "network", "stream_launch", "graph_launch")}


def title(resource):
    return TITLES.get(resource, resource.replace("_fma", " FMA").replace("_tensor", " tensor"))


class Maker:
    """Collects the records of a device whose ceilings are given, and places them as roofmark would."""

    def __init__(self, device, theoretical, reached, datasheet, noise_seed):
        self.random = random.Random(noise_seed)
        self.device = device
        self.reached = reached
        self.time = 2.0
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
        self.benchmarks, self.unmeasured, self.comparisons, self.findings = [], [], [], []

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
        launch = 0 if not gpu or record.get("raises") else 1 / self.reached["graph_launch" if path == "graph" else "stream_launch"]
        seconds = seconds or max(least / share, launch) + (0.2 * launch if gpu else 1e-7)
        cache = record["shape"].get("cache", "warm")
        record["measurement"] = self.measurement(seconds * max(slower or [1]), cache, path, clock_hz, power, list(reasons), settled)
        if slower:
            own = [seconds * factor * self.random.gauss(1, 0.002) for factor in slower]
            record["measurement"]["ranks"] = [{"median": s, "maximum": 1.03 * s, "p95": 1.01 * s} for s in own]
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
                              "power_watts": round(power * self.random.gauss(1, 0.01), 1), "temperature_celsius": 52.0}
            blocks.append({"before": telemetry, "after": dict(telemetry)} | ({"clock_hz": clock_hz} if clock_hz else {}))
        ordered = sorted(samples["seconds"])
        median = (ordered[19] + ordered[20]) / 2
        mean = sum(ordered) / len(ordered)
        made = {
            "median": median, "minimum": ordered[0], "maximum": ordered[-1], "p5": ordered[2], "p95": ordered[37],
            "cv": (sum((s - mean) ** 2 for s in ordered) / (len(ordered) - 1)) ** 0.5 / mean,
            "interval": [min(median, sorted(medians)[0]), max(median, sorted(medians)[-1])],
            "launches_per_sample": max(1, round(1e-4 / seconds)), "path": path, "cache": cache,
            "cache_by": "warm" if cache == "warm" else "slots", "slots": 1 if cache == "warm" else 4, "settled": settled,
            "warm_up_seconds": 0.31, "stopped_by": "interval", "void_samples": 0, "samples": samples, "blocks": blocks}
        return made | ({"clock_hz": clock_hz} if clock_hz else {})

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
        level = next((r for r in ("dram", "l3", "l2", "l1", "shared") if any(d["resource"] == r for d in demands)), None)
        moved = sum(d["amount"] for d in demands if d["resource"] == level)
        if flops:
            made["flops_per_second"] = flops / median
        if moved:
            made["bytes_per_second"] = moved / median
        if flops and moved:
            made["intensity"] = flops / moved
        return made

    def find(self, kind, text, severity="warning", **case):
        self.findings.append({"kind": kind, "severity": severity, "text": text, "advice": f"What {kind} means.", **case})

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
                                share=share * (1 if number == 1 else 0.997), raises=resource, **extra)
            entry = self.benchmarks[-1]
            entry["roofmark"]["pass"] = number
            rate = sum(d["amount"] for d in entry["roofmark"]["work"]["phases"][0]) / (entry["real_time"] * 1e-6)
            ceiling = self.ceilings[resource]
            which = "first" if number == 1 else "last"
            if rate > ceiling.get(which, 0):
                ceiling[which], ceiling[f"{which}_by"] = rate, name
                ceiling["empirical"] = max(ceiling["first"], ceiling.get("last", 0))
                if number == 2:
                    ceiling["drift"] = ceiling["last"] / ceiling["first"] - 1

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
            "device": self.device, "ceilings": list(self.ceilings.values()), "benchmarks": self.benchmarks,
            "unmeasured": self.unmeasured, "comparisons": self.comparisons, "findings": self.findings,
            "wall_time": {"total_seconds": 303.2, "timing_seconds": 181.0, "warm_up_seconds": 64.1, "preparation_seconds": 22.6,
                          "verification_seconds": 27.9, "writing_seconds": 1.9, "other_seconds": 5.7},
        } | top


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


def h200(noise_seed=0):
    clock, sms = 1.98e9, 132
    device = {
        "id": "cuda:0", "kind": "cuda", "name": "Synthetic H200 (nothing was measured)", "known": True, "multiprocessors": sms,
        "compute_capability": "9.0", "rated_clock_hz": clock, "highest_clock_hz": clock, "memory_clock_hz": 3.201e9, "memory_bus_bits": 6144,
        "memory_bytes": 150_000_000_000, "free_bytes": 149_000_000_000,
        "caches": [{"name": "l1", "total_bytes": sms * 256 * KIB, "instance_bytes": 256 * KIB},
                   {"name": "l2", "total_bytes": 60 * MIB, "instance_bytes": 60 * MIB}],
        "details": {"driver_version": "580.00", "uuid": "GPU-00000000-0000-0000-0000-000000000000", "ecc": True,
                    "power_limit_watts": 700, "persistence_mode": True, "pcie": {"generation": 5, "width": 16},
                    "foreign_processes": []}}
    per_clock = {"fp64_fma": 128, "fp32_fma": 256, "fp16_fma": 512, "bf16_fma": 512, "fp64_tensor": 256, "tf32_tensor": 2048,
                 "fp16_tensor": 4096, "fp16_tensor_fp16": 4096, "bf16_tensor": 4096, "fp8_tensor": 8192, "int8_tensor": 8192,
                 "exp": 16, "shared": 128}
    theoretical = {name: (sms * clock * rate, f"{sms} SMs x {clock / 1e6:.0f} MHz x {rate} {UNITS[name]} per clock per SM at compute "
                          "capability 9.0 (CUDA Programming Guide)") for name, rate in per_clock.items()}
    theoretical["dram"] = (6144 * 3.201e9 * 2 / 8, "6144 bit x 3201 MHz x 2 / 8")
    tera = {"fp64_fma": 33.5, "fp32_fma": 67, "fp64_tensor": 67, "tf32_tensor": 494.7, "fp16_tensor": 989.4, "bf16_tensor": 989.4,
            "fp8_tensor": 1978.9, "int8_tensor": 1978.9, "dram": 4.8}
    datasheet = {name: (value * 1e12, "H200 SXM: dense, at 1830 MHz (datasheet)") for name, value in tera.items()}
    share = {"fp64_fma": 0.97, "fp32_fma": 0.96, "fp16_fma": 0.95, "bf16_fma": 0.95, "fp64_tensor": 0.93, "tf32_tensor": 0.78,
             "fp16_tensor": 0.75, "fp16_tensor_fp16": 0.76, "bf16_tensor": 0.755, "fp8_tensor": 0.70, "int8_tensor": 0.71,
             "exp": 0.98, "shared": 0.99, "dram": 0.93}
    reached = {name: share[name] * theoretical[name][0] for name in share} | {"l2": 7.4e12, "stream_launch": 4.5e5,
                                                                              "graph_launch": 8e5}
    maker = Maker(device, theoretical, reached, datasheet, noise_seed)
    hot = 1.62e9

    def probes(number):
        for name in ("fp64", "fp32", "fp16", "bf16"):
            maker.probe([number], "fma", name, {}, f"{name}_fma", 1.0, clock_hz=clock)
        for instruction, part in (("mma", 0.63), ("wgmma", 1.0)):
            for name in ("fp64", "tf32", "fp16", "bf16", "fp8", "int8"):
                if name != "fp64" or instruction == "mma":
                    part_of = 1.0 if name == "fp64" else part
                    maker.probe([number], instruction, name, {"accumulate": "fp32"}, f"{name}_tensor", part_of,
                                clock_hz=clock if name == "fp64" else hot, power=690.0)
        maker.probe([number], "wgmma", "fp16", {"accumulate": "fp16"}, "fp16_tensor_fp16", 1.0, clock_hz=hot, power=680.0)
        maker.probe([number], "exp2", "fp32", {}, "exp", 1.0, clock_hz=clock)
        maker.probe([number], "shared_read", "fp32", {"bytes": 32 * KIB}, "shared", 1.0, clock_hz=clock)
        for size in (15 * MIB, 30 * MIB):
            maker.probe([number], "cache_read", "fp32", {"level": "l2", "bytes": size}, "l2", 1.0 if size < 20 * MIB else 0.9,
                        clock_hz=clock)
        for op, part in (("read", 1.0), ("write", 0.99), ("copy", 0.9), ("triad", 0.93)):
            maker.probe([number], f"dram_{op}", "fp32", {"bytes": GIB, "impl": "own", "cache": "cold"}, "dram", part, clock_hz=clock)
        maker.probe([number], "launch", "fp32", {"issue": "stream"}, "stream_launch", 1.0, path="gate")
        maker.probe([number], "launch", "fp32", {"issue": "graph"}, "graph_launch", 1.0, path="graph")

    probes(1)
    op_share = {"read": 0.99, "write": 0.985, "copy": 0.89, "triad": 0.92, "scale": 0.89, "add": 0.92, "dot": 0.98, "memcpy": 0.87}
    sizes = [16 * KIB * 4**i for i in range(11)] + [32 * GIB]
    for op in ("triad", "copy", "read", "write"):
        for kind in ("fp64", "fp32"):
            for size in sizes:
                level = "l2" if size <= 30 * MIB else "dram"
                stream(maker, op, kind, size, op_share[op], level, clock_hz=clock)
    for op in op_share:
        for kind in ("fp64",) if op == "memcpy" else ("fp64", "fp32", "fp16", "bf16"):
            stream(maker, op, kind, 12 * GIB, op_share[op], "dram", clock_hz=clock)
    stream(maker, "triad", "fp64", 124 * GIB, 0.915, "dram", clock_hz=clock)
    maker.compare(*(f"stream/copy/fp64/bytes:{12 * GIB}/impl:{impl}/cache:warm" for impl in ("own", "memcpy")))

    def both(kind, shape, best, pipe, layout="tn", with_default=True):
        extra = {"clock_hz": hot, "power": 695.0, "reasons": ["power cap"]} if best > 0.85 else {"clock_hz": clock}
        tuned = gemm(maker, "cublaslt", kind, shape, "tuned", best, pipe, layout=layout,
                     notes={"algorithm": "67 (1, 18)", "workspace offered": str(32 * MIB)}, **extra)
        if with_default:
            first = gemm(maker, "cublaslt", kind, shape, "default", best * 0.97, pipe, layout=layout, **extra)
            maker.compare(tuned, first)
        return tuned

    pipes = {kind: "fp32_fma" if kind == "fp32" else f"{kind}_tensor" for kind in
             ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8")}
    for kind, pipe in pipes.items():
        for i, size in enumerate((256, 512, 1024, 2048, 4096, 8192, 16384)):
            base = both(kind, (size, size, size), (0.35, 0.45, 0.6, 0.8, 0.93, 0.97, 0.95)[i], pipe)
            if kind == "bf16" and size == 4096:
                for off in (4095, 4097, 4104):
                    both(kind, (off, off, off), 0.93 if off == 4104 else 0.41, pipe, with_default=False)
                for layout in ("nn", "nt", "tt"):
                    other = both(kind, (size, size, size), 0.9, pipe, layout=layout, with_default=False)
                    maker.compare(base, other)
    for what, m, k in (("Llama 3 8B, gate and up", 28672, 4096), ("Llama 3 8B, down", 4096, 14336),
                       ("Llama 3 70B, gate and up", 57344, 8192), ("Llama 3 70B, attention output", 8192, 8192)):
        for i, tokens in enumerate((1, 16, 128, 1024, 8192)):
            if m == tokens == k:
                continue  # one of the squares
            name = both("bf16", (m, tokens, k), (0.88, 0.84, 0.7, 0.87, 0.95)[i], "bf16_tensor", with_default=False)
            next(e for e in maker.benchmarks if e["name"] == name)["roofmark"]["notes"]["shape of"] = what
    for kind in ("fp32", "bf16"):
        for size in (1024, 4096, 16384):
            maker.measure("transpose", "", kind, {"rows": size, "columns": size, "impl": "tiled", "cache": "cold"},
                          [[("dram", 2 * size * size * SIZE_OF[kind])]], share=0.8, clock_hz=clock)
    for mask in ("none", "causal"):
        for size in (512, 1024, 2048, 4096, 8192, 16384):
            scores = 64 * size * size
            impls = {"naive": 0.004, "unfused": 0.2, "tiled_mma": 0.5, "tiled_wgmma": 0.8, "cudnn": 0.82}
            if size == 16384:
                del impls["naive"]
            names = {impl: attention(maker, impl, size, mask, share, hot,
                                     scores * {"naive": 8, "unfused": 2}.get(impl, 0)) for impl, share in impls.items()}
            for impl in impls:
                if impl != "tiled_wgmma":
                    maker.compare(names["tiled_wgmma"], names[impl])
    for operation in ("bias_gelu_residual", "adamw"):
        elements = 1 << 26
        pair = [maker.measure("elementwise", operation, "fp32", {"n": elements, "impl": "own", "algo": algo, "cache": "cold"},
                              [[("dram", 12 * elements), ("fp32_fma", 10 * elements)]], share=share, clock_hz=clock)
                for algo, share in (("fused", 0.95), ("separate", 0.4))]
        maker.compare(*pair)
    probes(2)

    maker.miss("unsupported", "fp8 needs layout tn below compute capability 10.0", "gemm", "", "fp8",
               {"m": 4096, "n": 4096, "k": 4096, "impl": "cublaslt", "layout": "nn", "algo": "tuned", "cache": "cold"}, [[("fp8_tensor", 2 * 4096**3)]])
    maker.miss("not_run", "out of memory: 137438953472 bytes wanted, 134217728000 free", "stream", "triad", "fp64",
               {"bytes": 128 * GIB, "impl": "own", "cache": "warm"}, [[("dram", 128 * GIB)]])
    maker.miss("wrong", "verification after timing: error 41.2, bound 2 (all elements, in u x sum of |terms|)", "stream", "dot", "bf16",
               {"bytes": 64 * MIB, "impl": "own", "cache": "warm"}, [[("dram", 64 * MIB)]],
               verification={"before": {"status": "passed", "error": 0.4, "bound": 2.0, "detail": "all elements"},
                             "after": {"status": "failed", "error": 41.2, "bound": 2.0, "detail": "all elements"}})
    maker.miss("failed", "cudaErrorInvalidValue: invalid argument", "transpose", "", "bf16",
               {"rows": 3, "columns": 5, "impl": "tiled", "cache": "cold"}, [[("dram", 60)]])
    for entry in maker.benchmarks:
        if entry["roofmark"]["measurement"]["samples"]["throttled"][0]:
            maker.find("throttle", "the clock fell by 18 % to 1620 MHz; throttle reason: power cap (in 5 of 5 blocks)", case=entry["name"])
    maker.find("drift", "fp8 tensor: the ceiling moved by -2.4 % between the start and the end of the run")
    maker.find("unsettled", "two warm-up windows never agreed within 1 %", severity="note", case=maker.benchmarks[40]["name"])
    return maker.result(
        suite="baseline", arguments=["roofmark", "run", "--suite", "baseline", "--label", "synthetic=yes"],
        environment={"CUDA_VISIBLE_DEVICES": "0", "OMP_NUM_THREADS": "32"},
        build={"version": "0.1.0", "commit": "0123456789abcdef0123456789abcdef01234567", "dirty": True, "compiler": "GNU 12.2.0",
               "build_type": "Release", "cuda_toolkit": "13.0.48", "cuda_architectures": "80-real 90a-real 100f 120"},
        libraries={"cuda runtime": "13.0", "cublasLt": "13.0.0.19"},
        host={"name": "synthetic-node", "os": "Debian GNU/Linux 12 (bookworm)", "kernel": "Linux 6.1.0 x86_64",
              "cpu": "Synthetic CPU", "cores": 96, "memory_bytes": 2 * 10**12})


def cpu(noise_seed=0):
    device = {
        "id": "cpu", "kind": "cpu", "name": "Synthetic CPU (nothing was measured)", "known": True, "multiprocessors": 8,
        "highest_clock_hz": 3.2e9, "memory_bytes": 64 * GIB, "free_bytes": 60 * GIB,
        "caches": [{"name": "l1", "total_bytes": 8 * 48 * KIB, "instance_bytes": 48 * KIB},
                   {"name": "l2", "total_bytes": 8 * 2 * MIB, "instance_bytes": 2 * MIB},
                   {"name": "l3", "total_bytes": 32 * MIB, "instance_bytes": 32 * MIB}],
        "details": {"governor": "performance", "isa": ["avx2", "avx512f"], "cpuinfo": {"model": "0"}}}
    reached = {"fp64_fma": 7.6e11, "fp32_fma": 1.52e12, "fp64_fma_one_core": 9.8e10, "fp32_fma_one_core": 1.96e11, "dram": 7.1e10,
               "l1": 2.9e12, "l2": 1.1e12, "l3": 3.1e11}
    maker = Maker(device, {}, reached, {}, noise_seed)

    def probes(number):
        for kind in ("fp64", "fp32"):
            for cores, suffix in (("all", ""), ("one", "_one_core")):
                maker.probe([number], "fma", kind, {"cores": cores}, f"{kind}_fma{suffix}", 1.0)
        for level, size in (("l1", 24 * KIB), ("l2", 512 * KIB), ("l3", 8 * MIB)):
            maker.probe([number], "cache_read", "fp32", {"level": level, "bytes": 8 * size}, level, 1.0)
        for op, part in (("read", 1.0), ("write", 0.7), ("copy", 0.8), ("triad", 0.85)):
            maker.probe([number], f"dram_{op}", "fp32", {"bytes": GIB, "impl": "own", "cache": "cold"}, "dram", part)

    probes(1)
    for op in ("triad", "copy", "read", "write"):
        for kind in ("fp64", "fp32"):
            for size in [16 * KIB * 4**i for i in range(8)]:
                level = "l1" if size <= 192 * KIB else "l2" if size <= 8 * MIB else "l3" if size <= 16 * MIB else "dram"
                stream(maker, op, kind, size, 0.8 if op != "read" else 0.97, level)
    for kind in ("fp64", "fp32"):
        for size in (256, 512, 1024, 2048):
            gemm(maker, "blas", kind, (size, size, size), "default", {256: 0.5, 512: 0.7, 1024: 0.82, 2048: 0.88}[size],
                 f"{kind}_fma")
    probes(2)
    maker.miss("unsupported", "the BLAS supports only fp64 and fp32", "gemm", "", "bf16",
               {"m": 512, "n": 512, "k": 512, "impl": "blas", "layout": "tn", "algo": "default", "cache": "cold"}, [[("fp32_fma", 2 * 512**3)]])
    return maker.result(
        suite="quick", arguments=["roofmark", "run", "--suite", "quick"], environment={}, libraries={"OpenBLAS": "0.3.21"},
        host={"name": "synthetic-host", "cores": 8})


class Cluster(Maker):
    """Two nodes of eight GPUs each, with a network port a GPU."""

    NODES, LOCAL = 2, 8
    RANKS = NODES * LOCAL
    FACTOR = {"all_reduce": lambda n: 2 * (n - 1) / n, "broadcast": lambda n: 1.0, "send_recv": lambda n: 1.0}

    def collective(self, op, kind, size, ranks, latency, busbw, place="out", group=None, groups=None, switched=False, **extra):
        """Takes latency + bytes x factor / busbw; a team of all ranks is bound by the network, a smaller one by NVLink."""
        factor = self.FACTOR.get(op, lambda n: (n - 1) / n)(ranks)
        shape = {"bytes": size, "ranks": ranks} | ({"op": "sum"} if op in ("all_reduce", "reduce_scatter") else {})
        shape |= {"place": place} | ({"group": group} if group else {}) | {"impl": "nccl"}
        # What the network reduces does not all pass the wire.
        inside = [("nvlink", size * factor, size * max(0, factor - 1 - 1 / ranks)) if switched else ("nvlink", size * factor)]
        across = [("network", size * (2 if op == "all_reduce" else 1) * (self.NODES - 1) / self.NODES)] if ranks > self.LOCAL else []
        message = {"ranks": ranks, "bytes": size, "count": size // SIZE_OF[kind], "bus_factor": factor, "place": place}
        message |= {"root": 0} if op == "broadcast" else {}
        message |= {"reduction": "sum"} if "op" in shape else {}
        message |= {"groups": groups} if groups else {}
        arguments = (op, "", kind, shape, [inside + across])
        if "reason" in extra:
            return self.miss("wrong", extra.pop("reason"), *arguments, message=message, **extra)
        return self.measure(*arguments, message=message, seconds=latency + size * factor / busbw, path="stream",
                            slower=[1.0] * self.RANKS, notes={"algorithm": "NVLS" if switched else "Ring", "protocol": "Simple"}, **extra)

    def ping_pong(self, size, pair_seconds):
        """The rounds of a round robin; `pair_seconds(a, b)` one way."""
        n = self.RANKS
        for turn in range(n - 1):
            groups = [[n - 1, turn]] + [[(turn + i) % (n - 1), (turn + n - 1 - i) % (n - 1)] for i in range(1, n // 2)]
            across = sum(self.host(a) != self.host(b) for a, b in groups)
            own = {rank: 2 * pair_seconds(*sorted(pair)) for pair in groups for rank in pair}
            self.measure("ping_pong", "", "int8", {"bytes": size, "ranks": n, "round": turn + 1, "impl": "nccl"},
                         [[("network", 2 * size * across)] if across else [("nvlink", 2 * size)]], seconds=1e-6, path="stream",
                         slower=[own[rank] * 1e6 for rank in range(n)],
                         message={"ranks": 2, "bytes": size, "count": size, "bus_factor": 1.0, "trips": 2, "groups": groups})

    def host(self, rank):
        return f"node{rank // self.LOCAL + 1}"

    def who(self, rank):
        return f"rank {rank} ({self.host(rank)})"

    def team(self):
        return [{"rank": rank, "local_rank": rank % self.LOCAL, "host": self.host(rank), "pid": 4000 + rank,
                 "device_id": f"cuda:{rank % self.LOCAL}", "device_name": self.device["name"],
                 "uuid": f"GPU-{rank:08x}-0000-0000-0000-000000000000", "pci_bus_id": f"0000:{16 * (rank % self.LOCAL + 1):02x}:00.0",
                 "numa_node": rank % self.LOCAL // 4,
                 "nics": [{"name": f"mlx5_{i}:1", "kind": "InfiniBand", "bytes_per_second": 5e10, "numa_node": i // 4} for i in range(self.LOCAL)],
                 "nvlink_bytes_per_second": 4.5e11, "nvlink_source": "18 links x 25 GB/s", "pcie_bytes_per_second": 6.3e10,
                 "versions": {"roofmark": "0.1.0", "NCCL": "2.28.9"}} for rank in range(self.RANKS)]

    def communication(self):
        """What roofmark would draw from the records; latencies and rates are those that the records were made of."""
        def bare(name, *keys):
            return "/".join(word for word in name.split("/") if word.partition(":")[0] not in keys)

        rows = [(e["name"], e["roofmark"]["message"], e["roofmark"]["measurement"]) for e in self.benchmarks if "message" in e["roofmark"]]
        sizes, scaling, overlaps, pairs, rings = {}, {}, {}, [], []
        for name, message, measured in rows:
            seconds = measured["median"] / message.get("trips", 1)
            busbw = message["bytes"] / seconds * message["bus_factor"]
            family = name.split("/")[0]
            if family == "ping_pong":
                pairs += [{"a": min(pair), "b": max(pair), "bytes": message["bytes"],
                           "seconds": max(measured["ranks"][rank]["median"] for rank in pair) / 2} for pair in message["groups"]]
            elif family != "overlap":
                sizes.setdefault(bare(name, "bytes"), []).append((message["bytes"], seconds, message["bus_factor"]))
                scaling.setdefault(bare(name, "bytes", "ranks"), {})[message["ranks"], message["bytes"]] = (seconds, busbw)
                if message["ranks"] == self.RANKS and family != "send_recv":
                    ring = (2 if family == "all_reduce" else 1) * 15 * 1.1e-5 + message["bytes"] * message["bus_factor"] / 3.4e11
                    rings.append({"case": name, "seconds": ring, "ratio": ring / seconds})
        fits = []
        for series, points in sizes.items():
            (least, first, _), (most, last, factor) = min(points), max(points)
            rate = (most - least) / (last - first)
            fits.append({"series": series, "latency_seconds": first, "bytes_per_second": rate, "bus_bytes_per_second": rate * factor,
                         "r2": 0.9987, "points": len(points)})
        for where, latency, rate in (("within a host", 4.1e-6, 1.68e11), ("between hosts", 1.21e-5, 4.47e10)):
            fits.append({"series": f"ping_pong/int8/ranks:{self.RANKS}/impl:nccl, {where}", "latency_seconds": latency, "bytes_per_second": rate,
                         "bus_bytes_per_second": rate, "r2": 0.9996, "points": 3})
        table = []
        for series, found in scaling.items():
            if len({ranks for ranks, _ in found}) < 2:
                continue
            first = min(ranks for ranks, _ in found if ranks > 1)
            for (ranks, size), (seconds, busbw) in sorted(found.items()):
                row = {"series": series, "ranks": ranks, "bytes": size, "seconds": seconds, "busbw": busbw}
                for key, other in (("strong", size), ("weak", size * first // ranks)):
                    if (first, other) in found:
                        row[f"{key}_efficiency"] = busbw / found[first, other][1]
                table.append(row)
        for entry in self.benchmarks:
            family, operation, *rest = entry["name"].split("/")
            if family == "overlap":
                overlaps.setdefault("/".join([family, *rest]), {})[operation] = entry["roofmark"]["measurement"]["median"]
        return {"fits": fits, "rings": rings, "pairs": sorted(pairs, key=lambda p: (p["bytes"], p["a"], p["b"])), "scaling": table,
                "overlaps": [{"series": series, "work_seconds": t["gemm"], "communication_seconds": t["all_reduce"],
                              "together_seconds": t["both"], "hidden": (t["gemm"] + t["all_reduce"] - t["both"]) / t["all_reduce"],
                              "hidden_half_width": 0.02, "slow_down": t["both"] / t["gemm"] - 1} for series, t in overlaps.items()],
                "slowest": [{"of": "ranks, by the best pair between hosts", "who": "rank 11 (node02)", "among": self.RANKS,
                             "times_median": 1.8, "times_fastest": 1.9, "mads": 40.0}]}


def cluster(noise_seed=0):
    """NCCL on two nodes: NVLS inside a node, rank 11's network port slow, the path between ranks 2 and 13 slow, rank 6's GPU hot,
    rank 3's bits different."""
    clock = 1.98e9
    device = {
        "id": "cuda:0", "kind": "cuda", "name": "Synthetic H200 (nothing was measured)", "known": True, "multiprocessors": 132,
        "compute_capability": "9.0", "rated_clock_hz": clock, "highest_clock_hz": clock, "memory_clock_hz": 3.201e9, "memory_bytes": 150_000_000_000,
        "free_bytes": 149_000_000_000, "caches": [{"name": "l2", "total_bytes": 60 * MIB, "instance_bytes": 60 * MIB}], "details": {}}
    theoretical = {"dram": (4.917e12, "6144 bit x 3201 MHz x 2 / 8"), "bf16_tensor": (1.07e15, "132 SMs x 1980 MHz x 4096"),
                   "nvlink": (4.5e11, "18 links x 25 GB/s"), "network": (4e11, "8 ports x 400 Gbit/s")}
    maker = Cluster(device, theoretical, {"dram": 4.6e12, "bf16_tensor": 8e14, "nvlink": 3.9e11, "stream_launch": 4.5e5,
                                          "graph_launch": 8e5}, {}, noise_seed)

    def probes(number):
        maker.probe([number], "dram_read", "fp32", {"bytes": GIB, "impl": "own", "cache": "cold"}, "dram", 1.0)
        maker.probe([number], "wgmma", "bf16", {"accumulate": "fp32"}, "bf16_tensor", 1.0)
        maker.probe([number], "peer_copy", "int8", {"bytes": GIB, "cache": "cold"}, "nvlink", 1.0)

    probes(1)
    everyone = [1.0] * maker.RANKS
    hot = [1.3 if rank == 6 else 1.0 for rank in range(maker.RANKS)]
    for size in (GIB, 4 * GIB):
        maker.measure("stream", "triad", "fp32", {"bytes": size, "impl": "own", "cache": "warm"}, [[("dram", size)]], share=0.92, slower=everyone)
    for size in (4096, 8192):
        name = gemm(maker, "cublaslt", "bf16", (size, size, size), "tuned", 0.95, "bf16_tensor", slower=hot, clock_hz=1.75e9)
    maker.benchmarks[-1]["roofmark"]["fingerprint"]["differing_ranks"] = [3]

    sizes = [KIB * 8**i for i in range(8)] + [16 * GIB]
    nodes = [list(range(8)), list(range(8, 16))]
    for size in sizes:
        for kind in ("fp32", "bf16"):
            for place, part in (("out", 1.0), ("in", 1.02)):
                for op, latency, rate in (("all_reduce", 4.1e-5, 3.6e11), ("all_gather", 3.1e-5, 3.5e11), ("reduce_scatter", 3.3e-5, 3.4e11),
                                          ("all_to_all", 6.2e-5, 0.8e11), ("broadcast", 2.9e-5, 3.3e11)):
                    if kind == "bf16" and op == "all_reduce" and size == 4 * MIB and place == "in":
                        maker.collective(
                            op, kind, size, 16, latency, rate, place, reason="rank 9 (node2): element 1048577 is 12, expected 13; 12 elements are wrong",
                            verification={"before": {"status": "failed", "error": 1.0, "bound": 0.0, "wrong": 12, "detail": "all elements"}})
                    elif kind == "fp32" or op != "broadcast":
                        maker.collective(op, kind, size, 16, latency, rate * part, place)
        maker.collective("all_reduce", "fp32", size, 8, 1.4e-5, 4.8e11, group="node", groups=nodes, switched=True)
        maker.collective("send_recv", "fp32", size, 16, 1.1e-5, 0.45e11)
        for ranks, latency, rate in ((2, 0.9e-5, 3.5e11), (4, 1.2e-5, 3.63e11), (8, 1.4e-5, 4.8e11)):
            maker.collective("all_reduce", "fp32", size, ranks, latency, rate, groups=[list(range(ranks))], switched=ranks == 8)

    for size in (8, 64 * KIB, 64 * MIB):
        def pair_seconds(a, b, size=size):
            if a // 8 == b // 8:
                return 4e-6 + size / 1.7e11
            return (1.2e-5 + size / 4.5e10) * (3.2 if 11 in (a, b) else 2.0 if (a, b) == (2, 13) else 1.0)
        maker.ping_pong(size, pair_seconds)

    shape = {"m": 8192, "n": 8192, "k": 8192, "bytes": 256 * MIB, "ranks": 16}
    work, traffic = ("bf16_tensor", 2 * 8192**3), ("nvlink", 1.875 * 256 * MIB)
    for operation, demands, seconds in (("gemm", [work], 1.55e-3), ("all_reduce", [traffic], 1.42e-3), ("both", [work, traffic], 1.93e-3)):
        maker.measure("overlap", operation, "bf16", shape, [demands], seconds=seconds, slower=everyone, path="stream")
    probes(2)

    maker.miss("unsupported", "NCCL does not reduce fp8 on this device", "all_reduce", "", "fp8",
               {"bytes": MIB, "ranks": 16, "op": "avg", "place": "in", "impl": "nccl"}, [[("nvlink", MIB)]],
               message={"ranks": 16, "bytes": MIB, "count": MIB, "bus_factor": 1.875, "reduction": "avg", "place": "in"})
    maker.find("slow_rank", f"{maker.who(6)}: slower than the median of the ranks in 2 of 7 cases that every rank ran alone; the worst "
                            f"takes 1.30 times as long, 93 MADs: {name}")
    maker.find("slow_rank", f"{maker.who(11)}: its best pair between hosts takes 3.20 times the median of the ranks, 2107 MADs "
                            "(8 B, slow at 3 of 3 sizes)")
    maker.find("slow_link", f"{maker.who(2)} and {maker.who(13)}: this pair takes 2.00 times what the best pairs of the two explain "
                            "(67.1 MB, slow at 3 of 3 sizes)")
    maker.find("fingerprint", f"{maker.who(3)}: bits differ from most ranks in 1 of 7 cases, which points at silent data corruption: "
                              f"{name}", severity="error")
    return maker.result(
        suite="baseline", arguments=["roofmark-mpi", "collectives", "--suite", "baseline"], environment={"NCCL_DEBUG": "INFO"},
        libraries={"NCCL": "2.28.9", "MPI": "Open MPI v4.1.4"}, host={"name": "node1", "cores": 96, "memory_bytes": 2 * 10**12},
        team=maker.team(), communication=maker.communication())


def interrupted(result):
    """The same as Ctrl-C half way would leave it."""
    made = copy.deepcopy(result)
    half = len(made["benchmarks"]) // 2
    for entry in made["benchmarks"][half:]:
        record = {key: value for key, value in entry["roofmark"].items() if key not in ("measurement", "placement", "verification",
                                                                                         "fingerprint")}
        made["unmeasured"].append({"name": entry["name"], "roofmark": record | {"status": "not_run", "reason": "interrupted"}})
    del made["benchmarks"][half:]
    return made | {"complete": False, "interrupted": True, "comparisons": []}


if __name__ == "__main__":
    json.dump({"h200": h200, "cpu": cpu, "cluster": cluster}[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 0), sys.stdout, indent=1)
