"""SCALE-Sim's 54 runs as einflow nests: SRAM traffic, cycles and use of a systolic array.

Facts and source: tests/reference/scalesim/README.md. Each dataflow is a nest: the array's rows and columns take one
`par` line each, the third rank streams, and the tensor that it does not move stays in the cells.
"""

import json
import unittest

import reference_support as support

# dataflow: (rank on the rows, rank on the columns, rank that streams, tensor that stays)
DATAFLOWS = {"os": ("m", "n", "k", "Y"), "ws": ("k", "n", "m", "W"), "is": ("k", "m", "n", "X")}


def spec_of(case, convention):
    rows, columns = case["array"]
    ranks = dict(zip("mnk", case["mnk"]))
    on_rows, on_columns, streams, stays = DATAFLOWS[case["dataflow"]]
    nest = ["at SRAM: X W Y"]
    # A fold is as much of both ranks as the array takes.
    nest += [f"for {rank} by {size}" for rank, size in ((on_rows, rows), (on_columns, columns)) if size < ranks[rank]]
    nest += [f"par {on_rows} by 1 on array.rows", f"par {on_columns} by 1 on array.cols", f"at Reg: {stays}",
             f"for {streams} by 1"]
    levels = [{"storage": "DRAM"}, {"storage": "SRAM"},
              {"mesh": "array", "axes": {"rows": rows, "cols": columns}, "multicast": True, "reduction": True,
               "systolic": convention},
              {"storage": "Reg"}, {"compute": "MAC", "rate": "1 op/cycle"}]
    types = {tensor: "int8" for tensor in "XWY"}
    return support.spec("Y[m,n] += X[m,k] * W[k,n]", ranks, levels, "\n".join(nest), types)


def streamed(case):
    return dict(zip("mnk", case["mnk"]))[DATAFLOWS[case["dataflow"]][2]]


def level(report, name):
    return next(level for level in report["levels"] if level["level"] == name)


class ScaleSim(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lines = (support.REFERENCE / "scalesim" / "cases.jsonl").read_text().splitlines()
        cls.cases = [json.loads(line) for line in lines]
        cls.reports = support.in_parallel(lambda case: support.analyze(spec_of(case, "last-operation")), cls.cases)

    def for_each(self, check):
        for case, report in zip(self.cases, self.reports):
            with self.subTest(case=case["id"]):
                check(case, report)

    def test_all_cases_are_here(self):
        self.assertEqual(len(self.cases), 54)

    def test_on_chip_traffic(self):
        def check(case, report):
            sram = level(report, "SRAM")
            self.assertEqual(sram["reads"]["X"], case["ifmap_reads"])
            self.assertEqual(sram["reads"]["W"], case["filter_reads"])
            inner = support.hold(report, "Reg" if case["dataflow"] == "os" else "MAC", "Y")
            self.assertEqual(inner["parent_updates"], case["ofmap_writes"])
            self.assertEqual(sram["writes"]["Y"], case["ofmap_writes"])

        self.for_each(check)

    def test_systolic_cycles(self):
        self.for_each(lambda case, report: self.assertEqual(report["cycles"]["systolic"], case["cycles"]))

    def test_compute_cycles_and_use_of_the_array(self):
        def check(case, report):
            cells = case["array"][0] * case["array"][1]
            compute = report["cycles"]["compute"]
            self.assertEqual(compute, case["folds"] * streamed(case))
            macs = report["problem"]["macs"]
            self.assertAlmostEqual(100 * macs / (cells * compute), case["mapping_efficiency_pct"], delta=0.0006)
            printed_cycles = report["cycles"]["systolic"] - 1
            self.assertAlmostEqual(100 * macs / (cells * printed_cycles), case["utilization_pct"], delta=0.0006)
            self.assertAlmostEqual(report["utilization"], macs / (cells * report["cycles"]["overlapped"]), delta=1e-9)

        self.for_each(check)

    def test_drained_output_stationary_cycles_are_those_of_the_paper(self):
        cases = [case for case in self.cases if case["dataflow"] == "os"]
        self.assertEqual(len(cases), 18)
        reports = support.in_parallel(lambda case: support.analyze(spec_of(case, "drained")), cases)
        for case, report in zip(cases, reports):
            with self.subTest(case=case["id"]):
                rows, columns = case["array"]
                fold = 2 * rows + columns + streamed(case) - 2
                self.assertEqual(report["cycles"]["systolic"], case["folds"] * fold)
                self.assertEqual(report["cycles"]["systolic"], case["cycles"] + case["folds"] * rows)

    def test_simulation_of_the_smallest_runs(self):
        cases = [case for case in self.cases if case["id"].startswith("gfold_partial")]
        self.assertEqual(len(cases), 3)
        for case in cases:
            with self.subTest(case=case["id"]):
                outcome = support.einflow_on("simulate", spec_of(case, "last-operation"), "--json")
                self.assertEqual(outcome.status, 0, outcome.messages)


if __name__ == "__main__":
    unittest.main()
