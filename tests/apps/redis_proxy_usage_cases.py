# SPDX-License-Identifier: BSL-1.0
"""The command line of beck-redis-proxy, and the places where it cannot listen."""
import ctypes
import os
import socket
import subprocess
import unittest

import redis_proxy
from redis_proxy import ProxyCase, talk
from server import LIMIT_S, without_streams


def run(*arguments):
    return subprocess.run(
        [str(redis_proxy.program), *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT_S
    )


def shut_down_listener(pid):
    """Shuts down the listening socket of a process that was started here, as one that shares it."""
    target = os.pidfd_open(pid)
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                continue
            fd = ctypes.CDLL(None, use_errno=True).syscall(438, target, int(name), 0)  # pidfd_getfd(2)
            if fd < 0:
                raise unittest.SkipTest(f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
            with socket.socket(fileno=fd) as shared:
                if shared.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    shared.shutdown(socket.SHUT_RDWR)
                    return
        raise AssertionError("no listening socket")
    finally:
        os.close(target)


class Listener(ProxyCase):
    def test_a_listener_that_is_shut_down_ends_the_proxy_with_a_message(self):
        command = [str(redis_proxy.program), "--port", "0", self.redis.urls()[0]]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as proxy:
            try:
                self.assertIn("listening: ", proxy.stdout.readline())
                shut_down_listener(proxy.pid)
                _, says = proxy.communicate(timeout=LIMIT_S)
            finally:
                proxy.kill()
        self.assertEqual(proxy.returncode, 1)
        self.assertIn("accept: Invalid argument", says)


class StandardStreams(ProxyCase):
    def test_closed_and_full_standard_streams_end_nothing(self):
        path = self.folder / "socket"
        for streams in (">/dev/full 2>/dev/full", "<&- >&- 2>&-"):
            command = [redis_proxy.program, "--unix", path, self.redis.urls()[0]]
            with self.subTest(streams=streams), without_streams(streams, command, path) as started:
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(LIMIT_S)
                    connection.connect(str(path))
                    connection.sendall(b"PING\r\n")
                    self.assertEqual(connection.recv(100), b"+PONG\r\n")
            self.assertEqual(started.returncode, 0)

    def test_the_exit_status_of_what_nobody_reads(self):
        for streams, words, status in ((">/dev/full", ["--help"], 1), (">&-", ["--version"], 1),
                                       ("2>/dev/full", ["http://h"], 2), ("2>&-", ["--port", "x"], 2),
                                       ("2>/dev/full", ["--unix", "/nowhere/socket"], 1)):
            words = ["bash", "-c", f'"$@" {streams}', "bash", str(redis_proxy.program), *words]
            with self.subTest(words=words):
                done = subprocess.run(words, capture_output=True, timeout=LIMIT_S)
                self.assertEqual(done.returncode, status, done.stderr)


class Usage(ProxyCase):
    def fails(self, *arguments, says, status=2):
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, done.stderr)
        return done.stderr

    def test_values_that_are_wrong(self):
        long_path = "/" + "x" * 107
        for arguments, says in (
            (["redis://h:0"], ["the port 0", "1 to 65535"]),
            (["redis://h:65536"], ["the port 65536", "65535"]),
            (["redis://h:12x"], "the port 12x"),
            (["redis://:1"], "the host has 0 bytes"),
            (["redis://" + "h" * 254], ["254 bytes", "253"]),
            (["redis://[::1"], "no ]"),
            (["redis://[::1]x"], "x stands behind"),
            (["redis://h/3"], "database"),
            (["unix:///a?db=3"], "database"),
            (["unix://a"], "path from the root"),
            (["unix://" + long_path], ["108 bytes", "107"]),
            (["unix:///"], "a folder"),
            (["unix:///a\nb"], "byte 0x0a"),
            (["redis://a b"], "byte 0x20"),
            (["redis://h#1"], "byte 0x23"),
            (["rediss://h"], "TLS"),
            (["http://h"], "http"),
            (["h:6379"], "not a URL"),
            (["--unix", long_path], ["108 bytes", "107"]),
            (["--unix", ""], "0 bytes"),
            (["--host", "nowhere"], "--host nowhere"),
            (["--port", "65536"], ["--port", "65536 not in range ", "0 ", " 65535"]),
            (["--port", "x"], ["--port", "x not in range ", "0 ", " 65535"]),
            (["--unix", "a\nb"], ["--unix", "byte 0x0a"]),
            (["--max-clients", "0"], "--max-clients"),
            (["--max-clients", "1000001"], ["1000001", "1000000"]),
            (["--idle", "25h"], ["--idle 25h", "24h"]),
            (["--connect", "fast"], "--connect fast"),
            (["--connect", "0s"], ["--connect 0s", "1ms"]),
            (["--drain", "-1s"], "--drain -1s"),
            (["--metrics", "70000"], ["--metrics 70000", "65535"]),
            (["--metrics", ""], "--metrics"),
            (["--metrics", "nowhere:1"], "--metrics nowhere"),
            (["--nope"], "--nope"),
            (["redis://a", "redis://b"], "redis://b"),
        ):
            with self.subTest(arguments=arguments):
                self.fails(*arguments, says=says)

    def test_a_password_is_refused_and_not_printed(self):
        self.assertNotIn("secret", self.fails("redis://app:secret@h", says="password"))

    def test_help_and_version(self):
        self.assertIn("--max-clients", run("--help").stdout)
        self.assertRegex(run("--version").stdout, r"^beck-redis-proxy \d+\.\d+")

    def test_a_port_that_is_taken(self):
        listening, _ = self.listener()
        port = listening.getsockname()[1]
        self.fails("--port", port, says=f"tcp://127.0.0.1:{port}", status=1)
        self.fails("--port", 0, "--metrics", port, says="in use", status=1)

    def test_a_unix_socket_that_is_taken_and_one_that_is_dead(self):
        path = self.folder / "socket"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen()
            self.fails("--unix", path, says=f"unix://{path}", status=1)
        proxy = self.start("--drain", "0s", "--unix", path, self.redis.urls()[0])  # the file is still there
        self.assertEqual(self.client(path).ask("PING"), "+PONG")
        path.unlink()
        path.write_text("another program's")
        self.assertEqual(proxy.stop(), 0)
        self.assertEqual(path.read_text(), "another program's")
        self.fails("--unix", path, says=f"unix://{path}", status=1)

    def test_a_server_by_name_and_by_ipv6(self):
        port = self.redis.port
        for url in (f"redis://localhost:{port}", f"redis://localhost:{port}/"):
            self.assertEqual(self.client(self.proxy(url=url).port).ask("PING"), "+PONG")
        text = talk(self.proxy(url="redis://nowhere.invalid").port)
        self.assertRegex(text, r"^-ERR beck-redis-proxy cannot reach redis://nowhere.invalid: .+\r\n$")
        self.assertIn("cannot reach redis://[::1]:1:", talk(self.proxy(url="redis://[::1]:1").port))
