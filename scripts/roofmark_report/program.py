# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What the commands share: their Python, their usage errors, their exit statuses. Needs the standard library alone."""

import argparse
import importlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

BAD_INPUT = 2  # usage too
NOT_WRITTEN = 3  # or packages are missing


class Problem(Exception):
    """Ends a command with one line on stderr."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Parser(argparse.ArgumentParser):
    """Its errors are one line."""

    def error(self, message):
        raise Problem(BAD_INPUT, f"{message} (see --help)")


def printable(text):
    """The text with what could steer a terminal, or break the line, replaced."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def enter_environment():
    """Starts the same command again with the virtual environment's Python, where setup has made one and this is another."""
    environment = ROOT / ".venv"
    python = environment / "bin" / "python"
    if python.exists() and not (Path(sys.prefix).exists() and os.path.samefile(sys.prefix, environment)):
        try:
            os.execv(python, [str(python), *sys.argv])
        except OSError:
            pass  # an environment of another machine: this Python may do


def run(command):
    """Runs roofmark_report.<command>.main(arguments) as the program of that name; never returns."""
    enter_environment()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")
    try:
        try:
            module = importlib.import_module(f"roofmark_report.{command}")
        except ModuleNotFoundError as error:
            raise Problem(NOT_WRITTEN, f"no Python package {error.name}: ./scripts/setup installs scripts/requirements.txt") from error
        module.main(sys.argv[1:])
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
        print(f"{command}: cannot write: {error.strerror}", file=sys.stderr)
        sys.exit(NOT_WRITTEN)
    sys.exit(0)
