# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Shared by the comparisons with other programs: running them in turn, ratios, intervals and verdicts."""

import argparse
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple


class CannotCompare(Exception):
    """A program failed or lacks something, so there is nothing to compare."""


def read_result(path):
    """A result file, or the result.json of a folder, of any version."""
    path = Path(path)
    try:
        result = json.loads((path / "result.json" if path.is_dir() else path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CannotCompare(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if not isinstance(result, dict) or "schema_version" not in result:
        raise CannotCompare(f"{path} is not a result file of roofmark: it has no schema_version")
    return result


def median_interval(values):
    """The median, and its distribution-free 95 % confidence interval: from the k-th smallest to the k-th largest value, k being the
    largest number for which fewer than k heads in n throws of a coin have a probability of at most 2.5 % (David and Nagaraja, Order
    Statistics, 7.1). The interval is None below six values."""
    values, n = sorted(values), len(values)
    k, tail = 0, 2.0 ** -n
    while tail <= 0.025:
        k += 1
        tail += math.comb(n, k) * 2.0 ** -n
    return statistics.median(values), (values[k - 1], values[n - k]) if k > 0 else None


def ratio_interval(numerators, denominators):
    """The median of the ratios of pairs, and its 95 % interval."""
    return median_interval([a / b for a, b in zip(numerators, denominators)])


def difference_interval(ours, theirs):
    """The median of the differences of pairs, and its 95 % interval."""
    return median_interval([a - b for a, b in zip(ours, theirs)])


def show_interval(interval, form):
    """A cell of a table; `form` formats both ends."""
    return f"{interval[0]:{form}} .. {interval[1]:{form}}" if interval else "needs 6 rounds"


class Tolerance(NamedTuple):
    """How far two programs that time the same collective may differ: a share of the time from a size on, seconds below it."""

    from_bytes: int
    share: float
    seconds: float

    def judge(self, size, ours, theirs):
        """within, outside, or unclear where the rounds spread too far to tell."""
        if size >= self.from_bytes:
            _, interval = ratio_interval(ours, theirs)
            least, most = 1 - self.share, 1 + self.share
        else:
            _, interval = difference_interval(ours, theirs)
            least, most = -self.seconds, self.seconds
        if not interval:
            return "unclear"
        low, high = interval
        if least <= low and high <= most:
            return "within"
        return "outside" if high < least or most < low else "unclear"


class Agreement(NamedTuple):
    """A row of the table: the seconds of both programs in each round, for one size; `label` distinguishes rows of equal size."""

    label: str
    size: int
    ours: list
    theirs: list


def agreement_table(rows, peer, tolerance):
    """The times of both programs by size, and the verdict of each row."""
    lines = [f"{'':12} {'bytes':>12} {peer + ' us':>16} {'roofmark us':>12} {'ratio':>7}  {'95 % interval':16}  "
             f"{'difference us':>13}  {'95 % interval':19}  verdict"]
    verdicts = []
    for row in rows:
        ratio, ratios = ratio_interval(row.ours, row.theirs)
        difference, differences = difference_interval(row.ours, row.theirs)
        verdicts.append(tolerance.judge(row.size, row.ours, row.theirs))
        spans = [show_interval(ratios, ".3f"), show_interval(differences and [end * 1e6 for end in differences], "+.2f")]
        lines.append(f"{row.label:12} {row.size:12} {statistics.median(row.theirs) * 1e6:16.2f} "
                     f"{statistics.median(row.ours) * 1e6:12.2f} {ratio:7.3f}  {spans[0]:16}  {difference * 1e6:+13.2f}  "
                     f"{spans[1]:19}  {verdicts[-1]}")
    return "\n".join(lines), verdicts


def agreement_status(verdicts):
    """The exit status: 1 if any verdict is outside, else 3 if any is unclear, else 0."""
    return 1 if "outside" in verdicts else 3 if "unclear" in verdicts else 0


def count_argument(text):
    """The type of a number of rounds or iterations."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 up")
    return value


def seconds_argument(text):
    """The type of a time budget per case."""
    value = float(text)
    if not 0.001 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 0.001 to 3600")
    return value


def words_argument(text):
    """The type of an argument that is a command, split as a shell splits it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not words:
        raise argparse.ArgumentTypeError("the command is empty")
    return words


def sizes_argument(text):
    """The type of --sizes: MIN:MAX in bytes."""
    match = re.fullmatch(r"(\d{1,15}):(\d{1,15})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"'{text}' is not MIN:MAX in bytes")
    return int(match[1]), int(match[2])


def messages(result, pattern, place):
    """The records by size whose names match the pattern, in place or out of place."""
    found = {}
    for entry in result["benchmarks"]:
        message = entry["roofmark"].get("message", {})
        if re.search(pattern, entry["name"]) and message.get("place") == place:
            found[message["bytes"]] = entry["roofmark"]
    return dict(sorted(found.items()))


def listed_collective(launcher, roofmark, device, collective, element, sizes, place="in|out"):
    """The sizes within MIN:MAX at which roofmark-mpi lists a collective over all ranks, the number of ranks, and a function from
    some of these sizes to a pattern that matches their cases."""
    listed = run([*launcher, roofmark, "list", "--suite", "baseline", "--device", device, "--filter", f"^{collective}/"])
    cases = re.findall(rf"^{collective}/{element}/bytes:(\d+)/ranks:(\d+)/(?:op:sum/)?place:(?:{place})/impl:\w+(?=\s|$)", listed,
                       re.MULTILINE)
    ranks = max((int(ranks) for _, ranks in cases), default=0)
    found = sorted({int(size) for size, of in cases if int(of) == ranks and sizes[0] <= int(size) <= sizes[1]})
    if not found:
        raise CannotCompare(f"roofmark-mpi lists no {element} {collective} from {sizes[0]} to {sizes[1]} bytes")
    return found, ranks, lambda those: (f"^{collective}/{element}/bytes:({'|'.join(map(str, those))})/ranks:{ranks}/"
                                        f"(op:sum/)?place:({place})/impl:\\w+$")


def device_argument(*others):
    """The type of --device: cuda:N or one of the others."""

    def parse(text):
        if text not in others and not re.fullmatch(r"cuda:\d+", text):
            raise argparse.ArgumentTypeError(f"'{text}' is not {' or '.join((*others, 'cuda:N'))}")
        return text

    return parse


def run(command, accepted=(0,), despite=None):
    """The standard output of a command; raises CannotCompare with its last line if it ends with another status, unless the output has the
    pattern `despite`."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotCompare(f"{command[0]}: {error.strerror}") from error
    if done.returncode not in accepted and not (despite and re.search(despite, done.stdout, re.MULTILINE)):
        said = (done.stderr.strip() or done.stdout.strip()).replace("\n  ", " ").splitlines()  # a wrapped message is one
        raise CannotCompare(f"{' '.join(command)} ended with status {done.returncode}" + (f": {said[-1]}" if said else ""))
    return done.stdout


def listed_names(roofmark, device, suite):
    """The names of all cases of a suite on a device."""
    return [case["name"] for case in json.loads(run([roofmark, "list", "--suite", suite, "--device", device, "--json"]))]


def roofmark_result(roofmark, device, suite, pattern, command=("run",), launcher=()):
    """The result of a run of the cases that match the pattern."""
    with tempfile.TemporaryDirectory() as folder:
        # 1 and 3 mean that some case is wrong or was not measured; the records say which.
        run([*launcher, roofmark, *command, "--suite", suite, "--device", device, "--quiet", "--out", folder, "--filter", pattern],
            accepted=(0, 1, 3))
        try:
            with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError) as error:
            raise CannotCompare(f"roofmark wrote no readable result: {error}") from error


def measurement(result, start):
    """The measurement of the case whose name starts with `start`."""
    for entry in result["benchmarks"]:
        if entry["name"].startswith(start):
            return entry["roofmark"]["measurement"]
    reasons = [entry["roofmark"]["reason"] for entry in result["unmeasured"] if entry["name"].startswith(start)]
    raise CannotCompare(f"roofmark did not measure {start}" + "".join(f": {reason}" for reason in reasons))
