# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/fleet: which GPUs and hosts are hotter than others in the same slot or need more energy; and that healthy fleets give no alarm."""

import pytest
from conftest import need
from fleets import judged, put, rack, tables

need("numpy")
import duckdb  # noqa: E402
import numpy  # noqa: E402
from roofmark_report import fleet_heat, fleet_judge  # noqa: E402
from test_fleet_stragglers import cases  # noqa: E402
from test_fleet_teams import team  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


HOSTS, SLOTS = 8, 8


def temperatures(noise, scatter, hosts=HOSTS):
    """[host, slot, case] of healthy GPUs, in whole degrees as NVML gives them. Those in the rear are up to 10 degrees hotter; the air of a host differs by
    0.3 of the scatter, a GPU by 0.75 and each case by 0.59 of it."""
    size = hosts, SLOTS, len(cases())
    usual = 45 + 20 * noise.random(size[2]) + numpy.linspace(0, 10, SLOTS)[:, None]
    parts = 0.3 * noise.normal(0, 1, (hosts, 1, 1)) + 0.75 * noise.normal(0, 1, (hosts, SLOTS, 1)) + 0.59 * noise.normal(0, 1, size)
    return numpy.round(usual + scatter * parts)


def found(degrees, joules=None):
    """What stands out in a fleet of [host, slot, case]."""
    hosts, slots, count = degrees.shape
    host, slot, case = (index.ravel() for index in numpy.indices(degrees.shape))
    names = numpy.array([name for name, _, _ in cases()])
    arrays = {  # noqa: F841: read by DuckDB
        "host": numpy.char.add("h", host.astype(str)), "slot": slot.astype(str), "gpu": numpy.char.add(numpy.char.add(host.astype(str), "-"), slot.astype(str)),
        "case_name": names[case], "what": names[case], "family": numpy.array([family for _, family, _ in cases()])[case],
        "temperature_celsius": degrees.ravel(), "joules_per_launch": (numpy.ones(degrees.shape) if joules is None else joules).ravel()}
    connection = duckdb.connect()
    connection.execute("CREATE TABLE newest AS SELECT *, host AS grp, 'ok' AS status, NULL::DOUBLE AS memory_temperature_celsius FROM arrays")
    connection.execute("CREATE TABLE gpus AS SELECT DISTINCT gpu, host, grp FROM newest")
    for name, (_, query) in fleet_heat.VIEWS.items():
        connection.execute(f"CREATE TABLE {name} AS {query}")
    return [(kind, who) for kind, who, *_ in fleet_judge._hot(connection, "host")]


@pytest.mark.parametrize("scatter", [1, 1.5, 2])
def test_healthy_fleets_give_no_alarm_and_ten_degrees_more_are_found(scatter):
    noise, fleets, hot = numpy.random.default_rng(int(10 * scatter)), 20, 0
    for _ in range(fleets):
        degrees = temperatures(noise, scatter)
        assert found(degrees) == []
        degrees[2, 3] += 10
        of_one = found(degrees)
        assert of_one in ([], [("hot", "2-3")])
        hot += len(of_one)
    assert hot >= 0.9 * fleets
    degrees = temperatures(noise, scatter)
    degrees[5] += 10
    assert found(degrees) == [("hot", "h5")]


@pytest.mark.parametrize("hosts, degrees, named", [(4, 10, []), (4, 28, [("hot", "2-3")]), (2, 40, [])])
def test_of_few_hosts_more_degrees_are_needed(hosts, degrees, named):
    noise = numpy.random.default_rng(hosts)
    for _ in range(5):
        made = temperatures(noise, 1.5, hosts)
        assert found(made) == []
        made[hosts - 2, 3] += degrees
        assert found(made) == [(kind, who.replace("2-", f"{hosts - 2}-")) for kind, who in named]


def test_a_gpu_that_needs_more_energy_is_found():
    noise = numpy.random.default_rng(1)
    degrees = temperatures(noise, 1)
    joules = numpy.exp(noise.normal(0, 0.02, (HOSTS, SLOTS, 1)) + noise.normal(0, 0.01, degrees.shape)) * numpy.linspace(1, 1.1, SLOTS)[:, None]
    assert found(degrees, joules) == []
    joules[2, 3] *= 1.2
    assert found(degrees, joules) == [("more_energy", "2-3")]


def telemetry(result):
    return [entry["roofmark"]["measurement"]["telemetry"] for entry in result["benchmarks"]]


def test_a_hot_gpu_stands_out_and_its_host_stays_good(folder, tmp_path):
    results = rack()
    for told in telemetry(results[5]):
        told["temperature_celsius"] += 12
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path)
    cases_of_one = len(results[5]["benchmarks"])
    [(who, text)] = suspects.items()
    assert who == ("hot", "GPU-0005") and hosts["a02"] == "good"
    assert text.startswith(f"hotter than the GPUs in its slot of other hosts in {cases_of_one} of {cases_of_one} readings; the worst by 12 degrees: ")


def test_the_memory_has_a_temperature_of_its_own(folder, tmp_path):
    results = rack()
    for gpu, result in enumerate(results):
        for told in telemetry(result):
            told["memory_temperature_celsius"] = 70 + 12 * (gpu == 5)
    put(folder, results)
    [((kind, who), text)] = judged(folder, tmp_path)[0].items()
    assert (kind, who) == ("hot", "GPU-0005") and text.endswith(" (memory)")


@pytest.mark.parametrize("seconds, counter, named", [(2, False, True), (0.2, False, False), (0.2, True, True)])
def test_energy_of_short_cases_needs_the_counter(folder, tmp_path, seconds, counter, named):
    results = rack()
    for gpu, result in enumerate(results):
        for entry in result["benchmarks"]:
            measured = entry["roofmark"]["measurement"]
            measured["telemetry"] |= {"seconds": seconds, "joules_per_launch": 400 * measured["median"] * (1.3 if gpu == 5 else 1)} | (
                {"energy_joules": 400 * seconds} if counter else {})
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path)
    assert list(suspects) == [("more_energy", "GPU-0005")] * named and hosts["a02"] == "good"


def test_each_rank_has_its_own(folder, tmp_path):
    result = team()
    entry = next(entry for entry in result["benchmarks"] if entry["roofmark"]["measurement"].get("ranks"))
    measured = entry["roofmark"]["measurement"]
    measured["telemetry"] = {"seconds": 2.0, "temperature_celsius": 90.0, "joules_per_launch": 9.0}  # of the slowest
    for rank, own in enumerate(measured["ranks"]):
        own |= {"temperature_celsius": 50 + rank, "joules_per_launch": 5 + rank}
    put(folder, [result])
    rows = tables(folder, tmp_path).execute("SELECT temperature_celsius, joules_per_launch FROM records WHERE case_name = ? ORDER BY ALL", [entry["name"]]).fetchall()
    assert rows[:2] == [(50, 5), (51, 6)]
