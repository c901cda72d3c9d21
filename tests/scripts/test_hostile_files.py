# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Folders and files that somebody else made: links, pipes, sizes, and texts that would control a terminal."""

import json
import os
import resource
import subprocess
import sys
import time

import pytest
from conftest import ROOT, need
from make_delivery import clean, in_one_file
from shipped_profiles import ROOFMARK, assert_one_line, roofmark

need("jsonschema", "jinja2", "orjson", "plotly", "tree_sitter_javascript")
from roofmark_report.program import write  # noqa: E402

needs_roofmark = pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")


def script(name, *arguments, **options):
    command = [sys.executable, str(ROOT / "scripts" / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


def test_only_a_link_that_the_user_named_stays_a_link(small, save, tmp_path):
    path, page, real = save(small), tmp_path / "report.html", tmp_path / "real.html"
    real.write_text("before")
    page.symlink_to("real.html")
    assert script("report", path).returncode == 0
    assert not page.is_symlink() and real.read_text() == "before", "a link in a folder that is read may lead anywhere"
    page.unlink()
    page.symlink_to("real.html")
    assert script("report", path, "-o", page).returncode == 0
    assert page.is_symlink() and "roofmark" in real.read_text(encoding="utf-8")


def test_a_temporary_file_follows_no_link(tmp_path):
    (tmp_path / "secret").write_text("before")
    temporary = tmp_path / f"page.html.{os.getpid()}.tmp"
    temporary.symlink_to("secret")
    write(tmp_path / "page.html", ["page"])
    assert (tmp_path / "page.html").read_text() == "page" and not (tmp_path / "page.html").is_symlink()
    assert (tmp_path / "secret").read_text() == "before" and not temporary.exists()


def test_the_scripts_read_regular_files_of_a_sane_size_alone(small, save, tmp_path):
    path, out = save(small), tmp_path / "pages"
    (tmp_path / "result.json.sha256").write_text("root:$6$secret" + "x" * 60)
    done = script("report", path)
    assert done.returncode == 2 and "secret" not in done.stderr and "says something else" in done.stderr
    (tmp_path / "result.json.sha256").unlink()
    large, pipe = tmp_path / "large.json", tmp_path / "pipe.json"
    large.touch()
    os.truncate(large, 1 << 42)
    os.mkfifo(pipe)
    for bad, why in ((large, "larger than 4095 MiB"), (pipe, "not a regular file")):
        for words in (("report", bad), ("acceptance", bad, "--profile", "common"), ("compare", bad, path)):
            done = script(*words)
            assert (done.returncode, done.stderr) == (2, f"{words[0]}: {bad}: {why}\n")
    done = script("fleet", tmp_path, "--out", out)
    assert done.returncode == 1 and "not read: large.json: larger than 4095 MiB" in done.stdout and "1 run of 1 device" in done.stdout


def test_a_file_that_exceeds_the_memory_costs_no_other(small, save, tmp_path):
    save(small)
    (tmp_path / "large.json").touch()
    os.truncate(tmp_path / "large.json", 1 << 30)
    limit = 1 << 29  # per process

    def limited():
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    done = script("report", tmp_path / "large.json", preexec_fn=limited)
    assert (done.returncode, done.stderr) == (2, f"report: {tmp_path / 'large.json'}: too large for the memory\n")
    done = script("fleet", tmp_path, "--out", tmp_path / "pages", preexec_fn=limited)
    assert done.returncode == 1 and "not read: large.json: too large for the memory" in done.stdout and "1 run of 1 device" in done.stdout


def test_a_zero_is_refused_where_a_plot_has_a_logarithm(small, save):
    entry = next(entry["roofmark"] for entry in small["benchmarks"] if "interval" in entry["roofmark"]["measurement"])
    entry["placement"]["of_theoretical"] = 0
    done = script("report", save(small))
    assert done.returncode == 2 and "does not fit results/schema.json" in done.stderr and done.stderr.count("\n") == 1
    del entry["placement"]["of_theoretical"]
    entry["measurement"]["interval"] = [0.001 * entry["measurement"]["median"], 0]
    done = script("report", save(small))
    assert done.returncode == 2 and "its interval ends before it begins, or at 0" in done.stderr


@needs_roofmark
def test_what_a_file_says_hides_and_forges_no_line_of_show(h200, save):
    result = clean(h200)
    forged = "x\n\x1b[8mgood: all is well\n"
    for holder, key in ((result["host"], "name"), (result["device"], "name"), (result["benchmarks"][0]["roofmark"], "reason")):
        holder[key] = forged
    result["findings"] = [{"kind": "foreign_process", "severity": "warning", "doubts": "time", "text": forged, "advice": forged, "brief": forged}]
    shown = roofmark("show", save(result))
    assert "good: all is well" in shown.stdout and "\x1b" not in shown.stdout
    assert not any(line.lstrip().startswith("good: all") for line in shown.stdout.splitlines())


@needs_roofmark
def test_a_path_and_an_error_forge_no_line(h200, own_profile, tmp_path):
    folder = tmp_path / "n\x1b[8m\nACCEPTED: all checks pass"
    folder.mkdir()
    (folder / "result.json").write_text(json.dumps(clean(h200)))
    done = roofmark("accept", tmp_path, "--profile", own_profile(0.999))
    assert done.returncode == 1 and "\x1b" not in done.stdout and not any(line.startswith("ACCEPTED") for line in done.stdout.splitlines())
    (folder / "result.json").write_text("{")
    done = roofmark("accept", tmp_path, "--profile", own_profile(0.999))
    assert_one_line(done)
    assert "\x1b" not in done.stderr


@needs_roofmark
@pytest.mark.parametrize("name", ["result.json", "result.jsonl", "result.json.sha256"])
def test_what_is_no_regular_file_is_refused(h200, save, own_profile, tmp_path, name):
    path = save(clean(h200))
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    for words in (("show", path), ("accept", path, "--profile", own_profile(0.5))):
        done = roofmark(*words)
        assert_one_line(done)
        assert f"{name} is not a regular file" in done.stderr
    (tmp_path / name).unlink()
    (tmp_path / name).touch()
    os.truncate(tmp_path / name, 1 << 42)
    done = roofmark("show", path)
    assert_one_line(done)
    assert f"{name} is larger than" in done.stderr


@needs_roofmark
def test_a_sum_that_is_none_is_not_told(h200, save, tmp_path):
    path = save(clean(h200))
    (tmp_path / "result.json.sha256").write_text("root:$6$secret" + "x" * 60)
    done = roofmark("show", path)
    assert_one_line(done)
    assert "secret" not in done.stderr


@needs_roofmark
@pytest.mark.parametrize("number", [1e308, 1e-308])
def test_a_number_that_no_quantity_has_is_refused(h200, save, number):
    result = clean(h200)
    result["benchmarks"][0]["roofmark"]["work"]["phases"][0][0]["amount"] = number
    done = roofmark("show", save(result))
    assert_one_line(done)
    assert "is out of range" in done.stderr


@needs_roofmark
@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_folder_that_cannot_be_read_is_bad_input(h200, own_profile, tmp_path):
    folder = tmp_path / "shut"
    folder.mkdir()
    profile = own_profile(0.5)
    for part in (tmp_path, *list(tmp_path.parents)[:3]):
        part.chmod(0o755)
    folder.chmod(0)
    done = roofmark("accept", folder, "--profile", profile, preexec_fn=lambda: os.setuid(65534))
    assert_one_line(done)
    assert f"cannot read {folder}: Permission denied" in done.stderr


@needs_roofmark
def test_a_link_to_a_folder_is_named(h200, own_profile, tmp_path):
    for name in ("delivery", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(json.dumps(clean(h200)))
    (tmp_path / "delivery" / "node2").symlink_to(tmp_path / "elsewhere")
    done = roofmark("accept", tmp_path / "delivery", "--profile", own_profile(0.5))
    assert done.returncode == 0 and f"left out: {tmp_path}/delivery/node2 is a link to a folder" in done.stderr


@needs_roofmark
def test_a_run_that_left_its_journal_alone_is_not_passed_over(h200, save, own_profile, tmp_path):
    """As of a GPU that took its host down in the first case."""
    save(clean(h200))
    (tmp_path / "node2").mkdir()
    (tmp_path / "node2" / "result.jsonl").write_text('{"header": {}}\n')
    done = roofmark("accept", tmp_path, "--profile", own_profile(0.5))
    assert_one_line(done)
    assert f"{tmp_path}/node2 holds the journal of a run without its result" in done.stderr


@needs_roofmark
def test_a_host_without_a_name_is_judged(h200, save, own_profile):
    for name in ("", "node "):
        result = clean(h200)
        result["host"]["name"] = name
        result["device"]["details"].pop("uuid", None)
        assert roofmark("accept", save(result), "--profile", own_profile(0.999)).returncode == 1


@needs_roofmark
def test_copies_of_one_result_are_not_several_gpus(h200, own_profile, tmp_path):
    result = clean(h200)
    for gpu in range(3):
        result["host"]["name"], result["device"]["details"]["uuid"] = f"node{gpu}", f"GPU-{gpu}"
        folder = tmp_path / "delivery" / f"node{gpu}"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(result))
    done = roofmark("accept", tmp_path / "delivery", "--profile", own_profile(0.5), "--expect-gpus", 3, env=os.environ | {"COLUMNS": "200"})
    assert done.returncode == 1 and "GPU-1 (cuda:0 of node1) has the samples of GPU-0 (cuda:0 of node0)" in done.stdout


@needs_roofmark
@pytest.mark.parametrize("rate", ["flops_per_second", "bytes_per_second"])
def test_a_rate_that_its_work_and_time_do_not_give_is_refused(h200, save, own_profile, rate):
    result = clean(h200)
    placement = next(entry["roofmark"]["placement"] for entry in result["benchmarks"] if rate in entry["roofmark"]["placement"])
    placement[rate] *= 1.1
    for words in (("show", save(result)), ("accept", save(result), "--profile", own_profile(0.5))):
        done = roofmark(*words)
        assert_one_line(done)
        assert "are not those of its work and time" in done.stderr


@needs_roofmark
def test_a_case_that_contradicts_itself_is_refused(h200, save, own_profile):
    changes = [("has a median outside of its 95 % interval", lambda record: record["measurement"]["interval"].reverse()),
               ("has a median outside of its 95 % interval", lambda record: record["measurement"].update(interval=[1e-12, 2e-12])),
               *(("has a median, minimum or maximum that is not that of its samples",
                  lambda record, key=key: record["measurement"].update({key: 0.999 * record["measurement"][key]})) for key in ("minimum", "maximum")),
               ("has a median, minimum or maximum that is not that of its samples",
                lambda record: record["measurement"]["samples"].update(seconds=[1.1 * one for one in record["measurement"]["samples"]["seconds"]])),
               ("has no samples", lambda record: record["measurement"].update(samples=dict.fromkeys(record["measurement"]["samples"], []))),
               ("is ok, but its verification has failed", lambda record: next(iter(record["verification"].values())).update(status="failed"))]
    for said, change in changes:
        result = clean(json.loads(json.dumps(h200)))
        change(result["benchmarks"][0]["roofmark"])
        done = roofmark("accept", save(result), "--profile", own_profile(0.5))
        assert_one_line(done)
        assert said in done.stderr


@needs_roofmark
def test_what_is_of_a_rank_that_the_team_lacks_is_refused(h200, save):
    changes = [("xid is of rank 2, which it lacks", lambda result: result["counters"].append({"id": "xid", "rank": 2, "before": 0, "after": 1})),
               ("memory_in_use is of rank 9, which it lacks",
                lambda result: result["findings"].append({"kind": "memory_in_use", "severity": "warning", "text": "t", "advice": "a", "ranks": [9]})),
               ("rank 1 of its team is called 5", lambda result: result["team"][1].update(rank=5))]
    for said, change in changes:
        result = in_one_file(json.loads(json.dumps(h200)), nodes=1, gpus=2)
        assert roofmark("show", save(result)).returncode == 0
        change(result)
        done = roofmark("show", save(result))
        assert_one_line(done)
        assert said in done.stderr


@needs_roofmark
def test_a_date_that_cannot_be_is_no_age(h200, save, own_profile):
    result = clean(h200) | {"finished_utc": "2100-01-01T00:00:00Z"}
    done = roofmark("accept", save(result), "--profile", own_profile(0.5))
    assert_one_line(done)
    assert "was finished in the future" in done.stderr
    result["finished_utc"] = time.strftime("%Y-%m-%dT%H:%M:%SZgarbage", time.gmtime())
    done = roofmark("accept", save(result), "--profile", own_profile(0.5), "--max-age", "7d")
    assert done.returncode == 1 and "NOT MEASURED" in done.stdout
