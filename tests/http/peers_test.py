#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Foreign clients and proxies against beck's server: curl, wrk, ab, the requests of Python, nginx and haproxy in front.
Each checks what came back, and that as many requests have arrived as were sent.

usage: peers_test.py PEER_SERVER [unittest options]
"""
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import zlib
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import requests

from peer import LIMIT_S, Failed, backends, beck_server, require, wait_until
from proxies import haproxy, nginx

program = Path(".")
BODY = bytes(i * 7 % 251 for i in range(300_000))


def described(method, target, body=b""):
    """The response of the peer server."""
    return f"{method} {target} {len(body)} {zlib.adler32(body)}\n".encode()


def letters(size):
    return (b"abcdefghijklmnopqrstuvwxyz" * (size // 26 + 1))[:size]


def on_each_backend(test):
    """Runs a test with a server on each backend: self.server, with its files in self.folder."""

    def run(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                self.folder.chmod(0o755)  # nginx drops its privileges
                (self.folder / "file").write_bytes(BODY)
                (self.folder / "beck.log").touch()
                arguments = ("--log", self.folder / "beck.log", "--file", self.folder / "file")
                self.server = stack.enter_context(beck_server(program, backend, *arguments))
                test(self)

    return run


class Peers(unittest.TestCase):
    """What all have in common."""

    def arrived(self):
        """The requests that the server has called its handler for."""
        return self.folder.joinpath("beck.log").read_text(encoding="latin-1").splitlines()

    def tool(self, *command, data=None):
        done = subprocess.run(command, input=data, capture_output=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        return done.stdout


class CurlPeers(Peers):
    """Runs curl."""

    def curl(self, *arguments, data=None):
        return self.tool("curl", "-sS", "--max-time", str(LIMIT_S), *map(str, arguments), data=data)


class Curl(CurlPeers):
    @on_each_backend
    def test_bodies_of_every_framing_come_whole(self):
        for size in (0, 1, 65536, 1_000_000):
            self.assertEqual(self.curl(f"{self.server.url}/bytes/{size}"), letters(size))
            self.assertEqual(self.curl("--http1.0", f"{self.server.url}/stream/{size}"), letters(size))
            self.assertEqual(self.curl(f"{self.server.url}/stream/{size}"), letters(size))
        self.assertIn(b"Transfer-Encoding: chunked", self.curl("-i", f"{self.server.url}/stream/1"))
        self.assertEqual(self.curl(f"{self.server.url}/file"), BODY)

    @on_each_backend
    def test_a_head_without_its_body(self):
        head = self.curl("-I", f"{self.server.url}/bytes/1000")
        self.assertIn(b"Content-Length: 1000\r\n", head)

    @on_each_backend
    def test_uploads(self):
        whole = self.curl("-X", "PUT", "--data-binary", "@-", f"{self.server.url}/whole", data=BODY)
        self.assertEqual(whole, described("PUT", "/whole", BODY))
        chunked = self.curl("-T", "-", f"{self.server.url}/chunked", data=BODY)
        self.assertEqual(chunked, described("PUT", "/chunked", BODY))
        asked = ("-v", "-H", "Expect: 100-continue", "--expect100-timeout", LIMIT_S)
        done = subprocess.run(["curl", "-sS", *map(str, asked), "--data-binary", "@-", f"{self.server.url}/asked"],
                              input=BODY, capture_output=True, timeout=LIMIT_S)
        self.assertEqual(done.stdout, described("POST", "/asked", BODY))
        self.assertIn(b"< HTTP/1.1 100 Continue", done.stderr)

    @on_each_backend
    def test_an_expectation_that_is_none_is_refused(self):
        self.assertIn(b"HTTP/1.1 417 ", self.curl("-i", "-H", "Expect: miracles", "-d", "x", self.server.url))

    @on_each_backend
    def test_one_connection_for_several_requests(self):
        urls = [f"{self.server.url}/{i}" for i in range(5)]
        out = self.curl("-w", "%{num_connects}\n", *urls)
        self.assertEqual(re.findall(rb"^(\d)$", out, re.MULTILINE), [b"1", b"0", b"0", b"0", b"0"])


class Files(CurlPeers):
    """The files of a folder: ranges and conditions."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "data.bin").write_bytes(BODY)

    def each_backend(self):
        for backend in backends():
            with beck_server(program, backend, "--folder", self.folder) as server:
                yield f"{server.url}/data.bin"

    def status_of(self, *arguments):
        return self.curl("-o", self.folder / "out", "-w", "%{http_code}", *arguments)

    def test_ranges(self):
        for url in self.each_backend():
            self.assertEqual(self.curl(url), BODY)
            for text, part in (("0-99", BODY[:100]), ("-100", BODY[-100:]), ("299990-", BODY[299_990:]),
                               ("5-5", BODY[5:6]), ("299999-9999999", BODY[-1:])):
                self.assertEqual(self.curl("-r", text, url), part)
                self.assertEqual(self.status_of("-r", text, url), b"206")
            several = self.curl("-i", "-r", "0-9,100-109", url)
            self.assertIn(b"multipart/byteranges", several)
            self.assertIn(b"Content-Range: bytes 100-109/300000\r\n\r\n" + BODY[100:110], several)
            self.assertEqual(self.status_of("-r", "300000-", url), b"416")

    def test_a_download_is_resumed(self):
        for url in self.each_backend():
            out = self.folder / "resumed"
            out.write_bytes(BODY[:123_456])
            self.curl("-C", "-", "-o", out, url)
            self.assertEqual(out.read_bytes(), BODY)

    def test_conditions(self):
        for url in self.each_backend():
            tag = self.folder / "tag"
            self.assertEqual(self.status_of("--etag-save", tag, url), b"200")
            self.assertEqual(self.status_of("--etag-compare", tag, url), b"304")
            self.assertEqual(self.status_of("-z", self.folder / "data.bin", url), b"304")
            before = "If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT"
            self.assertEqual(self.status_of("-H", before, url), b"412")
            self.assertEqual(self.status_of("-H", 'If-Match: "other"', url), b"412")
            self.assertEqual(self.status_of("-r", "0-9", "-H", 'If-Range: "other"', url), b"200")

    def test_nothing_outside_of_the_folder(self):
        for url in self.each_backend():
            base = url.removesuffix("/data.bin")
            for path in ("/../etc/passwd", "/%2e%2e/etc/passwd", "/..%2fetc/passwd", "//etc/passwd", "/.hidden"):
                self.assertIn(self.status_of("--path-as-is", base + path), (b"400", b"404"))


class Load(Peers):
    @on_each_backend
    def test_ab_with_a_connection_for_each_request_and_with_few(self):
        for options in ((), ("-k",)):
            before = len(self.arrived())
            out = self.tool("ab", "-q", *options, "-c", "50", "-n", "3000", f"{self.server.url}/bytes/4096").decode()
            self.assertRegex(out, r"Complete requests:\s+3000\n")
            self.assertRegex(out, r"Failed requests:\s+0\n")
            self.assertNotIn("Non-2xx", out)
            self.assertRegex(out, r"Document Length:\s+4096 bytes")
            self.assertEqual(len(self.arrived()) - before, 3000)

    @on_each_backend
    def test_wrk_sees_no_error(self):
        out = self.tool("wrk", "-t1", "-c100", "-d1s", f"{self.server.url}/bytes/1024").decode()
        self.assertNotIn("Socket errors", out)
        self.assertNotIn("Non-2xx", out)
        counted = int(re.search(r"(\d+) requests in", out)[1])
        # wrk may end before the server has noted its last responses.
        wait_until(lambda: self.server.stats()["connections"] <= 1, "connections of wrk are left")
        self.assertGreater(counted, 0)
        self.assertLessEqual(counted, len(self.arrived()))
        self.assertLessEqual(len(self.arrived()), counted + 100)  # those under way at the end


class Requests(Peers):
    @on_each_backend
    def test_a_session_of_python_requests(self):
        with requests.Session() as session:
            got = session.get(f"{self.server.url}/a?b=c", timeout=LIMIT_S)
            self.assertEqual(got.content, described("GET", "/a?b=c"))
            got = session.post(f"{self.server.url}/whole", data=BODY, timeout=LIMIT_S)
            self.assertEqual(got.content, described("POST", "/whole", BODY))
            pieces = (BODY[i : i + 7000] for i in range(0, len(BODY), 7000))
            got = session.put(f"{self.server.url}/pieces", data=pieces, timeout=LIMIT_S)
            self.assertEqual(got.content, described("PUT", "/pieces", BODY))
            with session.get(f"{self.server.url}/stream/500000", stream=True, timeout=LIMIT_S) as got:
                self.assertEqual(b"".join(got.iter_content(10_000)), letters(500_000))
            self.assertEqual(self.server.stats()["accepted"], 2)  # and the one that asks


class Fronts(Peers):
    """Through a proxy: keep-alive, pipelining, bodies with a length and in chunks."""

    def exchange(self, port, sent, ends):
        """Sends all at once; reads until the response to the last request has come."""
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
            client.sendall(sent)
            received = b""
            while not received.endswith(ends):
                more = client.recv(1 << 16)
                self.assertTrue(more, received[-300:])
                received += more
        return received

    def through(self, name, proxy):
        expected = Counter()
        host = b"Host: a\r\n"
        pipeline = b"".join(b"GET /p%d HTTP/1.1\r\n%s\r\n" % (i, host) for i in range(20))
        pipeline += b"POST /length HTTP/1.1\r\n%sContent-Length: 5\r\n\r\nhello" % host
        pipeline += b"POST /chunks HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n" % host
        pipeline += b"3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
        pipeline += b"GET /last HTTP/1.1\r\n%s\r\n" % host
        for _ in range(5):
            received = self.exchange(proxy.port, pipeline, described("GET", "/last"))
            self.assertEqual(received.count(b"HTTP/1.1 200"), 23)
            self.assertIn(described("POST", "/length", b"hello"), received)
            self.assertIn(described("POST", "/chunks", b"hello"), received)
        expected.update({f"GET /p{i}": 5 for i in range(20)} | {"POST /length": 5, "POST /chunks": 5, "GET /last": 5})
        got = requests.put(f"{proxy.url}/large", data=(BODY for _ in range(10)), timeout=LIMIT_S)
        self.assertEqual(got.content, described("PUT", "/large", BODY * 10))
        got = requests.get(f"{proxy.url}/stream/1000000", timeout=LIMIT_S)
        self.assertEqual(got.content, letters(1_000_000))
        expected.update(["PUT /large", "GET /stream/1000000"])
        out = self.tool("ab", "-q", "-k", "-c", "20", "-n", "2000", f"{proxy.url}/bytes/1024").decode()
        self.assertRegex(out, r"Failed requests:\s+0\n")
        expected["GET /bytes/1024"] = 2000
        wait_until(lambda: len(proxy.passed_on()) >= expected.total(), f"{name} has not logged all requests")
        self.assertEqual(Counter(proxy.passed_on()), expected)
        self.assertEqual(Counter(self.arrived()), expected)
        stats = self.server.stats()
        self.assertEqual((stats["refused"], stats["failed"], stats["cut"]), (0, 0, 0))

    @on_each_backend
    def test_as_many_requests_arrive_as_nginx_was_sent(self):
        with nginx(self.folder, self.server.port) as proxy:
            self.through("nginx", proxy)

    @on_each_backend
    def test_as_many_requests_arrive_as_haproxy_was_sent(self):
        with haproxy(self.folder, self.server.port) as proxy:
            self.through("haproxy", proxy)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = Path(sys.argv.pop(1)).resolve()
    try:
        for tool in ("curl", "wrk", "ab"):
            require(shutil.which(tool), f"{tool} is not installed")
    except Failed as e:
        sys.exit(f"peers: {e}")
    unittest.main(verbosity=2)
