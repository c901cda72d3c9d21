# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""A source file of more than 400 lines gives its reason in its first lines."""

from conftest import ROOT

MOST = 400
REASON = "Longer than most files: "
SUFFIXES = (".hpp", ".cpp", ".cu", ".cuh", ".inc", ".py", "")
SOURCES = sorted(path for folder in ("kernels", "harness", "bench", "scripts", "tests") for path in (ROOT / folder).rglob("*")
                 if path.is_file() and path.suffix in SUFFIXES and "__pycache__" not in path.parts)


def lines_without_reason(text):
    """How many lines a text has, where they are too many without a reason; else 0."""
    lines = text.splitlines()
    return len(lines) if len(lines) > MOST and not any(REASON in line for line in lines[:5]) else 0


def test_a_long_file_says_why():
    assert len(SOURCES) > 500
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in SOURCES}
    assert {name: lines for name, text in texts.items() if (lines := lines_without_reason(text))} == {}


def test_a_reason_stands_in_the_first_lines():
    long = ["x"] * MOST
    assert lines_without_reason("\n".join(long)) == 0
    assert lines_without_reason("\n".join([*long, "x"])) == MOST + 1
    assert lines_without_reason("\n".join([*long, f"# {REASON}here"])) == MOST + 1
    assert lines_without_reason("\n".join([f"# {REASON}one table", *long])) == 0
