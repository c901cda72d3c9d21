# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/peers/compare_version_1: names of version 1 are found again, and what a later version lost is named."""
import copy
import json

import pytest
from peer_programs import load, run_script

compare = load("compare_version_1")


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


def record(name, amount=64.0):
    return {"name": name, "roofmark": {
        "status": "ok",
        "work": {"phases": [[{"resource": "dram", "unit": "B", "amount": amount}]]},
        "measurement": {"median": 1.0, "cv": 0.1},
        "placement": {"bound_by": "dram"},
        "verification": {"before": {"status": "passed"}}}}


OLD = {"schema_version": 1, "ceilings": [{"resource": "dram"}], "comparisons": [],
       "benchmarks": [record("gemv/blas/fp32/m:8/k:8/cache:cold")]}
NEW = {"schema_version": 2, "ceilings": [{"resource": "dram"}, {"resource": "l2"}], "comparisons": [],
       "benchmarks": [record("gemv/fp32/m:8/k:8/impl:blas/cache:cold"), record("argmax/fp32/rows:8")]}


def lose_case(result):
    del result["benchmarks"][0]


def change_amount(result):
    result["benchmarks"][0]["roofmark"]["work"]["phases"][0][0]["amount"] = 65.0


def lose_statistic(result):
    del result["benchmarks"][0]["roofmark"]["measurement"]["cv"]


def lose_verification(result):
    del result["benchmarks"][0]["roofmark"]["verification"]["before"]


def lose_ceiling(result):
    del result["ceilings"][0]


@pytest.mark.parametrize("damage, sentence", [
    (None, "0 differences"),
    (lose_case, "gemv/fp32/m:8/k:8/impl:blas/cache:cold: not in version 2"),
    (change_amount, "work: "),
    (lose_statistic, "measurement.cv: not in version 2"),
    (lose_verification, "verification before timing: passed in version 1 alone"),
    (lose_ceiling, "ceiling dram: not in version 2"),
])
def test_what_version_2_lost_is_named(tmp_path, damage, sentence):
    new = copy.deepcopy(NEW)
    if damage:
        damage(new)
    for name, result in (("old.json", OLD), ("new.json", new)):
        (tmp_path / name).write_text(json.dumps(result))
    run = run_script("compare_version_1", tmp_path / "old.json", tmp_path / "new.json")
    assert sentence in run.stdout, run.stdout + run.stderr
    assert run.returncode == (1 if damage else 0)


def test_a_file_of_the_wrong_version_is_a_usage_error(tmp_path):
    (tmp_path / "new.json").write_text(json.dumps(NEW))
    run = run_script("compare_version_1", tmp_path / "new.json", tmp_path / "new.json")
    assert run.returncode == 2
    assert "schema_version 2, not 1" in run.stderr
