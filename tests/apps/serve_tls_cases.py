# SPDX-License-Identifier: BSL-1.0
"""beck-serve with TLS: https, a certificate that is replaced under a running server, its log, its errors."""
import json
import shutil
import signal
import ssl
import subprocess
import unittest

from server import LIMIT_S, ServeCase, read_body, read_head, run, until

HTTPS = r"https://(127\.0\.0\.1):(\d+)/"


@unittest.skipIf(shutil.which("openssl") is None, "there is no openssl to make certificates with")
class Tls(ServeCase):
    def setUp(self):
        super().setUp()
        if "without OpenSSL" in run(self.site, "--port", "0", "--cert", "/none", "--key", "/none").stderr:
            self.skipTest("built without TLS")

    def identity(self, name, common_name):
        """Makes a self-signed certificate and its key; gives the options that name them."""
        key, chain = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-keyout", key, "-out", chain, "-days", "2", "-subj", f"/CN={common_name}",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            check=True, capture_output=True, timeout=LIMIT_S,
        )
        return ["--cert", chain, "--key", key]

    def ask_tls(self, server, identity, path="/"):
        """One request by a client that trusts `identity` alone; gives the response and the server's certificate."""
        trust = ssl.create_default_context(cafile=identity[1])
        with trust.wrap_socket(server.connect(), server_hostname="localhost") as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
            with connection.makefile("rb") as stream:
                response = read_body(stream, read_head(stream))
                self.assertEqual(stream.read(), b"")  # and close_notify: ssl tells an end without it
                return response, connection.getpeercert()["subject"][0][0][1]

    def test_files_over_https(self):
        own = self.identity("own", "first")
        self.write("a.txt", "hello")
        self.write("large", b"0123456789" * 100_000)
        server = self.serve(*own, line=HTTPS)
        self.assertEqual(self.ask_tls(server, own, "/a.txt")[0].body, b"hello")
        self.assertEqual(len(self.ask_tls(server, own, "/large")[0].body), 1_000_000)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(server.error_text(), "")

    def test_a_hangup_replaces_the_certificate_and_a_bad_file_changes_nothing(self):
        own, other = self.identity("own", "first"), self.identity("other", "second")
        self.write("index.html", "x")
        server = self.serve(*own, line=HTTPS)
        self.assertEqual(self.ask_tls(server, own)[1], "first")
        own[1].write_text("nothing")
        server.send_signal(signal.SIGHUP)
        until(lambda: "the old certificate stays" in server.error_text())
        self.assertIn("own.pem", server.error_text())
        shutil.copy(other[1], own[1])
        shutil.copy(other[3], own[3])
        server.send_signal(signal.SIGHUP)

        def is_replaced():
            try:
                return self.ask_tls(server, other)[1] == "second"
            except ssl.SSLError:  # the first one still
                return False

        until(is_replaced)
        self.assertEqual(server.stop(), 0)

    def test_a_handshake_that_fails_is_in_the_log(self):
        own = self.identity("own", "first")
        log = self.folder / "log"
        server = self.serve(*own, "--access-log", log, "--log-format", "json", line=HTTPS)
        server.talk(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        until(lambda: log.read_text())
        self.assertIn("does not speak TLS", json.loads(log.read_text())["handshake"])

    def test_errors(self):
        own = self.identity("own", "first")
        other = self.identity("other", "second")
        for arguments, says, status in (
            (own[:2], "--cert and --key", 2),
            ([*own, "--unix", self.folder / "s"], "--unix", 2),
            ([*own[:2], "--key", "/none"], "/none", 1),
            ([*own[:2], *other[2:]], "other.key", 1),
        ):
            done = run(self.site, "--port", "0", *arguments)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
            self.assertIn(says, done.stderr)
