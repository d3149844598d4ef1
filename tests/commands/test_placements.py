"""Placements on the command line: recognised, translated there and back, analysed on a machine of the library.

What each device gets is worked out by hand from the placements: a shard of an input is its elements over the devices
that split it; a replica is the whole tensor again.
"""

import pathlib
import tempfile
import unittest

import reference_support as support

FOLDER = support.EXAMPLES / "notations" / "placements"


def translated(path, form, *arguments):
    outcome = support.einflow("translate", path, "--to", form, *arguments)
    if outcome.status != 0:
        raise AssertionError(outcome.messages)
    return outcome


def analyzed(text, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "placed.txt"
        path.write_text(text)
        outcome = support.einflow("analyze", path, "--json", *arguments)
    if outcome.status != 0:
        raise AssertionError(outcome.messages)
    return outcome.report


class Placements(unittest.TestCase):
    def test_each_device_gets_its_shards(self):
        # b 8 over dp 2, n 16384 over tp 4: X is read once and sent to the four devices of each half.
        report = support.analyze(FOLDER / "column-parallel.txt")
        x, w, y = 8 * 1024 * 4096, 4096 * 16384, 8 * 1024 * 16384
        self.assertEqual(support.hold(report, "Device", "X")["fills"], 4 * x)
        self.assertEqual(support.hold(report, "Device", "X")["parent_reads"], x)
        self.assertEqual(support.hold(report, "Device", "W")["fills"], 2 * w)
        self.assertEqual(support.hold(report, "Device", "W")["parent_reads"], w)
        self.assertEqual(support.hold(report, "Device", "Y")["parent_updates"], y)

    def test_partial_sums_are_merged_once_for_each_element(self):
        report = support.analyze(FOLDER / "data-and-row.yaml")
        # k over 4 devices: each drains a whole Y of its half of m; the network adds them.
        self.assertEqual(support.hold(report, "Device", "Y")["drains"], 4 * 2048 * 4096)
        self.assertEqual(support.hold(report, "Device", "Y")["parent_updates"], 2048 * 4096)

    def test_both_forms_are_recognised_and_lead_to_the_same_counts(self):
        spec = support.analyze(FOLDER / "data-and-row.yaml")
        for form in ("dtensor", "jax"):
            text = translated(FOLDER / "data-and-row.yaml", form).output
            report = analyzed(text)
            self.assertEqual(report["holds"], spec["holds"], form)
            self.assertEqual(report["mapping"], spec["mapping"], form)

    def test_a_major_axis_is_told_by_the_tuple(self):
        nest = translated(FOLDER / "fully-sharded-batch.txt", "einflow").output
        self.assertIn("  par m by 1024 on devices.tp\n  par m by 512 on devices.dp\n", nest)

    def test_axes_of_a_library_machine(self):
        text = """problem:
  einsum: "Y[m,n] += X[m,k] * W[k,n]"
  ranks: {m: 264, n: 64, k: 64}
  types: bf16
mesh: DeviceMesh((132,), mesh_dim_names=("sm",))
placements:
  X: [Shard(0)]
  W: [Replicate()]
  Y: [Shard(0)]
"""
        report = analyzed(text, "--on", "h100-sxm")
        self.assertIn("par m by 2 on sms.sm", report["mapping"])
        self.assertEqual(support.hold(report, "SMEM", "X")["fills"], 264 * 64)
        self.assertEqual(support.hold(report, "SMEM", "W")["fills"], 132 * 64 * 64)


if __name__ == "__main__":
    unittest.main()
