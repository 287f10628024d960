#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the HTTP client http_get and the reverse proxy http_proxy in front of a server of Python's.

usage: http_test.py EXAMPLES_DIR [unittest options]
"""
import signal
import socket
import ssl
import sys
import tempfile
import threading
import unittest
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection, IncompleteRead
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import programs_test
from programs_test import LIMIT_S


class Origin(BaseHTTPRequestHandler):
    """What a server of HTTP says: bodies with a length and in chunks, redirects, a request's body back."""

    protocol_version = "HTTP/1.1"
    LONG = bytes(i % 251 for i in range(300_000))

    def response(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", len(body))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        if self.path == "/redirect":
            self.response(302, Location="/long")
        elif self.path == "/chunks":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in (b"one", b"two" * 5000):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
        elif self.path == "/cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            self.close_connection = True
        elif self.path == "/held":
            self.server.held.set()
            self.server.go_on.wait(LIMIT_S)
            self.response(200, b"held")
        else:
            self.response(200 if self.path.startswith("/long") else 404, self.LONG)

    def do_POST(self):
        self.response(201, self.rfile.read(int(self.headers["Content-Length"])), X="posted")

    def log_message(self, *_):
        pass


@contextmanager
def origin(identity=None):
    """Serves Origin in a thread, over TLS with an identity; gives the server, which notes the requests, and its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Origin) as server:
        if identity:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*identity)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        server.asked, server.held, server.go_on = [], threading.Event(), threading.Event()
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        try:
            yield server, f"{'https' if identity else 'http'}://127.0.0.1:{server.server_port}"
        finally:
            server.go_on.set()
            server.shutdown()
            serving.join(LIMIT_S)


def unused_port():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return unused.getsockname()[1]


class HttpGet(unittest.TestCase):
    def test_urls_are_got_at_once_and_a_line_tells_of_each(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), origin() as (_, url):
                many = [f"{url}/long?{number}" for number in range(20)]  # more than there are connections
                done = programs_test.run("http_get", *many, f"{url}/redirect", f"{url}/chunks", backend=backend)
                expected = [f"200 300000 {one}" for one in many]
                expected += [f"200 300000 {url}/long", f"200 15003 {url}/chunks"]
                self.assertEqual(sorted(done.stdout.splitlines()), sorted(expected))
                self.assertEqual(done.returncode, 0)

    def test_what_is_not_got_whole_is_told_and_is_the_status(self):
        refused = f"http://127.0.0.1:{unused_port()}"
        for backend in programs_test.backends():
            with self.subTest(backend=backend), origin() as (_, url):
                urls = (f"{url}/none", f"{url}/cut", f"{refused}/", "no url")
                done = programs_test.run("http_get", *urls, backend=backend)
                lines = done.stdout.splitlines()
                self.assertEqual(len(lines), 4)
                self.assertIn(f"404 300000 {url}/none", lines)
                self.assertRegex(done.stdout, f"--- {url}/cut: .+ after 4 bytes\n")
                self.assertRegex(done.stdout, f"--- GET {refused}: Connection refused\n")
                self.assertEqual(done.returncode, 1)


    def test_it_goes_through_a_proxy_if_it_is_told_to(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), origin() as (server, url):
                environment = {"http_proxy": url, "HTTP_PROXY": "http://127.0.0.1:1", "NO_PROXY": "direct.example"}
                done = programs_test.run("http_get", "--proxies", "http://origin.example/none", backend=backend,
                                         environment=environment)
                self.assertEqual(done.stdout, "404 300000 http://origin.example/none\n")  # the name is not looked up
                self.assertEqual([path for path, _ in server.asked], ["http://origin.example/none"])


class HttpsProxy(unittest.TestCase):
    """The proxy with TLS on both sides, each with an identity of its own."""

    def test_requests_pass_to_a_server_that_is_verified(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                inside, outside = (stack.enter_context(programs_test.identity()) for _ in range(2))
                server, url = stack.enter_context(origin(inside))
                arguments = ("https_proxy", 0, url, *outside, inside[0])
                started, port = stack.enter_context(programs_test.program(*arguments, backend=backend, says="stderr"))
                trust = ssl.create_default_context(cafile=outside[0])
                client = HTTPSConnection("127.0.0.1", port, timeout=LIMIT_S, context=trust)
                for _ in range(2):  # over one connection
                    client.request("POST", "/", Origin.LONG)
                    self.assertEqual(client.getresponse().read(), Origin.LONG)
                client.request("GET", "/long")
                self.assertEqual(client.getresponse().read(), Origin.LONG)
                self.assertEqual(server.asked[0][1]["X-Forwarded-Proto"], "https")
                client.close()
                started.send_signal(signal.SIGTERM)
                self.assertEqual(started.wait(LIMIT_S), 0)

    def test_a_server_that_is_another_one_gets_no_request(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                inside, outside = (stack.enter_context(programs_test.identity()) for _ in range(2))
                server, url = stack.enter_context(origin(inside))
                arguments = ("https_proxy", 0, url, *outside, outside[0])  # trusts the wrong one
                _, port = stack.enter_context(programs_test.program(*arguments, backend=backend, says="stderr"))
                trust = ssl.create_default_context(cafile=outside[0])
                client = HTTPSConnection("127.0.0.1", port, timeout=LIMIT_S, context=trust)
                client.request("GET", "/long")
                self.assertEqual(client.getresponse().status, 502)
                self.assertEqual(server.asked, [])
                client.close()


class HttpProxy(unittest.TestCase):
    @contextmanager
    def proxy(self, upstream, backend):
        """Starts the proxy; gives it and a connection of HTTP to it."""
        with programs_test.program("http_proxy", 0, upstream, backend=backend, says="stderr") as (started, port):
            client = HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
            try:
                yield started, client
            finally:
                client.close()

    def ask(self, client, method, path, body=None):
        client.request(method, path, body, {"Connection": "keep-alive, X-Hop", "X-Hop": "1", "X-End": "2"})
        response = client.getresponse()
        return response.status, response.read(), response

    def test_requests_and_responses_pass_and_fields_of_a_connection_do_not(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), origin() as (server, url), self.proxy(url, backend) as (_, client):
                for _ in range(2):  # over one connection
                    self.assertEqual(self.ask(client, "GET", "/long?a=b")[:2], (200, Origin.LONG))
                self.assertEqual(self.ask(client, "GET", "/chunks")[:2], (200, b"one" + b"two" * 5000))
                self.assertEqual(self.ask(client, "GET", "/none")[0], 404)
                status, body, response = self.ask(client, "POST", "/", Origin.LONG)
                self.assertEqual((status, body, response.headers["X"]), (201, Origin.LONG, "posted"))
                path, fields = server.asked[0]
                self.assertEqual(path, "/long?a=b")
                self.assertEqual(fields["X-Forwarded-For"], "127.0.0.1")
                self.assertEqual(fields["X-End"], "2")
                self.assertNotIn("X-Hop", fields)

    def test_a_server_that_is_not_there_or_stops_halfway_is_no_good_response(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), self.proxy(f"http://127.0.0.1:{unused_port()}", backend) as (_, client):
                self.assertEqual(self.ask(client, "GET", "/")[:2], (502, b"the server cannot be reached\n"))
            with self.subTest(backend=backend), origin() as (_, url), self.proxy(url, backend) as (_, client):
                with self.assertRaises((IncompleteRead, ConnectionError)):
                    self.ask(client, "GET", "/cut")

    def test_a_signal_ends_it_when_what_is_under_way_has_ended(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                server, url = stack.enter_context(origin())
                started, client = stack.enter_context(self.proxy(url, backend))
                client.request("GET", "/held")
                self.assertTrue(server.held.wait(LIMIT_S))
                started.send_signal(signal.SIGTERM)
                with self.assertRaises(ConnectionError):
                    for _ in range(100_000):  # until it no longer listens
                        programs_test.connect(client.port).close()
                server.go_on.set()
                response = client.getresponse()
                self.assertEqual((response.status, response.read()), (200, b"held"))
                self.assertEqual(started.wait(LIMIT_S), 0)


class GuardedSite(unittest.TestCase):
    def ask(self, port, method, path, body=None, token=None):
        connection = HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
        connection.request(method, path, body, {"Authorization": f"Bearer {token}"} if token else {})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, text, response.getheader("X-Request")

    def test_middlewares_guard_the_routes_and_number_every_response(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), programs_test.program("guarded_site", 0, backend=backend) as running:
                site, port = running
                self.assertEqual(self.ask(port, "GET", "/health"), (200, b"well\n", "1"))
                self.assertEqual(self.ask(port, "GET", "/me"), (401, b"who is there?\n", "2"))
                self.assertEqual(self.ask(port, "GET", "/me", token="anna"), (200, b"anna\n", "3"))
                self.assertEqual(self.ask(port, "GET", "/none"), (404, b"not found\n", "4"))
                self.assertEqual(self.ask(port, "GET", "/notes/x", token="ben"), (200, b"ben reads x\n", "5"))
                self.assertEqual(self.ask(port, "POST", "/notes/x", b"body", "ben"), (201, b"ben stored 4\n", "6"))
                status, text, number = self.ask(port, "POST", "/notes/x", b"b" * 1001, "ben")
                self.assertEqual((status, number), (413, "7"))
                self.assertIn(b"route_options::body_bytes", text)
                self.assertEqual(self.ask(port, "GET", "/notes/x")[0], 401)
                site.send_signal(signal.SIGTERM)
                lines = site.stdout.read().splitlines()
                self.assertEqual(site.wait(LIMIT_S), 0)
                self.assertEqual(lines, ["1 /health 200", "2 /me 401", "3 /me 200", "4  404", "5 /notes/{name} 200",
                                         "6 /notes/{name} 201", "7  413", "8 /notes/{name} 401"])


class ErrorPages(unittest.TestCase):
    def ask(self, port, text):
        with programs_test.connect(port) as client:
            client.sendall(text)
            response = HTTPResponse(client)
            response.begin()
            return response.status, response.getheader("Content-Type"), response.read().decode()

    def test_each_error_has_the_page_of_the_program(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), programs_test.program("error_pages", 0, backend=backend) as running:
                site, port = running
                end = b" HTTP/1.1\r\nHost: a\r\nX-Request-ID: 7\r\n\r\n"
                for text, status, said in (
                        (b"GET /none" + end, 404, "not found"),
                        (b"PUT /" + end, 405, "the method is not allowed here"),
                        (b"POST /orders" + end, 409, "sorry, there are no more of these"),
                        (b"POST /bills" + end, 500, "the handler failed"),
                        (b"GET /bills/none" + end, 404, "there is no such bill"),
                        (b"GET /%00" + end, 400, "a control character in the path"),
                        (b"nothing\r\n\r\n", 400, "the request line is not"),
                ):
                    with self.subTest(text=text):
                        got, kind, body = self.ask(port, text)
                        self.assertEqual((got, kind), (status, "text/html; charset=utf-8"))
                        self.assertIn(f"<h1>{status}</h1>", body)
                        self.assertIn(said, body)
                self.assertEqual(self.ask(port, b"GET /" + end)[::2], (200, "hello\n"))
                site.send_signal(signal.SIGTERM)
                self.assertEqual(site.stdout.read(), "7: the printer is on fire\n")
                self.assertEqual(site.wait(LIMIT_S), 0)


class SignIn(unittest.TestCase):
    def ask(self, port, method, path, body="", cookie=None):
        fields = {"Content-Type": "application/x-www-form-urlencoded"} | ({"Cookie": cookie} if cookie else {})
        connection = HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
        connection.request(method, path, body, fields)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text, response.getheader("Set-Cookie")

    def test_a_sealed_cookie_keeps_a_login(self):
        for backend in programs_test.backends():
            with self.subTest(backend=backend), tempfile.TemporaryDirectory() as there:
                keys = Path(there) / "session.keys"
                keys.write_text("a" * 64 + "\n")
                with programs_test.program("sign_in", 0, keys, backend=backend) as (site, port):
                    self.assertIn("Sign in", self.ask(port, "GET", "/")[1])
                    self.assertEqual(self.ask(port, "POST", "/login", "name=x&password=wrong")[0], 403)
                    self.assertEqual(self.ask(port, "POST", "/login", "name=%zz&password=sesame")[0], 400)
                    self.assertEqual(self.ask(port, "POST", "/login", "x" * 5000)[0], 413)
                    status, _, cookie = self.ask(port, "POST", "/login", "name=J%C3%BCrgen+A&password=sesame")
                    self.assertEqual(status, 303)
                    parsed = SimpleCookie(cookie)["session"]
                    self.assertEqual((parsed["path"], parsed["max-age"], parsed["samesite"]), ("/", "43200", "Lax"))
                    self.assertTrue(parsed["httponly"] and parsed["secure"])
                    mine = f"other=1; session={parsed.value}"
                    self.assertIn("hello, Jürgen A", self.ask(port, "GET", "/", cookie=mine)[1])
                    changed = mine[:-1] + ("A" if mine[-1] != "A" else "B")
                    self.assertIn("Sign in", self.ask(port, "GET", "/", cookie=changed)[1])
                    status, _, removed = self.ask(port, "POST", "/logout", cookie=mine)
                    self.assertEqual((status, SimpleCookie(removed)["session"]["max-age"]), (303, "0"))
                    site.send_signal(signal.SIGTERM)
                    self.assertEqual(site.wait(LIMIT_S), 0)

    def test_a_file_without_keys_is_refused_by_name(self):
        done = programs_test.run("sign_in", 0, "/dev/null", backend="epoll")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "sign_in: tls::sealer: /dev/null: there is no key\n"))


if __name__ == "__main__":
    programs_test.folder = Path(sys.argv.pop(1))
    unittest.main()
