# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/compare_torch_mm on canned results, with a PyTorch that only counts."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SCRIPT = SCRIPTS / "compare_torch_mm"


def load_script():
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(SCRIPTS))
    loader = importlib.machinery.SourceFileLoader("compare_torch_mm", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


compare = load_script()

# Each launch takes 0.5 ms by its events, which count the launches captured.
FAKE_TORCH = """
import sys
from unittest.mock import MagicMock
torch = MagicMock()
torch.cuda.is_available.return_value = {available}
torch.cuda.get_device_properties.return_value.L2_cache_size = 50 << 20
captured = [0]
launched = [0]
def mm(*operands, out):
    captured[-1] += 1
torch.mm = mm
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
sys.modules["torch"] = torch
"""


def name(dtype, m, n, k, algo="tuned", layout="tn", cache="cold"):
    return f"gemm/cublaslt/{dtype}/m:{m}/n:{n}/k:{k}/layout:{layout}/algo:{algo}/cache:{cache}"


def record(case, median):
    return {"name": case, "roofmark": {"measurement": {"median": median, "minimum": median / 2}}}


def test_names_of_products_that_torch_has():
    assert compare.parse_name(name("bf16", 1, 22, 333)) == ("bf16", 1, 22, 333)
    for other in (name("fp8", 16, 16, 16), name("int8", 16, 16, 16), name("bf16", 16, 16, 16, algo="default"),
                  name("bf16", 16, 16, 16, layout="nn"), name("bf16", 16, 16, 16, cache="warm"),
                  "stream/triad/fp64/bytes:1024/cache:warm", "x" + name("bf16", 16, 16, 16)):
        assert compare.parse_name(other) is None


def test_the_default_filter_takes_the_bf16_squares():
    names = [name("bf16", 4096, 4096, 4096), name("bf16", 4096, 1024, 4096), name("fp16", 4096, 4096, 4096),
             name("bf16", 4096, 4096, 4096, algo="default"), name("bf16", 4095, 4095, 4095)]
    assert compare.choose(names, compare.DEFAULT_FILTER) == names[:1]
    with pytest.raises(compare.CannotCompare):
        compare.choose(names[3:4], "bf16")


def test_copies_exceed_four_times_the_cache():
    shape = ("fp32", 1000, 1000, 1000)  # 12e6 bytes
    assert compare.slots_for(shape, 12_000_000) == 5
    assert compare.slots_for(shape, 2_999_999) == 1
    assert compare.launches_for(1.0, 5) == 5
    assert compare.launches_for(10e-6, 3) == 10


def test_roofmark_seconds_are_those_of_the_case_or_its_reason():
    case = name("bf16", 8, 8, 8)
    result = {"benchmarks": [record(name("bf16", 8, 8, 80), 9.0), record(case, 0.25)],
              "unmeasured": [{"name": name("fp16", 8, 8, 8), "roofmark": {"reason": "out of memory"}}]}
    assert compare.measurement(result, case)["median"] == 0.25
    with pytest.raises(compare.CannotCompare, match="out of memory"):
        compare.measurement(result, name("fp16", 8, 8, 8))


def test_a_row_gives_rates_and_how_many_times_faster():
    line, ratio, upper = compare.row(name("bf16", 1000, 1000, 1000), [4e-3, 4e-3], [2e-3, 2e-3])
    assert line.split() == ["bf16", "1000", "1000", "1000", "0.50", "1.00", "2.000", "2.000", "..", "2.000"]
    assert (ratio, upper) == (pytest.approx(2), pytest.approx(2))


def test_the_summary_counts_the_shapes_that_fall_short():
    fine, slow, surely_slower = ("", 0.99, 1.001), ("", 0.97, 1.1), ("", 0.995, 0.999)
    assert "no shape falls short" in compare.summary([fine])
    assert "2 of 3 shapes fall short" in compare.summary([fine, slow, surely_slower])


@pytest.fixture(name="stage")
def fixture_stage(tmp_path):
    """A roofmark that plays back, and a way to run the script with a given torch module."""
    cases = [name("bf16", 1024, 1024, 1024), name("bf16", 2048, 2048, 2048)]
    (tmp_path / "list.json").write_text(json.dumps([{"name": case} for case in cases]), encoding="utf-8")
    result = {"benchmarks": [record(case, 0.25e-3) for case in cases]}
    (tmp_path / "result.json").write_text(json.dumps(result), encoding="utf-8")
    roofmark = tmp_path / "roofmark"
    roofmark.write_text(f"""#!/bin/sh
echo "$*" >> "{tmp_path}/log"
if [ "$1" = list ]; then cat "{tmp_path}/list.json"; exit 0; fi
while [ "$1" != --out ]; do shift; done
cp "{tmp_path}/result.json" "$2/"
""", encoding="utf-8")
    roofmark.chmod(0o755)

    def run(torch, *arguments):
        (tmp_path / "torch.py").write_text(torch, encoding="utf-8")
        environment = dict(os.environ, PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1")
        return subprocess.run([sys.executable, str(SCRIPT), *arguments, str(roofmark)], capture_output=True, text=True,
                              check=False, env=environment)

    return run, tmp_path / "log"


def test_the_whole_script_takes_turns_shape_by_shape(stage):
    run, log = stage
    done = run(FAKE_TORCH.format(available=True), "--rounds", "2", "--seconds", "0.01")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    for line, size in zip(lines[1:3], (1024, 2048)):
        assert line.split()[:4] == ["bf16"] + [str(size)] * 3
        assert line.split()[6:] == ["2.000", "2.000", "..", "2.000"]
    calls = log.read_text(encoding="utf-8").splitlines()
    assert calls[0].startswith("list --suite full --device cuda:0")
    assert [f"m:{size}" in call for call, size in zip(calls[1:], (1024, 1024, 2048, 2048))] == [True] * 4


@pytest.mark.parametrize("torch, words", [("raise ImportError('nothing here')", "no PyTorch"),
                                          (FAKE_TORCH.format(available=False), "no GPU")])
def test_without_pytorch_or_a_gpu_it_says_so_and_ends_with_3(stage, torch, words):
    run, log = stage
    done = run(torch)
    assert done.returncode == 3
    assert words in done.stderr
    assert not log.exists()


def test_bad_arguments_end_with_2(stage):
    run, _ = stage
    for arguments in (("--rounds", "0"), ("--device", "cpu"), ("--filter", "(")):
        assert run("", *arguments).returncode == 2
