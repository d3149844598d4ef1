"""einflow map at its door: answers, constraints, errors, networks, Ctrl-C, and that `analyze` confirms its mapping."""

import json
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import reference_support as support

MATMUL = ("Y[m,n] += X[m,k] * W[k,n]", "toy", "-r", "m=16,n=8,k=12", "--types", "X=int8,W=int8,Y=int8")
NETWORK = """\
name: small
source: made for this test
layers:
  - {name: first, matmul: {m: 4, n: 6, k: 8}}
  - {name: second, repeat: 3, matmul: {m: 8, n: 6, k: 4}}
  - {name: third, repeat: 2, matmul: {m: 4, n: 6, k: 8}}
  - {name: sum, elementwise: {m: 4, n: 6}}
"""


def map_json(*arguments):
    outcome = support.einflow("map", *arguments, "--json")
    if outcome.status != 0:
        raise AssertionError(outcome.messages)
    return outcome.report


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

    def refused(self, arguments, message, hint=None, status=2):
        outcome = support.einflow("map", *arguments)
        self.assertEqual((outcome.status, outcome.output), (status, ""), outcome.messages)
        self.assertIn(f"error: {message}\n", outcome.messages + "\n")
        if hint is not None:
            self.assertIn(f"hint: {hint}\n", outcome.messages + "\n")


class Answer(Files):
    def test_json_has_the_fields_of_its_form(self):
        report = map_json(*MATMUL)
        self.assertEqual(report["format"], "einflow-map-1")
        self.assertEqual(report["problem"]["einsum"], MATMUL[0])
        self.assertEqual((report["machine"], report["objective"], report["unit"]), ("toy", "energy", "pJ"))
        self.assertTrue(report["optimal"])
        self.assertEqual(report["bound"], report["value"])
        self.assertEqual(report["gap"], 0)
        self.assertNotIn("stopped", report)
        self.assertGreater(report["space"]["mappings"], report["space"]["tile_shapes"])
        self.assertEqual(report["space"]["given"], [])
        self.assertLessEqual(report["expanded"], report["states"])
        self.assertGreaterEqual(report["seconds"], 0)
        point, = report["points"]
        self.assertAlmostEqual(point["energy_pj"] / report["value"], 1, places=9)
        self.assertEqual(point["report"]["format"], "einflow-report-1")
        self.assertTrue(point["mapping"].startswith("at DRAM: X W Y\n"))
        self.assertTrue(any(line.startswith("objective: energy, the first that") for line in report["conventions"]))
        self.assertTrue(report["uncounted"])

    def test_the_spec_analyses_to_the_same_figures(self):
        for objective in ("energy", "cycles", "edp", "traffic:DRAM", "traffic:Buffer"):
            report = map_json(*MATMUL, "--objective", objective)
            spec = support.einflow("map", *MATMUL, "--objective", objective, "--spec")
            self.assertEqual((spec.status, spec.messages), (0, ""))
            analysed = support.analyze(spec.output)
            point, = report["points"]
            self.assertEqual(analysed["energy_pj"]["total"], point["energy_pj"])
            self.assertEqual(analysed["cycles"]["overlapped"], point["cycles"])
            self.assertEqual(analysed["edp"], point["edp"])
            self.assertEqual(analysed["mapping"], point["mapping"])
            value = {"energy": point["energy_pj"], "cycles": point["cycles"],
                     "edp": point["energy_pj"] * point["cycles"]}.get(objective)
            if value is None:
                level, = (entry for entry in analysed["levels"] if entry["level"] == objective.split(":")[1])
                value = 8 * (level["bytes_read"] + level["bytes_written"])
            self.assertAlmostEqual(report["value"] / value if value else 1 + report["value"], 1, places=9)

    def test_the_spec_goes_through_a_pipe_into_analyze_and_simulate(self):
        spec = support.einflow("map", *MATMUL, "--spec").output
        for command in ("analyze", "simulate"):
            done = subprocess.run([support.PROGRAM, command, "-", "--json"], input=spec, capture_output=True, text=True,
                                  timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["agrees"])

    def test_the_text_says_value_proof_and_what_to_type_next(self):
        outcome = support.einflow("map", *MATMUL)
        self.assertEqual((outcome.status, outcome.messages), (0, ""))
        for words in ("Best mapping for energy", "the optimum of this space: no mapping of it has less",
                      "tile shapes of one place: ", "mappings of the space: ", "looked into: ", "= the value",
                      "  at DRAM: X W Y", "Conventions", "Not counted", "--spec | einflow analyze -"):
            self.assertIn(words, outcome.output)

    def test_no_line_is_wider_than_80(self):
        for arguments in (MATMUL, (*MATMUL, "--front", "--all"), (*MATMUL, "--objective", "traffic:Buffer"),
                          ("resnet50/fc", "eyeriss-isca16-energy", "--time-limit", "1 s"),
                          (self.file("small.yaml", NETWORK), "toy", "--all")):
            for line in support.einflow("map", *arguments).output.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_the_threads_do_not_change_the_answer(self):
        one, four = (map_json(*MATMUL, "--threads", threads) for threads in (1, 4))
        for part in ("value", "bound", "optimal", "points"):
            self.assertEqual(one[part], four[part])

    def test_the_front_rises_in_energy_and_falls_in_cycles(self):
        report = map_json(*MATMUL, "--front")
        self.assertEqual(report["objective"], "front")
        self.assertNotIn("value", report)
        energies = [point["energy_pj"] for point in report["points"]]
        cycles = [point["cycles"] for point in report["points"]]
        self.assertEqual(energies, sorted(energies))
        self.assertEqual(cycles, sorted(cycles, reverse=True))
        self.assertAlmostEqual(energies[0] / map_json(*MATMUL)["value"], 1, places=9)
        self.assertEqual(cycles[-1], map_json(*MATMUL, "--objective", "cycles")["value"])
        self.assertAlmostEqual(min(e * c for e, c in zip(energies, cycles)),
                               map_json(*MATMUL, "--objective", "edp")["value"], delta=1e-6 * energies[0] * cycles[0])

    def test_a_nest_of_the_front_is_chosen_by_its_number(self):
        points = map_json(*MATMUL, "--front")["points"]
        spec = support.einflow("map", *MATMUL, "--front", "--spec", "--nest", len(points))
        self.assertEqual(support.analyze(spec.output)["energy_pj"]["total"], points[-1]["energy_pj"])
        shown = support.einflow("map", *MATMUL, "--front", "--nest", 1).output
        self.assertIn("\nNest 1\n", shown)
        self.assertNotIn("\nNest 2\n", shown)
        self.assertIn("\nNest 1\n", support.einflow("map", *MATMUL, "--front", "--all").output)

    def test_a_time_limit_is_no_error(self):
        for limit in ("10 s", "9.5s", "2000 ms", "10", "1 min"):
            outcome = support.einflow("map", *MATMUL, "--time-limit", limit)
            self.assertEqual((outcome.status, outcome.messages), (0, ""), limit)


class Problems(Files):
    def test_problem_and_machine_come_in_many_ways(self):
        machine = self.file("mine.yaml", (support.ROOT / "machines" / "toy.yaml").read_text())
        spec = self.file("spec.yaml", support.einflow("map", *MATMUL, "--spec").output)
        problem = self.file("problem.yaml", "problem:\n  einsum: \"Y[m,n] += X[m,k] * W[k,n]\"\n"
                            "  ranks: {m: 16, n: 8, k: 12}\n  types: {X: int8, W: int8, Y: int8}\n")
        as_json = self.file("problem.json", json.dumps({"problem": {
            "einsum": MATMUL[0], "ranks": {"m": 16, "n": 8, "k": 12}, "types": "int8"}}))
        value = map_json(*MATMUL)["value"]
        for arguments in ((MATMUL[0], "--on", *MATMUL[1:]), (MATMUL[0], machine, *MATMUL[2:]),
                          (spec,), (spec, "toy"), (problem, "toy"), (problem, "--on", "toy"), (problem, machine),
                          (as_json, machine), (as_json, "toy")):
            self.assertEqual(map_json(*arguments)["value"], value, arguments)

    def test_a_problem_from_standard_input(self):
        problem = support.einflow("problems", "resnet50/fc").output
        done = subprocess.run([support.PROGRAM, "map", "-", "toy", "--json", "--time-limit", "2 s"], input=problem,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["problem"]["macs"], 2048 * 1000)

    def test_a_layer_of_the_library(self):
        for arguments in (("resnet50/fc", "toy"), ("--problem", "resnet50/fc", "toy"),
                          ("resnet50", "toy", "--layer", "fc")):
            report = map_json(*arguments, "--time-limit", "2 s")
            self.assertEqual(report["problem"]["name"], "resnet50/fc")

    def test_what_of_a_spec_is_not_used_is_said(self):
        spec = self.file("spec.yaml", support.einflow("map", *MATMUL, "--spec").output)
        self.assertIn("the mapping in the text is not used: the best one is searched", map_json(spec)["conventions"])
        other = map_json(spec, "eyeriss-isca16-energy")
        self.assertEqual(other["machine"], "eyeriss-isca16-energy")
        self.assertIn("the machine of the text is not used: eyeriss-isca16-energy is given", other["conventions"])

    def test_another_notation(self):
        self.assertEqual(map_json("mk,kn->mn", "toy", "-r", "m=4,k=4,n=4")["problem"]["macs"], 64)

    def test_what_is_missing_or_unknown(self):
        self.refused(("resnet50/fc",), "the machine is missing")
        self.refused(("resnet50/fc", "tooy"), "unknown machine 'tooy'", "did you mean 'toy'?")
        self.refused(("resnet51", "toy"), "unknown problem 'resnet51'", "did you mean 'resnet50'?")
        self.refused(("resnet50/fcc", "toy"), "the problem 'resnet50' has no layer 'fcc'",
                     "did you mean 'resnet50/fc'?")
        self.refused(("none.yaml", "toy"), "cannot open 'none.yaml': No such file or directory")
        self.refused((), "nothing to work on")
        self.refused(("resnet50/fc", "toy", "--on", "toy"), "two machines are given: 'toy' and 'toy'")
        self.refused((*MATMUL, "--problem", "resnet50/fc"),
                     "a spec and --problem are given; one of them says what is computed")


class Constraints(Files):
    def place(self, mapping, level):
        """The tensors held at the level, and the lines outside it."""
        lines = mapping.splitlines()
        for number, line in enumerate(lines):
            if line.startswith(f"at {level}:"):
                return set(line.split(":")[1].split()), lines[:number]
        return set(), lines

    def mapping(self, *flags):
        report = map_json(*MATMUL, *flags)
        self.assertEqual(len(report["space"]["given"]), len(flags) // 2)
        self.assertGreaterEqual(report["value"], map_json(*MATMUL)["value"])
        return report["points"][0]["mapping"], report

    def test_what_is_held(self):
        mapping, _ = self.mapping("--hold", "Buffer:W,X")
        self.assertEqual(self.place(mapping, "Buffer")[0], {"W", "X"})
        mapping, _ = self.mapping("--keep", "RF:Y", "--bypass", "Buffer:Y")
        self.assertIn("Y", self.place(mapping, "RF")[0])
        self.assertNotIn("Y", self.place(mapping, "Buffer")[0])

    def test_a_tile(self):
        mapping, report = self.mapping("--tile", "Buffer:k=6,m=4", "--hold", "Buffer:X,W,Y")
        tiles = {entry["tensor"]: entry["tile_elements"] for entry in report["points"][0]["report"]["holds"]
                 if entry["level"] == "Buffer"}
        self.assertEqual(tiles["X"], 6 * 4, mapping)

    def test_who_stays(self):
        for text in ("W@RF", "W at RF"):
            mapping, _ = self.mapping("--stationary", text, "--keep", "RF:W")
            held, outside = self.place(mapping, "RF")
            self.assertIn("W", held)
            loops = [line for line in outside if line.startswith("for ")]
            if loops:
                self.assertEqual(loops[-1].split()[1], "m")  # the only rank that W lacks

    def test_what_is_spread(self):
        ways = "--spread", "array.x:k=4", "--spread", "y:m=8"
        mapping, _ = self.mapping(*ways)
        lines = mapping.splitlines()
        self.assertTrue(any(line.startswith("par k by ") and line.endswith("array.x") for line in lines), mapping)
        self.assertTrue(any(line.startswith("par m by ") and line.endswith("array.y") for line in lines), mapping)
        for flag in ("k", "k@array", "k@array.x"):
            mapping, _ = self.mapping("--no-spread", flag)
            lines = mapping.splitlines()
            self.assertFalse(any(line.startswith("par k ") and line.endswith("array.x") for line in lines), mapping)

    def test_how_many_units_work(self):
        for share in ("0.5", "50%"):
            _, report = self.mapping("--utilization", share)
            holds = report["points"][0]["report"]["holds"]
            used = max(entry["instances"] for entry in holds if entry["level"] == "MAC")
            self.assertGreaterEqual(used, 128)

    def test_wrong_names(self):
        for flag, value, message, hint in (
                ("--hold", "Bufer:W", "--hold: there is no storage level 'Bufer'", "did you mean 'Buffer'?"),
                ("--keep", "RF:Z", "--keep: there is no tensor 'Z'", "tensors: X, W, Y"),
                ("--bypass", "array:W", "--bypass: 'array' is a mesh and holds nothing",
                 "storage levels: DRAM, Buffer, RF"),
                ("--bypass", "MAC:W", "--bypass: 'MAC' is the compute level and holds nothing",
                 "storage levels: DRAM, Buffer, RF"),
                ("--tile", "Buffer:kk=4", "--tile: there is no rank 'kk'", "ranks: m, n, k"),
                ("--stationary", "W", "--stationary: found 'W', expected TENSOR@LEVEL", None),
                ("--stationary", "W@DRAM", "--stationary: no loop stands outside DRAM, the outermost storage", None),
                ("--spread", "z:k=2", "--spread: there is no axis 'z'", "axes: array.x, array.y"),
                ("--spread", "array.z:k=2", "--spread: there is no axis 'array.z'", "did you mean 'array.x'?"),
                ("--no-spread", "k@arry", "--no-spread: there is no mesh or axis 'arry'", "did you mean 'array'?"),
                ("--no-spread", "q", "--no-spread: there is no rank 'q'", "ranks: m, n, k"),
                ("--hold", "Buffer", "--hold: found 'Buffer', expected LEVEL:TENSOR,...",
                 "for example: --hold Buffer:W,X"),
                ("--tile", "Buffer:k", "--tile: found 'k', expected RANK=NUMBER", "for example: k=16"),
                ("--tile", "Buffer:k=0", "--tile: found 'k=0', expected RANK=NUMBER", "for example: k=16"),
                ("--utilization", "2", "--utilization: found '2', expected a share from 0 to 1",
                 "for example: --utilization 0.8, or 80%")):
            with self.subTest(flag=flag, value=value):
                self.refused((*MATMUL, flag, value), message, hint)

    def test_numbers_that_do_not_divide(self):
        self.refused((*MATMUL, "--tile", "Buffer:k=5"), "--tile: 5 does not divide the 12 of rank k",
                     "the divisors of 12 next to it: 4 and 6")
        self.refused((*MATMUL, "--spread", "x:m=32"), "--spread: 32 does not divide the 16 of rank m",
                     "the largest divisor of 16 is 16 itself")
        self.refused((*MATMUL, "--tile", "Buffer:k=4", "--tile", "RF:k=3"),
                     "--tile: k=3 at RF does not divide the 4 left at Buffer", "the divisors of 4 next to it: 2 and 4")
        self.refused((*MATMUL, "--spread", "x:m=16,k=2"), "--spread: 32 ways on array.x, which has 16")
        self.refused((*MATMUL, "--spread", "x:k=4", "--spread", "y:k=4"),
                     "--spread: 16 ways in all do not divide the 12 of rank k")

    def test_contradictions(self):
        self.refused((*MATMUL, "--keep", "Buffer:W", "--bypass", "Buffer:W"), "W is held and bypassed at Buffer")
        self.refused((*MATMUL, "--hold", "Buffer:W", "--keep", "Buffer:X"), "X is held and bypassed at Buffer")
        self.refused((*MATMUL, "--bypass", "DRAM:W"),
                     "--bypass DRAM:W: W starts in DRAM, the outermost storage, and cannot bypass it")
        self.refused((*MATMUL, "--tile", "RF:k=4", "--tile", "RF:k=2"),
                     "the tile of rank k at RF is given as 4 and as 2")
        self.refused((*MATMUL, "--tile", "DRAM:k=4"),
                     "--tile: DRAM is the outermost storage, where all 12 of rank k are left")
        self.refused((*MATMUL, "--stationary", "W@RF", "--stationary", "Y@RF"),
                     "W and Y are both to be stationary at RF")
        self.refused((*MATMUL, "--stationary", "W@RF", "--bypass", "RF:W"),
                     "W is to be stationary at RF, which it bypasses")
        self.refused((*MATMUL, "--spread", "x:k=4", "--no-spread", "k"),
                     "rank k is spread 4 ways on array.x, and not to be spread there")

    def test_all_errors_are_told_at_once(self):
        outcome = support.einflow("map", *MATMUL, "--hold", "Bufer:W", "--tile", "RF:k=5", "--utilization", "x")
        self.assertEqual(outcome.messages.count("error: "), 3)


class Options(Files):
    def test_objectives(self):
        self.refused((*MATMUL, "--objective", "enrgy"),
                     "--objective: found 'enrgy', expected energy, cycles, edp or traffic:LEVEL",
                     "did you mean 'energy'?")
        self.refused((*MATMUL, "--objective", "traffic"), "--objective: the traffic of which level?",
                     "traffic:LEVEL, storage levels: DRAM, Buffer, RF")
        self.refused((*MATMUL, "--objective", "traffic:Buf"), "--objective: there is no storage level 'Buf'",
                     "did you mean 'Buffer'?")
        self.refused((*MATMUL, "--objective", "energy:RF"), "--objective: energy takes no level")
        self.refused(("resnet50/fc", "eyeriss-v1", "--objective", "energy"),
                     "--objective energy: the machine states no figures for it")

    def test_times(self):
        for text in ("10 parsec", "0", "-1", "s"):
            self.refused((*MATMUL, "--time-limit=" + text), f"--time-limit: found '{text}', expected a time above 0",
                         "for example: 10 s, 500 ms, 2 min; a plain number is seconds")

    def test_options_that_do_not_go_together(self):
        self.refused((*MATMUL, "--front", "--spec"), "--spec with --front needs --nest")
        self.refused((*MATMUL, "--front", "--objective", "edp"), "--front and --objective are given")
        self.refused((*MATMUL, "--nest", "1"), "--nest N shows one nest of --front")
        self.refused((*MATMUL, "--json", "--spec"), "--json and --spec are given")
        self.refused((*MATMUL, "--all"), "--all shows the nests of --front or of a network")
        points = len(map_json(*MATMUL, "--front")["points"])
        self.refused((*MATMUL, "--front", "--nest", points + 1),
                     f"--nest {points + 1}: the front has {points} nests")

    def test_a_problem_that_does_not_fit(self):
        self.file("machines/tiny.yaml", "levels: [{storage: DRAM, capacity: 1 B, energy: 1 pJ/B}, "
                                        "{compute: MAC, rate: 1 op/cycle}]\n")
        outcome = support.einflow("map", MATMUL[0], "tiny", *MATMUL[2:], "--library", self.folder)
        self.assertEqual((outcome.status, outcome.output), (1, ""))
        self.assertIn("DRAM", outcome.messages)


class Networks(Files):
    def test_equal_layers_have_one_answer_and_totals_count_every_occurrence(self):
        report = map_json(self.file("small.yaml", NETWORK), "toy")
        self.assertEqual(report["format"], "einflow-network-map-1")
        first, second, third, added = report["layers"]
        self.assertEqual([layer["repeat"] for layer in report["layers"]], [1, 3, 2, 1])
        self.assertEqual(first["mapping"], third["mapping"])
        single = map_json("Y[m,n] += X[m,k] * W[k,n]", "toy", "-r", "m=8,n=6,k=4")
        self.assertEqual(second["value"], single["value"])
        energy = first["energy_pj"] + 3 * second["energy_pj"] + 2 * third["energy_pj"] + added["energy_pj"]
        self.assertAlmostEqual(report["totals"]["energy_pj"] / energy, 1, places=9)
        self.assertAlmostEqual(report["totals"]["value"] / energy, 1, places=9)
        self.assertEqual(report["totals"]["cycles"],
                         first["cycles"] + 3 * second["cycles"] + 2 * third["cycles"] + added["cycles"])
        self.assertEqual(report["totals"]["missing"], [])
        self.assertTrue(report["optimal"])

    def test_the_table(self):
        outcome = support.einflow("map", self.file("small.yaml", NETWORK), "toy")
        self.assertEqual((outcome.status, outcome.messages), (0, ""))
        for words in ("4 layers, 3 different ones searched", "In all, each layer times its occurrences",
                      "each layer's mapping is the optimum of its space"):
            self.assertIn(words, outcome.output)
        self.assertNotIn("for k by", outcome.output)
        self.assertIn("  at DRAM: X W Y", support.einflow("map", self.folder / "small.yaml", "toy", "--all").output)

    def test_the_product_of_a_network_is_that_of_its_sums(self):
        totals = map_json(self.file("small.yaml", NETWORK), "toy", "--objective", "edp")["totals"]
        self.assertAlmostEqual(totals["value"], totals["energy_pj"] * totals["cycles"], delta=1e-9 * totals["value"])

    def test_a_layer_that_does_not_fit_does_not_end_the_run(self):
        # In DRAM the products need 32 + 48 + 24 elements of 2 B, or 32 + 24 + 48; the sum 3 x 24: 160 B are enough.
        self.file("machines/narrow.yaml", "levels: [{storage: DRAM, capacity: 160 B, energy: 1 pJ/B}, "
                                          "{compute: MAC, rate: 1 op/cycle}]\n")
        arguments = (self.file("small.yaml", NETWORK), "narrow", "--library", self.folder)
        outcome = support.einflow("map", *arguments, "--json")
        self.assertEqual(outcome.status, 1)
        self.assertEqual(outcome.report["totals"]["missing"], ["first", "second", "third"])
        self.assertIn("DRAM", outcome.report["layers"][0]["errors"][0])
        self.assertIn("value", outcome.report["layers"][3])
        text = support.einflow("map", *arguments)
        self.assertEqual(text.status, 1)
        self.assertIn("Layers without a mapping\n  - first: ", text.output)
        self.assertIn("without: first, second, third", text.output)

    def test_every_einsum_of_a_cascade_is_mapped(self):
        cascade = self.file("cascade.yaml", """\
name: cascade
source: made for this test
layers:
  - {name: scores, repeat: 2, cascade: [
      {name: product, einsum: "S[q,t] += Q[q,e] * K[t,e]"}, {name: exp, einsum: "E[q,t] = exp(S[q,t])"}],
     ranks: {q: 4, t: 6, e: 8}}
""")
        layers = map_json(cascade, "toy")["layers"]
        self.assertEqual([(layer["layer"], layer["repeat"]) for layer in layers],
                         [("scores/product", 2), ("scores/exp", 2)])
        single = map_json(cascade, "toy", "--layer", "scores/exp")
        self.assertEqual(single["format"], "einflow-map-1")
        self.assertEqual(single["value"], layers[1]["value"])

    def test_what_is_for_one_problem_asks_for_a_layer(self):
        path = self.file("small.yaml", NETWORK)
        for flags in (("--front",), ("--spec",), ("--hold", "RF:X"), ("--no-spread", "k")):
            self.refused((path, "toy", *flags), f"{flags[0]} is for one problem, and 'small' has 4 layers; choose one",
                         "--layer NAME, layers: first, second, third, sum")
        self.assertEqual(map_json(path, "toy", "--layer", "second", "--hold", "RF:X")["problem"]["ranks"],
                         {"m": 8, "n": 6, "k": 4})

    def test_a_share_in_use_is_asked_of_every_layer(self):
        report = map_json(self.file("small.yaml", NETWORK), "toy", "--utilization", "5%")
        self.assertEqual(report["given"], ["--utilization 5%"])


class Stops(Files):
    def test_ctrl_c_prints_the_best_so_far(self):
        command = [support.PROGRAM, "map", "resnet50/layer1.0.conv2", "simba", "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        if process.poll() is not None:
            process.communicate()
            self.skipTest("the search was over before it could be stopped")
        process.send_signal(signal.SIGINT)
        output, messages = process.communicate(timeout=120)
        if process.returncode == 1:  # it had found nothing yet
            self.assertEqual(output, "")
            self.assertIn("error: stopped before a mapping was found", messages)
            return
        self.assertEqual(process.returncode, 0, messages)
        report = json.loads(output)
        if report["optimal"]:
            return  # the proof was done in the same moment
        self.assertTrue(report["stopped"])
        self.assertGreaterEqual(report["gap"], 0)
        self.assertLessEqual(report["bound"], report["value"])

    def test_a_second_ctrl_c_ends_at_once(self):
        process = subprocess.Popen([support.PROGRAM, "map", "resnet50/layer1.0.conv2", "simba"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        for _ in range(2):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                time.sleep(0.01)
        process.communicate(timeout=120)
        self.assertIn(process.returncode, (0, 1, -signal.SIGINT))


class WithoutAMapping(Files):
    SAID = "no mapping given: the best one for energy is used, found by map; optimal in its space"

    def test_analyze_takes_the_best(self):
        report = support.einflow("analyze", MATMUL[0], "--on", *MATMUL[1:], "--json")
        self.assertEqual((report.status, report.messages), (0, ""))
        self.assertEqual(report.report["energy_pj"]["total"], map_json(*MATMUL)["points"][0]["energy_pj"])
        self.assertIn(self.SAID, report.report["conventions"])
        text = support.einflow("analyze", MATMUL[0], "--on", *MATMUL[1:]).output
        self.assertIn("no mapping given: the best one", text)

    def test_explain_and_simulate_say_so(self):
        for command in ("explain", "simulate"):
            outcome = support.einflow(command, MATMUL[0], "--on", *MATMUL[1:])
            self.assertEqual(outcome.status, 0, outcome.messages)
            self.assertEqual(outcome.messages, f"note: {self.SAID}\n")

    def test_a_file_without_the_part(self):
        spec = support.einflow("map", *MATMUL, "--spec").output
        self.assertIn("mapping: |", spec)
        path = self.file("spec.yaml", spec[:spec.index("mapping: |")])
        outcome = support.einflow("analyze", path, "--json")
        self.assertEqual(outcome.status, 0, outcome.messages)
        self.assertIn(self.SAID, outcome.report["conventions"])

    def test_the_limits_of_simulate_stay(self):
        outcome = support.einflow("simulate", MATMUL[0], "--on", *MATMUL[1:], "--limit", "100")
        self.assertEqual((outcome.status, outcome.output), (2, ""))
        self.assertIn("limit", outcome.messages)


if __name__ == "__main__":
    unittest.main(verbosity=2)
