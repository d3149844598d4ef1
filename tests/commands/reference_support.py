"""What the reference tests share: running einflow, reading its report, and the machines they use.

Run one test file on its own with `python3 tests/commands/test_law_cases.py`; the program is `$EINFLOW`,
or build/release/einflow where that is not set.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "tests" / "reference"
EXAMPLES = ROOT / "examples"
PROGRAM = os.environ.get("EINFLOW", str(ROOT / "build" / "release" / "einflow"))


class Outcome:
    """Exit status, standard output and standard error of one run."""

    def __init__(self, status, output, messages):
        self.status = status
        self.output = output
        self.messages = messages

    @property
    def report(self):
        """The JSON document on standard output."""
        return json.loads(self.output)


def einflow(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL)
    return Outcome(done.returncode, done.stdout, done.stderr)


def einflow_on(command, spec, *arguments):
    """Runs a command on a spec given as a value (written as JSON, which is YAML) or as text."""
    text = spec if isinstance(spec, str) else json.dumps(spec)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "spec.yaml"
        path.write_text(text)
        return einflow(command, path, *arguments)


def analyze(spec):
    """The report of `analyze --json`; the run must succeed. The spec is a value, text, or the path of a file."""
    outcome = (einflow("analyze", spec, "--json") if isinstance(spec, pathlib.Path)
               else einflow_on("analyze", spec, "--json"))
    if outcome.status != 0:
        raise AssertionError(f"analyze ended with {outcome.status}: {outcome.messages}")
    return outcome.report


def in_parallel(function, items):
    """[function(item) for item in items], a few processes at a time."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(function, items))


def hold(report, level, tensor):
    """The counts of a tensor's hold at a level (the first, where there are several)."""
    for entry in report["holds"]:
        if entry["level"] == level and entry["tensor"] == tensor:
            return entry
    raise AssertionError(f"the report has no hold of {tensor} at {level}")


def spec(einsum, ranks, levels, mapping, types=None, clock=None, shapes=None):
    """A spec as a value; `mapping` is text with one nest line each, or several separated by `;`."""
    problem = {"einsum": einsum, "ranks": ranks}
    if types:
        problem["types"] = types
    if shapes:
        problem["shapes"] = shapes
    machine = {"name": "reference", "levels": levels}
    if clock:
        machine["clock"] = clock
    lines = [line.split("#")[0].strip() for line in mapping.replace(";", "\n").splitlines()]
    return {"einflow": 1, "problem": problem, "machine": machine, "mapping": [line for line in lines if line]}
