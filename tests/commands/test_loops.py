"""Nests written as loops read back; those written as C and numpy programs compile, run and find their result equal.

C programs are compiled with gcc; numpy programs run with /usr/bin/python3 where it has numpy (Debian's python3-numpy).
"""

import json
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import unittest

import reference_support as support

SYSTEM_PYTHON = "/usr/bin/python3"
MOST_C_OPERATIONS = 60_000_000
MOST_NUMPY_STEPS = 30_000

EINSUMS = [
    ("Y[m,n] += X[m,k] * W[k,n]", {"m": 13, "n": 9, "k": 10}, {}),
    ("Y[b,m,n] += X[b,m,k] * W[b,k,n]", {"b": 3, "m": 6, "n": 5, "k": 7}, {}),
    ("O[q] += I[q+s] * F[s]", {"q": 19, "s": 3}, {}),
    ("O[k,p,q] += I[c,2*p+r-1,q+2*s-2] * F[k,c,r,s]", {"k": 3, "p": 5, "q": 6, "c": 2, "r": 3, "s": 3},
     {"I": [2, 10, 7]}),
    ("O[c,p] += I[c,3*p+2*r+1] * F[c,r]", {"c": 4, "p": 9, "r": 3}, {}),
    ("O[p] max= I[2*p+r-1]", {"p": 11, "r": 3}, {"I": [20]}),
    ("O[p] min= I[p+r]", {"p": 17, "r": 4}, {}),
    ("M[q] *= S[q,t]", {"q": 12, "t": 7}, {}),
    ("Y[i,r] += T[i,j,k] * B[j,r] * C[k,r]", {"i": 5, "r": 4, "j": 6, "k": 3}, {}),
    ("Y[m,n] = X[m,n] + B[n]", {"m": 14, "n": 9}, {}),
    ("Y[m,n] = X[m,n] - B[m,n]", {"m": 8, "n": 11}, {}),
    ("Y[m,n] = X[m,n] / B[m]", {"m": 9, "n": 7}, {}),
    ("Y[m,n] = max(X[m,n], B[n])", {"m": 9, "n": 7}, {}),
    ("Y[m] += max(X[m,n], B[n], A[])", {"m": 9, "n": 7}, {}),
    ("Y[m,n] = exp(X[m,n])", {"m": 10, "n": 6}, {}),
    ("Y[m] += gelu(X[m,n])", {"m": 10, "n": 6}, {}),
    ("Y[n,m] = rsqrt(X[m,n])", {"m": 10, "n": 6}, {}),
    ("Y[m] max= silu(X[m,n])", {"m": 10, "n": 6}, {}),
    ("S[] += A[m,k] * B[k]", {"m": 12, "k": 9}, {}),
    ("Y[m,n] += X[m]", {"m": 7, "n": 5}, {}),
    ("Y[m] += X[m,k] + Z[k,m]", {"m": 7, "k": 5}, {}),
    # Names that are words of the languages.
    ("int[for,m1] += main[for,range] * np[range,m1]", {"for": 6, "m1": 5, "range": 8}, {}),
    ("y0[exp,in] += j1[exp,k] * log[k,in]", {"exp": 6, "in": 5, "k": 4}, {}),
]


def random_spec(seed):
    """A spec with a random nest: storages, a mesh, uneven holds, tiles that need not divide, now and then an atomic shape."""
    choose = random.Random(seed)
    einsum, ranks, shapes = EINSUMS[seed % len(EINSUMS)]
    tensors = list(dict.fromkeys(re.findall(r"(\w+)\[", einsum)))
    atomic = {}
    if choose.random() < 0.3:
        atomic = {rank: choose.randint(1, 4) for rank in choose.sample(sorted(ranks), choose.randint(1, len(ranks)))}
        if set(atomic) <= {"m", "n", "k"} and len(atomic) == 3:
            atomic = {}
    left = dict(ranks)
    lines = []

    def loops(count, mesh=None):
        for _ in range(count):
            rank = choose.choice(sorted(left))
            tile = choose.choice([1, (left[rank] + 1) // 2, choose.randint(1, left[rank]), left[rank]])
            tile = max(tile, min(left[rank], atomic.get(rank, 1)))
            trips = -(-left[rank] // tile)
            axis = choose.choice(["x", "y"])
            if mesh is not None and choose.random() < 0.6 and mesh[axis] * trips <= 64:
                mesh[axis] *= trips
                lines.append(f"par {rank} by {tile} on array.{axis}")
            else:
                lines.append(f"for {rank} by {tile}")
            left[rank] = tile

    mesh = {"x": 1, "y": 1}
    loops(choose.randint(0, 2))
    held = [tensor for tensor in tensors if choose.random() < 0.7]
    for tensor in held:
        lines.append(f"at Buffer: {tensor}")
        loops(choose.randint(0, 1))
    loops(choose.randint(0, 4), mesh)
    for tensor in [tensor for tensor in tensors if choose.random() < 0.6]:
        lines.append(f"at RF: {tensor}")
        loops(choose.randint(0, 1))
    rest = [rank for rank in ranks if left[rank] > atomic.get(rank, 1)]
    choose.shuffle(rest)
    lines += [f"for {rank} by {atomic.get(rank, 1)}" for rank in rest]
    compute = {"compute": "MAC"}
    if atomic:
        compute["atomic"] = atomic
    problem = {"einsum": einsum, "ranks": ranks}
    if shapes:
        problem["shapes"] = shapes
    return {"problem": problem,
            "machine": {"name": "random", "levels": [{"storage": "DRAM"}, {"storage": "Buffer"},
                                                     {"mesh": "array", "axes": mesh}, {"storage": "RF"}, compute]},
            "mapping": "\n".join(lines) + "\n"}


def written(path, form):
    """The text of a spec file in another form; the run must succeed."""
    outcome = support.einflow("translate", path, "--to", form)
    if outcome.status != 0:
        raise AssertionError(f"{path} --to {form} ended with {outcome.status}: {outcome.messages}")
    return outcome.output


def example_steps(path):
    report = support.analyze(path)
    return report["problem"]["operations"], report["cycles"]["steps"]


class Loops(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.specs = []
        for seed in range(len(EINSUMS) * 5):
            path = cls.root / f"spec{seed}.yaml"
            path.write_text(json.dumps(random_spec(seed)))
            cls.specs.append(path)
        cls.examples = sorted(support.EXAMPLES.glob("*.yaml"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_what_is_written_is_read_as_the_same_text(self):
        def again(path):
            text = written(path, "loops")
            copy = self.root / (path.stem + ".txt")
            copy.write_text(text)
            return path, text, written(copy, "loops")

        for path, text, second in support.in_parallel(again, self.specs + self.examples):
            self.assertEqual(text, second, path)

    def test_the_hand_written_examples_are_read(self):
        for path in sorted((support.EXAMPLES / "notations" / "loops").glob("*.txt")):
            outcome = support.einflow("analyze", path, "--json")
            self.assertEqual(outcome.status, 0, outcome.messages)

    def compile_and_run(self, path, text):
        source = self.root / (path.stem + ".c")
        program = self.root / (path.stem + ".program")
        source.write_text(text)
        built = subprocess.run(["gcc", "-std=c99", "-O1", "-Wall", "-Werror", "-Wno-unused-function", source, "-o",
                                program, "-lm"], capture_output=True, text=True, check=False)
        if built.returncode != 0:
            return "does not compile:\n" + built.stderr + text
        done = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
        return f"{done.returncode} {done.stdout.strip()}"

    @unittest.skipUnless(shutil.which("gcc"), "gcc is not there")
    def test_c_programs_find_their_result_equal(self):
        examples = [path for path in self.examples if example_steps(path)[0] <= MOST_C_OPERATIONS]
        self.assertGreaterEqual(len(examples), 10)
        paths = self.specs + examples
        self.assertGreaterEqual(len(paths), 120)
        outcomes = support.in_parallel(lambda path: self.compile_and_run(path, written(path, "c")), paths)
        for path, outcome in zip(paths, outcomes):
            self.assertEqual(outcome, "0 equal", path)

    @unittest.skipUnless(shutil.which("gcc"), "gcc is not there")
    def test_a_c_program_notices_a_wrong_nest(self):
        text = written(support.EXAMPLES / "matmul-weight-stationary.yaml", "c")
        wrong = text.replace("Y[m][n] += X[m][k] * W[k][n];", "Y[m][n] += X[m][k] * W[k][0];", 1)
        self.assertNotEqual(text, wrong)
        self.assertEqual(self.compile_and_run(pathlib.Path("wrong"), wrong), "1 not equal")

    def numpy_outcomes(self, texts):
        """Exit status and output of programs, all run in one interpreter, one after the other."""
        paths = []
        for number, text in enumerate(texts):
            path = self.root / f"program{number}.py"
            path.write_text(text)
            paths.append(str(path))
        driver = ("import contextlib, io, runpy, sys\n"
                  "for path in sys.argv[1:]:\n"
                  "    out = io.StringIO()\n"
                  "    try:\n"
                  "        with contextlib.redirect_stdout(out): runpy.run_path(path, run_name='__main__')\n"
                  "        status = 'no status'\n"
                  "    except SystemExit as ended:\n"
                  "        status = ended.code\n"
                  "    except Exception as failure:\n"
                  "        status = repr(failure)\n"
                  "    print(status, out.getvalue().strip())\n")
        done = subprocess.run([SYSTEM_PYTHON, "-c", driver, *paths], capture_output=True, text=True, timeout=300,
                              check=False)
        return done.stdout.splitlines() or [done.stderr]

    def require_numpy(self):
        if subprocess.run([SYSTEM_PYTHON, "-c", "import numpy"], capture_output=True, check=False).returncode != 0:
            self.skipTest("python3-numpy is not there")

    def test_numpy_programs_find_their_result_equal(self):
        self.require_numpy()
        examples = [path for path in self.examples if max(example_steps(path)) <= MOST_NUMPY_STEPS]
        self.assertGreaterEqual(len(examples), 5)
        paths = self.specs + examples
        texts = support.in_parallel(lambda path: written(path, "numpy"), paths)
        outcomes = self.numpy_outcomes(texts)
        self.assertEqual(len(outcomes), len(paths), outcomes[-1])
        for path, text, outcome in zip(paths, texts, outcomes):
            self.assertEqual(outcome, "0 equal", f"{path}\n{text}")

    def test_a_numpy_program_notices_a_wrong_nest_and_says_so_by_its_exit_status(self):
        self.require_numpy()
        text = written(support.EXAMPLES / "matmul-weight-stationary.yaml", "numpy")
        wrong = text.replace("Y[m, n] += X[m, k] * W[k, n]", "Y[m, n] += X[m, k] * W[k, 0]", 1)
        self.assertNotEqual(text, wrong)
        for program, expected in ((text, (0, "equal\n")), (wrong, (1, "not equal\n"))):
            path = self.root / "alone.py"
            path.write_text(program)
            done = subprocess.run([SYSTEM_PYTHON, path], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), expected, done.stderr)


if __name__ == "__main__":
    unittest.main()
