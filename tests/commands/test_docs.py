"""The documents show what the program prints, and the examples run.

Every block ```console in README.md and docs/**/*.md holds commands, `$ einflow ...` or `$ einflow ... | head -N`, each
followed by its output (standard output and messages). A line `...` stands for any number of omitted lines. Commands
are run from the root of the repository. `EINFLOW_UPDATE_DOCS=1 python3 tests/commands/test_docs.py` rewrites the outputs
that have no line `...`; the others are to be cut by hand.
"""

import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
import unittest

import reference_support as support

OMITTED = "..."
MOST_OPERATIONS_TO_SIMULATE = 5_000_000


@dataclasses.dataclass
class Transcript:
    """One command of a document and the lines that follow it; `first` and `end` are indices into the file's lines."""

    document: pathlib.Path
    command: str
    first: int
    end: int
    lines: list

    def __str__(self):
        return f"{self.document.relative_to(support.ROOT)}:{self.first}: {self.command}"


def documents():
    return [support.ROOT / "README.md", *sorted((support.ROOT / "docs").rglob("*.md"))]


def transcripts(document):
    """All commands of the console blocks of a document, in order."""
    found = []
    inside = False
    for number, line in enumerate(document.read_text().splitlines()):
        if line.startswith("```"):
            inside = line.strip() == "```console"
        elif inside and line.startswith("$ "):
            found.append(Transcript(document, line[2:], number + 1, number + 1, []))
        elif inside and found:
            found[-1].lines.append(line)
            found[-1].end = number + 1
    return found


def run(command):
    """What `einflow ...` or `einflow ... | head -N` prints, as lines."""
    most_lines = None
    piped = re.fullmatch(r"(.*\S)\s*\|\s*head -(\d+)", command)
    if piped:
        command, most_lines = piped.group(1), int(piped.group(2))
    words = shlex.split(command)
    if not words or words[0] != "einflow" or "|" in words:
        raise AssertionError(f"not `einflow ...` or `einflow ... | head -N`: {command}")
    environment = {name: value for name, value in os.environ.items() if name != "EINFLOW_LIBRARY"}
    done = subprocess.run([os.path.abspath(support.PROGRAM), *words[1:]], cwd=support.ROOT, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=60)
    if done.returncode not in (0, 1, 2):
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout.rstrip("\n").split("\n")[:most_lines]


def position(part, lines, start):
    """Where `part` stands in `lines` at `start` or behind it, or -1."""
    for at in range(start, len(lines) - len(part) + 1):
        if lines[at:at + len(part)] == part:
            return at
    return -1


def difference(shown, printed):
    """What is wrong with the lines shown, or nothing."""
    parts = [[]]
    for line in shown:
        parts.append([]) if line == OMITTED else parts[-1].append(line)
    if len(parts) == 1:
        return None if shown == printed else "printed is:\n" + "\n".join(printed)
    at = 0
    for number, part in enumerate(parts):
        if number == 0:
            found = 0 if printed[:len(part)] == part else -1
        elif number == len(parts) - 1:
            found = len(printed) - len(part) if part == printed[max(at, len(printed) - len(part)):] else -1
        else:
            found = position(part, printed, at)
        if found < 0:
            return "these lines are not printed (there):\n" + "\n".join(part) + "\nprinted is:\n" + "\n".join(printed)
        at = found + len(part)
    return None


def update(document):
    """Rewrites the outputs that show every line."""
    lines = document.read_text().splitlines()
    for transcript in reversed(transcripts(document)):
        if OMITTED not in transcript.lines:
            lines[transcript.first:transcript.end] = run(transcript.command)
    text = "\n".join(lines) + "\n"
    if text != document.read_text():
        document.write_text(text)


class Documents(unittest.TestCase):
    def test_transcripts_are_what_the_program_prints(self):
        if os.environ.get("EINFLOW_UPDATE_DOCS"):
            for document in documents():
                update(document)
        shown = [transcript for document in documents() for transcript in transcripts(document)]
        self.assertTrue(shown)
        printed = support.in_parallel(lambda transcript: run(transcript.command), shown)
        for transcript, lines in zip(shown, printed):
            with self.subTest(str(transcript)):
                wrong = difference(transcript.lines, lines)
                if wrong:
                    self.fail(f"{transcript}\n{wrong}\nEINFLOW_UPDATE_DOCS=1 rewrites what shows every line")

    def test_links_lead_to_files(self):
        for document in documents():
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text()):
                if re.match(r"[a-z]+:", target):
                    continue
                with self.subTest(document=document.name, target=target):
                    self.assertTrue((document.parent / target).exists())

    def test_a_transcript_may_omit_lines(self):
        lines = ["a", "b", "c", "d"]
        for shown in (["a", "b", "c", "d"], ["a", "...", "d"], ["...", "c", "d"], ["a", "b", "..."], ["..."],
                      ["a", "...", "c", "...", "d"], ["a", "...", "b", "c", "d"]):
            self.assertIsNone(difference(shown, lines), shown)
        for shown in (["a", "b", "c"], ["b", "..."], ["...", "c"], ["a", "...", "c", "...", "b", "..."],
                      ["a", "b", "c", "...", "c", "d"]):
            self.assertIsNotNone(difference(shown, lines), shown)


class Examples(unittest.TestCase):
    def test_examples_analyze_and_simulate(self):
        examples = sorted(support.EXAMPLES.glob("*.yaml"))
        self.assertTrue(examples)
        outcomes = support.in_parallel(lambda example: support.einflow("analyze", example, "--json"), examples)
        small = []
        for example, outcome in zip(examples, outcomes):
            with self.subTest(example=example.name):
                self.assertEqual(outcome.status, 0, outcome.messages)
                if outcome.report["problem"]["operations"] <= MOST_OPERATIONS_TO_SIMULATE:
                    small.append(example)
        outcomes = support.in_parallel(lambda example: support.einflow("simulate", example, "--json"), small)
        for example, outcome in zip(small, outcomes):
            with self.subTest(example=example.name):
                self.assertEqual(outcome.status, 0, outcome.messages)
                self.assertTrue(outcome.report["agrees"])
                self.assertTrue(outcome.report["result_matches"])


if __name__ == "__main__":
    unittest.main()
