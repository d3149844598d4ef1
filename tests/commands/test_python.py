"""Expressions of PyTorch, numpy and einops: shapes, parameters and products are those that the libraries have.

tests/reference/python/cases.jsonl was worked out with torch 1.13, numpy 1.24 and einops by make_cases.py beside it.
"""

import functools
import json
import math
import re
import unittest

import reference_support as support

CASES = [json.loads(line) for line in (support.REFERENCE / "python" / "cases.jsonl").read_text().splitlines()]
EXAMPLES = support.EXAMPLES / "notations" / "python"


class Read:
    """What `einflow translate TEXT --to problem` prints: einsums with ranks, and what the messages say."""

    def __init__(self, text):
        self.outcome = support.einflow("translate", text, "--to", "problem")
        self.einsums = []
        for einsum, ranks in re.findall(r'einsum: "(.*)"\n\s+ranks: \{(.*)\}', self.outcome.output):
            sizes = {name: int(size) for name, size in re.findall(r"(\w+): (\d+)", ranks)}
            self.einsums.append((einsum, sizes))

    def said(self, pattern):
        found = re.search(pattern, self.outcome.messages)
        return found.group(1) if found else None

    @property
    def shape(self):
        return json.loads(self.said(r"note: output\b[^:]*: (\[.*?\])"))

    @property
    def last_output(self):
        """Sizes of the axes of the last einsum's output, which are all single ranks."""
        einsum, sizes = self.einsums[-1]
        axes = re.match(r"\w+(?:\[(.*?)\])?", einsum).group(1)
        return [sizes[rank] for rank in axes.split(",")] if axes else []

    @property
    def products(self):
        """Operations of all einsums that multiply or sum."""
        return sum(math.prod(sizes.values()) for einsum, sizes in self.einsums if " * " in einsum or "+=" in einsum)


@functools.cache
def read(text):
    return Read(text)


def read_all(texts):
    return support.in_parallel(read, texts)


class Reference(unittest.TestCase):
    def test_the_libraries_are_named(self):
        self.assertIn("torch", CASES[0]["libraries"])
        self.assertGreaterEqual(len(self.accepted()), 60)
        self.assertGreaterEqual(len(self.refused()), 15)

    @staticmethod
    def accepted():
        return [case for case in CASES if "shape" in case]

    @staticmethod
    def refused():
        return [case for case in CASES if "error" in case]

    def test_shapes_are_those_of_the_library(self):
        cases = self.accepted()
        for case, text in zip(cases, read_all([case["text"] for case in cases])):
            with self.subTest(case["text"]):
                self.assertEqual(text.outcome.status, 0, text.outcome.messages)
                self.assertEqual(text.shape, case["shape"])

    def test_outputs_of_einsums_have_as_many_elements(self):
        cases = [case for case in self.accepted() if "landing" not in case]
        counted = 0
        for case, text in zip(cases, read_all([case["text"] for case in cases])):
            if not text.einsums:
                continue
            counted += 1
            with self.subTest(case["text"]):
                self.assertEqual(math.prod(text.last_output), math.prod(case["shape"]))
        self.assertGreater(counted, 100)

    def test_products_are_those_that_the_library_makes(self):
        cases = [case for case in self.accepted() if "products" in case]
        self.assertGreater(len(cases), 60)
        for case, text in zip(cases, read_all([case["text"] for case in cases])):
            with self.subTest(case["text"]):
                self.assertEqual(text.products, case["products"])

    def test_products_of_transposed_convolutions_land_as_in_the_library(self):
        cases = [case for case in self.accepted() if "landing" in case]
        self.assertGreater(len(cases), 5)
        for case, text in zip(cases, read_all([case["text"] for case in cases])):
            with self.subTest(case["text"]):
                self.assertEqual(int(text.said(r"of which (\d+) are products")), case["landing"])
                self.assertEqual(int(text.said(r"stride: (\d+) MACs")), text.products)

    def test_parameters_are_those_of_the_library(self):
        cases = [case for case in self.accepted() if "parameters" in case]
        self.assertGreater(len(cases), 30)
        for case, text in zip(cases, read_all([case["text"] for case in cases])):
            with self.subTest(case["text"]):
                self.assertEqual(int(text.said(r"note: parameters: (\d+)")), case["parameters"])

    def test_what_the_library_refuses_is_refused(self):
        cases = self.refused()
        for case, text in zip(cases, read_all([case["text"] for case in cases])):
            with self.subTest(case["text"]):
                self.assertEqual(text.outcome.status, 2, text.outcome.output)
                self.assertRegex(text.outcome.messages, r"^<command line>:\d+:\d+: error: ")


class CommandLine(unittest.TestCase):
    def test_a_bare_einsum_string_takes_sizes_from_ranks(self):
        outcome = support.einflow("translate", "mk,kn->mn", "-r", "m=4,k=5,n=6", "--to", "problem")
        self.assertIn('einsum: "Y[m,n] += X[m,k] * W[k,n]"', outcome.output)
        implicit = support.einflow("translate", "mk,kn", "-r", "m=4,k=5,n=6", "--to", "problem")
        self.assertEqual(implicit.output, outcome.output)

    def test_a_name_in_a_shape_takes_its_size_from_ranks(self):
        outcome = support.einflow("translate", "bf16[b, 5] @ bf16[5, 6]", "-r", "b=7", "--to", "problem")
        self.assertIn("ranks: {m: 7, n: 6, k: 5}", outcome.output)

    def test_examples_are_read(self):
        examples = sorted(EXAMPLES.glob("*.txt"))
        self.assertGreaterEqual(len(examples), 4)
        for example in examples:
            with self.subTest(example.name):
                outcome = support.einflow("translate", example, "--to", "problem")
                self.assertEqual(outcome.status, 0, outcome.messages)
                self.assertIn("einsum:", outcome.output)


if __name__ == "__main__":
    unittest.main()
