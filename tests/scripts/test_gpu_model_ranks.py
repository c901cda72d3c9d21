# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""roofmark-mpi over NCCL between model GPUs: every collective is verified, and what it says when a rank's GPU hangs, lies, has no
memory, or its process dies."""
import os
import platform
import re
import signal
import subprocess
from pathlib import Path

import pytest
import ranks
from conftest import need

need("jsonschema")
ROOFMARK = os.environ.get("ROOFMARK")
HOST = platform.node()
MODEL = "roofmark model GPU (sm_90)"

pytestmark = [
    ranks.needs_mpi,
    pytest.mark.skipif(
        not ranks.PROGRAM or b"libgpu_model.so" not in Path(ranks.PROGRAM).read_bytes(), reason="not built against the model GPU"
    ),
]

# Small GPUs, on which the links' probes are short; times without noise.
GPU = {
    "GPUMODEL_SMS": "2",
    "GPUMODEL_L2": "1M",
    "GPUMODEL_MEMORY": "24M",
    "GPUMODEL_TOTAL": "24M",
    "GPUMODEL_NOISE": "0",
    "OMP_NUM_THREADS": "1",
}
COLLECTIVES = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "gather", "scatter", "send_recv",
    "ping_pong",
}
CASE = "all_reduce/fp32/bytes:2048/ranks:{}/op:sum/place:out/impl:nccl"
FIRST, LAST = CASE.replace("2048", "512"), CASE.replace("2048", "8192")


def with_gpus(count, **variables):
    """A wrapper of the program that sets its environment."""
    words = {**GPU, "GPUMODEL_DEVICES": count, **variables}
    return ["env", *(f"{name}={value}" for name, value in words.items())]


def fault(**words):
    """Planted in the all-reduce of 2048 bytes on rank 1."""
    words = {"rank": 1, "call": "all_reduce", "bytes": 2048, **words}
    return {"GPUMODEL_NCCL_FAULT": " ".join(f"{key}={value}" for key, value in words.items())}


def collectives(suite, cases, *words):
    return ["collectives", "--device", "cuda", "--suite", suite, "--max-seconds", "0.001", "--filter", cases, *words]


def three_sizes(count, out, *words):
    """The all-reduce of 512, 2048 and 8192 bytes."""
    return collectives("baseline", rf"^all_reduce/fp32/bytes:(512|2048|8192)/ranks:{count}/op:sum/place:out/impl:nccl$", "--out", out,
                       *words)


def cases(result, status="benchmarks"):
    """Without the links' ceilings."""
    return [entry for entry in result[status] if not entry["name"].startswith("ceilings/")]


def unmeasured(result):
    return {entry["name"]: (entry["roofmark"]["status"], entry["roofmark"]["reason"]) for entry in cases(result, "unmeasured")}


def measured(result):
    return [entry["name"] for entry in cases(result)]


def assert_verified(result):
    assert result["complete"] and not result["unmeasured"]
    for entry in result["benchmarks"]:
        verification = entry["roofmark"]["verification"]
        assert [verification[when]["status"] for when in ("before", "after")] == ["passed", "passed"], entry["name"]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_collective_is_verified(tmp_path, count):
    out = tmp_path / "out"
    done = ranks.run(count, *collectives("baseline", "/fp32/bytes:20../.*place|ping_pong.*bytes:(8|65536)/", "--out", out),
                     wrapper=with_gpus(count))
    assert done.returncode == 0, done.stderr
    result = ranks.load(out)
    assert {entry["roofmark"]["family"] for entry in cases(result)} == COLLECTIVES
    assert_verified(result)
    assert [member["device_name"] for member in result["team"]] == [MODEL] * count
    assert [member["device_id"] for member in result["team"]] == [f"cuda:{rank}" for rank in range(count)]
    assert len({member["uuid"] for member in result["team"]}) == count
    [roof] = [ceiling for ceiling in result["ceilings"] if ceiling["resource"] == "nvlink"]
    assert roof["theoretical"] > roof["empirical"] > 0
    nccl = result["libraries"]["NCCL"]
    assert nccl["version"] == "2.28.9" and Path(nccl["path"]).name.startswith("libnccl.so")
    assert result["libraries"]["MPI"]["version"]
    [all_reduce] = [entry for entry in result["benchmarks"] if entry["name"] == CASE.format(count)]
    assert all_reduce["roofmark"]["notes"] == {
        "algorithm": "RING", "protocol": "LL", "channels": "1", "transport": "P2P/CUMEM"
    }
    assert all_reduce["roofmark"]["transports"] == {"P2P/CUMEM": list(range(count))}
    assert [set(rank) >= {"clock_hz", "sm_clock_hz", "throttled_share"} for rank in all_reduce["roofmark"]["measurement"]["ranks"]] == [True] * count
    pairs = [entry for entry in result["benchmarks"] if entry["name"].startswith("ping_pong")]
    assert len(pairs) == 2 * (1 if count == 2 else 3)
    rows = [line.split() for line in done.stdout.splitlines() if re.match(r"\d+ +\d+( +[\d.]+){3} +\d+( |$)", line)]
    assert rows and all(row[5] == "0" for row in rows), "#wrong"


def test_each_rank_can_be_the_root(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(3, "collectives", "--device", "cuda", "--suite", "quick", "--max-seconds", "0.001", "--out", out,
                     "--case", "broadcast,reduce,gather,scatter/fp32/bytes:960/root:0..2+1/place:out,in",
                     wrapper=with_gpus(3))
    assert done.returncode == 0, done.stderr
    result = ranks.load(out)
    assert_verified(result)
    seen = {(entry["roofmark"]["family"], entry["roofmark"]["message"]["root"]) for entry in cases(result)}
    assert seen == {(family, root) for family in ("broadcast", "reduce", "gather", "scatter") for root in range(3)}
    of_one = [entry["roofmark"]["verification"]["before"]["detail"] for entry in cases(result) if "/root:1/" in entry["name"]]
    assert any(detail.startswith("rank 1 (") for detail in of_one), "what the root alone has, it verifies"


def test_groups_of_any_size_run_at_once(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(4, "collectives", "--device", "cuda", "--suite", "quick", "--max-seconds", "0.001", "--out", out,
                     "--case", "all_reduce,broadcast/fp32/bytes:2K/group:div_2,mod_2", wrapper=with_gpus(4))
    assert done.returncode == 0, done.stderr
    result = ranks.load(out)
    assert_verified(result)
    found = {(entry["roofmark"]["family"], entry["roofmark"]["shape"]["group"]): entry["roofmark"]["message"]["groups"] for entry in cases(result)}
    assert found == {(family, group): groups for family in ("all_reduce", "broadcast")
                     for group, groups in (("div_2", [[0, 1], [2, 3]]), ("mod_2", [[0, 2], [1, 3]]))}
    for entry in cases(result):
        assert [demand["resource"] for demand in entry["roofmark"]["work"]["phases"][0]] == ["nvlink"]


def test_groups_of_the_gpus_of_one_process(tmp_path):
    out = tmp_path / "out"
    command = [*with_gpus(4), ROOFMARK, "run", "--device", "cuda:0", "--suite", "quick", "--max-seconds", "0.001", "--out", out,
               "--case", "all_reduce/fp32/bytes:2K/group:div_2,mod_2"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=ranks.ENVIRONMENT, timeout=300)
    assert done.returncode == 0, done.stderr
    reduced = [entry["roofmark"] for entry in ranks.load(out)["benchmarks"] if entry["roofmark"]["family"] == "all_reduce"]
    assert [record["message"]["groups"] for record in reduced] == [[[0, 1], [2, 3]], [[0, 2], [1, 3]]]
    assert all(record["verification"][when]["status"] == "passed" for record in reduced for when in ("before", "after"))


def test_every_type_and_operation_is_reduced(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(3, *collectives("full", "^(all_reduce|reduce_scatter)/.*/bytes:(480|512)/.*place:out/impl:nccl$",
                                     "--out", out), wrapper=with_gpus(3))
    assert done.returncode == 0, done.stderr
    result = ranks.load(out)
    assert_verified(result)
    seen = {(entry["roofmark"]["type"], entry["roofmark"]["shape"]["op"]) for entry in cases(result)}
    assert seen == {(type_, op) for type_ in ("fp32", "fp16", "bf16", "fp8") for op in ("sum", "max", "avg")}


def test_the_operations_that_no_suite_has_are_reduced_by_name(tmp_path):
    out = tmp_path / "out"
    named = ["collectives", "--device", "cuda", "--max-seconds", "0.001", "--case", "all_reduce,reduce_scatter/fp32,bf16,fp8/bytes:3K/op:min,prod", "--out", out]
    done = ranks.run(3, *named, wrapper=with_gpus(3))
    assert done.returncode == 0, done.stderr
    result = ranks.load(out)
    assert_verified(result)
    seen = {(entry["roofmark"]["family"], entry["roofmark"]["type"], entry["roofmark"]["shape"]["op"]) for entry in cases(result)}
    assert seen == {(family, type_, op) for family in ("all_reduce", "reduce_scatter") for type_ in ("fp32", "bf16", "fp8") for op in ("min", "prod")}


def test_graphs_and_registered_buffers(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(2, *collectives("baseline", "/bytes:512/.*(issue:graph|buffer:)", "--out", out), wrapper=with_gpus(2))
    assert done.returncode == 0, done.stderr
    result = ranks.load(out)
    assert_verified(result)
    assert {name.rsplit("/", 1)[1] for name in measured(result)} == {"issue:graph", "buffer:registered", "buffer:symmetric"}


# The root has more arrays than the others.
def test_windows_of_rooted_collectives_are_of_one_size(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(3, "collectives", "--device", "cuda", "--suite", "quick", "--max-seconds", "0.001", "--out", out,
                     "--case", "broadcast,reduce,gather,scatter/fp32/bytes:960/root:1/place:out,in/buffer:symmetric",
                     "--case", "all_to_all/fp32/bytes:2K/imbalance:2/root:1/buffer:symmetric", wrapper=with_gpus(3))
    assert done.returncode == 0, done.stderr
    result = ranks.load(out)
    assert_verified(result)
    assert len(cases(result)) == 9


def test_info_maps_each_rank_to_a_gpu():
    done = ranks.run(2, "info", wrapper=with_gpus(2))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 ranks on 1 host\n") and all(f"cuda:{rank} {MODEL}" in done.stdout for rank in range(2))


# From its first launch on, or once it was verified and has been timed.
@pytest.mark.parametrize("first", [1, 6])
def test_a_wrong_element_on_one_rank_is_named(tmp_path, first):
    out, name = tmp_path / "out", CASE.format(3)
    wrong = fault(do="flip", byte=303, **{"from": first})
    done = ranks.run(3, *three_sizes(3, out), wrapper=with_gpus(3, **wrong))
    assert done.returncode == 1, done.stderr
    result = ranks.load(out)
    assert result["complete"] and measured(result) == [FIRST.format(3), LAST.format(3)]
    [(status, reason)] = [unmeasured(result)[name]]
    assert status == "wrong"
    assert re.search(rf"^rank 1 \({HOST}\): wrong result: .*\(1 of 512 elements are wrong; element 75 of its output is ", reason)
    row = next(line.split() for line in done.stdout.splitlines() if line.startswith("2048 "))
    assert row[2:6] == ["-", "-", "-", "1"]


def assert_ended(done, out, name, reason):
    """The case failed for this reason; what came before it is in the file, and what comes after it was not run."""
    result = ranks.load(out)
    assert not result["complete"] and not result["interrupted"]
    assert measured(result) == [FIRST.format(3)]
    assert unmeasured(result) == {
        name: ("failed", reason), LAST.format(3): ("not_run", f"the run ended in {name}")
    }
    ranks.wait_until(lambda: all(ranks.of_rank(out, rank) is None for rank in range(3)), 20)


# While it is verified, or while it warms up.
@pytest.mark.parametrize("first, stage", [(1, "verifying"), (5, "warming up")])
def test_a_gpu_that_never_enters_a_collective(tmp_path, first, stage):
    out, name = tmp_path / "out", CASE.format(3)
    hang = fault(do="hang", **{"from": first})
    done = ranks.run(3, *three_sizes(3, out, "--timeout", "3"), wrapper=with_gpus(3, **hang))
    assert done.returncode == 3, done.stderr
    for rank in range(3):
        assert re.search(rf"^roofmark-mpi: rank {rank} \({HOST}\) has waited for \S+ s in {re.escape(name)} \({stage}\)$", done.stderr, re.M)
    # Every host has enqueued the collective and waits for its GPU: nobody can tell which of them does not take part.
    assert_ended(done, out, name, "no progress for 3 s: all ranks arrived and none proceeds: the network or a link failed, or this step takes longer than --timeout")


def test_an_interrupted_run_says_what_its_devices_counted(tmp_path):
    out = tmp_path / "out"
    process = ranks.start(2, *collectives("full", "^all_reduce", "--out", out), wrapper=with_gpus(2, GPUMODEL_COUNTER="ecc_uncorrected:3@0"))
    ranks.wait_until(lambda: (out / "result.json").exists())
    os.kill(ranks.of_rank(out, 1), signal.SIGINT)
    done = ranks.finish(process, 60)
    assert done.returncode == 130, done.stderr
    result = ranks.load(out)
    assert result["interrupted"] and "uncorrected_errors" in {finding["kind"] for finding in result["findings"]}


LOST = "NET/Socket : connection to rank 2 at 127.0.0.1<50001> was lost"


# The timeout is as it comes: nobody waits for it.
def test_an_error_that_nccl_reports_while_the_collective_hangs_ends_the_run_at_once(tmp_path):
    out, name = tmp_path / "out", CASE.format(3)
    done = ranks.finish(ranks.start(3, *three_sizes(3, out), wrapper=with_gpus(3, **fault(do="lose", **{"from": 5}))), 60)
    assert done.returncode == 3, done.stderr
    for rank in range(3):
        assert re.search(rf"^roofmark-mpi: rank {rank} \({HOST}\) has waited for \S+ s in {re.escape(name)} \(warming up\)$", done.stderr, re.M), done.stderr
    assert f"roofmark-mpi: rank 1 ({HOST}): NCCL warned: {LOST}\n" in done.stderr and done.stderr.count(": NCCL warned: ") == 1
    assert_ended(done, out, name, f"rank 1 ({HOST}): NCCL 2.28.9: remote process exited or there was a network error; NCCL warned: {LOST}")


def test_a_warning_of_nccls_is_in_the_report_of_a_hang(tmp_path):
    out, name = tmp_path / "out", CASE.format(3)
    done = ranks.run(3, *three_sizes(3, out, "--timeout", "3"), wrapper=with_gpus(3, **fault(do="warn", **{"from": 5})))
    assert done.returncode == 3, done.stderr
    assert f"roofmark-mpi: rank 1 ({HOST}): NCCL warned: {LOST}\n" in done.stderr, done.stderr
    assert_ended(done, out, name, "no progress for 3 s: all ranks arrived and none proceeds: the network or a link failed, or this step takes longer than --timeout")


def test_a_rank_that_never_joins_its_communicator(tmp_path):
    out = tmp_path / "out"
    hang = fault(do="hang", call="init", bytes=0)
    done = ranks.run(3, *three_sizes(3, out, "--timeout", "3"), wrapper=with_gpus(3, **hang))
    assert done.returncode == 3, done.stderr
    for rank in range(3):
        assert re.search(rf"^roofmark-mpi: rank {rank} \({HOST}\) has waited for \S+ s in listing the cases: creating an NCCL communicator of 3 ranks$", done.stderr, re.M), done.stderr
    assert not out.exists()


# The timeout is as it comes: nobody waits for it.
def test_a_rank_killed_inside_a_collective_leaves_nobody_waiting(tmp_path):
    out, name = tmp_path / "out", CASE.format(3)
    kill = fault(do="kill", **{"from": 3})
    done = ranks.finish(ranks.start(3, *three_sizes(3, out), wrapper=with_gpus(3, **kill)), 60)
    assert done.returncode not in (0, 1, 2, 3, 130), done.stderr
    if ranks.launcher_is_hydra():
        # MPICH's launcher ends all at once, and nobody completes the file.
        assert subprocess.run([ROOFMARK, "recover", out], check=False, capture_output=True).returncode == 3
        assert measured(ranks.load(out)) == [FIRST.format(3)]
        return
    assert re.search(rf"^roofmark-mpi: rank 1 \({HOST}\) ended unexpectedly$", done.stderr, re.M), done.stderr
    assert_ended(done, out, name, f"rank 1 ({HOST}) ended unexpectedly")


@pytest.mark.parametrize("level", [None, "WARN", "VERSION"])
def test_an_error_that_nccl_reports_later_fails_the_case_that_it_came_in(tmp_path, level):
    out, name = tmp_path / "out", CASE.format(3)
    error = fault(do="error", **{"from": 6})
    done = ranks.run(3, *three_sizes(3, out), wrapper=with_gpus(3, **error, **({"NCCL_DEBUG": level} if level else {})))
    assert done.returncode == 3, done.stderr
    shown = re.findall(r"^\S+ \[1\] \S+ NCCL WARN (.*)$", done.stderr, re.M)
    assert set(shown) == ({LOST} if level == "WARN" else set()), "as NCCL would show it"
    result = ranks.load(out)
    assert measured(result) == [FIRST.format(3)]
    status, reason = unmeasured(result)[name]
    assert status == "failed"
    assert reason == f"rank 1 ({HOST}): NCCL 2.28.9: remote process exited or there was a network error"
    assert unmeasured(result)[LAST.format(3)][0] == "not_run"


def test_a_gpu_without_memory_is_named_and_smaller_cases_are_measured(tmp_path):
    out = tmp_path / "out"
    words = collectives("baseline", "^all_reduce/fp32/bytes:(2048|2097152)/ranks:3/op:sum/place:out/impl:nccl$", "--out", out)
    poor = with_gpus(3, GPUMODEL_OOM_AFTER="3M")
    done = ranks.run(1, *words, ":", "-np", 1, *poor, ranks.PROGRAM, *words, ":", "-np", 1, *with_gpus(3), ranks.PROGRAM,
                     *words, wrapper=with_gpus(3))
    assert done.returncode == 3, done.stderr
    result = ranks.load(out)
    assert result["complete"] and measured(result) == [CASE.format(3)]
    [(status, reason)] = unmeasured(result).values()
    assert status == "not_run" and reason.startswith(f"rank 1 ({HOST}): out of memory of cuda:1: 4194304 bytes wanted, "), reason


def test_what_the_gpu_of_one_rank_cannot_do_is_unsupported_on_all(tmp_path):
    out = tmp_path / "out"
    words = ["run", "--device", "cuda", "--suite", "quick", "--max-seconds", "0.001", "--filter", "^stream/triad/fp64/bytes:65536/|^ceilings/", "--out", out]
    slow = {"GPUMODEL_SMS": "1", "GPUMODEL_BOOST_MHZ": "2", "GPUMODEL_CLOCK_MHZ": "2", "GPUMODEL_L2": "128K", "GPUMODEL_MEMORY": "2304K",
            "GPUMODEL_TOTAL": "2304K"}
    older = with_gpus(2, GPUMODEL_ARCH="80", **slow)
    done = ranks.run(1, *words, ":", "-np", 1, *older, ranks.PROGRAM, *words, wrapper=with_gpus(2, **slow))
    assert done.returncode == 0, done.stderr
    result = ranks.load(out)
    assert result["complete"] and [member["device_name"] for member in result["team"]] == [MODEL, MODEL.replace("90", "80")]
    reasons = {entry["name"]: entry["roofmark"]["reason"] for entry in result["unmeasured"]}
    assert {entry["roofmark"]["status"] for entry in result["unmeasured"]} == {"unsupported"}
    assert reasons["ceilings/wgmma/bf16/accumulate:fp32"] == f"rank 1 ({HOST}): compute capability 8.0 has no wgmma for bf16"
    # Rank 0 cannot do it either: its own reason.
    assert reasons["ceilings/mma/fp8/accumulate:fp32"] == "compute capability 9.0 has no mma for fp8"


def test_two_ranks_on_one_gpu_are_refused_unless_nccl_takes_them_for_two_hosts(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(2, *three_sizes(2, out), wrapper=with_gpus(1))
    assert done.returncode == 3
    assert f"rank 0 ({HOST}) and rank 1 ({HOST}) use the same GPU (GPU-" in done.stderr, done.stderr
    assert not out.exists()
    own_host = ["sh", "-c", 'NCCL_HOSTID=${OMPI_COMM_WORLD_RANK:-$PMI_RANK} exec "$@"', "--"]
    done = ranks.run(2, *three_sizes(2, out), wrapper=[*with_gpus(1), *own_host])
    assert done.returncode == 0, done.stderr
    assert len(measured(ranks.load(out))) == 3


def with_own(count, setting):
    """with_gpus, and a variable that has each rank's number in its value."""
    return [*with_gpus(count), "sh", "-c", f'export {setting.format("${OMPI_COMM_WORLD_RANK:-$PMI_RANK}")}; exec "$@"', "--"]


def test_variables_of_nccl_that_break_or_limit_it_are_named(tmp_path):
    done = ranks.run(2, *three_sizes(2, tmp_path / "out"), wrapper=with_own(2, "NCCL_ALGO=^{}"))
    assert done.returncode == 3 and not (tmp_path / "out").exists()
    assert (f"NCCL needs the same NCCL_ALGO on all ranks that communicate: rank 0 ({HOST}) has ^0, rank 1 ({HOST}) has ^1"
            in " ".join(done.stderr.split())), done.stderr

    done = ranks.run(2, *three_sizes(2, tmp_path / "other"), wrapper=["env", "NCCL_P2P_DISABLE=1", "FI_PROVIDER=efa", *with_own(2, "NCCL_IB_TC={}")])
    assert done.returncode == 0, done.stderr
    result = ranks.load(tmp_path / "other")
    rows = {row["what"]: row["state"] for row in result["health"] if row["what"].startswith("NCCL")}
    assert rows == {"NCCL_P2P_DISABLE": "1", "NCCL_IB_TC": f"rank 0 ({HOST}) has 0, rank 1 ({HOST}) has 1"}
    assert re.search(r"^NCCL_P2P_DISABLE +1: GPUs of a host exchange data through its memory", done.stdout, re.MULTILINE)
    seen = [[member["variables"][name] for name in ("NCCL_IB_TC", "FI_PROVIDER")] for member in result["team"]]
    assert seen == [["0", "efa"], ["1", "efa"]]


@pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")
def test_a_gpu_of_a_node_that_turns_wrong_while_it_is_timed_is_seen(tmp_path):
    out = tmp_path / "out"
    ceilings = "mma_kernel,wgmma_kernel,fma_kernel,exp2_kernel,shared_read,cache_read,stream_kernel"
    variables = {**GPU, "GPUMODEL_DEVICES": "2", "GPUMODEL_MEMORY": "20M", "GPUMODEL_SKIP": ceilings,
                 "GPUMODEL_BLAS_LIMIT": "1e6", **fault(bytes=1024, do="flip", **{"from": 9})}
    done = subprocess.run(
        list(map(str, [ROOFMARK, "run", "--device", "cuda:0", "--suite", "quick", "--filter", "^all_reduce/.*bytes:1024/|^ceilings/",
                       "--max-seconds", "0.001", "--out", out])),
        env={**ranks.ENVIRONMENT, **variables}, capture_output=True, text=True, timeout=240,
    )
    assert done.returncode == 1, done.stderr
    status, reason = unmeasured(ranks.load(out))["all_reduce/fp32/bytes:1024/ranks:2/op:sum/place:out/impl:nccl"]
    assert status == "wrong" and "(cuda:1: 1 of 256 elements are wrong; element 0 of its output is " in reason, reason
