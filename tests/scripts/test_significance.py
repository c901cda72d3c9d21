# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The statistics of scripts/compare, against simulations and plain numbers."""

import math

import pytest
from conftest import need

need("numpy", "scipy")
import numpy as np  # noqa: E402
from roofmark_report import significance  # noqa: E402
from scipy import stats  # noqa: E402

# The simulation: 300 cases, coefficients of variation of a run's median of 0.5, 1.5 and 2 %, half of the variance between processes
# and half between the five blocks of a process.
CASES = 300
CVS = (0.005, 0.015, 0.02)
BLOCKS = 5


def blocks_of(random, cv, runs, cases=CASES):
    return random.normal(0, cv * math.sqrt(0.5), (1, runs, cases)) + random.normal(0, cv * math.sqrt(0.5 * BLOCKS), (BLOCKS, runs, cases))


def runs_of(random, cv, runs, cases=CASES):
    return blocks_of(random, cv, runs, cases).mean(axis=0)


def false_alarms(draw, runs, repeats, called_beyond=0.01, draw_other=None):
    """In how many comparisons of equal sides any case is called SLOWER or FASTER."""
    found = 0
    for _ in range(repeats):
        shift = significance.shift(draw(), (draw_other or draw)(), CASES)
        verdicts = significance.verdicts(shift, significance.holm(shift.p), 0.01, called_beyond)
        found += bool(np.isin(verdicts, ["SLOWER", "FASTER"]).any())
    return found


@pytest.mark.parametrize("cv, runs", list(zip(CVS, (9, 45, 77))))
def test_a_planted_slowdown_of_2_percent_is_found_with_95_percent_power(cv, runs):
    random, cases = np.random.default_rng(1), 2000
    shift = significance.shift(runs_of(random, cv, runs, cases), runs_of(random, cv, runs, cases) + math.log(1.02), CASES)
    # Each case is the only slow one among 300, so Holm multiplies its p-value by 300.
    found = significance.verdicts(shift, np.minimum(1, CASES * shift.p), 0.01, 0.01)
    assert np.mean(found == "SLOWER") >= 0.95
    assert significance.runs_needed(cv, CASES) == runs
    few = significance.shift(runs_of(random, cv, runs // 2, cases), runs_of(random, cv, runs // 2, cases) + math.log(1.02), CASES)
    assert np.mean(significance.verdicts(few, np.minimum(1, CASES * few.p), 0.01, 0.01) == "SLOWER") < 0.6


@pytest.mark.parametrize("runs, repeats", [(9, 400), (11, 400), (45, 40)])
def test_false_alarms_are_at_most_1_percent_of_comparisons(runs, repeats):
    random, cv = np.random.default_rng(2), np.resize(CVS, CASES)
    alarms = false_alarms(lambda: runs_of(random, cv, runs), runs, repeats)
    # With a probability of 1 % more than this is seen once in 400 simulations.
    assert alarms <= stats.binom.ppf(0.9975, repeats, 0.01)
    # Without the correction over the cases there would be several in every comparison.
    shift = significance.shift(runs_of(random, cv, runs), runs_of(random, cv, runs), CASES)
    assert (shift.p <= 0.05).sum() >= 3


def test_cases_with_two_modes_raise_no_alarm_with_enough_runs():
    random, modal = np.random.default_rng(3), 20

    def draw(runs):
        times = random.normal(0, 0.005, (runs, CASES))
        times[:, :modal] = 0.3 * times[:, :modal] + 0.03 * (random.random((runs, modal)) < 0.5)
        return times

    enough = significance.FEWEST_RUNS
    assert false_alarms(lambda: draw(enough), enough, 300) <= stats.binom.ppf(0.9975, 300, 0.01)
    assert false_alarms(lambda: draw(3), 3, 100) > 10
    assert false_alarms(lambda: draw(3), 3, 100, called_beyond=0.10) == 0


def test_one_run_on_a_side_does_not_show_its_outliers():
    """Runs vary by 1 %, one value of 200 takes 30 % longer. Hence compare calls nothing SLOWER by one run."""
    random = np.random.default_rng(4)

    def draw(runs):
        return random.normal(0, 0.01, (runs, CASES)) + math.log(1.3) * (random.random((runs, CASES)) < 0.005)

    def blocks():
        return draw(1) + random.normal(0, 0.002, (BLOCKS, CASES))

    assert false_alarms(blocks, 1, 50, significance.MARGIN_OF_ONE_RUN) > 40
    assert false_alarms(lambda: draw(7), 7, 50, significance.MARGIN_OF_ONE_RUN, lambda: draw(1)) > 25
    assert false_alarms(lambda: draw(7), 7, 200) <= stats.binom.ppf(0.9975, 200, 0.01)


@pytest.mark.parametrize("runs", [2, 3, 4, 5])
def test_a_clock_of_coarse_steps_gives_no_alarm(runs):
    """Calls of 140 ns by a clock of 40 ns: all runs of one side may have one value, and all of the other another."""
    random, cases, alarms, exact = np.random.default_rng(7), 1000, 0, 0
    for _ in range(cases):
        samples = 40e-9 * np.round((140 + random.normal(0, 3, (2 * runs, 1)) + random.normal(0, 1, (2 * runs, 20))) / 40)
        times = np.log(np.median(samples, axis=1))[:, None]
        exact += significance.by_means(times[:runs], times[runs:]).p[0] == 0
        shift = significance.shift(times[:runs], times[runs:], CASES, significance.deviation_of_step(samples))
        alarms += CASES * shift.p[0] <= significance.ALPHA
    assert alarms == 0 and (exact > 0 or runs > 3)


def test_a_step_is_the_smallest_difference_between_samples():
    assert significance.deviation_of_step([3.0, 4.0, 4.0, 7.0]) == pytest.approx(1 / math.sqrt(12) / 4)
    assert significance.deviation_of_step([3.0, 3.0]) == significance.deviation_of_step([3.0, 3.0 + 1e-15]) == 0
    # A step far below the scatter changes nothing.
    random = np.random.default_rng(8)
    a, b = random.normal(0, 0.01, (2, 5, 100))
    assert (significance.by_means(a, b, 1e-4).p == significance.by_means(a, b).p).all()


def test_blocks_of_one_run_would_call_slowdowns_the_same():
    """Runs vary by 1 %, their blocks by 0.2 %; B is 2 % slower. Hence compare never says that of blocks."""
    random, cases = np.random.default_rng(6), 10_000

    def called_same(runs, by_run):
        a, b = (random.normal(0, 0.01, (1, runs, cases)) + random.normal(0, 0.002, (BLOCKS, runs, cases)) for _ in range(2))
        a, b = (side.mean(axis=0) if by_run else side.reshape(-1, cases) for side in (a, b + math.log(1.02)))
        shift = significance.shift(a, b, CASES)
        return np.mean(significance.verdicts(shift, np.ones(cases), 0.01, 0.10) == "SAME")

    assert 0.14 < called_same(1, False) < 0.18
    assert called_same(2, True) < 0.005


def test_holm():
    assert significance.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert significance.holm([0.9, 0.8]) == pytest.approx([1, 1])
    assert len(significance.holm([])) == 0


def test_both_tests_against_plain_numbers():
    a, b = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([[11.0], [12.0], [13.0], [14.0]])
    means = significance.by_means(a, b)
    error = math.sqrt(5 / 3 * 2 / 4)
    assert means.estimate[0] == -10 and means.high[0] - means.low[0] == pytest.approx(2 * 2.4469 * error, rel=1e-4)
    assert means.p[0] == pytest.approx(stats.ttest_ind(a[:, 0], b[:, 0]).pvalue)
    assert means.mann_whitney[0] == pytest.approx(2 / math.comb(8, 4))
    ranks = significance.by_ranks(a, b)
    assert ranks.estimate[0] == -10 and ranks.low[0] == -13 and ranks.high[0] == -7 and ranks.p[0] == pytest.approx(2 / 70)
    alike = significance.by_means(np.ones((5, 1)), np.ones((5, 1)))
    assert alike.p[0] == 1 and significance.by_means(np.ones((5, 1)), 2 * np.ones((5, 1))).p[0] == 0


def test_the_interval_of_the_ranks_holds_the_shift_in_95_percent():
    random = np.random.default_rng(5)
    shift = significance.by_ranks(random.normal(0, 1, (11, 4000)), random.normal(0.5, 1, (11, 4000)))
    assert 0.94 <= np.mean((shift.low <= -0.5) & (shift.high >= -0.5)) <= 0.97


def test_how_many_runs_mann_whitney_takes():
    assert significance.least_runs(300) == 11
    assert significance.ranks_suffice(11, 11, 300) and not significance.ranks_suffice(10, 10, 300)
    assert significance.runs_suffice(7, 7) and not significance.runs_suffice(6, 6) and not significance.runs_suffice(1, 100)


def test_verdicts():
    shift = significance.Shift(*(np.array(values) for values in (
        [-0.02, 0.02, -0.02, -0.001, -0.005, 0.0], [-0.03, 0.01, -0.05, -0.005, -0.006, -0.5], [-0.01, 0.03, 0.01, 0.003, -0.004, 0.5])),
        None, None)
    corrected = np.array([0.001, 0.001, 0.2, 1, 0.001, 1])
    assert list(significance.verdicts(shift, corrected, 0.01, 0.01)) == ["SLOWER", "FASTER", "UNCLEAR", "SAME", "SAME", "UNCLEAR"]
    assert list(significance.verdicts(shift, corrected, 0.01, 0.10))[:2] == ["UNCLEAR", "UNCLEAR"]
