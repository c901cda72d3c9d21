# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/fleet on files of several ranks: each GPU by itself."""

import copy

import pytest
from fleets import BASE, judged, lines_of, put, rack, run, slow, tables

HOSTS, PER_HOST = 3, 8


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


def team(factors=None, hosts=HOSTS, per_host=PER_HOST, **top):
    """A file of ranks, each with the times of a healthy GPU, or `factors` [rank] times these."""
    ranks = range(hosts * per_host)
    parts = rack(len(ranks), per_host)
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
