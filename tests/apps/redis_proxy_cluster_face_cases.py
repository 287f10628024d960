# SPDX-License-Identifier: BSL-1.0
"""beck-redis-proxy in front of a cluster: what it says to clients that look for nodes, and commands in a line."""
from redis_groups import Cluster, ask, shared
from redis_proxy import ProxyCase, command, connect, rest_of


def shape(value):
    """A reply without its values: so those of servers are compared that have other nodes."""
    return [shape(one) for one in value] if isinstance(value, list) else type(value)


class ClusterFace(ProxyCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = shared(Cluster)

    def in_front(self, *arguments):
        return self.proxy(*arguments, url=self.cluster.url())

    def test_the_proxy_is_the_only_node(self):
        proxy = self.in_front()
        client, node = self.client(proxy.port), self.client(self.cluster.nodes[0])
        name = client.ask("CLUSTER", "MYID").decode()
        self.assertRegex(name, "^[0-9a-f]{40}$")
        for what in ("SLOTS", "shards"):
            ours, theirs = client.ask("CLUSTER", what), node.ask("CLUSTER", what)
            self.assertEqual(shape(ours), shape(theirs[:1]))
        place = [b"127.0.0.1", proxy.port, name.encode(), []]
        self.assertEqual(client.ask("CLUSTER", "SLOTS"), [[0, 16383, place]])
        found = client.ask("CLUSTER", "NODES").decode()
        self.assertEqual(
            found, f"{name} 127.0.0.1:{proxy.port}@{proxy.port} myself,master - 0 0 1 connected 0-16383\n")
        self.assertEqual(len(found.split()), len(node.ask("CLUSTER", "NODES").decode().splitlines()[0].split()))
        front = b"cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
        self.assertTrue(client.ask("CLUSTER", "INFO").startswith(front))
        for key in ("a", "{t}b", ""):
            self.assertEqual(client.ask("CLUSTER", "KEYSLOT", key), node.ask("CLUSTER", "KEYSLOT", key))
        self.assertEqual([client.ask("READONLY"), client.ask("READWRITE")], ["+OK", "+OK"])
        self.assertIn("each node would answer for itself", client.ask("CLUSTER", "COUNTKEYSINSLOT", 1))
        self.assertIn("wrong number", client.ask("READONLY", "x"))
        self.assertEqual(self.client(self.in_front().port).ask("CLUSTER", "MYID") == name.encode(), False)

    def test_the_maps_are_those_of_the_version(self):
        with connect(self.in_front().port) as client:
            client.sendall(b"HELLO 3\r\nCLUSTER SLOTS\r\nCLUSTER INFO\r\nQUIT\r\n")
            text = rest_of(client)
        self.assertIn(b"\r\n%0\r\n", text)
        self.assertIn(b"\r\ntxt:cluster_state:ok\r\n", text)

    def test_commands_in_lines_run_in_their_order_beside_others(self):
        proxy = self.in_front()
        client = self.client(proxy.port)
        client.send(b"PING\r\nSET 'l 1' \"a\\r\\nb\"\r\n" + command("GET", "l 1"))
        client.send(b"\r\nget 'l 1'\nEXISTS 'l 1' none\r\n")
        self.assertEqual([client.read() for _ in range(5)], ["+PONG", "+OK", b"a\r\nb", b"a\r\nb", 1])
        client.send(b"".join(b"SET line%d %d\r\n" % (i, i) for i in range(1000)) + command("ECHO", "end"))
        self.assertEqual([client.read() for _ in range(1001)], ["+OK"] * 1000 + [b"end"])
        self.assertEqual(client.ask("GET", "line999"), b"999")
        client.send(b"MULTI\r\nSET line1 x\r\nEXEC\r\n")
        self.assertEqual([client.read()[:4] for _ in range(3)], ["-ERR"] * 3)
        self.assertEqual(client.ask("GET", "line1"), b"1")

    def test_a_page_that_makes_a_browser_send_commands_is_not_served(self):
        proxy = self.in_front()
        for front in (b"POST / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n", b"GET / HTTP/1.1\r\nhost: a\r\n"):
            with connect(proxy.port) as client:
                client.sendall(front + b"\r\nSET evil 1\r\n")
                self.assertIn(b"-ERR Protocol error: a request of HTTP\r\n", rest_of(client))
        for port in self.cluster.nodes:
            self.assertNotEqual(ask(port, "GET", "evil"), b"1")
