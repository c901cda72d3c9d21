# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The words of the command line: one clear line on bad usage, --help, the manual page, completion in bash."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOFMARK = os.environ.get("ROOFMARK")
PROGRAMS = [program for program in (ROOFMARK, os.environ.get("ROOFMARK_MPI")) if program]
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")


def roofmark(*arguments, **options):
    return subprocess.run([ROOFMARK, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def assert_one_line(done, status=2):
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("roofmark: ") and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("arguments, said", [
    ([], "no command; the commands are run, list, info, recover, show, accept, profile; see `roofmark --help`"),
    (["measure"], "unknown command 'measure'; the commands are run, list, info, recover, show, accept, profile; see `roofmark --help`"),
    (["collectives"], "unknown command 'collectives'; it is `roofmark-mpi collectives`; see `roofmark --help`"),
    (["report", "out"], "unknown command 'report'; it is `scripts/report`; see `roofmark --help`"),
    (["lst"], "unknown command 'lst' (did you mean list?); see `roofmark --help`"),
    (["profile", "shw"], "unknown command 'shw' (did you mean show?); see `roofmark profile --help`"),
    (["profile"], "no command; the commands are check, show; see `roofmark profile --help`"),
    (["run", "--turbo"], "unknown flag --turbo; see `roofmark run --help`"),
    (["run", "--outt", "x"], "unknown flag --outt (did you mean --out?); see `roofmark run --help`"),
    (["run", "--outt=x"], "unknown flag --outt (did you mean --out?); see `roofmark run --help`"),
    (["run", "--memory", "0.5"], "unknown flag --memory (did you mean --memory-fraction?); see `roofmark run --help`"),
    (["list", "--seed", "1"], "unknown flag --seed; see `roofmark list --help`"),
    (["run", "-q"], "unknown flag -q; see `roofmark run --help`"),
    (["--suite", "quick"], "unknown flag --suite before a command: write `roofmark run --suite`; see `roofmark --help`"),
    (["run", "--seed", "1", "--seed=2"], "--seed is given twice; see `roofmark run --help`"),
    (["run", "--seed"], "--seed needs a value: NUMBER; see `roofmark run --help`"),
    (["run", "--out", "--quiet"], "--out needs a value: FOLDER; see `roofmark run --help`"),
    (["run", "--quiet=yes"], "--quiet takes no value; see `roofmark run --help`"),
    (["run", "stream"], "unexpected argument 'stream'; see `roofmark run --help`"),
    (["recover", "a", "b"], "unexpected argument 'b'; see `roofmark recover --help`"),
    (["recover"], "RESULT is missing; see `roofmark recover --help`"),
    (["show"], "RESULT is missing; see `roofmark show --help`"),
    (["accept", "a"], "--profile is missing; see `roofmark accept --help`"),
    (["run", "--suite", "huge"], "--suite: 'huge' is not one of smoke, quick, baseline, full, sustained; see `roofmark run --help`"),
    (["run", "--suite", "1"], "--suite: '1' is not one of smoke, quick, baseline, full, sustained; see `roofmark run --help`"),
    (["run", "--data", "ones"], "--data: 'ones' is not one of normal, uniform, zeros; see `roofmark run --help`"),
    (["run", "--cache", "tepid"], "--cache: 'tepid' is not one of cold, warm; see `roofmark run --help`"),
    (["run", "--timeout", "soon"], "--timeout: 'soon' is not a number from 1 to 86400; see `roofmark run --help`"),
    (["run", "--timeout", "0"], "--timeout: '0' is not a number from 1 to 86400; see `roofmark run --help`"),
    (["run", "--memory-fraction", "0"], "--memory-fraction: '0' is not a number from 0.001 to 0.95; see `roofmark run --help`"),
    (["run", "--memory-fraction", "0.96"], "--memory-fraction: '0.96' is not a number from 0.001 to 0.95; see `roofmark run --help`"),
    (["run", "--memory-fraction", "-0.1"], "--memory-fraction: '-0.1' is not a number from 0.001 to 0.95; see `roofmark run --help`"),
    (["run", "--memory-fraction", "nan"], "--memory-fraction: 'nan' is not a number from 0.001 to 0.95; see `roofmark run --help`"),
    (["run", "--max-seconds", "nan"], "--max-seconds: 'nan' is not a number from 0.001 to 3600; see `roofmark run --help`"),
    (["run", "--max-seconds", "0"], "--max-seconds: '0' is not a number from 0.001 to 3600; see `roofmark run --help`"),
    (["run", "--seed", "-1"], f"--seed: '-1' is not a whole number from 0 to {2**64 - 1}; see `roofmark run --help`"),
    (["run", "--seed", str(2**64)], f"--seed: '{2**64}' is not a whole number from 0 to {2**64 - 1}; see `roofmark run --help`"),
    (["run", "--out", ""], "--out: '' is not a folder; see `roofmark run --help`"),
    (["recover", "x", "--out="], "--out needs a value: FOLDER; see `roofmark recover --help`"),
    (["accept", "x", "--profile", "cpu", "--expect-gpus", "1.5"],
     f"--expect-gpus: '1.5' is not a whole number from 1 to {2**30}; see `roofmark accept --help`"),
    (["accept", "x", "--profile", "cpu", "--max-age", "7"], "--max-age: '7' is not an age such as 90s, 15m, 12h or 7d; see `roofmark accept --help`"),
    (["run", "--device", "cpu", "--filter", "["], "--filter '[' is not a regular expression: missing ] for '['; see `roofmark run --help`"),
    (["list", "--device", "cpu", "--exclude", "gemm(a"],
     "--exclude 'gemm(a' is not a regular expression: missing ) for the ( at character 5; see `roofmark list --help`"),
    (["list", "--device", "cpu", "--filter", "^nothing$"],
     "--filter '^nothing$' matches no case of this suite (`list` shows the names); see `roofmark list --help`"),
    (["list", "--device", "cpu", "--exclude", "."], "--exclude '.' leaves no case of this suite; see `roofmark list --help`"),
    (["run", "--label", "site"], "--label 'site' is not key=value; see `roofmark run --help`"),
    (["completion"], "the only completion is `roofmark completion bash`; see `roofmark --help`"),
    (["completion", "zsh"], "the only completion is `roofmark completion bash`; see `roofmark --help`"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_bad_usage_says_in_one_line_what_is_wrong_and_where_help_is(arguments, said, tmp_path):
    done = roofmark(*arguments, cwd=tmp_path)
    assert_one_line(done)
    assert done.stderr == f"roofmark: {said}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--device", "tpu"],
        ["run", "--device", "cuda:x"],
        ["run", "--seconds", "60"],
        ["run", "--suite", "quick", "--seconds", "60"],
        ["run", "--suite", "sustained", "--seconds", "0"],
        ["run", "--suite", "sustained", "--seconds", "nan"],
        ["run", "--suite", "sustained", "--max-seconds", "1"],
        ["run", "--benchmark_format=xml"],
        ["list", "--device", "all"],
        ["info", "--device", "all"],
        ["run", "--device", "all", "--benchmark_list_tests"],
        ["recover", "/nonexistent"],
        ["show", "/nonexistent"],
    ],
    ids=" ".join,
)
def test_other_bad_usage_is_one_line_too(arguments, tmp_path):
    assert_one_line(roofmark(*arguments, cwd=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_no_expression_runs_for_ever_or_crashes():
    done = roofmark("list", "--device", "cpu", "--filter", "(.+)+z$")
    assert_one_line(done)
    assert "matches no case" in done.stderr
    done = roofmark("list", "--device", "cpu", "--filter", "(" * 20_000)
    assert_one_line(done)
    assert "20000 characters, at most 10000" in done.stderr and len(done.stderr) < 200


@pytest.mark.parametrize("flag", ["min_time=1", "repetitions=3", "perf_counters=X", "unknown"])
def test_other_flags_of_google_benchmark_name_those_that_are_taken(flag):
    done = roofmark("run", f"--benchmark_{flag}")
    assert_one_line(done)
    assert "filter, list_tests, format, out, out_format, color" in done.stderr


def test_the_version_has_a_short_flag():
    done = roofmark("-v")
    assert done.returncode == 0 and re.fullmatch(r"roofmark \S+ \(.*\)\n", done.stdout)
    assert roofmark("--version").stdout == done.stdout


def own(program, *words):
    """What the program prints about itself; roofmark-mpi's --help takes MPI, which asks root twice."""
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def commands_of(program, *before):
    section = re.search(r"\ncommands:\n((?:  .*\n)+)", own(program, *before, "--help"))
    return re.findall(r"^  (\w+) ", section[1], re.M) if section else []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: Path(path).name)
def test_the_help_of_every_command_fits_a_terminal_and_has_examples_and_statuses(program):
    name = Path(program).name
    commands = [[command] for command in commands_of(program)]
    commands += [[*command, inner] for command in commands for inner in commands_of(program, *command)]
    assert ["run"] in commands and ["info"] in commands
    for command in [[], *commands]:
        text = own(program, *command, "--help")
        assert max(map(len, text.splitlines())) <= 80, text
        assert f"usage: {' '.join([name, *command])} " in text and "\nflags:\n  -h, --help " in text
        has_commands = "\ncommands:\n" in text
        assert has_commands or "\nExamples:\n  " in text, text
        assert has_commands or re.search(r"\nExit status(?:, [^:\n]+)?:\n  0  .*(?:\n.*)*\n  2  .*", text), text
    for command in ("run", "collectives") if "mpi" in name else ("run",):
        text = own(program, command, "--help")
        assert "\nSuites:\n  smoke " in text and "\nExit status:\n  0 " in text
        section = text[text.index("\nGoogle Benchmark's flags"):text.index("\nExit status:")]
        refused = roofmark("run", "--benchmark_repetitions=3").stderr
        known = re.search("supported Google Benchmark flags: ([a-z_, ]+)", refused)[1].split(", ")
        assert [flag for flag in known if not re.search(rf"^  (?:\w+, )?{flag}\b", section, re.M)] == []


def flags_in(help_text):
    return [" ".join(found).strip() for found in re.findall(r"^  (--\S+)(?: (\S+))?", help_text, re.M)]


def test_baseline_knows_the_flags_of_run():
    listed = [line for line in (ROOT / "scripts" / "run_flags").read_text().splitlines() if not line.startswith("#")]
    assert listed == flags_in(roofmark("run", "--help").stdout)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: Path(path).name)
def test_the_manual_page_has_every_flag_and_no_mistake(program, tmp_path):
    page = tmp_path / "page.1"
    page.write_text(own(program, "man"))
    # What a launcher says of its ranks is not there.
    plain = page.read_text().replace("\\-", "-").replace("\\:", "")
    for command in commands_of(program):
        # Choices that take several lines there.
        for flag in flags_in(re.sub(r"\|\n +", "|", own(program, command, "--help"))):
            assert f"\n.B {flag}\n" in plain, flag
    if not shutil.which("groff"):
        pytest.skip("no groff")
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=80n", page], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    for section in ("NAME", "SYNOPSIS", "COMMANDS", "EXIT STATUS"):
        assert section in re.sub(".\x08", "", done.stdout)


def completed(program, *words):
    """What bash offers for the last word, split as readline splits."""
    name = Path(program).name
    split = [part for word in (name, *words) for part in (re.split(r"(=)", word) if word.startswith("--") else [word]) if part or part == word]
    script = own(program, "completion", "bash") + f"""
        COMP_WORDS=({' '.join(f"'{word}'" for word in split)}) COMP_CWORD={len(split) - 1}
        _{name.replace('-', '_')}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_bash_completes_commands_flags_and_choices():
    assert completed(ROOFMARK, "") == ["run", "list", "info", "recover", "show", "accept", "profile"]
    assert completed(ROOFMARK, "r") == ["run", "recover"]
    assert completed(ROOFMARK, "run", "--s") == ["--suite", "--seed", "--seconds"]
    assert completed(ROOFMARK, "run", "--suite", "") == ["smoke", "quick", "baseline", "full", "sustained"]
    assert completed(ROOFMARK, "run", "--suite", "quick", "--cache=w") == ["warm"]
    assert completed(ROOFMARK, "list", "--device", "") == ["auto", "cpu"]
    assert completed(ROOFMARK, "run", "--device", "a") == ["auto", "all"]
    assert completed(ROOFMARK, "profile", "") == ["check", "show"]
    assert completed(ROOFMARK, "profile", "show", "h2") == ["h200_sxm"]
    assert completed(ROOFMARK, "accept", "result", "--profile", "b") == ["b200", "b300"]
    # Files.
    assert completed(ROOFMARK, "recover", "") == completed(ROOFMARK, "run", "--out", "") == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: Path(path).name)
@pytest.mark.skipif(not shutil.which("shellcheck"), reason="no shellcheck")
def test_the_completion_is_good_bash(program):
    script = own(program, "completion", "bash")
    subprocess.run(["shellcheck", "-"], input=script, text=True, check=True, timeout=60)


@pytest.mark.skipif(len(PROGRAMS) < 2, reason="ROOFMARK_MPI names no program: built without MPI")
def test_roofmark_mpi_completes_its_own_commands():
    program = PROGRAMS[1]
    assert completed(program, "") == ["collectives", "run", "list", "info"]
    assert "--data" not in completed(program, "collectives", "-") and "--data" in completed(program, "run", "-")
