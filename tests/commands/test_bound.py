"""einflow bound at its door: the staircase as a table and as JSON, machines placed on it, nests that attain it."""

import json
import math
import unittest

import reference_support as support

MATMUL = ("Y[m,n] += X[m,k] * W[k,n]", "-r", "m=256,n=128,k=64", "--types", "X=int8,W=int8,Y=int8")


SCORES, CONTEXT = "S[q,t] += Q[q,e] * K[t,e]", "O[q,f] += S[q,t] * V[t,f]"
ATTENTION = ("--fused", SCORES, CONTEXT, "-r", "q=256,t=256,e=64,f=64", "--types",
             "Q=int8,K=int8,S=int8,V=int8,O=int8")


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

    def test_fused_and_unfused_curves_of_others(self):
        path = support.ROOT / "tests" / "reference" / "orojenesis" / "attention.jsonl"
        fact, = (fact for fact in map(json.loads, path.read_text().splitlines()) if fact["ranks"]["m"] == 256)
        report = bound(*ATTENTION, "--shared-tile", "--no-bypass")

        def points(steps):
            return [[step["buffer_bytes"], step["traffic_bytes"]] for step in steps]

        self.assertEqual(points(report["steps"]), fact["fused_flash"])
        self.assertEqual(points(report["unfused"]), fact["unfused"])

    def test_fusing_pays_from_where_the_curves_say(self):
        report = bound(*ATTENTION)
        self.assertEqual(report["compulsory_bytes"], 4 * 256 * 64)
        self.assertEqual(report["steps"][-1]["traffic_bytes"], report["compulsory_bytes"])
        self.assertEqual(report["unfused"][-1]["traffic_bytes"], report["compulsory_bytes"] + 2 * 256 * 256)

        def least(steps, size):
            return min((step["traffic_bytes"] for step in steps if step["buffer_bytes"] <= size), default=math.inf)

        pays = report["fusing_pays_from_bytes"]
        sizes = {step["buffer_bytes"] for step in report["steps"] + report["unfused"]}
        for size in sizes:
            if size >= pays:
                self.assertLess(least(report["steps"], size), least(report["unfused"], size), size)
        before = max(size for size in sizes if size < pays)
        self.assertGreaterEqual(least(report["steps"], before), least(report["unfused"], before))

    def test_the_softmax_of_a_library_layer_stands_between(self):
        report = bound("--fused", "--problem", "llama3-8b-prefill/scores", "--on", "h100-sxm")
        self.assertEqual(report["between"], ["softmax.max", "softmax.subtract", "softmax.exp", "softmax.sum",
                                             "softmax.divide"])
        self.assertTrue(any("M, L: one value a row" in text for text in report["conventions"]))
        elements = 32 * 2048 * 128 * 2 + 8 * 2048 * 128 * 2  # queries and outputs of 32 heads, keys and values of 8
        self.assertEqual(report["compulsory_bytes"], 2 * elements)
        self.assertEqual([level["level"] for level in report["levels"]], ["L2", "SMEM", "RF"])

    def test_chains_of_other_texts(self):
        call = "F.scaled_dot_product_attention(int8[1,1,256,64], int8[1,1,256,64], int8[1,1,256,64])"
        expected = [(step["buffer_bytes"], step["traffic_bytes"]) for step in bound(*ATTENTION)["steps"]]
        spec = ("problem:\n"
                f"  cascade: [\"{SCORES}\", \"{CONTEXT}\"]\n"
                "  ranks: {q: 256, t: 256, e: 64, f: 64}\n"
                "  types: int8\n")
        for outcome in (support.einflow("bound", "--fused", call, "--json"),
                        support.einflow_on("bound", spec, "--fused", "--json")):
            self.assertEqual(outcome.status, 0, outcome.messages)
            self.assertEqual([(step["buffer_bytes"], step["traffic_bytes"]) for step in outcome.report["steps"]],
                             expected)

    def test_a_fused_nest_is_printed(self):
        nest = support.einflow("bound", *ATTENTION, "--nest", "2065 B")
        self.assertEqual(nest.status, 0, nest.messages)
        # 2 * 16 * 64 for Q and O, a column of 16 scores, one element of K or V: 2065.
        self.assertEqual(nest.output.splitlines(), [
            "for q by 16", "at Buffer: Q O", "for t by 1", "at Buffer: S",
            SCORES, "  for e by 1", "  at Buffer: K", "  for q by 1",
            CONTEXT, "  for f by 1", "  at Buffer: V", "  for q by 1"])

    def test_wrong_words_about_chains(self):
        sizes = ("-r", "q=4,t=4,e=2,f=2")
        for arguments, message in (
                ((SCORES, "-r", "q=4,t=4,e=2", "--fused"), "nothing to fuse"),
                ((SCORES, CONTEXT, *sizes, "--fused", "--uncut", "e"), "no rank of the intermediate"),
                ((SCORES, CONTEXT, *sizes, "--fused", "--whole", "x"), "there is no rank 'x'"),
                ((SCORES, CONTEXT, *sizes, "--fused", "--nest", "1 B"), "no nest of this space fits"),
                ((SCORES, CONTEXT, *sizes, "--fused", "--layer", "O"), "no product takes the output of 'O'"),
                ((SCORES, CONTEXT, *sizes, "--fused", "--set", "a=1"), "--set is for other notations"),
                ((SCORES, "-r", "q=4,t=4,e=2", "--uncut", "t"), "--uncut goes with --fused"),
                (("--fused",), "nothing to work on"),
                (("--fused", "--problem", "llama3-8b-prefill"), "26 layers; choose one"),
                (("--fused", "--problem", "llama3-8b-prefill/silu"), "takes 'U' from outside")):
            outcome = support.einflow("bound", *arguments)
            self.assertEqual(outcome.status, 2, arguments)
            self.assertIn(message, outcome.messages)

    def test_no_line_is_wider_than_80(self):
        for arguments in (MATMUL, ("--problem", "resnet50/conv1", "--whole", "r,s", "--on", "eyeriss-v1"), ATTENTION,
                          ("--fused", "--problem", "llama3-8b-prefill/scores", "--on", "h100-sxm")):
            for line in support.einflow("bound", *arguments).output.splitlines():
                self.assertLessEqual(len(line), 80, line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
