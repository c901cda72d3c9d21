# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/examples, with what they call played by small scripts where it is not on every machine."""

import json
import re
import os
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import make_delivery
import make_result
import pytest
from conftest import ROOT, need
from test_acceptance import BASE

need("duckdb", "jinja2", "jsonschema", "orjson", "plotly", "tree_sitter_javascript")
EXAMPLES = ROOT / "scripts" / "examples"
ROOFMARK = os.environ.get("ROOFMARK")
pytestmark = pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A PATH with a scontrol and a logger that record their words."""
    for name in ("scontrol", "logger"):
        executable(tmp_path / "bin" / name, f"#!/bin/bash\nprintf '%s\\n' \"$*\" >>{tmp_path}/{name}\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name in [name for name in os.environ if name.startswith(("ROOFMARK_SUITE", "ROOFMARK_DEVICE", "SLURM_"))]:
        monkeypatch.delenv(name)
    return tmp_path


def run(name, *words, **environment):
    return subprocess.run([EXAMPLES / name, *map(str, words)], env=os.environ | {key: str(value) for key, value in environment.items()},
                          capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def profile(own_profile):
    return own_profile(0.5, devices=".*")


def measures(place, status=0, slower=1.0):
    """A roofmark whose `run` leaves the made-up results of two GPUs and ends with this status; the rest is the real one."""
    made = place / "made"
    for path in make_delivery.write(made, BASE, 1, 2):
        result = json.loads(path.read_text())
        for entry in result["benchmarks"]:
            measured, placed = entry["roofmark"]["measurement"], entry["roofmark"]["placement"]
            for key in ("of_theoretical", "of_empirical", "of_theoretical_clock", "flops_per_second", "bytes_per_second"):
                placed.pop(key, None) if key not in placed else placed.update({key: placed[key] / slower})
            for key in ("median", "minimum", "maximum", "p5", "p95"):
                measured[key] *= slower
            measured["interval"] = [end * slower for end in measured["interval"]]
            measured["samples"]["seconds"] = [seconds * slower for seconds in measured["samples"]["seconds"]]
        path.write_text(json.dumps(result))
    return executable(place / "roofmark", f"""#!/bin/bash
[[ $1 == run ]] || exec {ROOFMARK} "$@"
printf '%s\\n' "$*" >>{place}/run
while [[ $1 != --out ]]; do shift; done
mkdir -p "$2" && cp -r {made}/* "$2"
exit {status}
""")


def prolog(place, program, **environment):
    return run("slurm_prolog", ROOFMARK=program, ROOFMARK_LOGS=place / "logs",
               **{"SLURM_JOB_ID": 7, "SLURMD_NODENAME": "node3", "SLURM_JOB_OVERSUBSCRIBE": "NO"} | environment)


def ends_with(place, status, leaves="result.json", verdict="good: 7 ok"):
    """A roofmark that records its words and the GPUs that it may use, leaves a file, and ends with this status."""
    return executable(place / "roofmark", f"""#!/bin/bash
if [[ $1 == show ]]; then
  [[ -e $2/{leaves} ]] && printf '%s\\n' "a table" "{verdict}" "0 s in all"
  exit
fi
echo "${{CUDA_DEVICE_ORDER-}} ${{CUDA_VISIBLE_DEVICES-}}" >>{place}/gpus
echo "$*" >>{place}/words
echo why
while [[ $1 != --out ]]; do shift; done
mkdir -p "$2" && echo '{{}}' >"$2/{leaves}"
exit {status}
""")


def log_of(place):
    [log] = place.glob("logs/7.node3.*.log")
    return log


def test_the_prolog_calls_roofmark_as_it_is(place):
    # The real program reads every flag, and lists what it would measure: even the smallest suite begins with seconds of ceilings.
    program = executable(place / "roofmark", f'#!/bin/bash\nexec {ROOFMARK} "$@" --filter ^transpose/ --benchmark_list_tests\n')
    done = prolog(place, program, ROOFMARK_SUITE="quick", ROOFMARK_DEVICE="cpu")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "transpose/" in log_of(place).read_text()
    assert not (place / "scontrol").exists() and not (place / "logger").exists()


@pytest.mark.parametrize("status, ends, drained, logged", [(0, 0, False, False), (1, 1, True, False), (3, 0, False, True), (127, 0, False, True)])
def test_the_prolog_drains_a_node_that_is_faulty_and_no_other(place, status, ends, drained, logged):
    done = prolog(place, ends_with(place, status))
    assert (done.returncode, done.stderr) == (ends, "")
    log = log_of(place)
    assert (place / "words").read_text() == f"run --suite smoke --device all --quiet --out {log.with_suffix('')}\n"
    assert log.read_text() == "why\n"
    assert (place / "scontrol").exists() == drained and (place / "logger").exists() == logged
    if drained:
        assert (place / "scontrol").read_text() == f"update NodeName=node3 State=DRAIN Reason=roofmark: wrong results or a faulty GPU, see {log}\n"


@pytest.mark.parametrize("drains", [False, True])
def test_the_prolog_logs_a_node_in_doubt_and_drains_it_where_that_is_wanted(place, drains):
    doubt = "cuda:1 is slower: 12 % in 5 of 6 cases"
    done = prolog(place, ends_with(place, 0, verdict=f"doubtful: {doubt}"), **({"ROOFMARK_DRAIN_DOUBTFUL": 1} if drains else {}))
    assert (done.returncode, done.stderr) == (1 if drains else 0, "")
    assert (place / "logger").read_text() == f"-t roofmark before job 7 the node is in doubt: {doubt}\n"
    assert (place / "scontrol").exists() == drains
    if drains:
        assert f"Reason=roofmark: in doubt: {doubt}, see {log_of(place)}" in (place / "scontrol").read_text()


def test_the_prolog_drains_no_node_for_a_status_1_that_is_not_roofmarks(place):
    assert prolog(place, ends_with(place, 1, leaves="core")).returncode == 0
    assert not (place / "scontrol").exists() and (place / "logger").exists()
    assert prolog(place, ends_with(place, 1, leaves="result.jsonl")).returncode == 1


def test_the_prolog_lets_a_job_start_where_its_log_cannot_be_written(place):
    (place / "logs").write_text("no folder")
    done = prolog(place, ends_with(place, 0))
    assert (done.returncode, done.stderr) == (0, "")
    assert not (place / "words").exists() and not (place / "scontrol").exists()
    assert "starts unmeasured" in (place / "logger").read_text()


@pytest.mark.parametrize("gpus, expected", [("2,5", "--expect-gpus 2"), ("7", "--expect-gpus 1"), ("0,1,2,3,4,5,6,7", "--expect-gpus 8")])
def test_the_prolog_says_how_many_gpus_the_job_has(place, gpus, expected):
    # CUDA_VISIBLE_DEVICES ends at the first number that is none: of 0 to 7 on a node that lost a GPU, 7 would be measured.
    prolog(place, ends_with(place, 0), SLURM_JOB_GPUS=gpus)
    assert (place / "words").read_text() == f"run --suite smoke --device all --quiet --out {log_of(place).with_suffix('')} {expected}\n"


@pytest.mark.parametrize("job, measured", [
    ({"SLURM_JOB_GPUS": "2,5", "SLURM_JOB_OVERSUBSCRIBE": "OK"}, "PCI_BUS_ID 2,5"),
    ({"SLURM_JOB_GPUS": "2,5"}, "PCI_BUS_ID 2,5"),
    ({}, " "),
    ({"SLURM_JOB_OVERSUBSCRIBE": "TOPO"}, " "),
    ({"SLURM_JOB_OVERSUBSCRIBE": "", "SLURM_JOB_EXCLUSIVE": "NODE"}, " "),
    ({"SLURM_JOB_EXCLUSIVE": "NO"}, None),
    ({"SLURM_JOB_OVERSUBSCRIBE": "OK"}, None),
    ({"SLURM_JOB_OVERSUBSCRIBE": ""}, None),
])
def test_the_prolog_leaves_the_gpus_of_other_jobs_alone(place, monkeypatch, job, measured):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    done = prolog(place, ends_with(place, 0), **job)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (place / "gpus").exists() == (measured is not None)
    if measured is not None:
        assert (place / "gpus").read_text() == f"{measured}\n"


def test_the_prolog_drains_a_node_that_again_and_again_cannot_be_measured(place):
    def job(status, gpus, **environment):
        return prolog(place, ends_with(place, status), SLURM_JOB_GPUS=gpus, **environment).returncode

    assert [job(3, "0"), job(3, "0"), job(0, "0")] == [0, 0, 0]  # a measurement starts the count again
    assert [job(3, "0,1"), job(139, "1"), job(0, "0")] == [0, 0, 0]  # that of the GPUs that it measured alone
    assert not (place / "scontrol").exists()
    assert job(3, "2,1") == 1
    assert re.fullmatch(r"update NodeName=node3 State=DRAIN Reason=roofmark: not measured for 3 jobs in a row, see .*/logs/7\.node3\.\d+\.log\n",
                        (place / "scontrol").read_text())
    (place / "scontrol").unlink()
    assert [job(3, "1"), job(3, "1")] == [0, 0]  # a node that was resumed has its chances again
    assert [job(3, "4", ROOFMARK_DRAIN_AFTER=0) for _ in range(5)] == [0] * 5
    assert not (place / "scontrol").exists()
    assert job(3, "5", ROOFMARK_DRAIN_AFTER=1) == 1


def test_a_node_is_measured_judged_and_documented(place, profile):
    program, out = measures(place), place / "out"
    done = run("accept_node", profile, out, "--expect-gpus", 2, "--title", "Order 4711, node 1", ROOFMARK=program)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == f"ACCEPTED: {out}/acceptance.html\n"
    assert (place / "run").read_text() == f"run --suite quick --device all --out {out}\n"
    assert "Order 4711, node 1" in (out / "acceptance.html").read_text(encoding="utf-8")
    assert run("accept_node", profile, out, "--expect-gpus", 3, ROOFMARK=program).returncode == 1
    # A wrong result still has its document; what was never measured has none.
    assert run("accept_node", profile, out, ROOFMARK=measures(place, status=1)).stdout.startswith("ACCEPTED: ")
    for status, ends in ((2, 2), (3, 3), (130, 130)):
        silent = executable(place / "roofmark", f"#!/bin/bash\n[[ $1 == profile ]] || exit {status}\n")
        (place / "none").mkdir(exist_ok=True)
        assert run("accept_node", profile, place / "none", ROOFMARK=silent).returncode == ends


def test_a_rack_is_measured_by_mpirun_judged_and_documented(place, profile):
    team = make_result.cluster()
    team["benchmarks"] = [entry for entry in team["benchmarks"] if entry["roofmark"]["family"] in ("stream", "gemm", "ceilings")]
    make_delivery.clean(team)
    (place / "team.json").write_text(json.dumps(team))
    program = executable(place / "bin" / "roofmark-mpi", f"""#!/bin/bash
printf '%s\\n' "$*" >>{place}/run
while [[ $1 != --out ]]; do shift; done
mkdir -p "$2" && cp {place}/team.json "$2/result.json"
""")
    executable(place / "bin" / "mpirun", """#!/bin/bash
if [[ $1 == --version ]]; then echo 'mpirun (Open MPI) 4.1.4'; exit; fi
while [[ $1 != */roofmark-mpi ]]; do shift; done
exec "$@"
""")
    (place / "hosts").write_text("node1\nnode2\n")
    done = run("accept_rack", profile, place / "hosts", 8, place / "out", "--expect-gpus", 16, ROOFMARK_MPI=program, MPIRUN=place / "bin" / "mpirun")
    # It was made up of other cases than the profile's.
    assert (done.returncode, done.stderr) == (1, "") and done.stdout.endswith(f"NOT ACCEPTED: {place}/out/acceptance.html\n")
    assert (place / "run").read_text() == f"run --expect-ranks 16 --out {place}/out --suite quick --device auto\n"
    page = (place / "out" / "acceptance.html").read_text(encoding="utf-8")
    assert "16 × Synthetic H200" in page or "16 × NVIDIA H200" in page
    assert "GPU-0000000f-0000-0000-0000-000000000000" in page


def test_a_ci_job_fails_on_a_slower_or_unaccepted_build(place, profile):
    baseline = place / "baseline"
    measures(place)
    (place / "made" / "node1" / "cuda-0" / "result.json").rename(place / "first.json")
    for day in (1, 2, 3):
        earlier = json.loads((place / "first.json").read_text()) | {"finished_utc": f"2026-01-0{day}T00:00:00Z"}
        (baseline / f"{day}").mkdir(parents=True)
        (baseline / f"{day}" / "result.json").write_text(json.dumps(earlier))

    def job(name, slower=(1, 1, 1), **options):
        """Each run has bytes of its own: the same file twice is refused."""
        made = place / "made" / "node1" / "cuda-0" / "result.json"
        for number, factor in enumerate(slower, 1):
            program = measures(place, slower=factor, **options)
            (place / f"{number}.json").write_text(made.read_text() + "\n" * number)
        (place / "made" / "node1" / "cuda-1" / "result.json").unlink()
        program.write_text(program.read_text().replace("exit ", f'cp {place}/"${{2##*-}}".json "$2"/node1/cuda-0/result.json\nexit '))
        return run("ci_job", profile, baseline, place / name, ROOFMARK=program, CI_COMMIT_SHA="0123")

    done = job("same")
    assert (done.returncode, done.stderr) == (0, "")
    measured = (place / "run").read_text().splitlines()
    assert len(measured) == 3 and all("--label commit=0123" in line for line in measured) and "runs: 3 in A, 3 in B" in done.stdout
    assert xml.etree.ElementTree.parse(place / "same" / "junit.xml").getroot().tag == "testsuites"
    assert json.loads((place / "same" / "verdict.json").read_text())["accepted"]
    assert job("once", (1, 1.25, 1)).returncode == 0
    done = job("slow", (1.25, 1.25, 1.25))
    assert done.returncode == 1 and "SLOWER" in done.stdout
    assert "NOT ACCEPTED" not in done.stdout  # half of the ceiling is enough for the profile
    done = job("slower", (3, 3, 3))
    assert done.returncode == 1 and "NOT ACCEPTED" in done.stdout
    for status in (1, 3):
        assert job(f"failed{status}", status=status).returncode == status
        assert (place / f"failed{status}" / "junit.xml").exists(), "what was measured is judged"
    assert job("slower and failed", (3, 3, 3), status=3).returncode == 1
    assert job("usage", status=2).returncode == 2


@pytest.mark.parametrize("name, words", [("accept_node", ["out"]), ("accept_rack", ["hosts", 8, "out"]), ("ci_job", ["baseline", "out"])])
def test_an_unknown_profile_is_found_before_anything_is_measured(place, name, words):
    done = run(name, "none.toml", *words, ROOFMARK=measures(place), ROOFMARK_MPI=place / "none")
    assert (done.returncode, done.stdout) == (2, "") and "none.toml" in done.stderr, done.stderr
    assert not (place / "run").exists()


@pytest.mark.parametrize("name", ["accept_node", "accept_rack", "ci_job"])
def test_without_its_arguments_an_example_says_its_usage(name):
    done = run(name)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and done.stderr.startswith("usage: ")


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("name", ["accept_node", "accept_rack", "ci_job", "slurm_prolog"])
def test_an_example_describes_itself(place, name, flag):
    done = run(name, flag)
    lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
    assert (done.returncode, done.stderr) == (0, "") and not (place / "scontrol").exists()
    described = done.stdout.splitlines()
    assert described == [line[1:].removeprefix(" ") for line in lines[4:4 + len(described)]] and lines[4 + len(described)].startswith("set ")


def test_the_shell_scripts_are_checked():
    listed = (ROOT / "scripts" / "test").read_text(encoding="utf-8")
    assert "examples/*" in listed and {path.name for path in EXAMPLES.iterdir()} == {"slurm_prolog", "accept_node", "accept_rack", "ci_job"}
    assert all(os.access(path, os.X_OK) and Path(path).read_text().startswith("#!/usr/bin/env bash\n") for path in EXAMPLES.iterdir())
