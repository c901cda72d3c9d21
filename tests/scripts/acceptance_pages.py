# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Made-up verdicts for the tests of the acceptance document."""

import hashlib
import html
import json
import re

import make_result
from roofmark_report import evidence
from roofmark_report import verdict as verdicts

PRODUCT = "gemm/bf16/m:4096/n:4096/k:4096/impl:cublaslt/layout:tn/algo:tuned/cache:cold"


def _base():
    """Some cases of each family, with those that the rules here judge."""
    made = make_result.h200()
    families = {}
    for entry in made["benchmarks"]:
        families.setdefault(entry["roofmark"]["family"], []).append(entry)
    kept = [entry for entries in families.values() for entry in entries[:3]] + [entry for entry in made["benchmarks"] if entry["name"] == PRODUCT]
    names = {entry["name"] for entry in kept}
    return made | {"benchmarks": kept, "comparisons": [], "findings": [f for f in made["findings"] if f.get("case", PRODUCT) in names]}


BASE = _base()


def check(rule, verdict, device, **more):
    uuid, device_id, host = evidence.parts_of(device)
    return {"rule": rule, "quantity": "of_theoretical", "meaning": "share of the roof", "per": "gpu", "mandatory": True, "node": host, "device": device,
            "verdict": verdict, "expected": ">= 80.0 % of 1.07 PFLOP/s", "found": "70.0 %", "reason": "why", "source": "where", "origin": "own:1"} | more


def team_labels(result):
    return [f"{member['uuid']} ({member['device_id']} of {member['host']})" for member in result["team"]]


def judged(paths, checks):
    """A verdict as `roofmark accept` would write it."""
    results = [json.loads(path.read_text()) for path in paths]
    where = [(r["device"]["details"].get("uuid", ""), f"{r['device']['id']} of {r['host']['name']}") for r in results]
    labels = [f"{uuid} ({place})" if uuid else place for uuid, place in where]

    def subject(name, key=None):
        return {"name": name} | verdicts.of_checks([check for check in checks if not key or check.get(key) == name])

    return {"judged_utc": "2026-02-01T10:00:00Z", "accepted": verdicts.of_checks(checks)["verdict"] == "PASS", "build": {"version": "0.1.0", "commit": "0123", "dirty": False},
            "profile": {"name": "own", "title": "Order 4711", "inherited": ["common"]},
            "files": [{"path": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "not_held": []} for path in paths],
            "delivery": subject("delivery"), "nodes": [subject(host, "node") for host in dict.fromkeys(r["host"]["name"] for r in results)],
            "devices": [subject(label, "device") for label in labels], "checks": checks}


def text_of(page):
    return html.unescape(re.sub(r"<wbr>|<[^>]*>", "", page[:page.index('id="figures"')])).replace("\N{NO-BREAK SPACE}", " ")
