# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/fleet on files of several ranks: each GPU by itself."""

import copy
import json
import lzma

import make_result
import pytest
from conftest import ROOT
from fleets import BASE, judged, put, rack, slow, tables

HOSTS, PER_HOST = 3, 8


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


def team(factors=None, hosts=HOSTS, per_host=PER_HOST, cases=None, **top):
    """A file of ranks, each with the times of a healthy GPU, or `factors` [rank] times these."""
    ranks = range(hosts * per_host)
    parts = rack(len(ranks), per_host)
    for part in parts if cases else []:
        part["benchmarks"] = copy.deepcopy(cases)
    for rank, factor in (factors or {}).items():
        slow(parts[rank], factor)
    made = copy.deepcopy(parts[0]) | top
    made["team"] = [{
        "rank": rank, "local_rank": rank % per_host, "host": parts[rank]["host"]["name"], "pid": rank, "device_id": f"cuda:{rank % per_host}",
        "device_name": made["device"]["name"], "uuid": parts[rank]["device"]["details"]["uuid"], "pci_bus_id": f"0000:{rank % per_host:02x}:00.0",
        "numa_node": 0, "nics": [], "versions": {"roofmark": "0.1.0"}} for rank in ranks]
    made["communication"] = {name: [] for name in ("fits", "rings", "pairs", "scaling", "overlaps", "slowest")}
    for i, entry in enumerate(made["benchmarks"]):
        own = [part["benchmarks"][i]["roofmark"]["measurement"] for part in parts]
        slowest = max(ranks, key=lambda rank: own[rank]["median"])
        entry["roofmark"] = copy.deepcopy(parts[slowest]["benchmarks"][i]["roofmark"])
        entry["roofmark"]["measurement"]["ranks"] = [
            {"median": one["median"], "maximum": one["maximum"], **({"clock_hz": one["clock_hz"]} if "clock_hz" in one else {})} for one in own]
    return made


def take(made, status, rank_status=None, reason="", of=4):
    """Makes the record `of` one that has no times."""
    entry = made["benchmarks"].pop(of)
    record = {key: value for key, value in entry["roofmark"].items() if key not in ("measurement", "placement", "verification")}
    record |= {"status": status, "reason": reason} | ({"rank_status": rank_status} if rank_status else {})
    made["unmeasured"].append({"name": entry["name"], "roofmark": record})
    return record


@pytest.mark.parametrize("by_reason", [False, True])
@pytest.mark.parametrize("status, verdict", [("wrong", "bad"), ("failed", "not measured")])
def test_a_record_without_times_blames_only_the_ranks_at_fault(folder, tmp_path, status, verdict, by_reason):
    made = team()
    # run --device all keeps the status per rank; roofmark-mpi names the ranks in the reason.
    record = take(made, status, None if by_reason else [status if rank in (2, 9) else "ok" for rank in range(24)],
                  "rank 2 (a00): 3 elements are wrong; also wrong: rank 9 (a01)" if by_reason else "cuda:2: 3 elements are wrong; also wrong: cuda:1")
    if not by_reason:
        record["notes"] = record["notes"] | {"rank 2": "cuda:2 wrong: 3 elements are wrong", "rank 9": "cuda:1 wrong: 4 elements are wrong"}
    put(folder, [made])
    suspects, hosts = judged(folder, tmp_path)
    kind = {"wrong": "wrong", "failed": "not_measured"}[status]
    assert list(suspects) == [(kind, "GPU-0002"), (kind, "GPU-0009")]
    assert hosts == {"a00": verdict, "a01": verdict, "a02": "good"}
    if status == "wrong":
        assert "3 elements are wrong" in suspects["wrong", "GPU-0002"]
    if not by_reason:
        assert ("4 elements" in suspects[kind, "GPU-0009"]) == (status == "wrong")


def test_a_failure_of_all_ranks_is_that_of_each(folder, tmp_path):
    made = team(hosts=1, per_host=4)
    take(made, "wrong", reason="2 elements are wrong")
    put(folder, [made])
    suspects, hosts = judged(folder, tmp_path)
    assert list(suspects) == [("wrong", f"GPU-000{gpu}") for gpu in range(4)] and hosts == {"a00": "bad"}


def test_what_a_rank_did_right_replaces_what_it_once_did_wrong(folder, tmp_path):
    before, now = (team(started_utc=f"2026-0{month}-01T00:00:00Z") for month in (1, 2))
    take(before, "wrong", ["wrong" if rank == 20 else "ok" for rank in range(24)])
    take(now, "wrong", ["wrong" if rank == 2 else "ok" for rank in range(24)])
    put(folder, [before, now])
    suspects, hosts = judged(folder, tmp_path)
    assert list(suspects) == [("wrong", "GPU-0002")] and hosts["a02"] == "good"


def test_the_bits_of_a_wrong_result_are_one_ranks(folder, tmp_path):
    made = team(hosts=1, per_host=4)
    take(made, "wrong", ["ok", "wrong", "ok", "ok"])["fingerprint"]["hash"] = "0123456789abcdef"
    put(folder, [made, *rack(16)[4:]])
    suspects, _ = judged(folder, tmp_path)
    assert list(suspects) == [("wrong", "GPU-0001")]


def test_a_team_of_one_rank_has_its_times(folder, tmp_path):
    made = team(hosts=1, per_host=1)
    for entry in made["benchmarks"]:
        del entry["roofmark"]["measurement"]["ranks"]
    put(folder, [made])
    counted = tables(folder, tmp_path).execute("SELECT count(seconds), count(*) FROM newest").fetchone()
    assert counted == (len(BASE["benchmarks"]), len(BASE["benchmarks"]))


PROBES = [entry for entry in make_result.h200()["benchmarks"] if "sets_ceiling" in entry["roofmark"]]


def shares(folder, tmp_path):
    return tables(folder, tmp_path).execute("SELECT gpu, resource, empirical, share FROM newest_ceilings WHERE empirical IS NOT NULL").fetchall()


@pytest.mark.parametrize("name", ["h100_sxm_quick", "h200_sxm_quick"])
def test_the_ceilings_of_a_rank_are_those_of_its_gpu_alone(folder, tmp_path, name):
    path = ROOT / "results" / "reference" / f"{name}.json.xz"
    with lzma.open(path) as file:
        alone = json.load(file)
    put(folder, [alone])
    expected = {resource: (empirical, share) for _, resource, empirical, share in shares(folder, tmp_path)}
    made = team(hosts=1, per_host=2)
    for entry in alone["benchmarks"]:
        measured = entry["roofmark"]["measurement"]
        measured["ranks"] = [{key: measured[key] for key in ("median", "maximum", "clock_hz") if key in measured}] * 2
    put(folder, [alone | {"team": made["team"], "communication": made["communication"]}])
    found = shares(folder, tmp_path / "again")
    assert len(found) == 2 * (len(expected) - 1)  # a slope is of several probes together
    for _, resource, empirical, share in found:
        assert empirical == pytest.approx(expected[resource][0]) and share == (pytest.approx(expected[resource][1], rel=2e-3) if share else None), resource


def test_of_a_team_that_is_slow_together_each_gpu_is_found_against_the_ceilings(folder, tmp_path):
    put(folder, [team({gpu: 2 for gpu in range(16)}, hosts=2, cases=PROBES)])
    suspects, hosts = judged(folder, tmp_path)
    assert list(suspects) == [("below_ceiling", "a00"), ("below_ceiling", "a01")] and set(hosts.values()) == {"bad"}
    assert "8 of 8 GPUs are below" in suspects["below_ceiling", "a00"]


def test_of_a_healthy_team_none_is_below_its_floor(folder, tmp_path):
    put(folder, [team(hosts=2, cases=PROBES)])
    assert judged(folder, tmp_path)[0] == {}
    assert len(shares(folder, tmp_path / "again")) > 16


def test_one_slow_rank_is_below_the_floor_and_its_neighbours_are_not(folder, tmp_path):
    put(folder, [team({3: 1.4}, hosts=1, cases=PROBES)])
    suspects, _ = judged(folder, tmp_path)
    assert {who for kind, who in suspects if kind == "below_ceiling"} == {"GPU-0003"}


def test_the_floor_of_a_rank_follows_its_clock(folder, tmp_path):
    # All at half of their highest clock, as boards with a low power limit are.
    made = team({gpu: 2 for gpu in range(4)}, hosts=1, per_host=4, cases=[
        entry for entry in PROBES if entry["roofmark"]["sets_ceiling"]["resource"].endswith(("_fma", "_tensor"))])
    for entry in made["benchmarks"]:
        for own in entry["roofmark"]["measurement"]["ranks"]:
            own["clock_hz"] = made["device"]["highest_clock_hz"] / 2
    put(folder, [made])
    assert judged(folder, tmp_path)[0] == {}


def test_what_lowered_the_clock_of_one_rank_is_no_matter_of_the_others(folder, tmp_path):
    made = team(hosts=1, per_host=3)
    name, measured = made["benchmarks"][0]["name"], made["benchmarks"][0]["roofmark"]["measurement"]
    measured["telemetry"] = {"seconds": 1.0, "throttled_share": {"power cap": 0.75}}  # of the slowest
    for own, share in zip(measured["ranks"], ({"power cap": 0.75, "sync boost": 0.5}, {}, None)):
        own |= {} if share is None else {"throttled_share": share}
    put(folder, [made])
    found = tables(folder, tmp_path).execute("SELECT gpu, throttled, cv FROM records WHERE case_name = ? ORDER BY gpu", [name]).fetchall()
    assert found == [("GPU-0000", 0.75, None), ("GPU-0001", 0, None), ("GPU-0002", None, None)]


def test_ranks_that_share_a_gpu_have_no_floor(folder, tmp_path):
    made = team({gpu: 4 for gpu in range(4)}, hosts=1, per_host=4, cases=PROBES)
    for member in made["team"]:
        member |= {"device_id": "cuda:0", "uuid": "GPU-0000"}
    put(folder, [made])
    assert shares(folder, tmp_path) == []
