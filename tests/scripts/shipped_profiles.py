# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped profiles, and their verdicts on made-up results."""
import os
import subprocess
import tomllib
from pathlib import Path

from roofmark_report.verdict import parse as parse_verdict

ROOFMARK = os.environ.get("ROOFMARK")
WRITTEN = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in (Path(__file__).parents[2] / "results" / "profiles").glob("*.toml")}
# What names no devices is there to be inherited.
PROFILES = sorted(name for name, profile in WRITTEN.items() if profile.get("devices"))


def roofmark(*arguments, **options):
    return subprocess.run([ROOFMARK, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


def verdicts(result, profile, tmp_path, save, status=1):
    """The verdicts of the mandatory rules that do not pass, by rule."""
    done = roofmark("accept", save(result), "--profile", profile, "--json", tmp_path / "verdict.json")
    assert status is None or done.returncode == status, done.stdout + done.stderr
    checks = parse_verdict((tmp_path / "verdict.json").read_bytes())["checks"]
    return {check["rule"]: check["verdict"] for check in checks if check["mandatory"] and check["verdict"] != "PASS"}


def sxm_profile(tmp_path, links="true"):
    """The shipped one for H200s without its limits of speed: no such GPU was measured. `links`: whether the links to the host decide, which
    each GPU has to measure alone."""
    path = tmp_path / "h200.toml"
    rules = ("dram_read", "dram_write", "dram_copy", "dram_triad", "fma_fp32", "fma_fp32_top", "product_bf16", "product_fp8", "product_bf16_datasheet")
    path.write_text('inherit = "h200_sxm"\n' + "".join(f"[rule.{rule}]\ndrop = true\n" for rule in rules)
                    + "".join(f"[rule.{rule}]\nmandatory = {links}\n" for rule in ("host_to_device", "device_to_host")))
    return path


def slower(result, begin, times):
    """Makes the cases whose name begins so take so many times as long."""
    for entry in result["benchmarks"]:
        if not entry["name"].startswith(begin):
            continue
        measured = entry["roofmark"]["measurement"]
        for key in ("median", "minimum", "maximum", "p5", "p95"):
            measured[key] *= times
        measured["interval"] = [times * seconds for seconds in measured["interval"]]
        measured["samples"]["seconds"] = [times * seconds for seconds in measured["samples"]["seconds"]]
        entry["real_time"] *= times
        for key in ("of_empirical", "of_theoretical", "of_theoretical_clock", "flops_per_second", "bytes_per_second"):
            if key in entry["roofmark"]["placement"]:
                entry["roofmark"]["placement"][key] /= times
    return result


def assert_one_line(done):
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("roofmark: ") and done.stderr.count("\n") == 1, done.stderr
