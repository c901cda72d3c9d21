# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/texts: every text that a user can meet, on this repository and on planted literals."""
import importlib.machinery
import importlib.util
import subprocess

from conftest import ROOT


def texts():
    loader = importlib.machinery.SourceFileLoader("texts", str(ROOT / "scripts/texts"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("texts", loader))
    loader.exec_module(module)
    return module


def test_finds_the_texts_of_this_repository(tmp_path):
    out = tmp_path / "texts.txt"
    assert subprocess.run([ROOT / "scripts/texts", "--out", out], check=True, capture_output=True, text=True).stdout == ""
    lines = [line.split(": ", 1) for line in out.read_text(encoding="utf-8").splitlines()]
    found = {text: place.rsplit(":", 1)[0] for place, text in lines}
    assert found["largest share of free memory that one case may use, 0.001 to 0.95"] == "bench/program/command_line.cpp"
    assert found["Repeat the case on these ranks. Check the ECC counters and Xid messages. If it happens again, take the device out of "
                 "service."] == "harness/model/finding.hpp", "of two literals"
    assert found["The index of the maximum of each row, as in greedy decoding."] == "bench/program/suite.cpp"
    assert len(found) > 1000
    names = {"foreign_process", "nvlink_bytes_per_second", "{}: {}", "nvmlDeviceGetSerial"}
    assert not names & found.keys(), "keys and formats"
    assert not [text for text in found if text.startswith("SELECT ")]


def test_joins_literals_and_skips_comments_and_characters():
    source = ('#include "not a text"\n// "nor this"\nf(\'"\', "one and "\n  "two \\"words\\"", '
              'R"x(a "raw" one)x" /* "no" */ "!", 1\'000);\ng("last");\n')
    assert list(texts().of_cxx(source)) == [(3, 'one and two \\"words\\"'), (4, 'a "raw" one!'), (5, "last")]


def test_python_has_its_programs_documentation_and_whole_f_strings():
    source = '"""A program."""\ndef f(x):\n    """For readers."""\n    return f"{x:.1f} of {len(x)} hosts"\n'
    assert sorted(texts().of_python(source)) == [(1, "A program."), (4, "{x} of {len(x)} hosts")]


def test_shell_scripts_say_strings_and_here_documents():
    source = "#!/bin/bash\n# not this\necho \"one $(x y) text\" >&2 # nor this\ncat <<'END'\ntwo\n  three\nEND\nf 'four'\n"
    assert list(texts().of_shell(source)) == [(3, "one $(x y) text"), (5, "two\n  three"), (8, "four")]


def test_templates_say_what_stands_between_tags():
    source = '<h1 class="a">A title</h1>{# a comment #}\n{% if x %}<p>{{ count }} cases, <b>of them</b></p>{% endif %}\n<style>p { b: c }\n</style>\nlast'
    assert list(texts().of_template(source)) == [(1, "A title"), (2, "{count} cases, "), (2, "of them"), (5, "last")]
