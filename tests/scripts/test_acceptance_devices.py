# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/acceptance: who the devices of a delivery are, as `roofmark accept` tells them apart."""

import json
import os
import subprocess
import sys

import make_delivery
import make_result
import pytest
from conftest import ROOT, need

need("jsonschema", "jinja2", "orjson", "plotly", "tree_sitter_javascript")
from acceptance_pages import BASE, text_of  # noqa: E402
from roofmark_report import verdict as verdicts  # noqa: E402

pytestmark = pytest.mark.skipif(not os.environ.get("ROOFMARK"), reason="ROOFMARK names no program")


def run(*arguments):
    return subprocess.run([sys.executable, ROOT / "scripts" / "acceptance", *arguments], capture_output=True, text=True, timeout=300, check=False)


def test_a_gpu_with_other_numbers_for_cuda_is_one_device(h200, own_profile, tmp_path):
    # Once by `roofmark-mpi`, of which each rank saw one GPU, and once alone.
    merged = make_delivery.in_one_file(h200, nodes=1, gpus=3, slower={2: 2})
    for member in merged["team"]:
        member["device_id"] = "cuda:0"
    paths = make_delivery.write(tmp_path / "delivery", BASE, 1, 1)
    alone = json.loads(paths[0].read_text())
    alone["host"]["name"], alone["device"]["id"], alone["device"]["details"]["uuid"] = "node0", "cuda:2", merged["team"][2]["uuid"]
    for name, result in (("a", merged), ("b", alone)):
        (tmp_path / "delivery" / name).mkdir()
        (tmp_path / "delivery" / name / "result.json").write_text(json.dumps(result))
    paths[0].unlink()
    run(tmp_path / "delivery", "--profile", own_profile(0.5), "--expect-gpus", "3")
    verdict = verdicts.parse((tmp_path / "delivery" / "acceptance.json").read_bytes())
    assert [device["name"] for device in verdict["devices"]] == [f"GPU-0000000{rank} (cuda:0 of node0)" for rank in range(3)]
    page = text_of((tmp_path / "delivery" / "acceptance.html").read_text(encoding="utf-8"))
    assert "3 × NVIDIA H200 on 1 node (node0)" in page and f"{alone['device']['details']['serial']}; 2 not known" in page


def test_a_team_of_cpus_has_a_document(tmp_path):
    result = make_result.cpu()
    result["unmeasured"] = [entry for entry in result["unmeasured"] if entry["roofmark"]["status"] == "unsupported"]
    result["team"] = [{"rank": rank, "local_rank": rank, "device_id": "cpu", "uuid": "", "host": "node1", "pid": 1, "device_name": result["device"]["name"],
                       "nics": [], "versions": {}} for rank in range(2)]
    for entry in result["benchmarks"]:
        measured = entry["roofmark"]["measurement"]
        measured["ranks"] = [{key: measured[key] for key in ("median", "maximum", "interval") if key in measured}] * 2
    (tmp_path / "result.json").write_text(json.dumps(result))
    done = run(tmp_path, "--profile", "cpu")
    assert done.returncode in (0, 1), done.stderr
    page = text_of((tmp_path / "acceptance.html").read_text(encoding="utf-8"))
    assert f"2 × {result['device']['name']} on 1 node (node1)" in page
