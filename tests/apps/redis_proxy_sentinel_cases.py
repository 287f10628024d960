# SPDX-License-Identifier: BSL-1.0
"""beck-redis-proxy in front of the primary that sentinels name: found, switched, out of reach."""
from redis_groups import Sentinels, ask, free_ports, shared
from redis_proxy import ProxyCase, rest_of, talk
from redis_proxy_usage_cases import run
from server import until


class SentinelTarget(ProxyCase):
    """The order of the cases does not matter: each asks where the primary is."""

    @classmethod
    def setUpClass(cls):
        cls.group = shared(Sentinels)

    def in_front(self, *arguments, query=""):
        return self.proxy(*arguments, url=self.group.url(query))

    def primary(self):
        until(self.group.primary)
        return self.group.primary()

    def switch(self):
        """Lets the sentinels make another server the primary. Returns its port."""
        before = self.primary()
        until(lambda: ask(self.group.sentinels[0], "SENTINEL", "FAILOVER", self.group.NAME) == "+OK")
        until(lambda: self.primary() != before)
        return self.primary()

    def ask_until(self, proxy, expected, *arguments):
        """Asks over new connections until this is the reply: a switch takes its time."""
        until(lambda: ask(proxy.port, *arguments) == expected)

    def test_connections_go_to_the_primary(self):
        for arguments in ((), ("--shared",)):
            with self.subTest(arguments=arguments):
                proxy = self.in_front(*arguments)
                client = self.client(proxy.port)
                self.assertEqual(client.ask("SET", "where", str(arguments)), "+OK")
                self.assertEqual(ask(self.primary(), "GET", "where"), str(arguments).encode())
                self.assertIn(f"the primary of {self.group.url()} is 127.0.0.1:{self.primary()}\n", proxy.error_text())
                seen = proxy.metrics()
                self.assertEqual((seen["primary_switches_total"], seen["left_connections_total"]), (0, 0))

    def test_a_switch_ends_connections_and_the_next_ones_go_to_the_new_primary(self):
        proxy = self.in_front()
        waiting, idle = self.client(proxy.port), self.client(proxy.port)
        self.assertEqual(waiting.ask("LPUSH", "other", "x"), waiting.ask("LLEN", "other"))
        self.assertEqual(idle.ask("PING"), "+PONG")
        subscriber = self.client(proxy.port)
        self.assertEqual(subscriber.ask("SUBSCRIBE", "c"), [b"subscribe", b"c", 1])
        now = self.switch()
        for one in (waiting, idle, subscriber):
            self.assertEqual(rest_of(one.socket), b"")
            one.close()
        self.ask_until(proxy, "+OK", "SET", "k", "behind")
        self.assertEqual(ask(now, "GET", "k"), b"behind")
        seen = proxy.metrics()
        self.assertEqual((seen["primary_switches_total"], seen["left_connections_total"]), (1, 3))
        self.assertEqual((seen["broken_total"], seen["idle_total"]), (0, 0))
        self.assertTrue(proxy.error_text().endswith(f"is 127.0.0.1:{now}\n"), proxy.error_text())

    def test_a_switch_keeps_the_clients_of_shared_connections(self):
        proxy = self.in_front("--shared", "--connections", 2)
        one, two, own = (self.client(proxy.port) for _ in range(3))
        self.assertEqual([one.ask("SET", "k", "before"), two.ask("SET", "k", "before")], ["+OK"] * 2)
        self.assertEqual(own.ask("MULTI"), "+OK")
        now = self.switch()
        self.assertEqual(rest_of(own.socket), b"")  # it had a connection of its own
        until(lambda: proxy.metrics()["left_connections_total"] == 3)
        for client in (one, two):
            until(lambda client=client: client.ask("SET", "k", "behind") == "+OK")
        self.assertEqual(ask(now, "GET", "k"), b"behind")
        seen = proxy.metrics()
        self.assertEqual((seen["primary_switches_total"], seen["lost_total"]), (1, 0))

    def test_a_primary_that_is_killed(self):
        own, shared = self.in_front(), self.in_front("--shared")
        client = self.client(shared.port)
        self.assertEqual(client.ask("SET", "k", "before"), "+OK")
        number = self.group.ports.index(self.primary())
        self.group.kill(number)
        self.assertIn("-ERR beck-redis-proxy cannot reach redis+sentinel://", talk(own.port))
        until(lambda: self.primary() != self.group.ports[number])
        self.ask_until(own, "+OK", "SET", "k", "own")
        until(lambda: client.ask("SET", "k", "shared") == "+OK")
        self.assertEqual(ask(self.primary(), "GET", "k"), b"shared")
        self.group.start(number)  # with the role of a primary, until the sentinels change that
        until(lambda: ask(self.group.ports[number], "PING") == "+PONG")
        self.assertEqual(ask(own.port, "GET", "k"), b"shared")
        self.assertEqual(client.ask("GET", "k"), b"shared")


class SentinelsOutOfReach(ProxyCase):
    @classmethod
    def setUpClass(cls):
        """Needs no server."""

    def test_a_client_gets_the_words_of_each_sentinel_and_no_password(self):
        one, two = free_ports(2)
        url = f"redis+sentinel://127.0.0.1:{one},127.0.0.1:{two}/main"
        for arguments in ((), ("--shared",)):
            with self.subTest(arguments=arguments):
                proxy = self.proxy(*arguments, url=f"{url}?sentinel_login=app:secret")
                client = self.client(proxy.port)
                text = client.ask("PING")
                self.assertTrue(text.startswith(f"-ERR beck-redis-proxy cannot reach {url}: "), text)
                for port in (one, two):
                    self.assertIn(f"127.0.0.1:{port}: Connection refused", text)
                self.assertIn("cannot reach", proxy.error_text())
                self.assertNotIn("secret", text + proxy.error_text())

    def test_urls_that_are_wrong(self):
        many = ",".join(["h"] * 33)
        for url, says in (
            ("redis+sentinel://h", "no name"),
            ("redis+sentinel://h/", "no name"),
            ("redis+sentinel:///main", "no host"),
            ("redis+sentinel://h:x/main", "the port"),
            ("redis+sentinel://h/main/1", "database"),
            ("redis+sentinel://h/main?db=1", "query"),
            (f"redis+sentinel://{many}/main", "more than 32"),
            ("redis+sentinel://app:secret@h/main", "password"),
            ("rediss+sentinel://h/main", "TLS"),
        ):
            with self.subTest(url=url):
                done = run(url)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(says, done.stderr)
                self.assertNotIn("secret", done.stderr)


