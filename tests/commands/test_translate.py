"""einflow translate: every form that can say a spec says the same spec, and no file is lost."""

import pathlib
import tempfile
import unittest

import reference_support as support

EXAMPLE = support.EXAMPLES / "matmul-toy.yaml"


def forms():
    """Name -> (read, written)."""
    report = support.einflow("translate", "--list", "--json").report
    return {form["form"]: (form["read"], form["written"]) for form in report["forms"]}


class Door(unittest.TestCase):
    def test_list_names_what_is_read_and_what_is_written(self):
        self.assertEqual(forms()["einflow"], (True, True))
        self.assertEqual(forms()["c"], (False, True))

    def test_the_form_must_be_named(self):
        outcome = support.einflow("translate", EXAMPLE)
        self.assertEqual(outcome.status, 2)
        self.assertIn("--to is missing", outcome.messages)

    def test_a_misspelt_form_names_the_nearest(self):
        outcome = support.einflow("translate", EXAMPLE, "--to", "timelop")
        self.assertEqual(outcome.status, 2)
        self.assertIn("did you mean 'timeloop'?", outcome.messages)

    def test_what_is_only_written_is_not_read(self):
        outcome = support.einflow("translate", EXAMPLE, "--from", "c", "--to", "einflow")
        self.assertEqual(outcome.status, 2)
        self.assertIn("only written", outcome.messages)

    def test_what_is_only_read_is_not_written(self):
        outcome = support.einflow("translate", EXAMPLE, "--to", "onnx")
        self.assertEqual(outcome.status, 2)
        self.assertIn("only read", outcome.messages)

    def test_a_file_is_only_replaced_when_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.yaml"
            self.assertEqual(support.einflow("translate", EXAMPLE, "--to", "einflow", "-o", path).status, 0)
            written = path.read_text()
            self.assertEqual(written, support.einflow("translate", EXAMPLE, "--to", "einflow").output)
            path.write_text("mine")
            outcome = support.einflow("translate", EXAMPLE, "--to", "einflow", "-o", path)
            self.assertEqual((outcome.status, path.read_text()), (2, "mine"))
            self.assertIn("--force replaces it", outcome.messages)
            self.assertEqual(support.einflow("translate", EXAMPLE, "--to", "einflow", "-o", path, "--force").status, 0)
            self.assertEqual(path.read_text(), written)

    def test_a_part_of_a_layer_is_translated(self):
        call = "torch.nn.Linear(64, 32)(bf16[8, 64])"
        whole = support.einflow("translate", call, "--to", "python")
        self.assertEqual(whole.status, 0, whole.messages)
        part = support.einflow("translate", call, "--layer", "Linear/linear", "--to", "problem")
        self.assertEqual(part.status, 0, part.messages)
        self.assertEqual(part.output.count("einsum:"), 1)
        alone = support.einflow("bound", call, "--layer", "linear", "--json")
        self.assertEqual(alone.status, 0, alone.messages)
        self.assertEqual(alone.report["problem"]["macs"], 8 * 64 * 32)

    def test_a_problem_file_is_read_as_it_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.yaml"
            source = support.ROOT / "problems" / "alexnet.yaml"
            self.assertEqual(support.einflow("translate", source, "--to", "problem", "-o", path).status, 0)
            for layer in ("conv1", "conv5"):
                first, again = (support.einflow("translate", file, "--layer", layer, "--to", "python").output
                                for file in (source, path))
                self.assertEqual(first, again)
                self.assertNotEqual(first, "")

    def test_what_does_not_belong_together_is_refused(self):
        for arguments in (("--json",), ("--force",), ("--set", "num_pes=3")):
            outcome = support.einflow("translate", EXAMPLE, "--to", "loops", *arguments)
            self.assertEqual((outcome.status, outcome.output), (2, ""), arguments)

    def test_nothing_is_written_where_the_input_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.yaml"
            self.assertEqual(support.einflow("translate", "no-such-file", "--to", "einflow", "-o", path).status, 2)
            self.assertFalse(path.exists())


class Examples(unittest.TestCase):
    def counts(self, *arguments):
        outcome = support.einflow("analyze", *arguments, "--json")
        self.assertIn(outcome.status, (0, 1), outcome.messages)
        return outcome.report["holds"]

    def check(self, example, form):
        outcome = support.einflow("translate", example, "--to", form)
        if outcome.status != 0:
            self.assertEqual(outcome.status, 2, outcome.messages)
            self.assertIn("error: ", outcome.messages)
            return False
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "translated"
            path.write_text(outcome.output)
            again = self.counts(path, "--from", form)
        holds = self.counts(example)
        named = lambda entries: [{**hold, "level": hold["level"], "tile_bytes": None} for hold in entries]
        self.assertEqual(named(again), named(holds), f"{example.name} as {form}")
        return True

    def test_every_form_that_says_an_example_gives_its_counts(self):
        said = 0
        pairs = [(example, form) for example in sorted(support.EXAMPLES.glob("*.yaml"))
                 for form, (read, written) in forms().items()
                 if read and written and form in ("einflow", "timeloop", "timeloop-v0.3", "loops")]
        said = sum(support.in_parallel(lambda pair: self.check(*pair), pairs))
        self.assertGreater(said, len(pairs) // 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
