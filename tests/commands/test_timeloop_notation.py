#!/usr/bin/env python3
"""Timeloop's inputs, rebuilt as YAML of v0.3 and v0.4, are read: `einflow analyze` gives of them what it gives of the
specs that test_timeloop.py holds against Timeloop's numbers.

tests/reference/timeloop/inputs.jsonl has what was run (README.md there says what each field means). Here it is written
down as Timeloop's users would: v0.3 as a tree in three files, with hyphens; v0.4 as nodes in one file, where dummy
storages are containers.
"""

import json
import pathlib
import tempfile
import unittest

import reference_support as support

REFERENCE = support.REFERENCE / "timeloop"
INPUTS = [json.loads(line) for line in (REFERENCE / "inputs.jsonl").read_text().splitlines()]
CASES = {case["id"]: case for case in map(json.loads, (REFERENCE / "cases.jsonl").read_text().splitlines())}
SPARSE = [name for names in json.loads((REFERENCE / "left_out.json").read_text()).values() for name in names]
LINK_TRANSFERS = {"spatial_link_transfer_conv"}  # the one case where Timeloop hands words on between memories


def flow(value):
    """JSON is YAML's flow style; without quotes around plain words it reads as people write it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return json.dumps(value) if not isinstance(value, str) or not value.replace("_", "").isalnum() else value


def coefficient(value):
    return f"times_{value}"


def coefficients(facts):
    return sorted({factor for space in facts["data_spaces"] for axis in space["axes"] for _, factor in axis})


def problem(facts, version):
    """v0.3 gives coefficients a value in the instance, v0.4 by their default."""
    named = coefficients(facts)
    lines = ["problem:"] + (["  version: 0.4"] if version == "0.4" else [])
    lines += ["  shape:", f"    name: {facts['id']}", f"    dimensions: {flow(list(facts['bounds']))}"]
    lines += ["    coefficients:"]
    lines += [f"    - {{name: {coefficient(value)}, default: {value if version == '0.4' else 1}}}" for value in named]
    lines += ["    data_spaces:" if version == "0.4" else "    data-spaces:"]
    for space in facts["data_spaces"]:
        axes = [[[dimension] if factor == 1 else [dimension, coefficient(factor)] for dimension, factor in axis]
                for axis in space["axes"]]
        lines += [f"    - name: {space['name']}", "      projection:"] + [f"      - {flow(axis)}" for axis in axes]
        if space.get("output"):
            lines += ["      read_write: True" if version == "0.4" else "      read-write: true"]
    instance = dict(facts["bounds"])
    if version == "0.3":
        instance.update({coefficient(value): value for value in named})
    return lines + [f"  instance: {flow(instance)}"]


def hyphens(attributes):
    return {key.replace("_", "-") if key not in ("energy_per_hop", "n_banks") else key: value
            for key, value in attributes.items()}


def tree(facts):
    """v0.3: all levels in one subtree; meshX alone where there is no Y."""
    lines = ["architecture:", "  version: 0.3", "  subtree:", "  - name: System", "    local:"]
    for level in facts["levels"]:
        instances = level["instances"]
        attributes = hyphens(level.get("attributes", {}))
        attributes["meshX"] = level["mesh"][0]
        if level["mesh"][1] > 1:
            attributes["meshY"] = level["mesh"][1]
        name = level["name"] if instances == 1 else f"{level['name']}[0..{instances - 1}]"
        lines += [f"    - name: {name}", f"      class: {level['class']}", f"      attributes: {flow(attributes)}"]
    return lines


def is_dummy(level):
    return level["class"] == "dummy_storage"


def fan_outs(facts):
    """(outer level, inner level, instances along X, along Y), where the inner has more."""
    for outer, inner in zip(facts["levels"], facts["levels"][1:]):
        x, y = (inner["mesh"][axis] // outer["mesh"][axis] for axis in (0, 1))
        if x * y > 1:
            yield outer, inner, x, y


def new_words(attributes):
    """v0.4 has widths and depths where v0.3 has word bits, block sizes and entries."""
    attributes = dict(attributes)
    if "word_bits" in attributes:
        attributes["datawidth"] = attributes.pop("word_bits")
        block = attributes.pop("block_size", 1)
        attributes["width"] = attributes["datawidth"] * block * attributes.get("cluster_size", 1)
        if "entries" in attributes and attributes["entries"] % block == 0:
            attributes["depth"] = attributes.pop("entries") // block
    return attributes


def nodes(facts):
    """v0.4: a dummy storage is a container with its fan-out; another fan-out stands at the level inside."""
    below = {outer["name"]: (x, y) for outer, _, x, y in fan_outs(facts)}
    lines = ["architecture:", "  version: 0.4", "  nodes:", "  - !Container", "    name: System"]
    pending = None
    for level in facts["levels"]:
        x, y = below.get(level["name"], (1, 1))
        spatial = {axis: size for axis, size in (("meshX", x), ("meshY", y)) if size > 1}
        if is_dummy(level):
            lines += ["  - !Container", f"    name: {level['name']}"]
            lines += [f"    spatial: {flow(spatial)}"] if spatial else []
            continue
        lines += ["  - !Component", f"    name: {level['name']}", f"    class: {level['class']}"]
        if pending:
            lines += [f"    spatial: {flow(pending)}"]
        if level.get("attributes"):
            lines += [f"    attributes: {flow(new_words(level['attributes']))}"]
        pending = spatial
    return lines


def mesh_names(facts):
    """Mesh of the stored spec -> its name where it is read from v0.4."""
    return {f"{outer['name']}_mesh": f"inter_{inner['name']}_spatial" for outer, inner, _, _ in fan_outs(facts)
            if not is_dummy(outer)}


def energies(facts, version):
    if "energies" not in facts:
        return []
    lines = ["ERT:", f"  version: {version}", "  tables:"]
    for level, actions in facts["energies"].items():
        instances = next(entry["instances"] for entry in facts["levels"] if entry["name"] == level)
        suffix = f"[1..{instances}]" if version == "0.4" else ""
        lines += [f"  - name: System.{level}{suffix}", "    actions:"]
        lines += [f"    - {{name: {action}, arguments: {{}}, energy: {energy}}}" for action, energy in actions.items()]
    return lines


def directive(facts, entry, version):
    spatial = entry.get("spatial", False)
    target = entry["level"]
    if spatial and version == "0.4":
        (target,) = [outer["name"] if is_dummy(outer) else inner["name"] for outer, inner, _, _ in fan_outs(facts)
                     if outer["name"] == entry["level"]]
    inside_out = [loop[0] for loop in reversed(entry["loops"])]
    order = inside_out + [dimension for dimension in facts["bounds"] if dimension not in inside_out]
    factors = [f"{dimension}={bound}" + (f",{residual}" if residual != bound else "")
               for dimension, bound, residual, *_ in entry["loops"]]
    lines = [f"- target: {target}", f"  type: {'spatial' if spatial else 'temporal'}"]
    if version == "0.3":
        lines += [f"  factors: {' '.join(factors)}", f"  permutation: {''.join(order)}"]
    else:
        lines += [f"  factors: {json.dumps(factors)}", f"  permutation: {flow(order)}"]
    if spatial:
        lines += [f"  split: {sum(loop[3] == 'X' for loop in entry['loops'])}"]
    for key in ("no_temporal_reuse", "rmw_first_update"):
        if key in entry:
            lines += [f"  {key}: {flow(entry[key])}"]
    return lines


def mapping(facts, version):
    lines = ["mapping:"]
    for entry in facts["nest"]:
        if entry["loops"]:
            lines += directive(facts, entry, version)
    spaces = [space["name"] for space in facts["data_spaces"]]
    for level, bypassed in facts.get("bypass", {}).items():
        if version == "0.3":
            lines += [f"- {{target: {level}, type: bypass, bypass: {flow(bypassed)}}}"]
        elif not any(is_dummy(entry) and entry["name"] == level for entry in facts["levels"]):
            kept = [name for name in spaces if name not in bypassed]
            lines += [f"- target: {level}", "  type: dataspace", f"  keep: {flow(kept)}", f"  bypass: {flow(bypassed)}"]
    return lines


def texts(facts, version, more=()):
    """File name -> lines."""
    if version == "0.3":
        return {"arch.yaml": tree(facts) + energies(facts, "0.3"), "problem.yaml": problem(facts, "0.3"),
                "mapping.yaml": mapping(facts, "0.3") + list(more)}
    lines = problem(facts, "0.4") + nodes(facts) + mapping(facts, "0.4") + energies(facts, "0.4")
    return {"all.yaml": lines + list(more)}


def analyze_files(files, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, lines in files.items():
            path = pathlib.Path(folder) / name
            path.write_text("\n".join(lines) + "\n")
            paths.append(path)
        return support.einflow("analyze", *paths, "--json", *arguments)


def without_names(report):
    """The report without the names of machine and problem, and without the words of its conventions."""
    report = {key: value for key, value in report.items() if key not in ("machine", "conventions")}
    report["problem"] = {key: value for key, value in report["problem"].items() if key != "name"}
    return report


class TimeloopNotation(unittest.TestCase):
    """Two tests per input are added below."""

    maxDiff = None
    equal = 0

    def check(self, facts, version):
        case = CASES[facts["id"]]
        spec = json.dumps(case["spec"])
        renamed = mesh_names(facts) if version == "0.4" else {}
        for stored, read in renamed.items():
            spec = spec.replace(stored, read)
        settings = ["--set", "link_transfers=true"] if facts["id"] in LINK_TRANSFERS else []
        outcome = analyze_files(texts(facts, version), *settings)
        expected = support.einflow_on("analyze", spec, "--json")
        self.assertEqual(outcome.status, expected.status, outcome.messages)
        if "rejected" in case:
            for name in case["rejected"]["names"]:
                self.assertIn(renamed.get(name, name), outcome.messages + outcome.output)
        if outcome.status == 2:
            return
        self.assertEqual(without_names(outcome.report), without_names(expected.report))
        TimeloopNotation.equal += 1

    def check_sparse(self, facts, version):
        """Timeloop scales these counts by densities and sparse optimizations; the facts are of the dense problem."""
        dense = analyze_files(texts(facts, version))
        self.assertEqual(dense.status, 0, dense.messages)
        optimized = ["sparse_optimizations:", "  targets:", f"  - name: {facts['levels'][0]['name']}",
                     "    action_optimization:",
                     "    - {type: gating, options: [{target: Inputs, condition_on: [Weights]}]}"]
        outcome = analyze_files(texts(facts, version, optimized))
        self.assertEqual(outcome.status, 2)
        self.assertIn("sparse optimizations are not counted", outcome.messages)
        files = texts(facts, version)
        name = facts["data_spaces"][0]["name"]
        density = f"densities: {{{name}: {{distribution: fixed_structured, density: 0.25}}}}"
        for lines in files.values():
            for place, line in enumerate(lines):
                if line.startswith("  instance: {"):
                    lines[place] = f"{line[:-1]}, {density}}}"
        outcome = analyze_files(files)
        self.assertEqual(outcome.status, 2)
        self.assertIn(f"the density '0.25' of '{name}': sparsity is not counted", outcome.messages)

    def test_every_input_is_there(self):
        self.assertEqual({facts["id"] for facts in INPUTS}, set(CASES) | set(SPARSE))
        self.assertEqual(len(INPUTS), 118)

    def test_a_mapping_says_the_whole_bound(self):
        """The facts are whole: the bounds of every dimension multiply as Timeloop's rule says."""
        for facts in INPUTS:
            product = dict.fromkeys(facts["bounds"], 0)
            for entry in facts["nest"]:
                for dimension, bound, residual, *_ in entry["loops"]:
                    product[dimension] = product[dimension] * bound + residual - 1
            bounds = {dimension: found + 1 for dimension, found in product.items()}
            self.assertEqual(bounds, facts["bounds"], facts["id"])

    @classmethod
    def tearDownClass(cls):
        print(f"\nTimeloop's notation: {cls.equal} reports of {len(INPUTS)} inputs, each as v0.3 and v0.4, equal the "
              "stored specs'")


def add_tests():
    for facts in INPUTS:
        check = TimeloopNotation.check_sparse if facts["id"] in SPARSE else TimeloopNotation.check
        for version in ("0.3", "0.4"):
            name = f"test_{facts['id']}_v{version.replace('.', '')}"
            setattr(TimeloopNotation, name,
                    lambda self, check=check, facts=facts, version=version: check(self, facts, version))


add_tests()

if __name__ == "__main__":
    unittest.main()
