# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""setup, baseline, test and compute_sanitizer, with everything that they call played by small scripts."""
import re
from pathlib import Path

import pytest
from shell import executable, run, source


@pytest.mark.parametrize("script", ["setup", "baseline", "test"])
def test_what_is_missing_is_listed_and_nothing_is_made(checkout, bare, script):
    before = sorted(checkout.rglob("*"))
    result = run(checkout / "scripts" / script, "--no-install", path=bare)
    assert result.returncode == 3
    for line in ["cmake (Debian: cmake)", "ninja (Debian: ninja-build)", "c++ (Debian: g++)", "python3 (Debian: python3)"]:
        assert f"  command {line}\n" in result.stderr
    assert "CLI11" in result.stderr
    assert "  Python package plotly" in result.stderr
    assert ("  Python package pytest" in result.stderr) == (script == "test")
    assert sorted(checkout.rglob("*")) == before


def test_a_library_that_cmake_does_not_find_is_listed(checkout, bare):
    for tool in ["cmake", "ninja", "c++"]:
        executable(bare / tool, "#!/bin/bash\necho '-- missing fmt'\n")
    executable(bare / "python3", "#!/bin/bash\n")
    result = run(checkout / "scripts/setup", "--no-install", path=bare)
    assert result.returncode == 3
    assert result.stderr == "setup: missing (--no-install):\n  library fmt (Debian: libfmt-dev)\n"


@pytest.mark.skipif(not Path("/usr/bin/dpkg-query").exists(), reason="not Debian")
def test_what_is_missing_is_installed_once_and_nothing_else(checkout, bare, tmp_path):
    calls = tmp_path / "calls"
    executable(bare / "sudo", '#!/bin/bash\n[[ $1 == -n ]] && shift && exec "$@"\n')
    executable(bare / "true", "#!/bin/bash\n")
    executable(bare / "apt-get", f'#!/bin/bash\n[[ $DEBIAN_FRONTEND == noninteractive ]] && echo "$*" >>{calls}\n')
    executable(bare / "apt-cache", "#!/bin/bash\n[[ $2 != python3-venv ]]\n")
    executable(bare / "dpkg-query", '#!/bin/bash\n[[ $3 == libfmt-dev || $3 == python3-venv ]] || echo "ii "\n')
    made = 'mkdir -p "$3/bin"\nprintf "#!/bin/bash\\n" >"$3/bin/python"\n/bin/chmod +x "$3/bin/python"\n'
    executable(bare / "python3", f"#!/bin/bash\necho venv >>{calls}\n{made}")
    first = run(checkout / "scripts/setup", path=bare)
    assert first.returncode == 0
    assert re.search(r"^\S+ \S+ has no package python3-venv\ninstall 1 packages \.\.\. ", first.stdout, re.MULTILINE)
    listed = calls.read_text().splitlines()
    assert listed[0].endswith("update")
    assert listed[1].endswith("install --yes --no-install-recommends libfmt-dev")
    assert listed[2:] == ["venv"]

    calls.write_text("")
    executable(bare / "dpkg-query", '#!/bin/bash\necho "ii "\n')
    second = run(checkout / "scripts/setup", path=bare)
    assert (second.returncode, second.stdout, calls.read_text()) == (0, "", "")


def test_what_is_too_old_is_listed(checkout, bare):
    for tool in ["cmake", "ninja"]:
        executable(bare / tool, "#!/bin/bash\n")
    executable(bare / "c++", "#!/bin/bash\nread -d '' text; [[ $text != *'__GNUC__ < 12'* ]]\n")
    executable(bare / "python3", "#!/bin/bash\n[[ $2 != *version_info* ]]\n")
    result = run(checkout / "scripts/setup", "--no-install", path=bare)
    assert (result.returncode, result.stderr) == (3, "setup: missing (--no-install):\n  GCC 12 or newer\n  Python 3.11 or newer\n")


@pytest.mark.parametrize(
    "command",
    [["setup", "--bogus"], ["test", "--bogus"], ["setup", "now"], ["baseline", "--out"], ["compute_sanitizer", "--bogus"],
     ["baseline", "--sweet", "quick"], ["baseline", "quick"], ["baseline", "--suite", "quik"], ["baseline", "--data=ones"],
     ["baseline", "--seed"], ["baseline", "--bogus", "--seed", "1"], ["baseline", "--toolkit", "conda"], ["setup", "--toolkit"],
     ["setup", "--gpus=hopper"], ["baseline", "--gpus", "9.0"], ["test", "--gpus", "90a"]],
    ids=" ".join,
)
def test_usage_errors_come_before_all_else(checkout, bare, command):
    before = sorted(checkout.rglob("*"))
    result = run(checkout / "scripts" / command[0], *command[1:], path=bare)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert command[1].split("=")[0] in result.stderr
    assert sorted(checkout.rglob("*")) == before


def test_baseline_takes_what_run_takes(built, bare):
    flags = ["--device", "cuda:1", "--suite=quick", "--label", "site=a|b", "--filter=(a|b)", "--benchmark_filter=x", "--only-device"]
    assert baseline(built, bare, *flags).returncode == 0


@pytest.mark.parametrize("script", ["setup", "baseline", "test", "compute_sanitizer"])
def test_help(checkout, bare, script):
    result = run(checkout / "scripts" / script, "--help", path=bare)
    assert result.returncode == 0
    assert result.stdout.startswith(f"usage: ./scripts/{script} ")


@pytest.mark.parametrize("script", ["setup", "baseline", "test", "compute_sanitizer", "mpirun_hosts"])
def test_help_that_cannot_be_written_starts_nothing(checkout, bare, script):
    before = sorted(checkout.rglob("*"))
    result = run("bash", "-c", f"{checkout}/scripts/{script} --help >/dev/full", path=bare)
    assert result.returncode == 3
    assert sorted(checkout.rglob("*")) == before


@pytest.mark.parametrize(
    "prints, architectures",
    [
        ("9.0", "90a-real"),
        ("8.0\n9.0\n9.0\n12.0", "120-real;80-real;90a-real"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", ""),
        ('Field "compute_cap" is not a valid field to query.', ""),
    ],
)
def test_the_build_is_for_the_gpus_that_are_here(checkout, bare, prints, architectures):
    executable(bare / "nvidia-smi", f"#!/bin/bash\ncat <<'END'\n{prints}\nEND\n")
    assert source(checkout, bare, "gpu_architectures").stdout == architectures


def test_no_gpu_no_architectures(checkout, bare):
    result = source(checkout, bare, "gpu_architectures")
    assert (result.returncode, result.stdout) == (0, "")


def test_a_stage_that_fails_shows_the_end_of_its_log(checkout, bare):
    result = source(checkout, bare, "stage 'break it' bash -c 'echo the reason; exit 7'; echo not reached")
    assert result.returncode == 3
    assert result.stdout == "break it ... failed\n"
    assert "the reason\n" in result.stderr
    log = Path(result.stderr.split("its whole output is in ")[1].strip())
    assert log.read_text() == "the reason\n"


@pytest.fixture
def built(checkout, bare):
    """A tree in which setup and build have nothing to do, and whose roofmark writes what it was called with."""
    executable(checkout / "scripts/setup", "#!/bin/bash\n")
    executable(bare / "cmake", "#!/bin/bash\n")
    executable(
        checkout / "build/cpu-only/roofmark",
        """#!/bin/bash
        while [[ $1 != --out ]]; do before+="$1 "; shift; done
        out=$2
        for folder in ${FOLDERS:-.}; do mkdir -p "$out/$folder"; echo "$before ${*:3}" >"$out/$folder/result.json"; done
        exit "${STATUS:-0}"
        """,
    )
    executable(checkout / "scripts/report", '#!/bin/bash\necho reported >"${1%/*}/report.html"\n')
    return checkout


def baseline(built, bare, *flags, **environment):
    words = [f"{name}={value}" for name, value in environment.items()]
    return run("env", *words, str(built / "scripts/baseline"), *flags, path=bare)


def test_baseline_measures_the_baseline_suite_and_reports(built, bare):
    result = baseline(built, bare, "--quiet")
    assert result.returncode == 0
    [folder] = (built / "results/local").glob("*/*")
    assert (folder / "result.json").read_text().split() == ["run", "--suite", "baseline", "--quiet"]
    assert (folder / "report.html").read_text() == "reported\n"
    assert f"report: {folder}/report.html" in result.stdout.replace("/./", "/")


@pytest.mark.parametrize("suite", [["--suite", "quick"], ["--suite=quick"]], ids=" ".join)
@pytest.mark.parametrize("joined", [False, True])
def test_baseline_leaves_suite_and_out_to_the_flags(built, bare, tmp_path, suite, joined):
    out = tmp_path / "chosen here"
    flags = [f"--out={out}"] if joined else ["--out", str(out)]
    assert baseline(built, bare, *suite, *flags).returncode == 0
    assert (out / "result.json").read_text().split() == ["run", *suite]
    assert not (built / "results").exists()


@pytest.mark.parametrize("status", [1, 3, 130])
def test_baseline_reports_and_passes_on_the_status(built, bare, tmp_path, status):
    result = baseline(built, bare, "--out", str(tmp_path / "out"), STATUS=status)
    assert result.returncode == status
    assert (tmp_path / "out/report.html").exists()


def test_baseline_reports_on_every_device(built, bare, tmp_path):
    assert baseline(built, bare, "--device", "all", "--out", str(tmp_path), FOLDERS="cpu cuda:0").returncode == 0
    assert {path.parent.name for path in tmp_path.glob("*/report.html")} == {"cpu", "cuda:0"}


def test_a_report_that_fails_is_no_success(built, bare, tmp_path):
    executable(built / "scripts/report", "#!/bin/bash\nexit 1\n")
    assert baseline(built, bare, "--out", str(tmp_path / "out")).returncode == 3
    assert baseline(built, bare, "--out", str(tmp_path / "out"), STATUS=1).returncode == 1


CLEAN = {"memcheck": "ERROR SUMMARY: 0 errors", "racecheck": "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)",
         "initcheck": "ERROR SUMMARY: 0 errors", "synccheck": "ERROR SUMMARY: 0 errors"}


@pytest.fixture
def sanitizer(checkout, bare, tmp_path):
    """A GPU, a contract test of two families, and a compute-sanitizer that prints and ends as SAYS_<tool>_<family> has it."""
    executable(bare / "nvidia-smi", "#!/bin/bash\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\n")
    executable(checkout / "build/dev/tests/bench_contract_test", """#!/bin/bash
        [[ $* == *--gtest_list_tests*"--gtest_filter=Gpu/*"* ]] || exit 9
        echo 'Running main() from gmock_main.cc'
        echo 'Gpu/Contract.'
        echo '  HoldsForEveryCase/stream  # GetParam() = stream on cuda:0'
        echo '  HoldsForEveryCase/gemm  # GetParam() = gemm on cuda:0'
        """)
    clean = "\n".join(f"{tool}) says='{summary}' ;;" for tool, summary in CLEAN.items())
    executable(bare / "compute-sanitizer", f"""#!/bin/bash
        echo "$*" >>{tmp_path}/calls
        while [[ $1 != --tool ]]; do shift; done
        tool=$2
        case $tool in
        {clean}
        esac
        family=${{*: -1}}
        family=${{family##*/}}
        other=PRINTS_${{tool}}_$family ends=ENDS_${{tool}}_$family
        echo "${{!other-========= $says}}"
        exit "${{!ends-0}}"
        """)
    return lambda **environment: run("env", *(f"{name}={value}" for name, value in environment.items()),
                                     str(checkout / "scripts/compute_sanitizer"), path=bare)


def test_the_sanitizer_runs_every_tool_on_every_family(sanitizer, checkout, tmp_path):
    result = sanitizer()
    assert (result.returncode, result.stderr) == (0, "")
    pairs = [(tool, family) for tool in CLEAN for family in ("stream", "gemm")]
    assert [line.split() for line in result.stdout.splitlines()] == [[tool, family, "...", "clean"] for tool, family in pairs]
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[-1] for call in calls] == [f"--gtest_filter=Gpu/Contract.HoldsForEveryCase/{family}" for _, family in pairs]
    for tool, family in pairs:
        assert CLEAN[tool] in (checkout / f"build/dev/logs/compute-sanitizer-{tool}-{family}.log").read_text()


@pytest.mark.parametrize("environment, status, said", [
    ({"PRINTS_racecheck_gemm": "========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)"}, 1, "found: 2 hazards"),
    ({"PRINTS_memcheck_gemm": "========= ERROR SUMMARY: 12 errors", "ENDS_memcheck_gemm": 86}, 1, "found: 12 errors"),
    ({"ENDS_synccheck_stream": 1}, 1, "failed with exit status 1"),
    ({"PRINTS_initcheck_gemm": "killed", "ENDS_initcheck_gemm": 137}, 1, "failed with exit status 137"),
    ({"PRINTS_initcheck_gemm": "nothing of the kind"}, 3, "no summary, so not checked"),
    ({"PRINTS_initcheck_gemm": "[  SKIPPED ] Gpu/Contract.HoldsForEveryCase/gemm"}, 3, "skipped, so not checked"),
    ({"PRINTS_memcheck_stream": "[  SKIPPED ] it", "PRINTS_memcheck_gemm": "========= ERROR SUMMARY: 1 error"}, 1, "found: 1 error"),
    ({"PRINTS_memcheck_stream": "========= ERROR SUMMARY: 1 error", "PRINTS_memcheck_gemm": "[  SKIPPED ] it"}, 1, "skipped"),
], ids=str)
def test_what_the_sanitizer_does_not_call_clean_is_no_success(sanitizer, environment, status, said):
    result = sanitizer(**environment)
    assert result.returncode == status
    [line] = [line for line in result.stdout.splitlines() if said in line]
    assert Path(line.rsplit("(", 1)[1].rstrip(")")).exists()
    assert result.stdout.count("\n") == 8


def test_without_a_sanitizer_a_gpu_or_a_build_the_way_out_is_said(sanitizer, checkout, bare):
    (checkout / "build/dev/tests/bench_contract_test").unlink()
    for missing, said in [("the build", "cmake --preset dev"), ("nvidia-smi", "no GPU"), ("compute-sanitizer", "CUDA toolkit")]:
        (bare / missing).unlink(missing_ok=True)
        result = sanitizer(CUDA_PATH="/nonexistent")
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (3, "", 1), missing
        assert said in result.stderr
