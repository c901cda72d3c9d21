# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The bits that ranks on model GPUs have: of unequal parts, and where a signal cuts off a load."""
import os
import re
import signal
import time

import ranks
from test_gpu_model_ranks import HOST, assert_verified, cases, pytestmark, with_gpus  # noqa: F401


def test_an_imbalance_is_sent_and_verified(tmp_path):
    out = tmp_path / "out"
    named = ["--case", "all_to_all/fp32/bytes:2112/imbalance:1..3+1", "--case", "all_to_all/fp8/bytes:2112/imbalance:3/root:3"]
    done = ranks.run(4, "collectives", "--device", "cuda", "--max-seconds", "0.001", *named, "--out", out, wrapper=with_gpus(4))
    assert done.returncode == 0, done.stderr
    result = ranks.load(out)
    assert_verified(result)
    calls = {entry["name"]: entry["roofmark"]["notes"].get("calls") for entry in cases(result)}
    grouped = "ncclSend and ncclRecv in a group"
    assert calls == {
        "all_to_all/fp32/bytes:2112/ranks:4/place:out/impl:nccl": None,
        "all_to_all/fp32/bytes:2112/ranks:4/imbalance:2/root:0/place:out/impl:nccl": grouped,
        "all_to_all/fp32/bytes:2112/ranks:4/imbalance:3/root:0/place:out/impl:nccl": grouped,
        "all_to_all/fp8/bytes:2112/ranks:4/imbalance:3/root:3/place:out/impl:nccl": grouped,
    }


def test_wrong_bits_that_only_another_rank_found_stand_after_a_signal(tmp_path):
    case = "memory_test/int32/bytes:64K/pattern:random"
    on_rank_1 = ["sh", "-c", 'test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 || export GPUMODEL_FLIP=memory_test_kernel:2000:5; exec "$@"', "sh"]

    def interrupted(seconds):
        out = tmp_path / str(seconds)
        process = ranks.start(2, "run", "--device", "cuda", "--suite", "sustained", "--seconds", "200", "--case", case, "--out", out, wrapper=with_gpus(2) + on_rank_1)
        assert any("planted: a bit" in line for line in process.stderr)
        time.sleep(seconds)
        os.kill(ranks.of_rank(out, 0), signal.SIGINT)
        done = ranks.finish(process, 60)
        assert done.returncode == 130, done.stderr
        [record] = [entry["roofmark"] for entry in ranks.load(out)["unmeasured"]]
        return record, done.stderr

    for seconds in (5, 20, 60):  # hashes are compared once a second, and later where the machine is busy
        record, told = interrupted(seconds)
        if record["status"] == "wrong":
            break
    assert record["status"] == "wrong", record
    assert re.match(rf"rank 1 \({HOST}\): wrong result: \d+ of \d+ launches gave other bits .*; then interrupted$", record["reason"])
    assert told.count(record["reason"]) == 1
