# SPDX-License-Identifier: BSL-1.0
"""All of Redis through beck-redis-proxy: pipelines, large values, commands that block, channels, transactions."""
import hashlib
import random
import threading

from redis_proxy import ProxyCase, command
from server import until


class Relay(ProxyCase):
    def ways(self):
        """Clients over TCP and a UNIX socket, each to a server on TCP and on a UNIX socket."""
        for number, url in enumerate(self.redis.urls()):
            proxy = self.start("--port", 0, "--unix", self.folder / f"socket{number}", url)
            for address in proxy.addresses:
                with self.subTest(url=url, address=address):
                    yield self.client(address)

    def test_a_pipeline_of_10000_commands(self):
        request = b"".join(command("ECHO", i) for i in range(10_000))
        expected = b"".join(b"$%d\r\n%d\r\n" % (len(str(i)), i) for i in range(10_000))
        for client in self.ways():
            sending = threading.Thread(target=client.send, args=(request,))
            sending.start()
            self.assertEqual(client.stream.read(len(expected)), expected)
            sending.join()

    def test_a_value_of_64_mib(self):
        value = random.Random(1).randbytes(64 << 20)
        digest = hashlib.sha1(value).digest()
        client = self.client(self.proxy().port)
        self.assertEqual(client.ask("SET", "large", value), "+OK")
        self.assertEqual(hashlib.sha1(client.ask("GET", "large")).digest(), digest)
        self.assertEqual(client.ask("DEL", "large"), 1)

    def test_a_command_that_blocks(self):
        proxy = self.proxy()
        waiting, other = self.client(proxy.port), self.client(proxy.port)
        number = waiting.ask("CLIENT", "ID")
        waiting.send(command("BLPOP", "jobs", 0))
        until(lambda: b"cmd=blpop" in other.ask("CLIENT", "LIST", "ID", number))
        self.assertEqual(other.ask("LPUSH", "jobs", "one"), 1)
        self.assertEqual(waiting.read(), [b"jobs", b"one"])

    def test_channels(self):
        proxy = self.proxy()
        subscriber, other = self.client(proxy.port), self.client(proxy.port)
        self.assertEqual(subscriber.ask("SUBSCRIBE", "news"), [b"subscribe", b"news", 1])
        self.assertEqual([other.ask("PUBLISH", "news", i) for i in range(3)], [1, 1, 1])
        self.assertEqual([subscriber.read()[2] for _ in range(3)], [b"0", b"1", b"2"])

    def test_a_transaction_and_the_state_of_a_connection(self):
        proxy = self.proxy()
        one, two = self.client(proxy.port), self.client(proxy.port)
        self.assertEqual(one.ask("WATCH", "n"), "+OK")
        self.assertEqual(two.ask("SET", "n", 1), "+OK")
        self.assertEqual(one.ask("MULTI"), "+OK")
        self.assertEqual(one.ask("INCR", "n"), "+QUEUED")
        self.assertIsNone(one.ask("EXEC"))
        self.assertEqual(one.ask("SELECT", 1), "+OK")
        self.assertIsNone(one.ask("GET", "n"))
        self.assertEqual(two.ask("GET", "n"), b"1")

    def test_commands_in_a_line_and_monitor(self):
        proxy = self.proxy()
        monitor, other = self.client(proxy.port), self.client(proxy.port)
        monitor.send(b"MONITOR\r\n")
        self.assertEqual(monitor.read(), "+OK")
        other.send(b"PING hello\r\n")
        self.assertEqual(other.read(), b"hello")
        self.assertIn('"PING" "hello"', monitor.read())

    def test_many_clients_at_once(self):
        proxy = self.start("--unix", self.folder / "socket", self.redis.urls()[1])
        clients = [self.client(proxy.path) for _ in range(500)]
        for number, one in enumerate(clients):
            one.send(command("ECHO", number))
        self.assertEqual([int(one.read()) for one in clients], list(range(500)))
