"""einflow bound at its door: the staircase as a table and as JSON, machines placed on it, nests that attain it."""

import unittest

import reference_support as support

MATMUL = ("Y[m,n] += X[m,k] * W[k,n]", "-r", "m=256,n=128,k=64", "--types", "X=int8,W=int8,Y=int8")


def bound(*arguments):
    outcome = support.einflow("bound", *arguments, "--json")
    if outcome.status != 0:
        raise AssertionError(outcome.messages)
    return outcome.report


class Bound(unittest.TestCase):
    def test_the_staircase_falls_and_ends_at_the_compulsory_traffic(self):
        report = bound(*MATMUL)
        self.assertEqual(report["compulsory_bytes"], 256 * 64 + 64 * 128 + 256 * 128)
        sizes = [step["buffer_bytes"] for step in report["steps"]]
        moved = [step["traffic_bytes"] for step in report["steps"]]
        self.assertEqual(sizes, sorted(set(sizes)))
        self.assertEqual(moved, sorted(set(moved), reverse=True))
        self.assertEqual(moved[-1], report["compulsory_bytes"])
        # Without a buffer every operation reads both inputs, and adds to the output: it is read but for the first time.
        self.assertEqual(moved[0], 4 * 256 * 128 * 64 - 256 * 128)

    def test_a_printed_nest_moves_what_the_staircase_says(self):
        report = bound(*MATMUL)
        for step in report["steps"][1::4]:
            nest = support.einflow("bound", *MATMUL, "--nest", f"{step['buffer_bytes']} B")
            self.assertEqual(nest.status, 0, nest.messages)
            memory, = (level for level in support.analyze(nest.output)["levels"] if level["level"] == "Memory")
            self.assertEqual(memory["bytes_read"] + memory["bytes_written"], step["traffic_bytes"])
            simulated = support.einflow_on("simulate", nest.output)
            self.assertEqual(simulated.status, 0, simulated.output + simulated.messages)

    def test_less_freedom_never_moves_less(self):
        def least(report, size):
            return min(step["traffic_bytes"] for step in report["steps"] if step["buffer_bytes"] <= size)

        free, no_bypass, shared = bound(*MATMUL), bound(*MATMUL, "--no-bypass"), bound(*MATMUL, "--shared-tile")
        for size in (8, 100, 1000, 10000, 100000):
            self.assertLessEqual(least(free, size), least(no_bypass, size))
            self.assertLessEqual(least(free, size), least(shared, size))

    def test_the_storages_of_a_machine_are_placed(self):
        report = bound(*MATMUL, "--on", "toy")
        self.assertEqual([level["level"] for level in report["levels"]], ["Buffer", "RF"])
        self.assertEqual(report["levels"][0]["usable_bytes"], 256 * 1024)  # half of 512 KiB: it is double-buffered
        self.assertEqual(report["levels"][1]["usable_bytes"], 256 * 512)   # 16 x 16 register files

    def test_a_layer_of_the_library_with_a_window(self):
        report = bound("--problem", "resnet50/conv1", "--whole", "r,s")
        self.assertIn("share one place", report["space"])
        self.assertEqual(report["steps"][-1]["traffic_bytes"], report["compulsory_bytes"])

    def test_wrong_words(self):
        for arguments, message in ((("--whole", "q"), "there is no rank 'q'"), (("--nest", "64"), "unit"),
                                   (("--nest", "1 B", "--no-bypass"), "no nest of this space fits")):
            outcome = support.einflow("bound", *MATMUL, *arguments)
            self.assertEqual(outcome.status, 2, arguments)
            self.assertIn(message, outcome.messages)

    def test_no_line_is_wider_than_80(self):
        for arguments in (MATMUL, ("--problem", "resnet50/conv1", "--whole", "r,s", "--on", "eyeriss-v1")):
            for line in support.einflow("bound", *arguments).output.splitlines():
                self.assertLessEqual(len(line), 80, line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
