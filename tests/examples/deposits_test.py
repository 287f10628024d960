#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the deposits examples as docs/checking.md does, and compares what they print with the page.

usage: deposits_test.py EXAMPLES_DIR [unittest options]
       deposits_test.py EXAMPLES_DIR --rewrite      writes into the page what its commands print now
Each ```console block of the page is commands, each behind "$ " and with its output below.
"""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "checking.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
REPLAY = re.compile(r"^  replay: (.*)$", re.MULTILINE)
SHRUNK = re.compile(r"^shrunk from (\d+) choices in (\d+) draws to (\d+) in (\d+), in \d+ tries: ", re.MULTILINE)
LIMIT_S = 60
SEEDS = 5000
folder = Path(".")


def run(command, **variables):
    """Runs a line of the shell among the examples; gives its status, and its output and errors as one text."""
    done = subprocess.run(command, shell=True, cwd=folder, env=os.environ | variables, timeout=LIMIT_S,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def shown():
    """The commands of the page, each with the output that stands there."""
    return [pair for block in BLOCK.findall(PAGE.read_text()) for pair in COMMAND.findall(block)]


def shown_with(*words):
    """The output on the page of the one command that has these words."""
    (output,) = [output for command, output in shown() if all(word in command for word in words)]
    return output


def has_io_uring():
    if os.environ.get("BECK_BACKEND", "automatic") == "epoll":
        return False
    return "io_uring" in run("./deposits 1", BECK_BACKEND="automatic")[1]


def failing(first, last):
    """The seeds from first to last that fail."""
    seeds = []
    while first <= last:
        _, output = run(f"./simulated_deposits --seeds {first}..{last}")
        failed = re.search(r"^seed (\d+) failed: ", output, re.MULTILINE)
        if not failed:
            break
        seeds.append(int(failed[1]))
        first = seeds[-1] + 1
    return seeds


def rewrite():
    """Also replaces the old seeds and tapes in the commands that follow."""
    text = PAGE.read_text()
    for i in range(len(shown())):
        command, old = [pair for block in BLOCK.findall(text) for pair in COMMAND.findall(block)][i]
        _, new = run(command)
        text = text.replace(f"$ {command}\n{old}", f"$ {command}\n{new}", 1)
        for before, after in zip(REPLAY.findall(old), REPLAY.findall(new)):
            text = text.replace(f"$ {before} ", f"$ {after} ")
    PAGE.write_text(text)


class Page(unittest.TestCase):
    def test_every_command_prints_what_the_page_shows(self):
        self.assertGreaterEqual(len(shown()), 6)
        for command, output in shown():
            if "BECK_BACKEND=io_uring" in command and not has_io_uring():
                continue
            with self.subTest(command=command):
                self.assertEqual(run(command)[1], output)

    def test_its_code_is_that_of_the_example(self):
        example = (ROOT / "examples" / "deposits.hpp").read_text()
        section = PAGE.read_text().partition("## A bug, from its seed to its fix")[2]
        blocks = re.findall(r"^```cpp ignore\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 2)
        for block in blocks:
            self.assertIn(block, example)


class Bug(unittest.TestCase):
    def test_shows_in_less_than_one_seed_of_a_hundred(self):
        seeds = failing(0, SEEDS - 1)
        self.assertTrue(0 < len(seeds) < SEEDS / 100, seeds)
        self.assertIn(f"seed {seeds[0]} failed: ", shown_with("./simulated_deposits --seeds"))

    def test_shrinks_to_less_than_a_fifth_of_its_choices_and_draws(self):
        before, draws_before, after, draws_after = map(int, SHRUNK.search(shown_with("--shrink")).groups())
        self.assertLess(after, before / 5)
        self.assertLess(draws_after, draws_before / 5)

    def test_shows_again_with_every_replay_command_that_is_printed(self):
        commands = [command for _, output in shown() for command in REPLAY.findall(output)]
        self.assertEqual([sum(word in c for c in commands) for word in ("--seed ", "--tape ")], [2, 1])
        for command in commands:
            with self.subTest(command=command):
                status, output = run(command)
                self.assertEqual(status, 1)
                self.assertRegex(output, r"were deposited, the balance is")

    def test_makes_the_same_world_each_time(self):
        seed = re.search(r"--seed (\d+)", shown_with("--shrink"))[1]
        outputs = {run(f"./simulated_deposits --seed {seed} --trace") for _ in range(3)}
        self.assertEqual(len(outputs), 1)

    def test_does_not_show_over_the_loopback_interface(self):
        for backend in ["epoll", "io_uring"] if has_io_uring() else ["epoll"]:
            with self.subTest(backend=backend):
                expected = (0, f"the balance was right 50 times, {backend}\n")
                self.assertEqual(run("./deposits 50", BECK_BACKEND=backend), expected)

    def test_is_gone_once_it_is_fixed(self):
        status, output = run(f"./simulated_deposits --fixed --check --seeds {SEEDS}")
        self.assertEqual(status, 0, output)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv.pop(1)).resolve()
    if sys.argv[1:] == ["--rewrite"]:
        sys.exit(rewrite())
    unittest.main(verbosity=2)
