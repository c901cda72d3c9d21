# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The reference results: complete, without a wrong result, as the schema says, and named in the table beside them."""

import json
import lzma

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
