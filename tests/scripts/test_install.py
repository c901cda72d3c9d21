# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The installed tree, moved away from where it was installed."""
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = os.environ.get("ROOFMARK_BUILD")
CACHE = (Path(BUILD) / "CMakeCache.txt").read_text() if BUILD else ""
HAS_CUDA = bool(re.search(r"^CMAKE_CUDA_COMPILER:\w+=/", CACHE, re.M)) and "ROOFMARK_CUDA:BOOL=OFF" not in CACHE
CARRIES_CUDA = "ROOFMARK_CARRY_CUDA:BOOL=ON" in CACHE

def libraries(program):
    """{name: where the loader finds it} of all that the program needs, and what that needs."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(re.match(r"\s*(\S+)(?: => (.*?))?(?: \(0x\w+\))?$", line).groups() for line in lines)


# glibc, the system's C++ runtime and the CUDA libraries are the node's, except those that it was asked to carry.
SYSTEMS_RUNTIME = BUILD and re.match(r"(/usr)?/lib", libraries(os.environ["ROOFMARK"])["libstdc++.so.6"])
NODES_OWN = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|util)" + (r"|lib(stdc\+\+|gcc_s)" if SYSTEMS_RUNTIME else "")
                       + (r"|libcu(?!blasLt)\w+|libnv\w+" if CARRIES_CUDA else r"|libcu\w+|libnccl|libnv\w+") + r")\.so")

pytestmark = pytest.mark.skipif(not BUILD, reason="ROOFMARK_BUILD names no build")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder / "first"], check=True, capture_output=True)
    yield (folder / "first").rename(folder / "moved")
    # pytest would keep that of the last three runs, each with gigabytes of CUDA.
    shutil.rmtree(folder)


def test_it_carries_its_libraries(tree):
    found = libraries(tree / "bin/roofmark")
    carried = {name: where for name, where in found.items() if not NODES_OWN.match(Path(name).name)}
    assert any(name.startswith("libbenchmark.so") for name in carried)
    for name, where in carried.items():
        assert Path(where).resolve().is_relative_to(tree / "lib"), f"{name} comes from {where}"


def places_of_libraries(program):
    """What the program itself tells the loader."""
    said = subprocess.run(["readelf", "--dynamic", program], capture_output=True, text=True, check=True).stdout
    return [place for found in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", said) for place in found.split(":")]


def test_no_program_takes_libraries_from_the_current_folder(tree):
    """To the loader, an empty part is the current folder, which may be one that others sent."""
    programs = [path for path in (Path(BUILD) / "roofmark", Path(BUILD) / "roofmark-mpi", Path(BUILD) / "roofmark-new-process") if path.is_file()]
    assert programs
    for program in programs:
        assert all(place.startswith(("/", "$ORIGIN/")) for place in places_of_libraries(program)), program
    installed = [*tree.glob("bin/roofmark*"), *tree.glob("libexec/roofmark/roofmark*")]
    assert len(installed) == len(programs)
    for program in installed:
        assert {place.startswith("$ORIGIN/") for place in places_of_libraries(program)} == {True}, program


def test_it_carries_nothing_of_the_nodes(tree):
    assert [path.name for path in tree.rglob("*.so*") if NODES_OWN.match(path.name)] == []


@pytest.mark.skipif(not CARRIES_CUDA, reason="the build does not carry CUDA's libraries (ROOFMARK_CARRY_CUDA)")
def test_of_cuda_it_needs_the_driver_alone(tree):
    linked = libraries(tree / "bin/roofmark")
    assert not any(name.startswith("libcudart") for name in linked)
    [cublas] = [Path(where) for name, where in linked.items() if name.startswith("libcublasLt")]
    assert cublas.resolve().is_relative_to(tree / "lib/roofmark")
    assert (tree / "lib/roofmark/libnccl.so.2").is_file() == ("NCCL_LIBRARY:FILEPATH=/" in CACHE)


@pytest.fixture(scope="module")
def environment():
    """Where the CUDA libraries are that the tree does not carry."""
    if CARRIES_CUDA:
        return {}
    built = libraries(os.environ["ROOFMARK"])
    return {"LD_LIBRARY_PATH": ":".join({str(Path(where).parent) for name, where in built.items() if name.startswith("libcu")})}


def test_it_runs_where_it_was_moved_to(tree, environment):
    result = subprocess.run([tree / "bin/roofmark", "list", "--device", "cpu"], env=environment, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(not HAS_CUDA, reason="the build is without CUDA")
def test_the_process_that_it_starts_runs_where_roofmark_looks_for_it(tree):
    program = tree / "libexec/roofmark/roofmark-new-process"
    assert program.is_file()
    for name, where in libraries(program).items():
        assert NODES_OWN.match(Path(name).name) or Path(where).resolve().is_relative_to(tree / "lib"), f"{name} comes from {where}"
    here, there = socket.socketpair()
    with here, there:
        # It ends after the last of the steps that it is asked for, the first of which takes no GPU.
        done = subprocess.run([program, "0", "main"], stdin=there, env={}, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr, here.recv(2)) == (0, "", "", b".")


@pytest.mark.skipif(HAS_CUDA, reason="the build is with CUDA")
def test_without_cuda_there_is_no_process_to_start(tree):
    assert not (tree / "libexec").exists()


def test_its_report_tool_needs_nothing_of_the_repository(tree):
    tool = tree / "share/roofmark/scripts/report"
    assert os.access(tool, os.X_OK)
    result = subprocess.run([sys.executable, tool, "--help"], capture_output=True, text=True, cwd="/", env={}, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")


def test_no_message_names_a_file_that_is_not_there(tree):
    share = tree / "share/roofmark"
    texts = [path for path in [*(tree / "bin").iterdir(), *(share / "scripts").rglob("*")] if path.is_file() and path.suffix != ".pyc"]
    named = {}
    for path in texts:
        for found in re.findall(rb"(?<![$\w])(?:scripts/[\w/.-]*\w|docs/[\w-]+\.\w+|results/(?:schema|profiles)[\w/.-]*\w|(?:README|CONTRIBUTING)\.md)", path.read_bytes()):
            named.setdefault(found.decode(), str(path.relative_to(tree)))
    assert "docs/method.md" in named
    assert {name: where for name, where in named.items() if not (share / name).exists()} == {}


def test_it_has_the_documentation_of_its_programs(tree):
    share = tree / "share"
    assert (share / "roofmark/README.md").exists() and (share / "roofmark/docs/method.md").exists()
    for program in (tree / "bin").iterdir():
        page = (share / f"man/man1/{program.name}.1").read_text()
        assert f".SH NAME\n{program.name} - ".replace("-", "\\-") in page
        completion = share / "bash-completion/completions" / program.name
        assert f"complete -o default -F _{program.name.replace('-', '_')} {program.name}\n" in completion.read_text()


def test_it_holds_nothing_to_build_with(tree):
    names = {path.name for path in tree.rglob("*")}
    assert not {"setup", "baseline", "build.sh", "run_flags", "test", "requirements_cuda.txt", "requirements_cudnn.txt"} & names
    assert "roofmark-selftest" not in names, "the component of the tests was not asked for"


@pytest.mark.parametrize("script", ["examples/accept_node", "examples/ci_job"])
def test_its_examples_find_its_program(tree, tmp_path, environment, script):
    """The program of the tree refuses a suite that it does not know."""
    done = subprocess.run([tree / "share/roofmark/scripts" / script, "cpu", tmp_path, tmp_path / "out"], capture_output=True, text=True, timeout=60,
                          env=environment | {"PATH": "/usr/bin:/bin", "ROOFMARK_SUITE": "none"})
    assert done.returncode == 2 and done.stderr.startswith("roofmark: --suite: 'none' is not one of "), done


@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun")
def test_its_launcher_starts_its_program(tree):
    if not (tree / "bin/roofmark-mpi").exists():
        pytest.skip("the build is without MPI")
    done = subprocess.run([tree / "share/roofmark/scripts/mpirun_hosts", "--print"], capture_output=True, text=True, timeout=60)
    [program] = [word for word in done.stdout.split() if word.endswith("/roofmark-mpi")]
    assert (done.returncode, done.stderr) == (0, "") and os.path.samefile(program, tree / "bin/roofmark-mpi")
