#!/usr/bin/env python3
"""einflow map against what other mappers found: Timeloop on an Eyeriss-like machine, nn_dataflow's exhaustive search.

The facts and their conventions are in tests/reference/mapper (README.md there). Run with `--table` to see every figure
and the processor time of every search.
"""

import json
import sys
import unittest

import reference_support as support

REFERENCE = support.REFERENCE / "mapper"

# ResNet-50 conv4 3x3 in Timeloop's terms, and what each memory of its machine may hold.
EINSUM = "O[n,k,p,q] += I[n,c,p+r,q+s] * W[k,c,r,s]"
RANKS = {"n": 1, "k": 256, "c": 256, "p": 14, "q": 14, "r": 3, "s": 3}
TYPES = {"I": "int16", "W": "int16", "O": "int16"}
HELD = ("--hold", "GLB:I,O", "--hold", "IFSPAD:I", "--hold", "WSPAD:W", "--hold", "PSPAD:O")
MACS = 256 * 256 * 14 * 14 * 3 * 3
OUTPUTS = 256 * 14 * 14
MAPPINGS = json.loads((REFERENCE / "timeloop.json").read_text())

NN_DATAFLOW = json.loads((REFERENCE / "nn_dataflow.json").read_text())
UNIT_COSTS = NN_DATAFLOW["unit_costs"]
LAYERS = {case["name"]: case
          for case in map(json.loads, (support.REFERENCE / "tangram" / "cases.jsonl").read_text().splitlines())}
OBJECTIVES = ("energy", "cycles", "edp")


def listed(values):
    return ",".join(f"{name}={value}" for name, value in values.items())


def best(einsum, ranks, types, machine, *arguments):
    """The report of `map --json` on one thread."""
    outcome = support.einflow("map", einsum, REFERENCE / machine, "-r", listed(ranks), "--types", listed(types),
                              "--threads", 1, "--json", *arguments)
    if outcome.status != 0:
        raise AssertionError(outcome.messages)
    return outcome.report


def spec_text(einsum, ranks, types, machine, nest):
    """A spec on a machine of REFERENCE; `nest` has its lines, indented by two."""
    levels = "".join(f"  {line}\n" for line in (REFERENCE / machine).read_text().splitlines())
    return (f'einflow: 1\nproblem:\n  einsum: "{einsum}"\n  ranks: {json.dumps(ranks)}\n'
            f"  types: {json.dumps(types)}\nmachine:\n{levels}mapping: |\n{nest}")


def count_of_timeloops(mapping):
    """The report of `analyze` on one of Timeloop's mappings."""
    nest = "".join(f"  {line}\n" for line in mapping["nest"])
    return support.analyze(spec_text(EINSUM, RANKS, TYPES, "timeloop-eyeriss.yaml", nest))


def figures(report):
    """Energy in pJ, cycles, and their product, of a report of `analyze`."""
    energy, cycles = report["energy_pj"]["total"], report["cycles"]["overlapped"]
    return {"energy": energy, "cycles": cycles, "edp": energy * cycles}


def timeloops_figures(mapping):
    energy, cycles = mapping["timeloop"]["energy_pj"], mapping["timeloop"]["cycles"]
    return {"energy": energy, "cycles": cycles, "edp": energy * cycles}


class Timeloop(unittest.TestCase):
    def test_its_figures_are_the_energies_of_its_counts(self):
        price = {"DRAM": 128, "GLB": 6, "IFSPAD": 0.1, "WSPAD": 0.6, "PSPAD": 0.12}
        for mapping in MAPPINGS:
            facts = mapping["timeloop"]
            energy = MACS + sum(price[level] * sum(counts.values())
                                for level, tensors in facts["counts"].items() for counts in tensors.values())
            self.assertAlmostEqual(energy / facts["energy_pj"], 1, places=9)
            self.assertAlmostEqual(energy * facts["cycles"] * 1e-12 / facts["printed_edp_joule_cycles"], 1, places=5)

    def test_einflow_counts_its_mappings_as_it_does_but_for_the_conventions(self):
        for mapping in MAPPINGS:
            with self.subTest(mapping["name"]):
                report, theirs = count_of_timeloops(mapping), mapping["timeloop"]["counts"]
                ours = {level["level"]: level for level in report["levels"]}

                def both_ways(level, tensor):
                    return ours[level]["reads"][tensor], ours[level]["writes"][tensor]

                for level, tensor in (("DRAM", "W"), ("DRAM", "I"), ("IFSPAD", "I"), ("WSPAD", "W")):
                    counts = theirs[level][tensor]
                    self.assertEqual(both_ways(level, tensor), (counts["reads"], counts["fills"]), (level, tensor))
                self.assertEqual(both_ways("DRAM", "O"), (0, theirs["DRAM"]["O"]["updates"]))
                # Windows of neighbours overlap: Timeloop reads the overlap again, unless their whole tiles are alike.
                self.assertEqual(ours["GLB"]["writes"]["I"], theirs["GLB"]["I"]["fills"])
                self.assertLessEqual(ours["GLB"]["reads"]["I"], theirs["GLB"]["I"]["reads"])
                # An output that leaves for good is read out, which Timeloop does not charge.
                counts = theirs["GLB"]["O"]
                self.assertEqual(both_ways("GLB", "O"), (counts["reads"] + OUTPUTS, counts["updates"]))
                # Timeloop sends partial sums back to every PE; einflow adds them in the buffer, and reads them out.
                counts = theirs["PSPAD"]["O"]
                self.assertEqual(both_ways("PSPAD", "O"), (MACS, MACS))
                self.assertEqual(counts["updates"], MACS)
                self.assertGreater(counts["reads"] + counts["fills"], MACS)
                self.assertLess(figures(report)["energy"], timeloops_figures(mapping)["energy"])
                self.assertAlmostEqual(figures(report)["cycles"] / timeloops_figures(mapping)["cycles"], 1, delta=0.004)

    def test_none_of_its_mappings_is_better_than_the_optimum(self):
        counted = [figures(count_of_timeloops(mapping)) for mapping in MAPPINGS]
        for objective in OBJECTIVES:
            report = best(EINSUM, RANKS, TYPES, "timeloop-eyeriss.yaml", *HELD, "--objective", objective)
            self.assertTrue(report["optimal"], objective)
            self.assertEqual(report["bound"], report["value"])
            for mapping, ours in zip(MAPPINGS, counted):
                self.assertLessEqual(report["value"], ours[objective], (objective, mapping["name"]))
                self.assertLessEqual(report["value"], timeloops_figures(mapping)[objective])

    def test_all_processing_elements_are_the_floor_of_cycles(self):
        report = best(EINSUM, RANKS, TYPES, "timeloop-eyeriss.yaml", *HELD, "--objective", "cycles")
        self.assertEqual(report["value"], MACS // 168)

    def test_the_optimum_of_energy_is_well_below_what_was_found(self):
        report = best(EINSUM, RANKS, TYPES, "timeloop-eyeriss.yaml", *HELD, "--objective", "energy")
        self.assertLess(report["value"], 0.84 * min(timeloops_figures(mapping)["energy"] for mapping in MAPPINGS))


def nn_dataflow_energy(case):
    """nn_dataflow's energy of a layer in its units: operations and accesses times its unit costs."""
    facts = case["nn_dataflow"]
    return UNIT_COSTS["op"] * facts["ops"] + sum(UNIT_COSTS[level] * sum(counts)
                                                for level, counts in facts["access"].items())


def energy_of_its_schedule(case):
    """einflow's count of nn_dataflow's schedule at the same unit costs, or nothing where a memory has no room."""
    text = json.dumps({"batch": case["batch"], "resource": case["resource"], "layers": {"layer": case["schedule"]}})
    outcome = support.einflow_on("analyze", text, "--json")
    if outcome.status == 1:
        return None
    report = outcome.report
    return (UNIT_COSTS["op"] * report["problem"]["operations"]
            + sum(UNIT_COSTS[level["level"]] * (level["reads"]["total"] + level["writes"]["total"])
                  for level in report["levels"])
            + UNIT_COSTS["ITCN"] * sum(network["hops"] for network in report["networks"]
                                       if network["mesh"] == "ARRAY"))


def problem_of(case):
    """(einsum, ranks) of a convolution or a fully connected layer as nn_dataflow has it: the border is in the input."""
    layer = case["schedule"]["layer"]
    ranks = {"b": case["batch"], "k": layer["nofm"], "c": layer["nifm"]}
    window = {"r": layer["sfil"], "s": layer["sfil"]}
    if layer["type"] == "fc":
        if layer["sfil"] == 1:
            return "OFM[b,k] += IFM[b,c] * FIL[k,c]", ranks
        return "OFM[b,k] += IFM[b,c,r,s] * FIL[k,c,r,s]", ranks | window
    stride = f"{layer['strd']}*" if layer["strd"] > 1 else ""
    return (f"OFM[b,k,p,q] += IFM[b,c,{stride}p+r,{stride}q+s] * FIL[k,c,r,s]",
            ranks | {"p": layer["sofm"], "q": layer["sofm"]} | window)


def best_of_layer(case, *arguments):
    types = {"IFM": "int16", "FIL": "int16", "OFM": "int16"}
    return best(*problem_of(case), types, "nn-dataflow.yaml", "--objective", "energy", *arguments)


def is_layer_of_one_node(case):
    """A matrix product or a convolution on one node of nn-dataflow.yaml."""
    wanted = {"dim_nodes": [1, 1], "dim_array": [16, 16], "size_gbuf": 65536, "size_regf": 256, "word": 16}
    return ("/" in case["name"] and case.get("resource") == wanted and "schedule" in case
            and case["schedule"]["layer"]["type"] in ("conv", "fc") and not case["name"].startswith("blocking/"))


def of_network(network):
    return {name: case for name, case in LAYERS.items() if name.split("/")[0] == network}


FULLY_CONNECTED = [name for name, case in LAYERS.items()
                   if is_layer_of_one_node(case) and case["schedule"]["layer"]["type"] == "fc"]
# Convolutions whose search takes about a second; README.md says why `map` need not be better at every convolution.
CONVOLUTIONS = ["alex_net_b1_n1/conv3_a", "alex_net_b1_n1/conv4_a", "alex_net_b1_n1/conv5_a"]


class NnDataflow(unittest.TestCase):
    def test_its_layers_add_up_to_its_totals(self):
        for totals in (NN_DATAFLOW["exhaustive_totals"], NN_DATAFLOW["solver_totals"]):
            for network, total in totals.items():
                self.assertEqual(sum(map(nn_dataflow_energy, of_network(network).values())), total, network)

    def test_none_of_its_schedules_is_better_than_the_optimum(self):
        names = FULLY_CONNECTED + CONVOLUTIONS
        for name, report in zip(names, support.in_parallel(lambda name: best_of_layer(LAYERS[name]), names)):
            with self.subTest(name):
                self.assertTrue(report["optimal"])
                self.assertLessEqual(report["value"], nn_dataflow_energy(LAYERS[name]))

    def test_einflow_counts_the_schedules_that_fit_as_it_does_but_for_the_conventions(self):
        for name in FULLY_CONNECTED:
            with self.subTest(name):
                counted = energy_of_its_schedule(LAYERS[name])
                self.assertIsNotNone(counted)
                self.assertAlmostEqual(counted / nn_dataflow_energy(LAYERS[name]), 1, delta=0.05)
                self.assertLessEqual(best_of_layer(LAYERS[name])["value"], counted)

    def test_its_convolutions_need_more_registers_than_there_are(self):
        for name in CONVOLUTIONS:
            self.assertIsNone(energy_of_its_schedule(LAYERS[name]), name)


class SlidingWindows(unittest.TestCase):
    """Cases that an early `map` got wrong: it left out nests that only a window sliding outside makes good."""

    EINSUM = "O[m,y,x] += I[c,y+r,x+s] * F[m,c,r,s]"
    TYPES = {"O": "int16", "I": "int16", "F": "int16"}

    def test_every_element_moves_once(self):
        """A nest whose x slides outside REGF moves each element once over each border, and nothing can move less.

        648 MACs; 66 inputs, 18 weights and 72 outputs. DRAM 200 x 156, hops 2 x 156; REGF: 2 x 648 operands, 648 writes
        and 576 reads to add (72 sums are begun), 72 reads to leave, 84 fills. Together 31,200 + 312 + 2,676 + 648.
        """
        report = best(self.EINSUM, {"m": 2, "c": 1, "y": 4, "x": 9, "r": 3, "s": 3}, self.TYPES, "row-of-four.yaml",
                      "--objective", "energy")
        self.assertTrue(report["optimal"])
        self.assertEqual(report["value"], 34836)

    def test_half_of_alexnets_second_convolution(self):
        ranks = {"m": 128, "c": 48, "y": 27, "x": 27, "r": 5, "s": 5}
        nest = ("for m by 16", "at GBUF: I O", "for x by 1", "par r by 1 on array.h", "par c by 16 on array.h",
                "par c by 1 on array.w", "at REGF: I F", "for s y m by 1")
        lines = "".join(f"  {line}\n" for line in nest)
        counted = support.analyze(spec_text(self.EINSUM, ranks, self.TYPES, "nn-dataflow.yaml", lines))
        report = best(self.EINSUM, ranks, self.TYPES, "nn-dataflow.yaml", "--objective", "energy")
        self.assertTrue(report["optimal"])
        self.assertLessEqual(report["value"], counted["energy_pj"]["total"])


def print_tables():
    print("Timeloop's mappings: its own figure, einflow's count of the mapping, and the optimum")
    counted = [figures(count_of_timeloops(mapping)) for mapping in MAPPINGS]
    for objective in OBJECTIVES:
        report = best(EINSUM, RANKS, TYPES, "timeloop-eyeriss.yaml", *HELD, "--objective", objective)
        for mapping, ours in zip(MAPPINGS, counted):
            print(f"{objective:8} {mapping['name']:24} {timeloops_figures(mapping)[objective]:20.6g} "
                  f"{ours[objective]:20.6g} {report['value']:20.6g}")
        print(f"{objective:8} optimal: {report['optimal']}, {report['seconds']:.2f} s")
    print("nn_dataflow's layers: its energy, einflow's count of its schedule, the best of `map`, how far it may be off")
    for name, case in LAYERS.items():
        if not is_layer_of_one_node(case) or "_nobypass" in name or name.endswith("_b"):
            continue
        report, ours = best_of_layer(case, "--time-limit", "20 s"), energy_of_its_schedule(case)
        print(f"{name:36} {nn_dataflow_energy(case):14} {ours if ours else 'no room':>14} {report['value']:14.6g} "
              f"{100 * report['gap']:6.2f} % {report['seconds']:7.2f} s", flush=True)


if __name__ == "__main__":
    if "--table" in sys.argv:
        print_tables()
    else:
        unittest.main()
