# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What the comparisons with other programs share: running them in turn, and the ratio of what they reached."""

import argparse
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import tempfile
from typing import NamedTuple


class CannotCompare(Exception):
    """What a program did, or lacks, that leaves nothing to compare."""


def median_interval(values):
    """The median, and an interval that holds that of the distribution in 95 % of all cases, whatever the distribution: from the
    k-th least to the k-th greatest value, where of as many throws of a coin fewer than k give heads in at most 2.5 % of all cases
    (David and Nagaraja, Order Statistics, 7.1). None for the interval of fewer than six values."""
    values, n = sorted(values), len(values)
    k, tail = 0, 2.0 ** -n
    while tail <= 0.025:
        k += 1
        tail += math.comb(n, k) * 2.0 ** -n
    return statistics.median(values), (values[k - 1], values[n - k]) if k > 0 else None


def ratio_interval(numerators, denominators):
    """The median of the pairs' ratios, and its 95 % interval."""
    return median_interval([a / b for a, b in zip(numerators, denominators)])


def difference_interval(ours, theirs):
    """The median of the pairs' differences, and its 95 % interval."""
    return median_interval([a - b for a, b in zip(ours, theirs)])


def show_interval(interval, form):
    """As a column of a table; `form` is of its ends."""
    return f"{interval[0]:{form}} .. {interval[1]:{form}}" if interval else "none under 6"


class Tolerance(NamedTuple):
    """Within which two programs that time the same collective agree: relative from a size on, in seconds below it."""

    from_bytes: int
    share: float
    seconds: float

    def judge(self, size, ours, theirs):
        """within, outside or, where the rounds spread too far to say, unclear."""
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
    """A row of the table: seconds per round of both programs, for one size; `label` tells rows of a size apart."""

    label: str
    size: int
    ours: list
    theirs: list


def agreement_table(rows, peer, tolerance):
    """Both programs' times by size, and the verdicts of the rows."""
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
    """The exit status: 1 where one is outside, else 3 where the rounds did not settle one, else 0."""
    return 1 if "outside" in verdicts else 3 if "unclear" in verdicts else 0


def count_argument(text):
    """The type of a number of rounds or iterations."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("from 1")
    return value


def seconds_argument(text):
    """The type of a time for one case."""
    value = float(text)
    if not 0.001 <= value <= 3600:
        raise argparse.ArgumentTypeError("from 0.001 to 3600")
    return value


def words_argument(text):
    """The type of an argument that is a command: split as a shell does it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not words:
        raise argparse.ArgumentTypeError("a command")
    return words


def sizes_argument(text):
    """The type of --sizes: LEAST:MOST in bytes."""
    match = re.fullmatch(r"(\d{1,15}):(\d{1,15})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError("LEAST:MOST in bytes")
    return int(match[1]), int(match[2])


def messages(result, pattern, place):
    """The records of a result whose names the expression finds, in place or out of place, by size: ceilings have a size too."""
    found = {}
    for entry in result["benchmarks"]:
        message = entry["roofmark"].get("message", {})
        if re.search(pattern, entry["name"]) and message.get("place") == place:
            found[message["bytes"]] = entry["roofmark"]
    return dict(sorted(found.items()))


def listed_collective(launcher, roofmark, device, collective, element, sizes, place="in|out"):
    """The sizes, LEAST to MOST, at which roofmark-mpi has a collective over all ranks, their number, and what makes an expression
    that finds the cases of some of these sizes."""
    listed = run([*launcher, roofmark, "list", "--suite", "baseline", "--device", device, "--filter", f"^{collective}/"])
    cases = re.findall(rf"^{collective}/{element}/bytes:(\d+)/ranks:(\d+)/(?:op:sum/)?place:(?:{place})/impl:\w+(?=\s|$)", listed,
                       re.MULTILINE)
    ranks = max((int(ranks) for _, ranks in cases), default=0)
    found = sorted({int(size) for size, of in cases if int(of) == ranks and sizes[0] <= int(size) <= sizes[1]})
    if not found:
        raise CannotCompare(f"roofmark-mpi lists no {collective} in {element} of {sizes[0]} to {sizes[1]} bytes")
    return found, ranks, lambda those: (f"^{collective}/{element}/bytes:({'|'.join(map(str, those))})/ranks:{ranks}/"
                                        f"(op:sum/)?place:({place})/impl:\\w+$")


def device_argument(*others):
    """The type of --device: cuda:N, or one of the others."""

    def parse(text):
        if text not in others and not re.fullmatch(r"cuda:\d+", text):
            raise argparse.ArgumentTypeError(" or ".join((*others, "cuda:N")))
        return text

    return parse


def run(command, accepted=(0,)):
    """What a program prints; CannotCompare with its last words when it ends with another status."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotCompare(f"{command[0]}: {error.strerror}") from error
    if done.returncode not in accepted:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise CannotCompare(f"{' '.join(command)} ended with {done.returncode}" + (f": {said[-1]}" if said else ""))
    return done.stdout


def listed_names(roofmark, device, suite):
    """The names of all cases of a suite that roofmark has for a device."""
    return [case["name"] for case in json.loads(run([roofmark, "list", "--suite", suite, "--device", device, "--json"]))]


def roofmark_result(roofmark, device, suite, pattern, command=("run",), launcher=()):
    """The result file of a run of the suite's cases that a regular expression finds."""
    with tempfile.TemporaryDirectory() as folder:
        # A case that is wrong or not measured makes these statuses; the cases wanted are judged by their records.
        run([*launcher, roofmark, *command, "--suite", suite, "--device", device, "--quiet", "--out", folder, "--filter", pattern],
            accepted=(0, 1, 3))
        try:
            with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError) as error:
            raise CannotCompare(f"roofmark left no readable result: {error}") from error


def measurement(result, start):
    """The measurement, in seconds per launch, of the case whose name starts so."""
    for entry in result["benchmarks"]:
        if entry["name"].startswith(start):
            return entry["roofmark"]["measurement"]
    reasons = [entry["roofmark"]["reason"] for entry in result["unmeasured"] if entry["name"].startswith(start)]
    raise CannotCompare(f"roofmark did not measure {start}" + "".join(f": {reason}" for reason in reasons))
