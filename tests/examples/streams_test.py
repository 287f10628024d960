#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the upload and the events among the examples, with curl, Node's fetch and others as clients.

usage: streams_test.py EXAMPLES_DIR [unittest options]
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path

import programs_test
from programs_test import LIMIT_S, program

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(i * i % 251 for i in range(300_000)) + b"\r\n--"
FETCH = """
const response = await fetch(process.argv[1], {headers: {'Last-Event-ID': '40'}});
const reader = response.body.getReader();
let text = '';
while ((text.match(/^data: /gm) ?? []).length < 3) text += Buffer.from((await reader.read()).value).toString();
console.log(response.headers.get('content-type'));
console.log(text);
await reader.cancel();
"""
FORM = """
const form = new FormData();
form.set('title', 'with fetch');
form.set('file', new Blob([new Uint8Array(100000).fill(7)], {type: 'image/png'}), 'ä"\\r\\n.png');
const response = await fetch(process.argv[1], {method: 'POST', body: form});
console.log(response.status, await response.text());
"""


SOURCE = """
const source = new EventSource(process.argv[1]);
const seen = [];
source.addEventListener('tick', (event) => {
  seen.push(`${event.data} ${event.lastEventId}`);
  console.log(seen.at(-1));
  if (seen.length === 30) source.close();
});
"""


def has_event_source():
    """Whether Node is there, and has an EventSource: 20.18, 22.3 and later."""
    command = ["node", "--experimental-eventsource", "-e", "EventSource"]
    return shutil.which("node") is not None and subprocess.run(command, capture_output=True).returncode == 0


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=LIMIT_S)


class Upload(unittest.TestCase):
    def setUp(self):
        self.stack = ExitStack()
        self.addCleanup(self.stack.close)
        self.there = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.picture = self.there / "a picture;.png"
        self.picture.write_bytes(PICTURE)

    def each_server(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), tempfile.TemporaryDirectory() as folder:
                with program("upload", 0, folder, backend=backend) as (server, port):
                    yield port, Path(folder)
                    server.send_signal(signal.SIGTERM)
                    self.assertEqual(server.wait(LIMIT_S), 0)

    def stored(self, folder, text):
        """The contents of the files that a response names; there must be no others."""
        names = [line.split(" ")[0] for line in text.splitlines()]
        self.assertEqual(sorted(names), sorted(path.name for path in folder.iterdir()))
        contents = [(folder / name).read_bytes() for name in names]
        for path in folder.iterdir():
            path.unlink()
        return contents

    def test_curl_sends_pictures_in_both_framings(self):
        for port, folder in self.each_server():
            for options in ((), ("-H", "Transfer-Encoding: chunked"), ("-H", "Expect: 100-continue"), ("--http1.0",),
                            ("--form-escape",)):
                file = f'file=@"{self.picture}";type=image/png'
                done = run("curl", "-sS", "-w", "%{http_code}", *options, "-F", "title=A & b", "-F", file, "-F", file,
                           "-F", f'other=@"{self.picture}"', f"http://127.0.0.1:{port}/images")
                self.assertEqual((done.returncode, done.stderr), (0, ""), options)
                self.assertTrue(done.stdout.endswith("201"), done.stdout)
                self.assertEqual(self.stored(folder, done.stdout[:-3]), [PICTURE, PICTURE])

    def test_a_form_that_lacks_a_part_or_is_none_is_refused(self):
        for port, folder in self.each_server():
            url = f"http://127.0.0.1:{port}/images"
            missing = run("curl", "-sS", "-w", "%{http_code}", "-F", "title=A", url)
            self.assertEqual(missing.stdout, "a title and a PNG, please\n422")
            plain = run("curl", "-sS", "-w", "%{http_code}", "-d", "title=A", url)
            self.assertEqual(plain.stdout, "the media type is not multipart/form-data\n415")
            long = run("curl", "-sS", "-w", "%{http_code}", "-F", "title=" + "x" * 1001, url)
            self.assertEqual(long.stdout, "a field of the form is too long (limit: 1000 bytes)\n413")
            self.assertEqual(list(folder.iterdir()), [])

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_fetch_sends_a_form(self):
        for port, folder in self.each_server():
            done = run("node", "--no-warnings", "--input-type=module", "-e", FORM, f"http://127.0.0.1:{port}/images")
            self.assertEqual(done.stderr, "")
            self.assertTrue(done.stdout.startswith("201 "), done.stdout)
            self.assertEqual(self.stored(folder, done.stdout[4:].strip()), [b"\x07" * 100_000])

    def test_a_client_that_leaves_in_the_middle_leaves_no_file(self):
        head = b"POST /images HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        part = b"--b\r\nContent-Disposition: form-data; name=file; filename=x\r\nContent-Type: image/png\r\n\r\n"
        for port, folder in self.each_server():
            for _ in range(5):
                with programs_test.connect(port) as client:
                    client.sendall(head + b"Content-Length: 10000000\r\n\r\n" + part + PICTURE[:200_000])
                    while not list(folder.iterdir()):
                        pass  # it is being written under a name of its own
                    self.assertTrue(list(folder.iterdir())[0].name.startswith(".beck-"))
                while list(folder.iterdir()):
                    pass  # the server has yet to notice


class Events(unittest.TestCase):
    def each_server(self, pause_ms):
        for backend in programs_test.backends():
            with self.subTest(backend=backend):
                with program("tick_server", 0, pause_ms, backend=backend) as (server, port):
                    yield server, port, f"http://127.0.0.1:{port}/events"

    def test_curl_reads_ticks_until_the_server_stops(self):
        for server, _, url in self.each_server(1):
            with subprocess.Popen(["curl", "-sSN", url], stdout=subprocess.PIPE, text=True) as curl:
                self.assertEqual([curl.stdout.readline() for _ in range(2)], ["retry: 1\n", "\n"])
                for number in range(1, 20):
                    lines = [curl.stdout.readline() for _ in range(4)]
                    self.assertEqual(lines, ["event: tick\n", f"id: {number}\n", f"data: {number}\n", "\n"])
                server.send_signal(signal.SIGTERM)
                self.assertEqual(server.wait(LIMIT_S), 0)
                rest = curl.stdout.read()
                self.assertEqual(curl.wait(LIMIT_S), 0)  # the response is whole
                self.assertTrue(rest == "" or rest.endswith("\n\n"))

    def test_head_has_the_fields_and_a_client_goes_on_where_it_was(self):
        for _, _, url in self.each_server(1):
            head = run("curl", "-sSI", url)
            self.assertEqual(head.returncode, 0)
            self.assertIn("Content-Type: text/event-stream\n", head.stdout)  # text mode
            with subprocess.Popen(["curl", "-sSN", "-H", "Last-Event-ID: 99", url], stdout=subprocess.PIPE) as curl:
                first = b"".join(curl.stdout.readline() for _ in range(6))
                curl.kill()
            self.assertEqual(first, b"retry: 1\n\nevent: tick\nid: 100\ndata: 100\n\n")

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_fetch_reads_a_stream(self):
        for _, _, url in self.each_server(1):
            done = run("node", "--no-warnings", "--input-type=module", "-e", FETCH, url)
            self.assertEqual(done.stderr, "")
            lines = done.stdout.splitlines()
            self.assertEqual(lines[0], "text/event-stream")
            self.assertEqual(re.findall(r"data: (\d+)", done.stdout)[:3], ["41", "42", "43"])

    def test_our_client_connects_again_and_misses_no_tick(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                with program("tick_server", 0, 5, backend=backend) as (server, port):
                    command = [programs_test.folder / "tick_client", f"http://127.0.0.1:{port}/events", "30"]
                    environment = os.environ | {"BECK_BACKEND": backend}
                    client = stack.enter_context(
                        subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=environment))
                    stack.callback(client.kill)
                    lines = [client.stdout.readline() for _ in range(10)]
                    server.send_signal(signal.SIGTERM)
                    self.assertEqual(server.wait(LIMIT_S), 0)
                with program("tick_server", port, 5, backend=backend):
                    lines += client.stdout.readlines()
                    self.assertEqual(client.wait(LIMIT_S), 0)
                self.assertEqual(lines, [f"tick {number} {number}\n" for number in range(1, 31)])

    @unittest.skipUnless(has_event_source(), "there is no Node with EventSource")
    def test_event_source_gets_ticks_with_their_ids(self):
        for _, _, url in self.each_server(1):
            done = run("node", "--no-warnings", "--experimental-eventsource", "-e", SOURCE, url)
            self.assertEqual(done.stderr, "")
            lines = done.stdout.splitlines()[:30]  # some may come with the last of them
            self.assertEqual(lines, [f"{number} {number}" for number in range(1, 31)])


if __name__ == "__main__":
    programs_test.folder = Path(sys.argv.pop(1)).resolve()
    unittest.main()
