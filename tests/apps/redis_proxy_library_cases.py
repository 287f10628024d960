# SPDX-License-Identifier: BSL-1.0
"""beck-redis-proxy --shared: what libraries of Redis say on each connection, with their defaults, and still share."""
from redis_proxy import Client, command, rest_of
from redis_proxy_shared_cases import SharedCase

HELLO_3 = command("HELLO", 3)


class SharedLibraries(SharedCase):
    def answered(self, proxy, request, end):
        """Sends a request; returns the bytes of the replies up to those of `end`, an ECHO behind it."""
        client = self.client(proxy if isinstance(proxy, int) else proxy.port)
        client.send(request + command("ECHO", end))
        last, received = b"$%d\r\n%b\r\n" % (len(end), end.encode()), b""
        while not received.endswith(last):
            received += client.socket.recv(65536)
        return received[: -len(last)]

    def moved(self, proxy):
        seen = proxy.metrics()
        return sum(seen[f"moved_{reason}_total"] for reason in ("state", "unknown", "bytes"))

    def test_a_client_says_who_it_is_and_shares(self):
        proxy = self.proxy("--connections", 1)
        client, other = self.client(proxy.port), self.client(proxy.port)
        for words, expected in (
            ("CLIENT SETINFO LIB-NAME redis-py", "+OK"),
            ("client setinfo lib-ver 8.1.0", "+OK"),
            ("CLIENT SETINFO LIB-WHAT x", "-ERR Unrecognized option 'LIB-WHAT'"),
            ("CLIENT GETNAME", None),
            ("CLIENT SETNAME me", "+OK"),
            ("CLIENT GETNAME", b"me"),
            ("CLIENT NO-EVICT on", "+OK"),
            ("CLIENT NO-EVICT maybe", "-ERR syntax error"),
            ("CLIENT CAPA redirect", "-ERR unknown subcommand 'CAPA'. Try CLIENT HELP."),
            ("CLIENT MAINT_NOTIFICATIONS ON", "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP."),
            ("SELECT 0", "+OK"),
            ("HELLO 4", "-NOPROTO unsupported protocol version"),
            ("HELLO 2 SETNAME", "-ERR Syntax error in HELLO"),
            ("HELLO 2 SETNAME you", ...),
            ("CLIENT GETNAME", b"you"),
            ("SET who you", "+OK"),
            ("GET who", b"you"),
        ):
            with self.subTest(words=words):
                got = client.ask(*words.split())
                self.assertTrue(got == expected or (expected is ... and b"server" in got), got)
        self.assertIn("special characters", client.ask("CLIENT", "SETNAME", "a b"))
        self.assertIsNone(other.ask("CLIENT", "GETNAME"))
        self.assertEqual(self.moved(proxy), 0)
        self.assertNotIn(b"name=me", self.client(self.redis.port).ask("CLIENT", "LIST"))

    def test_replies_are_those_of_the_server_in_both_versions(self):
        direct = self.client(self.redis.port)
        for words in (("DEL", "h", "z"), ("HSET", "h", "f", "v\r\n"), ("ZADD", "z", "0.1", "m")):
            direct.ask(*words)
        script = "redis.setresp(3) return {true, 1.5, {map = {a = {double = 2.25}}}, {big_number = '12'}, {set = {1}}}"
        asked = b"".join(
            command(*words)
            for words in (
                *(("HGETALL", "h"), ("ZRANGE", "z", 0, -1, "WITHSCORES"), ("ZSCORE", "z", "m"), ("GET", "none")),
                *(("EVAL", script, 0), ("XREAD", "STREAMS", "none", 0), ("GET",), ("LPOP", "none", 2)),
            )
        )
        proxy = self.proxy("--connections", 1)
        for request in (asked, HELLO_3 + asked, asked + HELLO_3 + asked + command("HELLO", 2) + asked):
            expected = self.answered(self.redis.port, request, "end")
            got = self.answered(proxy, request, "end")
            without_id = [self.without_ids(one) for one in (got, expected)]
            self.assertEqual(*without_id)
        self.assertEqual(self.moved(proxy), 0)

    def without_ids(self, replies):
        lines = replies.split(b"\r\n")
        return [line for at, line in enumerate(lines) if at == 0 or lines[at - 1] != b"id"]

    def test_a_client_that_moves_takes_along_what_it_has_said(self):
        proxy = self.proxy("--connections", 1)
        said = command("HELLO", 3, "SETNAME", "me") + command("CLIENT", "SETINFO", "LIB-NAME", "lib")
        got = self.answered(proxy, said + command("MULTI") + command("HGETALL", "none") + command("EXEC"), "end")
        self.assertTrue(got.endswith(b"+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n%0\r\n"), got)
        self.assertEqual(self.moved(proxy), 1)
        got = self.answered(proxy, said + command("CLIENT", "INFO"), "end")
        self.assertIn(b" name=me ", got)
        self.assertIn(b" resp=3", got)
        got = self.answered(proxy, command("CLIENT", "SETNAME", "old") + command("CLIENT", "INFO"), "end")
        self.assertIn(b" name=old ", got)
        self.assertNotIn(b" resp=3", got)

    def test_a_server_that_refuses_hello_is_spoken_to_in_the_version_before(self):
        proxy, listening = self.played()
        client = self.client(proxy.port)
        refusal = b"-ERR unknown command 'HELLO'\r\n"
        for _ in range(2):
            client.send(HELLO_3 + command("GET", "k"))
            server = self.accept(listening)
            self.receive(server, HELLO_3)  # of the connection, before any command of a client
            server.sendall(refusal)
            self.assertEqual(client.read(), refusal.decode().strip())
            if client.socket.fileno() >= 0 and not hasattr(self, "usual"):
                self.usual = self.accept(listening)
            self.receive(self.usual, command("GET", "k"))
            self.usual.sendall(b"*1\r\n$-1\r\n")
            self.assertEqual(client.read(), [None])
        self.assertEqual(self.moved(proxy), 0)

    def test_quit_ends_the_client_behind_its_replies(self):
        proxy = self.proxy("--connections", 1)
        client = self.client(proxy.port)
        client.send(command("SET", "q", 1) + command("GET", "q") + command("QUIT") + command("INCR", "q"))
        self.assertEqual(rest_of(client.socket), b"+OK\r\n$1\r\n1\r\n+OK\r\n")
        self.assertEqual(self.client(proxy.port).ask("GET", "q"), b"1")
        self.assertEqual(self.moved(proxy), 0)

    def test_bytes_that_say_nothing_are_skipped_at_every_split(self):
        proxy = self.proxy("--connections", 1)
        client = Client(proxy.port)
        self.addCleanup(client.close)
        request = b"\r\n*0\r\n\n" + command("ECHO", "a") + b"*-1\r\n\r\n" + command("ECHO", "b") + b"\r\n"
        for at in range(len(request) + 1):
            client.send(request[:at])
            client.send(request[at:])
            self.assertEqual([client.read(), client.read()], [b"a", b"b"])
        self.assertEqual(self.moved(proxy), 0)
