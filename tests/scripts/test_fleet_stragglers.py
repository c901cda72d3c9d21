# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/fleet: who is slow, in a few cases, before or together; and that healthy fleets of realistic scatter give no alarm."""

import functools
import json
import lzma

import pytest
from conftest import ROOT, need
from fleets import BASE, healthy, judged, lines_of, put, rack, run, slow, tables

need("numpy")
import duckdb  # noqa: E402
import numpy  # noqa: E402
from roofmark_report import fleet_page, fleet_stragglers  # noqa: E402
from test_fleet_teams import team  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


@functools.cache
def cases():
    """Name, family and resource of the records of a suite quick on an H200."""
    with lzma.open(ROOT / "results" / "reference" / "h200_sxm_quick.json.xz") as file:
        records = json.load(file)["benchmarks"]
    return [(f"{entry['name']} {entry['roofmark']['pass']}", entry["roofmark"]["family"], entry["roofmark"].get("placement", {}).get("bound_by") or "")
            for entry in records]


def scatter(noise, count):
    """[count, case]: times of healthy GPUs, or of runs of one. All cases of one vary together by 0.5 %, those of a family or resource by 1 %, each by
    0.5 %; by 3 % where host, slot and link decide; one value of 200 is 30 % higher."""
    outside = numpy.array([not bound_by or bound_by in fleet_stragglers.OUTSIDE for _, _, bound_by in cases()])
    size = count, len(outside)
    logs = noise.normal(0, 0.005, (count, 1)) + noise.normal(0, 1, size) * numpy.where(outside, 0.03, 0.005)
    for column in (1, 2):
        names = [case[column] for case in cases()]
        for name in dict.fromkeys(names):
            logs += noise.normal(0, 1, (count, 1)) * numpy.where(outside, 0.03, 0.01) * (numpy.array(names) == name)
    return numpy.exp(logs + numpy.log(1.3) * (noise.random(size) < 0.005))


def table(connection, parts, of=slice(None)):
    """`parts`: names of who, and their [who, case] times of some cases. The values of stragglers(), each part compared by itself."""
    columns = {name: [] for name in ("who", "what", "said", "family", "bound_by", "seconds", "started")}
    for part, (who, times) in enumerate(parts):
        for started, (name, row) in enumerate(zip(who, times)):
            said, family, bound_by = map(list, zip(*cases()[of]))
            values = {"who": [name] * len(row), "what": [f"{part} {one}" for one in said], "said": said, "family": family, "bound_by": bound_by,
                      "seconds": row, "started": [started] * len(row)}
            for key, found in values.items():
                columns[key].extend(found)
    arrays = {key: numpy.array(found) for key, found in columns.items()}  # noqa: F841: read by DuckDB
    connection.execute("CREATE OR REPLACE TABLE made AS SELECT * REPLACE (nullif(bound_by, '') AS bound_by), true AS alone FROM arrays")


@pytest.mark.parametrize("count", [4, 8, 16])
def test_healthy_fleets_give_no_alarm(count):
    noise, connection, fleets = numpy.random.default_rng(count), duckdb.connect(), 400 // count
    table(connection, [([f"{fleet} {gpu}" for gpu in range(count)], scatter(noise, count)) for fleet in range(fleets)])
    assert fleet_stragglers.stragglers(connection, "FROM made") == [] and fleet_stragglers.two_groups(connection, "FROM made") == []
    # The same values, with one slow GPU or half of the GPUs in each fleet.
    found = fleet_stragglers.stragglers(connection, "SELECT * REPLACE (CASE WHEN who LIKE '% 1' AND family = 'attention' THEN 10 ELSE 1 END * seconds AS seconds) FROM made")
    assert sorted(one["who"] for one in found) == sorted(f"{fleet} 1" for fleet in range(fleets)) and {one["name"] for one in found} == {"attention"}
    # One link at a quarter of its rate. While all GPUs of a host copy, healthy ones share switches.
    for alone in ("true", "false"):
        found = fleet_stragglers.stragglers(connection, f"""SELECT * REPLACE ({alone} AS alone,
            CASE WHEN who LIKE '% 1' AND bound_by = 'host_to_device' THEN 4 ELSE 1 END * seconds AS seconds) FROM made""")
        named = {one["who"] for one in found if one["name"] == "host_to_device"}
        assert len(named) >= 0.9 * fleets if alone == "true" else not named
    split = fleet_stragglers.two_groups(connection, f"""SELECT * REPLACE (CASE WHEN split_part(who, ' ', 2)::INTEGER < {count // 2} THEN 1 ELSE 1.4 END * seconds
                                                        AS seconds) FROM made""")
    assert len(split) >= fleets and all(len(one["slow_ones"]) == count / 2 for one in split if one["scope"] == "all")


@pytest.mark.parametrize("count", [1, 2, 3, 8, 20, 28, 52])
def test_of_few_cases_a_healthy_gpu_of_a_thousand_is_no_straggler_and_a_slow_one_is(count):
    noise, connection, gpus = numpy.random.default_rng(count), duckdb.connect(), 1024
    of = slice(0, count * (len(cases()) // count), len(cases()) // count)  # from all families
    times = scatter(noise, gpus)[:, of]
    who = [f"{gpu}" for gpu in range(gpus)]
    table(connection, [(who, times)], of)
    assert fleet_stragglers.stragglers(connection, "FROM made") == []
    if count >= 8:
        times[7] *= 1.12
        table(connection, [(who, times)], of)
        assert [one["who"] for one in fleet_stragglers.stragglers(connection, "FROM made")] == ["7"]


@pytest.mark.parametrize("runs", [3, 5, 10, 20])
def test_healthy_histories_give_no_alarm(runs):
    noise, connection, gpus = numpy.random.default_rng(runs), duckdb.connect(), 400 // runs
    table(connection, [([f"{gpu}"] * runs, scatter(noise, runs)) for gpu in range(gpus)])
    assert fleet_stragglers.slower_than_before(connection, "FROM made") == []
    last = f"SELECT * REPLACE (CASE WHEN started >= {runs} - {{}} THEN 1.3 ELSE 1 END * seconds AS seconds) FROM made"
    assert len(fleet_stragglers.slower_than_before(connection, last.format(1))) >= 0.99 * gpus
    if runs >= 10:  # of many, a step that lies some runs back
        assert len(fleet_stragglers.slower_than_before(connection, last.format(runs - 5))) >= 0.99 * gpus


def test_a_speed_that_wanders_is_seldom_slower_than_before():
    # As with the temperature of a room: all cases of a run by 3 %, each run nine tenths of the one before.
    noise, connection, gpus, runs = numpy.random.default_rng(60), duckdb.connect(), 40, 60
    def wandering():
        walk = [noise.normal()]
        while len(walk) < runs:
            walk.append(0.9 * walk[-1] + 0.19**0.5 * noise.normal())
        return scatter(noise, runs) * numpy.exp(0.03 * numpy.array(walk))[:, None]
    table(connection, [([f"{gpu}"] * runs, wandering()) for gpu in range(gpus)])
    assert len(fleet_stragglers.slower_than_before(connection, "FROM made")) <= 0.08 * gpus


def history(factors, only=""):
    return [slow(healthy(0, "a00", seed=run, started_utc=f"2026-03-{run + 1:02d}T00:00:00Z"), factor, only, ceilings=False) for run, factor in enumerate(factors)]


@pytest.mark.parametrize("factors, slower", [
    ([1] * 5 + [1.25] * 5, True),  # half of the runs
    ([1] * 5 + [1.25] * 15, True),  # most of them
    ([1] * 5 + [1.25] * 21, False),  # no longer among the earlier runs that count
    ([1.25] * 5 + [1] * 5 + [1.25] * 5, True),  # it has been faster
    ([1.25] * 5 + [1] * 5, False),  # it became faster
    ([1] * 9 + [1.25, 1], False),  # once
    ([1, 1, 1.25, 1, 1, 1.25, 1, 1.25, 1, 1.25], False),  # again and again
    ([1] * 5 + [1.08] * 5, False)])
def test_a_gpu_is_compared_with_its_earlier_runs(folder, tmp_path, factors, slower):
    put(folder, history(factors))
    suspects, hosts = judged(folder, tmp_path)
    assert list(suspects) == [("slower_than_before", "GPU-0000")] * slower and hosts["a00"] == ("bad" if slower else "good")


def test_a_short_run_of_another_suite_does_not_hide_it(folder, tmp_path):
    results = history([1] * 5 + [1.3] * 3)
    last = results[-1] | {"suite": "sustained", "started_utc": "2026-04-01T00:00:00Z", "benchmarks": []}
    put(folder, [*results, last])
    assert ("slower_than_before", "GPU-0000") in judged(folder, tmp_path)[0]


def test_what_changed_with_the_speed_is_said(folder, tmp_path):
    results = history([1] * 5 + [1.3])
    results[-1]["device"]["details"]["driver_version"] = "590.00"
    put(folder, results)
    suspects, _ = judged(folder, tmp_path)
    assert suspects["slower_than_before", "GPU-0000"].endswith("; between its runs, driver changed")


def test_runs_of_one_gpu_and_of_all_are_not_compared(folder, tmp_path):
    # All at once share the host's links: not slower than before, and no slower than GPUs that were measured alone.
    alone = [result | {"started_utc": f"2026-01-{day + 1:02d}T00:00:00Z"} for day in range(6) for result in rack(8, 4)]
    together = team({gpu: 1.25 for gpu in range(4)}, hosts=1, per_host=4, started_utc="2026-02-01T00:00:00Z")
    put(folder, [*alone, together])
    assert judged(folder, tmp_path)[0] == {}


def test_the_history_of_a_page_keeps_runs_of_one_gpu_and_of_all_apart(folder, tmp_path):
    links = BASE["benchmarks"][0]["name"]
    results = []
    for day in (1, 8):
        results += [healthy(0, "a00", seed=0, started_utc=f"2026-01-{day:02d}T00:00:00Z")]
        together = team(hosts=1, per_host=4, started_utc=f"2026-01-{day:02d}T01:00:00Z")
        for rank in next(entry for entry in together["benchmarks"] if entry["name"] == links)["roofmark"]["measurement"]["ranks"]:
            rank["median"] *= 2  # the GPUs of a host share its links
        results.append(together)
    put(folder, results)
    found = tables(folder, tmp_path).execute(f"SELECT started, times FROM ({fleet_page._HISTORY}) WHERE gpu = 'GPU-0000' ORDER BY started").fetchall()
    assert len(found) == 4 and [times for _, times in found] == pytest.approx([1] * 4)


def more_cases(results, family, count):
    """More cases of a family, so that it is a smaller part of all."""
    for result in results:
        entries = [entry for entry in result["benchmarks"] if entry["roofmark"]["family"] == family]
        for i in range(count):
            entry = json.loads(json.dumps(entries[i % len(entries)]))
            entry["name"] += f"/copy:{i}"
            result["benchmarks"].append(entry)
    return results


@pytest.mark.parametrize("family_cases, slow_cases, named", [(3, 3, True), (6, 4, True), (6, 3, False), (2, 2, False)])
def test_slow_in_most_cases_of_a_family(folder, tmp_path, family_cases, slow_cases, named):
    results = more_cases(more_cases(rack(8, per_host=1), "stream", 80), "attention", family_cases - 2)
    for entry in [entry for entry in results[3]["benchmarks"] if entry["roofmark"]["family"] == "attention"][:slow_cases]:
        entry["roofmark"]["measurement"]["median"] *= 10.5
        for result in results:  # the resource is that of many others
            next(other for other in result["benchmarks"] if other["name"] == entry["name"])["roofmark"]["placement"]["bound_by"] = "dram"
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path)
    assert list(suspects) == ([("slow_gpu", "GPU-0003")] if named else []) and hosts["a03"] == ("bad" if named else "good")
    if named:
        assert f"in {slow_cases} of {family_cases} cases of attention; the worst takes 10" in suspects["slow_gpu", "GPU-0003"]


@pytest.mark.parametrize("family, named", [("stream", True), ("cost", False)])
def test_slow_in_most_cases_of_a_resource(folder, tmp_path, family, named):
    results = more_cases(rack(8, per_host=1), "stream", 90)
    for result in results:
        for i, entry in enumerate(result["benchmarks"][-80:-77]):
            entry["roofmark"] |= {"family": family, "placement": entry["roofmark"]["placement"] | {"bound_by": "host_to_device"}}
            entry["name"] = f"{family}/to the device/{i}"
    slow(results[3], 4, f"{family}/to the device")
    put(folder, results)
    suspects, _ = judged(folder, tmp_path)
    assert list(suspects) == ([("slow_gpu", "GPU-0003")] if named else [])
    if named:
        assert " cases limited by host to device; the worst takes " in suspects["slow_gpu", "GPU-0003"]


@pytest.mark.parametrize("slow_ones, of_all", [((1, 4, 6, 7), 8), ((1, 2, 4, 6, 7), 8), ((2, 3), 4)])
def test_two_groups_are_named_and_none_is_called_slow(folder, slow_ones, of_all):
    results = rack(of_all, per_host=1)
    for gpu in slow_ones:
        slow(results[gpu], 1.3, ceilings=False)
    put(folder, results)
    done = run(folder)
    assert (done.returncode, done.stderr) == (1, "") and "nothing stands out" not in done.stdout
    assert "two groups (1)" in done.stdout and f"{len(slow_ones)} of {of_all} hosts: take 1.3" in done.stdout
    assert f" times the time of the other {of_all - len(slow_ones)} in {len(BASE['benchmarks'])} of {len(BASE['benchmarks'])} cases: a0" in done.stdout
    assert lines_of(folder / "bad.txt") == [] and len(lines_of(folder / "good.txt")) == of_all


def test_a_minority_is_slow_and_no_group(folder, tmp_path):
    results = rack(8, per_host=1)
    for gpu in (1, 4, 6):
        slow(results[gpu], 1.3, ceilings=False)
    put(folder, results)
    assert {kind for kind, _ in judged(folder, tmp_path)[0]} == {"slow_gpu"}


@pytest.mark.parametrize("factor", [1, 1.2])
def test_of_two_hosts_none_can_be_called_slow(folder, factor):
    results = rack(2, per_host=1)
    slow(results[1], factor)
    put(folder, results)
    done = run(folder)
    assert (done.returncode, done.stderr) == (0, "")
    differ = "; a01 takes 1." in done.stdout and f"times the time of a00 in {len(BASE['benchmarks'])} of" in done.stdout
    assert "\ntwo hosts: neither can be called slow" in done.stdout and differ == (factor > 1)
    assert ("nothing stands out" in done.stdout) == (factor == 1)
    page = (folder / "fleet.html").read_text(encoding="utf-8")
    assert "two hosts: neither can be called slow" in page and ("No host is bad, but two differ" in page) == (factor > 1)
