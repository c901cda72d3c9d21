# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# Longer than most files: one way to call the program, or one piece of bad luck, per test.
"""The program as its users call it: whole runs, exit statuses, files that survive bad luck."""
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import flat

ROOFMARK = os.environ.get("ROOFMARK")
SCHEMA = Path(__file__).parents[2] / "results" / "schema.json"
# One small case and the ceilings that it needs. DRAM's take gigabytes on a machine of large caches: they do not fit.
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


def test_a_gpu_that_is_not_there_is_an_error_with_the_way_out():
    done = roofmark("run", "--device", "cuda:0", "--filter", "^transpose/", "--out", "/nonexistent/out")
    if "No such file" in done.stderr or "Permission" in done.stderr or "Read-only" in done.stderr:
        pytest.skip("there is a GPU here")
    assert_one_line(done, 3)
    assert "GPU" in done.stderr


def test_the_cases_of_a_file_are_chosen_by_their_names(tmp_path):
    layers = tmp_path / "layers.txt"
    layers.write_text("# Llama\n\ngemm/fp32/m:64/n:1,8/k:32   # down\r\n  gemm/fp32/m:32/n:8/k:64\n")
    shown = json.loads(roofmark("list", "--device", "cpu", "--case", f"@{layers}", "--case=stream/triad/fp64/bytes:1K", "--json").stdout)
    assert [re.sub("/impl.*", "", case["name"]) for case in shown if not case["name"].startswith("ceilings/")] == [
        "gemm/fp32/m:64/n:1/k:32", "gemm/fp32/m:64/n:8/k:32", "gemm/fp32/m:32/n:8/k:64", "stream/triad/fp64/bytes:1024"]
    done = roofmark("run", "--device", "cpu", f"--case=@{layers}", "--max-seconds", "0.001", "--memory-fraction", "0.004", "--out", tmp_path / "out")
    arguments = json.loads((tmp_path / "out" / "result.json").read_text())["arguments"]
    assert arguments[4:8] == ["--case", "gemm/fp32/m:64/n:1,8/k:32", "--case", "gemm/fp32/m:32/n:8/k:64"], (arguments, done.stderr)


@pytest.mark.parametrize("text, why", [
    (None, "it cannot be read: No such file or directory"), ("# none\n", "it names no case"), ("", "it names no case"),
    ("\x7fELF\0\1", "it is not a text file"),
    ("# layers\ngemm/fp32/m:64/m:32\n", "line 2: the key 'm' stands twice")])
def test_a_file_without_cases_is_refused(tmp_path, text, why):
    path = tmp_path / "layers.txt"
    if text is not None:
        path.write_text(text)
    done = roofmark("list", "--device", "cpu", "--case", f"@{path}")
    assert_one_line(done, 2)
    assert f"--case @{path}: {why}; see `roofmark list --help`" in done.stderr
    assert "it is a folder" in roofmark("list", "--device", "cpu", "--case", f"@{tmp_path}").stderr


def test_show_prints_a_result_as_its_run_did(small_run):
    done, _, out = small_run
    shown = roofmark("show", out)
    assert shown.returncode == 0 and not shown.stderr
    assert done.stdout == shown.stdout + f"{out / 'result.json'}\n"
    for bad in (out / "none", out.parent / "none.json"):
        assert_one_line(roofmark("show", bad), 2)
    journal = out / "result.jsonl"
    done = roofmark("show", journal)
    assert_one_line(done, 2)
    assert f"{journal} is the journal of a run; its result is {out / 'result.json'}, " in done.stderr


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
        # Beside other tests hashing may need more than its 3 % of the time: launches then go unchecked, the first ones most likely.
        launches = len(measured["samples"]["seconds"]) * measured["launches_per_sample"]
        assert 0 < rates["launches_checked"] <= launches
        assert rates["launches_checked"] >= launches - 2 or measured["checking_share_of_time"] > 0.01
        assert 0 < rates["share_checked"] <= 1
        assert rates["settled_of_burst"] == pytest.approx(rates["settled_rate"] / rates["burst_rate"])
    assert result["suite"] == "sustained" and "settled/burst" in done.stdout


def test_a_decay_by_a_busy_neighbour_is_found_and_not_ascribed_to_the_clock(tmp_path):
    core = max(os.sched_getaffinity(0))

    def pinned():
        os.sched_setaffinity(0, {core})

    def measure(name, seconds):
        return subprocess.Popen([ROOFMARK, "run", "--device", "cpu", "--suite", "sustained", "--seconds", str(seconds), "--filter", "/gemm/fp32",
                                 "--quiet", "--out", tmp_path / name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pinned)

    begun = time.monotonic()
    assert measure("short", 1).wait(timeout=300) == 0
    before = time.monotonic() - begun - 1  # of the timing
    said = []
    for attempt in range(3):  # other tests may take the core from the first second on
        with measure(f"attempt{attempt}", 10) as run:
            time.sleep(before + 3)
            neighbours = [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=pinned) for _ in range(4)]
            try:
                assert run.wait(timeout=300) == 0
            finally:
                for neighbour in neighbours:
                    neighbour.kill()
                    neighbour.wait()
        result = json.loads((tmp_path / f"attempt{attempt}" / "result.json").read_text())
        rates = result["benchmarks"][0]["roofmark"]["sustained"]
        said.append(rates)
        decay = [finding for finding in result["findings"] if finding["kind"] == "decay"]
        if rates["settled_of_burst"] < 0.8 and decay:
            break
    else:
        raise AssertionError(said)
    # The frequency governor may lower the clock of a core that is busy; no machine's falls by half of that.
    assert rates.get("explained_by_clock", 0) < 0.5, rates
    if "settled_clock_hz" in rates:
        assert rates["rate_per_clock_ratio"] < 0.9 and any(finding["kind"] == "rate_per_clock" for finding in result["findings"])
    else:
        assert "the clock was not read at both times" in decay[0]["text"], decay


def test_what_the_smoke_suite_has_no_time_for_is_left_out_and_said(tmp_path):
    out = tmp_path / "out"
    with subprocess.Popen([ROOFMARK, "run", "--device", "cpu", "--suite", "smoke", "--max-seconds", "1", "--timeout", "60", "--out", out,
                           "--quiet"]) as run:
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
    assert reasons and all(reason.startswith("left out: ") and "the smoke suite" in reason for reason in reasons)


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


def test_a_library_that_ends_the_process_has_not_measured_wrong_results(tmp_path):
    # Google Benchmark ends it with status 1 if it cannot read of the caches.
    done = roofmark(*SMALL, "--out", tmp_path / "out", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5)))
    assert done.returncode == 3, done.stderr


def limited_to(size):
    """As a disk that is full from then on."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def test_a_disk_that_fills_costs_no_measurement(small_run, tmp_path):
    out, rescued = tmp_path / "out", tmp_path / "other disk"
    # Room for the header and a few results.
    lines = (small_run[2] / "result.jsonl").read_bytes().splitlines(keepends=True)
    done = roofmark(*SMALL, "--out", out, preexec_fn=limited_to(sum(map(len, lines[:6])) + 500))
    assert done.returncode == 3, done.stderr
    assert "triad" in done.stdout and "L2 cache" in done.stdout and "result.json" not in done.stdout
    first, last = [line for line in done.stderr.splitlines() if "cannot write" in line]
    assert first.endswith("the run continues and retries after each result")
    held = re.search(rf"the journal {re.escape(str(out))}/result.jsonl holds (\d+) of (\d+) cases: free disk space and run `roofmark recover {re.escape(str(out))}`", last)
    assert held and 0 < int(held[1]) < int(held[2]), last
    assert roofmark("recover", out, "--out", rescued).returncode == 3
    result = json.loads((rescued / "result.json").read_text())
    assert len({entry["name"] for entry in result["benchmarks"] + result["unmeasured"]}) == int(held[1])


def test_a_disk_that_is_full_at_the_start_ends_the_run_at_once(tmp_path):
    done = roofmark(*SMALL, "--out", tmp_path / "out", preexec_fn=limited_to(100))
    assert_one_line(done, 3)
    assert "cannot write" in done.stderr


def test_a_whole_run(small_run):
    done, result, out = small_run
    validate(result)
    assert result["complete"] and not result["interrupted"]
    assert result["labels"] == {"site": "lab 3"}
    names = [entry["name"] for entry in result["benchmarks"]]
    assert any(name.startswith("stream/triad/") for name in names)
    # The ceilings come first and last.
    assert names[0].startswith("ceilings/") and names[-1].startswith("ceilings/")
    assert any(ceiling.get("empirical") for ceiling in result["ceilings"])
    assert sum(value for key, value in result["wall_time"].items() if key not in ("total_seconds", "families")) == pytest.approx(
        result["wall_time"]["total_seconds"], rel=0.01)
    # What was measured first, how far to trust it last.
    cases = len(set(names) | {entry["name"] for entry in result["unmeasured"]})
    assert result["scope"]["cases"] == cases < result["scope"]["suite_cases"] and next(iter(result)) == "scope"
    assert flat(done.stdout).startswith(f"A selection of the quick suite: {cases} of {result['scope']['suite_cases']} cases (--filter '{CASE}', ")
    assert result["verdict"]["headline"] in flat(done.stdout.split("\n" + result["verdict"]["level"] + ": ")[1])
    told = json.loads(roofmark("info", "--device", "cpu", "--json").stdout)["health"]
    assert [row["what"] for row in result["health"]] == [row["what"] for row in told]
    assert "triad" in done.stdout and "L2 cache" in done.stdout and "\033" not in done.stdout
    assert str(out / "result.json") in done.stdout


def test_cases_of_any_size_by_name(tmp_path):
    out = tmp_path / "out"
    done = roofmark("run", "--device", "cpu", "--suite", "quick", "--max-seconds", "0.005", "--out", out,
                    "--case", "gemm/fp32/m=n=k:33,65/layout:tn,nn", "--case", "transpose/fp32/rows:3..7+4/columns:5")
    assert done.returncode == 0, done.stderr
    result = json.loads((out / "result.json").read_text())
    validate(result)
    cases = {entry["name"] for entry in result["benchmarks"] if not entry["name"].startswith("ceilings/")}
    assert cases == {f"gemm/fp32/m:{n}/n:{n}/k:{n}/impl:blas/layout:{layout}/algo:default/cache:cold" for n in (33, 65) for layout in ("tn", "nn")} | {
        f"transpose/fp32/rows:{rows}/columns:5/impl:tiled/cache:cold" for rows in (3, 7)}
    assert [comparison["name"] for comparison in result["comparisons"]] == ["tn against nn"] * 2
    ceilings = {entry["resource"] for entry in result["ceilings"] if entry.get("empirical")}
    assert {"fp32_fma", "dram"} <= ceilings and "fp64_fma" not in ceilings
    assert flat(done.stdout).startswith("6 cases chosen by name and ")
    assert "with the budget of the quick suite (--case 'gemm/fp32/m=n=k:33,65/layout:tn,nn' and 1 more, " in flat(done.stdout)
    assert result["scope"]["by_name"] and result["scope"]["weaker"][:2] == [
        "--case 'gemm/fp32/m=n=k:33,65/layout:tn,nn'", "--case 'transpose/fp32/rows:3..7+4/columns:5'"]
    assert roofmark("recover", out).returncode == 0 and json.loads((out / "result.json").read_text()) == result
    judged = roofmark("accept", out, "--profile", "cpu")
    assert judged.returncode == 1 and "not measured" in judged.stdout.lower()
    again = roofmark("list", "--device", "cpu", "--case", sorted(cases)[0], "--json")
    assert json.loads(again.stdout)[-1]["name"] == sorted(cases)[0]


def test_a_case_by_name_that_cannot_be_measured_has_not_passed_and_needs_no_ceiling(tmp_path):
    done = roofmark("run", "--device", "cpu", "--suite", "quick", "--max-seconds", "0.005", "--out", tmp_path / "out",
                    "--case", "transpose/fp32/rows:9/columns:5", "--case", "gemm/fp64/m=n=k:512K")
    assert done.returncode == 3 and "unsupported  gemm/fp64/m:524288/" in done.stdout
    assert "\nbad: " in done.stdout
    assert roofmark("recover", tmp_path / "out").returncode == 3 and roofmark("show", tmp_path / "out").returncode == 0
    result = json.loads((tmp_path / "out/result.json").read_text())
    assert {ceiling["resource"] for ceiling in result["ceilings"] if ceiling.get("empirical")} == {"dram"}


@pytest.mark.parametrize(("words", "message"), [
    (["--case", "gemm/fp32/m:1"], "--case 'gemm/fp32/m:1': it lacks n:NUMBER"),
    (["--case", "gemm/fp32/m=n=k:8", "--filter", "gemm"], "--case chooses cases by name; --filter and --exclude choose among the cases of a suite"),
    (["--case", "gemm"], "--case 'gemm': 'gemm' is not the name of a case: family, operation if the family has several, type, then key:value"),
])
def test_a_case_by_name_that_cannot_be_is_refused(words, message):
    done = roofmark("run", "--device", "cpu", *words)
    assert done.returncode == 2 and message in done.stderr


def test_recovering_a_whole_run_changes_nothing(small_run):
    _, result, out = small_run
    done = roofmark("recover", out)
    assert done.returncode == 0 and ", complete" in done.stdout
    assert json.loads((out / "result.json").read_text()) == result


def test_a_journal_that_lost_a_case_is_not_complete(small_run, tmp_path):
    lines = (small_run[2] / "result.jsonl").read_text().splitlines(keepends=True)
    records = [json.loads(line).get("record", {}) for line in lines]
    lost = next(record for record in records if record.get("pass", 1) == 1 and record.get("family") == "stream")
    (tmp_path / "result.jsonl").write_text("".join(line for line, record in zip(lines, records, strict=True) if record != lost))
    done = roofmark("recover", tmp_path)
    assert done.returncode == 3 and ", of a finished run; 1 of its cases are not in the journal" in done.stdout
    done = roofmark("accept", tmp_path, "--profile", "cpu")
    assert done.returncode == 1 and "1 of its cases have no result" in done.stdout


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
    assert len(found) == 1 and "cores on average" in found[0]
    assert found[0] in flat(done.stdout)
    (out / "result.json").unlink()
    assert roofmark("recover", out).returncode == 0
    assert found[0] in (out / "result.json").read_text()


def first(lines, kind):
    return next(i for i, line in enumerate(lines) if line.startswith(f'{{"{kind}"'))


@pytest.mark.parametrize("damage, said, status", [
    (lambda lines: lines[:-1], "its last line is missing", 3),
    (lambda lines: [lines[0], lines[1][:-9], *lines[2:]], "(1 line cannot be read)", 0),
    (lambda lines: [line for i, line in enumerate(lines) if i != first(lines, "record")], " records of ", 0),
    (lambda lines: lines[:1], "its last line is missing", 3),
], ids=["no footer", "a torn line", "a record less", "the header alone"])
def test_a_journal_that_was_damaged_later_replaces_nothing(small_run, tmp_path, damage, said, status):
    _, result, out = small_run
    (tmp_path / "result.json").write_text(json.dumps(result))
    lines = damage((out / "result.jsonl").read_text().splitlines(keepends=True))
    (tmp_path / "result.jsonl").write_text("".join(lines))
    done = roofmark("recover", tmp_path)
    assert_one_line(done, 2)
    assert said in done.stderr
    assert json.loads((tmp_path / "result.json").read_text()) == result
    (tmp_path / "result.json").unlink()
    assert roofmark("recover", tmp_path).returncode == status


def test_a_journal_that_has_a_record_twice_is_refused_before_anything_is_written(small_run, tmp_path):
    lines = (small_run[2] / "result.jsonl").read_text().splitlines(keepends=True)
    lines.insert(first(lines, "record"), lines[first(lines, "record")])
    (tmp_path / "result.jsonl").write_text("".join(lines))
    done = roofmark("recover", tmp_path)
    assert_one_line(done, 2)
    assert "result.jsonl has " in done.stderr and done.stderr.endswith(" twice\n")
    assert [path.name for path in tmp_path.iterdir()] == ["result.jsonl"]


def test_a_result_beside_a_damaged_journal_is_read_in_another_folder_alone(small_run, tmp_path):
    damaged, other = tmp_path / "damaged", tmp_path / "other"
    shutil.copytree(small_run[2], damaged)
    (damaged / "result.json").unlink()
    lines = (damaged / "result.jsonl").read_text().splitlines(keepends=True)
    lines[first(lines, "record")] = "{broken\n"
    (damaged / "result.jsonl").write_text("".join(lines))
    assert "; 1 line cannot be read\n" in roofmark("recover", damaged).stdout
    done = roofmark("show", damaged)
    assert_one_line(done, 2)
    assert "is damaged (1 line cannot be read), so " in done.stderr and "a copy in another folder can be read" in done.stderr
    other.mkdir()
    shutil.copy(damaged / "result.json", other)
    assert roofmark("show", other).returncode == 0


def test_a_run_is_recovered_from_its_folder_or_a_file_to_any_folder(small_run, tmp_path):
    _, result, out = small_run
    for number, given in enumerate([out, out / "result.json", out / "result.jsonl"]):
        done = roofmark("recover", given, "--out", tmp_path / str(number))
        assert done.returncode == 0, done.stderr
        assert json.loads((tmp_path / str(number) / "result.json").read_text()) == result
        assert (tmp_path / str(number) / "result.json.sha256").exists()
    done = roofmark("recover", out, "--out", tmp_path / "0")
    assert_one_line(done, 2)
    assert "already has a result.json" in done.stderr


def test_a_result_that_was_cut_short_names_the_way_back(small_run, tmp_path):
    shutil.copytree(small_run[2], tmp_path / "out")
    result = tmp_path / "out" / "result.json"
    result.write_bytes(result.read_bytes()[:1000])
    said = [f"; `roofmark recover {result}` rebuilds it from its journal", "; `roofmark recover` could rebuild it"]
    for name, way in (("result.json.sha256", said[0]), ("result.jsonl", said[0]), ("result.json", said[1])):
        done = roofmark("accept", tmp_path / "out", "--profile", "cpu")
        assert_one_line(done, 2)
        assert way in done.stderr
        (tmp_path / "out" / name).unlink()


def started(arguments, out):
    """The program, once it has finished a record or two."""
    process = subprocess.Popen([ROOFMARK, *arguments, "--out", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal = out / "result.jsonl"
    deadline = time.monotonic() + 120
    while not journal.exists() or journal.read_text().count('\n{"record"') < 2:
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
    assert result["ended"]["reason"] == "interrupted" and result["verdict"]["level"] == "bad"
    assert re.match("The run was cut off( in [^ ]+)?: interrupted; ", result["verdict"]["headline"])
    assert {entry["roofmark"]["reason"] for entry in result["unmeasured"] if entry["roofmark"]["status"] == "not_run"} == {
        "interrupted"}


def test_a_signal_that_comes_twice_within_a_second_is_one(tmp_path):
    process = started(["run", "--device", "cpu", "--suite", "quick", "--memory-fraction", "0.004"], tmp_path / "out")
    first = time.monotonic()
    process.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    apart = time.monotonic() - first
    process.communicate(timeout=120)
    if apart > 0.9:
        pytest.skip(f"this machine was too busy: the signals were {apart:.1f} s apart")
    assert process.returncode == 130
    assert json.loads((tmp_path / "out" / "result.json").read_text())["interrupted"]


def test_a_hang_up_is_an_interrupt_unless_it_is_ignored(tmp_path):
    arguments = ["run", "--device", "cpu", "--suite", "quick", "--memory-fraction", "0.004"]
    process = started(arguments, tmp_path / "out")
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=120)
    assert process.returncode == 130
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["interrupted"] and not result["complete"]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does, and children inherit it
    try:
        process = started(arguments, tmp_path / "nohup")
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    process.send_signal(signal.SIGHUP)
    time.sleep(1)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)


@pytest.mark.parametrize("words", [("--version",), ("--help",), ("run", "--help"), ("man",), ("info",), ("info", "--json"), ("list", "--suite", "quick", "--device", "cpu"),
                                   ("profile", "show", "cpu")])
def test_output_that_cannot_be_written_is_no_success(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([ROOFMARK, *words], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and done.stderr.endswith("roofmark: cannot write to standard output\n"), done.stderr


@pytest.mark.parametrize("more", [(), ("--quiet",), ("--benchmark_format=json",), ("--benchmark_format=console",)])
def test_a_run_whose_output_cannot_be_written_is_no_success_and_leaves_a_complete_file(more, tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run([ROOFMARK, "run", "--device", "cpu", "--case", "stream/triad/fp64/bytes:32768", "--max-seconds", "0.001", "--out", tmp_path / "out", *more],
                              stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and done.stderr.endswith("roofmark: cannot write to standard output\n"), done.stderr
    assert json.loads((tmp_path / "out" / "result.json").read_text())["complete"]


def test_a_pipe_that_nobody_reads_any_longer_leaves_a_complete_file(tmp_path):
    process = subprocess.Popen([ROOFMARK, "run", "--device", "cpu", "--case", "stream/triad/fp64/bytes:32768", "--max-seconds", "0.01",
                                "--out", tmp_path / "out"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=120) == 0
    assert json.loads((tmp_path / "out" / "result.json").read_text())["complete"]


def test_a_terminal_that_goes_away_leaves_a_complete_file(tmp_path):
    out = tmp_path / "out"
    child, terminal = pty.fork()
    if child == 0:
        os.execv(ROOFMARK, [ROOFMARK, "run", "--device", "cpu", "--suite", "quick", "--memory-fraction", "0.004", "--out", str(out)])
    deadline = time.monotonic() + 120
    while not (out / "result.jsonl").exists() or (out / "result.jsonl").read_text().count("\n") < 3:
        assert time.monotonic() < deadline
        os.read(terminal, 4096)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    result = json.loads((out / "result.json").read_text())
    validate(result)
    assert result["interrupted"]


def test_a_killed_run_is_recovered(tmp_path):
    out = tmp_path / "out"
    process = started(["run", "--device", "cpu", "--suite", "quick", "--memory-fraction", "0.004"], out)
    process.kill()
    process.communicate(timeout=120)
    lines = (out / "result.jsonl").read_text().splitlines()
    (out / "result.json").unlink(missing_ok=True)
    done = roofmark("recover", out)
    assert done.returncode == 3 and "cut off" in done.stdout
    assert roofmark("show", out).returncode == 0
    result = json.loads((out / "result.json").read_text())
    validate(result)
    assert not result["complete"]
    begun = [json.loads(line)["begun"] for line in lines if line.startswith('{"begun"') and line.endswith("}")]
    assert result["ended"].get("case") in (begun[-1], None) and result["verdict"]["headline"].startswith("The run was cut off")
    records = sum(line.startswith('{"record"') and line.endswith("}") for line in lines)
    assert len(result["benchmarks"]) + len(result["unmeasured"]) == records > 0


def test_what_exceeds_the_memory_is_unsupported_and_the_rest_is_measured(tmp_path):
    done = roofmark("run", "--device", "cpu", "--suite", "quick", "--filter", "^(transpose|ceilings|stream/triad/fp64/bytes:32768)/",
                    "--max-seconds", "0.005", "--memory-fraction", "0.001", "--out", tmp_path / "out", "--quiet")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    refused = {entry["name"]: entry["roofmark"] for entry in result["unmeasured"]}
    transpose = [entry for name, entry in refused.items() if name.startswith("transpose/")]
    assert transpose and all(entry["status"] == "unsupported" for entry in transpose)
    assert all("needs " in entry["reason"] and "--memory-fraction 0.001" in entry["reason"] for entry in transpose)
    assert result["benchmarks"] and result["complete"]


def test_a_run_in_which_no_case_is_possible_has_not_passed(tmp_path):
    done = roofmark("run", "--device", "cpu", "--suite", "quick", "--filter", "^transpose/", "--memory-fraction", "0.001", "--out", tmp_path / "out")
    assert done.returncode == 3
    assert re.search(r"^bad: \d+ unsupported \(", done.stdout, re.MULTILINE), done.stdout

def test_the_table_of_google_benchmark_is_as_wide_as_its_longest_name(tmp_path):
    done = roofmark(*SMALL, "--out", tmp_path / "out", "--benchmark_format=console")
    rows = [line for line in done.stdout.splitlines() if re.match(r"(Benchmark|ceilings|stream|gemm|\w+/)\S* ", line)]
    names = [row.split()[0] for row in rows]
    assert len(rows) > 1 and {len(row) - max(map(len, names)) for row in rows} == {43}, done.stdout[:2000]


def test_google_benchmarks_own_outputs(tmp_path):
    done = roofmark(*SMALL, "--out", tmp_path / "out", "--benchmark_format=json", f"--benchmark_out={tmp_path / 'out.csv'}",
                    "--benchmark_out_format=csv")
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["benchmarks"]
    assert runs and all((run["repetitions"], run["repetition_index"], run["threads"]) == (1, 0, 1) for run in runs)
    assert "real_time" in (tmp_path / "out.csv").read_text()
    listed = roofmark("run", "--device", "cpu", "--benchmark_list_tests", "--benchmark_filter=^transpose/")
    assert listed.returncode == 0 and "transpose/" in listed.stdout and "stream/" not in listed.stdout


def test_quiet_says_where_the_result_is(tmp_path):
    done = roofmark(*SMALL, "--quiet", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path}/out/result.json\n", "")


def test_excluded_cases_are_not_measured(tmp_path):
    listed = roofmark("list", "--device", "cpu", "--suite", "quick", "--filter", "^(stream|transpose)/", "--exclude", "triad|ceilings", "--json")
    names = [case["name"] for case in json.loads(listed.stdout)]
    assert {name.split("/")[0] for name in names} == {"ceilings", "stream", "transpose"}
    assert not any(name.startswith("stream/triad/") for name in names)
    done = roofmark(*SMALL, "--exclude", "bytes:[0-9]{5}/", "--out", tmp_path / "out", "--quiet")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    triads = [entry["name"] for entry in result["benchmarks"] if entry["name"].startswith("stream/triad/")]
    assert triads and not any("/bytes:65536/" in name for name in triads)


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


def test_settings_of_mpis_are_told_and_not_what_their_launchers_add():
    settings = {"OMPI_MCA_btl": "self,sm", "OMPI_MCA_coll_hcoll_enable": "0", "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring",
                "I_MPI_FABRICS": "shm", "I_MPI_ADJUST_ALLREDUCE": "2"}
    added = {"OMPI_MCA_orte_hnp_uri": "1.0;tcp://192.0.2.2:1", "OMPI_MCA_ess_base_vpid": "0", "I_MPI_INFO_NP": "1", "I_MPI_HYDRA_UUID": "1"}
    told = json.loads(roofmark("info", "--device", "cpu", "--json", env=os.environ | settings | added).stdout)["environment"]
    assert settings.items() <= told.items() and not added.keys() & told.keys()


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_of_list_and_info_is_wider_than_the_terminal(columns):
    for words in (["list", "--device", "cpu", "--suite", "full"], ["info", "--device", "cpu"]):
        done = roofmark(*words, env=os.environ | {"COLUMNS": str(columns)})
        assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= columns


def test_a_message_wraps_where_the_width_is_known_and_is_one_line_in_a_log():
    logged = roofmark("run", "--suite", "quikc")
    assert_one_line(logged, 2)
    assert len(logged.stderr) > 80
    shown = roofmark("run", "--suite", "quikc", env=os.environ | {"COLUMNS": "80"})
    assert max(map(len, shown.stderr.splitlines())) <= 80 and flat(shown.stderr) == flat(logged.stderr)


def test_list_says_first_what_it_lists_and_last_what_measures_it():
    listed = roofmark("list", "--device", "cpu", "--suite", "quick", "--filter", "^gemm/").stdout.splitlines()
    assert re.match(r"A selection of the quick suite: \d+ of \d+ cases \(--filter '\^gemm/'\)$", listed[0])
    assert "`roofmark run` with the same flags" in listed[-1]


def test_of_a_run_on_all_gpus_that_was_cut_off_the_results_of_the_single_ones_are_named(tmp_path):
    for gpu in range(10):
        (tmp_path / "node7" / "alone" / f"cuda-{gpu}").mkdir(parents=True)
        (tmp_path / "node7" / "alone" / f"cuda-{gpu}" / "result.jsonl").touch()
    below = f"below it: {', '.join(f'alone/cuda-{gpu}' for gpu in range(8))} and 2 more\n"
    for command, missing in (("show", "no result {}.json"), ("recover", "no journal {}.jsonl")):
        done = roofmark(command, tmp_path / "node7")
        assert_one_line(done, 2)
        assert done.stderr == f"roofmark: {missing.format(tmp_path / 'node7' / 'result')}; {below}"


def test_recovering_what_is_not_there_names_what_was_typed(tmp_path):
    (tmp_path / "out").mkdir()
    for given, said in ((tmp_path / "out.json", f"no file or folder {tmp_path / 'out.json'}"), (tmp_path / "nothing", f"no file or folder {tmp_path / 'nothing'}"),
                        (tmp_path / "out", f"no journal {tmp_path / 'out' / 'result.jsonl'}")):
        done = roofmark("recover", given)
        assert_one_line(done, 2)
        assert done.stderr == f"roofmark: {said}\n"
