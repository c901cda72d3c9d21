# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What the comparisons with other programs share: running them in turn, and the ratio of what they reached."""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import tempfile

# Two-sided 95 % quantiles of Student's t, by degrees of freedom from 1.
STUDENT_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
                2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


class CannotCompare(Exception):
    """What a program did, or lacks, that leaves nothing to compare."""


def ratio_interval(numerators, denominators):
    """The geometric mean of the pairs' ratios, and its 95 % interval; None for the interval of a single pair."""
    logs = [math.log(a / b) for a, b in zip(numerators, denominators)]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(mean), None
    half = STUDENT_T_95[len(logs) - 2] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), (math.exp(mean - half), math.exp(mean + half))


def rounds_argument(text):
    """The type of --rounds: as many as there are quantiles for."""
    value = int(text)
    if not 1 <= value <= len(STUDENT_T_95) + 1:
        raise argparse.ArgumentTypeError(f"from 1 to {len(STUDENT_T_95) + 1}")
    return value


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


def roofmark_result(roofmark, device, suite, pattern):
    """The result file of a run of the suite's cases that a regular expression finds."""
    with tempfile.TemporaryDirectory() as folder:
        # A case that is wrong or not measured makes these statuses; the cases wanted are judged by their records.
        run([roofmark, "run", "--suite", suite, "--device", device, "--quiet", "--out", folder, "--filter", pattern],
            accepted=(0, 1, 3))
        try:
            with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError) as error:
            raise CannotCompare(f"roofmark left no readable result: {error}") from error


def measurement(result, start):
    """The measurement, in seconds a launch, of the case whose name starts so."""
    for entry in result["benchmarks"]:
        if entry["name"].startswith(start):
            return entry["roofmark"]["measurement"]
    reasons = [entry["roofmark"]["reason"] for entry in result["unmeasured"] if entry["name"].startswith(start)]
    raise CannotCompare(f"roofmark did not measure {start}" + "".join(f": {reason}" for reason in reasons))
