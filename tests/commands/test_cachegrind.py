"""einflow's counts against a simulated memory hierarchy: a tiled matrix product under valgrind's cachegrind.

The program is tests/reference/cache/tiled_gemm.c. The cache (last level: 256 KiB, 8 ways, lines of 64 B) keeps the
panel of A over the loop jj and the tile of C over kk, by being least-recently-used; B, larger than the cache, is
streamed anew for every panel. As a nest, that is three uneven holds of one level. Lines read = (elements of A and B
that the cache reads + residencies of C, which a write-allocating cache reads before the first sum) x 8 B / 64 B.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.environ.get("EINFLOW_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
EINFLOW = os.environ.get("EINFLOW", os.path.join(ROOT, "build", "release", "einflow"))
N = 192
CACHE = 256 * 1024

SPEC = """
einflow: 1
problem:
  einsum: "C[i,j] += A[i,k] * B[k,j]"
  ranks: {{i: {n}, j: {n}, k: {n}}}
  types: {{A: fp64, B: fp64, C: fp64}}
machine:
  name: cached
  clock: 1 GHz
  levels:
    - {{storage: Memory}}
    - {{storage: Cache, capacity: 256 KiB}}
    - {{compute: FMA, rate: 1 op/cycle}}
mapping: |
  for i by {t}
  at Cache: A        # a panel of {t} rows, kept over j
  for j by {t}
  at Cache: C        # a tile, kept over k
  for k by {t}
  at Cache: B        # streamed: all of B is larger than the cache
  for i j k by 1
"""


def predicted_lines(tile):
    run = subprocess.run([EINFLOW, "analyze", "--json", "-"], input=SPEC.format(n=N, t=tile), text=True,
                         capture_output=True, check=True)
    report = json.loads(run.stdout)
    holds = {(h["level"], h["tensor"]): h for h in report["holds"]}
    elements = (holds["Cache", "A"]["parent_reads"] + holds["Cache", "B"]["parent_reads"] +
                holds["Cache", "C"]["drains"])
    return elements * 8 / 64


class Cachegrind(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for tool in ("valgrind", "cc"):
            if shutil.which(tool) is None:
                raise unittest.SkipTest(tool + " is not installed")
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = os.path.join(cls.folder.name, "tiled_gemm")
        subprocess.run(["cc", "-O1", "-g", "-o", cls.program,
                        os.path.join(ROOT, "tests", "reference", "cache", "tiled_gemm.c")], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def measured_lines(self, tile):
        out = os.path.join(self.folder.name, "cachegrind.%d" % tile)
        subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--D1=32768,8,64",
                        "--LL=%d,8,64" % CACHE, "--cachegrind-out-file=" + out, self.program, str(N), str(tile)],
                       check=True, capture_output=True)
        events, inside, misses = None, False, 0
        with open(out) as lines:
            for line in lines:
                if line.startswith("events:"):
                    events = line.split()[1:]
                elif line.startswith("fn="):
                    inside = re.fullmatch(r"fn=gemm\s*", line) is not None
                elif inside and line[:1].isdigit():
                    misses += int(line.split()[1 + events.index("DLmr")])
        return misses

    def test_within_two_per_cent_while_the_tiles_fit(self):
        for tile in (8, 16, 32):
            with self.subTest(tile=tile):
                predicted = predicted_lines(tile)
                measured = self.measured_lines(tile)
                print("tile %3d: predicted %6d lines, cachegrind %6d, %+.2f %%" %
                      (tile, predicted, measured, 100 * (predicted / measured - 1)))
                self.assertAlmostEqual(predicted / measured, 1, delta=0.02)

    def test_a_panel_that_does_not_fit_is_refetched(self):
        # 96 rows of A are 144 KiB, a tile of C and a tile of B 72 KiB each: together more than the cache. einflow
        # refuses the nest. The machine runs it, but the panel is no longer there when the next tile of C asks for
        # it: more lines are read than A once, C once and B for each of the two panels.
        run = subprocess.run([EINFLOW, "analyze", "-"], input=SPEC.format(n=N, t=96), text=True, capture_output=True)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("Cache", run.stderr)
        matrix = N * N * 8 / 64
        self.assertGreater(self.measured_lines(96), 1.2 * (1 + 1 + 2) * matrix)


if __name__ == "__main__":
    unittest.main()
