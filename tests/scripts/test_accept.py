# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""`roofmark accept` on made-up results: verdicts, exit statuses, one clear line on bad input."""
import copy
import hashlib
import json
import os
import re
import time
import xml.etree.ElementTree
from pathlib import Path

import pytest
import result_maker
from make_delivery import clean, in_one_file
from roofmark_report.verdict import parse as parse_verdict
from shipped_profiles import PROFILES, ROOFMARK, assert_one_line, roofmark, slower, sxm_profile, verdicts

pytestmark = pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")


def test_a_good_delivery_is_accepted_and_a_stricter_limit_is_not(h200, save, own_profile, tmp_path):
    result = save(clean(h200))
    done = roofmark("accept", result, "--profile", own_profile(0.5), "--expect-gpus", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^PASS, none found in \d+ checks: wrong, failed, ", done.stdout, re.M), "what allows nothing, in one line"
    assert not re.search(r"^\w+ +PASS .*\(<= 0\)$", done.stdout, re.M)
    assert "ACCEPTED: " in done.stdout and hashlib.sha256(result.read_bytes()).hexdigest() in done.stdout
    junit, judgement = tmp_path / "junit.xml", tmp_path / "judgement.json"
    done = roofmark("accept", result, "--profile", own_profile(0.999), "--junit", junit, "--json", judgement)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "NOT ACCEPTED" in done.stdout and "what was ordered" in done.stdout and "own.toml:6" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if str(tmp_path) not in line) <= 140
    text = judgement.read_text()
    assert text.count("A device that differs from the majority is wrong.") == 1, "a rule is told once"
    told = parse_verdict(text.encode())
    assert len(told["checks"]) == told["delivery"]["checks"] > 3 * text.count('"verdict": "PASS"'), "cases alike are one entry"
    assert not told["accepted"] and told["delivery"]["bad"] >= 1
    bad = [check for check in told["checks"] if check["rule"] == "product"][0]
    assert bad["verdict"] == "FAIL" and bad["margin"] < 0 and bad["measured"] < bad["limit"] == 0.999
    suites = xml.etree.ElementTree.parse(junit).getroot()
    failures = suites.findall("testsuite/testcase/failure")
    assert len(failures) == told["delivery"]["bad"] and "what was ordered" in failures[-1].text


@pytest.mark.parametrize("watts, agreed", [(500, True), (450, False)])
def test_a_setting_is_as_agreed_at_that_value_alone(h200, save, own_profile, tmp_path, watts, agreed):
    result = clean(h200)
    result["device"]["details"]["power_limit_watts"] = watts
    result["counters"] = [one for one in result["counters"] if one["id"] != "power_limit_of_default"] + [
        {"id": "power_limit_of_default", "rank": 0, "before": watts / 700, "after": watts / 700, "worse": 0.0}]
    profile = own_profile(0.5)
    profile.write_text(profile.read_text() + "\n[agreed]\npower_limit = 500\n")
    done = roofmark("accept", save(result), "--profile", profile, "--json", tmp_path / "verdict.json")
    assert done.returncode == (0 if agreed else 1), done.stdout + done.stderr
    checks = {check["rule"]: check for check in parse_verdict((tmp_path / "verdict.json").read_bytes())["checks"]}
    suffix = " (agreed: power_limit = 500 W)" if agreed else ""
    assert {rule: (checks[rule]["verdict"], checks[rule]["found"]) for rule in ("agreed.power_limit", "power_limit")} == {
        "agreed.power_limit": ("PASS" if agreed else "FAIL", f"{watts} W"), "power_limit": ("PASS" if agreed else "FAIL", f"1{suffix}")}
    assert checks["agreed.power_limit"]["expected"] == "500 W"
    assert re.search(rf"^power_limit +{'PASS' if agreed else 'FAIL'} ", done.stdout, re.M), "it was found, and is not among what was not"


@pytest.mark.parametrize("flags", [("--json", "result.json"), ("--junit", "sub/../link.json"), ("--json", "own.toml"), ("--junit", "v", "--json", "v")])
def test_no_file_of_the_command_is_written_over(h200, save, own_profile, tmp_path, flags):
    result, profile = save(clean(h200)), own_profile(0.5)
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.json").symlink_to(result)
    before = result.read_bytes(), profile.read_bytes()
    done = roofmark("accept", tmp_path, "--profile", profile, *(word if word.startswith("--") else tmp_path / word for word in flags))
    assert_one_line(done)
    assert f"{flags[-2]} {tmp_path / flags[-1]} would replace another file of this command" in done.stderr
    assert (result.read_bytes(), profile.read_bytes()) == before and not (tmp_path / "v").exists()


def test_of_a_folder_every_result_is_judged(h200, tmp_path, own_profile):
    for gpu in range(3):
        result = clean(copy.deepcopy(h200), gpu)
        result["host"]["name"] = f"node{gpu}"
        folder = tmp_path / "delivery" / f"node{gpu}"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(result))
    done = roofmark("accept", tmp_path / "delivery", "--profile", own_profile(0.5), "--expect-gpus", 3)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 devices accepted" in done.stdout and "3 of 3 nodes accepted" in done.stdout
    done = roofmark("accept", tmp_path / "delivery", "--profile", own_profile(0.5), "--expect-gpus", 4)
    assert done.returncode == 1 and "expected_gpus" in done.stdout


def test_of_a_run_on_all_gpus_the_merged_result_stands_for_what_it_merged(h200, tmp_path, own_profile):
    member = {"host": h200["host"]["name"], "pid": 1, "device_name": "NVIDIA H200", "nics": [], "versions": {}}
    merged = clean(copy.deepcopy(h200))
    merged["team"] = [member | {"rank": gpu, "local_rank": gpu, "device_id": f"cuda:{gpu}", "uuid": f"GPU-{gpu:08x}"} for gpu in range(2)]
    for entry in merged["benchmarks"]:
        measured = entry["roofmark"]["measurement"]
        measured["ranks"] = [{key: measured[key] for key in ("median", "maximum", "interval")}] * 2
    merged["counters"] = [one for rank in range(2) for one in result_maker.counters(rank)]
    results = {".": merged}
    for how, gpu in ((how, gpu) for how in ("alone", "together") for gpu in range(2)):
        results[f"{how}/cuda-{gpu}"] = clean(copy.deepcopy(h200), gpu)
        results[f"{how}/cuda-{gpu}"]["device"]["id"] = f"cuda:{gpu}"
    for place, result in results.items():
        (tmp_path / "node7" / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / "node7" / place / "result.json").write_text(json.dumps(result))
    judgement = tmp_path / "judgement.json"

    def judged(*paths):
        done = roofmark("accept", *paths, "--profile", own_profile(0.5), "--expect-gpus", 2, "--json", judgement)
        assert done.returncode == 0, done.stdout + done.stderr
        return sorted(Path(one["path"]).parent.relative_to(tmp_path / "node7").as_posix() for one in parse_verdict(judgement.read_bytes())["files"])

    assert judged(tmp_path / "node7") == [".", "alone/cuda-0", "alone/cuda-1"]
    # By itself, what was merged is judged.
    assert judged(tmp_path / "node7" / "together") == ["together/cuda-0", "together/cuda-1"]
    # A run on the first GPU alone is not merged from what an earlier run left.
    (tmp_path / "node7" / "result.json").write_text(json.dumps(results["alone/cuda-0"] | {"suite": "full"}))
    assert judged(tmp_path / "node7") == [".", "alone/cuda-0", "alone/cuda-1", "together/cuda-0", "together/cuda-1"]
    (tmp_path / "node7" / "result.json").unlink()
    assert len(judged(tmp_path / "node7")) == 4


@pytest.mark.parametrize("nodes, gpus, compared", [(1, 2, set()), (1, 8, {"slow_rank"}), (3, 4, {"slow_rank", "slow_host"})])
def test_who_is_slow_is_judged_only_where_enough_was_compared(h200, save, tmp_path, nodes, gpus, compared):
    """GPUs that were measured at once, each by itself: nothing shows the links between them."""
    done = roofmark("accept", save(in_one_file(h200, nodes, gpus)), "--profile", sxm_profile(tmp_path, links="false"), "--json", tmp_path / "verdict.json")
    assert done.returncode == 0, done.stdout
    checks = [check for check in parse_verdict((tmp_path / "verdict.json").read_bytes())["checks"] if check["rule"] in ("slow_rank", "slow_host", "slow_link")]
    assert {check["rule"] for check in checks if check["verdict"] == "PASS"} == compared
    assert all(check["explanation"] == "no run could check for it" and not check["mandatory"] for check in checks if check["verdict"] != "PASS")


def test_what_no_verdict_can_be_drawn_from_is_one_line(h200, cluster, save, own_profile, tmp_path):
    profile = own_profile(0.5)
    good = save(clean(h200))
    text = good.read_text()
    empty = tmp_path / "empty"
    empty.mkdir()
    for results, what in (
            ([tmp_path / "none.json"], "no file or folder"), ([empty], "holds no result.json"), ([good, good], "give only one of them"),
            ([save(clean(copy.deepcopy(h200)), "other.json"), good], "give only one of them")):
        done = roofmark("accept", *results, "--profile", profile)
        assert_one_line(done)
        assert what in done.stderr
    for name, damaged, what in (("cut.json", text[:1000], "truncated"), ("old.json", text.replace('"schema_version": 2', '"schema_version": 1'), "schema 1"),
                                ("other.json", "[1, 2]", "is not a roofmark result"), ("part.json", text.replace('"ceilings"', '"floors"'), "damaged"),
                                ("empty.json", "", "it is empty"), ("marked.json", "\ufeff" + text, "byte order mark"),
                                ("latin.json", text.encode().replace(b'"quick"', b'"\xff"'), "not UTF-8"),
                                ("twice.json", '{"suite": "full",' + text[1:], 'two members "suite"'),
                                ("deep.json", "[" * 100_000 + "]" * 100_000, "1024 levels"), ("number.json", '{"big": 1e999,' + text[1:], "out of range")):
        path = tmp_path / name
        path.write_bytes(damaged if isinstance(damaged, bytes) else damaged.encode())
        done = roofmark("accept", path, "--profile", profile)
        assert_one_line(done)
        assert what in done.stderr
    done = roofmark("accept", good, "--profile", "h100_sxm")
    assert_one_line(done)
    assert "the profile h100_sxm is for" in done.stderr and "common" not in done.stderr
    done = roofmark("accept", good, "--profile", "h9000")
    assert_one_line(done)
    assert "no profile 'h9000'" in done.stderr and "common" not in done.stderr
    assert_one_line(roofmark("accept", good, "--profile", profile, "--max-age", "7"))
    done = roofmark("accept", good, "--profile", tmp_path)
    assert_one_line(done)
    assert "is a folder, not a file" in done.stderr


@pytest.mark.parametrize("rules, counter", [
    (["state_remap_failed", "uncorrected_errors", "bad_run"], {"remap_failed": 1}),
    (["state_remap_pending", "uncorrected_errors", "bad_run"], {"remap_pending": 1}),
    (["state_channel_repair_pending", "uncorrected_errors", "bad_run"], {"channel_repair_pending": 1}),
    (["state_recovery_action", "bad_run"], {"recovery_action": 4}),
    (["state_nvlink_links"], {"nvlink_links": 12}),
    (["state_fabric_completed"], {"fabric_completed": 0}),
    (["state_foreign_processes"], {"foreign_processes": 1})])
def test_a_fault_from_before_the_run_is_not_accepted(h200, save, tmp_path, rules, counter):
    result, profile = clean(h200), sxm_profile(tmp_path)
    assert verdicts(result, profile, tmp_path, save, 0) == {}
    result["counters"] = result_maker.counters(**counter)
    assert verdicts(result, profile, tmp_path, save) == dict.fromkeys(rules, "FAIL")


def test_a_link_with_half_of_its_lanes_is_not_accepted(h200, save, tmp_path):
    result, profile = clean(h200), sxm_profile(tmp_path)
    for entry in result["benchmarks"]:
        for block in entry["roofmark"]["measurement"]["blocks"]:
            block["before"]["pcie_bytes_per_second"] /= 2
    assert verdicts(result, profile, tmp_path, save) == {"link_training": "FAIL"}


def test_an_fp32_rate_of_a_third_is_not_accepted(h200, save, tmp_path):
    result, profile = clean(h200), tmp_path / "h200.toml"
    kept = ("fma_fp32", "fma_fp32_top", "fma_fp32_datasheet")
    dropped = ("dram_read", "dram_write", "dram_copy", "dram_triad", "product_bf16", "product_fp8", "product_bf16_datasheet", "dram_read_datasheet")
    profile.write_text('inherit = "h200_sxm"\n' + "".join(f"[rule.{rule}]\ndrop = true\n" for rule in dropped))
    assert not set(kept) & verdicts(result, profile, tmp_path, save, None).keys()
    slower(result, "ceilings/fma/fp32", 3)
    assert {rule: verdict for rule, verdict in verdicts(result, profile, tmp_path, save, None).items() if rule in kept} == dict.fromkeys(kept, "FAIL")


def test_what_a_run_had_no_means_to_look_for_is_not_accepted(h200, save, tmp_path):
    result, profile = clean(h200), sxm_profile(tmp_path)
    counters = result.pop("counters")
    unseen = {"uncorrected_errors", "xid", "link_lost", "foreign_process"}
    found = verdicts(result, profile, tmp_path, save)
    assert unseen <= found.keys() and set(found.values()) == {"NOT MEASURED"}
    # One that the driver stopped to tell, or that was reset, during the run.
    for change in ({"after": None}, {"before": 5, "after": 0}):
        result["counters"] = [{key: value for key, value in (one | change if one["id"] == "xid" else one).items() if value is not None and key != "worse"}
                              for one in counters]
        assert verdicts(result, profile, tmp_path, save) == {"xid": "NOT MEASURED"}
    # Of the links, a GPU has those that it has.
    result["counters"] = [one for one in counters if one["id"] != "fabric_completed"]
    assert verdicts(result, profile, tmp_path, save, 0) == {}
    for entry in result["benchmarks"]:
        for block in entry["roofmark"]["measurement"]["blocks"]:
            del block["before"]["pcie_bytes_per_second"]
    assert verdicts(result, profile, tmp_path, save, 0) == {}, "some virtual machines say nothing of the link: the rule is not mandatory there"


def judged(path, profile, tmp_path):
    roofmark("accept", path, "--profile", profile, "--json", tmp_path / "verdict.json")
    told = parse_verdict((tmp_path / "verdict.json").read_bytes())
    return [{one["name"].split()[0]: one["verdict"] for one in told[subjects]} for subjects in ("devices", "nodes")]


@pytest.mark.parametrize("rank, counter", [(3, {"xid": (0, 1)}), (11, {"nvlink_links": (18, 17)})])
def test_one_gpus_fault_fails_it_and_its_node_alone(h200, save, own_profile, tmp_path, rank, counter):
    devices, nodes = judged(save(in_one_file(h200, counters={rank: counter})), sxm_profile(tmp_path, links="false"), tmp_path)
    bad = f"GPU-{rank:08x}"
    assert {name: verdict for name, verdict in devices.items() if verdict != "PASS"} == {bad: "FAIL"}
    assert nodes == {"node0": "FAIL" if rank < 8 else "PASS", "node1": "FAIL" if rank >= 8 else "PASS"}


def test_a_result_that_is_wrong_on_one_gpu_fails_it_alone(h200, save, tmp_path):
    merged = in_one_file(h200)
    entry = merged["benchmarks"].pop(next(i for i, entry in enumerate(merged["benchmarks"]) if entry["name"].startswith("stream/")))
    record = entry["roofmark"]
    for key in ("measurement", "placement"):
        del record[key]
    record |= {"status": "wrong", "reason": "cuda:3: wrong result", "rank_status": ["wrong" if rank == 3 else "ok" for rank in range(16)]}
    merged["unmeasured"].append({"name": entry["name"], "roofmark": record})
    devices, nodes = judged(save(merged), sxm_profile(tmp_path, links="false"), tmp_path)
    assert {name: verdict for name, verdict in devices.items() if verdict != "PASS"} == {"GPU-00000003": "FAIL"} and nodes["node1"] == "PASS"


def test_a_gpu_without_the_case_is_not_blamed_for_anothers_wrong_result(h200, save, tmp_path):
    merged = in_one_file(h200)
    entry = merged["benchmarks"].pop(next(i for i, entry in enumerate(merged["benchmarks"]) if entry["name"].startswith("stream/")))
    record = entry["roofmark"]
    for key in ("measurement", "placement"):
        del record[key]
    record |= {"status": "wrong", "reason": "cuda:3: wrong result", "rank_status": [{3: "wrong", 5: "unsupported"}.get(rank, "ok") for rank in range(16)]}
    merged["unmeasured"].append({"name": entry["name"], "roofmark": record})
    devices, _ = judged(save(merged), sxm_profile(tmp_path), tmp_path)
    assert devices["GPU-00000003"] == "FAIL" and devices["GPU-00000005"] != "FAIL"


def test_a_gpu_whose_launches_differ_where_others_agree_is_not_accepted(h200, save, own_profile, tmp_path):
    paths = []
    for gpu in range(3):
        result = clean(copy.deepcopy(h200), gpu)
        print_ = next(entry for entry in result["benchmarks"] if entry["name"].startswith("stream/triad"))["roofmark"]["fingerprint"]
        if gpu == 1:
            print_ |= {"hash": "", "deterministic": False}
        paths.append(save(result, f"{gpu}.json"))
    done = roofmark("accept", *paths, "--profile", own_profile(0.5), "--json", tmp_path / "verdict.json")
    assert done.returncode == 1, done.stdout + done.stderr
    told = parse_verdict((tmp_path / "verdict.json").read_bytes())
    assert {one["name"].split()[0]: one["verdict"] for one in told["devices"]} == {
        "GPU-00000000": "PASS", "GPU-00000001": "FAIL", "GPU-00000002": "PASS"}


def test_a_file_that_was_changed_after_it_was_written_is_refused(h200, save, own_profile):
    profile, result = own_profile(0.5), save(clean(h200))
    sums = result.with_name("result.json.sha256")
    sums.write_text(f"{hashlib.sha256(result.read_bytes()).hexdigest()}  result.json\n")
    assert roofmark("accept", result, "--profile", profile).returncode == 0
    result.write_text(result.read_text().replace("NVIDIA H200", "NVIDIA  H200", 1))
    done = roofmark("accept", result, "--profile", profile)
    assert_one_line(done)
    assert "has been changed since it was written" in done.stderr


def test_an_old_result_fails(h200, save, own_profile):
    result = clean(h200)
    result["finished_utc"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3 * 86400))
    path = save(result)
    assert roofmark("accept", path, "--profile", own_profile(0.5), "--max-age", "7d").returncode == 0
    done = roofmark("accept", path, "--profile", own_profile(0.5), "--max-age", "12h")
    assert done.returncode == 1 and "age" in done.stdout


@pytest.mark.parametrize("columns", [60, 80])
def test_no_line_of_accept_and_profile_is_wider_than_the_terminal(h200, save, own_profile, columns):
    result, environment = save(clean(h200)), os.environ | {"COLUMNS": str(columns)}
    runs = [("accept", result, "--profile", own_profile(limit, f"{limit}.toml")) for limit in (0.5, 0.999)]
    for words in runs + [("accept", result, "--profile", "nosuch")] + [("profile", "show", name) for name in PROFILES]:
        done = roofmark(*words, env=environment)
        # A SHA-256 is one word of 64 letters.
        assert max(map(len, (done.stdout + done.stderr).splitlines())) <= max(columns, 66), done.stdout + done.stderr


def test_accept_ends_with_the_verdict_and_the_next_step(h200, save, own_profile):
    result = save(clean(h200))
    for limit, verdict, step in ((0.5, "ACCEPTED: ", "`scripts/acceptance`"), (0.999, "NOT ACCEPTED: ", "measure again")):
        said = roofmark("accept", result, "--profile", own_profile(limit)).stdout.splitlines()
        assert said[0].startswith("Profile ") and said[-2].startswith(verdict) and step in said[-1]


def test_what_a_file_says_controls_neither_terminal_nor_xml(h200, save, own_profile, tmp_path):
    result, junit = clean(h200), tmp_path / "junit.xml"
    result["host"]["name"] = "node\x1b[2J\x01\nACCEPTED: all checks pass"
    result["device"]["details"]["vbios"] = "\x1b]0;title\x07"
    path = save(result)
    done = roofmark("accept", path, "--profile", own_profile(0.999), "--junit", junit)
    shown = roofmark("show", path)
    assert done.returncode == 1 and shown.returncode == 0
    assert not any(control in done.stdout + shown.stdout for control in ("\x1b[2J", "\x1b]", "\x01", "\x07"))
    assert not any(line.startswith("ACCEPTED") for line in done.stdout.splitlines())
    assert xml.etree.ElementTree.parse(junit).getroot().tag == "testsuites"
