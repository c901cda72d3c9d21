# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
import copy
import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import browser  # noqa: E402
import make_result  # noqa: E402
import shell  # noqa: E402

# Where the width of a terminal is exported, messages wrap; readline, which pytest imports, exports it past os.environ.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")


def need(*packages):
    """Skips the file that calls it where one of the packages is missing."""
    for package in packages:
        pytest.importorskip(package, reason=f"no Python package {package} (scripts/setup installs it)")


def flat(text):
    """What a program prints, with its lines joined again."""
    return " ".join(text.split())


_MADE = {"h200": make_result.h200(), "cpu": make_result.cpu(), "cluster": make_result.cluster()}


@pytest.fixture(params=("h200", "cpu"))
def result(request):
    """Each of the synthetic results in turn, to change at will."""
    return copy.deepcopy(_MADE[request.param])


@pytest.fixture
def h200():
    return copy.deepcopy(_MADE["h200"])


@pytest.fixture
def cluster():
    return copy.deepcopy(_MADE["cluster"])


@pytest.fixture
def small(h200):
    """A few records of each family, for tests that make many reports."""
    families = {}
    for entry in h200["benchmarks"]:
        families.setdefault(entry["roofmark"]["family"], []).append(entry)
    h200["benchmarks"] = [entry for entries in families.values() for entry in entries[:2]]
    h200["findings"] = h200["findings"][-3:]
    h200["comparisons"] = h200["comparisons"][:2]
    return h200


@pytest.fixture
def bare(tmp_path):
    return shell.bare_path(tmp_path / "bin")


@pytest.fixture
def checkout(tmp_path):
    return shell.copy_of_checkout(tmp_path / "checkout")


@pytest.fixture
def shown():
    """A browser, to open pages in."""
    if not browser.find():
        pytest.skip(f"no browser (looked for {', '.join(browser.NAMES)})")
    with browser.Browser(browser.find()) as opened:
        yield opened


@pytest.fixture
def no_plotly(monkeypatch):
    """Leaves plotly.js, most of the page, out."""
    monkeypatch.setattr("roofmark_report.library.packed", lambda: "")


@pytest.fixture
def save(tmp_path):
    """Writes a result to a file of this name and returns its path."""

    def write(result, name="result.json"):
        path = tmp_path / name
        path.write_text(json.dumps(result), encoding="utf-8")
        return path

    return write


@pytest.fixture
def own_profile(tmp_path):
    """Writes a profile of one rule beside the common ones, and returns its path. A key of None is left out."""

    def write(limit, name="own.toml", devices="NVIDIA H200", **keys):
        path = tmp_path / name
        rule = {"cases": "^gemm/bf16/m:4096/n:4096/k:4096/impl:cublaslt/layout:tn/algo:tuned", "quantity": "of_theoretical", "least": limit,
                "reason": "what was ordered", "source": "the order"} | keys
        path.write_text(
            f'inherit = "common"\ntitle = "Order 4711"\ndevices = "{devices}"\nexample = "NVIDIA H200"\nsuite = "quick"\n[rule.product]\n'
            + "".join(f"{key} = {json.dumps(value)}\n" for key, value in rule.items() if value is not None))
        return path

    return write


# CTest's SKIP_RETURN_CODE for these tests.
SKIPPED = 77


def pytest_sessionfinish(session, exitstatus):
    """A file of which every test was skipped, or which lacks a package, is skipped in CTest's summary too, not passed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    nothing_failed = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if nothing_failed and reporter.stats.get("skipped") and not reporter.stats.get("passed"):
        session.exitstatus = SKIPPED
