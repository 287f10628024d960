# SPDX-License-Identifier: BSL-1.0
"""PROXY INFO of beck-redis-proxy: the counters of the page for Prometheus, over the clients' own protocol."""
import re

from redis_groups import Cluster, Sentinels, shared
from redis_proxy import Client, ProxyCase, command, connect, rest_of


def sections(text):
    """Returns the counters by title and name."""
    found, title = {}, None
    for line in text.decode().split("\r\n"):
        if line.startswith("# "):
            title = line[2:]
            found[title] = {}
        elif line:
            name, _, value = line.partition(":")
            found[title][name] = value
    return found


class Info(ProxyCase):
    def check(self, proxy, titles, url):
        """Checks the text against the page; returns it."""
        client = self.client(proxy.port)
        text = client.ask("PROXY", "INFO")
        client.close()
        found = sections(text)
        self.assertEqual(list(found), ["Proxy", *titles])
        self.assertEqual(found.pop("Proxy")["server"], url)
        shown = {name: int(value) for section in found.values() for name, value in section.items()}
        page = proxy.metrics()
        self.assertEqual(set(shown), set(page))
        changing = {"clients"}  # this client is on one of both only
        self.assertEqual([name for name in page if name not in changing and shown[name] > page[name]], [])
        return text

    def test_of_single_connections(self):
        proxy = self.proxy()
        self.assertEqual(self.client(proxy.port).ask("PING"), "+PONG")
        text = self.check(proxy, ["Clients"], self.redis.urls()[0])
        self.assertIn(b"\r\n\r\n# Clients\r\nclients:2\r\naccepted_total:2\r\n", text)
        self.assertRegex(text, rb"^# Proxy\r\nversion:\d+\.\d+")

    def test_of_shared_connections(self):
        proxy = self.proxy("--shared")
        self.assertEqual(self.client(proxy.port).ask("PING"), "+PONG")
        text = self.check(proxy, ["Clients", "Shared"], self.redis.urls()[0])
        self.assertIn(b"\r\nshared_commands_total:1\r\n", text)

    def test_of_sentinels_and_of_a_cluster(self):
        group, cluster = shared(Sentinels), shared(Cluster)
        text = self.check(self.proxy(url=group.url()), ["Clients", "Sentinels"], group.url())
        self.assertIn(b"\r\nprimary_switches_total:0\r\n", text)
        proxy = self.proxy(url=cluster.url("app:secret@"))
        text = self.check(proxy, ["Clients", "Cluster"], cluster.url())
        self.assertIn(b"\r\ncluster_refused_total:0\r\n", text)
        client = self.client(proxy.port)
        client.send(command("HELLO", 3) + command("PROXY", "INFO"))
        head = b""
        while not (found := re.search(rb"\*0\r\n=(\d+)\r\ntxt:# Proxy\r\n", head)):
            head += client.stream.readline()
        rest = client.stream.read(int(found[1]) - len(b"txt:# Proxy\r\n") + 2)
        self.assertTrue(rest.startswith(b"version:") and rest.endswith(b"\r\n\r\n"), rest)

    def test_before_and_between_the_commands_of_a_connection_of_its_own(self):
        for url in self.redis.urls():
            client = self.client(self.proxy(url=url).port)
            client.send(command("PROXY", "INFO") + b"proxy info\r\n" + command("Proxy", "Info") + command("ECHO", "x"))
            for _ in range(3):
                self.assertTrue(client.read().startswith(b"# Proxy\r\n"))
            self.assertEqual(client.read(), b"x")
            # Behind another command all bytes are those of the server.
            self.assertIn("unknown command", client.ask("PROXY", "INFO"))

    def test_every_split_of_it(self):
        proxy, shared = self.proxy(), self.proxy("--shared")
        request = command("PROXY", "INFO") + command("ECHO", "x")
        for one in (proxy, shared):
            for at in range(len(request) + 1):
                client = Client(one.port)
                client.send(request[:at])
                one.metrics()  # behind which the proxy has received that
                client.send(request[at:])
                self.assertTrue(client.read().startswith(b"# Proxy\r\n"))
                self.assertEqual(client.read(), b"x")
                client.close()

    def test_bytes_that_begin_as_it_does_reach_the_server(self):
        proxy = self.proxy()
        for words in (("PROXY",), ("PROXY", "NONE"), ("PROXY", "INFO", "x"), ("PROXZ", "INFO"), ("ECHO", "INFO")):
            with self.subTest(words=words):
                direct = self.client(self.redis.port).ask(*words)
                self.assertEqual(self.client(proxy.port).ask(*words), direct)
        client = connect(proxy.port)
        self.addCleanup(client.close)
        client.sendall(b"proxy inf")  # and no more
        client.shutdown(1)
        self.assertEqual(rest_of(client), b"")

    def test_amid_a_pipeline_over_shared_connections_it_waits_for_the_replies_before(self):
        proxy = self.proxy("--shared", "--connections", 1)
        client = self.client(proxy.port)
        client.send((command("ECHO", "x") * 20 + command("PROXY", "INFO")) * 5 + command("ECHO", "last"))
        for turn in range(1, 6):
            self.assertEqual([client.read() for _ in range(20)], [b"x"] * 20)
            seen = sections(client.read())["Shared"]
            self.assertEqual((seen["shared_commands_total"], seen["shared_waiting"]), (str(20 * turn), "0"))
        self.assertEqual(client.read(), b"last")

    def test_an_idle_client_behind_it_is_ended(self):
        proxy = self.proxy("--idle", "100ms")
        client = self.client(proxy.port)
        client.send(command("PROXY", "INFO"))
        self.assertTrue(client.read().startswith(b"# Proxy\r\n"))
        self.assertEqual(rest_of(client.socket), b"")
