# SPDX-License-Identifier: BSL-1.0
"""Tests of the benchmark of HTTP clients: what it starts, what is left out, the targets.

usage: python3 -m unittest discover -s tests/bench
"""
import sys
import tempfile
import unittest
import unittest.mock
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from harness import calling, catalogue, execute, machine, results, serving, targets

CLIENTS = catalogue.BENCHES["http_client"]


class Programs:
    """Stands for the peers: notes how they are started."""

    cpu, other_cpu, duration_ms = 3, 5, 100

    def __init__(self, without=()):
        self.without, self.started = without, []

    def missing(self, slot):
        return f"{slot.peer} is not built" if slot.peer in self.without else ""

    def run(self, slot, warm_up, more_arguments=()):
        self.started.append((slot.peer, warm_up, list(more_arguments)))
        return {"cpu_ns_per_op": 1}


class Runs(unittest.TestCase):
    def test_a_peer_is_told_the_port_of_an_nginx_on_the_other_cpu(self):
        programs = Programs()
        with tempfile.TemporaryDirectory() as folder:
            services = serving.Services(CLIENTS, Path(folder), Path(folder))
            how = calling.Calls(programs, services)
            self.assertEqual((services.cpu, services.other_cpu), (5, 3))
            asked, checked = [], []

            @contextmanager
            def server(slot, load):
                asked.append((slot.peer, load.body))
                yield 8080, 1

            services.server = server
            with unittest.mock.patch.object(calling, "check", lambda slot, load, port: checked.append(port)):
                how.run(catalogue.Slot(CLIENTS.case("64k"), "libcurl"), warm_up=False)
        self.assertEqual(asked, [("nginx-file", 65536)])
        self.assertEqual(checked, [8080])
        self.assertEqual(programs.started, [("libcurl", False, ["--port", "8080"])])

    def test_without_nginx_nothing_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            services = serving.Services(CLIENTS, Path(folder), Path(folder))
            services.nginx = lambda: None
            with self.assertRaisesRegex(machine.RunError, "nginx is not installed"):
                calling.Calls(Programs(), services).__enter__()

    def test_without_libcurl_the_others_run(self):
        with tempfile.TemporaryDirectory() as folder:
            how = calling.Calls(Programs(["libcurl"]), serving.Services(CLIENTS, Path(folder), Path(folder)))
        said = []
        chosen = execute.available(catalogue.slots(CLIENTS), how, "", "", said.append)
        self.assertEqual({slot.peer for slot in chosen}, {"beck-uring", "beck-epoll", "raw-epoll"})
        self.assertEqual(said, ["left out: libcurl: libcurl is not installed (Debian: libcurl4-openssl-dev)"])

    def test_every_case_has_the_body_that_the_peers_expect(self):
        for library in ("beck", "raw", "libcurl"):
            source = (ROOT / f"bench/macro/{library}/http_client.cpp").read_text(encoding="utf-8")
            for case in CLIENTS.cases:
                self.assertIn(f'{{"{case.name}", run<{serving.LOADS[case.name].body}>}}', source)


class Targets(unittest.TestCase):
    def test_a_ratio_above_its_limit_is_a_miss(self):
        costs = {"beck-uring": 11.0, "beck-epoll": 13.5, "raw-epoll": 10.0, "libcurl": 20.0}
        samples = {("1k", peer): [{"cpu_ns_per_op": us * 1000}] for peer, us in costs.items()}
        checks = targets.checks(results.Results(CLIENTS, samples))
        self.assertEqual({check.target for check in checks}, {"H10"})
        rows = {check.what: check.passed for check in checks}
        self.assertEqual(rows, {
            "1k: beck-uring / raw-epoll": True,
            "1k: beck-uring / libcurl": True,
            "1k: beck-epoll / raw-epoll": False,
            "1k: beck-epoll / libcurl": False,
        })


if __name__ == "__main__":
    unittest.main()
