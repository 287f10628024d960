# SPDX-License-Identifier: BSL-1.0
"""Ends, resets and limits at beck-redis-proxy: each side sees what the other one did."""
import os
import resource
import signal
import socket
import threading
import time

from redis_proxy import (
    Client,
    ProxyCase,
    Redis,
    command,
    connect,
    fill,
    fill_backlog,
    reset,
    rest_of,
    talk,
    threads,
    words_of,
)
from server import LIMIT_S, pass_time, until


class Ends(ProxyCase):
    def pair(self, *arguments, path=None):
        """Returns a proxy, a client, and the server's end of the client's connection."""
        listening, url = self.listener(path)
        proxy = self.proxy(*arguments, url=url)
        client = connect(proxy.port)
        self.addCleanup(client.close)
        return proxy, client, self.accept(listening)

    def test_a_side_that_has_finished_still_receives(self):
        _, client, server = self.pair()
        client.sendall(b"last")
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(rest_of(server), b"last")
        server.sendall(b"answer")
        self.assertEqual(client.recv(6), b"answer")
        server.close()
        self.assertEqual(client.recv(1), b"")

    def test_a_reset_of_the_server_reaches_the_client(self):
        proxy, client, server = self.pair()
        client.sendall(b"x")
        self.assertEqual(server.recv(1), b"x")
        reset(server)
        with self.assertRaises(ConnectionResetError):
            client.recv(1)
        self.assertEqual(proxy.metrics()["broken_total"], 1)

    def test_a_reset_of_the_client_reaches_the_server(self):
        proxy, client, server = self.pair()
        client.sendall(b"x")
        self.assertEqual(server.recv(1), b"x")
        reset(client)
        with self.assertRaises(ConnectionResetError):
            server.recv(1)
        until(lambda: proxy.metrics()["clients"] == 0)

    def test_the_last_words_of_a_server_that_closes_at_accept(self):
        for _ in range(20):
            _, client, server = self.pair()
            server.sendall(b"-ERR busy\r\n")
            client.sendall(bytes(100_000))  # which the server does not read
            server.close()
            self.assertEqual(rest_of(client), b"-ERR busy\r\n")

    def test_the_last_words_to_a_client_that_sends_more_end_without_a_reset(self):
        proxy, client, server = self.pair()
        server.sendall(b"-ERR busy\r\n")
        server.shutdown(socket.SHUT_WR)
        fill(client)  # the proxy has not read all of it when the server closes
        server.close()
        until(lambda: proxy.metrics()["broken_total"] == 1)
        self.assertEqual(words_of(client), b"-ERR busy\r\n")

    def test_the_last_words_of_a_server_that_takes_no_more(self):
        proxy, client, server = self.pair(path=self.folder / "server")
        server.shutdown(socket.SHUT_RD)
        client.sendall(b"question")
        proxy.metrics()  # behind which the proxy has failed to write the question
        server.sendall(b"-ERR busy\r\n")
        server.close()
        self.assertEqual(rest_of(client), b"-ERR busy\r\n")
        client.close()
        until(lambda: proxy.metrics()["broken_total"] == 1)

    def test_a_server_that_is_killed_amid_a_pipeline(self):
        redis = Redis()
        self.addCleanup(redis.close)
        proxy = self.proxy(url=redis.urls()[1])
        client = self.client(proxy.port)
        # The kernel has no room for all replies, so that the client cannot have them before the server is killed.
        request = b"".join(command("ECHO", f"{i:0500}") for i in range(100_000))

        def send():
            try:
                client.send(request)
            except OSError:
                pass

        sending = threading.Thread(target=send)
        sending.start()
        replies = 0
        try:
            while True:
                self.assertEqual(int(client.read()), replies)
                replies += 1
                if replies == 1000:
                    os.kill(redis.process.pid, signal.SIGKILL)
        except (EOFError, ConnectionResetError):
            pass
        sending.join()
        self.assertGreaterEqual(replies, 1000)
        self.assertLess(replies, 100_000)
        redis.process.wait()  # until then a connect may succeed, and be reset
        text = talk(proxy.port)
        self.assertRegex(text, rf"^-ERR beck-redis-proxy cannot reach unix://{redis.path}: .+\r\n$")
        self.assertEqual(proxy.metrics()["unreachable_total"], 1)

    def test_a_client_that_does_not_read(self):
        proxy = self.proxy()
        slow, other = self.client(proxy.port), self.client(proxy.port)
        value = bytes(1 << 20)
        self.assertEqual(other.ask("SET", "mib", value), "+OK")
        slow.send(command("GET", "mib") * 100)
        self.assertEqual(other.ask("PING"), "+PONG")
        until(lambda: b"oll=0" not in other.ask("CLIENT", "LIST").split(b"cmd=get")[0].splitlines()[-1])
        self.assertLess(proxy.memory(), 64 << 10)  # the 100 MiB wait in the server
        for _ in range(100):
            self.assertEqual(slow.read(), value)

    def test_a_server_that_does_not_read_for_too_long(self):
        proxy, client, _ = self.pair("--idle", "100ms")
        fill(client)
        rest_of(client)
        until(lambda: proxy.metrics()["idle_total"] == 1)

    def test_a_server_that_does_not_read(self):
        proxy, client, server = self.pair()
        sent = fill(client)
        self.assertLess(proxy.memory(), 64 << 10)
        client.close()
        self.assertEqual(len(rest_of(server)), sent)


    def test_traffic_in_one_direction_keeps_both(self):
        def is_kept():
            _, client, server = self.pair("--idle", "300ms")
            try:
                for sender, receiver in ((client, server), (client, server), (server, client), (server, client)):
                    pass_time(0.2)
                    sender.sendall(b"x")
                    if receiver.recv(1) != b"x":
                        return False
            except ConnectionError:
                return False
            return True

        until(is_kept)  # on a loaded machine a side may be late


class Limits(ProxyCase):
    def test_a_client_above_the_limit(self):
        proxy = self.proxy("--max-clients", 1)
        first = self.client(proxy.port)
        self.assertEqual(first.ask("PING"), "+PONG")
        self.assertEqual(
            talk(proxy.port, command("PING")),
            "-ERR max number of clients reached: beck-redis-proxy --max-clients 1\r\n",
        )
        first.close()
        until(lambda: proxy.metrics()["clients"] == 0)
        self.assertEqual(self.client(proxy.port).ask("PING"), "+PONG")
        self.assertEqual(proxy.metrics()["turned_away_total"], 1)

    def test_a_flood_above_the_limit_leaves_the_others_alone(self):
        proxy = self.proxy("--max-clients", 1)
        first = self.client(proxy.port)
        self.assertEqual(first.ask("PING"), "+PONG")
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(limits[1], 4096), limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        flood = [connect(proxy.port) for _ in range(3000)]
        self.assertEqual(first.ask("PING"), "+PONG")
        until(lambda: proxy.metrics()["turned_away_total"] == 3000)  # at 64 a second they would be too late
        for one in flood:
            self.assertIn(b"--max-clients 1", one.recv(100))
        for one in flood:
            one.close()

    def test_few_descriptors_lower_the_limit(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

        proxy = self.proxy("--max-clients", 37, preexec_fn=few)
        self.assertEqual(
            proxy.error_text(),
            "beck-redis-proxy: --max-clients 37 is lowered to 36: the process may have 200 descriptors, "
            "128 are kept, and a client needs 2\n",
        )
        clients = [self.client(proxy.port) for _ in range(36)]
        self.assertEqual([one.ask("PING") for one in clients], ["+PONG"] * 36)
        self.assertIn("--max-clients 36", self.client(proxy.port).read())

    def test_few_descriptors_are_no_news_without_a_limit_of_clients(self):
        for arguments in ((), ("--max-clients", 36)):
            proxy = self.proxy(*arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)))
            clients = [self.client(proxy.port) for _ in range(36)]
            self.assertEqual([one.ask("PING") for one in clients], ["+PONG"] * 36)
            self.assertIn("--max-clients 36", self.client(proxy.port).read())
            self.assertEqual(proxy.error_text(), "")

    def test_connections_to_the_metrics_take_no_descriptors_of_clients(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

        proxy = self.proxy(preexec_fn=few)
        port = int(proxy.found[3].rsplit(":", 1)[1].split("/")[0])
        slow = []
        for _ in range(300):
            slow.append(connect(port))
            slow[-1].sendall(b"GET /met")
            self.addCleanup(slow[-1].close)
        self.assertEqual(proxy.metrics()["clients"], 0)
        clients = [self.client(proxy.port) for _ in range(36)]
        self.assertEqual([one.ask("PING") for one in clients], ["+PONG"] * 36)

    def test_a_server_that_does_not_answer(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
            port = listening.getsockname()[1]
            fills = fill_backlog(port)
            proxy = self.proxy("--connect", "100ms", url=f"redis://127.0.0.1:{port}")
            text = talk(proxy.port)
            self.assertEqual(text, f"-ERR beck-redis-proxy cannot reach redis://127.0.0.1:{port}: "
                                   "no answer within --connect\r\n")  # fmt: skip
            for one in fills:
                one.close()

    def test_a_server_that_is_lost_is_in_the_log_once_and_its_return_too(self):
        path = self.folder / "server"
        proxy = self.proxy("--unix", self.folder / "socket", url=f"unix://{path}")
        end = time.monotonic() + 1.1  # a second after a line there may be another one
        while time.monotonic() < end:
            self.assertIn("cannot reach", talk(proxy.path))
        listening, _ = self.listener(path)

        def is_back():
            connect(proxy.path).close()
            self.accept(listening)
            return "again" in proxy.error_text()

        until(is_back)
        is_back()
        lines = [line for line in proxy.error_text().splitlines() if str(path) in line]
        self.assertEqual(
            lines,
            [
                f"beck-redis-proxy: cannot reach unix://{path}: No such file or directory",
                f"beck-redis-proxy: unix://{path} is reached again",
            ],
        )

    def test_a_client_without_traffic(self):
        proxy = self.proxy("--idle", "100ms")
        self.assertEqual(rest_of(self.answered(proxy).socket), b"")
        until(lambda: proxy.metrics()["clients"] == 0)
        seen = proxy.metrics()
        self.assertEqual(seen["idle_total"], seen["accepted_total"])

    def test_counters(self):
        proxy = self.proxy()
        client = self.client(proxy.port)
        self.assertEqual(client.ask("PING"), "+PONG")
        seen = proxy.metrics()
        expected = {"clients": 1, "accepted_total": 1, "turned_away_total": 0, "unreachable_total": 0}
        expected |= {"idle_total": 0, "broken_total": 0, "to_server_bytes_total": 14, "to_clients_bytes_total": 7}
        self.assertEqual(seen, expected)


class Stop(ProxyCase):
    def test_one_line_is_printed_and_each_signal_ends_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            proxy = self.start("--max-clients", 100, "--unix", self.folder / "socket")
            self.assertEqual(proxy.line, f"listening: unix://{self.folder}/socket\n")
            proxy.send_signal(number)
            self.assertEqual((proxy.rest_of_output(), proxy.wait(), proxy.error_text()), ("", 0, ""))
            self.assertFalse((self.folder / "socket").exists())

    def test_a_service_manager_is_notified_of_the_start_and_the_end(self):
        for name in (str(self.folder / "manager"), "\0" + str(self.folder)):  # a path, an abstract name
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(name)
                manager.settimeout(LIMIT_S)
                environment = os.environ | {"NOTIFY_SOCKET": name.replace("\0", "@")}
                proxy = self.start("--port", 0, env=environment)
                self.assertEqual(manager.recv(100), b"READY=1")
                proxy.send_signal(signal.SIGTERM)
                self.assertEqual(manager.recv(100), b"STOPPING=1")
                self.assertEqual(proxy.wait(), 0)

    def is_refused(self, address):
        try:
            connect(address).close()
        except OSError:
            return True
        return False

    def test_a_signal_lets_clients_finish_and_a_second_one_cuts_them(self):
        proxy = self.proxy("--drain", "1h")
        one, two = self.client(proxy.port), self.client(proxy.port)
        self.assertEqual((one.ask("PING"), two.ask("PING")), ("+PONG", "+PONG"))
        proxy.send_signal(signal.SIGTERM)
        until(lambda: self.is_refused(proxy.port))
        self.assertEqual(one.ask("PING"), "+PONG")
        one.close()
        self.assertEqual(proxy.stop(), 0)
        self.assertEqual(rest_of(two.socket), b"")

    def test_it_ends_with_its_last_client(self):
        proxy = self.proxy("--drain", "1h")
        client = self.client(proxy.port)
        self.assertEqual(client.ask("PING"), "+PONG")
        proxy.send_signal(signal.SIGTERM)
        client.close()
        self.assertEqual(proxy.wait(), 0)

    def test_a_stop_under_load(self):
        proxy = self.proxy("--drain", "100ms")
        answered = []

        def count(_):
            client = Client(proxy.port)
            try:
                while True:
                    answered.append(client.ask("INCR", "loads"))
            except (EOFError, OSError):
                client.close()

        with threads(count, 8):
            until(lambda: len(answered) > 1000)
            self.assertEqual(proxy.stop(), 0)
        total = int(self.client(self.redis.port).ask("GET", "loads"))
        self.assertEqual(len(set(answered)), len(answered))
        self.assertLessEqual(len(answered), total)
        self.assertLessEqual(total, len(answered) + 8)
