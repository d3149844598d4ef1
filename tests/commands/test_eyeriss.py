"""Eyeriss: the energy of reuse (ISCA 2016) and the global-buffer traffic of AlexNet (JSSC 2017).

The facts and their sources stand in tests/reference/eyeriss/facts.json, the row-stationary nests in
examples/eyeriss-alexnet-conv{1..5}.yaml.
"""

import decimal
import json
import re
import unittest

import reference_support as support

FACTS = json.loads((support.REFERENCE / "eyeriss" / "facts.json").read_text())
COST = FACTS["energy_cost"]
VALUES = 4  # of each kind in the nests below; every sum is for one value
WORD_BYTES = 2


def reading(name, cost):
    """A level whose reads cost that much and whose writes are free: the paper charges a move once."""
    return {"storage": name, "energy": {"read": f"{cost} pJ/element", "write": "0 pJ/element"}}


def hierarchy(a_mesh):
    return [reading("DRAM", COST["DRAM"]), reading("GLB", COST["GLB"]),
            {"mesh": "array", "axes": {"x": 8}, "hop_energy": f"{COST['array']} pJ/element", **a_mesh},
            reading("RF", COST["RF"]), {"compute": "MAC", "rate": "1 op/cycle", "energy": f"{COST['MAC']} pJ"}]


def input_nest(a, b, c, d):
    """Each X[i] is read a times from DRAM, b times from GLB per DRAM read, delivered to c PEs, read d times in each.

    Two tiles of i inside the outer m loop make DRAM's reads repeat, two elements a tile inside the next one GLB's.
    The output is a copy that goes straight to DRAM, whose writes are free.
    """
    ranks = {"m": a * b * c * d, "i": VALUES}
    nest = f"""
      for m into {a}
      for i by {VALUES // 2}
      at GLB: X
      for m into {b}
      for i by 1
      par m into {c} on array.x
      at RF: X
      for m by 1"""
    return support.spec("Y[m,i] = X[i]", ranks, hierarchy({"multicast": True}), nest)


def psum_nest(a, b, c, d):
    """Each Y[m] leaves GLB a times, RF a b times as c partial sums that the array merges, after d additions each."""
    ranks = {"m": VALUES, "k": a * b * c * d}
    nest = f"""
      for k into {a}
      for m by {VALUES // 2}
      at GLB: Y
      for k into {b}
      for m by 1
      par k into {c} on array.x
      at RF: Y
      for k by 1"""
    return support.spec("Y[m] += X[m,k]", ranks, hierarchy({"reduction": True}), nest)


def input_formula(a, b, c, d):
    return a * COST["DRAM"] + a * b * COST["GLB"] + a * b * c * COST["array"] + a * b * c * d * COST["RF"]


def psum_formula(a, b, c, d):
    return ((2 * a - 1) * COST["DRAM"] + 2 * a * (b - 1) * COST["GLB"] + a * b * (c - 1) * COST["array"] +
            2 * a * b * c * (d - 1) * COST["RF"])


def network_energy(report, tensor):
    return sum(entry["energy_pj"] for entry in report["networks"] if entry["tensor"] == tensor)


def input_energy(a, b, c, d):
    """einflow's own total, without the operations and without the array hops of the output, for one value."""
    report = support.analyze(input_nest(a, b, c, d))
    operations = report["problem"]["operations"] * COST["MAC"]
    return (report["energy_pj"]["total"] - operations - network_energy(report, "Y")) / VALUES


def psum_energy(a, b, c, d):
    """The paper's sum from einflow's counts, for one value.

    The law counts the first update of a residency as a plain write and every drain as a read. The paper counts a
    read and a write for each accumulation at a level but nothing for handing a value to the next level, except
    for the final write of the result to DRAM: so twice the read-modify-writes, and once more at DRAM.
    """
    report = support.analyze(psum_nest(a, b, c, d))
    glb, rf, mac = (support.hold(report, level, "Y") for level in ("GLB", "RF", "MAC"))
    merged_in_array = rf["drains"] - rf["parent_updates"]
    return (COST["DRAM"] * (1 + 2 * glb["parent_rmw_reads"] / VALUES) +
            COST["GLB"] * 2 * rf["parent_rmw_reads"] / VALUES +
            COST["array"] * merged_in_array / VALUES +
            COST["RF"] * 2 * mac["parent_rmw_reads"] / VALUES)


class EnergyOfReuse(unittest.TestCase):
    def test_input_of_figure_8(self):
        sum_ = FACTS["worked_sums"]["input"]
        self.assertEqual(input_energy(*(sum_[name] for name in "abcd")), sum_["energy"])

    def test_psum_of_figure_9(self):
        sum_ = FACTS["worked_sums"]["psum"]
        self.assertEqual(psum_energy(*(sum_[name] for name in "abcd")), sum_["energy"])

    def test_both_formulas_for_other_reuse(self):
        for reuse in ((1, 1, 2, 1), (1, 1, 2, 5), (1, 4, 2, 1), (2, 2, 2, 2), (3, 2, 5, 4), (5, 3, 8, 2)):
            with self.subTest(a_b_c_d=reuse):
                self.assertEqual(input_energy(*reuse), input_formula(*reuse))
                self.assertEqual(psum_energy(*reuse), psum_formula(*reuse))

    # Known fault: a mesh of which the nest uses one coordinate is left out of the networks, so that its hops are free.
    def test_a_value_for_one_element_of_the_array_crosses_it_too(self):
        self.assertEqual(input_energy(1, 2, 1, 4), input_formula(1, 2, 1, 4))
        self.assertEqual(psum_energy(2, 3, 1, 2), psum_formula(2, 3, 1, 2))


def example(layer):
    return support.EXAMPLES / f"eyeriss-alexnet-conv{layer}.yaml"


def glb_bytes(report):
    """Sums written to and read from the buffer, and inputs read from it; its fill with inputs is not in the table."""
    level = next(level for level in report["levels"] if level["level"] == "GLB")
    words = level["reads"]["O"] + level["writes"]["O"] + level["reads"]["I"]
    return words * WORD_BYTES


def printed_mb(bytes_):
    """In MB with one digit, as Table V prints it."""
    return str((decimal.Decimal(bytes_) / 1000000).quantize(decimal.Decimal("0.1"), decimal.ROUND_HALF_UP))


class AlexNetOnTheChip(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.layers = FACTS["layers"]
        reports = support.in_parallel(lambda layer: support.analyze(example(layer["layer"])), cls.layers)
        cls.reports = {layer["layer"]: report for layer, report in zip(cls.layers, reports)}

    def test_macs_and_active_elements(self):
        for layer in self.layers:
            with self.subTest(layer=layer["layer"]):
                report = self.reports[layer["layer"]]
                self.assertEqual(report["problem"]["macs"], layer["macs"])
                self.assertEqual(support.hold(report, "PsumSpad", "O")["instances"], layer["active_pes"])

    def test_global_buffer_traffic_of_table_v(self):
        for layer in self.layers:
            if layer["layer"] == 3:
                continue
            with self.subTest(layer=layer["layer"]):
                self.assertEqual(printed_mb(glb_bytes(self.reports[layer["layer"]])), layer["glb_mb"])

    def test_exact_global_buffer_traffic(self):
        # By hand. Sums: every channel group writes and reads back each output once, 2 (C/qr) M E F N words. Inputs:
        # every group of p t filters reads the whole input once; in strips the rows that two strips share come twice.
        sums = {1: 2 * 3 * 96 * 55 * 55 * 4, 2: 2 * 24 * 256 * 27 * 27 * 4, 3: 2 * 64 * 384 * 13 * 13 * 4,
                4: 2 * 32 * 384 * 13 * 13 * 4, 5: 2 * 32 * 256 * 13 * 13 * 4}
        inputs = {1: 3 * (7 * 35 + 31) * 227 * 3 * 4, 2: 16 * 31 * 31 * 48 * 4, 3: 6 * 15 * 15 * 256 * 4,
                  4: 12 * 15 * 15 * 192 * 4, 5: 8 * 15 * 15 * 192 * 4}
        for layer, report in self.reports.items():
            with self.subTest(layer=layer):
                self.assertEqual(glb_bytes(report), WORD_BYTES * (sums[layer] + inputs[layer]))

    def test_conv3_was_not_measured_with_the_parameters_of_table_iii(self):
        """Table III's CONV3 row gives 69.2 MB, CONV4's parameters give the 50.2 MB that Table V prints for CONV3."""
        facts = FACTS["conv3"]
        self.assertEqual(printed_mb(glb_bytes(self.reports[3])), facts["glb_mb_of_its_own_parameters"])

        text = example(3).read_text()
        head, nest = text.split("mapping: |\n")
        nest = re.sub(r"for c by 4 .*", "for c by 6\n", nest)  # q = 3 channels in each of r = 2 sets
        nest = re.sub(r"at GLB: I\n", "at GLB: I\n  for m by 32\n", nest)  # p t = 16 x 2 filters a pass
        nest = re.sub(r"(par m by 16 on array.y).*", r"\1\n  par c by 3 on array.y", nest)
        report = support.analyze(head + "mapping: |\n" + nest)
        self.assertEqual(printed_mb(glb_bytes(report)), facts["glb_mb_of_conv4s_parameters"])
        self.assertEqual(facts["glb_mb_of_conv4s_parameters"], self.layers[2]["glb_mb"])

    def test_published_processing_time_is_above_the_nest_s(self):
        """The nest's cycles leave out the ramp-up of a pass, for which the chip needs up to a fifth more."""
        for layer in self.layers:
            with self.subTest(layer=layer["layer"]):
                milliseconds = self.reports[layer["layer"]]["seconds"] * 1000
                self.assertLess(milliseconds, layer["processing_ms"])
                self.assertGreater(milliseconds, layer["processing_ms"] / 1.21)

    def test_a_larger_window_does_not_fit_the_scratchpad(self):
        text = example(4).read_text().replace("IfmapSpad, capacity: 24 B", "IfmapSpad, capacity: 16 B")
        outcome = support.einflow_on("analyze", text, "--json")
        self.assertEqual(outcome.status, 1)
        self.assertIn("IfmapSpad", outcome.messages)


if __name__ == "__main__":
    unittest.main()
