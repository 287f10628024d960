#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the chat server, the proxy, the UDP server and others as their users would: several clients, slow ones, signals.

usage: programs_test.py EXAMPLES_DIR [unittest options]
"""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from contextlib import ExitStack, contextmanager
from pathlib import Path

LIMIT_S = 20
folder = Path(".")


@contextmanager
def program(name, *arguments, backend, says="stdout"):
    """Starts an example that says, on one of its outputs, which port it listens on; gives the process and the port."""
    environment = os.environ | {"BECK_BACKEND": backend}
    command = [str(folder / name), *map(str, arguments)]
    with subprocess.Popen(command, env=environment, text=True, **{says: subprocess.PIPE}) as started:
        try:
            line = getattr(started, says).readline()
            found = re.fullmatch(r"listening on port (\d+)\n", line)
            assert found, f"{name} said: {line!r}"
            yield started, int(found.group(1))
        finally:
            if started.poll() is None:
                started.kill()


@contextmanager
def identity():
    """Makes a certificate for localhost that is signed by itself; gives the paths of the certificate and of its key."""
    with tempfile.TemporaryDirectory() as there:
        chain, key = f"{there}/chain.pem", f"{there}/key.pem"
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        command += ["-keyout", key, "-out", chain, "-subj", "/CN=test", "-days", "2"]
        command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
        yield chain, key


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)


def receive_exactly(stream, size):
    data = b""
    while len(data) < size:
        more = stream.recv(size - len(data))
        if not more:
            break
        data += more
    return data


def backends():
    forced = os.environ.get("BECK_BACKEND", "automatic")
    return [forced] if forced != "automatic" else ["epoll", "automatic"]


class Checksum(unittest.TestCase):
    def test_the_sum_of_files_of_many_sizes(self):
        for backend in backends():
            with self.subTest(backend=backend), tempfile.TemporaryDirectory() as there:
                expected = []
                for size in (0, 1, 65535, 65536, 65537, 8 * 65536 + 3, 3_000_000):
                    data = bytes((i * 31 + size) % 251 for i in range(size))
                    path = Path(there) / f"file{size}"
                    path.write_bytes(data)
                    expected.append(f"{sum(data)} {size} {path}")
                paths = [line.split(" ")[2] for line in expected]
                command = [folder / "checksum", *paths, f"{there}/missing"]
                environment = os.environ | {"BECK_BACKEND": backend}
                done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
                self.assertEqual(sorted(done.stdout.splitlines()), sorted(expected))
                self.assertIn("missing: No such file", done.stderr)


class Datagrams(unittest.TestCase):
    def test_each_datagram_comes_back_whole_to_its_sender(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                _, port = stack.enter_context(program("udp_echo", backend=backend))
                clients = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(3)]
                for number, client in enumerate(clients):
                    client.settimeout(LIMIT_S)
                    client.connect(("127.0.0.1", port))
                    for size in (0, 1, 1400):
                        client.send(bytes([number]) * size)
                for number, client in enumerate(clients):
                    for size in (0, 1, 1400):
                        self.assertEqual(client.recv(65536), bytes([number]) * size)


class Broadcast(unittest.TestCase):
    def test_what_one_sends_reaches_the_others_and_a_slow_one_is_thrown_out(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                _, port = stack.enter_context(program("broadcast_server", backend=backend))
                lazy, talker, listener = (stack.enter_context(connect(port)) for _ in range(3))
                listener.settimeout(0.2)
                while True:  # until all have joined
                    talker.sendall(b".")
                    try:
                        if listener.recv(1):
                            break
                    except TimeoutError:
                        continue
                listener.settimeout(LIMIT_S)
                heard = b""
                for piece in range(400):  # the lazy one reads none of these 40 MB
                    talker.sendall(b"%05d" % piece * 20000)
                    while not heard.endswith(b"%05d" % piece * 20000):
                        more = listener.recv(1 << 20)
                        self.assertTrue(more)
                        heard = (heard + more)[-(1 << 20) :]
                self.assertEqual(receive_exactly(lazy, 1)[:1], b".")
                lazy.settimeout(LIMIT_S)
                left = 0
                while more := self.read_some(lazy):
                    left += len(more)
                self.assertLess(left, 400 * 100000)

    @staticmethod
    def read_some(stream):
        try:
            return stream.recv(1 << 20)
        except ConnectionResetError:
            return b""


class Chat(unittest.TestCase):
    def test_every_line_reaches_all_others_in_order(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                _, port = stack.enter_context(program("chat_server", backend=backend))
                members = [stack.enter_context(connect(port)) for _ in range(4)]
                greeting = b"hello\n"
                # A line from each in turn, so that all are known to have joined.
                for speaker in members:
                    for listener in members:
                        if listener is not speaker:
                            while True:
                                speaker.sendall(greeting)
                                listener.settimeout(0.2)
                                try:
                                    if listener.recv(1 << 16):
                                        break
                                except TimeoutError:
                                    continue
                for member in members:
                    member.settimeout(LIMIT_S)
                lines = [b"line %d" % i for i in range(100)]
                members[0].sendall(b"\n".join(lines) + b"\n")
                for listener in members[1:]:
                    heard = b""
                    while b"line 99\n" not in heard:
                        more = listener.recv(1 << 16)
                        self.assertTrue(more, "the connection ended before the last line")
                        heard += more
                    # Greetings of other members may still come, before them or between them.
                    said = [line for line in heard.splitlines() if not greeting.startswith(line)]
                    self.assertEqual(said, lines)

    def test_a_member_that_does_not_keep_up_is_thrown_out_and_nobody_waits_for_it(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                _, port = stack.enter_context(program("chat_server", backend=backend))
                lazy = stack.enter_context(connect(port))
                lazy.sendall(b"here\n")
                talker = stack.enter_context(connect(port))
                line = b"x" * 4000 + b"\n"
                for _ in range(10000):  # 40 MB, more than two socket buffers and 256 lines
                    talker.sendall(line)
                total = 0
                while more := lazy.recv(1 << 16):
                    total += len(more)
                self.assertLess(total, 10000 * len(line))


class Proxy(unittest.TestCase):
    def test_bytes_go_through_both_ways_and_ends_are_passed_on(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                upstream = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                upstream.settimeout(LIMIT_S)
                _, port = stack.enter_context(program("proxy", 0, upstream.getsockname()[1], backend=backend))
                client = stack.enter_context(connect(port))
                server, _ = upstream.accept()
                stack.enter_context(server)
                server.settimeout(LIMIT_S)
                client.sendall(b"request" * 1000)
                client.shutdown(socket.SHUT_WR)
                self.assertEqual(receive_exactly(server, 1 << 20), b"request" * 1000)
                server.sendall(b"answer" * 1000)
                server.close()
                self.assertEqual(receive_exactly(client, 1 << 20), b"answer" * 1000)

    def test_a_refused_upstream_ends_the_session_only(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                with socket.create_server(("127.0.0.1", 0)) as unused:
                    refused = unused.getsockname()[1]
                _, port = stack.enter_context(program("proxy", 0, refused, backend=backend))
                for _ in range(2):
                    client = stack.enter_context(connect(port))
                    self.assertEqual(client.recv(1), b"")

    def test_a_signal_ends_it_when_what_is_under_way_has_ended(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                upstream = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                upstream.settimeout(LIMIT_S)
                proxy, port = stack.enter_context(program("proxy", 0, upstream.getsockname()[1], backend=backend))
                client = stack.enter_context(connect(port))
                server, _ = upstream.accept()
                stack.enter_context(server)
                client.sendall(b"a")
                self.assertEqual(server.recv(1), b"a")
                proxy.send_signal(signal.SIGTERM)
                self.assertEqual(proxy.stdout.readline(), "draining 1 sessions\n")
                with self.assertRaises(ConnectionError):
                    connect(port)
                server.sendall(b"b")  # still served
                self.assertEqual(client.recv(1), b"b")
                client.close()
                server.close()
                self.assertEqual(proxy.stdout.readline(), "bye\n")
                self.assertEqual(proxy.wait(LIMIT_S), 0)


class Names(unittest.TestCase):
    def run_client(self, *arguments, backend):
        environment = os.environ | {"BECK_BACKEND": backend}
        command = [str(folder / "name_client"), *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S)

    def test_a_client_connects_by_name(self):
        for backend in backends():
            with self.subTest(backend=backend), socket.create_server(("127.0.0.1", 0)) as server:
                port = server.getsockname()[1]

                def answer():
                    peer, _ = server.accept()
                    with peer:
                        peer.sendall(peer.recv(100))

                answering = threading.Thread(target=answer)
                answering.start()
                done = self.run_client("localhost", port, "hi", backend=backend)
                answering.join(LIMIT_S)
                self.assertEqual(done.stdout, f"connected to 127.0.0.1:{port}\nhi\n", done.stderr)
                self.assertEqual(done.returncode, 0)

    def test_what_is_not_found_is_an_error_that_says_so(self):
        for backend in backends():
            with self.subTest(backend=backend):
                done = self.run_client("127.0.0.1", "no-such-service", backend=backend)
                self.assertEqual(done.returncode, 1)
                self.assertIn("127.0.0.1:no-such-service: Service not found", done.stderr)


class Dump(unittest.TestCase):
    """Ten thousand tasks, readable."""

    def check(self, text):
        lines = text.splitlines()
        total, groups = re.fullmatch(r"([\d,]+) tasks in (\d+) groups", lines[0]).groups()
        self.assertEqual(total, "10,000")
        heads = [re.match(r"([\d,]+) tasks?, .*spawned at \S+:\d+ in \S+$", line) for line in lines]
        counts = [int(head[1].replace(",", "")) for head in heads if head]
        self.assertEqual(sum(counts), 10_000)
        self.assertEqual(len(counts), int(groups))
        self.assertEqual(counts, sorted(counts, reverse=True))
        self.assertLess(len(lines), 40)
        self.assertLess(max(map(len, lines)), 120)
        for what in ("read", "timer", "mutex", "channel receive", "when_all", "task_group"):
            self.assertRegex(text, rf"  waiting ([\d.]+( m?s)? to )?[\d.]+ m?s for {what}: #")
        self.assertRegex(text, r"dump_tasks\.cpp:\d+ in serve\n    .*dump_tasks\.cpp:\d+ in read_request\n")
        self.assertNotIn("0x", text)

    def test_ten_thousand_tasks_are_a_page(self):
        for backend in backends():
            with self.subTest(backend=backend):
                environment = os.environ | {"BECK_BACKEND": backend}
                done = subprocess.run(
                    [folder / "dump_tasks"], env=environment, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S
                )
                self.assertEqual(done.returncode, 0)
                self.check(done.stdout)

    def test_the_readme_shows_a_part_of_it(self):
        def lines(text):  # ages and descriptors depend on the machine
            text = re.sub(r"(waiting|due in) ([\d.]+( m?s)? to )?[\d.]+ (m?s|h)", r"\1 T", text)
            return re.sub(r"\(fd \d+\)", "(fd N)", text).splitlines()

        readme = (Path(__file__).parents[2] / "README.md").read_text()
        shown = re.search(r"dump_tasks\.cpp\)\):\n\n```text\n(.*?)```", readme, re.S)[1]
        done = subprocess.run([folder / "dump_tasks"], stdout=subprocess.PIPE, text=True, timeout=LIMIT_S)
        seen = lines(done.stdout)
        for line in lines(shown):
            if line != "...":
                self.assertIn(line, seen)

    def test_a_signal_prints_them_again(self):
        for backend in backends():
            environment = os.environ | {"BECK_BACKEND": backend}
            command = [str(folder / "dump_tasks"), "stay"]
            with self.subTest(backend=backend), subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, text=True
            ) as started:
                lines = self.lines_of_a_dump(environment)
                first = [started.stdout.readline() for _ in range(lines)]
                started.send_signal(signal.SIGUSR1)
                again = [started.stdout.readline() for _ in range(lines)]
                started.send_signal(signal.SIGINT)
                self.assertEqual(started.wait(LIMIT_S), 0)
                self.check("".join(first))
                self.check("".join(again))

    def lines_of_a_dump(self, environment):
        done = subprocess.run(
            [folder / "dump_tasks"], env=environment, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S
        )
        return len(done.stdout.splitlines())


def run(name, *arguments, backend, environment=(), **how):
    """Runs an example to its end, with more variables in its environment."""
    environment = os.environ | {"BECK_BACKEND": backend} | dict(environment)
    command = [str(folder / name), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, timeout=LIMIT_S, text=True, **how)


class Forward(unittest.TestCase):
    def test_bytes_go_through_both_ways_and_are_counted(self):
        for backend in backends():
            with self.subTest(backend=backend), ExitStack() as stack:
                upstream = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                upstream.settimeout(LIMIT_S)
                forward, port = stack.enter_context(
                    program("forward", 0, upstream.getsockname()[1], backend=backend)
                )
                client = stack.enter_context(connect(port))
                server, _ = upstream.accept()
                stack.enter_context(server)
                server.settimeout(LIMIT_S)
                client.sendall(b"request" * 10_000)
                client.shutdown(socket.SHUT_WR)
                self.assertEqual(receive_exactly(server, 1 << 20), b"request" * 10_000)
                server.sendall(b"answer" * 1000)
                server.close()
                self.assertEqual(receive_exactly(client, 1 << 20), b"answer" * 1000)
                line = forward.stdout.readline()
                self.assertEqual(line, "70000 bytes forth by splice, 6000 back by splice: both ended\n")
                forward.send_signal(signal.SIGINT)
                self.assertEqual(forward.wait(LIMIT_S), 0)


class RunLimited(unittest.TestCase):
    def test_lines_of_both_outputs_are_numbered_and_the_code_is_passed_on(self):
        for backend in backends():
            with self.subTest(backend=backend):
                script = "echo one; echo two >&2; printf three; exit 9"
                done = run("run_limited", 20, "sh", "-c", script, backend=backend)
                self.assertEqual(done.stdout, "   1  one\n   2  two\n   3  three")
                self.assertEqual(done.returncode, 9)

    def test_a_program_that_does_not_end_is_ended(self):
        for backend in backends():
            with self.subTest(backend=backend):
                done = run("run_limited", 0, "cat", "/dev/zero", backend=backend)
                self.assertEqual(done.returncode, 124)

    def test_a_program_that_is_not_there_is_named(self):
        for backend in backends():
            with self.subTest(backend=backend):
                done = run("run_limited", 1, "/no/such/program", backend=backend)
                self.assertEqual(done.returncode, 127)
                self.assertIn("/no/such/program", done.stderr)
                self.assertIn("No such file", done.stderr)


class FileServer(unittest.TestCase):
    def ask(self, port, name):
        with connect(port) as stream:
            stream.sendall(name.encode() + b"\n")
            data = b""
            while more := stream.recv(65536):
                data += more
        return data

    def test_files_of_its_directory_arrive_whole_and_others_do_not(self):
        contents = {"small": b"hello", "empty": b"", "large": os.urandom(5_000_000)}
        for backend in backends():
            with self.subTest(backend=backend), tempfile.TemporaryDirectory() as there:
                for name, data in contents.items():
                    (Path(there) / name).write_bytes(data)
                with program("file_server", 0, there, backend=backend) as (_, port):
                    for name, data in contents.items():
                        self.assertEqual(self.ask(port, name), data)
                    for name in ("missing", "../small", ".", "", there + "/small"):
                        self.assertEqual(self.ask(port, name), b"")


class UpperCase(unittest.TestCase):
    def test_it_filters_between_pipes(self):
        for backend in backends():
            with self.subTest(backend=backend):
                text = "hello world\n" * 20_000
                done = run("upper_case", backend=backend, input=text)
                self.assertEqual(done.stdout, text.upper())
                self.assertEqual(done.returncode, 0)

    def test_it_ends_quietly_when_nobody_reads(self):
        for backend in backends():
            with self.subTest(backend=backend):
                reading, writing = os.pipe()
                os.close(reading)
                environment = os.environ | {"BECK_BACKEND": backend}
                done = subprocess.run(
                    [folder / "upper_case"], env=environment, input=b"x\n", stdout=writing, timeout=LIMIT_S
                )
                os.close(writing)
                self.assertEqual(done.returncode, 0)

    def test_it_filters_a_file(self):
        for backend in backends():
            with self.subTest(backend=backend), open(__file__) as file:
                done = run("upper_case", backend=backend, stdin=file)
                self.assertEqual(done.stdout, Path(__file__).read_text().upper())
                self.assertEqual(done.returncode, 0)

    def test_a_directory_is_refused_by_name(self):
        for backend in backends():
            with self.subTest(backend=backend):
                folder = os.open("/", os.O_RDONLY)
                done = run("upper_case", backend=backend, stdin=folder)
                os.close(folder)
                self.assertEqual(done.returncode, 1)
                self.assertIn("cannot be waited for", done.stderr)


class SimulatedEcho(unittest.TestCase):
    """A program with a bug, and the failure that the simulator finds and shrinks."""

    def test_the_readme_shows_the_program_and_its_output(self):
        root = Path(__file__).parents[2]
        readme = (root / "README.md").read_text()
        source = (root / "examples" / "simulated_echo.cpp").read_text()
        self.assertIn(f"```cpp\n{source[source.index('#include'):]}```\n", readme)
        command, shown = re.search(r"```console\n\$ (\./simulated_echo [^\n]*)\n(.*?)```", readme, re.S).groups()
        line = f"{command} 2>&1"
        done = subprocess.run(line, shell=True, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, shown)


if __name__ == "__main__":
    folder = Path(sys.argv.pop(1))
    unittest.main()
