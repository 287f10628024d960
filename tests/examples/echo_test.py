#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the echo examples: each server with each client, on each backend, and all of them with socat, which knows
nothing of beck.

usage: echo_test.py EXAMPLES_DIR [unittest options]
"""
import os
import re
import subprocess
import sys
import unittest
from contextlib import contextmanager
from pathlib import Path

SERVERS = ("echo_server", "echo_callback")
CLIENTS = ("echo_client", "echo_client_callback")
LIMIT_S = 20
folder = Path(".")


def environment(backend):
    return os.environ | {"BECK_BACKEND": backend}


def run(*command, backend="automatic", **options):
    """Runs a program to its end; gives the finished process with its output as bytes."""
    return subprocess.run(command, env=environment(backend), capture_output=True, timeout=LIMIT_S, **options)


def backends():
    """epoll, and io_uring unless the environment or the kernel leaves it out."""
    if os.environ.get("BECK_BACKEND", "automatic") == "epoll":
        return ["epoll"]
    with server("echo_server", "automatic") as (_, backend):
        return ["epoll", "io_uring"] if backend == "io_uring" else ["epoll"]


@contextmanager
def process(*command, backend="automatic", **options):
    with subprocess.Popen(command, env=environment(backend), **options) as started:
        try:
            yield started
        finally:
            started.kill()


@contextmanager
def server(name, backend):
    """Starts an example's server on a free port; gives the port and the backend that it says it runs on."""
    with process(str(folder / name), "0", backend=backend, stdout=subprocess.PIPE, text=True) as started:
        line = started.stdout.readline()
        found = re.fullmatch(r"listening on port (\d+), (\w+)\n", line)
        assert found, f"{name} said: {line!r}"
        yield found.group(1), found.group(2)


class Echo(unittest.TestCase):
    def test_every_client_gets_back_from_every_server_what_it_sent(self):
        for backend in backends():
            for name in SERVERS:
                with server(name, backend) as (port, used):
                    self.assertEqual(used, backend)
                    for client in CLIENTS:
                        with self.subTest(backend=backend, server=name, client=client):
                            done = run(str(folder / client), "127.0.0.1", port, "1000", backend=backend)
                            self.assertEqual((done.returncode, done.stderr), (0, b""))
                            self.assertIn(backend.encode(), done.stdout)

    def test_every_server_serves_many_clients_at_once(self):
        for backend in backends():
            for name in SERVERS:
                with self.subTest(backend=backend, server=name), server(name, backend) as (port, _):
                    commands = ([str(folder / CLIENTS[i % 2]), "127.0.0.1", port, "200"] for i in range(20))
                    clients = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
                    self.assertEqual([c.wait(LIMIT_S) for c in clients], [0] * 20)


class ForeignPeer(unittest.TestCase):
    def test_socat_gets_back_from_every_server_what_it_sent(self):
        text = b"a line\n" * 20_000  # far more than the buffer of a session
        for backend in backends():
            for name in SERVERS:
                with self.subTest(backend=backend, server=name), server(name, backend) as (port, _):
                    done = run("socat", "-t", "10", "-", f"TCP:127.0.0.1:{port}", input=text)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(done.stdout, text)

    def test_every_client_is_content_with_an_echo_by_socat(self):
        for backend in backends():
            for client in CLIENTS:
                listen = ("socat", "-d", "-d", "TCP-LISTEN:0,bind=127.0.0.1", "EXEC:cat")
                with self.subTest(backend=backend, client=client), process(
                    *listen, stderr=subprocess.PIPE, text=True
                ) as socat:
                    line = next(line for line in socat.stderr if "listening on" in line)
                    port = line.rpartition(":")[2].strip()
                    done = run(str(folder / client), "127.0.0.1", port, "100", backend=backend)
                    self.assertEqual((done.returncode, done.stderr), (0, b""))


class BadInput(unittest.TestCase):
    def check(self, command, *words, backend="automatic", status=1):
        done = run(str(folder / command[0]), *command[1:], backend=backend)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, status, text)
        self.assertEqual(text.count("\n"), 1, text)
        for word in words:
            self.assertIn(word, text)

    def test_a_port_out_of_range_is_named_in_the_message(self):
        for name in SERVERS:
            self.check([name, "70000"], name, "70000")
        for name in CLIENTS:
            self.check([name, "127.0.0.1", "-1"], name, "-1")

    def test_a_port_that_is_no_number_is_named_in_the_message(self):
        for name in SERVERS:
            self.check([name, "http"], name, "not a number: http")

    def test_an_address_that_is_none_is_named_in_the_message(self):
        for name in CLIENTS:
            self.check([name, "localhost!", "7"], name, "localhost!")

    def test_an_unknown_backend_is_named_in_the_message(self):
        for name in SERVERS:
            self.check([name, "0"], name, "kqueue", backend="kqueue")

    def test_a_port_in_use_is_an_error_of_the_server(self):
        with server("echo_server", "automatic") as (port, _):
            for name in SERVERS:
                self.check([name, port], name, "in use")

    def test_a_server_that_is_not_there_is_an_error_of_the_client(self):
        # epoll: the kernel takes a ring of a killed process apart, and closes what it holds, some time after its end.
        with server("echo_server", "epoll") as (port, _):
            pass
        for name in CLIENTS:
            self.check([name, "127.0.0.1", port], name, "refused")

    def test_a_client_without_arguments_says_how_it_is_used(self):
        for name in CLIENTS:
            self.check([name], "usage:", status=2)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
