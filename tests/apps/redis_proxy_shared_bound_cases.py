# SPDX-License-Identifier: BSL-1.0
"""beck-redis-proxy --shared: the bounds of a shared connection, the one behind it, and what must not be on it."""
import contextlib

from redis_proxy import command, connect, fill, rest_of, words_of
from redis_proxy_shared_cases import SharedCase
from server import pass_time, until

STATEFUL = """
ASKING|AUTH x|CLIENT ID|client tracking on|DEBUG SLEEP 0|DISCARD|EXEC|FAILOVER ABORT|Function Kill|FUNCTION STATS
MONITOR|MULTI|PSUBSCRIBE p|PSYNC ? -1|PUNSUBSCRIBE|READONLY|READWRITE|REPLCONF ACK 0|RESET|SCRIPT DEBUG NO
SCRIPT KILL|SELECT 1|SHUTDOWN ABORT|SSUBSCRIBE s|SUBSCRIBE s|SUNSUBSCRIBE|SYNC|UNSUBSCRIBE|UNWATCH|WAIT 0 0|WATCH k
BLMOVE k l LEFT LEFT 0|BLMPOP 0 1 k LEFT|BLPOP k 0|BRPOP k 0|BRPOPLPUSH k l 0|BZMPOP 0 1 k MIN|BZPOPMAX k 0
HELLO 3 AUTH default x|BZPOPMIN k 0|XREAD BLOCK 0 STREAMS k $|xread count 1 block 0 streams k $
""".replace("\n", "|").strip("|").split("|")  # fmt: skip


class SharedBounds(SharedCase):
    def test_more_commands_than_a_connection_takes(self):
        proxy, listening = self.played()
        clients = [self.client(proxy.port) for _ in range(150)]

        def send(count):
            for one in clients:
                one.send(command("PING") * count)

        def read(count):
            for one in clients:
                self.assertEqual([one.read() for _ in range(count)], ["+PONG"] * count)

        def answer(commands):
            size = len(command("PING"))
            left, begun = commands, 0
            while left:
                arrived, begun = divmod(begun + len(server.recv(65536)), size)
                server.sendall(b"+PONG\r\n" * arrived)
                left -= arrived

        send(200)  # behind which each may have 128 commands under way
        server = self.accept(listening)
        answer(150 * 200)
        read(200)
        send(128)
        until(lambda: proxy.metrics()["shared_waiting"] == 16_384)
        server.sendall(b"+PONG\r\n")  # to a command that the server has not read
        until(lambda: proxy.metrics()["shared_waiting"] == 16_383)  # the others are not woken for one place
        server.sendall(b"+PONG\r\n" * 16_383)
        self.receive(server, command("PING") * 16_384)
        answer(150 * 128 - 16_384)
        read(128)
        self.assertEqual(proxy.metrics()["shared_commands_total"], 150 * 328)

    def test_few_bytes_wait_for_a_server_that_does_not_read(self):
        proxy, listening = self.played(self.folder / "server")
        clients = [connect(proxy.port) for _ in range(20)]
        rest = dict.fromkeys(clients, command("SET", "k", bytes(900_000)) * 8)
        for one in clients:
            self.addCleanup(one.close)
            one.setblocking(False)
        for _ in range(100):
            for one in clients:
                with contextlib.suppress(BlockingIOError):
                    rest[one] = rest[one][one.send(rest[one]) :]
            proxy.metrics()  # behind which the proxy has received that
        self.assertLess(proxy.memory(), 96 << 10)
        self.assertLess(proxy.metrics()["shared_waiting"], 20)

    def test_small_replies_wait_in_the_server_too(self):
        proxy = self.proxy("--connections", 1)
        slow, other = self.client(proxy.port), self.client(proxy.port)
        self.assertEqual(other.ask("SET", "k", bytes(15_000)), "+OK")
        slow.send(command("GET", "k") * 8000)
        for i in range(200):
            self.assertEqual(other.ask("ECHO", i), str(i).encode())
        self.assertLess(proxy.memory(), 64 << 10)
        for _ in range(8000):
            self.assertEqual(slow.read(), bytes(15_000))

    def test_large_replies_wait_in_the_server(self):
        proxy = self.proxy("--connections", 1)
        slow, other = self.client(proxy.port), self.client(proxy.port)
        value = bytes(1 << 20)
        self.assertEqual(self.client(self.redis.port).ask("SET", "mib", value), "+OK")
        for _ in range(2):  # the second time it has earned that many commands are under way
            slow.send(command("GET", "mib") * 100)
            for i in range(100):
                self.assertEqual(other.ask("ECHO", i), str(i).encode())
            for _ in range(100):
                self.assertEqual(slow.read(), value)
        self.assertLess(proxy.memory(), 64 << 10)
        self.assertEqual(proxy.metrics()["overflow_total"], 0)


class SharedNext(SharedCase):
    def test_a_new_connection_begins_with_a_new_reply(self):
        proxy, listening = self.played()
        for reply in (b"$5\r\nab", b"*2\r\n:1\r\n", b"+PON", b"+PONG\r"):
            lost, other = self.client(proxy.port), self.client(proxy.port)
            lost.send(command("PING"))
            server = self.accept(listening)
            self.receive(server, command("PING"))
            server.sendall(reply)
            server.close()
            self.assertEqual(rest_of(lost.socket), reply)
            other.send(command("PING"))
            server = self.accept(listening)
            self.receive(server, command("PING"))
            server.sendall(b"+PONG\r\n")
            self.assertEqual(other.read(), "+PONG")
            server.close()
            until(lambda: proxy.metrics()["shared_connections"] == 0)

    def test_a_client_that_is_ended_gets_the_replies_that_wait_for_it(self):
        proxy, listening = self.played()
        client = self.client(proxy.port)
        client.send(command("PING") * 2)
        server = self.accept(listening)
        self.receive(server, command("PING") * 2)
        reply = b"$%d\r\n%b\r\n" % (16 << 20, bytes(16 << 20))  # more than the kernel holds
        server.sendall(reply)
        server.close()
        until(lambda: proxy.metrics()["lost_total"] == 1)
        self.assertTrue(rest_of(client.socket) == reply)

    def test_a_client_that_is_ended_amid_its_commands_sees_an_end_and_no_reset(self):
        proxy, listening = self.played()
        client = self.client(proxy.port)
        client.send(command("ECHO", "first"))
        server = self.accept(listening)
        self.receive(server, command("ECHO", "first"))
        fill(client.socket, command("PING") * 10_000)  # more than may be under way
        server.sendall(b"$5\r\nfirst\r\n")
        self.assertEqual(client.read(), b"first")
        server.close()
        until(lambda: proxy.metrics()["lost_total"] == 1)
        self.assertEqual(words_of(client.socket), b"")

    def test_a_null_array_is_a_whole_reply(self):
        proxy = self.proxy("--connections", 1)
        client, other = self.client(proxy.port), self.client(proxy.port)
        self.assertIsNone(client.ask("LPOP", "none", 1))
        self.assertEqual(other.ask("ECHO", "next"), b"next")

    def test_commands_that_need_a_connection_of_their_own(self):
        proxy = self.proxy("--connections", 1)
        for number, words in enumerate(STATEFUL, 1):
            with self.subTest(words=words):
                asked = command(*words.split())
                self.client(proxy.port).send(asked)
                until(lambda number=number: proxy.metrics()["moved_state_total"] == number)


class SharedIdle(SharedCase):
    def test_replies_are_traffic_too(self):
        def is_kept():
            listening, url = self.listener()
            client = self.client(self.proxy("--connections", 1, "--idle", "300ms", url=url).port)
            client.send(command("PING") * 3)
            server = self.accept(listening)
            try:
                for _ in range(3):
                    pass_time(0.2)
                    server.sendall(b"+PONG\r\n")
                    self.assertEqual(client.read(), "+PONG")
            except (EOFError, ConnectionError):
                return False
            return True

        until(is_kept)  # on a loaded machine the server may be late
