"""ONNX models on the command line. What is in them is checked in tests/notation/onnx; here, that every door takes them."""

import pathlib
import subprocess
import tempfile
import unittest

import reference_support as support

MODELS = support.REFERENCE / "onnx"
TINY = support.EXAMPLES / "notations" / "onnx" / "tiny.onnx"


class Onnx(unittest.TestCase):
    def test_a_network_is_shown_with_its_totals(self):
        outcome = support.einflow("problems", MODELS / "resnet50.onnx", "--set", "batch=1")
        self.assertEqual(outcome.status, 0, outcome.messages)
        self.assertIn("4,089,184,256", outcome.output)  # as problems/resnet50.yaml
        self.assertIn("25,557,032", outcome.output)  # as torchvision

    def test_the_problem_file_of_a_network_has_the_same_macs(self):
        outcome = support.einflow("translate", MODELS / "mobilenet_v2.onnx", "--to", "problem")
        self.assertEqual(outcome.status, 0, outcome.messages)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "problems").mkdir()
            (pathlib.Path(folder) / "problems" / "written.yaml").write_text(outcome.output)
            read = support.einflow("problems", "written", "--library", folder, "--json")
            self.assertEqual(read.status, 0, read.messages)
            self.assertEqual(read.report["macs"], 300_774_272)  # as problems/mobilenet-v2.yaml

    def test_what_is_not_counted_is_told(self):
        outcome = support.einflow("translate", MODELS / "uncounted.onnx", "--to", "problem")
        self.assertIn("LSTM lstm: a recurrence", outcome.messages)
        self.assertIn("3 operators in it", outcome.messages)

    def test_standard_input_is_recognised_by_its_bytes(self):
        done = subprocess.run([support.PROGRAM, "translate", "-", "--to", "problem", "--set", "batch=1"],
                              input=TINY.read_bytes(), capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"name: tiny", done.stdout)

    def test_open_sizes_are_bad_input(self):
        outcome = support.einflow("translate", TINY, "--to", "problem")
        self.assertEqual(outcome.status, 2)
        self.assertIn("--set batch=8", outcome.messages)

    def test_one_layer_is_written_as_a_spec(self):
        outcome = support.einflow("translate", TINY, "--set", "batch=2", "--layer", "relu", "--to", "einflow")
        self.assertEqual(outcome.status, 0, outcome.messages)
        self.assertIn('einsum: "Y[d0,d1,d2,d3] = relu(X[d0,d1,d2,d3])"', outcome.output)


if __name__ == "__main__":
    unittest.main()
