# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What NCCL's log says that ranks of model GPUs communicate by, and what is found in it."""
import re
import subprocess

import pytest
import ranks
from test_gpu_model_ranks import CASE, HOST, ROOFMARK, cases, collectives, pytestmark, three_sizes, with_gpus  # noqa: F401


def can_rename():
    return subprocess.run(["unshare", "--uts", "hostname", "other"], capture_output=True, check=False).returncode == 0


needs_names = pytest.mark.skipif(not can_rename(), reason="takes the right to give a process another host name")
# Each with a GPU of its own.
OWN_HOST = 'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; export CUDA_VISIBLE_DEVICES=$rank; hostname "node$rank" && exec "$@"'
ONE_HOST_EACH = ["unshare", "--uts", "sh", "-c", OWN_HOST, "sh"]


@needs_names
def test_how_ranks_reach_other_hosts_is_a_finding(tmp_path):
    def findings(transport, **variables):
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        done = ranks.run(2, *three_sizes(2, out), wrapper=[*ONE_HOST_EACH, *with_gpus(2, GPUMODEL_NCCL_TRANSPORT=transport, **variables)])
        assert done.returncode == 0, done.stderr
        result = ranks.load(out)
        assert {member["host"] for member in result["team"]} == {"node0", "node1"}
        return {finding["kind"]: finding for finding in result["findings"]}, done, result

    kinds = {"rdma_unused", "sockets", "gpudirect_unused", "no_gpudirect"}
    found, done, result = findings("NET/Socket/0")
    [kind] = kinds & found.keys()  # by the RDMA ports of this machine
    assert found[kind]["brief"] == "2 of 2 ranks reach other hosts by IP sockets (eth0)" and kind in ("sockets", "rdma_unused")
    assert re.search(rf"{kind}\s+2 of 2 ranks reach other hosts by IP sockets \(eth0\); rank 0 \(node0\): ", done.stdout)
    assert "NCCL INFO" not in done.stderr
    [all_reduce] = [entry for entry in cases(result) if entry["name"] == CASE.format(2)]
    assert all_reduce["roofmark"]["transports"] == {"NET/Socket (eth0)": [0, 1]}
    found, *_ = findings("NET/AWS Libfabric/0/GDRDMA")
    assert not kinds & found.keys()
    found, *_ = findings("NET/AWS Libfabric/0")
    assert kinds & found.keys() == {"no_gpudirect"}, "the model's GPUs are below no switch"
    for level in ("WARN", "version"):
        found, *_ = findings("NET/Socket/0", NCCL_DEBUG=level)
        assert kind in found, level
    found, *_ = findings("NET/Socket/0", NCCL_DEBUG="trace")
    assert not kinds & found.keys(), "the log is the user's"


def test_what_the_user_wants_of_nccls_log_is_passed_on_and_read(tmp_path):
    def run(name, **variables):
        out = tmp_path / name
        variables = {"GPUMODEL_NCCL_TRANSPORT": "SHM/direct/direct", **variables}
        done = ranks.run(2, *collectives("baseline", NVLINK_CASE, "--out", out), wrapper=with_gpus(2, **variables))
        assert done.returncode == 0, done.stderr
        result = ranks.load(out)
        [case] = [entry for entry in cases(result) if entry["name"].startswith("all_reduce/fp32/bytes:2048/")]
        assert case["roofmark"]["transports"] == {"SHM/direct/direct": [0, 1]} and len(unused_nvlink(result)) == 1
        return done

    def channels(text):
        return sorted({line.split("NCCL INFO ")[1] for line in text.splitlines() if "NCCL INFO Channel" in line})

    def choices(text):
        return text.count("-> Algo RING")

    lines = [f"Channel 0{channel}/0 : {rank}[{rank}] -> {1 - rank}[{1 - rank}] via SHM/direct/direct" for channel in (0, 1) for rank in (0, 1)]
    for name, variables in {"plain": {}, "warnings": {"NCCL_DEBUG": "WARN", "NCCL_DEBUG_SUBSYS": "ALL"}}.items():
        assert "NCCL INFO" not in run(name, **variables).stderr, name
    default = run("default", NCCL_DEBUG="info")
    assert channels(default.stderr) == sorted(lines) and "NCCL INFO" not in default.stdout
    # NCCL's choices only where they are read, once per kind of call, or of every call.
    assert 0 < choices(default.stderr) < 10 < choices(run("choices", NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="tuning").stderr)
    assert choices(run("all", NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="^NET").stderr) > 10

    (tmp_path / ".nccl.conf").write_text("NCCL_DEBUG=INFO\n")
    assert channels(run("by_configuration", HOME=tmp_path).stderr) == sorted(lines)
    done = run("file", NCCL_DEBUG="INFO", NCCL_DEBUG_FILE=tmp_path / "nccl.%h.%p")
    files = sorted(tmp_path.glob("nccl.*"))
    assert "NCCL INFO" not in done.stderr and len(files) == 2
    assert all(re.fullmatch(rf"nccl\.{re.escape(HOST.split('.')[0])}\.[0-9]+", file.name) for file in files)
    assert [len(channels(file.read_text())) for file in files] == [2, 2]
    # As from a process that captures its own log: here it is the first file that the program opens.
    inherited = run("inherited", NCCL_DEBUG="INFO", NCCL_DEBUG_FILE="/proc/self/fd/3")
    assert channels(inherited.stderr) == sorted(lines)


NVLINK_CASE = r"^all_reduce/fp32/bytes:2048/ranks:2/op:sum/place:out/impl:nccl$"


def unused_nvlink(result):
    return [finding["text"] for finding in result["findings"] if finding["kind"] == "nvlink_unused"]


def test_nvlink_that_ranks_of_a_host_do_not_use_is_a_finding(tmp_path):
    def run(name, **variables):
        out = tmp_path / name
        done = ranks.run(2, *collectives("baseline", NVLINK_CASE, "--out", out), wrapper=with_gpus(2, **variables))
        assert done.returncode == 0, done.stderr
        return ranks.load(out), done.stdout

    result, shown = run("memory", GPUMODEL_NCCL_TRANSPORT="SHM/direct/direct")
    [text] = unused_nvlink(result)
    assert text == f"GPUs of {HOST} reach each other by SHM/direct/direct, not by NVLink, which connects them"
    assert re.search(rf"nvlink_unused\s+GPUs of {re.escape(HOST)} reach", shown)
    assert result["verdict"]["level"] == "doubtful" and "not by NVLink" in result["verdict"]["headline"]
    assert unused_nvlink(run("network", GPUMODEL_NCCL_TRANSPORT="NET/IB/0/GDRDMA")[0])
    (tmp_path / ".nccl.conf").write_text("NCCL_DEBUG=TRACE\n")
    for name, variables in {"healthy": {}, "no_nvlink": {"GPUMODEL_ARCH": "86", "GPUMODEL_NCCL_TRANSPORT": "SHM/direct/direct"},
                            "log": {"NCCL_DEBUG": "TRACE", "GPUMODEL_NCCL_TRANSPORT": "SHM/direct/direct"},
                            "log_by_file": {"HOME": tmp_path, "GPUMODEL_NCCL_TRANSPORT": "SHM/direct/direct"}}.items():
        assert not unused_nvlink(run(name, **variables)[0]), name


def test_nvlink_that_the_gpus_of_a_process_do_not_use_is_a_finding(tmp_path):
    def run(transport):
        out = tmp_path / transport.replace("/", "_")
        command = [*with_gpus(2, GPUMODEL_NCCL_TRANSPORT=transport), ROOFMARK, "run", "--device", "cuda:0", "--suite", "quick",
                   "--max-seconds", "0.001", "--out", out, "--case", "all_reduce/fp32/bytes:2K"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=ranks.ENVIRONMENT, timeout=300)
        assert done.returncode == 0, done.stderr
        return ranks.load(out)

    assert unused_nvlink(run("SHM/direct/direct")) == ["GPUs reach each other by SHM/direct/direct, not by NVLink, which connects them"]
    assert not unused_nvlink(run("P2P/direct pointer"))


@needs_names
def test_an_nvlink_domain_whose_hosts_use_the_network_is_a_finding(tmp_path):
    def run(folder, **variables):
        out = tmp_path / folder
        done = ranks.run(2, *collectives("baseline", NVLINK_CASE, "--out", out),
                         wrapper=[*ONE_HOST_EACH, *with_gpus(2, **variables)])
        assert done.returncode == 0, done.stderr
        return ranks.load(out)

    [text] = unused_nvlink(run("network", GPUMODEL_NVLINK_DOMAIN="7/1", GPUMODEL_NCCL_TRANSPORT="NET/IB/0/GDRDMA"))
    assert re.fullmatch(r"GPUs of NVLink domain [0-9a-f-]+/1 reach other hosts by NET/IB/GDRDMA, not by NVLink, which connects them", text)
    assert not unused_nvlink(run("healthy", GPUMODEL_NVLINK_DOMAIN="7/1"))
    assert not unused_nvlink(run("no_domain", GPUMODEL_NCCL_TRANSPORT="NET/IB/0/GDRDMA"))
