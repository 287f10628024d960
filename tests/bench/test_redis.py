# SPDX-License-Identifier: BSL-1.0
"""Tests of the benchmark of Redis clients: what it starts, what is left out, the targets.

usage: python3 -m unittest discover -s tests/bench
"""
import shutil
import sys
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from harness import catalogue, execute, machine, redis, results, targets

CLIENTS = catalogue.BENCHES["redis"]
HAS_SERVER = all(shutil.which(name) for name in ("redis-server", "redis-cli", "redis-benchmark"))


class Programs:
    """Stands for the peers: notes how they are started."""

    cpu, duration_ms = machine.two_cpus()[0], 100
    other_cpu = machine.two_cpus()[1]

    def __init__(self, without=()):
        self.without, self.started = without, []

    def missing(self, slot):
        return f"{slot.peer} is not built" if slot.peer in self.without else ""

    def run(self, slot, warm_up, more_arguments=()):
        self.started.append((slot.peer, warm_up, list(more_arguments)))
        return {"cpu_ns_per_op": 1}


def slot(case, peer):
    return catalogue.Slot(CLIENTS.case(case), peer)


class Runs(unittest.TestCase):
    def test_a_peer_is_told_the_port_or_the_path_of_the_server(self):
        programs = Programs()
        how = redis.RedisCalls(programs)
        how.folder, how.port = Path("/tmp/of-a-test"), 6380
        how.run(slot("tcp-50", "raw"), warm_up=True)
        how.run(slot("unix-1", "hiredis"), warm_up=False)
        self.assertEqual(programs.started, [
            ("raw", True, ["--port", "6380"]),
            ("hiredis", False, ["--path", "/tmp/of-a-test/socket"]),
        ])

    def test_the_start_of_redis_benchmark_is_not_counted(self):
        seen = []

        def run(command, cpu):
            count = int(command[command.index("-n") + 1])
            seen.append(count)
            return 5_000_000 + 200 * count, 9_000_000 + 700 * count

        with unittest.mock.patch.object(redis, "cpu_and_wall_ns", run):
            got = redis.RedisCalls(Programs()).benchmark(["-p", "1"], 1000, warm_up=False)
        self.assertEqual(got, {"cpu_ns_per_op": 200, "wall_ns_per_op": 700})
        self.assertEqual(seen, [1000, 501_000])
        self.assertEqual(redis.batches(8_050, 50), 8_050)
        self.assertEqual(redis.batches(20_001, 1000), 20_000)

    def test_a_program_that_fails_is_an_error(self):
        for command in (["false"], ["echo", "Error from server"]):
            with self.assertRaises(machine.RunError):
                redis.cpu_and_wall_ns(command, Programs.cpu)

    def test_without_a_server_nothing_runs(self):
        with unittest.mock.patch.object(redis.shutil, "which", lambda name: None):
            with self.assertRaisesRegex(machine.RunError, "redis-server is not installed"):
                redis.RedisCalls(Programs()).__enter__()

    def test_without_the_sources_of_the_rivals_the_others_run(self):
        how = redis.RedisCalls(Programs(["hiredis", "boost-redis"]))
        said = []
        with unittest.mock.patch.object(redis.shutil, "which", lambda name: None):
            chosen = execute.available(catalogue.slots(CLIENTS), how, "", "", said.append)
        self.assertEqual({slot.peer for slot in chosen}, {"beck-uring", "beck-epoll", "raw"})
        self.assertEqual(len(said), 3)
        self.assertIn("left out: redis-benchmark: it is not installed (Debian: redis-tools)", said)

    @unittest.skipUnless(HAS_SERVER, "redis-server is not installed")
    def test_a_server_has_the_value_and_ends_with_the_run(self):
        with redis.RedisCalls(Programs()) as how:
            folder, server = how.folder, how.server
            got = machine.run(["redis-cli", "-s", str(how.socket()), "GET", redis.KEY], 10)
            self.assertEqual(got.strip(), redis.VALUE)
            with unittest.mock.patch.dict(redis.COMMANDS, {50: 20_000}):
                self.assertGreater(how.run(slot("unix-50", "redis-benchmark"), False)["cpu_ns_per_op"], 0)
        self.assertIsNotNone(server.poll())
        self.assertFalse(folder.exists())

    def test_the_peers_know_the_cases_and_the_value(self):
        source = (ROOT / "bench/macro/common/redis_calls.hpp").read_text(encoding="utf-8")
        for case in CLIENTS.cases:
            self.assertIn(f'{{"{case.name}", ', source)
            if "redis-benchmark" in case.peers:
                self.assertIn(redis.callers_of(case.name), redis.COMMANDS)
        self.assertIn(f'key = "{redis.KEY}"', source)
        self.assertIn(f'value = "{redis.VALUE}"', source)


class Targets(unittest.TestCase):
    def test_a_ratio_above_its_limit_is_a_miss(self):
        costs = {"beck-uring": 180, "beck-epoll": 310, "hiredis": 300, "redis-benchmark": 200, "raw": 50}
        samples = {("unix-1000", peer): [{"cpu_ns_per_op": ns}] for peer, ns in costs.items()}
        checks = targets.checks(results.Results(CLIENTS, samples))
        self.assertEqual({check.what: check.passed for check in checks}, {
            "unix-1000: beck-uring / hiredis": True,
            "unix-1000: beck-epoll / hiredis": False,
            "unix-1000: beck-uring / redis-benchmark": True,
            "unix-1000: beck-epoll / redis-benchmark": False,
        })


if __name__ == "__main__":
    unittest.main()
