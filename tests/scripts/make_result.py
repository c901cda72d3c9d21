# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Result files that look real and are not: nothing in them was measured. For tests of the report tools, and for looking at a
report where there is no device. `make_result.py h200|cpu|cluster [noise seed]` prints one."""

import copy
import json
import sys

from make_cluster import cluster
from result_maker import GIB, KIB, MIB, SIZE_OF, UNITS, Maker, access, attention, calls, chase, beside_readers, from_each_sm, gemm, stream, transfer


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
    for link in ("host_to_device", "device_to_host"):
        theoretical[link] = (63.0154e9, "PCIe 5 x16: 16 lanes x 32 Gbit/s x 128/130 / 8")
    tera = {"fp64_fma": 33.5, "fp32_fma": 67, "fp64_tensor": 67, "tf32_tensor": 494.7, "fp16_tensor": 989.4, "bf16_tensor": 989.4,
            "fp8_tensor": 1978.9, "int8_tensor": 1978.9, "dram": 4.8}
    datasheet = {name: (value * 1e12, "H200 SXM: dense, at 1830 MHz (datasheet)") for name, value in tera.items()}
    share = {"fp64_fma": 0.97, "fp32_fma": 0.96, "fp16_fma": 0.95, "bf16_fma": 0.95, "fp64_tensor": 0.93, "tf32_tensor": 0.78,
             "fp16_tensor": 0.75, "fp16_tensor_fp16": 0.76, "bf16_tensor": 0.755, "fp8_tensor": 0.70, "int8_tensor": 0.71,
             "exp": 0.98, "shared": 0.99, "dram": 0.93}
    reached = {name: share[name] * theoretical[name][0] for name in share} | {"l2": 7.4e12, "stream_launch": 4.5e5,
                                                                              "graph_launch": 8e5, "host_to_device": 55e9, "device_to_host": 54e9}
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
        for link in ("host_to_device", "device_to_host"):
            maker.probe([number], link, "int8", {"bytes": 256 * MIB, "memory": "pinned", "node": "near", "impl": "copy_engine"}, link, 1.0)
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
    steps = [64 * 4**i for i in range(14)]
    transfer(maker, "host_to_device", ("host_to_device",), "pinned", steps, 2.1e-6, 54.9e9)
    transfer(maker, "device_to_host", ("device_to_host",), "pinned", steps, 2.2e-6, 53.9e9)
    transfer(maker, "both", ("host_to_device", "device_to_host"), "pinned", steps, 2.4e-6, 50.6e9, ("host_to_device", "device_to_host"))
    transfer(maker, "host_to_device", ("host_to_device",), "pageable", steps, 4.0e-6, 11.0e9)
    cold = [1 << 16, 1 << 20, 1 << 24, 1 << 26]
    transfer(maker, "host_to_device", ("host_to_device",), "pinned", cold, 2.3e-6, 54.7e9, cache="cold")
    # Of four GPUs: the last one is slow to reach.
    maker.transfers["matrices"] = [{
        "series": "transfer/peer/int8/access:on/impl:copy_engine_read/cache:warm", "how": ["one way", "access on", "copy_engine_read", "warm"], "bytes": 256.0 * MIB,
        "cells": [{"from": f"gpu:{a}", "to": f"gpu:{b}", "bytes_per_second": 391e9 if b < 3 else 202e9, "path": {"kind": "nvlink", "nvlinks": 18, "text": "18 NVLinks"}}
                  for a in range(4) for b in range(4) if a != b]}]
    from_each_sm(maker, 16, 262, 470, clock)
    beside_readers(maker, 690, clock)
    access(maker, clock)
    calls(maker)
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

    maker.miss("unsupported", "fp8 needs layout tn on compute capabilities 8.9, 9.0 and 12.x", "gemm", "", "fp8",
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
            maker.find("throttle", "the clock fell by 18 % to 1620 MHz; throttle reason: power cap (in 5 of 5 blocks)", size=0.18,
                       severity="note", doubt="nothing", found_by=["throttling"], brief="the clock fell by 18 % (power cap)", case=entry["name"])
    maker.find("drift", "fp8 tensor: the ceiling moved by -2.4 % between the start and the end of the run", size=0.024)
    maker.find("unsettled", "no two warm-up windows agreed within 1 %", severity="note", doubt="nothing", case=maker.benchmarks[40]["name"])
    return maker.result(
        suite="baseline", arguments=["roofmark", "run", "--suite", "baseline", "--label", "synthetic=yes"],
        environment={"CUDA_VISIBLE_DEVICES": "0", "OMP_NUM_THREADS": "32"},
        build={"version": "0.1.0", "commit": "0123456789abcdef0123456789abcdef01234567", "dirty": True, "compiler": "GNU 12.2.0",
               "build_type": "Release", "cuda_toolkit": "13.0.48", "cuda_compiler": "/usr/local/cuda/bin/nvcc", "cuda_architectures": "80-real 90a-real 100f 120"},
        libraries={"CUDA runtime": {"version": "13.0", "path": "/opt/roofmark/bin/roofmark"},
                   "cuBLASLt": {"version": "13.0.0", "path": "/opt/roofmark/lib/roofmark/libcublasLt.so.13"}},
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
    chase(maker, "impl:own", [4 * KIB * 2**i for i in range(16)],
          [(48 * KIB, "l1_access", 5), (2 * MIB, "l2_access", 15), (32 * MIB, "l3_access", 70), (GIB, "dram_access", 320)], 3.2e9)
    probes(2)
    maker.miss("unsupported", "the BLAS supports only fp64 and fp32", "gemm", "", "bf16",
               {"m": 512, "n": 512, "k": 512, "impl": "blas", "layout": "tn", "algo": "default", "cache": "cold"}, [[("fp32_fma", 2 * 512**3)]])
    return maker.result(
        suite="quick", arguments=["roofmark", "run", "--suite", "quick"], environment={},
        libraries={"BLAS": {"version": "OpenBLAS 0.3.21", "path": "/usr/lib/libopenblas.so.0"}}, host={"name": "synthetic-host", "cores": 8})


def interrupted(result):
    """The same as Ctrl-C half way would leave it."""
    made = copy.deepcopy(result)
    half = len(made["benchmarks"]) // 2
    reached = made["benchmarks"][half]["name"]
    for entry in made["benchmarks"][half:]:
        record = {key: value for key, value in entry["roofmark"].items() if key not in ("measurement", "placement", "verification",
                                                                                         "fingerprint")}
        made["unmeasured"].append({"name": entry["name"], "roofmark": record | {"status": "not_run", "reason": "interrupted"}})
    del made["benchmarks"][half:]
    return made | {"complete": False, "interrupted": True, "comparisons": [], "ended": {"reason": "interrupted", "case": reached},
                   "verdict": {"level": "bad", "headline": f"The run was cut off in {reached}: interrupted",
                               "advice": "The measured cases are valid; the others have not passed. Run again."}}


if __name__ == "__main__":
    json.dump({"h200": h200, "cpu": cpu, "cluster": cluster}[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 0), sys.stdout, indent=1)
