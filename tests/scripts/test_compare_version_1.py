# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/peers/compare_version_1 finds names of version 1 again, and names what a later version lost. The program has the
cases, counts, ceilings, statistics and comparisons of version 1 still."""
import copy
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from peer_programs import load, run_script

compare = load("compare_version_1")
ROOFMARK = os.environ.get("ROOFMARK")
# Of version 1's quick suite on a CPU; "of" in it says how.
VERSION_1 = json.loads((Path(__file__).parent / "version_1_quick_cpu.json").read_text(encoding="utf-8"))
needs_program = pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")


@pytest.mark.parametrize("old, new", [
    ("ceilings/fma/fp64/cores:all", "ceilings/fma/fp64/cores:all"),
    ("ceilings/dram_copy/fp32/bytes:8/cache:cold", "ceilings/dram_copy/fp32/bytes:8/impl:own/cache:cold"),
    ("stream/memset/fp64/bytes:8/cache:warm", "stream/write/fp64/bytes:8/impl:memset/cache:warm"),
    ("stream/triad/fp64/bytes:8/cache:warm", "stream/triad/fp64/bytes:8/impl:own/cache:warm"),
    ("gemm/blas/fp64/m:8/n:8/k:8/layout:tn/algo:default/cache:cold",
     "gemm/fp64/m:8/n:8/k:8/impl:blas/layout:tn/algo:default/cache:cold"),
    ("attention/naive/fp32/batch:1/mask:none/cache:cold", "attention/fp32/batch:1/mask:none/impl:naive/cache:cold"),
    ("reductions/softmax/fp32/rows:8/columns:8/cache:cold", "reductions/softmax/fp32/rows:8/columns:8/impl:own/cache:cold"),
])
def test_the_implementation_is_a_key_of_version_2(old, new):
    assert compare.version_2_name(old) == new


def record(name, amount=64.0, status="ok", **more):
    return {"name": name, "roofmark": {
        "status": status, "pass": 1, "type": "fp32", "shape": {"m": "8"}, "memory_bytes": 700,
        "work": {"phases": [[{"resource": "dram", "unit": "B", "amount": amount}]]}, **more}}


def measured(name, **more):
    return record(name, measurement={"median": 1.0, "cv": 0.1, "cache": "cold", "slots": 4,
                                      "samples": {"seconds": [1.0], "start": [0.0]}},
                  placement={"bound_by": "dram"}, verification={"before": {"status": "passed", "bound": 2.0}}, **more)


OLD_NAME, NEW_NAME = "gemv/blas/fp32/m:8/k:8/cache:cold", "gemv/fp32/m:8/k:8/impl:blas/cache:cold"
OLD_OTHER, NEW_OTHER = "gemv/own/fp32/m:8/k:8/cache:cold", "gemv/fp32/m:8/k:8/impl:own/cache:cold"
DRAM = {"resource": "dram", "unit": "B", "theoretical": 100.0, "first": 80.0, "last": 81.0}
OLD = {"schema_version": 1, "suite": "quick", "ceilings": [DRAM],
       "comparisons": [{"numerator": OLD_OTHER, "denominator": OLD_NAME, "ratio": 1.0}],
       "benchmarks": [measured(OLD_NAME, raises="dram"), measured(OLD_OTHER)],
       "unmeasured": [record("gemv/own/fp8/m:8/k:8/cache:cold", status="unsupported")]}
NEW = {"schema_version": 2, "suite": "quick", "verdict": {}, "ceilings": [DRAM, {"resource": "l2", "unit": "B"}],
       "comparisons": [{"numerator": NEW_OTHER, "denominator": NEW_NAME, "ratio": 1.0, "key": "impl"}],
       "benchmarks": [measured(NEW_NAME, sets_ceiling={"resource": "dram", "by": "rate"}), measured(NEW_OTHER), record("argmax/fp32/rows:8")],
       "unmeasured": [record("gemv/fp8/m:8/k:8/impl:own/cache:cold", status="unsupported")]}


def change(result, path, value=None):
    """Sets what is at the path, or deletes it."""
    *folders, last = path
    for key in folders:
        result = result[key]
    if value is None:
        del result[last]
    else:
        result[last] = value


FIRST = ("benchmarks", 0, "roofmark")


@pytest.mark.parametrize("path, value, sentence", [
    (("schema_version",), 2, "0 differences"),
    ((*FIRST, "memory_bytes"), 768, "0 differences"),
    (("benchmarks", 0), None, f"{NEW_NAME}, pass 1: not in version 2"),
    (("unmeasured", 0), None, "gemv/fp8/m:8/k:8/impl:own/cache:cold, pass 1: not in version 2"),
    ((*FIRST, "pass"), 2, f"{NEW_NAME}, pass 1: not in version 2"),
    ((*FIRST, "work", "phases", 0, 0, "amount"), 65.0, "work: "),
    ((*FIRST, "work", "phases"), [[{"resource": level, "unit": "B", "amount": 32.0} for level in ("l3", "dram")]], "0 differences"),
    ((*FIRST, "work", "phases"),
     [[{"resource": what, "unit": unit, "amount": 9.0} for what, unit in (("l3", "B"), ("dram", "B"), ("exp", "exp"))]], "work: "),
    ((*FIRST, "status"), "failed", "status: ok in version 1, failed in version 2"),
    (("unmeasured", 0, "roofmark", "status"), "failed", "status: unsupported in version 1, failed in version 2"),
    ((*FIRST, "sets_ceiling"), None, "ceiling set: dram in version 1, None in version 2"),
    ((*FIRST, "type"), "fp16", "type: fp32 in version 1"),
    ((*FIRST, "shape", "m"), "9", "shape.m: 8 in version 1, 9 in version 2"),
    ((*FIRST, "memory_bytes"), 600, "memory_bytes: 700 in version 1, 600 in version 2"),
    ((*FIRST, "memory_bytes"), 1100, "memory_bytes: 700 in version 1, 1100 in version 2"),
    ((*FIRST, "measurement", "cv"), None, "measurement.cv: not in version 2"),
    ((*FIRST, "measurement", "samples", "start"), None, "measurement.samples.start: not in version 2"),
    ((*FIRST, "measurement", "cache"), "warm", "measurement.cache: cold in version 1, warm in version 2"),
    ((*FIRST, "measurement"), None, "measurement: not in version 2"),
    ((*FIRST, "placement", "bound_by"), None, "placement.bound_by: not in version 2"),
    ((*FIRST, "verification", "before"), None, "verification before timing: passed in version 1, None in version 2"),
    ((*FIRST, "verification", "before", "bound"), 3.0, "error bound before timing: 2.0 in version 1, 3.0 in version 2"),
    (("ceilings", 0), None, "ceiling dram: not in version 2"),
    (("ceilings", 0, "last"), None, "ceiling dram: last: not in version 2"),
    (("ceilings", 0, "theoretical"), 110.0, "ceiling dram: theoretical: 100.0 in version 1, 110.0 in version 2"),
    (("comparisons", 0), None, f"comparison of {NEW_OTHER} with {NEW_NAME}: not in version 2"),
    (("comparisons", 0, "denominator"), NEW_OTHER, f"comparison of {NEW_OTHER} with {NEW_NAME}: not in version 2"),
    (("comparisons", 0, "ratio"), None, "ratio: not in version 2"),
    (("suite",), None, "suite: not in version 2"),
])
def test_what_version_2_lost_is_named(tmp_path, path, value, sentence):
    new = copy.deepcopy(NEW)
    change(new, path, value)
    for name, result in (("old.json", OLD), ("new.json", new)):
        (tmp_path / name).write_text(json.dumps(result))
    run = run_script("compare_version_1", tmp_path / "old.json", tmp_path / "new.json")
    assert sentence in run.stdout, run.stdout + run.stderr
    assert run.returncode == (0 if sentence == "0 differences" else 1)


def any_machine(name):
    """A name without what depends on the machine: the bytes of ceilings and streams."""
    return re.sub("/bytes:[0-9]+", "", name) if name.startswith(("ceilings/", "stream/")) else name


def roofmark(*arguments):
    done = subprocess.run([ROOFMARK, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_program
def test_the_program_has_each_case_of_version_1_with_the_same_work():
    caches = {level["name"] for level in json.loads(roofmark("info", "--device", "cpu", "--json"))["device"]["caches"]}
    listed = {}
    for case in json.loads(roofmark("list", "--suite", "quick", "--device", "cpu", "--json")):
        size = re.search("/bytes:([0-9]+)", case["name"])
        listed.setdefault(any_machine(case["name"]), []).append((size and int(size[1]), compare.amounts(case["work"])))
    for old_name, expected in VERSION_1["cases"].items():
        name, family = compare.version_2_name(old_name), old_name.split("/")[0]
        level = re.search("level:(l[0-9])", name)
        if level and level[1] not in caches:
            continue
        assert name in listed
        for size, phases in listed[name]:
            assert len(phases) == 1, name
            work = {resource: amount for resource, _, amount, _ in phases[0]}
            if family == "ceilings":
                work = dict.fromkeys(work, "raised")
            elif family == "stream":
                # Of arrays of whole elements.
                work = {resource: amount / size for resource, unit, amount, _ in phases[0] if unit != "B"}
            assert work == (pytest.approx(expected, rel=1e-3) if family == "stream" else expected), name


@pytest.fixture(scope="module")
def attention_run(tmp_path_factory):
    """A short run of the two cases of a comparison, beside the ceilings. DRAM's probes do not fit in its share of the memory on
    most machines."""
    out = tmp_path_factory.mktemp("version_2") / "out"
    roofmark("run", "--suite", "quick", "--device", "cpu", "--filter", "^(attention|ceilings)/", "--max-seconds", "0.005",
             "--memory-fraction", "0.004", "--out", out)
    return json.loads((out / "result.json").read_text())


@needs_program
def test_the_program_has_the_statistics_ceilings_and_comparisons_of_version_1(attention_run):
    measured_names = set()
    for entry in attention_run["benchmarks"]:
        record_ = entry["roofmark"]
        measured_names.add(any_machine(entry["name"]))
        assert not set(VERSION_1["measurement"]) - compare.OF_MANY_SAMPLES - set(record_["measurement"])
        assert not set(VERSION_1["samples"]) - set(record_["measurement"]["samples"])
        if record_["family"] == "ceilings":  # attention has no ceiling of DRAM to be placed under
            assert {"t_min_seconds", "bound_by", "of_empirical"} <= set(record_["placement"])
        assert not set(VERSION_1["verification"]) - set(record_["verification"])
    ceilings = {ceiling["resource"]: ceiling for ceiling in attention_run["ceilings"]}
    raised = {resource for name, work in VERSION_1["cases"].items() if work and compare.version_2_name(name) in measured_names
              for resource, what in work.items() if what == "raised"}
    assert {"fp32_fma", "fp64_fma", "l1"} <= raised
    for resource in raised:
        assert not set(VERSION_1["ceiling"]) - set(ceilings[resource]), resource
    pairs = {tuple(map(compare.version_2_name, pair)) for pair in VERSION_1["comparisons"]}
    made = {(one["numerator"], one["denominator"]) for one in attention_run["comparisons"]}
    assert {pair for pair in pairs if set(pair) <= measured_names} == made and made


def test_the_schema_has_the_statistics_of_version_1():
    """Those too that take more samples than a short run has."""
    schema = json.loads((Path(__file__).parents[2] / "results/schema.json").read_text(encoding="utf-8"))["$defs"]
    for part in ("measurement", "placement", "ceiling"):
        assert not set(VERSION_1[part]) - set(schema[part]["properties"])


def test_a_file_of_the_wrong_version_is_a_usage_error(tmp_path):
    (tmp_path / "new.json").write_text(json.dumps(NEW))
    run = run_script("compare_version_1", tmp_path / "new.json", tmp_path / "new.json")
    assert run.returncode == 2
    assert "schema_version 2, not 1" in run.stderr
    for text in ("", "[1]", "{}"):
        (tmp_path / "new.json").write_text(text)
        run = run_script("compare_version_1", tmp_path / "new.json", tmp_path / "new.json")
        assert run.returncode == 2 and run.stderr.startswith("compare_version_1: ") and run.stderr.count("\n") == 1
