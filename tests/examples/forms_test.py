#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the blocking examples beside those of coroutines that were made from them, and the HTTP servers among the
examples; compares the differences that docs/blocking-to-coroutines.md shows with the files.

usage: forms_test.py EXAMPLES_DIR [unittest options]
       forms_test.py --write        writes the differences into the page
"""
import difflib
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/blocking-to-coroutines.md"
PAIRS = re.compile(r"```diff\n--- (\S+)\n\+\+\+ (\S+)\n.*?```\n", re.DOTALL)
LIMIT_S = 20
folder = Path(".")


def functions_of(path):
    """The lines of an example's functions, without includes and main()."""
    text = (ROOT / path).read_text(encoding="utf-8")
    inner = text.partition("namespace {\n\n")[2].partition("\n}  // namespace\n")[0]
    return [f"{line}\n" for line in inner.splitlines()]


def difference(old, new):
    lines = difflib.unified_diff(functions_of(old), functions_of(new), old, new, n=100)
    return "```diff\n" + "".join(line for line in lines if not line.startswith("@@")) + "```\n"


@contextmanager
def server(name, *arguments, backend="automatic"):
    """Starts an example on a free port; gives the port."""
    command = [str(folder / name), "0", *arguments]
    environment = os.environ | {"BECK_BACKEND": backend}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as started:
        try:
            line = started.stdout.readline()
            found = re.match(r"listening on port (\d+)", line)
            assert found, f"{name} said: {line!r}"
            yield int(found[1])
        finally:
            started.kill()


def backends():
    forced = os.environ.get("BECK_BACKEND", "automatic")
    return [forced] if forced != "automatic" else ["epoll", "automatic"]


def exchange(port, *parts):
    """Sends the parts, and gives all that comes back until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for part in parts:
            client.sendall(part)
        client.shutdown(socket.SHUT_WR)
        received = b""
        while more := client.recv(1 << 16):
            received += more
        return received


class Page(unittest.TestCase):
    def test_the_page_shows_the_files_as_they_are(self):
        found = list(PAIRS.finditer(PAGE.read_text(encoding="utf-8")))
        self.assertEqual(len(found), 3)
        for block in found:
            self.assertEqual(block[0], difference(block[1], block[2]), "write it again: forms_test.py --write")


class Echo(unittest.TestCase):
    def talk(self, client, port):
        done = subprocess.run([folder / client, "127.0.0.1", str(port), "500"], capture_output=True, timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(b"500 lines came back", done.stdout)

    def test_each_server_with_each_client(self):
        for name in ("blocking_echo_server", "echo_server"):
            for client in ("blocking_echo_client", "echo_client"):
                with self.subTest(server=name, client=client), server(name) as port:
                    self.talk(client, port)
                    self.talk(client, port)  # the blocking one goes on with the next connection


class Http(unittest.TestCase):
    REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nhello, peer\n"

    def each_form(self):
        yield from (("blocking_http_server", form, "automatic") for form in ("one", "threads", "pool"))
        yield from (("coroutine_http_server", "", backend) for backend in backends())

    def test_all_forms_give_the_same_responses(self):
        chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        last = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        closing = self.REPLY.replace(b"12\r\n", b"12\r\nConnection: close\r\n")
        for name, form, backend in self.each_form():
            with self.subTest(name=name, form=form, backend=backend), server(name, form, backend=backend) as port:
                self.assertEqual(exchange(port, self.REQUEST), self.REPLY)
                self.assertEqual(exchange(port, self.REQUEST * 20), self.REPLY * 20)
                self.assertEqual(exchange(port, *(bytes([byte]) for byte in chunked)), self.REPLY)
                self.assertEqual(exchange(port, chunked + last + self.REQUEST), self.REPLY + closing)
                refused = exchange(port, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + self.REQUEST)
                self.assertTrue(refused.startswith(b"HTTP/1.1 400 "), refused)
                self.assertEqual(refused.count(b"HTTP/1.1"), 1)

    def test_what_serves_many_at_once_serves_beside_one_that_is_silent(self):
        for name, form, backend in self.each_form():
            if form == "one":
                continue
            with self.subTest(name=name, form=form), ExitStack() as stack:
                port = stack.enter_context(server(name, form, backend=backend))
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                self.assertEqual(exchange(port, self.REQUEST), self.REPLY)


class Files(unittest.TestCase):
    def test_files_come_whole_and_nothing_else_does(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                text = bytes(i % 251 for i in range(4096))
                (directory / "data_4K.html").write_bytes(text)
                (directory / "empty").write_bytes(b"")
                (directory / ".hidden").write_bytes(b"secret")
                (directory / "large").write_bytes(b"x" * ((1 << 20) + 1))
                port = stack.enter_context(server("http_server", str(directory), backend=backend))
                response = exchange(port, b"GET /data_4K.html HTTP/1.0\r\n\r\n")
                self.assertTrue(response.endswith(b"\r\n\r\n" + text))
                self.assertIn(b"Content-Type: text/html", response)
                self.assertIn(b"Connection: close", response)
                self.assertIn(b"Content-Length: 0\r\n", exchange(port, b"GET /empty HTTP/1.0\r\n\r\n"))
                for target in (b"/none", b"/", b"/.hidden", b"/../x", b"/%2e%2e/x", b"/a%2Fb", b"/large", b"//x"):
                    refused = exchange(port, b"GET " + target + b" HTTP/1.0\r\n\r\n")
                    self.assertTrue(refused.startswith(b"HTTP/1.1 404 "), (target, refused))

    def test_a_port_in_use_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            command = [folder / "http_server", str(taken.getsockname()[1]), "."]
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("in use", done.stderr)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(PAIRS.sub(lambda block: difference(block[1], block[2]), text), encoding="utf-8")
        sys.exit(0)
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
