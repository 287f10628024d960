# SPDX-License-Identifier: BSL-1.0
"""beck-redis-proxy --shared: the commands of many clients over a few connections, and clients that leave them."""
import os
import resource
import signal
import socket
from pathlib import Path

import redis_proxy_loss_cases
import redis_proxy_relay_cases
from redis_proxy import Client, ProxyCase, Redis, command, connect, fill_backlog, reset, rest_of, talk, threads
from server import until


BAD_REPLIES = (
    *(b"?\r\n", b"$x\r\n", b"$\r\n", b"$-\r\n", b"$-2\r\n", b"*-11\r\n", b"$--1\r\n", b"$1-\r\n", b"*1\n"),
    *(b"+PON\rG\r\n", b"$1\r\nx\n", b"$1\r\nx\rx", b"$1152921504606846977\r\n", b">1\r\n+x\r\n", b"+PONG\r\n:1\r\n"),
    b"*1152921504606846976\r\n" * 2,
)


class SharedCase(ProxyCase):
    def start(self, *arguments, **how):
        return super().start("--shared", *arguments, **how)

    def played(self, path=None):
        """Returns a proxy with one shared connection, and the socket of a server that the test plays."""
        listening, url = self.listener(path)
        return self.proxy("--connections", 1, url=url), listening

    def receive(self, server, data):
        """Reads these bytes, and no others, at the server that the test plays."""
        received = b""
        while len(received) < len(data):
            received += server.recv(len(data) - len(received))
        self.assertEqual(received, data)


class SharedRelay(SharedCase, redis_proxy_relay_cases.Relay):
    """All that works over connections of one's own."""


class SharedStop(SharedCase, redis_proxy_loss_cases.Stop):
    """Signals."""


class SharedOrder(SharedCase):
    def test_clients_with_pipelines_get_their_own_replies_over_two_connections(self):
        proxy = self.proxy("--connections", 2)
        clients = [self.client(proxy.port) for _ in range(100)]
        for part in range(4):
            for number, one in enumerate(clients):
                one.send(b"".join(command("ECHO", f"{number}.{part}.{i}") for i in range(200)))
            for number, one in enumerate(clients):
                for i in range(200):
                    self.assertEqual(one.read(), f"{number}.{part}.{i}".encode())
        seen = proxy.metrics()
        self.assertEqual((seen["shared_commands_total"], seen["shared_waiting"]), (80_000, 0))
        self.assertEqual((seen["shared_connections"], seen["clients"]), (2, 100))
        listed = self.client(self.redis.port).ask("CLIENT", "LIST").splitlines()
        self.assertEqual(sum(b"cmd=echo" in line for line in listed), 2)

    def test_every_split_of_a_request(self):
        proxy = self.proxy("--connections", 1)
        other = self.client(proxy.port)
        request = command("SET", "s", "\r\n$1\r\n") + command("GET", "s") + command("MULTI")
        request += command("GET", "s") + command("EXEC")
        for at in range(len(request) + 1):
            client = Client(proxy.port)
            client.send(request[:at])
            self.assertEqual(other.ask("ECHO", at), str(at).encode())
            client.send(request[at:])
            replies = [client.read() for _ in range(5)]
            self.assertEqual(replies, ["+OK", b"\r\n$1\r\n", "+OK", "+QUEUED", [b"\r\n$1\r\n"]])
            client.close()

    def test_every_split_of_a_reply(self):
        proxy, listening = self.played()
        client, other = self.client(proxy.port), self.client(proxy.port)
        asked, reply = command("LRANGE", "l", 0, 1), b"*5\r\n$2\r\n\r\n\r\n*2\r\n:-1\r\n$-1\r\n+x\r\n*0\r\n$0\r\n\r\n"
        client.send(asked)
        server = self.accept(listening)
        self.receive(server, asked)
        for at in range(len(reply) + 1):
            other.send(command("PING"))
            self.receive(server, command("PING"))
            server.sendall(reply[:at])
            proxy.metrics()  # behind which the proxy has received that
            server.sendall(reply[at:] + b"+PONG\r\n")
            self.assertEqual(client.read(), [b"\r\n", [-1, None], "+x", [], b""])
            self.assertEqual(other.read(), "+PONG")
            client.send(asked)
            self.receive(server, asked)

    def test_a_reply_is_as_long_and_as_deep_as_the_server_makes_it(self):
        proxy = self.proxy("--connections", 1)
        client, other = self.client(proxy.port), self.client(proxy.port)
        script = "local t = {} for _ = 1, 200 do t = {t} end return t"
        deep = client.ask("EVAL", script, 0)
        for _ in range(200):
            (deep,) = deep
        self.assertEqual(deep, [])
        self.assertEqual(client.ask("EVAL", "return {ok = string.rep('x', 1000000)}", 0), "+" + "x" * 1_000_000)
        self.assertEqual(other.ask("PING"), "+PONG")
        self.assertEqual(proxy.metrics()["lost_total"], 0)

    def test_a_client_that_has_finished_gets_its_replies(self):
        client = connect(self.proxy().port)
        self.addCleanup(client.close)
        client.sendall(command("ECHO", "one") + command("ECHO", "two"))
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(rest_of(client), b"$3\r\none\r\n$3\r\ntwo\r\n")

    def test_the_reply_to_a_client_that_is_gone_reaches_no_other(self):
        proxy, listening = self.played()
        gone, other = connect(proxy.port), self.client(proxy.port)
        gone.sendall(command("ECHO", "gone"))
        server = self.accept(listening)
        self.receive(server, command("ECHO", "gone"))
        other.send(command("ECHO", "other"))
        self.receive(server, command("ECHO", "other"))
        reset(gone)
        until(lambda: proxy.metrics()["clients"] == 1)
        server.sendall(b"$4\r\ngone\r\n$5\r\nother\r\n")
        self.assertEqual(other.read(), b"other")


class SharedMoves(SharedCase):
    def test_a_client_moves_behind_its_earlier_replies(self):
        for first, replies in (
            (command("MULTI") + command("INCR", "n") + command("EXEC"), ["+OK", "+QUEUED", [2]]),
            (command("SUBSCRIBE", "c") + command("UNSUBSCRIBE"), [[b"subscribe", b"c", 1], [b"unsubscribe", b"c", 0]]),
            (command("BLPOP", "list", 0), [[b"list", b"x"]]),
            (command("SELECT", 1) + command("SELECT", 0), ["+OK", "+OK"]),
            (command("CLIENT", "TRACKING", "OFF"), ["+OK"]),
            (command("HELLO", 2, "AUTH", "default", "x") + command("CLIENT", "GETNAME"), [..., None]),
        ):
            with self.subTest(first=first):
                proxy = self.proxy("--connections", 1)
                client, other = self.client(proxy.port), self.client(proxy.port)
                before = command("DEL", "list") + command("SET", "n", 1) + command("RPUSH", "list", "x")
                client.send(before + first + command("ECHO", "last"))
                client.read()
                self.assertEqual([client.read(), client.read()], ["+OK", 1])
                for expected in replies:
                    got = client.read()
                    self.assertTrue(expected is ... or got == expected, got)
                self.assertEqual(client.read(), b"last")
                self.assertEqual(other.ask("ECHO", "shared"), b"shared")
                seen = proxy.metrics()
                self.assertEqual((seen["moved_state_total"], seen["shared_commands_total"]), (1, 4))

    def test_a_command_that_blocks_holds_up_no_other_wherever_its_option_is(self):
        proxy = self.proxy("--connections", 1)
        waiter, other = self.client(proxy.port), self.client(proxy.port)
        self.assertEqual(other.ask("XGROUP", "CREATE", "stream", "g", "$", "MKSTREAM"), "+OK")
        waiter.send(command("XREADGROUP", "COUNT", 1, "BLOCK", 0, "GROUP", "g", "c", "STREAMS", "stream", ">"))
        until(lambda: b"cmd=xreadgroup" in self.client(self.redis.port).ask("CLIENT", "LIST"))
        identity = other.ask("XADD", "stream", "*", "k", "v")
        self.assertEqual(waiter.read(), [[b"stream", [[identity, [b"k", b"v"]]]]])

    def test_the_reasons_are_counted(self):
        proxy = self.proxy()
        line, unknown, large = (self.client(proxy.port) for _ in range(3))
        line.send(b"PING\r\n")
        self.assertEqual(line.read(), "+PONG")
        self.assertIn("unknown command", unknown.ask("NONE.SUCH"))
        self.assertEqual(large.ask("SET", "large", bytes(1 << 20)), "+OK")
        seen = proxy.metrics()
        moved = [seen[f"moved_{reason}_total"] for reason in ("state", "unknown", "bytes")]
        self.assertEqual((moved, seen["shared_commands_total"]), ([0, 1, 2], 0))

    def test_garbage_gets_the_error_of_the_server(self):
        proxy = self.proxy()
        for garbage in (b"*1\r\n$-5\r\n", b"*1\r\n:1\r\n", b"*x\r\n", b"*3000000000\r\n"):
            with self.subTest(garbage=garbage):
                expected = talk(self.redis.port, command("PING") + garbage)
                self.assertEqual(talk(proxy.port, command("PING") + garbage), expected)
                self.assertTrue(expected.startswith("+PONG\r\n"))

    def test_a_script_is_killed_by_a_client_of_the_same_connection(self):
        proxy = self.proxy("--connections", 1)
        busy, other = self.client(proxy.port), self.client(proxy.port)
        direct = self.client(self.redis.port)
        self.assertEqual(direct.ask("CONFIG", "SET", "busy-reply-threshold", 1), "+OK")
        busy.send(command("EVAL", "while true do end", 0))
        until(lambda: str(direct.ask("PING")).startswith("-BUSY"))
        # It reaches the server, which refuses it as it runs no function.
        self.assertTrue(str(self.client(proxy.port).ask("FUNCTION", "STATS")).startswith("-BUSY"))
        self.assertEqual(other.ask("SCRIPT", "KILL"), "+OK")
        self.assertIn("killed by user", busy.read())


class SharedLimits(SharedCase):
    def test_a_client_for_which_too_much_waits_is_ended(self):
        proxy = self.proxy("--connections", 1)
        slow, other = self.client(proxy.port), self.client(proxy.port)
        self.assertEqual(self.client(self.redis.port).ask("SETRANGE", "large", (100 << 20) - 1, "x"), 100 << 20)
        slow.send(command("GET", "large"))
        until(lambda: proxy.metrics()["overflow_total"] == 1)
        self.assertEqual(other.ask("ECHO", "other"), b"other")
        self.assertLess(len(rest_of(slow.socket)), 100 << 20)

    def test_a_client_without_traffic(self):
        proxy = self.proxy("--idle", "100ms")
        self.assertEqual(rest_of(self.answered(proxy).socket), b"")
        until(lambda: proxy.metrics()["clients"] == 0)
        seen = proxy.metrics()
        self.assertEqual(seen["idle_total"], seen["accepted_total"])

    def test_a_client_whose_replies_do_not_come_is_ended_by_idle(self):
        proxy, listening = self.played()
        proxy.close()
        proxy = self.proxy("--connections", 1, "--idle", "500ms", url=f"redis://127.0.0.1:{listening.getsockname()[1]}")
        full = self.client(proxy.port)
        full.send(command("PING") * 100)  # more than may be under way
        moved = self.client(proxy.port)
        moved.send(command("PING") + command("MULTI"))
        finished = self.client(proxy.port)
        finished.send(command("PING"))
        finished.socket.shutdown(socket.SHUT_WR)
        server = self.accept(listening)
        for one in (full, finished, moved):
            self.assertEqual(rest_of(one.socket), b"")
        self.assertEqual(proxy.metrics()["idle_total"], 3)
        self.assertTrue(server.recv(14).startswith(b"*1"))

    def test_a_client_that_is_gone_leaves_no_bytes_behind(self):
        proxy, _ = self.played()
        for number in range(1, 101):
            gone = connect(proxy.port)
            gone.sendall(command("PING") + command("SET", "k", bytes(900_000))[:-2])
            until(lambda number=number: proxy.metrics()["shared_waiting"] == number)
            reset(gone)
            until(lambda: proxy.metrics()["clients"] == 0)
        self.assertLess(proxy.memory(), 64 << 10)

    def test_shared_connections_have_descriptors_of_their_own(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

        proxy = self.proxy("--connections", 64, preexec_fn=few)
        self.assertEqual(proxy.error_text(), "")
        clients = [self.client(proxy.port) for _ in range(4)]
        self.assertEqual([one.ask("PING") for one in clients], ["+PONG"] * 4)
        self.assertIn("--max-clients 4", self.client(proxy.port).read())


class SharedLoss(SharedCase):
    def test_a_server_that_is_killed_amid_pipelines(self):
        redis = Redis()
        self.addCleanup(redis.close)
        proxy = self.proxy("--connections", 2, url=redis.urls()[1])
        counts, wrong = [0] * 20, []

        def run(number):
            client = Client(proxy.port)
            try:
                for turn in range(100_000):
                    client.send(b"".join(command("ECHO", f"{number}.{turn}.{i}") for i in range(16)))
                    for i in range(16):
                        reply = client.read()
                        if str(reply).startswith("-ERR beck-redis-proxy"):
                            return
                        if reply != f"{number}.{turn}.{i}".encode():
                            wrong.append(reply)
                    counts[number] += 1
            except (EOFError, ConnectionError):
                pass
            finally:
                client.close()

        with threads(run, 20):
            until(lambda: min(counts) >= 20)
            os.kill(redis.process.pid, signal.SIGKILL)
        self.assertEqual(wrong, [])
        self.assertLess(max(counts), 100_000)

    def test_commands_that_may_have_run_end_their_client_and_others_do_not(self):
        proxy, listening = self.played(self.folder / "server")
        one, two = self.client(proxy.port), self.client(proxy.port)
        large = command("SET", "k", bytes(900_000))  # more than a UNIX socket holds
        one.send(command("INCR", "n") + command("INCR", "n") + large)
        server = self.accept(listening)
        self.receive(server, command("INCR", "n") * 2)
        until(lambda: proxy.metrics()["shared_waiting"] == 3)
        two.send(command("INCR", "n"))
        until(lambda: proxy.metrics()["shared_waiting"] == 4)
        server.sendall(b":1\r\n")
        self.assertEqual(one.read(), 1)
        server.close()
        self.assertEqual(rest_of(one.socket), b"")
        text = two.read()
        self.assertEqual(text, f"-ERR beck-redis-proxy lost its connection to unix://{self.folder}/server; "
                               "the command was not sent")  # fmt: skip
        two.send(command("INCR", "n"))
        server = self.accept(listening)
        self.receive(server, command("INCR", "n"))
        server.sendall(b":2\r\n")
        self.assertEqual(two.read(), 2)
        seen = proxy.metrics()
        self.assertEqual((seen["lost_total"], seen["not_sent_total"], seen["shared_waiting"]), (1, 1, 0))

    def test_a_server_that_cannot_be_reached_and_comes_back(self):
        path = self.folder / "server"
        proxy, listening = self.played(path)
        listening.close()
        path.unlink()
        client = self.client(proxy.port)
        text = client.ask("GET", "k")
        self.assertTrue(text.startswith(f"-ERR beck-redis-proxy cannot reach unix://{path}: "), text)
        listening, _ = self.listener(path)
        client.send(command("GET", "k"))
        self.accept(listening).sendall(b"$-1\r\n")
        self.assertIsNone(client.read())
        reason = f"cannot reach unix://{path}: No such file or directory"
        # The connection stays, so that there may be no further one to log the return.
        lines = [f"beck-redis-proxy: {text}\n" for text in (reason, f"unix://{path} is reached again")]
        self.assertEqual(proxy.error_text(), "".join(lines))

    def test_a_host_that_is_gone_is_found_by_probes(self):
        proxy, listening = self.played()
        client = self.client(proxy.port)
        client.send(command("PING"))
        self.receive(self.accept(listening), command("PING"))
        place = ":%04X" % listening.getsockname()[1]

        def timers():
            rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
            return [row[5][:2] for row in rows if row[2].endswith(place) and row[3] == "01"]

        until(lambda: timers() == ["02"])  # of SO_KEEPALIVE, once the bytes of the command are acknowledged

    def test_a_stop_ends_an_attempt_to_connect(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
            port = listening.getsockname()[1]
            fills = fill_backlog(port)
            proxy = self.proxy("--connections", 1, "--connect", "1h", url=f"redis://127.0.0.1:{port}")
            client = connect(proxy.port)
            client.sendall(command("PING"))
            until(lambda: proxy.metrics()["shared_waiting"] == 1)
            reset(client)
            until(lambda: proxy.metrics()["clients"] == 0)
            proxy.send_signal(signal.SIGTERM)
            self.assertEqual(proxy.wait(), 0)
            for one in fills:
                one.close()

    def test_bytes_that_are_no_reply_end_the_clients_that_wait(self):
        for bad in BAD_REPLIES:
            with self.subTest(bad=bad):
                proxy, listening = self.played()
                client = self.client(proxy.port)
                client.send(command("PING"))
                server = self.accept(listening)
                self.receive(server, command("PING"))
                server.sendall(bad)
                self.assertEqual(rest_of(server), b"")
                if bad.startswith(b"+PONG"):  # a reply to nothing behind that
                    self.assertEqual(client.read(), "+PONG")
                else:
                    self.assertEqual(rest_of(client.socket), b"")
