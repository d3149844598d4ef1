#!/usr/bin/env python3
"""einflow against Timeloop: reads, fills, updates, tiles, cycles and energies of 104 mapped problems.

The facts are in tests/reference/timeloop (README.md there says where they are from and what each field means). Every
case is analysed, einflow's counts are put into Timeloop's words, and each number must equal Timeloop's or stand in
deviations.json with the exact number and the fault of Timeloop's that explains it. Where the problem is small the
exact number is checked by `einflow simulate`, which executes every step.
"""

import json
import math
import unittest
from fractions import Fraction

import reference_support as support

REFERENCE = support.REFERENCE / "timeloop"
SIMULATED_OPERATIONS = 11_000_000  # the simulator executes every operation; larger problems rest on the closed form

CASES = [json.loads(line) for line in (REFERENCE / "cases.jsonl").read_text().splitlines()]
DEVIATIONS = json.loads((REFERENCE / "deviations.json").read_text())


def by_tensor(holds):
    """Tensor -> its holds, outermost first, the compute level last."""
    tensors = {}
    for hold in holds:
        tensors.setdefault(hold["tensor"], []).append(hold)
    return tensors


def in_timeloop_words(case, holds):
    """(level, tensor) -> reads, fills, updates, tile and instances as Timeloop counts them, all instances together.

    Inputs: a level's reads are those that its children cause and the words that it hands to a sibling; fills are fills.

    Outputs: both count the partial sums that arrive as updates. einflow leaves an unfinished sum in the parent and adds
    to it there (parent_rmw_reads). Timeloop reads it there, fills it into the child and goes on adding in the child, so
    the first update of that child's tile reads it again. Each read-modify-write of einflow at a level is therefore one
    read in Timeloop at that level and, for every holding level inside it, one fill and one more read. The drain of a
    finished tile is no read in Timeloop. Nothing is read for the first visit of an element, unless the case's
    switches say otherwise.
    """
    switches = case.get("switches", [])
    counts = {}
    for tensor, chain in by_tensor(holds).items():
        brought_back = 0  # partial sums that the levels further out give back
        for place, (hold, child) in enumerate(zip(chain, chain[1:])):
            if hold["role"] == "input":
                reads = child["parent_reads"] + hold.get("forwarded", 0)
                fills = hold["fills"]
                updates = 0
            else:
                updates = child["parent_updates"]
                fills = brought_back
                brought_back += child["parent_rmw_reads"]
                reads = brought_back
                if reads_first_visits(switches, hold["level"], tensor):
                    reads = updates
                    fills = hold["parent_updates"] if place else 0
                elif "TIMELOOP_ENABLE_UPDATED_RMW=1" in switches and place >= 2:
                    # Only the outermost level but one takes partial sums back; inside it sums stay in the parent.
                    reads, fills = child["parent_rmw_reads"], 0
            counts[hold["level"], tensor] = {
                "reads": reads, "fills": fills, "updates": updates,
                "tile": hold["tile_elements"], "instances": hold["instances"],
            }
    return counts


def reads_first_visits(switches, level, tensor):
    """Whether the case has first-read elision off for this level: then every update reads and every visit fills."""
    return ("TIMELOOP_ENABLE_FIRST_READ_ELISION=0" in switches
            or f"rmw_first_update {tensor} at {level}" in switches)


def storage_levels(spec):
    return {level["storage"]: level for level in spec["machine"]["levels"] if "storage" in level}


def element_bits(spec):
    """Every tensor of a case has the same type, intN or N-bit."""
    (name,) = set(spec["problem"]["types"].values())
    return int("".join(letter for letter in name if letter.isdigit()))


def level_cycles(spec, level, counts, compute_cycles):
    """Timeloop's cycles of a level: its words per instance over its words per cycle, at least the compute cycles."""
    held = [entry for (name, _), entry in counts.items() if name == level]
    reads = sum(Fraction(entry["reads"], entry["instances"]) for entry in held)
    writes = sum(Fraction(entry["fills"] + entry["updates"], entry["instances"]) for entry in held)
    cycles = Fraction(compute_cycles)
    for port, words in (("read", reads), ("write", writes), ("shared", reads + writes)):
        stated = storage_levels(spec)[level].get("bandwidth", {}).get(port)
        if stated:
            cycles = max(cycles, words * element_bits(spec) / Fraction(stated.split()[0]))
    return math.ceil(cycles)


def ours(case, report):
    """Field -> einflow's number in Timeloop's words, for every number that is compared."""
    counts = in_timeloop_words(case, report["holds"])
    fields = {"macs": report["problem"]["operations"], "cycles.compute": report["cycles"]["compute"]}
    for level, expected in case["timeloop"]["levels"].items():
        fields[f"{level}.cycles"] = level_cycles(case["spec"], level, counts, fields["cycles.compute"])
        for tensor in expected["tensors"]:
            for name, number in counts[level, tensor].items():
                fields[f"{level}.{tensor}.{name}"] = number
    fields["cycles"] = max(number for name, number in fields.items() if name.endswith((".cycles", ".compute")))
    fields["cycles.overlapped"] = math.ceil(report["cycles"]["overlapped"])
    return fields


def timeloop(case):
    """Field -> Timeloop's number."""
    expected = case["timeloop"]
    fields = {"macs": expected["macs"], "cycles.compute": expected["compute_cycles"], "cycles": expected["cycles"],
              "cycles.overlapped": expected["cycles"]}
    for level, figures in expected["levels"].items():
        fields[f"{level}.cycles"] = figures["cycles"]
        for tensor, numbers in figures["tensors"].items():
            for name in ("reads", "fills", "updates", "tile", "instances"):
                fields[f"{level}.{tensor}.{name}"] = numbers[name]
    return fields


def loops(spec):
    """(kind, rank, trips of a full interval, levels already held outside) of each loop of the mapping."""
    left = dict(spec["problem"]["ranks"])
    held = set()
    for line in spec["mapping"]:
        words = line.replace(":", " ").split()
        if words[0] == "at":
            held.add(words[1])
        else:
            rank, tile = words[1], int(words[3])
            yield words[0], rank, -(-left[rank] // tile), frozenset(held)
            left[rank] = min(left[rank], tile)


def output_name(spec):
    return spec["problem"]["einsum"].split("[")[0]


def output_words(spec):
    """Elements of the output: its axes are single ranks."""
    axes = spec["problem"]["einsum"].split("[")[1].split("]")[0].split(",")
    return math.prod(spec["problem"]["ranks"][rank] for rank in axes), axes


def replicas(spec, level):
    """Instances of the level that hold partial sums of one output element."""
    axes = output_words(spec)[1]
    return math.prod(trips for kind, rank, trips, held in loops(spec)
                     if kind == "par" and rank not in axes and level not in held)


class Timeloop(unittest.TestCase):
    """One test per case is added below; the others look at the reference itself."""

    maxDiff = None
    equal = []
    simulated = []
    numbers = 0
    energies = 0
    energies_left_out = 0

    def check(self, case):
        outcome = support.einflow_on("analyze", case["spec"], "--json")
        if "rejected" in case:
            self.assertIn(outcome.status, (1, 2), outcome.messages)
            for word in case["rejected"]["names"]:
                self.assertIn(word, outcome.messages + outcome.output)
            return
        self.assertEqual(outcome.status, 0, outcome.messages)
        report = outcome.report

        einflow_says, timeloop_says = ours(case, report), timeloop(case)
        self.assertEqual(einflow_says.keys(), timeloop_says.keys())
        found = {field: [timeloop_says[field], einflow_says[field]]
                 for field in timeloop_says if timeloop_says[field] != einflow_says[field]}
        listed = DEVIATIONS["cases"].get(case["id"], {})
        self.assertEqual(found, {field: [entry["timeloop"], entry["exact"]] for field, entry in listed.items()})
        Timeloop.numbers += len(timeloop_says)
        if not found:
            Timeloop.equal.append(case["id"])

        self.check_explanations(case, report, listed)
        self.check_energies(case, report, listed)
        if report["problem"]["operations"] <= SIMULATED_OPERATIONS:
            self.check_simulated(case, report)

    def check_simulated(self, case, report):
        """The simulator executes every step: exit status 0 means that its counts and its results agree."""
        outcome = support.einflow_on("simulate", case["spec"], "--json")
        self.assertEqual(outcome.status, 0, outcome.messages)
        self.assertEqual(outcome.report["holds"], report["holds"])
        Timeloop.simulated.append(case["id"])

    def check_explanations(self, case, report, listed):
        """Where a fault has a formula, it must give Timeloop's number from einflow's counts."""
        spec = case["spec"]
        compute_cycles = case["timeloop"]["compute_cycles"]
        chain = {hold["level"]: (hold, child)
                 for hold, child in zip(by_tensor(report["holds"])[output_name(spec)],
                                        by_tensor(report["holds"])[output_name(spec)][1:])}
        for field, entry in listed.items():
            if entry["fault"] == "padded-cycles":
                self.assertEqual(math.prod(trips for kind, _, trips, _ in loops(spec) if kind == "for"), compute_cycles)
                self.assertEqual(entry["timeloop"], compute_cycles)
            if entry["fault"] == "partial-sums-to-every-replica":
                level, _, name = field.split(".")
                hold, child = chain[level]
                shares = output_words(spec)[0] * replicas(spec, level)
                self.assertGreater(replicas(spec, level), 1)
                moved = {"reads": child["parent_updates"], "fills": hold.get("drains")}[name]
                self.assertEqual(entry["timeloop"], moved - shares, field)
            if entry["fault"] == "rounding" and field.count(".") == 2:
                level, tensor, _ = field.split(".")
                instances = case["timeloop"]["levels"][level]["tensors"][tensor]["instances"]
                self.assertLess(abs(entry["timeloop"] - entry["exact"]), instances)

    def check_energies(self, case, report, listed):
        """Timeloop's formula on our translated counts gives its energy of each tensor; einflow's own energy of a level
        is Timeloop's for the inputs, while its outputs cost a write per update and a read per read-modify-write and
        per drain, where Timeloop has an update energy and no drains."""
        counts = in_timeloop_words(case, report["holds"])
        traffic_at = {entry["level"]: entry for entry in report["levels"]}
        output = output_name(case["spec"])
        for level, figures in case["timeloop"]["levels"].items():
            energy = figures.get("energy_per_access")
            block, sharing = figures.get("block", 1), figures.get("instances_per_cluster", 1)
            comparable, inputs = bool(figures["tensors"]), 0.0
            for tensor, numbers in figures["tensors"].items():
                if not energy or any(field.startswith(f"{level}.{tensor}.") for field in listed):
                    Timeloop.energies_left_out += 1
                    comparable = False
                    continue
                entry = counts[level, tensor]
                words = {"read": Fraction(entry["reads"], entry["instances"]),
                         "write": Fraction(entry["fills"], entry["instances"]),
                         "update": Fraction(entry["updates"], entry["instances"])}
                expected = entry["instances"] / sharing * sum(
                    math.ceil(number / block) * energy[kind] for kind, number in words.items())
                self.assert_energy(expected, numbers["energy_pj"])
                if tensor != output:
                    comparable = comparable and all(number % block == 0 for number in words.values())
                    inputs += numbers["energy_pj"]
            if comparable:
                traffic = traffic_at[level]
                reads, writes = traffic["reads"].get(output, 0), traffic["writes"].get(output, 0)
                outputs = (reads * energy["read"] + writes * energy["write"]) / block / sharing
                self.assert_energy(traffic["energy_pj"], inputs + outputs)
        compute = case["spec"]["machine"]["levels"][-1]
        if "energy" in compute and "macs" not in listed:
            self.assert_energy(report["energy_pj"][compute["compute"]], case["timeloop"]["compute_energy_pj"])

    def assert_energy(self, found, expected):
        """Equal but for the digits that Timeloop prints."""
        self.assertAlmostEqual(found, expected, delta=1e-6 * max(1, expected))
        Timeloop.energies += 1

    def test_every_fault_is_explained(self):
        text = (REFERENCE / "README.md").read_text()
        for fault in DEVIATIONS["faults"]:
            self.assertIn(f"`{fault}`", text)
        for case, fields in DEVIATIONS["cases"].items():
            for field, entry in fields.items():
                self.assertIn(entry["fault"], DEVIATIONS["faults"], f"{case} {field}")
                self.assertNotEqual(entry["timeloop"], entry["exact"], f"{case} {field}")

    def test_cases_are_sorted_and_known(self):
        names = [case["id"] for case in CASES]
        self.assertEqual(names, sorted(set(names)))
        self.assertLessEqual(set(DEVIATIONS["cases"]), set(names))

    @classmethod
    def tearDownClass(cls):
        compared = [case for case in CASES if "rejected" not in case]
        listed = sum(len(fields) for fields in DEVIATIONS["cases"].values())
        print(f"\nTimeloop: {len(cls.equal)} of {len(compared)} cases equal in every number, the others in all but the "
              f"{listed} below (of {cls.numbers} compared); {len(CASES) - len(compared)} rejected by both; "
              f"{len(cls.simulated)} simulated; {cls.energies} energies equal, {cls.energies_left_out} not compared")
        print(f"{'case, field':66} {'Timeloop':>12} {'exact':>12}  fault")
        for case, fields in DEVIATIONS["cases"].items():
            for field, entry in fields.items():
                print(f"{case + ' ' + field:66} {entry['timeloop']:>12} {entry['exact']:>12}  {entry['fault']}")


for _case in CASES:
    setattr(Timeloop, "test_" + _case["id"], lambda self, case=_case: self.check(case))


if __name__ == "__main__":
    unittest.main()
