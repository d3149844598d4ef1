"""`einflow explain` of a parallel scheme by name."""

import unittest

import reference_support as support


def explain(*arguments):
    return support.einflow("explain", *arguments)


class Schemes(unittest.TestCase):
    def test_a_scheme_by_any_of_its_names(self):
        plain = explain("column")
        self.assertEqual((plain.status, plain.messages), (0, ""))
        self.assertIn("par n into 4 on devices.tp", plain.output)
        for words in (["column tensor parallel"], ["ColwiseParallel"], ["tp", "column"], ["Column", "parallelism"]):
            with self.subTest(words=words):
                self.assertEqual(explain(*words).output, plain.output)

    def test_sizes_and_devices(self):
        # An all-reduce of X[1,2048,4096] in fp32 over 8 devices: 2 x 7/8.
        report = explain("column", "--devices", 8, "-r", "b=1,s=2048,k=4096", "--types", "fp32", "--json").report
        self.assertEqual(report["bytes_per_device"]["backward"], 2 * 7 * 2048 * 4096 * 4 // 8)
        self.assertEqual(report["mesh"], {"tp": 8})
        report = explain("zero-2", "--microbatches", 3, "--json").report
        self.assertEqual(report["bytes_per_device"]["step"], 4 * 3 * (64 * 256 * 2) // 4)
        report = explain("hsdp", "--devices", "2x4", "--json").report
        self.assertEqual(report["mesh"], {"replica": 2, "shard": 4})

    def test_a_name_of_several_schemes_is_a_question(self):
        for term in ("2.5D", "sequence parallelism", "3D parallelism", "ZeRO", "tensor parallelism"):
            with self.subTest(term=term):
                outcome = explain(term, "--json")
                self.assertEqual(outcome.status, 0)
                self.assertEqual(outcome.report["format"], "einflow-term-1")
                self.assertTrue(outcome.report["ask"].endswith("?"))
                self.assertGreater(len(outcome.report["readings"]), 1)

    def test_all_schemes_are_listed_and_explained(self):
        names = [scheme["scheme"] for scheme in explain("schemes", "--json").report["schemes"]]
        self.assertGreaterEqual(len(names), 25)
        listed = explain("schemes").output
        for name, outcome in zip(names, support.in_parallel(explain, names)):
            with self.subTest(name=name):
                self.assertIn(f"  {name} ", listed)
                self.assertEqual((outcome.status, outcome.messages), (0, ""))
                self.assertLessEqual(max(map(len, outcome.output.splitlines())), 80)

    def test_an_unknown_name_gets_the_nearest(self):
        outcome = explain("colum", "parallel")
        self.assertEqual((outcome.status, outcome.output), (2, ""))
        self.assertIn("'column'", outcome.messages)
        self.assertIn("einflow explain schemes", outcome.messages)

    def test_a_file_that_is_not_there_is_no_scheme(self):
        for path in ("none.yaml", "examples/none"):
            outcome = explain(path)
            self.assertEqual((outcome.status, outcome.output), (2, ""))
            self.assertIn("No such file", outcome.messages)

    def test_a_spec_is_still_explained(self):
        outcome = explain(support.EXAMPLES / "matmul-weight-stationary.yaml")
        self.assertEqual(outcome.status, 0)
        self.assertIn("Mapping", outcome.output)

    def test_what_does_not_fit(self):
        for words, message in ((["summa", "--devices", "6"], "6 devices are not q x q"),
                               (["column", "--devices", "2x2"], "the scheme has the mesh tp"),
                               (["column", "--devices", "four"], "'four'"),
                               (["column", "--devices", "0"], "'0'"),
                               (["column", "-r", "q=4"], "no rank 'q'"),
                               (["column", "-r", "k"], "expected RANK=SIZE"),
                               (["column", "-r", "k=99999999999999999999"], "expected RANK=SIZE"),
                               (["column", "--types", "bf17"], "'bf17'"),
                               (["column", "--on", "toy"], "--on belongs to a spec"),
                               (["pipeline", "--devices", "16"], "16 stages for 8 layers"),
                               (["pipeline", "-r", "o=32"], "the output of a layer"),
                               (["megatron-attention", "--devices", "16"], "16 devices for 8 heads"),
                               ([support.EXAMPLES / "matmul-weight-stationary.yaml", "--devices", "4"],
                                "belong to a parallel scheme")):
            with self.subTest(words=words):
                outcome = explain(*words)
                self.assertEqual((outcome.status, outcome.output), (2, ""))
                self.assertIn(message, outcome.messages)


if __name__ == "__main__":
    unittest.main()
