#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the chat server for browsers: rooms, names, a page, server-sent events, members that do not read, the end.

usage: web_chat_test.py EXAMPLES_DIR [unittest options]
"""
import base64
import hashlib
import os
import signal
import ssl
import struct
import sys
import unittest
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import programs_test
from programs_test import LIMIT_S

TEXT, BINARY, CLOSE = 1, 2, 8


class Member:
    """A client of WebSocket that knows nothing of beck."""

    everyone = []

    def __init__(self, port, path, roots=None):
        self.socket = programs_test.connect(port)
        if roots:
            self.socket = ssl.create_default_context(cafile=roots).wrap_socket(self.socket, server_hostname="localhost")
        Member.everyone.append(self)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self._exactly(1)
        self.status = int(head.split()[1])
        digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        self.is_verified = b"Sec-WebSocket-Accept: " + base64.b64encode(digest) in head

    def _exactly(self, size):
        data = programs_test.receive_exactly(self.socket, size)
        if len(data) < size:
            raise ConnectionError("the connection has ended")
        return data

    def send(self, data, code=TEXT):
        mask = os.urandom(4)
        length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        body = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        self.socket.sendall(bytes([0x80 | code]) + length + mask + body)

    def receive(self):
        """The opcode and the data of the next frame."""
        first, length = self._exactly(2)
        if length == 126:
            length = struct.unpack(">H", self._exactly(2))[0]
        return first & 15, self._exactly(length)

    def lines(self, count):
        return [self.receive()[1].decode() for _ in range(count)]


@contextmanager
def chat(backend, *arguments):
    with programs_test.program("web_chat", *arguments, backend=backend) as (started, port):
        try:
            yield started, port
        finally:
            while Member.everyone:
                Member.everyone.pop().socket.close()


def each_backend(test):
    def run(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), chat(backend) as (started, port):
                test(self, started, port)

    return run


class WebChat(unittest.TestCase):
    @each_backend
    def test_lines_go_to_the_members_of_their_room(self, _, port):
        ann = Member(port, "/rooms/one?name=Ann")
        self.assertTrue(ann.is_verified)
        self.assertEqual(ann.lines(1), ["- Ann has come"])
        other = Member(port, "/rooms/two?name=Ann")
        self.assertEqual(other.lines(1), ["- Ann has come"])
        bob = Member(port, "/rooms/one?name=B%C3%B6b+B")
        ann.send(b"hello")
        self.assertEqual(bob.lines(2), ["- B\u00f6b B has come", "Ann: hello"])
        self.assertEqual(ann.lines(2), ["- B\u00f6b B has come", "Ann: hello"])
        bob.send(struct.pack(">H", 1000), CLOSE)
        self.assertEqual(bob.receive(), (CLOSE, struct.pack(">H", 1000)))
        self.assertEqual(ann.lines(1), ["- B\u00f6b B has gone"])
        other.send(b"alone")
        self.assertEqual(other.lines(1), ["Ann: alone"])

    @each_backend
    def test_names_are_taken_once_and_have_bounds(self, _, port):
        ann = Member(port, "/rooms/one?name=Ann")
        self.assertEqual(ann.status, 101)
        self.assertEqual(Member(port, "/rooms/one?name=Ann").status, 409)
        self.assertEqual(Member(port, "/rooms/one?name=").status, 400)
        self.assertEqual(Member(port, "/rooms/one?name=" + "x" * 61).status, 400)
        self.assertEqual(Member(port, "/rooms/one?name=%ff").status, 400)
        ann.send(b"x" * 5000)
        self.assertEqual(ann.lines(1), ["- Ann has come"])
        self.assertEqual(ann.receive(), (CLOSE, struct.pack(">H", 1009)))

    @each_backend
    def test_bytes_that_are_no_text_reach_no_member(self, _, port):
        ann = Member(port, "/rooms/one?name=Ann")
        bad = Member(port, "/rooms/one?name=bad")
        bad.send(b"\xff", BINARY)
        self.assertEqual(ann.lines(2), ["- Ann has come", "- bad has come"])
        self.assertEqual(bad.lines(1), ["- bad has come"])
        self.assertEqual(bad.receive(), (CLOSE, struct.pack(">H", 1003)))
        bad.socket.close()
        self.assertEqual(ann.lines(1), ["- bad has gone"])

    @each_backend
    def test_a_member_that_does_not_read_is_cut_and_the_others_notice_nothing(self, _, port):
        ann = Member(port, "/rooms/one?name=Ann")
        deaf = Member(port, "/rooms/one?name=deaf")
        self.assertEqual(ann.lines(2), ["- Ann has come", "- deaf has come"])
        line, gone = b"x" * 4000, False
        for _ in range(5_000):
            ann.send(line)
            said = ann.lines(1)[0]
            if said == "- deaf has gone":
                gone = True
                break
            self.assertEqual(len(said), 4005)
        self.assertTrue(gone)
        deaf.socket.close()

    @each_backend
    def test_the_page_and_the_events(self, _, port):
        with connection_to(port) as client:
            client.request("GET", "/")
            response = client.getresponse()
            self.assertIn(b"new WebSocket(", response.read())
            self.assertEqual(response.headers["Content-Type"], "text/html; charset=utf-8")
        with connection_to(port) as client:
            client.request("GET", "/events")
            response = client.getresponse()
            self.assertEqual(response.headers["Content-Type"], "text/event-stream")
            self.assertEqual(response.readline(), b"data: 0 in all rooms\n")
            ann = Member(port, "/rooms/one?name=Ann")
            self.assertEqual(ann.status, 101)
            self.assertEqual([response.readline() for _ in range(2)], [b"\n", b"data: 1 in all rooms\n"])

    @each_backend
    def test_the_head_of_the_events_ends(self, _, port):
        with connection_to(port) as client:
            client.request("HEAD", "/events")
            response = client.getresponse()
            self.assertEqual((response.read(), response.headers["Content-Type"]), (b"", "text/event-stream"))
            client.request("GET", "/")  # over the same connection
            self.assertEqual(client.getresponse().status, 200)

    def test_members_over_tls(self):
        for backend in programs_test.backends():
            with (
                self.subTest(backend=backend),
                programs_test.identity() as (chain, key),
                chat(backend, 0, chain, key) as (_, port),
            ):
                ann = Member(port, "/rooms/one?name=Ann", roots=chain)
                self.assertEqual(ann.lines(1), ["- Ann has come"])
                ann.send(b"x" * 4000)
                self.assertEqual(ann.lines(1), ["Ann: " + "x" * 4000])

    @each_backend
    def test_a_signal_says_good_bye(self, started, port):
        ann = Member(port, "/rooms/one?name=Ann")
        ann.lines(1)
        started.send_signal(signal.SIGTERM)
        self.assertEqual(ann.receive(), (CLOSE, struct.pack(">H", 1001) + b"the server ends"))
        ann.send(struct.pack(">H", 1001), CLOSE)
        ann.socket.close()
        self.assertEqual(started.wait(LIMIT_S), 0)


@contextmanager
def connection_to(port):
    client = HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    try:
        yield client
    finally:
        client.close()


if __name__ == "__main__":
    programs_test.folder = Path(sys.argv.pop(1))
    unittest.main()
