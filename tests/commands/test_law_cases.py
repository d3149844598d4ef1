"""200 random nests whose every count is known by direct enumeration.

Source: tests/reference/law/cases.jsonl. Each case was executed step by step by a program that shares nothing
with einflow: it lists the tile of every hold at every step and coordinate as a set of elements and takes the
set differences and unions that docs/law.md names. `analyze` counts in closed form, `simulate` by execution;
both must give these numbers.
"""

import json
import unittest

import reference_support as support

INPUT_COUNTS = ("fills", "parent_reads", "forwarded")
OUTPUT_COUNTS = ("drains", "parent_updates", "parent_rmw_reads")


def level(name, network):
    if name == "array":
        return {"mesh": name, "axes": {"x": 8, "y": 8},
                **{ability: ability in network for ability in ("multicast", "reduction", "forwarding")}}
    if name == "MAC":
        return {"compute": name, "rate": "1 op/cycle"}
    return {"storage": name}


def spec_of(case):
    return support.spec(case["einsum"], case["ranks"], [level(name, case["network"]) for name in case["levels"]],
                        case["mapping"])


def expected_holds(case):
    """The rows of a case as the entries that `analyze --json` gives."""
    output = case["einsum"].split("[")[0]
    entries = []
    for name, tensor, instances, tile, *counts in case["holds"]:
        entry = {"level": name, "tensor": tensor, "instances": instances, "tile_elements": tile}
        names = OUTPUT_COUNTS if tensor == output else INPUT_COUNTS
        entry.update(zip(names, counts) if counts else {names[0]: 0})
        entries.append(entry)
    return sorted(entries, key=lambda entry: entry["tensor"])


def found_holds(report):
    keys = ("level", "tensor", "instances", "tile_elements", *INPUT_COUNTS, *OUTPUT_COUNTS)
    holds = [{key: hold[key] for key in keys if key in hold} for hold in report["holds"]]
    return sorted(holds, key=lambda entry: entry["tensor"])


class LawCases(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        lines = (support.REFERENCE / "law" / "cases.jsonl").read_text().splitlines()
        cls.cases = [json.loads(line) for line in lines]

    def check(self, command):
        outcomes = support.in_parallel(lambda case: support.einflow_on(command, spec_of(case), "--json"), self.cases)
        self.assertEqual(len(outcomes), 200)
        for number, (case, outcome) in enumerate(zip(self.cases, outcomes)):
            with self.subTest(command=command, case=number, mapping=case["mapping"]):
                self.assertEqual(outcome.status, 0, outcome.messages)
                report = outcome.report
                self.assertEqual(found_holds(report), expected_holds(case))
                self.assertEqual(report["problem"]["operations"], case["operations"])
                self.assertEqual(report["cycles"]["steps"], case["steps"])

    def test_analyze_gives_every_count(self):
        self.check("analyze")

    def test_simulate_gives_every_count(self):
        self.check("simulate")


if __name__ == "__main__":
    unittest.main()
