# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of reports share: the figures of a page, and damaged results."""

import base64
import json
import re
import zlib

from roofmark_report import program, report


def figures_of(page):
    return json.loads(zlib.decompress(base64.b64decode(re.search(r'id="figures">(.*?)</script>', page, re.DOTALL)[1])))


def attempt(path, page):
    """Makes a report of whatever the file holds; the line it was refused with, or None. Anything but a Problem is a traceback."""
    page.unlink(missing_ok=True)
    try:
        report.main([str(path), "-o", str(page)])
    except program.Problem as problem:
        assert problem.status == 2 and not page.exists()
        assert str(problem) and "\n" not in program.printable(str(problem))
        return str(problem)
    assert page.exists()
    return None


def places(value, into=()):
    """Every place in a JSON value, as the keys that lead there."""
    yield into
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*into, key))
