#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the memcached client of the examples against memcached.

usage: memcached_test.py EXAMPLES_DIR [unittest options]
"""
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import contextmanager, suppress
from pathlib import Path

LIMIT_S = 30
folder = Path(".")


def backends():
    forced = os.environ.get("BECK_BACKEND", "automatic")
    return [forced] if forced != "automatic" else ["epoll", "automatic"]


@contextmanager
def server(*options):
    """Starts a memcached; gives its port."""
    with tempfile.TemporaryDirectory() as there:
        told = Path(there, "port")
        command = ["memcached", "-l", "127.0.0.1", "-p", "-1", "-U", "0", *options]
        if os.geteuid() == 0:
            command += ["-u", "root"]  # another user may not reach the folder, such as in a chroot
        started = subprocess.Popen(command, env=os.environ | {"MEMCACHED_PORT_FILENAME": str(told)})
        try:
            deadline = time.monotonic() + LIMIT_S
            while not (told.exists() and "TCP INET: " in told.read_text()):
                with suppress(subprocess.TimeoutExpired):
                    raise RuntimeError(f"memcached has ended with {started.wait(0.01)}")
                assert time.monotonic() < deadline, "memcached does not start"
            yield int(told.read_text().split("TCP INET: ")[1].split()[0])
        finally:
            started.kill()
            started.wait()


def run(port, *command, backend):
    return subprocess.run(
        [folder / "memcached_client", "127.0.0.1", str(port), *command],
        env=os.environ | {"BECK_BACKEND": backend}, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip


class MemcachedClient(unittest.TestCase):
    def test_what_is_stored_is_read_and_deleted(self):
        for backend in backends():
            with self.subTest(backend=backend), server() as port:
                self.assertEqual(run(port, "get", "key", backend=backend).returncode, 1)
                self.assertEqual(run(port, "set", "key", "some text", backend=backend).returncode, 0)
                read = run(port, "get", "key", backend=backend)
                self.assertEqual((read.returncode, read.stdout), (0, "some text\n"))
                with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as other:
                    other.sendall(b"get key\r\n")
                    self.assertEqual(other.recv(1000), b"VALUE key 0 9\r\nsome text\r\nEND\r\n")
                self.assertEqual(run(port, "delete", "key", backend=backend).returncode, 0)
                gone = run(port, "delete", "key", backend=backend)
                self.assertEqual((gone.returncode, gone.stderr), (1, "memcached_client: no such key\n"))

    def test_thousands_of_calls_at_once_over_one_connection(self):
        for backend in backends():
            with self.subTest(backend=backend), server() as port:
                done = run(port, "load", "20000", backend=backend)
                self.assertEqual((done.returncode, done.stdout), (0, "20000 of 20000 values came back\n"))

    def test_a_value_that_the_server_refuses(self):
        for backend in backends():
            with self.subTest(backend=backend), server("-I", "64k", "-o", "slab_chunk_max=16") as port:
                done = run(port, "set", "key", "x" * 100_000, backend=backend)
                self.assertEqual(done.returncode, 1)
                self.assertIn("SERVER_ERROR object too large for cache", done.stderr)

    def test_errors_name_the_server(self):
        for backend in backends():
            with self.subTest(backend=backend):
                with socket.create_server(("127.0.0.1", 0)) as place:
                    port = place.getsockname()[1]
                done = run(port, "get", "key", backend=backend)
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"127.0.0.1:{port}: Connection refused", done.stderr)


if __name__ == "__main__":
    folder = Path(sys.argv.pop(1))
    unittest.main()
