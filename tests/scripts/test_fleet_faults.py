# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/fleet: what runs report of their devices, and which run counts."""

import re

import pytest
from conftest import ROOT
from fleets import judged, lines_of, put, rack, run
from roofmark_report import fleet_tables
from test_fleet_teams import team


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


def finding(kind, text, severity="error", doubt="part", **more):
    return {"kind": kind, "severity": severity, "doubt": doubt, "found_by": ["counters"], "text": text, "advice": "see", **more}


MEMORY = "uncorrected memory errors rose by 3"


def faulty(result, text=MEMORY, kind="uncorrected_errors", **more):
    """Makes the run one that reports a fault of its device."""
    result["findings"] = [*result["findings"], finding(kind, text, **more)]
    result["verdict"] = {"level": "bad", "headline": f"128 ok; the device reports faults: {text}", "advice": "Drain the node."}
    return result


def later(result, suite, day, **top):
    return result | {"suite": suite, "started_utc": f"2026-02-{day:02d}T00:00:00Z"} | top


def suspects_of(results, folder, tmp_path):
    put(folder, results)
    return judged(folder, tmp_path)


def test_a_fault_of_the_device_is_named_with_its_reason(folder):
    results = rack(8, per_host=1)
    faulty(results[5])
    put(folder, results)
    done = run(folder)
    assert (done.returncode, done.stderr) == (1, "") and lines_of(folder / "bad.txt") == ["a05"]
    assert re.search(rf"device fault \(1\)\..*\n  GPU-0005 \(on a05\): baseline run of \d{{4}}-\d\d-\d\d \d\d:\d\d: {MEMORY}\n", done.stdout)
    assert "nothing stands out" not in done.stdout and "7 hosts good, 1 bad, 0 not measured" in done.stdout


def test_a_fault_is_no_older_for_a_run_of_another_suite(folder, tmp_path):
    results = rack(3, per_host=1)
    quick = [later(result, "quick", 1) for result in results]
    faulty(quick[1])
    suspects, hosts = suspects_of([*quick, later(results[1], "sustained", 2)], folder, tmp_path)
    assert list(suspects) == [("device_fault", "GPU-0001")] and hosts == {"a00": "good", "a01": "bad", "a02": "good"}
    assert suspects["device_fault", "GPU-0001"] == f"quick run of 2026-02-01 00:00: {MEMORY}"


@pytest.mark.parametrize("newer, verdict", [
    ({}, "good"), ({"complete": False}, "bad"), ({"interrupted": True}, "bad"),
    ({"scope": {"changes": ["--filter gemm"]}}, "bad")])
def test_only_a_complete_run_of_the_same_suite_replaces_a_fault(folder, tmp_path, newer, verdict):
    results = rack(3, per_host=1)
    again = later(results[1], "baseline", 2, **{key: value for key, value in newer.items() if key != "scope"})
    again["scope"] = again["scope"] | newer.get("scope", {})
    results[1] = faulty(later(results[1], "baseline", 1))
    suspects, hosts = suspects_of([*results, again], folder, tmp_path)
    assert hosts["a01"] == verdict and (("device_fault", "GPU-0001") in suspects) == (verdict == "bad")


def test_a_selection_is_replaced_by_the_same_or_the_whole(folder, tmp_path):
    results = rack(3, per_host=1)
    def selection(day, **top):
        made = later(results[1], "smoke", day, **top)
        made["scope"] = made["scope"] | {"changes": ["--only-device"]}
        return made
    bad = faulty(selection(1))
    put(folder, [*results, bad, later(results[1], "baseline", 5)])
    assert judged(folder, tmp_path)[1]["a01"] == "bad"
    put(folder, [*results, bad, selection(2), later(results[1], "baseline", 5)])
    assert judged(folder, tmp_path / "same")[1]["a01"] == "good"
    put(folder, [*results, bad, later(results[1], "smoke", 2), later(results[1], "baseline", 5)])
    assert judged(folder, tmp_path / "whole")[1]["a01"] == "good"


def test_a_run_of_all_gpus_does_not_replace_that_of_one_alone(folder, tmp_path):
    # accept_node measures each GPU alone, then all at once.
    alone = [later(result, "quick", 1) for result in rack(4, per_host=4)]
    faulty(alone[2])
    together = team(hosts=1, per_host=4) | {"suite": "quick", "started_utc": "2026-02-02T00:00:00Z"}
    suspects, _ = suspects_of([*alone, together], folder, tmp_path)
    assert list(suspects) == [("device_fault", "GPU-0002")]


def test_a_fault_of_one_rank_is_not_the_others(folder, tmp_path):
    made = faulty(team(), "cuda:1 of a01: " + MEMORY, ranks=[9])
    suspects, hosts = suspects_of([made], folder, tmp_path)
    assert list(suspects) == [("device_fault", "GPU-0009")] and hosts == {"a00": "good", "a01": "bad", "a02": "good"}


def test_a_doubt_about_one_rank_leaves_the_other_hosts_good(folder, tmp_path):
    made = team()
    made["findings"] = [finding("slow_rank", "rank 9 is slow", severity="warning", ranks=[9]), finding("cache", "a note", severity="note", doubt="nothing")]
    made["verdict"] = {"level": "doubtful", "headline": "128 ok; slow: rank 9", "advice": ""}
    suspects, hosts = suspects_of([made], folder, tmp_path)
    assert suspects == {} and hosts == {"a00": "good", "a01": "not measured", "a02": "good"}


def test_a_bad_verdict_without_a_cause_in_the_file_is_taken_for_a_fault(folder, tmp_path):
    results = rack(3, per_host=1)
    results[1]["verdict"] = {"level": "bad", "headline": "128 ok; the device reports faults: smoke", "advice": ""}
    suspects, hosts = suspects_of(results, folder, tmp_path)
    assert list(suspects) == [("device_fault", "GPU-0001")] and "faults: smoke" in suspects["device_fault", "GPU-0001"] and hosts["a01"] == "bad"


def test_a_bad_verdict_of_what_was_not_measured_is_in_neither_list(folder):
    results = rack(6, per_host=1)
    entry = results[2]["benchmarks"].pop()
    record = {key: value for key, value in entry["roofmark"].items() if key not in ("measurement", "placement")}
    results[2]["unmeasured"] = [{"name": entry["name"], "roofmark": record | {"status": "not_run", "reason": "too little memory"}}]
    results[2]["verdict"] = {"level": "bad", "headline": "127 ok, 1 not run", "advice": ""}
    put(folder, results)
    done = run(folder)
    assert done.returncode == 1 and "5 hosts good, 0 bad, 1 not measured\n" in done.stdout
    assert "GPU-0002 (on a02): baseline run of " in done.stdout and ", verdict bad: 127 ok, 1 not run\n" in done.stdout


@pytest.mark.parametrize("by_name", [True, False], ids=["one chosen by name", "all of a filter"])
def test_an_unsupported_case_that_was_asked_for_is_no_fault(folder, tmp_path, by_name):
    results = rack(3, per_host=1)
    made = results[1]
    entry = made["benchmarks"].pop()
    if not by_name:
        made["benchmarks"] = [other for other in made["benchmarks"] if "sets_ceiling" in other["roofmark"]]
    record = {key: value for key, value in entry["roofmark"].items() if key not in ("measurement", "placement")}
    made["unmeasured"] = [{"name": entry["name"], "roofmark": record | {"status": "unsupported", "reason": "no fp8 on this device"}}]
    made["scope"] = {**made["scope"], "cases": 1, "changes": ["--case x"]} | ({"by_name": True} if by_name else {})
    made["verdict"] = {"level": "bad", "headline": "1 unsupported", "advice": ""}
    suspects, hosts = suspects_of(results, folder, tmp_path)
    assert list(suspects) == [("not_measured", "GPU-0001")] and "verdict bad: 1 unsupported" in suspects["not_measured", "GPU-0001"]
    assert hosts == {"a00": "good", "a01": "not measured", "a02": "good"}


def test_what_a_team_did_wrong_together_is_one_line(folder, cluster):
    put(folder, [cluster])
    done = run(folder)
    assert "not measured (1)." in done.stdout and "15 GPUs (2 hosts): baseline run of 2026-01-15 10:00, verdict bad: 261 ok, 1 wrong" in done.stdout


def test_bits_that_differ_are_named_once(folder, tmp_path):
    made = team(hosts=1, per_host=4)
    made["benchmarks"][4]["roofmark"]["fingerprint"]["differing_ranks"] = [2]
    faulty(made, "the bits of rank 2 differ", "fingerprint", ranks=[2])
    suspects, _ = suspects_of([made], folder, tmp_path)
    assert list(suspects) == [("fingerprint", "GPU-0002")]


def test_an_interrupted_run_is_incomplete(folder, tmp_path):
    results = rack(3, per_host=1)
    results[2]["interrupted"] = True
    suspects, hosts = suspects_of(results, folder, tmp_path)
    assert list(suspects) == [("not_measured", "GPU-0002")] and hosts["a02"] == "not measured"


def test_what_is_no_fault_is_what_the_program_calls_none():
    text = (ROOT / "harness" / "model" / "finding.hpp").read_text(encoding="utf-8")
    errors = dict(re.findall(r'"(\w+)", Severity::error, Doubt::(\w+)', text))
    assert len(errors) > 5
    assert {kind for kind, doubt in errors.items() if doubt not in ("device", "host") or kind == "fingerprint"} == set(fleet_tables.NO_FAULTS)
    assert "Doubt::device" not in re.sub(r"Severity::error, Doubt::device", "", text.partition("kFindingTypes[]")[2])


def test_where_versions_are_tied_none_has_the_majority(folder, tmp_path):
    results = rack(4, per_host=1)
    for result in results[:2]:
        result["device"]["details"]["driver_version"] = "570.01"
    suspects, _ = suspects_of(results, folder, tmp_path)
    assert set(suspects) == {("drift", "driver 570.01"), ("drift", "driver 580.00")}
    assert all(text.startswith("2 of 4 GPUs") and text.endswith("no version has the majority") for text in suspects.values())


def test_with_an_unreadable_file_it_is_not_said_that_nothing_stands_out(folder):
    put(folder, rack(4))
    (folder / "broken.json").write_text("{")
    done = run(folder)
    assert done.returncode == 1 and "2 hosts good, 0 bad, 0 not measured; 1 file could not be read\n" in done.stdout
    assert "nothing stands out" not in done.stdout
    assert "No host is bad, but 1 file could not be read" in (folder / "fleet.html").read_text(encoding="utf-8")
