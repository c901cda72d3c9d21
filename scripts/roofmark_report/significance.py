# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Whether two groups of times differ, for many cases at once. All times are logarithms of seconds, as arrays [units, cases]: a unit
is a run, or a block where a side has one run. docs/method.md, "Comparing runs", gives the reasons."""

import math
from typing import NamedTuple

import numpy as np
from scipy import stats

ALPHA = 0.01  # probability of any false SLOWER or FASTER among all cases
POWER = 0.95
FEWEST_RUNS = 7  # per side, for any difference beyond the margin to be called
MARGIN_OF_FEW_RUNS = 0.10
MARGIN_OF_ONE_RUN = 0.15  # with one run on a side nothing shows how runs vary: beyond this a case seems slower or faster
ROUNDING = 1e-9  # of a time: a smaller difference is not the clock's
PLANTED = math.log(1.02)  # the slowdown that runs_needed() is about


class Shift(NamedTuple):
    """log(A / B) of each case, its 95 % interval, the p-value that decides, and that of Mann-Whitney."""

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    mann_whitney: np.ndarray


def ranks_suffice(a, b, cases):
    """Whether Mann-Whitney can decide with `a` and `b` runs: the smallest p-value that it can give is a tenth of Holm's first level."""
    return 2 / math.comb(a + b, a) <= ALPHA / cases / 10


def least_runs(cases):
    """The smallest number of runs per side with which Mann-Whitney decides."""
    return next(n for n in range(1, 1000) if ranks_suffice(n, n, cases))


def runs_suffice(a, b):
    """Whether there are enough runs for chance not to sort the two modes of a case by side (in 20 of 300 cases with two modes: 4 %
    false alarms with 5 runs per side, 0.5 % with 7)."""
    return math.comb(a + b, a) >= math.comb(2 * FEWEST_RUNS, FEWEST_RUNS)


def mann_whitney(a, b):
    """The exact two-sided p-values."""
    return stats.mannwhitneyu(a, b, axis=0, method="exact").pvalue


def by_ranks(a, b):
    """Hodges-Lehmann's estimate, the interval of the same order statistics, and Mann-Whitney's p-value."""
    differences = (a[:, None, :] - b[None, :, :]).reshape(-1, a.shape[1])
    n, sizes = len(differences), len(a) + len(b) + 1
    outside = max(0, math.floor(n / 2 - 0.5 - stats.norm.ppf(0.975) * math.sqrt(n * sizes / 12)))
    middle = (n - 1) // 2, n // 2
    at = sorted({outside, n - 1 - outside, *middle})
    ordered = np.partition(differences, at, axis=0)
    p = mann_whitney(a, b)
    return Shift((ordered[middle[0]] + ordered[middle[1]]) / 2, ordered[outside], ordered[n - 1 - outside], p, p)


def deviation_of_step(samples):
    """The standard deviation that rounding to the clock's step adds to a time, as a share of it. The step is at most the smallest difference between two
    samples."""
    steps = np.diff(np.unique(samples))
    steps = steps[steps > ROUNDING * np.median(samples)]
    return float(steps.min() / math.sqrt(12) / np.median(samples)) if len(steps) else 0.0


def by_means(a, b, least_deviation=0):
    """Difference of the means, Student's interval and p-value with one variance for both sides: a side may have one unit."""
    estimate = a.mean(axis=0) - b.mean(axis=0)
    freedom = len(a) + len(b) - 2
    error = standard_deviation(a, b, least_deviation) * math.sqrt(1 / len(a) + 1 / len(b))
    half = stats.t.ppf(0.975, freedom) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(estimate == 0, 1.0, 2 * stats.t.sf(np.abs(estimate) / error, freedom))
    return Shift(estimate, estimate - half, estimate + half, p, mann_whitney(a, b))


def standard_deviation(a, b, least=0):
    """That of a unit within its side, or the least that it can have."""
    squares = sum(((side - side.mean(axis=0)) ** 2).sum(axis=0) for side in (a, b))
    return np.maximum(np.sqrt(squares / (len(a) + len(b) - 2)), least)


def shift(a, b, cases, least_deviation=0):
    """By ranks where they can decide among that many cases, else by means."""
    return by_ranks(a, b) if ranks_suffice(len(a), len(b), cases) else by_means(a, b, least_deviation)


def holm(p):
    """The p-values, corrected so that any of them is at most ALPHA with that probability where nothing differs (Holm 1979)."""
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1, np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1)))
    return corrected


def verdicts(shift, corrected, margin, beyond):
    """SLOWER and FASTER are significant and differ by more than `beyond`, SAME has its interval within `margin` (0.01 for 1 %)."""
    significant = (corrected <= ALPHA) & (np.abs(shift.estimate) > np.log1p(beyond))
    same = (shift.low >= -np.log1p(margin)) & (shift.high <= np.log1p(margin))
    return np.select([significant & (shift.estimate < 0), significant, same], ["SLOWER", "FASTER", "SAME"], "UNCLEAR")


def runs_needed(deviation, cases):
    """Runs per side that find a slowdown of 2 % with 95 % power, where a run's median has that relative standard deviation. Normal
    theory with Guenther's correction for the estimated variance; Mann-Whitney needs pi / 3 times the runs."""
    level = stats.norm.isf(ALPHA / cases / 2)
    runs = 2 * (level + stats.norm.ppf(POWER)) ** 2 * (deviation / PLANTED) ** 2 * math.pi / 3 + level ** 2 / 4
    return max(FEWEST_RUNS, math.ceil(runs))
