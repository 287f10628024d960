#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the chat server and the proxy as their users would: several clients, slow ones, signals.

usage: programs_test.py EXAMPLES_DIR [unittest options]
"""
import os
import re
import signal
import socket
import subprocess
import sys
import unittest
from contextlib import ExitStack, contextmanager
from pathlib import Path

LIMIT_S = 20
folder = Path(".")


@contextmanager
def program(name, *arguments, backend):
    """Starts an example that says which port it listens on; gives the process and the port."""
    environment = os.environ | {"BECK_BACKEND": backend}
    command = [str(folder / name), *map(str, arguments)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        try:
            line = started.stdout.readline()
            found = re.fullmatch(r"listening on port (\d+)\n", line)
            assert found, f"{name} said: {line!r}"
            yield started, int(found.group(1))
        finally:
            if started.poll() is None:
                started.kill()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)


def receive_exactly(stream, size):
    data = b""
    while len(data) < size:
        more = stream.recv(size - len(data))
        if not more:
            break
        data += more
    return data


def backends():
    forced = os.environ.get("BECK_BACKEND", "automatic")
    return [forced] if forced != "automatic" else ["epoll", "automatic"]


class Chat(unittest.TestCase):
    def test_every_line_reaches_all_others_in_order(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                _, port = stack.enter_context(program("chat_server", backend=backend))
                members = [stack.enter_context(connect(port)) for _ in range(4)]
                greeting = b"hello\n"
                # A line from each in turn, so that all are known to have joined.
                for speaker in members:
                    for listener in members:
                        if listener is not speaker:
                            while True:
                                speaker.sendall(greeting)
                                listener.settimeout(0.2)
                                try:
                                    if listener.recv(1 << 16):
                                        break
                                except TimeoutError:
                                    continue
                for member in members:
                    member.settimeout(LIMIT_S)
                lines = [b"line %d" % i for i in range(100)]
                members[0].sendall(b"\n".join(lines) + b"\n")
                for listener in members[1:]:
                    heard = b""
                    while b"line 99\n" not in heard:
                        more = listener.recv(1 << 16)
                        self.assertTrue(more, "the connection ended before the last line")
                        heard += more
                    # Greetings of other members may still come, before them or between them.
                    said = [line for line in heard.splitlines() if not greeting.startswith(line)]
                    self.assertEqual(said, lines)

    def test_a_member_that_does_not_keep_up_is_thrown_out_and_nobody_waits_for_it(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                _, port = stack.enter_context(program("chat_server", backend=backend))
                lazy = stack.enter_context(connect(port))
                lazy.sendall(b"here\n")
                talker = stack.enter_context(connect(port))
                line = b"x" * 4000 + b"\n"
                for _ in range(10000):  # 40 MB, more than two socket buffers and 256 lines
                    talker.sendall(line)
                total = 0
                while more := lazy.recv(1 << 16):
                    total += len(more)
                self.assertLess(total, 10000 * len(line))


class Proxy(unittest.TestCase):
    def test_bytes_go_through_both_ways_and_ends_are_passed_on(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                upstream = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                upstream.settimeout(LIMIT_S)
                _, port = stack.enter_context(program("proxy", 0, upstream.getsockname()[1], backend=backend))
                client = stack.enter_context(connect(port))
                server, _ = upstream.accept()
                stack.enter_context(server)
                server.settimeout(LIMIT_S)
                client.sendall(b"request" * 1000)
                client.shutdown(socket.SHUT_WR)
                self.assertEqual(receive_exactly(server, 1 << 20), b"request" * 1000)
                server.sendall(b"answer" * 1000)
                server.close()
                self.assertEqual(receive_exactly(client, 1 << 20), b"answer" * 1000)

    def test_a_refused_upstream_ends_the_session_only(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                with socket.create_server(("127.0.0.1", 0)) as unused:
                    refused = unused.getsockname()[1]
                _, port = stack.enter_context(program("proxy", 0, refused, backend=backend))
                for _ in range(2):
                    client = stack.enter_context(connect(port))
                    self.assertEqual(client.recv(1), b"")

    def test_a_signal_ends_it_when_what_is_under_way_has_ended(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                upstream = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                upstream.settimeout(LIMIT_S)
                proxy, port = stack.enter_context(program("proxy", 0, upstream.getsockname()[1], backend=backend))
                client = stack.enter_context(connect(port))
                server, _ = upstream.accept()
                stack.enter_context(server)
                client.sendall(b"a")
                self.assertEqual(server.recv(1), b"a")
                proxy.send_signal(signal.SIGTERM)
                self.assertEqual(proxy.stdout.readline(), "draining 1 sessions\n")
                with self.assertRaises(ConnectionError):
                    connect(port)
                server.sendall(b"b")  # still served
                self.assertEqual(client.recv(1), b"b")
                client.close()
                server.close()
                self.assertEqual(proxy.stdout.readline(), "bye\n")
                self.assertEqual(proxy.wait(LIMIT_S), 0)


if __name__ == "__main__":
    folder = Path(sys.argv.pop(1))
    unittest.main()
