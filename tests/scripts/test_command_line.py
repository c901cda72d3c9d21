# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The program as its users call it: exit statuses, one clear line on bad input, files that survive bad luck."""
import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOFMARK = os.environ.get("ROOFMARK")
SCHEMA = Path(__file__).parents[2] / "results" / "schema.json"
# One small case beside the ceilings, which are always measured. DRAM's take gigabytes on a machine of large caches: they do not fit.
CASE = "^stream/triad/fp64/bytes:[0-9]{5,7}/"
SMALL = ["run", "--device", "cpu", "--suite", "quick", "--filter", CASE, "--max-seconds", "0.005", "--memory-fraction", "0.004"]

pytestmark = pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")


def roofmark(*arguments, **options):
    return subprocess.run([ROOFMARK, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


def assert_one_line(done, status):
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("roofmark: ") and done.stderr.count("\n") == 1, done.stderr


def validate(result):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(result)


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("small") / "out"
    done = roofmark(*SMALL, "--out", out, "--label", "site=lab 3")
    assert done.returncode == 0, done.stderr
    return done, json.loads((out / "result.json").read_text()), out


@pytest.mark.parametrize(
    "arguments",
    [
        ["measure"],
        ["run", "--fast"],
        ["run", "--suite", "huge"],
        ["run", "--suite", "1"],
        ["run", "--device", "tpu"],
        ["run", "--device", "cuda:x"],
        ["run", "--data", "ones"],
        ["run", "--cache", "tepid"],
        ["run", "--memory-fraction", "0.96"],
        ["run", "--memory-fraction", "-0.1"],
        ["run", "--memory-fraction", "nan"],
        ["run", "--max-seconds", "nan"],
        ["run", "--max-seconds", "0"],
        ["run", "--seconds", "60"],
        ["run", "--suite", "quick", "--seconds", "60"],
        ["run", "--suite", "sustained", "--seconds", "0"],
        ["run", "--suite", "sustained", "--seconds", "nan"],
        ["run", "--timeout", "soon"],
        ["run", "--seed", "-1"],
        ["run", "--label", "site"],
        ["run", "--device", "cpu", "--filter", "["],
        ["run", "--device", "cpu", "--filter", "^nothing$"],
        ["run", "--benchmark_format=xml"],
        ["run", "--filter", "["],
        ["list", "--filter", "("],
        ["list", "--device", "cpu", "--filter", "("],
        ["list", "--device", "all"],
        ["info", "--device", "all"],
        ["run", "--device", "all", "--benchmark_list_tests"],
        ["recover"],
        ["recover", "/nonexistent"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line_and_status_2(arguments, tmp_path):
    done = roofmark(*arguments, cwd=tmp_path)
    assert_one_line(done, 2)
    assert list(tmp_path.iterdir()) == []


def test_no_command_is_bad_usage():
    assert_one_line(roofmark(), 2)


@pytest.mark.parametrize("arguments, said", [
    (["measure"], "'measure' is not one of run, list, info, recover"),
    (["run", "--suite", "huge"], "--suite: 'huge' is not one of baseline, full, quick, smoke, sustained"),
    (["run", "--timeout", "0"], "--timeout: '0' is not a number from 1 to 86400"),
    (["run", "--seed", "-1"], "--seed: '-1' is not a whole number from 0 to 2^64 - 1"),
    (["run", "--seed", str(2**64)], "is not a whole number"),
    (["list", "--device", "all"], "auto, cpu or cuda:N"),
    (["info", "--device", "all"], "auto, cpu or cuda:N"),
])
def test_bad_usage_names_what_there_is(arguments, said):
    assert said in roofmark(*arguments).stderr


@pytest.mark.parametrize("flag", ["min_time=1", "repetitions=3", "perf_counters=X", "unknown"])
def test_other_flags_of_google_benchmark_name_those_that_are_taken(flag):
    done = roofmark("run", f"--benchmark_{flag}")
    assert_one_line(done, 2)
    assert "filter, list_tests, format, out, out_format and color" in done.stderr


def test_a_gpu_that_is_not_there_is_an_error_with_the_way_out():
    done = roofmark("run", "--device", "cuda:0", "--filter", "^transpose/", "--out", "/nonexistent/out")
    if "No such file" in done.stderr or "Permission" in done.stderr or "Read-only" in done.stderr:
        pytest.skip("there is a GPU here")
    assert_one_line(done, 3)
    assert "GPU" in done.stderr


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("mine")
    assert_one_line(roofmark(*SMALL, "--out", tmp_path / "file" / "out"), 3)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("path", ["missing/out.json", ".", "/dev/null"])
def test_a_file_for_google_benchmark_that_cannot_be_written_ends_the_run_at_once(path, tmp_path):
    assert_one_line(roofmark(*SMALL, "--out", "out", f"--benchmark_out={path}", cwd=tmp_path), 3)
    assert list((tmp_path / "out").iterdir()) == []


def test_sustained_measures_for_as_long_as_it_is_told_and_checks_every_launch(tmp_path):
    # The triad takes a share of the memory that is free, which other tests change.
    done = roofmark("run", "--device", "cpu", "--suite", "sustained", "--seconds", 4, "--filter", "/gemm/", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    validate(result)
    records = [entry["roofmark"] for entry in result["benchmarks"]]
    assert [record["type"] for record in records] == ["fp32", "fp64"]
    for record in records:
        assert record["family"] == "sustained"
        measured, rates = record["measurement"], record["sustained"]
        assert 2 <= measured["blocks"][-1]["end"] - measured["blocks"][0]["start"]
        assert rates["launches_checked"] == len(measured["samples"]["seconds"]) * measured["launches_per_sample"] > 0
        assert 0 < rates["share_checked"] <= 1
        assert rates["settled_of_burst"] == pytest.approx(rates["settled_rate"] / rates["burst_rate"])
    assert result["suite"] == "sustained" and "settled/burst" in done.stdout


def test_what_the_smoke_suite_has_no_time_for_is_left_out_and_said(tmp_path):
    out = tmp_path / "out"
    with subprocess.Popen([ROOFMARK, "run", "--device", "cpu", "--suite", "smoke", "--max-seconds", "30", "--out", out, "--quiet"]) as run:
        while not (out / "result.jsonl").exists():
            time.sleep(0.01)
        run.send_signal(signal.SIGSTOP)
        time.sleep(10)
        run.send_signal(signal.SIGCONT)
        assert run.wait(timeout=120) == 3
    result = json.loads((out / "result.json").read_text())
    validate(result)
    names = [entry["name"] for entry in result["benchmarks"] + result["unmeasured"]]
    assert len(names) == len(set(names)), "the ceilings are measured once"
    assert {name.split("/")[0] for name in names} == {"ceilings", "stream", "gemm", "reductions"}
    reasons = {entry["roofmark"]["reason"] for entry in result["unmeasured"]}
    assert reasons == {"left out: the smoke suite's 10 s were over"}


def test_an_older_result_is_not_overwritten(tmp_path):
    (tmp_path / "result.json").write_text("mine")
    assert_one_line(roofmark(*SMALL, "--out", tmp_path), 2)
    assert (tmp_path / "result.json").read_text() == "mine"


def test_runs_that_start_within_a_second_get_folders_of_their_own(tmp_path):
    now = time.time()
    for second in range(60):
        (tmp_path / "roofmark-results" / time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime(now + second))).mkdir(parents=True)
    done = roofmark(*SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.parent.name[-2:] for path in tmp_path.glob("roofmark-results/*/result.json")] == ["-2"]


def test_a_disk_that_fills(tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    done = roofmark(*SMALL, "--out", tmp_path / "out", "--quiet", preexec_fn=limit)
    assert_one_line(done, 3)
    assert "cannot write" in done.stderr


def test_a_whole_run(small_run):
    done, result, out = small_run
    validate(result)
    assert result["complete"] and not result["interrupted"]
    assert result["labels"] == {"site": "lab 3"}
    names = [entry["name"] for entry in result["benchmarks"]]
    assert any(name.startswith("stream/triad/") for name in names)
    # The ceilings come first and last, whatever the filter.
    assert names[0].startswith("ceilings/") and names[-1].startswith("ceilings/")
    assert any(ceiling.get("empirical") for ceiling in result["ceilings"])
    assert sum(value for key, value in result["wall_time"].items() if key != "total_seconds") == pytest.approx(
        result["wall_time"]["total_seconds"], rel=0.01)
    assert "triad" in done.stdout and "L2 cache" in done.stdout and "\033" not in done.stdout
    assert str(out / "result.json") in done.stdout


def test_recovering_a_whole_run_changes_nothing(small_run):
    _, result, out = small_run
    done = roofmark("recover", out)
    assert done.returncode == 0 and ", complete" in done.stdout
    assert json.loads((out / "result.json").read_text()) == result


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system does not say how busy its CPUs are")
def test_a_busy_cpu_is_a_finding_that_recovering_keeps(tmp_path):
    out = tmp_path / "out"
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as other:
        try:
            # On more cores a single busy one is within what is allowed.
            done = roofmark(*SMALL, "--out", out, env=os.environ | {"OMP_NUM_THREADS": "2"})
        finally:
            other.kill()
    assert done.returncode == 0, done.stderr
    found = [finding["text"] for finding in json.loads((out / "result.json").read_text())["findings"]
             if finding["kind"] == "foreign_process"]
    assert len(found) == 1 and "cores busy on average" in found[0]
    assert found[0] in done.stdout
    (out / "result.json").unlink()
    assert roofmark("recover", out).returncode == 0
    assert found[0] in (out / "result.json").read_text()


@pytest.mark.parametrize("damage, said", [
    (lambda lines: lines[:-1], "its last line is missing"),
    (lambda lines: [lines[0], lines[1][:-9], *lines[2:]], "1 lines cannot be read"),
    (lambda lines: lines[:1] + lines[2:], " records of "),
    (lambda lines: lines[:1], "its last line is missing"),
], ids=["no footer", "a torn line", "a record less", "the header alone"])
def test_a_journal_that_was_damaged_later_replaces_nothing(small_run, tmp_path, damage, said):
    _, result, out = small_run
    (tmp_path / "result.json").write_text(json.dumps(result))
    lines = damage((out / "result.jsonl").read_text().splitlines(keepends=True))
    (tmp_path / "result.jsonl").write_text("".join(lines))
    done = roofmark("recover", tmp_path)
    assert_one_line(done, 2)
    assert said in done.stderr
    assert json.loads((tmp_path / "result.json").read_text()) == result
    (tmp_path / "result.json").unlink()
    assert roofmark("recover", tmp_path).returncode == 0


def started(arguments, out):
    """The program, once it has finished a record or two."""
    process = subprocess.Popen([ROOFMARK, *arguments, "--out", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal = out / "result.jsonl"
    deadline = time.monotonic() + 120
    while not journal.exists() or journal.read_text().count("\n") < 3:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return process


def test_an_interrupt_leaves_a_complete_file(tmp_path):
    process = started(["run", "--device", "cpu", "--suite", "quick", "--memory-fraction", "0.004"], tmp_path / "out")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    validate(result)
    assert result["interrupted"] and not result["complete"] and result["benchmarks"]
    assert {entry["roofmark"]["reason"] for entry in result["unmeasured"] if entry["roofmark"]["status"] == "not_run"} == {
        "interrupted"}


def test_a_signal_that_comes_twice_within_a_second_is_one(tmp_path):
    process = started(["run", "--device", "cpu", "--suite", "quick", "--memory-fraction", "0.004"], tmp_path / "out")
    process.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads((tmp_path / "out" / "result.json").read_text())["interrupted"]


def test_a_killed_run_is_recovered(tmp_path):
    out = tmp_path / "out"
    process = started(["run", "--device", "cpu", "--suite", "quick", "--memory-fraction", "0.004"], out)
    process.kill()
    process.communicate(timeout=120)
    lines = (out / "result.jsonl").read_text().splitlines()
    (out / "result.json").unlink(missing_ok=True)
    done = roofmark("recover", out)
    assert done.returncode == 0 and "cut off" in done.stdout
    result = json.loads((out / "result.json").read_text())
    validate(result)
    assert not result["complete"]
    records = sum(line.startswith('{"record"') and line.endswith("}") for line in lines)
    assert len(result["benchmarks"]) + len(result["unmeasured"]) == records > 0


def test_what_exceeds_the_memory_is_unsupported_and_the_rest_is_measured(tmp_path):
    done = roofmark("run", "--device", "cpu", "--suite", "quick", "--filter", "^transpose/", "--max-seconds", "0.005",
                    "--memory-fraction", "0.001", "--out", tmp_path / "out", "--quiet")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    refused = {entry["name"]: entry["roofmark"] for entry in result["unmeasured"]}
    transpose = [entry for name, entry in refused.items() if name.startswith("transpose/")]
    assert transpose and all(entry["status"] == "unsupported" for entry in transpose)
    assert all("needs " in entry["reason"] and "--memory-fraction 0.001" in entry["reason"] for entry in transpose)
    assert result["benchmarks"] and result["complete"]


def test_google_benchmarks_own_outputs(tmp_path):
    done = roofmark(*SMALL, "--out", tmp_path / "out", "--benchmark_format=json", f"--benchmark_out={tmp_path / 'out.csv'}",
                    "--benchmark_out_format=csv")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["benchmarks"]
    assert "real_time" in (tmp_path / "out.csv").read_text()
    listed = roofmark("run", "--device", "cpu", "--benchmark_list_tests", "--benchmark_filter=^transpose/")
    assert listed.returncode == 0 and "transpose/" in listed.stdout and "stream/" not in listed.stdout


def test_quiet_prints_nothing(tmp_path):
    done = roofmark(*SMALL, "--quiet", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("header", [{}, {"ceilings": 5}, {"ceilings": [{"resource": "warp drive"}]}])
def test_a_journal_that_no_run_wrote_is_bad_input_and_loses_nothing(header, tmp_path):
    (tmp_path / "result.jsonl").write_text(json.dumps({"header": {"schema_version": 2} | header}) + "\n")
    (tmp_path / "result.json").write_text("mine")
    done = roofmark("recover", tmp_path)
    assert_one_line(done, 2)
    assert str(tmp_path / "result.jsonl") in done.stderr
    assert (tmp_path / "result.json").read_text() == "mine"


def test_list_and_info_as_json():
    cases = json.loads(roofmark("list", "--device", "cpu", "--suite", "full", "--json").stdout)
    names = [case["name"] for case in cases]
    assert len(names) == len(set(names)) and all(case["work"]["phases"] is not None for case in cases)
    info = json.loads(roofmark("info", "--device", "cpu", "--json").stdout)
    assert info["device"]["kind"] == "cpu" and info["build"]["version"]
    assert {"CPU governor", "CPU limit", "memory limit"} <= {one["what"] for one in info["health"]}
    assert "device" in roofmark("info", "--device", "cpu").stdout
