#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the small HTTP services: a counter with a client of Redis for each context, a long poll, a site with a log,
a single-page application.

usage: services_test.py EXAMPLES_DIR [unittest options]
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import programs_test
from leaderboard_test import Redis
from programs_test import LIMIT_S


def ask(port, method, path):
    connection = HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    connection.request(method, path)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, text.decode()


class HitCounter(unittest.TestCase):
    def test_it_counts_in_redis_and_tells_a_balancer_that_it_stops(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                redis = Redis(folder)
                stack.callback(redis.kill)
                run = programs_test.program("hit_counter", 0, f"unix://{redis.path}", backend=backend)
                counter, port = stack.enter_context(run)
                for count in range(1, 11):  # new connections: to both contexts
                    self.assertEqual(ask(port, "GET", "/hits"), (200, f"{count}\n"))
                self.assertEqual(ask(port, "GET", "/ready"), (200, ""))
                counter.send_signal(signal.SIGTERM)
                while ask(port, "GET", "/ready")[0] == 200:
                    pass  # the signal is on its way
                self.assertEqual(ask(port, "GET", "/ready"), (503, ""))
                self.assertEqual(ask(port, "GET", "/hits"), (200, "11\n"))
                counter.send_signal(signal.SIGTERM)
                self.assertEqual(counter.wait(LIMIT_S), 0)

    def test_a_redis_that_goes_is_a_problem_of_the_response_and_one_that_is_not_there_one_of_the_start(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                redis = Redis(folder)
                run = programs_test.program("hit_counter", 0, f"unix://{redis.path}", backend=backend)
                _, port = stack.enter_context(run)
                self.assertEqual(ask(port, "GET", "/hits"), (200, "1\n"))
                redis.kill()
                status, text = ask(port, "GET", "/hits")
                self.assertEqual((status, json.loads(text)["detail"]), (503, "the counter cannot be reached"))
                command = [programs_test.folder / "hit_counter", "0", f"unix://{redis.path}"]
                environment = os.environ | {"BECK_BACKEND": backend}
                done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn("cannot serve: no Redis: ", done.stderr)


class LongPoll(unittest.TestCase):
    def start(self, stack, backend, seconds):
        poll, port = stack.enter_context(programs_test.program("long_poll", 0, seconds, backend=backend))
        return poll, port

    def wait(self, stack, port):
        client = stack.enter_context(programs_test.connect(port))
        client.sendall(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
        return client

    def until(self, port, waiting):
        while ask(port, "GET", "/waiting") != (200, f"{waiting}\n"):
            pass

    def status(self, client):
        response = HTTPResponse(client)
        response.begin()
        return response.status, response.read().decode()

    def test_all_that_wait_are_told_and_a_client_that_leaves_waits_no_longer(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                poll, port = self.start(stack, backend, 3600)
                stay = [self.wait(stack, port) for _ in range(3)]
                leave = [self.wait(stack, port) for _ in range(2)]
                self.until(port, 5)
                leave[0].shutdown(socket.SHUT_WR)
                leave[1].close()
                self.until(port, 3)
                self.assertEqual(ask(port, "POST", "/tell"), (200, "told\n"))
                self.assertEqual([self.status(client) for client in stay], [(200, "news\n")] * 3)
                self.until(port, 0)
                last = self.wait(stack, port)
                self.until(port, 1)
                poll.send_signal(signal.SIGTERM)
                self.assertEqual(self.status(last), (503, "the server is being stopped\n"))
                self.assertEqual(poll.wait(LIMIT_S), 0)

    def test_without_news_it_ends_with_204(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                _, port = self.start(stack, backend, 0)
                self.assertEqual(self.status(self.wait(stack, port)), (204, ""))


class ObservedSite(unittest.TestCase):
    def lines(self, log, count):
        while not log.exists() or log.read_text().count("\n") < count:
            pass  # it is written soon
        return [json.loads(line) for line in log.read_text().splitlines()]

    def test_each_request_is_in_the_log_and_in_the_metrics_of_its_route(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                log = folder / "log"
                site, port = stack.enter_context(programs_test.program("observed_site", 0, log, backend=backend))
                self.assertEqual(ask(port, "GET", "/squares/12"), (200, "144\n"))
                self.assertEqual(ask(port, "GET", "/squares/x")[0], 404)
                self.assertEqual(ask(port, "GET", "/.env")[0], 404)
                lines = self.lines(log, 3)
                self.assertEqual([(line["target"], line["status"], line.get("route")) for line in lines],
                                 [("/squares/12", 200, "/squares/{number}"), ("/squares/x", 404, "/squares/{number}"),
                                  ("/.env", 404, None)])
                self.assertRegex(lines[0]["id"], "^[0-9a-f]{32}$")
                status, text = ask(port, "GET", "/metrics")
                self.assertEqual(status, 200)
                count = "beck_http_request_duration_seconds_count"
                for route, status in (("/squares/{number}", "2xx"), ("none", "4xx")):
                    self.assertIn(f'\n{count}{{route="{route}",method="GET",status="{status}"}} 1\n', text)
                self.assertIn("\nbeck_http_exchanges_total 3\n", text)
                self.lines(log, 4)
                log.rename(folder / "old")
                site.send_signal(signal.SIGHUP)
                while not log.exists():
                    pass
                self.assertEqual(ask(port, "GET", "/squares/3"), (200, "9\n"))
                site.send_signal(signal.SIGTERM)
                self.assertEqual(site.wait(LIMIT_S), 0)
                self.assertEqual([line["target"] for line in self.lines(log, 1)], ["/squares/3"])
                self.assertEqual(len(self.lines(folder / "old", 4)), 4)


class SinglePage(unittest.TestCase):
    BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}

    def get(self, port, path, headers):
        connection = HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response, text

    def test_browsers_get_the_page_and_programs_get_404(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                (folder / "index.html").write_text("<p>app")
                (folder / "app.js").write_text("run()")
                program = programs_test.program("single_page", 0, folder, backend=backend)
                site, port = stack.enter_context(program)
                for path in ("/", "/orders/7", "/orders/"):
                    response, text = self.get(port, path, self.BROWSER)
                    self.assertEqual((response.status, text), (200, "<p>app"))
                    self.assertEqual(response.getheader("X-Content-Type-Options"), "nosniff")
                self.assertEqual(self.get(port, "/app.js", {})[1], "run()")
                response, text = self.get(port, "/none.js", {"Accept": "*/*"})
                self.assertEqual((response.status, json.loads(text)["status"]), (404, 404))
                response, text = self.get(port, "/api/time", self.BROWSER)
                self.assertGreater(json.loads(text)["now"], 1_700_000_000)
                self.assertEqual(response.getheader("Cache-Control"), "no-store")
                response, text = self.get(port, "/api/none", self.BROWSER)
                self.assertEqual((response.status, json.loads(text)["detail"]), (404, "no such call"))
                site.send_signal(signal.SIGTERM)
                self.assertEqual(site.wait(LIMIT_S), 0)


if __name__ == "__main__":
    programs_test.folder = Path(sys.argv.pop(1))
    unittest.main()
