# SPDX-License-Identifier: BSL-1.0
"""beck-redis-proxy --shared: replicas that lag, clients that leave with much or late, replies that break off."""
import os
import signal
import socket
import time

from redis_proxy import Redis, command, connect, fill_backlog, reset, rest_of, talk
from redis_proxy_shared_cases import SharedCase
from server import until


class SharedReplicas(SharedCase):
    def lag(self):
        """Starts a server whose replica gets all writes, and acknowledges none. Returns it, and a client."""
        redis, replica = Redis(), Redis()
        self.addCleanup(redis.close)
        self.addCleanup(replica.close)
        direct = self.client(redis.port)
        self.assertEqual(direct.ask("CONFIG", "SET", "repl-diskless-sync-delay", 0), "+OK")
        self.assertEqual(self.client(replica.port).ask("REPLICAOF", "127.0.0.1", redis.port), "+OK")
        until(lambda: b"state=online" in direct.ask("INFO", "replication"))
        os.kill(replica.process.pid, signal.SIGSTOP)
        return redis, direct

    def test_wait_is_about_the_writes_before_the_client_moved(self):
        redis, _ = self.lag()
        client = self.client(self.proxy(url=redis.urls()[0]).port)
        self.assertEqual(client.ask("SET", "k", 1), "+OK")
        client.send(command("SET", "k", 2) + command("WAIT", 1, 100) + command("GET", "k"))
        self.assertEqual([client.read() for _ in range(3)], ["+OK", 0, b"2"])

    def test_wait_that_the_server_refuses(self):
        redis = Redis()
        self.addCleanup(redis.close)
        self.assertEqual(self.client(redis.port).ask("CONFIG", "SET", "requirepass", "secret"), "+OK")
        client = self.client(self.proxy(url=redis.urls()[0]).port)
        client.send(command("GET", "k") + command("WAIT", 0, 0) + command("AUTH", "secret") + command("WAIT", 0, 0))
        replies = [client.read() for _ in range(4)]
        self.assertEqual(replies, ["-NOAUTH Authentication required."] * 2 + ["+OK", 0])

    def test_a_failover_is_ended_while_the_clients_of_the_same_connection_wait_for_it(self):
        redis, direct = self.lag()
        proxy = self.proxy("--connections", 1, url=redis.urls()[0])
        writer, other = self.client(proxy.port), self.client(proxy.port)
        self.assertEqual(writer.ask("SET", "k", 1), "+OK")
        self.assertEqual(direct.ask("FAILOVER"), "+OK")
        writer.send(command("SET", "k", 2))
        until(lambda: b"blocked_clients:1" in direct.ask("INFO", "clients"))
        self.assertEqual(other.ask("FAILOVER", "ABORT"), "+OK")
        self.assertEqual(writer.read(), "+OK")


class SharedLeaves(SharedCase):
    def test_the_error_of_a_server_that_does_not_answer_comes_later_than_idle(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
            port = listening.getsockname()[1]
            fills = fill_backlog(port)
            proxy = self.proxy("--idle", "100ms", "--connect", "300ms", url=f"redis://127.0.0.1:{port}")
            text = f"-ERR beck-redis-proxy cannot reach redis://127.0.0.1:{port}: no answer within --connect\r\n"
            until(lambda: talk(proxy.port, command("MULTI")) == text)  # a client may be late, and be idle
            for one in fills:
                one.close()

    def test_clients_that_moved_with_a_large_command_keep_no_memory_of_it(self):
        proxy = self.proxy()
        for _ in range(100):
            client = self.client(proxy.port)
            self.assertIn("unknown command", client.ask("NONE.SUCH", bytes(900_000)))
        self.assertEqual(proxy.metrics()["clients"], 100)
        self.assertLess(proxy.memory(), 64 << 10)

    def test_a_client_that_is_gone_leaves_no_replies_behind(self):
        proxy, listening = self.played()
        clients = [connect(proxy.port) for _ in range(24)]
        for one in clients:
            one.sendall(command("PING"))
            until(lambda one=one: proxy.metrics()["shared_waiting"] == clients.index(one) + 1)
        server = self.accept(listening)
        self.receive(server, command("PING") * 24)
        for one in clients:
            one.sendall(command("PING"))
        self.receive(server, command("PING") * 24)
        for gone, one in enumerate(clients, 1):
            server.sendall(b"$%d\r\n%b\r\n" % (12 << 20, bytes(12 << 20)))  # the second reply never comes
            reset(one)
            until(lambda gone=gone: proxy.metrics()["clients"] == 24 - gone)
        self.assertLess(proxy.memory(), 64 << 10)

    def test_a_reply_that_breaks_off_is_not_followed_by_another(self):
        proxy, listening = self.played(self.folder / "server")
        client = connect(proxy.port)
        self.addCleanup(client.close)
        client.sendall(command("SET", "k", bytes(900_000)))  # more than a UNIX socket holds
        server = self.accept(listening)
        server.sendall(b"-ERR max number")
        self.assertEqual(client.recv(100), b"-ERR max number")
        server.close()
        self.assertEqual(rest_of(client), b"")


class SharedReadOnly(SharedCase):
    """A server that answers READONLY has become a replica, and its address may lead to another one."""
    refusal = b"-READONLY You can't write against a read only replica.\r\n"

    def ask(self, client, server, *words):
        """Sends a command that the server, or if that is a listener its next connection, receives. Returns that."""
        client.send(command(*words))
        if server.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            server = self.accept(server)
        self.receive(server, command(*words))
        return server

    def refuse(self, server, client):
        server.sendall(self.refusal)
        self.assertEqual(client.read(), self.refusal.decode().strip())

    def test_a_connection_leaves_a_replica_and_its_clients_go_on(self):
        proxy, listening = self.played()
        client = self.client(proxy.port)
        server = self.ask(client, listening, "SET", "k", 1)
        self.refuse(server, client)
        self.assertEqual(server.recv(1), b"")
        self.ask(client, listening, "SET", "k", 2).sendall(b"+OK\r\n")
        self.assertEqual(client.read(), "+OK")
        self.assertEqual(proxy.metrics()["lost_total"], 0)

    def leave_with_two_waiting(self):
        """Lets a connection leave while the second of three clients waits for its reply, and the third to be sent."""
        proxy, listening = self.played()
        first, second, third = (self.client(proxy.port) for _ in range(3))
        server = self.ask(first, listening, "SET", "a", 1)
        self.ask(second, server, "INCR", "b")
        self.refuse(server, first)
        third.send(command("SET", "c", 3))
        until(lambda: proxy.metrics()["shared_waiting"] == 2)
        return listening, server, second, third

    def test_what_was_sent_is_answered_first_and_what_was_not_goes_over_the_next_connection(self):
        listening, server, second, third = self.leave_with_two_waiting()
        server.sendall(b":7\r\n")
        self.assertEqual(second.read(), 7)
        self.assertEqual(server.recv(1), b"")  # and not the command of the third one
        other = self.accept(listening)
        self.receive(other, command("SET", "c", 3))
        other.sendall(b"+OK\r\n")
        self.assertEqual(third.read(), "+OK")

    def test_a_server_that_ends_before_it_has_answered_all_has_lost_a_client(self):
        _, server, second, third = self.leave_with_two_waiting()
        server.close()
        self.assertEqual(rest_of(second.socket), b"")
        self.assertIn("the command was not sent", third.read())

    def test_a_replica_is_left_once_a_second_at_most(self):
        for _ in range(20):  # until two refusals come within a second
            proxy, listening = self.played()
            client = self.client(proxy.port)
            began = time.monotonic()
            self.refuse(self.ask(client, listening, "SET", "k", 1), client)
            server = self.ask(client, listening, "SET", "k", 1)
            self.refuse(server, client)
            if time.monotonic() - began < 1:
                self.ask(client, server, "GET", "k")  # over the same connection
                return
        self.fail("two commands took more than a second, 20 times")

    def test_a_text_that_only_looks_like_the_error_is_passed_on(self):
        proxy, listening = self.played()
        client = self.client(proxy.port)
        server = self.ask(client, listening, "GET", "k")
        server.sendall(b"$12\r\n")
        until(lambda: proxy.metrics()["to_clients_bytes_total"] != 0)
        server.sendall(b"-READONLY ..\r\n")
        self.assertEqual(client.read(), b"-READONLY ..")
        self.ask(client, server, "GET", "k")
