# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""A made-up result of a team of ranks."""

from result_maker import GIB, KIB, MIB, SIZE_OF, Maker, gemm


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
        message |= {"pattern": "neighbours"} if op == "send_recv" else {}
        message |= {"reduction": "sum"} if "op" in shape else {}
        message |= {"groups": groups} if groups else {}
        if ranks == self.RANKS and op in ("all_reduce", "all_gather", "reduce_scatter"):
            message["ring"] = {"phases": [[{"resource": link, "unit": "B", "amount": size * factor} for link in ("nvlink", "network")]]}
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
                         message={"ranks": 2, "bytes": size, "count": size, "bus_factor": 1.0, "trips": 2, "groups": groups,
                                  "pattern": "pairs"})

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
            pattern = message.get("pattern")
            if pattern == "pairs":
                pairs += [{"a": min(pair), "b": max(pair), "bytes": message["bytes"],
                           "seconds": max(measured["ranks"][rank]["median"] for rank in pair) / 2} for pair in message["groups"]]
            else:
                sizes.setdefault(bare(name, "bytes"), []).append((message["bytes"], seconds, message["bus_factor"]))
                scaling.setdefault(bare(name, "bytes", "ranks"), {})[message["ranks"], message["bytes"]] = (seconds, busbw)
                if "ring" in message:
                    ring = max(demand["amount"] for phase in message["ring"]["phases"] for demand in phase) / 3.4e11
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
                # The size of an all-reduce is each rank's.
                for key, other in (("weak", size),) if series.startswith("all_reduce/") else (("strong", size), ("weak", size * first // ranks)):
                    if (first, other) in found:
                        row[f"{key}_efficiency"] = busbw / found[first, other][1]
                table.append(row)
        for entry in self.benchmarks:
            if part := entry["roofmark"].get("overlap"):
                overlaps.setdefault(part["series"], {})[part["role"]] = entry["roofmark"]["measurement"]["median"]
        return {"fits": fits, "rings": rings, "pairs": sorted(pairs, key=lambda p: (p["bytes"], p["a"], p["b"])), "scaling": table,
                "overlaps": [{"series": series, "work_seconds": t["work"], "communication_seconds": t["communication"], "together_seconds": t["together"],
                              "hidden": (t["work"] + t["communication"] - t["together"]) / min(t["work"], t["communication"]),
                              "covered": min(t["work"], t["communication"]) / t["communication"],
                              "hidden_half_width": 0.02, "slow_down": t["together"] / t["work"] - 1} for series, t in overlaps.items()],
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
    series = "overlap/bf16/" + "/".join(f"{key}:{value}" for key, value in shape.items())
    for operation, role, demands, seconds in (("gemm", "work", [work], 1.55e-3), ("all_reduce", "communication", [traffic], 1.42e-3),
                                              ("both", "together", [work, traffic], 1.93e-3)):
        maker.measure("overlap", operation, "bf16", shape, [demands], seconds=seconds, slower=everyone, path="stream",
                      overlap={"role": role, "series": series})
    probes(2)

    maker.miss("unsupported", "NCCL does not reduce fp8 on this device", "all_reduce", "", "fp8",
               {"bytes": MIB, "ranks": 16, "op": "avg", "place": "in", "impl": "nccl"}, [[("nvlink", MIB)]],
               message={"ranks": 16, "bytes": MIB, "count": MIB, "bus_factor": 1.875, "reduction": "avg", "place": "in"})
    for kind, severity, text in (
            ("slow_rank", "warning", f"{maker.who(6)}: slower than the median of the ranks in 2 of 7 cases that every rank ran alone; the worst "
                                     f"takes 1.30 times as long, 93 MADs: {name}"),
            ("slow_rank", "warning", f"{maker.who(11)}: its best pair between hosts takes 3.20 times the median of the ranks, 2107 MADs "
                                     "(8 B, slow at 3 of 3 sizes)"),
            ("slow_link", "warning", f"{maker.who(2)} and {maker.who(13)}: this pair takes 2.00 times what most pairs of "
                                     "either end take (67.1 MB, slow at 3 of 3 sizes)"),
            ("fingerprint", "error", f"{maker.who(3)}: bits differ from most ranks in 1 of 7 cases, which points to silent data corruption: {name}")):
        maker.find(kind, text, severity, found_by=["ranks"])
    return maker.result(
        suite="baseline", arguments=["roofmark-mpi", "collectives", "--suite", "baseline"], environment={"NCCL_DEBUG": "INFO"},
        libraries={"NCCL": {"version": "2.28.9", "path": "/usr/lib/libnccl.so.2.28.9"},
                   "MPI": {"version": "Open MPI v4.1.4", "path": "/usr/lib/libmpi.so.40"}},
        host={"name": "node1", "cores": 96, "memory_bytes": 2 * 10**12},
        team=maker.team(), communication=maker.communication())
