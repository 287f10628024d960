# SPDX-License-Identifier: BSL-1.0
"""beck-redis-proxy in front of a cluster of three nodes: ordinary clients, refused commands, slots that move."""
import re
import signal
import socket
import threading

from redis_groups import Cluster, ask, free_ports, shared
from redis_proxy import Client, ProxyCase, command, connect, fill, rest_of, threads, words_of
from redis_proxy_usage_cases import run
from server import until

# A command, and what of the refusal says why. Names of containers have their second word.
REFUSED = (
    *((words, "a connection of its own") for words in ("MULTI", "EXEC", "DISCARD", "WATCH k", "UNWATCH", "ASKING")),
    *((words, "a connection of its own") for words in ("SUBSCRIBE c", "PSUBSCRIBE c", "SSUBSCRIBE c", "UNSUBSCRIBE")),
    *((words, "a connection of its own") for words in ("MONITOR", "SYNC", "PSYNC ? -1")),
    *((f"CLIENT {words}", "a connection of its own") for words in ("LIST", "REPLY OFF", "TRACKING ON")),
    *((words, "may block") for words in ("BLPOP k 0", "BRPOPLPUSH k k 0", "XREAD BLOCK 0 STREAMS k $", "WAIT 1 0")),
    *((words, "so its keys are unknown") for words in ("NONE.SUCH k", "FT.NONE k", "PROXY NONE")),
    *((words, "it has no key") for words in ("KEYS *", "SCAN 0", "DBSIZE", "FLUSHALL", "RANDOMKEY", "ROLE")),
    *((words, "it has no key") for words in ("CONFIG GET a", "SCRIPT FLUSH", "CLUSTER RESET", "EVAL x 0", "ACL LIST")),
    *((words, "its keys are in several slots") for words in ("SUNION a b", "RENAME a b", "MSETNX a 1 b 2")),
    ("EVAL x 2 a b", "its keys are in several slots"),
    ("SELECT 1", "the database 0 only"),
    ("AUTH secret", "the proxy logs in"),
    ("HELLO 3 AUTH app secret", "the proxy logs in"),
)


class ClusterTarget(ProxyCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = shared(Cluster)
        cls.keys = cls.cluster.keys()

    def in_front(self, *arguments, login="", **how):
        return self.proxy(*arguments, url=self.cluster.url(login), **how)

    def test_ordinary_commands_reach_the_nodes_of_their_keys(self):
        proxy = self.in_front()
        client = self.client(proxy.port)
        for number, key in enumerate(self.keys):
            self.assertEqual(client.ask("SET", key, number), "+OK")
            self.assertEqual(ask(self.cluster.nodes[number], "GET", key), str(number).encode())
        self.assertEqual(client.ask("MGET", *self.keys, "none"), [b"0", b"1", b"2", None])
        self.assertEqual(client.ask("EXISTS", *self.keys, self.keys[0]), 4)
        self.assertEqual(client.ask("MSET", *(word for key in self.keys for word in (key, "x"))), "+OK")
        self.assertEqual(client.ask("SADD", "{t}a", "x"), 1)
        self.assertEqual(client.ask("SUNION", "{t}a", "{t}b"), [b"x"])
        self.assertEqual(client.ask("EVAL", "return {KEYS[1], false, {err = 'E'}}", 1, "k"), [b"k", None, "-E"])
        self.assertEqual(client.ask("DEL", *self.keys, "{t}a"), 4)
        seen = proxy.metrics()
        self.assertEqual((seen["cluster_commands_total"], seen["cluster_divided_total"]), (10, 4))
        self.assertEqual((seen["cluster_nodes"], seen["cluster_refused_total"]), (3, 0))
        self.assertEqual((seen["cluster_moved_total"], seen["cluster_lost_total"]), (0, 0))

    def test_pipelines_of_many_clients_are_answered_in_their_order(self):
        proxy = self.in_front()
        clients = [self.client(proxy.port) for _ in range(20)]
        for number, one in enumerate(clients):
            request = b""
            for i in range(300):
                key = f"{number}.{i % 7}"
                request += command("SET", key, i) + command("GET", key) + command("ECHO", f"{number}.{i}")
            one.send(request)
        for number, one in enumerate(clients):
            for i in range(300):
                self.assertEqual(one.read(), "+OK")
                self.assertEqual(one.read(), str(i).encode())
                self.assertEqual(one.read(), f"{number}.{i}".encode())
        seen = proxy.metrics()
        self.assertEqual((seen["cluster_commands_total"], seen["cluster_answered_total"]), (12_000, 6_000))

    def test_bytes_are_those_of_the_node_in_both_versions_of_the_protocol(self):
        key = self.keys[1]
        made = (
            *(("DEL", key), ("HSET", key, "f", "v\r\n"), ("HGETALL", key), ("INCR", key), ("DEL", key)),
            *(("ZADD", key, "0.1", "m"), ("ZRANGE", key, 0, -1, "WITHSCORES"), ("ZSCORE", key, "m"), ("ZPOPMIN", key)),
            *(("ZRANK", key, "none"), ("LPOP", key, 2), ("LPOS", key, "none"), ("SMEMBERS", key), ("GET", key)),
            *(("XADD", key, "1-1", "f", "v"), ("XREAD", "STREAMS", key, "0"), ("XREAD", "STREAMS", key, "9")),
            *(("DEL", key), ("SET", key, "x" * 100_000), ("GET", key), ("OBJECT", "ENCODING", key), ("GET",)),
            *(("EXPIRE", key, "x"), ("DEL", key), ("EVAL", "redis.setresp(3) return {true, 1.5}", 1, key)),
            *(("EVAL", f"return {{{one}}}", 1, key) for one in ("double = 3.25", "big_number = '12'", "map = {a = 1}")),
            *(("GEOPOS", key, "none"), ("SPUBLISH", key, "x"), ("MSET", key)),
        )
        proxy = self.in_front()
        for version in (2, 3):
            ask(self.cluster.nodes[1], "DEL", key)
            request = b"".join(command(*one) for one in made)
            expected = self.bytes_from(self.cluster.nodes[1], version, request)
            ask(self.cluster.nodes[1], "DEL", key)
            got = self.bytes_from(proxy.port, version, request)
            self.assertEqual(got, expected)

    def bytes_from(self, port, version, request):
        """Says HELLO; returns the bytes behind its reply up to those of a last command."""
        client = self.client(port)
        client.send(command("HELLO", version) + command("CLIENT", "SETNAME", "mark"))
        received = b""
        while not received.endswith(b"+OK\r\n"):
            received += client.socket.recv(65536)
        client.send(request + command("CLIENT", "GETNAME"))
        received = b""
        while not received.endswith(b"$4\r\nmark\r\n"):
            received += client.socket.recv(65536)
        return received

    def test_each_refused_command_is_named_with_the_reason(self):
        proxy = self.in_front()
        client = self.client(proxy.port)
        for words, reason in REFUSED:
            with self.subTest(words=words):
                text = client.ask(*words.split())
                name = words.split()[0]
                kind = "CROSSSLOT" if "several slots" in reason else "ERR"
                self.assertTrue(text.startswith(f"-{kind} beck-redis-proxy refuses {name}"), text)
                self.assertIn(" in front of a cluster: ", text)
                self.assertIn(reason, text)
                self.assertNotIn("secret", text)
        self.assertEqual(client.ask("ECHO", "still"), b"still")
        self.assertIn("refuses CONFIG GET in front", client.ask("CONFIG", "GET", "a"))
        self.assertEqual(proxy.metrics()["cluster_refused_total"], len(REFUSED) + 1)

    def test_commands_about_the_connection_are_answered_by_the_proxy(self):
        proxy = self.in_front()
        client = self.client(proxy.port)
        for words, expected in (
            ("PING", "+PONG"),
            ("ping hello", b"hello"),
            ("ECHO x", b"x"),
            ("SELECT 0", "+OK"),
            ("CLIENT GETNAME", None),
            ("CLIENT SETNAME me", "+OK"),
            ("CLIENT GETNAME", b"me"),
            ("CLIENT SETINFO LIB-NAME x", "+OK"),
            ("CLIENT SETINFO LIB-VER 1.2", "+OK"),
            ("CLIENT SETINFO LIB-WHAT x", "-ERR Unrecognized option 'LIB-WHAT'"),
            ("CLIENT NO-EVICT on", "+OK"),
            ("CLIENT MAINT_NOTIFICATIONS ON", "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP."),
            ("CLIENT ID", 1),
            ("HELLO 4", "-NOPROTO unsupported protocol version"),
            ("HELLO 2 SETNAME you", ...),
            ("CLIENT GETNAME", b"you"),
            ("HELLO 2 SETNAME", "-ERR Syntax error in HELLO"),
            ("RESET", "+RESET"),
            ("CLIENT GETNAME", None),
            ("PING a b", "-ERR wrong number of arguments for 'PING' command"),
            ("ECHO", "-ERR wrong number of arguments for 'ECHO' command"),
            ("COMMAND COUNT", ...),
            ("TIME", ...),
            ("PUBLISH c x", 0),
        ):
            with self.subTest(words=words):
                got = client.ask(*words.split())
                self.assertTrue(got == expected or (expected is ... and not str(got).startswith("-")), got)
        self.assertIn("special characters", client.ask("CLIENT", "SETNAME", "a b"))
        self.assertIn("1025 bytes, and at most 1024", client.ask("CLIENT", "SETNAME", "x" * 1025))
        self.assertIn(b"beck-redis-proxy", client.ask("HELLO"))
        self.assertEqual(client.ask("QUIT"), "+OK")
        self.assertEqual(rest_of(client.socket), b"")
        self.assertEqual(self.client(proxy.port).ask("CLIENT", "ID"), 2)

    def test_a_client_changes_the_version_within_a_pipeline(self):
        client = self.client(self.in_front().port)
        self.assertEqual(client.ask("HSET", "h", "f", "v"), 1)
        get = command("HGETALL", "h")
        client.send(get + command("HELLO", 3) + get + command("RESET") + get)
        self.assertEqual(client.read(), [b"f", b"v"])
        reply = b""
        while not reply.endswith(b"+RESET\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"):
            reply += client.stream.readline()
        self.assertTrue(reply.startswith(b"%7\r\n$6\r\nserver\r\n"), reply)
        self.assertIn(b"$7\r\nmodules\r\n*0\r\n%1\r\n$1\r\nf\r\n$1\r\nv\r\n+RESET\r\n", reply)

    def test_scripts_are_known_at_each_node_once_they_are_loaded(self):
        proxy = self.in_front()
        client, other = self.client(proxy.port), self.client(proxy.port)
        digest = client.ask("SCRIPT", "LOAD", "return {KEYS[1], ARGV[1]}")
        unknown = "0" * 40
        self.assertEqual(other.ask("SCRIPT", "EXISTS", digest, unknown, digest.upper()), [1, 0, 1])
        for key in self.keys:
            self.assertEqual(other.ask("EVALSHA", digest, 1, key, "x"), [key.encode(), b"x"])
            self.assertEqual(other.ask("EVALSHA_RO", digest, 1, key, "y"), [key.encode(), b"y"])
        self.assertTrue(client.ask("EVALSHA", unknown, 1, self.keys[0]).startswith("-NOSCRIPT"))
        for port in self.cluster.nodes:
            self.assertEqual(ask(port, "SCRIPT", "FLUSH"), "+OK")
        # Behind NOSCRIPT the commands that follow would have run before the script.
        load = command("SCRIPT", "LOAD", "return redis.call('INCR', KEYS[1])")
        client.send(load)
        digest = client.read()
        key = self.keys[1]
        client.send(command("DEL", key) + load + (command("EVALSHA", digest, 1, key) + command("GET", key)) * 3)
        self.assertIn(client.read(), (0, 1))
        self.assertEqual(client.read(), digest)
        self.assertEqual([client.read() for _ in range(6)], [1, b"1", 2, b"2", 3, b"3"])

    def test_a_transaction_in_one_go_is_refused_as_a_whole(self):
        proxy = self.in_front()
        client = self.client(proxy.port)
        key = self.keys[2]
        self.assertEqual(client.ask("SET", key, 1), "+OK")
        for last in ("EXEC", "DISCARD"):
            words = [("MULTI",), ("INCR", key), ("ECHO", "x"), ("INCR", key), (last,), ("GET", key)]
            client.send(b"".join(command(*one) for one in words))
            replies = [client.read() for _ in words]
            for number, name in ((0, "MULTI"), (1, "INCR"), (3, "INCR"), (4, last)):
                self.assertIn(f"refuses {name} in front of a cluster: ", replies[number])
            self.assertIn("behind a MULTI that was refused", replies[1])
            self.assertEqual((replies[2], replies[5]), (b"x", b"1"))
        # A client that has seen the refusal may never send EXEC, and must not be refused for ever.
        self.assertIn("refuses MULTI", client.ask("MULTI"))
        self.assertIn("behind a MULTI that was refused", client.ask("INCR", key))
        self.assertEqual(rest_of(client.socket), b"")
        self.assertEqual(self.client(proxy.port).ask("GET", key), b"1")

    def test_libraries_find_one_server_that_is_ready(self):
        client = self.client(self.in_front().port)
        text = client.ask("INFO").decode()
        for line in ("redis_version:7.0.0", "redis_mode:standalone", "loading:0", "role:master", "cluster_enabled:0"):
            self.assertIn(f"\r\n{line}\r\n", text)
        self.assertIn("# Proxy\r\n", text)
        self.assertTrue(client.ask("INFO", "replication").startswith(b"# Replication\r\nrole:master\r\n"))
        self.assertNotIn(b"# Server", client.ask("INFO", "Persistence", "replication"))
        self.assertEqual(client.ask("INFO", "keyspace"), b"")

    def test_bytes_that_say_nothing_are_skipped_at_every_split(self):
        client = self.client(self.in_front().port)
        request = b"\r\n*0\r\n\n" + command("ECHO", "a") + b"*-1\r\n\r\n" + command("ECHO", "b") + b"\r\n"
        for at in range(len(request) + 1):
            client.send(request[:at])
            client.send(request[at:])
            self.assertEqual([client.read(), client.read()], [b"a", b"b"])

    def test_every_split_of_a_request(self):
        proxy = self.in_front()
        key = self.keys[0]
        request = command("SET", key, "\r\n$1\r\n") + command("GET", key) + command("MULTI") + command("ECHO", "x")
        for at in range(0, len(request) + 1, 3):
            client = Client(proxy.port)
            client.send(request[:at])
            proxy.metrics()  # behind which the proxy has received that
            client.send(request[at:])
            self.assertEqual([client.read(), client.read()], ["+OK", b"\r\n$1\r\n"])
            self.assertIn("refuses MULTI", client.read())
            self.assertEqual(client.read(), b"x")
            client.close()

    def test_bytes_that_are_no_command_end_the_client_behind_its_replies(self):
        proxy = self.in_front()
        for bad in (b"PING 'x\r\n", b"Host: a\r\n", b"*1\r\n:1\r\n", b"*x\r\n", b"*1\r\n$68000000\r\n"):
            with self.subTest(bad=bad):
                with connect(proxy.port) as client:
                    client.sendall(command("SET", self.keys[2], "x") + bad)
                    text = rest_of(client).decode()
                self.assertRegex(text, r"^\+OK\r\n-ERR Protocol error: [^\r\n]+\r\n$")

    def test_a_client_that_has_finished_gets_its_replies(self):
        client = connect(self.in_front().port)
        self.addCleanup(client.close)
        client.sendall(b"".join(command("SET", key, "x") for key in self.keys) + command("ECHO", "last"))
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(rest_of(client), b"+OK\r\n" * 3 + b"$4\r\nlast\r\n")

    def test_large_replies_of_a_client_that_does_not_read_are_few(self):
        proxy = self.in_front()
        slow, other = self.client(proxy.port), self.client(proxy.port)
        value = bytes(1 << 20)
        self.assertEqual(other.ask("SET", "mib", value), "+OK")
        slow.send(command("GET", "mib") * 200)
        for i in range(50):
            self.assertEqual(other.ask("GET", f"none{i}"), None)
        for _ in range(200):
            self.assertEqual(slow.read(), value)
        self.assertLess(proxy.memory(), 64 << 10)

    def test_a_reply_above_the_limit_is_an_error_of_its_command_only(self):
        client = self.client(self.in_front().port)
        key = self.keys[0]
        self.assertEqual(client.ask("SETRANGE", key, (65 << 20) - 1, "x"), 65 << 20)
        text = client.ask("GET", key)
        self.assertIn(f"the reply to GET cannot be passed on: more than {64 << 20} bytes", text)
        self.assertEqual(client.ask("DEL", key), 1)

    def test_a_slot_that_moves_is_followed(self):
        proxy = self.in_front()
        client = self.client(proxy.port)
        source, target = self.cluster.nodes[0], self.cluster.nodes[1]
        key = next("{m%d}" % i for i in range(1000) if self.cluster.owner("m%d" % i) == source)
        slot = ask(source, "CLUSTER", "KEYSLOT", key)
        names = {port: ask(port, "CLUSTER", "MYID").decode() for port in self.cluster.nodes}
        here, there = key + "here", key + "there"
        self.assertEqual([client.ask("SET", one, "x") for one in (here, there)], ["+OK"] * 2)
        self.assertEqual(ask(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", names[source]), "+OK")
        self.assertEqual(ask(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", names[target]), "+OK")
        self.assertEqual(ask(source, "MIGRATE", "127.0.0.1", target, there, 0, 5000), "+OK")
        self.assertEqual([client.ask("GET", one) for one in (here, there)], [b"x", b"x"])
        self.assertEqual(proxy.metrics()["cluster_asked_total"], 1)
        self.assertEqual(ask(source, "MIGRATE", "127.0.0.1", target, here, 0, 5000), "+OK")
        for port in (target, source, self.cluster.nodes[2]):
            self.assertEqual(ask(port, "CLUSTER", "SETSLOT", slot, "NODE", names[target]), "+OK")
        client.send(b"".join(command("APPEND", here, i) + command("GET", here) for i in range(5)))
        for i in range(5):
            self.assertEqual(client.read(), 2 + i)
            self.assertEqual(client.read(), b"x" + b"01234"[: i + 1])
        self.assertGreaterEqual(proxy.metrics()["cluster_moved_total"], 1)

    def test_a_client_without_traffic(self):
        proxy = self.in_front("--idle", "100ms")
        client = self.client(proxy.port)
        self.assertEqual(client.ask("GET", "none"), None)
        self.assertEqual(rest_of(client.socket), b"")
        until(lambda: proxy.metrics()["clients"] == 0)
        self.assertEqual(proxy.metrics()["idle_total"], 1)

    def test_a_stop_lets_clients_finish(self):
        proxy = self.in_front()
        client = self.client(proxy.port)
        self.assertEqual(client.ask("SET", "k", 1), "+OK")
        proxy.send_signal(signal.SIGTERM)
        self.assertEqual(client.ask("GET", "k"), b"1")
        client.close()
        self.assertEqual(proxy.wait(), 0)

    def test_a_login_of_the_url_is_that_of_all_clients(self):
        for port in self.cluster.nodes:
            self.assertEqual(ask(port, "ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-del"), "+OK")
        client = self.client(self.in_front(login="app:secret@").port)
        self.assertEqual(client.ask("SET", "k", "x"), "+OK")
        self.assertTrue(client.ask("DEL", "k").startswith("-NOPERM"))
        self.assertTrue(client.ask("DEL", *self.keys).startswith("-NOPERM"))
        proxy = self.in_front("--hold", "100ms", login="app:wrong@")
        text = self.client(proxy.port).ask("SET", "k", "x")
        self.assertIn("SET was not sent: The Redis server answered: a wrong user or password", text)
        self.assertNotIn("wrong@", text + proxy.error_text())
        self.assertIn("beck-redis-proxy: cannot reach redis+cluster://127.0.0.1", proxy.error_text())


class ClusterLoss(ProxyCase):
    @classmethod
    def setUpClass(cls):
        """Each case has nodes of its own, or none."""

    def test_a_node_that_is_killed_amid_pipelines(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        keys = cluster.keys()
        proxy = self.proxy("--hold", "300ms", url=cluster.url())
        counts, wrong = [0] * 8, []

        def work(number):
            client = Client(proxy.port)
            key = "{%s}%d" % (keys[0], number)
            try:
                for turn in range(100_000):
                    client.send(command("SET", key, turn) + command("GET", key) + command("ECHO", turn))
                    replies = [client.read() for _ in range(3)]
                    if str(replies[0]).startswith("-"):
                        return
                    if replies != ["+OK", str(turn).encode(), str(turn).encode()]:
                        wrong.append(replies)
                    counts[number] = turn
            except (EOFError, ConnectionError):
                pass
            finally:
                client.close()

        with threads(work, 8):
            until(lambda: min(counts) >= 20)
            cluster.kill(0)
        self.assertEqual(wrong, [])
        client = self.client(proxy.port)
        text = client.ask("SET", keys[0], "x")
        self.assertRegex(text, r"^-(ERR beck-redis-proxy: SET was not sent: |CLUSTERDOWN )")
        self.assertEqual(client.ask("ECHO", "still"), b"still")
        self.assertIn("cannot reach redis+cluster://", proxy.error_text())

    def test_nodes_that_are_out_of_reach(self):
        one, two = free_ports(2)
        url = f"redis+cluster://127.0.0.1:{one},127.0.0.1:{two}"
        proxy = self.proxy("--hold", "100ms", url=url)
        client = self.client(proxy.port)
        client.send(command("GET", "k") + command("PING"))
        self.assertEqual(client.read(), "-ERR beck-redis-proxy: GET was not sent: Connection refused")
        self.assertEqual(client.read(), "+PONG")
        self.assertEqual(proxy.metrics()["cluster_not_sent_total"], 1)
        self.assertIn(f"cannot reach {url}: Connection refused", proxy.error_text())

    def test_a_command_that_may_have_run_ends_its_client(self):
        listening, url = self.listener()
        port = listening.getsockname()[1]
        proxy = self.proxy(url=url.replace("redis://", "redis+cluster://"))
        client, other = self.client(proxy.port), self.client(proxy.port)
        client.send(command("PING") + command("INCR", "n") + command("PING"))
        node = self.accept(listening)
        slots = f"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n".encode()
        self.answer(node, command("PING"), b"+PONG\r\n")
        self.answer(node, command("CLUSTER", "SLOTS"), slots)
        self.answer(node, command("INCR", "n"), b"")
        fill(client.socket, command("PING") * 10_000)  # the proxy has not read all of it when it ends the client
        node.close()
        self.assertEqual(words_of(client.socket), b"+PONG\r\n")
        self.assertEqual(other.ask("ECHO", "other"), b"other")
        self.assertEqual(proxy.metrics()["cluster_lost_total"], 1)

    def test_a_redirect_without_end_is_no_reply_for_an_ordinary_client(self):
        listening, url = self.listener()
        place = f"127.0.0.1:{listening.getsockname()[1]}"
        host, port = place.encode().split(b":")
        slots = b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n%b\r\n:%b\r\n" % (host, port)
        replies = {b"PING": b"+PONG\r\n", b"CLUSTER": slots, b"GET": b"-MOVED 7 %b:%b\r\n" % (host, port)}
        proxy = self.proxy(url=url.replace("redis://", "redis+cluster://"))
        client = self.client(proxy.port)
        client.send(command("GET", "k") + command("ECHO", "still"))
        node = self.accept(listening)

        def play():
            while data := node.recv(65536):
                for name in re.findall(rb"\*\d+\r\n\$\d+\r\n([A-Z]+)\r\n", data):
                    node.sendall(replies[name])

        playing = threading.Thread(target=play)
        playing.start()
        text = client.read()
        self.assertEqual(text, f"-TRYAGAIN beck-redis-proxy: the slot of GET moves: MOVED 7 {place}")
        self.assertEqual(client.read(), b"still")
        self.assertEqual(proxy.metrics()["cluster_moved_total"], 5)
        proxy.close()
        playing.join()

    def answer(self, node, data, reply):
        received = b""
        while len(received) < len(data):
            received += node.recv(len(data) - len(received))
        self.assertEqual(received, data)
        node.sendall(reply)

    def test_values_that_are_wrong(self):
        for arguments, says in (
            (["redis+cluster://"], "no host"),
            (["redis+cluster://h,"], "no host"),
            (["redis+cluster://h:x"], "the port"),
            (["redis+cluster://h/1"], "database 0"),
            (["redis+cluster://app:@h"], "a user without a password"),
            (["rediss+cluster://h"], "TLS"),
            (["--shared", "redis+cluster://h"], "--shared"),
            (["--hold", "1s", "redis://h"], "--hold"),
            (["--hold", "25h", "redis+cluster://h"], ["--hold 25h", "24h"]),
        ):
            with self.subTest(arguments=arguments):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                for text in [says] if isinstance(says, str) else says:
                    self.assertTrue(re.search(re.escape(text), done.stderr), done.stderr)
