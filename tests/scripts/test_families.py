# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Each family of bench/program/suite.cpp has its row in the documents, and each file of bench/families the namespace of one."""
import re

from conftest import ROOT

# {family: the sentence about it; none if its cases are of another family}
FAMILIES = dict(re.findall(r'^  family\((\w+), \w+, \w+, "(.*)"\)', (ROOT / "bench/program/suite.cpp").read_text(encoding="utf-8"), re.M))


def rows(document, heading):
    """The families that the first column of the first table with this heading names, in order."""
    lines = (ROOT / document).read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(heading))
    table = lines[first + 2:lines.index("", first)]
    return [name for line in table for name in re.findall(r"`(\w+)`", line.split("|")[1])]


def test_the_families_are_found():
    assert len(FAMILIES) > 15 and len([family for family, about in FAMILIES.items() if not about]) == 1


def test_readme_has_a_row_for_each_family_that_names_cases():
    assert sorted(rows("README.md", "| family | cases |")) == sorted(family for family, about in FAMILIES.items() if about)


def test_the_document_on_testing_has_a_row_for_each_family():
    assert sorted(rows("docs/testing.md", "| family | on the model GPU")) == sorted(FAMILIES)


def test_each_file_has_the_namespace_of_a_family():
    opened = {path.name: re.findall(r"^namespace roofmark(?:::(\w+))? {", path.read_text(encoding="utf-8"), re.M)
              for path in (ROOT / "bench/families").iterdir()}
    assert len(opened) > 40
    assert {name: spaces for name, spaces in opened.items() if not spaces or not set(spaces) <= FAMILIES.keys()} == {}
