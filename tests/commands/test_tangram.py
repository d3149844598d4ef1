#!/usr/bin/env python3
"""einflow against nn_dataflow: accesses, buffered words, passes and cycles of its schedules, read in its own words.

The facts are in tests/reference/tangram (README.md there says where they are from and what each field means). Every
schedule is written as the tangram form, analysed, and einflow's counts are put into nn_dataflow's words. Each number
must equal nn_dataflow's or stand in deviations.json with the exact number and the reason.
"""

import collections
import json
import unittest

import reference_support as support

REFERENCE = support.REFERENCE / "tangram"
CASES = {case["name"]: case for case in map(json.loads, (REFERENCE / "cases.jsonl").read_text().splitlines())}
DEVIATIONS = json.loads((REFERENCE / "deviations.json").read_text())
TENSORS = ("FIL", "IFM", "OFM")
LEVELS = ("DRAM", "GBUF", "ITCN", "REGF")


def text_of(case):
    """The case in the tangram form. JSON is YAML."""
    return json.dumps({"batch": case["batch"], "resource": case["resource"], "layers": {"layer": case["schedule"]}})


def holds_by_level(report):
    """(tensor, level) -> its hold, and tensor -> its holds, outermost first, the compute level last."""
    chains = collections.defaultdict(list)
    for hold in report["holds"]:
        chains[hold["tensor"]].append(hold)
    return {(hold["tensor"], hold["level"]): hold for hold in report["holds"]}, chains


def accesses(report):
    """Level -> accesses of FIL, IFM, OFM as nn_dataflow counts them.

    DRAM and GBUF: words that leave towards the PEs and words that come back; fills are not counted. ITCN: words that
    arrive at a PE and partial sums that leave one. REGF: operands of the operations, outputs read and written.

    einflow adds partial sums where they are held. nn_dataflow brings an unfinished sum back to the PE through every
    level: each addition of einflow at a level (parent_rmw_reads) is one more access at that level and at all levels
    inside it, in the array as often as a sum leaves it.
    """
    counts = {level: [0, 0, 0] for level in LEVELS}
    _, chains = holds_by_level(report)
    for place, tensor in enumerate(TENSORS):
        brought_back = 0
        for hold, child in zip(chains[tensor], chains[tensor][1:]):
            level = hold["level"]
            if hold["role"] == "input":
                counts[level][place] = child["parent_reads"]
                if level == "REGF":
                    counts["ITCN"][place] = hold["fills"]
                continue
            if level == "REGF":
                returned, rest = divmod(hold["drains"] * brought_back, hold["parent_updates"])
                assert rest == 0
                counts["ITCN"][place] = hold["drains"] + returned
                counts["REGF"][place] = child["parent_updates"] + child["parent_rmw_reads"] + hold["drains"]
            else:
                brought_back += child["parent_rmw_reads"]
                counts[level][place] = child["parent_updates"] + brought_back
    return counts


def fields(case, report):
    """Field -> (einflow's number, nn_dataflow's), for every number that is compared."""
    expected = case["nn_dataflow"]
    pairs = {"ops": (report["problem"]["operations"], expected["ops"])}
    counts = accesses(report)
    for level in LEVELS:
        for place, tensor in enumerate(TENSORS):
            pairs[f"{level}.{tensor}"] = counts[level][place], expected["access"][level][place]
    holds, _ = holds_by_level(report)
    for level, words in (("GBUF", expected.get("gbuf_words") or expected["size"][0]),
                         ("REGF", expected.get("regf_words") or expected["size"][1])):
        for tensor, number in zip(TENSORS, words):
            ours = holds[tensor, level]["tile_elements"] if (tensor, level) in holds else 0
            pairs[f"{level}.{tensor}.words"] = ours, number
    if "time" in expected:
        pairs["cycles"] = report["cycles"]["compute"], expected["time"]
    return pairs


def report_of(name):
    """The report of a case. Where REGF has no room by einflow's count (README.md), it is analysed without a limit."""
    case = CASES[name]
    outcome = support.einflow_on("analyze", text_of(case), "--json")
    if outcome.status == 1 and [entry["level"] for entry in outcome.report["rejected"]] == ["REGF"]:
        resource = {key: value for key, value in case["resource"].items() if key != "size_regf"}
        outcome = support.einflow_on("analyze", text_of(case | {"resource": resource}), "--json")
    if outcome.status != 0:
        raise AssertionError(f"{name}: analyze ended with {outcome.status}: {outcome.messages}{outcome.output}")
    return outcome.report


def differing(name):
    """Field -> (einflow's number, nn_dataflow's) where they differ."""
    return {field: pair for field, pair in fields(CASES[name], report_of(name)).items() if pair[0] != pair[1]}


SCHEDULES = [name for name, case in CASES.items() if "schedule" in case]
VALID = [name for name in SCHEDULES if CASES[name]["nn_dataflow"].get("valid", True)]
PARTITIONS = [name for name in CASES if name.startswith("partition/")]
SIMULATED_OPERATIONS = 400_000  # the others rest on the closed form


class Schedules(unittest.TestCase):
    maxDiff = None

    def test_the_facts_are_complete(self):
        blocking = [name for name in SCHEDULES if name.startswith("blocking/")]
        self.assertEqual(len(blocking), 54)
        self.assertEqual(len([name for name in blocking if name in VALID]), 17)
        self.assertEqual(len(VALID), 17 + 232)
        self.assertEqual(len(PARTITIONS), 6)

    def test_every_number_is_nn_dataflows_or_a_known_deviation(self):
        found = dict(zip(VALID, support.in_parallel(differing, VALID)))
        for name in VALID:
            with self.subTest(name):
                known = DEVIATIONS["cases"].get(name, {})
                self.assertEqual(
                    {field: list(pair) for field, pair in found[name].items()},
                    {field: [entry["exact"], entry["nn_dataflow"]] for field, entry in known.items()})
                for entry in known.values():
                    self.assertIn(entry["reason"], DEVIATIONS["reasons"])
        self.assertLessEqual(set(DEVIATIONS["cases"]), set(VALID))

    def test_the_worked_blockings_differ_in_words_of_regf_only(self):
        for name, fields_of_case in DEVIATIONS["cases"].items():
            if name.startswith("blocking/"):
                self.assertLessEqual(set(fields_of_case), {"REGF.IFM.words", "REGF.OFM.words"}, name)

    def test_schedules_that_overflow_gbuf_are_rejected(self):
        rejected = [name for name in SCHEDULES if name not in VALID]
        outcomes = support.in_parallel(
            lambda name: support.einflow_on("analyze", text_of(CASES[name]), "--json"), rejected)
        for name, outcome in zip(rejected, outcomes):
            with self.subTest(name):
                self.assertEqual(outcome.status, 1)
                gbuf = next(entry for entry in outcome.report["rejected"] if entry["level"] == "GBUF")
                held = {entry["tensor"]: entry["tile_elements"] for entry in gbuf["tensors"]}
                self.assertEqual([held.get(tensor, 0) for tensor in TENSORS],
                                 CASES[name]["nn_dataflow"]["gbuf_words"])

    def test_small_deviations_are_executed(self):
        small = [name for name in DEVIATIONS["cases"]
                 if CASES[name]["nn_dataflow"]["ops"] <= SIMULATED_OPERATIONS]
        self.assertGreaterEqual(len(small), 19)

        def simulated(name):
            resource = {key: value for key, value in CASES[name]["resource"].items() if key != "size_regf"}
            text = text_of(CASES[name] | {"resource": resource})
            return support.einflow_on("simulate", text, "--counts-only", "--json")

        for name, outcome in zip(small, support.in_parallel(simulated, small)):
            with self.subTest(name):
                self.assertEqual(outcome.status, 0, outcome.messages)
                self.assertTrue(outcome.report["agrees"])


class Partitions(unittest.TestCase):
    def test_words_over_nodes(self):
        """Words that all nodes hold are the fills of their GBUFs, and of outputs what leaves them."""
        for name in PARTITIONS:
            case = CASES[name]
            node = case["nn_dataflow"]["node_layer"]
            # Two sets of 3 x 28 rows in the array, or ten of 3 x 7.
            ofms = min(2 if node["hofm"] == 28 else 10, node["nofm"])
            schedule = {"layer": case["layer"], "pass": [1, ofms], "ti": [1, node["nifm"], 1],
                        "to": [1, -(-node["nofm"] // ofms), 1], "tb": [1, node["batch"], 1],
                        "orders": [[0, 1, 2], [0, 1, 2]], "bypass": False,
                        "part": {"order": ["BATP", "OUTP", "OFMP", "INPP"]} | case["parts"]}
            with self.subTest(name):
                outcome = support.einflow_on("analyze", text_of(case | {"schedule": schedule}), "--json")
                self.assertEqual(outcome.status, 0, outcome.messages)
                holds, _ = holds_by_level(outcome.report)
                words = [holds[tensor, "GBUF"]["drains" if tensor == "OFM" else "fills"] for tensor in TENSORS]
                self.assertEqual(words, case["nn_dataflow"]["over_nodes"])
                networks = {entry["tensor"]: entry["hops"] for entry in outcome.report["networks"]
                            if entry["mesh"] == "NODES"}
                self.assertEqual([networks[tensor] for tensor in TENSORS], words)  # one hop a word


class RoundTrip(unittest.TestCase):
    def test_a_written_schedule_is_analysed_alike(self):
        for name in VALID[::16]:
            with self.subTest(name):
                written = support.einflow_on("translate", text_of(CASES[name]), "--to", "tangram")
                self.assertEqual(written.status, 0, written.messages)
                first = support.einflow_on("analyze", text_of(CASES[name]), "--json")
                again = support.einflow_on("analyze", written.output, "--json")
                self.assertEqual(again.status, first.status)
                self.assertEqual(again.report["problem"]["einsum"], first.report["problem"]["einsum"])
                self.assertEqual(again.report.get("holds"), first.report.get("holds"))


if __name__ == "__main__":
    unittest.main()
