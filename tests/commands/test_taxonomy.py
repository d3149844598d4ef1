"""The dataflows of a 1-D convolution, with one register per operand.

Facts and source: tests/reference/taxonomy/one_dimensional_convolution.json. The output- and weight-stationary rows
come from einflow. The input-stationary one iterates `for w, for s if 0 <= w-s < Q: O[w-s] += I[w] * F[s]`, and einflow
cannot state it: its nests cut intervals of the ranks q and s, and no such nest visits the operations in that order
(shown below by trying each first cut); with w as a rank instead the output's axis would be w-s, and an output's axes
are single ranks. That row is therefore checked by stepping through the loop here.
"""

import json
import unittest

import reference_support as support

FACTS = json.loads((support.REFERENCE / "taxonomy" / "one_dimensional_convolution.json").read_text())
Q, S, W = FACTS["Q"], FACTS["S"], FACTS["W"]

ONE_REGISTER_EACH = [{"storage": "Memory"}, {"compute": "MAC", "rate": "1 op/cycle", "latches": True}]
WITH_WINDOW = [{"storage": "Memory"}, {"storage": "Window", "capacity": f"{2 * S} B"},
               {"compute": "MAC", "rate": "1 op/cycle", "latches": True}]


def convolution(levels, nest):
    return support.spec("O[q] += I[q+s] * F[s]", {"q": Q, "s": S}, levels, "\n".join(nest))


def row_of(report, register="MAC"):
    output = support.hold(report, "MAC", "O")
    return {"weight_fetches": support.hold(report, "MAC", "F")["parent_reads"],
            "input_fetches": support.hold(report, register, "I")["parent_reads"],
            "psum_writes": output["parent_updates"],
            "psum_rereads": output["parent_rmw_reads"]}


def expected(row):
    return {name: value for name, value in FACTS["rows"][row].items() if name != "nest"}


def stepped(operations):
    """The same four counts for any order of (q, s), by keeping one register per operand."""
    counts = {"weight_fetches": 0, "input_fetches": 0, "psum_writes": 0, "psum_rereads": 0}
    weight = value = output = None
    written = set()
    for q, s in operations:
        counts["weight_fetches"] += s != weight
        counts["input_fetches"] += q + s != value
        if q != output:
            counts["psum_writes"] += output is not None
            counts["psum_rereads"] += q in written
            written.add(q)
        weight, value, output = s, q + s, q
    counts["psum_writes"] += 1
    return counts


def input_stationary_order():
    return [(w - s, s) for w in range(W) for s in range(S) if 0 <= w - s < Q]


def first_cuts_that_follow(operations):
    """(rank, tile) of every loop with more than one trip that could be the outermost loop of this order."""
    found = []
    for rank, extent in ((0, Q), (1, S)):
        for tile in range(1, extent):
            trips = [operation[rank] // tile for operation in operations]
            if trips == sorted(trips):
                found.append(("qs"[rank], tile))
    return found


class OneDimensionalConvolution(unittest.TestCase):
    def test_rows_that_are_rectangular_nests(self):
        for row in ("output stationary", "weight stationary"):
            with self.subTest(row=row):
                nest = FACTS["rows"][row]["nest"]
                self.assertEqual(row_of(support.analyze(convolution(ONE_REGISTER_EACH, nest))), expected(row))

    def test_simulation_agrees(self):
        for row in ("output stationary", "weight stationary"):
            with self.subTest(row=row):
                spec = convolution(ONE_REGISTER_EACH, FACTS["rows"][row]["nest"])
                outcome = support.einflow_on("simulate", spec, "--json")
                self.assertEqual(outcome.status, 0, outcome.messages)
                self.assertEqual(row_of(outcome.report), expected(row))

    def test_stepping_gives_the_same_rows(self):
        self.assertEqual(stepped([(q, s) for q in range(Q) for s in range(S)]), expected("output stationary"))
        self.assertEqual(stepped([(q, s) for s in range(S) for q in range(Q)]), expected("weight stationary"))

    def test_sliding_window_fetches_each_input_once(self):
        nest = ["for q by 1", "at Window: I", "for s by 1"]
        report = support.analyze(convolution(WITH_WINDOW, nest))
        window = support.hold(report, "Window", "I")["tile_elements"]
        self.assertEqual(window, FACTS["sliding_window"]["register_of_inputs"])
        row = row_of(report, register="Window")
        self.assertEqual(row, {**expected("output stationary"),
                               "input_fetches": FACTS["sliding_window"]["input_fetches"]})
        self.assertEqual(row["input_fetches"], Q + S - 1)

    def test_input_stationary_row_by_stepping(self):
        self.assertEqual(len(input_stationary_order()), Q * S)
        self.assertEqual(stepped(input_stationary_order()), expected("input stationary"))

    def test_input_stationary_order_is_no_rectangular_nest(self):
        self.assertEqual(first_cuts_that_follow(input_stationary_order()), [])
        self.assertIn(("q", 1), first_cuts_that_follow([(q, s) for q in range(Q) for s in range(S)]))

    def test_an_output_over_two_ranks_is_refused(self):
        spec = support.spec("O[w+s] += I[w] * F[s]", {"w": W, "s": S}, ONE_REGISTER_EACH, "for w by 1; for s by 1")
        outcome = support.einflow_on("analyze", spec, "--json")
        self.assertEqual(outcome.status, 2)
        self.assertIn("O", outcome.messages)


if __name__ == "__main__":
    unittest.main()
