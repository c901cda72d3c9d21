# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the shell scripts of a copy of the checkout, with a PATH of small scripts in place of what they call."""
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = "bash env basename dirname cat cmp cp grep find ln mktemp mkdir rm sed sort tail uname".split()


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def bare_path(folder):
    """A PATH that has what every system has, and nothing to build with."""
    folder.mkdir()
    for tool in TOOLS:
        (folder / tool).symlink_to(shutil.which(tool))
    return folder


def copy_of_checkout(root):
    """The scripts in a tree of their own, so that nothing is written to the real one."""
    shutil.copytree(ROOT / "scripts", root / "scripts")
    shutil.copytree(ROOT / "cmake", root / "cmake")
    return root


def run(*command, path):
    environment = {"PATH": str(path), "HOME": "/nonexistent"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def source(checkout, path, commands):
    """Runs commands that know the functions of the scripts."""
    return run("bash", "-c", f"source {checkout}/scripts/build.sh\n{commands}", path=path)
