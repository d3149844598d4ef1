#!/usr/bin/env python3
"""einflow on MAESTRO's directives: 154 reference cases, 45 probes, random directives.

The facts are in tests/reference/maestro (README.md there says where they are from). Every case is read, with the counts
of the facts, or refused for the reason that they name. Every number that MAESTRO prints equals einflow's or stands in
deviations.json with both and the cause. Small layers are checked against every step of their directives
(maestro_directives.py), which knows rows of the input where einflow knows outputs.
"""

import json
import pathlib
import random
import resource
import tempfile
import unittest

import maestro_directives as directives
import reference_support as support

REFERENCE = support.REFERENCE / "maestro"
CASES = [json.loads(line) for line in (REFERENCE / "cases.jsonl").read_text().splitlines()]
PROBES = [json.loads(line) for line in (REFERENCE / "probes.jsonl").read_text().splitlines()]
DEVIATIONS = json.loads((REFERENCE / "deviations.json").read_text())

READS_AND_WRITES = ("input_reads", "filter_reads", "output_writes")
# Sizes beyond 32 bits; two maps over the same rows, which einflow refuses; a size that MAESTRO never sets.
NOT_BY_RULES = {"o21_huge_dims", "o22_overflow_dim", "o42_both_y_and_yprime", "o47_yprime_without_R"}

GEMM = {"type": "GEMM", "dims": {"M": 4, "N": 4, "K": 4}, "flow": ["S 1 1 M", "T 1 1 N", "T 1 1 K"]}
MAPS = "SpatialMap(1,1) M; TemporalMap(1,1) N; TemporalMap(1,1) K;"
HEAD = "Network t {\n Layer A {\n  Type: GEMM\n"
BODY = "  Dimensions { M: 4, N: 4, K: 4 }\n  Dataflow { " + MAPS + " }\n }\n}\n"
# Texts that are odd in their words rather than in what they mean; MAESTRO refuses or crashes on all but those marked *.
ODD_WORDS = {
    "CR LF": ((HEAD + BODY).replace("\n", "\r\n"), None),
    "no commas and colons *": ((HEAD + BODY).replace(",", " ").replace(":", " "), None),
    "a type it cannot compute": (HEAD.replace("GEMM", "LSTM") + BODY, "cannot compute"),
    "an unknown type after comments": ("// a\n// b\n" + HEAD.replace("GEMM", "FOO") + BODY, ":5:9: error: found 'FOO'"),
    "no type": (HEAD.replace("  Type: GEMM\n", "") + BODY, "has no Type"),
    "no dataflow": (HEAD + "  Dimensions { M: 4 N: 4 K: 4 }\n }\n}\n", "has no Dataflow"),
    "another letter at a cluster": (HEAD + BODY.replace("K; }", "K; Cluster(2,Q); SpatialMap(1,1) K; }"), "expected P or L"),
    "a negative size *": (HEAD + BODY.replace("M: 4", "M: -4"), "a negative number"),
    "a size of 0": (HEAD + BODY.replace("M: 4", "M: 0"), "found '0'"),
    "letters behind a number *": (HEAD + BODY.replace("M: 4", "M: 4x"), "found '4x'"),
    "Stride behind Dimensions": (HEAD + BODY.replace("  Dataflow", "  Stride { Y: 1 }\n  Dataflow"), "Stride stands behind"),
    "Sz before Dimensions": (HEAD + "  Dataflow { SpatialMap(Sz(M),1) M; }\n" + BODY, "Sz stands before"),
    "a glued brace": (HEAD + BODY.replace("{ M", "{M"), "needs white space"),
    "a glued comment": (HEAD.replace("GEMM\n", "GEMM// c\n") + BODY, "a comment begins right behind"),
    "a block comment": (HEAD.replace("  Type", "  /* c */ Type") + BODY, "found '/*'"),
    "a brace too few": ((HEAD + BODY)[:-2], "is not closed"),
    "nothing": ("", "no network with a layer"),
    "a network without a layer": ("Network t {\n}\n", "no network with a layer"),
    "a constant from a constant": ("Constant A 4;\nConstant B A;\n" + HEAD + BODY, "the constant's value"),
    "Sz of an unknown dimension": (HEAD + BODY.replace("(1,1) N", "(Sz(Q),1) N"), "'Q' is none"),
    "arithmetic": (HEAD + BODY.replace("(1,1) N", "(Sz(N)/2,2) N"), "found '/2'"),
    "an accelerator": ("Accelerator {\n}\n" + HEAD + BODY, "found 'Accelerator'"),
}


def run(command, text, pes, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.m"
        path.write_bytes(text.encode())
        return support.einflow(command, path, *(["--set", f"num_pes={pes}"] if pes else []), *arguments)


def counts(outcome):
    """Of the storage below L2, in the words of the facts."""
    report = outcome.report
    holds = {}
    for hold in report["holds"]:
        holds.setdefault(hold["tensor"], []).append(hold)
    inner, kernel, output = (chain[1] for chain in holds.values())
    elements = [tensor["elements"] for tensor in report["problem"]["tensors"]]
    return {"macs": report["problem"]["macs"], "cycles": report["cycles"]["compute"],
            "input": inner["parent_reads"], "filter": kernel["parent_reads"],
            "output": output["parent_updates"], "psums": output["parent_rmw_reads"], "elements": elements}


def in_maestro_words(found):
    return {"macs": found["macs"], "cycles": found["cycles"], "input_reads": found["input"],
            "filter_reads": found["filter"], "output_writes": found["output"], "output_drain": found["elements"][2],
            "input_fill": found["elements"][0], "filter_fill": found["elements"][1]}


def runs_of(case):
    """(name of the run, layer, its name in the document, PEs, MAESTRO's numbers or None, the facts' counts or None)."""
    if case["group"] == "layer":
        name = case["layers"][0]["name"]
        return [(f"{name} on {run['pes']} PEs", 0, name, run["pes"], run["maestro"], None) for run in case["runs"]]
    found = []
    names = [layer["name"] for layer in case["layers"]]
    for number, name in enumerate(names):
        unique = f"{name}_2" if name in names[:number] else name
        maestro = case["maestro"][number] if "maestro" in case else None
        exact = case["exact"][number] if "exact" in case else None
        found.append((f"{unique} on {case['pes']} PEs", number, unique, case["pes"], maestro, exact))
    return found


class Reference(unittest.TestCase):
    def check_run(self, case, analysed, expected_deviations):
        (run_name, _, _, pes, maestro, exact), outcome = analysed
        if "refused" in case:
            self.assertEqual(outcome.status, 2)
            self.assertIn(case["refused"], outcome.messages)
            return
        if case["group"] == "layer" and maestro is None:
            self.assertIn("the clusters need", outcome.messages)
            return
        self.assertEqual(outcome.status, 0, outcome.messages)
        found = counts(outcome)
        if case["group"] == "layer":
            self.assertEqual(found["macs"], case["exact_macs"])
        for name, value in (exact or {}).items():
            if name != "steps" and value is not None:
                self.assertEqual(found[name], value, name)
        ours = in_maestro_words(found)
        differs = {name: {"maestro": value, "einflow": ours[name]} for name, value in (maestro or {}).items()
                   if value != ours[name]}
        told = {name: {"maestro": entry["maestro"], "einflow": entry["einflow"]}
                for name, entry in expected_deviations.get(run_name, {}).items()}
        self.assertEqual(differs, told)

    def test_every_case_is_read_or_refused_with_its_reason(self):
        jobs = [(case, one) for case in CASES for one in runs_of(case)]
        outcomes = support.in_parallel(lambda job: run(
            "analyze", directives.text_of(job[0]["layers"]), job[1][3], "--layer", job[1][2], "--json"), jobs)
        for (case, one), outcome in zip(jobs, outcomes):
            with self.subTest(case=case["id"], run=one[0]):
                self.check_run(case, (one, outcome), DEVIATIONS.get(case["id"], {}))

    def test_the_facts_are_those_of_every_step(self):
        checked = 0
        for case in CASES:
            if case["group"] == "layer" or "exact" not in case or "refused" in case:
                continue
            for layer, exact in zip(case["layers"], case["exact"]):
                stepped = directives.Steps(layer, case["pes"])
                with self.subTest(case=case["id"]):
                    self.assertTrue(stepped.is_exact())
                    traffic = stepped.traffic()
                    self.assertEqual(traffic, {name: exact[name] for name in traffic})
                    checked += 1
        self.assertGreaterEqual(checked, 36)

    def test_deviations_have_causes_that_the_readme_explains(self):
        readme = (REFERENCE / "README.md").read_text()
        for case, runs in DEVIATIONS.items():
            for entries in runs.values():
                for name, entry in entries.items():
                    with self.subTest(case=case, number=name):
                        self.assertTrue(entry["causes"])
                        self.assertNotEqual(entry["maestro"], entry["einflow"])
                        for cause in entry["causes"]:
                            self.assertIn(f"`{cause}`", readme)

    @staticmethod
    def printed_numbers():
        """(case, run, layer, PEs, what MAESTRO printed) where its rules give its numbers."""
        for case in CASES:
            if case["id"] in NOT_BY_RULES:
                continue
            for run_name, number, _, pes, maestro, _ in runs_of(case):
                if maestro:
                    yield case, run_name, number, pes, maestro

    def test_maestros_own_rules_give_its_numbers(self):
        checked = 0
        for case, run_name, number, pes, maestro in self.printed_numbers():
            with self.subTest(case=case["id"], run=run_name):
                printed = directives.Printed(case["layers"], number, pes).counts()
                told = {name: maestro[name] for name in READS_AND_WRITES if name in maestro}
                self.assertEqual({name: printed[name] for name in told}, told)
                checked += len(told)
        self.assertGreater(checked, 1000)

    def test_derived_causes_are_what_its_rules_do(self):
        """Each derived cause changes the number, and without all of them MAESTRO would print einflow's."""
        derivable = directives.Printed.MENDABLE
        for case, run_name, number, pes, _ in self.printed_numbers():
            for name, entry in DEVIATIONS.get(case["id"], {}).get(run_name, {}).items():
                if name not in READS_AND_WRITES:
                    continue

                def without(causes):
                    return directives.Printed(case["layers"], number, pes, causes).counts()[name]

                with self.subTest(case=case["id"], run=run_name, number=name):
                    derived = set(entry["causes"]) & derivable
                    alone = {cause for cause in derivable if without({cause}) != entry["maestro"]}
                    last = {cause for cause in derived if without(derived - {cause}) != without(derived)}
                    self.assertLessEqual(alone, derived)
                    self.assertLessEqual(derived, alone | last)
                    (self.assertEqual if derived == set(entry["causes"]) else self.assertNotEqual)(
                        without(derived), entry["einflow"])

    def test_idle_units_explain_filters_that_are_read_again(self):
        """The law lets an idle unit keep nothing; MAESTRO's count is that of units that keep what they had."""
        for columns, law, kept in ((9, 144, 36), (10, 36, 36)):
            layer = {"type": "CONV", "dims": {"K": 2, "C": 2, "R": 3, "S": 3, "Y": 6, "X": columns},
                     "flow": ["T 1 1 K", "T 1 1 C", "T 3 1 Y", "S 3 1 X", "T 3 3 R", "T 3 3 S"]}
            stepped = directives.Steps(layer, 4)
            self.assertEqual(stepped.traffic()["filter"], law)
            self.assertEqual(stepped.traffic(idle_units_keep=True)["filter"], kept)
            self.assertEqual(counts(run("analyze", directives.text_of([layer]), 4, "--json"))["filter"], law)


class EveryStep(unittest.TestCase):
    def compare(self, layer, pes, outcome):
        """Whether einflow reads it; then every multiplication is done once, and all counts are those of the steps."""
        stepped = directives.Steps(layer, pes)
        if outcome.status != 0:
            return False
        self.assertTrue(stepped.is_exact(), directives.text_of([layer]))
        found, traffic = counts(outcome), stepped.traffic()
        self.assertEqual({name: found[name] for name in ("macs", "input", "filter", "output", "psums")},
                         {name: traffic[name] for name in ("macs", "input", "filter", "output", "psums")},
                         directives.text_of([layer]))
        self.assertEqual(found["cycles"], stepped.cycles(), directives.text_of([layer]))
        return True

    def test_probes(self):
        outcomes = support.in_parallel(
            lambda probe: run("analyze", directives.text_of(probe["layers"]), probe["pes"], "--json"), PROBES)
        for probe, outcome in zip(PROBES, outcomes):
            with self.subTest(probe=probe["id"]):
                if "refused" in probe:
                    self.assertIn(probe["refused"], outcome.messages)
                    self.assertEqual(outcome.status, 2)
                else:
                    self.assertTrue(self.compare(probe["layers"][0], probe["pes"], outcome), outcome.messages)

    @staticmethod
    def random_layer(choose):
        """Mostly legal directives: sizes and offsets that may leave gaps or repeat work."""
        kind = choose.choice(["GEMM", "CONV", "CONV", "DSCONV", "NGCONV"])
        layer = {"type": kind, "stride": {}, "flow": []}
        if kind == "GEMM":
            dims = {d: choose.randint(1, 7) for d in "MNK"}
        else:
            dims = {"C": choose.randint(1, 3), "R": choose.randint(1, 3), "S": choose.randint(1, 3)}
            dims.update({} if kind == "DSCONV" else {"K": choose.randint(1, 3)})
            dims.update({"G": 2} if kind == "NGCONV" else {})
            stride = choose.choice([1, 1, 2])
            for rows, taps in directives.WINDOWS.items():
                dims[rows] = dims[taps] + choose.randint(0, 5)
                if stride > 1:
                    layer["stride"][rows] = stride
        layer["dims"] = dims
        pes = choose.randint(1, 5)
        left = dict(dims)
        levels = choose.choice([1, 1, 2, 2, 3])
        for level in range(levels):
            if level:
                units = choose.randint(1, 3)
                pes *= units
                layer["flow"].append(f"C {units}")
            names = [d for d in dims if d not in "RS"]
            choose.shuffle(names)
            names = names[:choose.randint(1, len(names))]
            spatial = choose.choice(names)
            for name in names:
                taps = dims.get(directives.WINDOWS.get(name, ""), 1)
                outputs = choose.randint(1, max(1, min(4, left[name] - taps + 1)))
                size = outputs + taps - 1
                offset = outputs if choose.random() < 0.93 else choose.randint(1, 3)
                left[name] = min(left[name], size)
                layer["flow"].append(f"{'S' if name == spatial else 'T'} {size} {offset} {name}")
        return layer, pes

    def test_random_directives(self):
        choose = random.Random(1)
        jobs = []
        while len(jobs) < 600:
            layer, pes = self.random_layer(choose)
            if directives.Steps(layer, pes).needed() <= 3000:
                jobs.append((layer, pes))
        outcomes = support.in_parallel(lambda job: run("analyze", directives.text_of([job[0]]), job[1], "--json"), jobs)
        read = refused_rightly = refused_exact = 0
        for (layer, pes), outcome in zip(jobs, outcomes):
            with self.subTest(text=directives.text_of([layer]), pes=pes):
                if self.compare(layer, pes, outcome):
                    read += 1
                elif directives.Steps(layer, pes).is_exact():
                    refused_exact += 1
                    self.fail(f"exact, but refused: {outcome.messages}")
                else:
                    refused_rightly += 1
        self.assertGreater(read, 300)
        self.assertGreater(refused_rightly, 30)


class Words(unittest.TestCase):
    def test_odd_words(self):
        for name, (text, reason) in ODD_WORDS.items():
            with self.subTest(name):
                outcome = run("analyze", text, 4, "--json")
                if reason is None:
                    self.assertEqual(outcome.status, 0, outcome.messages)
                    self.assertEqual(counts(outcome)["macs"], 64)
                else:
                    self.assertEqual(outcome.status, 2)
                    self.assertIn(reason, outcome.messages)

    def test_a_hardware_file_gives_the_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            mapping, hardware = pathlib.Path(folder) / "a.m", pathlib.Path(folder) / "hw.m"
            mapping.write_text(directives.text_of([GEMM]))
            hardware.write_text("num_pes: 4\nnoc_bw_cstr: 8\nl1_size_cstr: 100\nNoC_NumHops: 1\n")
            outcome = support.einflow("analyze", mapping, hardware, "--json")
            self.assertEqual(outcome.status, 0, outcome.messages)
            level = {level["level"]: level for level in outcome.report["levels"]}
            self.assertEqual(level["L2"]["cycles"], 10)  # 64 + 16 elements read, 8 a cycle; 16 written
            self.assertEqual(level["L1"]["capacity_bytes"], 100)
            self.assertEqual(support.einflow("analyze", mapping, hardware, "--set", "num_pes=2", "--json").report["cycles"]
                             ["compute"], 32)

    def test_the_number_of_pes_is_asked_for(self):
        outcome = run("analyze", directives.text_of([GEMM]), None)
        self.assertEqual(outcome.status, 2)
        self.assertIn("num_pes is missing", outcome.messages)
        self.assertIn("with 4 no layer folds", outcome.messages)
        outcome = run("analyze", directives.text_of([GEMM]), None, "--set", "pes=4")
        self.assertIn("there is no setting 'pes'", outcome.messages)

    def test_what_is_written_reads_back(self):
        for case in CASES:
            if "refused" in case or case["group"] != "hand":
                continue
            with self.subTest(case=case["id"]):
                first = run("analyze", directives.text_of(case["layers"]), case["pes"], "--json")
                written = run("translate", directives.text_of(case["layers"]), case["pes"], "--to", "maestro")
                self.assertEqual(written.status, 0, written.messages)
                again = run("analyze", written.output, None, "--json")
                self.assertEqual(again.status, 0, again.messages)
                self.assertEqual(again.report["holds"], first.report["holds"])

    def test_ten_megabytes_are_read_in_two_seconds(self):
        layer = {"type": "CONV", "dims": {"K": 64, "C": 64, "R": 3, "S": 3, "Y": 58, "X": 58},
                 "flow": ["S 1 1 K", "T 64 64 C", "T 3 3 R", "T 3 3 S", "T 3 1 Y", "T 3 1 X", "C 64", "S 1 1 C"]}
        one = directives.text_of([dict(layer, name="L0")])
        number = 10_500_000 // len(one)
        text = directives.text_of([dict(layer, name=f"L{n}") for n in range(number)])
        self.assertGreater(len(text), 10_000_000)
        # CPU time: on a shared machine the clock on the wall measures the neighbours.
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        outcome = run("analyze", text, 256, "--layer", f"L{number - 1}", "--json")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.assertEqual(outcome.status, 0, outcome.messages[:500])
        self.assertLess(took, 4, f"{number} layers took {took:.2f} s")


if __name__ == "__main__":
    unittest.main()
