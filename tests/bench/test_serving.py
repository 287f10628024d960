# SPDX-License-Identifier: BSL-1.0
"""Tests of the benchmarks of HTTP servers: the same bytes from all peers, what a client counts, the targets.

usage: python3 -m unittest discover -s tests/bench
"""
import os
import socket
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from harness import catalogue, machine, results, serving, targets

HTTP = catalogue.BENCHES["http"]


def sample(cpu_us, p999_us=1000.0):
    return {"cpu_ns_per_op": cpu_us * 1000, "wall_ns_per_op": cpu_us * 1000, "p999_us": p999_us}


def slot(case, peer):
    return catalogue.Slot(HTTP.case(case), peer)


def reply_to_one(data):
    """A server that sends these bytes to one client; gives its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        client, _ = listener.accept()
        with client, listener:
            client.recv(4096)
            client.sendall(data)

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


class Loads(unittest.TestCase):
    def test_every_case_has_a_load(self):
        for name in ("http", "http_blocking"):
            for case in catalogue.BENCHES[name].cases:
                self.assertIn(case.name, serving.LOADS)

    def test_the_filler_of_nginx_is_as_long_as_that_of_the_others(self):
        source = (ROOT / "bench/macro/common/http_service.hpp").read_text(encoding="utf-8")
        self.assertIn('http_server_name = "bench"', source)
        self.assertEqual(len("Server: nginx"), len("Server: bench"))
        self.assertEqual(len("Connection: keep-alive"), len("Cache-Control: private"))


class Checks(unittest.TestCase):
    load = serving.Load(body=30)

    def reply(self, filler="Cache-Control: private", body=None):
        return (serving.HEAD.format(30, filler) + (body or serving.body_of(30))).encode()

    def test_the_reply_of_all_peers_passes(self):
        for filler in ("Cache-Control: private", "Connection: keep-alive"):
            serving.check(slot("1k", "nginx"), self.load, reply_to_one(self.reply(filler)))

    def test_a_longer_head_fails(self):
        with self.assertRaisesRegex(machine.RunError, "not the head of all peers"):
            serving.check(slot("1k", "nginx"), self.load, reply_to_one(self.reply("Cache-Control: private\r\nX: y")))

    def test_another_body_fails(self):
        with self.assertRaisesRegex(machine.RunError, "not the body of all peers"):
            serving.check(slot("1k", "nginx"), self.load, reply_to_one(self.reply(body="x" * 30)))

    def test_half_a_head_fails(self):
        with self.assertRaisesRegex(machine.RunError, "no whole head"):
            serving.check(slot("1k", "nginx"), self.load, reply_to_one(b"HTTP/1.1 200 OK\r\n"))


class Time(unittest.TestCase):
    def test_the_clock_of_a_process_counts_its_work(self):
        before = serving.cpu_now_ns([os.getpid()])
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass
        self.assertGreaterEqual(serving.cpu_now_ns([os.getpid()]) - before, 20e6)


class Configuration(unittest.TestCase):
    def test_nginx_puts_a_long_text_together(self):
        with tempfile.TemporaryDirectory() as folder:
            how = serving.Services(HTTP, Path(folder), Path(folder))
            job = how.nginx_job(serving.Load(body=4096), with_file=False)
            self.assertEqual(job.count("set $p"), 4)
            self.assertTrue(all(len(word) <= 1026 for word in job.split("'")))


class Targets(unittest.TestCase):
    def test_a_ratio_above_its_limit_is_a_miss(self):
        samples = {("1k-1000", peer): [sample(us, p999)] for peer, us, p999 in (
            ("beck-uring", 6.0, 900.0), ("beck-epoll", 7.5, 1100.0), ("raw-epoll", 5.5, 900.0), ("nginx", 7.0, 1000.0))}
        rows = {check.what: check.passed for check in targets.checks(results.Results(HTTP, samples))}
        self.assertTrue(rows["1k-1000: beck-uring / nginx"])
        self.assertFalse(rows["1k-1000: beck-epoll / nginx"])
        self.assertTrue(rows["1k-1000: beck-uring / nginx, p99.9"])
        self.assertFalse(rows["1k-1000: beck-epoll / nginx, p99.9"])


if __name__ == "__main__":
    unittest.main()
