# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""`roofmark profile`: what it shows, and what it finds wrong with a profile."""
import re

import pytest
from conftest import ROOT
from shipped_profiles import ROOFMARK, assert_one_line, roofmark

pytestmark = pytest.mark.skipif(not ROOFMARK, reason="ROOFMARK names no program")


def check_finds(own_profile, keys, what):
    done = roofmark("profile", "check", own_profile(0.7, **({"published": 0.8} | keys)))
    if "has no kernels for" in done.stdout and what not in done.stdout:
        pytest.skip("this build has no kernels for GPUs: it does not check the cases")
    assert done.returncode == 1, done.stdout + done.stderr
    assert what in done.stdout and "own.toml:6" in done.stdout


def test_a_profile_is_shown_with_the_cases_of_the_device_that_is_asked_for():
    shown = roofmark("profile", "show", "cpu", "--device", "cpu").stdout
    assert "\nLimits on " in shown and " (cpu):\n" in shown
    product = shown[shown.index("\nproduct_fp32\n"):shown.index("\nproduct_fp64\n")]
    assert "limit   of_empirical >= 40.0 %, per GPU" in product and "is      share of the ceiling measured in the same run" in product
    assert "(1 of the suite quick)" in product
    done = roofmark("profile", "show", "cpu", "--device", "gpu")
    assert_one_line(done)
    assert "(known: auto, cpu, cuda, cuda:N, all)" in done.stderr
    done = roofmark("profile", "show", "cpu", "--device", "cuda:99")  # as of the other commands, not an error of CUDA's
    assert done.returncode == 3 and re.match("roofmark: no (GPU can be used: |cuda:99 on this host )", done.stderr), done.stderr


def test_a_build_without_kernels_for_the_device_says_that_it_cannot_tell_the_cases():
    shown = roofmark("profile", "show", "h100_sxm").stdout
    unknown = "has no kernels for" in roofmark("profile", "check", "h100_sxm").stdout
    assert ("This build has no kernels for NVIDIA H100" in shown) == unknown
    assert ("(of the suite quick on a node of 8 GPUs)" in shown) == unknown
    assert "(0 of the suite" not in shown


@pytest.mark.parametrize(
    "keys, what",
    [
        ({"cases": "^gemm/fp7/"}, "no case of the suite quick on NVIDIA H200 matches '^gemm/fp7/'"),
        ({"least": 1.2}, "above the ceiling"),
        ({"least": 0.3, "published": 0.8}, "below half the slowest published figure"),
        ({"published": None}, "has no `published`"),
        ({"quantity": "rate", "least": 2e15, "published": 7.9e14, "source": "s"}, "above the ceiling"),
        ({"quantity": "rate", "least": 7.9e11, "published": 7.9e14, "source": "s"}, "every value passes"),
        # Whatever is said to be published: a limit in circulation is 1000 times too low.
        ({"quantity": "rate", "least": 7.9e11, "published": 7.9e11, "source": "s", "mandatory": False}, "is below 5 % of the ceiling, 1.07 PFLOP/s: every value passes"),
        ({"least": 0.04, "published": 0.04, "mandatory": False}, "is below 5 % of the largest share, 1: every value passes"),
        ({"quantity": "cv", "least": None, "most": 1.0}, "most = 1: every value passes"),
        ({"quantity": "cv", "least": None, "most": -0.1}, "most = -0.1: no value passes"),
        ({"quantity": "seconds", "least": None, "most": 1.0, "published": 0.001, "source": "s"}, "most = 1 is above 2 times the published figure, 0.001: every value passes"),
        ({"quantity": "seconds", "least": None, "most": 1e9, "published": None, "source": "s"}, "has no `published`"),
        ({"quantity": "seconds", "least": None, "most": 0.0, "published": 0.001, "source": "s"}, "most = 0: no value passes"),
        ({"cases": None, "quantity": "results.wrong", "least": None, "most": 1e9}, "most = 1e+09: every value passes"),
        ({"cases": None, "quantity": "state.nvlink_links", "least": 0}, "least = 0: every value passes"),
        ({"cases": None, "quantity": "version.CUDNN", "least": "9"}, "which no result states; known are roofmark, driver, vbios, CUDA driver"),
        ({"quantity": "ratio", "least": 50, "published": 1.1, "cases": "algo:tuned"}, "least = 50 is above 2 times the slowest published figure, 1.1: no value passes"),
        ({"quantity": "ratio", "least": 50, "published": None, "mandatory": False, "cases": "algo:tuned"}, "has no `published`"),
        ({"quantity": "temperature", "least": None, "most": 185}, "limits temperature to 185: no device's is below 20 or above 120 C"),
        ({"quantity": "clock", "least": 1.5e9}, "limits clock to 1.5e+09: no device's is below 100 or above 10000 MHz"),
        ({"quantity": "power", "least": None, "most": 600}, "limits power, and no matching case lasts a second"),
        ({"quantity": "settled_of_burst"}, "limits settled_of_burst, and no matching case is a sustained case"),
        ({"quantity": "busbw", "per": "node", "least": 4e11, "published": 4e11, "source": "s"}, "no matching case is a collective"),
        ({"quantity": "drift", "least": None, "most": 0.1}, "limits drift, and no matching case is a ceiling"),
        ({"quantity": "drift", "least": None, "most": 0.1, "cases": "^ceilings/", "suite": "smoke"}, "the suite measures its ceilings only once"),
    ])
def test_what_is_wrong_with_a_profile_is_found(own_profile, keys, what):
    check_finds(own_profile, keys, what)


def test_a_limit_that_an_agreed_clock_does_not_allow_is_found(own_profile):
    profile = own_profile(0.7, published=0.8)
    profile.write_text(profile.read_text() + "\n[agreed]\nclock = 1200\n")
    done = roofmark("profile", "check", profile)
    if "has no kernels for" in done.stdout:
        pytest.skip("this build has no kernels for GPUs: it does not check the cases")
    assert done.returncode == 1 and "rule 'product' least = 0.7 is above 0.606, which the agreed clock = 1200 MHz allows: no value passes" in done.stdout, done.stdout
    assert "agreed    clock = 1200 MHz" in roofmark("profile", "show", profile).stdout


def test_a_profile_that_decides_nothing_or_never_can_is_found(tmp_path):
    head = 'title = "t"\ndevices = ".*"\nexample = "a CPU"\nsuite = "quick"\n'
    path = tmp_path / "own.toml"
    path.write_text(head + '[rule.one]\nquantity = "results.wrong"\nmost = 0\nmandatory = false\nreason = "r"\n')
    done = roofmark("profile", "check", path)
    assert done.returncode == 1 and "no rule is mandatory: every complete delivery passes" in done.stdout
    path.write_text(head + '[rule.one]\ncases = "^gemm/fp32/"\nquantity = "of_theoretical"\nleast = 0.5\npublished = 0.8\nreason = "r"\n')
    done = roofmark("profile", "check", path)
    assert done.returncode == 1 and "limits of_theoretical, and no theoretical ceiling is known of such a device" in done.stdout
    path.write_text(head + '[rule.one]\nquantity = "version.roofmark"\nleast = "abc"\nreason = "r"\n')
    done = roofmark("profile", "check", path)
    assert_one_line(done)
    assert "its limit has no digit" in done.stderr


def test_a_profile_of_a_gpu_that_the_table_lacks_is_checked_by_the_cases_of_another(tmp_path):
    """Its limits are compared with no ceiling: that GPU may be slower or faster."""
    path = tmp_path / "own.toml"
    head = 'title = "t"\ndevices = "NVIDIA X1"\nexample = "NVIDIA X1"\nsuite = "quick"\n'
    rule = '[rule.product]\nquantity = "rate"\npublished = 9e15\nsource = "s"\nreason = "r"\n'
    path.write_text(head + rule + 'cases = "^ceilings/gemm/bf16/"\nleast = 8e15\n')
    done = roofmark("profile", "check", path)
    if "has no kernels for" in done.stdout:
        pytest.skip("this build has no kernels for GPUs: it does not check the cases")
    assert done.returncode == 0 and done.stdout.splitlines() == [
        f"{path}: NVIDIA X1 is not in roofmark's table of GPUs: `cases` are checked against those of NVIDIA H100 80GB HBM3, and no limit "
        "against a ceiling",
        f"{path}: 1 rules, 0 problems",
    ]
    shown = roofmark("profile", "show", path)
    assert "the cases are those of NVIDIA H100 80GB HBM3" in " ".join(shown.stdout.split()) and "PFLOP/s x" not in shown.stdout
    path.write_text(head + rule + 'cases = "^ceilings/gemm/bf17/"\nleast = 8e15\n')
    assert "no case of the suite quick on NVIDIA X1 matches '^ceilings/gemm/bf17/'" in roofmark("profile", "check", path).stdout


def test_a_profile_inherits_from_its_own_folder(own_profile, tmp_path):
    base = own_profile(0.5, name="base.toml")
    child = tmp_path / "child.toml"
    child.write_text('inherit = "base.toml"\ntitle = "a child"\n')
    assert roofmark("profile", "show", child, cwd="/").stdout.count("a child") == 1
    base.unlink()
    done = roofmark("profile", "show", child, cwd="/")
    assert_one_line(done)
    assert f"{child}:1: no profile '{base}'" in done.stderr


def test_a_profile_is_shown_for_another_device_with_a_warning():
    assert "it does not accept this device" in roofmark("profile", "show", "h200_sxm", "--device", "cpu").stdout
    assert "it does not accept" not in roofmark("profile", "show", "h200_sxm").stdout


def test_the_documents_explain_every_key_and_quantity(tmp_path):
    said = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    section = said[said.index("### The keys of a profile\n"):said.index("`roofmark profile check` finds")]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    explained = {name.partition(".")[0] for cell in cells for name in re.findall(r"`([\w.]+)`", cell)}
    refused = tmp_path / "refused.toml"
    for text in ("x = 1", "[agreed]\nx = 1", "[rule.x]\nquantity = 'gpus'\nx = 1", "[rule.x]\nquantity = 'x'"):
        refused.write_text(text + "\n")
        known = re.search("known are (.*)", roofmark("profile", "check", refused).stderr)[1].split(", ")
        assert len(known) > 4 and set(known) - explained == set()
