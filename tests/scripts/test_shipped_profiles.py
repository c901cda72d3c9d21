# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What the shipped profiles accept and refuse, on made-up results."""
import copy
import json
import re

import pytest
import result_maker
from make_delivery import clean, in_one_file
from roofmark_report.verdict import parse as parse_verdict
from shipped_profiles import PROFILES, ROOFMARK, WRITTEN, roofmark, slower, sxm_profile, verdicts

pytestmark = pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")


def together(result, busbw, ranks=8, size=4 << 30):
    """Adds the all-reduce over the GPUs of one process."""
    maker = result_maker.Maker(result["device"], {}, {"nvlink": 450e9, "stream_launch": 1e6, "graph_launch": 1e6}, {}, 0)
    factor = 2 * (ranks - 1) / ranks
    maker.measure("all_reduce", "", "fp32", {"bytes": size, "ranks": ranks, "op": "sum", "place": "out", "impl": "nccl"}, [[("nvlink", size)]],
                  seconds=size * factor / busbw, path="stream",
                  message={"ranks": ranks, "bytes": size, "count": size // 4, "bus_factor": factor, "place": "out", "reduction": "sum"})
    result["benchmarks"] += maker.benchmarks
    return result


@pytest.mark.parametrize("link, rate", [("host_to_device", 20e9), ("device_to_host", 30e9)])
def test_a_slow_link_to_the_host_is_not_accepted(h200, save, tmp_path, link, rate):
    result, profile = clean(h200), sxm_profile(tmp_path)
    assert verdicts(result, profile, tmp_path, save, 0) == {}
    assert verdicts(slower(result, f"ceilings/{link}/", 55e9 / rate), profile, tmp_path, save) == {link: "FAIL"}


def test_a_link_is_judged_by_what_a_gpu_measured_alone(h200, tmp_path):
    # While all GPUs copy they may share a switch and the host's memory.
    for how, times in (("alone", 1), ("together", 3)):
        folder = tmp_path / "node7" / how / "cuda-0"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(slower(clean(copy.deepcopy(h200)), "ceilings/host_to_device/", times)))
    profile = sxm_profile(tmp_path)

    def status(*folders):
        return roofmark("accept", *(tmp_path / "node7" / folder / "cuda-0" for folder in folders), "--profile", profile).returncode

    assert status("alone", "together") == 0
    assert status("together") == 1, "nothing says what the link does alone"
    (tmp_path / "node7" / "alone" / "cuda-0" / "result.json").write_text(json.dumps(slower(clean(copy.deepcopy(h200)), "ceilings/host_to_device/", 3)))
    assert status("alone", "together") == 1


def test_a_slow_host_is_not_accepted_as_a_slow_gpu_is_not(h200, save, tmp_path):
    profile = sxm_profile(tmp_path, links="false")
    for slow, bad in (((), {}), ((5,), {"slow_rank": "FAIL"}), (range(4, 8), {"slow_host": "FAIL"})):
        result = in_one_file(copy.deepcopy(h200), nodes=3, gpus=4, slower=dict.fromkeys(slow, 1.15))
        found = verdicts(result, profile, tmp_path, save, 1 if bad else 0)
        assert {rule: found[rule] for rule in ("slow_rank", "slow_host") if rule in found} == bad


@pytest.mark.parametrize("errors, bad", [({"nvlink_crc_errors": 10**6}, {"link_errors": "FAIL"}), ({"pcie_replays": 10**5}, {"link_errors": "FAIL"}), ({"pcie_replays": 1}, {}),
                                         ({"nvlink_symbol_errors": 1}, {"link_errors": "FAIL"}), ({"pcie_correctable_errors": 5}, {}), ({"pcie_nonfatal_errors": 1}, {"link_errors": "FAIL"})])
def test_a_link_that_resends_more_than_a_healthy_one_is_not_accepted(h200, save, tmp_path, errors, bad):
    result = clean(h200)
    result["counters"] = result_maker.counters(**{counter: (0, count) for counter, count in errors.items()})
    assert verdicts(result, sxm_profile(tmp_path), tmp_path, save, 1 if bad else 0) == bad


def test_a_faulty_network_port_is_not_accepted_and_a_machine_without_any_is(h200, save, tmp_path):
    profile = sxm_profile(tmp_path)
    result = clean(copy.deepcopy(h200))
    assert verdicts(result, profile, tmp_path, save, 0) == {}
    checks = parse_verdict((tmp_path / "verdict.json").read_bytes())["checks"]
    of_network = {check["rule"]: (check["verdict"], check["mandatory"]) for check in checks if check["rule"].startswith("network_")}
    assert of_network == dict.fromkeys(("network_ports", "network_lost", "network_errors"), ("NOT MEASURED", False))
    port = {"name": "mlx5_3:1", "kind": "InfiniBand", "state": "DOWN"}
    result["network"] = {"nics": [{"name": "mlx5_0:1", "kind": "InfiniBand"}], "rdma_ports": [port], "faults": []}
    result["counters"] += [{"id": name, "rank": 0, "before": 8, "after": 8, "worse": 0} for name in ("network_ports", "network_link_recoveries")]
    assert verdicts(copy.deepcopy(result), profile, tmp_path, save, 0) == {}
    down = copy.deepcopy(result)
    down["findings"].append({"kind": "network_ports", "severity": "warning", "doubt": "part", "found_by": ["session"], "text": "mlx5_3:1 is down", "advice": "a"})
    assert verdicts(down, profile, tmp_path, save) == {"network_ports": "FAIL"}
    lost = copy.deepcopy(result)
    lost["counters"][-2:] = [{"id": "network_ports", "rank": 0, "before": 8, "after": 7, "worse": 1, "where": "mlx5_3:1"},
                             {"id": "network_link_recoveries", "rank": 0, "before": 8}]
    assert verdicts(lost, profile, tmp_path, save) == {"network_lost": "FAIL", "network_errors": "NOT MEASURED"}
    profile.write_text(profile.read_text() + '[rule.state_network_ports]\nquantity = "state.network_ports"\nleast = 9\nreason = "Ordered."\n')
    assert verdicts(result, profile, tmp_path, save) == {"state_network_ports": "FAIL"}


def test_a_slow_all_reduce_of_a_node_is_not_accepted(h200, save, tmp_path):
    profile = sxm_profile(tmp_path)
    for busbw, bad in ((470e9, {}), (200e9, {"all_reduce": "FAIL"})):
        assert verdicts(together(clean(copy.deepcopy(h200)), busbw), profile, tmp_path, save, 1 if bad else 0) == bad
    # Fewer GPUs or bytes reach less on a healthy node, too.
    assert verdicts(together(clean(copy.deepcopy(h200)), 200e9, ranks=4), profile, tmp_path, save, 0) == {}
    assert verdicts(together(clean(copy.deepcopy(h200)), 200e9, size=1 << 20), profile, tmp_path, save, 0) == {}


@pytest.mark.parametrize("reason, share, bad", [
    ("thermal", 0.02, {"thermal": "FAIL"}), ("thermal", 0.005, {}), ("hardware slowdown", 0.02, {"hardware_slowdown": "FAIL"}),
    ("hardware slowdown", 0.005, {}), ("hardware thermal", 0.02, {"hardware_thermal": "FAIL"}), ("hardware thermal", 0.005, {}),
    ("power brake", 0.02, {"power_brake": "FAIL"}), ("power brake", 0.005, {}), ("application clocks", 0.5, {})])
def test_what_slows_a_gpu_down_is_judged_by_its_share_of_the_time(h200, save, tmp_path, reason, share, bad):
    result = clean(h200)
    next(entry for entry in result["benchmarks"] if entry["name"].startswith("gemm/"))["roofmark"]["measurement"]["telemetry"]["throttled_share"][reason] = share
    assert verdicts(result, sxm_profile(tmp_path), tmp_path, save, 1 if bad else 0) == (bad | {"bad_run": "FAIL"} if bad else {})


@pytest.mark.parametrize("counter, good, bad", [("fabric_degraded", 0, 1), ("fabric_unhealthy", 0, 1), ("power_limit_of_default", 1, 0.9)])
def test_a_faulty_fabric_or_a_lowered_power_limit_is_not_accepted(h200, save, tmp_path, counter, good, bad):
    profile = sxm_profile(tmp_path)
    result = clean(copy.deepcopy(h200))
    result["counters"] = result_maker.counters(**{counter: good})
    assert verdicts(result, profile, tmp_path, save, 0) == {}
    result["counters"] = result_maker.counters(**{counter: bad})
    assert verdicts(result, profile, tmp_path, save)[f"state_{counter}"] == "FAIL"


@pytest.mark.parametrize("counter", ["ecc_uncorrected", "remapped_rows_uncorrected"])
def test_a_fault_of_the_past_is_shown_and_decides_in_a_profile_that_says_so(h200, save, tmp_path, counter):
    result, profile = clean(h200), sxm_profile(tmp_path)
    result["counters"] = result_maker.counters(**{counter: 1})
    assert verdicts(result, profile, tmp_path, save, 0) == {}
    checks = parse_verdict((tmp_path / "verdict.json").read_bytes())["checks"]
    assert [check["verdict"] for check in checks if check["rule"] == f"state_{counter}"] == ["FAIL"]
    profile.write_text(profile.read_text() + f"[rule.state_{counter}]\nmandatory = true\n")
    assert verdicts(result, profile, tmp_path, save) == {f"state_{counter}": "FAIL"}


def test_what_no_result_is_left_of_has_not_passed(h200, save, tmp_path):
    result = clean(h200)
    case = next(entry["name"] for entry in result["benchmarks"] if entry["name"].startswith("stream/"))
    result["benchmarks"] = [entry for entry in result["benchmarks"] if entry["name"] != case]
    done = roofmark("accept", save(result), "--profile", sxm_profile(tmp_path), "--json", tmp_path / "verdict.json")
    assert done.returncode == 1
    checks = parse_verdict((tmp_path / "verdict.json").read_bytes())["checks"]
    assert [(check["verdict"], check["found"]) for check in checks if check["rule"] == "complete"] == [("NOT MEASURED", "1 of its cases have no result")]


def test_bits_that_change_within_a_run_are_not_accepted(h200, save, tmp_path):
    result = clean(h200)
    probe = next(entry["name"] for entry in result["benchmarks"] if entry["name"].startswith("ceilings/"))
    passes = [entry["roofmark"] for entry in result["benchmarks"] if entry["name"] == probe]
    for record, bits in zip(passes, ("00ff", "00fe"), strict=True):
        record["fingerprint"] = {"hash": bits, "key": "k", "deterministic": True}
    bad = verdicts(result, sxm_profile(tmp_path), tmp_path, save)
    assert bad.items() >= {"changed_bits": "FAIL", "bad_run": "FAIL", "differing_bits": "FAIL"}.items()


def test_a_board_that_its_power_limit_keeps_below_the_highest_clock_is_accepted_as_any_gpu(h200, save, tmp_path):
    result = clean(h200)
    # As an L4 of 72 W: half of the clock, and half of what follows it.
    for entry in slower(result, "ceilings/", 1)["benchmarks"]:
        resource = entry["roofmark"].get("sets_ceiling", {}).get("resource", "")
        if resource.endswith(("_fma", "_tensor")):
            clock = entry["roofmark"]["measurement"]["clock_hz"] / 2
            slower({"benchmarks": [entry]}, "", 2)
            for block in entry["roofmark"]["measurement"]["blocks"]:
                block |= {name: clock for name in ("clock_hz", "first_clock_hz", "mean_clock_hz", "last_clock_hz")}
            entry["roofmark"]["measurement"]["clock_hz"] = clock
            entry["roofmark"]["placement"]["of_theoretical_clock"] *= 2
    assert verdicts(result, "generic", tmp_path, save, 0) == {}
    assert "fma_fp32_top" in verdicts(result, "h200_sxm", tmp_path, save)
    # A low power limit is this board's nature; heat is not.
    entry["roofmark"]["measurement"]["telemetry"]["throttled_share"]["hardware thermal"] = 1.0
    assert verdicts(result, "generic", tmp_path, save) == {"slowdown": "FAIL", "bad_run": "FAIL"}


@pytest.mark.parametrize("name", PROFILES)
def test_a_shipped_profile_is_right_and_is_shown(name):
    done = roofmark("profile", "check", name)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = roofmark("profile", "show", name)
    assert shown.returncode == 0, shown.stderr
    assert "reason" in shown.stdout and "limit" in shown.stdout
    assert "common" in next(line for line in shown.stdout.splitlines() if line.startswith("  inherits"))


def rules(name):
    """Those that the profile takes over, too."""
    profile = WRITTEN[name]
    inherited = rules(profile["inherit"]) if "inherit" in profile else {}
    return inherited | {rule: inherited.get(rule, {}) | keys for rule, keys in profile.get("rule", {}).items()}


def as_published(result, name):
    """A GPU of the profile's kind that reaches the published figures and no more, with the roofs of the one that was made up."""
    result["device"]["name"] = WRITTEN[name]["example"]
    roofs = {ceiling["resource"]: ceiling for ceiling in result["ceilings"]}
    maker = result_maker.Maker(result["device"], {resource: (roof["theoretical"], "") for resource, roof in roofs.items() if "theoretical" in roof},
                               {"stream_launch": 1e6, "graph_launch": 1e6}, {}, 0)
    for kind in ("bf16", "fp8"):
        operations, pipe = 2 * 8192**3, f"{kind}_tensor"
        maker.measure("ceilings", "gemm", kind, {"m": 8192, "n": 8192, "k": 8192, "impl": "cublaslt"}, [[(pipe, operations)]],
                      seconds=operations / roofs[pipe]["theoretical"], clock_hz=result["device"]["highest_clock_hz"], path="stream")
    result["benchmarks"] += maker.benchmarks
    speeds = [rule for rule in rules(name).values() if rule.get("cases", "").startswith("^ceilings/") and "published" in rule and not rule.get("drop")]
    for entry in result["benchmarks"]:
        placement = entry["roofmark"]["placement"]
        figures = {rule["quantity"]: rule["published"] for rule in speeds if re.search(rule["cases"], entry["name"])}
        faster = [placement[share] / figure for share, figure in figures.items() if share in placement]
        faster += [placement["bytes_per_second"] / figure for quantity, figure in figures.items() if quantity == "rate"]
        if faster:
            slower({"benchmarks": [entry]}, "", min(faster))
        if "of_datasheet" in figures:
            resource = entry["roofmark"]["work"]["phases"][0][0]["resource"]
            roofs[resource]["datasheet"] = (placement.get("flops_per_second") or placement["bytes_per_second"]) / figures["of_datasheet"]
    return result


@pytest.mark.parametrize("name", [name for name in PROFILES if name != "cpu"])
def test_what_is_as_fast_as_published_is_accepted_and_a_fifth_less_is_not(h200, save, tmp_path, name):
    assert verdicts(as_published(clean(copy.deepcopy(h200)), name), name, tmp_path, save, 0) == {}
    result = as_published(clean(copy.deepcopy(h200)), name)
    for begin in ("ceilings/gemm/bf16/", "ceilings/dram_read/", "ceilings/dram_copy/"):
        slower(result, begin, 1 / 0.8)
    assert verdicts(result, name, tmp_path, save).items() >= dict.fromkeys(("product_bf16", "dram_read", "dram_copy"), "FAIL").items()


def test_a_shipped_profile_repeats_nothing_that_it_inherits():
    for name, profile in WRITTEN.items():
        inherited = rules(profile["inherit"]) if "inherit" in profile else {}
        repeated = [(rule, key) for rule, keys in profile.get("rule", {}).items() for key, value in keys.items()
                    if key not in ("least", "published") and inherited.get(rule, {}).get(key) == value]
        assert repeated == [], name
