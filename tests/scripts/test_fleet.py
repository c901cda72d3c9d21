# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# Longer than most files: one planted fault per test, among the same machines.
"""scripts/fleet: machines with planted faults among healthy ones."""

import copy
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys

import browser
import make_result
import pytest
from conftest import ROOT, need
from fleets import BASE, COMMAND, healthy, judged, lines_of, put, rack, run, slow, tables
from make_verdict import written
from roofmark_report import fleet_judge, fleet_prometheus, fleet_stragglers, fleet_tables, verdict
from roofmark_report import result as reader

PROMTOOL = shutil.which("promtool", path=os.pathsep.join([os.environ.get("PATH", ""), os.path.dirname(sys.executable)]))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


def test_a_thousand_files_take_little_time_and_memory(folder):
    """10,000 files took 27 s of CPU time and 0.6 GB, 1,000 take 0.45 GB. The limits are exceeded if the cost grows faster than the number of files."""
    text = json.dumps(BASE | {"labels": {"rack": "a"}} | {"host": BASE["host"] | {"name": "@host@"},
                                                          "device": BASE["device"] | {"details": BASE["device"]["details"] | {"uuid": "@gpu@"}}})
    for i in range(1000):
        path = folder / f"gpu{i}" / "result.json"
        path.parent.mkdir(parents=True)
        path.write_text(text.replace("@host@", f"n{i // 8:03d}").replace("@gpu@", f"GPU-{i:04d}"), encoding="utf-8")

    def limited():
        resource.setrlimit(resource.RLIMIT_CPU, (15, 15))  # seconds, per process

    with subprocess.Popen([*COMMAND, folder], stdout=subprocess.PIPE, text=True, preexec_fn=limited) as process:
        assert "1000 runs of 1000 devices on 125 hosts" in process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert used.ru_maxrss < 600_000, "KiB"


def test_of_healthy_gpus_none_stands_out(folder):
    put(folder, rack())
    done = run(folder, "--by", "rack")
    assert (done.returncode, done.stderr) == (0, "")
    assert "16 runs of 16 devices on 8 hosts, 1 of rack; 1 model" in done.stdout and "nothing stands out" in done.stdout
    assert lines_of(folder / "good.txt") == [f"a{host:02d}" for host in range(8)] and (folder / "bad.txt").read_text() == ""
    assert "Nothing stands out" in (folder / "fleet.html").read_text(encoding="utf-8")


def test_a_slow_gpu_is_named_and_its_host_is_bad(folder):
    results = rack()
    slow(results[5], 1.15)
    put(folder, results)
    done = run(folder)
    assert done.returncode == 1 and done.stderr == ""
    assert re.search(r"slow GPU \(1\).*\n  GPU-0005 \(on a02\): slower than the median of the GPUs of its model in \d+ of \d+ cases; "
                     r"the worst takes 1\.1\d times the median, \d+ MADs above it: ", done.stdout)
    assert lines_of(folder / "bad.txt") == ["a02"] and len(lines_of(folder / "good.txt")) == 7 and "a02" not in lines_of(folder / "good.txt")


@pytest.mark.parametrize("count, factor, stands_out", [(16, 1.09, False), (16, 1.12, True), (6, 1.2, False), (6, 1.3, True), (2, 2.0, False)])
def test_few_gpus_take_more_and_two_tell_nothing(folder, tmp_path, count, factor, stands_out):
    results = rack(count, per_host=1)
    slow(results[1], factor, ("stream", "transfer"))
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path)
    assert list(suspects) == ([("slow_gpu", "GPU-0001")] if stands_out else [])
    assert hosts["a01"] == ("bad" if stands_out else "good")


@pytest.mark.parametrize("count, factor, stands_out", [(6, 1.09, False), (6, 1.2, True), (3, 1.2, True), (2, 1.2, False)])
def test_of_few_gpus_one_that_is_slow_again_and_again_stands_out(folder, tmp_path, count, factor, stands_out):
    results = rack(count, per_host=1)
    slow(results[1], factor)
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path)
    assert list(suspects) == ([("slow_gpu", "GPU-0001")] if stands_out else [])
    assert hosts["a01"] == ("bad" if stands_out else "good")
    if stands_out:
        found = re.match(r"slower than the median of the GPUs of its model in (\d+) of (\d+) cases that the device limits; ", suspects["slow_gpu", "GPU-0001"])
        assert int(found[1]) == int(found[2]) >= fleet_stragglers.LEAST_CASES


def test_of_few_gpus_only_what_the_device_limits_can_repeat(folder, tmp_path):
    results = rack(6, per_host=1)
    for result in results:
        for entry in result["benchmarks"]:
            entry["roofmark"]["placement"]["bound_by"] = "host_to_device"
    slow(results[1], 1.2)
    put(folder, results)
    assert judged(folder, tmp_path)[0] == {}


def test_the_rule_is_that_of_the_ranks():
    sources = "".join((ROOT / "harness" / path).read_text(encoding="utf-8") for path in (
        "judge/ranks/deviation.hpp", "judge/ranks/deviation.cpp", "judge/ranks/slow_pairs.hpp", "judge/ranks/stragglers.cpp", "model/statistics.cpp"))
    for name, value in [("kSlow", fleet_stragglers.SLOW), ("kSlowOfFew", fleet_stragglers.SLOW_OF_FEW), ("kMany", fleet_stragglers.MANY),
                        ("kDeviations", fleet_stragglers.DEVIATIONS), ("kSlowCases", fleet_stragglers.SLOW_CASES), ("kByChance", fleet_stragglers.BY_CHANCE),
                        ("kOftenSlowCases", fleet_stragglers.OFTEN_SLOW_CASES), ("kLeastCases", fleet_stragglers.LEAST_CASES),
                        ("kSlowInGroup", fleet_stragglers.SLOW_OF_FEW), ("kLeastSlowCases", fleet_stragglers.LEAST_SLOW_CASES),
                        ("normal_sigma_of_mad", fleet_stragglers.SIGMA_OF_MAD)]:
        assert re.search(rf"\b{name} = {value}[;,]", sources), name
    resources = (ROOT / "harness" / "model" / "resource.hpp").read_text(encoding="utf-8")
    assert set(fleet_stragglers.OUTSIDE) == set(re.findall(r'Resource \w+\{\s*"(\w+)", [^}]*,\s+ClockDomain::none\}', resources))


@pytest.mark.parametrize("cases, slow_cases, named", [(20, 2, False), (20, 3, True), (3, 3, True), (3, 2, False), (2, 2, False), (1, 1, False)])
def test_few_slow_cases_are_a_neighbours_noise(folder, tmp_path, cases, slow_cases, named):
    assert len(BASE["benchmarks"]) == 20  # one case, and two more
    results = rack(8, per_host=1)
    for result in results:
        result["benchmarks"] = result["benchmarks"][-cases:]
    for entry in BASE["benchmarks"][-cases:][:slow_cases]:
        slow(results[3], 1.2, entry["name"], ceilings=False)
    put(folder, results)
    suspects, _ = judged(folder, tmp_path)
    assert list(suspects) == ([("slow_gpu", "GPU-0003")] if named else [])


def test_a_slow_host_stands_for_its_gpus(folder, tmp_path):
    results = rack(16)
    for gpu in (6, 7):
        slow(results[gpu], 1.2)
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path)
    assert list(suspects) == [("slow_host", "a03")] and hosts["a03"] == "bad"


def test_a_slow_rack_stands_for_its_hosts(folder, tmp_path):
    results = [result for i, name in enumerate("abcdefgh") for result in rack(4, 2, name, 4 * i)]
    for result in results[8:12]:
        slow(result, 1.2)
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path, "rack")
    assert list(suspects) == [("slow_group", "rack c")]
    assert {host for host, verdict in hosts.items() if verdict == "bad"} == {"c04", "c05"}


# Of an even number of members, the mean of the two in the middle would be slow with half of them.
@pytest.mark.parametrize("per_host, slow_ones", [(2, (6,)), (4, (4, 6)), (2, (2, 6))])
def test_half_of_a_host_is_named_by_gpu(folder, tmp_path, per_host, slow_ones):
    results = rack(32, per_host)
    for gpu in slow_ones:
        slow(results[gpu], 1.3, ceilings=False)
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path)
    assert sorted(suspects) == [("slow_gpu", f"GPU-{gpu:04d}") for gpu in slow_ones]
    assert {host for host, verdict in hosts.items() if verdict == "bad"} == {f"a{gpu // per_host:02d}" for gpu in slow_ones}


@pytest.mark.parametrize("hosts_of_rack, slow_ones, who", [(4, (0, 2), "GPU-0000 GPU-0002"), (3, (0, 2), "rack a"), (2, (0, 1), "rack a")])
def test_the_healthy_hosts_of_a_rack_are_good(folder, tmp_path, hosts_of_rack, slow_ones, who):
    results = [result for i, name in enumerate("abcdefgh") for result in rack(hosts_of_rack, 1, name, hosts_of_rack * i)]
    for gpu in slow_ones:
        slow(results[gpu], 1.3, ceilings=False)
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path, "rack")
    assert " ".join(sorted(name for _, name in suspects)) == who
    assert {host for host, verdict in hosts.items() if verdict == "bad"} == {f"a{gpu:02d}" for gpu in slow_ones}


def test_a_rack_that_is_slow_together_is_found_against_the_ceilings(folder, tmp_path):
    # Nothing to compare with: every GPU is as slow as the others.
    put(folder, [slow(result, 1.4) for result in rack(8)])
    suspects, hosts = judged(folder, tmp_path, "rack")
    assert list(suspects) == [("below_ceiling", "rack a")] and set(hosts.values()) == {"bad"}
    assert any(f"{title}: 8 of 8 GPUs are below, median 6" in suspects["below_ceiling", "rack a"] for title in ("DRAM", "fp32 FMA"))


def test_a_doubtful_ceiling_carries_no_verdict(folder, tmp_path):
    results = rack(4)
    for result in results:
        for ceiling in result["ceilings"]:
            ceiling["doubtful"] = True
    put(folder, [slow(result, 1.4) for result in results])
    assert judged(folder, tmp_path)[0] == {}


def test_a_third_of_the_fp32_rate_is_named_by_gpu(folder, tmp_path):
    results = rack(8)
    ceiling = next(c for c in results[3]["ceilings"] if c["resource"] == "fp32_fma")
    ceiling["empirical"] /= 3
    put(folder, results)
    suspects, _ = judged(folder, tmp_path, "rack")
    assert list(suspects) == [("below_ceiling", "GPU-0003")] and "fp32 FMA: 32.0 % of" in suspects["below_ceiling", "GPU-0003"]


@pytest.mark.parametrize("kind, slow, healthy", [("fp4", 0.2, 0.37), ("int8", 0.1, 0.24)])
def test_a_library_without_the_newest_instructions_is_above_the_floor(folder, tmp_path, kind, slow, healthy):
    results = rack(8)
    for i, result in enumerate(results):
        ceiling = next(c for c in result["ceilings"] if c["resource"] == "fp8_tensor")
        result["ceilings"] = [c for c in result["ceilings"] if c["resource"] != f"{kind}_tensor"] + [
            ceiling | {"resource": f"{kind}_tensor", "title": f"{kind} tensor", "empirical": (slow if i == 3 else healthy) * ceiling["theoretical"]}]
    put(folder, results)
    suspects, _ = judged(folder, tmp_path, "rack")
    assert {who for kind, who in suspects if kind == "below_ceiling"} == {"GPU-0003"}


@pytest.mark.parametrize("factor, found", [(2.0, []), (3.0, [("below_ceiling", "rack a")])])
def test_a_clock_that_a_power_limit_lowers_is_no_slow_device(folder, tmp_path, factor, found):
    # Boards at half of their highest clock, and at half of what follows it; then at a third of it.
    results = rack(8)
    probes = [entry for entry in make_result.h200()["benchmarks"] if "sets_ceiling" in entry["roofmark"]]
    for result in results:
        result["benchmarks"] = copy.deepcopy(probes)
        for entry in result["benchmarks"]:
            record = entry["roofmark"]
            if not record.get("sets_ceiling", {}).get("resource", "").endswith(("_fma", "_tensor", "_fp16", "exp", "shared")):
                continue
            record["placement"]["of_theoretical"] /= factor
            record["placement"]["of_theoretical_clock"] *= 2 / factor
        for ceiling in result["ceilings"]:
            if "theoretical_clock_hz" in ceiling:
                ceiling["empirical"] /= factor
    put(folder, results)
    suspects, _ = judged(folder, tmp_path, "rack")
    assert list(suspects) == found, suspects


def test_another_driver_is_drift_and_makes_no_host_bad(folder, tmp_path):
    results = rack(8)
    results[4]["device"]["details"]["driver_version"] = "570.01"
    results[6]["host"]["kernel"] = "Linux 5.15"
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path)
    assert list(suspects) == [("drift", "driver 570.01"), ("drift", "kernel Linux 5.15")]
    assert suspects["drift", "driver 570.01"].startswith("1 of 8 GPUs") and suspects["drift", "driver 570.01"].endswith("the majority has 580.00")
    assert set(hosts.values()) == {"good"}
    done = run(folder)
    assert done.returncode == 1 and "0 bad" in done.stdout


@pytest.mark.parametrize("count, bad", [(3, {"a01"}), (2, {"a00", "a01"})])
def test_a_flipped_fingerprint_against_the_majority(folder, tmp_path, count, bad):
    results = rack(count, per_host=1)
    results[1]["benchmarks"][4]["roofmark"]["fingerprint"]["hash"] = "0123456789abcdef"
    results[0]["benchmarks"][3]["roofmark"]["fingerprint"] |= {"hash": "1", "key": "another build"}  # cannot be compared
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path)
    assert {host for host, verdict in hosts.items() if verdict == "bad"} == bad
    text = suspects["fingerprint", "GPU-0001"]
    assert ("than most" in text) == (count == 3) and "in 1 of " in text and BASE["benchmarks"][4]["name"] in text


def test_a_gpu_that_was_repaired_has_the_bits_of_its_newest_run(folder, tmp_path):
    results = rack(3, per_host=1)
    faulty = copy.deepcopy(results[1]) | {"started_utc": "2026-01-14T10:00:00Z"}
    faulty["benchmarks"][4]["roofmark"]["fingerprint"]["hash"] = "0123456789abcdef"
    put(folder, [*results, faulty])
    suspects, hosts = judged(folder, tmp_path)
    assert not suspects and set(hosts.values()) == {"good"}
    done = run(folder)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("varying, bad", [((1,), {"a01"}), ((0, 1), set()), ((0, 1, 2), set())])
def test_launches_that_differ_are_other_bits_where_most_agree(folder, tmp_path, varying, bad):
    results = rack(3, per_host=1)
    for i in varying:
        results[i]["benchmarks"][4]["roofmark"]["fingerprint"] |= {"hash": "", "deterministic": False}
    put(folder, results)
    assert {host for host, verdict in judged(folder, tmp_path)[1].items() if verdict == "bad"} == bad


def test_a_wrong_result_is_bad_and_a_failed_one_is_in_neither_list(folder):
    results = rack(8)
    entry = results[0]["benchmarks"].pop()
    record = {key: value for key, value in entry["roofmark"].items() if key not in ("measurement", "placement")}
    results[0]["unmeasured"] = [{"name": entry["name"], "roofmark": record | {"status": "wrong", "reason": "error 41"}}]
    results[2]["unmeasured"] = [{"name": entry["name"] + "/x", "roofmark": record | {"status": "failed", "reason": "hang"}}]
    results[4]["complete"] = False
    put(folder, results)
    done = run(folder)
    assert done.returncode == 1 and "error 41" in done.stdout
    assert lines_of(folder / "bad.txt") == ["a00"] and lines_of(folder / "good.txt") == ["a03"]
    assert "1 host good, 1 bad, 2 not measured" in done.stdout


def test_a_doubtful_run_and_a_selection_are_in_neither_list(folder):
    results = rack(6)
    results[0]["verdict"]["level"] = "doubtful"
    results[2]["scope"]["changes"] = ["--filter gemm"]
    put(folder, results)
    done = run(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert lines_of(folder / "bad.txt") == [] and lines_of(folder / "good.txt") == ["a02"]
    assert "in neither list (2):\n  a00: the verdict of its newest baseline run is doubtful: all ok\n  a01: its newest run is no whole suite: --filter gemm\n" in done.stdout
    assert "1 host good, 0 bad, 2 not measured" in done.stdout and "nobody" not in done.stdout


def test_one_host_has_nobody_to_compare_with(folder):
    put(folder, rack(1))
    assert "one host: no other host to compare with" in run(folder).stdout
    page = (folder / "fleet.html").read_text(encoding="utf-8")
    assert "One host: no other host to compare with." in page and "<h1>Fleet of 1 device</h1>" in page and ">1 run below " in page


def test_history_the_newest_run_counts_and_a_decline_is_found(folder, tmp_path):
    results = []
    for month in range(1, 9):
        for gpu in range(4):
            result = healthy(gpu, f"a{gpu}", seed=100 * month + gpu, started_utc=f"2026-0{month}-01T00:00:00Z")
            results.append(slow(result, 1.3 if (gpu, month) in ((2, 8), (1, 3)) else 1, ("stream", "transfer")))
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path)
    # GPU 1 was slow in March and is no more; among four GPUs 1.3 stands out too.
    assert set(suspects) == {("slower_than_before", "GPU-0002"), ("slow_gpu", "GPU-0002")}
    assert hosts == {"a0": "good", "a1": "good", "a2": "bad", "a3": "good"}
    assert re.search(r": [a-z_]+/\S+$", suspects["slower_than_before", "GPU-0002"])
    run(folder, "--out", tmp_path)
    page = (tmp_path / "fleet.html").read_text(encoding="utf-8")
    assert 'id="history-plot"' in page and "2026-08-01 00:00" in page


def test_models_are_not_compared_with_one_another(folder, tmp_path):
    results = rack(12, per_host=1)
    for result in results[:4]:
        result["device"]["name"] = "another GPU"
        slow(result, 1.15)
    put(folder, results)
    assert judged(folder, tmp_path)[0] == {}


def test_a_team_has_a_device_per_rank(folder, tmp_path, cluster):
    alone = copy.deepcopy(BASE["benchmarks"][2])
    alone["name"] = "stream/triad/fp64/bytes:1/impl:own/cache:warm"
    median = alone["roofmark"]["measurement"]["median"]
    alone["roofmark"]["measurement"]["ranks"] = [{"median": median * (0.9 if rank % 8 else 0.9001) * (1.4 if rank == 9 else 1), "maximum": median}
                                                 for rank in range(16)]
    others = [copy.deepcopy(alone) | {"name": f"stream/triad/fp64/bytes:{size}/impl:own/cache:warm"} for size in (2, 3)]
    alone["roofmark"]["measurement"]["ranks"][5] = None
    alone["roofmark"]["notes"]["rank 5"] = "cuda:5 failed: a launch failed"
    alone["roofmark"]["fingerprint"]["differing_ranks"] = [3]
    cluster["benchmarks"] = [alone, *others, *cluster["benchmarks"][:5]]
    cluster |= {"unmeasured": [], "verdict": {"level": "good", "headline": "8 ok", "advice": ""}}
    put(folder, [cluster])
    suspects, hosts = judged(folder, tmp_path)
    assert ("slow_gpu", cluster["team"][9]["uuid"]) in suspects and ("fingerprint", cluster["team"][3]["uuid"]) in suspects
    assert suspects["not_measured", cluster["team"][5]["uuid"]] == "1 case failed"
    assert hosts == {"node1": "bad", "node2": "bad"} and len(suspects) == 3
    # With a status per rank, its own counts.
    alone["roofmark"]["rank_status"] = ["not_run" if rank == 5 else "ok" for rank in range(16)]
    put(folder, [cluster])
    assert tables(folder, tmp_path / "again").execute("SELECT DISTINCT status FROM records WHERE gpu = ? AND case_name = ?",
                                            [cluster["team"][5]["uuid"], alone["name"]]).fetchall() == [("not_run",)]


def test_a_merged_result_stands_for_what_it_merged(folder, tmp_path, cluster):
    gpus = rack(2)
    put(folder, [cluster], "node")
    put(folder / "node0" / "together", gpus, "cuda-")
    put(folder / "node0" / "alone", gpus, "cuda-")
    files = tables(folder, tmp_path).execute("SELECT file FROM runs ORDER BY file").fetchall()
    assert [file for (file,) in files] == ["node0/alone/cuda-0/result.json", "node0/alone/cuda-1/result.json", "node0/result.json"]
    put(folder, rack(1), "node")  # a run on one GPU
    files = tables(folder, tmp_path / "again").execute("SELECT file FROM (FROM runs SELECT file UNION ALL FROM left_out SELECT file)").fetchall()
    assert len(files) == 5


def test_a_journal_without_its_result_is_named(folder):
    put(folder, rack(4))
    (folder / "run0" / "result.jsonl").write_text("")
    assert run(folder).returncode == 0
    (folder / "hung").mkdir()
    (folder / "hung" / "result.jsonl").write_text("")
    done = run(folder)
    assert done.returncode == 1 and "not read: hung/result.jsonl: the journal of a run without its result; `roofmark recover`" in done.stdout


def test_sql_has_the_tables_that_help_describes(folder, tmp_path):
    put(folder, rack(4))
    done = run(folder, "--sql", "SELECT host, count(*) AS gpus FROM gpus GROUP BY host ORDER BY host")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.split() == ["host", "gpus", "a00", "2", "a01", "2"]
    assert sorted(path.name for path in folder.iterdir()) == ["run0", "run1", "run2", "run3"]  # nothing was written
    described = run("--help").stdout
    connection = tables(folder, tmp_path)
    for table in [*fleet_tables.TABLES, *fleet_judge.VIEWS, "suspects", "hosts"]:
        assert f"  {table}: " in described
        connection.execute(f"FROM {table}").fetchall()


def test_a_host_name_is_one_line(folder):
    results = rack(2)
    results[0]["host"]["name"] = "a\nb\x1b[31m"
    put(folder, results)
    assert run(folder).returncode == 0
    assert lines_of(folder / "good.txt") == ["a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[31m", "a00"]


def test_no_list_follows_a_link_in_the_folder(folder, tmp_path):
    put(folder, rack())
    secret = tmp_path / "secret"
    secret.write_text("before")
    for name in ("good.txt", "bad.txt", "fleet.html"):
        (folder / name).symlink_to(secret)
    assert run(folder, "--by", "rack").returncode == 0
    assert secret.read_text() == "before" and len(lines_of(folder / "good.txt")) == 8


def test_bad_input_is_one_line(folder, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    put(folder, rack(1))
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "result.json").write_text("{")
    for arguments, said in [((empty,), "holds no result file"), ((tmp_path / "none",), "is not a folder"), ((), "required"),
                            ((broken,), "none of 1 files"), ((folder, "--by", "shelf"), "no run has the label 'shelf'; there are host, "),
                            ((folder, "--sql", "SELECT nothing"), "--sql: "), ((folder, "--prometheus", tmp_path / "prom", "--prometheus-cases", "(a"), "--prometheus-cases: "),
                            ((folder, "--prometheus-cases", "gemm"), "give that too"), ((folder, "--verdict", tmp_path / "none"), "there is no file"),
                            ((folder, "--prometheus", folder / "run0" / "result.json"), "would replace a result file")]:
        done = run(*arguments)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and said in done.stderr, done


def test_what_cannot_be_read_is_named_and_the_others_count(folder):
    results = rack(4)
    put(folder, results)
    text = json.dumps(results[0])
    for name, content, said in [
            ("cut", text[:-5000], "truncated"), ("old", json.dumps(results[0] | {"schema_version": 1}), "older roofmark (schema 1)"),
            ("nan", text.replace('"cv": 0', '"cv": NaN', 1), "NaN is not JSON"),
            ("lacks", json.dumps({k: v for k, v in results[0].items() if k != "host"}), "'host' is a required property"),
            ("text", json.dumps(results[0] | {"ceilings": "high"}), "is not of type 'array'"),
            ("time", json.dumps(results[0] | {"started_utc": "2026-13-99T00:00:00Z"}), "its parts do not fit together")]:
        (folder / f"{name}.json").write_text(content)
    (folder / "list.json").write_text("[]")
    (folder / "comparison.json").write_text('{"headline": "no case differs"}')
    shutil.copy(folder / "run0" / "result.json", folder / "copy.json")
    for name, digest in ("edited", "0" * 64), ("whole", hashlib.sha256(text.encode()).hexdigest()):
        (folder / f"{name}.json").write_text(text)
        (folder / f"{name}.json.sha256").write_text(f"{digest}  {name}.json\n")
    done = run(folder)
    assert done.returncode == 1 and done.stderr == "" and "4 runs of 4 devices" in done.stdout
    unread = [line for line in done.stdout.splitlines() if line.startswith("not read: ")]
    assert len(unread) == 7
    assert [line for line in done.stdout.splitlines() if line.startswith("left out: ")] == [
        "left out: comparison.json: not written by roofmark: no schema_version", "left out: list.json: not written by roofmark: no schema_version",
        "left out: run0/result.json: a copy of copy.json", "left out: whole.json: a copy of copy.json"]
    for name, said in [("cut", "truncated"), ("old", "older roofmark (schema 1)"), ("nan", "NaN is not JSON"),
                       ("lacks", "'host' is a required property"), ("text", "'array'"), ("time", "its parts do not fit together"),
                       ("edited", "has been changed since it was written")]:
        assert any(line.startswith(f"not read: {name}.json: ") and said in line for line in unread), (name, unread)


def test_the_name_of_a_file_need_not_be_text(folder):
    put(folder, rack(4))
    (folder / os.fsdecode(b"bad\xff.json")).write_text("{")
    (folder / "run0").rename(folder / os.fsdecode(b"run\xfe"))
    done = run(folder)
    assert (done.returncode, done.stderr) == (1, "") and "4 runs of 4 devices" in done.stdout
    assert "not read: bad\N{REPLACEMENT CHARACTER}.json: truncated" in done.stdout


def test_only_samples_are_left_out(h200):
    data = json.dumps(h200).encode()
    small = reader.without_samples(data)
    assert len(small) < 0.75 * len(data)
    expected = copy.deepcopy(h200)
    for entry in expected["benchmarks"]:
        entry["roofmark"]["measurement"]["samples"] = {}
    assert json.loads(small) == expected
    for other in ({"samples": "7"}, {"labels": {"a": '"samples": {'}}, {"notes": {"samples": "1", "x": "}"}}):
        assert json.loads(reader.without_samples(json.dumps(other).encode())) == other


def accepted(results, bad=(), judged="2026-02-01T10:00:00Z", margin=-0.1):
    """What `roofmark accept --json` writes of results; the GPUs in `bad` fail."""
    def check(rule, verdict, **more):
        return {"rule": rule, "per": "gpu", "mandatory": True, "verdict": verdict, "expected": ">= 80.0 %", "found": "70.0 %"} | more

    def subject(name, key=None):
        return {"name": name} | verdict.of_checks([check for check in checks if not key or check.get(key) == name])

    devices = {f"{uuid} (cuda:0 of {result['host']['name']})": (uuid in bad, result["host"]["name"])
               for result in results for uuid in [result["device"]["details"]["uuid"]]}
    hosts = dict.fromkeys(host for _, host in devices.values())
    checks = [check("dram", "FAIL" if failed else "PASS", node=host, device=label, of="ceilings/dram", margin=margin if failed else 0.1)
              for label, (failed, host) in devices.items() for _ in range(2)]
    checks += [check("complete", "PASS", node=host, device=label) for label, (_, host) in devices.items()] + [check("expected_gpus", "PASS")]
    return {"judged_utc": judged, "accepted": not bad, "build": {"version": "0.1.0", "commit": "0123", "dirty": False},
            "profile": {"name": "own", "title": "Order 4711", "inherited": []}, "files": [{"path": "r", "sha256": "0", "not_held": []}],
            "delivery": subject("delivery"), "nodes": [subject(host, "node") for host in hosts],
            "devices": [subject(label, "device") for label in devices], "checks": checks}


@pytest.mark.parametrize("date, said", [("2100-01-01", "started in the future (2100-01-01T00:00:00Z)"), ("1970-01-01", "started on 1970-01-01: the clock of its host was not set")])
def test_a_run_by_a_clock_that_was_not_set_is_named(folder, date, said):
    """It would count as the newest for ever, or never."""
    results = rack(4)
    put(folder, [*results, copy.deepcopy(results[0]) | {"started_utc": f"{date}T00:00:00Z"}])
    done = run(folder)
    assert done.returncode == 1 and f"not read: run4/result.json: {said}" in done.stdout


def test_a_uuid_on_two_hosts_is_named(folder, tmp_path):
    results = rack(4, per_host=1)
    results[1]["device"]["details"]["uuid"] = results[0]["device"]["details"]["uuid"]
    results[1]["started_utc"] = "2026-02-01T00:00:00Z"
    put(folder, results)
    suspects, hosts = judged(folder, tmp_path)
    assert suspects["several_hosts", "GPU-0000"] == "on a00, a01; newest: a01; in neither list: a00"
    assert sorted(hosts) == ["a01", "a02", "a03"]
    done = run(folder)
    assert done.returncode == 1 and "several hosts (1)" in done.stdout


def test_the_verdict_of_an_acceptance_is_a_label(folder, tmp_path):
    results = rack(6)
    put(folder, results)
    # One verdict beside the files, an older one beside it that says otherwise, and one elsewhere.
    (folder / "acceptance.json").write_text(written(accepted(results[:4], bad=["GPU-0003"])))
    (folder / "older.json").write_text(written(accepted(results[:4], bad=["GPU-0000"], judged="2026-01-31T10:00:00Z")))
    other = tmp_path / "other.json"
    other.write_text(written(accepted(results[4:])))
    query = "SELECT host, acceptance FROM hosts ORDER BY host"
    done = run(folder, "--sql", query)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.split() == ["host", "acceptance", "a00", "PASS", "a01", "FAIL", "a02"]
    done = run(folder, "--verdict", other, "--verdict", folder / "acceptance.json", "--sql", query)
    assert done.stdout.split()[-2:] == ["a02", "PASS"]
    done = run(folder, "--sql", "SELECT gpu, acceptance FROM gpus WHERE acceptance = 'FAIL'")
    assert done.stdout.split() == ["gpu", "acceptance", "GPU-0003", "FAIL"]
    done = run(folder, "--sql", "SELECT DISTINCT gpu, rule, margin FROM newest_checks WHERE verdict = 'FAIL'")
    assert done.stdout.split() == ["gpu", "rule", "margin", "GPU-0003", "dram", "-0.1"]
    done = run(folder)
    assert (done.returncode, done.stderr) == (1, "") and "not read" not in done.stdout
    assert "a01: 2 mandatory checks of 6 by profile own without a pass; dram: 70.0 %, expected >= 80.0 %" in done.stdout
    assert lines_of(folder / "bad.txt") == ["a01"] and lines_of(folder / "good.txt") == ["a00", "a02"]
    page = (folder / "fleet.html").read_text(encoding="utf-8")
    assert "of 2 that roofmark accept judged; 1 not judged" in page and 'id="not-accepted"' in page


def test_the_verdict_that_is_given_counts_before_those_in_the_folder(folder, tmp_path):
    results = rack(4)
    put(folder, results)
    own, query = tmp_path / "own.json", "SELECT host, acceptance FROM hosts ORDER BY host"
    own.write_text(written(accepted(results, bad=["GPU-0003"])))
    (folder / "newer.json").write_text(written(accepted(results, judged="2026-02-02T10:00:00Z")))
    (folder / "future.json").write_text(written(accepted(results, judged="2100-01-01T00:00:00Z")))
    assert run(folder, "--sql", query).stdout.split()[2:] == ["a00", "PASS", "a01", "PASS"]
    assert run(folder, "--verdict", own, "--sql", query).stdout.split()[2:] == ["a00", "PASS", "a01", "FAIL"]
    assert "not read: future.json: judged in the future (2100-01-01T00:00:00Z)" in run(folder).stdout


@pytest.mark.parametrize("verdict", ["NOT MEASURED", "INSIDE THE INTERVAL"])
def test_a_host_that_was_not_accepted_is_not_good(folder, verdict):
    results = rack(6)
    put(folder, results)
    text = written(accepted(results, bad=["GPU-0003"])).replace('"FAIL"', f'"{verdict}"')
    (folder / "acceptance.json").write_text(text)
    done = run(folder)
    assert (done.returncode, done.stderr) == (1, "") and "2 hosts good, 0 bad, 1 not measured" in done.stdout
    assert lines_of(folder / "bad.txt") == [] and lines_of(folder / "good.txt") == ["a00", "a02"]
    assert "undecided (1)" in done.stdout and "a01: 2 mandatory checks of 6 by profile own without a pass; dram: 70.0 %, expected >= 80.0 %" in done.stdout
    assert "acceptance undecided" in (folder / "fleet.html").read_text(encoding="utf-8")


def test_a_fleet_without_a_verdict_says_nothing_of_acceptance(folder):
    put(folder, rack(4))
    assert run(folder).returncode == 0
    page = (folder / "fleet.html").read_text(encoding="utf-8")
    assert "roofmark accept" not in page and "not judged" not in page


@pytest.fixture
def metrics(folder, tmp_path):
    results = rack(4)
    for entry in results[3]["benchmarks"]:  # so that its power counts
        entry["roofmark"]["measurement"]["telemetry"]["seconds"] = 2
    results[1]["host"]["name"] = 'a "quoted\\ host'
    results[2]["unmeasured"] = [{"name": "x", "roofmark": {key: value for key, value in BASE["benchmarks"][0]["roofmark"].items() if key not in (
        "measurement", "placement")} | {"status": "wrong", "reason": "error"}}]
    put(folder, results)
    (folder / "acceptance.json").write_text(written(accepted(results, bad=["GPU-0003"])))
    path = tmp_path / "fleet.prom"
    assert run(folder, "--prometheus", path).returncode == 1
    return path


def test_prometheus_reads_the_metrics(metrics):
    need("prometheus_client")
    from prometheus_client.parser import text_string_to_metric_families

    families = {family.name: family for family in text_string_to_metric_families(metrics.read_text(encoding="utf-8"))}
    assert families.keys() == fleet_prometheus.METRICS.keys()
    samples = families["roofmark_case_seconds"].samples
    assert len(samples) == 4 * len(BASE["benchmarks"]) and all(sample.labels.keys() == {"host", "uuid", "model", "data", "case"} for sample in samples)
    assert {sample.labels["host"] for sample in samples} == {"a00", "a01", 'a "quoted\\ host'}
    of_case = next(s for s in samples if s.labels["uuid"] == "GPU-0000" and s.labels["case"] == BASE["benchmarks"][4]["name"])
    assert of_case.value == pytest.approx(BASE["benchmarks"][4]["roofmark"]["measurement"]["median"], rel=0.05)
    assert [(s.labels["case"], s.labels["uuid"]) for s in families["roofmark_case_ok"].samples if s.value == 0] == [("x", "GPU-0002")]
    assert {s.labels["host"]: s.value for s in families["roofmark_host_good"].samples} == {"a00": 1, "a01": 0, 'a "quoted\\ host': 1}
    assert {s.labels["uuid"]: s.value for s in families["roofmark_gpu_accepted"].samples} == {f"GPU-000{gpu}": int(gpu != 3) for gpu in range(4)}
    assert {s.labels["host"]: s.value for s in families["roofmark_host_accepted"].samples} == {"a00": 1, "a01": 0, 'a "quoted\\ host': 1}
    failed = [s.labels for s in families["roofmark_check_passed"].samples if s.value == 0]
    assert failed == [{"host": "a01", "uuid": "GPU-0003", "rule": "dram", "case": "ceilings/dram"}]
    for family in families.values():  # a series has one value
        assert len({tuple(sorted(s.labels.items())) for s in family.samples}) == len(family.samples)


def test_prometheus_gets_the_cases_that_are_asked_for(folder, tmp_path):
    put(folder, rack(2))
    path = tmp_path / "fleet.prom"
    run(folder, "--prometheus", path, "--prometheus-cases", "^gemm/bf16/|^stream/")
    cases = {match[1] for line in lines_of(path) if (match := re.match(r'roofmark_case_\w+\{.*case="([^"]*)"', line))}
    assert cases == {entry["name"] for entry in BASE["benchmarks"] if entry["name"].startswith(("gemm/bf16/", "stream/"))}
    assert any(line.startswith("roofmark_ceiling_per_second{") for line in lines_of(path))


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool (scripts/setup --test puts that of Debian in .venv/bin)")
def test_promtool_accepts_the_metrics(metrics):
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=metrics.read_bytes(), capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_dashboard_asks_for_what_is_written(metrics):
    dashboard = json.loads((ROOT / "scripts" / "fleet_dashboard.json").read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    variables = [variable for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
    queries += [variable["query"]["query"] for variable in variables]
    written = {}
    for line in metrics.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, _, rest = line.partition("{")
            written.setdefault(name, set()).update(re.findall(r'(\w+)="', rest))
    asked = {name for query in queries for name in re.findall(r"roofmark_\w+", query)}
    assert asked == written.keys()
    for query in queries:
        for name, selected in re.findall(r"(roofmark_\w+)\{([^}]*)\}", query):
            assert set(re.findall(r"(\w+)=", selected)) <= written[name], query
        labels = set().union(*(written[name] for name in re.findall(r"roofmark_\w+", query)))
        for listed in re.findall(r"(?:by|on) \(([^)]*)\)", query):
            assert set(listed.split(", ")) <= labels, query
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            labels = set().union(*(written[name] for name in re.findall(r"roofmark_\w+", target["expr"])))
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= labels, target
    named = {variable["name"] for variable in variables}
    assert {name for query in queries for name in re.findall(r"\$(\w+)", query)} <= named
    assert [panel["id"] for panel in dashboard["panels"]] == list(range(1, len(dashboard["panels"]) + 1))


@pytest.mark.skipif(browser.find() is None, reason=f"no browser (looked for {', '.join(browser.NAMES)})")
def test_the_page_in_a_browser(folder, tmp_path):
    hostile = "<img src=x onerror='window.fell=1'>"
    results = [result for i, name in enumerate("abcd") for result in rack(4, 2, name, 4 * i)]
    for gpu in range(4):
        results.append(healthy(gpu, "a00" if gpu < 2 else "a01", "a", started_utc="2026-02-01T00:00:00Z"))
    slow(results[5], 1.5)
    results[6]["host"]["name"] = hostile
    results[7]["labels"]["rack"] = hostile
    put(folder, results)
    assert run(folder, "--by", "rack", "--out", tmp_path).returncode == 1
    with browser.Browser(browser.find()) as shown:
        shown.open(tmp_path / "fleet.html")
        assert shown.evaluate("[...document.querySelectorAll('.plot')].map(p => p.querySelectorAll('.trace').length > 0)") == [True, True]
        assert shown.evaluate("""[...document.querySelectorAll('.plot')].flatMap(plot => {
          const box = plot.getBoundingClientRect();
          return [...plot.querySelectorAll('text')].filter(text => text.textContent && text.getBoundingClientRect().top < box.top).map(text => text.textContent); })""") == []
        assert shown.evaluate("document.querySelector('[data-hosts=bad]').textContent") == "1"
        assert "GPU-0005" in shown.evaluate("document.getElementById('suspects').nextElementSibling.textContent")
        assert shown.evaluate("window.fell === undefined && document.querySelectorAll('main img').length === 0")
        assert shown.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert shown.pdf().startswith(b"%PDF")
        assert shown.requests() == [(tmp_path / "fleet.html").as_uri()]
        assert shown.complaints() == []
