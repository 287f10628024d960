#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the chat example: who hears whom, clients that leave in the middle of a line, and one that never reads.

usage: chat_test.py EXAMPLES_DIR [unittest options]
"""
import os
import re
import socket
import subprocess
import sys
import unittest
from contextlib import ExitStack, contextmanager
from pathlib import Path

LIMIT_S = 20
folder = Path(".")


@contextmanager
def server(backend):
    command = [str(folder / "chat_server"), "0"]
    environment = os.environ | {"BECK_BACKEND": backend}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        try:
            line = started.stdout.readline()
            found = re.fullmatch(r"listening on port (\d+)\n", line)
            assert found, f"chat_server said: {line!r}"
            yield int(found.group(1))
        finally:
            started.kill()


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), LIMIT_S)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def say(self, text):
        self.socket.sendall(text)

    def hear(self):
        return self.file.readline()

    def hear_the_end(self):
        """Everything up to the end of the connection, which may be a reset: the server did not read all."""
        heard = b""
        try:
            while data := self.socket.recv(1 << 20):
                heard += data
        except ConnectionResetError:
            pass
        return heard


def backends():
    return ["epoll"] if os.environ.get("BECK_BACKEND") == "epoll" else ["epoll", "automatic"]


class Chat(unittest.TestCase):
    def on_every_backend(self, clients, body):
        for backend in backends():
            with self.subTest(backend=backend), server(backend) as port, ExitStack() as stack:
                body(port, *(stack.enter_context(Client(port)) for _ in range(clients)))

    def test_a_line_goes_to_all_others_in_order(self):
        def body(_, a, b, c):
            a.say(b"one\ntwo\n")
            for client in (b, c):
                self.assertEqual([client.hear(), client.hear()], [b"one\n", b"two\n"])
            c.say(b"three\n")
            self.assertEqual([a.hear(), b.hear()], [b"three\n", b"three\n"])

        self.on_every_backend(3, body)

    def test_a_client_that_leaves_takes_nothing_with_it(self):
        def body(port, a, b):
            with Client(port) as guest:
                guest.say(b"hello\nhalf a line")
                self.assertEqual([a.hear(), b.hear()], [b"hello\n", b"hello\n"])
            for i in range(100):
                a.say(b"line %d\n" % i)
            self.assertEqual([b.hear() for _ in range(100)], [b"line %d\n" % i for i in range(100)])

        self.on_every_backend(2, body)

    def test_a_client_that_never_reads_is_dropped_and_the_others_go_on(self):
        def body(_, silent, a, b):
            for i in range(10_000):
                a.say(b"%d " % i + b"x" * 4000 + b"\n")
                self.assertEqual(b.hear().split()[0], b"%d" % i)
            self.assertLess(len(silent.hear_the_end()), 10_000 * 4000)

        self.on_every_backend(3, body)

    def test_a_line_that_is_too_long_ends_its_client_alone(self):
        def body(_, a, b, c):
            a.say(b"y" * 5000)
            self.assertEqual(a.hear_the_end(), b"")
            b.say(b"still here\n")
            self.assertEqual(c.hear(), b"still here\n")

        self.on_every_backend(3, body)

    def test_a_bad_port_is_named(self):
        done = subprocess.run([str(folder / "chat_server"), "70000"], capture_output=True, timeout=LIMIT_S, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("70000", done.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
