"""SCALE-Sim's 54 runs from its own files: a topology and a configuration give the cycles and the SRAM traffic it gave.

Facts and source: tests/reference/scalesim/README.md. The files are written here from the sizes of those runs.
"""

import json
import pathlib
import resource
import tempfile
import unittest

import reference_support as support

CONVOLUTION_HEADER = ("Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
                      "Strides,")
PRODUCT_HEADER = "Layer, M, N, K,"

# The four layers that were run as convolutions: height, width, filter height and width, channels, filters, stride.
CONVOLUTIONS = {
    "alexc5_12x14": (15, 15, 3, 3, 192, 64, 1),
    "conv1x1_32x32": (28, 28, 1, 1, 64, 64, 1),
    "conv3x3_16x16": (16, 16, 3, 3, 16, 32, 1),
    "conv7x7s2_16x16": (38, 38, 7, 7, 3, 32, 2),
}


def layer_of(case):
    return case["id"].rsplit("_", 1)[0]


def row_of(case):
    layer = layer_of(case)
    return [layer, *CONVOLUTIONS.get(layer, case["mnk"])]


def topology(rows, comma=True):
    """One row a layer; SCALE-Sim wants a comma at the end of each line, and files without it are common too."""
    header = CONVOLUTION_HEADER if len(rows[0]) > 4 else PRODUCT_HEADER
    end = "," if comma else ""
    return "\n".join([header.rstrip(",") + end, *(", ".join(map(str, row)) + end for row in rows), ""])


def configuration(case):
    rows, columns = case["array"]
    kilobytes = {"alexc5_12x14": 36, "g128_smallsram": 4}.get(layer_of(case), 64)
    mode = "USER" if layer_of(case) == "g128_user10" else "CALC"
    return f"""# SCALE-Sim
[general]
run_name = {case["id"]}

[architecture_presets]
ArrayHeight:    {rows}
arraywidth = {columns}
IfmapSramSzkB:   {kilobytes}
FilterSramSzkB:  {kilobytes}
OfmapSramSzkB:   {kilobytes}
IfmapOffset:    0
FilterOffset:   10000000
OfmapOffset:    20000000
Bandwidth : 10
Dataflow : {case["dataflow"]}
MemoryBanks:   1

[sparsity]
SparsitySupport : false

[run_presets]
InterfaceBandwidth: {mode}
UseRamulatorTrace: False
"""


class Files:
    """Files of a test in a folder of their own."""

    def __init__(self, **texts):
        self.texts = texts

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        paths = []
        for name, text in self.texts.items():
            path = pathlib.Path(self.folder.name) / name.replace("_", ".", 1)
            path.write_text(text)
            paths.append(path)
        return paths

    def __exit__(self, *_):
        self.folder.cleanup()


def run(command, topology_text, configuration_text, *arguments):
    files = {"net_csv": topology_text}
    if configuration_text:
        files["array_cfg"] = configuration_text
    with Files(**files) as paths:
        return support.einflow(command, *paths, *arguments)


def analyze(topology_text, configuration_text, *arguments):
    outcome = run("analyze", topology_text, configuration_text, "--json", *arguments)
    if outcome.status != 0:
        raise AssertionError(outcome.messages)
    return outcome.report


def processor_seconds():
    """Of all programs that were run, whatever else the machine was doing."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def level(report, name):
    return next(level for level in report["levels"] if level["level"] == name)


class Cases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lines = (support.REFERENCE / "scalesim" / "cases.jsonl").read_text().splitlines()
        cls.cases = [json.loads(line) for line in lines]
        # All layers of a kind stand in one file; one of them is chosen.
        rows = {layer_of(case): row_of(case) for case in cls.cases}
        cls.topologies = {size: [row for row in rows.values() if len(row) == size] for size in (4, 8)}

        def report_of(case):
            comma = case["dataflow"] != "ws"
            return analyze(topology(cls.topologies[len(row_of(case))], comma), configuration(case), "--layer",
                           layer_of(case))

        cls.reports = support.in_parallel(report_of, cls.cases)

    def for_each(self, check):
        self.assertEqual(len(self.reports), 54)
        for case, report in zip(self.cases, self.reports):
            with self.subTest(case=case["id"]):
                check(case, report)

    def test_cycles(self):
        self.for_each(lambda case, report: self.assertEqual(report["cycles"]["systolic"], case["cycles"]))

    def test_a_convolution_becomes_the_product_that_scalesim_makes_of_it(self):
        self.for_each(lambda case, report: self.assertEqual(
            report["problem"]["ranks"], dict(zip("mnk", case["mnk"]))))

    def test_on_chip_traffic(self):
        def check(case, report):
            sram = level(report, "SRAM")
            self.assertEqual(sram["reads"]["X"], case["ifmap_reads"])
            self.assertEqual(sram["reads"]["W"], case["filter_reads"])
            self.assertEqual(sram["writes"]["Y"], case["ofmap_writes"])

        self.for_each(check)

    def test_what_is_not_taken_over_is_said(self):
        def check(_, report):
            said = "\n".join(report["conventions"])
            for part in ("IfmapSramSzkB", "Bandwidth", "FilterOffset", "MemoryBanks", "DRAM"):
                self.assertIn(part, said)
            self.assertNotIn("DRAM", [entry["level"] for entry in report["levels"]])

        self.for_each(check)


class Settings(unittest.TestCase):
    TEXT = topology([("g", 100, 70, 50)])

    def test_the_array_may_come_from_the_command_line(self):
        report = analyze(self.TEXT, None, "--set", "ArrayHeight=16", "--set", "ArrayWidth=16", "--set", "Dataflow=ws")
        # ceil(50/16) x ceil(70/16) folds of 2 x 16 + 16 + 100 - 2 cycles
        self.assertEqual(report["cycles"]["systolic"], 4 * 5 * 146)

    def test_the_command_line_goes_before_the_configuration(self):
        case = {"id": "g", "array": [8, 8], "dataflow": "os"}
        report = analyze(self.TEXT, configuration(case), "--set", "Dataflow=is")
        # ceil(50/8) x ceil(100/8) folds of 2 x 8 + 8 + 70 - 2 cycles
        self.assertEqual(report["cycles"]["systolic"], 7 * 13 * 92)

    def test_drained_timing_is_that_of_the_paper(self):
        case = {"id": "g", "array": [16, 16], "dataflow": "os"}
        report = analyze(self.TEXT, configuration(case), "--set", "timing=drained")
        # ceil(100/16) x ceil(70/16) folds of 2 x 16 + 16 + 50 - 2 cycles
        self.assertEqual(report["cycles"]["systolic"], 7 * 5 * 96)

    def test_wrong_settings_are_explained(self):
        for setting, part in (("ArrayHeight=0", "at least 1"), ("Dataflow=ows", "os, ws or is"),
                              ("timing=slow", "last-operation"), ("ArayWidth=3", "did you mean 'ArrayWidth'?"),
                              ("ArrayHeight=4", "ArrayWidth, Dataflow")):
            with self.subTest(setting):
                outcome = run("analyze", self.TEXT, None, "--set", setting)
                self.assertEqual(outcome.status, 2)
                self.assertIn(part, outcome.messages)

    def test_a_machine_and_an_array_exclude_each_other(self):
        case = {"id": "g", "array": [8, 8], "dataflow": "os"}
        outcome = run("analyze", self.TEXT, configuration(case), "--on", "h100-sxm")
        self.assertEqual(outcome.status, 2)
        self.assertIn("--on", outcome.messages)


class Network(unittest.TestCase):
    def test_a_topology_alone_is_a_list_of_convolutions(self):
        rows = [("Conv1", 224, 224, 7, 7, 3, 64, 2), ("b", 56, 28, 3, 1, 64, 64, 1)]
        outcome = run("translate", topology(rows), None, "--to", "problem")
        self.assertEqual(outcome.status, 0, outcome.messages)
        # The output is rounded up, 1 + ceil(217 / 2) = 110, so a last window reaches past the input.
        self.assertIn("O[n,k,p,q] += I[n,c,2*p+r,2*q+s] * F[k,c,r,s]", outcome.output)
        self.assertIn("p: 110, q: 110", outcome.output)
        self.assertIn("shapes: {I: [1, 3, 224, 224]}", outcome.output)
        self.assertIn("p: 54, q: 28", outcome.output)

    def test_a_large_topology_is_read_quickly(self):
        rows = [f"{'layer_' + str(i):<60},{i % 200 + 7:>6},{224:>6},{7:>6},{7:>6},{64:>6},{64:>6},{2:>6},"
                for i in range(90000)]
        text = "\n".join([CONVOLUTION_HEADER, *rows, ""])
        self.assertGreater(len(text), 9_900_000)
        with Files(net_csv=text, array_cfg=configuration({"id": "g", "array": [8, 8], "dataflow": "os"})) as paths:
            before = processor_seconds()
            outcome = support.einflow("analyze", *paths, "--layer", "layer_77777", "--json")
            self.assertLess(processor_seconds() - before, 4)  # 2 on a machine that does nothing else
        self.assertEqual(outcome.status, 0, outcome.messages)


if __name__ == "__main__":
    unittest.main()
