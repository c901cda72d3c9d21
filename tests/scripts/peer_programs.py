# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Small programs that play roofmark-mpi and its peers for the tests of the comparisons."""
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts/peers"


def load(name):
    """A script without a suffix, as a module."""
    sys.path.insert(0, str(SCRIPTS))
    loader = importlib.machinery.SourceFileLoader(name, str(SCRIPTS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def run_script(name, *arguments):
    return subprocess.run([sys.executable, SCRIPTS / name, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          check=False)


def executable(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def case_name(collective, impl, size, place, ranks=2, element="fp32"):
    reduction = "op:sum/" if "reduce" in collective else ""
    return f"{collective}/{element}/bytes:{size}/ranks:{ranks}/{reduction}place:{place}/impl:{impl}"


def roofmark_mpi(folder, times, collective="all_reduce", impl="mpi", ranks=2):
    """A roofmark-mpi whose samples are times[size, place], and which logs its words in folder/calls."""
    names = [case_name(collective, impl, size, place, ranks) for size, place in times]
    # Of fewer ranks, and in another type: not to be taken.
    others = [case_name(collective, impl, 8, "out", ranks=1), case_name(collective, impl, 8, "out", element="fp64")]
    listing = "\n".join(["case  memory  work", *(f"{name}  1 kB  8 B interprocess" for name in names + others), ""])
    entries = [{"name": case_name(collective, impl, size, place, ranks),
                "roofmark": {"message": {"bytes": size, "place": place},
                             "measurement": {"samples": {"seconds": seconds}}}} for (size, place), seconds in times.items()]
    # What a run of whatever filter measures too, before and after the rest, in sizes of its own.
    ceilings = [{"name": f"ceilings/interprocess/fp32/bytes:{size}/ranks:2/place:{place}/group:inside/impl:{impl}",
                 "roofmark": {"message": {"bytes": size, "place": place}, "measurement": {"samples": {"seconds": [1e-9]}}}}
                for size, place in times]
    entries = [*ceilings, *entries, *ceilings]
    (folder / "listing").write_text(listing, encoding="utf-8")
    (folder / "result").write_text(json.dumps({"benchmarks": entries, "unmeasured": []}), encoding="utf-8")
    return executable(folder / "roofmark-mpi", f"""#!/bin/bash
        echo "roofmark-mpi $*" >>{folder}/calls
        if [[ $1 == list ]]; then cat {folder}/listing; exit; fi
        while [[ $1 != --out ]]; do shift; done
        cp {folder}/result "$2/result.json"
        """)


def calls(folder):
    return [line.split() for line in (folder / "calls").read_text(encoding="utf-8").splitlines()]
