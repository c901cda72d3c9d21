# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What ptxas made of the kernels, as far as their speed rests on it: the model GPU runs PTX and cannot see it."""
import functools
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

# An instruction is 128 bits, printed as two words. Bits 105 to 125 say what it waits for, and what waits for it.
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.+?)\s*;\s*/\* 0x[0-9a-f]{16} \*/\s*/\* 0x([0-9a-f]{16}) \*/")
GLOBAL_LOAD = re.compile(r"(@!?\w+ )?LDG\b")
LOAD = re.compile(r"(?:@!?\w+ )?(?:LDG|LDS|LDC|LD|ATOMG)\b\S* (?:PT, )?(R\d+), (?:desc\[UR\d+\]|c\[0x3\])? ?\[(R\d+)")


def functions(listing):
    """By mangled name, the instructions of a listing of cuobjdump: text, scoreboard that it sets (7: none), scoreboards that it
    waits for (a mask)."""
    found = {}
    for part in listing.split("Function : ")[1:]:
        name, _, body = part.partition("\n")
        found[name] = [(text, int(word, 16) >> 46 & 7, int(word, 16) >> 52 & 63) for text, word in INSTRUCTION.findall(body)]
    return found


def loads_in_flight(instructions):
    """The most loads of global memory that are in flight when the first of them is awaited, on any path."""
    most, flying = 0, {}
    for text, sets, waits in instructions:
        awaited = [scoreboard for scoreboard in flying if waits >> scoreboard & 1]
        if awaited:
            most = max(most, sum(flying.values()))
        for scoreboard in awaited:
            del flying[scoreboard]
        if GLOBAL_LOAD.match(text):
            flying[sets] = flying.get(sets, 0) + 1
        elif re.match(r"(EXIT|BRA)\b", text):  # what follows is reached from elsewhere
            flying = {}
    return most


def loads_all_in_flight(instructions):
    """The same where a kernel has no other loads, else 0: a path that no thread takes may have the most."""
    loads = sum(bool(GLOBAL_LOAD.match(text)) for text, _, _ in instructions)
    return loads if loads == loads_in_flight(instructions) else 0


def chained_loads(instructions):
    """The most loads in a row of which each takes its address from the one before, without an instruction in between."""
    most = chain = 0
    last = None
    for text, _, _ in instructions:
        if load := LOAD.match(text):
            chain = chain + 1 if load[2] == last else 1
            most, last = max(most, chain), load[1]
    return most


def exponentials_beside_pv(instructions):
    """Between the wait for QK, with PV in flight, and the wait for PV."""
    texts = [text for text, _, _ in instructions]
    begin = next(i for i, text in enumerate(texts) if text.startswith("WARPGROUP.DEPBAR.LE gsb0, 0x1"))
    end = next(i for i, text in enumerate(texts) if i > begin and text.startswith("WARPGROUP.DEPBAR.LE gsb0, 0x0"))
    return sum("MUFU.EX2" in text for text in texts[begin:end])


def products_without_fence(instructions):
    """The products of a step, if no fence stands between the first one and the wait for the last."""
    texts = [text for text, _, _ in instructions]
    begin = next(i for i, text in enumerate(texts) if "GMMA" in text)
    end = max(i for i, text in enumerate(texts) if text.startswith("WARPGROUP.DEPBAR.LE gsb0, 0x0"))
    return 0 if any("MEMBAR" in text for text in texts[begin:end]) else sum("GMMA" in text for text in texts[begin:end])


def products_in_a_row(instructions):
    """The most products by tcgen05 without a branch in between: where the compiler does not know that one thread issues them, each has
    a loop over the threads."""
    most = row = 0
    for text, _, _ in instructions:
        row = 0 if re.match(r"(@!?U?P\w+ )?BRA", text) else row + bool(re.match(r"UTC[HQIO]MMA\b", text))
        most = max(most, row)
    return most


# Object, kernels by their mangled names, architectures, what is counted, and at least how many of it.
BOTH, HOPPER, BLACKWELL = ("sm_80", "sm_90a"), ("sm_90a",), ("sm_100a",)
HELD = [
    ("transpose", r"transpose_kernelI[jm]", BOTH, loads_all_in_flight, 4),
    ("transpose", r"transpose_kernelI[ht]", BOTH, loads_all_in_flight, 16),
    ("transpose", r"transpose_packed_kernelIh", BOTH, loads_all_in_flight, 4),
    ("transpose", r"transpose_packed_kernelIt", BOTH, loads_all_in_flight, 8),
    ("elementwise", r"map_kernelILi\dELi4ENS1_(4Relu|4Silu|8GeluTanh|7GeluErf|5Decay)", BOTH, loads_in_flight, 4),
    ("elementwise", r"map_kernelILi\dELi4ENS1_4Same", BOTH, loads_in_flight, 4),
    ("elementwise", r"map_kernelILi\dELi4ENS1_3Add\w+(5ArrayIS4_EES7_|5ArrayIfEES6_|ENS5_IfEE)E", BOTH, loads_in_flight, 8),
    ("elementwise", r"map_kernelILi\dELi4ENS1_(6Swiglu|11FirstMoment|12SecondMoment)", BOTH, loads_in_flight, 8),
    ("elementwise", r"map_kernelILi\dELi2ENS1_6Update", BOTH, loads_in_flight, 6),
    ("elementwise", r"adamw_kernel", BOTH, loads_in_flight, 8),
    ("elementwise", r"rope_kernel", BOTH, loads_in_flight, 8),
    ("stream", r"stream_kernelILNS_8StreamOpE[23]\w+Lb1ELi64E", BOTH, loads_in_flight, 4),
    ("stream", r"stream_kernelILNS_8StreamOpE[45]\w+Lb1ELi64E", BOTH, loads_in_flight, 8),
    ("stream", r"reduce_kernelILNS_8StreamOpE(0\w+Lb1ELi128|6\w+Lb1ELi64)E", BOTH, loads_in_flight, 8),
    ("memory_test", r"memory_test_kernelI\w+MemoryPassE[123]E", BOTH, loads_in_flight, 4),
    ("reductions", r"one_pass_kernelILNS_11ReductionOpE[01256]E(6__half|13__nv_bfloat16)Lb1ELi32E", HOPPER, loads_in_flight, 4),
    ("reductions", r"one_pass_kernelILNS_11ReductionOpE[01256]E(6__half|13__nv_bfloat16)Lb1ELi64E", HOPPER, loads_in_flight, 8),
    ("reductions", r"one_pass_kernelILNS_11ReductionOpE[01256]EfLb1ELi32E", HOPPER, loads_in_flight, 8),
    ("latency", r"chase_(kernel|on_sm|under_load|shared|constant)", BOTH, chained_loads, 64),
    ("latency", r"chase_neighbour", HOPPER, chained_loads, 64),
    ("attention_tiled_wgmma", r"attention_tiled_wgmma_kernel.*ELi64ELi128E", HOPPER, exponentials_beside_pv, 64),
    ("attention_tiled_wgmma", r"attention_tiled_wgmma_kernel.*ELi128ELi128E", HOPPER, exponentials_beside_pv, 64),
    ("attention_tiled_wgmma", r"attention_tiled_wgmma_kernel.*ELi128ELi176E", HOPPER, exponentials_beside_pv, 88),
    ("attention_tiled_wgmma", r"attention_tiled_wgmma_kernel.*ELi256ELi80E", HOPPER, exponentials_beside_pv, 40),
    ("gemm_tiled_wgmma", r"gemm_tiled_wgmma_kernel", HOPPER, products_without_fence, 4),
    ("ceilings_tcgen05", r"tcgen05_kernel", BLACKWELL, products_in_a_row, 8),
]


def made(*lines):
    """The instructions of a listing as cuobjdump prints it: text, scoreboard set, mask of scoreboards awaited."""
    printed = [f"/*{16 * i:04x}*/ {text} ; /* 0x0000000000000000 */\n/* 0x{sets << 46 | waits << 52:016x} */"
               for i, (text, sets, waits) in enumerate(lines)]
    return functions("\n".join(["\t\tFunction : made", *printed]))["made"]


def load(to, address, sets, waits=0):
    return f"@!P0 LDG.E.64 R{to}, desc[UR4][R{address}.64+0x80]", sets, waits


def store(register, waits):
    return f"STG.E.64 desc[UR4][R2.64], R{register}", 7, waits


def test_loads_are_counted_until_one_is_awaited():
    together = load(4, 2, 0), load(6, 2, 1), store(4, 1), store(6, 2)
    in_turn = load(4, 2, 0), store(4, 1), load(6, 2, 0), store(6, 1)
    assert loads_in_flight(made(*together)) == loads_all_in_flight(made(*together)) == 2
    assert loads_in_flight(made(*in_turn)) == 1
    assert loads_all_in_flight(made(*in_turn, *together)) == 0
    assert loads_in_flight(made(load(4, 2, 0), ("EXIT", 7, 0), load(6, 2, 0), store(6, 1))) == 1, "never both"


def test_a_move_breaks_a_chain():
    assert chained_loads(made(load(4, 2, 0), load(6, 4, 0, 1), load(8, 6, 0, 1))) == 3
    assert chained_loads(made(load(4, 2, 0), load(6, 4, 0, 1), ("MOV R8, R6", 7, 1), load(10, 8, 0))) == 2


def test_exponentials_behind_the_wait_for_pv_are_not_beside_it():
    qk, pv, exponential = ("WARPGROUP.DEPBAR.LE gsb0, 0x1", 7, 0), ("WARPGROUP.DEPBAR.LE gsb0, 0x0", 7, 0), ("MUFU.EX2 R4, R4", 0, 0)
    assert exponentials_beside_pv(made(exponential, qk, exponential, exponential, pv, exponential)) == 2
    assert exponentials_beside_pv(made(exponential, qk, pv, exponential, exponential)) == 0


def test_a_fence_among_products_is_seen():
    product, fence, wait = ("HGMMA.64x256x16.F32.BF16 R24, gdesc[UR12], R24", 7, 0), ("@!P0 MEMBAR.ALL.GPU", 7, 0), \
        ("WARPGROUP.DEPBAR.LE gsb0, 0x0", 7, 0)
    assert products_without_fence(made(fence, product, product, wait, fence)) == 2
    assert products_without_fence(made(product, fence, product, wait)) == 0


def test_products_with_a_branch_in_between_are_not_in_a_row():
    product, branch = ("UTCQMMA gdesc[UR4], gdesc[UR16], tmem[UR14], tmem[UR30], idesc[UR31], UPT", 7, 0), ("@P0 BRA.U.ANY 0xe80", 7, 0)
    assert products_in_a_row(made(product, branch, product, product, branch)) == 2


@functools.cache
def kernels_of_build(name, architecture):
    """The kernels of kernels/cuda/NAME.cu in the build under test."""
    built = list(Path(os.environ.get("ROOFMARK_BUILD", "/nonexistent")).rglob(f"kernels/cuda/{name}.cu.o"))
    if not built:
        pytest.skip("the build has no CUDA kernels")
    # The packages' programs, which find each other, or those of a toolkit.
    path = os.pathsep.join([f"{sysconfig.get_path('purelib')}/nvidia/cu13/bin", os.environ["PATH"]])
    cuobjdump = shutil.which("cuobjdump", path=path)
    if not cuobjdump or not shutil.which("nvdisasm", path=path):
        pytest.skip("no cuobjdump and nvdisasm (scripts/setup --test installs them)")
    listing = subprocess.run([cuobjdump, "--dump-sass", "--gpu-architecture", architecture, built[0]], capture_output=True, text=True,
                             env={**os.environ, "PATH": path})
    if f"code for {architecture}\n" not in listing.stdout:
        pytest.skip(f"the build has no code for {architecture}: {listing.stderr.strip()}")
    return functions(listing.stdout)


@pytest.mark.parametrize("name,pattern,architecture,count,least", [
    (name, pattern, architecture, count, least) for name, pattern, architectures, count, least in HELD for architecture in architectures])
def test_kernels_of_this_build_hold(name, pattern, architecture, count, least):
    held = {kernel: instructions for kernel, instructions in kernels_of_build(name, architecture).items() if re.search(pattern, kernel)}
    assert held, "no such kernel"
    assert {kernel: n for kernel, instructions in held.items() if (n := count(instructions)) < least} == {}
