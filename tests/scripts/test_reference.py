# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The reference results: complete, without a wrong result, as the schema says, and named in the table beside them."""

import json
import lzma
import re
import statistics

import pytest
from conftest import need
from shell import ROOT

need("jsonschema")
import jsonschema  # noqa: E402

FOLDER = ROOT / "results/reference"
FILES = sorted(FOLDER.glob("*.json.xz"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_reference_result(path):
    result = json.loads(lzma.decompress(path.read_bytes()))
    jsonschema.validate(result, json.loads((ROOT / "results/schema.json").read_text(encoding="utf-8")))
    assert result["complete"] and not result["interrupted"]
    assert {entry["roofmark"]["status"] for entry in result["benchmarks"]} == {"ok"}
    assert {entry["roofmark"]["status"] for entry in result["unmeasured"]} <= {"unsupported"}
    assert result["device"]["id"] == "cuda:0"


def test_each_is_in_the_table():
    table = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert FILES and all(f"| `{path.name}` |" in table for path in FILES)


def throughput(seconds):
    """Launches per second without the slowest 1 %, as harness/model/sustained.hpp has it."""
    kept = sorted(seconds)[:len(seconds) - len(seconds) // 100]
    return len(kept) / sum(kept)


def settled_of_burst(record):
    samples = list(zip(record["measurement"]["samples"]["start"], record["measurement"]["samples"]["seconds"], strict=True))
    begin, end = samples[0][0], sum(samples[-1])
    burst = [seconds for start, seconds in samples if start < begin + min(1, (end - begin) / 4)]
    settled = [seconds for start, seconds in samples if start >= begin + (end - begin) * 3 / 4]
    return throughput(settled) / throughput(burst)


@pytest.mark.parametrize("gpu, shares", [("h200", "0.998 (bf16), 1.001 (fp64), 0.993 (triad) and 1.000 (both)"), ("h100", "0.995, 0.991, 0.997 and 1.003")])
def test_the_shares_by_throughput_are_those_of_the_samples(gpu, shares):
    table = " ".join((FOLDER / "README.md").read_text(encoding="utf-8").split())
    result = json.loads(lzma.decompress((FOLDER / f"{gpu}_sxm_sustained.json.xz").read_bytes()))
    found = [f"{settled_of_burst(entry['roofmark']):.3f}" for entry in result["benchmarks"] if "sustained" in entry["roofmark"]]
    assert shares in table and found == re.findall(r"\d\.\d{3}", shares)


def test_every_second_of_the_h200_is_within_a_percent_of_the_median():
    """As the rule on dips in results/profiles/datacenter.toml says."""
    result = json.loads(lzma.decompress((FOLDER / "h200_sxm_sustained.json.xz").read_bytes()))
    for record in (entry["roofmark"] for entry in result["benchmarks"] if "sustained" in entry["roofmark"]):
        seconds = {}
        samples = record["measurement"]["samples"]
        for start, took in zip(samples["start"], samples["seconds"], strict=True):
            seconds.setdefault(min(int(start - samples["start"][0]), 74), []).append(took)
        rates = [len(launches) / sum(launches) for launches in seconds.values()]
        assert len(rates) == 75 and all(abs(rate / statistics.median(rates) - 1) < 0.01 for rate in rates)
