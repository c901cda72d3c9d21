# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# Longer than most files: one fault of a rank per test.
"""roofmark-mpi as its users call it, and what it does when a rank is killed, stopped, late, wrong, or not what it should be."""
import json
import os
import platform
import re
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
import ranks
from conftest import need

need("jsonschema")
ROOFMARK = os.environ.get("ROOFMARK")
FAULT = os.environ.get("ROOFMARK_MPI_FAULT")
HOST = platform.node()

pytestmark = ranks.needs_mpi

# Two sizes beside the links, which are always measured: three sizes, first and last.
COLLECTIVES = ["collectives", "--device", "cpu", "--suite", "quick", "--max-seconds", "0.005"]
SMALL = [*COLLECTIVES, "--filter", "^all_reduce/.*/bytes:(8|1024)/.*place:out"]
LINKS, CASES = 3, 8
# As Open MPI and MPICH say it.
OTHER = re.compile("MPI_ERR_OTHER|Other MPI error")
BROKEN = "all_reduce/fp32/bytes:1024/ranks:{}/op:sum/place:out/impl:mpi"


def fault(**words):
    """Breaks the all-reduce of 1024 bytes."""
    words = {"call": "MPI_Allreduce", "count": 256, **words}
    return ["env", f"LD_PRELOAD={FAULT}", "ROOFMARK_FAULT=" + " ".join(f"{key}={value}" for key, value in words.items())]


def others_of(result, status):
    return {entry["name"]: entry["roofmark"] for entry in result["unmeasured"] if entry["roofmark"]["status"] == status}


def can_unshare():
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


def nobody_left(folder):
    ranks.wait_until(lambda: all(ranks.of_rank(folder, rank) is None for rank in range(4)), 20)


def said(done):
    """The program's own lines on stderr, without mpirun's and those of progress."""
    return [line for line in done.stderr.splitlines() if re.match(r"roofmark-mpi: (?!\[)", line)]


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    out = tmp_path_factory.mktemp("clean") / "out"
    done = ranks.run(4, *SMALL, "--out", out, "--label", "site=lab 3")
    assert done.returncode == 0, done.stderr
    return done, ranks.load(out), out


def test_groups_of_any_size_run_at_once_on_one_host(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(4, "collectives", "--device", "cpu", "--suite", "quick", "--max-seconds", "0.005", "--out", out,
                     "--case", "all_reduce,all_gather/fp32/bytes:4K/group:div_2,mod_2")
    assert done.returncode == 0, done.stderr
    groups = {}
    for entry in ranks.load(out)["benchmarks"]:
        record = entry["roofmark"]
        if record["family"] == "ceilings":
            continue
        assert record["verification"]["after"]["status"] == "passed" and all(record["measurement"]["ranks"]), entry["name"]
        assert record["message"]["ranks"] == 2
        groups[record["family"], record["shape"]["group"]] = record["message"]["groups"]
    consecutive, every_second = [[0, 1], [2, 3]], [[0, 2], [1, 3]]
    assert groups == {(family, group): of for family in ("all_reduce", "all_gather")
                      for group, of in (("div_2", consecutive), ("mod_2", every_second))}
    refused = ranks.run(4, "list", "--device", "cpu", "--case", "all_reduce/fp32/bytes:4K/group:div_3")
    assert refused.returncode == 2 and "group:div_3: 4 ranks are no whole groups of 3" in refused.stderr


def test_every_pair_of_ranks_by_one_pattern(tmp_path):
    pattern = "ping_pong/int8/bytes:8/from:0..2+1/to:0..2+1"
    done = ranks.run(3, "collectives", "--device", "cpu", "--suite", "quick", "--max-seconds", "0.005", "--case", pattern, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    pairs = [entry["roofmark"]["message"]["groups"] for entry in ranks.load(tmp_path / "out")["benchmarks"] if entry["name"].startswith("ping_pong/")]
    assert pairs == [[[0, 1]], [[0, 2]], [[1, 2]]]
    assert done.stderr.count("3 of 9 combinations left out; the first: ping_pong/int8/bytes:8/from:0/to:0: from and to are the same rank") == 1
    asked = ranks.run(2, "run", "--device", "cpu", "--case", pattern.replace("2+1", "1+1"), "--max-seconds", "0.005", "--out", tmp_path / "run")
    assert asked.returncode == 3 and "`roofmark-mpi collectives` measures it" in asked.stdout, asked.stdout + asked.stderr


def test_a_collective_that_the_library_lacks_is_unsupported_and_the_others_are_measured(tmp_path):
    done = ranks.run(2, "collectives", "--device", "cpu", "--case", "all_reduce,all_gather/bf16,fp32/bytes:4K", "--case", "all_reduce/fp64/bytes:4K/op:min,prod",
                     "--max-seconds", "0.001", "--out", tmp_path / "out")
    assert done.returncode == 3, done.stderr
    result = ranks.load(tmp_path / "out")
    [lacking] = result["unmeasured"]
    assert lacking["roofmark"]["status"] == "unsupported" and "has no all_reduce by sum of bf16" in lacking["roofmark"]["reason"]
    measured = {entry["name"].rsplit("/bytes:", 1)[0] for entry in result["benchmarks"]}
    assert {"all_reduce/fp32", "all_reduce/fp64", "all_gather/bf16", "all_gather/fp32"} <= measured, measured
    assert {entry["roofmark"]["message"]["reduction"] for entry in result["benchmarks"] if "/fp64/" in entry["name"]} == {"min", "prod"}


def test_a_run_says_first_how_many_ranks_there_are_and_who_they_are(clean):
    lines = clean[0].stdout.splitlines()
    assert lines[0] == "4 ranks on 1 host"
    assert any(line.endswith("small integers as data, seed 1") for line in lines)
    [heading] = [number for number, line in enumerate(lines) if line.split()[:3] == ["rank", "host", "local"]]
    assert heading < 4  # behind what all ranks share
    for rank in range(4):
        assert lines[heading + 1 + rank].split()[:3] == [str(rank), HOST, str(rank)]


def test_one_rank_alone_has_no_bandwidth_and_is_told_how_to_start_more(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(1, *SMALL, "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 rank: no data crosses a link; start more ranks with mpirun -np N")
    assert "busbw" not in done.stdout and "B/s" not in done.stdout
    result = ranks.load(out)
    assert not result["communication"]["fits"] and "one rank has no link" in result["verdict"]["headline"]


def test_a_team_says_its_scope_its_health_and_who_is_slow(clean):
    done, result, out = clean
    cases = len({entry["name"] for entry in result["benchmarks"]})
    assert result["scope"]["cases"] == cases < result["scope"]["suite_cases"]
    assert result["scope"]["text"].startswith(f"A selection of the quick suite: {cases} of ")
    assert result["health"] and not any("rank" in row for row in result["health"])  # one host
    assert "this run did not check for slow ranks" in result["verdict"]["headline"] and "ended" not in result
    lines = done.stdout.splitlines()
    assert lines[-1] == str(out / "result.json")
    verdict = max(at for at, line in enumerate(lines) if line.startswith(result["verdict"]["level"] + ": "))
    assert not any(line.startswith(("error: ", "warning: ", "note: ")) for line in lines[verdict:]), "the verdict ends what is said"


def test_other_programs_are_a_finding_of_a_team_and_its_own_ranks_are_none(tmp_path):
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as other:
        try:
            done = ranks.run(2, *SMALL, "--out", tmp_path / "out")
        finally:
            other.kill()
    assert done.returncode == 0, done.stderr
    [found] = [finding for finding in ranks.load(tmp_path / "out")["findings"] if finding["kind"] == "foreign_process"]
    assert 0.3 < found["size"] < os.cpu_count() and "other programs used" in found["brief"]


def test_ranks_that_share_a_core_are_a_finding(tmp_path):
    number = len(os.sched_getaffinity(0)) + 1
    if number > 5:
        pytest.skip("too many cores to start a rank more")
    done = ranks.run(number, *SMALL, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    [found] = [finding for finding in ranks.load(tmp_path / "out")["findings"] if finding["kind"] == "shared_cores"]
    assert "ranks share" in found["text"] and found["text"].split(":")[0] in done.stdout


def test_a_file_gets_no_colours_from_the_terminal_that_a_launcher_gives(clean):
    assert "\x1b" not in clean[0].stdout


def test_every_line_on_stderr_says_whose_it_is(clean):
    lines = clean[0].stderr.splitlines()
    assert len(lines) == CASES and all(line.startswith("roofmark-mpi: [") for line in lines), clean[0].stderr


def test_a_run_fills_its_file(clean):
    result = clean[1]
    assert result["complete"] and not result["interrupted"] and result["labels"] == {"site": "lab 3"}
    assert not result["unmeasured"] and len(result["benchmarks"]) == CASES
    assert [(member["rank"], member["host"], member["local_rank"]) for member in result["team"]] == [
        (rank, HOST, rank) for rank in range(4)
    ]
    for entry in result["benchmarks"]:
        measured = entry["roofmark"]["measurement"]
        assert len(measured["ranks"]) == 4 and all(measured["ranks"])
        slowest = max(times["maximum"] for times in measured["ranks"])
        assert slowest == pytest.approx(max(measured["samples"]["seconds"])), entry["name"]
    [fit] = [fit for fit in result["communication"]["fits"] if fit["series"].startswith("all_reduce/")]
    assert fit["points"] == 2


@pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")
def test_the_journal_of_a_team_gives_the_same_file(clean, tmp_path):
    shutil.copy(clean[2] / "result.jsonl", tmp_path)
    subprocess.run([ROOFMARK, "recover", tmp_path], check=True, capture_output=True)
    assert ranks.load(tmp_path) == clean[1]


def test_the_suite_of_one_device_runs_on_every_rank_at_once(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(2, "run", "--device", "cpu", "--suite", "quick", "--filter", "^stream/triad/fp64/bytes:[0-9]{5,7}/", "--max-seconds", "0.005",
                     "--memory-fraction", "0.004", "--out", out)
    assert done.returncode == 0, done.stderr
    result = ranks.load(out)
    assert done.stdout.startswith("2 ranks on 1 host\n") and len(result["team"]) == 2
    assert all(entry["roofmark"]["status"] == "unsupported" for entry in result["unmeasured"])
    assert any(entry["name"].startswith("stream/triad/") for entry in result["benchmarks"])
    for entry in result["benchmarks"]:
        assert len(entry["roofmark"]["measurement"]["ranks"]) == 2
    fingerprints = [entry["roofmark"]["fingerprint"] for entry in result["benchmarks"] if "fingerprint" in entry["roofmark"]]
    assert fingerprints and not any(fingerprint.get("differing_ranks") for fingerprint in fingerprints)


def test_info_and_list(clean):
    done = ranks.run(2, "info", "--device", "cpu")
    assert done.returncode == 0 and done.stdout.startswith("2 ranks on 1 host\ndevice cpu ") and "\nrank  host" in done.stdout
    done = ranks.run(4, "list", *SMALL[1:5], *SMALL[7:])
    assert "\033" not in done.stdout, "mpirun gives its ranks a terminal"
    listed = [line.split()[0] for line in done.stdout.splitlines() if "/impl:mpi" in line or line.startswith("ceilings/")]
    assert done.returncode == 0
    assert listed == list(dict.fromkeys(entry["name"] for entry in clean[1]["benchmarks"]))


def test_info_and_list_as_json(clean):
    done = ranks.run(2, "info", "--device", "cpu", "--json")
    told = json.loads(done.stdout)
    assert [(rank["rank"], rank["host"]) for rank in told["ranks"]] == [(0, HOST), (1, HOST)]
    assert told["findings"] == [], "of the hosts' network ports"
    done = ranks.run(4, "list", *SMALL[1:5], *SMALL[7:], "--json")
    assert [case["name"] for case in json.loads(done.stdout)] == list(dict.fromkeys(entry["name"] for entry in clean[1]["benchmarks"]))


# From the first on, or only once it was verified and has been timed.
@pytest.mark.parametrize("first", [1, 5])
def test_a_wrong_element_is_named_and_its_row_has_no_bandwidth(tmp_path, first):
    out, name = tmp_path / "out", BROKEN.format(2)
    done = ranks.run(2, *SMALL, "--out", out, wrapper=fault(rank=1, do="corrupt", index=77, **{"from": first}))
    assert done.returncode == 1, done.stderr
    result = ranks.load(out)
    wrong = others_of(result, "wrong")
    assert list(wrong) == [name] and len(result["benchmarks"]) == CASES - 1 and result["complete"]
    assert re.search(rf"rank 1 \({HOST}\): wrong result: .*\(1 of 256 elements are wrong; "
                     r"element 77 of its output is \S+, expected \S+\)", wrong[name]["reason"])
    assert "measurement" not in wrong[name] and "placement" not in wrong[name]
    row = next(line.split() for line in done.stdout.splitlines() if line.startswith("1024 "))
    assert row[:6] == ["1024", "256", "-", "-", "-", "1"]
    assert sum(line.startswith(f"roofmark-mpi: wrong {name}: ") for line in said(done)) == 1, done.stderr


def test_what_fails_on_one_rank_fails_on_all_with_its_reason(tmp_path):
    out, name = tmp_path / "out", BROKEN.format(2)
    done = ranks.run(2, *SMALL, "--out", out, wrapper=fault(rank=1, do="fail"))
    assert done.returncode == 3, done.stderr
    result = ranks.load(out)
    failed = others_of(result, "failed")
    assert list(failed) == [name] and len(result["benchmarks"]) == CASES - 1 and result["complete"]
    assert f"rank 1 ({HOST}): " in failed[name]["reason"] and OTHER.search(failed[name]["reason"])
    assert sum(line.startswith(f"roofmark-mpi: failed {name}: ") for line in said(done)) == 1, done.stderr


# In the first case, by a call of the team's own.
def test_a_rank_that_leaves_the_team_by_an_error_says_so_itself(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(2, *SMALL, "--out", out, wrapper=fault(rank=1, do="fail", count=1, **{"from": 40}))
    assert done.returncode not in (0, 1, 2, 130), done.stderr
    assert re.search(rf"^roofmark-mpi: rank 1 \({HOST}\): .*({OTHER.pattern})", done.stderr, re.M), done.stderr
    nobody_left(out)
    result = ranks.load(out)
    assert not result["complete"]
    assert [record["reason"] for record in others_of(result, "failed").values()] == [f"rank 1 ({HOST}) failed"]


# Before the ranks have a channel: inside of MPI_Init, or in one of their first agreements. A start has 10 s at least.
@pytest.mark.parametrize("words", [{"call": "MPI_Init_thread", "count": 0}, *({"count": 1, "from": call} for call in (1, 3, 5))],
                         ids=lambda words: words.get("call", f"agreement {words.get('from')}"))
def test_ranks_that_wait_for_one_that_does_not_start_say_so(tmp_path, words):
    out = tmp_path / "out"
    done = ranks.finish(ranks.start(3, *SMALL, "--out", out, "--timeout", "1", wrapper=fault(rank=1, do="stop", **words)), 100)
    assert done.returncode == 3, done.stderr
    begun = "call" not in words
    why = "MPI began with 3 ranks, and one of them does not answer" if begun else "MPI_Init does not return"
    for rank in (0, 2):
        assert f"roofmark-mpi: rank {rank} ({HOST}) has waited 10 s for all ranks to start: {why}\n" in done.stderr, done.stderr
    assert done.stdout.startswith("3 ranks on 1 host\n") == begun
    nobody_left(out)


# Before anything is measured: the ranks have met and open their devices.
def test_a_rank_that_stops_at_the_start_is_named(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(3, *SMALL, "--out", out, "--timeout", "2", wrapper=fault(rank=1, do="stop", count=1, **{"from": 8}))
    assert done.returncode == 3, done.stderr
    assert f"rank 1 ({HOST}) does not answer" in done.stderr and "in opening the devices" in done.stderr, done.stderr
    nobody_left(out)


def assert_stood(done, out, name, reason):
    """The case failed for this reason, what came before it is in the file, and what comes after it was not run."""
    assert done.returncode == 3, done.stderr
    result = ranks.load(out)
    assert not result["complete"] and not result["interrupted"] and "finished_utc" in result
    assert len(result["benchmarks"]) == LINKS + 1 and len(result["unmeasured"]) == CASES - LINKS - 1
    assert {name: record["reason"] for name, record in others_of(result, "failed").items()} == {name: reason}
    assert {record["reason"] for record in others_of(result, "not_run").values()} == {f"the run ended in {name}"}
    assert result["ended"] == {"reason": reason, "case": name} and result["verdict"]["level"] == "bad"
    assert result["verdict"]["headline"].startswith(f"The run was cut off in {name}: {reason}; ")
    nobody_left(out)


def test_a_rank_that_is_stopped_is_named_and_each_that_waits_says_in_what(tmp_path):
    out, name = tmp_path / "out", BROKEN.format(3)
    done = ranks.run(3, *SMALL, "--out", out, "--timeout", "4", wrapper=fault(rank=1, do="stop"))
    for rank in (0, 2):
        assert re.search(rf"^roofmark-mpi: rank {rank} \({HOST}\) has waited for \d\S* s in {re.escape(name)} ", done.stderr, re.M), done.stderr
    assert_stood(done, out, name, f"no progress for 4 s: rank 1 ({HOST}) does not answer: stopped, or the host or network is down")


def test_a_late_rank_is_one_that_never_arrived(tmp_path):
    out, name = tmp_path / "out", BROKEN.format(3)
    done = ranks.run(3, *SMALL, "--out", out, "--timeout", "4", wrapper=fault(rank=2, do="late", seconds=600))
    for rank in (0, 1):
        assert re.search(rf"^roofmark-mpi: rank {rank} \({HOST}\) has waited for \d\S* s in {re.escape(name)} ", done.stderr, re.M), done.stderr
    assert f"rank 2 ({HOST}) has not arrived where the others wait: " in done.stderr
    assert_stood(done, out, name, f"no progress for 4 s: rank 2 ({HOST}) never arrived")


def test_the_first_rank_stopped_does_not_keep_the_others(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(2, *SMALL, "--out", out, "--timeout", "4", wrapper=fault(rank=0, do="stop"))
    assert done.returncode == 3, done.stderr
    assert f"rank 1 ({HOST}) leaves: rank 0 ({HOST}) does not answer: stopped" in done.stderr
    assert ranks.load(out)["benchmarks"]
    nobody_left(out)


# The timeout is as it comes: nobody waits for it.
@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_rank_leaves_nobody_waiting(tmp_path, killed):
    out = tmp_path / "out"
    done = ranks.finish(ranks.start(3, *SMALL, "--out", out, wrapper=fault(rank=killed, do="kill")), 100)
    assert done.returncode not in (0, 1, 2, 130), done.stderr
    nobody_left(out)
    # MPICH's launcher ends all at once and says itself which process on which host was the first.
    named = not ranks.launcher_is_hydra()
    assert not named or f"rank {killed} ({HOST}) ended unexpectedly" in done.stderr
    # With the way back, where rank 0 was the one that writes.
    assert not named or killed == 1 or f"; `roofmark recover {out}` rebuilds result.json from the journal" in done.stderr
    if killed == 0 or not named:
        # Nobody completed the file; the journal has what was measured.
        assert subprocess.run([ROOFMARK, "recover", out], check=False, capture_output=True).returncode == 3
    result = ranks.load(out)
    assert len(result["benchmarks"]) == LINKS + 1 and not result["complete"]
    assert result["ended"]["case"] == BROKEN.format(3)
    assert result["verdict"]["headline"].startswith(f"The run was cut off in {BROKEN.format(3)}: ")
    if killed == 1 and named:
        assert [record["reason"] for record in others_of(result, "failed").values()] == [f"rank 1 ({HOST}) ended unexpectedly"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("to", ["the launcher", "a rank"])
def test_a_signal_ends_the_team_and_completes_the_file(tmp_path, number, to):
    out = tmp_path / "out"
    process = ranks.start(2, "collectives", "--device", "cpu", "--suite", "full", "--out", out)
    ranks.wait_until(lambda: (out / "result.json").exists())
    os.kill(process.pid if to == "the launcher" else ranks.of_rank(out, 1), number)
    done = ranks.finish(process, 60)
    # The launcher has a status of its own; MPICH's may be 0.
    assert done.returncode == 130 if to == "a rank" else done.returncode != 0 or ranks.launcher_is_hydra(), done.stderr
    result = ranks.load(out)
    assert result["interrupted"] and not result["complete"] and result["benchmarks"]
    assert result["ended"]["reason"] == "interrupted"
    assert {record["reason"] for record in others_of(result, "not_run").values()} == {"interrupted"}
    nobody_left(out)


def is_stopped(pid):
    return pid is not None and Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


# Nobody waits for the timeout of 120 s; a scheduler kills 30 s after its SIGTERM, mpirun a second after its own.
@pytest.mark.parametrize("number, to, broken", [
    (signal.SIGTERM, "all ranks", {"do": "stop"}),
    (signal.SIGINT, "a rank", {"do": "stop"}),
    (signal.SIGTERM, "the launcher", {"do": "late", "seconds": 600}),
], ids=["all ranks", "a rank", "the launcher"])
def test_a_signal_ends_a_hang_and_completes_the_file(tmp_path, number, to, broken):
    out, name = tmp_path / "out", BROKEN.format(3)
    process = ranks.start(3, *SMALL, "--out", out, wrapper=fault(rank=1, **broken))
    if broken["do"] == "stop":
        ranks.wait_until(lambda: is_stopped(ranks.of_rank(out, 1)))
    else:
        journal = out / "result.jsonl"
        ranks.wait_until(lambda: journal.exists() and f'{{"begun":"{name}"}}' in journal.read_text())
        time.sleep(6)
    pids = {"all ranks": [ranks.of_rank(out, rank) for rank in range(3)], "a rank": [ranks.of_rank(out, 2)], "the launcher": [process.pid]}
    for pid in pids[to]:
        os.kill(pid, number)
    done = ranks.finish(process, 60)
    assert done.returncode == 130 if to != "the launcher" else done.returncode != 0 or ranks.launcher_is_hydra(), done.stderr
    for rank in (0, 2):
        assert re.search(rf"^roofmark-mpi: rank {rank} \({HOST}\) has waited for \d\S* s in {re.escape(name)} ", done.stderr, re.M), done.stderr
    reason = others_of(ranks.load(out), "failed")[name]["reason"]
    guilty = {"stop": "does not answer: stopped, or the host or network is down", "late": "never arrived"}[broken["do"]]
    assert re.fullmatch(rf"interrupted while no rank made progress, for \d+ s: rank 1 \({HOST}\) {guilty}", reason), reason
    result = ranks.load(out)
    assert result["interrupted"] and not result["complete"] and "finished_utc" in result
    assert result["ended"] == {"reason": reason, "case": name}
    assert len(result["benchmarks"]) == LINKS + 1
    nobody_left(out)


def other_version(folder):
    """A copy of the program that says that it was built from another commit."""
    version = subprocess.run([ranks.PROGRAM, "--version"], capture_output=True, text=True, check=True,
                             env=ranks.ENVIRONMENT).stdout
    commit = re.search(r"\((\w+)", version).group(1).encode()
    changed = commit[:-1] + (b"0" if commit[-1:] != b"0" else b"1")
    copy = folder / "other"
    copy.write_bytes(Path(ranks.PROGRAM).read_bytes().replace(commit + b"\0", changed + b"\0"))
    copy.chmod(copy.stat().st_mode | stat.S_IXUSR)
    return copy, commit.decode(), changed.decode()


def test_another_version_on_a_rank_is_named(tmp_path):
    copy, commit, changed = other_version(tmp_path)
    out = tmp_path / "out"
    done = ranks.run(1, *SMALL, "--out", out, ":", "-np", 1, copy, *SMALL, "--out", out)
    assert done.returncode == 3, done.stderr
    [line] = said(done)
    assert re.search(rf"roofmark differ: rank 0 \({HOST}\) has \S+ \S+ {commit}.*, rank 1 \({HOST}\) has \S+ \S+ {changed}", line)
    assert not out.exists()


def test_a_rank_that_cannot_start_is_named_and_all_end(tmp_path):
    out = tmp_path / "out"
    # It sees no GPU; without any the other one cannot start either.
    gpu = [word if word != "cpu" else "cuda" for word in SMALL]
    done = ranks.run(1, *gpu, "--out", out, ":", "-np", 1, "env", "CUDA_VISIBLE_DEVICES=", ranks.PROGRAM, *gpu, "--out", out)
    assert done.returncode == 3, done.stderr
    [line] = said(done)
    assert re.match(rf"roofmark-mpi: (rank 1 \({HOST}\): .*CUDA|.*built without CUDA|.*driver)", line), line
    assert not out.exists()
    nobody_left(out)


def test_a_folder_that_cannot_be_made_ends_all(tmp_path):
    (tmp_path / "file").touch()
    done = ranks.run(2, *SMALL, "--out", tmp_path / "file" / "out")
    assert done.returncode == 3
    [line] = said(done)
    assert f"rank 0 ({HOST}): cannot create {tmp_path}/file/out" in line


def test_other_arguments_on_a_rank_are_refused_and_named():
    done = ranks.run(1, *SMALL, ":", "-np", 1, ranks.PROGRAM, *SMALL, "--seed", "7")
    assert done.returncode == 2, done.stderr
    [line] = said(done)
    assert line.startswith("roofmark-mpi: all ranks need the same arguments: ") and f"rank 1 ({HOST})" in line, line
    assert line.endswith("--seed 7'; see `roofmark-mpi collectives --help`")


def test_a_file_of_cases_that_one_rank_lacks_is_named(tmp_path):
    (tmp_path / "cases.txt").write_text("all_reduce/fp32/bytes:1K\n")
    done = ranks.run(1, "list", "--case", f"@{tmp_path}/cases.txt", ":", "-np", 1, ranks.PROGRAM, "list", "--case", f"@{tmp_path}/none.txt")
    assert done.returncode == 2, done.stderr
    [line] = said(done)
    assert line.startswith(f"roofmark-mpi: rank 1 ({HOST}): --case @{tmp_path}/none.txt: it cannot be read"), line


@pytest.mark.parametrize("words", [["--data", "zeros"], ["--cache", "cold"]])
def test_what_collectives_have_no_choice_of_is_bad_usage(words):
    assert ranks.run(1, *SMALL, *words).returncode == 2


def test_collectives_that_last_have_rates_of_each_rank_and_bits_that_stay_right(tmp_path):
    out, shape = tmp_path / "out", "fp32/bytes:4194304/ranks:2"
    # Once verified, the all-reduce goes wrong on rank 1.
    done = ranks.run(2, "collectives", "--device", "cpu", "--suite", "sustained", "--seconds", "2", "--out", out,
                     wrapper=fault(rank=1, do="corrupt", index=0, count=1048576, **{"from": 12}))
    assert done.returncode == 1, done.stderr
    result = ranks.load(out)
    [good] = [entry for entry in result["benchmarks"] if entry["name"].startswith("sustained/")]
    assert good["name"] == f"sustained/all_to_all/{shape}/place:out/impl:mpi"
    measured = good["roofmark"]
    assert measured["sustained"]["launches_checked"] > 5
    assert [rank["sustained"]["settled_of_burst"] > 0 for rank in measured["measurement"]["ranks"]] == [True, True]
    [(name, wrong)] = others_of(result, "wrong").items()
    assert name == f"sustained/all_reduce/{shape}/op:sum/place:out/impl:mpi"
    assert re.search(rf"rank 1 \({HOST}\).*wrong result: ", wrong["reason"]), wrong["reason"]
    assert "rate of a sustained load" in done.stdout and "busbw" in done.stdout


@pytest.mark.skipif(not can_unshare(), reason="no mount namespaces")
def test_machines_of_one_name_are_two(tmp_path):
    """Each rank reads a boot_id of its own, as on two machines that were installed from one image."""
    own_boot = ["unshare", "--mount", "sh", "-c", f"""
        rank=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; echo boot-$rank >{tmp_path}/boot-$rank
        mount --bind {tmp_path}/boot-$rank /proc/sys/kernel/random/boot_id && exec "$@" """, "--"]
    done = ranks.run(2, *SMALL, "--out", tmp_path / "out", wrapper=own_boot)
    assert done.returncode == 0, done.stderr
    result = ranks.load(tmp_path / "out")
    assert [(member["host"], member["local_rank"]) for member in result["team"]] == [(f"{HOST}#1", 0), (f"{HOST}#2", 0)]
    assert {ceiling["resource"] for ceiling in result["ceilings"]} == {"network"}
    assert [line for line in said(done) if "boot_id" in line] == [
        f"roofmark-mpi: machines with the same host name (their boot_ids differ) are numbered: {HOST}#1, {HOST}#2"]


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_another_count_than_the_launchers_is_refused(tmp_path, variable):
    if ranks.launcher_is_hydra() and variable != "OMPI_COMM_WORLD_SIZE":
        pytest.skip("MPICH itself goes by PMI_SIZE")
    out = tmp_path / "out"
    done = ranks.run(2, *SMALL, "--out", out, wrapper=["env", "--unset=OMPI_COMM_WORLD_SIZE", f"{variable}=4"])
    assert done.returncode == 2
    [line] = said(done)
    assert line.startswith(f"roofmark-mpi: MPI reports 2 ranks, the launcher 4 ({variable}): ")
    assert not out.exists()


def test_a_program_that_believes_to_be_alone_is_refused(tmp_path):
    out = tmp_path / "out"
    done = subprocess.run([ranks.PROGRAM, *SMALL, "--out", out], capture_output=True, text=True, timeout=60,
                          env={**ranks.ENVIRONMENT, "PMI_SIZE": "2", "PMI_RANK": "1"})
    assert done.returncode == 2
    assert said(done)[0].startswith("roofmark-mpi: MPI reports 1 rank, the launcher 2 (PMI_SIZE): ")
    assert not out.exists()


# The first is of the allocation; the second is inherited by an mpirun that a step of Slurm's started.
@pytest.mark.parametrize("variable", ["SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"])
def test_the_count_of_what_is_around_the_launcher_is_not_its_own(variable):
    done = ranks.run(2, "info", "--device", "cpu", wrapper=["env", f"{variable}=4"])
    assert done.returncode == 0 and done.stdout.startswith("2 ranks on 1 host\n")


def test_another_count_than_expected_is_refused(tmp_path):
    out = tmp_path / "out"
    done = ranks.run(3, *SMALL, "--out", out, "--expect-ranks", 4)
    assert (done.returncode, said(done)) == (2, ["roofmark-mpi: --expect-ranks 4, but 3 ranks started; see `roofmark-mpi collectives --help`"])
    assert not out.exists()
    done = ranks.run(2, "info", "--device", "cpu", "--expect-ranks", 2)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["measure"],
        ["collectives", "--suite", "huge"],
        ["collectives", "--outt", "x"],
        ["collectives", "--device", "cpu", "--exclude", "."],
        ["collectives", "--device", "cuda:0"],
        ["collectives", "--expect-ranks", "0"],
        ["collectives", "--timeout", "soon"],
        ["collectives", "--device", "cpu", "--filter", "["],
        ["collectives", "--device", "cpu", "--filter", "^nothing$"],
        ["list", "--device", "cpu", "--filter", "["],
        ["info", "--device", "tpu"],
        ["run", "--data", "ones"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_said_once_and_not_by_every_rank(arguments):
    done = ranks.run(3, *arguments)
    assert done.returncode == 2, done.stderr
    assert len(said(done)) == 1, done.stderr


def test_a_lasting_load_is_checked_where_rank_0_has_no_output_and_needs_a_link(tmp_path):
    lasting = ["collectives", "--device", "cpu", "--suite", "sustained", "--seconds", "1"]
    done = ranks.run(2, *lasting, "--case", "reduce/fp32/bytes:4K/root:1", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    [load] = [entry["roofmark"] for entry in ranks.load(tmp_path / "out")["benchmarks"] if entry["name"].startswith("sustained/")]
    assert load["sustained"]["launches_checked"] > 0 and load["measurement"]["ranks"][1]["sustained"]["launches_checked"] > 0
    refused = ranks.run(2, *lasting, "--case", "all_reduce/fp32/bytes:4K/ranks:1")
    assert refused.returncode == 2 and "it is no lasting load" in refused.stderr
