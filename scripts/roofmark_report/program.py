# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Shared by the commands: the virtual environment, usage errors, exit statuses. Uses the standard library alone."""

import argparse
import importlib
import os
import re
import shutil
import stat
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

BAD_INPUT = 2  # usage too
NOT_WRITTEN = 3  # or packages are missing
LARGEST_RESULT = 4095 << 20  # bytes (kMostResultBytes of harness/result/journal.hpp)
# What `roofmark` replaces on a terminal (harness/model/printable.cpp), but for line breaks and tabs.
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")


class Problem(Exception):
    """Ends a command with one line on stderr."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Parser(argparse.ArgumentParser):
    """Reports an error in one line."""

    def error(self, message):
        raise Problem(BAD_INPUT, f"{message} (see --help)")


def printable(text):
    """The text without characters that could control a terminal or break the line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def visible(text):
    """The text for a page: without control characters, and without those that change the direction of writing."""
    return _INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", text)


def read_file(path, most=LARGEST_RESULT):
    """The bytes of a file that others may have made. Raises ValueError, beside OSError, if it is larger than `most` or no regular file:
    reading a pipe may never end, reading a device never does."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        there = os.fstat(descriptor)
        if not stat.S_ISREG(there.st_mode):
            raise ValueError("not a regular file")
        if there.st_size > most:
            raise ValueError(f"larger than {most >> 20} MiB")
        return file.read(there.st_size)


def refuse_to_replace(inputs, output):
    """Refuses an output that would replace one of the inputs."""
    if os.path.realpath(output) in map(os.path.realpath, inputs):
        raise Problem(BAD_INPUT, f"{output} would replace a result file (see --help)")


def write(path, parts, named=False):
    """Writes texts to a temporary file and renames it: an existing file stays whole or is replaced. A link is followed only if the user
    named the file: the folder may be somebody else's."""
    target = Path(os.path.realpath(path) if named else path)
    if target.exists() and not target.is_file() and not target.is_symlink():
        raise Problem(NOT_WRITTEN, f"cannot write {path}: it is not a regular file")
    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        temporary.unlink(missing_ok=True)  # a killed process may have left one
        try:
            with open(temporary, "x", encoding="utf-8", errors="replace") as file:
                file.writelines(parts)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Problem(NOT_WRITTEN, f"cannot write {path}: {error.strerror}") from error


def roofmark_program():
    """The path of `roofmark`: ROOFMARK, the builds, the installation that these scripts are part of, or PATH."""
    builds = [ROOT / "build" / preset / "roofmark" for preset in ("release", "cpu-only")]
    places = (os.environ.get("ROOFMARK"), *builds, ROOT / ".." / ".." / "bin" / "roofmark", "roofmark")
    found = next((path for path in map(shutil.which, filter(None, places)) if path), None)
    if not found:
        raise Problem(NOT_WRITTEN, "no program roofmark: build it, or set ROOFMARK to its path")
    return found


def enter_environment():
    """Restarts the command with the Python of the virtual environment, where setup has made one."""
    environment = ROOT / ".venv"
    python = environment / "bin" / "python"
    if python.exists() and not (Path(sys.prefix).exists() and os.path.samefile(sys.prefix, environment)):
        try:
            os.execv(python, [str(python), *sys.argv])
        except OSError:
            pass  # the environment is from another machine: go on with this Python


def run(command):
    """Runs roofmark_report.<command>.main(arguments) as the program of that name; never returns. main returns the exit status, or
    None for 0."""
    enter_environment()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")
    try:
        try:
            module = importlib.import_module(f"roofmark_report.{command}")
        except ModuleNotFoundError as error:
            raise Problem(NOT_WRITTEN, f"no Python package {error.name}: install those of {ROOT / 'scripts' / 'requirements.txt'}") from error
        status = module.main(sys.argv[1:])
        sys.stdout.flush()
    except Problem as problem:
        print(f"{command}: {printable(str(problem))}", file=sys.stderr)
        sys.exit(problem.status)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader went away: nobody is left to tell
        sys.exit(NOT_WRITTEN)
    except OSError as error:
        print(f"{command}: cannot write {printable(str(error.filename or 'to standard output'))}: {error.strerror}", file=sys.stderr)
        sys.exit(NOT_WRITTEN)
    sys.exit(status)
