#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the leaderboard with a redis-server: points, the table, live events, a server that is killed and started again.

usage: leaderboard_test.py EXAMPLES_DIR [unittest options]
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import programs_test
from programs_test import LIMIT_S

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "leaderboard.sh"


class Redis:
    """A redis-server on a UNIX socket, without a disk."""

    def __init__(self, folder):
        self.path = f"{folder}/redis.sock"
        self.start()

    def start(self):
        options = ["--port", "0", "--unixsocket", self.path, "--save", ""]
        self.process = subprocess.Popen(["redis-server", *options], stdout=subprocess.PIPE, text=True)
        assert any("eady to accept" in line for line in self.process.stdout), "redis-server has not started"

    def kill(self):
        self.process.kill()
        self.process.wait(LIMIT_S)
        self.process.stdout.close()
        Path(self.path).unlink(missing_ok=True)

    def run(self, *words):
        """Sends a command that another program might send; returns the first line of its reply."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(LIMIT_S)
            client.connect(self.path)
            parts = [f"${len(word)}\r\n{word}\r\n" for word in map(str, words)]
            client.sendall(f"*{len(parts)}\r\n{''.join(parts)}".encode())
            return client.makefile("rb").readline().decode().strip()


class Events:
    """A stream of server-sent events that is read by hand."""

    def __init__(self, url):
        port = int(url.rsplit(":", 1)[1].strip("/"))
        self.socket = programs_test.connect(port)
        self.socket.sendall(b"GET /events HTTP/1.0\r\nHost: a\r\n\r\n")
        self.file = self.socket.makefile("rb")
        while (line := self.file.readline()) != b"\r\n":
            assert line, "the stream has no head"

    def next(self):
        """The kind and the data of the next event, without heartbeats; None at the end."""
        kind = data = None
        for line in self.file:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
            elif not line and kind:
                return kind, data
        return None

    def until(self, expected):
        """Reads up to an event."""
        while (got := self.next()) != expected:
            assert got, f"the stream has ended before {expected}"

    def close(self):
        self.file.close()
        self.socket.close()


def ask(url, method="GET"):
    """The status, the body and the fields of a reply."""
    try:
        with urlopen(Request(url, method=method), timeout=LIMIT_S) as reply:
            return reply.status, reply.read().decode(), reply.headers
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode(), refused.headers


def table(**scores):
    return [{"name": name, "score": score} for name, score in scores.items()]


@contextmanager
def program(*command, backend, **options):
    """Starts the leaderboard; yields the process and its URL."""
    environment = os.environ | {"BECK_BACKEND": backend}
    with subprocess.Popen(list(map(str, command)), env=environment, stdout=subprocess.PIPE, text=True, **options) as it:
        try:
            line = it.stdout.readline()
            assert re.fullmatch(r"listening: http://127\.0\.0\.1:\d+/\n", line), f"it said: {line!r}"
            yield it, line.removeprefix("listening: ").strip()
        finally:
            if it.poll() is None:
                it.terminate()
                it.wait(LIMIT_S)


def each_backend(test):
    def run(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                redis = Redis(stack.enter_context(tempfile.TemporaryDirectory()))
                stack.callback(redis.kill)
                command = [programs_test.folder / "leaderboard", "--redis", f"unix://{redis.path}"]
                started, url = stack.enter_context(program(*command, backend=backend))
                test(self, started, url, redis)

    return run


class Leaderboard(unittest.TestCase):
    @each_backend
    def test_points_make_a_table_and_news(self, _, url, redis):
        viewer = Events(url)
        self.addCleanup(viewer.close)
        viewer.until(("top", []))
        self.assertEqual(ask(url + "scores/ann?points=5", "POST")[:2], (200, '{"name":"ann","score":5}'))
        viewer.until(("change", {"name": "ann", "points": 5}))
        viewer.until(("top", table(ann=5)))
        self.assertEqual(ask(url + "scores/bob?points=7", "POST")[0], 200)
        viewer.until(("top", table(bob=7, ann=5)))
        self.assertEqual(json.loads(ask(url + "top")[1]), table(bob=7, ann=5))
        self.assertEqual(json.loads(ask(url + "players/ann")[1]), {"name": "ann", "score": 5, "rank": 2})
        self.assertEqual(ask(url + "players/zoe")[0], 404)
        status, why, _ = ask(url + "scores/a.b?points=7", "POST")
        self.assertEqual((status, '"a.b"' in why), (400, True))
        self.assertIn("EventSource", ask(url)[1])
        self.assertIn("leaderboard_viewers 1\n", ask(url + "metrics")[1])
        self.assertEqual(redis.run("PUBSUB", "NUMSUB", "leaderboard.changes"), "*2")

    @each_backend
    def test_a_change_of_another_program_drops_the_cached_table(self, _, url, redis):
        self.assertEqual(ask(url + "scores/ann?points=5", "POST")[0], 200)
        self.assertEqual(json.loads(ask(url + "top")[1]), table(ann=5))
        self.assertEqual(redis.run("ZADD", "leaderboard", 9, "ann"), ":0")
        end = time.monotonic() + LIMIT_S
        while json.loads(ask(url + "top")[1]) != table(ann=9):
            self.assertLess(time.monotonic(), end)

    @each_backend
    def test_a_server_that_is_killed_is_503_and_a_new_one_is_shown(self, _, url, redis):
        viewer = Events(url)
        self.addCleanup(viewer.close)
        self.assertEqual(ask(url + "scores/ann?points=5", "POST")[0], 200)
        viewer.until(("top", table(ann=5)))
        redis.kill()
        status, why, fields = ask(url + "scores/ann?points=6", "POST")
        self.assertEqual((status, fields["Retry-After"]), (503, "1"))
        self.assertTrue(why.startswith("no points were added: "), why)
        redis.start()
        viewer.until(("top", []))  # without news: behind a lost connection comes the whole table
        self.assertEqual(ask(url + "scores/bob?points=7", "POST")[:2], (200, '{"name":"bob","score":7}'))
        viewer.until(("top", table(bob=7)))

    @each_backend
    def test_a_signal_ends_the_streams_and_the_program(self, started, url, _):
        viewer = Events(url)
        self.addCleanup(viewer.close)
        viewer.until(("top", []))
        started.send_signal(signal.SIGTERM)
        self.assertIsNone(viewer.next())
        self.assertEqual(started.wait(LIMIT_S), 0)

    def test_bad_options_and_a_port_that_is_taken_end_it(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            cases = {
                ("--port",): 2,
                ("--nope", "1"): 2,
                ("--port", "x"): 1,
                ("--port", "65536"): 1,
                ("--redis", "http://a"): 1,
                ("--port", taken.getsockname()[1]): 1,
            }
            for options, status in cases.items():
                with self.subTest(options=options):
                    done = programs_test.run("leaderboard", *options, backend=programs_test.backends()[0])
                    self.assertEqual(done.returncode, status)
                    self.assertIn("leaderboard", done.stderr)


class Script(unittest.TestCase):
    """leaderboard.sh, which ./run leaderboard calls."""

    def check(self, send):
        with tempfile.TemporaryDirectory() as there:
            command = [SCRIPT, programs_test.folder.resolve() / "leaderboard"]
            options = {"backend": programs_test.backends()[-1], "cwd": there, "start_new_session": True}
            with program(*command, **options) as (started, url):
                self.assertEqual(ask(url + "scores/ann?points=5", "POST")[0], 200)
                (path,) = Path(there).glob("build/leaderboard.*/redis.sock")
                with socket.socket(socket.AF_UNIX) as client:
                    client.settimeout(LIMIT_S)
                    client.connect(str(path))
                    send(started)
                    self.assertEqual(client.recv(1), b"")  # the server has ended, too
                return started.wait(LIMIT_S), list(Path(there).glob("build/*"))

    def test_a_signal_ends_the_program_and_its_server(self):
        self.assertEqual(self.check(lambda started: started.terminate()), (0, []))

    def test_ctrl_c_ends_the_program_and_its_server(self):
        self.assertEqual(self.check(lambda started: os.killpg(started.pid, signal.SIGINT)), (0, []))

    def test_the_server_ends_with_a_script_that_is_killed(self):
        self.assertEqual(self.check(lambda started: os.killpg(started.pid, signal.SIGKILL))[0], -signal.SIGKILL)


if __name__ == "__main__":
    programs_test.folder = Path(sys.argv.pop(1))
    unittest.main()
