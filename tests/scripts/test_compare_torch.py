# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/peers/compare_torch on canned results, with a PyTorch that only counts."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts/peers"
SCRIPT = SCRIPTS / "compare_torch"


def load_script():
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(SCRIPTS))
    loader = importlib.machinery.SourceFileLoader("compare_torch", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


compare = load_script()

# Each launch takes 0.5 ms by its events, which count the launches captured. `cannot` is the backend of attention that fails.
FAKE_TORCH = """
import sys
from unittest.mock import MagicMock
torch = MagicMock()
torch.__version__ = {version!r}
torch.backends.cudnn.version.return_value = 91900
torch.cuda.get_device_name.return_value = "NVIDIA H200"
torch.cuda.is_available.return_value = {available}
torch.cuda.get_device_properties.return_value.L2_cache_size = 50 << 20
captured = [0]
launched = [0]
def operation(*operands, **how):
    captured[-1] += 1
torch.mm = torch.softmax = operation
torch.nn.functional.rms_norm = torch.nn.functional.scaled_dot_product_attention = operation
torch.compile = lambda function, **how: function
class Graph:
    def replay(self):
        launched[0] = captured[-1]
torch.cuda.CUDAGraph = Graph
class Capture:
    def __init__(self, graph, stream):
        captured.append(0)
    def __enter__(self):
        pass
    def __exit__(self, *reason):
        pass
torch.cuda.graph = Capture
torch.cuda.Event.return_value.elapsed_time = lambda end: 0.5 * launched[0]
def sdpa_kernel(backend):
    if backend is getattr(torch.nn.attention.SDPBackend, "{cannot}"):
        raise RuntimeError("No available kernel.\\nAborting execution.")
    return MagicMock()
torch.nn.attention.sdpa_kernel = sdpa_kernel
sys.modules["torch"] = torch
sys.modules["torch.nn.attention"] = torch.nn.attention
"""


def fake_torch(available=True, version="2.9.1+cu130", cannot="NONE"):
    return FAKE_TORCH.format(available=available, version=version, cannot=cannot)


def product(dtype, m, n, k, algo="tuned", layout="tn", cache="cold"):
    return f"gemm/{dtype}/m:{m}/n:{n}/k:{k}/impl:cublaslt/layout:{layout}/algo:{algo}/cache:{cache}"


def attention(impl, length, mask="none", keys=None, kv_heads=8, d=128, dtype="bf16", cache="cold"):
    return (f"attention/{dtype}/batch:1/heads:64/kv_heads:{kv_heads}/queries:{length}/keys:{keys or length}/d:{d}"
            f"/mask:{mask}/impl:{impl}/cache:{cache}")


def rows(op, count, columns, dtype="bf16", cache="cold"):
    return f"reductions/{op}/{dtype}/rows:{count}/columns:{columns}/impl:own/cache:{cache}"


def record(case, median):
    return {"name": case, "roofmark": {"measurement": {"median": median, "minimum": median / 2}}}


def unmeasured(case, status, reason="a reason"):
    return {"name": case, "roofmark": {"status": status, "reason": reason}}


def case_of(name):
    subject = next(subject for subject in compare.SUBJECTS.values() if subject.NAME.fullmatch(name))
    return compare.choose(subject, [name], "")[0]


@pytest.mark.parametrize("subject, takes, passes_over", [
    ("mm", [product("bf16", 1, 22, 333), product("tf32", 8, 8, 8)],
     [product("fp8", 16, 16, 16), product("int8", 16, 16, 16), product("bf16", 16, 16, 16, algo="default"),
      product("bf16", 16, 16, 16, layout="nn"), product("bf16", 16, 16, 16, cache="warm"), "x" + product("bf16", 16, 16, 16)]),
    ("attention", [attention("tiled_mma", 512), attention("tiled_wgmma", 512, "causal", dtype="fp16")],
     [attention("naive", 512), attention("cudnn", 512), attention("tiled_mma", 512, keys=1024),
      attention("tiled_mma", 512, cache="warm"), attention("tiled", 512, dtype="fp32")]),
    ("softmax", [rows("softmax", 3, 5), rows("softmax", 3, 5, "fp32")],
     [rows("rms_norm", 3, 5), rows("softmax", 3, 5, cache="warm")]),
    ("rms_norm", [rows("rms_norm", 3, 5)], [rows("residual_rms_norm", 3, 5), rows("layer_norm", 3, 5)]),
])
def test_the_cases_that_pytorch_has_are_chosen(subject, takes, passes_over):
    subject = compare.SUBJECTS[subject]
    chosen = compare.choose(subject, passes_over + takes, "")
    assert [case.names for case in chosen] == [[name] for name in takes]
    with pytest.raises(compare.CannotCompare):
        compare.choose(subject, passes_over, "")


@pytest.mark.parametrize("subject, names, count", [
    ("mm", [product("bf16", 4096, 4096, 4096), product("bf16", 4096, 1024, 4096), product("fp16", 4096, 4096, 4096)], 1),
    ("attention", [attention("tiled_mma", 4096), attention("tiled_mma", 4096, "causal"), attention("tiled_mma", 4096, d=64),
                   attention("tiled_mma", 4096, kv_heads=64), attention("tiled_mma", 65536)], 2),
    ("softmax", [rows("softmax", 8192, 8192), rows("softmax", 8192, 8191), rows("softmax", 8192, 8192, "fp32")], 1),
])
def test_the_default_filters_take_the_headlines(subject, names, count):
    chosen = compare.choose(compare.SUBJECTS[subject], names, compare.SUBJECTS[subject].FILTER)
    assert [case.names[0] for case in chosen] == names[:count]


def test_ways_to_a_shape_are_one_case_and_the_fastest_counts():
    mma, wgmma = attention("tiled_mma", 1024), attention("tiled_wgmma", 1024)
    cases = compare.choose(compare.Attention, [mma, attention("tiled_mma", 2048), wgmma], "")
    assert [case.names for case in cases] == [[mma, wgmma], [attention("tiled_mma", 2048)]]
    both = {"benchmarks": [record(mma, 3.0), record(wgmma, 2.0)], "unmeasured": []}
    assert compare.best_median(both, [mma, wgmma]) == 2
    older = {"benchmarks": [record(mma, 3.0)], "unmeasured": [unmeasured(wgmma, "unsupported")]}
    assert compare.best_median(older, [mma, wgmma]) == 3
    broken = {"benchmarks": [record(mma, 3.0)], "unmeasured": [unmeasured(wgmma, "wrong", "off by one")]}
    with pytest.raises(compare.CannotCompare, match="off by one"):
        compare.best_median(broken, [mma, wgmma])
    neither = {"benchmarks": [], "unmeasured": [unmeasured(mma, "unsupported", "too old"), unmeasured(wgmma, "unsupported")]}
    with pytest.raises(compare.CannotCompare, match="too old"):
        compare.best_median(neither, [mma, wgmma])


def test_work_and_bytes_are_the_operations():
    assert case_of(product("fp32", 10, 20, 30)).work() == 2 * 10 * 20 * 30
    assert case_of(product("fp32", 10, 20, 30)).bytes() == 4 * (10 * 30 + 30 * 20 + 10 * 20)
    assert case_of(attention("tiled_mma", 4)).work() == 64 * 128 * 4 * 16
    assert case_of(attention("tiled_mma", 4, "causal")).work() == 64 * 128 * 4 * 10
    assert case_of(attention("tiled_mma", 4)).bytes() == 2 * 2 * 4 * (64 + 8) * 128
    assert case_of(rows("softmax", 7, 11)).work() == 2 * 2 * 7 * 11
    assert case_of(rows("rms_norm", 7, 11, "fp32")).work() == 4 * (2 * 7 * 11 + 11)


def test_copies_exceed_four_times_the_cache():
    assert compare.slots_for(12_000_000, 12_000_000) == 5
    assert compare.slots_for(12_000_000, 2_999_999) == 1
    assert compare.launches_for(1.0, 5) == 5
    assert compare.launches_for(10e-6, 3) == 100


def test_a_row_gives_rates_and_how_many_times_faster():
    line, ratio, upper = compare.row(case_of(product("bf16", 1000, 1000, 1000)), "torch.mm", 6 * [4e-3], 6 * [2e-3])
    assert line.split() == ["bf16/m:1000/n:1000/k:1000", "torch.mm", "0.50", "1.00", "2.000", "2.000", "..", "2.000"]
    assert (ratio, upper) == (pytest.approx(2), pytest.approx(2))
    line, _, _ = compare.row(case_of(rows("softmax", 1000, 1000)), "torch.compile", [4e-6], [2e-6])
    assert line.split()[2:4] == ["1000.00", "2000.00"]


def test_the_summary_counts_the_shapes_that_fall_short():
    fine, slow, surely_slower = ("", 0.99, 1.001), ("", 0.97, 1.1), ("", 0.995, 0.999)
    assert compare.summary("torch.mm", [fine]).startswith("torch.mm: geometric mean 0.990; roofmark is slower on no shape")
    assert "slower on 2 of 3 shapes" in compare.summary("torch.mm", [fine, slow, surely_slower])


@pytest.fixture(name="stage")
def fixture_stage(tmp_path):
    """A roofmark that plays back, and a way to run the script with a given torch module."""
    def run(torch, *arguments, measured=(), lacking=()):
        names = [entry["name"] for entry in (*measured, *lacking)]
        (tmp_path / "list.json").write_text(json.dumps([{"name": name} for name in names]), encoding="utf-8")
        result = {"benchmarks": list(measured), "unmeasured": list(lacking)}
        (tmp_path / "result.json").write_text(json.dumps(result), encoding="utf-8")
        roofmark = tmp_path / "roofmark"
        roofmark.write_text(f"""#!/bin/sh
echo "$*" >> "{tmp_path}/log"
if [ "$1" = list ]; then cat "{tmp_path}/list.json"; exit 0; fi
while [ "$1" != --out ]; do shift; done
cp "{tmp_path}/result.json" "$2/"
""", encoding="utf-8")
        roofmark.chmod(0o755)
        (tmp_path / "torch.py").write_text(torch, encoding="utf-8")
        environment = dict(os.environ, PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1")
        return subprocess.run([sys.executable, str(SCRIPT), "--rounds", "6", "--seconds", "0.01", *arguments, str(roofmark)],
                              capture_output=True, text=True, check=False, env=environment)

    return run, tmp_path / "log"


def test_the_whole_script_takes_turns(stage):
    run, log = stage
    names = [product("bf16", size, size, size) for size in (1024, 2048)]
    done = run(fake_torch(), "mm", measured=[record(name, 0.25e-3) for name in names])
    assert done.returncode == 0, done.stderr
    title, _, *lines, verdict = done.stdout.splitlines()
    assert title == "PyTorch 2.9.1+cu130, cuDNN 91900, NVIDIA H200; TFLOP/s"
    assert [line.split()[:2] for line in lines] == [[f"bf16/m:{size}/n:{size}/k:{size}", "torch.mm"] for size in (1024, 2048)]
    assert [line.split()[4:] for line in lines] == [["2.000", "2.000", "..", "2.000"]] * 2
    assert verdict.startswith("torch.mm: geometric mean 2.000; roofmark is slower on no shape")
    turns = [line.split(": ")[1].split(",")[0] for line in done.stderr.splitlines()]
    assert turns == ["torch.mm", "torch.mm", "roofmark"] * 6
    calls = log.read_text(encoding="utf-8").splitlines()
    assert calls[0].startswith("list --suite full --device cuda:0")
    assert [call.startswith("run --suite full --device cuda:0") for call in calls[1:]] == 6 * [True]
    assert all(call.endswith(f"--filter ^({names[0]}|{names[1]})$") for call in calls[1:])


@pytest.mark.parametrize("subject, name, ways", [
    ("attention", attention("tiled_wgmma", 1024, "causal"), ["SDPA flash", "SDPA cudnn"]),
    ("softmax", rows("softmax", 8192, 8192), ["torch.compile"]),
    ("rms_norm", rows("rms_norm", 8192, 8192), ["torch.compile"]),
])
def test_every_subject_is_compared_with_each_of_pytorchs_ways(stage, subject, name, ways):
    run, _ = stage
    done = run(fake_torch(), subject, measured=[record(name, 0.25e-3)])
    assert done.returncode == 0, done.stderr
    table, verdicts = done.stdout.splitlines()[2:2 + len(ways)], done.stdout.splitlines()[2 + len(ways):]
    for way, line, verdict in zip(ways, table, verdicts, strict=True):
        assert f" {way} " in line and " 2.000 " in line
        assert verdict.startswith(f"{way}: geometric mean 2.000")


def test_what_pytorch_cannot_do_is_said_and_the_rest_is_compared(stage):
    run, _ = stage
    name = attention("tiled_wgmma", 1024)
    done = run(fake_torch(cannot="CUDNN_ATTENTION"), "attention", measured=[record(name, 0.25e-3)])
    assert done.returncode == 3
    assert done.stderr.count("SDPA cudnn cannot run bf16/batch:1/heads:64/kv_heads:8/queries:1024/keys:1024/d:128/mask:none: "
                             "No available kernel.\n") == 1
    assert "SDPA flash: geometric mean 2.000" in done.stdout and "cudnn:" not in done.stdout


def test_what_roofmark_cannot_do_is_said_and_the_rest_is_compared(stage):
    run, _ = stage
    fine, broken = rows("softmax", 8192, 8192), rows("softmax", 16384, 4096)
    lacking = [unmeasured(broken, "failed", "out of memory")]
    done = run(fake_torch(), "softmax", measured=[record(fine, 0.25e-3)], lacking=lacking)
    assert done.returncode == 3
    assert "out of memory" in done.stderr
    assert "rows:8192/columns:8192" in done.stdout and "rows:16384" not in done.stdout
    alone = run(fake_torch(), "softmax", lacking=lacking)
    assert alone.returncode == 3
    assert "nothing could be compared" in alone.stderr and not alone.stdout


@pytest.mark.parametrize("torch, words", [("raise ImportError('nothing here')", "no PyTorch"),
                                          (fake_torch(version="2.4.1"), "older than 2.5"),
                                          (fake_torch(available=False), "no usable GPU")])
def test_without_pytorch_or_a_gpu_it_says_so_and_ends_with_3(stage, torch, words):
    run, log = stage
    done = run(torch, "mm")
    assert done.returncode == 3
    assert words in done.stderr
    assert not log.exists()


def test_bad_arguments_end_with_2(stage):
    run, _ = stage
    for arguments in (("--rounds", "0", "mm"), ("--device", "cpu", "mm"), ("--filter", "(", "mm"), ("nonsense",)):
        assert run("", *arguments).returncode == 2
