# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Which CUDA toolkit the scripts build with, and its installation from PyPI, with a stand-in driver and a pip that downloads nothing."""
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shell import ROOT, executable, run, source

COMPILER = os.environ.get("CXX") or shutil.which("c++")
PINNED = re.search(r"^cuda-toolkit\[.*\]==(.*)$", (ROOT / "scripts/requirements_cuda.txt").read_text(), re.MULTILINE)[1]


def test_the_toolkit_from_pypi_is_one_without_the_miscompilation():
    assert tuple(map(int, PINNED.split("."))) >= (13, 2, 2)


@pytest.mark.parametrize("wanted, driver, nvcc, toolkit", [
    ("", "13.0", "13.0.88", "system"),
    ("", "13.0", "13.5.37", "system"),  # a driver runs what newer toolkits of its major version compile
    ("", "13.0", "12.4.131", "system"),
    ("", "13.0", "", "pypi"),
    ("", "13.0", "12.3.107", "pypi"),
    ("", "13.0", "14.0.12", "pypi"),
    ("", "14.1", "", "pypi"),
    ("", "12.8", "12.9.86", "system"),
    ("", "", "", "pypi"),  # --gpus on a machine without any
    ("", "", "12.4.131", "system"),
    ("pypi", "13.0", "13.0.88", "pypi"),
    ("system", "13.0", "13.0.88", "system"),
], ids=str)
def test_the_toolkit_is_the_systems_where_it_serves(checkout, bare, wanted, driver, nvcc, toolkit):
    result = source(checkout, bare, f"toolkit_for '{wanted}' '{driver}' '{nvcc}' ''")
    assert (result.returncode, result.stdout, result.stderr) == (0, toolkit + "\n", "")


@pytest.mark.parametrize("wanted, driver, nvcc, said", [
    ("", "12.8", "", "no nvcc is found, and PyPI has no nvcc for drivers of CUDA 12 (this one: 12.8): install a CUDA toolkit from 12.4 to 12.x"),
    ("", "12.8", "13.0.88", "nvcc is 13.0.88, and the driver supports CUDA 12.8, and PyPI has no nvcc"),
    ("pypi", "12.8", "12.8.93", "--toolkit pypi, and PyPI has no nvcc for drivers of CUDA 12"),
    ("", "12.2", "12.2.140", "the driver supports CUDA 12.2, and 12.4 or newer is needed: update the driver"),
    ("system", "13.0", "", "--toolkit system: no nvcc is found"),
    ("system", "13.0", "12.2.140", "--toolkit system: nvcc is 12.2.140, and 12.4 or newer is needed"),
], ids=str)
def test_where_no_toolkit_serves_one_line_says_why(checkout, bare, wanted, driver, nvcc, said):
    result = source(checkout, bare, f"toolkit_for '{wanted}' '{driver}' '{nvcc}' ''; echo not reached")
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (3, "", 1)
    assert said in result.stderr


def test_an_nvcc_that_does_not_know_the_gpu_does_not_serve(checkout, bare):
    old = bare / "nvcc"
    executable(old, "#!/bin/bash\n[[ $1 != --list-gpu-arch ]] || printf 'compute_%s\\n' 80 90\n")
    for gpus, beyond in [("80,90a", ""), ("90a,100", "100")]:
        assert source(checkout, bare, f"take_cuda_flag --gpus {gpus}; architectures=$(gpu_architectures); beyond_nvcc {old}").stdout == beyond
    assert source(checkout, bare, "toolkit_for '' 13.0 12.6.85 100").stdout == "pypi\n"
    refused = source(checkout, bare, "toolkit_for system 13.0 12.6.85 100")
    assert refused.returncode == 3 and "nvcc is 12.6.85, which does not know compute capability 100" in refused.stderr


def test_a_gpu_that_is_too_old_is_refused_before_anything_is_downloaded(checkout, bare):
    refused = source(checkout, bare, "take_cuda_flag --gpus 75; choose_toolkit")
    assert refused.returncode == 3 and "compute capability 75: GPUs of 8.0 and newer are supported" in refused.stderr


def test_gpus_without_a_driver_are_counted(checkout, bare, tmp_path):
    devices = [("0x10de", "0x030200"), ("0x10de", "0x030200"), ("0x10de", "0x030000"), ("0x10de", "0x068000"), ("0x1a03", "0x030200")]
    for number, (vendor, kind) in enumerate(devices):
        folder = tmp_path / f"sys/bus/pci/devices/0000:{number:02x}:00.0"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(vendor + "\n")
        (folder / "class").write_text(kind + "\n")
    assert source(checkout, bare, f"gpus_to_compute_with {tmp_path}").stdout == "2\n"
    assert source(checkout, bare, f"gpus_to_compute_with {tmp_path}/nothing").stdout == "0\n"


def test_gpus_are_named_by_their_compute_capability(checkout, bare):
    executable(bare / "nvidia-smi", "#!/bin/bash\necho 8.0\n")
    assert source(checkout, bare, "take_cuda_flag --gpus 90,100,120 --seed; gpu_architectures").stdout == "100-real;120-real;90a-real"
    assert source(checkout, bare, "gpu_architectures").stdout == "80-real"


@pytest.fixture
def node(checkout, bare, tmp_path):
    """A node with Python, a GPU, a driver of a CUDA version and, as CUDACXX, an nvcc. Its pip puts files where the packages have them."""
    executable(bare / "python3", f'#!/bin/bash\nexec {sys.executable} "$@"\n')
    executable(bare / "nvidia-smi", "#!/bin/bash\necho 9.0\n")
    executable(bare / "dpkg-query", '#!/bin/bash\necho "ii "\n')
    executable(checkout / ".venv/bin/python", f"""#!/bin/bash
        [[ $1 == -c ]] && exit
        echo "$*" >>{tmp_path}/pip
        while [[ $1 != --target ]]; do shift; done
        mkdir -p "$2"/nvidia/{{cu13/bin,cu13/lib,nccl/include,nccl/lib}}
        echo "#!/bin/bash" >"$2/nvidia/cu13/bin/nvcc"
        echo cublas >"$2/nvidia/cu13/lib/libcublasLt.so.13"
        echo nccl >"$2/nvidia/nccl/lib/libnccl.so.2"
        echo header >"$2/nvidia/nccl/include/nccl.h"
        """)
    shutil.copy(checkout / "scripts/requirements.txt", checkout / ".venv/installed")

    def setup(*flags, driver="13000", nvcc="12.2.140"):
        if driver:
            subprocess.run([COMPILER, "-shared", "-fPIC", f"-DDRIVER_CUDA={driver}", "-o", tmp_path / "libcuda.so.1",
                            ROOT / "tests/stand_ins/driver.cpp"], check=True)
        executable(tmp_path / "nvcc", f"#!/bin/bash\necho 'Cuda compilation tools, release {nvcc[:4]}, V{nvcc}'\n")
        return run("env", f"LD_LIBRARY_PATH={tmp_path}", f"CUDACXX={tmp_path}/nvcc", str(checkout / "scripts/setup"), *flags, path=bare)

    return setup


needs_debian = pytest.mark.skipif(not Path("/usr/bin/dpkg-query").exists() or not COMPILER, reason="not Debian, or no compiler")


@needs_debian
def test_a_node_with_a_driver_alone_gets_a_toolkit_once(node, checkout, tmp_path):
    tree = checkout / ".venv/cuda"
    result = node()
    assert (result.returncode, result.stderr) == (0, "")
    [line] = result.stdout.splitlines()
    assert line.startswith(f"CUDA toolkit {PINNED} from PyPI in .venv/cuda (")
    if platform.machine() in ("x86_64", "aarch64"):
        assert re.search(r"\(\d+ MB to download", line)
    assert (tree / "bin/nvcc").read_text() == "#!/bin/bash\n"
    # The linker's names, and the places where CMake and nvcc look.
    assert (tree / "lib64/libcublasLt.so").read_text() == "cublas\n" and (tree / "lib/libnccl.so").read_text() == "nccl\n"
    assert (tree / "include/nccl.h").exists()
    assert len((tmp_path / "pip").read_text().splitlines()) == 1

    again = node()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    more = node("--with-cudnn")
    assert platform.machine() != "x86_64" or "; cuDNN, 520 MB more to download) ... " in more.stdout
    assert more.returncode == 0 and len((tmp_path / "pip").read_text().splitlines()) == 2
    assert "nvidia-cudnn-cu13==" in (tree / "installed").read_text()
    # What is there and no longer asked for is no reason to download again, nor is a comment.
    with open(checkout / "scripts/requirements_cuda.txt", "a") as file:
        file.write("# another word\n")
    assert node().stdout == ""


@needs_debian
def test_a_download_that_fails_is_no_toolkit(node, checkout):
    pip = checkout / ".venv/bin/python"
    works = pip.read_text()
    executable(pip, "#!/bin/bash\n[[ $1 == -c ]] && exit\necho no network >&2\nexit 1\n")
    result = node()
    assert result.returncode == 3 and "no network" in result.stderr
    executable(pip, works)
    assert node().stdout.startswith("CUDA toolkit")


@needs_debian
def test_an_installation_that_was_cut_off_starts_again(node, checkout, tmp_path):
    (checkout / ".venv/cuda/bin").mkdir(parents=True)
    (checkout / ".venv/cuda/bin/stale").write_text("")
    assert node().returncode == 0
    assert (tmp_path / "pip").exists() and not (checkout / ".venv/cuda/bin/stale").exists()


@needs_debian
@pytest.mark.parametrize("flags, options", [
    ([], {"nvcc": "13.0.88"}), (["--toolkit", "none"], {}), (["--toolkit", "system"], {"nvcc": "12.6.85"}),
    (["--toolkit=none"], {"driver": "12020"}),
], ids=str)
def test_nothing_is_downloaded_without_need(node, tmp_path, flags, options):
    result = node(*flags, **options)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert not (tmp_path / "pip").exists()


@needs_debian
@pytest.mark.parametrize("flags, options, said", [
    ([], {"driver": "12080"}, "PyPI has no nvcc for drivers of CUDA 12"),
    ([], {"driver": "12020"}, "the driver supports CUDA 12.2, and 12.4 or newer is needed"),
    ([], {"driver": ""}, "nvidia-smi lists a GPU, but libcuda.so.1 cannot be loaded"),
    (["--with-cudnn"], {"nvcc": "13.0.88"}, "--with-cudnn needs --toolkit pypi"),
], ids=str)
def test_what_cannot_be_built_ends_before_anything_is_installed(node, tmp_path, flags, options, said):
    if not options.get("driver", "13000") and subprocess.run([sys.executable, "-c", 'import ctypes; ctypes.CDLL("libcuda.so.1")']).returncode == 0:
        pytest.skip("this machine has a driver")
    result = node(*flags, **options)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (3, "", 1)
    assert said in result.stderr and not (tmp_path / "pip").exists()


@needs_debian
def test_without_installing_the_missing_toolkit_is_listed(node, bare, tmp_path):
    executable(bare / "cmake", "#!/bin/bash\n")
    for tool in ["ninja", "c++"]:
        executable(bare / tool, "#!/bin/bash\n")
    result = node("--no-install")
    assert result.returncode == 3 and f"  CUDA toolkit {PINNED} in .venv/cuda" in result.stderr
    assert not (tmp_path / "pip").exists()


@pytest.fixture
def cmake(checkout, bare, tmp_path):
    """Records how it is called; a configured build remembers its compiler."""
    executable(bare / "cmake", f"""#!/bin/bash
        echo "$*" >>{tmp_path}/cmake
        [[ $* != *--preset* ]] || {{
          mkdir -p {checkout}/build/$4
          [[ $* != *CUDA_COMPILER=* ]] || sed 's/.*-D\\(CMAKE_CUDA_COMPILER\\)=\\([^ ]*\\).*/\\1:FILEPATH=\\2/' <<<"$*" >{checkout}/build/$4/CMakeCache.txt
        }}
        """)
    return lambda: (tmp_path / "cmake").read_text().splitlines()


def test_a_build_begins_afresh_with_another_compiler(checkout, bare, cmake):
    def configure(nvcc):
        assert source(checkout, bare, f"architectures=90a-real nvcc={nvcc}; configure release").returncode == 0
        return cmake()[-1]

    assert "--preset release -DCMAKE_CUDA_ARCHITECTURES=90a-real -DCMAKE_CUDA_COMPILER=/a/bin/nvcc" in configure("/a/bin/nvcc")
    assert "--fresh" not in configure("/a/bin/nvcc")
    assert configure("/b/bin/nvcc").endswith("--fresh")
    # The same path, but another toolkit.
    own = checkout / ".venv/cuda"
    configure(own / "bin/nvcc")
    assert "--fresh" not in configure(own / "bin/nvcc")
    own.mkdir(parents=True)
    (own / "installed").write_text("")
    later = (checkout / "build/release/CMakeCache.txt").stat().st_mtime + 2
    os.utime(own / "installed", (later, later))
    assert configure(own / "bin/nvcc").endswith("--fresh")


@pytest.mark.parametrize("flags, preset, said", [
    ([], "cpu-only", "--gpus 90a,100 builds for GPUs"), (["--toolkit", "none"], "cpu-only", ""), (["--gpus", "90a"], "release", "")])
def test_baseline_builds_for_gpus_where_there_are_some_or_they_are_named(checkout, bare, cmake, tmp_path, flags, preset, said):
    executable(checkout / "scripts/setup", f'#!/bin/bash\necho "$*" >{tmp_path}/setup\n')
    executable(checkout / f"build/{preset}/roofmark", "#!/bin/bash\n")
    executable(tmp_path / "nvcc", "#!/bin/bash\necho 'release 13.5, V13.5.37'\n")
    result = run("env", f"CUDACXX={tmp_path}/nvcc", str(checkout / "scripts/baseline"), *flags, "--out", str(tmp_path / "out"), path=bare)
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "setup").read_text().split() == flags
    assert f"--preset {preset}" in cmake()[0] and ("-DCMAKE_CUDA_ARCHITECTURES=90a-real" in cmake()[0]) == (preset == "release")
    assert said in result.stdout and ("GPU:" in result.stdout) == bool(said)


@pytest.mark.parametrize("version, warned", [("12.6.85", False), ("12.8.61", True), ("13.2.78", True), ("13.2.86", False), ("13.5.37", False)])
def test_cmake_warns_of_compilers_with_the_miscompilation(tmp_path, version, warned):
    (tmp_path / "check.cmake").write_text(f"include({ROOT}/cmake/toolkit.cmake)\ncheck_toolkit(nvcc {version})\n")
    result = subprocess.run(["cmake", "-P", tmp_path / "check.cmake"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0 and ("can miscompile" in result.stderr) == warned


def test_cmake_refuses_a_toolkit_that_is_too_old(tmp_path):
    (tmp_path / "check.cmake").write_text(f"include({ROOT}/cmake/toolkit.cmake)\ncheck_toolkit(/old/nvcc 12.3.107)\n")
    result = subprocess.run(["cmake", "-P", tmp_path / "check.cmake"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1 and "12.4 or newer is needed, /old/nvcc is '12.3.107'" in " ".join(result.stderr.split())
