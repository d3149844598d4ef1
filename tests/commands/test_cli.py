"""How the program behaves at its door: exit status, where output goes, widths, JSON, errors."""

import fractions
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import reference_support as support

EXAMPLE = """\
einflow: 1
problem:
  einsum: "Y[m,n] += X[m,k] * W[k,n]"
  ranks: {m: 1024, n: 1024, k: 1024}
  types: {X: bf16, W: bf16, Y: fp32}
machine:
  name: toy
  clock: 1 GHz
  levels:
    - {storage: DRAM, bandwidth: {read: 64 GB/s, write: 64 GB/s}, energy: {read: 8 pJ/B, write: 8 pJ/B}}
    - {storage: Buffer, capacity: 512 KiB, bandwidth: {read: 128 B/cycle, write: 128 B/cycle}, double_buffered: true}
    - {mesh: array, axes: {x: 16, y: 16}, multicast: true, reduction: true, forwarding: false}
    - {storage: RF, capacity: 512 B}
    - {compute: MAC, rate: 1 op/cycle, energy: 0.5 pJ}
mapping: |
  at DRAM: X W Y
  for n by 128
  for m by 128
  for k by 128
  at Buffer: X W Y
  for k by 1
  par n by 8 on array.x
  par m by 8 on array.y
  at RF: Y
  for m n by 1
"""
SMALL = EXAMPLE.replace("1024", "32").replace("by 128", "by 16").replace("by 8", "by 2")
MATMUL = "Y[m,n] += X[m,k] * W[k,n]"


def run(*arguments, text=None, environment=None):
    done = subprocess.run([support.PROGRAM, *map(str, arguments)], input=text, capture_output=True, text=True,
                          timeout=120, env={**os.environ, **(environment or {})},
                          **({} if text is not None else {"stdin": subprocess.DEVNULL}))
    return support.Outcome(done.returncode, done.stdout, done.stderr)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Status(Files):
    def test_alone_it_prints_help(self):
        outcome = run()
        self.assertEqual(outcome.status, 0)
        for command in ("analyze", "explain", "simulate", "machines", "problems"):
            self.assertIn(command, outcome.output)

    def test_version(self):
        outcome = run("--version")
        self.assertEqual(outcome.status, 0)
        self.assertRegex(outcome.output, r"^einflow \d+\.\d+\.\d+\n$")

    def test_help_of_each_command_has_an_example(self):
        for command in ("analyze", "explain", "simulate", "machines", "problems"):
            outcome = run(command, "--help")
            self.assertEqual(outcome.status, 0)
            self.assertIn(f"einflow {command} ", outcome.output)

    def test_a_misspelt_command_names_the_nearest(self):
        outcome = run("analyse", "x.yaml")
        self.assertEqual((outcome.status, outcome.output), (2, ""))
        self.assertIn("'analyze'", outcome.messages)

    def test_an_unknown_option_is_bad_input(self):
        outcome = run("analyze", "--jsn", "x.yaml")
        self.assertEqual((outcome.status, outcome.output), (2, ""))
        self.assertIn("--jsn", outcome.messages)

    def test_a_file_that_is_not_there(self):
        outcome = run("analyze", self.folder / "none.yaml")
        self.assertEqual((outcome.status, outcome.output), (2, ""))
        self.assertIn("none.yaml", outcome.messages)
        self.assertIn("No such file", outcome.messages)

    def test_a_folder_is_no_spec(self):
        outcome = run("analyze", self.folder)
        self.assertEqual((outcome.status, outcome.output), (2, ""))

    def test_a_wrong_line_is_shown_with_its_place(self):
        path = self.file("wrong.yaml", EXAMPLE.replace("for k by 1\n", "for kk by 1\n"))
        outcome = run("analyze", path)
        self.assertEqual((outcome.status, outcome.output), (2, ""))
        self.assertRegex(outcome.messages, r"wrong\.yaml:21:\d+: error: ")

    def test_a_mapping_that_does_not_fit(self):
        path = self.file("tight.yaml", EXAMPLE.replace("512 KiB", "255 KiB"))
        outcome = run("analyze", path)
        self.assertEqual((outcome.status, outcome.output), (1, ""))
        for words in ("Buffer needs 262,144 B", "room for 261,120 B", "Y 131,072 B"):
            self.assertIn(words, outcome.messages)
        rejected = run("analyze", path, "--json")
        self.assertEqual(rejected.status, 1)
        self.assertEqual([entry["tensor"] for entry in rejected.report["rejected"][0]["tensors"]], ["Y", "X", "W"])

    def test_all_is_well(self):
        path = self.file("right.yaml", EXAMPLE)
        for command in ("analyze", "explain"):
            outcome = run(command, path)
            self.assertEqual((outcome.status, outcome.messages), (0, ""))
            self.assertNotEqual(outcome.output, "")


class Output(Files):
    def test_standard_input(self):
        self.assertEqual(run("analyze", "-", text=EXAMPLE).output, run("analyze", self.file("a.yaml", EXAMPLE)).output)

    def test_the_same_input_gives_the_same_bytes(self):
        self.assertEqual(run("analyze", "-", "--json", text=EXAMPLE).output,
                         run("analyze", "-", "--json", text=EXAMPLE).output)

    def test_json_is_a_document_of_the_stated_form(self):
        report = run("analyze", "-", "--json", text=EXAMPLE).report
        self.assertEqual(report["format"], "einflow-report-1")
        for part in ("problem", "holds", "levels", "networks", "cycles", "seconds", "utilization", "energy_pj", "edp",
                     "intensity", "roofline", "stationarity", "conventions", "uncounted"):
            self.assertIn(part, report)
        self.assertEqual(report["problem"]["flops"], 2 * 1024 ** 3)
        self.assertEqual(report["cycles"]["overlapped"], 8 * 8 * 8 * 128 * 8 * 8)
        self.assertEqual(report["cycles"]["limited_by"], "compute")
        self.assertNotIn("parent", report["holds"][0])
        self.assertEqual(report["energy_pj"]["total"], 301989888 + 536870912)
        self.assertNotIn("cycles", report["levels"][2])  # the RF states no bandwidth

    def test_integers_of_any_size_are_exact(self):
        report = run("analyze", "-", "--json", text=EXAMPLE.replace("1024", "10000000000")).report
        self.assertEqual(report["problem"]["operations"], 10 ** 30)
        self.assertEqual(report["problem"]["flops"], 2 * 10 ** 30)
        compute = next(hold for hold in report["holds"] if hold["level"] == "MAC" and hold["tensor"] == "Y")
        self.assertEqual(compute["parent_rmw_reads"], 10 ** 30 - 10 ** 20)

    def test_what_leaves_128_bits_is_an_error(self):
        outcome = run("analyze", "-", "--json", text=EXAMPLE.replace("1024", "10000000000000"))
        self.assertEqual((outcome.status, outcome.output), (2, ""))
        self.assertIn("128 bits", outcome.messages)

    def test_derivations_tell_the_roles_of_loops(self):
        report = run("analyze", "-", "--json", "--derive", text=EXAMPLE).report
        self.assertGreater(len(report["derivations"]), 20)
        roles = {(loop["loop"], loop["role"]) for entry in report["derivations"] for loop in entry.get("loops", [])}
        self.assertIn(("for n by 128", "refetches"), roles)

    def test_no_line_is_wider_than_80(self):
        path = self.file("a.yaml", EXAMPLE)
        huge = self.file("huge.yaml", EXAMPLE.replace("1024", "10000000000"))
        small = self.file("small.yaml", SMALL)
        runs = [("analyze", path), ("analyze", path, "--derive"), ("analyze", huge), ("explain", path),
                ("simulate", small), ("machines",), ("machines", "toy"), ("machines", "h100-sxm"), ("problems",),
                ("problems", "resnet50"), ("--help",), ("analyze", "--help")]
        for arguments in runs:
            outcome = run(*arguments)
            self.assertEqual(outcome.status, 0, outcome.messages)
            for line in outcome.output.splitlines():
                self.assertLessEqual(len(line), 80, f"{arguments}: {line}")

    def test_no_colour_in_a_pipe(self):
        for environment in ({"NO_COLOR": "1"}, {}):
            self.assertNotIn("\033", run("analyze", "-", text=EXAMPLE, environment=environment).output)

    def test_colour_on_a_terminal_unless_no_color(self):
        path = self.file("a.yaml", EXAMPLE)
        self.assertIn("\033[1m", self.on_a_terminal(path, {"TERM": "xterm", "NO_COLOR": ""}))
        self.assertNotIn("\033", self.on_a_terminal(path, {"TERM": "xterm", "NO_COLOR": "1"}))
        self.assertNotIn("\033", self.on_a_terminal(path, {"TERM": "dumb", "NO_COLOR": ""}))

    def on_a_terminal(self, path, environment):
        """What analyze writes to a terminal."""
        ours, theirs = os.openpty()
        try:
            process = subprocess.Popen([support.PROGRAM, "analyze", path], stdout=theirs, stdin=subprocess.DEVNULL,
                                       env={**os.environ, **environment})
            os.close(theirs)
            text = b""
            while True:
                try:
                    block = os.read(ours, 65536)
                except OSError:  # the other side is closed
                    break
                if not block:
                    break
                text += block
            self.assertEqual(process.wait(timeout=60), 0)
            return text.decode()
        finally:
            os.close(ours)

    def test_a_reader_that_leaves_early_is_no_error(self):
        path = self.file("a.yaml", EXAMPLE)
        process = subprocess.Popen([support.PROGRAM, "analyze", path, "--json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertGreaterEqual(process.wait(timeout=60), 0)  # no signal


class ShortForm(Files):
    NEST = "for n m by 16\nat Buffer: X W\npar n by 1 on array.x\npar m by 1 on array.y\nat RF: Y\nfor k by 1\n"

    def test_an_einsum_and_a_library_machine(self):
        nest = self.file("nest.txt", self.NEST)
        outcome = run("analyze", MATMUL, "-r", "m=64,n=64,k=64", "--on", "toy", "--types", "Y=fp32", "--mapping", nest,
                      "--json")
        self.assertEqual(outcome.status, 0, outcome.messages)
        self.assertEqual(outcome.report["problem"]["operations"], 64 ** 3)
        self.assertEqual([tensor["type"] for tensor in outcome.report["problem"]["tensors"]], ["bf16", "bf16", "fp32"])

    def test_ranks_may_be_given_one_by_one(self):
        nest = self.file("nest.txt", self.NEST)
        outcome = run("explain", MATMUL, "-r", "m=64", "-r", "n=64", "-r", "k=64", "--on", "toy", "--mapping", nest)
        self.assertEqual(outcome.status, 0, outcome.messages)

    def test_a_layer_of_the_library(self):
        nest = self.file("nest.txt", "for n k c p q r s by 1\n")
        outcome = run("analyze", "--problem", "resnet50/conv1", "--on", "toy", "--mapping", nest, "--json")
        self.assertEqual(outcome.status, 0, outcome.messages)
        self.assertEqual(outcome.report["problem"]["macs"], 64 * 3 * 112 * 112 * 7 * 7)

    def test_without_a_mapping_the_best_one_is_used_and_said_so(self):
        said = "no mapping given: the best one for energy is used, found by map"
        outcome = run("analyze", MATMUL, "-r", "m=8,n=8,k=8", "--on", "toy", "--json")
        self.assertEqual((outcome.status, outcome.messages), (0, ""))
        self.assertTrue(any(line.startswith(said) for line in outcome.report["conventions"]))
        for command in ("explain", "simulate"):
            outcome = run(command, MATMUL, "-r", "m=8,n=8,k=8", "--on", "toy")
            self.assertEqual(outcome.status, 0, outcome.messages)
            self.assertIn(said, outcome.messages)

    def test_where_no_mapping_fits_it_shows_one_to_fill_in(self):
        self.file("machines/tiny.yaml", """\
levels:
  - {storage: DRAM, capacity: 1 B, energy: 1 pJ/B}
  - {mesh: array, axes: {x: 2}}
  - {storage: RF}
  - {compute: MAC, rate: 1 op/cycle}
""")
        outcome = run("analyze", MATMUL, "-r", "m=8,n=8,k=8", "--on", "tiny", "--library", self.folder)
        self.assertEqual((outcome.status, outcome.output), (2, ""))
        for words in ("mapping is missing", "DRAM", "at DRAM: X W Y", "at RF", "array.x", "for k by 1"):
            self.assertIn(words, outcome.messages)

    def test_errors_of_a_mapping_file_point_into_it(self):
        nest = self.file("nest.txt", self.NEST.replace("at RF: Y", "at RG: Y"))
        outcome = run("analyze", MATMUL, "-r", "m=64,n=64,k=64", "--on", "toy", "--mapping", nest)
        self.assertEqual((outcome.status, outcome.output), (2, ""))
        self.assertRegex(outcome.messages, r"nest\.txt:5:4: error: ")

    def test_what_is_missing_is_said(self):
        for arguments, words in (((MATMUL, "-r", "m=64,n=64,k=64"), "machine is missing"),
                                 ((MATMUL, "--on", "toy"), "'k'"),
                                 ((MATMUL, "-r", "m", "--on", "toy"), "NAME=VALUE"),
                                 ((MATMUL, "-r", "m=64,n=64,k=64", "--on", "tooy"), "toy"),
                                 (("--problem", "resnet51/conv1", "--on", "toy"), "resnet50"),
                                 ((), "nothing to work on")):
            outcome = run("analyze", *arguments)
            self.assertEqual((outcome.status, outcome.output), (2, ""), arguments)
            self.assertIn(words, outcome.messages)

    def test_a_folder_of_ones_own_is_searched_first(self):
        self.file("machines/toy.yaml", "name: toy\nlevels: [{storage: Mine}, {compute: Unit, rate: 1 op/cycle}]\n")
        nest = self.file("nest.txt", "for m n k by 1\n")
        outcome = run("analyze", MATMUL, "-r", "m=2,n=2,k=2", "--on", "toy", "--mapping", nest, "--library", self.folder,
                      "--json")
        self.assertEqual(outcome.status, 0, outcome.messages)
        self.assertEqual(outcome.report["levels"][0]["level"], "Mine")


class Simulate(Files):
    def test_it_confirms_the_analysis(self):
        path = self.file("small.yaml", SMALL)
        outcome = run("simulate", path, "--json")
        self.assertEqual((outcome.status, outcome.messages), (0, ""))
        self.assertTrue(outcome.report["agrees"])
        self.assertTrue(outcome.report["result_matches"])
        self.assertEqual(outcome.report["holds"], run("analyze", path, "--json").report["holds"])
        # Pipelined cycles include the first load and the last store, so they cannot be fewer than overlapped ones.
        self.assertGreaterEqual(outcome.report["cycles"]["pipelined"],
                                run("analyze", path, "--json").report["cycles"]["overlapped"])

    def test_too_large_a_problem_is_declined(self):
        outcome = run("simulate", self.file("large.yaml", EXAMPLE))
        self.assertEqual((outcome.status, outcome.output), (2, ""))
        self.assertIn("limit", outcome.messages)

    def test_a_limit_can_be_lowered(self):
        self.assertEqual(run("simulate", self.file("small.yaml", SMALL), "--limit", "1000").status, 2)


class Explain(Files):
    def test_the_order_of_stationarity(self):
        text = run("explain", "-", text=EXAMPLE).output
        self.assertIn("Buffer holds X W Y: output stationary", text)
        self.assertLess(text.index("primary stationary: Y"), text.index("secondary stationary: W"))
        self.assertIn("column parallel", text)

    def test_as_json(self):
        document = run("explain", "-", "--json", text=EXAMPLE).report
        buffer = next(entry for entry in document["stationarity"] if entry["level"] == "Buffer")
        self.assertEqual(buffer["stationary_groups"], [["Y"], ["W"], ["X"]])
        self.assertEqual(document["spatial"][0]["tensors"][0]["role"], "replicated")


class LibraryLists(unittest.TestCase):
    def test_machines(self):
        names = [entry["name"] for entry in run("machines", "--json").report["machines"]]
        self.assertIn("toy", names)
        listed = run("machines").output
        for name in names:
            self.assertRegex(listed, rf"(?m)^  {re.escape(name)} ")

    def test_one_machine_with_its_peak(self):
        machine = run("machines", "toy", "--json").report
        compute = machine["levels"][-1]
        self.assertEqual(compute["peak"]["any"]["operations_per_cycle"], 256)  # 16 x 16 of 1 op/cycle
        self.assertEqual(compute["peak"]["any"]["operations_per_second"], 256e9)
        self.assertIn("source: ", run("machines", "toy").output)

    def test_an_unknown_machine(self):
        outcome = run("machines", "h100-smx")
        self.assertEqual((outcome.status, outcome.output), (2, ""))
        self.assertIn("h100-sxm", outcome.messages)

    def test_problems(self):
        names = [entry["name"] for entry in run("problems", "--json").report["problems"]]
        self.assertIn("resnet50", names)

    def test_one_problem_with_totals(self):
        document = run("problems", "resnet50", "--json").report
        self.assertEqual(document["macs"], sum(layer["macs"] * layer["repeat"] for layer in document["layers"]))
        self.assertEqual(document["flops"], 2 * document["macs"])

    def test_one_layer_pastes_into_a_spec(self):
        fragment = run("problems", "resnet50/conv1").output
        outcome = run("analyze", "-", "--json", text=fragment + "machine: toy\nmapping: for n k c p q r s by 1\n")
        self.assertEqual(outcome.status, 0, outcome.messages)
        self.assertEqual(outcome.report["problem"]["macs"], 64 * 3 * 112 * 112 * 7 * 7)


class Derivations(unittest.TestCase):
    """Evaluating each printed formula gives the printed number, for holds and for levels."""

    def test_every_formula_gives_its_number(self):
        for path in sorted(support.EXAMPLES.glob("*.yaml")):
            outcome = run("analyze", "--json", "--derive", path)
            self.assertEqual(outcome.status, 0, outcome.messages)
            for entry in json.loads(outcome.output)["derivations"]:
                # Integers and decimals as exact fractions, so that the arithmetic is exact too.
                text = re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", lambda n: "F('%s')" % n.group(0), entry["formula"])
                value = eval(text, {"F": fractions.Fraction, "ceil": math.ceil, "max": max})
                with self.subTest(path=path.name, quantity=entry["quantity"], formula=entry["formula"]):
                    if entry["quantity"] == "energy_pj":
                        self.assertAlmostEqual(float(value) / entry["value"], 1, places=12)
                    else:
                        self.assertEqual(value, fractions.Fraction(entry["value"]))


if __name__ == "__main__":
    unittest.main()
