# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/peers/compare_babelstream on canned outputs."""

import importlib.machinery
import importlib.util
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/peers/compare_babelstream"


def load_script():
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(SCRIPT.parent))
    loader = importlib.machinery.SourceFileLoader("compare_babelstream", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


compare = load_script()

# The lines before the table are what CUDA builds and older versions print.
BABELSTREAM = """Using CUDA device NVIDIA H200
phase,n_elements,sizeof,max_mbytes_per_sec,runtime
Init,1024,8,1,2
function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime
Copy,100,1024,8,163.84,0.0001,0.5,0.25
Mul,100,1024,8,1,9,9,9
Add,100,1024,8,1,9,9,9
Triad,100,1024,8,122.88,0.0002,0.5,0.25
Dot,100,1024,8,1,9,9,9
"""


def record(op, total_bytes, minimum):
    return {"name": f"stream/{op}/fp64/bytes:{total_bytes}/impl:own/cache:warm",
            "roofmark": {"measurement": {"median": 2 * minimum, "minimum": minimum, "launches_per_sample": 1,
                                         "samples": {"seconds": [minimum] * 20}}}}


class Parsing(unittest.TestCase):
    def test_babelstream_rates_come_from_the_least_time_of_all_but_the_first(self):
        for op, expected in (("copy", 2 * 8 * 1024 / 0.0001), ("triad", 3 * 8 * 1024 / 0.0002)):
            rate, attempts = compare.parse_babelstream(BABELSTREAM, op)
            self.assertAlmostEqual(rate, expected)
            self.assertEqual(attempts, 99)

    def test_babelstream_without_a_table_a_kernel_or_in_fp32_is_refused(self):
        for text in ("", "Validation failed\n", BABELSTREAM.split("Triad")[0], BABELSTREAM.replace(",1024,8,", ",1024,4,")):
            with self.assertRaises(compare.CannotCompare):
                compare.parse_babelstream(text, "triad")

    def test_roofmark_rates_come_from_the_minimum_of_the_right_case(self):
        result = {"benchmarks": [record("triad", 24001, 9.0), record("triad", 2400, 0.5), record("copy", 2400, 0.25)]}
        # 24001 bytes hold 1000 elements in each of three arrays.
        for op, size, expected in (("triad", 2400, 2400 / 0.5), ("copy", 2400, 2400 / 0.25), ("triad", 24001, 24000 / 9.0)):
            rate, attempts = compare.parse_roofmark(result, op, size)
            self.assertAlmostEqual(rate, expected)
            self.assertEqual(attempts, 20)

    def test_a_case_that_was_not_measured_gives_its_reason(self):
        name = record("triad", 2400, 1)["name"]
        result = {"benchmarks": [], "unmeasured": [{"name": name, "roofmark": {"reason": "wrong: 3 elements"}}]}
        with self.assertRaisesRegex(compare.CannotCompare, "wrong: 3 elements"):
            compare.parse_roofmark(result, "triad", 2400)

    def test_sizes_are_those_that_both_operations_have(self):
        names = ["stream/triad/fp64/bytes:1024/impl:own/cache:warm", "stream/triad/fp64/bytes:64/impl:own/cache:warm",
                 "stream/copy/fp64/bytes:64/impl:own/cache:warm", "stream/copy/fp64/bytes:1024/impl:own/cache:warm",
                 "stream/copy/fp32/bytes:99/impl:own/cache:warm", "stream/triad/fp32/bytes:99/impl:own/cache:warm",
                 "stream/copy/fp64/bytes:4096/impl:own/cache:warm", "gemm/fp64/m:1/impl:cublaslt"]
        sizes = compare.listed_bytes(names)
        self.assertEqual(sizes, [64, 1024])
        self.assertEqual(compare.choose_bytes(sizes, None, 512), 64)
        self.assertEqual(compare.choose_bytes(sizes, 1024, 512), 1024)
        for wanted, default in ((65, 512), (None, 63)):
            with self.assertRaises(compare.CannotCompare):
                compare.choose_bytes(sizes, wanted, default)


class Program(unittest.TestCase):
    """The whole script against two programs that play back canned outputs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        listing = [{"name": record(op, size, 1)["name"]} for op in ("triad", "copy") for size in (49152, 98304)]
        result = {"benchmarks": [record("triad", 49152, 0.0001), record("copy", 49152, 0.0001)]}
        self.write("listing.json", json.dumps(listing))
        self.write("result.json", json.dumps(result))
        self.write("babelstream.csv", BABELSTREAM)
        log = f'echo "$(basename "$0") $*" >> "{self.folder}/log"\n'
        self.babelstream = self.program("babelstream", log + f'cat "{self.folder}/babelstream.csv"\n')
        self.roofmark = self.program("roofmark", log + f"""
if [ "$1" = list ]; then cat "{self.folder}/listing.json"; exit 0; fi
while [ "$1" != --out ]; do shift; done
cp "{self.folder}/result.json" "$2/"
""")

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def program(self, name, body):
        self.write(name, "#!/bin/sh\n" + body)
        path = self.folder / name
        os.chmod(path, path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)

    def test_a_table_of_ratios_and_runs_that_alternate(self):
        done = self.run_script("--bytes", "49152", "--rounds", "6", self.babelstream, self.roofmark)
        self.assertEqual(done.returncode, 0, done.stderr)
        triad = next(line.split() for line in done.stdout.splitlines() if line.startswith("triad"))
        # 49152 bytes in 0.1 ms against 24 x 1024 bytes in 0.2 ms; the same in every round.
        self.assertEqual(triad, ["triad", "2048", "0.12", "99", "0.49", "20", "4.000", "4.000", "..", "4.000"])
        calls = [line.split() for line in (self.folder / "log").read_text(encoding="utf-8").splitlines()]
        self.assertEqual([call[:2] for call in calls],
                         [["roofmark", "list"]] + 6 * ([["roofmark", "run"]] + 2 * [["babelstream", "--csv"]]))
        # As many attempts as roofmark has samples, and the run that BabelStream leaves out.
        self.assertEqual([call[3:6] for call in calls if call[0] == "babelstream"],
                         [["2048", "--numtimes", "21"], ["3072", "--numtimes", "21"]] * 6)

    def test_attempts_may_be_chosen_and_means_of_several_launches_are_said(self):
        grouped = [record(op, 49152, 0.0001) for op in ("triad", "copy")]
        grouped[0]["roofmark"]["measurement"]["launches_per_sample"] = 3
        self.write("result.json", json.dumps({"benchmarks": grouped}))
        done = self.run_script("--bytes", "49152", "--rounds", "1", "--runs", "7", self.babelstream, self.roofmark)
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = [line.split() for line in (self.folder / "log").read_text(encoding="utf-8").splitlines()]
        self.assertEqual([call[5] for call in calls if call[0] == "babelstream"], ["7", "7"])
        self.assertEqual(done.stderr.count("mean of 3 launches"), 1)
        self.assertIn("triad", done.stderr.splitlines()[-1])
        self.assertEqual(self.run_script("--runs", "1", self.babelstream, self.roofmark).returncode, 2)

    def test_attempts_that_differ_between_rounds_are_given_as_a_span(self):
        lines = compare.table(49152, {op: [(1e9, 20), (1e9, 25)] for op in compare.ARRAYS},
                              {op: [(2e9, 20), (2e9, 20)] for op in compare.ARRAYS}).splitlines()
        self.assertEqual(lines[1].split()[2:7], ["1.00", "20-25", "2.00", "20", "2.000"])

    def test_a_size_that_is_not_listed_and_a_program_that_fails_end_with_3(self):
        unlisted = self.run_script("--bytes", "5", self.babelstream, self.roofmark)
        self.assertEqual(unlisted.returncode, 3)
        self.assertIn("49152, 98304", unlisted.stderr)
        failing = self.program("failing", "echo out of memory >&2; exit 7\n")
        failed = self.run_script("--bytes", "49152", failing, self.roofmark)
        self.assertEqual(failed.returncode, 3)
        self.assertIn("ended with status 7: out of memory", failed.stderr)
        self.assertEqual(self.run_script("--rounds", "0", self.babelstream, self.roofmark).returncode, 2)


if __name__ == "__main__":
    unittest.main()
