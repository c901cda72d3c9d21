# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# Longer than most files: one planted fault per test, on the same small run.
"""The program on the model GPU, from end to end: what a healthy GPU gives, and what is said of one with a fault."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT, flat, need

need("jsonschema", "jinja2", "numpy", "plotly", "scipy", "tree_sitter_javascript")
from roofmark_report import result as reader  # noqa: E402
from roofmark_report.verdict import parse as parse_verdict  # noqa: E402

ROOFMARK = os.environ.get("ROOFMARK")
MODEL = "roofmark model GPU"

# A GPU that is small and slow enough to be interpreted: a run of all ceilings takes some seconds of one core.
GPU = {
    "GPUMODEL_SMS": "1",  # the ceilings' probes fill every SM
    # A probe lasts 2 ms by the clock that the GPU states: 4,000 cycles, where an H200 has 4 million.
    "GPUMODEL_BOOST_MHZ": "2",
    "GPUMODEL_CLOCK_MHZ": "2",  # fixed: tensor cores do not lower it, so a healthy run has no finding of the clock
    "GPUMODEL_L2": "128K",  # cold operands take four times as much
    # The DRAM probes take most of the memory: 1 MiB.
    "GPUMODEL_MEMORY": "2304K",
    "GPUMODEL_TOTAL": "2304K",  # all of it: what is larger is unsupported, not out of memory
    "GPUMODEL_NOISE": "0.0005",  # below what counts as drift
    "OMP_WAIT_POLICY": "passive",  # other tests run beside this one
}
TRIAD = "stream/triad/fp64/bytes:65536/impl:own/cache:warm"
# The ceilings that it needs, which take a small part of the time of all.
ITS_CEILINGS = "^ceilings/(fma/fp64|cache_|launch/)"
ALL_CEILINGS = "^ceilings/"
OF_LINKS, OF_DRAM = "^ceilings/(host|device)_to_", "^ceilings/dram_"
# Its kernel, which no ceiling uses, by its mangled name.
KERNEL = "stream_kernelILNS_8StreamOpE5Ed"
# A sum, whose bound leaves room for a wrong bit.
SUM = "stream/read/fp64/bytes:65536/impl:own/cache:warm"
SUM_KERNEL = "reduce_kernelILNS_8StreamOpE0Ed"


def environment(gpu):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GPUMODEL_")}
    return kept | GPU | gpu


def roofmark(*arguments, **gpu):
    return subprocess.run([ROOFMARK, *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment(gpu))


def has_model():
    if not ROOFMARK:
        return False
    done = roofmark("info", "--device", "cuda:0", "--json")
    return done.returncode == 0 and json.loads(done.stdout)["device"]["name"].startswith(MODEL)


pytestmark = pytest.mark.skipif(not has_model(), reason="ROOFMARK names no program that was built for the model GPU")


class Run:
    """A finished run: its process, its result (which fits the schema), and its folder."""

    def __init__(self, done, out):
        self.status, self.stdout, self.stderr, self.out = done.returncode, done.stdout, done.stderr, out
        self.result = reader.load(out / "result.json")[0]
        self.entries = self.result["benchmarks"] + self.result["unmeasured"]

    def record(self, name, number=1):
        return next(e["roofmark"] for e in self.entries if e["name"] == name and e["roofmark"]["pass"] == number)

    def counts(self):
        return Counter(entry["roofmark"]["status"] for entry in self.entries)

    def findings(self, kind):
        return [finding for finding in self.result["findings"] if finding["kind"] == kind]

    def roofs(self):
        return {ceiling["resource"]: ceiling for ceiling in self.result["ceilings"]}


@pytest.fixture
def run(tmp_path):
    """Runs the triad and its ceilings, on a GPU with these planted faults."""

    def measure(*arguments, **gpu):
        return run_to(tmp_path / "out", *arguments, **gpu)

    return measure


def run_to(out, *arguments, cases=TRIAD, ceilings=None, suite="quick", **gpu):
    ceilings = ceilings or (ITS_CEILINGS if cases == TRIAD else ALL_CEILINGS)
    done = roofmark("run", "--device", "cuda:0", "--suite", suite, "--filter", f"{cases}|{ceilings}", "--max-seconds", "0.001", "--out", out,
                    *arguments, **gpu)
    return Run(done, out)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """The run that every planted fault is compared with. Its trace tells the launches."""
    return run_to(tmp_path_factory.mktemp("healthy") / "out", ceilings=ALL_CEILINGS, GPUMODEL_TRACE="1")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The same with the triad's ceilings alone."""
    return run_to(tmp_path_factory.mktemp("plain") / "out")


def test_a_healthy_gpu(healthy):
    assert healthy.status == 0 and "is not modelled" not in healthy.stderr, healthy.stderr
    assert healthy.result["complete"] and not healthy.result["interrupted"]
    assert set(healthy.counts()) == {"ok", "unsupported"}
    # One sample or two is too little to settle; at a clock so low the caches fall below the memory, which keeps its own.
    assert {finding["kind"] for finding in healthy.result["findings"]} == {"unknown_device", "unsettled", "contradiction"}
    record = healthy.record(TRIAD)
    assert record["verification"]["before"]["status"] == record["verification"]["after"]["status"] == "passed"
    assert record["fingerprint"]["deterministic"]
    assert record["measurement"]["clock_hz"] == pytest.approx(2e6, rel=0.02)
    for block in record["measurement"]["blocks"]:
        assert block["first_clock_hz"] == block["last_clock_hz"] == pytest.approx(2e6, rel=0.02)
    # A span of a millisecond is read off. The counter of the model is exact.
    means = [block["mean_clock_hz"] for e in healthy.result["benchmarks"] for block in e["roofmark"]["measurement"]["blocks"] if "mean_clock_hz" in block]
    assert len(means) > 20 and means == pytest.approx([2e6] * len(means), rel=1e-3)
    assert 0 <= healthy.result["timing_overhead_seconds"] < 1e-6


def test_what_is_unsupported_says_why(healthy):
    reasons = [e["roofmark"]["reason"] for e in healthy.entries if e["roofmark"]["status"] == "unsupported"]
    # Twice: before and after the suite.
    assert Counter(reason.split()[0] for reason in reasons) == {"compute": 2, "needs": 12, "mxfp8": 2, "nvfp4": 2}
    assert {"compute capability 9.0 has no mma for fp8", "nvfp4 needs compute capability 10.0, the device has 9.0"} <= set(reasons)
    assert all("2.36 MB" in reason for reason in reasons if reason.startswith("needs")), reasons


def test_every_ceiling_is_measured_twice_and_below_its_theory(healthy):
    roofs = healthy.roofs()
    assert {"fp64_fma", "fp32_fma", "fp16_fma", "bf16_fma", "fp64_tensor", "tf32_tensor", "fp16_tensor", "bf16_tensor",
            "fp8_tensor", "int8_tensor", "exp", "shared", "l2", "dram", "stream_launch", "graph_launch"} <= set(roofs)
    for name, roof in roofs.items():
        if name == "l1":
            continue  # no probe on a GPU
        assert roof["drift"] == pytest.approx(0, abs=0.02)
        assert roof["empirical"] <= 1.02 * roof.get("theoretical", float("inf"))


def test_the_ceiling_of_graph_launches_is_the_slope_over_the_numbers_of_nodes(healthy):
    roof = healthy.roofs()["graph_launch"]
    probes = [(e["roofmark"], e["roofmark"]["measurement"]) for e in healthy.result["benchmarks"]
              if e["roofmark"].get("sets_ceiling", {}).get("resource") == "graph_launch" and e["roofmark"]["pass"] == 1]
    assert {m["launches_per_sample"] for _, m in probes} == {128, 512, 2048}
    assert all(record["sets_ceiling"]["by"] == "slope" for record, _ in probes)
    # A launch of a graph takes the model 3 us besides its nodes.
    for line in (roof["first_line"], roof["last_line"]):
        assert line["points"] == 3 and line["r2"] > 0.999
        assert line["fixed_seconds"] == pytest.approx(3e-6, abs=2e-6)
    smallest = min(probes, key=lambda probe: probe[1]["launches_per_sample"])[1]
    assert roof["first"] * smallest["median"] == pytest.approx(1 + 3e-6 * roof["first"] / 128, rel=0.01)


def test_reads_writes_and_copies_set_the_ceiling_of_the_l2(healthy):
    probes = {e["roofmark"]["operation"] for e in healthy.result["benchmarks"] if e["roofmark"].get("sets_ceiling") == {"resource": "l2", "by": "rate"}}
    assert probes == {"cache_read", "cache_write", "cache_copy"}


def test_the_times_of_a_model_are_not_taken_for_measurements(healthy, tmp_path):
    name = healthy.result["device"]["name"]
    assert name == f"{MODEL} (sm_90)" and not healthy.result["device"]["known"]
    assert re.search(rf"^{re.escape(name)} on ", healthy.stdout, re.MULTILINE)
    page = report_of(healthy, tmp_path)
    assert f"<h1>{name}</h1>" in page and re.search(f"<title>[^<]*{re.escape(name)}", page)
    assert name in roofmark("info", "--device", "cuda:0").stdout


def test_what_built_the_program_and_what_it_loaded_is_told(healthy, tmp_path):
    result = healthy.result
    assert Path(result["build"]["cuda_compiler"]).name == "nvcc" and re.fullmatch(r"\d+\.\d+\.\d+", result["build"]["cuda_toolkit"])
    libraries = result["libraries"]
    assert {"CUDA runtime", "cuBLASLt", "NVML", "BLAS"} <= set(libraries)
    assert Path(libraries["NVML"]["path"]).name == "libnvidia-ml.so.1" and libraries["NVML"]["version"] == "13.580.95.05"
    assert all(Path(library["path"]).is_file() for library in libraries.values())
    said = flat(roofmark("info", "--device", "cuda:0").stdout)
    for name in ("NVML", "cuBLASLt"):
        assert f"{name} {libraries[name]['version']}, {libraries[name]['path']}" in said
    assert f"CUDA toolkit {result['build']['cuda_toolkit']}, {result['build']['cuda_compiler']}" in said
    assert libraries["cuBLASLt"]["path"] in report_of(healthy, tmp_path)


def report_of(run, folder):
    script((0,), "report", run.out / "result.json", "-o", folder / "report.html")
    return (folder / "report.html").read_text()


def script(status, name, *arguments):
    done = subprocess.run([sys.executable, ROOT / "scripts" / name, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode in status, done.stderr
    return done.stdout


def test_every_family_that_has_a_small_case(tmp_path):
    """Not attention and the reductions, whose smallest cases of a suite take minutes: the contract test has those."""
    families = {
        "stream": r"(copy|write)/fp64/bytes:16384|(dot|read)/fp16/bytes:16384",
        "gemm": "(bf16|int8)/m:256/n:256/k:256/impl:cublaslt/layout:tn/algo:tuned",
        "gemv": "bf16/weights:int4/m:6144",
        "decode_attention": "bf16/batch:1/heads:64/kv_heads:8/keys:1024/d:128",
        "transpose": r"\w+/rows:256/columns:256",
        "elementwise": "(add|relu)/bf16/elements:1048576",
        "latency": "(chase|shared)/int8/bytes:(4096|8192|16384)/",
        "access": "bank_conflicts/int32/ways:(1|32)/",
        "cost": "(launch/int32/kernel:empty|graph_set_parameters/int32/nodes:10)/",
        "transfer": r"\w+/int8/bytes:(64|65536|1048576)/memory",
    }
    # 36 MiB have room for the library's workspace of 32 MiB.
    found = run_to(tmp_path / "out", "--memory-fraction", "0.95", suite="full",
                   cases="|".join(f"^{family}/({names})" for family, names in families.items()),
                   GPUMODEL_MEMORY="36M", GPUMODEL_TOTAL="36M")
    assert found.status == 0, found.stderr
    # Slots that exceed the caches of the host exceed the memory of this GPU.
    statuses = {e["name"]: e["roofmark"]["status"] for e in found.entries if not e["name"].startswith("ceilings/")}
    assert {status for name, status in statuses.items() if not re.match("transfer/(.*cold$|device_to_host/.*memory:write_combined/)", name)} == {"ok"}
    assert {e["roofmark"]["family"] for e in found.result["benchmarks"]} == {"ceilings", *families}
    page = report_of(found, tmp_path)
    for family in families:
        # Calls that the host timed have a table of their own.
        assert family == "cost" or re.search(rf"^{family}( |$)", found.stdout, re.MULTILINE), found.stdout
        assert family in page


def test_blackwell_multiplies_block_scaled_matrices(tmp_path):
    found = run_to(tmp_path / "out", "--memory-fraction", "0.95", suite="full", cases="^gemm/(nvfp4|mxfp8|bf16)/m:256/n:256/k:256/.*algo:tuned",
                   GPUMODEL_ARCH="100", GPUMODEL_MEMORY="36M", GPUMODEL_TOTAL="36M")
    assert found.status == 0, found.stderr
    records = {e["roofmark"]["type"]: e["roofmark"] for e in found.result["benchmarks"] if e["name"].startswith("gemm/")}
    size = 256**2
    for kind, roof, of_operand in [("nvfp4", "fp4_tensor", size / 2 + size / 16), ("mxfp8", "mxfp8_tensor", size + size / 32), ("bf16", "bf16_tensor", 2 * size)]:
        record = records.pop(kind)
        assert record["verification"]["before"]["status"] == record["verification"]["after"]["status"] == "passed"
        demands = {demand["resource"]: demand["amount"] for demand in record["work"]["phases"][0]}
        assert demands[roof] == 2 * 256**3 and demands["dram"] == 2 * of_operand + 2 * size
        assert found.roofs()[roof]["theoretical"] > 0
    assert not records
    report_of(found, tmp_path)


PRODUCT, SCALED_PRODUCT = "gemm/fp8/m:64/n:32/k:128", "gemm/fp8/m:272/n:32/k:400"
OF_PRODUCTS = "/impl:cublaslt/layout:tn/algo:tuned/cache:cold"


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    """Products with epilogues and with scales of blocks, on a GPU with room for two, each with a workspace of 32 MiB."""
    out = tmp_path_factory.mktemp("products") / "out"
    cases = [f"{PRODUCT}/epilogue:none,bias_gelu", f"{PRODUCT}/epilogue:bias_gelu/act:separate", f"{PRODUCT}/out:fp8",
             f"{SCALED_PRODUCT}/scale:tensor,vec128,blk128"]
    done = roofmark("run", "--device", "cuda:0", "--suite", "quick", "--max-seconds", "0.001", "--out", out,
                    *(word for case in cases for word in ("--case", case)), GPUMODEL_ARCH="90", GPUMODEL_MEMORY="80M", GPUMODEL_TOTAL="80M")
    found = Run(done, out)
    assert found.status == 0, found.stderr
    found.products = {e["name"]: e["roofmark"] for e in found.result["benchmarks"] if e["name"].startswith("gemm/")}
    found.compared = [(c["key"], c["name"], c["numerator"], c["denominator"]) for c in found.result["comparisons"]]
    return found


def test_products_are_compared_with_and_without_an_epilogue(tmp_path, products):
    words = ["", "/out:fp8", "/epilogue:bias_gelu", "/epilogue:bias_gelu/act:separate"]
    assert {name for name in products.products if name.startswith(PRODUCT)} == {PRODUCT + word + OF_PRODUCTS for word in words}
    assert {record["verification"][when]["status"] for record in products.products.values() for when in ("before", "after")} == {"passed"}
    compared = ("epilogue", "none against bias_gelu", PRODUCT + OF_PRODUCTS, f"{PRODUCT}/epilogue:bias_gelu{OF_PRODUCTS}")
    assert compared in products.compared and "epilogue none against bias_gelu" in products.stdout
    assert "epilogue:bias_gelu" in report_of(products, tmp_path)


def test_products_are_compared_with_scales_of_blocks(tmp_path, products):
    scales = {"": 0, "/scale:vec128": 4 * (272 + 32) * 4, "/scale:blk128": 4 * (3 + 32) * 4}  # bytes
    records = {name: record for name, record in products.products.items() if name.startswith(SCALED_PRODUCT)}
    assert set(records) == {SCALED_PRODUCT + word + OF_PRODUCTS for word in scales}
    for word, of_scales in scales.items():
        record = records[SCALED_PRODUCT + word + OF_PRODUCTS]
        demands = {demand["resource"]: demand["amount"] for demand in record["work"]["phases"][0]}
        assert demands["fp8_tensor"] == 2 * 272 * 32 * 400 and demands["dram"] == 272 * 400 + 32 * 400 + 2 * 272 * 32 + of_scales
    # The third has no room beside them.
    compared = ("scale", "tensor against vec128", SCALED_PRODUCT + OF_PRODUCTS, f"{SCALED_PRODUCT}/scale:vec128{OF_PRODUCTS}")
    assert compared in products.compared
    assert "scale:blk128" in report_of(products, tmp_path)


def test_a_library_that_applies_its_epilogue_in_a_kernel_of_its_own_is_right(tmp_path):
    """It stores the product in D's type first, as cuBLASLt does of some shapes."""
    product, words = "gemm/bf16/m:64/n:32/k:64", ["epilogue:bias", "epilogue:gelu", "epilogue:bias_gelu/act:separate"]
    each = [argument for word in words for argument in ("--case", f"{product}/{word}/algo:default")]  # one after the other: each has a workspace
    done = roofmark("run", "--device", "cuda:0", "--suite", "quick", "--max-seconds", "0.001", "--out", tmp_path / "out", *each,
                    GPUMODEL_SPLIT_EPILOGUE="1", GPUMODEL_MEMORY="50M", GPUMODEL_TOTAL="50M")
    found = Run(done, tmp_path / "out")
    assert found.status == 0, found.stdout + found.stderr
    assert sum(e["name"].startswith(product) for e in found.result["benchmarks"]) == len(words)


def test_transfers_have_a_line_per_series(tmp_path):
    found = run_to(tmp_path / "out", cases=r"^transfer/(peer/|\w+/int8/bytes:(64|16384|1048576)/)", GPUMODEL_NOISE="0",
                   GPUMODEL_MEMORY="16M", GPUMODEL_TOTAL="16M")
    assert found.status == 0, found.stderr
    reasons = {e["roofmark"]["shape"]["impl"]: e["roofmark"]["reason"] for e in found.result["unmeasured"] if e["name"].startswith("transfer/peer")}
    assert reasons == dict.fromkeys(["copy_engine_read", "copy_engine_write"], "needs two GPUs in one process: `roofmark run` on the first one (cuda:0), without --only-device")
    series = found.result["transfers"]["series"]
    assert [one["links"] for one in series] == [["host_to_device"], ["device_to_host"], ["host_to_device", "device_to_host"]]
    for one in series:
        # The model copies pinned memory at 55 GB/s, of the 63 of PCIe 5 with 16 lanes.
        assert one["points"] == 3 and one["r2"] > 0.999 and one["how"] == ["pinned", "near", "copy_engine", "warm"]
        assert one["bytes_per_second"] == pytest.approx(55e9, rel=0.01)
        assert one["half_size_bytes"] == pytest.approx(one["latency_seconds"] * one["bytes_per_second"])
        assert one["largest"]["bytes"] == 1 << 20
        assert one["largest"]["of_theoretical"] == pytest.approx(one["largest"]["bytes_per_second"] / 63.0154e9, rel=1e-3)
    factors = found.result["transfers"]["contention"]
    assert [factor["factor"] for factor in factors] == [pytest.approx(1, abs=0.05)], "of the largest size"
    assert " of PCIe 5 x16" in found.stdout and "host to device + device to host" in found.stdout
    record = found.record("transfer/both/int8/bytes:64/memory:pinned/node:near/impl:copy_engine/cache:warm")
    assert record["notes"]["bytes counted"].startswith("each byte that crosses the link, once, per direction")
    assert record["notes"]["pinned memory"].startswith(("node ", "unknown: "))


PEERS = {"GPUMODEL_NOISE": "0", "GPUMODEL_MEMORY": "16M", "GPUMODEL_TOTAL": "16M", "GPUMODEL_DEVICES": "3"}


def test_three_gpus_have_a_matrix_of_their_links(tmp_path):
    cases = r"^transfer/(peer/int8/bytes:1048576/|peer_round/int8/bytes:1048576/)"
    found = run_to(tmp_path / "out", suite="baseline", cases=cases, **PEERS)
    assert found.status == 0, found.stderr
    roofs = found.roofs()
    for link in ("peer_in", "peer_out"):
        assert roofs[link]["theoretical"] == 450e9 and roofs[link]["empirical"] > 0
    matrix, = found.result["transfers"]["matrices"]
    assert matrix["how"] == ["one way", "access on", "copy_engine_read", "warm"] and matrix["bytes"] == 1 << 20
    assert {(cell["from"], cell["to"]) for cell in matrix["cells"]} == {(f"gpu:{a}", f"gpu:{b}") for a in range(3) for b in range(3) if a != b}
    for cell in matrix["cells"]:
        assert cell["path"] == {"kind": "nvlink", "nvlinks": 18, "text": "18 NVLinks"}
        assert 100e9 < cell["bytes_per_second"] < 390e9, "the model's rate, and the events of fork and join"
    record = found.record("transfer/peer/int8/bytes:1048576/from:2/to:1/access:on/impl:copy_engine_read/cache:warm")
    assert record["transfer"]["flows"] == [{"from": "gpu:2", "to": "gpu:1"}]
    assert record["notes"]["roof"] == "the ceilings of cuda:0, for the links of every GPU of its model"
    assert record["verification"]["before"]["status"] == record["verification"]["after"]["status"] == "passed"
    assert "all by 18 NVLinks" in flat(found.stdout) and "from gpu:2" in found.stdout
    assert not found.findings("slow_link") and not found.findings("peer_access")
    report_of(found, tmp_path)


def test_refused_access_is_measured_through_the_host_and_said(tmp_path):
    found = run_to(tmp_path / "out", suite="baseline", cases=r"^transfer/(peer/int8/bytes:1048576/from:0/to:1/|peer_round/.*/round:1/)",
                   GPUMODEL_PEER_ACCESS="0", **PEERS)
    finding, = found.findings("peer_access")  # NVLinks are up: no design forbids it
    assert finding["text"].startswith("GPU 0 and GPU 1, and 1 more pair, have no access to each other's memory (the chipset does not support it)")
    refused = found.record("transfer/peer/int8/bytes:1048576/from:0/to:1/access:on/impl:copy_engine_read/cache:warm")
    assert refused["status"] == "unsupported"
    assert refused["reason"] == "cuda:0 and cuda:1 have no access to each other's memory: the chipset does not support it"
    staged = found.record("transfer/peer/int8/bytes:1048576/from:0/to:1/access:off/impl:copy_engine_read/cache:warm")
    assert staged["status"] == "ok" and staged["measurement"]["path"] == "stream" and staged["transfer"]["staged"]
    assert {demand["resource"] for demand in staged["work"]["phases"][0]} == {"host_to_device", "device_to_host"}


@pytest.mark.parametrize("name", ["peer/int8/bytes:64/from:1", "peer/int8/bytes:64/from:2/to:2", "peer_both/int8/bytes:64/from:0/to:0/access:off"])
def test_a_gpu_is_not_its_own_peer(name):
    done = roofmark("list", "--device", "cuda:0", "--case", f"transfer/{name}", **PEERS)
    assert done.returncode == 2 and "from and to are the same GPU" in flat(done.stderr)


def test_a_chase_in_a_peers_memory_begins_with_the_peers_cache_evicted(tmp_path):
    done = roofmark("run", "--device", "cuda:0", "--suite", "baseline", "--filter", "^latency/peer/int8/bytes:268435456/", "--max-seconds", "0.001",
                    "--out", tmp_path / "out", GPUMODEL_TRACE="1", GPUMODEL_NOISE="0", GPUMODEL_DEVICES="2", GPUMODEL_MEMORY="512M", GPUMODEL_TOTAL="512M")
    found = Run(done, tmp_path / "out")
    assert found.record("latency/peer/int8/bytes:268435456/stride:128/load:cg/gpu:1/impl:own")["status"] == "ok"
    assert "device 1: kernel" in done.stderr, "no other kernel runs there"


def test_managed_memory_beyond_that_of_the_device(tmp_path):
    found = run_to(tmp_path / "out", suite="full", cases="^transfer/managed_copy/", GPUMODEL_NOISE="0", GPUMODEL_MEMORY="16M", GPUMODEL_TOTAL="16M")
    assert found.status == 0, found.stderr
    for share in (0.5, 1.25):
        record = found.record(f"transfer/managed_copy/int8/of_memory:{share:g}/memory:managed/impl:sm/cache:warm")
        copied = share * (16 << 20) / 2
        assert record["work"]["phases"] == [[{"resource": "host_to_device", "unit": "B", "amount": copied}]]
        assert record["verification"]["before"]["status"] == record["verification"]["after"]["status"] == "passed"
        assert record["notes"]["bytes counted"].startswith(f"the bytes copied ({copied / 1e6:.3g} MB), once")
        assert f"MB, {share:g} times the device's 16.8 MB; all of it is in host memory" in record["notes"]["managed memory"]
        assert record["measurement"]["launches_per_sample"] == 1 and "transfer" not in record
    within, beyond = (found.record(f"transfer/managed_copy/int8/of_memory:{share}/memory:managed/impl:sm/cache:warm") for share in ("0.5", "1.25"))
    comparison, = found.result["comparisons"]
    assert comparison["name"] == "0.5 against 1.25" and comparison["work_ratio"] == 0.4
    assert comparison["ratio"] == pytest.approx(0.4 * beyond["measurement"]["median"] / within["measurement"]["median"])
    assert not found.result.get("transfers", {}).get("series"), "no transfer over one link"
    assert not found.findings("above_theoretical")
    report_of(found, tmp_path)


def test_memory_that_cannot_be_pinned_is_not_run_and_says_how_much(tmp_path):
    found = run_to(tmp_path / "out", cases=r"^transfer/host_to_device/int8/bytes:(64|1048576)/", GPUMODEL_PINNED="256K",
                   GPUMODEL_MEMORY="16M", GPUMODEL_TOTAL="16M")
    assert found.status == 3
    refused = {e["name"]: e["roofmark"]["reason"] for e in found.entries if e["roofmark"]["status"] == "not_run"}
    assert any("bytes:1048576" in name for name in refused) and not any("bytes:64/" in name for name in refused)
    for reason in refused.values():
        assert re.match(r"out of pinned host memory: 1048576 bytes wanted, \d+ free(; this process may lock \d+ bytes \(ulimit -l\))?$", reason), reason


def test_a_host_without_pinned_memory_measures_without_the_gate(run):
    found = run(ceilings=OF_LINKS, GPUMODEL_PINNED="4")
    assert found.status == 3, found.stderr
    assert {e["roofmark"]["operation"] for e in found.entries if e["roofmark"]["status"] == "not_run"} == {"host_to_device", "device_to_host"}
    assert found.record(TRIAD)["measurement"]["path"] == "stream"
    assert found.result["device"]["details"]["gate"].startswith("off: the host has no pinned memory for it (")


def test_confidential_computing_is_said_and_nothing_waits_for_memory_of_the_host(tmp_path):
    cases = r"^transfer/(host_to_device|both)/int8/bytes:65536/memory:(pinned|registered)/node:near/impl.*warm|^latency/host/"
    found = run_to(tmp_path / "out", cases=cases, ceilings=ITS_CEILINGS, suite="full", GPUMODEL_CONFIDENTIAL="1")
    row, = (row for row in found.result["health"] if row["what"] == "confidential computing")
    assert row["state"] == "on" and "encrypted" in row["advice"] and found.result["device"]["details"]["gate"].startswith("off: in confidential")
    measured = {entry["name"]: entry["roofmark"].get("reason", entry["roofmark"]["status"]) for entry in found.entries
                if not entry["name"].startswith("ceilings/")}
    shared = "in confidential computing SMs reach no memory of the host: "
    for name, told in measured.items():
        if name.startswith("latency/") or "/impl:sm/" in name:
            assert told.startswith(shared), (name, told)
        elif "memory:pinned" in name:
            assert told == "ok", (name, told)
        else:
            assert told != "ok" and "memory:registered" in name, (name, told)
    assert {"ok"} < set(measured.values()) and any(name.startswith("latency/") for name in measured)


def test_a_wrong_byte_of_a_transfer_is_named(tmp_path):
    name = "transfer/host_to_device/int8/bytes:65536/memory:pinned/node:near/impl:sm/cache:warm"
    found = run_to(tmp_path / "out", cases=f"^{name}", suite="full", GPUMODEL_FLIP="copy_range_kernel:1:77")
    assert found.status == 1
    assert re.search(r"wrong result: error 1, allowed 0 \(bytes that differ from the generator's; the first is byte \d+ of 65536, "
                     r"host to gpu:0 by sm\)", found.record(name)["reason"]), found.record(name)["reason"]


def test_lanes_that_are_lost_show_under_transfers(healthy, run, tmp_path):
    found = run(ceilings=OF_LINKS, GPUMODEL_COUNTER="pcie_width:8")
    assert [finding["text"] for finding in found.findings("link_training")] == [
        "under load the PCIe link runs at 31.5 GB/s in each direction, 50.0 % of the 63.0 GB/s that both ends support"]
    assert not healthy.findings("link_training")
    rule = '[rule.link_training]\nquantity = "finding.link_training"\nmost = 0\nreason = "r"\n'
    for result, verdict in ((found, "FAIL"), (healthy, "PASS")):
        told = accept(tmp_path, result.out, rules=rule)
        assert [check["verdict"] for check in told["checks"] if check["rule"] == "link_training"] == [verdict]
        # Neither run is of the whole suite.
        assert [check["verdict"] for check in told["checks"] if check["rule"] == "conditions"] == ["FAIL"]


def test_a_slot_of_an_older_generation_is_advice_and_no_loss(run, tmp_path):
    found = run(ceilings=OF_LINKS, GPUMODEL_SLOT="4")
    text = "the slot gives PCIe 4, the GPU supports 5: an older machine has no better; otherwise check the link speed that the BIOS allows and the riser"
    assert [(row["state"], row["advice"]) for row in found.result["health"] if row["what"] == "PCIe slot"] == [
        ("generation 4, the GPU has 5", text)]
    assert not found.findings("link_training")
    rule = '[rule.link_training]\nquantity = "finding.link_training"\nmost = 0\nreason = "r"\n'
    told = accept(tmp_path, found.out, rules=rule)
    assert [check["verdict"] for check in told["checks"] if check["rule"] == "link_training"] == ["PASS"]


@pytest.mark.parametrize("command", ["run", "list", "info"])
def test_a_gpu_without_code_is_refused_at_once(tmp_path, command):
    done = roofmark(command, *(["--out", tmp_path / "out"] if command == "run" else []), GPUMODEL_ARCH="70")
    assert done.returncode == 3
    assert "cannot run on cuda:0 (roofmark model GPU (sm_70), compute capability 7.0): no kernel image is available" in done.stderr
    assert done.stderr.strip().endswith("; GPUs of 8.0 and newer are supported")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["run", "list", "info"])
def test_a_gpu_that_another_process_has_is_named_with_the_way_out(tmp_path, command):
    done = roofmark(command, *(["--out", tmp_path / "out"] if command == "run" else []), GPUMODEL_TAKEN="1", GPUMODEL_FOREIGN="1")
    assert done.returncode == 3
    assert re.search(r"^roofmark: cannot use cuda:0 \(roofmark model GPU \(sm_90\)\): .* \(cudaErrorDevicesUnavailable\): its compute mode admits one "
                     r"process alone \(on it: 4000001 model\): wait for that to end; nvidia-smi -c 0 as root admits several$", done.stderr, re.M)
    assert not (tmp_path / "out").exists()


def test_another_number_of_gpus_than_expected_is_refused_before_anything_is_measured(tmp_path):
    def expecting(gpus, device, **environment):
        return roofmark("run", "--device", device, "--expect-gpus", gpus, "--suite", "quick", "--filter", TRIAD, "--max-seconds", "0.001",
                        "--out", tmp_path / "out", **environment)

    for device in ("all", "auto", "cuda:0", "cpu"):
        done = expecting(3, device, GPUMODEL_DEVICES="3", CUDA_VISIBLE_DEVICES="0,2,7")
        assert done.returncode == 3 and not (tmp_path / "out").exists()
        line, = done.stderr.splitlines()
        assert line.startswith("roofmark: 3 GPUs expected, 2 can be used (PCI lists ") and "CUDA_VISIBLE_DEVICES is 0,2,7" in line
    done = expecting(2, "all", GPUMODEL_DEVICES="3", CUDA_VISIBLE_DEVICES="0,2")
    assert done.returncode == 0, done.stderr


def test_a_gpu_of_another_architecture(run):
    # Its results are judged and its times are not: the model may be faster than an A100 could be.
    found = run(ceilings=ALL_CEILINGS, GPUMODEL_ARCH="80")
    assert found.result["device"]["name"] == f"{MODEL} (sm_80)"
    verified = [e["roofmark"]["verification"] for e in found.entries if e["roofmark"]["status"] != "unsupported"]
    assert len(verified) == 55
    assert {one[when]["status"] for one in verified for when in ("before", "after")} == {"passed", "nothing_to_verify"}
    reasons = {e["roofmark"].get("operation"): e["roofmark"]["reason"] for e in found.result["unmeasured"]}
    assert reasons["wgmma"].startswith("compute capability 8.0 has no wgmma for ")
    assert found.record(TRIAD)["fingerprint"]["key"].split("|")[1:3] == [f"{MODEL} (sm_80)", "cc80"]


def test_recovering_a_journal_gives_the_same_result(healthy, tmp_path):
    (tmp_path / "result.jsonl").write_bytes((healthy.out / "result.jsonl").read_bytes())
    done = roofmark("recover", tmp_path)
    assert done.returncode == 0 and ", complete" in done.stdout
    assert reader.load(tmp_path / "result.json")[0] == healthy.result


def test_list_has_the_work_of_what_a_run_measures(healthy):
    done = roofmark("list", "--device", "cuda:0", "--suite", "quick", "--filter", f"{TRIAD}|^ceilings/", "--json")
    assert done.returncode == 0
    listed = {case["name"]: case for case in json.loads(done.stdout)}
    assert set(listed) == {entry["name"] for entry in healthy.entries}
    for entry in healthy.result["benchmarks"]:
        work = listed[entry["name"]]["work"]
        assert entry["roofmark"]["work"] == work


def test_throttling_fails_a_rule_of_the_share_of_time_and_one_of_the_finding(healthy, run, tmp_path):
    def rule(quantity, most):
        cases = 'cases = "^stream/"\n' if quantity.startswith("share") else ""
        return f'[rule.{quantity.replace(".", "_")}]\n{cases}quantity = "{quantity}"\nmost = {most}\nreason = "r"\n'

    rules = rule("share_of_time.thermal", 0.01) + rule("share_of_time.power_brake", 0.0) + rule("finding.slowdown", 0)
    for found, thermal, verdict in ((run(GPUMODEL_THROTTLE="0:1"), pytest.approx(1, abs=0.1), "FAIL"), (healthy, 0, "PASS")):
        checks = {check["rule"]: check for check in accept(tmp_path, found.out, rules=rules)["checks"]}
        told = checks["share_of_time_thermal"]
        assert (told["verdict"], told["measured"], told["of"]) == (verdict, thermal, TRIAD)
        assert checks["share_of_time_power_brake"]["verdict"] == "PASS" and checks["finding_slowdown"]["verdict"] == verdict


def test_a_profile_shows_its_limits_on_a_device():
    # 6144 bit x 3201 MHz x 2 / 8 bit per byte; 1 SM x 2 MHz x 256 FLOP per clock.
    done = roofmark("profile", "show", "generic", "--device", "cuda:0")
    assert done.returncode == 0, done.stderr
    assert f"Limits on {MODEL} (sm_90) (cuda:0):" in done.stdout
    assert "dram_read\n  limit   of_theoretical >= 75.0 %, per GPU\n  is      3.69 TB/s of 4.92 TB/s (DRAM)\n" in done.stdout
    assert "fma_fp32\n  limit   of_theoretical_clock >= 80.0 %, per GPU\n  is      share of the fp32 FMA ceiling at the clock during the case\n" in done.stdout
    assert "product_bf16 (mandatory where measured)\n  limit   of_theoretical_clock >= 60.0 %, per GPU of the table of known GPUs\n" in done.stdout
    other = roofmark("profile", "show", "h100_sxm", "--device", "cuda:0", GPUMODEL_SMS="2").stdout
    assert "is      819 MFLOP/s of 1.02 GFLOP/s (fp32 FMA)" in other and " of 4.92 TB/s (DRAM)" in other
    assert roofmark("profile", "show", "generic", "--device", "cuda:7").returncode == 3


def test_throttling_from_the_start(healthy, run):
    found = run(GPUMODEL_THROTTLE="0:1")
    assert found.status == 1, found.stderr
    # Every record and no ceiling: all of them were measured on the slower GPU.
    assert len(found.findings("slowdown")) == len(found.result["benchmarks"])
    text = found.findings("slowdown")[0]["text"]
    assert re.fullmatch(r"the clock fell by 50 % to 1 MHz; throttle reason: thermal \(during (100\.0|9\d\.\d) % of the blocks' time\)", text)
    assert not found.findings("drift") and not found.findings("clock")
    record = found.record(TRIAD)
    assert set(record["measurement"]["samples"]["throttled"]) == {True}
    assert record["measurement"]["clock_hz"] == pytest.approx(1e6, rel=0.02)
    assert ratio(found, healthy, TRIAD) == pytest.approx(2, rel=0.1)
    assert "slowdown  " in found.stdout and not healthy.findings("slowdown")
    assert not any(healthy.record(TRIAD)["measurement"]["samples"]["throttled"])


def test_throttling_that_begins_during_a_run_moves_the_ceilings_and_explains_it(healthy, run):
    # After the first pass over the first ceiling and before the second pass, on however busy a machine.
    found = run(ceilings=ALL_CEILINGS, GPUMODEL_THROTTLE=f"{healthy.result['wall_time']['total_seconds'] / 4}:1")
    assert found.status == 1, found.stderr
    roof = found.roofs()["fp64_fma"]
    assert roof["drift"] == pytest.approx(-0.5, abs=0.02) and roof["unexplained_drift"] == pytest.approx(0, abs=0.02)
    assert roof["first_clock_hz"] == pytest.approx(2e6, rel=0.02) and roof["last_clock_hz"] == pytest.approx(1e6, rel=0.02)
    assert not any(finding["text"].startswith("fp64 FMA") for finding in found.findings("drift"))
    assert 0 < len(found.findings("slowdown")) < len(found.result["benchmarks"])
    assert "* the SM clock explains this drift" in flat(found.stdout)
    assert not healthy.findings("drift")


def test_a_slow_clock_without_a_reason(healthy, run):
    found = run(GPUMODEL_CLOCK_MHZ="1.2")
    assert found.status == 0, found.stderr
    assert len(found.findings("clock")) == len(found.result["benchmarks"])
    text = found.findings("clock")[0]["text"]
    assert text == "the clock fell by 40 % to 1 MHz; the driver names no reason"
    assert not found.findings("slowdown") and not healthy.findings("clock")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A run on a GPU whose counters get worse, beside other processes."""
    found = run_to(tmp_path_factory.mktemp("shared") / "out", GPUMODEL_COUNTER="ecc_uncorrected:3,nvlink_links:2,recovery_action:1,xid:1", GPUMODEL_FOREIGN="2")
    assert found.status == 1, "each result is right, and the GPU is faulty: " + found.stderr
    return found


def test_a_counter_that_gets_worse_during_a_run(healthy, shared):
    found = shared
    texts = {finding["kind"]: finding["text"] for finding in found.result["findings"]}
    for kind, text in [("uncorrected_errors", "uncorrected memory errors (ECC): rose by 3 during the run, from 0 to 3"),
                       ("link_lost", "NVLinks that are up: fell by 2 during the run, from 18 to 16 (link 16, link 17)"),
                       ("recovery_action", "recovery action that the driver asks for: none before the run, GPU reset after it"),
                       ("xid", "driver error reports (Xid): rose by 1 during the run, from 0 to 1; the last is number 79")]:
        assert texts[kind].endswith(text) and not healthy.findings(kind)
    assert all(counter["worse"] == 0 for counter in healthy.result["counters"])


def test_the_xid_of_another_program_is_no_fault_of_the_gpu(run):
    found = run(GPUMODEL_COUNTER="application_xid:1")
    assert found.status == 0, found.stderr
    finding, = found.findings("application_xid")
    assert finding["severity"] == "warning" and not found.findings("xid")
    assert finding["text"].endswith("the last is number 31, a page fault: a kernel or a copy used an address without memory")
    assert found.result["verdict"]["level"] == "doubtful"


def test_an_xid_that_informs_is_a_note(run):
    found = run(GPUMODEL_COUNTER="informational_xid:1")
    assert found.status == 0, found.stderr
    finding, = found.findings("informational_xid")
    assert finding["severity"] == "note" and finding["doubt"] == "nothing"
    assert finding["text"].endswith("the last is number 63, a faulty row or page of memory was marked for replacement")
    assert not found.findings("xid")


def ratio(a, b, name):
    """Seconds of a case in a, over those in b."""
    return a.record(name)["measurement"]["median"] / b.record(name)["measurement"]["median"]


def compare(a, b, to, status=0):
    """What scripts/compare prints, and its row of each case of the first pass. The budget may end after one block, whose time
    alone shows nothing to be significant."""
    lines = script((status,), "compare", a, "--", b, "--json", to).splitlines()
    rows = json.loads(to.read_text(encoding="utf-8"))["cases"]
    return lines, {row["name"]: row for row in rows if "(after the suite)" not in row["name"]}


def test_a_slow_kernel_is_slower_than_in_another_run(healthy, run, tmp_path):
    found = run(GPUMODEL_SLOW=f"{KERNEL}:3")
    assert found.status == 0, found.stderr
    assert ratio(found, healthy, TRIAD) == pytest.approx(3, rel=0.1)
    assert found.record(TRIAD)["placement"]["of_empirical"] < 0.4 * healthy.record(TRIAD)["placement"]["of_empirical"]
    lines, rows = compare(healthy.out, found.out, tmp_path / "compared.json")
    slow = rows.pop(TRIAD)
    assert slow.get("seems", "SLOWER") == "SLOWER" and slow["ratio"] == pytest.approx(1 / 3, rel=0.1)
    assert all(row["ratio"] == pytest.approx(1, rel=0.1) and "seems" not in row for row in rows.values())
    assert any(line.startswith("fingerprints with equal keys:") and line.endswith(" 0 different") for line in lines)


def test_a_rate_above_the_measured_roof_is_a_finding(healthy, run):
    found = run(GPUMODEL_SLOW=f"{KERNEL}:0.2")
    assert found.status == 0, found.stderr
    assert [finding["case"] for finding in found.findings("above_empirical")] == [TRIAD]
    assert "of the measured ceiling (L2 cache)" in flat(found.stdout)
    assert found.record(TRIAD)["placement"]["of_empirical"] > 1.02
    assert not healthy.findings("above_empirical")


def test_a_wrong_result_is_no_number(plain, run):
    found = run(GPUMODEL_FLIP=f"{KERNEL}:1:5")
    assert found.status == 1
    record = found.record(TRIAD)
    assert record["status"] == "wrong" and "measurement" not in record and "placement" not in record
    assert record["reason"].startswith("wrong result: error ")
    assert record["verification"]["before"]["status"] == "failed" and "after" not in record["verification"]
    assert found.result["complete"] and TRIAD not in [entry["name"] for entry in found.result["benchmarks"]]
    # All else is as on the healthy GPU.
    assert found.counts() == plain.counts() + Counter(wrong=1) - Counter(ok=1)
    assert f"wrong {TRIAD}: {record['reason']}" in found.stderr and " 1 wrong" in found.stdout
    assert '<section class="verdict bad"' in report_of(found, found.out)


def test_bits_that_change_from_launch_to_launch_are_wrong(run):
    # The first launch is verified, and the next two must give its bits.
    found = run(GPUMODEL_FLIP=f"{KERNEL}:3:5")
    assert found.status == 1, found.stderr
    record = found.record(TRIAD)
    assert record["status"] == "wrong" and record["reason"].startswith("three launches of a pinned algorithm gave different bits, on cuda:0 (")
    assert not record["fingerprint"]["deterministic"] and not record["fingerprint"]["hash"]


def test_bits_of_a_sum_that_change_from_launch_to_launch_are_nondeterministic(healthy, run):
    """Nothing promises in which order it adds."""
    found = run(suite="baseline", cases=SUM, GPUMODEL_FLIP=f"{SUM_KERNEL}:3:0")
    assert found.status == 0, found.stderr
    assert [finding["case"] for finding in found.findings("nondeterministic")] == [SUM]
    assert "nondeterministic  " in found.stdout and not healthy.findings("nondeterministic")


DRAM = "ceilings/dram_triad/fp32/bytes:3145728/impl:own/cache:cold"
DRAM_KERNEL = "stream_kernelILNS_8StreamOpE5Ef"
# Of three times the memory: a launch takes longer to interpret than warm-up and timing may last, so the number of launches is the
# same in every run, and the same in both passes.
LARGE = {"GPUMODEL_L2": "256K", "GPUMODEL_MEMORY": "4608K", "GPUMODEL_TOTAL": "4608K"}


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """What the faults in the triad of the DRAM are compared with."""
    return run_to(tmp_path_factory.mktemp("large") / "out", ceilings=OF_DRAM, GPUMODEL_TRACE="1", **LARGE)


def launches(found, kernel):
    return sum(f"{kernel}" in line and " wall " in line for line in found.stderr.splitlines())


def test_a_bit_that_flips_after_timing_is_found_by_the_last_verification(large, run):
    last = launches(large, DRAM_KERNEL) // 2
    found = run(ceilings=OF_DRAM, GPUMODEL_FLIP=f"{DRAM_KERNEL}:{last}:1000005", **LARGE)
    assert found.status == 1
    record = found.record(DRAM)
    assert record["status"] == "wrong" and "measurement" not in record
    assert record["verification"]["before"]["status"] == "passed"
    assert record["verification"]["after"]["status"] == "failed"
    assert f"wrong {DRAM}: wrong result: error " in found.stderr
    assert large.record(DRAM)["verification"]["after"]["status"] == "passed"


def test_other_bits_of_one_launch_of_a_load_that_lasts_are_found_and_named(tmp_path):
    # The first launches of the kernel belong to the verification, and some more fit into three seconds on any machine.
    out = tmp_path / "out"
    done = roofmark("run", "--device", "cuda:0", "--suite", "sustained", "--seconds", "3", "--filter", "/gemm/bf16", "--out", out,
                    GPUMODEL_MEMORY="64M", GPUMODEL_TOTAL="64M", GPUMODEL_FLIP="hash_kernel:22:0")
    found = Run(done, out)
    assert found.status == 1, done.stderr
    [record] = [entry["roofmark"] for entry in found.entries]
    assert record["status"] == "wrong" and "measurement" not in record and "sustained" not in record
    assert re.match(r"wrong result: 1 of \d+ launches gave other bits than the verified launch; the first is launch \d on cuda:0 "
                    rf"\({re.escape(MODEL)} \(sm_90\), GPU-[-0-9a-f]+\) at ", record["reason"]), record["reason"]


def test_a_bit_that_flips_in_a_timed_sample_is_found_and_named(large, run):
    # Before the last verification there are five blocks of an uncounted launch and a sample. The first sample is checked from the
    # array's beginning on.
    sample = launches(large, DRAM_KERNEL) // 2 - 9
    found = run(ceilings=OF_DRAM, GPUMODEL_FLIP=f"{DRAM_KERNEL}:{sample}:5", **LARGE)
    assert found.status == 1
    record = found.record(DRAM)
    assert record["status"] == "wrong" and "measurement" not in record
    assert re.match(r"wrong result: 1 of 1 checked samples gave other bits than the verified launch; the first is sample 1 of block 1, in slot 0, "
                    rf"on cuda:0 \({re.escape(MODEL)} \(sm_90\), GPU-[-0-9a-f]+\) at ", record["reason"]), record["reason"]
    assert f"wrong {DRAM}: wrong result: 1 of 1 checked samples" in found.stderr
    measured = large.record(DRAM)["measurement"]
    assert len(measured["samples"]["seconds"]) == 5 and 0 < measured["samples_checked"] <= 5 and 0 < measured["share_checked"] <= 1


def test_an_output_that_was_never_written_is_no_number_in_words(run):
    found = run(GPUMODEL_EDIT=r"st\.global.*=>", GPUMODEL_EDIT_KERNEL=KERNEL)
    assert found.status == 1
    assert found.record(TRIAD)["reason"].startswith("wrong result: error NaN, allowed ")
    assert "nan" not in re.sub(r"\w*nan\w+|\w+nan\w*", "", found.stdout + found.stderr)


def test_a_wrong_probe_sets_no_ceiling(healthy, run):
    # The fastest of the DRAM probes, and a byte of the last third of its array.
    by = healthy.roofs()["dram"]["first_by"]
    assert by.startswith("ceilings/dram_copy/")
    found = run(ceilings=OF_DRAM, GPUMODEL_FLIP="stream_kernelILNS_8StreamOpE2Ef:0:466001")
    assert found.status == 1
    assert found.record(by)["status"] == found.record(by, 2)["status"] == "wrong"
    assert found.roofs()["dram"]["first_by"] != by
    assert found.roofs()["dram"]["empirical"] < healthy.roofs()["dram"]["empirical"]


def test_a_sticky_error_loses_the_device(plain, run):
    found = run(GPUMODEL_STICKY=f"{KERNEL}:5")
    assert found.status == 3
    record = found.record(TRIAD)
    assert record["status"] == "failed" and "cudaErrorIllegalAddress" in record["reason"]
    # What was measured before stands; nothing after it is tried.
    before = Counter(e["roofmark"]["status"] for e in found.entries if e["roofmark"]["pass"] == 1 and e["name"] != TRIAD)
    assert set(before) == {"ok"}
    lost = [e["roofmark"]["reason"] for e in found.entries if e["roofmark"]["status"] == "not_run"]
    assert set(lost) == {f"device lost to {TRIAD}"}
    assert found.counts() == Counter(failed=1, not_run=len(lost), ok=plain.counts()["ok"] - 1 - len(lost))
    assert found.result["complete"]
    assert f"failed {TRIAD}: " in found.stderr and f"{len(lost)} not run" in found.stdout


def test_a_hang_ends_after_the_timeout(plain, run):
    # Other tests may keep the cores; every stage of a healthy run takes a fraction of a second.
    start = time.monotonic()
    found = run("--timeout", "8", GPUMODEL_HANG=f"{KERNEL}:1")
    assert found.status == 3 and time.monotonic() - start > 8
    reason = f"no progress for 8 s in {TRIAD} (verifying)"
    assert f"roofmark: {reason}" in found.stderr
    assert found.record(TRIAD)["status"] == "failed" and found.record(TRIAD)["reason"] == reason
    lost = [e["roofmark"]["reason"] for e in found.entries if e["roofmark"]["status"] == "not_run"]
    assert set(lost) == {f"the run ended in {TRIAD}"}
    assert not found.result["complete"] and not found.result["interrupted"]
    assert len(found.entries) == len(plain.entries)
    done = roofmark("recover", found.out)
    assert done.returncode == found.status
    assert reader.load(found.out / "result.json")[0] == found.result


def test_one_signal_ends_a_hang(tmp_path):
    out, journal = tmp_path / "out", tmp_path / "out/result.jsonl"
    process = subprocess.Popen([ROOFMARK, "run", "--device", "cuda:0", "--suite", "quick", "--filter", f"^{TRIAD}$", "--max-seconds", "0.001",
                                "--out", out], env=environment({"GPUMODEL_HANG": f"{KERNEL}:1"}), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    written, since = -1, time.monotonic()  # it hangs when it writes no more
    while time.monotonic() - since < 4:
        size = journal.stat().st_size if journal.exists() else -1
        if size != written or size < 0:
            written, since = size, time.monotonic()
        time.sleep(0.1)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=90)[1]
    assert process.returncode == 130 and time.monotonic() - sent < 60, told
    assert re.search(rf"roofmark: interrupted without progress for \d+ s in {re.escape(TRIAD)} \(verifying\)", told)
    result = json.loads((out / "result.json").read_text())
    assert not result["complete"] and result["interrupted"]


def test_wrong_bits_of_a_load_stand_after_a_signal(tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen([ROOFMARK, "run", "--device", "cuda:0", "--suite", "sustained", "--seconds", "200", "--case", "memory_test/int32/bytes:64K/pattern:random",
                                "--out", out], env=environment({"GPUMODEL_FLIP": "memory_test_kernel:2000:5"}), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert "planted: a bit" in process.stderr.readline()
    time.sleep(5)  # hashes are compared once a second
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=90)[1]
    assert process.returncode == 130
    [entry] = json.loads((out / "result.json").read_text())["unmeasured"]
    record = entry["roofmark"]
    assert record["status"] == "wrong" and re.match(r"wrong result: \d+ of \d+ launches gave other bits .*; then interrupted$", record["reason"])
    assert record["reason"] in told
    assert roofmark("recover", out).returncode == 1


def test_after_a_hang_the_file_has_what_was_seen_of_the_gpu_and_its_xid_decides(run, tmp_path):
    found = run("--timeout", "8", GPUMODEL_HANG=f"{KERNEL}:1", GPUMODEL_COUNTER="xid:1")
    assert found.status == 1 and not found.result["complete"]
    assert len(found.result["telemetry"]["rows"]) > 20, "the readings until then, of 8 s and more"
    assert found.result["telemetry_summary"]["seconds"] > 1
    xid, = (counter for counter in found.result["counters"] if counter["id"] == "xid")
    assert xid["worse"] == 1 and found.findings("xid")
    journal = [json.loads(line) for line in (found.out / "result.jsonl").read_text().splitlines()]
    seen = [line["seen"] for line in journal if "seen" in line]
    assert "xid" in [counter["id"] for counter in seen[0]["counters"]] and any("telemetry" in line for line in seen[1:])
    told = judged(tmp_path, found.out)
    assert told["finding.xid"] == "FAIL" and told["results.failed"] == "FAIL"


@pytest.mark.parametrize("how, seconds", [("HANG", "0"), ("HANG", "2.5"), ("LOST", "0.5")])
def test_an_nvml_that_answers_no_more_is_given_up_and_its_rules_are_not_measured(run, tmp_path, how, seconds):
    found = run(ceilings=ALL_CEILINGS, **{f"GPUMODEL_NVML_{how}": seconds})
    assert found.status == 0 and found.result["complete"], found.stderr
    lost, = found.findings("telemetry_lost")
    assert "did not answer " in lost["text"]
    # A busy machine may not have opened it by then.
    assert ("when the device was opened" if seconds == "0" else "telemetry ended ") in lost["text"] or seconds == "2.5"
    told = judged(tmp_path, found.out)
    assert {told[quantity] for quantity in ("finding.xid", "counter.ecc_uncorrected", "state.remap_failed")} == {"NOT MEASURED"}
    assert told["delivery"] != "PASS"


def judged(tmp_path, out):
    """The verdict of each quantity of a run by the rules that all profiles share, and that of the delivery."""
    profile = tmp_path / "model.toml"
    profile.write_text(f'inherit = "common"\ntitle = "t"\ndevices = "{MODEL}.*"\nexample = "{MODEL} (sm_90)"\nsuite = "quick"\n')
    roofmark("accept", out, "--profile", profile, "--json", tmp_path / "verdict.json")
    told = parse_verdict((tmp_path / "verdict.json").read_bytes())
    return {check["quantity"]: check["verdict"] for check in told["checks"] if "quantity" in check} | {"delivery": told["delivery"]["verdict"]}


def test_out_of_memory_is_not_run_and_the_rest_is(healthy, run):
    found = run(ceilings=OF_DRAM, GPUMODEL_OOM_AFTER="1536K")
    assert found.status == 3
    refused = {e["name"]: e["roofmark"] for e in found.entries if e["roofmark"]["status"] == "not_run"}
    assert refused and all(name.startswith("ceilings/dram_") for name in refused)
    assert all(re.fullmatch(r"out of memory of cuda:0: \d+ bytes wanted, \d+ free", record["reason"]) for record in refused.values())
    assert found.record(TRIAD)["status"] == "ok" and found.result["complete"]
    assert "empirical" not in found.roofs()["dram"] and "empirical" in healthy.roofs()["dram"]
    assert "not run" in found.stdout


def test_another_process_on_the_gpu_is_a_finding(healthy, shared):
    found = shared
    texts = [finding["text"] for finding in found.findings("foreign_process")]
    assert len(texts) == 1 and texts[0].startswith("other processes use this GPU: ") and texts[0].count(", ") == 1
    assert texts[0] in flat(found.stdout)
    assert "in doubt: " in report_of(found, found.out)
    assert not healthy.findings("foreign_process")


def test_memory_that_is_in_use_before_the_run_is_a_finding(healthy, tmp_path):
    done = roofmark("run", "--device", "cuda:0", "--suite", "quick", "--filter", TRIAD, "--max-seconds", "0.001", "--out", tmp_path / "out",
                    GPUMODEL_MEMORY="2G", GPUMODEL_TOTAL="2G", GPUMODEL_HELD="2094848K")  # as much is free as elsewhere
    found = Run(done, tmp_path / "out")
    assert found.status == 0, found.stderr
    finding, = found.findings("memory_in_use")
    assert finding["severity"] == "warning"
    assert finding["text"].startswith("before the run 2.15 GB of 2.15 GB in use by no process that is visible here; ")
    assert any(row["what"] == "memory in use" and row["advice"] for row in found.result["health"])
    assert not healthy.findings("memory_in_use") and found.result["verdict"]["level"] == "good"


@pytest.mark.parametrize("gpu, what, state", [
    ({"GPUMODEL_ECC": "0"}, "ECC", ("off", "memory errors go unnoticed")),
    ({"GPUMODEL_FOREIGN": "1"}, "other processes", ("4000001 model", "they slow down every case")),
], ids=["ecc", "processes"])
def test_info_says_what_is_not_healthy(gpu, what, state):
    def line(**gpu):
        done = roofmark("info", "--device", "cuda:0", **gpu)
        assert done.returncode == 0, done.stderr
        return re.search(rf"^  {what}  +(.*)$", done.stdout, re.MULTILINE)[1]

    assert line() in ("on", "none")
    if what == "ECC":
        assert line(GPUMODEL_ECC="none") == "unknown", "there is none that could be switched on"
    found, advice = line(**gpu).split(": ", 1)
    assert found == state[0] and advice.startswith(state[1])


def test_the_smoke_suite_takes_its_time_once_on_however_many_gpus(tmp_path):
    done = roofmark("run", "--device", "all", "--suite", "smoke", "--max-seconds", "0.001", "--case", TRIAD, "--out", tmp_path / "out",
                    GPUMODEL_DEVICES="2")
    assert done.returncode == 0, done.stderr
    assert [path.parent.relative_to(tmp_path / "out").as_posix() for path in sorted(tmp_path.glob("out/*/*/result.json"))] == [
        "together/cuda-0", "together/cuda-1"]
    assert len(Run(done, tmp_path / "out").result["team"]) == 2


def test_a_run_that_was_killed_before_it_merged_is_not_merged_by_the_next(tmp_path):
    def measure(*arguments):
        return roofmark("run", "--device", "all", "--suite", "smoke", "--max-seconds", "0.001", "--case", TRIAD, "--out", tmp_path / "out",
                        *arguments, GPUMODEL_DEVICES="2")

    assert measure().returncode == 0
    for path in (tmp_path / "out").glob("result.*"):
        path.unlink()
    again = measure("--data", "zeros")
    assert again.returncode == 2 and "choose another --out" in again.stderr
    assert not (tmp_path / "out" / "result.json").exists() and "good: " not in again.stdout


def test_cases_that_use_several_gpus_are_measured_by_the_first_one(tmp_path):
    for quiet in ([], ["--quiet"]):
        out = tmp_path / f"out{len(quiet)}"
        done = roofmark("run", "--device", "all", "--suite", "baseline", "--max-seconds", "0.001", "--filter", "^transfer/peer/int8/bytes:1048576/from",
                        "--out", out, *quiet, GPUMODEL_DEVICES="2", GPUMODEL_MEMORY="16M", GPUMODEL_TOTAL="16M")
        assert done.returncode == 0, done.stderr
        result = out / "alone/cuda-0/result.json"
        assert done.stdout == f"{result}\n" if quiet else "\nonly cuda:0 has such cases, which use several GPUs\n" in done.stdout
        assert done.stdout.endswith(f"{result}\n")
        assert reader.load(result)[0]["verdict"]["level"] == "good" and not (out / "result.json").exists()


def test_two_gpus_of_which_one_has_faults(tmp_path):
    """A wrong triad and a slow copy on the second GPU; the first one and what both do together are healthy."""
    copy = "stream_kernelILNS_8StreamOpE2Ef"
    done = roofmark("run", "--device", "all", "--suite", "quick", "--max-seconds", "0.001", "--out", tmp_path / "out",
                    "--filter", f"{TRIAD}|^all_reduce/fp32/bytes:(8|32768)/|^ceilings/", GPUMODEL_DEVICES="2",
                    GPUMODEL_FLIP=f"{KERNEL}:0:5@1", GPUMODEL_SLOW=f"{copy}:2@1")
    assert done.returncode == 1, done.stderr
    files = tmp_path.glob("out/*/*/result.json")
    runs = {path.parent.relative_to(tmp_path / "out").as_posix(): reader.load(path)[0] for path in files}
    assert set(runs) == {"alone/cuda-0", "alone/cuda-1", "together/cuda-0", "together/cuda-1"}

    def status(run, name):
        return [e["roofmark"]["status"] for e in run["benchmarks"] + run["unmeasured"] if e["name"].startswith(name)]

    for place, run in runs.items():
        assert run["complete"] and run["device"]["name"].startswith(MODEL)
        assert status(run, TRIAD) == (["wrong"] if place.endswith("1") else ["ok"])
        # It takes both GPUs: once, on the first one, and not while the other one is measured.
        assert status(run, "all_reduce/") == (["ok", "ok"] if place == "alone/cuda-0" else [])
    assert runs["alone/cuda-0"]["device"]["details"]["uuid"] != runs["alone/cuda-1"]["device"]["details"]["uuid"]
    for said in ("cuda:0 alone", "cuda:1 alone", "cuda:0, cuda:1 at once", "all_reduce/fp32/impl:nccl"):
        assert re.search(rf"^{said}", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^cuda:1 +1\.0\d\d ", done.stdout, re.MULTILINE), "each is as fast beside the other as alone"
    merged = Run(done, tmp_path / "out")
    assert merged.result["complete"] and merged.result["arguments"][2:4] == ["--device", "all"]
    assert [member["device_id"] for member in merged.result["team"]] == ["cuda:0", "cuda:1"]
    assert merged.record(TRIAD)["status"] == "wrong" and merged.record(TRIAD)["reason"].startswith("cuda:1: wrong result: error ")
    dram_copy = "ceilings/dram_copy/fp32/bytes:1048576/impl:own/cache:cold"
    measured = merged.record(dram_copy)["measurement"]
    own = [median(runs[f"together/cuda-{i}"], dram_copy) for i in (0, 1)]
    assert [rank["median"] for rank in measured["ranks"]] == own and measured["median"] == own[1] == pytest.approx(2 * own[0], rel=0.02)
    assert not merged.findings("slow_rank") and not merged.findings("missing_result")
    assert f"{MODEL} (sm_90) on 2 ranks (rank 0 on " in flat(done.stdout) and "with two ranks, the slow one cannot be told from the fast one" in flat(done.stdout)
    recover_again(merged)
    lines, rows = compare(*(tmp_path / "out" / "alone" / f"cuda-{i}" for i in (0, 1)), tmp_path / "compared.json", 1)
    assert f"worse status: {TRIAD}: ok, then wrong" in lines
    slow = rows.pop(dram_copy)
    assert slow.get("seems", "SLOWER") == "SLOWER" and slow["ratio"] == pytest.approx(0.5, rel=0.02)
    assert all(row["ratio"] == pytest.approx(1, rel=0.02) for name, row in rows.items() if name.startswith("ceilings/dram_"))


def median(result, name):
    """Of the first pass."""
    return next(e["roofmark"]["measurement"]["median"] for e in result["benchmarks"] if e["name"] == name and e["roofmark"]["pass"] == 1)


def recover_again(run):
    """What a merged run's journal recovers to is its file, and the checksum is the file's."""
    sums = subprocess.run(["sha256sum", "--check", "result.json.sha256"], cwd=run.out, capture_output=True, text=True, check=False)
    assert sums.returncode == 0, sums.stderr
    assert roofmark("recover", run.out).returncode == run.status
    assert reader.load(run.out / "result.json")[0] == run.result


ALL = ("run", "--device", "all", "--suite", "quick", "--filter", f"{TRIAD}|{ITS_CEILINGS}", "--max-seconds", "0.001")


def accept(tmp_path, *results, rules=""):
    """The judgement of results by a profile of the model GPU."""
    profile = tmp_path / "model.toml"
    profile.write_text(f'inherit = "common"\ntitle = "t"\ndevices = "{MODEL}.*"\nexample = "{MODEL} (sm_90)"\nsuite = "quick"\n' + rules)
    roofmark("accept", *results, "--profile", profile, "--expect-gpus", "3", "--json", tmp_path / "verdict.json")
    return parse_verdict((tmp_path / "verdict.json").read_bytes())


def test_of_three_gpus_the_slow_one_and_the_one_with_other_bits_are_named(tmp_path):
    # Every launch of the sum has the same wrong bit, which is within its bound.
    out = tmp_path / "out"
    done = roofmark("run", "--device", "all", "--suite", "baseline", "--filter", f"{TRIAD}|{SUM}|{OF_DRAM}", "--max-seconds", "0.001",
                    "--out", out, GPUMODEL_DEVICES="3", GPUMODEL_SLOW="stream_kernel:3@1", GPUMODEL_FLIP=f"{SUM_KERNEL}:0:0@2")
    assert done.returncode == 1, "every process ends with 0: only side by side do other bits show"
    found = Run(done, out)
    slow, = found.findings("slow_rank")
    assert slow["text"].startswith("rank 1 (") and slow["text"] in flat(done.stdout)
    differing, = found.findings("fingerprint")
    assert differing["text"].startswith("rank 2 (") and "bits differ from most ranks in 1 of " in differing["text"]
    assert found.record(SUM)["fingerprint"]["differing_ranks"] == [2]
    # Unknown on all of them, so it is said once.
    assert len(found.findings("unknown_device")) == 1 and not found.findings("unknown_device")[0]["text"].startswith("cuda:")
    assert "rank 1 (" in report_of(found, tmp_path)
    # Each GPU counts once, by the merged file and its run alone.
    told = accept(tmp_path, out)
    assert sorted(Path(one["path"]).relative_to(out).parent.as_posix() for one in told["files"]) == [
        ".", "alone/cuda-0", "alone/cuda-1", "alone/cuda-2"]
    assert len(told["devices"]) == 3 and all(c["verdict"] == "PASS" for c in told["checks"] if c["rule"] == "expected_gpus")
    bits = {c["device"].split()[0]: c["verdict"] for c in told["checks"] if c["rule"] == "differing_bits" and c["file"] == str(out / "result.json")
            and c["of"] == SUM}
    assert sorted(bits.values()) == ["FAIL", "PASS", "PASS"] and bits[found.result["team"][2]["uuid"]] == "FAIL"
    # The files that were merged can still be judged by name.
    assert len(accept(tmp_path, out / "together")["files"]) == 3


def test_what_a_lost_gpu_did_not_measure_is_said_and_the_other_is_measured(tmp_path, plain):
    done = roofmark(*ALL, "--out", tmp_path / "out", GPUMODEL_DEVICES="2", GPUMODEL_STICKY=f"{KERNEL}:5@1")
    assert done.returncode == 3, done.stderr
    found = Run(done, tmp_path / "out")
    assert found.counts() == plain.counts() and found.result["complete"]
    record = found.record(TRIAD)
    assert record["status"] == "ok" and record["measurement"]["ranks"][1] is None
    assert record["notes"]["rank 1"].startswith("cuda:1 failed: ") and "cudaErrorIllegalAddress" in record["notes"]["rank 1"]
    after = found.record("ceilings/fma/fp64", 2)
    assert after["measurement"]["ranks"][1] is None and after["notes"]["rank 1"] == f"cuda:1 not_run: device lost to {TRIAD}"
    missing, = found.findings("missing_result")
    assert missing["text"].startswith("rank 1 (") and missing["text"] in flat(done.stdout)
    verdict = found.result["verdict"]
    assert verdict["level"] == "bad" and re.search(r"\b1 failed, \d+ not run\b", verdict["headline"]), "as the exit status says"
    assert re.search(r"^cuda:1 +1\.0\d\d ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("launch", [1, 3])
def test_another_gpu_that_is_lost_in_a_transfer_is_named(launch, tmp_path):
    done = roofmark("run", "--case", "transfer/peer/int8/bytes:65536/from:1/to:0/impl:sm_write", "--out", tmp_path / "out", GPUMODEL_DEVICES="2",
                    GPUMODEL_MEMORY="64M", GPUMODEL_TOTAL="64M", GPUMODEL_STICKY=f"copy_range_kernel:{launch}@1")
    assert done.returncode == 3, done.stderr
    found = Run(done, tmp_path / "out")
    failed, = (entry for entry in found.entries if entry["roofmark"]["status"] not in ("ok", "not_run"))
    assert found.result["complete"] and failed["name"].startswith("transfer/peer/")
    assert failed["roofmark"]["status"] == "failed" and failed["roofmark"]["reason"].endswith("(cuda:1)")


def test_a_gpu_that_is_lost_under_a_load_that_lasts_leaves_the_others_measuring(tmp_path):
    # cuda:1 is lost in the second of its timed launches at the earliest; cuda:2 takes three times as long.
    out = tmp_path / "out"
    done = roofmark("run", "--device", "all", "--suite", "sustained", "--seconds", "1", "--filter", "/gemm/bf16", "--out", out, GPUMODEL_DEVICES="4",
                    GPUMODEL_MEMORY="64M", GPUMODEL_TOTAL="64M", GPUMODEL_STICKY="hash_kernel:6@1", GPUMODEL_SLOW="matmul:3@2")
    assert done.returncode == 3, done.stderr
    found = Run(done, out)
    [entry] = found.entries
    record = entry["roofmark"]
    assert found.result["complete"] and len(found.result["team"]) == 4 and record["status"] == "ok"
    ranks = record["measurement"]["ranks"]
    assert [rank is None for rank in ranks] == [False, True, False, False]
    assert all(rank["sustained"]["launches_checked"] >= 5 for rank in ranks if rank), "one per block, after the other was lost"
    assert record["notes"]["rank 1"].startswith("cuda:1 failed: ") and "cudaErrorIllegalAddress" in record["notes"]["rank 1"]
    missing, = found.findings("missing_result")
    assert not found.findings("slow_rank"), "one case is too few to call a rank slow"
    assert missing["text"].startswith("rank 1 (") and missing["text"] in flat(done.stdout)
    lost = reader.load(out / "together" / "cuda-1" / "result.json")[0]
    assert lost["complete"] and [one["roofmark"]["status"] for one in lost["unmeasured"]] == ["failed"]
    page = report_of(found, tmp_path)
    assert "Sustained load" in page and "cudaErrorIllegalAddress" in page


def test_a_process_that_is_killed_leaves_what_it_recorded(tmp_path):
    out = tmp_path / "out"
    journal = out / "together" / "cuda-1" / "result.jsonl"
    with subprocess.Popen([ROOFMARK, *ALL, "--out", out, "--benchmark_format=json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment({"GPUMODEL_DEVICES": "2"})) as process:
        deadline = time.monotonic() + 240
        while not (journal.exists() and journal.read_text().count("\n") > 5):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        killed, = (int(pid) for pid in children if str(journal.parent) in Path(f"/proc/{pid}/cmdline").read_text())
        os.kill(killed, signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=240)
    assert process.returncode == 3, stderr
    result = reader.load(out / "result.json")[0]
    assert not result["complete"] and [member["pid"] == killed for member in result["team"]] == [False, True]
    missing, = (finding["text"] for finding in result["findings"] if finding["kind"] == "missing_result")
    assert missing.startswith("rank 1 (") and "the process ended: signal 9 (Killed)" in missing
    record = next(entry["roofmark"] for entry in result["benchmarks"] if entry["name"] == TRIAD)
    assert record["measurement"]["ranks"][0] and not record["measurement"]["ranks"][1]
    # stdout has the merged run in the format that was asked for, and nothing else.
    assert [entry["name"] for entry in json.loads(stdout)["benchmarks"]]
    assert "cuda:0, cuda:1 at once" in stderr


REDUCED = "all_reduce/fp32/bytes:32768/ranks:2/op:sum/place:out/impl:nccl"


@pytest.fixture(scope="module")
def two_gpus(tmp_path_factory):
    """The all-reduce over both GPUs of the process, with these planted faults."""

    def measure(*arguments, **gpu):
        return run_to(tmp_path_factory.mktemp("two_gpus") / "out", *arguments, cases=f"^{REDUCED}$", GPUMODEL_DEVICES="2", **gpu)

    return measure


def test_the_gpus_of_a_process_reduce_together_under_the_roof_of_their_links(two_gpus):
    found = two_gpus()
    assert found.status == 0, found.stderr
    roof = found.roofs()["nvlink"]
    assert roof["theoretical"] > roof["empirical"] > 0
    probe = found.record(roof["first_by"])
    assert probe["family"] == "ceilings" and probe["message"]["ranks"] == 2
    record = found.record(REDUCED)
    assert record["verification"]["before"]["status"] == record["verification"]["after"]["status"] == "passed"
    assert {"of_empirical", "of_theoretical"} <= set(record["placement"])
    assert [demand["resource"] for phase in record["work"]["phases"] for demand in phase] == ["nvlink"]
    assert record["notes"]["library"] == "NCCL 2.28.9" and record["notes"]["transport"] == "P2P/CUMEM"
    assert found.result["libraries"]["NCCL"]["version"] == "2.28.9"
    assert "team" not in found.result
    assert "NVLink" in found.stdout and "NVLink" in report_of(found, found.out)


def test_nccl_whose_calls_are_not_to_block_is_used_as_always(two_gpus):
    found = two_gpus(NCCL_COMM_BLOCKING="0")
    assert found.status == 0 and found.record(REDUCED)["status"] == "ok", found.stderr


def test_a_wrong_bit_on_the_second_gpu_of_a_process_is_named(two_gpus):
    found = two_gpus(GPUMODEL_NCCL_FAULT="rank=1 call=all_reduce bytes=32768 do=flip")
    assert found.status == 1
    record = found.record(REDUCED)
    assert record["status"] == "wrong"
    assert re.search(r"\(cuda:1: 1 of 8192 elements are wrong; element 0 of its output is \S+, expected \S+\)$",
                     record["reason"])


def test_cases_over_several_gpus_are_listed_on_the_first_and_can_be_left_out():
    def families(device, *arguments):
        done = roofmark("list", "--device", device, "--suite", "quick", "--json", *arguments, GPUMODEL_DEVICES="2")
        assert done.returncode == 0, done.stderr
        return {name.split("/fp32")[0] for name in (case["name"] for case in json.loads(done.stdout))}

    links = {"all_reduce", "ceilings/nvlink"}
    assert links <= families("cuda:0")
    for words in (["cuda:1"], ["cuda:0", "--only-device"]):
        assert not links & families(*words)


def test_eight_gpus_list_every_ordered_pair_once():
    done = roofmark("list", "--device", "cuda:0", "--suite", "baseline", "--json", "--filter", "^transfer/peer/int8/bytes:268435456/.*read/cache:warm$",
                    GPUMODEL_DEVICES="8", GPUMODEL_MEMORY="16M", GPUMODEL_TOTAL="16M")
    assert done.returncode == 0, done.stderr
    pairs = [re.search("from:(.)/to:(.)/", case["name"]).groups() for case in json.loads(done.stdout)
             if case["name"].startswith("transfer/") and "/access:on/impl:copy_engine_read/cache:warm" in case["name"]]
    assert len(pairs) == len(set(pairs)) == 56
    assert all(start != end for start, end in pairs)
