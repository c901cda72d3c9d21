# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""plant_faults, on a program that plays a test and the model GPU."""
import subprocess
import sys

import pytest
from conftest import ROOT
from peer_programs import executable

# Each edit's replacement says what the program does with it.
PROGRAM = """#!/bin/bash
echo "$GPUMODEL_EDIT|$GPUMODEL_EDIT_KERNEL|$GPUMODEL_EDIT_PLACE|$GPUMODEL_RACE|$1" >>{folder}/calls
case $1 in
  *None*) exit 0 ;;
  *Skipped*) echo "[  SKIPPED ] Sum.Skipped (0 ms)"; exit 0 ;;
  *Broken*) echo "[  FAILED  ] Sum.Broken (0 ms)"; exit 1 ;;
  *Racing*) echo "gpumodel: warning: race: read of shared memory" >&2 ;;
esac
[[ $GPUMODEL_EDIT && $GPUMODEL_EDIT != *nothing ]] && echo "gpumodel: GPUMODEL_EDIT changed 1 lines of sum_kernel" >&2
case $GPUMODEL_EDIT in
  *assertion) echo "[  FAILED  ] Sum.Adds (0 ms)"; exit 1 ;;
  *race) echo "gpumodel: warning: race: write of shared memory at 0" >&2 ;;
  *unknown) echo "gpumodel: FAULT (unsupported) <<<>>>: instruction that the model does not know: foo" >&2
            echo "[  FAILED  ] Sum.Adds (0 ms)"; exit 1 ;;
  *crash) kill -SEGV $$ ;;
  *hang) exec sleep 20 ;;
esac
echo "[       OK ] Sum.Adds (0 ms)"
"""


@pytest.fixture
def plant(tmp_path):
    """Runs plant_faults on these entries of a family `sums`, beside the families in tmp_path / "faults"."""
    (tmp_path / "build/tests").mkdir(parents=True)
    (tmp_path / "faults").mkdir()
    executable(tmp_path / "build/tests/sum_test", PROGRAM.replace("{folder}", str(tmp_path)))

    def run(entries, *arguments):
        (tmp_path / "faults/sums.toml").write_text(entries, encoding="utf-8")
        command = [sys.executable, ROOT / "tests/gpu_model/plant_faults", "--faults", tmp_path / "faults", *arguments]
        return subprocess.run([*command, tmp_path / "build"], capture_output=True, text=True, timeout=60, check=False)

    return run


def entry(name, does, test="sum_test:Sum.Adds", more=""):
    return f"[[fault]]\nname = '{name}'\nkernel = 'sum_kernel'\nedit = 'add=>{does}'\ntest = '{test}'\n{more}\n"


def test_finds_a_fault_by_a_failed_test_or_a_report_of_the_model(plant):
    done = plant(entry("one", "assertion") + entry("two", "race"))
    assert done.returncode == 0, done.stdout
    assert "sums: one [Sum.Adds]" in done.stdout
    assert "sums: two [the model: warning: race: write of shared memory at 0]" in done.stdout
    assert done.stdout.splitlines()[-1].split() == ["all", "2", "2", "0"]


def test_plants_what_the_entry_says_after_a_run_without(plant, tmp_path, monkeypatch):
    monkeypatch.setenv("GPUMODEL_EDIT", "add=>crash")
    settings = "place = 3\nenvironment = {GPUMODEL_RACE = '1'}\n"
    plant(entry("one", "assertion", more=settings) + entry("two", "assertion", more=settings), "--jobs", "1")
    planted = "add=>assertion|sum_kernel|3|1|--gtest_filter=Sum.Adds"
    assert (tmp_path / "calls").read_text().splitlines() == ["|||1|--gtest_filter=Sum.Adds", planted, planted]


@pytest.mark.parametrize("does, verdict", [
    ("pass", "survived"), ("nothing", "stale"), ("unknown", "invalid"), ("crash", "invalid")])
def test_a_fault_that_no_test_finds_fails(plant, does, verdict):
    done = plant(entry("one", does) + entry("two", "assertion"))
    assert done.returncode == 1
    assert f"\n{verdict} " in "\n" + done.stdout
    assert done.stdout.splitlines()[-1].split() == ["all", "2", "1", "0", "1"]


def test_a_hang_is_found_only_where_the_entry_expects_one(plant):
    assert plant(entry("one", "hang", more="hang = true"), "--timeout", "1").returncode == 0
    done = plant(entry("one", "hang"), "--timeout", "1")
    assert done.returncode == 1
    assert done.stdout.startswith("invalid ")


def test_a_listed_survivor_has_to_survive(plant):
    done = plant(entry("one", "pass", more="survives = 'the compiler does it too'"))
    assert done.returncode == 0
    assert "listed" in done.stdout and "the compiler does it too" in done.stdout
    done = plant(entry("one", "assertion", more="survives = 'the compiler does it too'"))
    assert done.returncode == 1
    assert done.stdout.startswith("stale ")


@pytest.mark.parametrize("test", ["sum_test:Sum.Broken", "sum_test:Sum.None", "sum_test:Sum.Skipped", "sum_test:Sum.Racing",
                                  "other_test:Sum.Adds"])
def test_a_test_that_does_not_pass_without_the_fault_finds_nothing(plant, test):
    done = plant(entry("one", "assertion", test))
    assert done.returncode == 1
    assert done.stdout.startswith("unplanted ")


def test_chooses_by_family_and_name(plant, tmp_path):
    (tmp_path / "faults/products.toml").write_text(entry("three", "pass"), encoding="utf-8")
    entries = entry("one", "assertion") + entry("two", "pass")
    assert plant(entries, "--family", "sums", "--name", "^o").returncode == 0
    assert plant(entries, "--family", "products").stdout.splitlines()[-1].split() == ["all", "1", "0", "0", "1"]
    assert plant(entries).stdout.splitlines()[-1].split() == ["all", "3", "1", "0", "2"]


def test_prints_the_table_and_the_survivors_in_markdown(plant):
    done = plant(entry("one", "assertion") + entry("two", "pass", more="survives = 'why'"), "--markdown")
    assert done.stdout == """\
| family | planted | found | listed |
| --- | ---: | ---: | ---: |
| sums | 2 | 1 | 1 |
| all | 2 | 1 | 1 |

- sums: two: why
"""
    assert "sums: one [Sum.Adds]" in done.stderr


@pytest.mark.parametrize("entries, arguments, said", [
    ("fault", (), "sums.toml"),
    (entry("one", "pass", more="colour = 'red'"), (), "colour"),
    (entry("one", "pass") + entry("one", "pass"), (), "two faults have the name 'one'"),
    (entry("one", "pass", test="sum_test"), (), "program:filter"),
    (entry("one", "pass"), ("--family", "other"), "no family 'other'"),
    (entry("one", "pass"), ("--name", "two"), "no fault matches"),
    (entry("one", "pass"), ("--name", "("), "plant_faults: error"),
    (entry("one", "pass"), ("--jobs", "0"), "--jobs")])
def test_refuses_what_it_cannot_read(plant, entries, arguments, said):
    done = plant(entries, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
