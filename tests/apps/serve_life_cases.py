# SPDX-License-Identifier: BSL-1.0
"""The life of beck-serve: its line, its end by signals, its access log, its errors."""
import errno
import json
import os
import re
import signal
import socket
import subprocess
import threading

import server as serving
from server import LIMIT_S, ServeCase, read_body, read_head, run, until, without_streams


class Life(ServeCase):
    def test_one_line_is_printed_and_both_signals_end_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.serve()
            server.send_signal(number)
            self.assertEqual(server.rest_of_output(), "")
            self.assertEqual(server.wait(), 0)
            self.assertEqual(server.error_text(), "")

    def test_closed_and_full_standard_streams_end_nothing(self):
        self.write("a", "file a")
        path = self.folder / "socket"
        for streams in (">/dev/full 2>/dev/full", "<&- >&- 2>&-"):
            command = [serving.program, self.site, "--unix", path, "--access-log", "-"]
            with self.subTest(streams=streams), without_streams(streams, command, path) as started:
                with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as stream:
                    connection.connect(str(path))
                    connection.sendall(b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
                    self.assertEqual(read_body(stream, read_head(stream)).body, b"file a")
            self.assertEqual(started.returncode, 0)

    def test_the_exit_status_of_what_nobody_reads(self):
        for streams, words, status in ((">/dev/full", ["--help"], 1), (">&-", ["--version"], 1),
                                       ("2>/dev/full", [], 2), ("2>&-", [], 2),
                                       ("2>&-", [self.site, "--key", "k"], 2),
                                       ("2>/dev/full", [self.site, "--port", "0", "--access-log", "/nowhere/log"], 1)):
            words = ["bash", "-c", f'"$@" {streams}', "bash", serving.program, *words]
            with self.subTest(words=words):
                done = subprocess.run([*map(str, words)], capture_output=True, timeout=LIMIT_S)
                self.assertEqual(done.returncode, status, done.stderr)

    def begin_download(self, server):
        """Begins to receive a file that does not fit into the buffers of a connection."""
        connection = server.connect()
        self.addCleanup(connection.close)
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        stream = connection.makefile("rb")
        self.addCleanup(stream.close)
        self.assertEqual(read_head(stream).status, 200)
        return stream

    def is_closed(self, server):
        try:
            server.connect().close()
        except OSError as e:
            return e.errno == errno.ECONNREFUSED
        return False

    def test_a_signal_lets_downloads_finish(self):
        self.write("large", bytes(30_000_000))
        server = self.serve("--workers", 2)
        stream = self.begin_download(server)
        server.send_signal(signal.SIGTERM)
        until(lambda: self.is_closed(server))
        self.assertEqual(len(stream.read(30_000_000)), 30_000_000)
        self.assertEqual(server.wait(), 0)

    def test_a_second_signal_cuts_them(self):
        self.write("large", bytes(30_000_000))
        server = self.serve("--workers", 2)
        stream = self.begin_download(server)
        server.send_signal(signal.SIGTERM)
        until(lambda: self.is_closed(server))
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 0)
        try:
            self.assertLess(len(stream.read()), 30_000_000)
        except ConnectionResetError:
            pass

    def test_the_time_for_the_end_is_a_setting(self):
        self.write("large", bytes(30_000_000))
        server = self.serve("--drain", "100ms")
        self.begin_download(server)
        self.assertEqual(server.stop(), 0)


class Sockets(ServeCase):
    # What systemd does: descriptor 3 is the socket, and the variables name this process.
    WRAPPER = ("bash", "-c", 'export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@" 3<&"$0"')

    def setUp(self):
        super().setUp()
        self.write("a", "text")

    def test_a_unix_socket(self):
        path = self.folder / "socket"
        log = self.folder / "log"
        for _ in range(2):  # the second one finds no file, or replaces it
            server = self.serve("--unix", path, "--access-log", log, "--workers", 2, line="unix:(.*)")
            self.assertEqual(server.address, str(path))
            self.assertEqual(server.ask("/a").body, b"text")
            self.assertEqual(server.stop(), 0)
            self.assertFalse(path.exists())
        self.assertRegex(log.read_text(), r"^unix: - - ")

    def test_a_unix_socket_that_is_taken(self):
        path = self.folder / "socket"
        server = self.serve("--unix", path, line="unix:(.*)")
        done = run(self.site, "--unix", path)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(str(path), done.stderr)
        self.assertEqual(server.ask("/a").body, b"text")

    def test_sockets_that_systemd_passes(self):
        for family, at, line in (
            (socket.AF_INET, ("127.0.0.1", 0), r"http://(127\.0\.0\.1):(\d+)/"),
            (socket.AF_UNIX, str(self.folder / "passed"), "unix:()"),
        ):
            with socket.socket(family) as listener:
                listener.bind(at)
                listener.listen()
                wrapper = (*self.WRAPPER, str(listener.fileno()))
                server = self.serve("--workers", 2, wrapper=wrapper, line=line, pass_fds=[listener.fileno()])
                if family == socket.AF_UNIX:
                    server.address = at
                else:
                    self.assertEqual(server.address, listener.getsockname())
                self.assertEqual(server.ask("/a").body, b"text")
                self.assertEqual(server.stop(), 0)

    def test_passed_sockets_stay_open_between_two_servers(self):
        path = str(self.folder / "kept")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            wrapper = (*self.WRAPPER, str(listener.fileno()))
            for _ in range(2):
                # It comes while nobody serves, and waits: what socket activation is for.
                with socket.socket(socket.AF_UNIX) as early:
                    early.settimeout(LIMIT_S)
                    early.connect(path)
                    early.sendall(b"GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    server = self.serve("--workers", 2, wrapper=wrapper, line="unix:()", pass_fds=[listener.fileno()])
                    server.address = path
                    received = b"".join(iter(lambda: early.recv(4096), b""))
                    self.assertTrue(received.endswith(b"\r\n\r\ntext"), received)
                self.assertEqual(server.ask("/a").body, b"text")
                self.assertEqual(server.stop(), 0)
                self.assertEqual(server.error_text(), "")

    def test_proxies_are_believed_if_they_are_named(self):
        log = self.folder / "log"
        fields = {"X_Forwarded_For": "192.0.2.7"}
        server = self.serve("--access-log", log)
        server.ask("/a", **fields)
        self.assertEqual(server.stop(), 0)
        server = self.serve("--access-log", log, "--proxy", "127.0.0.0/8 ::1")
        server.ask("/a", **fields)
        self.assertEqual(server.stop(), 0)
        clients = [line.split()[0] for line in log.read_text().splitlines()]
        self.assertEqual(clients, ["127.0.0.1", "192.0.2.7"])
        server = self.serve("--access-log", log, "--log-format", "json", "--proxy", "127.0.0.1")
        server.ask("/a", **fields)
        self.assertEqual(server.stop(), 0)
        entry = json.loads(log.read_text().splitlines()[-1])
        self.assertEqual(entry["client"], "192.0.2.7")
        self.assertRegex(entry["peer"], r"^127\.0\.0\.1:[1-9]\d*$")


    def test_metrics(self):
        (self.site / "metrics").write_text("a file")
        server = self.serve("--metrics", "/metrics")
        server.ask("/none")
        response = server.ask("/metrics")
        self.assertEqual((response.status, response["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertRegex(response.body, rb"(?m)^beck_http_exchanges_total 1$")
        plain = self.serve()
        for target in ("/a", "/metrics/", "/none", "/"):
            for method in ("GET", "PUT", "OPTIONS"):
                got, expected = server.ask(target, method), plain.ask(target, method)
                for part in ("status", "body"):
                    self.assertEqual(getattr(got, part), getattr(expected, part), (target, method))
                self.assertEqual(got["Allow"], expected["Allow"], (target, method))
        self.assertEqual(server.stop(), 0)


class AccessLog(ServeCase):
    def setUp(self):
        super().setUp()
        self.write("a", "text")
        self.log = self.folder / "log"

    def lines(self, count):
        until(lambda: self.log.exists() and self.log.read_bytes().count(b"\n") >= count)
        lines = self.log.read_bytes().decode("ascii").splitlines()
        self.assertEqual(len(lines), count)
        return lines

    def test_combined(self):
        server = self.serve("--access-log", self.log)
        server.ask("/a?b=c", Referer="http://x/", User_Agent="me")
        self.lines(1)  # a line is written when its handler has ended, which may be after the response
        server.talk(b"GET / HTTP/1.1\r\n\r\n")
        first, refused = self.lines(2)
        self.assertRegex(
            first,
            r'^127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] "GET /a\?b=c HTTP/1\.1" 200 4 '
            r'"http://x/" "me"$',
        )
        self.assertRegex(refused, r'^\S+ - - \[[^]]+\] "-" 400 \d+ "-" "-"$')

    def test_json(self):
        server = self.serve("--access-log", self.log, "--log-format", "json")
        server.ask("/a", User_Agent="me")
        self.lines(1)
        server.ask("/none", "PUT", b"12345", Content_Length=5)
        self.lines(2)
        server.talk(b"GET / HTTP/1.1\r\n\r\n")
        first, second, refused = map(json.loads, self.lines(3))
        self.assertEqual((first["method"], first["target"], first["status"]), ("GET", "/a", 200))
        self.assertEqual(first["client"], "127.0.0.1")
        self.assertRegex(first["peer"], r"^127\.0\.0\.1:[1-9]\d*$")
        self.assertEqual((first["sent_bytes"], first["user_agent"]), (4, "me"))
        self.assertRegex(first["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertGreaterEqual(first["seconds"], 0)
        self.assertEqual(second["status"], 405)
        self.assertEqual((refused["status"], refused["method"]), (400, ""))
        self.assertIn("Host", refused["refusal"])

    def test_a_client_cannot_forge_a_line_or_a_text(self):
        for form in ("combined", "json"):
            self.log = self.folder / form
            server = self.serve("--access-log", self.log, "--log-format", form)
            agent = 'a" 200 1 "x\\" \t \x80\xff\xe2\x80\xa8\x7f'[:-1]
            server.ask('/a"b%0a%22', User_Agent=agent, Referer='"},{"')
            (line,) = self.lines(1)
            self.assertRegex(line, r"^[ -~]*$")
            if form == "json":
                entry = json.loads(line)
                self.assertEqual(entry["user_agent"], agent)
                self.assertEqual(entry["referer"], '"},{"')
            else:
                self.assertEqual(line.count('"'), 6)
                self.assertIn(r"a\x22 200 1 \x22x\x5c\x22", line)

    def test_a_hangup_opens_the_log_again(self):
        server = self.serve("--access-log", self.log)
        server.ask("/a")
        self.lines(1)
        self.log.rename(self.folder / "old")
        server.ask("/a")
        until(lambda: (self.folder / "old").read_bytes().count(b"\n") == 2)
        server.send_signal(signal.SIGHUP)
        until(self.log.exists)
        server.ask("/a")
        self.lines(1)
        self.assertEqual(server.stop(), 0)

    def test_standard_output(self):
        server = self.serve("--access-log", "-")
        server.ask("/a")
        server.send_signal(signal.SIGTERM)
        self.assertRegex(server.rest_of_output(), r'^[^\n]*"GET /a HTTP/1\.1" 200 4[^\n]*\n$')
        self.assertEqual(server.wait(), 0)

    def test_a_full_disk_does_not_stop_the_server(self):
        server = self.serve("--access-log", "/dev/full")
        for _ in range(3):
            self.assertEqual(server.ask("/a").body, b"text")
        self.assertEqual(server.stop(), 0)
        self.assertIn("3 lines of the access log were lost", server.error_text())
        self.assertIn("ENOSPC", server.error_text())

    def test_a_log_that_takes_nothing_does_not_stop_the_server(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        server = self.serve("--access-log", pipe, "--workers", 1)
        requests = f"GET /a HTTP/1.1\r\nHost: a\r\nUser-Agent: {'x' * 8000}\r\n\r\n".encode() * 600
        last = b"GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        self.assertEqual(server.talk(requests + last).count(b"HTTP/1.1 200"), 601)
        received = []
        os.set_blocking(reader, True)  # now it takes everything: what has waited, and no more
        taking = threading.Thread(target=lambda: received.extend(iter(lambda: os.read(reader, 65536), b"")))
        taking.start()
        self.assertEqual(server.stop(), 0)
        taking.join()
        lost = int(re.search(r"(\d+) lines of the access log were lost", server.error_text())[1])
        self.assertGreater(lost, 300)
        self.assertEqual(lost + b"".join(received).count(b"\n"), 601)

    def test_a_reader_that_has_gone_does_not_stop_the_server(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        server = self.serve("--access-log", pipe)
        os.close(reader)
        self.assertEqual(server.ask("/a").body, b"text")
        self.assertEqual(server.stop(), 0)
        self.assertIn("EPIPE", server.error_text())


class Errors(ServeCase):
    def fails(self, *arguments, says, status):
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, done.stderr)
        self.assertLessEqual(done.stderr.count("\n"), 2)

    def test_the_folder(self):
        self.fails(self.folder / "none", says=["none", "ENOENT"], status=1)
        self.write("a", "a")
        self.fails(self.site / "a", says=["site/a", "ENOTDIR"], status=1)
        self.fails("", says="DIR", status=2)

    def test_a_port_that_is_taken(self):
        server = self.serve("--workers", 2)
        port = server.address[1]
        for workers in (1, 2):
            self.fails(
                self.site, "--port", port, "--workers", workers, says=f"cannot listen on 127.0.0.1:{port}", status=1
            )

    def test_the_path_of_metrics(self):
        for path in ("metrics", "/{a}", "/a?b"):
            self.fails(self.site, "--metrics", path, says=f"--metrics {path}", status=2)

    def test_limits(self):
        known = ["--limit nope=1", "head_bytes", "connections", "idle_timeout"]
        self.fails(self.site, "--limit", "nope=1", says=known, status=2)
        self.fails(self.site, "--limit", "idle_timeout", says=["--limit idle_timeout", "10s"], status=2)
        no_time = "idle_timeout=ten"
        self.fails(self.site, "--limit", no_time, says=["--limit " + no_time, "1ms", "86400s"], status=2)
        self.fails(self.site, "--limit", "fields=129", says=["--limit fields=129", "from 1 to 128"], status=2)
        self.fails(self.site, "--limit", "head_bytes=64K", says=["--limit head_bytes=64K", "65535"], status=2)
        self.fails(self.site, "--limit", "body_bytes=-1", says="--limit body_bytes=-1", status=2)
        big = "body_bytes=99999999999999999999"
        self.fails(self.site, "--limit", big, says="--limit " + big, status=2)

    def test_other_values(self):
        self.fails(self.site, "--host", "example.com", says="--host example.com", status=2)
        self.fails(self.site, "--proxy", "nobody", says=["--proxy nobody", "no"], status=2)
        self.fails(self.site, "--port", "65536", says="65536", status=2)
        self.fails(self.site, "--log-format", "xml", says="xml", status=2)
        self.fails(self.site, "--precompressed", "deflate", says="deflate", status=2)
        self.fails(self.site, "--index", "a/b", says="a/b", status=2)
        self.fails(self.site, "--type", "md", says="--type md", status=2)
        self.fails(self.site, "--drain", "soon", says="--drain soon", status=2)
        self.fails(self.site, "--cache-control", "a\nb", says="control character", status=2)
        self.fails(self.site, "--access-log", "/none/log", says=["/none/log", "ENOENT"], status=1)
        self.fails(self.site, "--nope", says="--nope", status=2)

    def test_help_names_every_limit_with_its_default(self):
        text = run("--help").stdout
        names = "connections handshake_timeout head_timeout head_bytes unread_body_bytes linger_bytes"
        for name in names.split():
            self.assertRegex(text, rf"(?m)^  {name} +\S+$")
        self.assertIn("75s", text)
        self.assertRegex(run("--version").stdout, r"^beck-serve \d+\.\d+")
